"""What a person looks at in a tensor pair: the worst elements, a map of the errors, histograms.

Each view reads the pair block by block (the histograms twice); memory is what the view shows.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass
from npulse.core.formats.tensors.dtypes import coarser, ulp

from ..progress import IsCancelled, never_cancelled
from ..table import Column, Table, text_column
from .blocks.elementwise import ElementBlock, element_blocks, grid_of, index_of, pieces
from .blocks.loading import Double
from .blocks.pair import Side

Integers = npt.NDArray[np.int64]

BINS_A_DECADE = 16
_LOWEST_DECADE, _HIGHEST_DECADE = -324, 309  # of float64, subnormals included
_N_FINE = (_HIGHEST_DECADE - _LOWEST_DECADE) * BINS_A_DECADE


# ---- worst elements --------------------------------------------------------------------------------------


def worst_elements(
    target: Side, golden: Side, n: int = 100, *, is_cancelled: IsCancelled = never_cancelled
) -> Table:
    """Up to `n` differing elements: first those where NaN or Inf disagree, then by absolute error.

    Columns flat_index, index (text, "[3, 7]"), target, golden, abs_error, rel_error, ulps (of the coarser
    declared dtype). Absent: all errors where a side is not finite, rel_error at golden 0.
    """
    grid, dtype = grid_of(target, golden), coarser(target.declared, golden.declared)
    kept = np.zeros((4, 0))  # rank, flat index, target, golden
    for block in element_blocks(target, golden, is_cancelled):
        kept = _worst_of(kept, block, n)
    error, flat, t, g = kept[0], kept[1].astype(np.int64), kept[2], kept[3]
    finite = np.isfinite(t) & np.isfinite(g)
    with np.errstate(all="ignore"):
        relative, ulps = error / np.abs(g), error / ulp(g, dtype)
    return Table(
        "elements",
        (
            Column("flat_index", "int", flat),
            text_column("index", [str(list(index_of(int(i), grid.shape))) for i in flat]),
            Column("target", "float", t),
            Column("golden", "float", g),
            Column("abs_error", "float", error, absent=_unless(finite)),
            Column("rel_error", "float", relative, absent=_unless(finite & (g != 0))),
            Column("ulps", "float", ulps, absent=_unless(finite)),
        ),
    )


def _worst_of(kept: Double, block: ElementBlock, n: int) -> Double:
    rank = block.error if block.bad is None else np.where(block.bad, np.inf, block.error)
    floor = kept[0].min() if kept.shape[1] >= n else 0.0
    places = np.flatnonzero(rank > floor)
    if places.size == 0:
        return kept
    if places.size > n:  # stable, so that of equal errors the first ones stay
        places = places[np.argsort(-rank[places], kind="stable")[:n]]
    new = np.stack(
        [rank[places], block.first + places.astype(np.float64), block.target[places], block.golden[places]]
    )
    merged = np.concatenate([kept, new], axis=1)
    return merged[:, np.lexsort((merged[1], -merged[0]))[:n]]


def _unless(present: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_] | None:
    return None if present.all() else ~present


# ---- error map -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ErrorMap:
    """Errors of a tensor seen as rows x last axis, cut into cells.

    errors: (cells down, cells across), the largest or mean error in each. is_nonfinite: cells in which NaN
    or Inf disagree (they have no error that could be shown). row_edges, column_edges: cell i holds
    edges[i] ... edges[i + 1].
    """

    errors: Double
    is_nonfinite: npt.NDArray[np.bool_]
    row_edges: Integers
    column_edges: Integers


def error_map(
    target: Side,
    golden: Side,
    n_rows: int,
    n_columns: int,
    *,
    reduce: Literal["max", "mean"] = "max",
    relative: bool = False,
    is_cancelled: IsCancelled = never_cancelled,
) -> ErrorMap:
    """Errors in at most n_rows x n_columns cells. relative: |t-g| / |g|, elements with golden 0 as 0."""
    grid = grid_of(target, golden)
    rows, columns = _edges(grid.n_rows, n_rows), _edges(grid.n_columns, n_columns)
    cells = np.zeros((len(rows) - 1, len(columns) - 1))
    marks = np.zeros(cells.shape, np.bool_)
    for block in element_blocks(target, golden, is_cancelled):
        error = _relative(block) if relative else block.error
        _into_cells(np.maximum if reduce == "max" else np.add, cells, error, block.first, rows, columns)
        if block.bad is not None:
            _into_cells(np.logical_or, marks, block.bad, block.first, rows, columns)
    if reduce == "mean" and cells.size:
        cells /= np.outer(np.diff(rows), np.diff(columns))
    return ErrorMap(cells, marks, rows, columns)


def _edges(n: int, n_cells: int) -> Integers:
    n_cells = max(1, min(n, n_cells))
    return -(-np.arange(n_cells + 1, dtype=np.int64) * n // n_cells) if n else np.zeros(1, np.int64)


def _relative(block: ElementBlock) -> Double:
    divisor = np.abs(block.golden)
    divisor[(divisor == 0) | ~np.isfinite(divisor)] = np.inf
    with np.errstate(all="ignore"):
        result: Double = block.error / divisor
    return result


def _into_cells(
    operation: np.ufunc,
    cells: npt.NDArray[Any],
    values: npt.NDArray[Any],
    first: int,
    row_edges: Integers,
    column_edges: Integers,
) -> None:
    """Reduce a flat block into the cells that it touches."""
    for piece in pieces(first, values.size, int(column_edges[-1])):
        table = values[piece.start : piece.stop].reshape(max(piece.n_rows, 1), -1)
        left, right = piece.column, piece.column + table.shape[1]
        cell_left, starts = _cells_of(column_edges, left, right)
        cell_top, row_starts = _cells_of(row_edges, piece.row, piece.row + table.shape[0])
        reduced = operation.reduceat(operation.reduceat(table, starts, axis=1), row_starts, axis=0)
        here = cells[cell_top : cell_top + reduced.shape[0], cell_left : cell_left + reduced.shape[1]]
        operation(here, reduced, out=here)


def _cells_of(edges: Integers, start: int, stop: int) -> tuple[int, Integers]:
    """First cell that start...stop touches, and where each touched cell begins, counted from start."""
    low = int(np.searchsorted(edges, start, side="right")) - 1
    high = int(np.searchsorted(edges, stop, side="left"))
    return low, np.maximum(edges[low:high] - start, 0)


# ---- histograms ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LogHistogram:
    """Counts between `edges` (log10 of the error); both empty where no element has such an error."""

    edges: Double
    counts: Integers


@dataclass(frozen=True, slots=True)
class Histograms:
    """Distribution of errors and values.

    n_equal, n_nonfinite_agreeing, n_nonfinite_differing, n_zero_reference: elements in no bin of the
    relative error. The absolute error bins hold zero references too. value_edges: common to both sides,
    even steps from the smallest to the largest finite value.
    """

    absolute: LogHistogram
    relative: LogHistogram
    n_equal: int
    n_zero_reference: int
    n_nonfinite_agreeing: int
    n_nonfinite_differing: int
    value_edges: Double
    target_counts: Integers
    golden_counts: Integers


def histogram(
    target: Side, golden: Side, n_bins: int = 40, *, is_cancelled: IsCancelled = never_cancelled
) -> Histograms:
    """Histograms with at most `n_bins` bins each. Reads the pair twice."""
    absolute, relative = np.zeros(_N_FINE, np.int64), np.zeros(_N_FINE, np.int64)
    n_equal = n_zero = n_agreeing = n_differing = 0
    low, high = math.inf, -math.inf
    for block in element_blocks(target, golden, is_cancelled):
        t, g, error = block.target, block.golden, block.error
        if block.finite is not None and block.bad is not None:
            n_differing += int(np.count_nonzero(block.bad))
            n_agreeing += int(np.count_nonzero(~block.finite & ~block.bad))
            t, g, error = t[block.finite], g[block.finite], error[block.finite]
        n_equal += error.size - int(np.count_nonzero(error))
        n_zero += int(np.count_nonzero((g == 0) & (error > 0)))
        _count_decades(absolute, error[error > 0])
        _count_decades(relative, _quotients(error, g))
        if t.size:
            low, high = min(low, float(t.min()), float(g.min())), max(high, float(t.max()), float(g.max()))
    edges = _value_edges(low, high, n_bins)
    counts = np.zeros((2, max(len(edges) - 1, 0)), np.int64)
    if len(edges):
        for block in element_blocks(target, golden, is_cancelled):
            for row, values in enumerate((block.target, block.golden)):
                usable = values if block.finite is None else values[block.finite]
                counts[row] += np.histogram(usable, edges)[0]
    bins = _coarse(absolute, n_bins), _coarse(relative, n_bins)
    return Histograms(*bins, n_equal, n_zero, n_agreeing, n_differing, edges, counts[0], counts[1])


def _quotients(error: Double, g: Double) -> Double:
    usable = (g != 0) & (error > 0)
    with np.errstate(all="ignore"):
        quotients: Double = error[usable] / np.abs(g[usable])
    return quotients


def _count_decades(fine: Integers, errors: Double) -> None:
    positive = errors[(errors > 0) & np.isfinite(errors)]
    if positive.size:
        place = np.floor((np.log10(positive) - _LOWEST_DECADE) * BINS_A_DECADE).astype(np.int64)
        fine += np.bincount(np.clip(place, 0, _N_FINE - 1), minlength=_N_FINE)


def _coarse(fine: Integers, n_bins: int) -> LogHistogram:
    """The occupied part of the fine bins, as many joined as needed for at most `n_bins`."""
    occupied = np.flatnonzero(fine)
    if occupied.size == 0:
        return LogHistogram(np.zeros(0), np.zeros(0, np.int64))
    first, last = int(occupied[0]), int(occupied[-1])
    step = -(-(last - first + 1) // n_bins)
    starts = np.arange(first, last + 1, step)
    counts = np.add.reduceat(fine[: last + 1], starts)
    edges = np.append(starts, starts[-1] + step) / BINS_A_DECADE + _LOWEST_DECADE
    return LogHistogram(edges, counts)


def _value_edges(low: float, high: float, n_bins: int) -> Double:
    if not low <= high:
        return np.zeros(0)
    if low == high:  # one value: give it a bin of its own
        margin = abs(low) * 0.5 or 0.5
        low, high = low - margin, high + margin
    limit = np.finfo(np.float64).max / 4  # the distance of the ends must not overflow
    edges: Double = np.linspace(max(low / 4, -limit), min(high / 4, limit), n_bins + 1) * 4
    return edges
