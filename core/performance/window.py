"""A part of the wall time as a timeline shows it: zoom, pan, busy share of cells, the task under a cursor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from npulse.core.formats.profiling.timeline import NONE

from .wall.device_work import COMMUNICATION, COPY, KERNEL
from .wall.lanes import busy_before
from .wall.record import Gap, Lane, Wall

LEAST_NS = 100
"""A window is never shorter: a cell of a wide screen is then about a nanosecond."""
_ROLES = {"compute": KERNEL, "communication": COMMUNICATION, "copy": COPY}


@dataclass(frozen=True, slots=True)
class Window:
    """From start_ns to end_ns (not included), since 1970."""

    start_ns: int
    end_ns: int

    @property
    def span_ns(self) -> int:
        return self.end_ns - self.start_ns

    def zoomed(self, factor: float, at_ns: int, wall: Wall) -> Window:
        """factor below 1: a shorter part, in which `at_ns` stays where it is on the screen."""
        whole = whole_of(wall)
        span = min(max(round(self.span_ns * factor), LEAST_NS), whole.span_ns)
        share = (at_ns - self.start_ns) / max(self.span_ns, 1)
        return _inside(at_ns - round(share * span), span, whole)

    def panned(self, share: float, wall: Wall) -> Window:
        """Moved by a share of its length; it never leaves the wall time."""
        return _inside(self.start_ns + round(share * self.span_ns), self.span_ns, whole_of(wall))

    def around(self, at_ns: int, wall: Wall) -> Window:
        """As long as this one, with `at_ns` in its middle."""
        return _inside(at_ns - self.span_ns // 2, self.span_ns, whole_of(wall))

    def shown(self, start_ns: int, duration_ns: int, part: float, wall: Wall) -> Window:
        """The window in which a time takes this part of the width, in its middle."""
        span = min(max(round(duration_ns / part), LEAST_NS), whole_of(wall).span_ns)
        return Window(start_ns, start_ns + span).around(start_ns + duration_ns // 2, wall)

    def cell_of(self, at_ns: int, n_cells: int) -> int:
        """The cell that a moment is in; the nearest one where it is outside."""
        place = int(np.searchsorted(self.edges(n_cells), at_ns, side="right")) - 1
        return min(max(place, 0), n_cells - 1)

    def clipped(self, at_ns: int) -> int:
        """The moment of the window that is nearest to a moment."""
        return min(max(at_ns, self.start_ns), self.end_ns - 1)

    def edges(self, n_cells: int) -> npt.NDArray[np.int64]:
        """Where the cells begin, and where the last one ends."""
        return self.start_ns + np.array([self.span_ns * i // n_cells for i in range(n_cells + 1)], np.int64)


@dataclass(frozen=True, slots=True)
class TaskAt:
    """A task of a lane: the one at a moment (is_running: the moment lies in it), or the next one."""

    name: str
    op_type: str
    start_ns: int
    duration_ns: int
    is_running: bool


@dataclass(frozen=True, slots=True, eq=False)
class LaneTasks:
    """Tasks of one lane in order of their start. rows: where they stand in the work; latest_ns: the latest
    end of a task and all before it. All int64, one element a task."""

    wall: Wall
    rows: npt.NDArray[np.int64]
    starts_ns: npt.NDArray[np.int64]
    latest_ns: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.rows)

    def at(self, at_ns: int) -> TaskAt | None:
        """What runs at a moment, else what comes next. Of several the last begun, if it still runs."""
        place = int(np.searchsorted(self.starts_ns, at_ns, side="right")) - 1
        if place >= 0 and int(self.latest_ns[place]) > at_ns:
            row = int(self.rows[place])
            if at_ns >= self._end(row):  # an earlier one lasts longer: the first whose end is the latest
                row = int(self.rows[int(np.searchsorted(self.latest_ns, at_ns, side="right"))])
            return _told(self.wall, row, is_running=True)
        return self._next(place + 1)

    def after(self, at_ns: int) -> TaskAt | None:
        """The first task that begins after a moment."""
        return self._next(int(np.searchsorted(self.starts_ns, at_ns, side="right")))

    def before(self, at_ns: int) -> TaskAt | None:
        """The last task that began before a moment."""
        place = int(np.searchsorted(self.starts_ns, at_ns, side="left")) - 1
        return _told(self.wall, int(self.rows[place]), is_running=False) if place >= 0 else None

    def nearest(self, at_ns: int) -> TaskAt | None:
        """The task whose begin is nearest to a moment: two files give one start with other digits."""
        place = int(np.searchsorted(self.starts_ns, at_ns, side="left"))
        near = [p for p in (place - 1, place) if 0 <= p < len(self)]
        best = min(near, key=lambda p: abs(int(self.starts_ns[p]) - at_ns), default=None)
        return None if best is None else self._next(best)

    def _next(self, place: int) -> TaskAt | None:
        return _told(self.wall, int(self.rows[place]), is_running=False) if place < len(self) else None

    def _end(self, row: int) -> int:
        assert self.wall.work is not None
        return int(self.wall.work.start_ns[row]) + int(self.wall.work.duration_ns[row])


def whole_of(wall: Wall) -> Window:
    """All of the wall time; ValueError where nothing is placed in time."""
    if wall.start_ns is None or wall.end_ns is None:
        raise ValueError("nothing is placed in time")
    return Window(wall.start_ns, max(wall.end_ns, wall.start_ns + LEAST_NS))


def shares(wall: Wall, window: Window, n_cells: int) -> npt.NDArray[np.float64]:
    """Busy share of each cell, 0 to 1: a row a lane of `wall.lanes`, a column a cell."""
    edges = window.edges(n_cells)
    widths = np.maximum(np.diff(edges), 1)
    found = np.zeros((len(wall.lanes), n_cells))
    for row, lane in enumerate(wall.lanes):
        found[row] = np.diff(busy_before(lane.busy, edges)) / widths
    return found


def lane_tasks(wall: Wall, lane: Lane) -> LaneTasks:
    """The tasks of a lane, once: every question about them is a bisection. Cost: one pass over all work."""
    work = wall.work
    if work is None:
        none = np.zeros(0, np.int64)
        return LaneTasks(wall, none, none, none)
    mine = work.role == _ROLES[lane.role]
    if lane.role == "compute":
        mine &= work.stream == lane.stream
    rows = np.flatnonzero(mine).astype(np.int64)
    starts = work.start_ns[rows]
    ends = starts + work.duration_ns[rows]
    return LaneTasks(wall, rows, starts, np.maximum.accumulate(ends) if len(ends) else ends)


def lane_at(wall: Wall, at_ns: int) -> int | None:
    """The lane of the task that begins nearest to a moment, the longest of several; None without tasks."""
    work = wall.work
    if work is None or not len(work):
        return None
    place = int(np.searchsorted(work.start_ns, at_ns, side="left"))
    near = [int(work.start_ns[p]) for p in (place - 1, place) if 0 <= p < len(work)]
    start = min(near, key=lambda ns: abs(ns - at_ns))
    first, last = (int(np.searchsorted(work.start_ns, start, side=side)) for side in ("left", "right"))
    lanes = {
        (_ROLES[lane.role], lane.stream if lane.role == "compute" else NONE): row
        for row, lane in enumerate(wall.lanes)
    }
    for at in sorted(range(first, last), key=lambda at: -int(work.duration_ns[at])):
        role = int(work.role[at])
        row = lanes.get((role, int(work.stream[at]) if role == KERNEL else NONE))
        if row is not None:
            return row
    return None


def next_gap(wall: Wall, at_ns: int) -> Gap | None:
    """The first gap that begins after a moment, with what stands around it; None behind the last one."""
    place = int(np.searchsorted(wall.idle.starts_ns, at_ns, side="right"))
    if place >= len(wall.idle):
        return None
    start, end = int(wall.idle.starts_ns[place]), int(wall.idle.ends_ns[place])
    before, after, is_artefact = NONE, NONE, False
    if place < len(wall.idle_before) and wall.work is not None:
        before, after = int(wall.idle_before[place]), int(wall.idle_after[place])
        is_artefact = bool(wall.idle_is_artefact[place])
    return Gap(start, end - start, _label(wall, before), _label(wall, after), before, after, is_artefact)


def gap_at(wall: Wall, at_ns: int) -> Gap | None:
    """The gap that a moment lies in; None where something runs."""
    place = int(np.searchsorted(wall.idle.starts_ns, at_ns, side="right")) - 1
    if place < 0 or at_ns >= int(wall.idle.ends_ns[place]):
        return None
    return next_gap(wall, int(wall.idle.starts_ns[place]) - 1)


def _label(wall: Wall, row: int) -> str:
    return wall.work.label(row) if wall.work is not None and row >= 0 else ""


def _told(wall: Wall, row: int, *, is_running: bool) -> TaskAt:
    work = wall.work
    assert work is not None
    code = int(work.op_type[row]) if len(work.op_type) else -1
    name = int(work.name[row])
    return TaskAt(
        work.names[name] if name >= 0 else "",
        work.op_types[code] if code >= 0 else "",
        int(work.start_ns[row]),
        int(work.duration_ns[row]),
        is_running,
    )


def _inside(start_ns: int, span_ns: int, whole: Window) -> Window:
    start = min(max(start_ns, whole.start_ns), whole.end_ns - span_ns)
    return Window(start, start + span_ns)
