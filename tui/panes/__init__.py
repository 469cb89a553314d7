"""The seven panes, made when they are first visited."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .base import Pane

PANES: dict[str, tuple[str, str]] = {
    "checkup": (".checkup", "CheckUpPane"),
    "precision": (".precision", "PrecisionPane"),
    "overflow": (".overflow", "OverflowPane"),
    "memory": (".memory", "MemoryPane"),
    "performance": (".performance", "PerformancePane"),
    "device": (".device", "DevicePane"),
    "rounds": (".rounds", "RoundsPane"),
}
"""Area to (module beside this one, class). One for every area."""


def make_pane(area: str) -> Pane:
    """A new pane for the area; its module is imported only now."""
    module, name = PANES[area]
    pane: Pane = getattr(import_module(module, __name__), name)(area)
    return pane
