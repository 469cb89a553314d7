"""Where nothing runs beside anything: the end of a step, and the longest stretch on one stream."""

from __future__ import annotations

import numpy as np

from npulse.core.dataclass import dataclass

from ..intervals import EMPTY, Intervals, gaps, union, within, without
from .device_work import COMMUNICATION, KERNEL
from .record import Wall

MAX_NAMES = 5


@dataclass(frozen=True, slots=True)
class Stretch:
    """A time in which at most one of the streams (collectives are one more) was busy.

    busy_ns: of its length. n_calls: kernels and collectives that begin in it. names: those with the most time
    in it, (name, ns).
    """

    start_ns: int
    duration_ns: int
    busy_ns: int
    n_calls: int
    names: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class SerialTail:
    """Serial time of one profile. n_lanes: streams with kernels, and the collectives.

    tail: from the last instant at which two were busy to the end, of the last step where there are several;
    tails_ns: of all steps together, of steps_ns; tails_busy_ns, tails_communication_ns: the
    part of them with kernels or collectives, and with collectives only. longest: the longest stretch
    anywhere. communication_ns: behind the last kernel. parallel_ns: time in which two or more were busy.
    """

    n_lanes: int
    tail: Stretch
    tails_ns: int
    steps_ns: int
    n_steps: int
    longest: Stretch
    communication_ns: int
    parallel_ns: int
    tails_busy_ns: int = 0
    tails_communication_ns: int = 0

    @property
    def is_single(self) -> bool:
        """True if there is one lane only: everything is in series, and there is no tail to speak of."""
        return self.n_lanes < 2


def tail_of(wall: Wall | None) -> SerialTail | None:
    """Serial stretches; None where tasks are not placed in time."""
    if wall is None or wall.start_ns is None or wall.end_ns is None or not wall.wall_ns:
        return None
    lanes = [lane.busy for lane in wall.lanes if lane.role != "copy"]
    parallel = parallel_of(lanes)
    windows = [
        (step.start_ns, step.end_ns)
        for step in wall.steps
        if step.start_ns is not None and step.end_ns is not None and step.end_ns > step.start_ns
    ] or [(wall.start_ns, wall.end_ns)]
    tails = [_tail_start(parallel, start, end) for start, end in windows]
    spans = [(start, end) for start, (_, end) in zip(tails, windows, strict=True)]
    exposed = without(wall.communication, wall.compute)
    last_start, last_end = tails[-1], windows[-1][1]
    serial = gaps(parallel, wall.start_ns, wall.end_ns)
    lengths = serial.ends_ns - serial.starts_ns
    if len(serial):
        i = int(np.argmax(lengths))
        longest = _stretch(wall, int(serial.starts_ns[i]), int(serial.ends_ns[i]))
    else:
        longest = Stretch(wall.end_ns, 0, 0, 0)
    last_kernel = int(wall.compute.ends_ns[-1]) if len(wall.compute) else wall.start_ns
    behind = within(wall.communication, last_kernel, wall.end_ns)
    return SerialTail(
        n_lanes=len(lanes),
        tail=_stretch(wall, last_start, last_end),
        tails_ns=sum(end - start for start, end in spans),
        steps_ns=sum(end - start for start, end in windows),
        n_steps=len(windows),
        longest=longest,
        communication_ns=behind.total_ns,
        parallel_ns=parallel.total_ns,
        tails_busy_ns=sum(within(wall.busy, *span).total_ns for span in spans),
        tails_communication_ns=sum(within(exposed, *span).total_ns for span in spans),
    )


def parallel_of(lanes: list[Intervals]) -> Intervals:
    """The time in which two or more lanes are busy."""
    if len(lanes) < 2:
        return EMPTY
    starts = np.concatenate([lane.starts_ns for lane in lanes])
    ends = np.concatenate([lane.ends_ns for lane in lanes])
    times = np.concatenate((starts, ends))
    steps = np.concatenate((np.ones(len(starts), np.int64), -np.ones(len(ends), np.int64)))
    order = np.lexsort((steps, times))  # ends before starts: what only touches is not beside each other
    times, depth = times[order], np.cumsum(steps[order])
    is_parallel = depth >= 2
    edges = np.diff(np.concatenate(([0], is_parallel.astype(np.int8))))
    begins, stops = times[edges == 1], times[edges == -1]
    return union(begins, stops - begins)


def _tail_start(parallel: Intervals, start_ns: int, end_ns: int) -> int:
    """The last instant in the window at which two lanes were busy, else its start."""
    inside = within(parallel, start_ns, end_ns)
    return int(inside.ends_ns[-1]) if len(inside) else start_ns


def _stretch(wall: Wall, start_ns: int, end_ns: int) -> Stretch:
    busy = within(wall.busy, start_ns, end_ns).total_ns
    work = wall.work
    if work is None:
        return Stretch(start_ns, end_ns - start_ns, busy, 0)
    is_busy = (work.role == KERNEL) | (work.role == COMMUNICATION)
    rows = np.flatnonzero(is_busy & (work.start_ns < end_ns) & (work.end_ns > start_ns))
    inside = np.minimum(work.end_ns[rows], end_ns) - np.maximum(work.start_ns[rows], start_ns)
    codes, place = np.unique(work.name[rows], return_inverse=True)
    sums = np.zeros(len(codes), np.int64)
    np.add.at(sums, place, inside)
    names = tuple(
        (work.names[codes[i]] if codes[i] >= 0 else "", int(sums[i]))
        for i in np.argsort(-sums, kind="stable")[:MAX_NAMES]
    )
    n_calls = int((work.start_ns[rows] >= start_ns).sum())
    return Stretch(start_ns, end_ns - start_ns, busy, n_calls, names)
