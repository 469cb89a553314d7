"""Collectives of several ranks as one event each: who came late, by how much, and is it always the same.

A rank that comes last spends the least time in the collective: the others wait in it. Operations are paired
by group and name, and where names differ (they carry a hash of the communicator) by their order in the group
and what they move.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from statistics import mean, pstdev

from npulse.core.dataclass import dataclass
from npulse.core.formats.profiling.records import CommunicationTime

_ORDER = re.compile(r"__(\d+)_(\d+)_(\d+)$", re.ASCII)
_SYMMETRIC = re.compile(r"all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|barrier", re.IGNORECASE)
"""Collectives that last as long for every rank; of a broadcast or a reduction the root is done first."""
_P2P = re.compile(r"send|receive|recv|batchsendrecv", re.IGNORECASE)
SAME_RATIO = 0.05
"""Durations nearer than this are no difference."""
SIGMAS = 3
LEAST_VOTES = 3
MANY = 100

_DIXON = {
    3: 0.994, 4: 0.920, 5: 0.823, 6: 0.744, 7: 0.680, 8: 0.723, 9: 0.676, 10: 0.638, 11: 0.707, 12: 0.675,
    13: 0.649, 14: 0.672, 15: 0.649, 16: 0.629, 20: 0.568, 24: 0.526, 32: 0.473, 48: 0.414, 64: 0.382,
    100: 0.341,
}  # fmt: skip
"""Critical values of the one-sided Dixon test at 0.995, by the number of ranks."""


@dataclass(frozen=True, slots=True)
class RankCommunication:
    """What one rank says of its communication: operations in order of time."""

    name: str
    rank: int | None
    operations: tuple[CommunicationTime, ...]


@dataclass(frozen=True, slots=True)
class Collective:
    """One collective of several ranks. Lists are in the order of `names` (of profiles).

    elapse_ms: how long each rank was in it. late: name of the rank that came last, None where none stands
    out. wait_ms: how long the first one waited longer than the last. size_mb: what it moved, the largest that
    a rank says; is_size_equal: False where ranks say different sizes. is_by_order: names did not agree.
    """

    step: str
    group: str
    op: str
    names: tuple[str, ...]
    elapse_ms: tuple[float, ...]
    start_ns: tuple[int | None, ...]
    late: str | None
    wait_ms: float
    size_mb: float | None
    is_size_equal: bool
    is_by_order: bool

    @property
    def offset_ns(self) -> int | None:
        """From the first rank's begin to the last one's; None where some rank tells no time."""
        known = [start for start in self.start_ns if start is not None]
        return max(known) - min(known) if len(known) == len(self.start_ns) and known else None


@dataclass(frozen=True, slots=True)
class Paired:
    """All collectives that could be paired. votes: rank's profile -> how often it came last. n_unpaired:
    operations that no other rank has; n_by_rank: operations of each rank."""

    collectives: tuple[Collective, ...]
    votes: dict[str, int]
    n_unpaired: int
    n_by_rank: dict[str, int]

    @property
    def slow(self) -> tuple[str, int] | None:
        """The rank that came last in three or more collectives, and in more than half of those in which any
        stands out."""
        total = sum(self.votes.values())
        name, n = max(self.votes.items(), key=lambda item: item[1], default=("", 0))
        return (name, n) if 2 * n > total and n >= LEAST_VOTES else None


def pair_collectives(ranks: Sequence[RankCommunication]) -> Paired:
    """The collectives of all ranks. Point to point operations are left out: they have one sender.

    Cost: linear in the operations.
    """
    buckets: dict[tuple[str, str, str, int], dict[str, CommunicationTime]] = {}
    exact: dict[tuple[str, str, str], dict[str, list[CommunicationTime]]] = {}
    n_by_rank = {}
    for rank in ranks:
        own = [op for op in rank.operations if _is_collective(op)]
        n_by_rank[rank.name] = len(own)
        for op in own:
            exact.setdefault((op.step, op.group, op.name), {}).setdefault(rank.name, []).append(op)
    left: dict[str, list[CommunicationTime]] = {rank.name: [] for rank in ranks}
    found: list[Collective] = []
    for (step, group, name), by_rank in exact.items():
        n = min(map(len, by_rank.values()))
        if len(by_rank) > 1:
            for i in range(n):
                found.append(
                    _collective(step, group, name, {r: ops[i] for r, ops in by_rank.items()}, by_order=False)
                )
        for rank_name, ops in by_rank.items():
            left[rank_name] += ops[n if len(by_rank) > 1 else 0 :]
    n_unpaired = 0
    for rank_name, ops in left.items():
        seen: Counter[tuple[str, str, str]] = Counter()
        for op in sorted(ops, key=lambda op: (op.start_ns is None, op.start_ns or 0)):
            key = (op.step, _kind(op.name), _size_key(op))
            buckets.setdefault((*key, seen[key]), {})[rank_name] = op
            seen[key] += 1
    for (step, kind, _, _), members in buckets.items():
        if len(members) > 1:
            group = next(iter(members.values())).group
            found.append(_collective(step, group, kind, members, by_order=True))
        else:
            n_unpaired += 1
    found.sort(key=lambda one: min((s for s in one.start_ns if s is not None), default=0))
    votes = Counter(one.late for one in found if one.late is not None)
    return Paired(tuple(found), dict(votes), n_unpaired, n_by_rank)


def late_rank(elapses: Sequence[float]) -> int | None:
    """The place of the rank that came last: the shortest, if it stands out; None where none does.

    Up to 100 ranks by the one-sided Dixon test at 0.995, with three or fewer by a difference of 5 %; beyond
    that below the mean by three deviations.
    """
    n = len(elapses)
    if n < 2:
        return None
    place = min(range(n), key=lambda i: elapses[i])
    low, high = elapses[place], max(elapses)
    if high <= 0 or (high - low) <= SAME_RATIO * high:
        return None
    if n <= 3 or len(set(elapses)) <= 3:
        others = [value for i, value in enumerate(elapses) if i != place]
        return place if min(others) - low > SAME_RATIO * min(others) else None
    if n > MANY:
        centre, deviation = mean(elapses), pstdev(elapses)
        is_low = low < centre - SIGMAS * deviation or high > centre + SIGMAS * deviation
        return place if is_low else None
    return place if _dixon(sorted(elapses)) > _critical(n) else None


def _dixon(ordered: Sequence[float]) -> float:
    """The ratio of Dixon's test for the smallest value."""
    n = len(ordered)
    inner, outer = (1, n - 1) if n <= 7 else (1, n - 2) if n <= 10 else (2, n - 2) if n <= 13 else (2, n - 3)
    span = ordered[outer] - ordered[0]
    return (ordered[inner] - ordered[0]) / span if span > 0 else 0.0


def _critical(n: int) -> float:
    """The critical value for n ranks; between two known numbers the stricter one."""
    return _DIXON[max(known for known in _DIXON if known <= n)]


def _is_collective(op: CommunicationTime) -> bool:
    is_p2p = op.is_p2p if op.is_p2p is not None else bool(_P2P.search(op.name))
    return not op.is_total and not is_p2p and op.elapse_ms is not None


def _kind(name: str) -> str:
    """The operation without its numbers: hcom_allReduce__865_0_1 -> hcom_allReduce."""
    return _ORDER.sub("", name)


def _size(op: CommunicationTime) -> float | None:
    sizes = [link.size_mb for link in op.links if link.size_mb is not None]
    return sum(sizes) if sizes else None


def _size_key(op: CommunicationTime) -> str:
    size = _size(op)
    return "" if size is None else f"{size:.3g}"


def _collective(
    step: str, group: str, name: str, members: dict[str, CommunicationTime], *, by_order: bool
) -> Collective:
    names = tuple(members)
    elapses = tuple(op.elapse_ms or 0.0 for op in members.values())
    sizes = [size for op in members.values() if (size := _size(op)) is not None]
    place = late_rank(elapses) if _SYMMETRIC.search(name) else None
    return Collective(
        step,
        group,
        name,
        names,
        elapses,
        tuple(op.start_ns for op in members.values()),
        None if place is None else names[place],
        max(elapses) - min(elapses),
        max(sizes) if sizes else None,
        not sizes or max(sizes) - min(sizes) <= 0.01 * max(sizes),
        by_order,
    )
