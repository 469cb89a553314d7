"""Why a call with finite inputs gave NaN or Inf, how large the true value can be, what would have held it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from npulse.core.calls.apis import CASTS, is_reversed, plain_api
from npulse.core.formats.msprobe.names import parse_name
from npulse.core.formats.msprobe.records import INPUT, KWARGS, SCALAR, TENSOR
from npulse.core.formats.tensors.dtypes import DTYPES

from .health import HIGH, LOW, MINUS, NAN, PLUS
from .ranks import SUM_SHARE, RankOverflow, is_reduction
from .roles import Origin

CANDIDATES = ("float16", "bfloat16", "float32", "float64")
"""Formats that are offered as what would have held a value, narrowest range first."""

SAFE_SHARE = 0.5
"""A value is held comfortably up to this share of the largest one."""

_MATMULS = frozenset(
    ("matmul", "mm", "bmm", "linear", "addmm", "baddbmm", "einsum", "conv1d", "conv2d", "npu_linear")
)
_LATE_CALLS = 3


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """kind: a word of KINDS. at_most: bound of the true magnitude, None where none can be told.

    holds_in: dtypes that hold that comfortably. input_scale: power of two for the inputs with which the
    dtype of the call itself would have held it; None where scaling does not help. value: the figure that
    explains the kind (the negative logarithm argument, the zero divisor). late_scale: name of a later call
    that scales the result down, which could as well be done before.
    """

    kind: str
    at_most: float | None = None
    holds_in: tuple[str, ...] = ()
    input_scale: float | None = None
    value: float | None = None
    late_scale: str = ""


KINDS = (
    "sum", "product", "matmul", "exp", "power", "divide", "total", "cast", "collective-sum", "overflow",
    "saturated", "zero-division", "log-negative", "root-negative", "arc-outside", "nan", "other",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Operand:
    """A tensor or number that a call was given. shape: () of a number, and where none is recorded."""

    absmax: float
    low: float
    high: float
    norm: float
    size: int
    shape: tuple[int, ...] = ()

    def times(self, factor: float) -> _Operand:
        return replace(self, absmax=self.absmax * abs(factor), norm=self.norm * abs(factor))


def diagnose(rank: RankOverflow, origin: Origin, peers: Sequence[float] = ()) -> Diagnosis:
    """What the records of a call tell of its bad output. peers: absmax that each rank gave a collective."""
    name = parse_name(rank.name(origin.call))
    api = plain_api(name.api)
    operands = _operands(rank, origin.call)
    if is_reversed(name.api):
        operands[:2] = operands[1::-1]
    flags = 0
    for row in origin.rows:
        flags |= int(rank.health.flags[row])
    if origin.cause == "collective":
        return _of_collective(rank, origin, math.fsum(peers) if peers else math.nan, flags)
    if name.direction != "forward":
        return Diagnosis(
            "saturated" if not flags & (NAN | PLUS | MINUS) else "nan" if flags & NAN else "overflow"
        )
    broken = _domain(api, operands)
    if broken is not None and flags & (NAN | PLUS | MINUS):
        return broken
    rule = _BOUNDS.get(api)
    bound = rule[1](operands) if rule is not None and operands else None
    if rule is not None and bound is not None and bound > _largest(rank, origin) * SUM_SHARE:
        return _held(rank, origin, Diagnosis(rule[0], bound, late_scale=_late_scale(rank, origin, api)))
    if flags & (PLUS | MINUS):
        return Diagnosis("overflow", late_scale=_late_scale(rank, origin, api))
    if flags & (HIGH | LOW) and not flags & NAN:
        return Diagnosis("saturated")
    return Diagnosis("nan" if flags & NAN else "other")


def _of_collective(rank: RankOverflow, origin: Origin, total: float, flags: int) -> Diagnosis:
    """A sum that is too large; where finite values cannot add up to it the transfer is to blame."""
    can_sum = is_reduction(rank.name(origin.call)) and not flags & NAN
    if can_sum and total >= _largest(rank, origin) * SUM_SHARE:
        return _held(rank, origin, Diagnosis("collective-sum", total))
    return Diagnosis("other")


def _operands(rank: RankOverflow, call: int) -> list[_Operand]:
    """In their order. What `alpha` and `beta` multiply (the last and the first one) is multiplied by them."""
    dump, health = rank.dump, rank.health
    leaves = dump.leaves
    found = []
    for row in dump.leaf_range(call):
        if leaves.side[row] not in (INPUT, KWARGS):
            continue
        if leaves.kind[row] == TENSOR and health.is_known[row]:
            shape = leaves.shapes[int(leaves.shape[row])] if leaves.shape[row] >= 0 else ()
            found.append(
                _Operand(
                    float(health.absmax[row]),
                    float(health.low[row]),
                    float(health.high[row]),
                    float(leaves.statistics[row, 3]) if leaves.present[row] & 8 else math.nan,
                    max(int(health.n_elements[row]), 0),
                    shape,
                )
            )
        elif leaves.kind[row] == SCALAR:
            value = dump.leaf(row).value
            if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**1000:
                number = float(value)
                io = leaves.io_names[int(leaves.io[row])]
                if found and io in ("kwargs alpha", "kwargs beta"):
                    at = -1 if io == "kwargs alpha" else 0
                    found[at] = found[at].times(number)
                else:
                    found.append(_Operand(abs(number), number, number, abs(number), 1))
    return found


def _sum(operands: Sequence[_Operand]) -> float:
    return math.fsum(o.absmax for o in operands[:2])


def _product(operands: Sequence[_Operand]) -> float:
    return math.prod(o.absmax for o in operands[:2])


def _matmul(operands: Sequence[_Operand]) -> float | None:
    return _inner_product(operands, operands[0].shape[-1] if operands[0].shape else 1)


def _added_matmul(operands: Sequence[_Operand]) -> float | None:
    """addmm: what is added comes first."""
    return _matmul((*operands[1:3], operands[0])) if len(operands) > 2 else None


def _convolution(operands: Sequence[_Operand]) -> float | None:
    """The kernel has one row of elements for each output channel, its first axis."""
    if len(operands) < 2 or not operands[1].shape or not operands[1].shape[0]:
        return None
    return _inner_product(operands, operands[1].size // operands[1].shape[0])


def _contraction(operands: Sequence[_Operand]) -> float | None:
    """einsum: over which axes its text tells; over no more elements than the smaller operand has."""
    return _inner_product(operands, min((o.size for o in operands[:2]), default=0))


def _inner_product(operands: Sequence[_Operand], length: int) -> float | None:
    """Cauchy-Schwarz where both norms are known, else the inner length times both maxima."""
    if len(operands) < 2:
        return None
    a, b = operands[:2]
    bound = length * a.absmax * b.absmax
    if math.isfinite(a.norm) and math.isfinite(b.norm):
        bound = min(bound, a.norm * b.norm)
    return bound + (operands[2].absmax if len(operands) > 2 else 0.0)


def _exp(operands: Sequence[_Operand]) -> float:
    return math.exp(operands[0].high) if operands[0].high < 700 else math.inf


def _power(operands: Sequence[_Operand]) -> float | None:
    if len(operands) < 2 or operands[1].low != operands[1].high or operands[1].high < 0:
        return None  # a negative power is largest where the base is smallest, which no record tells
    try:
        return float(operands[0].absmax ** operands[1].high)
    except (OverflowError, ZeroDivisionError):
        return math.inf


def _square(operands: Sequence[_Operand]) -> float:
    return operands[0].absmax ** 2 if operands[0].absmax < 1e150 else math.inf


def _total(operands: Sequence[_Operand]) -> float:
    return operands[0].size * operands[0].absmax


def _divide(operands: Sequence[_Operand]) -> float | None:
    """Only a single divisor has a known smallest magnitude."""
    if len(operands) < 2 or operands[1].low != operands[1].high or not operands[1].absmax:
        return None
    return operands[0].absmax / operands[1].absmax


def _cast(operands: Sequence[_Operand]) -> float:
    return operands[0].absmax


_Bound = Callable[[Sequence[_Operand]], "float | None"]
_BOUNDS: dict[str, tuple[str, _Bound]] = {
    "add": ("sum", _sum),
    "sub": ("sum", _sum),
    "mul": ("product", _product),
    **{api: ("matmul", _matmul) for api in _MATMULS},
    **{api: ("matmul", _added_matmul) for api in ("addmm", "baddbmm")},
    **{api: ("matmul", _convolution) for api in ("conv1d", "conv2d")},
    "einsum": ("matmul", _contraction),
    "exp": ("exp", _exp),
    "pow": ("power", _power),
    "square": ("power", _square),
    "sum": ("total", _total),
    "cumsum": ("total", _total),
    "div": ("divide", _divide),
    **{api: ("cast", _cast) for api in CASTS},
}


def _domain(api: str, operands: Sequence[_Operand]) -> Diagnosis | None:
    """Operations that have no finite result where their operand lies."""
    if not operands:
        return None
    first = operands[0]
    if api in ("log", "log2", "log10") and first.low < 0:
        return Diagnosis("log-negative", value=first.low)
    if api == "log1p" and first.low < -1:
        return Diagnosis("log-negative", value=first.low)
    if api in ("sqrt", "rsqrt") and first.low < 0:
        return Diagnosis("root-negative", value=first.low)
    if api == "pow" and len(operands) > 1 and first.low < 0 and operands[1].high % 1:
        return Diagnosis("root-negative", value=first.low)
    if api in ("acos", "asin", "arccos", "arcsin") and first.absmax > 1:
        return Diagnosis("arc-outside", value=first.high if first.high > 1 else first.low)
    if api in ("rsqrt", "reciprocal") and first.low <= 0 <= first.high:
        return Diagnosis("zero-division", value=0.0)
    if api in ("div", "fmod", "remainder") and len(operands) > 1:
        divisor = operands[1]
        if divisor.low == divisor.high == 0 or divisor.low == 0 or divisor.high == 0:
            return Diagnosis("zero-division", value=0.0)
    return None


def _largest(rank: RankOverflow, origin: Origin) -> float:
    return float(rank.health.largest[origin.rows[0]])


def _held(rank: RankOverflow, origin: Origin, found: Diagnosis) -> Diagnosis:
    """With the dtypes and the scale that would have held the value."""
    bound, largest = found.at_most, _largest(rank, origin)
    if bound is None or not math.isfinite(bound) or not bound > 0:
        return found
    holds = tuple(name for name in CANDIDATES if bound < SAFE_SHARE * DTYPES[name].max_finite)
    scale = None
    if found.kind in ("sum", "product", "matmul", "total", "collective-sum") and np.isfinite(largest):
        scale = 2.0 ** -max(math.ceil(math.log2(bound / (SAFE_SHARE * largest))), 0)
    return Diagnosis(found.kind, bound, holds, scale, found.value, found.late_scale)


def _late_scale(rank: RankOverflow, origin: Origin, api: str) -> str:
    """The call that scales a matrix product down afterwards: attention scores and their 1/sqrt(d)."""
    if api not in _MATMULS:
        return ""
    last = min(origin.call + _LATE_CALLS, len(rank.dump.calls.names) - 1)
    for call in range(origin.call + 1, last + 1):
        word = plain_api(parse_name(rank.name(call)).api)
        numbers = [o for o in _operands(rank, call) if o.size == 1 and o.low == o.high]
        shrinks = [n for n in numbers if (word == "mul" and n.absmax < 1) or (word == "div" and n.absmax > 1)]
        if shrinks and call in rank.roles.bad_given:
            return rank.name(call)
    return ""
