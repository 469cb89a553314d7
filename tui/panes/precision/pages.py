"""Small screens of the precision pane: choose columns, find a column, module tree, where to export."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual import on, work
from textual.app import ComposeResult
from textual.message import Message
from textual.widgets import Static

from ...screens.entry import Entry
from ...screens.page import ListPage, Page, PickPage, matching
from ...screens.rows import Row, RowList
from ...widgets.virtual_table import ColumnSpec, TableView, VirtualTable
from .columns import heading

if TYPE_CHECKING:
    from npulse.core.precision.compare import Comparison, RankComparison
    from npulse.core.table import Table


class ColumnsPage(ListPage):
    """Enter shows or hides a column; leaving the page keeps the choice. Dismisses with the hidden names."""

    def __init__(self, names: Sequence[str], hidden: frozenset[str]) -> None:
        super().__init__()
        self._names = tuple(names)
        self._hidden = set(hidden)

    def title_text(self) -> str:
        return self.tr("columns.title")

    def make_rows(self) -> Sequence[Row]:
        return [
            Row(
                f"[{' ' if name in self._hidden else 'x'}] {heading(name, self.shell.lang)}  ({name})",
                value=name,
            )
            for name in self._names
        ]

    def take(self, row: Row) -> None:
        self._hidden ^= {row.value}
        cursor = self.query_one(RowList).cursor
        self.query_one(RowList).rows = self.make_rows()
        self.query_one(RowList).cursor = cursor

    def dismiss(self, result: Any = None) -> Any:
        return super().dismiss(frozenset(self._hidden))


class FindColumnPage(PickPage):
    """Type to narrow; Enter dismisses with the column's name."""

    placeholder_id = "find-column.placeholder"

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__()
        self._names = tuple(names)

    def title_text(self) -> str:
        return self.tr("find-column.title")

    def empty_text(self) -> str:
        return self.tr("find-column.none")

    def make_rows(self) -> Sequence[Row]:
        rows = [Row(f"{heading(name, self.shell.lang)}  ({name})", value=name) for name in self._names]
        return matching(self.typed, rows, lambda row: row.text)


class CapturePage(PickPage):
    """Which capture is the target (or the golden one); Enter dismisses with its path."""

    placeholder_id = "find-column.placeholder"

    def __init__(self, title_id: str, choices: Sequence[tuple[str, Path]]) -> None:
        super().__init__()
        self._title_id = title_id
        self._choices = tuple(choices)

    def title_text(self) -> str:
        return self.tr(self._title_id)

    def empty_text(self) -> str:
        return self.tr("captures.none")

    def make_rows(self) -> Sequence[Row]:
        rows = [Row(name, value=path) for name, path in self._choices]
        return matching(self.typed, rows, lambda row: row.text)


class ExportPage(Page["str | None"]):
    """A path to write to; Enter dismisses with it. The suffix decides the format."""

    AUTO_FOCUS = "Entry"
    is_typing = True

    def compose_body(self) -> ComposeResult:
        yield Static(id="title", markup=False)
        yield Entry("npulse-precision.csv")

    def retranslate(self) -> None:
        super().retranslate()
        self.query_one("#title", Static).update(self.tr("export.title"))

    def on_input_submitted(self) -> None:
        self.dismiss(self.query_one(Entry).value.strip() or None)


class ModulesPage(Page["int | None"]):
    """The module tree; Enter dismisses with the table row of the module's worst row."""

    class TreeReady(Message):
        """The tree as a table."""

        def __init__(self, table: Table) -> None:
            super().__init__()
            self.table = table

    def __init__(self, comparison: Comparison, rank: RankComparison) -> None:
        super().__init__()
        self._comparison = comparison
        self._rank = rank
        self._table: Table | None = None

    def compose_body(self) -> ComposeResult:
        yield Static(id="title", markup=False)
        yield VirtualTable()

    async def begin(self) -> None:
        self._make_tree()

    def retranslate(self) -> None:
        super().retranslate()
        self.query_one("#title", Static).update(self.tr("modules.title"))
        self._show()

    @work(thread=True, exclusive=True, group="modules", exit_on_error=False)
    def _make_tree(self) -> None:
        from npulse.core.precision.layers import module_tree

        self.post_message(self.TreeReady(module_tree(self._comparison, self._rank)))

    @on(TreeReady)
    def _take_tree(self, message: TreeReady) -> None:
        self._table = message.table
        self._show()
        self.query_one(VirtualTable).focus()

    def _show(self) -> None:
        if self._table is None:
            return
        from .columns import module_style, role_formatter

        lang = self.shell.lang
        self.query_one(VirtualTable).view = TableView(
            self._table,
            (
                ColumnSpec("module", heading("module", lang), max_width=70, is_frozen=True),
                ColumnSpec(
                    "role", heading("role", lang), format=role_formatter(self.shell.glyphs, lang), priority=1
                ),
                ColumnSpec("verdict", heading("verdict", lang), priority=2),
                ColumnSpec("calls", heading("calls", lang), priority=3),
            ),
            row_style=module_style(self._table),
        )

    @on(VirtualTable.RowOpened)
    def _opened(self, message: VirtualTable.RowOpened) -> None:
        if self._table is None:
            return
        row = int(self._table.column("row").values[message.row])
        if row < 0:
            self.shell.notice("modules.no-rows")
        else:
            self.dismiss(row)
