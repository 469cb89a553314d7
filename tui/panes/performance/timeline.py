"""Streams over time: one row a lane, height by busy share; the keyboard zooms, pans and names the task."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.geometry import Size
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Static

from npulse.core.figures import time_text
from npulse.core.performance.window import (
    LaneTasks,
    TaskAt,
    Window,
    gap_at,
    lane_at,
    lane_tasks,
    next_gap,
    shares,
    whole_of,
)
from npulse.core.text import Lang, safe_text

from ...actions import bindings_for
from ...chrome import cut_middle
from ...glyphs import Glyphs, glyphs_of
from ...keymap import show_key
from ...messages import tr
from ...screens.page import Page
from ...widgets.cells import cell_width, fit

if TYPE_CHECKING:
    from npulse.core.performance.view import PerformanceView
    from npulse.core.performance.wall.record import Gap, Lane, Wall

ZOOM = 0.5
PAN = 0.25
TASK_PART = 0.05
"""Opened from a row, the longest call takes this part of the width: what stands around it is seen too."""
GAP_PART = 0.2
_LABEL_CELLS = 14
_NAME_CELLS = 120
_GAP_FIGURE_CELLS = 34
_MARGIN_CELLS = 2


class TimeLanes(Widget, can_focus=True):
    """Lanes of a window. `lane` and `at_ns` are the cursor: a lane and a moment."""

    DEFAULT_CSS = """
    TimeLanes { height: auto; max-height: 70%; width: 1fr; padding: 0 1; }
    """
    window: reactive[Window | None] = reactive(None)
    lane: reactive[int] = reactive(0)
    at_ns: reactive[int] = reactive(0)
    lang: reactive[Lang] = reactive("en")

    def __init__(self, wall: Wall) -> None:
        super().__init__()
        self.wall = wall
        self._top = 0
        self._tasks: dict[int, LaneTasks] = {}
        self._drawn: tuple[Window, int, list[str]] | None = None

    @property
    def n_cells(self) -> int:
        """Cells of a lane on this screen."""
        return max(self.size.width - _LABEL_CELLS - 1, 8)

    @property
    def cell(self) -> int:
        """The cell that the cursor's moment is in."""
        return 0 if self.window is None else self.window.cell_of(self.at_ns, self.n_cells)

    @property
    def tasks(self) -> LaneTasks:
        """The tasks of the cursor's lane; each lane is looked through when it is asked for first."""
        if self.lane not in self._tasks:
            self._tasks[self.lane] = lane_tasks(self.wall, self.wall.lanes[self.lane])
        return self._tasks[self.lane]

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self.wall.lanes) + 1

    def render(self) -> Text:
        window, height = self.window, max(self.size.height - 1, 1)
        if window is None:
            return Text("")
        self._top = max(min(self._top, self.lane, len(self.wall.lanes) - height), self.lane - height + 1, 0)
        glyphs, n_cells = glyphs_of(self.app), self.n_cells
        lines = self._lines(window, n_cells, glyphs)
        text = Text(no_wrap=True, end="")
        text.append(axis(window, self.wall, n_cells) + "\n", "dim")
        stop = min(self._top + height, len(lines))
        for row in range(self._top, stop):
            label = fit(lane_label(self.wall.lanes[row], self.lang), _LABEL_CELLS, "left", glyphs.ellipsis)
            text.append(f"{label} ", "bold" if row == self.lane else "")
            start = len(text)
            text.append(lines[row])
            if row == self.lane:
                text.stylize("reverse", start + self.cell, start + self.cell + 1)
            if row + 1 < stop:
                text.append("\n")
        return text

    def _lines(self, window: Window, n_cells: int, glyphs: Glyphs) -> list[str]:
        """The cells of all lanes; kept while the window stays."""
        if self._drawn is None or self._drawn[:2] != (window, n_cells):
            values = shares(self.wall, window, n_cells)
            self._drawn = (window, n_cells, ["".join(cells_of(row, glyphs)) for row in values])
        return self._drawn[2]


class TimelinePage(Page["None"]):
    """The timeline of the profile that the table is of; it opens at the call of the table's cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings_for("timeline", "move")]
    DEFAULT_CSS = """
    TimelinePage #title { padding: 0 1; height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
    TimelinePage #task { padding: 0 1; height: 3; text-wrap: nowrap; text-overflow: ellipsis; }
    TimelinePage #gaps { padding: 0 1; height: 1fr; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    def __init__(self, view: PerformanceView, at_ns: int | None = None) -> None:
        super().__init__()
        wall = view.wall
        assert wall is not None
        self.wall, self._first_ns = wall, at_ns
        self._gap: int | None = None
        """Which of the longest gaps was gone to last; None once the cursor was moved otherwise."""

    def compose_body(self) -> ComposeResult:
        yield Static(id="title", markup=False)
        yield TimeLanes(self.wall)
        yield Static(id="task", markup=False)
        yield Static(id="gaps", markup=False)

    @property
    def lanes(self) -> TimeLanes:
        return self.query_one(TimeLanes)

    async def begin(self) -> None:
        lanes, whole = self.lanes, whole_of(self.wall)
        lanes.focus()
        lanes.window, lanes.at_ns = whole, whole.start_ns
        at = self._first_ns
        if at is not None and whole.start_ns <= at < whole.end_ns:
            lanes.lane = lane_at(self.wall, at) or 0
            lanes.at_ns = at
            task = lanes.tasks.nearest(at) if self.wall.lanes else None
            if task is not None:
                lanes.at_ns = task.start_ns
                lanes.window = whole.shown(task.start_ns, task.duration_ns, TASK_PART, self.wall)
        self.call_after_refresh(self._tell)

    def retranslate(self) -> None:
        super().retranslate()
        self.lanes.lang = self.shell.lang
        self._tell()

    def on_resize(self) -> None:
        self.call_after_refresh(self._tell)

    def in_footer(self, action_id: str) -> bool:
        return bool(self.wall.gaps) if action_id.startswith("timeline.gap") else True

    # ---- keys ----

    def action_zoom(self, direction: int) -> None:
        """In (1) or out (-1), around the cursor."""
        window = self.lanes.window
        if window is not None:
            factor = ZOOM if direction > 0 else 1 / ZOOM
            self._show(window.zoomed(factor, self.lanes.at_ns, self.wall), self.lanes.at_ns)

    def action_pan(self, direction: int) -> None:
        """A quarter of the window to the left (-1) or right (1); the cursor keeps its cell."""
        window = self.lanes.window
        if window is not None:
            moved = window.panned(PAN * direction, self.wall)
            self._show(moved, self.lanes.at_ns + moved.start_ns - window.start_ns)

    def action_whole(self) -> None:
        """All of the wall time."""
        self._show(whole_of(self.wall), self.lanes.at_ns)

    def action_step(self, direction: int) -> None:
        """One cell to the left or right; at the border the window moves."""
        lanes, window = self.lanes, self.lanes.window
        if window is None:
            return
        cell = lanes.cell + direction
        if not 0 <= cell < lanes.n_cells:
            window = window.panned(PAN * direction, self.wall)
            cell = window.cell_of(lanes.at_ns, lanes.n_cells) + direction
        cell = min(max(cell, 0), lanes.n_cells - 1)
        self._show(window, int(window.edges(lanes.n_cells)[cell]))

    def action_next_task(self, step: int) -> None:
        """To the begin of the next task of the lane (1), or of the one before (-1)."""
        if not self.wall.lanes:
            return
        tasks, at = self.lanes.tasks, self.lanes.at_ns
        task = tasks.after(at) if step > 0 else tasks.before(at)
        if task is None:
            self.shell.notice("timeline.no-task")
        else:
            self._go_to(task.start_ns)

    def action_longest_gap(self) -> None:
        """To the longest gap; pressed again, to the next longest."""
        gaps = self.wall.gaps
        if not gaps:
            self.shell.notice("timeline.no-gap")
            return
        place = 0 if self._gap is None else (self._gap + 1) % len(gaps)
        gap = gaps[place]
        window = whole_of(self.wall).shown(gap.start_ns, gap.duration_ns, GAP_PART, self.wall)
        self._show(window, gap.start_ns)
        self._gap = place

    def action_next_gap(self) -> None:
        """To the next time in which nothing runs on any lane."""
        gap = next_gap(self.wall, self.lanes.at_ns)
        if gap is None:
            self.shell.notice("timeline.no-gap")
        else:
            self._go_to(gap.start_ns)

    def action_open_row(self) -> None:
        """The task under the cursor with what stands around it."""
        task = self._task_here()
        if task is not None:
            window = whole_of(self.wall).shown(task.start_ns, task.duration_ns, TASK_PART, self.wall)
            self._show(window, task.start_ns)

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

    def _to_lane(self, lane: int) -> None:
        self.lanes.lane = min(max(lane, 0), max(len(self.wall.lanes) - 1, 0))
        self._tell()

    def _go_to(self, at_ns: int) -> None:
        """The cursor at a moment; the window moves only where it does not hold it."""
        window = self.lanes.window
        if window is None:
            return
        is_inside = window.start_ns <= at_ns < window.end_ns
        self._show(window if is_inside else window.around(at_ns, self.wall), at_ns)

    def _show(self, window: Window, at_ns: int) -> None:
        self._gap = None
        with self.app.batch_update():
            self.lanes.window = window
            self.lanes.at_ns = window.clipped(at_ns)
            self._tell()

    # ---- words ----

    def _task_here(self) -> TaskAt | None:
        return self.lanes.tasks.at(self.lanes.at_ns) if self.wall.lanes else None

    def _place_of_gap(self) -> int | None:
        """Which of the longest gaps the cursor is in."""
        at = self.lanes.at_ns
        return next((i for i, gap in enumerate(self.wall.gaps) if gap.start_ns <= at < gap.end_ns), None)

    def _tell(self) -> None:
        if self.lanes.window is None or not self.wall.lanes or not self.is_mounted:
            return
        self._say("#title", [self._title(self.lanes.window)])
        self._say("#task", [self._task_text(), self._lane_text(), self._gap_text()])
        self._say("#gaps", self._gap_lines())

    def _say(self, place: str, lines: list[str]) -> None:
        text = "\n".join(self.plain(line) for line in lines)
        widget = self.query_one(place, Static)
        if widget.content != text:
            widget.update(text, layout=False)

    def _since(self, at_ns: int) -> str:
        """A moment, as the time since the begin of the wall time."""
        return time_text(at_ns - whole_of(self.wall).start_ns)

    def _title(self, window: Window) -> str:
        glyphs = glyphs_of(self.app)
        return self.tr(
            "timeline.title" if len(self.wall.lanes) == self.wall.n_lanes else "timeline.title-some",
            start=self._since(window.start_ns),
            end=self._since(window.end_ns),
            wall=time_text(whole_of(self.wall).span_ns),
            n=len(self.wall.lanes),
            all=self.wall.n_lanes,
            cell=time_text(window.span_ns / self.lanes.n_cells),
            idle=glyphs.nothing,
            some=glyphs.levels[0],
            busy=glyphs.levels[-1],
        )

    def _task_text(self) -> str:
        at, task = self.lanes.at_ns, self._task_here()
        if task is None:
            words = (
                "timeline.nothing"
                if self.wall.work is not None and len(self.lanes.tasks)
                else "timeline.no-names"
            )
            return self.tr(words, at=self._since(at))
        kind = safe_text(task.op_type, 60)
        return self.tr(
            "timeline.running" if task.is_running else "timeline.idle",
            at=self._since(at),
            name=safe_text(task.name or task.op_type, _NAME_CELLS),
            type=f" ({kind})" if kind and task.name and kind != task.name else "",
            start=self._since(task.start_ns),
            time=time_text(task.duration_ns),
            gap=time_text(max(task.start_ns - at, 0)),
        )

    def _lane_text(self) -> str:
        lane = self.wall.lanes[self.lanes.lane]
        share = 100 * lane.busy.total_ns / max(whole_of(self.wall).span_ns, 1)
        name = lane_label(lane, self.shell.lang)
        return self.tr("timeline.lane", name=name, n=lane.n_tasks, busy=f"{share:.1f}")

    def _gap_text(self) -> str:
        """What the whole device does at the cursor: idle between which two tasks, or at work."""
        gap = gap_at(self.wall, self.lanes.at_ns)
        if gap is None:
            return ""
        words = "timeline.gap-artefact" if gap.is_artefact else "timeline.gap"
        time = time_text(gap.duration_ns)
        around = {"before": "", "after": ""}
        room = self.size.width - cell_width(self.tr(words, time=time, **around)) - _MARGIN_CELLS
        return self.tr(words, time=time, **self._around(gap, max(room // 2, 12)))

    def _gap_lines(self) -> list[str]:
        gaps, keys = self.wall.gaps, self.shell.keys
        if not gaps:
            return [self.tr("timeline.no-gap")]
        longest, following = (
            show_key(keys[name][0]) if keys.get(name) else "-"
            for name in ("timeline.gap-longest", "timeline.gap-next")
        )
        head = self.tr("timeline.gaps", n=self.wall.n_gaps, longest=longest, following=following)
        height = self.query_one("#gaps").size.height
        here, glyphs = self._place_of_gap(), glyphs_of(self.app)
        room = max(height - 1, 0)
        top = 0 if here is None else max(here - room + 1, 0)
        cells = max((self.size.width - _GAP_FIGURE_CELLS) // 2 - 8, 12)
        lines = []
        for place in range(top, min(top + room, len(gaps))):
            gap = gaps[place]
            marker = glyphs.cursor if place == here else " "
            figures = (
                f"{marker}{place + 1:>3}  {time_text(gap.duration_ns):>11}  {self._since(gap.start_ns):>11}"
            )
            lines.append(f"{figures}  {self.tr('timeline.between', **self._around(gap, cells))}")
        return [head, *lines]

    def _around(self, gap: Gap, cells: int) -> dict[str, str]:
        glyphs = glyphs_of(self.app)
        unknown = glyphs.unknown
        return {
            "before": cut_middle(safe_text(gap.before, 400), cells, glyphs) or unknown,
            "after": cut_middle(safe_text(gap.after, 400), cells, glyphs) or unknown,
        }


def lane_label(lane: Lane, lang: Lang) -> str:
    """ "stream 7", "communication": what the row is called."""
    if lane.role == "compute" and lane.stream >= 0:
        return f"stream {lane.stream}"
    return tr(f"timeline.lane-{lane.role}", lang)


def cells_of(values: npt.NDArray[np.float64], glyphs: Glyphs) -> list[str]:
    """One glyph a cell: idle, then as many levels as the terminal can draw."""
    levels = glyphs.levels
    n = len(levels)
    places = np.ceil(np.clip(values, 0, 1) * n).astype(int)
    return [levels[place - 1] if place > 0 else glyphs.nothing for place in places.tolist()]


def axis(window: Window, wall: Wall, n_cells: int) -> str:
    """Times above the cells, since the begin of the wall time."""
    whole = whole_of(wall)
    step = max(n_cells // 5, 14)
    line = ""
    for cell in range(0, n_cells, step):
        at = window.start_ns + window.span_ns * cell // n_cells - whole.start_ns
        label = f"|{time_text(at)}"
        if cell_width(line) < max(cell, 1) and cell + len(label) <= n_cells:
            line = line.ljust(cell) + label
    return " " * (_LABEL_CELLS + 1) + line
