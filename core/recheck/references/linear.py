"""Products of matrices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..number import Number, check_size
from ..registry import Variant, reference
from ..rounding import HF32_BITS, round_mantissa

_HF32 = (
    "operands rounded to HF32 (torch.npu.matmul.allow_hf32 or its like is on)",
    "操作数被舍入为 HF32（torch.npu.matmul.allow_hf32 等开关已打开）",
)
_NO_BIAS = ("without the bias", "没有加 bias")
_TRANSPOSED = ("the weight transposed", "权重被转置")


def _hf32(x: Number) -> Number:
    return x.exactly(round_mantissa(x.value, HF32_BITS))


def _in_hf32(arguments: dict[str, Any], *names: str) -> Iterator[Variant]:
    """Operands that the matrix unit may take in HF32: those in float32."""
    operands = {n: arguments[n] for n in names if isinstance(arguments.get(n), Number)}
    if operands and all(x.dtype == "float32" for x in operands.values()):
        yield Variant(_HF32, {n: _hf32(x) for n, x in operands.items()}, is_call=False)


def _linear_variants(arguments: dict[str, Any]) -> Iterator[Variant]:
    if arguments.get("bias") is not None:
        yield Variant(_NO_BIAS, {"bias": None})
        bias = arguments["bias"]
        yield Variant(("the bias added twice", "bias 被加了两次"), {"bias": bias * 2.0})
        yield Variant(("the bias subtracted", "bias 被减去"), {"bias": -bias})
    weight = arguments["weight"]
    if weight.ndim == 2 and weight.shape[0] == weight.shape[1]:
        yield Variant(_TRANSPOSED, {"weight": weight.mT})
    yield from _in_hf32(arguments, "input", "weight")


@reference("linear", variants=_linear_variants, accumulates=True)
def linear(input: Number, weight: Number, bias: Number | None = None) -> Number:
    """input [..., k] times weight [n, k], plus bias [n]."""
    if weight.is_integer and not input.is_integer:
        raise NotImplementedError("a quantised weight")
    rows = input.reshape(-1, input.shape[-1]) if input.ndim != 2 else input
    made = (rows @ weight.mT).reshape(*input.shape[:-1], *weight.shape[:-1])
    return made if bias is None else made.onto(bias, input.shape[-1])


@reference(classes=("Linear",), variants=_linear_variants, accumulates=True)
def linear_module(input: Number, weight: Number, bias: Number | None = None) -> Number:
    return linear(input, weight, bias)


def _matmul_variants(arguments: dict[str, Any]) -> Iterator[Variant]:
    a, b = arguments["input"], arguments["other"]
    for name, x in (("other", b), ("input", a)):
        if x.ndim > 1 and x.shape[-1] == x.shape[-2]:
            yield Variant((f"{name} transposed", f"{name} 被转置"), {name: x.mT})
    if a.shape == b.shape and a.ndim > 1 and a.shape[-1] == a.shape[-2]:
        yield Variant(("the operands exchanged", "两个操作数互换"), {"input": b, "other": a})
    width = float(a.shape[-1]) if a.ndim else 1.0
    for words, factor in (
        (("divided by sqrt(width)", "除以 sqrt(宽度)"), width**-0.5),
        (("multiplied by sqrt(width)", "乘以 sqrt(宽度)"), width**0.5),
    ):
        yield Variant(words, {"input": a * factor})
    yield from _in_hf32(arguments, "input", "other")


@reference("matmul", "bmm", "mm", "mv", "dot", variants=_matmul_variants, accumulates=True)
def matmul(input: Number, other: Number | None = None, mat2: Number | None = None) -> Number:
    other = other if other is not None else mat2
    if other is None:
        raise TypeError("one operand")
    return input @ other


def _addmm_variants(arguments: dict[str, Any]) -> Iterator[Variant]:
    yield Variant(("beta=0", "beta=0"), {"beta": 0})
    yield Variant(("beta=1, alpha=1", "beta=1，alpha=1"), {"beta": 1, "alpha": 1})
    yield from _in_hf32(arguments, "mat1", "mat2")


@reference("addmm", "baddbmm", variants=_addmm_variants, accumulates=True)
def addmm(input: Number, mat1: Number, mat2: Number, beta: float = 1, alpha: float = 1) -> Number:
    product = mat1 @ mat2
    product = product if alpha == 1 else product * alpha
    if beta == 0:  # what the input holds does not matter then, not even NaN
        return product
    return product.onto(input if beta == 1 else input * beta, mat1.shape[-1])


@reference("einsum", accumulates=True)
def einsum(equation: str, *operands: Any) -> Number:
    """Of one or two operands, with an explicit or an implied result."""
    listed = operands[0] if len(operands) == 1 and isinstance(operands[0], list) else list(operands)
    if not 1 <= len(listed) <= 2 or "..." in equation:
        raise NotImplementedError("einsum of one or two operands without an ellipsis")
    equation = equation.replace(" ", "")
    terms, _, result = equation.partition("->")
    if "->" not in equation:
        letters = terms.replace(",", "")
        result = "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    first: Number = listed[0]
    if len(listed) == 1:
        summed = [c for c in dict.fromkeys(terms) if c not in result]
        n = int(np.prod([first.shape[terms.index(c)] for c in summed])) if summed else 1
        return first.contracted([], lambda a: np.einsum(f"{terms}->{result}", a), n)
    left, right = terms.split(",")
    inner = [c for c in dict.fromkeys(left + right) if c not in result]
    sizes = dict(zip(left + right, (*first.shape, *listed[1].shape), strict=True))
    n = int(np.prod([sizes[c] for c in inner])) if inner else 1
    check_size(*(sizes[c] for c in result))
    return first.contracted([listed[1]], lambda a, b: np.einsum(f"{left},{right}->{result}", a, b), n)


@reference("outer", "ger")
def outer(input: Number, vec2: Number) -> Number:
    return input.reshape(-1, 1) * vec2.reshape(1, -1)
