"""Activations, softmax and gated units."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from npulse.core.formats.tensors import Dtype, dtype_of

from ..number import Array, Number, in_dtype, perhaps_in, where
from ..registry import Variant, reference

ERF_NEAR_ZERO = 2.0**-21
_erf = np.frompyfunc(math.erf, 1, 1)


def erf_values(x: Array) -> Array:
    """The error function of each element; numpy has none."""
    return np.asarray(_erf(x)).astype(np.asarray(x).dtype)


def sigmoid_values(x: Array) -> Array:
    """Without overflow at either end."""
    small = np.exp(-abs(x))
    made: Array = np.where(x >= 0, 1.0 / (1.0 + small), small / (1.0 + small))
    return made


def sigmoid_of(x: Number) -> Number:
    """As a step of an operator."""
    return x.function("sigmoid", sigmoid_values)


def tanh_of(x: Number) -> Number:
    """As a step of an operator."""
    return x.function("tanh", np.tanh)


@reference("sigmoid", classes=("Sigmoid",))
def sigmoid(input: Number) -> Number:
    return sigmoid_of(input)


@reference("tanh", classes=("Tanh",))
def tanh(input: Number) -> Number:
    return tanh_of(input)


@reference("erf")
def erf(input: Number) -> Number:
    """Near 0 implementations are exact to float32's roundoff of 1, not of the result."""
    made = input.function("erf", erf_values)
    return made if input.inside.is_plain else replace(made, error=made.error + ERF_NEAR_ZERO)


@reference("relu", classes=("ReLU",))
def relu(input: Number) -> Number:
    return input.clamp(0)


@reference("leaky_relu")
def leaky_relu(input: Number, negative_slope: float = 0.01) -> Number:
    return where(input.value > 0, input, input * negative_slope)


@reference("softplus")
def softplus(input: Number, beta: float = 1, threshold: float = 20) -> Number:
    """Linear beyond the threshold."""
    scaled = input * beta
    soft = scaled.function("log1p", lambda a: np.logaddexp(0.0, a)) / beta
    return where(scaled.value > threshold, input, soft)


def _approximations(arguments: dict[str, Any]) -> Iterator[Variant]:
    for other in ("none", "tanh"):
        if other != arguments.get("approximate", "none"):
            yield Variant((f"approximate={other!r}",) * 2, {"approximate": other})
    yield Variant(
        ("approximated as x * sigmoid(1.702 x)", "近似为 x * sigmoid(1.702 x)"),
        {"approximate": "sigmoid"},
    )


@reference("gelu", "npu_gelu", "fast_gelu", classes=("GELU",), variants=_approximations)
def gelu(input: Number, approximate: str = "none") -> Number:
    x = input
    if approximate == "sigmoid":
        return x * sigmoid_of(x * 1.702)
    if approximate == "tanh":
        inner = (x + (x * x * x) * 0.044715) * math.sqrt(2 / math.pi)
        return x * 0.5 * (tanh_of(inner) + 1.0)
    return x * 0.5 * ((x * math.sqrt(0.5)).function("erf", erf_values) + 1.0)


@reference("npu_fast_gelu", classes=("QuickGELU", "QuickGELUActivation"))
def npu_fast_gelu(self: Number) -> Number:
    return self * sigmoid_of(self * 1.702)


def _relu_instead(arguments: dict[str, Any]) -> Iterator[Variant]:
    yield Variant(("a sigmoid, without the factor x", "只有 sigmoid，没有乘以 x"), {}, sigmoid)
    yield Variant(("gelu", "gelu"), {}, lambda input: gelu(input))
    yield Variant(("relu", "relu"), {}, relu)


@reference("silu", "npu_silu", "swish", classes=("SiLU", "SiLUActivation"), variants=_relu_instead)
def silu(input: Number) -> Number:
    return input * sigmoid_of(input)


def halves(x: Number, dim: int) -> tuple[Number, Number]:
    """Both halves of an axis."""
    first, second = np.arange(x.shape[dim]).reshape(2, -1)
    return x.view(lambda a: a.take(first, dim)), x.view(lambda a: a.take(second, dim))


def _swiglu_variants(arguments: dict[str, Any]) -> Iterator[Variant]:
    yield Variant(
        ("gate and up exchanged: silu of the second half", "gate 与 up 互换：对后一半做 silu"),
        {"is_swapped": True},
    )
    yield Variant(
        ("gate and up interleaved element by element", "gate 与 up 按元素交错"), {"is_interleaved": True}
    )
    x = arguments["input"]
    for dim in range(x.ndim):
        if dim != arguments.get("dim", -1) % x.ndim and x.shape[dim] % 2 == 0:
            yield Variant((f"dim={dim}",) * 2, {"dim": dim})
    yield Variant(("gelu in place of silu", "用 gelu 代替 silu"), {"is_gelu": True})


@reference("npu_swiglu", "swiglu", variants=_swiglu_variants)
def npu_swiglu(
    input: Number,
    dim: int = -1,
    is_swapped: bool = False,
    is_interleaved: bool = False,
    is_gelu: bool = False,
) -> Number:
    """silu(first half) * second half."""
    gate, up = halves(input, dim)
    if is_interleaved:
        even, odd = np.arange(input.shape[dim]).reshape(-1, 2).T
        gate, up = input.view(lambda a: a.take(even, dim)), input.view(lambda a: a.take(odd, dim))
    if is_swapped:
        gate, up = up, gate
    return (gelu(gate) if is_gelu else silu(gate)) * up


@reference(classes=("SiluAndMul", "SwiGLU"), variants=_swiglu_variants)
def silu_and_mul(
    input: Number,
    dim: int = -1,
    is_swapped: bool = False,
    is_interleaved: bool = False,
    is_gelu: bool = False,
) -> Number:
    """Of a module: silu may be an operator of its own, and rounded."""
    made = npu_swiglu(input, dim, is_swapped, is_interleaved, is_gelu)
    dtype = dtype_of(input.dtype)
    return made if dtype is None else made.loosened(dtype.unit_roundoff)


def _other_axes(arguments: dict[str, Any]) -> Iterator[Variant]:
    x = arguments["input"]
    given = arguments.get("dim", -1)
    for dim in range(x.ndim):
        if given is None or dim != given % x.ndim:
            yield Variant((f"dim={dim}",) * 2, {"dim": dim})
    yield Variant(
        ("without the maximum subtracted, so that exp overflows", "没有减去最大值，exp 溢出"),
        {},
        _naive_softmax,
        is_call=False,
    )


def _naive_softmax(input: Number, dim: Any = -1, **rest: Any) -> Number:
    largest = {"float16": 65504.0}.get(input.dtype, 3.4e38)
    e = np.exp(input.value)
    e = np.where(e > largest, np.inf, e)
    with np.errstate(invalid="ignore"):
        return input.exactly(e / e.sum(axis=dim, keepdims=True)).smooth("exp", lambda a: a)


def _softmax_of_module(arguments: dict[str, Any]) -> Iterator[Variant]:
    for variant in _other_axes(arguments):
        yield Variant(variant.words, variant.changes, is_call=False, is_free=True)


@reference("softmax", "_softmax", variants=_other_axes, accumulates=True)
def softmax(
    input: Number, dim: Any = -1, _stacklevel: int = 3, dtype: Any = None, half_to_float: bool = False
) -> Number:
    """x - max and the exponentials may be kept in the dtype, as torch does along all axes but the last."""
    x = cast_first(input, dtype)
    axis = -1 if dim is None else dim
    own = dtype_of(x.dtype)
    e = exponentials(x, axis, own)
    return e / perhaps_in(e.sum(axis, keepdims=True), own)


reference(classes=("Softmax",), variants=_softmax_of_module, accumulates=True)(
    lambda input, dim=-1: softmax(input, dim)
)


def cast_first(x: Number, dtype: Any) -> Number:
    """What `dtype=` of sums and softmax means: the input in that dtype, before anything is computed. Some
    implementations (torch's mean) round the result alone: the rounding is allowed, not demanded."""
    known = dtype_of(str(dtype).rpartition(".")[2]) if dtype is not None else None
    own = dtype_of(x.dtype)
    if known is None or own is None or known.kind != "float" or known.mantissa_bits >= 23:
        return x
    return x if own.name == known.name else replace(in_dtype(x, known), dtype=known.name)


def exponentials(x: Number, dim: Any, kept: Dtype | None = None) -> Number:
    """exp(x - max): which maximum makes no difference to what is made of it, so it counts as exact.

    kept: the dtype that both steps may be kept in.
    """
    top = x.exactly(np.max(x.value, axis=dim, keepdims=True))
    return perhaps_in(perhaps_in(x - top, kept).function("exp", np.exp), kept)


@reference("log_softmax", variants=_other_axes, accumulates=True)
def log_softmax(
    input: Number, dim: Any = -1, _stacklevel: int = 3, dtype: Any = None, half_to_float: bool = False
) -> Number:
    """Implementations may keep x - max or max + the logarithm in the dtype, as torch on the CPU does."""
    input = cast_first(input, dtype)
    axis = -1 if dim is None else dim
    top = input.exactly(np.max(input.value, axis=axis, keepdims=True))
    shifted = input - top
    own = dtype_of(input.dtype)
    e = perhaps_in(shifted.function("exp", np.exp), own)
    total = e.sum(axis, keepdims=True).function("log", np.log)
    top, total = (perhaps_in(part, own) for part in (top, total))
    shifted = perhaps_in(input - top, own)
    return shifted - total


def _scaled_variants(arguments: dict[str, Any]) -> Iterator[Variant]:
    for name, value in (("scale", 1.0), ("mask", None)):
        if arguments.get(name) is not None and arguments.get(name) != value:
            words = (f"without {name}", f"没有 {name}")
            yield Variant(words, {name: value})


@reference("npu_scaled_masked_softmax", variants=_scaled_variants, accumulates=True)
def npu_scaled_masked_softmax(
    x: Number, mask: Number | None = None, scale: float = 1.0, fixed_triu_mask: bool = False
) -> Number:
    """Where the mask is True, -10000 stands in place of the score."""
    scores = x * scale
    masked: npt.NDArray[np.bool_] | None = None if mask is None else mask.value != 0
    if fixed_triu_mask:
        masked = np.triu(np.ones(x.shape[-2:], bool), 1)
    if masked is not None:
        scores = where(masked, scores.exactly(np.asarray(-10000.0)), scores)
    return softmax(scores, -1)
