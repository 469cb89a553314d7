"""The memory pane: faults by code site, the source at each, how far the logs can be trusted."""

from .pane import MemoryPane

__all__ = ["MemoryPane"]
