"""Checkpoints compared: which parameters differ and how. Nothing begins anywhere, so no origin is named."""

from .compare import Parameters as Parameters
from .compare import look_at as look_at
from .report import parameter_findings as parameter_findings
from .report import parameter_lines as parameter_lines
