"""The performance pane: what to attack first, operators by time, when the device was busy."""

from .pane import PerformancePane

__all__ = ["PerformancePane"]
