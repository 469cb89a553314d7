"""A block in float32, numpy only: what `kernel` takes for formats that fit it.

Sums are float32 along `ROW` elements and float64 beyond. A block with zeros is divided otherwise; where the
squares or quotients leave float32's range, nothing is added, and the block is left to float64.
"""

from __future__ import annotations

import math
import threading
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .loading import Single
from .totals import Totals

BLOCK = 1 << 17
"""Real numbers in a block: 512 KiB as float32. Half as many fit the L2 cache of small processors better, but
then the calls themselves cost more than that saves."""

ROW = 1 << 10
"""Longest sum in float32. Sums of equal terms lose most, about ROW / 16 (vector lanes) roundings."""

LARGE_SINGLE = 1e15
TINY_SINGLE = 1e-15
"""Between these the squares of float32 values, and sums of ROW of them, keep float32's precision."""

LARGE_QUOTIENT = 1e34
_FAR = np.float32(1e30)  # divides away what stands where the golden value is 0
_FILL = np.array(1e-30, np.float32)  # stands where an element is left out: its square is 0 in float32
_LOW, _HIGH = np.array(1e-3, np.float32), np.array(5e-3, np.float32)

# the ufuncs' own reductions: ndarray.min and its like take a detour that costs a block a tenth of its time
_smallest, _largest = np.minimum.reduce, np.maximum.reduce

Mask = npt.NDArray[np.bool_]

SUMS = 8
TT, GG, DD, T, G, ABS_D, ABS_G, REL = range(SUMS)


class _Scratch(threading.local):
    """The buffers of one thread, made once."""

    def __init__(self) -> None:
        self.target, self.golden, self.error, self.relative, self.spare = (
            np.empty(BLOCK, np.float32) for _ in range(5)
        )
        self.mask, self.keep = np.empty(BLOCK, np.bool_), np.empty(BLOCK, np.bool_)
        self.ones = np.ones(ROW, np.float32)
        self.sums = np.zeros((SUMS, BLOCK // ROW + 1), np.float32)  # last column: what is left of a row


scratch = _Scratch()


def fill_others(t: Single, g: Single, keep: Mask) -> tuple[Single, Single]:
    """Both sides with _FILL where `keep` is not set: no error there, and nothing to a sum.

    By arithmetic on the bits; picking the elements out costs five times as much. The results may lie in the
    buffers in which t and g lie, with the same elements kept.
    """
    n = t.size
    ones, fill = scratch.error[:n].view(np.int32), scratch.relative[:n].view(np.int32)
    np.copyto(ones, np.negative(keep.view(np.int8)))  # -1 has all bits
    np.multiply(np.add(ones, 1, fill), _FILL.view(np.int32), fill)
    filled = []
    for x, buffer in ((t, scratch.target), (g, scratch.golden)):
        bits = np.bitwise_and(x.view(np.int32), ones, buffer[:n].view(np.int32))
        filled.append(np.bitwise_or(bits, fill, bits).view(np.float32))
    return filled[0], filled[1]


def add_single(
    t: Single, g: Single, limit_t: float, limit_g: float, totals: Totals, keep: Mask | None
) -> bool:
    """Add a block in float32. False, and nothing added, where values are not finite or out of its range.

    keep: None, or where the elements are that count; the others hold _FILL on both sides.
    """
    range_t = range_of(t, limit_t, keep)
    range_g = range_of(g, limit_g, keep) if range_t is not None else None
    if range_t is None or range_g is None:
        return False
    n = t.size
    sums = scratch.sums
    sums.fill(0)
    d = np.subtract(t, g, scratch.error[:n])
    np.abs(d, d)
    max_error = float(_largest(d))
    shift = _sum_squares_of_error(d, max_error, sums[DD])
    relative = _relative_errors(d, g, range_g[0] >= 0, max_error, totals.golden_zero > 0, sums)
    if relative is None:
        return False
    for x, products, plain in ((t, sums[TT], sums[T]), (g, sums[GG], sums[G])):
        row_products(x, x, products)
        _row_sums(x, plain)
    n_filled = n - int(np.count_nonzero(keep)) if keep is not None else 0
    totals.n_compared += n - n_filled
    totals.add_range(range_t, range_g)
    if max_error:
        _row_sums(d, sums[ABS_D])
        totals.n_different += int(np.count_nonzero(d.view(np.int32)))  # no signs here: only a 0 has no bits
        totals.max_abs_error = max(totals.max_abs_error, max_error)
    added = np.add.reduce(sums, axis=1, dtype=np.float64).tolist()
    totals.add_relative(relative.largest, relative.below_1e3 - n_filled, relative.below_5e3 - n_filled)
    totals.add_zeros(relative.n_zero, relative.n_reference, relative.max_reference)
    add_sums(added, shift, t, g, totals)
    return True


def range_of(x: Single, limit: float, keep: Mask | None) -> tuple[float, float] | None:
    """Smallest and largest value, None if some are not finite or the squares are out of range."""
    low, high = float(_smallest(x)), float(_largest(x))
    if not (-limit < low and high < limit):
        return None
    if keep is not None and (low > 0 or high <= _FILL):
        kept = x[keep]
        low, high = float(_smallest(kept)), float(_largest(kept))
        if low == high == 0:
            return None
    return (low, high) if is_easy(max(high, -low)) else None


def is_easy(largest: float) -> bool:
    """True if squares of values up to `largest`, and sums of them, keep float32's precision."""
    return largest == 0 or TINY_SINGLE <= largest <= LARGE_SINGLE


def add_sums(added: list[float], shift: int, t: Single, g: Single, totals: Totals) -> None:
    tt, gg, dd = added[TT], added[GG], math.ldexp(added[DD], 2 * shift)
    totals.squares_target.add(tt)
    totals.squares_golden.add(gg)
    totals.squares_error.add(dd)
    totals.sum_target.add(added[T])
    totals.sum_golden.add(added[G])
    totals.abs_error.add(added[ABS_D])
    totals.abs_golden.add(added[ABS_G])
    totals.rel_error.add(added[REL])
    if 0.25 * gg <= tt <= 4 * gg:
        totals.products.add((tt + gg - dd) / 2)  # saves a pass; loses digits only between unlike norms
    else:
        products = np.zeros(BLOCK // ROW + 1, np.float32)
        row_products(t, g, products)
        totals.products.add(float(products.sum(dtype=np.float64)))


def _sum_squares_of_error(d: Single, largest: float, out: Single) -> int:
    """Row sums of (d * 2^-shift)^2; returns the shift, 0 unless the squares would leave float32's range."""
    if largest == 0:
        return 0
    if is_easy(largest):
        row_products(d, d, out)
        return 0
    shift = max(math.frexp(largest)[1], -120)
    scaled = np.multiply(d, np.float32(2.0**-shift), scratch.relative[: d.size])
    row_products(scaled, scaled, out)
    return shift


class _Relative(NamedTuple):
    """Relative errors of a block (0 in the place of golden zeros), and its golden zeros."""

    largest: float
    below_1e3: int
    below_5e3: int
    n_zero: int
    n_reference: int
    max_reference: float


def _relative_errors(
    d: Single, g: Single, is_positive: bool, max_error: float, expect_zeros: bool, sums: Single
) -> _Relative | None:
    """|t-g| / |g| and the sums of it and of |g|; None where a quotient is out of float32's range."""
    n = d.size
    relative, mask = scratch.relative[:n], scratch.mask[:n]
    abs_g = g if is_positive else np.abs(g, relative)
    _row_sums(abs_g, sums[ABS_G])
    zeros = (0, 0, 0.0)
    if max_error == 0:
        return _Relative(0.0, n, n, int(np.count_nonzero(np.equal(abs_g, 0, mask))), 0, 0.0)
    # a quotient over 0 is inf or NaN: dividing first costs least, unless zeros have been met before
    largest = math.inf if expect_zeros else float(_largest(np.divide(d, abs_g, relative)))
    if not largest < LARGE_QUOTIENT:
        zeros = _divide_beside_zeros(d, g, relative)
        largest = float(_largest(relative))
        if not largest < LARGE_QUOTIENT:
            return None
        if largest < TINY_SINGLE:  # no float32 differs by so little: only what _FAR left of zeros
            return _Relative(0.0, n, n, *zeros)
    _row_sums(relative, sums[REL])
    below_1e3 = int(np.count_nonzero(np.less(relative, _LOW, mask)))
    below_5e3 = int(np.count_nonzero(np.less(relative, _HIGH, mask)))
    return _Relative(largest, below_1e3, below_5e3, *zeros)


def _divide_beside_zeros(d: Single, g: Single, relative: Single) -> tuple[int, int, float]:
    """d / |g| into `relative`, next to nothing where g is 0; returns what `Totals.add_zeros` takes."""
    n = d.size
    abs_g = np.abs(g, relative)
    zero, spare = np.equal(abs_g, 0, scratch.mask[:n]), scratch.spare[:n]
    n_zero = int(np.count_nonzero(zero))
    n_reference, largest = 0, 0.0
    if n_zero:
        # arithmetic instead of masked assignment, which costs five times as much
        np.add(abs_g, np.multiply(zero, _FAR, spare, dtype=np.float32), abs_g)
        there = np.multiply(d, zero, spare, dtype=np.float32)
        n_reference, largest = int(np.count_nonzero(there.view(np.int32))), float(_largest(there))
    np.divide(d, abs_g, relative)
    return n_zero, n_reference, largest


def _row_sums(x: Single, out: Single) -> None:
    """Sums of ROW elements each into out[0], out[1]..., the last one of what is left."""
    n_rows, rest = divmod(x.size, ROW)
    cut = n_rows * ROW
    if n_rows:
        # not a matrix-vector product: BLAS adds that up in fewer lanes, so equal terms lose more
        _row_dots(x[:cut].reshape(n_rows, ROW), scratch.ones, out[:n_rows])
    if rest:
        out[n_rows] = x[cut:].sum()


def row_products(x: Single, y: Single, out: Single) -> None:
    """Sums of x * y over ROW elements each, as `_row_sums`."""
    n_rows, rest = divmod(x.size, ROW)
    cut = n_rows * ROW
    if n_rows:
        _row_dots(x[:cut].reshape(n_rows, ROW), y[:cut].reshape(n_rows, ROW), out[:n_rows])
    if rest:
        out[n_rows] = np.dot(x[cut:], y[cut:])


def _dots_by_matmul(x: Single, y: Single, out: Single) -> None:
    np.matmul(x[:, None, :], y[..., None], out[:, None, None])


_row_dots = getattr(np, "vecdot", _dots_by_matmul)  # numpy 2 has it
