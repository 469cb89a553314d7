"""Why the device had nothing to do in its gaps: who was late, the framework, the launch or the device itself.

After the vendor's free_analysis, with one difference: a gap in which another task ran (an event, a copy) is
only the device's own if the next kernel had been launched before the gap began.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from npulse.core.dataclass import dataclass
from npulse.core.formats.profiling.timeline import NONE, Integers

from ..intervals import Intervals, overlap, union, without
from .device_work import COMMUNICATION, KERNEL, DeviceWork
from .lanes import busy_before
from .launches import Launches
from .record import Gap, Wall

Cause = Literal["artefact", "device", "queued", "framework", "long launch", "between launches", "unknown"]
CAUSES: tuple[Cause, ...] = (
    *("artefact", "device", "queued"),
    *("framework", "long launch", "between launches", "unknown"),
)
"""Made by the capture of a graph; other tasks ran on the device; launched, but not begun; the framework gave
nothing; the launch itself was long; the host came late between two launches; no launch is recorded."""
HOST_CAUSES = ("framework", "long launch", "between launches")
WAIT_DIFFERENCE_NS = 50_000
"""The vendor's bound: below it CANN was as quick as before, so the framework was late."""


@dataclass(frozen=True, slots=True)
class CauseSum:
    """All gaps of one cause."""

    cause: Cause
    n: int
    total_ns: int


@dataclass(frozen=True, slots=True)
class GapCause:
    """Why one gap is there. n_others: other device tasks in it; remaining_ns: the longest time without them.

    framework_ns, host_ns: between the ends of the framework's operators, and of the launches, of the tasks
    around the gap. launch_ns: the longer of their launches. between_ns: from the end of the one launch to the
    start of the next. None where not recorded.
    """

    gap: Gap
    cause: Cause
    n_others: int
    remaining_ns: int
    framework_ns: int | None = None
    host_ns: int | None = None
    launch_ns: int | None = None
    between_ns: int | None = None


def causes_of(wall: Wall, launches: Launches | None) -> Integers:
    """Index into CAUSES for each interval of `wall.idle` (int64); empty without tasks."""
    work, idle = wall.work, wall.idle
    if work is None or not len(wall.idle_before):
        return np.zeros(0, np.int64)
    n = len(idle)
    code = {cause: i for i, cause in enumerate(CAUSES)}
    causes = np.full(n, code["unknown"], np.int64)
    if launches is not None:
        before, after = launches.at[wall.idle_before], launches.at[wall.idle_after]
        has_after = after != NONE
        calls = launches.calls
        if len(calls):
            after_start = calls.start_ns[after]
            after_ns = calls.duration_ns[after]
            was_ready = has_after & (after_start <= idle.starts_ns)
            lengths = idle.ends_ns - idle.starts_ns
            is_covered = _covered(_others(work), idle) * 2 >= lengths
            causes[was_ready] = code["queued"]
            causes[was_ready & is_covered] = code["device"]
            is_late = has_after & ~was_ready
            has_both = is_late & (before != NONE)
            between = after_start - (calls.start_ns[before] + calls.duration_ns[before])
            longer = np.maximum(after_ns, np.where(before != NONE, calls.duration_ns[before], 0))
            is_long = np.where(has_both, longer > between, after_ns * 2 >= lengths)
            causes[is_late] = np.where(is_long, code["long launch"], code["between launches"])[is_late]
            framework_before = launches.framework_at[wall.idle_before]
            framework_after = launches.framework_at[wall.idle_after]
            has_framework = has_both & (framework_before != NONE) & (framework_after != NONE)
            if has_framework.any():
                ends = launches.framework.start_ns + launches.framework.duration_ns
                waited = (after_start - ends[framework_after]) - (
                    calls.start_ns[before] - ends[framework_before]
                )
                causes[has_framework & (waited < WAIT_DIFFERENCE_NS)] = code["framework"]
    causes[wall.idle_is_artefact] = code["artefact"]
    return causes


def sums_of(wall: Wall, causes: Integers) -> tuple[CauseSum, ...]:
    """Number and time of the gaps of each cause that there is, the longest time first."""
    lengths = wall.idle.ends_ns - wall.idle.starts_ns
    found = [
        CauseSum(cause, int((causes == i).sum()), int(lengths[causes == i].sum()))
        for i, cause in enumerate(CAUSES)
        if len(causes) and (causes == i).any()
    ]
    return tuple(sorted(found, key=lambda one: -one.total_ns))


def longest_gaps(
    wall: Wall, launches: Launches | None, causes: Integers, n: int = 10
) -> tuple[GapCause, ...]:
    """The n longest gaps, each with its cause and what the host did around it."""
    if wall.work is None or not len(causes):
        return ()
    others = _others(wall.work)
    rows = _other_rows(wall.work)
    found = []
    for gap in wall.gaps[:n]:
        place = int(np.searchsorted(wall.idle.starts_ns, gap.start_ns))
        own = Intervals(np.array([gap.start_ns], np.int64), np.array([gap.end_ns], np.int64))
        left = without(own, overlap(own, others))
        starts, ends = wall.work.start_ns[rows], wall.work.end_ns[rows]
        n_others = int(((starts < gap.end_ns) & (ends > gap.start_ns)).sum())
        remaining = int((left.ends_ns - left.starts_ns).max()) if len(left) else 0
        host = _host_times(gap, launches)
        found.append(GapCause(gap, CAUSES[causes[place]], n_others, remaining, *host))
    return tuple(found)


def _host_times(gap: Gap, launches: Launches | None) -> tuple[int | None, int | None, int | None, int | None]:
    """(framework, host, launch, between) as `GapCause` has them."""
    if launches is None:
        return None, None, None, None
    before, after = int(launches.at[gap.before_at]), int(launches.at[gap.after_at])
    if before == NONE or after == NONE:
        return None, None, None, None
    calls = launches.calls
    starts, lengths = calls.start_ns, calls.duration_ns
    end_before = int(starts[before] + lengths[before])
    host_ns = int(starts[after] + lengths[after]) - end_before
    launch_ns, between_ns = int(max(lengths[before], lengths[after])), int(starts[after]) - end_before
    first, second = int(launches.framework_at[gap.before_at]), int(launches.framework_at[gap.after_at])
    if first == NONE or second == NONE:
        return None, host_ns, launch_ns, between_ns
    ends = launches.framework.start_ns + launches.framework.duration_ns
    return int(ends[second] - ends[first]), host_ns, launch_ns, between_ns


def _other_rows(work: DeviceWork) -> Integers:
    """Tasks that are neither kernels nor collectives and take time."""
    is_other = (work.role != KERNEL) & (work.role != COMMUNICATION) & (work.duration_ns > 0)
    return np.flatnonzero(is_other).astype(np.int64)


def _others(work: DeviceWork) -> Intervals:
    rows = _other_rows(work)
    return union(work.start_ns[rows], work.duration_ns[rows])


def _covered(others: Intervals, idle: Intervals) -> Integers:
    """How much of each idle interval other tasks cover, int64 ns."""
    covered: Integers = busy_before(others, idle.ends_ns) - busy_before(others, idle.starts_ns)
    return covered
