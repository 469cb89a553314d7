"""Where the rows of a table stood in the table of the look before: rows are known by what they hold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from npulse.core.table import Column, Order, Table

NEW = -1
"""Stands for the row before where there was none."""
_MIX = np.uint64(0x9E3779B97F4A7C15)
_ABSENT = np.uint64(0x5851F42D4C957F2D)
_Hashes = npt.NDArray[np.uint64]


def rows_before(before: Table, after: Table, keys: Sequence[str]) -> Order:
    """For each row of `after` the row of `before` that it is, or NEW.

    Rows are the same where they hold the same in the columns `keys` (those that both tables have); of
    several alike the first is the first, the second the second. Without such a column rows keep their
    number. Cost: one pass over each key column and its labels, two sorts.
    """
    names = {column.name for column in before.columns} & {column.name for column in after.columns}
    shared = [name for name in keys if name in names]
    if not shared:
        rows = np.arange(after.n_rows, dtype=np.int64)
        return np.where(rows < before.n_rows, rows, NEW)
    old, new = (_identities([table.column(name) for name in shared]) for table in (before, after))
    order = np.argsort(old, kind="stable")
    found = np.searchsorted(old[order], new)
    inside = np.minimum(found, max(len(old) - 1, 0))
    if not len(old):
        return np.full(after.n_rows, NEW, np.int64)
    is_known = old[order][inside] == new
    return np.where(is_known, order[inside], NEW).astype(np.int64)


def _identities(columns: Sequence[Column]) -> _Hashes:
    """A number for each row: of what it holds, and of how many before it hold the same."""
    held = np.zeros(len(columns[0].values), np.uint64)
    for column in columns:
        held = (held ^ _hashes(column)) * _MIX
        held ^= held >> np.uint64(31)
    order = np.argsort(held, kind="stable")
    ordered = held[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if len(held) else order
    nth = np.arange(len(held), dtype=np.int64)
    nth -= np.repeat(starts, np.diff(np.append(starts, len(held))))
    numbered = np.empty_like(held)
    numbered[order] = (ordered + nth.astype(np.uint64) * _MIX) * _MIX
    return numbered


def _hashes(column: Column) -> _Hashes:
    """A number for each value: equal for equal values, whatever code a text has in its table."""
    if column.labels is not None:
        codes, places = np.unique(column.values, return_inverse=True)
        labels, n_labels = column.labels, len(column.labels)
        texts = (hash(labels[code]) if 0 <= code < n_labels else 0 for code in codes.tolist())
        found = np.fromiter(texts, np.int64, len(codes)).astype(np.uint64)[places]
    elif column.kind == "float":
        found = (column.values.astype(np.float64) + 0.0).view(np.uint64)
    else:
        found = column.values.astype(np.int64).astype(np.uint64)
    return found if column.absent is None else np.where(column.absent, _ABSENT, found)
