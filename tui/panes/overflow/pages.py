"""A screen of the overflow pane: ranks against the meetings in which they exchanged tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.widgets import Static

from npulse.core.formats.msprobe.names import short_name
from npulse.core.overflow.view import HAS_INHERITED, HAS_ORIGIN
from npulse.core.table import Column, Table, text_column
from npulse.core.text import safe_text

from ...glyphs import Glyphs
from ...screens.page import Page
from ...widgets.virtual_table import ColumnSpec, TableView, VirtualTable

if TYPE_CHECKING:
    from npulse.core.overflow.view import RankMatrix


class RanksPage(Page["int | None"]):
    """One row a rank, one cell a meeting; Enter dismisses with the number of the rank's row."""

    def __init__(self, matrix: RankMatrix) -> None:
        super().__init__()
        self._matrix = matrix

    def compose_body(self) -> ComposeResult:
        yield Static(id="title", markup=False)
        yield Static(id="legend", markup=False)
        yield VirtualTable()
        yield Static(id="meetings", markup=False)

    async def begin(self) -> None:
        self._show()
        self.query_one(VirtualTable).focus()

    def retranslate(self) -> None:
        super().retranslate()
        glyphs = self.shell.glyphs
        self.query_one("#title", Static).update(self.tr("overflow.ranks-title"))
        legend = self.tr(
            "overflow.ranks-legend",
            clean=cell_of(0, glyphs),
            inherited=cell_of(HAS_INHERITED, glyphs),
            origin=cell_of(HAS_ORIGIN, glyphs),
            n=len(self._matrix.meetings),
        )
        self.query_one("#legend", Static).update(legend)
        self.query_one("#meetings", Static).update("\n".join(self._meetings()))

    def _meetings(self) -> list[str]:
        """The meetings at which something changed, since those are looked for."""
        states = self._matrix.states
        changed = [i for i in range(1, states.shape[1]) if bool((states[:, i] != states[:, i - 1]).any())]
        names = self._matrix.meetings
        return [
            self.tr("overflow.ranks-at", time=i, name=safe_text(short_name(names[i - 1])))
            for i in changed[:8]
        ]

    def _show(self) -> None:
        matrix, glyphs = self._matrix, self.shell.glyphs
        rows = ["".join(cell_of(int(state), glyphs) for state in row) for row in matrix.states]
        worst = [int(row.max()) if len(row) else 0 for row in matrix.states]
        table = Table(
            "ranks",
            (text_column("rank", list(matrix.labels)), text_column("meetings", rows), _worst_column(worst)),
        )
        self.query_one(VirtualTable).view = TableView(
            table,
            (
                ColumnSpec("rank", "rank", is_frozen=True),
                ColumnSpec(
                    "meetings",
                    self.tr("overflow.ranks-columns"),
                    max_width=max(len(rows[0]), 1) if rows else 1,
                ),
            ),
            row_style=lambda row: "virtual-table--error" if worst[row] == HAS_ORIGIN else None,
        )

    @on(VirtualTable.RowOpened)
    def _opened(self, message: VirtualTable.RowOpened) -> None:
        self.dismiss(message.row)


def cell_of(state: int, glyphs: Glyphs) -> str:
    """One cell of the matrix."""
    return {HAS_ORIGIN: glyphs.error, HAS_INHERITED: glyphs.inherited}.get(state, glyphs.nothing)


def _worst_column(worst: list[int]) -> Column:
    import numpy as np

    return Column("worst", "int", np.array(worst, np.int64), is_internal=True)
