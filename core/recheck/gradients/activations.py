"""Gradients of activations, softmax and gated units."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..number import Number, joined, where
from ..references.activations import erf, halves, sigmoid_of, tanh_of
from ..registry import gradient
from .common import Gradients, in_own


@gradient("relu")
def relu(g: Number, input: Number) -> Gradients:
    return {"input": where(input.value > 0, g, g.exactly(np.zeros(())))}


@gradient("sigmoid")
def sigmoid(g: Number, input: Number, *, result: Number) -> Gradients:
    return {"input": g * ((1.0 - result) * result)}


@gradient("tanh")
def tanh(g: Number, input: Number, *, result: Number) -> Gradients:
    return {"input": g * (1.0 - result * result)}


def slope_of_silu(x: Number) -> Number:
    """s + x s (1 - s), where s is the sigmoid."""
    s = sigmoid_of(x)
    return s * (x * (1.0 - s) + 1.0)


@gradient("silu", "npu_silu", "swish")
def silu(g: Number, input: Number) -> Gradients:
    return {"input": g * slope_of_silu(input)}


@gradient("gelu", "npu_gelu")
def gelu(g: Number, input: Number, approximate: str = "none") -> Gradients:
    x = input
    if approximate == "tanh":
        k = math.sqrt(2 / math.pi)
        t = tanh_of((x + (x * x * x) * 0.044715) * k)
        slope = (x * x * (3 * 0.044715) + 1.0) * k
        return {"input": g * ((t + 1.0) * 0.5 + x * 0.5 * (1.0 - t * t) * slope)}
    if approximate != "none":
        raise NotImplementedError(f"gelu approximated as {approximate}")
    below = (erf(x * math.sqrt(0.5)) + 1.0) * 0.5
    density = (x * x * -0.5).function("exp", np.exp) * (1 / math.sqrt(2 * math.pi))
    return {"input": g * (below + x * density)}


@gradient("npu_swiglu", "swiglu")
def npu_swiglu(g: Number, input: Number, dim: int = -1) -> Gradients:
    """Of silu(first half) * second half: both halves side by side."""
    gate, up = halves(input, dim)
    parts = (g * up * slope_of_silu(gate), g * (gate * sigmoid_of(gate)))
    return {"input": joined(parts, lambda arrays: np.concatenate(arrays, axis=dim))}


@gradient("softmax", "_softmax", accumulates=True)
def softmax(
    g: Number,
    input: Number,
    dim: Any = -1,
    _stacklevel: int = 3,
    dtype: Any = None,
    half_to_float: bool = False,
    *,
    result: Number,
) -> Gradients:
    """Of its output, which is what the operator keeps: y (g - sum(g y))."""
    total = in_own(g * result, g).sum(-1 if dim is None else dim, keepdims=True)
    return {"input": result * in_own(g - in_own(total, g), g)}
