"""One origin with all that is known of it, gathered once for report, table and detail."""

from __future__ import annotations

from dataclasses import dataclass

from .analyse import Overflow
from .context import Context
from .diagnosis import Diagnosis, diagnose
from .health import MINUS, NAN, PLUS
from .places import Places
from .ranks import RankOverflow
from .roles import Origin
from .spread import Followers, Spread, spread_of
from .trace import Trace, trace


@dataclass(frozen=True, slots=True)
class Explained:
    """An origin with all that is known of it.

    places: of its first bad tensor, where elements were read. earlier_step: the last one before it that was
    captured, None for none.
    """

    place: int
    rank: RankOverflow
    origin: Origin
    trace: Trace
    diagnosis: Diagnosis
    spread: Spread
    places: Places | None
    context: Context
    earlier_step: int | None

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

    @property
    def is_doubtful(self) -> bool:
        """Saturated, although the device is said to write Inf."""
        return self.origin.cause == "operator" and self.is_saturated and self.context.saturation is False


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
        found.context,
        _earlier_step(found, rank),
    )


def _earlier_step(found: Overflow, rank: RankOverflow) -> int | None:
    if rank.step is None:
        return None
    steps = (r.step for r in found.ranks if r.capture == rank.capture and r.step is not None)
    return max((step for step in steps if step < rank.step), default=None)
