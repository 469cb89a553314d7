"""Links between ranks: which is slow beside its kind, which transfers are too small to fill it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from npulse.core.dataclass import dataclass
from npulse.core.formats.profiling.records import CommunicationLink, CommunicationTime

NOMINAL_GB_PER_S: Mapping[str, float] = {"HCCS": 18.0, "PCIE": 20.0, "RDMA": 12.5, "SDMA": 18.0}
"""What the vendor's cluster analysis takes as the full rate of a link."""
SMALL_PACKET_MB: Mapping[str, float] = {"SDMA": 16.0, "RDMA": 1.0}
"""Transfers below this do not fill the link, by the vendor's advisor."""
SMALL_PACKET_RATIO = 0.2
LEAST_MB = 1.0
"""Less than this tells nothing of a rate: the time is set by the latency."""
ALL_OPERATIONS = "Total Op Info"
"""The tool's sum over all operations of a communicator."""
RETRANSMIT_MS = 4000.0
"""RDMA sends again after about four seconds: an operation that takes longer on every rank shows it."""
_MB_PER_MS = 1.0  # MB/ms = GB/s with decimal units, as the tools count


@dataclass(frozen=True, slots=True)
class LinkRate:
    """All that went from one rank to another over one kind of link.

    source, target: ranks of the job, or places in `group` where nothing says which ranks those are.
    """

    source: int
    target: int
    transport: str
    group: str
    size_mb: float
    time_ms: float

    @property
    def gb_per_s(self) -> float:
        return self.size_mb / self.time_ms * _MB_PER_MS if self.time_ms > 0 else 0.0


@dataclass(frozen=True, slots=True)
class SlowLink:
    """A link below the mean of its kind. usual_gb_per_s: mean rate of the others of its kind."""

    link: LinkRate
    usual_gb_per_s: float
    n_of_kind: int

    @property
    def percent(self) -> float:
        return 100 * self.link.gb_per_s / self.usual_gb_per_s

    @property
    def lost_ms(self) -> float:
        """What the same bytes would take less at the usual rate."""
        return self.link.time_ms - self.link.size_mb / self.usual_gb_per_s / _MB_PER_MS


@dataclass(frozen=True, slots=True)
class SmallPackets:
    """Too many small transfers over one kind of link. ratio: their share of all transfers."""

    transport: str
    ratio: float
    n: int
    limit_mb: float
    time_ms: float


@dataclass(frozen=True, slots=True)
class Retransmission:
    """An operation that took so long on every rank that RDMA must have sent again."""

    op: str
    least_elapse_ms: float
    most_transit_ms: float


def rates(
    links: Iterable[CommunicationLink], groups: Mapping[str, Sequence[int]] | None = None
) -> tuple[LinkRate, ...]:
    """What went over each link in all. Where the file sums up an operation ("-total") only the sum counts.

    groups: name of a communicator -> its ranks in order, to tell which ranks its places are.
    """
    kept = [one for one in links if one.op != ALL_OPERATIONS]
    with_total = {
        (one.step, one.op.rsplit("-", 1)[0], one.group) for one in kept if one.op.endswith("-total")
    }
    sums: dict[tuple[int, int, str, str], list[float]] = {}
    for one in kept:
        kind = (one.step, one.op.rsplit("-", 1)[0], one.group)
        if kind in with_total and not one.op.endswith("-total"):
            continue
        if one.source == one.target or one.transport == "LOCAL" or not one.size_mb or not one.time_ms:
            continue
        members = (groups or {}).get(one.group, ())
        source, target = (members[r] if 0 <= r < len(members) else r for r in (one.source, one.target))
        total = sums.setdefault((source, target, one.transport, "" if members else one.group), [0.0, 0.0])
        total[0] += one.size_mb
        total[1] += one.time_ms
    return tuple(LinkRate(*key, size, time) for key, (size, time) in sorted(sums.items()))


def slow_links(found: Sequence[LinkRate], percent: float) -> tuple[SlowLink, ...]:
    """Links below `percent` of the mean rate of the others of their kind, the most time lost first."""
    slow = []
    for transport in sorted({one.transport for one in found}):
        kind = [one for one in found if one.transport == transport and one.size_mb >= LEAST_MB]
        total = sum(one.gb_per_s for one in kind)
        for one in kind:
            usual = (total - one.gb_per_s) / (len(kind) - 1) if len(kind) > 1 else 0.0
            if usual > 0 and 100 * one.gb_per_s < percent * usual:
                slow.append(SlowLink(one, usual, len(kind)))
    return tuple(sorted(slow, key=lambda one: -one.lost_ms))


def small_packets(operations: Iterable[CommunicationTime]) -> tuple[SmallPackets, ...]:
    """By kind of link, where more than a fifth of the transfers are small. Sums of the tool are left out."""
    counts: dict[str, list[float]] = {}
    for op in operations:
        if op.is_total:
            continue
        for link in op.links:
            limit = SMALL_PACKET_MB.get(link.transport)
            if limit is None:
                continue
            count = counts.setdefault(link.transport, [0.0, 0.0, 0.0])
            for size_mb, n, time_ms in link.packets:
                count[0] += n
                if size_mb < limit:
                    count[1] += n
                    count[2] += time_ms
    return tuple(
        SmallPackets(transport, small / n, int(small), SMALL_PACKET_MB[transport], time_ms)
        for transport, (n, small, time_ms) in sorted(counts.items())
        if n and small / n > SMALL_PACKET_RATIO
    )


def retransmissions(by_rank: Mapping[str, Sequence[CommunicationTime]]) -> tuple[Retransmission, ...]:
    """Operations of at least four seconds on every rank with a transit of that length over RDMA on one."""
    members: dict[tuple[str, str, str], list[CommunicationTime]] = {}
    for operations in by_rank.values():
        for op in operations:
            if not op.is_total and op.elapse_ms is not None:
                members.setdefault((op.step, op.group, op.name), []).append(op)
    found = []
    for (_, _, name), ops in members.items():
        least = min(op.elapse_ms or 0.0 for op in ops)
        transits = [
            link.time_ms for op in ops for link in op.links if link.transport == "RDMA" and link.time_ms
        ]
        most = max(transits, default=0.0)
        if least >= RETRANSMIT_MS and most > RETRANSMIT_MS:
            found.append(Retransmission(name, least, most))
    return tuple(sorted(found, key=lambda one: -one.least_elapse_ms))
