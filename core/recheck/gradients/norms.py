"""Gradients of norms over the last axes."""

from __future__ import annotations

from typing import Any

from npulse.core.formats.tensors import dtype_of

from ..number import Number
from ..references.norms import axes_of, rsqrt
from ..registry import gradient
from .common import Gradients, either, in_own


def _rows(x: Number, like: Number) -> Number:
    """Added up over the axes in front of the normed ones."""
    return x.sum(tuple(range(x.ndim - like.ndim)))


@gradient("layer_norm", "native_layer_norm", accumulates=True)
def layer_norm(
    g: Number,
    input: Number,
    normalized_shape: Any,
    weight: Number | None = None,
    bias: Number | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Gradients:
    """Implementations keep mean and 1 / deviation, some in the input's dtype, and subtract the mean first or
    multiply it out: both are as exact only where the mean is not much larger than the deviation."""
    axes, x = axes_of(normalized_shape), input
    mean = in_own(x.mean(axes, keepdims=True), x)
    centred = x - mean
    rstd = in_own(rsqrt((centred * centred).mean(axes, keepdims=True) + eps), x)
    gw = g if weight is None else g * weight
    normed = either(centred * rstd, x * rstd - mean * rstd)
    projected = gw - gw.mean(axes, keepdims=True) - normed * (gw * normed).mean(axes, keepdims=True)
    found = {"input": either(projected * rstd, _multiplied_out(gw, x, mean, rstd, axes))}
    if weight is not None:
        found["weight"] = _rows(g * normed, weight)
    if bias is not None:
        found["bias"] = _rows(g, bias)
    return found


def _multiplied_out(gw: Number, x: Number, mean: Number, rstd: Number, axes: tuple[int, ...]) -> Number:
    """rstd gw + b x + c, as torch has it on the CPU."""
    n = 1.0
    for axis in axes:
        n *= x.shape[axis]
    of_x, plain = (gw * x).sum(axes, keepdims=True), gw.sum(axes, keepdims=True)
    b = (plain * mean - of_x) * (rstd * rstd * rstd) * (1.0 / n)
    c = -(b * mean) - plain * rstd * (1.0 / n)
    return gw * rstd + b * x + c


def _normed(g: Number, x: Number, gamma: Number | None, eps: float, n_axes: int) -> tuple[Number, Number]:
    """The gradient of the input, and x / rms(x)."""
    axes = tuple(range(-n_axes, 0))
    rstd = rsqrt((x * x).mean(axes, keepdims=True) + eps)
    gw = g if gamma is None else g * gamma
    normed = x * rstd
    return (gw - normed * (gw * normed).mean(axes, keepdims=True)) * rstd, normed


@gradient("npu_rms_norm", accumulates=True)
def npu_rms_norm(g: Number, input: Number, gamma: Number, epsilon: float = 1e-6) -> Gradients:
    of_input, normed = _normed(g, input, gamma, epsilon, gamma.ndim)
    return {"input": of_input, "gamma": _rows(g * normed, gamma)}


@gradient("rms_norm", "fused_rms_norm", accumulates=True)
def rms_norm(
    g: Number,
    input: Number,
    normalized_shape: Any = None,
    weight: Number | None = None,
    eps: float | None = None,
) -> Gradients:
    """Where it is built of single operators the last one multiplies by the weight, or casts."""
    dtype = dtype_of(input.dtype)
    default = 2.0**-dtype.mantissa_bits if dtype is not None else 1e-6
    n_axes = weight.ndim if weight is not None else len(axes_of(normalized_shape))
    of_input, normed = _normed(g, input, weight, default if eps is None else eps, n_axes)
    if weight is None:
        return {"input": of_input, "the output": g}
    of_weight = _rows(in_own(g * in_own(normed, input), g), weight)
    return {"input": of_input, "weight": of_weight, "the normed input": g * weight, "the output": g}
