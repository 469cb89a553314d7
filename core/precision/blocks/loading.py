"""Blocks of any number format as float32 or float64 values, ready for arithmetic.

float16, bfloat16, float8, float32 and complex64 fit float32 without loss, and float32 is twice as fast;
everything else is computed in float64.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from npulse.core.formats.tensors import Dtype
from npulse.core.formats.tensors.dtypes import widen

Raw = npt.NDArray[Any]
Single = npt.NDArray[np.float32]
Double = npt.NDArray[np.float64]

HALF_INFINITY = 65536.0
"""What `load_single` makes of a float16 infinity; a float16 NaN becomes a magnitude above it."""

_HALF_RESCALE = np.float32(2.0**112)  # the exponent biases of float32 and float16 are 112 apart
_HALF_KEEP = np.uint32(0x8FFFE000)  # sign, and exponent with mantissa after the shift by 13
_HALF_EXPONENT = np.uint16(0x7C00)
_SAMPLE_STEP = 128
_EXACT_INT64 = 2.0**62


def components(dtype: Dtype) -> int:
    """Real numbers in an element."""
    return 2 if dtype.kind == "complex" else 1


def fits_single(dtype: Dtype) -> bool:
    """True if every value of the format is a float32 (or a pair of them)."""
    return dtype.kind in ("float", "complex") and dtype.mantissa_bits <= 23


def load_single(raw: Raw, dtype: Dtype, buffer: Single) -> tuple[Single, float]:
    """The values of a flat block as float32, and the magnitude at which they stop being finite.

    float32 and complex64 are used in place, others fill the start of `buffer`. Finite values are exact
    and below the limit, infinities equal it, NaN is NaN or beyond it (only float16 has a limit that is
    not infinity: its quick way in turns infinities into finite numbers).
    """
    if dtype.carrier.kind == "f" and dtype.itemsize == 4 or dtype.kind == "complex":
        return raw.view(np.float32), np.inf
    out = buffer[: raw.size]
    if dtype.name == "float16":
        return _load_half(raw, out)
    if dtype.name == "bfloat16":
        bits = out.view(np.uint32)
        np.copyto(bits, raw)
        np.left_shift(bits, 16, out=bits)
    else:
        np.take(_all_values(dtype), raw, out=out, mode="clip")
    return out, np.inf


def load_exact(raw: Raw, dtype: Dtype, buffer: Single) -> Single | None:
    """As `load_single`, with every value as it is; None for a float16 block that holds infinities or NaN."""
    if dtype.name == "float16" and (raw.view(np.uint16) & _HALF_EXPONENT).max() == _HALF_EXPONENT:
        return None
    return load_single(raw, dtype, buffer)[0]


def _load_half(raw: Raw, out: Single) -> tuple[Single, float]:
    """float16 to float32 at a third of the cost of numpy's conversion.

    Move exponent and mantissa to their new places, then mend the bias by a multiplication. That would be
    slow on some processors for float16 subnormals (float32 subnormals after the move): blocks with more
    than a few of them look their values up in a table.
    """
    unsigned = raw.view(np.uint16)
    sample = unsigned[::_SAMPLE_STEP] & _HALF_EXPONENT
    if np.count_nonzero(sample) < sample.size - (sample.size >> 6):
        np.take(_half_values(), unsigned, out=out, mode="clip")
        return out, HALF_INFINITY
    signed, bits = out.view(np.int32), out.view(np.uint32)
    np.copyto(signed, raw.view(np.int16))  # extends the sign
    np.left_shift(signed, 13, out=signed)
    np.bitwise_and(bits, _HALF_KEEP, out=bits)
    np.multiply(out, _HALF_RESCALE, out=out)
    return out, HALF_INFINITY


@lru_cache(maxsize=1)
def _half_values() -> Single:
    """All float16 values in the manner of `_load_half`: infinities are +-65536, NaN is beyond."""
    values = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)
    values[np.isposinf(values)], values[np.isneginf(values)] = HALF_INFINITY, -HALF_INFINITY
    return values


@cache
def _all_values(dtype: Dtype) -> Single:
    """The values of all bit patterns of a one-byte format."""
    return widen(np.arange(256, dtype=np.uint8), dtype).astype(np.float32)


def load_double(
    target: Raw, golden: Raw, dtype_target: Dtype, dtype_golden: Dtype
) -> tuple[Double, Double, Double]:
    """Both sides of a flat block as float64, and target - golden.

    The difference of two whole numbers is 0 only where they are equal, and right to float64's precision
    also where neither fits a float64. Complex elements become two components; a real side beside a
    complex one gets imaginary parts of 0. Differences of non-finite values are NaN or infinite.
    """
    t, g = widen(target, dtype_target), widen(golden, dtype_golden)
    if dtype_target.kind == "complex" or dtype_golden.kind == "complex":
        t, g = (x.astype(np.complex128).view(np.float64) for x in (t, g))
        return t, g, t - g
    if _is_wide(t.dtype) and g.dtype.kind in "iub" or _is_wide(g.dtype) and t.dtype.kind in "iub":
        return t.astype(np.float64), g.astype(np.float64), _whole_difference(t, g)
    t, g = t.astype(np.float64), g.astype(np.float64)
    return t, g, t - g


def _is_wide(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "iu" and dtype.itemsize == 8


def _whole_difference(t: Raw, g: Raw) -> Double:
    """t - g of integers. Modulo 2^64 it is exact; float64 tells where that is the true difference."""
    rough = t.astype(np.float64) - g.astype(np.float64)
    exact = (t.astype(np.uint64) - g.astype(np.uint64)).view(np.int64).astype(np.float64)
    return np.where(np.abs(rough) < _EXACT_INT64, exact, rough)
