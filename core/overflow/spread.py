"""Where an origin went: the calls that inherit it, the collectives that carried it, the ranks it reached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from npulse.core.formats.msprobe.records import OUTPUT

from .analyse import Overflow, source_of
from .health import NAN
from .places import Places
from .ranks import Place, RankOverflow, largest_given
from .roles import Origin


@dataclass(frozen=True, slots=True)
class Spread:
    """hops: (call, rank that gave it, ranks that got it) in order. carried_by: names of those calls.

    affected_ranks: every rank that holds something of it, the origin's first. clean_before: those that had
    nothing bad before it came. first_nan: (place, call) of the first NaN that follows from it. given: absmax
    that each rank gave to a collective that is the origin itself. missing: ranks of its group that were not
    captured. places_of: where bad elements lie, by leaf row of the origin's rank.
    """

    hops: tuple[tuple[str, int | None, tuple[int, ...]], ...] = ()
    carried_by: tuple[str, ...] = ()
    affected_ranks: tuple[int, ...] = ()
    clean_before: tuple[int, ...] = ()
    first_nan: tuple[int, int] | None = None
    n_inherited: int = 0
    given: tuple[float, ...] = ()
    missing: tuple[int, ...] = ()
    begun_on: tuple[int, ...] = ()
    places_of: Mapping[int, Places] = field(default_factory=dict)


Followers = Mapping[Place, list[Place]]
"""Origin to every bad call that comes from it, itself included, in order."""


def followers_of(found: Overflow) -> Followers:
    """Every bad call sorted to the origin that it comes from. Cost: O(calls that have something bad)."""
    of_origin: dict[Place, list[Place]] = {}
    for place, rank in enumerate(found.looked_through):
        sources: dict[int, Place | None] = {}
        for call, cause in sorted(rank.roles.cause_of.items()):
            if cause not in sources:
                sources[cause] = source_of(found, place, call)
            source = sources[cause]
            if source is not None:
                of_origin.setdefault(source, []).append((place, call))
    return of_origin


def spread_of(found: Overflow, place: int, origin: Origin, followers: Followers) -> Spread:
    """Followed through all rank-steps of the capture. Cost: O(calls that follow from the origin)."""
    ranks = found.looked_through
    here = ranks[place]
    targets = together(found, place, origin)
    inherited = [at for target in targets for at in followers.get(target, ()) if at not in targets]
    reached: dict[int, int] = {}  # place to its first bad call of this origin
    for other, call in inherited:
        if ranks[other].step == here.step:
            reached[other] = min(call, reached.get(other, call))
    begun = {p for p, _ in targets}
    # a hop is what brought it to a rank that had nothing of it before
    arrived = [
        (ranks[p].carriers[c], p) for p, c in reached.items() if c in ranks[p].carriers and p not in begun
    ]
    arrived.sort(key=lambda one: (ranks[one[0][0]].clock.get(one[0][1], 0), one))
    hops = [(ranks[giver[0]].name(giver[1]), ranks[giver[0]].rank, ranks[p].rank) for giver, p in arrived]
    numbers = [ranks[other].rank for other in (*reached, *(p for p, _ in targets))]
    affected = sorted({n for n in numbers if n is not None})
    nan_calls = _first_nans(ranks, [at for at in inherited if ranks[at[0]].step == here.step])
    first_nan = min(
        nan_calls, key=lambda at: (ranks[at[0]].time_of(at[1]), at[0] != place, at[1]), default=None
    )
    return Spread(
        hops=tuple(_joined(hops)),
        carried_by=tuple(dict.fromkeys(name for name, _, _ in hops)),
        affected_ranks=tuple(affected) if len(affected) > 1 or hops else (),
        clean_before=_clean_before(ranks, reached, begun),
        first_nan=first_nan,
        n_inherited=len(inherited),
        given=_given(found, place, origin),
        missing=_missing(found, place, origin),
        begun_on=tuple(sorted(n for p in begun if (n := ranks[p].rank) is not None)),
        places_of={row: places for (at, row), places in found.places.items() if at == place},
    )


def together(found: Overflow, place: int, origin: Origin) -> list[Place]:
    """The origin itself, and where a reduction overflows by itself the same meeting on the other ranks."""
    ranks = found.looked_through
    here = ranks[place]
    targets = [(place, origin.call)]
    if origin.cause != "collective":
        return targets
    for other, rank in enumerate(ranks):
        if other == place or (rank.capture, rank.step) != (here.capture, here.step):
            continue
        for meeting in here.meetings.of_call.get(origin.call, ()):
            call = rank.meetings.calls.get(meeting)
            if call is not None and call in rank.roles.origin_calls():
                targets.append((other, call))
    return targets


def _joined(hops: list[tuple[str, int | None, int | None]]) -> list[tuple[str, int | None, tuple[int, ...]]]:
    """One entry a call and giver, with all ranks that got it."""
    groups: dict[tuple[str, int | None], list[int]] = {}
    for name, giver, getter in hops:
        groups.setdefault((name, giver), []).append(-1 if getter is None else getter)
    return [(name, giver, tuple(sorted(set(getters)))) for (name, giver), getters in groups.items()]


def _clean_before(
    ranks: tuple[RankOverflow, ...], reached: Mapping[int, int], begun: set[int]
) -> tuple[int, ...]:
    """Ranks in which nothing bad stands in front of what came from this origin."""
    found = []
    for other, call in reached.items():
        number = ranks[other].rank
        first = min(ranks[other].roles.cause_of, default=call)
        if other not in begun and number is not None and first >= call:
            found.append(number)
    return tuple(sorted(found))


def _first_nans(ranks: tuple[RankOverflow, ...], calls: list[Place]) -> list[Place]:
    """Of each rank-step the first of these calls that has NaN."""
    found: dict[int, Place] = {}
    for at in calls:
        if at[0] not in found and _has_nan(ranks[at[0]], at[1]):
            found[at[0]] = at
    return list(found.values())


def _has_nan(rank: RankOverflow, call: int) -> bool:
    rows = rank.dump.leaf_range(call)
    flags = rank.health.flags[rows.start : rows.stop]
    sides = rank.dump.leaves.side[rows.start : rows.stop]
    return bool(((flags & NAN != 0) & (sides == OUTPUT)).any())


def _given(found: Overflow, place: int, origin: Origin) -> tuple[float, ...]:
    """What every rank gave to a collective that is itself the origin."""
    if origin.cause != "collective":
        return ()
    ranks = found.looked_through
    here = ranks[place]
    values = []
    for other in ranks:
        if (other.capture, other.step) != (here.capture, here.step):
            continue
        for meeting in here.meetings.of_call.get(origin.call, ()):
            call = other.meetings.calls.get(meeting)
            if call is not None:
                values.append(largest_given(other, call))
    return tuple(value for value in values if np.isfinite(value))


def _missing(found: Overflow, place: int, origin: Origin) -> tuple[int, ...]:
    ranks = found.looked_through
    here = ranks[place]
    members = here.meetings.members(origin.call) if origin.cause == "peer" else None
    captured = {r.rank for r in ranks if (r.capture, r.step) == (here.capture, here.step)}
    return tuple(sorted(set(members) - captured)) if members is not None else ()
