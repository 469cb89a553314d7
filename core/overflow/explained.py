"""One origin with all that is known of it, gathered once for report, table and detail."""

from __future__ import annotations

from dataclasses import dataclass

from .analyse import Overflow
from .diagnosis import Diagnosis, diagnose
from .health import MINUS, NAN, PLUS
from .places import Places
from .ranks import RankOverflow
from .roles import Origin
from .spread import Followers, Spread, spread_of
from .trace import Trace, trace


@dataclass(frozen=True, slots=True)
class Explained:
    """An origin with all that is known of it. places: of its first bad tensor, where elements were read."""

    place: int
    rank: RankOverflow
    origin: Origin
    trace: Trace
    diagnosis: Diagnosis
    spread: Spread
    places: Places | None

    @property
    def row(self) -> int:
        return self.origin.rows[0]

    @property
    def flags(self) -> int:
        found = 0
        for row in self.origin.rows:
            found |= int(self.rank.health.flags[row])
        return found

    @property
    def is_saturated(self) -> bool:
        return not self.flags & (NAN | PLUS | MINUS)


def explained(found: Overflow, place: int, origin: Origin, followers: Followers) -> Explained:
    """Trace, diagnosis and spread of one origin. Cost: a few passes over the columns of its rank."""
    rank = found.looked_through[place]
    criteria = found.settings.criteria
    depth = 0 if origin.cause in ("parameter", "input") else int(criteria.trace_calls)  # nothing fed those
    steps = trace(rank, origin, depth=depth, near_ratio=criteria.near_ratio)
    spread = spread_of(found, place, origin, followers)
    return Explained(
        place,
        rank,
        origin,
        steps,
        diagnose(rank, origin, spread.given),
        spread,
        found.places.get((place, origin.rows[0])),
    )
