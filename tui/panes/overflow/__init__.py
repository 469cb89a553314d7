"""The overflow pane: the origin, the table of what fed it, the ranks it reached."""

from .pane import OverflowPane

__all__ = ["OverflowPane"]
