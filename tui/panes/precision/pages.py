"""A screen of the precision pane: the module tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on, work
from textual.app import ComposeResult
from textual.message import Message
from textual.widgets import Static

from ...roles import role_formatter, style_by_role, verdict_formatter
from ...screens.page import Page
from ...widgets.virtual_table import ColumnSpec, TableView, VirtualTable
from .columns import heading

if TYPE_CHECKING:
    from npulse.core.precision.comparison import Comparison, RankComparison
    from npulse.core.table import Table


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
        lang = self.shell.lang
        self.query_one(VirtualTable).view = TableView(
            self._table,
            (
                ColumnSpec("module", heading("module", lang), max_width=70, is_frozen=True),
                ColumnSpec(
                    "role", heading("role", lang), format=role_formatter(self.shell.glyphs, lang), priority=1
                ),
                ColumnSpec("verdict", heading("verdict", lang), format=verdict_formatter(lang), priority=2),
                ColumnSpec("calls", heading("calls", lang), priority=3),
            ),
            row_style=style_by_role(self._table),
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
