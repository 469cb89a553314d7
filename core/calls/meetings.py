"""In which communication calls ranks meet: found in each dump alone, equal on all ranks that take part.

Ranks meet in order: the third all_reduce over one group is the same event on each of its ranks. What two
ranks send and receive is counted for each pair of them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from npulse.core.dataclass import dataclass
from npulse.core.formats.msprobe.names import parse_name
from npulse.core.formats.msprobe.records import OBJECT, SCALAR, Dump

from .apis import COMMUNICATION

SENDS, RECEIVES = frozenset(("send", "isend")), frozenset(("recv", "irecv"))
"""APIs between two ranks alone: what one calls, the other answers."""

FROM_ONE = frozenset(("broadcast", "scatter"))
"""Collectives in which only what the source was given counts; the others' buffers are written over."""

TO_ONE = frozenset(("reduce", "gather"))
"""Collectives whose result only one rank gets."""

BUFFERS = frozenset(("output", "output_tensor", "output_tensor_list", "tensor_list", "gather_list"))
"""Keywords of tensors that a collective only writes to (as positional arguments the tool leaves them out)."""

Meeting = tuple[Any, ...]
"""What the calls have in common in which ranks meet: direction, API and group, or the two ends, and a
running number."""


@dataclass(slots=True)
class Meetings:
    """The communication calls of one rank-step.

    of_call: call to its meetings (several for a batch of sends and receives). calls: the other way round.
    sent: meetings in which this rank is the one that sends. source: call to the rank that a broadcast or
    scatter starts from, destination: call to the only rank that gets the result. buffers: call to the ios
    (as in `LeafColumns.io`) of tensors in a batch that are received into. group: call to the ranks that it
    names, () where it names none (all ranks).
    """

    rank: int | None = None
    calls: dict[Meeting, int] = field(default_factory=dict)
    of_call: dict[int, tuple[Meeting, ...]] = field(default_factory=dict)
    sent: set[Meeting] = field(default_factory=set)
    source: dict[int, int] = field(default_factory=dict)
    destination: dict[int, int] = field(default_factory=dict)
    buffers: dict[int, frozenset[str]] = field(default_factory=dict)
    group: dict[int, tuple[int, ...]] = field(default_factory=dict)

    def is_sender(self, call: int) -> bool:
        """True where the rank sends in one of the call's meetings."""
        return not self.sent.isdisjoint(self.of_call.get(call, ()))

    def is_given(self, call: int) -> bool:
        """True where what this rank gave to the call counts: not where a peer writes over it."""
        source = self.source.get(call)
        return source is None or self.rank is None or source == self.rank

    def is_buffer(self, call: int, api: str, io: str) -> bool:
        """True for a tensor that the call only writes to: what it held before does not matter."""
        word = io.partition(" ")[2].partition(".")[0]
        is_scattered = api == "scatter" and word in ("0", "tensor")
        return api in RECEIVES or is_scattered or word in BUFFERS or io in self.buffers.get(call, ())

    def members(self, call: int) -> tuple[int, ...] | None:
        """The ranks that take part in a call as its records tell; None where they do not (all ranks)."""
        named = self.group.get(call, ())
        ends = [m for m in self.of_call.get(call, ()) if m[1] == "send"]
        if ends:
            return tuple(sorted({end for m in ends for end in m[2:4] if end is not None}))
        return named or None


def meetings_of(dump: Dump, rank: int | None) -> Meetings:
    """The communication calls of a dump. Cost: one look at each distinct call name's prefix."""
    found, counts = Meetings(rank), dict[Meeting, int]()
    for call, full in enumerate(dump.calls.names):
        if not full.startswith(COMMUNICATION):
            continue
        name = parse_name(full)
        if name.prefix in COMMUNICATION:
            _add(found, counts, dump, call, name.api, name.direction)
    return found


def _add(
    found: Meetings, counts: dict[Meeting, int], dump: Dump, call: int, api: str, direction: str
) -> None:
    arguments = _Arguments.of(dump, call)
    rank, keys, sends = found.rank, list[Meeting](), list[bool]()
    for op, peer in arguments.batch:
        is_send = op in SENDS
        keys.append((direction, "send", rank if is_send else peer, peer if is_send else rank))
        sends.append(is_send)
    if api in SENDS:
        keys.append((direction, "send", rank, arguments.end("dst")))
        sends.append(True)
    elif api in RECEIVES:
        keys.append((direction, "send", arguments.end("src"), rank))
        sends.append(False)
    elif not keys:
        keys.append((direction, api, arguments.group))
        sends.append(False)
    meetings = []
    for key, is_send in zip(keys, sends, strict=True):
        counts[key] = counts.get(key, 0) + 1
        meeting = (*key, counts[key])
        meetings.append(meeting)
        found.calls[meeting] = call
        if is_send:
            found.sent.add(meeting)
    found.of_call[call] = tuple(meetings)
    found.group[call] = arguments.group
    found.buffers[call] = arguments.buffers
    for apis, word, ends in ((FROM_ONE, "src", found.source), (TO_ONE, "dst", found.destination)):
        end = arguments.end(word)
        if api in apis and end is not None:
            ends[call] = end


@dataclass(slots=True)
class _Arguments:
    """What a communication call was told beside its tensors."""

    group: tuple[int, ...] = ()
    ends: Mapping[str, int] = field(default_factory=dict)
    batch: tuple[tuple[str, int | None], ...] = ()
    buffers: frozenset[str] = frozenset()

    def end(self, word: str) -> int | None:
        """The rank given as that keyword, else as the second argument."""
        return self.ends.get(f"kwargs {word}", self.ends.get("input 1"))

    @classmethod
    def of(cls, dump: Dump, call: int) -> _Arguments:
        leaves = dump.leaves
        group: tuple[int, ...] = ()
        ends: dict[str, int] = {}
        batch: list[tuple[str, int | None]] = []
        buffers: list[str] = []
        for row in dump.leaf_range(call):
            kind = leaves.kind[row]
            if kind not in (SCALAR, OBJECT):
                continue
            record = dump.leaf(row)
            if record.type.endswith("ProcessGroup"):
                group = group_ranks(record.value)
            elif record.type.endswith("P2POp"):
                batch.append(_sent_or_received(record.value))
                if batch[-1][0] in RECEIVES:
                    buffers.append(f"{record.io}.tensor")
            elif record.io in ("input 1", "kwargs src", "kwargs dst") and type(record.value) is int:
                ends[record.io] = record.value
        return cls(group, ends, tuple(batch), frozenset(buffers))


def group_ranks(value: Any) -> tuple[int, ...]:
    """The ranks that a printed process group names, () where it does not."""
    ranks = _printed_fields(value).get("group_ranks")
    return tuple(r for r in ranks if type(r) is int) if isinstance(ranks, list) else ()


def _sent_or_received(value: Any) -> tuple[str, int | None]:
    fields = _printed_fields(value)
    peer = fields.get("peer")
    return str(fields.get("op", "")), peer if type(peer) is int else None


def _printed_fields(value: Any) -> dict[str, Any]:
    try:
        fields = json.loads(str(value))
    except ValueError:
        return {}
    return fields if isinstance(fields, dict) else {}
