"""The precision pane: compares in a worker, shows rows, detail and strip; computes nothing itself."""

from __future__ import annotations

from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static
from textual.worker import Worker, WorkerState, get_current_worker

from npulse.core.findings import Finding, Problem, Report
from npulse.core.text import safe_text

from ...actions import bindings_for
from ...crash import describe_error
from ...screens.entry import Entry
from ...widgets.strip import LayerStrip
from ...widgets.virtual_table import TableView, VirtualTable
from ..base import Pane, PaneStatus, ViewState, failure_of
from .columns import HIDDEN_AT_FIRST, heading, row_style, specs
from .detail import DetailView
from .jobs import Alone, Shown, compare_round, order_rows, translated
from .keys import PrecisionKeys
from .summary import alone_lines, shown_lines

if TYPE_CHECKING:
    from npulse.core.precision.compare import Settings
    from npulse.core.precision.detail import Detail
    from npulse.core.progress import Progress
    from npulse.core.run.model import Run
    from npulse.core.table import Order, Table

DETAIL_PAUSE_S = 0.1
PROGRESS_PAUSE_S = 0.25


class PrecisionPane(PrecisionKeys, Pane):
    """Rows of both captures side by side, the origin first."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings_for("precision")]
    SCOPED_CSS = False  # the screen's width classes decide where the detail stands
    DEFAULT_CSS = """
    PrecisionPane { layout: vertical; }
    PrecisionPane #summary { height: 1fr; padding: 0 1; }
    PrecisionPane.-has-rows #summary { height: 2; text-wrap: nowrap; text-overflow: ellipsis; }
    PrecisionPane #body { display: none; height: 1fr; layout: vertical; }
    PrecisionPane.-has-rows #body { display: block; }
    PrecisionPane #rows { height: 3fr; }
    PrecisionPane VirtualTable { height: 1fr; }
    PrecisionPane #state { height: 1; padding: 0 1; text-style: dim; }
    PrecisionPane LayerStrip { padding: 0 1; }
    PrecisionPane Entry { display: none; }
    PrecisionPane.-filtering Entry { display: block; }
    PrecisionPane #side { height: 2fr; min-height: 5; border-top: solid $panel; }
    .-wide PrecisionPane #body { layout: horizontal; }
    .-wide PrecisionPane #rows { height: 1fr; width: 2fr; }
    .-wide PrecisionPane #side { height: 1fr; width: 1fr; border-top: none; border-left: solid $panel; }
    .-short PrecisionPane #side { display: none; }
    .-short PrecisionPane LayerStrip { display: none; }
    """

    class Ready(Message):
        """A comparison can be shown: after the first read, and again when it is complete."""

        def __init__(self, version: int, shown: Shown) -> None:
            super().__init__()
            self.version = version
            self.shown = shown

    class NothingToCompare(Message):
        """No capture pair in this round."""

        def __init__(self, version: int, alone: Alone) -> None:
            super().__init__()
            self.version = version
            self.alone = alone

    class OrderReady(Message):
        """The rows of a view in display order; `trouble` says why a filter could not be used."""

        def __init__(self, version: int, view: object, order: Order | None, trouble: str) -> None:
            super().__init__()
            self.version = version
            self.view = view
            self.order = order
            self.trouble = trouble

    class DetailReady(Message):
        """The detail of a row."""

        def __init__(self, version: int, row: int, detail: Detail) -> None:
            super().__init__()
            self.version = version
            self.row = row
            self.detail = detail

    class Told(Message):
        """How far the comparison is."""

        def __init__(self, version: int, progress: Progress) -> None:
            super().__init__()
            self.version = version
            self.progress = progress

    def __init__(self, area: str = "precision", settings: Settings | None = None) -> None:
        super().__init__(area)
        self.settings = settings
        self.shown: Shown | None = None
        self.alone: Alone | None = None
        self._version = 0
        self._order: Order | None = None
        self._trouble = ""
        self._started: tuple[Run | None, int] | None = None
        self._job: Worker[None] | None = None
        self._ended = ""
        self._failure: tuple[Problem, ...] = ()
        self._chosen: tuple[Path, Path] | None = None
        self._began_s = 0.0
        self._detail_timer: Timer | None = None
        self.set_reactive(Pane.view, ViewState(hidden=HIDDEN_AT_FIRST))

    def compose(self) -> ComposeResult:
        yield Static(id="summary", markup=False)
        with Container(id="body"):
            with Vertical(id="rows"):
                yield VirtualTable()
                yield Entry(id="filter")
                yield Static(id="state", markup=False)
                yield LayerStrip()
            with Vertical(id="side"):
                yield DetailView()

    def on_mount(self) -> None:
        self.watch(self.table, "position", self._show_state, init=False)
        self._show_summary()

    def focus_target(self) -> Widget:
        return self.table

    def in_footer(self, action_id: str) -> bool:
        return self.shown is not None or action_id == "precision.pair"

    # ---- comparing ----

    def watch_run(self, run: Run | None) -> None:
        self._begin()

    def watch_round_index(self, index: int) -> None:
        self._begin()

    def compare_chosen(self, target: Path, golden: Path) -> None:
        self._chosen = (target, golden)
        self._started = None
        self._begin()

    def _begin(self) -> None:
        run, index, before = self.run, self.round_index, self._started
        if before is not None and before[0] is run and before[1] == index:
            return
        is_rescan = (
            before is not None
            and before[0] is not None
            and run is not None
            and (before[0].path, before[1]) == (run.path, index)
        )
        self._started = (run, index)
        self._version += 1
        self._ended, self._failure = "", ()
        if not is_rescan:  # else what is shown stays, with its cursor, until the new result is there
            if before is not None:
                self._chosen = None  # it was said of another run or round
            self._finding_index = -1
            self._forget()
        self._show_summary()
        if run is not None and self.round is not None:
            self._began_s = monotonic()
            self._tell(busy=self.tr("precision.reading"))
            self._job = self._compare(self._version, run, self.round.name)

    def _forget(self) -> None:
        self.shown, self.alone, self._order, self._trouble = None, None, None, ""
        if self.is_mounted:
            self.table.view = TableView.empty()
            self.query_one(DetailView).detail = None

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """A comparison that was stopped or failed must say so: nobody waits for what will not come."""
        if event.worker is not self._job:
            return
        error = failure_of(event)
        if error is not None:
            message, hint = describe_error(error)
            where = getattr(error, "path", None) or str(self.run.path if self.run else "")
            place = getattr(error, "line", None), getattr(error, "byte", None)
            self._failure = (Problem(where, "unreadable", message, *place, hint or None),)
            self._forget()
            self._ended = "\n".join(filter(None, (self.tr("pending.failed", message=message), hint)))
        elif event.state == WorkerState.CANCELLED:
            self._ended = self.tr("precision.cancelled")
        else:
            return
        self._tell(busy="")
        self._show_summary()
        self._show_state()

    @work(thread=True, exclusive=True, group="compare", exit_on_error=False, description="compare")
    def _compare(self, version: int, run: Run, round_name: str) -> None:
        worker = get_current_worker()
        told_s = 0.0

        def tell(progress: Progress) -> None:
            nonlocal told_s
            if monotonic() - told_s >= PROGRESS_PAUSE_S:
                told_s = monotonic()
                self.post_message(self.Told(version, progress))

        def show(shown: Shown) -> None:
            if not worker.is_cancelled:
                self.post_message(self.Ready(version, shown))

        alone = compare_round(
            run,
            round_name,
            self.settings,
            self.shell.lang,
            chosen=self._chosen,
            progress=tell,
            is_cancelled=lambda: worker.is_cancelled,
            on_shown=show,
        )
        if alone is not None and not worker.is_cancelled:
            self.post_message(self.NothingToCompare(version, alone))

    @on(Ready)
    def _take(self, message: Ready) -> None:
        shown = message.shown
        if message.version != self._version:
            return
        if shown.lang != self.shell.lang:
            shown = translated(shown, self.shell.lang)
        is_first = self.shown is None
        if self.shown is None or self.shown.table.n_rows != shown.table.n_rows:
            self._order = None
        self.shown, self.alone = shown, None
        done = shown.comparison.stage == "complete"
        self._tell(busy="" if done else self.tr("precision.closer"))
        with self.app.batch_update():
            self._show_view_rows()
            self._show_summary()
            self._show_marks()
        if self.view.sort or self.view.filter:
            self._reorder()
        if is_first:
            self.action_origin_quietly()
        else:
            self.ask_detail(self.table.current_row)

    @on(NothingToCompare)
    def _take_nothing(self, message: NothingToCompare) -> None:
        if message.version == self._version:
            self._forget()
            self.alone = message.alone
            self._tell(busy="")
            self._show_summary()

    @on(Told)
    def _take_progress(self, message: Told) -> None:
        if message.version != self._version:
            return
        p = message.progress
        elapsed = max(monotonic() - self._began_s, 0.001)
        total = "" if p.total is None else f"/{p.total:,}"
        self._tell(busy=f"{p.stage} {p.done:,}{total} {p.unit} {p.done / elapsed:,.0f}/s")

    def _tell(self, *, busy: str) -> None:
        report = self.report()
        self.post_message(
            PaneStatus(
                self.area, self._problems(), busy, report.verdict if report is not None and not busy else ""
            )
        )

    def _problems(self) -> tuple[Problem, ...]:
        report = self.report()
        return (*self._failure, *(report.problems if report is not None else ()))

    # ---- showing ----

    def watch_view(self, old: Any, new: Any) -> None:
        if not self.is_mounted:
            return
        if (old.sort, old.descending, old.filter) != (new.sort, new.descending, new.filter):
            self._reorder()
        else:
            self._show_view_rows()
        self._show_marks()

    def _show_view_rows(self) -> None:
        if self.shown is None:
            return
        table = self.shown.table
        self.table.view = TableView(
            table,
            specs(table, self.view.hidden, self.shell.glyphs, self.shell.lang),
            order=self._order,
            row_style=row_style(table),
            sorted_by=self.view.sort or "",
            is_descending=self.view.descending,
            version=self._version,
        )
        self._show_state()

    def _show_marks(self) -> None:
        if self.shown is None:
            return
        marks = {subject for subject, _ in self.view.marks}
        self.table.marked = self._rows_named(marks) if marks else frozenset()

    def _rows_named(self, subjects: set[str]) -> frozenset[int]:
        import numpy as np

        assert self.shown is not None
        column = self.shown.table.column("operator")
        codes = [code for code, label in enumerate(column.labels or ()) if label in subjects]
        return frozenset(np.flatnonzero(np.isin(column.values, codes)).tolist())

    def _show_summary(self) -> None:
        if not self.is_mounted:
            return
        lines = [self._plain(line) for line in self.summary_lines()]
        self._say("#summary", "\n".join(lines))
        if self.has_class("-has-rows") is not (self.shown is not None):
            self.toggle_class("-has-rows")
            self.shell.main.refresh_footer()

    def _say(self, place: str, text: str) -> None:
        """Put a text where its place never changes size: only a change is drawn, and nothing laid out."""
        widget = self.query_one(place, Static)
        if widget.content != text:
            widget.update(text, layout=False)

    def summary_lines(self) -> list[str]:
        """The answer first: how many findings, which is the origin, how the net ends."""
        if self.shown is not None:
            return shown_lines(self.shown, self.tr, self.shell.glyphs)
        if self._ended:
            return self._ended.split("\n")
        if self.shell.open_error:
            return [self.tr("pending.failed", message=safe_text(self.shell.open_error))]
        if self.run is None:
            return [self.tr("pending.opening" if self.shell.run_path else "pending.no-run")]
        if self.alone is not None:
            return alone_lines(self.alone, str(self.run.path), self.tr)
        return [self.tr("precision.reading")]

    def _plain(self, line: str) -> str:
        from ...glyphs import ascii_shapes, ascii_text

        text = safe_text(line)
        return ascii_text(ascii_shapes(text)) if self.shell.glyphs.is_ascii else text

    def _show_state(self, *_: object) -> None:
        parts = [self.table.position] if self.shown is not None else []
        if self.view.filter:
            parts.append(self.tr("precision.filtered", filter=safe_text(self.view.filter, 60)))
        if self.view.sort:
            arrow = self.shell.glyphs.descending if self.view.descending else self.shell.glyphs.ascending
            parts.append(f"{arrow} {heading(self.view.sort, self.shell.lang)}")
        parts += [safe_text(text) for text in (self._trouble, self._ended) if text]
        self._say("#state", self._plain("  ".join(parts)))

    def retranslate(self) -> None:
        self.table.position_template = self.tr("table.position")
        if self.alone is not None and self.alone.lang != self.shell.lang:
            self._started = None
            self._begin()
        if self.shown is not None and self.shown.lang != self.shell.lang:
            self.shown = translated(self.shown, self.shell.lang)
            self._show_view_rows()
            self.ask_detail(self.table.current_row)
        self.query_one("#filter", Entry).placeholder = self.tr("precision.filter-hint")
        self._show_summary()

    # ---- order ----

    def _reorder(self) -> None:
        if self.shown is not None:
            self._order_rows(self._version, self.shown.table, self.view)

    @work(thread=True, exclusive=True, group="view", exit_on_error=False, description="order")
    def _order_rows(self, version: int, table: Table, view: ViewState) -> None:
        order, trouble = order_rows(table, view)
        if not get_current_worker().is_cancelled:
            self.post_message(self.OrderReady(version, view, order, trouble))

    @on(OrderReady)
    def _take_order(self, message: OrderReady) -> None:
        if message.version != self._version or message.view is not self.view:
            return
        self._order, self._trouble = message.order, message.trouble
        self._show_view_rows()

    # ---- detail and strip ----

    @on(VirtualTable.RowHighlighted)
    def _row_highlighted(self, message: VirtualTable.RowHighlighted) -> None:
        self.ask_detail(message.row)

    def ask_detail(self, row: int | None) -> None:
        if self._detail_timer is not None:
            self._detail_timer.stop()
        if row is not None:
            self._detail_timer = self.set_timer(DETAIL_PAUSE_S, lambda: self._start_detail(row))

    def _start_detail(self, row: int) -> None:
        if self.shown is not None:
            self._make_detail(self._version, self.shown, row)
            self._show_strip(row)

    @work(thread=True, exclusive=True, group="detail", exit_on_error=False, description="detail")
    def _make_detail(self, version: int, shown: Shown, row: int) -> None:
        from npulse.core.precision.detail import detail
        from npulse.core.precision.table import place_of

        rank, inner = place_of(shown.comparison, row)
        made = detail(rank, inner, self.shell.lang)
        if not get_current_worker().is_cancelled:
            self.post_message(self.DetailReady(version, row, made))

    @on(DetailReady)
    def _take_detail(self, message: DetailReady) -> None:
        if message.version == self._version:
            self.query_one(DetailView).detail = message.detail

    def _show_strip(self, row: int) -> None:
        placed = self.rank_at(row)
        if placed is None or self.shown is None:
            return
        index, _, inner = placed
        data = self.shown.strips[index]
        strip = self.query_one(LayerStrip)
        with self.app.batch_update():
            if getattr(strip, "shown_strip", None) is not data:
                strip.absent = ~data.known
                strip.high = 1.0
                strip.values = data.errors
                strip.shown_strip = data  # type: ignore[attr-defined]
            layer = int(data.layer_of_row[inner])
            strip.cursor = layer
            strip.label = self._plain(data.labels[layer])[:24].ljust(12)

    # ---- findings ----

    def report(self) -> Report | None:
        return self.shown.report if self.shown is not None else self.alone.report if self.alone else None

    def finding(self) -> Finding | None:
        row = self.table.current_row
        placed = self.rank_at(row)
        if placed is None or self.shown is None:
            return super().finding()
        from npulse.core.precision.explain import row_finding

        _, rank, inner = placed
        return row_finding(self.shown.comparison, rank, inner, self.shell.lang)

    def subject(self) -> str | None:
        row = self.table.current_row
        if row is None or self.shown is None:
            return None
        return str(self.shown.table.column("operator").value(row))

    def action_origin_quietly(self) -> None:
        """Start at the first finding; without one, at the top."""
        report = self.report()
        if report is not None and report.findings and report.findings[0].severity == "error":
            self._finding_index = 0
            self.go_to(report.findings[0])
        else:
            self.ask_detail(self.table.current_row)

    def go_to(self, finding: Finding) -> bool:
        row = self._row_of(finding)
        return row is not None and self.show_row(row)

    def show_row(self, row: int) -> bool:
        if not self.table.move_to_row(row):
            if not self.view.filter:
                return False
            self._order = None
            self.change_view(filter="", sort=None, descending=False)
            self._show_view_rows()
            self.table.move_to_row(row)
        self.ask_detail(row)
        return True

    def _row_of(self, finding: Finding) -> int | None:
        if self.shown is None:
            return None
        from npulse.core.precision.table import table_row

        at = finding.location
        for rank in self.shown.comparison.ranks:
            if (rank.rank, rank.step) == (at.rank, at.step) and at.row is not None:
                return table_row(self.shown.comparison, rank, at.row)
        rows = self._rows_named({finding.subject})
        return min(rows) if rows else None

    def go_to_subject(self, subject: str) -> bool:
        rows = self._rows_named({subject}) if self.shown is not None else frozenset()
        return bool(rows) and self.show_row(min(rows))

    def place(self) -> tuple[Path, int | None] | None:
        row = self.table.current_row
        placed = self.rank_at(row)
        if placed is None or self.run is None:
            return None
        from npulse.core.precision.explain import source_place

        return source_place(placed[1], placed[2], self.run.path)

    def where_lines(self) -> list[str]:
        row = self.table.current_row
        placed = self.rank_at(row)
        if placed is None or self.shown is None:
            return super().where_lines()
        from npulse.core.precision.explain import where_lines

        return [self._plain(line) for line in where_lines(self.shown.comparison, placed[1], placed[2])]
