"""The way of a difference over the ranks: from the call where it began through those in which they meet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..role_records import Origin

if TYPE_CHECKING:
    from ..comparison import Comparison, RankComparison

Place = tuple[int, int]
"""A call: place of its rank in `Comparison.ranks`, and its number in the pairing."""


@dataclass(frozen=True, slots=True)
class Hop:
    """A call in which ranks met and that brought a difference to ranks that had nothing of it before.

    time: its order among the meetings of the step. giver: rank number (None: not recorded).
    """

    time: int
    call: str
    giver: int | None
    getters: tuple[int | None, ...]


def source_of(comparison: Comparison, place: int, call: int) -> Place:
    """Where the difference in a call began, followed back over calls and ranks."""
    at = (place, call)
    seen: set[Place] = set()
    while at not in seen:
        seen.add(at)
        rank = comparison.ranks[at[0]]
        if at[1] in rank.carried:
            at = rank.carried[at[1]]
        elif at[1] in rank.roles.explained_by:
            at = (at[0], rank.roles.explained_by[at[1]])
    return at


def hops_of(comparison: Comparison, rank: RankComparison, origin: Origin) -> tuple[Hop, ...]:
    """The meetings that spread an origin, in order; a rank is told once, where it first got it.

    Cost: O(communication calls that carry something) times the length of their chains.
    """
    begun = next(place for place, one in enumerate(comparison.ranks) if one is rank)
    first: dict[int, tuple[int, int]] = {}  # place to (time, call) of what first came from this origin
    for place, there in enumerate(comparison.ranks):
        if place == begun or there.step != rank.step:
            continue
        for call in there.carried:
            if source_of(comparison, place, call) == (begun, origin.call):
                first[place] = there.clock.get(call, 0), call
                break  # calls stand in order, and their times with them
    grouped: dict[tuple[int, str, int | None], list[int | None]] = {}
    for place, (time, call) in sorted(first.items(), key=lambda one: (one[1][0], one[0])):
        there = comparison.ranks[place]
        peer, other = there.carried[call]
        giver = comparison.ranks[peer]
        name = giver.rows.pairing.name(giver.target, giver.golden, other)
        grouped.setdefault((time, name, giver.rank), []).append(there.rank)
    return tuple(Hop(time, name, giver, tuple(ranks)) for (time, name, giver), ranks in grouped.items())
