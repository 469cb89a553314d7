"""Gradients of arithmetic element by element; what was broadcast is added up."""

from __future__ import annotations

from typing import Any

from ..number import Number
from ..references.elementwise import as_number
from ..registry import gradient
from .common import Gradients, in_own, summed_to


def _of(named: tuple[tuple[str, Any, Number], ...], g: Number) -> Gradients:
    """(parameter, what was given for it, its gradient before it is added up): those of tensors of floats."""
    return {
        name: summed_to(made, given, g)
        for name, given, made in named
        if isinstance(given, Number) and not given.is_integer
    }


@gradient("add", accumulates=True)
def add(g: Number, input: Any, other: Any, alpha: Any = 1) -> Gradients:
    return _of((("input", input, g), ("other", other, g if alpha == 1 else g * as_number(alpha, g))), g)


@gradient("sub", accumulates=True)
def sub(g: Number, input: Any, other: Any, alpha: Any = 1) -> Gradients:
    of_other = -g if alpha == 1 else g * as_number(-alpha, g)
    return _of((("input", input, g), ("other", other, of_other)), g)


@gradient("mul", "multiply", accumulates=True)
def mul(g: Number, input: Any, other: Any) -> Gradients:
    return _of((("input", input, g * as_number(other, g)), ("other", other, g * as_number(input, g))), g)


@gradient("div", "divide", "true_divide", accumulates=True)
def div(g: Number, input: Any, other: Any, rounding_mode: str | None = None) -> Gradients:
    if rounding_mode is not None:
        raise NotImplementedError("a quotient that is rounded")
    found = _of((("input", input, g / as_number(other, g)),), g)
    if isinstance(other, Number):
        quotient = in_own(in_own(as_number(input, g) / other, g) / other, g)
        found |= _of((("other", other, -(g * quotient)),), g)
    return found
