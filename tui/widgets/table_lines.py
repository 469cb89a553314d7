"""The visible lines of a table as text: the header, and a page of rows made column by column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..glyphs import Glyphs
from .cells import column_texts, fit
from .table_view import Layout, TableView

PREFIX_CELLS = 3
"""Cells before the first column: cursor marker, mark, and the blank that the first column brings."""


@dataclass(frozen=True, slots=True)
class Line:
    """One visible row: its runs of (text, component class), and the class of the whole row.

    The text begins after the two cells of cursor marker and mark.
    """

    row: int
    runs: tuple[tuple[str, str | None], ...]
    style: str | None


def format_page(
    view: TableView, layout: Layout, rows: npt.NDArray[np.int64], first: int, room: int, glyphs: Glyphs
) -> list[Line]:
    """Some table rows as lines of at most `room` cells. Cost: O(rows x visible columns)."""
    numbers = [int(row) for row in rows]
    cells: list[list[str]] = []
    styles: list[list[str | None] | None] = []
    blanks = " "
    for place, width in layout.visible(first, room):
        column = layout.columns[place]
        texts = column_texts(column.column, rows, column.write, glyphs)
        if column.spec.instead is not None:
            texts = [column.spec.instead(row) or text for row, text in zip(numbers, texts, strict=True)]
        cells.append([blanks + fit(text, width, column.align, glyphs.ellipsis) for text in texts])
        choose = column.spec.style
        styles.append(None if choose is None else [choose(row) for row in numbers])
        blanks = " " * layout.gap
    row_style = view.row_style
    return [
        Line(row, _runs(cells, styles, i), None if row_style is None else row_style(row))
        for i, row in enumerate(numbers)
    ]


def _runs(
    cells: Sequence[Sequence[str]], styles: Sequence[Sequence[str | None] | None], i: int
) -> tuple[tuple[str, str | None], ...]:
    """Row `i` in few runs: cells without a style of their own are joined."""
    runs: list[tuple[str, str | None]] = []
    plain = ""
    for column, names in zip(cells, styles, strict=True):
        name = None if names is None else names[i]
        if name is None:
            plain += column[i]
            continue
        text = column[i].lstrip(" ")
        plain += " " * (len(column[i]) - len(text))
        runs += [(plain, None), (text, name)] if plain else [(text, name)]
        plain = ""
    if plain:
        runs.append((plain, None))
    return tuple(runs)


def header_runs(
    layout: Layout, first: int, room: int, glyphs: Glyphs, *, current: int, sorted_by: str, order: str
) -> list[tuple[str, bool]]:
    """The header in runs of (text, is the current heading).

    Its first two cells tell whether there are more columns at the left and at the right; the glyph
    `order` stands before the heading of the column `sorted_by`.
    """
    drawn = layout.visible(first, room)
    last = drawn[-1][0] if drawn else -1
    left = glyphs.more_left if first > layout.n_frozen else " "
    right = glyphs.more_right if last + 1 < len(layout.columns) else " "
    runs = [(left + right, False)]
    blanks = 1
    for place, cells in drawn:
        column = layout.columns[place]
        mark = order if column.spec.name == sorted_by else " "
        runs.append((" " * (blanks - 1) + mark, False))
        runs.append((fit(column.heading, cells, column.align, glyphs.ellipsis), place == current))
        blanks = layout.gap
    return runs
