"""Streams over time: one row a lane, height by busy share; the keyboard zooms, pans and names the task."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Static

from npulse.core.performance.operators.calls import time_text
from npulse.core.performance.window import Window, shares, task_at, whole_of
from npulse.core.text import safe_text

from ...actions import bindings_for
from ...glyphs import Glyphs, glyphs_of
from ...screens.page import Page
from ...widgets.cells import cell_width, fit

if TYPE_CHECKING:
    from npulse.core.performance.view import PerformanceView
    from npulse.core.performance.wall.record import Lane, Wall

ZOOM = 0.5
PAN = 0.25
_LABEL_CELLS = 14
_FIRST_PARTS = 32
"""Opened from a row, this part of the wall time is shown around its call."""


class TimeLanes(Widget, can_focus=True):
    """Lanes of a window; `lane` and `cell` are the cursor."""

    DEFAULT_CSS = """
    TimeLanes { height: 1fr; width: 1fr; padding: 0 1; }
    """
    window: reactive[Window | None] = reactive(None)
    lane: reactive[int] = reactive(0)
    cell: reactive[int] = reactive(0)

    def __init__(self, wall: Wall) -> None:
        super().__init__()
        self.wall = wall
        self._top = 0

    @property
    def n_cells(self) -> int:
        """Cells of a lane on this screen."""
        return max(self.size.width - _LABEL_CELLS - 3, 8)

    @property
    def at_ns(self) -> int:
        """The moment under the cursor: the begin of its cell."""
        if self.window is None:
            return 0
        return int(self.window.edges(self.n_cells)[min(self.cell, self.n_cells - 1)])

    def render(self) -> Text:
        window, height = self.window, max(self.size.height - 1, 1)
        if window is None:
            return Text("")
        self._top = min(max(self._top, self.lane - height + 1), self.lane)
        glyphs = glyphs_of(self.app)
        values = shares(self.wall, window, self.n_cells)
        text = Text(no_wrap=True, end="")
        text.append(axis(window, self.wall, self.n_cells, glyphs) + "\n", "dim")
        stop = min(self._top + height, len(values))
        for row in range(self._top, stop):
            label = fit(lane_label(self.wall.lanes[row]), _LABEL_CELLS, "left", glyphs.ellipsis)
            text.append(f"{label} ", "bold" if row == self.lane else "")
            start = len(text)
            text.append("".join(cells_of(values[row], glyphs)))
            if row == self.lane:
                at = start + min(self.cell, self.n_cells - 1)
                text.stylize("reverse", at, at + 1)
            if row + 1 < stop:
                text.append("\n")
        return text


class TimelinePage(Page["None"]):
    """The timeline of the profile that the table is of; it opens at the call of the table's cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings_for("timeline", "move")]
    DEFAULT_CSS = """
    TimelinePage #title { padding: 0 1; height: 1; }
    TimelinePage #task { padding: 0 1; height: 3; }
    """

    def __init__(self, view: PerformanceView, at_ns: int | None = None) -> None:
        super().__init__()
        wall = view.wall
        assert wall is not None
        self.wall, self._first_ns = wall, at_ns

    def compose_body(self) -> ComposeResult:
        yield Static(id="title", markup=False)
        yield TimeLanes(self.wall)
        yield Static(id="task", markup=False)

    @property
    def lanes(self) -> TimeLanes:
        return self.query_one(TimeLanes)

    async def begin(self) -> None:
        self.lanes.focus()
        self.lanes.window = whole_of(self.wall)
        self.call_after_refresh(self._go_first)

    def retranslate(self) -> None:
        super().retranslate()
        self._tell()

    def on_resize(self) -> None:
        self.call_after_refresh(self._tell)

    def _go_first(self) -> None:
        at, lanes = self._first_ns, self.lanes
        if at is not None and lanes.window is not None:
            lanes.window = lanes.window.zoomed(1 / _FIRST_PARTS, at, self.wall).around(at, self.wall)
            lanes.lane = next(
                (
                    row
                    for row, lane in enumerate(self.wall.lanes)
                    if (task := task_at(self.wall, lane, at)) is not None and task.start_ns == at
                ),
                0,
            )
            edges = lanes.window.edges(lanes.n_cells)
            lanes.cell = int(np.clip(np.searchsorted(edges, at, side="right") - 1, 0, lanes.n_cells - 1))
        self._tell()

    # ---- keys ----

    def action_zoom(self, direction: int) -> None:
        """In (1) or out (-1), around the cursor."""
        lanes = self.lanes
        if lanes.window is not None:
            factor = ZOOM if direction > 0 else 1 / ZOOM
            lanes.window = lanes.window.zoomed(factor, lanes.at_ns, self.wall)
            self._tell()

    def action_pan(self, direction: int) -> None:
        """A quarter of the window to the left (-1) or right (1)."""
        if self.lanes.window is not None:
            self.lanes.window = self.lanes.window.panned(PAN * direction, self.wall)
            self._tell()

    def action_whole(self) -> None:
        """All of the wall time."""
        self.lanes.window = whole_of(self.wall)
        self._tell()

    def action_step(self, direction: int) -> None:
        """One cell to the left or right; at the border the window moves."""
        lanes = self.lanes
        cell = lanes.cell + direction
        if 0 <= cell < lanes.n_cells:
            lanes.cell = cell
            self._tell()
        elif lanes.window is not None:
            lanes.window = lanes.window.panned(PAN * direction, self.wall)
            self._tell()

    def action_next_task(self) -> None:
        """To the begin of the next task of the lane."""
        lanes, window = self.lanes, self.lanes.window
        if window is None or not self.wall.lanes:
            return
        edges = window.edges(lanes.n_cells)
        behind = int(edges[min(lanes.cell + 1, lanes.n_cells)])
        task = task_at(self.wall, self.wall.lanes[lanes.lane], behind)
        if task is None:
            return
        start = max(task.start_ns, behind)
        if start >= window.end_ns:
            lanes.window = window = window.around(start, self.wall)
            edges = window.edges(lanes.n_cells)
        lanes.cell = int(np.clip(np.searchsorted(edges, start, side="right") - 1, 0, lanes.n_cells - 1))
        self._tell()

    def action_cursor_down(self) -> None:
        self._to_lane(self.lanes.lane + 1)

    def action_cursor_up(self) -> None:
        self._to_lane(self.lanes.lane - 1)

    def action_cursor_page_down(self) -> None:
        self._to_lane(self.lanes.lane + max(self.lanes.size.height - 2, 1))

    def action_cursor_page_up(self) -> None:
        self._to_lane(self.lanes.lane - max(self.lanes.size.height - 2, 1))

    def action_cursor_top(self) -> None:
        self._to_lane(0)

    def action_cursor_bottom(self) -> None:
        self._to_lane(len(self.wall.lanes) - 1)

    def action_open_row(self) -> None:
        self.action_next_task()

    def _to_lane(self, lane: int) -> None:
        self.lanes.lane = min(max(lane, 0), max(len(self.wall.lanes) - 1, 0))
        self._tell()

    # ---- words ----

    def _tell(self) -> None:
        lanes = self.lanes
        window = lanes.window
        if window is None or not self.wall.lanes or not self.is_mounted:
            return
        whole = whole_of(self.wall)
        title = self.tr(
            "timeline.title",
            start=time_text(window.start_ns - whole.start_ns),
            end=time_text(window.end_ns - whole.start_ns),
            wall=time_text(whole.span_ns),
            n=len(self.wall.lanes),
            all=self.wall.n_lanes,
        )
        self.query_one("#title", Static).update(self.plain(title))
        lane = self.wall.lanes[lanes.lane]
        task = task_at(self.wall, lane, lanes.at_ns)
        where = time_text(lanes.at_ns - whole.start_ns)
        if task is None:
            words = self.tr("timeline.nothing", at=where)
        else:
            words = self.tr(
                "timeline.running" if task.is_running else "timeline.idle",
                at=where,
                name=safe_text(task.name or task.op_type, 120),
                type=safe_text(task.op_type, 60),
                start=time_text(task.start_ns - whole.start_ns),
                time=time_text(task.duration_ns),
                gap=time_text(max(task.start_ns - lanes.at_ns, 0)),
            )
        share = 100 * lane.busy.total_ns / max(whole.span_ns, 1)
        told = self.tr("timeline.lane", name=lane_label(lane), n=lane.n_tasks, busy=f"{share:.1f}")
        self.query_one("#task", Static).update(self.plain(f"{words}\n{told}"))


def lane_label(lane: Lane) -> str:
    """ "stream 7", "communication": what the row is called."""
    if lane.role == "compute":
        return f"stream {lane.stream}" if lane.stream >= 0 else "compute"
    return lane.role


def cells_of(values: npt.NDArray[np.float64], glyphs: Glyphs) -> list[str]:
    """One glyph a cell: idle, then as many levels as the terminal can draw."""
    levels = glyphs.levels
    n = len(levels)
    places = np.ceil(np.clip(values, 0, 1) * n).astype(int)
    return [levels[place - 1] if place > 0 else glyphs.nothing for place in places.tolist()]


def axis(window: Window, wall: Wall, n_cells: int, glyphs: Glyphs) -> str:
    """Times above the cells, since the begin of the wall time."""
    whole = whole_of(wall)
    step = max(n_cells // 5, 12)
    line = ""
    for cell in range(0, n_cells, step):
        at = window.start_ns + window.span_ns * cell // n_cells - whole.start_ns
        label = f"|{time_text(at)}"
        if cell_width(line) <= cell and cell + len(label) <= n_cells:
            line = line.ljust(cell) + label
    return " " * (_LABEL_CELLS + 1) + line
