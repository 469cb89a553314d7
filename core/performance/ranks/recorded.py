"""Ranks that recorded no real work: named before anything is compared, and left out of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from npulse.core.dataclass import dataclass

from .times import RankTimes, middle

Why = Literal["not exported", "no times", "no computing", "fewer steps"]
NEXT_TO_NOTHING_RATIO = 0.01
"""Computing below this share of the median is no work: a profiler that began too late, or an idle rank."""


@dataclass(frozen=True, slots=True)
class Unrecorded:
    """One rank, why it is left out, and the figures that say so. label: how it is called."""

    label: str
    name: str
    rank: int | None
    why: Why
    computing_ns: int | None = None
    median_computing_ns: int | None = None


def unrecorded(
    times: Sequence[RankTimes], raw: Sequence[tuple[str, str, int | None]]
) -> tuple[Unrecorded, ...]:
    """Of all ranks those without real work. raw: (label, folder, rank) of those that were never exported."""
    found = [Unrecorded(label, name, rank, "not exported") for label, name, rank in raw]
    typical = middle(one.computing_ns for one in times)
    for one in times:
        label, name = one.profile.label, one.profile.name
        if one.computing_ns is None:
            found.append(Unrecorded(label, name, one.rank, "no times"))
        elif typical and one.computing_ns < typical * NEXT_TO_NOTHING_RATIO:
            found.append(Unrecorded(label, name, one.rank, "no computing", one.computing_ns, typical))
        elif not typical and not one.computing_ns and not one.communication_ns:
            found.append(Unrecorded(label, name, one.rank, "no computing", one.computing_ns, typical))
    return tuple(found)
