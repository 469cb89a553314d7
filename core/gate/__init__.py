"""What keeps a fault from coming back without stopping on what is known: silences, and a baseline.

`Gate.prepare` goes over every report before it is judged, `Gate.notes` says afterwards what was set aside.
"""

from .baseline import Baseline, baseline_from, baseline_of, read_baseline
from .gate import Gate
from .silences import Silence, parse_silences, read_silences, silenced

__all__ = [
    "Baseline",
    "Gate",
    "Silence",
    "baseline_from",
    "baseline_of",
    "parse_silences",
    "read_baseline",
    "read_silences",
    "silenced",
]
