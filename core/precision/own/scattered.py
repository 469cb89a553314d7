"""Collectives of one part a rank, handed out or put together: every part against what was given."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from npulse.core.calls.tensors import open_place, problem_of
from npulse.core.dataclass import dataclass
from npulse.core.findings import Problem
from npulse.core.formats.msprobe.records import INPUT, KWARGS, OUTPUT, SCALAR
from npulse.core.formats.tensors import TensorError
from npulse.core.progress import IsCancelled

from .content import shape_of, unit_roundoff
from .met import Met, leaves_of, seen_not_given
from .model import Captured, Seen
from .reductions import (
    MAX_READ,
    Part,
    Values,
    differing,
    far_by_statistics,
    far_from_reductions,
    judged,
    recorded,
    ways_of,
)

_REDUCED = frozenset(("reduce_scatter", "reduce_scatter_tensor", "_reduce_scatter_base"))
_GATHERED = frozenset(("all_gather_into_tensor", "_all_gather_base"))
_EXCHANGED = frozenset(("all_to_all_single",))
PARTED = _REDUCED | _GATHERED | _EXCHANGED
"""Collectives whose tensors are made of as many parts as there are ranks."""

_KEYWORDS = ("input", "input_tensor", "input_list")


@dataclass(frozen=True, slots=True)
class _Piece:
    """Elements of a leaf from one on; member: whose leaf it is."""

    member: int
    row: int
    first: int = 0


@dataclass(frozen=True, slots=True)
class _Result:
    """A piece of a result and what makes it: added up, or handed on as it is."""

    made: _Piece
    given: tuple[_Piece, ...]
    size: int


def scattered(met: Met, problems: list[Problem], is_cancelled: IsCancelled) -> tuple[Seen | None, bool]:
    """What does not follow from the inputs, and whether it was found that the results do.

    Cost: O(bytes of the inputs and outputs). Nothing is said where the parts are of unequal size.
    """
    members = sorted(met.members, key=lambda member: member[0].rank or 0)
    results = _results(met.api, members)
    if not results:
        return None, False
    pieces = {(piece.member, piece.row) for one in results for piece in (one.made, *one.given)}
    places = {key: members[key[0]][0].place(key[1]) for key in pieces}
    ordered = Met(met.key, tuple(members), met.is_whole, met.source)
    if None in places.values() or len(members) > MAX_READ:
        return _by_statistics(ordered, results)
    try:
        files = {key: open_place(place) for key, place in places.items() if place is not None}
        for one in results:
            parts = [Part(files[p.member, p.row], p.first) for p in (one.made, *one.given)]
            if met.api in _REDUCED:
                ways = ways_of(*members[one.made.member])
                far = far_from_reductions(parts, one.size, ways, is_cancelled)
                wrong, _ = judged(ordered, far, ways, "elements", one.made.member)
                if wrong is not None or not far:
                    return wrong, False
            elif (how := differing(parts[0], parts[1], one.size, is_cancelled)) is not None:
                giver = members[one.given[0].member][0].rank
                values: dict[str, object] = {"rank": giver, "output": "output 0"}
                return seen_not_given(
                    ordered, "collective-handed", values, how.figures(), one.made.member
                ), False
    except TensorError as error:
        problems.append(problem_of(error, *(place for place in places.values() if place is not None)))
        return None, False
    return None, True


def _results(api: str, members: Sequence[tuple[Captured, int]]) -> list[_Result]:
    """Every piece of every rank's result; [] where the shapes do not make one part a rank."""
    n = len(members)
    made = [leaves_of(one, call, OUTPUT, "output 0").get("output 0", -1) for one, call in members]
    given = [_given(one, call) for one, call in members]
    if min(made) < 0 or not all(given) or len({len(rows) for rows in given}) > 1:
        return []
    if any(_has_sizes(one, call) for one, call in members):
        return []
    out = {_size(one, row) for (one, _), row in zip(members, made, strict=True)}
    into = {_size(one, row) for (one, _), rows in zip(members, given, strict=True) for row in rows}
    if len(out) != 1 or len(into) != 1 or 0 in out | into:
        return []
    (n_out,), (n_in,) = out, into
    ranks = range(n)
    if api in _REDUCED and len(given[0]) == n and n_in == n_out:
        return [
            _Result(_Piece(i, made[i]), tuple(_Piece(j, given[j][i]) for j in ranks), n_out) for i in ranks
        ]
    if len(given[0]) != 1:
        return []
    if api in _REDUCED and n_in == n * n_out:
        return [
            _Result(_Piece(i, made[i]), tuple(_Piece(j, given[j][0], i * n_out) for j in ranks), n_out)
            for i in ranks
        ]
    if api in _GATHERED and n_out == n * n_in:
        return [_Result(_Piece(0, made[0], i * n_in), (_Piece(i, given[i][0]),), n_in) for i in ranks]
    if api in _EXCHANGED and n_out == n_in and n_in % n == 0:
        part = n_in // n
        return [
            _Result(_Piece(i, made[i], j * part), (_Piece(j, given[j][0], i * part),), part)
            for i in ranks
            for j in ranks
        ]
    return []


def _given(one: Captured, call: int) -> list[int]:
    """The tensor that a rank gives, or the list of them."""
    words = [(INPUT, "input 1"), *((KWARGS, f"kwargs {word}") for word in _KEYWORDS)]
    for side, word in words:
        found = leaves_of(one, call, side, word) or leaves_of(one, call, side, f"{word}.")
        if found:
            return list(found.values())
    return []


def _has_sizes(one: Captured, call: int) -> bool:
    """Whether the sizes of the parts were given: they may be unequal."""
    leaves = one.dump.leaves
    scalars = (row for row in one.dump.leaf_range(call) if leaves.kind[row] == SCALAR)
    names = (leaves.io_names[int(leaves.io[row])] for row in scalars)
    return any("split" in io or io.startswith(("input 2.", "input 3.")) for io in names)


def _size(one: Captured, row: int) -> int:
    shape = shape_of(one, row)
    return math.prod(shape) if shape is not None else 0


def _by_statistics(met: Met, results: Sequence[_Result]) -> tuple[Seen | None, bool]:
    """All results together against all inputs together: extremes and means, wherever what part has gone."""
    made = _as_one(met, dict.fromkeys((one.made.member, one.made.row) for one in results))
    one = met.members[0][0]
    roundoff = unit_roundoff(one, results[0].made.row)
    if made is None or not roundoff:
        return None, False
    if met.api in _REDUCED:
        of_rank: dict[int, dict[tuple[int, int], None]] = {}
        for result in results:
            for piece in result.given:
                of_rank.setdefault(piece.member, {})[piece.member, piece.row] = None
        ways = ways_of(*met.members[0])
        given = [_as_one(met, rows) for rows in of_rank.values()]
        return judged(met, far_by_statistics(made, given, roundoff, ways), ways, "statistics")
    given_all = _as_one(met, {(p.member, p.row): None for result in results for p in result.given})
    far = far_by_statistics(made, [given_all], roundoff, ["SUM", "MAX", "MIN"])
    if not far:
        return None, False
    if max(far.values()) <= 1:
        return None, True
    return seen_not_given(met, "collective-parts", {}, {"basis": "statistics"}), False


def _as_one(met: Met, rows: dict[tuple[int, int], None]) -> Values | None:
    """Max, Min, Mean and Norm of tensors of one size, seen as one; None where not all are known."""
    told = [recorded(met.members[member][0], row) for member, row in rows]
    known = np.array([four for four in told if four is not None])
    if len(known) < len(told) or not len(known):
        return None
    return np.array(
        [known[:, 0].max(), known[:, 1].min(), known[:, 2].mean(), float(np.hypot.reduce(known[:, 3]))]
    )
