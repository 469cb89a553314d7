"""How the time of each rank divides, a step on the average: what ranks are compared by.

From step_trace_time where it is there, else from the union of intervals (`wall`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from npulse.core.dataclass import dataclass
from npulse.core.formats.profiling.records import StepTime

from ..profile import Profile
from ..wall.record import Wall

MAX_TIME_NS = 10**15
"""No step is longer (11 days): what is, is a counter that ran below zero."""


@dataclass(frozen=True, slots=True)
class RankTimes:
    """Mean times of one rank over the steps that all ranks have, int ns; None where nothing says it.

    n_steps: how many. basis: "step_trace_time", or the word of the wall's source.
    """

    profile: Profile
    computing_ns: int | None
    exposed_ns: int | None
    communication_ns: int | None
    free_ns: int | None
    bubble_ns: int | None
    n_steps: int
    basis: str

    @property
    def rank(self) -> int | None:
        return self.profile.rank

    @property
    def own_ns(self) -> int:
        """What the rank spends on its own account: computing and waiting for its host."""
        return (self.computing_ns or 0) + (self.free_ns or 0)


def times_of(profiles: Sequence[Profile], walls: Mapping[str, Wall]) -> tuple[RankTimes, ...]:
    """The times of every rank for which any are recorded, by rank. walls: by name of the profile.

    Steps that some rank lacks are left out where at least one step is common to all.
    """
    with_steps = [profile for profile in profiles if profile.steps]
    common = _common_steps(with_steps)
    found = []
    for profile in profiles:
        if profile.steps:
            steps = [s for s in profile.steps if not common or s.step in common]
            found.append(_from_steps(profile, steps))
        elif profile.name in walls:
            found.append(_from_wall(profile, walls[profile.name]))
    return tuple(sorted(found, key=lambda times: (times.rank is None, times.rank or 0)))


def middle(values: Iterable[int | None]) -> int | None:
    """The median of those that are known, None if none is."""
    known = [value for value in values if value is not None]
    return round(median(known)) if known else None


def _common_steps(profiles: Sequence[Profile]) -> frozenset[str]:
    steps = [frozenset(step.step for step in profile.steps) for profile in profiles]
    return frozenset.intersection(*steps) if steps else frozenset()


def _from_steps(profile: Profile, steps: Sequence[StepTime]) -> RankTimes:
    return RankTimes(
        profile,
        _mean(step.computing_ns for step in steps),
        _mean(step.communication_not_overlapped_ns for step in steps),
        _mean(step.communication_ns for step in steps),
        _mean(step.free_ns for step in steps),
        _mean(step.bubble_ns for step in steps),
        len({step.step for step in steps}),
        "step_trace_time",
    )


def _from_wall(profile: Profile, wall: Wall) -> RankTimes:
    return RankTimes(
        profile,
        wall.compute_ns,
        wall.communication_not_overlapped_ns,
        wall.communication_ns,
        wall.idle_ns,
        None,
        1,
        wall.source,
    )


def _mean(values: Iterable[int | None]) -> int | None:
    """None where any is unknown: a mean over some steps would be compared with one over others."""
    kept = list(values)
    if not kept or any(value is None or not 0 <= value < MAX_TIME_NS for value in kept):
        return None
    return round(sum(value or 0 for value in kept) / len(kept))
