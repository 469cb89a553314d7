"""Which profile of one round is compared with which of another, and the comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .changes.compare import Changes, compare
from .changes.side import side_of
from .criteria import Settings
from .operators.calls import calls_of

if TYPE_CHECKING:
    from .found import Analysed, Performance


def changes_since(settings: Settings, now: Analysed, before: Performance, name: str) -> Changes | None:
    """Against the same rank of the round before, else its first profile."""
    earlier = same_rank(before, now)
    return compared(earlier, now, settings, before.round, name) if earlier is not None else None


def same_rank(before: Performance, now: Analysed) -> Analysed | None:
    """The profile with rows of the same rank, else the one that is shown first."""
    candidates = [
        one for one in before.profiles if one.operators is not None and one.operators.usable is not None
    ]
    same = [one for one in candidates if one.profile.rank == now.profile.rank]
    if same:
        return same[0]
    is_shown = any(one is before.shown for one in candidates)
    return before.shown if is_shown else candidates[0] if candidates else None


def compared(before: Analysed, now: Analysed, settings: Settings, old: str, new: str) -> Changes | None:
    """Two profiles side by side; None where one of them has no rows. old, new: what they are called."""
    sides = []
    for one, label in ((before, old), (now, new)):
        table = one.profile.operators
        if table is None or one.operators is None or one.operators.usable is None:
            return None
        calls = calls_of(one.profile, table, one.operators.usable)
        sides.append(side_of(label or one.profile.label, calls, one.wall.wall))
    return compare(sides[0], sides[1], settings.criteria.noise_sigmas)
