"""The comparison kernel: all figures of a tensor pair in one pass over cache-sized blocks, numpy only.

`add_block` is the whole of it: a compiled kernel can take its place. What makes it fast: a block stays in
the processor's cache while some twenty numpy calls go over it; formats that fit float32 are computed in
float32, with sums of `ROW` elements at most, added up in float64; blocks with zeros, NaN or infinities
have ways of their own that are not much slower. Blocks that float32 cannot hold (squares beyond its
range, float64, whole numbers) and small ones are computed in float64.
"""

from __future__ import annotations

import math
import threading
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from npulse.core.formats.tensors import Dtype

from .loading import Double, Raw, Single, components, fits_single, load_double, load_single
from .totals import PairMetrics, Sum, Totals, metrics_of

__all__ = ["BLOCK", "PairMetrics", "Totals", "add_block", "block_elements", "metrics_of"]

BLOCK = 1 << 17
"""Real numbers in a block: 512 KiB as float32. Half as many fit the L2 cache of small processors better, but
then the calls themselves cost more than that saves."""

ROW = 1 << 10
"""Longest sum in float32. Sums of equal terms lose most, about ROW / 16 (vector lanes) roundings."""

SMALL = 1 << 13
"""Blocks up to this size are computed in float64: as quick, and exact to 1e-15."""

LARGE_SINGLE = 1e15
TINY_SINGLE = 1e-15
"""Between these the squares of float32 values, and sums of ROW of them, keep float32's precision."""

LARGE_QUOTIENT = 1e34
LARGE_DOUBLE = 1e140
TINY_DOUBLE = 1e-140

_FAR = np.float32(1e30)  # divides away what stands where the golden value is 0
_FILL = np.array(1e-30, np.float32)  # stands where an element is left out: its square is 0 in float32
_LOW, _HIGH = np.array(1e-3, np.float32), np.array(5e-3, np.float32)

# the ufuncs' own reductions: ndarray.min and its like take a detour that costs a block a tenth of its time
_smallest, _largest = np.minimum.reduce, np.maximum.reduce

Mask = npt.NDArray[np.bool_]

_SUMS = 8
_TT, _GG, _DD, _T, _G, _ABS_D, _ABS_G, _REL = range(_SUMS)


class _Scratch(threading.local):
    """The buffers of one thread, made once."""

    def __init__(self) -> None:
        self.target, self.golden, self.error, self.relative, self.spare = (
            np.empty(BLOCK, np.float32) for _ in range(5)
        )
        self.mask, self.keep = np.empty(BLOCK, np.bool_), np.empty(BLOCK, np.bool_)
        self.ones = np.ones(ROW, np.float32)
        self.sums = np.zeros((_SUMS, BLOCK // ROW + 1), np.float32)  # last column: what is left of a row


_scratch = _Scratch()


def block_elements(dtype_target: Dtype, dtype_golden: Dtype) -> int:
    """How many elements of such a pair make a block."""
    return BLOCK // max(components(dtype_target), components(dtype_golden))


def add_block(target: Raw, golden: Raw, dtype_target: Dtype, dtype_golden: Dtype, totals: Totals) -> None:
    """Add a block of a pair to `totals`: flat contiguous arrays of equal length in their dtype's carrier.

    At most `block_elements` elements. The two formats may differ. Never warns.
    """
    n_components = max(components(dtype_target), components(dtype_golden))
    n = target.size * n_components
    totals.n_elements += n
    if n == 0:
        return
    is_single = n > SMALL and fits_single(dtype_target) and fits_single(dtype_golden)
    with np.errstate(all="ignore"):
        if is_single and components(dtype_target) == components(dtype_golden):
            t, limit_t = load_single(target, dtype_target, _scratch.target)
            g, limit_g = load_single(golden, dtype_golden, _scratch.golden)
            _add_single_or_double(t, g, limit_t, limit_g, totals)
        else:
            t64, g64, error = load_double(target, golden, dtype_target, dtype_golden)
            _add_double_finite(t64, g64, error, totals)


def _add_single_or_double(t: Single, g: Single, limit_t: float, limit_g: float, totals: Totals) -> None:
    expected = totals.nan_target or totals.nan_golden or totals.inf_target or totals.inf_golden
    if not expected and _add_single(t, g, limit_t, limit_g, totals, None):
        return
    keep = _finite_on_both(t, g, limit_t, limit_g, totals)
    if keep is None:
        if expected and _add_single(t, g, limit_t, limit_g, totals, None):
            return
    elif not keep.any():
        return
    else:
        filled_t, filled_g = _fill_others(t, g, keep)
        if _add_single(filled_t, filled_g, limit_t, limit_g, totals, keep):
            return
        t, g = t[keep], g[keep]
    t64, g64 = t.astype(np.float64), g.astype(np.float64)
    _add_double(t64, g64, t64 - g64, totals)


def _fill_others(t: Single, g: Single, keep: Mask) -> tuple[Single, Single]:
    """Both sides with _FILL where `keep` is not set: no error there, and nothing to a sum.

    By arithmetic on the bits; picking the elements out costs five times as much. The results may lie in the
    buffers in which t and g lie, with the same elements kept.
    """
    n = t.size
    ones, fill = _scratch.error[:n].view(np.int32), _scratch.relative[:n].view(np.int32)
    np.copyto(ones, np.negative(keep.view(np.int8)))  # -1 has all bits
    np.multiply(np.add(ones, 1, fill), _FILL.view(np.int32), fill)
    filled = []
    for x, buffer in ((t, _scratch.target), (g, _scratch.golden)):
        bits = np.bitwise_and(x.view(np.int32), ones, buffer[:n].view(np.int32))
        filled.append(np.bitwise_or(bits, fill, bits).view(np.float32))
    return filled[0], filled[1]


def _add_double_finite(t: Double, g: Double, error: Double, totals: Totals) -> None:
    keep = _finite_on_both(t, g, math.inf, math.inf, totals)
    if keep is not None:
        t, g, error = t[keep], g[keep], error[keep]
    if t.size:
        _add_double(t, g, error, totals)


def _finite_on_both(
    t: npt.NDArray[Any], g: npt.NDArray[Any], limit_t: float, limit_g: float, totals: Totals
) -> Mask | None:
    """Where both sides are finite, None if everywhere. Counts the others: per side, agreeing, differing."""
    n = t.size
    keep = _finite(t, limit_t, _scratch.keep[:n])
    keep &= _finite(g, limit_g, _scratch.mask[:n])
    if np.count_nonzero(keep) == n:
        return None
    odd = np.flatnonzero(~keep)
    t, g = t.take(odd), g.take(odd)
    abs_t, abs_g = np.abs(t), np.abs(g)
    nan_t, nan_g = ~(abs_t <= limit_t), ~(abs_g <= limit_g)
    inf_t, inf_g = abs_t == limit_t, abs_g == limit_g
    agreeing = (nan_t & nan_g) | (inf_t & inf_g & ((t > 0) == (g > 0)))
    n_agreeing = int(np.count_nonzero(agreeing))
    totals.nan_target += int(np.count_nonzero(nan_t))
    totals.nan_golden += int(np.count_nonzero(nan_g))
    totals.inf_target += int(np.count_nonzero(inf_t))
    totals.inf_golden += int(np.count_nonzero(inf_g))
    totals.nonfinite_agreeing += n_agreeing
    totals.nonfinite_differing += odd.size - n_agreeing
    totals.n_different += odd.size - n_agreeing
    return keep


def _finite(x: npt.NDArray[Any], limit: float, out: Mask) -> Mask:
    """Where |x| < limit; NaN never is."""
    if limit == math.inf:
        np.isfinite(x, out)
    else:
        np.less(np.abs(x, _scratch.error[: x.size]), limit, out)
    return out


# ---- float32 ---------------------------------------------------------------------------------------------


def _add_single(
    t: Single, g: Single, limit_t: float, limit_g: float, totals: Totals, keep: Mask | None
) -> bool:
    """Add a block in float32. False, and nothing added, where values are not finite or out of its range.

    keep: None, or where the elements are that count; the others hold _FILL on both sides.
    """
    range_t = _range(t, limit_t, keep)
    range_g = _range(g, limit_g, keep) if range_t is not None else None
    if range_t is None or range_g is None:
        return False
    n = t.size
    sums = _scratch.sums
    sums.fill(0)
    d = np.subtract(t, g, _scratch.error[:n])
    np.abs(d, d)
    max_error = float(_largest(d))
    shift = _sum_squares_of_error(d, max_error, sums[_DD])
    relative = _relative_errors(d, g, range_g[0] >= 0, max_error, totals.golden_zero > 0, sums)
    if relative is None:
        return False
    for x, products, plain in ((t, sums[_TT], sums[_T]), (g, sums[_GG], sums[_G])):
        _row_products(x, x, products)
        _row_sums(x, plain)
    n_filled = n - int(np.count_nonzero(keep)) if keep is not None else 0
    totals.n_compared += n - n_filled
    totals.add_range(range_t, range_g)
    if max_error:
        _row_sums(d, sums[_ABS_D])
        totals.n_different += int(np.count_nonzero(d.view(np.int32)))  # no signs here: only a 0 has no bits
        totals.max_abs_error = max(totals.max_abs_error, max_error)
    added = np.add.reduce(sums, axis=1, dtype=np.float64).tolist()
    totals.add_relative(relative.largest, relative.below_1e3 - n_filled, relative.below_5e3 - n_filled)
    totals.add_zeros(relative.n_zero, relative.n_reference, relative.max_reference)
    _add_sums(added, shift, t, g, totals)
    return True


def _range(x: Single, limit: float, keep: Mask | None) -> tuple[float, float] | None:
    """Smallest and largest value, None if some are not finite or the squares are out of range."""
    low, high = float(_smallest(x)), float(_largest(x))
    if not (-limit < low and high < limit):
        return None
    if keep is not None and (low > 0 or high <= _FILL):
        kept = x[keep]
        low, high = float(_smallest(kept)), float(_largest(kept))
        if low == high == 0:
            return None
    return (low, high) if _is_easy(max(high, -low)) else None


def _is_easy(largest: float) -> bool:
    """True if squares of values up to `largest`, and sums of them, keep float32's precision."""
    return largest == 0 or TINY_SINGLE <= largest <= LARGE_SINGLE


def _add_sums(added: list[float], shift: int, t: Single, g: Single, totals: Totals) -> None:
    tt, gg, dd = added[_TT], added[_GG], math.ldexp(added[_DD], 2 * shift)
    totals.squares_target.add(tt)
    totals.squares_golden.add(gg)
    totals.squares_error.add(dd)
    totals.sum_target.add(added[_T])
    totals.sum_golden.add(added[_G])
    totals.abs_error.add(added[_ABS_D])
    totals.abs_golden.add(added[_ABS_G])
    totals.rel_error.add(added[_REL])
    if 0.25 * gg <= tt <= 4 * gg:
        totals.products.add((tt + gg - dd) / 2)  # saves a pass; loses digits only between unlike norms
    else:
        products = np.zeros(BLOCK // ROW + 1, np.float32)
        _row_products(t, g, products)
        totals.products.add(float(products.sum(dtype=np.float64)))


def _sum_squares_of_error(d: Single, largest: float, out: Single) -> int:
    """Row sums of (d * 2^-shift)^2; returns the shift, 0 unless the squares would leave float32's range."""
    if largest == 0:
        return 0
    if _is_easy(largest):
        _row_products(d, d, out)
        return 0
    shift = max(math.frexp(largest)[1], -120)
    scaled = np.multiply(d, np.float32(2.0**-shift), _scratch.relative[: d.size])
    _row_products(scaled, scaled, out)
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
    relative, mask = _scratch.relative[:n], _scratch.mask[:n]
    abs_g = g if is_positive else np.abs(g, relative)
    _row_sums(abs_g, sums[_ABS_G])
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
    _row_sums(relative, sums[_REL])
    below_1e3 = int(np.count_nonzero(np.less(relative, _LOW, mask)))
    below_5e3 = int(np.count_nonzero(np.less(relative, _HIGH, mask)))
    return _Relative(largest, below_1e3, below_5e3, *zeros)


def _divide_beside_zeros(d: Single, g: Single, relative: Single) -> tuple[int, int, float]:
    """d / |g| into `relative`, next to nothing where g is 0; returns what `Totals.add_zeros` takes."""
    n = d.size
    abs_g = np.abs(g, relative)
    zero, spare = np.equal(abs_g, 0, _scratch.mask[:n]), _scratch.spare[:n]
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
        _row_dots(x[:cut].reshape(n_rows, ROW), _scratch.ones, out[:n_rows])
    if rest:
        out[n_rows] = x[cut:].sum()


def _row_products(x: Single, y: Single, out: Single) -> None:
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


# ---- float64 ---------------------------------------------------------------------------------------------


def _add_double(t: Double, g: Double, d: Double, totals: Totals) -> None:
    """Add a block of finite values in float64; d = t - g."""
    n = t.size
    t_min, t_max, g_min, g_max = float(t.min()), float(t.max()), float(g.min()), float(g.max())
    largest_t, largest_g = max(t_max, -t_min), max(g_max, -g_min)
    totals.n_compared += n
    totals.n_different += int(np.count_nonzero(d))
    totals.add_range((t_min, t_max), (g_min, g_max))
    d, abs_g = np.abs(d), np.abs(g)
    max_error, halvings = float(d.max()), 0
    totals.max_abs_error = max(totals.max_abs_error, max_error)
    relative = d / _count_zeros(d, abs_g, totals)
    if max_error == math.inf:  # of finite values: quarter them before they are subtracted
        beyond, d, halvings = d == np.inf, np.abs(t * 0.25 - g * 0.25), 2
        relative[beyond] = d[beyond] / abs_g[beyond] * 4
    _add_relative_double(relative, totals)
    _add_linear(totals.sum_target, t, largest_t)
    _add_linear(totals.sum_golden, g, largest_g)
    _add_linear(totals.abs_golden, abs_g, largest_g)
    _add_linear(totals.abs_error, d, float(d.max()), halvings)
    scaled_t, shift_t = _in_range(t, largest_t)
    scaled_g, shift_g = _in_range(g, largest_g)
    scaled_d, shift_d = _in_range(d, float(d.max()))
    totals.squares_target.add(float(np.dot(scaled_t, scaled_t)), 2 * shift_t)
    totals.squares_golden.add(float(np.dot(scaled_g, scaled_g)), 2 * shift_g)
    totals.squares_error.add(float(np.dot(scaled_d, scaled_d)), 2 * (shift_d + halvings))
    totals.products.add(float(np.dot(scaled_t, scaled_g)), shift_t + shift_g)


def _in_range(x: Double, largest: float) -> tuple[Double, int]:
    """x * 2^-shift, whose squares and sums neither overflow nor vanish, and the shift: mostly 0."""
    if largest == 0 or TINY_DOUBLE <= largest <= LARGE_DOUBLE:
        return x, 0
    shift = math.frexp(largest)[1]
    return np.ldexp(x, -shift), shift


def _add_linear(total: Sum, x: Double, largest: float, shift: int = 0) -> None:
    scaled, more = _in_range(x, largest)
    total.add(float(scaled.sum()), shift + more)


def _count_zeros(d: Double, abs_g: Double, totals: Totals) -> Double:
    """What relative errors are divided by: |golden|, and infinity in the place of zeros."""
    zero = abs_g == 0
    n_zero = int(np.count_nonzero(zero))
    if n_zero == 0:
        return abs_g
    there = d[zero]
    totals.add_zeros(n_zero, int(np.count_nonzero(there)), float(there.max()))
    return np.where(zero, np.inf, abs_g)


def _add_relative_double(relative: Double, totals: Totals) -> None:
    largest = float(relative.max())
    _add_linear(totals.rel_error, relative, largest)
    totals.add_relative(
        largest,
        int(np.count_nonzero(relative < 1e-3)),
        int(np.count_nonzero(relative < 5e-3)),
    )
