"""Parameters that ranks hold as copies of each other: where one of them differs.

A capture does not say which ranks are copies. So it is read from the parameters themselves: ranks that hold
the same in most parameters of a kind (the same name in every layer), or nearly the same (copies that drifted
apart), are copies in that kind; parts of a tensor that was split over ranks are alike in none.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence

import numpy as np

from npulse.core.dataclass import dataclass
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

NEARLY_ALL = 0.9
"""And in all kinds where this share of all their parameters is: then also in one that stands alone."""

_NUMBER = re.compile(r"\d+")

Key = tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class _Parameter:
    """One parameter on all ranks that have it: place of the rank to its leaf."""

    name: str
    leaves: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class _Apart:
    """A parameter that copies hold unlike. classes: places of ranks by what they hold, the largest first."""

    parameter: _Parameter
    classes: tuple[tuple[int, ...], ...]


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
    differing: list[_Apart] = []
    n = 0
    for parameters in kinds.values():
        check(is_cancelled)
        n += len(parameters)
        differing += _differing(ranks, parameters, MOST)
    told = {one.parameter.name for one in differing}
    everything = [parameter for parameters in kinds.values() for parameter in parameters]
    differing += [one for one in _differing(ranks, everything, NEARLY_ALL) if one.parameter.name not in told]
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


def _differing(ranks: Sequence[Captured], parameters: Sequence[_Parameter], share: float) -> Iterator[_Apart]:
    """Parameters that ranks which are copies in more than a share of these do not hold alike.

    A rank is held against the first of each group of copies that there is so far: O(ranks x groups).
    """
    groups: list[list[int]] = []
    for place in sorted({place for parameter in parameters for place in parameter.leaves}):
        own = next(
            (group for group in groups if _are_copies(ranks, parameters, group[0], place, share)), None
        )
        if own is None:
            groups.append([place])
        else:
            own.append(place)
    for group in groups:
        for parameter in parameters:
            classes: dict[Key, list[int]] = {}
            for place in group:
                key = _key(ranks[place], parameter.leaves[place]) if place in parameter.leaves else None
                if key is not None:
                    classes.setdefault(key, []).append(place)
            if len(classes) > 1:
                yield _Apart(parameter, tuple(sorted(map(tuple, classes.values()), key=len, reverse=True)))


def _are_copies(
    ranks: Sequence[Captured], parameters: Sequence[_Parameter], a: int, b: int, share: float
) -> bool:
    told = [_alike(ranks, p, a, b) for p in parameters if a in p.leaves and b in p.leaves]
    known = sum(one != "unknown" for one in told)
    return bool(known) and sum(one in ("same", "near") for one in told) > share * known


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
    differing: Sequence[_Apart],
    problems: list[Problem],
    is_cancelled: IsCancelled,
) -> list[Seen]:
    """One finding: the first parameter that differs, the others beside it."""
    if not differing:
        return []
    parameter, classes = differing[0].parameter, differing[0].classes
    is_told = len(classes[0]) > len(classes[1])
    odd = [place for members in classes[1:] for place in members]
    here, other = odd[0], classes[0][0]
    how = _how(ranks, parameter, here, other, problems, is_cancelled)
    numbers = [ranks[place].rank for place in odd]
    where, row = ranks[here], parameter.leaves[here]
    names = list(dict.fromkeys(one.parameter.name for one in differing))
    return [
        Seen(
            rule="replica",
            severity="warning" if how.is_rounding else "error",
            role="origin",
            subject=parameter.name,
            text="replica-one" if is_told else "replica",
            next_step="next-replica",
            where=where,
            call=where.call_of(row),
            values={
                "ranks": ", ".join(str(number) for number in numbers[:8]),
                "other": ranks[other].rank,
                "n": len(names),
            },
            figures={
                "different_ranks": numbers,
                "other_rank": ranks[other].rank,
                "n_parameters": len(names),
                **how.figures(),
            },
            related=tuple(("suspect", name) for name in names[1:20]),
            calls=((where, where.call_of(row)),),
        )
    ]


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
