"""A row unfolded: the calls of both sides that stand in it, with all that was recorded of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.widgets import Static

from npulse.core.formats.msprobe.names import short_name
from npulse.core.precision.pages.members import members_table, members_title
from npulse.core.precision.pages.texts import TEXTS
from npulse.core.text import safe_text, say

from ...roles import verdict_formatter
from ...screens.page import Page
from ...widgets.virtual_table import ColumnSpec, TableView, VirtualTable
from ..columns import io_formatter
from .columns import heading

if TYPE_CHECKING:
    from npulse.core.precision.comparison import RankComparison

_STYLES = {"error": "virtual-table--error", "warning": "virtual-table--warning"}


class MembersPage(Page["int | None"]):
    """call: a place in the sequence of the rank; row: where the cursor begins. Enter dismisses with the row
    of the rank in which a value is compared."""

    DEFAULT_CSS = """
    MembersPage #told { height: auto; max-height: 3; padding: 0 1; }
    MembersPage VirtualTable { height: 1fr; }
    """

    def __init__(self, rank: RankComparison, call: int, row: int) -> None:
        super().__init__()
        self._rank, self._call, self._row = rank, call, row
        self.table = members_table(rank, call)

    def compose_body(self) -> ComposeResult:
        yield Static(id="title", markup=False)
        yield Static(id="told", markup=False)
        yield VirtualTable()

    async def begin(self) -> None:
        rows = self.query_one(VirtualTable)
        rows.focus()
        places = self.table.column("row").values.tolist()
        if self._row in places:
            rows.move_to_row(places.index(self._row))

    def retranslate(self) -> None:
        super().retranslate()
        rank, lang = self._rank, self.shell.lang
        name = safe_text(short_name(rank.rows.pairing.name(rank.target, rank.golden, self._call)))
        self.query_one("#title", Static).update(self.plain(self.tr("members.title", name=name)))
        self.query_one("#told", Static).update(self.plain(members_title(rank, self._call, lang)))
        verdict = self.table.column("verdict")

        def side_text(value: object) -> str:
            return say(TEXTS, str(value), lang)

        self.query_one(VirtualTable).view = TableView(
            self.table,
            (
                ColumnSpec("side", self.tr("members.side"), format=side_text, is_frozen=True),
                ColumnSpec(
                    "operator", heading("operator", lang), format=lambda v: short_name(str(v)), max_width=36,
                    min_width=16, is_frozen=True,
                ),
                ColumnSpec("io", "io", format=io_formatter(lang), max_width=20, priority=0),
                ColumnSpec("verdict", heading("verdict", lang), format=verdict_formatter(lang), priority=1),
                ColumnSpec("shape", heading("shape_target", lang), max_width=20, priority=3),
                ColumnSpec("dtype", "dtype", max_width=16, priority=6),
                ColumnSpec("norm", "Norm", format="significant", priority=2),
                ColumnSpec("max", "Max", format="significant", priority=4),
                ColumnSpec("min", "Min", format="significant", priority=5),
                ColumnSpec("mean", "Mean", format="significant", priority=7),
            ),
            row_style=lambda row: _STYLES.get(str(verdict.value(row))),
        )  # fmt: skip

    @on(VirtualTable.RowOpened)
    def _opened(self, message: VirtualTable.RowOpened) -> None:
        row = int(self.table.column("row").values[message.row])
        if row < 0:
            self.shell.notice("members.not-compared")
        else:
            self.dismiss(row)
