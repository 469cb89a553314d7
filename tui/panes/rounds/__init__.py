"""The rounds pane: the story of an archive, a row a round, what it changed and what that bought or cost."""

from .pane import RoundsPane

__all__ = ["RoundsPane"]
