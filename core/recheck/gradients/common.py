"""What gradients of several operators share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from npulse.core.formats.tensors import dtype_of

from ..number import Number, in_dtype, perhaps_in

Gradients = dict[str, Number]
"""Name of a parameter -> the gradient of it."""


def in_own(x: Number, like: Number) -> Number:
    """A step inside that implementations keep in the dtype of `like`, or do not.

    A plain one keeps it in float16, where it may overflow.
    """
    if x.inside.is_plain and like.dtype == "float16":
        return in_dtype(x, dtype_of(like.dtype))
    return perhaps_in(x, dtype_of(like.dtype))


def summed_to(x: Number, like: Number, kept: Number) -> Number:
    """A gradient of what was broadcast: added up over the axes that came about by it.

    kept: whose dtype the terms may have been rounded to before.
    """
    shape = like.shape
    lead = x.ndim - len(shape)
    axes = (*range(lead), *(lead + i for i, n in enumerate(shape) if n == 1 and x.shape[lead + i] != 1))
    return in_own(x, kept).sum(axes).reshape(*shape) if axes else x


def either(a: Number, b: Number) -> Number:
    """The same by two formulas: an implementation may be as far off as the less exact of them."""
    if a.inside.is_plain:
        return a
    with np.errstate(invalid="ignore"):
        apart = np.nan_to_num(abs(a.value - b.value))
    return replace(a, error=np.maximum(a.error, b.error + apart))
