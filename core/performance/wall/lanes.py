"""Where on the axis of time the device was busy: lanes, gaps and the cells of a ruler."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from npulse.core.formats.profiling.timeline import NONE, Integers

from ..intervals import Intervals, union
from .device_work import COMMUNICATION, COPY, KERNEL, DeviceWork, Flags, is_artefact_name
from .record import Gap, Lane, Wall

MAX_GAPS = 200
MAX_LANES = 256


def ruler(wall: Wall, n_cells: int) -> npt.NDArray[np.float64]:
    """Busy share of each cell of the wall time, 0 to 1: float64, a row a lane, a column a cell.

    Lanes as in `wall.lanes`. Cells are equally long but for a nanosecond. All are 0 where the source places
    nothing in time.
    """
    if n_cells < 1:
        raise ValueError("at least one cell is needed")
    if wall.start_ns is None or wall.end_ns is None or not wall.wall_ns:
        return np.zeros((len(wall.lanes), n_cells))
    edges = wall.start_ns + np.array([wall.wall_ns * i // n_cells for i in range(n_cells + 1)], np.int64)
    widths = np.diff(edges)
    shares = np.zeros((len(wall.lanes), n_cells))
    for i, lane in enumerate(wall.lanes):
        np.divide(np.diff(busy_before(lane.busy, edges)), widths, out=shares[i], where=widths > 0)
    return shares


def busy_before(busy: Intervals, at_ns: Integers) -> Integers:
    """How long the intervals were before each of these times, int64 ns."""
    if not len(busy):
        return np.zeros(len(at_ns), np.int64)
    lengths = busy.ends_ns - busy.starts_ns
    total = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
    index = np.searchsorted(busy.starts_ns, at_ns, side="right")
    inside = np.maximum(busy.ends_ns[np.maximum(index - 1, 0)] - at_ns, 0)
    before: Integers = total[index] - np.where(index > 0, inside, 0)
    return before


def union_of(work: DeviceWork, rows: Flags) -> Intervals:
    return union(work.start_ns[rows], work.duration_ns[rows])


@dataclass(frozen=True, slots=True)
class Gaps:
    """Of each idle interval the tasks around it in the work, and whether a graph's capture made it."""

    before: Integers
    after: Integers
    is_artefact: Flags
    longest: tuple[Gap, ...]
    artefact_ns: int


def narrowed(places: Integers) -> Integers:
    """Places in 32 bits where they fit: a large table has millions of them."""
    fits = not len(places) or int(places.max()) < 2**31
    return places.astype(np.int32) if fits else places


def exact_sum(values: Integers) -> int:
    """The sum of int64 values, none of them negative, however large it gets."""
    return (int((values >> 32).sum()) << 32) + int((values & 0xFFFF_FFFF).sum())


def gaps_of(work: DeviceWork, is_busy: Flags, idle: Intervals) -> Gaps:
    """What stands around idle intervals, and the longest of them. Each has busy tasks on both sides."""
    at = np.flatnonzero(is_busy)
    starts, ends = work.start_ns[at], work.end_ns[at]
    by_end = np.argsort(ends, kind="stable")
    # the last task that ends at the begin of a gap, the first one that begins at its end
    before = at[by_end[np.searchsorted(ends[by_end], idle.starts_ns, side="right") - 1]]
    after = at[np.searchsorted(starts, idle.ends_ns, side="left")]
    lengths = idle.ends_ns - idle.starts_ns
    is_artefact = _are_artefacts(work, idle)
    longest = tuple(
        Gap(
            int(idle.starts_ns[i]),
            int(lengths[i]),
            work.label(int(before[i])),
            work.label(int(after[i])),
            int(before[i]),
            int(after[i]),
            bool(is_artefact[i]),
        )
        for i in np.lexsort((idle.starts_ns, -lengths))[:MAX_GAPS]
    )
    return Gaps(narrowed(before), narrowed(after), is_artefact, longest, int(lengths[is_artefact].sum()))


def _are_artefacts(work: DeviceWork, idle: Intervals) -> Flags:
    """True for gaps in which a graph's capture waits."""
    names = np.array([is_artefact_name(name) for name in work.names] + [False], bool)[work.name]
    kinds = np.array([is_artefact_name(kind) for kind in work.kinds] + [False], bool)[work.kind]
    rows = np.flatnonzero(names | kinds)
    flags: Flags = np.zeros(len(idle), bool)
    if not len(rows):
        return flags
    # the gap that is running, or the next one, when such a task ends
    index = np.searchsorted(idle.ends_ns, work.end_ns[rows], side="right")
    is_inside = index < len(idle)
    index, ends = index[is_inside], work.end_ns[rows][is_inside]
    flags[index[idle.starts_ns[index] <= ends]] = True
    return flags


def lanes_of(
    work: DeviceWork, compute: Intervals, communication: Intervals, copies: Intervals
) -> tuple[tuple[Lane, ...], int]:
    """Streams with kernels, the busiest first, then one lane for collectives and one for copies. compute: of
    all streams together, which is that of a stream that is the only one."""
    rows = np.flatnonzero(work.role == KERNEL)
    rows = rows[np.argsort(work.stream[rows], kind="stable")]
    numbers, firsts = np.unique(work.stream[rows], return_index=True)
    counts = np.diff(np.append(firsts, len(rows)))
    sums = np.add.reduceat(work.duration_ns[rows], firsts) if len(rows) else np.zeros(0, np.int64)
    lanes = []
    for i in np.lexsort((numbers, -sums))[:MAX_LANES]:
        part = rows[firsts[i] : firsts[i] + counts[i]]
        busy = compute if len(numbers) == 1 else union(work.start_ns[part], work.duration_ns[part])
        lanes.append(Lane("compute", int(numbers[i]), busy, int(counts[i])))
    if len(communication):
        n = int((work.role == COMMUNICATION).sum())
        lanes.append(Lane("communication", NONE, communication, n))
    if len(copies):
        lanes.append(Lane("copy", NONE, copies, int((work.role == COPY).sum())))
    return tuple(lanes), len(numbers) + bool(len(communication)) + bool(len(copies))
