"""Which rank an event belongs to, and how well that is known.

A rank is known where the log says it, where a launcher put it in front of the lines, or where the log lies in
the folder of a rank; what is known of one event of a process holds for all of its events. The number of a
device is only a hint: it is the rank on one host whose processes see all devices.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from npulse.core.run import paths

from .event_order import Key, process_of
from .faults import Fault

_IN_FRONT = re.compile(r"(?:rank|default)[ _=-]?(\d{1,6})", re.IGNORECASE)
_NUMBERS = re.compile(r"\s*\d{1,6}(?:[\s,;]+\d{1,6}){0,999}\s*")


class Ranks:
    """The ranks of the events of a round, and which events stand for which rank."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        processes: dict[str, set[Key]] = {}
        for fault in faults:
            process = process_of(fault)
            if process is not None:
                processes.setdefault(fault.artifact, set()).add(process)
        # the console of a job may lie in the folder of one rank
        self._of_many = {artifact for artifact, writers in processes.items() if len(writers) > 1}
        self._of_process: dict[Key, int | None] = {}
        for fault in faults:
            rank, process = self._told(fault), process_of(fault)
            if rank is None or process is None:
                continue
            if self._of_process.setdefault(process, rank) != rank:
                self._of_process[process] = None  # the process ids of two hosts may be the same
        self._known = {rank for rank in map(self.of, faults) if rank is not None}

    def of(self, fault: Fault) -> int | None:
        """The rank of an event; None where only a device may tell it."""
        rank = self._told(fault)
        if rank is not None:
            return rank
        process = process_of(fault)
        return None if process is None else self._of_process.get(process)

    def has(self, rank: int) -> bool:
        """Whether an event is known to be of this rank."""
        return rank in self._known

    def _told(self, fault: Fault) -> int | None:
        """The rank by the event itself, its launcher or its folder."""
        rank = fault.figures.get("rank")
        if isinstance(rank, int) and rank >= 0:
            return rank
        found = _IN_FRONT.search(fault.origin)
        if found is not None:
            return int(found[1])
        return None if fault.artifact in self._of_many else paths.rank_of(fault.artifact.split("/"))


def device_of(fault: Fault) -> int | None:
    """The device that an event names; of an exception on a console the chip, which mostly has its number."""
    task = fault.task.device if fault.task is not None else None
    told = (task, fault.access.device, fault.figures.get("device_id"), fault.figures.get("chip_id"))
    return next((device for device in told if isinstance(device, int) and device >= 0), None)


def awaited_ranks(fault: Fault) -> frozenset[int]:
    """The ranks that a time-out names; none where it says "unknown", an address, or nothing."""
    text = f"{fault.figures.get('remote_rank') or ''}"
    return frozenset(map(int, re.findall(r"\d+", text))) if _NUMBERS.fullmatch(text) else frozenset()
