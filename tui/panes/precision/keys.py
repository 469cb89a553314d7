"""The keys of the precision pane that open something: filter, columns, elements, stack, modules, export."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from textual import on, work
from textual.timer import Timer

from npulse.core.errors import InputError, UsageError

from ...screens.entry import Entry
from ...widgets.virtual_table import VirtualTable
from ..base import Pane, ViewState
from .jobs import Shown, capture_choices, export

if TYPE_CHECKING:
    from npulse.core.precision.compare import RankComparison

FILTER_PAUSE_S = 0.12


class PrecisionKeys(Pane):
    """What a key does in the precision pane; the pane itself holds the state."""

    shown: Shown | None
    _filter_timer: Timer | None = None
    _before_filter: ViewState = ViewState()

    @property
    def table(self) -> VirtualTable:
        return self.query_one(VirtualTable)

    def rank_at(self, row: int | None) -> tuple[int, RankComparison, int] | None:
        """Index of the rank, the rank, and the row in it, of a table row; None where there is none."""
        from npulse.core.precision.table import place_of

        if self.shown is None or row is None:
            return None
        try:
            rank, inner = place_of(self.shown.comparison, row)
        except IndexError:
            return None
        return self.shown.comparison.ranks.index(rank), rank, inner

    def ask_detail(self, row: int | None) -> None:
        """Show the detail of a row soon."""

    def show_row(self, row: int) -> bool:
        """Put the cursor on a table row; a filter that hides it is dropped."""
        return False

    # ---- keys ----

    def action_filter(self) -> None:
        if self.shown is None:
            self._nothing("pane.filter")
            return
        self.add_class("-filtering")
        self._before_filter = self.view
        entry = self.query_one("#filter", Entry)
        entry.value = self.view.filter
        entry.focus()

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

    def action_choose_columns(self) -> None:
        from .pages import ColumnsPage

        if self.shown is None:
            self._nothing("table.columns")
            return
        names = tuple(c.name for c in self.shown.table.columns)
        self.shell.push_screen(ColumnsPage(names, self.view.hidden), self._take_hidden)

    def _take_hidden(self, hidden: frozenset[str] | None) -> None:
        if hidden is not None:
            self.change_view(hidden=hidden)

    def action_find_column(self) -> None:
        from .pages import FindColumnPage

        if self.shown is None:
            self._nothing("table.find-column")
            return
        names = tuple(c.name for c in self.shown.table.columns)
        self.shell.push_screen(FindColumnPage(names), self._show_column)

    def _show_column(self, name: str | None) -> None:
        if name is None:
            return
        if name in self.view.hidden:
            self.change_view(hidden=self.view.hidden - {name})
        if not self.table.move_to_column(name):
            self.shell.notice("precision.column-empty", name=name)

    @on(VirtualTable.HeaderSelected)
    def _header_selected(self, message: VirtualTable.HeaderSelected) -> None:
        self.change_view(sort=message.column, descending=not self.view.descending)

    @on(VirtualTable.RowOpened)
    def _row_opened(self, message: VirtualTable.RowOpened) -> None:
        from npulse.core.precision.detail import has_elements

        from .elements import ElementsPage

        placed = self.rank_at(message.row)
        if placed is None or self.shown is None:
            return
        if not has_elements(placed[1], placed[2]):
            self.shell.notice("precision.no-elements", severity="warning")
            return
        self.shell.push_screen(ElementsPage(self.shown.comparison, placed[1], placed[2]))

    def action_show_stack(self) -> None:
        row = self.table.current_row
        placed = self.rank_at(row)
        if placed is None:
            self._nothing("precision.stack")
            return
        self._load_stack(placed[1], placed[2])

    @work(thread=True, exclusive=True, group="stack", exit_on_error=False, description="stack")
    def _load_stack(self, rank: RankComparison, row: int) -> None:
        from npulse.core.precision.explain import stack_lines

        lines = stack_lines(rank, row)
        self.app.call_from_thread(self._show_stack, lines)

    def _show_stack(self, lines: list[str]) -> None:
        if lines:
            self.shell.show_lines("precision.stack-title", lines)
        else:
            self.shell.notice("precision.no-stack", severity="warning")

    def action_show_modules(self) -> None:
        from .pages import ModulesPage

        row = self.table.current_row
        placed = self.rank_at(row)
        if placed is None or self.shown is None:
            self._nothing("precision.modules")
            return
        self.shell.push_screen(ModulesPage(self.shown.comparison, placed[1]), self._go_to_row)

    def _go_to_row(self, row: int | None) -> None:
        if row is not None:
            self.show_row(row)

    def action_choose_pair(self) -> None:
        from .pages import CapturePage

        choices = capture_choices(self.run) if self.run is not None else []
        if len(choices) < 2:
            self.shell.notice("captures.none", severity="warning")
            return

        def take_golden(target: Path, golden: Path | None) -> None:
            if golden is not None:
                self.compare_chosen(target, golden)

        def take_target(target: Path | None) -> None:
            if target is not None:
                rest = [c for c in choices if c[1] != target]
                self.shell.push_screen(
                    CapturePage("captures.golden", rest), lambda golden: take_golden(target, golden)
                )

        self.shell.push_screen(CapturePage("captures.target", choices), take_target)

    def compare_chosen(self, target: Path, golden: Path) -> None:
        """Compare the two captures that the user named."""

    def action_export(self) -> None:
        from .pages import ExportPage

        if self.shown is None:
            self._nothing("pane.export")
            return
        self.shell.push_screen(ExportPage(), self._export)

    def _export(self, path: str | None) -> None:
        if path and self.shown is not None and self.run is not None:
            self._write_export(self.shown, self.run.path, Path(path))

    @work(thread=True, exclusive=True, group="export", exit_on_error=False, description="export")
    def _write_export(self, shown: Shown, run: Path, path: Path) -> None:
        try:
            size = export(shown, run, path, self.shell.lang)
        except (InputError, UsageError) as error:
            self.app.call_from_thread(self.shell.show_failure, error)
            return
        self.app.call_from_thread(self.shell.notice, "precision.exported", path=str(path), n=size)
