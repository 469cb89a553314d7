"""Between ranks: a collective, a receive or a module that communicates carries a peer's difference on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from npulse.core.formats.msprobe.names import parse_name
from npulse.core.formats.msprobe.records import INPUT, KWARGS, PARAMETERS, TENSOR

from .roles import INHERITED, ORIGIN, UNKNOWN_ROLE, Origin
from .verdict import ERROR

if TYPE_CHECKING:
    from .compare import RankComparison

COMMUNICATION = ("Distributed", "MintDistributed")
"""Prefixes of API calls in which ranks exchange tensors."""

SENDERS = {"recv": ("send", "isend"), "irecv": ("send", "isend")}
"""What a peer calls where this rank receives from one peer alone."""

Meeting = tuple[Any, ...]
"""What the calls have in common in which ranks meet: API and group, or the two ends, and a running number."""


@dataclass(slots=True)
class _Meetings:
    """The communication calls of one rank, by what they meet in, and each call's meeting."""

    calls: dict[Meeting, int] = field(default_factory=dict)
    of_call: dict[int, Meeting] = field(default_factory=dict)


def carry_through_collectives(ranks: Sequence[RankComparison]) -> None:
    """Take back origins that a peer's bad input explains. Changes the roles of `ranks`.

    Cost: O(calls) where several ranks differ, else nothing.
    """
    if len(ranks) < 2 or not any(rank.roles.origins for rank in ranks):
        return
    meetings = [_meetings(rank) for rank in ranks]
    for here, mine in zip(ranks, meetings, strict=True):
        peers = [
            (other, theirs)
            for other, theirs in zip(ranks, meetings, strict=True)
            if other is not here and other.step == here.step
        ]
        for origin in list(here.roles.origins):
            if origin.cause in ("operator", "drift"):
                _judge(here, origin, mine, peers)


def _judge(
    here: RankComparison, origin: Origin, mine: _Meetings, peers: Sequence[tuple[RankComparison, _Meetings]]
) -> None:
    name = parse_name(here.rows.pairing.name(here.target, here.golden, origin.call))
    meeting = mine.of_call.get(origin.call)
    met = [
        (peer, call)
        for peer, theirs in peers
        for call in (
            [theirs.calls[meeting]]
            if meeting in theirs.calls
            else _same_module(peer, here, origin.call)
            if name.kind == "module"
            else ()
        )
    ]
    if any(is_given_bad(peer, call) for peer, call in met):
        _take_back(here, origin, INHERITED)
    elif meeting is not None and not met and not _has_tensor_input(here, origin.call):
        # what was received is wrong, and nobody recorded what was sent
        _take_back(here, origin, UNKNOWN_ROLE)


def _take_back(rank: RankComparison, origin: Origin, role: int) -> None:
    rank.roles.origins.remove(origin)
    rank.roles.call[origin.call] = role
    of_call = rank.rows.pairing.row_call == origin.call
    rank.roles.row[of_call & (rank.roles.row == ORIGIN)] = role


def is_given_bad(rank: RankComparison, call: int) -> bool:
    """True if an input, argument or parameter of the call differs, or inherits."""
    return any(
        rank.rows.verdict[row] == ERROR or rank.roles.row[row] in (ORIGIN, INHERITED)
        for row in _given(rank, call)
    )


def _given(rank: RankComparison, call: int) -> Iterator[int]:
    pairing, leaves = rank.rows.pairing, rank.target.leaves
    for row in range(*np.searchsorted(pairing.row_call, [call, call + 1]).tolist()):
        leaf = int(pairing.target_leaf[row])
        if leaf >= 0 and leaves.side[leaf] in (INPUT, KWARGS, PARAMETERS):
            yield row


def _has_tensor_input(rank: RankComparison, call: int) -> bool:
    leaves = rank.target.leaves
    return any(leaves.kind[rank.rows.target_row(row)] == TENSOR for row in _given(rank, call))


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
    if api in SENDERS:
        return "send", peer, rank.rank
    if api in ("send", "isend"):
        return "send", rank.rank, peer
    return api, group


def group_ranks(value: Any) -> tuple[int, ...]:
    """The ranks that a printed process group names, () where it does not."""
    try:
        ranks = json.loads(str(value)).get("group_ranks")
    except (ValueError, AttributeError):
        return ()
    return tuple(r for r in ranks if type(r) is int) if isinstance(ranks, list) else ()
