"""The cards of this machine, polled: each look is an analysis with all that was seen before it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from npulse.core.progress import IsCancelled, never_cancelled

from .analyse import Devices, Source, devices_of
from .criteria import Settings
from .history import History
from .query import TYPES, NpuSmi

NAME = "npu-smi"


class LiveDevices:
    """Polls of one machine, one after the other; who asks says when. `smi` keeps the last good answer."""

    def __init__(self, settings: Settings | None = None, smi: NpuSmi | None = None) -> None:
        self.smi = smi or NpuSmi()
        self._settings = settings or Settings()
        self._history = History(criteria=self._settings.criteria)

    def look(self, types: Sequence[str] = TYPES, *, is_cancelled: IsCancelled = never_cancelled) -> Devices:
        """Ask once. Never raises for what npu-smi does: the state says it. Cancelled."""
        found = self.smi.reading(types, is_cancelled=is_cancelled)
        self._history.add(found.snapshot)
        empty = Devices(Path(NAME), "", self._settings, problems=found.problems, is_live=True)
        return devices_of(empty, [Source(NAME, found.snapshot, self._history)])
