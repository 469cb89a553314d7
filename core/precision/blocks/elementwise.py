"""A tensor pair element by element in float64: the blocks that second reads and views work on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from npulse.core.formats.tensors import Dtype

from ...progress import IsCancelled
from .loading import Double, Raw, components, fits_single, load_double, load_exact
from .pair import Side, pair_blocks

BLOCK = 1 << 15
"""Real numbers in a block: small enough for a handful of float64 arrays to stay in the processor's cache."""

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


class _Buffers(threading.local):
    """What one thread loads its blocks into, made once: fresh memory for each would double the time."""

    def __init__(self) -> None:
        self.target32, self.golden32 = np.empty(BLOCK, np.float32), np.empty(BLOCK, np.float32)
        self.double = tuple(np.empty(BLOCK) for _ in range(3))


_buffers = _Buffers()


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
    """The pair block by block; raises what `pair_blocks` raises. A block is valid until the next one."""
    n_parts = max(components(target.dtype), components(golden.dtype))
    step = BLOCK // n_parts
    for first, raw_target, raw_golden in pair_blocks(target, golden, is_cancelled=is_cancelled):
        for start in range(0, raw_target.size, step):
            part = slice(start, start + step)
            with np.errstate(all="ignore"):
                t, g, error = _load(raw_target[part], raw_golden[part], target.dtype, golden.dtype)
                finite, bad = _non_finite(t, g, error)
            yield ElementBlock((first + start) * n_parts, t, g, error, finite, bad)


def _load(
    raw_target: Raw, raw_golden: Raw, dtype_target: Dtype, dtype_golden: Dtype
) -> tuple[Double, Double, Double]:
    """Both sides as float64 and |target - golden|, where the formats allow in buffers that are kept."""
    if (
        fits_single(dtype_target)
        and fits_single(dtype_golden)
        and components(dtype_target) == components(dtype_golden)
    ):
        t32 = load_exact(raw_target, dtype_target, _buffers.target32)
        g32 = load_exact(raw_golden, dtype_golden, _buffers.golden32)
        if t32 is not None and g32 is not None:
            t, g, error = (buffer[: t32.size] for buffer in _buffers.double)
            np.copyto(t, t32)
            np.copyto(g, g32)
            np.subtract(t, g, out=error)
            return t, g, np.abs(error, out=error)
    t, g, error = load_double(raw_target, raw_golden, dtype_target, dtype_golden)
    return t, g, np.abs(error, out=error)


def _non_finite(t: Double, g: Double, error: Double) -> tuple[Mask | None, Mask | None]:
    """`finite` and `bad` of a block; clears the error where it means nothing."""
    if np.isfinite(np.maximum.reduce(error)):  # NaN and infinities get into the error, and from there here
        return None, None
    finite = np.isfinite(t) & np.isfinite(g)
    if finite.all():  # a difference beyond float64
        return None, None
    error[~finite] = 0.0
    return finite, ~finite & ~((t == g) | (np.isnan(t) & np.isnan(g)))


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
