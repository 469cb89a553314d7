"""A pane that shows an `AreaView`: the answer first, then the rows, a strip, the detail of one row."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from time import localtime, strftime
from typing import TYPE_CHECKING, Any, ClassVar, Generic

from textual import on
from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from npulse.core.findings import Finding, Report
from npulse.core.text import Lang, safe_text
from npulse.core.views import Detail, Strip, ViewT, rows_named

from ..glyphs import showable
from ..keymap import show_keys
from ..roles import RowStyle, style_by_state
from ..screens.columns import ColumnWords
from ..screens.entry import Entry
from ..widgets.detail import DetailView
from ..widgets.strip import LayerStrip
from ..widgets.virtual_table import ColumnSpec, TableView, VirtualTable
from .base import FOLLOWING, Pane, ViewState
from .instead import Instead
from .live_rows import LiveRows

if TYPE_CHECKING:
    from npulse.core.table import Order, Table

DETAIL_PAUSE_S = 0.1
_LABEL_CELLS = (12, 24)  # of the strip: at least, at most


class TablePane(LiveRows, Generic[ViewT]):
    """Everything that is not about what stands in the table. A pane adds a job, columns and first lines."""

    SCOPED_CSS = False  # the screen's width classes decide where the detail stands
    DEFAULT_CSS = """
    TablePane { layout: vertical; }
    TablePane #summary { height: 1fr; padding: 0 1; }
    TablePane.-has-rows #summary { height: 2; text-wrap: nowrap; text-overflow: ellipsis; }
    TablePane #body { display: none; height: 1fr; layout: vertical; }
    TablePane.-has-rows #body { display: block; }
    TablePane #rows { height: 3fr; }
    TablePane VirtualTable { height: 1fr; }
    TablePane #state { height: 1; padding: 0 1; text-style: dim; }
    TablePane LayerStrip { padding: 0 1; }
    TablePane Entry { display: none; }
    TablePane.-filtering Entry { display: block; }
    TablePane #side { height: 2fr; min-height: 5; border-top: solid $panel; }
    .-wide TablePane #body { layout: horizontal; }
    .-wide TablePane #rows { height: 1fr; width: 2fr; }
    .-wide TablePane #side { height: 1fr; width: 1fr; border-top: none; border-left: solid $panel; }
    .-short TablePane #rows { height: 1fr; }
    .-short TablePane #side { height: 16%; max-height: 2; min-height: 0; border-top: none; }
    .-short TablePane LayerStrip { display: none; }
    """

    subject_column: ClassVar[str] = "operator"
    """The text column that holds what marks and notes go to."""
    hidden_at_first: ClassVar[frozenset[str]] = frozenset()
    table_share: ClassVar[tuple[int, int]] = (2, 3)
    """The part of a wide screen that is the table's, as the style sheet has it."""
    is_fitted: ClassVar[bool] = False
    """Whether columns are made for `fitted_width`, and again where that changes."""

    def __init__(self, area: str) -> None:
        super().__init__(area)
        self.shown: ViewT | None = None
        self.instead: Instead | None = None
        self._detail_timer: Timer | None = None
        self._strip: Strip | None = None
        self.fitted_width = 0
        """Cells of the table when its columns were made."""
        self._wanted = ""
        self._wanted_cells: Mapping[str, object] = {}
        self.set_reactive(Pane.view, ViewState(hidden=self.hidden_at_first))

    # ---- hooks ----

    @abstractmethod
    def specs(self, table: Table) -> tuple[ColumnSpec, ...]:
        """The visible columns in display order."""

    @abstractmethod
    def heading(self, name: str, lang: Lang) -> str:
        """What a column is called."""

    @abstractmethod
    def shown_lines(self, view: ViewT) -> list[str]:
        """Two lines: how it stands; the finding to look at first."""

    @abstractmethod
    def instead_lines(self, instead: Any) -> list[str]:
        """Why there is no table, and what to do."""

    def row_style(self, table: Table) -> RowStyle:
        """The component class of each row."""
        return style_by_state(table)

    def first_order(self, view: ViewT) -> Order | None:
        """The rows to draw before filter and sort have been worked out; None for all of them."""
        return None

    def filter_text(self) -> str:
        """What the line under the table says of the filter."""
        return self.tr("table.filtered", filter=safe_text(self.view.filter, 60)) if self.view.filter else ""

    def can_open(self, view: ViewT) -> bool:
        """Whether Enter does something in this table."""
        return False

    def has_rows(self, view: ViewT) -> bool:
        """Whether the table is shown; without it the first lines have the whole pane."""
        return True

    def detail_of(self, view: ViewT, row: int) -> Detail:
        """What stands beside the table for a row."""
        return view.detail(row, self.shell.lang)

    def strip_caption(self) -> str:
        """What the strip under the table shows."""
        return ""

    # ---- composing ----

    def compose(self) -> ComposeResult:
        yield Static(id="summary", markup=False)
        with Container(id="body"):
            with Vertical(id="rows"):
                yield VirtualTable()
                yield Entry(id="filter")
                yield Static(id="state", markup=False)
                yield from self.below_rows()
            with Vertical(id="side"):
                yield DetailView()

    def below_rows(self) -> ComposeResult:
        """What stands under the table and its line of state."""
        yield LayerStrip()

    def on_mount(self) -> None:
        self.table.position_template = self.tr("table.position")
        self.watch(self.table, "position", self._show_state, init=False)
        self._show_summary()

    def on_resize(self) -> None:
        self._show_summary()
        if self.is_fitted and self.fitted_width != self.table_width():
            self.show_rows()

    def focus_target(self) -> Widget:
        tables = self.query(VirtualTable)
        return tables.first() if tables else self  # none where the program ends while the pane is made

    def in_footer(self, action_id: str) -> bool:
        """Only what works: with a table all keys; findings can be walked and copied where there are some."""
        report = self.report()
        findings = report.findings if report is not None else ()
        if action_id == "pane.next":
            return bool(findings)
        if action_id == "pane.origin":
            return any(finding.role == "origin" for finding in findings)
        if action_id in FOLLOWING:
            return self.in_footer_while_written(action_id)
        return self.shown is not None

    # ---- what the job has made ----

    def take(self, made: Any) -> None:
        if not hasattr(made, "table"):
            self.forget()
            self.instead = made
            self.tell(busy="")
            self.job_changed()
            return
        shown: ViewT = made
        if shown.lang != self.shell.lang:
            shown = shown.translated(self.shell.lang)
        is_more = self.shown is not None and (self._is_look or self.has_rows_to_come(self.shown))
        if is_more and self.shown is not None and self.shown.table.n_rows:
            self.put_in_order(shown)
            return
        is_first = self.shown is None or not self.shown.table.n_rows
        if self.shown is None or self.shown.table.n_rows != shown.table.n_rows:
            self._order, self._ordered_by = self.first_order(shown), (None, False)
        self.shown, self.instead = shown, None
        self.tell(busy="" if shown.is_complete else self.more_text())
        with self.app.batch_update():
            self.table.can_open = self.can_open(shown)
            self.show_rows()
            self._show_summary()
            self._show_marks()
        if self.view.sort or self.view.filter:
            self.reorder()
        if self._wanted:
            self.want(self._wanted, self._wanted_cells)
        elif is_first:
            self._start_at_first_finding()
        else:
            self.ask_detail(self.table.current_row)

    def show_arranged(self, made: Any, order: Order | None, trouble: str) -> None:
        is_same_row = self.row is not None and self._origin is not None
        row = self.table.current_row if is_same_row else None
        if made.lang != self.shell.lang:
            made = made.translated(self.shell.lang)
        self.shown, self._order, self._trouble = made, order, trouble
        self._ordered_by = self.view.sort, self.view.descending
        self.tell(busy=self.still_busy_text())
        self.shell.refresh_header()  # here and not when the shell hears of it: one frame for both
        self.table.can_open = self.can_open(made)
        self.show_rows()
        self._show_summary()
        self._show_marks()
        now = self.table.current_row
        if now is not None:
            assert self._origin is not None
            self._show_detail(now, is_same=row is not None and int(self._origin[now]) == row)

    def still_busy_text(self) -> str:
        return "" if self.shown is None or self.shown.is_complete else self.more_text()

    def has_rows_to_come(self, view: ViewT) -> bool:
        """Whether more rows will come between these: the cursor stays on the row on which it is."""
        return False

    def more_text(self) -> str:
        """What the header says while the same rows will come again with more figures."""
        return self.busy_text()

    def forget(self) -> None:
        self.shown, self.instead, self._order, self._trouble, self._strip = None, None, None, "", None
        super().forget()
        if self.is_mounted:
            self.forget_marks()
            self.table.view = TableView.empty()
            self.query_one(DetailView).detail = None

    def job_changed(self) -> None:
        if self.is_mounted:
            self._show_summary()
            self._show_state()
            self.shell.refresh_footer()

    # ---- showing ----

    def watch_view(self, old: Any, new: Any) -> None:
        if not self.is_mounted:
            return
        if (old.sort, old.descending, old.filter) != (new.sort, new.descending, new.filter):
            self.reorder()
        else:
            self.show_rows()
        self._show_marks()

    def show_rows(self) -> None:
        if self.shown is None:
            return
        table = self.shown.table
        self.fitted_width = self.table_width()
        self.table.view = TableView(
            table,
            self.specs(table),
            order=self._order,
            row_style=self.row_style(table),
            sorted_by=self.sorted_by,
            is_descending=self.is_descending,
            version=self.version,
            origin=self._origin,
        )
        if self.table.current_row is None:  # a filter matches nothing: the detail is of a row that is gone
            self._show_no_detail()
        self._show_state()

    def _show_marks(self) -> None:
        if self.shown is None:
            return
        marks = dict(self.view.marks)
        self.table.marked = self._rows_named(set(marks)) if marks else frozenset()
        self.query_one(DetailView).note = marks.get(self.subject() or "", "")

    def _rows_named(self, subjects: set[str]) -> frozenset[int]:
        assert self.shown is not None
        return frozenset(rows_named(self.shown.table, self.subject_column, subjects).tolist())

    def _show_summary(self) -> None:
        if not self.is_mounted:
            return
        lines = [self.plain(line) for line in (*self.summary_lines(), *self._waiting_lines())]
        self._say("#summary", "\n".join(lines))
        if self.has_class("-has-rows") is not (self.shown is not None and self.has_rows(self.shown)):
            self.toggle_class("-has-rows")
            self.call_after_refresh(self._mend_focus)
            self.shell.refresh_footer()

    def _mend_focus(self) -> None:
        """Rows that are hidden and come back at once leave the keys with the detail."""
        if self.query_one(DetailView).has_focus:
            self.table.focus(scroll_visible=False)

    def _say(self, place: str, text: str) -> None:
        """Put a text where its place never changes size: only a change is drawn, and nothing laid out."""
        widget = self.query_one(place, Static)
        if widget.content != text:
            widget.update(text, layout=False)

    def summary_lines(self) -> list[str]:
        """The answer first; without a table, why there is none."""
        if self.shown is not None:
            return self.shown_lines(self.shown)
        if self.ended:
            return self.ended.split("\n")
        if self.shell.open_error:
            return [self.tr("pending.failed", message=safe_text(self.shell.open_error))]
        if self.run is None:
            return [self.tr("pending.opening" if self.shell.run_path else "pending.no-run")]
        if self.instead is not None:
            return self.instead_lines(self.instead)
        return [self.busy_text()]

    def _waiting_lines(self) -> list[str]:
        """Where nothing stands there yet, that it will come by itself."""
        has_rows = self.shown is not None and self.has_rows(self.shown)
        return ["", self.tr("live.waiting")] if self.is_following and not has_rows else []

    def plain(self, line: str) -> str:
        """Text from outside as this terminal can show it."""
        return showable(line, self.shell.glyphs)

    def _show_state(self, *_: object) -> None:
        parts = [self.table.position] if self.shown is not None else []
        parts += [text for text in (self.live_text(), self.kept_text(), self.filter_text()) if text]
        if self.sorted_by:
            arrow = self.shell.glyphs.descending if self.is_descending else self.shell.glyphs.ascending
            parts.append(f"{arrow} {self.heading(self.sorted_by, self.shell.lang)}")
        parts += [safe_text(text) for text in (self._trouble, self.ended) if text]
        self._say("#state", self.plain("  ".join(parts)))

    def kept_text(self) -> str:
        """That an earlier opening made what is shown, and when; "" where this one did."""
        if self.kept_s is None or self.shown is None:
            return ""
        return self.tr("job.kept", when=strftime("%Y-%m-%d %H:%M", localtime(self.kept_s)))

    def retranslate(self) -> None:
        self.table.position_template = self.tr("table.position")
        if self.instead is not None and self.instead.lang != self.shell.lang:
            self.start_again()
        if self.shown is not None and self.shown.lang != self.shell.lang:
            self.shown = self.shown.translated(self.shell.lang)
            self.show_rows()
            self.ask_detail(self.table.current_row)
        self.query_one("#filter", Entry).placeholder = self.tr("table.filter-hint")
        self._show_summary()

    # ---- detail and strip ----

    @on(VirtualTable.RowHighlighted)
    def _row_highlighted(self, message: VirtualTable.RowHighlighted) -> None:
        self.ask_detail(message.row)

    def ask_detail(self, row: int | None) -> None:
        """Show the detail of a row once the cursor rests there."""
        if self._detail_timer is not None:
            self._detail_timer.stop()
        if row is not None:
            self._detail_timer = self.set_timer(DETAIL_PAUSE_S, lambda: self._show_detail(row))

    def _show_detail(self, row: int, is_same: bool = False) -> None:
        """is_same: it is the row that was shown, with what is new of it: the lines stay where they are."""
        view = self.shown
        if view is None or row >= view.table.n_rows:
            return
        with self.app.batch_update():
            widget = self.query_one(DetailView)
            widget.note = dict(self.view.marks).get(self.subject() or "", "")
            top = widget.top
            widget.detail = self.detail_of(view, row)
            if is_same:
                widget.top = top
            self._show_strip(view.strip(row))

    def _show_no_detail(self) -> None:
        if self._detail_timer is not None:
            self._detail_timer.stop()
        self.query_one(DetailView).detail = None
        self._show_strip(None)

    def _show_strip(self, found: tuple[Strip, int] | None) -> None:
        widget = self.query_one(LayerStrip)
        if found is None:
            widget.display = False
            return
        strip, entry = found
        if self._strip is not strip:
            self._strip = strip
            widget.absent = ~strip.known
            widget.high = 1.0
            widget.values = strip.values
        widget.caption = self.plain(self.strip_caption())
        widget.cursor = entry
        least, most = _LABEL_CELLS
        widget.label = self.plain(strip.labels[entry])[:most].ljust(least)

    # ---- rows and findings ----

    @property
    def row(self) -> int | None:
        """The table row under the cursor; None where nothing is shown."""
        row = self.table.current_row
        return row if row is not None and self.shown is not None and row < self.shown.table.n_rows else None

    def shown_table(self) -> Table | None:
        return None if self.shown is None else self.shown.table

    def column_words(self) -> ColumnWords | None:
        if self.shown is None:
            return None
        names = tuple(column.name for column in self.shown.table.columns)
        return ColumnWords(names, self.heading, self.shown.meaning)

    def report(self) -> Report | None:
        source = self.shown or self.instead
        return None if source is None else source.report

    def report_with_tables(self) -> Report | None:
        if self.shown is None:
            return None
        table = self.shown.table
        return replace(self.shown.report, tables={table.name: table})

    def finding(self) -> Finding | None:
        if self.shown is None or self.row is None:
            return super().finding()
        return self.shown.finding(self.row, self.shell.lang)

    def main_figures(self, finding: Finding) -> Sequence[tuple[str, str]]:
        return super().main_figures(finding) if self.shown is None else self.shown.main_figures(finding)

    def subject(self) -> str | None:
        if self.shown is None or self.row is None:
            return None
        return str(self.shown.table.column(self.subject_column).value(self.row))

    def _start_at_first_finding(self) -> None:
        """Where an error or a warning was found its row, else the top."""
        report = self.report()
        findings = report.findings if report is not None else ()
        if findings and findings[0].severity != "note" and self.go_to(findings[0]):
            self._finding_index = 0
        else:
            self.ask_detail(self.table.current_row)

    def is_at(self, finding: Finding) -> bool:
        return self.shown is not None and self.row is not None and self.shown.row_of(finding) == self.row

    def go_to(self, finding: Finding) -> bool:
        row = self.shown.row_of(finding) if self.shown is not None else None
        return row is not None and self.show_row(row)

    def go_to_subject(self, subject: str) -> bool:
        rows = self._rows_named({subject}) if self.shown is not None else frozenset()
        return bool(rows) and self.show_row(min(rows))

    def want(self, subject: str, cells: Mapping[str, object] | None = None) -> None:
        """Go to a subject, once there are rows; say so where it is not among them.

        cells: what its row shows in other columns, to choose by where it has several.
        """
        if self.shown is None:
            self._wanted, self._wanted_cells = subject, cells or {}
            return
        self._wanted, self._wanted_cells = "", {}
        rows = sorted(self._rows_named({subject}))
        table = self.shown.table
        alike = {n: table.column(n) for n in cells or {} if n in {column.name for column in table.columns}}

        def n_alike(row: int) -> int:
            return sum(column.value(row) == (cells or {})[name] for name, column in alike.items())

        if not rows or not self.show_row(max(rows, key=n_alike)):
            self.shell.notice("marks.not-here", subject=subject)

    def forget_choices(self) -> None:
        self._wanted, self._wanted_cells = "", {}

    def show_row(self, row: int | None) -> bool:
        """Put the cursor on a table row; a filter that hides it is dropped."""
        if row is None:
            return False
        if not self.table.move_to_row(row):
            if not self.view.filter:
                return False
            self._order = None
            self.change_view(filter="", sort=None, descending=False)
            self.show_rows()
            self.table.move_to_row(row)
        self.ask_detail(row)
        return True

    def table_width(self) -> int:
        """Cells of the table: all, or its share where the detail stands beside it."""
        width = self.size.width
        wide = next(cells for cells, name in self.shell.HORIZONTAL_BREAKPOINTS if name == "-wide")
        part, whole = self.table_share
        return width if width < wide else width * part // whole - 1

    def show_in(self, area: str, subject: str, cells: Mapping[str, object] | None = None) -> None:
        """Go to a subject in another pane; cells: see `want`."""
        self.shell.call_later(self._show_in, area, subject, cells)

    async def _show_in(self, area: str, subject: str, cells: Mapping[str, object] | None) -> None:
        await self.shell.main.show_pane(area)
        pane = self.shell.pane
        if isinstance(pane, TablePane):
            pane.want(subject, cells)

    def key_of(self, action_id: str) -> str:
        """The first key of an action, as the footer shows it."""
        return show_keys(self.shell.keys.get(action_id, ())[:1])

    def place(self) -> tuple[Path, int | None] | None:
        return None if self.shown is None or self.row is None else self.shown.place(self.row)

    def where_lines(self) -> list[str]:
        if self.shown is None or self.row is None:
            return super().where_lines()
        return [self.plain(line) for line in self.shown.where(self.row, self.shell.lang)]
