"""Norms over the last axes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from npulse.core.formats.tensors import dtype_of

from ..number import Number, in_dtype
from ..registry import Variant, reference

EPSILONS = (1e-5, 1e-6, 1e-8, 1e-12, 1e-3, 0.0)
"""What models and libraries use."""


def rsqrt(x: Number) -> Number:
    return x.function("rsqrt", lambda a: 1.0 / np.sqrt(a))


def _epsilons(
    arguments: dict[str, Any], name: str, default: float, is_free: bool = False
) -> Iterator[Variant]:
    given = arguments.get(name, default)
    for other in EPSILONS:
        if other != given:
            yield Variant((f"{name}={other:g}",) * 2, {name: other}, is_call=not is_free, is_free=is_free)


def _weights(arguments: dict[str, Any], *names: str, is_free: bool = False) -> Iterator[Variant]:
    """is_free: a module may be one that multiplies by 1 + weight, as Gemma's do."""
    for name in names:
        weight = arguments.get(name)
        if weight is not None:
            yield Variant((f"without {name}", f"没有用 {name}"), {name: None})
            if name != "bias":
                words = (f"multiplied by 1 + {name}", f"乘以 1 + {name}")
                yield Variant(words, {name: weight + 1.0}, is_free=is_free)


_ONE_PASS = (
    "the variance as E[x^2] - E[x]^2, which cancels",
    "方差按 E[x^2] - E[x]^2 计算，存在相消",
)


def _layer_norm_variants(arguments: dict[str, Any], is_free: bool = False) -> Iterator[Variant]:
    yield from _epsilons(arguments, "eps", 1e-5, is_free)
    yield from _weights(arguments, "weight", "bias", is_free=is_free)
    yield Variant(_ONE_PASS, {}, _layer_norm_one_pass, is_call=False)
    yield Variant(("the variance divided by n - 1", "方差除以 n - 1"), {"ddof": 1}, is_call=False)
    yield Variant(
        ("an RMS norm: the mean was not subtracted", "RMS norm：没有减去均值"), {"is_centred": False}
    )


@reference("layer_norm", "native_layer_norm", variants=_layer_norm_variants, accumulates=True)
def layer_norm(
    input: Number,
    normalized_shape: Any,
    weight: Number | None = None,
    bias: Number | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
    ddof: int = 0,
    is_centred: bool = True,
) -> tuple[Number, ...]:
    """Also the mean and 1 / deviation that the native operator returns."""
    axes = axes_of(normalized_shape)
    mean = input.mean(axes, keepdims=True)
    centred = input - mean if is_centred else input
    n = float(np.prod(input.shape[-len(axes) :]))
    variance = (centred * centred).sum(axes, keepdims=True) / (n - ddof)
    return _finished(centred, mean, variance, weight, bias, eps)


def _layer_norm_one_pass(
    input: Number, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> tuple[Number, ...]:
    axes = axes_of(normalized_shape)
    mean = input.mean(axes, keepdims=True)
    variance = (input * input).mean(axes, keepdims=True) - mean * mean
    return _finished(input - mean, mean, variance, weight, bias, eps)


def _finished(
    centred: Number, mean: Number, variance: Number, weight: Any, bias: Any, eps: float
) -> tuple[Number, ...]:
    rstd = rsqrt(variance + eps)
    made = centred * rstd
    made = made if weight is None else made * weight
    made = made if bias is None else made + bias
    return made, mean, rstd


def axes_of(normalized_shape: Any) -> tuple[int, ...]:
    """The last axes, as many as the shape has."""
    n = len(normalized_shape) if isinstance(normalized_shape, list) else 1
    return tuple(range(-n, 0))


def _module_layer_norm(arguments: dict[str, Any]) -> Iterator[Variant]:
    """What the constructor was given is not in the dump."""
    yield from _layer_norm_variants(arguments, is_free=True)


@reference(classes=("LayerNorm",), variants=_module_layer_norm, accumulates=True)
def layer_norm_module(
    input: Number,
    weight: Number | None = None,
    bias: Number | None = None,
    eps: float = 1e-5,
    ddof: int = 0,
    is_centred: bool = True,
) -> Number:
    axes = weight.ndim if weight is not None else 1
    return layer_norm(input, [0] * axes, weight, bias, eps, True, ddof, is_centred)[0]


def _rms_norm_variants(arguments: dict[str, Any]) -> Iterator[Variant]:
    if "normalized_shape" in arguments and arguments.get("eps") is None:
        # newer releases of torch take that of the dtype which it is computed in
        yield Variant(("eps=1.19e-07",) * 2, {"eps": 2.0**-23}, is_free=True)
    yield from _epsilons(arguments, "epsilon" if "gamma" in arguments else "eps", 1e-6)
    yield from _weights(arguments, "gamma", "weight")
    yield Variant(("a layer norm: the mean was subtracted", "layer norm：减去了均值"), {"is_centred": True})


def normed(
    x: Number, gamma: Number | None, eps: float, is_centred: bool = False, n_axes: int = 1
) -> tuple[Number, Number]:
    """x / rms(x) * gamma over the axes of gamma (without it the last `n_axes`), and 1 / rms(x)."""
    axes = tuple(range(-(gamma.ndim if gamma is not None else n_axes), 0))
    x = x - x.mean(axes, keepdims=True) if is_centred else x
    rstd = rsqrt((x * x).mean(axes, keepdims=True) + eps)
    made = x * rstd
    return (made if gamma is None else made * gamma), rstd


@reference("npu_rms_norm", variants=_rms_norm_variants, accumulates=True)
def npu_rms_norm(
    input: Number, gamma: Number, epsilon: float = 1e-6, is_centred: bool = False
) -> tuple[Number, Number]:
    return normed(input, gamma, epsilon, is_centred)


@reference("rms_norm", "fused_rms_norm", variants=_rms_norm_variants, accumulates=True)
def rms_norm(
    input: Number,
    normalized_shape: Any = None,
    weight: Number | None = None,
    eps: float | None = None,
    is_centred: bool = False,
) -> Number:
    """Without eps: the spacing of 1 in the input's dtype, as torch has it."""
    dtype = dtype_of(input.dtype)
    default = 2.0**-dtype.mantissa_bits if dtype is not None else 1e-6
    return normed(input, weight, default if eps is None else eps, is_centred)[0]


def _module_rms_norm(arguments: dict[str, Any]) -> Iterator[Variant]:
    yield from _epsilons(arguments, "eps", 1e-6, is_free=True)
    yield from _weights(arguments, "weight", is_free=True)
    yield Variant(("a layer norm: the mean was subtracted", "layer norm：减去了均值"), {"is_centred": True})


@reference(classes=("RMSNorm",), variants=_module_rms_norm, accumulates=True)
def rms_norm_module(
    hidden_states: Number, weight: Number | None = None, eps: float = 1e-6, is_centred: bool = False
) -> Number:
    """Models multiply by the weight what they have rounded to the dtype already: that is allowed."""
    x = hidden_states
    made, _ = normed(x, None, eps, is_centred, n_axes=1 if weight is None else weight.ndim)
    made = in_dtype(made, dtype_of(x.dtype))
    return made if weight is None else made * weight


@reference("npu_add_rms_norm", variants=_rms_norm_variants, accumulates=True)
def npu_add_rms_norm(
    x1: Number, x2: Number, gamma: Number, epsilon: float = 1e-6, is_centred: bool = False
) -> tuple[Number, Number, Number]:
    """The normed sum, 1 / rms, and the sum."""
    total = x1 + x2
    made, rstd = normed(total, gamma, epsilon, is_centred)
    return made, rstd, total
