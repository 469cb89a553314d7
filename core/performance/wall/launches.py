"""Which host call started which device task: their times side by side."""

from __future__ import annotations

import numpy as np

from npulse.core.dataclass import dataclass
from npulse.core.formats.profiling.timeline import NONE, Integers, Tasks, Timeline

from .device_work import DeviceWork

_NODE, _COMMUNICATION, _OTHER = range(3)


@dataclass(frozen=True, slots=True)
class Launches:
    """Of each task of the work the call that started it, as places in `calls` and in `framework`; NONE where
    none is recorded. calls: the launch itself (Node@launch before other calls of the same connection).
    framework: operators of the framework.
    """

    at: Integers
    framework_at: Integers
    calls: Tasks
    framework: Tasks

    @property
    def is_known(self) -> bool:
        """True if at least one task has its launch."""
        return bool((self.at != NONE).any())


def launches_of(work: DeviceWork, timeline: Timeline | None) -> Launches | None:
    """The launches of the work's tasks; None without a timeline."""
    if timeline is None:
        return None
    calls = timeline.launches
    levels = [_rank_of_level(kind) for kind in calls.kinds]
    by_kind = np.array([*levels, _OTHER], np.int64)[calls.kind]
    is_launch = np.array([is_launch_name(name) for name in calls.names] + [False], bool)[calls.name]
    rank = np.where(is_launch, _NODE, np.maximum(by_kind, _COMMUNICATION))
    return Launches(
        _joined(work.connection, calls, rank),
        _joined(work.connection, timeline.framework, np.zeros(len(timeline.framework), np.int64)),
        calls,
        timeline.framework,
    )


def is_launch_name(name: str) -> bool:
    """True for the call that gives a kernel to the device: Node@launch, launch in databases."""
    return name.rpartition("@")[2].lower() == "launch"


def _rank_of_level(level: str) -> int:
    return _COMMUNICATION if level.lower() in ("communication", "hccl") else _OTHER


def _joined(connection: Integers, calls: Tasks, rank: Integers) -> Integers:
    """Place of the best call of each connection: by rank, then the first one."""
    if not len(calls):
        return np.full(len(connection), NONE, np.int64)
    order = np.lexsort((calls.start_ns, rank, calls.connection))
    keys = calls.connection[order]
    place = np.minimum(np.searchsorted(keys, connection, side="left"), len(keys) - 1)
    is_found = (connection != NONE) & (keys[place] == connection)
    found: Integers = np.where(is_found, order[place], NONE).astype(np.int64)
    return found
