"""Which elements of a block are abnormal, as masks: by the integers that their bits are, or by a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from npulse.core.formats.tensors import Dtype, widen

from .bits import BitLimits

Mask = npt.NDArray[np.bool_]


class Masks(NamedTuple):
    """Of a flat block. minus_inf: where it is -inf; lowest: where it is the negative of the largest number.

    Each is None where there is no such element, or it was not asked for.
    """

    hit: Mask
    minus_inf: Mask | None
    lowest: Mask | None


MasksOf = Callable[[npt.NDArray[Any]], Masks | None]
"""Masks of a flat block in its carrier; None if it holds no element of the kinds that were asked for."""


def masks_by_bits(limits: BitLimits, kinds: frozenset[str]) -> MasksOf:
    """For float16, bfloat16, float32 and float64."""
    number = limits.unsigned.type
    infinity, ceiling = limits.infinity, limits.ceiling
    wants_saturated = "saturated" in kinds and limits.has_largest
    lower_ends = [2 * ceiling] if wants_saturated else []
    lower_ends += [2 * infinity] if {"+inf", "-inf"} & kinds else []
    lower_ends += [2 * infinity + 1] if "nan" in kinds else []
    if not lower_ends:
        return lambda block: None
    lower_end = min(lower_ends)

    def masks_of(block: npt.NDArray[Any]) -> Masks | None:
        bits = block.view(limits.unsigned)
        doubled = bits + bits  # the sign bit falls out
        if int(np.maximum.reduce(doubled)) < lower_end:
            return None
        hit = doubled > number(2 * infinity) if "nan" in kinds else np.zeros(bits.size, np.bool_)
        minus_inf = lowest = None
        if "+inf" in kinds:
            hit |= bits == number(infinity)
        if "-inf" in kinds:
            minus_inf = bits == number(limits.sign + infinity)
            hit |= minus_inf
        if wants_saturated:
            lowest = bits == number(limits.sign + ceiling)
            hit |= doubled == number(2 * ceiling)
        return Masks(hit, minus_inf, lowest)

    return masks_of


def masks_by_table(dtype: Dtype, declared: Dtype, kinds: frozenset[str]) -> MasksOf:
    """For int8 and the float8 formats. declared: the format whose largest number counts."""
    patterns = np.arange(256, dtype=np.uint8)
    values = widen(patterns.view(dtype.carrier), dtype).astype(np.float64)
    hit = np.isnan(values) if "nan" in kinds else np.zeros(256, np.bool_)
    if "+inf" in kinds:
        hit |= values == np.inf
    minus_inf = (values == -np.inf) & ("-inf" in kinds)
    is_lowest = np.zeros(256, np.bool_)
    if "saturated" in kinds:
        if dtype.kind == "int":
            hit |= (values == 127) | (values <= -127)
        else:
            hit |= values == declared.max_finite
            is_lowest = values == -declared.max_finite
    hit |= minus_inf | is_lowest

    def masks_of(block: npt.NDArray[Any]) -> Masks | None:
        patterns = block.view(np.uint8)
        found = np.take(hit, patterns)
        if not found.any():
            return None
        return Masks(
            found,
            np.take(minus_inf, patterns) if minus_inf.any() else None,
            np.take(is_lowest, patterns) if is_lowest.any() else None,
        )

    return masks_of
