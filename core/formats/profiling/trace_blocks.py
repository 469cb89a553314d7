"""What a trace is told in: blocks of columns, tables of names that their codes point into, and the state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass

from ...findings import Problem
from .trace_numbers import NO_TIME, Flags, Integers

NO_CODE = -1
"""In columns of codes: there is no such text."""

Codes = npt.NDArray[np.int32]
Id = int | str
"""A process or thread id as written: a number (in text too), or another text such as "core0.veccore0"."""

ARG_ABSENT, ARG_INT, ARG_FLOAT, ARG_TEXT, ARG_OTHER = range(5)


@dataclass(frozen=True, slots=True)
class ArgColumn:
    """One argument of all events of a block, a row an event.

    kind uint8: ARG_ABSENT, ARG_INT (`integers`), ARG_FLOAT (`floats`), ARG_TEXT (`texts`, codes of labels) or
    ARG_OTHER (true, false, null, a list, an object, an integer beyond 64 bits: not kept). `floats` holds the
    integers too, NaN where there is no number; `integers` is 0 and `texts` NO_CODE where they do not count.
    """

    kind: npt.NDArray[np.uint8]
    integers: Integers
    floats: npt.NDArray[np.float64]
    texts: Codes


@dataclass(frozen=True, slots=True)
class Events:
    """Events with a place in time (X, B, E, i and rarer ones) in file order, a row an event.

    name, category: codes of labels. pid, tid: codes of ids. phase uint8: the character, e.g. ord("X").
    start_ns, duration_ns: exact; digits below a nanosecond are rounded (half to even); NO_TIME where there is
    none. byte: where the event begins in the file, for `read_event`. args: those that were asked for.
    """

    name: Codes
    category: Codes
    pid: Codes
    tid: Codes
    phase: npt.NDArray[np.uint8]
    start_ns: Integers
    duration_ns: Integers
    byte: Integers
    args: Mapping[str, ArgColumn]

    @property
    def is_at_zero(self) -> Flags:
        """Events that say they began at 0. They are kept; whether 0 is a time of this trace is told by the
        state (`TraceState.is_zero_stray`)."""
        mask: Flags = self.start_ns == 0
        return mask


@dataclass(frozen=True, slots=True)
class Flows:
    """Ends of arrows (phases s, t, f) in file order. name: without the number at its end, which is the id.

    id int64: NO_CODE where it is no number that fits; id_texts has those, by row. Two ends belong together if
    category, name and id are equal. at_ns: NO_TIME where there is none.
    """

    name: Codes
    category: Codes
    pid: Codes
    tid: Codes
    phase: npt.NDArray[np.uint8]
    at_ns: Integers
    id: Integers
    id_texts: Mapping[int, str]
    byte: Integers


@dataclass(frozen=True, slots=True)
class Counters:
    """Values of counters (phase C) in file order, a row a value: one event may set several series.

    name, series: codes of labels. Values that are no numbers are left out and counted (`n_bad_values`).
    """

    name: Codes
    series: Codes
    pid: Codes
    tid: Codes
    at_ns: Integers
    value: npt.NDArray[np.float64]
    byte: Integers


@dataclass(frozen=True, slots=True)
class TraceBlock:
    """Neighbouring events of a trace; first_byte and end_byte say from where in the file they come."""

    events: Events
    flows: Flows
    counters: Counters
    first_byte: int
    end_byte: int


@dataclass(frozen=True, slots=True)
class TraceNames:
    """What codes stand for, and what processes and threads are called. Grows while a trace is read.

    labels, ids: by code. process_*: by the code of a pid. thread_*: by the codes of pid and tid. The last one
    that was said counts; n_repeated counts what was said again, n_changed what was said differently.
    """

    labels: Sequence[str]
    ids: Sequence[Id]
    process_names: Mapping[int, str]
    process_labels: Mapping[int, str]
    process_sort: Mapping[int, int]
    thread_names: Mapping[tuple[int, int], str]
    thread_sort: Mapping[tuple[int, int], int]
    n_repeated: int = 0
    n_changed: int = 0

    def label(self, code: int) -> str | None:
        """The text of a name, category, series or argument; None for NO_CODE."""
        return self.labels[code] if code >= 0 else None

    def id(self, code: int) -> Id | None:
        """The process or thread id; None for NO_CODE."""
        return self.ids[code] if code >= 0 else None

    def pids_of(self, process_name: str) -> tuple[int, ...]:
        """The codes of all processes of that name, e.g. "Ascend Hardware"."""
        return tuple(code for code, name in self.process_names.items() if name == process_name)


@dataclass(frozen=True, slots=True)
class TraceState:
    """How far a trace was read and what was in it.

    n_by_phase: elements by phase ("M" too). n_dropped: elements that could not be used. n_bytes: given so
    far. n_whole_bytes: without an element that waits for its end. is_cut: array or object are not closed.
    first_ns, last_ns: the smallest start and the largest end of events, those at 0 left out; None if there is
    none. n_at_zero: events (not flows or counters) at 0. n_without_time: events, flows
    and counters without one. n_rounded: with digits below a nanosecond. is_time_text: times are in quotes.
    settings: scalar members of the object around the events, e.g. displayTimeUnit.
    """

    n_by_phase: Mapping[str, int]
    n_bytes: int
    n_whole_bytes: int
    is_cut: bool
    n_dropped: int = 0
    n_at_zero: int = 0
    n_without_time: int = 0
    n_rounded: int = 0
    n_bad_values: int = 0
    is_time_text: bool = False
    first_ns: int | None = None
    last_ns: int | None = None
    settings: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()

    @property
    def n_events(self) -> int:
        return sum(self.n_by_phase.values())

    @property
    def is_zero_stray(self) -> bool:
        """True if events at 0 lie farther from all others than those from each other: 0 is no time then."""
        if not self.n_at_zero or self.first_ns is None or self.last_ns is None:
            return False
        return self.first_ns > self.last_ns - self.first_ns


def no_time_mask(times_ns: Integers) -> Flags:
    """Where a column of nanoseconds has none."""
    mask: Flags = times_ns == NO_TIME
    return mask
