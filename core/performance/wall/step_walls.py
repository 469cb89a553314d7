"""The device's time of each step."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from npulse.core.formats.profiling.timeline import NONE, Integers, Timeline

from ..intervals import overlap, union
from .device_work import COMMUNICATION, KERNEL, DeviceWork
from .lanes import union_of
from .record import StepWall


def steps_by_number(work: DeviceWork) -> tuple[StepWall, ...]:
    return _step_walls(work, work.step, {int(n): str(n) for n in np.unique(work.step) if n != NONE})


def steps_by_host(work: DeviceWork, timeline: Timeline) -> tuple[StepWall, ...]:
    """A task is of the step in which the host started it; where that is not recorded, in which it began."""
    if not timeline.steps:
        return ()
    spans = sorted(timeline.steps, key=lambda span: span.start_ns)
    at = work.start_ns.copy()
    launches = timeline.launches
    if len(launches):
        order = np.argsort(launches.connection, kind="stable")
        keys = launches.connection[order]
        place = np.minimum(np.searchsorted(keys, work.connection), len(keys) - 1)
        is_known = (work.connection != NONE) & (keys[place] == work.connection)
        at[is_known] = launches.start_ns[order][place[is_known]]
    starts = np.array([span.start_ns for span in spans], np.int64)
    ends = np.array([span.end_ns for span in spans], np.int64)
    index = np.searchsorted(starts, at, side="right") - 1
    index = np.where((index >= 0) & (at < ends[np.maximum(index, 0)]), index, NONE)
    return _step_walls(work, index, {i: span.name for i, span in enumerate(spans)})


def _step_walls(work: DeviceWork, step: Integers, names: Mapping[int, str]) -> tuple[StepWall, ...]:
    rows = np.flatnonzero(((work.role == KERNEL) | (work.role == COMMUNICATION)) & (step != NONE))
    rows = rows[np.argsort(step[rows], kind="stable")]
    numbers, firsts = np.unique(step[rows], return_index=True)
    found = []
    for number, part in zip(numbers, np.split(rows, firsts[1:]), strict=False):
        if not len(part):
            continue
        own = work.taken(part)
        compute, communication = union_of(own, own.role == KERNEL), union_of(own, own.role == COMMUNICATION)
        start_ns, end_ns = int(own.start_ns.min()), int(own.end_ns.max())
        found.append(
            StepWall(
                names[int(number)],
                start_ns,
                end_ns,
                end_ns - start_ns,
                union(own.start_ns, own.duration_ns).total_ns,
                compute.total_ns,
                communication.total_ns,
                communication.total_ns - overlap(compute, communication).total_ns,
            )
        )
    return tuple(sorted(found, key=lambda one: one.start_ns or 0))
