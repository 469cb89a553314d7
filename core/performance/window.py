"""A part of the wall time as a timeline shows it: zoom, pan, busy share of cells, the task under a cursor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .wall.device_work import COMMUNICATION, COPY, KERNEL
from .wall.lanes import busy_before
from .wall.record import Lane, Wall

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
        return _inside(round(at_ns - share * span), span, whole)

    def panned(self, share: float, wall: Wall) -> Window:
        """Moved by a share of its length; it never leaves the wall time."""
        return _inside(self.start_ns + round(share * self.span_ns), self.span_ns, whole_of(wall))

    def around(self, at_ns: int, wall: Wall) -> Window:
        """As long as this one, with `at_ns` in its middle."""
        return _inside(at_ns - self.span_ns // 2, self.span_ns, whole_of(wall))

    def edges(self, n_cells: int) -> npt.NDArray[np.int64]:
        """Where the cells begin, and where the last one ends."""
        return self.start_ns + np.array([self.span_ns * i // n_cells for i in range(n_cells + 1)], np.int64)


@dataclass(frozen=True, slots=True)
class TaskAt:
    """The task of a lane at a moment, or the next one after it. is_running: the moment lies in it."""

    name: str
    op_type: str
    start_ns: int
    duration_ns: int
    is_running: bool


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


def task_at(wall: Wall, lane: Lane, at_ns: int) -> TaskAt | None:
    """What runs in a lane at a moment, else what comes next; None where nothing does or no task is kept."""
    work = wall.work
    if work is None:
        return None
    mine = work.role == _ROLES[lane.role]
    if lane.role == "compute":
        mine &= work.stream == lane.stream
    rows = np.flatnonzero(mine)
    if not len(rows):
        return None
    starts = work.start_ns[rows]
    place = int(np.searchsorted(starts, at_ns, side="right")) - 1
    row = int(rows[place]) if place >= 0 else -1
    if row >= 0 and at_ns < int(work.start_ns[row]) + int(work.duration_ns[row]):
        return _told(wall, row, is_running=True)
    return _told(wall, int(rows[place + 1]), is_running=False) if place + 1 < len(rows) else None


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
