"""How long one profile took, how long the device was busy, and what it did: exact nanoseconds.

Wall: from the first start to the last end of kernels and collectives. Busy: the union of both over all
streams. Idle: the rest; copies, events and waits are idle by the vendor's definition and told apart here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from npulse.core.formats.profiling.timeline import NONE, Timeline

from ..intervals import EMPTY, Intervals, gaps, overlap, union, without
from ..profile import Profile
from .device_work import COMMUNICATION, COPY, KERNEL, DeviceWork, work_of_operators, work_of_timeline
from .lanes import MAX_GAPS, exact_sum, gaps_of, lanes_of, ruler, union_of
from .record import Gap, Lane, Source, StepWall, Wall
from .step_walls import steps_by_host, steps_by_number
from .strays import without_strays

WHOLE_SHARE = 0.8
"""Rows with less than this of the computing that step_trace_time tells are a part: a table that was cut by
hand, or of some steps only."""

__all__ = ["Gap", "Lane", "Source", "StepWall", "Wall", "ruler", "wall_of", "wall_of_work"]


def wall_of(profile: Profile, usable_rows: npt.NDArray[np.bool_] | None = None) -> Wall | None:
    """Wall, busy and idle time from the best source at hand; None where nothing tells of any time.

    The best: a timeline's tasks, its overlap lanes, the operator table, sums of step_trace_time. A timeline
    that is cut gives way to a table that reaches further, and one without communication to a table with it;
    rows that hold but a part of the computing give way to the sums.
    usable_rows: mask of the rows of `profile.operators` that count, None for all.
    Cost: O(n log n); a million tasks take about 1 s.
    """
    timeline = profile.timeline
    found = _wall_of_timeline(profile, timeline) if timeline is not None else None
    if found is None or found.is_cut or not found.communication_ns:
        table = _wall_of_operators(profile, usable_rows)
        if table is not None and (found is None or _is_fuller(table, found)):
            found = table
    if found is None:
        return _wall_of_steps(profile)
    sums = _step_sums(profile)
    held_share = found.compute_ns / sums["Computing"] if sums.get("Computing") else 1.0
    if found.source in ("operators", "timeline") and held_share < WHOLE_SHARE:
        whole = _wall_of_steps(profile)
        if whole is not None:
            return replace(whole, held_share=held_share)
    if not found.recorded and sums:
        found = replace(found, recorded=sums, recorded_source=profile.sources.get("steps", "step_trace_time"))
    return found


def _is_fuller(table: Wall, timeline: Wall) -> bool:
    """True if the table tells what the timeline leaves out."""
    if timeline.is_cut and table.wall_ns > timeline.wall_ns:
        return True
    return bool(table.communication_ns) and not timeline.communication_ns


def wall_of_work(
    work: DeviceWork, source: Source, artifact: str, steps: Iterable[StepWall] = ()
) -> Wall | None:
    """The figures of these tasks; None if there is no kernel and no collective among them."""
    work, set_aside, n_set_aside = without_strays(work)
    is_busy = (work.role == KERNEL) | (work.role == COMMUNICATION)
    if not is_busy.any():
        return None
    compute = union_of(work, work.role == KERNEL)
    communication = union_of(work, work.role == COMMUNICATION)
    copies = union_of(work, work.role == COPY)
    # without collectives both are the same intervals, and held once: a large table has millions of them
    busy = union_of(work, is_busy) if len(communication) else compute
    start_ns, end_ns = int(work.start_ns[is_busy].min()), int(work.end_ns[is_busy].max())
    idle = gaps(busy, start_ns, end_ns)
    overlapped_ns = overlap(compute, communication).total_ns
    found = gaps_of(work, is_busy, idle)
    lanes, n_lanes = lanes_of(work, compute, communication, copies)
    return Wall(
        source=source,
        artifact=artifact,
        start_ns=start_ns,
        end_ns=end_ns,
        wall_ns=end_ns - start_ns,
        busy_ns=busy.total_ns,
        compute_ns=compute.total_ns,
        communication_ns=communication.total_ns,
        communication_not_overlapped_ns=communication.total_ns - overlapped_ns,
        overlapped_ns=overlapped_ns,
        sum_of_kernels_ns=exact_sum(work.duration_ns[is_busy]),
        n_kernels=int((work.role == KERNEL).sum()),
        copies_ns=copies.total_ns,
        copies_in_idle_ns=overlap(copies, idle).total_ns,
        compute=compute,
        communication=communication,
        copies=copies,
        busy=busy,
        idle=idle,
        lanes=lanes,
        n_lanes=n_lanes,
        gaps=found.longest,
        n_gaps=len(idle),
        idle_before=found.before,
        idle_after=found.after,
        idle_is_artefact=found.is_artefact,
        artefact_ns=found.artefact_ns,
        set_aside=set_aside,
        n_set_aside=n_set_aside,
        assumed_kinds=work.assumed_kinds,
        steps=tuple(steps),
        work=work,
    )


def _wall_of_timeline(profile: Profile, timeline: Timeline) -> Wall | None:
    artifact = timeline.source or profile.sources.get("timeline", "")
    wall = wall_of_work(work_of_timeline(timeline), "timeline", artifact)
    if wall is None:
        wall = _wall_of_lanes(timeline, artifact)
    if wall is None:
        return None
    recorded = {lane: int(durations.sum()) for lane, (_, durations) in timeline.recorded.items()}
    steps = steps_by_host(wall.work, timeline) if wall.work is not None else ()
    return replace(
        wall,
        recorded=recorded,
        recorded_source=artifact if recorded else "",
        steps=steps,
        is_cut=timeline.is_cut,
    )


def _wall_of_lanes(timeline: Timeline, artifact: str) -> Wall | None:
    """From the lanes of the vendor's overlap analysis alone: no task is recorded."""
    lanes = {
        name: union(*timeline.recorded[name])
        for name in ("Computing", "Communication")
        if name in timeline.recorded
    }
    compute, communication = lanes.get("Computing", EMPTY), lanes.get("Communication", EMPTY)
    busy = _joined(compute, communication)
    if not len(busy):
        return None
    start_ns, end_ns = int(busy.starts_ns[0]), int(busy.ends_ns[-1])
    idle = gaps(busy)
    lengths = idle.ends_ns - idle.starts_ns
    order = np.lexsort((idle.starts_ns, -lengths))[:MAX_GAPS]
    overlapped_ns = overlap(compute, communication).total_ns
    made: list[Lane] = []
    if len(compute):
        made.append(Lane("compute", NONE, compute, len(compute)))
    if len(communication):
        made.append(Lane("communication", NONE, communication, len(communication)))
    return Wall(
        source="lanes",
        artifact=artifact,
        start_ns=start_ns,
        end_ns=end_ns,
        wall_ns=end_ns - start_ns,
        busy_ns=busy.total_ns,
        compute_ns=compute.total_ns,
        communication_ns=communication.total_ns,
        communication_not_overlapped_ns=without(communication, compute).total_ns,
        overlapped_ns=overlapped_ns,
        compute=compute,
        communication=communication,
        busy=busy,
        idle=idle,
        lanes=tuple(made),
        n_lanes=len(made),
        gaps=tuple(Gap(int(idle.starts_ns[i]), int(lengths[i]), "", "") for i in order),
        n_gaps=len(idle),
    )


def _joined(left: Intervals, right: Intervals) -> Intervals:
    starts = np.concatenate((left.starts_ns, right.starts_ns))
    return union(starts, np.concatenate((left.ends_ns, right.ends_ns)) - starts)


def _wall_of_operators(profile: Profile, usable: npt.NDArray[np.bool_] | None) -> Wall | None:
    table = profile.operators
    if table is None or not table.n_rows:
        return None
    work, n_unplaced = work_of_operators(table, usable)
    artifact = profile.sources.get("operators", table.files[0] if table.files else "")
    wall = wall_of_work(work, "operators", artifact)
    if wall is None or wall.work is None:
        return None
    waits = table.values("wait_ns")
    has_wait = ~table.is_absent("wait_ns")
    if usable is not None:
        has_wait &= np.asarray(usable, bool)
    is_cut = any(problem.kind in ("cut-off", "limit") for problem in table.problems)
    return replace(
        wall,
        wait_ns=exact_sum(np.maximum(waits[has_wait], 0)) if has_wait.any() else None,
        n_unplaced=n_unplaced,
        steps=steps_by_number(wall.work),
        is_cut=is_cut,
    )


def _step_sums(profile: Profile) -> dict[str, int]:
    """Sums of step_trace_time under the names of the vendor's lanes, as far as all rows have them."""
    rows = [row for row in profile.steps if row.computing_ns is not None]
    columns = {
        "Computing": [row.computing_ns for row in rows],
        "Communication": [row.communication_ns for row in rows],
        "Communication(Not Overlapped)": [row.communication_not_overlapped_ns for row in rows],
        "Free": [row.free_ns for row in rows],
    }
    return {
        name: sum(value for value in values if value is not None)
        for name, values in columns.items()
        if values and all(value is not None for value in values)
    }


def _wall_of_steps(profile: Profile) -> Wall | None:
    """Sums of step_trace_time: computing, not overlapped communication and free make the whole."""
    steps = []
    for row in profile.steps:
        if row.computing_ns is None or row.free_ns is None:
            continue
        exposed = row.communication_not_overlapped_ns or 0
        busy_ns = row.computing_ns + exposed
        communication = row.communication_ns if row.communication_ns is not None else exposed
        steps.append(
            StepWall(
                row.step, None, None, busy_ns + row.free_ns, busy_ns, row.computing_ns, communication, exposed
            )
        )
    if not steps:
        return None
    communication_ns = sum(step.communication_ns for step in steps)
    exposed_ns = sum(step.communication_not_overlapped_ns for step in steps)
    artifact = profile.sources.get("steps", "step_trace_time")
    return Wall(
        source="steps",
        artifact=artifact,
        start_ns=None,
        end_ns=None,
        wall_ns=sum(step.wall_ns for step in steps),
        busy_ns=sum(step.busy_ns for step in steps),
        compute_ns=sum(step.compute_ns for step in steps),
        communication_ns=communication_ns,
        communication_not_overlapped_ns=exposed_ns,
        overlapped_ns=communication_ns - exposed_ns,
        recorded=_step_sums(profile),
        recorded_source=artifact,
        steps=tuple(steps),
    )
