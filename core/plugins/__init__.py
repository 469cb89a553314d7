"""Plug-ins: readers, metrics, analyses and references of others, found by entry points or named files, run
apart.

`npulse.plugins` is this room. Nothing of a plug-in is ever loaded into npulse itself: a child process imports
it, is asked and ends (`process`, `child`, `wire`). Without plug-ins nothing here costs more than a look for
entry points.
"""

from .protocols import AnalysisData, AnalysisPlugin, MetricPlugin, ReaderPlugin, ReferencePlugin
from .registry import use

__all__ = ["AnalysisData", "AnalysisPlugin", "MetricPlugin", "ReaderPlugin", "ReferencePlugin", "use"]
