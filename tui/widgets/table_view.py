"""What a table shows: columns with their formats, an order of rows, and how both fit a screen's width."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from npulse.core.table import Column, Order, Table

from ..glyphs import Glyphs, showable
from .cells import (
    Align,
    Formatter,
    NumberFormat,
    cell_width,
    choose_format,
    column_texts,
    finite_range,
    number_formatter,
)

RowStyle = Callable[[int], str | None]
"""From a table row to the name of a component class, or None for the plain style."""

_DECIMALS: dict[str, int] = {"fixed": 4, "grouped": 0, "scientific": 1, "percent": 1, "significant": 4}
_SAMPLE_ROWS = 256  # rows looked at for the width of texts; their extremes decide the width of numbers
_FEW_LABELS = 64  # all of so few words are looked at: the rarest is often the one that matters
_CUTTABLE = 8  # a text column may stand cut at the right edge in as few cells; a number never does


@dataclass(frozen=True, slots=True)
class ColumnSpec:
    """How one column of the table is shown.

    format: a number format, or a function from one present value to text ("auto": chosen from the
    column's range). decimals: None is the format's own (significant digits for "significant").
    priority: 0 is most important; where not all fit, important columns come first and the others
    stand to their right. is_frozen: stays at the left while the others scroll. style: from a table
    row to a component class for this column's cell alone. instead: from a table row to the text that
    stands there in place of the value, or None.
    """

    name: str
    heading: str = ""
    format: NumberFormat | Formatter = "auto"
    decimals: int | None = None
    align: Align | None = None
    min_width: int = 1
    max_width: int = 48
    priority: int = 0
    is_frozen: bool = False
    style: RowStyle | None = None
    instead: Callable[[int], str | None] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class TableView:
    """A table with the rows and columns to show; replaced as a whole, never changed.

    order: table rows in display order, None for all of them in natural order. is_partial: the table
    is still growing, so the total is a lower bound. sorted_by: the column marked in the header. origin:
    where each row was in the table that this one takes the place of (-1: nowhere), so that the cursor
    finds its row again; None where another table begins, or the same stays.
    """

    table: Table
    columns: tuple[ColumnSpec, ...]
    order: Order | None = None
    row_style: RowStyle | None = None
    sorted_by: str = ""
    is_descending: bool = False
    is_partial: bool = False
    version: int = 0
    origin: Order | None = None

    @classmethod
    def empty(cls) -> TableView:
        """A view with nothing in it."""
        return cls(Table("", ()), ())

    @property
    def n_rows(self) -> int:
        return self.table.n_rows if self.order is None else len(self.order)

    def rows(self, start: int, stop: int) -> npt.NDArray[np.int64]:
        """Table rows at view positions start..stop, clipped to the view."""
        start = max(start, 0)
        stop = max(start, min(stop, self.n_rows))
        if self.order is None:
            return np.arange(start, stop, dtype=np.int64)
        return np.asarray(self.order[start:stop], dtype=np.int64)

    def row_at(self, position: int) -> int | None:
        """The table row at a view position; None outside the view."""
        if not 0 <= position < self.n_rows:
            return None
        return position if self.order is None else int(self.order[position])

    def row_from(self, row: int | None) -> int | None:
        """The row that a row of the table before has become; None where it is gone."""
        if row is None or self.origin is None:
            return row
        hits = np.flatnonzero(self.origin == row)
        return int(hits[0]) if len(hits) else None

    def find(self, row: int | None) -> int | None:
        """The view position of a table row; None where it is not in the view. Cost: O(rows in view)."""
        if row is None:
            return None
        if self.order is None:
            return row if 0 <= row < self.n_rows else None
        hits = np.flatnonzero(self.order == row)
        return int(hits[0]) if len(hits) else None


# ---- formats and widths: once per table ----


@dataclass(frozen=True, slots=True)
class ColumnFormat:
    """A column with its formatter, alignment and the width its contents ask for."""

    spec: ColumnSpec
    column: Column
    heading: str
    write: Formatter
    align: Align
    width: int


def format_columns(
    view: TableView, glyphs: Glyphs, before: Sequence[ColumnFormat] = ()
) -> tuple[ColumnFormat, ...]:
    """The view's columns ready to be drawn. Cost: one pass over the number columns, a sample of texts.

    before: the same columns a moment ago, where the table grows; none becomes narrower than it was.
    """
    widths = {column.spec.name: column.width for column in before}
    return tuple(
        _format_column(view.table.column(spec.name), spec, glyphs, widths.get(spec.name, 1))
        for spec in view.columns
    )


def _format_column(column: Column, spec: ColumnSpec, glyphs: Glyphs, at_least: int) -> ColumnFormat:
    write = _writer(column, spec)
    heading = spec.heading or spec.name
    widest = max(map(cell_width, _sample_texts(column, write, glyphs)), default=1)
    wanted = max(widest, cell_width(heading), spec.min_width, at_least)
    width = min(wanted, max(spec.max_width, spec.min_width))
    align: Align = spec.align or ("right" if column.kind in ("int", "float") else "left")
    return ColumnFormat(spec, column, heading, write, align, width)


def _writer(column: Column, spec: ColumnSpec) -> Formatter:
    if callable(spec.format):
        return spec.format
    if column.kind == "text":
        return str
    chosen: NumberFormat = spec.format
    if chosen == "auto" and column.kind == "float":
        chosen = choose_format(*_magnitudes(column))
    decimals = _DECIMALS.get(chosen, 4) if spec.decimals is None else spec.decimals
    return number_formatter(chosen, decimals, column.kind)


def _magnitudes(column: Column) -> tuple[float, float]:
    """Smallest and largest finite magnitude that is not zero; (0, 0) where there is none."""
    values = column.values
    if column.absent is None and column.kind == "float" and len(values):
        low, high = np.fmin.reduce(values), np.fmax.reduce(values)
        if 0 < low <= high < np.inf:  # nearly always: nothing has to be copied
            return float(low), float(high)
    size = np.abs(values)
    usable = np.isfinite(size) & (size > 0)
    if column.absent is not None:
        usable &= ~column.absent
    if not usable.any():
        return 0.0, 0.0
    low = np.min(size, where=usable, initial=np.inf)
    return float(low), float(np.max(size, where=usable, initial=0))


def _sample_texts(column: Column, write: Formatter, glyphs: Glyphs) -> list[str]:
    n_rows = len(column.values)
    rows = np.linspace(0, max(n_rows - 1, 0), min(n_rows, _SAMPLE_ROWS)).astype(
        np.int64
    )  # all of them differ
    texts = column_texts(column, rows, write, glyphs)
    if column.labels is not None and len(column.labels) <= _FEW_LABELS:
        # "" is no word: it stands for all labels where no row has a text
        texts += [showable(write(label), glyphs) for label in column.labels if label]
    limits = finite_range(column)
    if limits is not None:
        texts += map(write, (int(v) if column.kind in ("int", "bool") else v for v in limits))
    if column.kind == "float" and not bool(np.isfinite(column.values).all()):
        texts.append("-inf")
    return texts


# ---- what fits ----


@dataclass(frozen=True, slots=True)
class Layout:
    """Columns in display order with their widths; the first `n_frozen` never scroll."""

    columns: tuple[ColumnFormat, ...]
    widths: tuple[int, ...]
    n_frozen: int
    gap: int

    def visible(self, first: int, room: int) -> list[tuple[int, int]]:
        """(position, width) of the columns drawn in `room` cells when scrolled to position `first`."""
        drawn = [(position, self.widths[position]) for position in range(self.n_frozen)]
        left = room - sum(width + self.gap for _, width in drawn)
        for position in range(max(first, self.n_frozen), len(self.columns)):
            width = self.widths[position]
            if width > left:
                is_first = len(drawn) == self.n_frozen
                if left > 0 and (is_first or (self.columns[position].align == "left" and left >= _CUTTABLE)):
                    drawn.append((position, left))
                break
            drawn.append((position, width))
            left -= width + self.gap
        return drawn


def arrange(formats: Sequence[ColumnFormat], room: int) -> Layout:
    """Columns in declared order where all fit; else frozen ones, then the most important ones that fit."""
    gap = 2 if room >= 90 else 1
    frozen = [column for column in formats if column.spec.is_frozen]
    others = [column for column in formats if not column.spec.is_frozen]
    widths = {id(column): column.width for column in formats}
    if sum(widths.values()) + gap * (len(formats) - 1) > room:
        _narrow(frozen, widths, (room // 2 if others else room) - gap * len(frozen))
        left = room - sum(widths[id(column)] + gap for column in frozen)
        others = _important_first(others, left, gap)
    ordered = (*frozen, *others)
    return Layout(ordered, tuple(widths[id(column)] for column in ordered), len(frozen), gap)


def _narrow(frozen: Sequence[ColumnFormat], widths: dict[int, int], room: int) -> None:
    """Take cells from the widest frozen column until they all fit in `room`, or all are at their minimum."""
    excess = sum(widths[id(column)] for column in frozen) - room
    while excess > 0:
        able = [column for column in frozen if widths[id(column)] > max(column.spec.min_width, 1)]
        if not able:
            return
        widths[id(max(able, key=lambda column: widths[id(column)]))] -= 1
        excess -= 1


def _important_first(others: Sequence[ColumnFormat], room: int, gap: int) -> list[ColumnFormat]:
    chosen: set[int] = set()
    for column in sorted(others, key=lambda column: column.spec.priority):
        room -= column.width + (gap if chosen else 0)
        if room < 0:
            break
        chosen.add(id(column))
    return [c for c in others if id(c) in chosen] + [c for c in others if id(c) not in chosen]
