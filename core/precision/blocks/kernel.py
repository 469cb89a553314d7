"""The comparison kernel: all figures of a tensor pair in one pass over cache-sized blocks.

`add_block` is the whole of it. Formats that fit float32 are computed in float32 (`single`: a block stays in
the processor's cache while some twenty numpy calls go over it; where there is much to compare, `compiled`:
loops that keep up with the memory); blocks with zeros, NaN or infinities have ways of their own that are not
much slower. Blocks that float32 cannot hold (squares beyond its range, float64, whole numbers) and small ones
are computed in float64.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from npulse.core.formats.tensors import Dtype

from .compiled import add_compiled, loops_for
from .loading import Double, Raw, Single, components, fits_single, load_double, load_single
from .single import BLOCK, Mask, add_single, fill_others, scratch
from .totals import PairMetrics, Sum, Totals, metrics_of

__all__ = ["BLOCK", "PairMetrics", "Totals", "add_block", "block_elements", "metrics_of"]

SMALL = 1 << 13
"""Blocks up to this size are computed in float64: as quick, and exact to 1e-15."""

LARGE_DOUBLE = 1e140
TINY_DOUBLE = 1e-140


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
            loops = loops_for(target.nbytes + golden.nbytes)
            if loops and add_compiled(loops, target, golden, dtype_target, dtype_golden, totals):
                return
            t, limit_t = load_single(target, dtype_target, scratch.target)
            g, limit_g = load_single(golden, dtype_golden, scratch.golden)
            _add_single_or_double(t, g, limit_t, limit_g, totals)
        else:
            t64, g64, error = load_double(target, golden, dtype_target, dtype_golden)
            _add_double_finite(t64, g64, error, totals)


def _add_single_or_double(t: Single, g: Single, limit_t: float, limit_g: float, totals: Totals) -> None:
    expected = totals.nan_target or totals.nan_golden or totals.inf_target or totals.inf_golden
    if not expected and add_single(t, g, limit_t, limit_g, totals, None):
        return
    keep = _finite_on_both(t, g, limit_t, limit_g, totals)
    if keep is None:
        if expected and add_single(t, g, limit_t, limit_g, totals, None):
            return
    elif not keep.any():
        return
    else:
        filled_t, filled_g = fill_others(t, g, keep)
        if add_single(filled_t, filled_g, limit_t, limit_g, totals, keep):
            return
        t, g = t[keep], g[keep]
    t64, g64 = t.astype(np.float64), g.astype(np.float64)
    _add_double(t64, g64, t64 - g64, totals)


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
    keep = _finite(t, limit_t, scratch.keep[:n])
    keep &= _finite(g, limit_g, scratch.mask[:n])
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
        np.less(np.abs(x, scratch.error[: x.size]), limit, out)
    return out


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
