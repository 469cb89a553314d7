"""What ran when: the tasks of one device and the host calls that started them, in columns.

The one form for traces and databases. Nothing is judged: events at impossible times are kept as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass

from ...findings import Problem

NONE = -1
Integers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]

OVERLAP_LANES = ("Computing", "Communication", "Communication(Not Overlapped)", "Free")
"""Names of the lanes that the vendor's overlap analysis writes."""


@dataclass(frozen=True, slots=True)
class Tasks:
    """Tasks in order of their start, a row a task. Times int64 ns since 1970, exact.

    stream: of the device (threads for host calls), NONE where there is none. name, kind: codes into names and
    kinds, NONE absent. kind: the task type as written (AI_CORE, KERNEL_AICORE, MEMCPY_ASYNC, EVENT_WAIT ...),
    for communication the group, for host calls the level. connection: id that a host call and what it started
    share, NONE where there is none.
    """

    start_ns: Integers
    duration_ns: Integers
    stream: Integers
    name: Codes
    kind: Codes
    connection: Integers
    names: Sequence[str]
    kinds: Sequence[str]

    def __len__(self) -> int:
        return len(self.start_ns)

    def taken(self, rows: npt.NDArray[np.bool_] | Integers) -> Tasks:
        """Some of the rows; the names are shared."""
        return Tasks(
            self.start_ns[rows],
            self.duration_ns[rows],
            self.stream[rows],
            self.name[rows],
            self.kind[rows],
            self.connection[rows],
            self.names,
            self.kinds,
        )


def no_tasks() -> Tasks:
    """Tasks, none."""
    none, no_codes = np.zeros(0, np.int64), np.zeros(0, np.int32)
    return Tasks(none, none, none, no_codes, no_codes, none, (), ())


@dataclass(frozen=True, slots=True)
class Span:
    """A named time: a step of the script, a marked range, a garbage collection. Ends are not included."""

    name: str
    start_ns: int
    end_ns: int


@dataclass(frozen=True, slots=True)
class HostCalls:
    """Calls of one host API together. first_ns, last_ns: first start and last end."""

    level: str
    name: str
    n: int
    total_ns: int
    max_ns: int
    first_ns: int
    last_ns: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """One device's timeline as one file tells it.

    tasks: everything on the device's streams: kernels, copies, events. communication: whole operations of the
    communication lanes. launches: host calls that started device work (with `connection`). recorded: lane of
    the vendor's overlap analysis -> (starts, durations), {} where the file has none. calls: all host calls of
    the CANN layers, summed. steps: ProfilerStep#N or STEP_TIME. ranges: marks of the user (mstx) and
    annotations. pauses: garbage collections. framework: operators of the framework that led to device work
    (with `connection`), empty where the reader has none. frequency_mhz at frequency_at_ns: steps of the AI
    core clock. is_cut: the file has no end. first_framework_ns, last_framework_ns: of the framework's own
    events.
    """

    source: str
    device: int | None
    tasks: Tasks
    communication: Tasks
    launches: Tasks
    recorded: Mapping[str, tuple[Integers, Integers]] = field(default_factory=dict)
    calls: tuple[HostCalls, ...] = ()
    steps: tuple[Span, ...] = ()
    ranges: tuple[Span, ...] = ()
    pauses: tuple[Span, ...] = ()
    frequency_at_ns: Integers = field(default_factory=lambda: np.zeros(0, np.int64))
    frequency_mhz: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(0, np.float64))
    n_framework_events: int = 0
    first_framework_ns: int | None = None
    last_framework_ns: int | None = None
    is_cut: bool = False
    problems: tuple[Problem, ...] = ()
    framework: Tasks = field(default_factory=no_tasks)

    @property
    def carriers(self) -> npt.NDArray[np.bool_]:
        """Tasks that carry a collective: without a name, and started by the same host call as a communication
        operation. Their type is a kernel's; where kernels have no names either (level 0) nothing else tells.
        """
        tasks, whole = self.tasks, self.communication
        found: npt.NDArray[np.bool_] = (tasks.name == NONE) & (tasks.connection >= 0)
        return found & np.isin(tasks.connection, whole.connection[whole.connection >= 0])
