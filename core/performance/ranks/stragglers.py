"""Which rank holds the others up, by logic: it has the most work of its own and waits the least.

The rank with the most communication time is a victim: it arrives first at the collective and waits there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from npulse.core.dataclass import dataclass

from .peers import Peers
from .times import RankTimes, middle

Cause = Literal["computing", "host"]
FEW = 3
"""So few ranks have no middle of their own: the slow one is told by the fastest one."""
SHARED_WAIT_RATIO = 0.3
"""So much of the excess must be seen as waiting at the others, or the ranks do not wait for each other."""


@dataclass(frozen=True, slots=True)
class Straggler:
    """The slow rank of a group of peers.

    cause: "computing", or "host" where it idles between kernels instead. excess_ns: above `typical_ns` (the
    median of the group, of up to three ranks the least). exposed_ns: communication that it does not hide, the
    lowest of the group where `is_least_waiting`. most_waiting: the rank with the most, a victim. waiting: the
    ranks that wait for it. wait_ns: the median of their excess of exposed communication over its own.
    """

    peers: Peers
    slow: RankTimes
    cause: Cause
    typical_ns: int
    excess_ns: int
    exposed_ns: int | None
    is_least_waiting: bool
    most_waiting: RankTimes | None
    waiting: tuple[RankTimes, ...]
    wait_ns: int

    @property
    def excess_percent(self) -> float:
        return 100 * self.excess_ns / self.typical_ns if self.typical_ns else 0.0


@dataclass(frozen=True, slots=True)
class Spread:
    """How far the ranks of a group lie apart: (largest - smallest) over the mean; None where unknown."""

    peers: Peers
    computing_percent: float | None
    exposed_percent: float | None
    free_percent: float | None


def straggler_of(peers: Peers, times: Sequence[RankTimes], slow_percent: float) -> Straggler | None:
    """The slow rank among peers, None where none is more than `slow_percent` above what is typical.

    Two kinds of work of its own are looked at: computing, then computing and idling together (a rank whose
    host is slow computes as much as the others). Cost: linear.
    """
    group = [one for one in times if one.profile.name in peers.names and one.computing_ns is not None]
    if len(group) < 2:
        return None
    by_computing = _slow(group, [one.computing_ns or 0 for one in group], slow_percent)
    if by_computing is not None:
        return _told(peers, group, *by_computing, "computing")
    if any(one.free_ns is None or one.exposed_ns is None for one in group):
        return None
    by_host = _slow(group, [one.own_ns for one in group], slow_percent)
    if by_host is not None:
        found = _told(peers, group, *by_host, "host")
        return found if found.is_least_waiting and found.waiting else None
    return None


def spread_of(peers: Peers, times: Sequence[RankTimes]) -> Spread:
    """The spread of each part, as the vendor's advisor compares ranks."""
    group = [one for one in times if one.profile.name in peers.names]
    return Spread(
        peers,
        _spread([one.computing_ns for one in group]),
        _spread([one.exposed_ns for one in group]),
        _spread([one.free_ns for one in group]),
    )


def _slow(
    group: Sequence[RankTimes], values: Sequence[int], slow_percent: float
) -> tuple[RankTimes, int, int] | None:
    """(rank, typical, excess) of the one with the most, if it is far enough above."""
    typical = (min(values) if len(values) <= FEW else middle(values)) or 0
    place = max(range(len(values)), key=lambda i: values[i])
    excess = values[place] - typical
    if not typical or 100 * excess <= slow_percent * typical:
        return None
    return group[place], typical, excess


def _told(
    peers: Peers, group: Sequence[RankTimes], slow: RankTimes, typical: int, excess: int, cause: Cause
) -> Straggler:
    known = [one for one in group if one.exposed_ns is not None]
    others = [one for one in known if one is not slow]
    exposed = slow.exposed_ns
    least = exposed is not None and all(exposed <= (one.exposed_ns or 0) for one in others)
    waiting: tuple[RankTimes, ...] = ()
    wait_ns = 0
    if exposed is not None:
        waits = [(one, (one.exposed_ns or 0) - exposed) for one in others]
        waiting = tuple(one for one, wait in waits if wait >= SHARED_WAIT_RATIO * excess)
        wait_ns = middle([wait for one, wait in waits if one in waiting]) or 0
    most = max(known, key=lambda one: one.exposed_ns or 0, default=None)
    return Straggler(
        peers, slow, cause, typical, excess, exposed, least, None if most is slow else most, waiting, wait_ns
    )


def _spread(values: Sequence[int | None]) -> float | None:
    known = [value for value in values if value is not None]
    mean = sum(known) / len(known) if known else 0
    return 100 * (max(known) - min(known)) / mean if len(known) > 1 and mean else None
