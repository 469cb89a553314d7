"""A tensor pair element by element in float64: the blocks that second reads and views work on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..progress import IsCancelled
from .loading import Double, components, load_double
from .pair import Side, pair_blocks

Mask = npt.NDArray[np.bool_]


class ElementBlock(NamedTuple):
    """Flat values from element number `first` on. error: |target - golden|, 0 where not both are finite.

    finite, bad: None where everything is finite; else where both sides are finite, and where they are not
    and disagree (NaN agrees with NaN, an infinity with the same one).
    """

    first: int
    target: Double
    golden: Double
    error: Double
    finite: Mask | None
    bad: Mask | None


class Grid(NamedTuple):
    """A tensor seen as rows along its last axis. shape: of real numbers (complex: one axis of 2 more)."""

    shape: tuple[int, ...]
    n_elements: int
    n_rows: int
    n_columns: int


class Piece(NamedTuple):
    """Part of a flat range: `n_rows` whole rows from `row` on, or (n_rows 0) some columns of one row."""

    start: int
    stop: int
    row: int
    column: int
    n_rows: int


def grid_of(target: Side, golden: Side) -> Grid:
    """How a pair is seen as rows and columns; tensors of fewer than two axes are one row."""
    n_parts = max(components(target.dtype), components(golden.dtype))
    shape = target.shape + ((n_parts,) if n_parts > 1 else ())
    n = target.n_elements * n_parts
    n_columns = target.shape[-1] * n_parts if len(target.shape) > 1 else n
    return Grid(shape, n, n // n_columns if n_columns else 0, n_columns)


def element_blocks(target: Side, golden: Side, is_cancelled: IsCancelled) -> Iterator[ElementBlock]:
    """The pair block by block; raises what `pair_blocks` raises."""
    n_parts = max(components(target.dtype), components(golden.dtype))
    for first, raw_target, raw_golden in pair_blocks(target, golden, is_cancelled=is_cancelled):
        with np.errstate(all="ignore"):
            t, g, error = load_double(raw_target, raw_golden, target.dtype, golden.dtype)
            np.abs(error, out=error)
            finite = np.isfinite(t) & np.isfinite(g)
            if finite.all():
                yield ElementBlock(first * n_parts, t, g, error, None, None)
                continue
            bad = ~finite & ~((t == g) | (np.isnan(t) & np.isnan(g)))
            error[~finite] = 0.0
        yield ElementBlock(first * n_parts, t, g, error, finite, bad)


def pieces(first: int, size: int, n_columns: int) -> Iterator[Piece]:
    """A flat range cut at the ends of rows: the rest of a row, whole rows, the start of a row."""
    at, end = first, first + size
    while at < end:
        row, column = divmod(at, n_columns)
        n_rows = (end - at) // n_columns if column == 0 else 0
        stop = at + n_rows * n_columns if n_rows else min(end, at - column + n_columns)
        yield Piece(at - first, stop - first, row, column, n_rows)
        at = stop


def index_of(flat: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major index of an element."""
    return tuple(int(i) for i in np.unravel_index(flat, shape))
