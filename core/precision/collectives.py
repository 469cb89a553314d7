"""Between ranks: a collective, a receive or a module that communicates carries a peer's difference on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from npulse.core.calls.clocks import clocks_of
from npulse.core.calls.meetings import Meetings, meetings_of
from npulse.core.formats.msprobe.names import parse_name
from npulse.core.formats.msprobe.records import INPUT, KWARGS, OUTPUT, PARAMETERS, TENSOR

from .role_records import INHERITED, ORIGIN, UNKNOWN_ROLE, Origin, Roles
from .rows import BY_STATISTICS
from .same_module import SameModule
from .verdict import ERROR

if TYPE_CHECKING:
    from .comparison import RankComparison

GIVEN = (INPUT, KWARGS, PARAMETERS)

Walk = Callable[[frozenset[int]], Roles]
"""The roles of one rank, given the calls that only carry what a peer was given."""

Place = tuple[int, int]
"""A call: place of its rank in the list of ranks, and its number in the pairing."""


def carry_through_collectives(
    ranks: Sequence[RankComparison], walks: Sequence[Walk], known: Sequence[Mapping[int, Place]] = ()
) -> list[RankComparison]:
    """The ranks with roles in which what a peer was given wrong is no origin here.

    walks: for each rank its roles, given the calls that only carry. known: such calls of each rank, with what
    they carry. Ranks meet within a step: each step is followed by itself, and what comes of several is
    put together as it stands. Cost: O(calls) where several ranks differ, for each step its ranks squared.
    """
    found = list(ranks)
    if len(found) < 2 or not any(_differs(rank) for rank in found):
        return found
    of_step: dict[int | None, list[int]] = {}
    for place, rank in enumerate(found):
        of_step.setdefault(rank.step, []).append(place)
    for places in of_step.values():
        within = {place: number for number, place in enumerate(places)}
        given = (
            [{c: (within[p], o) for c, (p, o) in known[place].items()} for place in places] if known else ()
        )
        part = _of_step([found[p] for p in places], [walks[p] for p in places], given, n_rounds=len(found))
        for place, rank in zip(places, part, strict=True):
            carried = {call: (places[peer], other) for call, (peer, other) in rank.carried.items()}
            found[place] = replace(rank, carried=carried)
    return found


def _of_step(
    ranks: Sequence[RankComparison],
    walks: Sequence[Walk],
    known: Sequence[Mapping[int, Place]],
    *,
    n_rounds: int,
) -> list[RankComparison]:
    """The ranks of one step, by their places in it. A rank is walked again when a peer turns out to have been
    given bad inputs, until nothing changes."""
    found = list(ranks)
    meetings = [_meetings(rank) for rank in found]
    modules = SameModule(ranks)
    modules.look_up(name for rank in found for _, name in _modules_that_began(rank))
    carried: list[dict[int, Place]] = [{} for _ in found]
    if known:
        carried = [dict(calls) for calls in known]
        for place, calls in enumerate(carried):
            if calls:
                found[place] = replace(found[place], roles=walks[place](frozenset(calls)))
    for _ in range(n_rounds):
        before = [len(calls) for calls in carried]
        for place, here in enumerate(found):
            for call in _exchanges(here, meetings[place]):
                giver = _giver(found, meetings, modules, place, call)
                if giver is not None:
                    carried[place].setdefault(call, giver)
            if len(carried[place]) != before[place]:
                found[place] = replace(here, roles=walks[place](frozenset(carried[place])))
        if before == [len(calls) for calls in carried]:
            break
    for place, here in enumerate(found):
        for origin in list(here.roles.origins):
            call = origin.call
            is_met = bool(_met(found, meetings, modules, place, call))
            if call in meetings[place].of_call and not is_met and not _has_tensor_input(here, call):
                _set_unknown(here, origin)
    return _with_clocks(found, meetings, carried)


def _with_clocks(
    ranks: Sequence[RankComparison], meetings: Sequence[Meetings], carried: Sequence[Mapping[int, Place]]
) -> list[RankComparison]:
    """With what brought the difference to which call, and one order for the calls of all ranks of a step."""
    found = []
    for rank, givers, clock in zip(ranks, carried, clocks_of(list(meetings)), strict=True):
        came = {call: giver for call, giver in sorted(givers.items()) if rank.roles.call[call] == INHERITED}
        found.append(replace(rank, clock=clock, carried=came))
    return found


def _differs(rank: RankComparison) -> bool:
    return bool(rank.roles.origins) or bool((rank.roles.call == UNKNOWN_ROLE).any())


def _exchanges(rank: RankComparison, meetings: Meetings) -> Iterator[int]:
    """Calls that may carry: communication, and modules that began something (ranks may meet inside them)."""
    yield from meetings.of_call
    for call, _ in _modules_that_began(rank):
        if call not in meetings.of_call:
            yield call


def _modules_that_began(rank: RankComparison) -> Iterator[tuple[int, str]]:
    """(call, name) of origins that are modules."""
    for origin in rank.roles.origins:
        if origin.cause in ("operator", "drift", "overwritten"):
            name = rank.rows.pairing.name(rank.target, rank.golden, origin.call)
            if parse_name(name).kind == "module":
                yield origin.call, name


def _giver(
    ranks: Sequence[RankComparison],
    meetings: Sequence[Meetings],
    modules: SameModule,
    place: int,
    call: int,
) -> Place | None:
    """The peer's call that was given what is wrong here; None where this rank was given it itself."""
    if is_given_bad(ranks[place], call):
        return None
    return next(
        (
            (peer, other)
            for peer, other in _met(ranks, meetings, modules, place, call)
            if is_given_bad(ranks[peer], other, is_sender=meetings[peer].is_sender(other))
        ),
        None,
    )


def _met(
    ranks: Sequence[RankComparison],
    meetings: Sequence[Meetings],
    modules: SameModule,
    place: int,
    call: int,
) -> list[Place]:
    """(place of the peer, its call) of all that meet with this call.

    Where only modules were captured, ranks meet inside those of one name.
    """
    here, met = ranks[place], meetings[place].of_call.get(call, ())
    name = here.rows.pairing.name(here.target, here.golden, call)
    found: list[Place] = []
    for peer in range(len(ranks)):
        if peer == place:
            continue
        if not met:
            found += [(peer, c) for c in modules.calls(peer, name)]
        found += [(peer, meetings[peer].calls[m]) for m in met if m in meetings[peer].calls]
    return found


def _set_unknown(rank: RankComparison, origin: Origin) -> None:
    """What was received is wrong, and nobody recorded what was sent."""
    rank.roles.origins.remove(origin)
    rank.roles.call[origin.call] = UNKNOWN_ROLE
    of_call = rank.rows.pairing.row_call == origin.call
    rank.roles.row[of_call & (rank.roles.row == ORIGIN)] = UNKNOWN_ROLE


def unsure_of_meetings(ranks: Sequence[RankComparison]) -> None:
    """No call in which ranks meet is an origin while some are to come: one of those may have given it."""
    for rank in ranks:
        met = _meetings(rank).of_call if rank.roles.origins else {}
        for origin in list(rank.roles.origins):
            if origin.call in met:
                _set_unknown(rank, origin)


def is_given_bad(rank: RankComparison, call: int, *, is_sender: bool = False) -> bool:
    """True if an input, argument or parameter of the call differs, or inherits.

    is_sender: what the call hands on counts too, since that is what was sent.
    """
    return any(
        rank.rows.verdict[row] == ERROR or rank.roles.row[row] in (ORIGIN, INHERITED)
        for row in _leaves_of(rank, call, GIVEN if not is_sender else (*GIVEN, OUTPUT))
    )


def _leaves_of(rank: RankComparison, call: int, sides: tuple[int, ...]) -> Iterator[int]:
    pairing, leaves = rank.rows.pairing, rank.target.leaves
    for row in range(*np.searchsorted(pairing.row_call, [call, call + 1]).tolist()):
        leaf = int(pairing.target_leaf[row])
        if leaf >= 0 and leaves.side[leaf] in sides:
            yield row


def _has_tensor_input(rank: RankComparison, call: int) -> bool:
    leaves = rank.target.leaves
    return any(leaves.kind[rank.rows.target_row(row)] == TENSOR for row in _leaves_of(rank, call, GIVEN))


def _meetings(rank: RankComparison) -> Meetings:
    """The target's meetings, by the calls of the pairing.

    Ranks that make one tensor together meet in it where it is compared as a whole (partial sums, statistics).
    """
    found = meetings_of(rank.target, rank.rank)
    steps = rank.rows.pairing.steps_of(len(rank.target.calls.names), is_target=True).tolist()
    place = {t: call for t, call in enumerate(steps) if call >= 0}
    calls = {meeting: place[t] for meeting, t in found.calls.items() if t in place}
    of_call = {place[t]: meetings for t, meetings in found.of_call.items() if t in place}
    for row, split in rank.rows.splits.items():
        call = int(rank.rows.pairing.row_call[row])
        is_shared = split.target.cut.is_sum or rank.rows.basis[row] == BY_STATISTICS
        if is_shared and len(split.group[0]) > 1 and call not in of_call:
            name = rank.rows.pairing.name(rank.target, rank.golden, call)
            of_call[call] = (("parts", name, split.group),)
            calls[of_call[call][0]] = call
    return replace(found, calls=calls, of_call=dict(sorted(of_call.items())))
