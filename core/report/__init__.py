"""A `Report`, or a whole dossier of them, as a file. Nothing is computed here."""

from .dossier import Dossier, dossier_of
from .mask import masked
from .mask_whole import masked_dossier
from .write import (
    FORMATS,
    WHOLE_FORMATS,
    format_of,
    is_whole_alone,
    refuse_early,
    render,
    render_whole,
    verdict_line,
    whole_format_of,
    write_report,
    write_whole_report,
)

__all__ = [
    "FORMATS",
    "WHOLE_FORMATS",
    "Dossier",
    "dossier_of",
    "format_of",
    "is_whole_alone",
    "masked",
    "masked_dossier",
    "refuse_early",
    "render",
    "render_whole",
    "verdict_line",
    "whole_format_of",
    "write_report",
    "write_whole_report",
]
