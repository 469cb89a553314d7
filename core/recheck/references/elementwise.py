"""Arithmetic element by element, with broadcasting."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from npulse.core.formats.tensors import dtype_of

from ..number import Number, perhaps_in, where
from ..registry import Variant, reference
from ..rounding import round_to


def as_number(value: Any, like: Number) -> Number:
    """A plain number may be rounded to the tensor's dtype first, as torch does on the CPU."""
    if isinstance(value, Number):
        return value
    made, dtype = like.lift(value), dtype_of(like.dtype)
    if dtype is None or dtype.kind != "float" or dtype.mantissa_bits >= 23 or like.inside.is_plain:
        return made
    off = abs(float(round_to(float(value), dtype)) - float(value))
    return replace(made, error=np.maximum(made.error, off if np.isfinite(off) else 0.0)) if off else made


def _pair(input: Any, other: Any) -> tuple[Number, Number]:
    """Both operands; one of them may be a plain number."""
    if isinstance(input, Number):
        return input, as_number(other, input)
    if isinstance(other, Number):
        return other.lift(input), other
    raise TypeError("no tensor among the operands")


def _add_variants(arguments: dict[str, Any]) -> Iterator[Variant]:
    alpha = arguments.get("alpha", 1)
    if alpha != 1:
        yield Variant(("alpha=1", "alpha=1"), {"alpha": 1})
    yield Variant(("the other operand was subtracted", "另一个操作数被减去"), {"alpha": -alpha})
    yield Variant(("the first operand alone", "只有第一个操作数"), {"alpha": 0})


@reference("add", variants=_add_variants)
def add(input: Any, other: Any, alpha: Any = 1) -> Number:
    a, b = _pair(input, other)
    if alpha == 0:
        return a.view(lambda x: np.broadcast_to(x, np.broadcast_shapes(x.shape, b.shape)))
    return a - b if alpha == -1 else a + (b if alpha == 1 else b * as_number(alpha, b))


def _exchanged(arguments: dict[str, Any]) -> Iterator[Variant]:
    a, b = arguments["input"], arguments["other"]
    yield Variant(("the operands exchanged", "两个操作数互换"), {"input": b, "other": a})


@reference("sub", variants=_exchanged)
def sub(input: Any, other: Any, alpha: Any = 1) -> Number:
    a, b = _pair(input, other)
    return a - (b if alpha == 1 else b * as_number(alpha, b))


@reference("rsub", variants=_exchanged)
def rsub(input: Any, other: Any, alpha: Any = 1) -> Number:
    return sub(other, input if alpha == 1 else input * alpha)


def _mul_variants(arguments: dict[str, Any]) -> Iterator[Variant]:
    other = arguments["other"]
    if not isinstance(other, Number):
        yield Variant((f"divided by {other!r}", f"除以 {other!r}"), {"other": 1.0 / other if other else 0.0})
        yield Variant(("not scaled", "未缩放"), {"other": 1})


@reference("mul", variants=_mul_variants)
def mul(input: Any, other: Any) -> Number:
    a, b = _pair(input, other)
    return a * b


def _div_variants(arguments: dict[str, Any]) -> Iterator[Variant]:
    yield from _exchanged(arguments)
    for mode in (None, "floor", "trunc"):
        if mode != arguments.get("rounding_mode"):
            yield Variant((f"rounding_mode={mode!r}",) * 2, {"rounding_mode": mode})


@reference("div", "divide", "true_divide", variants=_div_variants)
def div(input: Any, other: Any, rounding_mode: str | None = None) -> Number:
    a, b = _pair(input, other)
    made = a / b
    return made if rounding_mode is None else whole(made, np.floor if rounding_mode == "floor" else np.trunc)


def whole(x: Number, to: Any) -> Number:
    """A whole number near x: one off where the bounds of x reach the next one."""
    value = to(x.value)
    off = np.maximum(abs(to(x.value + x.error) - value), abs(value - to(x.value - x.error)))
    return Number(value, x.inside, np.where(np.isfinite(value), off, 0.0))


@reference("addcmul")
def addcmul(input: Number, tensor1: Number, tensor2: Number, value: Any = 1) -> Number:
    product = tensor1 * tensor2
    return input + (product if value == 1 else product * as_number(value, input))


@reference("addcdiv")
def addcdiv(input: Number, tensor1: Number, tensor2: Number, value: Any = 1) -> Number:
    quotient = tensor1 / tensor2
    return input + (quotient if value == 1 else quotient * as_number(value, input))


def _lerp(a: Number, b: Number, weight: Any) -> Number:
    return a + (b - a) * as_number(weight, a)


reference("lerp")(lambda input, end, weight: _lerp(input, end, weight))


def _pow_variants(arguments: dict[str, Any]) -> Iterator[Variant]:
    exponent = arguments["exponent"]
    if not isinstance(exponent, Number):
        for other in {2, 3, 0.5, -1} - {exponent}:
            yield Variant((f"exponent={other}",) * 2, {"exponent": other})


@reference("pow", variants=_pow_variants)
def power(input: Any, exponent: Any) -> Number:
    """Bounds by the change over the operand's own: the exponent is exact, or a tensor as dumped."""
    base, e = _pair(input, exponent)
    value = np.power(base.value, e.value)
    is_integer = base.is_integer and e.is_integer and bool(np.all(e.value >= 0))
    error: Any = 0.0
    if not isinstance(base.error, float) or base.error:
        high, low = np.power(base.value + base.error, e.value), np.power(base.value - base.error, e.value)
        error = np.fmax(abs(high - value), abs(value - low))
    made = base.of_function("pow", value, error, is_integer)
    return made if is_integer else perhaps_in(made, dtype_of(base.dtype))  # x * x * x rounds in between


_MONOTONE = {
    "sqrt": np.sqrt,
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "reciprocal": lambda a: 1.0 / a,
}


def _of_function(name: str, f: Any) -> Any:
    return lambda input: input.function(name, f)


for _name, _f in _MONOTONE.items():
    reference(_name)(_of_function(_name, _f))


@reference("rsqrt")
def rsqrt(input: Number) -> Number:
    """The root may be rounded before it divides."""
    return perhaps_in(input.function("rsqrt", lambda a: 1.0 / np.sqrt(a)), dtype_of(input.dtype))


@reference("log2")
def log2(input: Number) -> Number:
    return input.function("log", np.log2)


@reference("log10")
def log10(input: Number) -> Number:
    return input.function("log", np.log10)


@reference("exp2")
def exp2(input: Number) -> Number:
    return input.function("exp", np.exp2)


@reference("sin")
def sin(input: Number) -> Number:
    return input.smooth("sin", np.sin)


@reference("cos")
def cos(input: Number) -> Number:
    return input.smooth("cos", np.cos)


@reference("abs", "absolute")
def absolute(input: Number) -> Number:
    return input.abs()


@reference("neg", "negative")
def neg(input: Number) -> Number:
    return -input


@reference("square")
def square(input: Number) -> Number:
    return input * input


@reference("sign", "sgn")
def sign(input: Number) -> Number:
    return input.exactly(np.sign(input.value))


@reference("floor")
def floor(input: Number) -> Number:
    return whole(input, np.floor)


@reference("ceil")
def ceil(input: Number) -> Number:
    return whole(input, np.ceil)


@reference("trunc")
def trunc(input: Number) -> Number:
    return whole(input, np.trunc)


@reference("round")
def round_(input: Number, decimals: int = 0) -> Number:
    if decimals:
        raise NotImplementedError("round with decimals")
    return whole(input, np.rint)


def _clamp_variants(arguments: dict[str, Any]) -> Iterator[Variant]:
    for name in ("min", "max"):
        if arguments.get(name) is not None:
            yield Variant((f"{name}=None",) * 2, {name: None})
    if arguments.get("min") is not None and arguments.get("max") is not None:
        yield Variant(
            ("min and max exchanged", "min 与 max 互换"),
            {"min": arguments["max"], "max": arguments["min"]},
        )


@reference("clamp", "clip", variants=_clamp_variants)
def clamp(input: Number, min: Any = None, max: Any = None) -> Number:
    return input.clamp(min, max)


@reference("clamp_min")
def clamp_min(input: Number, min: Any) -> Number:
    return input.clamp(min)


@reference("clamp_max")
def clamp_max(input: Number, max: Any) -> Number:
    return input.clamp(None, max)


for _name, _pick in (
    *(("maximum", np.maximum), ("minimum", np.minimum), ("fmax", np.fmax), ("fmin", np.fmin)),
):
    reference(_name)(lambda input, other, pick=_pick: input.greater_of(other, pick))


@reference("where")
def where_(condition: Number, input: Any, other: Any) -> Number:
    a, b = (
        condition.exactly(np.asarray(x, float)) if not isinstance(x, Number) else x for x in (input, other)
    )
    return where(condition.value != 0, a, b)


@reference("masked_fill")
def masked_fill(input: Number, mask: Number, value: Any) -> Number:
    filled = value if isinstance(value, Number) else input.exactly(np.asarray(value, float))
    return where(mask.value != 0, filled, input)


@reference("nan_to_num")
def nan_to_num(input: Number, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Number:
    dtype = dtype_of(input.dtype)
    largest = dtype.max_finite if dtype is not None else np.finfo(np.float64).max
    value = input.value
    value = np.where(np.isnan(value), 0.0 if nan is None else nan, value)
    value = np.where(value == np.inf, largest if posinf is None else posinf, value)
    return input.exactly(np.where(value == -np.inf, -largest if neginf is None else neginf, value))


def _compared(compare: Any) -> Any:
    def compared(input: Any, other: Any) -> Number:
        a, b = _pair(input, other)
        made = compare(a.value, b.value)
        return Number(made.astype(np.float64), a.inside, is_integer=True)

    return compared


for _name, _compare in (
    *(("eq", np.equal), ("ne", np.not_equal), ("lt", np.less), ("le", np.less_equal)),
    *(("gt", np.greater), ("ge", np.greater_equal), ("logical_and", np.logical_and)),
    ("logical_or", np.logical_or),
):
    reference(_name)(_compared(_compare))


@reference("logical_not")
def logical_not(input: Number) -> Number:
    return Number((input.value == 0).astype(np.float64), input.inside, is_integer=True)
