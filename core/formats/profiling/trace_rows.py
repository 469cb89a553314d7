"""What a timeline keeps of a trace while it is read: rows in columns that grow in place, and sums."""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass

from .timeline import Codes, Integers

FROM_LANE, FROM_OPERATOR, SUMMED, GPU_TASK, GPU_CALL = range(5)
"""Where a kept row came from. FROM_LANE: the lane's name says what it is. FROM_OPERATOR: the same, but it is
the framework's if the lane is none of a device. SUMMED: a host call that is in the sums."""

_FIRST_ROWS = 1 << 10
_MAX_INT64 = 2**63 - 1


class GrowingRows:
    """Rows in columns. Memory grows by a quarter, not by a copy where the system can move pages."""

    def __init__(self, **dtypes: type) -> None:
        self._columns: dict[str, npt.NDArray[Any]] = {
            name: np.empty(0, dtype) for name, dtype in dtypes.items()
        }
        self._n = 0

    def __len__(self) -> int:
        return self._n

    def add(self, n: int, **values: npt.NDArray[Any] | int) -> None:
        """n more rows: an array a column; a number stands for all of the rows."""
        stop = self._n + n
        for name, column in self._columns.items():
            if stop > len(column):
                # nobody holds a view of it: `taken` copies
                column.resize(max(_FIRST_ROWS, stop, len(column) * 5 // 4), refcheck=False)
            column[self._n : stop] = values[name]
        self._n = stop

    def clear(self) -> None:
        """Forget all rows and give their memory back."""
        for name, column in self._columns.items():
            self._columns[name] = np.empty(0, column.dtype)
        self._n = 0

    def taken(self, name: str, rows: Integers | None = None) -> npt.NDArray[Any]:
        """The values of a column, of all rows or of some; always a copy."""
        column = self._columns[name][: self._n]
        return column.copy() if rows is None else column[rows]


@dataclass(slots=True)
class Extent:
    """How many events, and from when to when."""

    n: int = 0
    first_ns: int | None = None
    last_ns: int | None = None

    def add(self, starts: Integers, durations: Integers) -> None:
        """More events. Ends beyond 64 bits count as the last time there is."""
        if not len(starts):
            return
        self.n += len(starts)
        first, last = int(starts.min()), int(ends_of(starts, durations).max())
        self.first_ns = first if self.first_ns is None else min(self.first_ns, first)
        self.last_ns = last if self.last_ns is None else max(self.last_ns, last)


@dataclass(slots=True)
class CallSum:
    """Calls of one name together."""

    n: int = 0
    total_ns: int = 0
    max_ns: int = 0
    first_ns: int = _MAX_INT64
    last_ns: int = -_MAX_INT64

    def join(self, other: CallSum) -> None:
        """The calls of another one too."""
        self.n += other.n
        self.total_ns += other.total_ns
        self.max_ns = max(self.max_ns, other.max_ns)
        self.first_ns, self.last_ns = min(self.first_ns, other.first_ns), max(self.last_ns, other.last_ns)


class CallTotals:
    """Sums of host calls by level and name (codes)."""

    def __init__(self) -> None:
        self.sums: dict[tuple[int, int], CallSum] = {}

    def add(self, levels: npt.NDArray[Any], names: Codes, starts: Integers, durations: Integers) -> None:
        """More calls, a row a call."""
        key = levels.astype(np.int64) << 32 | (names.astype(np.int64) + 1)
        order = np.argsort(key, kind="stable")
        key, starts, durations = key[order], starts[order], durations[order]
        cuts = np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1])))
        # int64 cannot overflow where the sum of floats is far from its end
        is_small = float(np.abs(durations.astype(np.float64)).sum()) < 2.0**62
        totals = (
            np.add.reduceat(durations, cuts).tolist()
            if is_small
            else [sum(part.tolist()) for part in np.split(durations, cuts[1:])]
        )
        longest = np.maximum.reduceat(durations, cuts).tolist()
        firsts = np.minimum.reduceat(starts, cuts).tolist()
        lasts = np.maximum.reduceat(ends_of(starts, durations), cuts).tolist()
        counts = np.diff(np.append(cuts, len(key))).tolist()
        for i, value in enumerate(key[cuts].tolist()):
            place = (value >> 32, (value & 0xFFFF_FFFF) - 1)
            one = CallSum(counts[i], totals[i], longest[i], firsts[i], lasts[i])
            self.sums.setdefault(place, CallSum(max_ns=one.max_ns)).join(one)

    def copy(self) -> CallTotals:
        """The same sums, to be added to."""
        other = CallTotals()
        other.sums = {
            place: CallSum(s.n, s.total_ns, s.max_ns, s.first_ns, s.last_ns) for place, s in self.sums.items()
        }
        return other


def _rows() -> GrowingRows:
    return GrowingRows(
        lane=np.int32,
        start=np.int64,
        duration=np.int64,
        name=np.int32,
        kind=np.int32,
        connection=np.int64,
        source=np.uint8,
    )


def _ends() -> GrowingRows:
    return GrowingRows(lane=np.int32, at=np.int64, id=np.int64)


@dataclass(slots=True)
class Kept:
    """Everything that a timeline is made of. lanes: codes of pid and tid by the lane's number.

    rows: events of devices, and calls that started something. spans: their role (trace_lanes) and times.
    flows: ends of arrows from host to device. operators: of the framework, operator_flows: where arrows leave
    them; the id is the start of a task. Names are codes of the trace's labels. passed_over: lanes that
    are not kept, by their names so far. n_*: what is left out.
    """

    source: str
    lanes: list[tuple[int, int]] = field(default_factory=list)
    rows: GrowingRows = field(default_factory=_rows)
    spans: GrowingRows = field(
        default_factory=lambda: GrowingRows(role=np.uint8, name=np.int32, start=np.int64, duration=np.int64)
    )
    flows: GrowingRows = field(default_factory=_ends)
    operators: GrowingRows = field(
        default_factory=lambda: GrowingRows(lane=np.int32, start=np.int64, duration=np.int64, name=np.int32)
    )
    operator_flows: GrowingRows = field(default_factory=_ends)
    frequency: GrowingRows = field(
        default_factory=lambda: GrowingRows(pid=np.int32, at=np.int64, mhz=np.float64)
    )
    calls: CallTotals = field(default_factory=CallTotals)
    framework: Extent = field(default_factory=Extent)
    passed_over: list[int] = field(default_factory=list)
    n_without_times: int = 0
    n_apart: int = 0
    n_without_lane: int = 0


def distinct_pairs(left: Integers | Codes, right: Integers | Codes) -> tuple[list[tuple[int, int]], Integers]:
    """The pairs of two columns of codes, each once, and which one each row has. right: from -1 on."""
    packed = left.astype(np.int64) << 32 | (right.astype(np.int64) + 1)
    distinct, inverse = np.unique(packed, return_inverse=True)
    return [(value >> 32, (value & 0xFFFF_FFFF) - 1) for value in distinct.tolist()], inverse


def ends_of(starts: Integers, durations: Integers) -> Integers:
    """Where events end; beyond 64 bits the last time there is. One of negative length ends at its start."""
    lengths = np.maximum(durations, 0)
    ends: Integers = starts + np.minimum(lengths, _MAX_INT64 - np.maximum(starts, 0))
    return ends
