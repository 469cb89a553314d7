"""Parameters that ranks hold as copies of each other: where one of them differs.

A capture does not say which ranks are copies. So it is read from the parameters themselves: ranks that hold
the same in most parameters of a kind (the same name in every layer), or nearly the same (copies that drifted
apart), are copies in that kind; parts of a tensor that was split over ranks are alike in none.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from npulse.core.findings import Problem
from npulse.core.formats.msprobe.records import TENSOR
from npulse.core.progress import IsCancelled, check

from .content import Difference, by_elements, difference_by_record
from .data import is_weight
from .model import Captured, Seen

NEAR = 0.01
"""Max, Min, Mean and Norm within this share of each other: copies that drifted apart, which parts of a split
tensor are not."""

MOST = 0.5
"""Ranks are copies where more than this share of a kind's parameters is the same or near."""

_NUMBER = re.compile(r"\d+")

Key = tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class _Parameter:
    """One parameter on all ranks that have it: place of the rank to its leaf."""

    name: str
    leaves: Mapping[int, int]


def check_replicas(
    captured: Sequence[Captured], problems: list[Problem], is_cancelled: IsCancelled
) -> tuple[list[Seen], int]:
    """Parameters that differ on ranks that are copies otherwise, and how many were held against each other.

    Only the first captured step is looked at: what differs there is there from the start on. Cancelled.
    """
    steps = sorted({one.step for one in captured}, key=lambda step: -1 if step is None else step)
    ranks = [one for one in captured if one.step == steps[0] and one.rank is not None] if steps else []
    if len(ranks) < 2:
        return [], 0
    kinds: dict[str, list[_Parameter]] = {}
    for parameter in _parameters(ranks):
        kinds.setdefault(_NUMBER.sub("#", parameter.name), []).append(parameter)
    differing: list[tuple[_Parameter, int, int]] = []
    n = 0
    for parameters in kinds.values():
        check(is_cancelled)
        n += len(parameters)
        differing += _differing(ranks, parameters)
    return _seen(ranks, differing, problems, is_cancelled), n


def _parameters(ranks: Sequence[Captured]) -> Iterator[_Parameter]:
    """Parameters as each rank read them first."""
    found: dict[str, dict[int, int]] = {}
    for place, one in enumerate(ranks):
        leaves = one.dump.leaves
        for row in np.flatnonzero(leaves.kind == TENSOR).tolist():
            if is_weight(one.dump, row):
                found.setdefault(one.dump.leaf_name(row), {}).setdefault(place, row)
    for name, rows in found.items():
        if len(rows) > 1:
            yield _Parameter(name, rows)


def _differing(
    ranks: Sequence[Captured], parameters: Sequence[_Parameter]
) -> Iterator[tuple[_Parameter, int, int]]:
    """(parameter, rank, another one that should hold the same and does not)."""
    places = sorted({place for parameter in parameters for place in parameter.leaves})
    for a, b in combinations(places, 2):
        both = [p for p in parameters if a in p.leaves and b in p.leaves]
        told = [_alike(ranks, p, a, b) for p in both]
        alike = sum(one in ("same", "near") for one in told)
        known = sum(one != "unknown" for one in told)
        if known and alike > MOST * known:
            yield from ((p, a, b) for p, one in zip(both, told, strict=True) if one in ("near", "other"))


def _alike(ranks: Sequence[Captured], parameter: _Parameter, a: int, b: int) -> str:
    """same, near, other or unknown, by the records of two ranks."""
    keys = [_key(ranks[place], parameter.leaves[place]) for place in (a, b)]
    if keys[0] is None or keys[1] is None:
        return "unknown"
    if keys[0] == keys[1]:
        return "same"
    if keys[0][:2] != keys[1][:2]:
        return "other"
    x, y = (ranks[place].dump.leaves for place in (a, b))
    u, v = x.statistics[parameter.leaves[a]], y.statistics[parameter.leaves[b]]
    if not int(x.present[parameter.leaves[a]] & y.present[parameter.leaves[b]]) == 0b1111:
        return "other"
    with np.errstate(all="ignore"):
        return "near" if bool((np.abs(u - v) <= NEAR * np.maximum(np.abs(u), np.abs(v))).all()) else "other"


def _key(one: Captured, row: int) -> Key | None:
    leaves = one.dump.leaves
    shape = leaves.shapes[int(leaves.shape[row])] if leaves.shape[row] >= 0 else None
    dtype = leaves.dtypes[int(leaves.dtype[row])] if leaves.dtype[row] >= 0 else None
    if leaves.checksum[row] >= 0:
        return shape, dtype, leaves.checksums[int(leaves.checksum[row])]
    if leaves.present[row] != 0b1111:
        return None
    return shape, dtype, leaves.statistics[row].tobytes()


def _seen(
    ranks: Sequence[Captured],
    differing: Sequence[tuple[_Parameter, int, int]],
    problems: list[Problem],
    is_cancelled: IsCancelled,
) -> list[Seen]:
    """One finding: the first parameter that differs, the others beside it."""
    by_name: dict[str, list[tuple[_Parameter, int, int]]] = {}
    for one in differing:
        by_name.setdefault(one[0].name, []).append(one)
    if not by_name:
        return []
    first, pairs = next(iter(by_name.items()))
    parameter = pairs[0][0]
    odd = _odd(ranks, parameter, [(a, b) for _, a, b in pairs])
    _, a, b = next((pair for pair in pairs if {pair[1], pair[2]} & set(odd)), pairs[0])
    here, other = (b, a) if b in odd else (a, b)
    how = _how(ranks, parameter, here, other, problems, is_cancelled)
    numbers = [ranks[place].rank for place in odd]
    where, row = ranks[here], parameter.leaves[here]
    listed = ", ".join(str(number) for number in numbers[:8])
    return [
        Seen(
            rule="replica",
            severity="warning" if how.is_rounding else "error",
            role="origin",
            subject=first,
            text="replica-one" if len(odd) == 1 else "replica",
            next_step="next-replica",
            where=where,
            call=where.call_of(row),
            values={"ranks": listed, "other": ranks[other].rank, "n": len(by_name)},
            figures={
                "different_ranks": numbers,
                "other_rank": ranks[other].rank,
                "n_parameters": len(by_name),
                **how.figures(),
            },
            related=tuple(("suspect", name) for name in list(by_name)[1:20]),
            calls=((where, where.call_of(row)),),
        )
    ]


def _odd(ranks: Sequence[Captured], parameter: _Parameter, pairs: Sequence[tuple[int, int]]) -> list[int]:
    """The ranks that are in most of the differing pairs; of two that differ alone the later one."""
    counts = {place: sum(place in pair for pair in pairs) for pair in pairs for place in pair}
    most = max(counts.values())
    odd = sorted(place for place, count in counts.items() if count == most)
    return odd if len(odd) < len(counts) else odd[1:] if len(odd) == 2 else odd


def _how(
    ranks: Sequence[Captured],
    parameter: _Parameter,
    here: int,
    other: int,
    problems: list[Problem],
    is_cancelled: IsCancelled,
) -> Difference:
    a, b = parameter.leaves[here], parameter.leaves[other]
    places = ranks[here].place(a), ranks[other].place(b)
    if places[0] is not None and places[1] is not None:
        found = by_elements(places[0], places[1], problems, is_cancelled)
        if found is not None and found.n_different:
            return found
    has_sums = min(ranks[here].dump.leaves.checksum[a], ranks[other].dump.leaves.checksum[b]) >= 0
    return difference_by_record(ranks[here], a, ranks[other], b, "checksum" if has_sums else "statistics")
