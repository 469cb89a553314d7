"""What is known of the time of one profile: whole, busy, idle, by lane, by step, and the gaps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

import numpy as np

from npulse.core.dataclass import dataclass
from npulse.core.formats.profiling.timeline import NONE, Integers

from ..intervals import EMPTY, Intervals
from .device_work import DeviceWork, Flags
from .strays import SetAside

Source = Literal["timeline", "lanes", "operators", "steps"]
"""What the figures rest on: tasks of a timeline, lanes of its overlap analysis, the operator table, or the
sums of step_trace_time."""
LaneRole = Literal["compute", "communication", "copy"]


@dataclass(frozen=True, slots=True)
class Gap:
    """A time without kernels and collectives. before, after: names of the tasks around it, "" for none.

    before_at, after_at: where those stand in `Wall.work`. is_artefact: made by the capture of a graph.
    """

    start_ns: int
    duration_ns: int
    before: str
    after: str
    before_at: int = NONE
    after_at: int = NONE
    is_artefact: bool = False

    @property
    def end_ns(self) -> int:
        return self.start_ns + self.duration_ns


@dataclass(frozen=True, slots=True)
class Lane:
    """When one stream (or all collectives, or all copies) was busy. stream: NONE where it has no number."""

    role: LaneRole
    stream: int
    busy: Intervals
    n_tasks: int


@dataclass(frozen=True, slots=True)
class StepWall:
    """The device's time of one step: from the first start to the last end of its tasks."""

    step: str
    start_ns: int | None
    end_ns: int | None
    wall_ns: int
    busy_ns: int
    compute_ns: int
    communication_ns: int
    communication_not_overlapped_ns: int

    @property
    def idle_ns(self) -> int:
        return self.wall_ns - self.busy_ns


@dataclass(frozen=True, slots=True)
class Wall:
    """Wall, busy and idle time of one profile. Times int ns; None where the source cannot tell.

    source, artifact: what it rests on. start_ns, end_ns: since 1970, None for sums of steps.
    busy_ns: union of kernels and collectives. compute_ns: union of kernels. communication_ns: union of
    collectives, of which overlapped_ns beside kernels. sum_of_kernels_ns: kernels and collectives one by one.
    wait_ns: sum of the table's wait column. copies_in_idle_ns: what of the idle time copies ran in.
    lanes: streams, the busiest first, then collectives and copies; n_lanes: before they were limited.
    gaps: the longest first, n_gaps of them all. idle_before, idle_after, idle_is_artefact: of each interval
    of `idle` the tasks around it in `work`, and whether a graph's capture made it (artefact_ns together);
    empty where no task is recorded. set_aside: tasks at impossible times, n_set_aside of them. n_unplaced:
    rows without start or duration. assumed_kinds: task types not known here, counted as kernels. recorded:
    lane of the vendor's overlap analysis, or column of step_trace_time, -> its sum. steps: by step. is_cut:
    the source has no end. held_share: where rows hold but this share of the computing that
    step_trace_time tells, the figures are its sums. work: the tasks themselves, in order of their start.
    """

    source: Source
    artifact: str
    start_ns: int | None
    end_ns: int | None
    wall_ns: int
    busy_ns: int
    compute_ns: int
    communication_ns: int
    communication_not_overlapped_ns: int
    overlapped_ns: int
    sum_of_kernels_ns: int | None = None
    n_kernels: int | None = None
    wait_ns: int | None = None
    copies_ns: int | None = None
    copies_in_idle_ns: int | None = None
    compute: Intervals = EMPTY
    communication: Intervals = EMPTY
    copies: Intervals = EMPTY
    busy: Intervals = EMPTY
    idle: Intervals = EMPTY
    lanes: tuple[Lane, ...] = ()
    n_lanes: int = 0
    gaps: tuple[Gap, ...] = ()
    n_gaps: int = 0
    idle_before: Integers = field(default_factory=lambda: np.zeros(0, np.int64))
    idle_after: Integers = field(default_factory=lambda: np.zeros(0, np.int64))
    idle_is_artefact: Flags = field(default_factory=lambda: np.zeros(0, bool))
    artefact_ns: int = 0
    set_aside: tuple[SetAside, ...] = ()
    n_set_aside: int = 0
    n_unplaced: int = 0
    assumed_kinds: tuple[str, ...] = ()
    recorded: Mapping[str, int] = field(default_factory=dict)
    recorded_source: str = ""
    steps: tuple[StepWall, ...] = ()
    is_cut: bool = False
    held_share: float | None = None
    work: DeviceWork | None = None

    @property
    def idle_ns(self) -> int:
        return self.wall_ns - self.busy_ns

    @property
    def true_idle_ns(self) -> int:
        """Idle time without the gaps that a graph's capture made."""
        return self.idle_ns - self.artefact_ns

    @property
    def idle_share(self) -> float:
        """True idle time of the wall time, 0 to 1."""
        return self.share(self.true_idle_ns)

    @property
    def streams(self) -> Mapping[int, Intervals]:
        """Stream -> when its kernels ran; NONE where the source numbers none."""
        return {lane.stream: lane.busy for lane in self.lanes if lane.role == "compute"}

    @property
    def sum_ratio(self) -> float | None:
        """Kernels and collectives one by one against the wall time; above 1 where streams run beside."""
        if self.sum_of_kernels_ns is None or not self.wall_ns:
            return None
        return self.sum_of_kernels_ns / self.wall_ns

    def share(self, part_ns: int) -> float:
        """A part of the wall time, 0 to 1."""
        return part_ns / self.wall_ns if self.wall_ns else 0.0
