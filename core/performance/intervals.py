"""Sets of intervals on one axis: how long they are together, where they overlap, what lies between them.

Times are int64 nanoseconds, exact: no sum of floats, no rounding. An interval holds its start and not its
end, so neighbours that touch do not overlap. Cost: O(n log n) by numpy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Intervals:
    """Intervals in order of time that neither overlap nor touch; each is longer than 0.

    starts_ns, ends_ns int64: one element an interval.
    """

    starts_ns: Integers
    ends_ns: Integers

    def __len__(self) -> int:
        return len(self.starts_ns)

    @property
    def total_ns(self) -> int:
        """How long they are together."""
        return int((self.ends_ns - self.starts_ns).sum())

    @property
    def span_ns(self) -> int:
        """From the first start to the last end, 0 if there is none."""
        return int(self.ends_ns[-1] - self.starts_ns[0]) if len(self) else 0


def union(starts_ns: npt.ArrayLike, durations_ns: npt.ArrayLike) -> Intervals:
    """The time that at least one of these intervals covers. Those without a length cover none.

    Raises ValueError for a negative duration and for ends beyond 64 bits: nothing is clipped in silence.
    """
    starts, durations = _checked(starts_ns, durations_ns)
    is_long = durations > 0
    starts, ends = starts[is_long], starts[is_long] + durations[is_long]
    if not len(starts):
        return EMPTY
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], np.maximum.accumulate(ends[order])
    begins = np.flatnonzero(np.concatenate(([True], starts[1:] > ends[:-1])))
    return Intervals(starts[begins], ends[np.concatenate((begins[1:], [len(ends)])) - 1])


def overlap(left: Intervals, right: Intervals) -> Intervals:
    """The time that both sets cover."""
    if not len(left) or not len(right):
        return EMPTY
    times, depth = _depths(left, right)
    at = np.flatnonzero(depth == 2)
    return Intervals(times[at], times[at + 1])


def within(covered: Intervals, start_ns: int, end_ns: int) -> Intervals:
    """The part from start_ns to end_ns. Cost: a search, and what lies in it: for many windows of one set."""
    first = int(np.searchsorted(covered.ends_ns, start_ns, side="right"))
    last = int(np.searchsorted(covered.starts_ns, end_ns, side="left"))
    if last <= first or end_ns <= start_ns:
        return EMPTY
    return Intervals(
        np.maximum(covered.starts_ns[first:last], start_ns), np.minimum(covered.ends_ns[first:last], end_ns)
    )


def without(left: Intervals, right: Intervals) -> Intervals:
    """The time that the left set covers and the right one does not."""
    if not len(left) or not len(right):
        return left
    gaps_right = gaps(
        right, int(min(left.starts_ns[0], right.starts_ns[0])), int(max(left.ends_ns[-1], right.ends_ns[-1]))
    )
    return overlap(left, gaps_right)


def gaps(covered: Intervals, start_ns: int | None = None, end_ns: int | None = None) -> Intervals:
    """What lies between the intervals, from start_ns to end_ns (by default from the first to the last one).

    Raises ValueError if end_ns is before start_ns.
    """
    if start_ns is None:
        start_ns = int(covered.starts_ns[0]) if len(covered) else end_ns or 0
    if end_ns is None:
        end_ns = max(int(covered.ends_ns[-1]), start_ns) if len(covered) else start_ns
    if end_ns < start_ns:
        raise ValueError("the end is before the start")
    if len(covered) and (start_ns, end_ns) == (int(covered.starts_ns[0]), int(covered.ends_ns[-1])):
        return Intervals(covered.ends_ns[:-1], covered.starts_ns[1:])  # held once: there may be millions
    starts = np.concatenate((np.array([start_ns], np.int64), covered.ends_ns))
    ends = np.concatenate((covered.starts_ns, np.array([end_ns], np.int64)))
    starts, ends = np.maximum(starts, start_ns), np.minimum(ends, end_ns)
    is_gap = ends > starts
    return Intervals(starts[is_gap], ends[is_gap])


def n_overlapping(starts_ns: npt.ArrayLike, durations_ns: npt.ArrayLike) -> int:
    """How many intervals begin before one that began earlier (or as early) has ended."""
    starts, durations = _checked(starts_ns, durations_ns)
    is_long = durations > 0
    starts, ends = starts[is_long], starts[is_long] + durations[is_long]
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], np.maximum.accumulate(ends[order]) if len(ends) else ends
    return int((starts[1:] < ends[:-1]).sum())


EMPTY = Intervals(np.zeros(0, np.int64), np.zeros(0, np.int64))


def _checked(starts_ns: npt.ArrayLike, durations_ns: npt.ArrayLike) -> tuple[Integers, Integers]:
    starts, durations = np.asarray(starts_ns), np.asarray(durations_ns)
    for part in (starts, durations):
        if part.size and part.dtype.kind != "i":
            raise ValueError("whole nanoseconds are expected")
    starts, durations = starts.astype(np.int64), durations.astype(np.int64)
    if starts.shape != durations.shape or starts.ndim != 1:
        raise ValueError("a start and a duration are expected for each interval")
    if (durations < 0).any():
        raise ValueError("a duration is negative")
    if (starts > np.iinfo(np.int64).max - durations).any():
        raise ValueError("an interval ends beyond 64 bits")
    return starts, durations


def _depths(left: Intervals, right: Intervals) -> tuple[Integers, Integers]:
    """All borders in order, and how many sets cover the time from each to the next."""
    times = np.concatenate((left.starts_ns, right.starts_ns, left.ends_ns, right.ends_ns))
    n_starts = len(left) + len(right)
    steps = np.ones(len(times), np.int64)
    steps[n_starts:] = -1
    order = np.lexsort((steps, times))  # ends before starts: what only touches does not overlap
    return times[order], np.cumsum(steps[order])
