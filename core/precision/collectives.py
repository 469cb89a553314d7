"""Between ranks: a collective, a receive or a module that communicates carries a peer's difference on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from npulse.core.calls.apis import COMMUNICATION
from npulse.core.formats.msprobe.names import parse_name
from npulse.core.formats.msprobe.records import INPUT, KWARGS, OUTPUT, PARAMETERS, TENSOR

from .roles import INHERITED, ORIGIN, UNKNOWN_ROLE, Origin, Roles
from .verdict import ERROR

if TYPE_CHECKING:
    from .compare import RankComparison

SENDS, RECEIVES = ("send", "isend"), ("recv", "irecv")
"""APIs between two ranks alone: what one calls, the other answers."""

GIVEN = (INPUT, KWARGS, PARAMETERS)

Walk = Callable[[frozenset[int]], Roles]
"""The roles of one rank, given the calls that only carry what a peer was given."""

Meeting = tuple[Any, ...]
"""What the calls have in common in which ranks meet: API and group, or the two ends, and a running number."""


@dataclass(slots=True)
class _Meetings:
    """The communication calls of one rank, by what they meet in, and each call's meeting."""

    calls: dict[Meeting, int] = field(default_factory=dict)
    of_call: dict[int, Meeting] = field(default_factory=dict)
    senders: set[int] = field(default_factory=set)

    def is_sender(self, call: int) -> bool:
        return call in self.senders


def carry_through_collectives(ranks: Sequence[RankComparison], walks: Sequence[Walk]) -> list[RankComparison]:
    """The ranks with roles in which what a peer was given wrong is no origin here.

    walks: for each rank its roles, given the calls that only carry. A rank is walked again when a peer turns
    out to have been given bad inputs, until nothing changes. Cost: O(calls) where several ranks differ.
    """
    found = list(ranks)
    if len(found) < 2 or not any(_differs(rank) for rank in found):
        return found
    meetings = [_meetings(rank) for rank in found]
    carried: list[frozenset[int]] = [frozenset()] * len(found)
    for _ in found:
        before = list(carried)
        for place, here in enumerate(found):
            carried[place] |= frozenset(
                call
                for call in _exchanges(here, meetings[place])
                if _is_carried(found, meetings, place, call)
            )
            if carried[place] != before[place]:
                found[place] = replace(here, roles=walks[place](carried[place]))
        if carried == before:
            break
    for place, here in enumerate(found):
        for origin in list(here.roles.origins):
            call = origin.call
            is_met = bool(_met(found, meetings, place, call))
            if call in meetings[place].of_call and not is_met and not _has_tensor_input(here, call):
                _set_unknown(here, origin)
    return found


def _differs(rank: RankComparison) -> bool:
    return bool(rank.roles.origins) or bool((rank.roles.call == UNKNOWN_ROLE).any())


def _exchanges(rank: RankComparison, meetings: _Meetings) -> Iterator[int]:
    """Calls that may carry: communication, and modules that began something (ranks may meet inside them)."""
    yield from meetings.of_call
    for origin in rank.roles.origins:
        if origin.cause in ("operator", "drift", "overwritten") and origin.call not in meetings.of_call:
            if parse_name(rank.rows.pairing.name(rank.target, rank.golden, origin.call)).kind == "module":
                yield origin.call


def _is_carried(
    ranks: Sequence[RankComparison], meetings: Sequence[_Meetings], place: int, call: int
) -> bool:
    if is_given_bad(ranks[place], call):
        return False
    return any(
        is_given_bad(ranks[peer], other, is_sender=meetings[peer].is_sender(other))
        for peer, other in _met(ranks, meetings, place, call)
    )


def _met(
    ranks: Sequence[RankComparison], meetings: Sequence[_Meetings], place: int, call: int
) -> list[tuple[int, int]]:
    """(place of the peer, its call) of all that meet with this call."""
    here, meeting = ranks[place], meetings[place].of_call.get(call)
    found: list[tuple[int, int]] = []
    for peer, other in enumerate(ranks):
        if peer == place or other.step != here.step:
            continue
        if meeting is None:
            found += [(peer, c) for c in _same_module(other, here, call)]
        elif meeting in meetings[peer].calls:
            found.append((peer, meetings[peer].calls[meeting]))
    return found


def _set_unknown(rank: RankComparison, origin: Origin) -> None:
    """What was received is wrong, and nobody recorded what was sent."""
    rank.roles.origins.remove(origin)
    rank.roles.call[origin.call] = UNKNOWN_ROLE
    of_call = rank.rows.pairing.row_call == origin.call
    rank.roles.row[of_call & (rank.roles.row == ORIGIN)] = UNKNOWN_ROLE


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


def _same_module(peer: RankComparison, here: RankComparison, call: int) -> list[int]:
    """The peer's call of that name: where only modules were captured, ranks meet inside them."""
    name = here.rows.pairing.name(here.target, here.golden, call)
    return [
        other
        for other, t in enumerate(peer.rows.pairing.target_call.tolist())
        if t >= 0 and peer.target.calls.names[t] == name
    ]


def _meetings(rank: RankComparison) -> _Meetings:
    found, counts = _Meetings(), dict[Meeting, int]()
    pairing, names = rank.rows.pairing, rank.target.calls.names
    for call, t in enumerate(pairing.target_call.tolist()):
        if t < 0:
            continue
        name = parse_name(names[t])
        if name.prefix not in COMMUNICATION:
            continue
        if name.api in SENDS:
            found.senders.add(call)
        key = (name.direction, *_ends_or_group(rank, t, name.api))
        counts[key] = counts.get(key, 0) + 1
        meeting = (*key, counts[key])
        found.of_call[call] = meeting
        found.calls[meeting] = call
    return found


def _ends_or_group(rank: RankComparison, t: int, api: str) -> Meeting:
    group: tuple[int, ...] = ()
    peer: int | None = None
    for leaf in rank.target.leaf_range(t):
        record = rank.target.leaf(leaf)
        if record.type.endswith("ProcessGroup"):
            group = group_ranks(record.value)
        elif record.io in ("input 1", "kwargs src", "kwargs dst") and type(record.value) is int:
            peer = record.value
    if api in RECEIVES:
        return "send", peer, rank.rank
    if api in SENDS:
        return "send", rank.rank, peer
    return api, group


def group_ranks(value: Any) -> tuple[int, ...]:
    """The ranks that a printed process group names, () where it does not."""
    try:
        ranks = json.loads(str(value)).get("group_ranks")
    except (ValueError, AttributeError):
        return ()
    return tuple(r for r in ranks if type(r) is int) if isinstance(ranks, list) else ()
