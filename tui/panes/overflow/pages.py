"""A screen of the overflow pane: ranks against the exchanges in which they met."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from textual import on
from textual.app import ComposeResult
from textual.widgets import Static

from npulse.core.formats.msprobe.names import short_name
from npulse.core.overflow.view import CLEAN, HAS_INHERITED, HAS_ORIGIN, NOT_CAPTURED
from npulse.core.table import Table, text_column
from npulse.core.text import safe_text

from ...glyphs import Glyphs
from ...screens.page import Page
from ...widgets.cells import cell_width
from ...widgets.table_lines import PREFIX_CELLS
from ...widgets.virtual_table import ColumnSpec, TableView, VirtualTable

if TYPE_CHECKING:
    from npulse.core.overflow.view import RankMatrix

_MOST_CHANGES = 8  # lines below the matrix
_NAMED_RANKS = 8
_RULER_STEP = 5
_LAST_NUMBER = 6  # cells by which the number of the last column can stand out


class RanksPage(Page["int | None"]):
    """One row a rank, one cell a time between two exchanges; Enter dismisses with the rank's place."""

    DEFAULT_CSS = """
    RanksPage #legend { padding: 0 1; }
    RanksPage #changes { height: auto; max-height: 40%; padding: 0 1; }
    """

    def __init__(self, matrix: RankMatrix) -> None:
        super().__init__()
        self._matrix = matrix

    def compose_body(self) -> ComposeResult:
        yield Static(id="title", markup=False)
        yield Static(id="legend", markup=False)
        yield VirtualTable()
        yield Static(id="changes", markup=False)

    async def begin(self) -> None:
        self.query_one(VirtualTable).focus()

    def on_resize(self) -> None:
        self._show()

    def retranslate(self) -> None:
        super().retranslate()
        self.query_one("#title", Static).update(self.tr("overflow.ranks-title"))
        self.query_one("#changes", Static).update("\n".join(self._change_lines()))
        self._show()

    def _show(self) -> None:
        matrix, glyphs = self._matrix, self.shell.glyphs
        labels = [self.plain(label) for label in matrix.labels]
        room = self.app.size.width - PREFIX_CELLS - max(map(cell_width, labels), default=0) - _LAST_NUMBER
        columns = shown_columns(matrix, max(room, 1))
        self._show_legend(len(columns) < matrix.states.shape[1])
        rows = ["".join(cell_of(int(row[column]), glyphs) for column in columns) for row in matrix.states]
        numbers = ruler(columns)
        has_origin = (matrix.states == HAS_ORIGIN).any(axis=1)
        table = Table(
            "ranks",
            (text_column("rank", labels), text_column("exchanges", rows)),
        )
        self.query_one(VirtualTable).view = TableView(
            table,
            (
                ColumnSpec("rank", "rank", is_frozen=True),
                ColumnSpec("exchanges", numbers, max_width=max(len(columns), len(numbers), 1)),
            ),
            row_style=lambda row: "virtual-table--error" if has_origin[row] else None,
        )

    def _show_legend(self, are_some: bool) -> None:
        glyphs, n_meetings = self.shell.glyphs, len(self._matrix.meetings)
        legend = self.tr(
            "overflow.ranks-legend",
            clean=cell_of(CLEAN, glyphs),
            inherited=cell_of(HAS_INHERITED, glyphs),
            origin=cell_of(HAS_ORIGIN, glyphs),
            n=n_meetings,
        )
        if (self._matrix.states == NOT_CAPTURED).any():
            legend += "   " + self.tr("overflow.ranks-unknown", unknown=glyphs.unknown)
        if are_some:
            legend += "\n" + self.tr("overflow.ranks-some", n=n_meetings + 1)
        self.query_one("#legend", Static).update(legend)

    def _change_lines(self) -> list[str]:
        """Where something changes for the worse: which exchange lies before it, which ranks it meets."""
        matrix = self._matrix
        lines = []
        for column in changes(matrix):
            told = [
                self.tr(f"overflow.ranks-{word}", ranks=rank_list([matrix.labels[i] for i in ranks]))
                for word, state in (("origin", HAS_ORIGIN), ("inherited", HAS_INHERITED))
                if (ranks := _newly(matrix, column, state))
            ]
            if column:
                name = short_name(matrix.meetings[column - 1])
            else:
                name = self.tr("overflow.ranks-before")
            lines.append(f"{column:>4}  {name}: {', '.join(told)}")
        more = len(lines) - _MOST_CHANGES
        if more > 0:
            lines[_MOST_CHANGES:] = [self.tr("overflow.ranks-more", n=more)]
        return [self.plain(safe_text(line)) for line in lines]

    @on(VirtualTable.RowOpened)
    def _opened(self, message: VirtualTable.RowOpened) -> None:
        self.dismiss(message.row)


def cell_of(state: int, glyphs: Glyphs) -> str:
    """One cell of the matrix."""
    known = {HAS_ORIGIN: glyphs.error, HAS_INHERITED: glyphs.inherited, NOT_CAPTURED: glyphs.unknown}
    return known.get(state, glyphs.nothing)


def changes(matrix: RankMatrix) -> list[int]:
    """The columns in which some rank is worse than in the one before."""
    bad = np.where(matrix.states == NOT_CAPTURED, CLEAN, matrix.states)
    before = np.pad(bad, ((0, 0), (1, 0)))[:, :-1]
    return [int(column) for column in np.flatnonzero((bad > before).any(axis=0))]


def shown_columns(matrix: RankMatrix, room: int) -> list[int]:
    """All columns where they fit in `room` cells; else the first of those that differ from the one before."""
    n = matrix.states.shape[1]
    if n <= room:
        return list(range(n))
    differs = np.ones(n, np.bool_)
    differs[1:] = (matrix.states[:, 1:] != matrix.states[:, :-1]).any(axis=0)
    return [int(column) for column in np.flatnonzero(differs)[:room]]


def ruler(columns: Sequence[int]) -> str:
    """Numbers of the columns above their cells, as many as can be told apart."""
    is_whole = len(columns) == (columns[-1] + 1 if columns else 0)
    line = ""
    for place, column in enumerate(columns):
        if len(line) + bool(line) <= place and not (is_whole and column % _RULER_STEP):
            line = line.ljust(place) + str(column)
    return line


def rank_list(labels: Sequence[str]) -> str:
    """ "rank 0-3, 7": neighbours as a range; names that are no ranks as they are."""
    numbers = [label.removeprefix("rank ") for label in labels]
    if not all(number.isdecimal() for number in numbers):
        return ", ".join(labels[:_NAMED_RANKS]) + (" ..." if len(labels) > _NAMED_RANKS else "")
    spans: list[list[int]] = []
    for number in sorted(map(int, numbers)):
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return "rank " + ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)


def _newly(matrix: RankMatrix, column: int, state: int) -> list[int]:
    """The ranks that get to a state in this column."""
    now = matrix.states[:, column]
    before = matrix.states[:, column - 1] if column else np.full_like(now, CLEAN)
    return [int(rank) for rank in np.flatnonzero((now == state) & (before < state))]
