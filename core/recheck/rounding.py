"""Numbers rounded to a dtype: to nearest, ties to even, with the dtype's range."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from npulse.core.formats.tensors import Dtype
from npulse.core.formats.tensors.dtypes import spacing_into

Floats = npt.NDArray[np.float64]
HF32_BITS = 11
"""Mantissa bits of HF32, in which the matrix unit takes float32 operands where that is allowed."""


def round_to(values: npt.ArrayLike, dtype: Dtype) -> Floats:
    """The nearest values of a dtype, as float64. Beyond its range: Inf, of integers the end of the range."""
    array = np.ascontiguousarray(values, np.float64)
    if dtype.kind in ("int", "bool"):
        lowest = 0.0 if dtype.name.startswith("u") or dtype.kind == "bool" else -dtype.max_finite - 1
        return np.clip(np.rint(array), lowest, dtype.max_finite).reshape(np.shape(values))
    if dtype.mantissa_bits >= 52:
        return array.reshape(np.shape(values))
    is_finite = np.isfinite(array)
    finite = np.where(is_finite, array, 0.0)
    spacing = spacing_into(np.empty_like(finite), np.abs(finite), dtype)
    rounded = np.rint(finite / spacing) * spacing
    rounded = np.where(np.abs(rounded) > dtype.max_finite, np.copysign(np.inf, rounded), rounded)
    return np.where(is_finite, rounded, array).reshape(np.shape(values))


def round_mantissa(values: npt.NDArray[Any], bits: int) -> Floats:
    """To so many mantissa bits, whatever the exponent."""
    mantissa, exponent = np.frexp(np.asarray(values, np.float64))
    scale = 2.0 ** (bits + 1)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.ldexp(np.rint(mantissa * scale) / scale, exponent))
