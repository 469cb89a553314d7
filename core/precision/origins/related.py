"""What belongs to an origin: the first operator that differs, its producer, the meetings, what inherits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from npulse.core.findings import Related
from npulse.core.formats.msprobe.construct import ancestors
from npulse.core.formats.msprobe.names import parse_name
from npulse.core.formats.msprobe.records import OUTPUT

from ..comparison import RankComparison
from ..pairing.told import group_members
from ..role_records import INHERITED, UNMATCHED, Origin
from ..row_facts import row_figures

N_INHERITING = 3
"""Inherited calls that are named with an origin."""


def each_once(related: Iterable[Related]) -> tuple[Related, ...]:
    """Of one subject the first entry."""
    found: dict[str, Related] = {}
    for one in related:
        found.setdefault(one.subject, one)
    return tuple(found.values())


def related_of(
    rank: RankComparison, origin: Origin, inheriting: Mapping[int, Sequence[int]]
) -> tuple[Related, ...]:
    """First differing matched operator, the producer, and up to three operators that inherit.

    inheriting: what `inheriting_calls` says of this rank.
    """
    rows = rank.rows
    related: list[Related] = []
    if origin.cause == "unmatched":
        call = int(rows.pairing.row_call[origin.first_row])
        related.append(
            Related(
                "inherited",
                rows.pairing.name(rank.target, rank.golden, call),
                row_figures(rank, origin.first_row),
            )
        )
    if origin.producer >= 0:
        related.append(Related("ok", rows.pairing.name(rank.target, rank.golden, origin.producer)))
    if origin.cause == "drift":
        call = steepest_growth(rank, origin.call)
        if call >= 0:
            related.append(Related("suspect", rows.pairing.name(rank.target, rank.golden, call)))
    related += [Related("ok", name) for name in group_members(rank, origin.call)]
    related += [Related("unmatched", name) for name in _alone_inside(rank, origin.call)[:3]]
    for call in inheriting.get(origin.call, ()):
        name = rows.pairing.name(rank.target, rank.golden, call)
        if all(r.subject != name for r in related):
            related.append(Related("inherited", name))
    return tuple(related)


def _alone_inside(rank: RankComparison, call: int) -> list[str]:
    """Calls of one side alone inside this module: what it does that the other side's does not."""
    pairing = rank.rows.pairing
    module = pairing.name(rank.target, rank.golden, call)
    if rank.construct is None or parse_name(module).kind != "module":
        return []
    names = (
        pairing.name(rank.target, rank.golden, other)
        for other in np.flatnonzero(rank.roles.call == UNMATCHED).tolist()
    )
    return [name for name in names if module in ancestors(rank.construct, name)]


def began_at(rank: RankComparison, call: int) -> int:
    """The call at the end of the chain of explanations of an inherited call."""
    seen: set[int] = set()
    while call in rank.roles.explained_by and call not in seen:
        seen.add(call)
        call = rank.roles.explained_by[call]
    return call


def inheriting_calls(rank: RankComparison) -> dict[int, list[int]]:
    """Where chains of explanations end -> the first N_INHERITING inherited calls behind it that they lead to.

    What `began_at` says of every inherited call, in one walk. Cost: linear in the calls.
    """
    explained_by = rank.roles.explained_by
    begun: dict[int, int] = {}
    found: dict[int, list[int]] = {}
    for call in np.flatnonzero(rank.roles.call == INHERITED).tolist():
        at, passed = call, set[int]()
        while at in explained_by and at not in begun and at not in passed:
            passed.add(at)
            at = explained_by[at]
        beginning = begun.get(at, at)
        if at not in passed:  # a ring ends elsewhere from each of its calls
            begun.update(dict.fromkeys(passed, beginning))
        behind = found.setdefault(beginning, [])
        if beginning < call and len(behind) < N_INHERITING:
            behind.append(call)
    return found


def steepest_growth(rank: RankComparison, until: int) -> int:
    """The call up to `until` whose output error grew most over its largest input error; -1 if none."""
    rows = rank.rows
    error = np.fmax(rows.figures["rel_l2"], rows.figures["rel_l2_at_least"])
    is_output = _is_output(rank)
    best, best_growth = -1, 0.0
    row_call = rows.pairing.row_call
    for call in range(until + 1):
        span = slice(*np.searchsorted(row_call, [call, call + 1]))
        inside = error[span]
        made, given = inside[is_output[span]], inside[~is_output[span]]
        if not len(made) or not len(given) or np.isnan(made).all() or np.isnan(given).all():
            continue
        growth = float(np.nanmax(made) - np.nanmax(given))
        if growth > best_growth:
            best, best_growth = call, growth
    return best


def _is_output(rank: RankComparison) -> np.ndarray[Any, np.dtype[np.bool_]]:
    result: np.ndarray[Any, np.dtype[np.bool_]] = rank.rows.target_sides() == OUTPUT
    return result
