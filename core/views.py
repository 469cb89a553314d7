"""What a pane needs of an area: one door between an analysis that is done and the table that shows it.

Frozen data and pure functions, no UI: what a pane shows can be tested, exported and printed without one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from .figures import number
from .findings import CodeLine, Finding, Report
from .table import Table
from .text import Lang

Source = tuple[str, "int | None", str]
"""A frame of the user's own code: file, line (None: not known), text of the line."""

ViewT = TypeVar("ViewT", bound="AreaView")


Draw = Callable[[int, bool], Sequence[str]]
"""(width in cells, ASCII alone) -> lines of at most that width."""


@dataclass(frozen=True, slots=True)
class Detail:
    """What stands beside the table for one row: its full name, why, figures as (name, value), what to do.

    code: source text around the place. draw: a picture of what the row is about.
    """

    name: str
    headline: str
    facts: tuple[tuple[str, str], ...]
    next_step: str = ""
    source: Source | None = None
    code: tuple[CodeLine, ...] = ()
    draw: Draw | None = None


@dataclass(frozen=True, slots=True)
class Strip:
    """One entry a layer, time slice or rank, in order. values: 0 to 1; known: False where nothing is."""

    labels: Sequence[str]
    values: npt.NDArray[np.float64]
    known: npt.NDArray[np.bool_]


class AreaView(Protocol):
    """An analysis at one moment. Row numbers are rows of `table`; words come in the language asked for."""

    @property
    def report(self) -> Report:
        """What the headless command says, in `lang`."""
        ...

    @property
    def table(self) -> Table:
        """All rows; they never move."""
        ...

    @property
    def lang(self) -> Lang:
        """The language of `report`."""
        ...

    @property
    def is_complete(self) -> bool:
        """False while the same rows will come again with more figures."""
        ...

    def detail(self, row: int, lang: Lang) -> Detail:
        """All that is known of one row. Cheap (a few ms): opens no file."""
        ...

    def finding(self, row: int, lang: Lang) -> Finding:
        """Any row as a finding, to copy or to mark."""
        ...

    def main_figures(self, finding: Finding) -> Sequence[tuple[str, str]]:
        """The few figures that speak for a finding, rounded as the screen shows them."""
        ...

    def where(self, row: int, lang: Lang) -> list[str]:
        """Where the figures of a row come from and what each means, one fact a line."""
        ...

    def meaning(self, column: str, lang: Lang) -> str:
        """What a column says and its threshold, one line; "" where its name says all."""
        ...

    def place(self, row: int) -> tuple[Path, int | None] | None:
        """The source file and line behind a row, where the file is at hand."""
        ...

    def row_of(self, finding: Finding) -> int | None:
        """The row of a finding; None where no row stands for it."""
        ...

    def strip(self, row: int) -> tuple[Strip, int] | None:
        """The strip that a row belongs to (the same object for all its rows) and the row's entry in it."""
        ...

    def translated(self: ViewT, lang: Lang) -> ViewT:
        """The same with its report in another language."""
        ...


def rows_named(table: Table, column: str, names: Collection[str]) -> npt.NDArray[np.int64]:
    """The rows whose text column holds one of these names. Cost: one pass over the column's labels."""
    found = table.column(column)
    codes = [code for code, label in enumerate(found.labels or ()) if label in names]
    rows: npt.NDArray[np.int64] = np.flatnonzero(np.isin(found.values, codes)).astype(np.int64)
    return rows


def first_figures(figures: Mapping[str, Any], n_most: int = 8) -> list[tuple[str, str]]:
    """The first figures of a finding, rounded; lists and mappings are left out."""
    plain = [(name, value) for name, value in figures.items() if isinstance(value, str | int | float)]
    return [(name, shown_figure(value)) for name, value in plain[:n_most]]


def shown_figure(value: Any) -> str:
    """A figure rounded for people; words, lists and yes or no as they are."""
    return number(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
