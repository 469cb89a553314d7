"""Between steps: a weight that arrives bad was broken by the step before, if that one was captured."""

from __future__ import annotations

from collections.abc import Sequence

from .ranks import RankOverflow
from .roles import INHERITED, Origin

CausedBy = dict[tuple[int, int], tuple[int, int]]
"""(place of a rank-step, call) that is no origin of its own, to the origin in an earlier step."""


def follow_steps(ranks: Sequence[RankOverflow]) -> CausedBy:
    """Takes weights that an earlier captured step broke out of the origins; says which origin broke them."""
    found: CausedBy = {}
    broken_by: dict[tuple[str, int | None, str], tuple[int, int]] = {}  # a weight once broken stays so
    in_order = sorted(enumerate(ranks), key=lambda one: (one[1].step or 0, one[0]))
    for place, here in in_order:
        if here.step is None:
            continue
        weights = [origin for origin in here.roles.origins if origin.cause == "parameter"]
        before = _origin_before(ranks, here) if weights else None
        for origin in weights:
            weight = (here.capture, here.rank, here.dump.leaf_name(origin.rows[0]))
            cause = broken_by.setdefault(weight, before or (place, origin.call))
            if cause == (place, origin.call):
                continue
            found[place, origin.call] = cause
            here.roles.origins.remove(origin)
            for row in origin.rows:
                here.roles.row[row] = INHERITED
    return found


def _origin_before(ranks: Sequence[RankOverflow], here: RankOverflow) -> tuple[int, int] | None:
    """The first origin of the nearest earlier step of the same capture: this rank's if it can be."""
    assert here.step is not None
    earlier: list[tuple[int, bool, int, Origin]] = []
    for place, other in enumerate(ranks):
        if other.capture == here.capture and other.step is not None and other.step < here.step:
            first = min(other.roles.origins, key=lambda origin: origin.call, default=None)
            if first is not None:
                earlier.append((-other.step, other.rank != here.rank, place, first))
    if not earlier:
        return None
    _, _, place, first = min(earlier, key=lambda one: one[:3])
    return place, first.call
