"""Float formats as the integers that their bits are: a magnitude's pattern grows as the magnitude does.

A scan never converts an element. It compares patterns (the bits without the sign) with those of a few limits,
which are worked out once for each pair of stored and declared format.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from npulse.core.formats.tensors import DTYPES, Dtype, TensorFile

_COMPONENTS = {"complex64": "float32", "complex128": "float64"}
_CODES = {"float16": ("<H", "<e"), "float32": ("<I", "<f"), "float64": ("<Q", "<d")}


class BitLimits(NamedTuple):
    """Where the ranges of a format begin, as patterns of the format in which the elements are stored.

    sign: the sign bit. infinity: patterns above it are NaN. normal: first one that is a normal number of the
    declared format. near: first one at or above near_ratio x its largest value; ceiling: first one at or
    above the largest value itself, which is that value only if `has_largest` (a file may store a format
    that lacks it). Each is `infinity` where the stored format does not reach so far.
    """

    stored: Dtype
    unsigned: np.dtype[Any]
    signed: np.dtype[Any]
    sign: int
    infinity: int
    normal: int
    near: int
    ceiling: int
    has_largest: bool

    def value(self, pattern: int) -> float:
        """The magnitude that a pattern stands for."""
        return _value_of(self.stored.name)(pattern)


def component_of(dtype: Dtype) -> Dtype:
    """The format of one real component: of the real and of the imaginary part of a complex number."""
    return DTYPES[_COMPONENTS.get(dtype.name, dtype.name)]


def limits_from(file: TensorFile) -> Dtype:
    """The format whose ranges count for the elements of a file: the declared one, if it is a float."""
    return component_of(file.declared if file.declared.kind in ("float", "complex") else file.dtype)


def parts_of(dtype: Dtype) -> int:
    """Real numbers in an element."""
    return 2 if dtype.kind == "complex" else 1


@lru_cache(maxsize=64)
def bit_limits(stored: Dtype, declared: Dtype, near_ratio: float) -> BitLimits:
    """Limits of the declared format for elements stored as float16, bfloat16, float32 or float64."""
    sign = 1 << (stored.bits - 1)
    infinity = sign - (1 << stored.mantissa_bits)
    value = _value_of(stored.name)

    def at_least(limit: float) -> int:
        """The smallest pattern of a value >= limit, by halving: values grow with their patterns."""
        low, high = 0, infinity
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if value(middle) >= limit else (middle + 1, high)
        return low

    ceiling = at_least(declared.max_finite)
    return BitLimits(
        stored=stored,
        unsigned=np.dtype(f"<u{stored.itemsize}"),
        signed=np.dtype(f"<i{stored.itemsize}"),
        sign=sign,
        infinity=infinity,
        normal=at_least(declared.min_normal),
        near=at_least(near_ratio * declared.max_finite),
        ceiling=ceiling,
        has_largest=value(ceiling) == declared.max_finite,
    )


@lru_cache(maxsize=8)
def _value_of(name: str) -> Callable[[int], float]:
    if name == "bfloat16":
        single = _value_of("float32")
        return lambda pattern: single(pattern << 16)
    whole, real = (struct.Struct(code) for code in _CODES[name])
    return lambda pattern: float(real.unpack(whole.pack(pattern))[0])
