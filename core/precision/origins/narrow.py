"""A module that gives NaN or Inf is not where that began if a call of the target alone inside it made it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from npulse.core.calls.meetings import meetings_of
from npulse.core.formats.msprobe.construct import ancestors
from npulse.core.formats.msprobe.records import OUTPUT
from npulse.core.overflow.criteria import Criteria
from npulse.core.overflow.health import from_statistics
from npulse.core.overflow.roles import Roles as OwnRoles
from npulse.core.overflow.walk import walk

from ..role_records import INHERITED, ORIGIN, Origin
from ..verdict import REASON

if TYPE_CHECKING:
    from ..comparison import RankComparison

_NARROWED = frozenset(("operator", "scalar", "unmatched"))
"""Causes that may name a call around the one that made it, or behind it."""


def narrow_non_finite(ranks: Sequence[RankComparison]) -> list[RankComparison]:
    """The ranks, with origins whose output is NaN or Inf moved to the call that made it of finite inputs.

    A call of one side alone has no counterpart to be compared with, but NaN and Inf can be seen without one:
    the overflow area says which call made them. Only calls that the golden side does not make are named so;
    the others were compared. Cost: nothing where no origin is of that kind, else O(calls) of its rank.
    """
    for rank in ranks:
        wanted = list(_non_finite(rank))
        if not wanted:
            continue
        own = walk(
            rank.target,
            from_statistics(rank.target, Criteria().near_ratio),
            rank.construct,
            meetings_of(rank.target, rank.rank),
        )
        for origin in wanted:
            call = _made_by(rank, own, origin)
            if call >= 0:
                _move(rank, origin, call)
    return list(ranks)


def _non_finite(rank: RankComparison) -> Iterator[Origin]:
    """Origins of calls of the target that are told by NaN or Inf at other places."""
    for origin in rank.roles.origins:
        row = origin.first_row if origin.first_row >= 0 else origin.row
        is_seen = row >= 0 and rank.rows.reason[row] == REASON["nonfinite"]
        if origin.cause in _NARROWED and is_seen and rank.rows.pairing.target_call[origin.call] >= 0:
            yield origin


def _made_by(rank: RankComparison, own: OwnRoles, origin: Origin) -> int:
    """The call of the pairing that made what is bad in an origin, -1 where it is that one itself."""
    pairing = rank.rows.pairing
    here = int(pairing.target_call[origin.call])
    source = own.cause_of.get(here, -1)
    began = own.origin_of(source)
    if source in (-1, here) or began is None or began.cause != "operator":
        return -1
    found = np.flatnonzero(pairing.target_call == source)
    if not len(found) or pairing.golden_call[found[0]] >= 0:
        return -1
    names = rank.target.calls.names
    is_alone = pairing.golden_call[origin.call] < 0
    is_inside = rank.construct is not None and names[here] in ancestors(rank.construct, names[source])
    return int(found[0]) if is_alone or is_inside else -1


def _move(rank: RankComparison, origin: Origin, call: int) -> None:
    roles, pairing = rank.roles, rank.rows.pairing
    argument = origin.row if origin.cause == "scalar" else -1
    first_row = origin.first_row if origin.first_row >= 0 else origin.row
    roles.origins.remove(origin)
    if roles.call[call] != ORIGIN:
        roles.origins.append(Origin(call, "unmatched", -1, first_row, argument=argument))
        roles.origins.sort(key=lambda one: (one.call, one.row))
    for row in range(*np.searchsorted(pairing.row_call, [origin.call, origin.call + 1]).tolist()):
        if roles.row[row] == ORIGIN and row != argument:
            roles.row[row] = INHERITED
    roles.call[origin.call] = INHERITED
    roles.explained_by[origin.call] = call
    roles.call[call] = ORIGIN
    span = slice(*np.searchsorted(pairing.row_call, [call, call + 1]).tolist())
    roles.row[span][rank.rows.sides()[span] == OUTPUT] = ORIGIN
