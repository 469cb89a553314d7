"""Between ranks: a collective hands on what one rank gave; followed back to the rank where it began."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from npulse.core.calls.apis import plain_api
from npulse.core.calls.clocks import clocks_of, time_before
from npulse.core.calls.live import LiveRank
from npulse.core.calls.meetings import Meetings
from npulse.core.formats.msprobe.names import parse_name
from npulse.core.formats.msprobe.records import INPUT, KWARGS, TENSOR, Construct, Dump, Stacks
from npulse.core.run.model import Artifact

from .health import NAN, Health
from .roles import UNKNOWN_ROLE, Origin, Roles

MAX_RANKS = 1 << 16
REDUCTIONS = frozenset(
    ("all_reduce", "reduce", "reduce_scatter", "reduce_scatter_tensor", "reduce_scatter_base")
)
"""Collectives that add up (names without leading underscores)."""

SUM_SHARE = 1 - 2.0**-11
"""From this share of the largest value on a sum of what was given may round beyond it."""

Place = tuple[int, int]
"""A call: place of its rank in the list of ranks, and its number there."""


@dataclass(frozen=True, slots=True)
class RankOverflow:
    """One rank-step of one capture, looked through.

    capture: name of the dump root. carriers: calls that only hand on what a peer was given, to that peer's
    call. clock: for each communication call, in order, that of its meeting among all ranks of the step. live,
    n_open: where the run is followed; files that are named and half written.
    """

    artifact: Artifact
    capture: str
    root: Path
    dump: Dump
    health: Health
    construct: Construct | None
    meetings: Meetings
    roles: Roles
    carriers: dict[int, Place] = field(default_factory=dict)
    clock: dict[int, int] = field(default_factory=dict)
    stacks: Stacks | None = None
    live: LiveRank | None = None
    n_open: int = 0

    @property
    def rank(self) -> int | None:
        return self.artifact.rank

    @property
    def step(self) -> int | None:
        return self.artifact.step

    def name(self, call: int) -> str:
        return self.dump.calls.names[call]

    def time_of(self, call: int) -> int:
        """Order of a call among all ranks of its step: the last meeting in front of it; 0 before any."""
        return time_before(self.clock, call)


def follow_collectives(ranks: Sequence[RankOverflow]) -> list[RankOverflow]:
    """The ranks with carriers and clocks set: what a peer gave is no origin of the one that got it.

    Ranks of one capture and step meet; a rank that was not captured leaves an origin of cause "peer".
    Cost: O(communication calls), a few rounds where chains are long.
    """
    found = list(ranks)
    groups: dict[tuple[str, int | None], list[int]] = {}
    for place, rank in enumerate(found):
        groups.setdefault((rank.capture, rank.step), []).append(place)
    for places in groups.values():
        clocks = clocks_of([found[p].meetings for p in places])
        for place, clock in zip(places, clocks, strict=True):
            found[place] = replace(found[place], clock=clock)
        _settle(found, places)
    return found


def _settle(ranks: list[RankOverflow], places: Sequence[int]) -> None:
    known = _known_ranks(ranks, places)
    for place in places:
        here = ranks[place]
        for origin in list(here.roles.origins):
            if origin.cause == "collective":
                _settle_exchange(ranks, places, place, origin, known)
            elif origin.cause == "operator" and parse_name(here.name(origin.call)).kind == "module":
                giver = _first(ranks, _same_module(ranks, places, place, origin.call), (place, origin.call))
                if giver is not None:  # ranks meet inside a module of which nothing else was captured
                    here.carriers[origin.call] = giver
                    here.roles.drop(origin)


def _settle_exchange(
    ranks: list[RankOverflow], places: Sequence[int], place: int, origin: Origin, known: set[int]
) -> None:
    here, call = ranks[place], origin.call
    giver = _first(ranks, _givers(ranks, places, place, call), (place, call))
    if giver is not None:
        here.carriers[call] = giver
        here.roles.drop(origin)
        return
    is_whole = _all_captured(ranks, places, place, call, known)
    is_sure = is_whole and here.meetings.members(call) is not None
    if not is_sure and not (is_whole and _can_overflow(ranks, places, place, origin)):
        origin.cause = "peer"
        for row in origin.rows:
            here.roles.row[row] = UNKNOWN_ROLE


def _first(ranks: Sequence[RankOverflow], givers: Iterator[Place], getter: Place) -> Place | None:
    """The first of the givers that did not get it from the getter: a circle has no beginning to be named."""
    return next((giver for giver in givers if not _comes_from(ranks, giver, getter)), None)


def _comes_from(ranks: Sequence[RankOverflow], at: Place, source: Place) -> bool:
    """Whether what is bad at a call came from another one, by the carriers that were found so far."""
    while True:
        rank = ranks[at[0]]
        cause = rank.roles.cause_of.get(at[1], -1)
        if (at[0], cause) == source or cause not in rank.carriers:
            return (at[0], cause) == source
        at = rank.carriers[cause]


def _givers(ranks: Sequence[RankOverflow], places: Sequence[int], place: int, call: int) -> Iterator[Place]:
    """Peers that gave something bad to a meeting of this call."""
    for peer, other in _met(ranks, places, place, call):
        there = ranks[peer]
        if not there.meetings.is_given(other):
            continue
        sends_bad = there.meetings.is_sender(other) and other in there.roles.bad_outputs
        if other in there.roles.bad_given or sends_bad:
            yield peer, other


def _met(ranks: Sequence[RankOverflow], places: Sequence[int], place: int, call: int) -> Iterator[Place]:
    for meeting in ranks[place].meetings.of_call.get(call, ()):
        for peer in places:
            other = ranks[peer].meetings.calls.get(meeting)
            if peer != place and other is not None:
                yield peer, other


def _same_module(
    ranks: Sequence[RankOverflow], places: Sequence[int], place: int, call: int
) -> Iterator[Place]:
    name = ranks[place].name(call)
    for peer in places:
        if peer != place:
            there = ranks[peer]
            for other in there.roles.bad_given:
                if there.name(other) == name:
                    yield peer, other


def _all_captured(
    ranks: Sequence[RankOverflow], places: Sequence[int], place: int, call: int, known: set[int]
) -> bool:
    """Whether every rank that took part was captured and gave something that is known to be finite."""
    here = ranks[place]
    met = list(_met(ranks, places, place, call))
    members = here.meetings.members(call) or known
    numbers = {ranks[p].rank for p, _ in met} | {here.rank}
    if not set(members) <= numbers or len(members) < 2:
        return False  # a job of one process calls no collective that could bring in anything
    return all(_is_known(ranks[p], c) for p, c in (*met, (place, call)))


def _known_ranks(ranks: Sequence[RankOverflow], places: Sequence[int]) -> set[int]:
    """The ranks of a job as far as a capture tells: its own, those below them, and those that groups name."""
    named = {n for place in places for group in ranks[place].meetings.group.values() for n in group}
    ends = {
        n
        for place in places
        for meeting in ranks[place].meetings.calls
        if meeting[1] == "send"
        for n in meeting[2:4]
    }
    known = {n for n in (*named, *ends, *(ranks[place].rank for place in places)) if n is not None}
    return known | set(range(min(max(known, default=-1) + 1, MAX_RANKS)))


def is_reduction(name: str) -> bool:
    """Whether a call of that name adds up what the ranks give."""
    return plain_api(parse_name(name).api.lstrip("_")) in REDUCTIONS


def _can_overflow(ranks: Sequence[RankOverflow], places: Sequence[int], place: int, origin: Origin) -> bool:
    """Whether a sum of what was given is too large for the dtype. NaN is never the sum of finite values."""
    here = ranks[place]
    flags = 0
    for row in origin.rows:
        flags |= int(here.health.flags[row])
    if flags & NAN or not is_reduction(here.name(origin.call)):
        return False
    total = sum(
        largest_given(ranks[p], c)
        for p, c in (*_met(ranks, places, place, origin.call), (place, origin.call))
    )
    return bool(total >= float(here.health.largest[origin.rows[0]]) * SUM_SHARE)


def largest_given(rank: RankOverflow, call: int) -> float:
    """absmax of what a rank gave to a communication call; NaN where it is not known."""
    leaves, health = rank.dump.leaves, rank.health
    rows = [
        r
        for r in rank.dump.leaf_range(call)
        if leaves.side[r] in (INPUT, KWARGS) and leaves.kind[r] == TENSOR and health.is_known[r]
    ]
    return max((float(health.absmax[r]) for r in rows), default=float("nan"))


def _is_known(rank: RankOverflow, call: int) -> bool:
    """Some tensor was given, and of all that were given Max and Min are known."""
    from .walk import GIVEN

    leaves, health = rank.dump.leaves, rank.health
    given = [r for r in rank.dump.leaf_range(call) if leaves.side[r] in GIVEN and health.n_elements[r] >= 0]
    sent = rank.meetings.is_sender(call) or bool(given) or call in rank.meetings.source
    return sent and all(bool(health.is_known[r]) for r in given)
