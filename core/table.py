"""Columns with a declared schema: what analyses hand to panes and reports instead of row objects.

A number that was not recorded or not computed is *absent* (mask), which is not the same as NaN
(computed, and not a number) and never zero.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

from .progress import IsCancelled, Progress, ProgressCallback, check, ignore_progress, never_cancelled

Kind = Literal["text", "int", "float", "bool"]
Order = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    kind "text": `values` holds integer codes into `labels`. Other kinds: the values themselves.
    absent: True where there is no value (shape as values), or None when all are there.
    unit: for headings and exports ("us", "bytes", "ratio", ...), "" where it has none.
    is_internal: for the pane alone (a summary of other columns), not written into reports.
    """

    name: str
    kind: Kind
    values: npt.NDArray[Any]
    labels: Sequence[str] | None = None
    absent: npt.NDArray[np.bool_] | None = None
    unit: str = ""
    is_internal: bool = False

    def value(self, row: int) -> Any:
        """The Python value of one row: str, int, float, bool, or None where absent."""
        if self.absent is not None and self.absent[row]:
            return None
        if self.labels is not None:
            return self.labels[int(self.values[row])]
        return self.values[row].item()

    def to_list(self, start: int, stop: int) -> list[Any]:
        """The Python values of rows start to stop (not included), as `value` gives them, at once."""
        if self.labels is not None:
            texts, places = self.distinct(start, stop)
            return [texts[place] for place in places.tolist()]
        found: list[Any] = self.values[start:stop].tolist()
        if self.absent is not None:
            for row in np.flatnonzero(self.absent[start:stop]).tolist():
                found[row] = None
        return found

    def distinct(self, start: int, stop: int) -> tuple[list[str | None], npt.NDArray[np.intp]]:
        """The texts of rows start to stop (not included), each once, and each row's place among them.

        Absent is one of them, None. Only labels that some row shows are made: the code below an absent cell
        may stand for nothing. Raises ValueError for a column that holds no texts.
        """
        if self.labels is None:
            raise ValueError(f"{self.name}: no texts")
        codes = self.values[start:stop]
        is_absent = None if self.absent is None else self.absent[start:stop]
        if is_absent is None or not is_absent.any():
            shown, places = np.unique(codes, return_inverse=True)
            return [self.labels[code] for code in shown.tolist()], places
        shown, of_present = np.unique(codes[~is_absent], return_inverse=True)
        places = np.full(len(codes), len(shown))
        places[~is_absent] = of_present
        return [*(self.labels[code] for code in shown.tolist()), None], places


@dataclass(frozen=True, slots=True)
class Table:
    """Equally long columns, in display order. Rows never move; views are index arrays."""

    name: str
    columns: tuple[Column, ...]

    @property
    def n_rows(self) -> int:
        return len(self.columns[0].values) if self.columns else 0

    @property
    def exported(self) -> tuple[Column, ...]:
        """The columns that reports and frames hold."""
        return tuple(column for column in self.columns if not column.is_internal)

    def column(self, name: str) -> Column:
        """The column of that name; KeyError where there is none."""
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)

    def row(self, row: int) -> dict[str, Any]:
        """One row as a mapping (for details and exports of few rows)."""
        return {column.name: column.value(row) for column in self.columns}


class Labels(Sequence[str]):
    """Labels of a text column that are made when asked for: half a million strings need not exist at once."""

    __slots__ = ()

    def label(self, index: int) -> str:
        """One of them; index from 0."""
        raise NotImplementedError

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return [self.label(i) for i in range(*index.indices(len(self)))]
        return self.label(index)


@dataclass(frozen=True, slots=True)
class Chained(Labels):
    """Several label tables one behind the other, without copying them."""

    parts: tuple[Sequence[str], ...]
    starts: tuple[int, ...]

    def __len__(self) -> int:
        return self.starts[-1]

    def label(self, index: int) -> str:
        part = bisect_right(self.starts, index) - 1
        return self.parts[part][index - self.starts[part]]

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if not isinstance(index, slice):
            return self.label(index)
        start, stop, step = index.indices(len(self))
        found: list[str] = []
        for part, begin in zip(self.parts, self.starts, strict=False) if step == 1 else ():
            found += part[max(start - begin, 0) : max(stop - begin, 0)]
        return found if step == 1 else [self.label(i) for i in range(start, stop, step)]

    def __iter__(self) -> Iterator[str]:
        for part in self.parts:
            yield from part


def joined_text(name: str, parts: Sequence[tuple[npt.NDArray[Any], Sequence[str]]]) -> Column:
    """One text column of several parts, each its codes and labels; code -1 is absent. No label is copied."""
    starts = np.cumsum([0, *(len(labels) for _, labels in parts)]).tolist()
    codes = [
        np.where(values >= 0, values + start, -1) for (values, _), start in zip(parts, starts, strict=False)
    ]
    joined = np.concatenate(codes) if codes else np.zeros(0, np.int64)
    absent = joined < 0
    labels = Chained(tuple(labels for _, labels in parts), tuple(starts))
    return Column(name, "text", np.maximum(joined, 0), labels, absent if absent.any() else None)


def text_column(name: str, texts: Sequence[str | None], unit: str = "") -> Column:
    """A text column from one string per row; None is absent. Repeats are stored once."""
    codes: dict[str, int] = {}
    values = np.fromiter(
        (codes.setdefault(t, len(codes)) if t is not None else 0 for t in texts), np.int32, len(texts)
    )
    missing = np.fromiter((t is None for t in texts), np.bool_, len(texts))
    return Column(name, "text", values, tuple(codes) or ("",), missing if missing.any() else None, unit)


def taken(table: Table, rows: Order) -> Table:
    """The table's rows at these places, in this order; labels are shared, not copied."""
    columns = tuple(
        replace(
            column,
            values=column.values[rows],
            absent=None if column.absent is None else column.absent[rows],
        )
        for column in table.columns
    )
    return Table(table.name, columns)


def sort_order(
    table: Table,
    name: str,
    *,
    descending: bool = False,
    within: Order | None = None,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> Order:
    """Row numbers ordered by a column, stable; absent values and NaN last in both directions.

    Cost: a sort, which leaves other threads their turn. Raises Cancelled.
    """
    column = table.column(name)
    rows = np.arange(table.n_rows, dtype=np.int64) if within is None else within
    values = column.values[rows]
    if column.labels is not None:
        values = label_ranks(column.labels, progress=progress, is_cancelled=is_cancelled)[values]
    key: npt.NDArray[Any] = values.astype(np.float64 if column.kind == "float" else np.int64)
    last = np.isnan(key) if column.kind == "float" else np.zeros(len(key), np.bool_)
    if column.absent is not None:
        last = last | column.absent[rows]
    if last.any():  # what has no value keeps its order, whatever stands in its place
        key[last] = 0
    if descending:
        key = -key if column.kind == "float" else ~key  # the lowest integer has no negative
    check(is_cancelled)
    order = np.argsort(key, kind="stable")
    flags = last[order]
    ordered: Order = rows[np.concatenate([order[~flags], order[flags]])]
    return ordered


_KEY_BYTES = 64
LABELS_AT_ONCE = 20_000
"""So many labels are looked at between two looks at whether somebody wants to stop."""


def label_ranks(
    labels: Sequence[str],
    *,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> Order:
    """The place of each label in their order by code points; equal ones in the order in which they stand.

    Sorted by their first bytes as arrays: sorting strings themselves would hold up every other thread until
    all are sorted. UTF-8 has the order of code points. Memory: 80 bytes a label. Raises Cancelled.
    """
    n = len(labels)
    keys = np.zeros(n, f"S{_KEY_BYTES}")
    for start in range(0, n, LABELS_AT_ONCE):
        check(is_cancelled)
        progress(Progress("sort", start, n, "texts"))
        part = labels[start : start + LABELS_AT_ONCE]
        keys[start : start + len(part)] = [_key_of(label) for label in part]
    order = np.argsort(keys, kind="stable")
    check(is_cancelled)
    ordered = keys[order]
    # labels that begin alike, or that end with NUL, which such arrays do not hold
    ties = np.flatnonzero(ordered[1:] == ordered[:-1])
    for start, stop in _runs(ties):
        order[start:stop] = sorted(order[start:stop].tolist(), key=lambda place: labels[place])
    ranks = np.zeros(max(n, 1), np.int64)  # no labels where every value is absent
    ranks[order] = np.arange(n)
    return ranks


def _key_of(label: str) -> bytes:
    return label[:_KEY_BYTES].encode("utf-8", "surrogatepass")[:_KEY_BYTES]


def _runs(ties: npt.NDArray[np.int64]) -> list[tuple[int, int]]:
    """Stretches of places of which each is tied with the one behind it, that one with them."""
    if not len(ties):
        return []
    breaks = np.flatnonzero(np.diff(ties) > 1)
    starts, stops = ties[np.concatenate(([0], breaks + 1))], ties[np.concatenate((breaks, [-1]))] + 2
    return list(zip(starts.tolist(), stops.tolist(), strict=True))
