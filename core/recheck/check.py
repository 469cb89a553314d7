"""One call computed again: truth and bounds, the operator's own dtype, and what explains a wrong output."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from npulse.core.calls.apis import UNINITIALISED, is_random, is_reversed, plain_api
from npulse.core.formats.msprobe.records import CallName, Dump

from .compare import OutputCheck, compare
from .given import Given, Lost, Tensor, given_of
from .model import Check, Why
from .number import Inside, Number, Random
from .registry import Reference, Variant, reference_of_api, reference_of_class
from .sample import sampled

FLOAT64, FLOAT32, FLOAT16, BFLOAT16 = 2.0**-52, 2.0**-24, 2.0**-11, 2.0**-8
"""Unit roundoffs inside. That of float64 counts twice: the truth is computed in float64 too."""
MAX_VARIANTS = 40
ALIKE_SHARE = 0.5
UNFIT = (
    *(NotImplementedError, TypeError, ValueError, LookupError, AttributeError),
    *(ArithmeticError, MemoryError, RecursionError),
)
"""What comes of arguments of other kinds, shapes or sizes than a reference knows."""


@dataclass(frozen=True, slots=True)
class Lifted:
    """A call's arguments by the reference's parameter names, as dumped: to be made numbers of an
    arithmetic."""

    reference: Reference
    arguments: Mapping[str, Any]
    swapped: bool = False

    def numbers(self, inside: Inside) -> dict[str, Any]:
        return {name: _lifted(value, inside) for name, value in self.arguments.items()}


def find_reference(name: CallName) -> Reference | None:
    """By API or module class; of backward calls see `backward.find_gradient`."""
    if name.direction != "forward":
        return None
    if name.kind == "module":
        return reference_of_class(name.cls)
    parts = (name.api, name.api.rpartition(".")[2], name.api.partition(".")[0])  # linalg.norm, add.Tensor
    return next((r for part in parts if (r := reference_of_api(plain_api(part))) is not None), None)


def check_forward(
    dump: Dump, call: int, root: Path, *, rank: int | None = None, step: int | None = None, side: str = ""
) -> Check:
    """Compute a forward call again. root: the run that its files lie in."""
    given = given_of(dump, call, root)
    blank = Check(given.name.full, rank, step, side, "", "unknown", problems=given.problems)
    reference = find_reference(given.name)
    if reference is None:
        return replace(blank, why="random" if draws(given) else "no-reference")
    blank = replace(blank, operator=reference.name)
    refusal = refused(given)
    if refusal is not None:
        return replace(blank, why=refusal, missing=given.absent, detail=_lost_of(given))
    try:
        lifted = _bound(reference, given)
    except TypeError as error:
        absent = reference.required(given.positional, given.parameters) if reference.module else ()
        if absent:
            names = tuple(f"{given.name.full}.parameters.{name}" for name in absent)
            return replace(blank, why="missing", missing=names)
        return replace(blank, why="unsupported", detail=str(error))
    return checked(lifted, given, blank)


def of_both(target: Check, golden: Check) -> Check:
    """The target's check beside the golden one's: two sides that are wrong alike accuse the reference.

    Alike: in most elements, and with the same explanation or none.
    """

    def is_mostly_wrong(check: Check) -> bool:
        worst = check.worst
        return worst is not None and worst.n_beyond > ALIKE_SHARE * worst.n_elements

    is_alike = (
        target.outcome in ("implementation", "coarse")
        and (target.outcome, target.words) == (golden.outcome, golden.words)
        and is_mostly_wrong(target)
        and is_mostly_wrong(golden)
    )
    return replace(target, outcome="unknown", why="alike") if is_alike else target


def draws(given: Given) -> bool:
    """Whether nothing can be said of a call's output: random numbers, or what lay in memory."""
    api = given.name.api
    return given.name.kind == "api" and (is_random(api) or not UNINITIALISED.isdisjoint(api.split(".")))


def refused(given: Given) -> Why | None:
    """Why a call cannot be computed from what was dumped."""
    values = [*given.positional, *given.keywords.values(), *given.parameters.values()]
    lost = [one for value in values for one in _lost_in(value)]
    if any(one.what == "large" for one in (*lost, *_lost_outputs(given))):
        return "too-large"
    has_output = any(isinstance(one, Tensor) for one in given.outputs)
    if any(one.what == "tensor" for one in lost) or not has_output:
        return "unreadable" if given.problems else "missing"
    if any(one.what in ("complex", "integers beyond 2^53") for one in lost):
        return "unsupported"
    return None


def _lost_in(value: Any) -> list[Lost]:
    if isinstance(value, Lost):
        return [value]
    if isinstance(value, (list, dict)):
        items = value.values() if isinstance(value, dict) else value
        return [one for item in items for one in _lost_in(item)]
    return []


def _lost_outputs(given: Given) -> list[Lost]:
    return [one for one in given.outputs if isinstance(one, Lost)]


def _lost_of(given: Given) -> str:
    values = [*given.positional, *given.keywords.values(), *given.parameters.values()]
    return ", ".join(sorted({one.what for value in values for one in _lost_in(value)} - {"tensor", "large"}))


def _bound(reference: Reference, given: Given) -> Lifted:
    positional = given.positional
    if is_reversed(given.name.api) and len(positional) == 2:
        positional = positional[::-1]
    named = {**given.keywords, **{k: v for k, v in given.parameters.items() if reference.module}}
    if not given.is_whole:  # attributes in the tool's own words: those that the reference knows
        known = reference.parameters
        named = {k: v for k, v in named.items() if k in known and not isinstance(v, (dict, list, str))}
    arguments = reference.bind(positional, named)
    extra = {"out_dtype"} & set(reference.parameters)
    made = next((one for one in given.outputs if isinstance(one, Tensor)), None)
    if extra and made is not None:
        arguments["out_dtype"] = made.dtype
    return Lifted(reference, arguments)


def checked(lifted: Lifted, given: Given, blank: Check) -> Check:
    """The outcome: the plain call first; where its output is beyond the bound, what would explain it."""
    reference = lifted.reference
    inside, name = inside_of(reference, given)
    sample = None
    if reference.accumulates:
        arguments, given, sample = sampled(dict(lifted.arguments), given)
        lifted = lifted if sample is None else replace(lifted, arguments=arguments)
    found = _checked(lifted, given, blank, inside, name)
    if sample is not None:
        found = replace(found, outputs=sample.as_of_whole(found.outputs))
    is_plain = "weight" not in lifted.arguments
    lacks_weight = reference.module and is_plain and "weight" in reference.parameters
    if lacks_weight and found.outcome in ("implementation", "call", "coarse"):
        # a layer without a weight is rare, a capture without parameters is not
        names = (f"{given.name.full}.parameters.weight",)
        return replace(found, outcome="unknown", why="missing", missing=names, words=("", ""), outputs=())
    if found.outcome in ("implementation", "call", "coarse") and "Parallel" in given.name.cls:
        return replace(found, outcome="unknown", why="communicates", words=("", ""))
    if given.has_attributes and found.outcome == "implementation" and not found.words[0]:
        return replace(found, outcome="unknown", why="attributes")
    return found


def _checked(lifted: Lifted, given: Given, blank: Check, inside: Inside, name: str) -> Check:
    reference = lifted.reference
    try:
        with np.errstate(all="ignore"):
            outputs = _compared(reference.function, lifted.numbers(inside), given, lifted, with_own=True)
    except UNFIT as error:
        # a call that the reference cannot follow: arguments of other kinds or shapes than it knows
        if isinstance(error, Random):
            return replace(blank, why="random", inside=name)
        return replace(blank, why="does-not-fit", detail=str(error)[:200], inside=name)
    if not outputs:
        return replace(blank, why="missing", missing=given.absent, inside=name)
    done = replace(
        blank, outputs=outputs, inside=name, missing=given.absent, unchecked=_unchecked(given, outputs)
    )
    if all(one.says_nothing for one in outputs):
        return replace(done, why="unbounded", detail=name)
    if all(one.is_within for one in outputs):
        return _as_exact_as_likely(done, lifted, given, inside)
    return _explained(done, lifted, given, inside)


def inside_of(reference: Reference, given: Given) -> tuple[Inside, str]:
    """How exact an implementation has to be inside, and the dtype's name.

    float64 where all is in it. Else float32: sums are accumulated in it, and bfloat16 is computed in it.
    float16 for what is computed element by element in float16: the vector unit has instructions for that.
    """
    kinds = {t.dtype.name for t in (*given.tensors(), *_made(given)) if t.dtype.kind == "float"}
    if kinds == {"float64"}:
        return Inside(FLOAT64, 2.0**-1022), "float64"
    if kinds == {"float16"} and not reference.accumulates:
        return Inside(FLOAT16, 2.0**-24), "float16"
    return Inside(FLOAT32), "float32"


def _made(given: Given) -> list[Tensor]:
    return [one for one in given.outputs if isinstance(one, Tensor)]


def own_inside(inside: Inside) -> Inside:
    """The operator's own dtype: float32 inside, rounded to the output's dtype in the end."""
    carrier = "float64" if inside.roundoff <= FLOAT64 else "float32"
    return Inside(inside.roundoff, inside.floor, carrier, is_plain=True)


def _compared(
    function: Callable[..., Any],
    numbers: Mapping[str, Any],
    given: Given,
    lifted: Lifted,
    *,
    with_own: bool = False,
) -> tuple[OutputCheck, ...]:
    truths = _outputs_of(function, numbers)
    owns: Sequence[Number | None] = [None] * len(truths)
    if with_own:
        inside = next((n.inside for n in _numbers_in(numbers)), Inside(FLOAT32))
        owns = _outputs_of(function, lifted.numbers(own_inside(inside)))
    pairs = zip(given.outputs, truths, owns, strict=False)
    return tuple(
        compare(made, truth, own)
        for made, truth, own in pairs
        if isinstance(made, Tensor) and truth is not None
    )


def _outputs_of(function: Callable[..., Any], numbers: Mapping[str, Any]) -> list[Number | None]:
    positional: list[Any] = []
    named = dict(numbers)
    for name in [n for n, v in numbers.items() if isinstance(v, tuple)]:  # *rest of a reference
        before = list(named)[: list(named).index(name)]
        positional = [named.pop(n) for n in before] + list(named.pop(name))
    keywords: dict[str, Any] = {}
    for name, value in named.items():
        if isinstance(value, _Keywords):
            keywords.update(value)
        else:
            keywords[name] = value
    made = function(*positional, **keywords)
    return list(made) if isinstance(made, (tuple, list)) else [made]


class _Keywords(dict[str, Any]):
    """What stands for **named of a reference."""


def _lifted(value: Any, inside: Inside) -> Any:
    if isinstance(value, Tensor):
        is_integer = value.dtype.kind in ("int", "bool")
        carrier = "float64" if is_integer else inside.carrier
        return Number(value.values.astype(carrier, copy=False), inside, 0.0, is_integer, value.dtype.name)
    if isinstance(value, list):
        return [_lifted(item, inside) for item in value]
    if isinstance(value, tuple):
        return tuple(_lifted(item, inside) for item in value)
    if isinstance(value, dict):
        return _Keywords((key, _lifted(item, inside)) for key, item in value.items())
    return value


def _numbers_in(values: Mapping[str, Any]) -> list[Number]:
    found = []
    for value in values.values():
        items = value if isinstance(value, (list, tuple)) else [value]
        found += [item for item in items if isinstance(item, Number)]
    return found


def _unchecked(given: Given, outputs: Sequence[OutputCheck]) -> tuple[str, ...]:
    compared = {one.name for one in outputs}
    return tuple(one.name for one in given.outputs if one.name not in compared)


def _as_exact_as_likely(done: Check, lifted: Lifted, given: Given, inside: Inside) -> Check:
    """A sum within its proven bound may still be far less exact than float32 inside all but certainly is."""
    if not lifted.reference.accumulates or inside.roundoff != FLOAT32 or not half_of(given):
        return replace(done, outcome="within")
    likely = replace(inside, is_likely=True)
    with np.errstate(all="ignore"):
        outputs = _compared(lifted.reference.function, lifted.numbers(likely), given, lifted)
    if all(one.is_within for one in outputs):
        return replace(done, outcome="within")
    coarse = _explained(replace(done, outputs=_with_own(outputs, done.outputs)), lifted, given, likely)
    # the proven bound holds: what is merely unlikely accuses nobody of anything but a coarser dtype
    return coarse if coarse.outcome == "coarse" else replace(done, outcome="within")


def _with_own(outputs: Sequence[OutputCheck], known: Sequence[OutputCheck]) -> tuple[OutputCheck, ...]:
    return tuple(
        replace(one, own=before.own, own_max_abs_error=before.own_max_abs_error)
        for one, before in zip(outputs, known, strict=True)
    )


def half_of(given: Given) -> str:
    """The coarsest of the dtypes float16 and bfloat16 in a call; "" for neither."""
    names = {t.dtype.name for t in (*given.tensors(), *_made(given))}
    return next((name for name in ("bfloat16", "float16") if name in names), "")


def _explained(done: Check, lifted: Lifted, given: Given, inside: Inside) -> Check:
    """A wrong output: the first variant that fits; a coarser dtype inside; else the implementation."""
    reference = lifted.reference
    numbers = lifted.numbers(inside)
    variants = [] if reference.variants is None else _listed(reference, numbers)
    n_tried = 0
    for variant in variants:
        n_tried += 1
        outputs = _of_variant(variant, reference, numbers, given, lifted)
        if fits(outputs):
            if variant.is_free or variant.is_call and given.has_attributes:
                return replace(done, outcome="within", outputs=outputs, words=variant.words, tried=n_tried)
            outcome: Any = "call" if variant.is_call else "implementation"
            return replace(done, outcome=outcome, words=variant.words, tried=n_tried)
    half = half_of(given)
    if reference.accumulates and half:
        coarse = coarse_inside(half)
        with np.errstate(all="ignore"):
            outputs = _compared(reference.function, lifted.numbers(coarse), given, lifted)
        if fits(outputs):
            return replace(done, outcome="coarse", detail=half, tried=n_tried)
    return replace(done, outcome="implementation", tried=n_tried)


def coarse_inside(half: str) -> Inside:
    """How an implementation computes that keeps its sums in half precision."""
    is_float16 = half == "float16"
    return Inside(FLOAT16 if is_float16 else BFLOAT16, 2.0**-24 if is_float16 else 2.0**-126, is_typical=True)


def fits(outputs: Sequence[OutputCheck]) -> bool:
    """Whether all is within, and something could have been beyond."""
    within = all(one.is_within for one in outputs)
    return within and not all(one.says_nothing for one in outputs)


def _listed(reference: Reference, numbers: dict[str, Any]) -> list[Variant]:
    assert reference.variants is not None
    try:
        with np.errstate(all="ignore"):
            return list(islice(reference.variants(numbers), MAX_VARIANTS))
    except UNFIT:
        return []


def _of_variant(
    variant: Variant, reference: Reference, numbers: dict[str, Any], given: Given, lifted: Lifted
) -> tuple[OutputCheck, ...]:
    try:
        with np.errstate(all="ignore"):
            changed = {**numbers, **variant.changes}
            return _compared(variant.function or reference.function, changed, given, lifted)
    except UNFIT:
        return ()
