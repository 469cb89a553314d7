"""Gradients of products of matrices."""

from __future__ import annotations

import numpy as np

from ..number import Number
from ..registry import gradient
from .common import Gradients, summed_to


def _rows(x: Number) -> Number:
    return x.reshape(-1, x.shape[-1])


@gradient("linear", accumulates=True)
def linear(g: Number, input: Number, weight: Number, bias: Number | None = None) -> Gradients:
    """torch multiplies a matrix by the weight turned around; with more axes it reshapes the product."""
    if weight.ndim != 2:
        raise NotImplementedError("a weight of one axis")
    flat = _rows(g)
    of_weight = flat.mT @ _rows(input)
    found = {
        "input": (flat @ weight).reshape(*input.shape),
        "weight": of_weight,
        "the weight turned around": of_weight.mT,
    }
    if bias is not None:
        found["bias"] = flat.sum(0)
    return found if g.ndim < 3 else found | {"the product": flat}  # the last node only reshapes it


@gradient("matmul", "bmm", "mm", accumulates=True)
def matmul(g: Number, input: Number, other: Number | None = None, mat2: Number | None = None) -> Gradients:
    second = other if other is not None else mat2
    if second is None:
        raise TypeError("one operand")
    a = input.reshape(1, -1) if input.ndim == 1 else input
    b = second.reshape(-1, 1) if second.ndim == 1 else second
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    whole = g.reshape(*lead, a.shape[-2], b.shape[-1])
    of_a, of_b = whole @ b.mT, a.mT @ whole
    found = {
        "input": summed_to(of_a, a, g).reshape(*input.shape),
        "mat2" if other is None else "other": summed_to(of_b, b, g).reshape(*second.shape),
    }
    if whole.ndim > 2:  # the last node of the call only reshapes the product
        is_flat = b.ndim == 2
        found["the product"] = _rows(whole) if is_flat else whole.reshape(-1, *whole.shape[-2:])
    return found


@gradient("addmm", "baddbmm", accumulates=True)
def addmm(
    g: Number, input: Number, mat1: Number, mat2: Number, beta: float = 1, alpha: float = 1
) -> Gradients:
    scaled = g if alpha == 1 else g * alpha
    return {
        "input": summed_to(g if beta == 1 else g * beta, input, g),
        "mat1": scaled @ mat2.mT,
        "mat2": mat1.mT @ scaled,
    }
