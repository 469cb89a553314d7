"""The second read of a tensor pair that differs: where the bad elements are, and how bad in ulps.

One element of a complex tensor counts as two, its real and its imaginary part; its indices have one more
axis for them. The views for people (worst elements, error map, histograms) are in `views.py`.
"""

from __future__ import annotations

import math
from dataclasses import field
from typing import Any

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass
from npulse.core.formats.tensors import Dtype
from npulse.core.formats.tensors.dtypes import coarser, spacing_into

from ...progress import IsCancelled, never_cancelled
from ..views import ErrorMap, Histograms, error_map, histogram, worst_elements
from .elementwise import BLOCK, ElementBlock, Grid, Mask, element_blocks, grid_of, index_of, pieces
from .loading import Double
from .pair import Side

__all__ = [
    "Concentration",
    "ErrorMap",
    "Examination",
    "Histograms",
    "error_map",
    "examine",
    "histogram",
    "worst_elements",
]

MOST = 0.9
"""'Most of the squared error' in all that follows."""

N_TOP = 8
"""Rows and columns that are named."""

N_TOP_ELEMENTS = 100

MAX_SUMS = 1 << 20
"""Sums kept for rows, and for columns (8 MiB each); more rows are grouped, more columns not looked at."""

MAX_SORTED = 1 << 16
"""Larger tensors are not looked at for a permutation."""

FEW = 8
"""Where less than one in so many elements of a block differs, picking them out is quicker than taking all."""

_CLIP = 1e150  # squares of larger errors would overflow; shares of the squared error are rough there


@dataclass(frozen=True, slots=True)
class Concentration:
    """How few rows (columns, elements) hold most of the squared error.

    of: how many there are. n_most: the fewest that hold 0.9 of it, None if more than were kept (or there is
    no error). share: what those hold. top: (number, share of each), largest first. group: neighbours that
    were added up as one (1 unless there are more than a million rows); numbers are of the group's first.
    """

    of: int
    n_most: int | None
    share: float
    top: tuple[tuple[int, float], ...]
    group: int = 1


@dataclass(frozen=True, slots=True)
class Examination:
    """Where and how two tensors differ. Indices are () where nothing differs.

    max_abs_error_index: of the largest finite error, or of the first NaN or Inf that disagrees. ulps are of
    the coarser declared dtype at the golden value, as real numbers; `ulp_max_zero_reference` is the largest
    target at a golden 0 in smallest subnormals. passes_at: smallest x with |t-g| <= x + x*|g| everywhere,
    inf where NaN or Inf disagree. span_share: differing elements as a share of all from the first to the
    last of them. factor: the one that brings golden nearest to target, `residual` = what is left as a share
    of the target's norm (None: a side is all 0). rows, columns: None for tensors of fewer than two axes.
    is_permuted: same values in another order; None where too large to sort. n_runs: of bad neighbours.
    """

    n_elements: int
    n_different: int
    n_nonfinite: int
    max_abs_error_index: tuple[int, ...]
    first_different: int
    last_different: int
    first_different_index: tuple[int, ...]
    last_different_index: tuple[int, ...]
    span_share: float
    ulp_max: float
    ulp_max_zero_reference: float
    passes_at: float
    factor: float | None
    residual: float | None
    elements: Concentration
    rows: Concentration | None
    columns: Concentration | None
    target_rows_identical: bool
    golden_rows_identical: bool
    is_permuted: bool | None
    n_runs: int

    @property
    def span(self) -> int:
        """Elements from the first to the last that differs."""
        return self.last_different - self.first_different + 1 if self.n_different else 0


def examine(target: Side, golden: Side, *, is_cancelled: IsCancelled = never_cancelled) -> Examination:
    """Read a pair of equal shape again and say where it differs.

    Cost: O(bytes); memory one block and at most two sums a row and column. Raises TensorError, Cancelled.
    """
    search = _Search(grid_of(target, golden), coarser(target.declared, golden.declared))
    with np.errstate(all="ignore"):
        for block in element_blocks(target, golden, is_cancelled):
            search.add(block)
        return search.result()


@dataclass(slots=True)
class _Search:
    """What has been seen of a pair so far."""

    grid: Grid
    dtype: Dtype
    n_different: int = 0
    n_runs: int = 0
    n_nonfinite: int = 0
    first_nonfinite: int = -1
    first: int = -1
    last: int = -1
    largest: float = 0.0
    largest_at: int = -1
    ulps: float = 0.0
    ulps_at_zero: float = 0.0
    passes_at: float = 0.0
    products: Double = field(default_factory=lambda: np.zeros(3))  # tt, tg, gg
    squared_error: float = 0.0
    top: Double = field(default_factory=lambda: np.zeros(0))
    row_sums: Double | None = None
    row_group: int = 1
    column_sums: Double | None = None
    same_rows: tuple[_SameRows, ...] = ()
    whole: tuple[Double, ...] = ()
    spare: Double = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        self.spare = np.empty(min(BLOCK, self.grid.n_elements))
        if 0 < self.grid.n_elements <= MAX_SORTED:
            self.whole = np.empty(self.grid.n_elements), np.empty(self.grid.n_elements)
        if self.grid.n_rows > 1 and len(self.grid.shape) > 1:
            self.row_group = -(-self.grid.n_rows // MAX_SUMS)
            self.row_sums = np.zeros(-(-self.grid.n_rows // self.row_group))
            if self.grid.n_columns <= MAX_SUMS:
                self.column_sums = np.zeros(self.grid.n_columns)
                self.same_rows = _SameRows(self.grid.n_columns), _SameRows(self.grid.n_columns)

    def add(self, block: ElementBlock) -> None:
        t, g = block.target, block.golden
        if block.finite is not None:
            t, g = np.where(block.finite, t, 0.0), np.where(block.finite, g, 0.0)
        self.products += np.dot(t, t), np.dot(t, g), np.dot(g, g)
        for side, values in zip(self.same_rows, (block.target, block.golden), strict=False):
            side.add(block.first, values)
        self._keep_whole(block)
        differing = block.error > 0 if block.bad is None else (block.error > 0) | block.bad
        n_different = int(np.count_nonzero(differing))
        if n_different == 0:
            return
        largest = self._note_places(block, differing, n_different)
        error, spare = block.error, self.spare[: block.error.size]
        if n_different * FEW < error.size:
            places = np.flatnonzero(differing)
            self._note_errors(error[places], t[places], g[places], spare[:n_different])
        else:  # equal elements have no error: they change no maximum
            self._note_errors(error, t, g, spare)
        squared = np.square(error if largest <= _CLIP else np.minimum(error, _CLIP), out=spare)
        self._note_squares(squared)
        self._note_rows(block.first, squared)

    def _keep_whole(self, block: ElementBlock) -> None:
        for whole, values in zip(self.whole, (block.target, block.golden), strict=False):
            whole[block.first : block.first + values.size] = values

    def _note_places(self, block: ElementBlock, differing: Mask, n_different: int) -> float:
        """Where the bad elements are; returns the largest error."""
        goes_on = bool(differing[0]) and self.n_different > 0 and self.last == block.first - 1
        self.n_runs += int(differing[0]) - goes_on + int(np.count_nonzero(differing[1:] > differing[:-1]))
        if self.n_different == 0:
            self.first = block.first + int(differing.argmax())
        self.last = block.first + differing.size - 1 - int(differing[::-1].argmax())
        self.n_different += n_different
        if block.bad is not None and block.bad.any():
            if self.n_nonfinite == 0:
                self.first_nonfinite = block.first + int(np.argmax(block.bad))
            self.n_nonfinite += int(np.count_nonzero(block.bad))
        largest = float(np.maximum.reduce(block.error))
        if largest > self.largest:
            self.largest, self.largest_at = largest, block.first + int(np.argmax(block.error))
        return largest

    def _note_errors(self, error: Double, t: Double, g: Double, spare: Double) -> None:
        """Largest errors by three scales. spare: room for as many results."""
        np.abs(g, out=spare)
        spare += 1
        np.divide(error, spare, out=spare)
        self.passes_at = max(self.passes_at, float(np.maximum.reduce(spare)))
        spacing_into(spare, g, self.dtype)
        zero = g == 0
        if zero.any():
            here = float(np.abs(t[zero]).max() / self.dtype.smallest_subnormal)
            self.ulps_at_zero = max(self.ulps_at_zero, here)
            spare[zero] = np.inf  # no error there
        np.divide(error, spare, out=spare)
        self.ulps = max(self.ulps, float(np.maximum.reduce(spare)))

    def _note_squares(self, squared: Double) -> None:
        self.squared_error += float(squared.sum())
        floor = self.top.min() if self.top.size == N_TOP_ELEMENTS else 0.0
        top = np.concatenate([self.top, squared[squared > floor]])
        if top.size > N_TOP_ELEMENTS:
            top = np.partition(top, -N_TOP_ELEMENTS)[-N_TOP_ELEMENTS:]
        self.top = top

    def _note_rows(self, first: int, squared: Double) -> None:
        if self.row_sums is None:
            return
        for piece in pieces(first, squared.size, self.grid.n_columns):
            part = squared[piece.start : piece.stop]
            if piece.n_rows == 0:
                self.row_sums[piece.row // self.row_group] += part.sum()
                if self.column_sums is not None:
                    self.column_sums[piece.column : piece.column + part.size] += part
                continue
            table = part.reshape(piece.n_rows, -1)
            start, sums = piece.row // self.row_group, table.sum(axis=1)
            if self.row_group > 1:
                groups = np.arange(piece.row, piece.row + piece.n_rows) // self.row_group
                sums = np.bincount(groups - start, weights=sums)
            self.row_sums[start : start + sums.size] += sums
            if self.column_sums is not None:
                self.column_sums += table.sum(axis=0)

    def result(self) -> Examination:
        grid, n = self.grid, self.n_different
        worst = self.largest_at if self.largest_at >= 0 else self.first_nonfinite
        factor, residual = self._factor()
        in_order = np.sort(self.top)[::-1]
        shares = in_order / self.squared_error if self.squared_error else in_order[:0]
        rows, columns = self.row_sums, self.column_sums
        return Examination(
            n_elements=grid.n_elements,
            n_different=n,
            n_runs=self.n_runs,
            n_nonfinite=self.n_nonfinite,
            max_abs_error_index=index_of(worst, grid.shape) if n else (),
            first_different=self.first,
            last_different=self.last,
            first_different_index=index_of(self.first, grid.shape) if n else (),
            last_different_index=index_of(self.last, grid.shape) if n else (),
            span_share=n / (self.last - self.first + 1) if n else 0.0,
            ulp_max=self.ulps,
            ulp_max_zero_reference=self.ulps_at_zero,
            passes_at=math.inf if self.n_nonfinite else self.passes_at,
            factor=factor,
            residual=residual,
            elements=_concentration(shares, grid.n_elements, None, 1),
            rows=None if rows is None else _of_sums(rows, grid.n_rows, self.row_group),
            columns=None if columns is None else _of_sums(columns, grid.n_columns, 1),
            target_rows_identical=bool(self.same_rows) and self.same_rows[0].is_same,
            golden_rows_identical=bool(self.same_rows) and self.same_rows[1].is_same,
            is_permuted=_is_permutation(*self.whole) if self.whole else None,
        )

    def _factor(self) -> tuple[float | None, float | None]:
        tt, tg, gg = (float(x) for x in self.products)
        if not (0 < tt < math.inf and 0 < gg < math.inf):
            return None, None
        return tg / gg, math.sqrt(max(0.0, 1 - tg / tt * (tg / gg)))


def _is_permutation(t: Double, g: Double) -> bool:
    """True if both hold the same values as often. Sorting costs ten times the rest, so look before."""
    if t.size == 0 or any(extreme(t) != extreme(g) for extreme in (np.fmin.reduce, np.fmax.reduce)):
        return False
    return bool(np.array_equal(np.sort(t), np.sort(g), equal_nan=True))


class _SameRows:
    """Whether all rows of one side are the same so far (NaN is the same as NaN)."""

    __slots__ = ("first", "is_same")

    def __init__(self, n_columns: int) -> None:
        self.first = np.empty(n_columns)
        self.is_same = True

    def add(self, first: int, values: Double) -> None:
        if not self.is_same:
            return
        for piece in pieces(first, values.size, self.first.size):
            part = values[piece.start : piece.stop]
            if piece.row == 0:
                n_first = part.size if piece.n_rows == 0 else self.first.size
                self.first[piece.column : piece.column + n_first] = part[:n_first]
            table = part.reshape(max(piece.n_rows, 1), -1)
            model = self.first[piece.column : piece.column + table.shape[1]]
            if not (_is_same(table[-1], model) and _is_same(table, model)):  # mostly the last one tells
                self.is_same = False
                return


def _is_same(values: Double, model: Double) -> bool:
    return bool(((values == model) | (np.isnan(values) & np.isnan(model))).all())


def _of_sums(sums: Double, of: int, group: int) -> Concentration:
    """Concentration of the squared error in rows or columns, from the sum of each."""
    total = float(sums.sum())
    if not 0 < total < math.inf:
        return Concentration(of, None, 0.0, (), group)
    order = np.argsort(-sums, kind="stable")
    return _concentration(sums[order] / total, of, order * group, group)


def _concentration(shares: Double, of: int, numbers: npt.NDArray[Any] | None, group: int) -> Concentration:
    """shares: largest first, maybe only the first of many. numbers: whose they are, None if nobody asks."""
    reached = np.cumsum(shares)
    n_most = int(np.searchsorted(reached, MOST)) + 1 if shares.size and reached[-1] >= MOST else None
    top: tuple[tuple[int, float], ...] = ()
    if numbers is not None:
        top = tuple((int(i), float(s)) for i, s in zip(numbers[:N_TOP], shares[:N_TOP], strict=True) if s > 0)
    return Concentration(of, n_most, float(reached[n_most - 1]) if n_most else 0.0, top, group)
