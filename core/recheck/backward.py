"""A backward call computed again: gradients of its forward call's inputs, from those and what it was given.

What a dump holds of it are the inputs of the last node of the graph that the forward call built, in that
node's own order (of `linear` on the CPU: bias, input, weight turned around). So each tensor is held against
the gradients of its shape, and is the one that it agrees with best.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from npulse.core.calls.apis import is_reversed, plain_api
from npulse.core.formats.msprobe.records import CallName, Dump
from npulse.core.formats.tensors import dtype_of

from .check import FLOAT32, UNFIT, Lifted, coarse_inside, draws, fits, half_of, inside_of, own_inside, refused
from .compare import OutputCheck, compare
from .given import Given, Tensor, given_of
from .model import Check
from .number import Inside, Number, perhaps_in
from .registry import Reference, gradient_of_api

MAX_WORK = 1 << 36
"""Multiplications of a product, about ten seconds."""


def find_gradient(name: CallName) -> Reference | None:
    """By API. Of modules there is none: what their constructors were given is not in a dump."""
    if name.kind != "api" or name.direction != "backward":
        return None
    parts = (name.api, name.api.rpartition(".")[2], name.api.partition(".")[0])
    return next((r for part in parts if (r := gradient_of_api(plain_api(part))) is not None), None)


def check_backward(
    dump: Dump, call: int, root: Path, *, rank: int | None = None, step: int | None = None, side: str = ""
) -> Check:
    """Compute a backward call again. root: the run that its files lie in."""
    given = given_of(dump, call, root)
    blank = Check(given.name.full, rank, step, side, "", "unknown", problems=given.problems)
    gradient = find_gradient(given.name)
    if gradient is None:
        return replace(blank, why="random" if draws(given) else "no-reference")
    blank = replace(blank, operator=gradient.name)
    forward_name = f"{given.name.full.removesuffix('backward')}forward"
    names = dump.calls.names
    if forward_name not in names:
        return replace(blank, why="missing", missing=(forward_name,))
    forward = given_of(dump, names.index(forward_name), root)
    blank = replace(blank, problems=(*given.problems, *forward.problems))
    needs_result = "result" in gradient.parameters
    for one in (given, forward if needs_result else replace(forward, outputs=given.outputs)):
        why = refused(one)
        if why is not None:
            return replace(blank, why=why, missing=(*given.absent, *forward.absent))
    if not given.positional or not isinstance(given.positional[0], Tensor) or _has_others(given):
        return replace(blank, why="unsupported", detail="gradients of other outputs than the first")
    positional = forward.positional
    if is_reversed(forward.name.api) and len(positional) == 2:
        positional = positional[::-1]
    result = {"result": forward.outputs[0]} if needs_result else {}
    try:
        arguments = gradient.bind((given.positional[0], *positional), {**forward.keywords, **result})
    except TypeError as error:
        return replace(blank, why="unsupported", detail=str(error))
    if gradient.accumulates and _work(arguments) > MAX_WORK:
        return replace(blank, why="too-large")
    both = replace(given, positional=tuple(arguments.values()), keywords={})
    return _checked(Lifted(gradient, arguments), both, blank)


def _has_others(given: Given) -> bool:
    """Whether gradients of further outputs came in that are not all 0."""
    return any(isinstance(one, Tensor) and bool(one.values.any()) for one in given.positional[1:])


def _work(arguments: Mapping[str, Any]) -> int:
    """Multiplications where these are the operands of a product."""
    g, second = (
        arguments.get("g"),
        next((arguments[n] for n in _OPERANDS if arguments.get(n) is not None), None),
    )
    if not isinstance(g, Tensor) or not isinstance(second, Tensor) or second.values.ndim < 2:
        return 0
    return int(g.values.size * max(second.values.shape[-2:]))


_OPERANDS = ("weight", "mat2", "other")


def _checked(lifted: Lifted, given: Given, blank: Check) -> Check:
    inside, name = inside_of(lifted.reference, given)
    try:
        outputs = _compared(lifted, given, inside)
    except UNFIT as error:
        return replace(blank, why="does-not-fit", detail=str(error)[:200], inside=name)
    compared = {one.name for one in outputs}
    left = tuple(one.name for one in given.outputs if one.name not in compared)
    done = replace(blank, outputs=outputs, inside=name, unchecked=left)
    if not outputs:
        return replace(done, why="does-not-fit", detail="no gradient has the shape of what was dumped")
    if all(one.says_nothing for one in outputs):
        return replace(done, why="unbounded", detail=name)
    if all(one.is_within for one in outputs):
        return replace(done, outcome="within")
    half = half_of(given)
    if lifted.reference.accumulates and half and inside.roundoff == FLOAT32:
        coarse = _compared(lifted, given, coarse_inside(half))
        if fits(coarse):
            return replace(done, outcome="coarse", detail=half)
    return replace(done, outcome="implementation")


def _compared(lifted: Lifted, given: Given, inside: Inside) -> tuple[OutputCheck, ...]:
    """Each tensor that was dumped against the gradient that it is; those of another shape are left out."""
    with np.errstate(all="ignore"):
        truths = _gradients(lifted, inside)
        owns = _gradients(lifted, own_inside(inside))
        found = []
        left = dict(truths)
        for made in given.outputs:
            if not isinstance(made, Tensor):
                continue
            fitting = _fitting(made, left) or _fitting(made, truths)
            tried = {name: compare(made, truths[name], owns[name]) for name in fitting}
            if tried:
                best = min(tried, key=lambda name: _distance(tried[name]))
                left.pop(best, None)
                found.append(tried[best])
    return tuple(found)


def _fitting(made: Tensor, gradients: Mapping[str, Number]) -> Sequence[str]:
    return [name for name, one in gradients.items() if one.shape == tuple(made.values.shape)]


def _distance(one: OutputCheck) -> tuple[int, float]:
    return one.n_beyond, one.max_ratio


def _gradients(lifted: Lifted, inside: Inside) -> dict[str, Number]:
    numbers = lifted.numbers(inside)
    dtype = dtype_of(numbers["g"].dtype)
    if dtype is not None and not inside.is_plain:  # under autocast the operator took them in its own dtype
        for name, value in numbers.items():
            own = dtype_of(value.dtype) if isinstance(value, Number) else None
            if own is not None and own.kind == "float" and own.mantissa_bits > dtype.mantissa_bits:
                numbers[name] = perhaps_in(value, dtype)
    made: dict[str, Number] = lifted.reference.function(**numbers)
    return made
