"""What an all_reduce gives against the sum, mean or extreme of what its ranks gave."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack

import numpy as np
import numpy.typing as npt

from npulse.core.calls.tensors import open_place, problem_of
from npulse.core.dataclass import dataclass
from npulse.core.findings import Problem
from npulse.core.formats.msprobe.records import INPUT, OUTPUT
from npulse.core.formats.tensors import TensorError, TensorFile
from npulse.core.formats.tensors.dtypes import widen
from npulse.core.formats.tensors.open import TensorReader
from npulse.core.progress import IsCancelled, check

from ..statistics import ADDING_UP
from .content import Difference, shape_of, unit_roundoff
from .met import Met, leaves_of, seen_not_given
from .model import Captured, Seen

Values = npt.NDArray[np.float64]

REDUCTIONS: dict[str, Callable[[Values], Values]] = {
    "SUM": lambda x: x.sum(axis=0),
    "AVG": lambda x: x.mean(axis=0),
    "MAX": lambda x: x.max(axis=0),
    "MIN": lambda x: x.min(axis=0),
}
"""What an all_reduce may do; where the capture does not say which, any of them is right."""

BLOCK = 1 << 20
"""Elements of all ranks that are held at a time."""

MAX_READ = 256
"""Ranks whose tensors are read side by side; of more the statistics tell."""


def reduced(met: Met, problems: list[Problem], is_cancelled: IsCancelled) -> tuple[Seen | None, bool]:
    given = [leaves_of(one, call, INPUT, "input 0").get("input 0", -1) for one, call in met.members]
    one, call = met.members[0]
    made = leaves_of(one, call, OUTPUT, "output 0").get("output 0", -1)
    if made < 0 or min(given) < 0 or not unit_roundoff(one, made):
        return None, False
    if any(shape_of(o, r) != shape_of(one, made) for (o, _), r in zip(met.members, given, strict=True)):
        return None, False
    ways = ways_of(one, call)
    places = [o.place(r) for (o, _), r in zip(met.members, given, strict=True)]
    target = one.place(made)
    if target is not None and None not in places and len(places) <= MAX_READ:
        try:
            files = [open_place(place) for place in (target, *places) if place is not None]
            same = len({file.shape for file in files}) == 1
            parts = [Part(file) for file in files]
            far = far_from_reductions(parts, files[0].n_elements, ways, is_cancelled) if same else {}
        except TensorError as error:
            problems.append(problem_of(error, target, *(p for p in places if p is not None)))
            return None, False
        basis = "elements"
    else:
        told = [recorded(o, r) for (o, _), r in zip(met.members, given, strict=True)]
        far = far_by_statistics(recorded(one, made), told, unit_roundoff(one, made), ways)
        basis = "statistics"
    return judged(met, far, ways, basis)


def judged(
    met: Met, far: dict[str, float], ways: Sequence[str], basis: str, place: int = 0
) -> tuple[Seen | None, bool]:
    """What to say of a result so far from what each way of reducing gives; place: whose result it is."""
    if not far:
        return None, False
    best = min(far, key=far.__getitem__)
    if far[best] <= 1:
        return None, True
    values: dict[str, object] = {"op": best if len(ways) == 1 else "/".join(ways)}
    figures: dict[str, object] = {"basis": basis, "op": best, "times_rounding": far[best]}
    return seen_not_given(met, "collective-sum", values, figures, place), False


def ways_of(one: Captured, call: int) -> list[str]:
    for row in one.dump.leaf_range(call):
        leaf = one.dump.leaf(row)
        if leaf.type.endswith("ReduceOp") or leaf.type.endswith("RedOpType"):
            return [name for name in REDUCTIONS if f".{name}" in str(leaf.value) or str(leaf.value) == name]
    return list(REDUCTIONS)


@dataclass(frozen=True, slots=True)
class Part:
    """Elements of a tensor from one on, in row-major order."""

    file: TensorFile
    first: int = 0


def far_from_reductions(
    parts: Sequence[Part], n_elements: int, ways: Sequence[str], is_cancelled: IsCancelled
) -> dict[str, float]:
    """For each way the largest error of the result in what rounding allows there, n * u * sum |x|.

    parts: the result, then the inputs. {} where nothing can be told (NaN or Inf: for the overflow area).
    """
    made = parts[0].file
    n, roundoff = len(parts) - 1, made.declared.unit_roundoff
    far = dict.fromkeys(ways, 0.0)
    with ExitStack() as stack:
        step = BLOCK // len(parts)
        read = [_blocks(part, step, stack) for part in parts]
        for first in range(0, n_elements, step):
            check(is_cancelled)
            size = min(step, n_elements - first)
            blocks = [one(first, size) for one in read]
            given = np.stack(blocks[1:])
            if not (np.isfinite(given).all() and np.isfinite(blocks[0]).all()):
                return {}
            allowed = n * roundoff * np.abs(given).sum(axis=0) + 4 * made.declared.smallest_subnormal
            for way in ways:
                error = np.abs(blocks[0] - REDUCTIONS[way](given))
                far[way] = max(far[way], float((error / allowed).max(initial=0.0)))
    return far


def differing(one: Part, other: Part, n_elements: int, is_cancelled: IsCancelled) -> Difference | None:
    """Which of so many elements are not the same in both, by their place in the first; NaN is NaN."""
    places: list[int] = []
    n_different = 0
    with ExitStack() as stack:
        step = BLOCK // 2
        read = [_blocks(part, step, stack) for part in (one, other)]
        for first in range(0, n_elements, step):
            check(is_cancelled)
            x, y = (block(first, min(step, n_elements - first)) for block in read)
            unlike = np.flatnonzero((x != y) & ~(np.isnan(x) & np.isnan(y)))
            n_different += len(unlike)
            places += [one.first + first + int(at) for at in unlike[[0, -1]]] if len(unlike) else []
    if not places:
        return None
    first, last = places[0], places[-1]
    is_block = last - first + 1 == n_different
    n_bytes = n_different * one.file.dtype.itemsize
    return Difference("elements", n_elements, n_different, first, last, is_block, n_bytes)


def _blocks(part: Part, step: int, stack: ExitStack) -> Callable[[int, int], Values]:
    file, at = part.file, part.first
    if not file.is_contiguous:
        flat = file.array().reshape(-1)
        return lambda first, size: widen(flat[at + first : at + first + size], file.dtype).astype(np.float64)
    reader = stack.enter_context(TensorReader(file))
    buffer = bytearray(min(step, file.n_elements) * file.dtype.itemsize)
    return lambda first, size: widen(reader.read_into(buffer, at + first, size), file.dtype).astype(
        np.float64
    )


def recorded(one: Captured, row: int) -> Values | None:
    """Max, Min, Mean and Norm of a leaf, None where not all of them are recorded."""
    leaves = one.dump.leaves
    return leaves.statistics[row] if leaves.present[row] == 0b1111 else None


def far_by_statistics(
    made: Values | None, given: Sequence[Values | None], roundoff: float, ways: Sequence[str]
) -> dict[str, float]:
    """The same by Mean and extremes. A mean was itself added up and rounded, in shares of absmax."""
    known = [four for four in (made, *given) if four is not None]
    told = np.array(known)
    if len(known) <= len(given) or not np.isfinite(told[:, :3]).all():
        return {}
    absmax = np.abs(told[:, :2]).max(axis=1)
    slack = (len(given) + 2) * (roundoff + ADDING_UP) * (absmax[1:].sum() + absmax[0]) or math.ulp(0.0)
    high, low, mean = told[1:, 0], told[1:, 1], told[1:, 2]
    spread = {
        "SUM": abs(told[0, 2] - mean.sum()),
        "AVG": abs(told[0, 2] - mean.mean()),
        "MAX": abs(told[0, 0] - high.max()) + max(0.0, low.max() - told[0, 1]),
        "MIN": abs(told[0, 1] - low.min()) + max(0.0, told[0, 0] - high.min()),
    }
    return {way: float(spread[way] / slack) for way in ways}
