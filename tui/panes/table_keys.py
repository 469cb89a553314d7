"""What is the same for every table of a pane: filter, sort and the order that follows, columns, export."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.message import Message
from textual.timer import Timer
from textual.worker import get_current_worker

from npulse.core.errors import Cancelled, InputError, UsageError
from npulse.core.progress import Progress
from npulse.core.text import Lang

from ..screens.columns import ColumnsPage, ColumnWords, FindColumnPage
from ..screens.entry import Entry
from ..screens.export import ExportPage
from ..widgets.virtual_table import VirtualTable
from .base import ViewState
from .job_pane import PROGRESS_PAUSE_S, JobPane, progress_text
from .order import order_rows

if TYPE_CHECKING:
    from npulse.core.findings import Report
    from npulse.core.table import Order, Table

FILTER_PAUSE_S = 0.12


class TableKeys(JobPane):
    """What the keys do; the pane holds what is shown."""

    export_name: ClassVar[str] = "npulse.csv"

    class OrderReady(Message):
        """The rows of a view in display order; `trouble` says why a filter could not be used."""

        def __init__(self, table: Table, view: object, order: Order | None, trouble: str) -> None:
            super().__init__()
            self.table = table
            self.view = view
            self.order = order
            self.trouble = trouble

    class Ordering(Message):
        """How far the order of a view is, where it takes longer than a moment."""

        def __init__(self, view: object, text: str) -> None:
            super().__init__()
            self.view = view
            self.text = text

    def __init__(self, area: str) -> None:
        super().__init__(area)
        self._order: Order | None = None
        self._ordered_by: tuple[str | None, bool] = None, False
        """Column and direction of `_order`; a view asks for them before the rows stand so."""
        self._is_ordering = False
        self._trouble = ""
        self._filter_timer: Timer | None = None
        self._before_filter = ViewState()

    @property
    def table(self) -> VirtualTable:
        return self.query_one(VirtualTable)

    def shown_table(self) -> Table | None:
        """The table that is shown; None while there is none."""
        return None

    def show_rows(self) -> None:
        """Draw the table in its order, with the columns of the view."""

    def column_words(self) -> ColumnWords | None:
        """The columns of the table that is shown; None while there is none."""
        return None

    def report_with_tables(self) -> Report | None:
        """What an export writes; None while there is nothing."""
        return None

    # ---- filter ----

    def action_filter(self) -> None:
        if self.column_words() is None:
            self._nothing("pane.filter")
            return
        self.add_class("-filtering")
        self._before_filter = self.view
        entry = self.query_one("#filter", Entry)
        with entry.prevent(Entry.Changed):
            entry.value = self.typed_filter()
        entry.focus()

    def typed_filter(self) -> str:
        """What stands in the line when it opens."""
        return self.view.filter

    @on(Entry.Changed, "#filter")
    def _filter_changed(self, event: Entry.Changed) -> None:
        event.stop()
        if self._filter_timer is not None:
            self._filter_timer.stop()
        if not self.has_class("-filtering"):
            return  # typed just before the line was closed
        text = event.value
        self._filter_timer = self.set_timer(FILTER_PAUSE_S, lambda: self._show_filtered(text))

    @on(Entry.Submitted, "#filter")
    def _filter_done(self, event: Entry.Submitted) -> None:
        event.stop()
        self._close_filter(event.value)

    def _show_filtered(self, text: str) -> None:
        """While typing: no step to undo for each letter."""
        self.view = replace(self.view, filter=text)

    def _close_filter(self, text: str) -> None:
        if self._filter_timer is not None:
            self._filter_timer.stop()
        self._show_filtered(self._before_filter.filter)
        self.change_view(filter=text)
        self.table.focus()
        self.remove_class("-filtering")

    def go_back(self) -> bool:
        if self.has_class("-filtering"):
            self._close_filter("")
            return True
        if self.view.filter:
            self.change_view(filter="")
            return True
        return False

    # ---- sort ----

    def action_sort_column(self) -> None:
        name = self.table.current_column
        if name is None:
            self._nothing("table.sort")
        else:
            self.change_view(sort=None if self.view.sort == name else name, descending=False)

    def action_reverse_sort(self) -> None:
        name = self.view.sort or self.table.current_column
        if name is None:
            self._nothing("table.reverse")
        else:
            self.change_view(sort=name, descending=not self.view.descending)

    @on(VirtualTable.HeaderSelected)
    def _header_selected(self, message: VirtualTable.HeaderSelected) -> None:
        self.change_view(sort=message.column, descending=not self.view.descending)

    # ---- order ----

    @property
    def sorted_by(self) -> str:
        """The column in whose order the rows stand, "" for none; what was asked for may still come."""
        return self._ordered_by[0] or "" if self._order is not None else ""

    @property
    def is_descending(self) -> bool:
        return self._ordered_by[1]

    def reorder(self) -> None:
        """Find the order of the view in a worker; the rows stay as they are until then."""
        table = self.shown_table()
        if table is not None:
            self._order_rows(table, self.view)

    @work(thread=True, exclusive=True, group="view", exit_on_error=False, description="order")
    def _order_rows(self, table: Table, view: ViewState) -> None:
        worker = get_current_worker()
        began_s = told_s = monotonic()
        lang = self.shell.lang

        def tell(progress: Progress) -> None:
            nonlocal told_s
            if monotonic() - told_s >= PROGRESS_PAUSE_S:
                told_s = monotonic()
                self.post_message(self.Ordering(view, progress_text(progress, told_s - began_s, lang)))

        try:
            order, trouble = order_rows(table, view, progress=tell, is_cancelled=lambda: worker.is_cancelled)
        except Cancelled:
            return
        if not worker.is_cancelled:
            self.post_message(self.OrderReady(table, view, order, trouble))

    @on(Ordering)
    def _take_ordering(self, message: Ordering) -> None:
        if message.view is self.view:
            self._is_ordering = True
            self.tell(busy=message.text)

    @on(OrderReady)
    def _take_order(self, message: OrderReady) -> None:
        if message.table is not self.shown_table() or message.view is not self.view:
            return  # other rows are shown by now
        self._order, self._trouble = message.order, message.trouble
        self._ordered_by = message.view.sort, message.view.descending
        if self._is_ordering:
            self._is_ordering = False
            self.tell(busy=self.still_busy_text())
        self.show_rows()

    def still_busy_text(self) -> str:
        """What the header says once the rows are in order: "" where nothing else is going on."""
        return ""

    # ---- columns ----

    def action_choose_columns(self) -> None:
        words = self.column_words()
        if words is None:
            self._nothing("table.columns")
        else:
            self.shell.push_screen(ColumnsPage(words, self.view.hidden), self._take_hidden)

    def _take_hidden(self, hidden: frozenset[str] | None) -> None:
        if hidden is not None:
            self.change_view(hidden=hidden)

    def action_find_column(self) -> None:
        words = self.column_words()
        if words is None:
            self._nothing("table.find-column")
        else:
            self.shell.push_screen(FindColumnPage(words), self._show_column)

    def _show_column(self, name: str | None) -> None:
        if name is None:
            return
        if name in self.view.hidden:
            self.change_view(hidden=self.view.hidden - {name})
        if not self.table.move_to_column(name):
            self.shell.notice("table.column-empty", name=name)

    # ---- export ----

    def action_export(self) -> None:
        if self.report_with_tables() is None:
            self._nothing("pane.export")
        else:
            self.shell.push_screen(ExportPage(self.export_name), self._export)

    def _export(self, path: str | None) -> None:
        report = self.report_with_tables()
        if path and report is not None and self.run is not None:
            self._write_export(report, self.run.path, Path(path), self.shell.lang)

    @work(thread=True, exclusive=True, group="export", exit_on_error=False, description="export")
    def _write_export(self, report: Report, run: Path, path: Path, lang: Lang) -> None:
        try:
            size = write(report, run, path, lang)
        except (InputError, UsageError) as error:
            self.app.call_from_thread(self.shell.show_failure, error)
            return
        self.app.call_from_thread(self.shell.notice, "export.done", path=str(path), n=size)


def write(report: Report, run: Path, path: Path, lang: Lang) -> int:
    """Write a report, never into the run; its size in bytes. InputError, UsageError."""
    import npulse
    from npulse.core.report import format_of, render, write_report

    pieces = render(report, format_of(str(path), "text"), version=str(npulse.__version__), lang=lang)
    return write_report(pieces, path, runs=[run])
