"""The second read, of a tensor in which something was found: where the abnormal elements are.

A row is a line of elements along the last axis. One element of a complex tensor counts as two, its real and
its imaginary part; indices have one more axis for them, rows hold both.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from npulse.core.formats.tensors import Dtype, TensorFile, widen
from npulse.core.progress import IsCancelled, check, never_cancelled

from .bits import bit_limits, component_of, limits_from, parts_of
from .blocks import open_elements
from .masks import Mask, Masks, MasksOf, masks_by_bits, masks_by_table
from .scan import NEAR_RATIO, Scan

__all__ = ["KINDS", "AxisHits", "Kind", "Place", "Places", "RowHits", "axis_names", "find_places", "kinds_in"]

Kind = Literal["nan", "+inf", "-inf", "saturated"]
KINDS: tuple[Kind, ...] = ("nan", "+inf", "-inf", "saturated")

BLOCK = 1 << 16
"""Real numbers looked at together; longer rows are looked at in pieces."""

N_FIRST = 16
"""Indices that are named of each axis, and rows of each kind."""

NARROW = 32
"""Shorter rows are laid out column by column before they are reduced: ten times as quick for pairs."""

CHECK_EVERY_BLOCKS = 64

_AXIS_NAMES = ("batch", "head", "row", "column")


@dataclass(frozen=True, slots=True)
class Place:
    """One abnormal element."""

    index: tuple[int, ...]
    value: float
    kind: Kind


class AxisHits(NamedTuple):
    """On how many different indices of an axis abnormal elements lie; the first of them."""

    name: str
    length: int
    n_hit: int
    first: tuple[int, ...]


class RowHits(NamedTuple):
    """How many rows there are of a kind, and the first of them by their index (of all axes but the last)."""

    n: int
    first: tuple[tuple[int, ...], ...]


class Places(NamedTuple):
    """Where the abnormal elements of a tensor lie.

    n_bad: elements of the kinds that were asked for; first: of these, in row-major order.
    rows_minus_inf, rows_lowest: rows made of nothing but -inf, and of nothing but the negative of the largest
    number; only of kinds that were asked for, and not of whole numbers.
    """

    n_bad: int
    first: tuple[Place, ...]
    axes: tuple[AxisHits, ...]
    n_rows: int
    n_rows_hit: int
    rows_minus_inf: RowHits
    rows_lowest: RowHits


def axis_names(shape: tuple[int, ...]) -> tuple[str, ...]:
    """What the axes of a tensor are called: batch, head, row, column; the first of many: axis 0, axis 1..."""
    n = len(shape)
    if n == 1:
        return ("element",)
    if n == 3:
        return ("batch", "row", "column")
    if n <= len(_AXIS_NAMES):
        return _AXIS_NAMES[len(_AXIS_NAMES) - n :] if n else ()
    return (*(f"axis {number}" for number in range(n - 2)), "row", "column")


def kinds_in(scan: Scan) -> tuple[Kind, ...]:
    """The kinds of which a scan has found some."""
    counts = (scan.n_nan, scan.n_plus_inf, scan.n_minus_inf, scan.n_saturated)
    return tuple(kind for kind, n in zip(KINDS, counts, strict=True) if n)


def find_places(
    file: TensorFile,
    *,
    kinds: Collection[Kind] = KINDS,
    max_places: int = 100,
    is_cancelled: IsCancelled = never_cancelled,
) -> Places:
    """Read a tensor again and say where its elements of these kinds are.

    "saturated" is both ends: what `Scan` counts as n_saturated_high and n_saturated_low.
    Cost: O(bytes); memory one block and one flag for each index of each axis but the first. Raises
    TensorError, Cancelled, ValueError for an unknown kind.
    """
    if unknown := set(kinds) - set(KINDS):
        raise ValueError(f"unknown kinds: {', '.join(sorted(unknown))}")
    search = _Search(_grid_of(file), component_of(file.dtype), max_places)
    masks_of = _masks_for(file, kinds)
    if masks_of is not None:
        with open_elements(file, may_map=False) as read:
            for number, piece in enumerate(_pieces(search.grid)):
                if number % CHECK_EVERY_BLOCKS == 0:
                    check(is_cancelled)
                parts = search.grid.n_parts
                block = read(piece.first // parts, piece.n_rows * piece.width // parts)
                search.add(piece, block.view(search.dtype.carrier), masks_of)
    return search.result()


def _masks_for(file: TensorFile, kinds: Collection[Kind]) -> MasksOf | None:
    """How the abnormal elements of a block are found; None where there can be none."""
    dtype = file.dtype
    if not kinds or dtype.kind == "bool" or (dtype.kind == "int" and dtype.name != "int8"):
        return None
    if dtype.itemsize == 1:
        return masks_by_table(dtype, limits_from(file), frozenset(kinds))
    limits = bit_limits(component_of(dtype), limits_from(file), NEAR_RATIO)
    return masks_by_bits(limits, frozenset(kinds))


class _Grid(NamedTuple):
    """A tensor as rows. shape: of the tensor itself; n_columns: real numbers in a row."""

    shape: tuple[int, ...]
    n_parts: int
    n_rows: int
    n_columns: int

    @property
    def numbers_shape(self) -> tuple[int, ...]:
        """Shape of the real numbers: complex elements have one axis more."""
        return (*self.shape, self.n_parts) if self.n_parts > 1 else self.shape


def _grid_of(file: TensorFile) -> _Grid:
    parts = parts_of(file.dtype)
    n_columns = file.shape[-1] * parts if file.shape else parts
    return _Grid(file.shape, parts, math.prod(file.shape[:-1]), n_columns)


class _Piece(NamedTuple):
    """Whole rows, or a part of one: `n_rows` rows of `width` numbers; `first`: number of the first one."""

    first: int
    row: int
    n_rows: int
    column: int
    width: int


def _pieces(grid: _Grid) -> Iterator[_Piece]:
    n_rows, n_columns = grid.n_rows, grid.n_columns
    if not (n_rows and n_columns):
        return
    step = BLOCK // n_columns
    if step:
        for row in range(0, n_rows, step):
            yield _Piece(row * n_columns, row, min(step, n_rows - row), 0, n_columns)
        return
    for row in range(n_rows):
        for column in range(0, n_columns, BLOCK):
            width = min(BLOCK, n_columns - column)
            yield _Piece(row * n_columns + column, row, 1, column, width)


# ---- which indices of an axis ----------------------------------------------------------------------------


@dataclass(slots=True)
class _InOrder:
    """Different indices of an axis that is walked through once, from its start to its end."""

    n: int = 0
    last: int = -1
    first: list[int] = field(default_factory=list)

    def add(self, indices: npt.NDArray[Any]) -> None:
        new = indices[np.diff(indices, prepend=self.last) != 0]
        self.n += new.size
        self.last = int(indices[-1])
        self.first += new[: N_FIRST - len(self.first)].tolist()


@dataclass(slots=True)
class _Flags:
    """Different indices of an axis that is walked through again and again."""

    flags: Mask

    def add(self, indices: npt.NDArray[Any]) -> None:
        self.flags[indices] = True

    @property
    def n(self) -> int:
        return int(np.count_nonzero(self.flags))

    @property
    def first(self) -> list[int]:
        found: list[int] = []
        for start in range(0, self.flags.size, BLOCK):  # all indices at once could be eight times the flags
            found += (np.flatnonzero(self.flags[start : start + BLOCK])[:N_FIRST] + start).tolist()
            if len(found) >= N_FIRST:
                break
        return found[:N_FIRST]


@dataclass(slots=True)
class _Once:
    """Rows or columns of a kind, each met once: how many, the numbers of the first."""

    n: int = 0
    first: list[int] = field(default_factory=list)

    def add(self, flags: Mask, start: int) -> None:
        """flags: which of those from number `start` on are of the kind."""
        self.n += int(np.count_nonzero(flags))
        if len(self.first) < N_FIRST:
            self.first += (np.flatnonzero(flags)[: N_FIRST - len(self.first)] + start).tolist()


# ---- the search ------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Search:
    """What has been found of a tensor so far. open_row: of the row that is being looked at in pieces."""

    grid: _Grid
    dtype: Dtype
    max_places: int
    n: int = 0
    places: list[Place] = field(default_factory=list)
    hit: _Once = field(default_factory=_Once)
    minus_inf: _Once = field(default_factory=_Once)
    lowest: _Once = field(default_factory=_Once)
    leading: list[_InOrder | _Flags] = field(init=False)
    columns: _Once | _Flags = field(init=False)
    open_row: list[bool] = field(default_factory=lambda: [False, True, True])

    def __post_init__(self) -> None:
        shape = self.grid.shape[:-1]
        walked = next((axis for axis, length in enumerate(shape) if length > 1), -1)
        self.leading = [
            _InOrder() if axis == walked else _Flags(np.zeros(length, np.bool_))
            for axis, length in enumerate(shape)
        ]
        is_one_row = self.grid.n_rows == 1 and self.grid.n_parts == 1
        self.columns = _Once() if is_one_row else _Flags(np.zeros(self.grid.n_columns, np.bool_))

    def add(self, piece: _Piece, block: npt.NDArray[Any], masks_of: MasksOf) -> None:
        """Add whole rows or a part of one; block: its numbers in the carrier of one of them."""
        masks = masks_of(block)
        if masks is not None:
            self.n += int(np.count_nonzero(masks.hit))
            self._keep_places(piece.first, block, masks.hit)
        rows = self._note_columns(piece, masks)
        if piece.width < self.grid.n_columns:
            is_hit, is_minus, is_lowest = (bool(flags[0]) for flags in rows)
            so_far = self.open_row
            self.open_row = [so_far[0] or is_hit, so_far[1] and is_minus, so_far[2] and is_lowest]
            if piece.column + piece.width < self.grid.n_columns:
                return
            rows = tuple(np.array([flag]) for flag in self.open_row)
            self.open_row = [False, True, True]
        if rows[0].any():
            self._note_rows(piece.row, rows)

    def _keep_places(self, first: int, block: npt.NDArray[Any], hit: Mask) -> None:
        room = self.max_places - len(self.places)
        if room <= 0:
            return
        found = np.flatnonzero(hit)[:room]
        with np.errstate(invalid="ignore"):  # some NaN are signals
            values = widen(block[found], self.dtype).astype(np.float64).tolist()
        for at, value in zip(found.tolist(), values, strict=True):
            self.places.append(Place(_index_of(first + at, self.grid.numbers_shape), value, _kind_of(value)))

    def _note_columns(self, piece: _Piece, masks: Masks | None) -> tuple[Mask, ...]:
        """Note the columns that are hit; returns of each row whether it is hit, all -inf, all the lowest."""
        none = np.zeros(piece.n_rows, np.bool_)
        if masks is None:
            return none, none, none
        hit = _table(masks.hit, piece)
        if isinstance(self.columns, _Flags):
            flags = self.columns.flags[piece.column : piece.column + piece.width]
            np.logical_or(flags, _any(hit, 0), out=flags)
        else:
            self.columns.add(hit[0], piece.column)
        return (
            _any(hit, 1),
            none if masks.minus_inf is None else _all(_table(masks.minus_inf, piece), 1),
            none if masks.lowest is None else _all(_table(masks.lowest, piece), 1),
        )

    def _note_rows(self, first_row: int, flags: tuple[Mask, ...]) -> None:
        """flags: of each row whether it is hit, all -inf, all the lowest number."""
        for rows, of_kind in zip((self.hit, self.minus_inf, self.lowest), flags, strict=True):
            rows.add(of_kind, first_row)
        hit = np.flatnonzero(flags[0]) + first_row
        step = self.grid.n_rows
        for length, axis in zip(self.grid.shape[:-1], self.leading, strict=True):
            step //= length
            axis.add(hit // step % length)

    def result(self) -> Places:
        return Places(
            n_bad=self.n,
            first=tuple(self.places),
            axes=tuple(self._axes()),
            n_rows=self.grid.n_rows,
            n_rows_hit=self.hit.n,
            rows_minus_inf=self._row_hits(self.minus_inf),
            rows_lowest=self._row_hits(self.lowest),
        )

    def _axes(self) -> Iterator[AxisHits]:
        found: list[_InOrder | _Once | _Flags] = [*self.leading, self.columns]
        names = axis_names(self.grid.shape)
        if isinstance(self.columns, _Flags) and self.grid.n_parts > 1:
            of_parts = self.columns.flags.reshape(-1, self.grid.n_parts)
            found[-1:] = _Flags(_any(of_parts, 1)), _Flags(_any(of_parts, 0))
            names += ("part",)
        if not self.grid.shape:
            found = found[1:]  # a single number has no columns
        for name, length, of_axis in zip(names, self.grid.numbers_shape, found, strict=True):
            yield AxisHits(name, length, of_axis.n, tuple(of_axis.first))

    def _row_hits(self, rows: _Once) -> RowHits:
        return RowHits(rows.n, tuple(_index_of(row, self.grid.shape[:-1]) for row in rows.first))


def _table(mask: Mask, piece: _Piece) -> Mask:
    """The mask of a piece as rows and columns."""
    table = mask.reshape(piece.n_rows, piece.width)
    return np.asfortranarray(table) if 1 < piece.width < NARROW else table


def _any(mask: Mask, axis: int) -> Mask:
    flags: Mask = np.logical_or.reduce(mask, axis=axis)
    return flags


def _all(mask: Mask, axis: int) -> Mask:
    flags: Mask = np.logical_and.reduce(mask, axis=axis)
    return flags


def _index_of(number: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major index; () where there are no axes."""
    return tuple(int(i) for i in np.unravel_index(number, shape)) if shape else ()


def _kind_of(value: float) -> Kind:
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "+inf" if value > 0 else "-inf"
    return "saturated"
