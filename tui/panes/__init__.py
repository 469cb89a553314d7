"""The seven panes, made when they are first visited."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .base import Pane

BUILT: dict[str, tuple[str, str]] = {
    "precision": (".precision", "PrecisionPane"),
    "overflow": (".overflow", "OverflowPane"),
    "memory": (".memory", "MemoryPane"),
    "performance": (".performance", "PerformancePane"),
    "device": (".device", "DevicePane"),
    "rounds": (".rounds", "RoundsPane"),
}
"""Area to (module beside this one, class). An area that does not stand here gets the pending pane."""


def make_pane(area: str) -> Pane:
    """A new pane for the area; its module is imported only now."""
    if area in BUILT:
        module, name = BUILT[area]
        pane: Pane = getattr(import_module(module, __name__), name)(area)
        return pane
    from .pending import PendingPane

    return PendingPane(area)
