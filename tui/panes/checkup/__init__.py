"""The check-up pane."""

from .pane import CheckUpPane

__all__ = ["CheckUpPane"]
