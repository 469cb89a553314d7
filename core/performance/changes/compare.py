"""What changed from one round to the next: in all, by operator type, and by replaced operators."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from npulse.core.dataclass import dataclass

from ..wall.record import Wall
from .align import Aligned, Replacement, aligned, next_door
from .noise import Difference, difference
from .side import Side, spread_of_calls, spread_of_steps

LEAST_SHARE = 0.001
"""Types below this share of the step in both rounds are not told one by one."""
MAX_NEXT_DOOR = 40
"""Types whose neighbours are looked at, the largest change first."""


@dataclass(frozen=True, slots=True)
class TypeChange:
    """An operator type that both rounds, or one of them, ran. Times of a step.

    n_before, n_after: calls of a step. beside: what the calls next to it became slower, by type (ns, calls),
    in the typical step. side_ns: those together.
    """

    name: str
    time: Difference
    n_before: float
    n_after: float
    beside: tuple[tuple[str, int, int], ...] = ()

    @property
    def side_ns(self) -> int:
        return sum(delta for _, delta, _ in self.beside)

    @property
    def net_ns(self) -> int:
        """Its own difference and that of its neighbours."""
        return self.time.delta_ns + self.side_ns


@dataclass(frozen=True, slots=True)
class Changes:
    """Two rounds side by side. before, after: their labels.

    totals: "step" (wall), "busy", "idle", "kernels" (sum of all durations), "communication": as far as both
    rounds tell them. types: the largest difference first. aligned: None where a step has too many calls.
    n_steps: of both. is_same_amount: both ran the same number of calls a step, within 1 %.
    """

    before: str
    after: str
    totals: Mapping[str, Difference]
    types: tuple[TypeChange, ...]
    aligned: Aligned | None
    n_steps: tuple[int, int]
    n_calls: tuple[float, float]

    @property
    def replacements(self) -> tuple[Replacement, ...]:
        return self.aligned.replacements if self.aligned is not None else ()

    @property
    def is_same_amount(self) -> bool:
        before, after = self.n_calls
        return abs(after - before) <= 0.01 * max(before, after)


def compare(before: Side, after: Side, sigmas: float) -> Changes:
    """Align two rounds by operator. sigmas: how many deviations a difference must have to be one."""
    lined = aligned(before, after)
    types = _types(before, after, sigmas)
    if lined is not None:
        sure = frozenset(one.name for one in types if one.time.verdict in ("better", "worse"))
        types = tuple(
            _with_neighbours(one, before, after, lined, sure) if place < MAX_NEXT_DOOR else one
            for place, one in enumerate(types)
        )
    return Changes(
        before.label,
        after.label,
        _totals(before, after, sigmas),
        types,
        lined,
        (before.n_steps, after.n_steps),
        (len(before.calls) / before.n_steps, len(after.calls) / after.n_steps),
    )


def _types(before: Side, after: Side, sigmas: float) -> tuple[TypeChange, ...]:
    rows: dict[str, list[tuple[float, float, float, float]]] = {}
    for place, side in enumerate((before, after)):
        means = side.per_step_ns.mean(axis=1) if len(side.calls.kinds) else np.zeros(0)
        steps, calls = spread_of_steps(side.per_step_ns), spread_of_calls(side)
        counts = np.bincount(side.calls.kind[side.calls.kind >= 0], minlength=len(side.calls.kinds))
        for code, name in enumerate(side.calls.kinds):
            if counts[code]:
                pair = rows.setdefault(name, [_NOTHING, _NOTHING])
                pair[place] = (means[code], steps[code], calls[code], counts[code] / side.n_steps)
    least = LEAST_SHARE * max(before.step_total_ns.mean(), after.step_total_ns.mean(), 1)
    found = [
        TypeChange(
            name,
            difference(old[0], new[0], (old[1], new[1]), (old[2], new[2]), sigmas),
            old[3],
            new[3],
        )
        for name, (old, new) in rows.items()
        if max(old[0], new[0]) >= least
    ]
    return tuple(sorted(found, key=lambda one: (-abs(one.time.delta_ns), one.name)))


_NOTHING = (0.0, 0.0, 0.0, 0.0)
"""Mean, deviations by steps and by calls, calls of a type that a round does not have: exactly none."""


def _with_neighbours(
    one: TypeChange, before: Side, after: Side, lined: Aligned, sure: frozenset[str]
) -> TypeChange:
    """sure: types whose own change is beyond the noise; what others next door do may be chance."""
    if one.name not in sure or not one.n_before or not one.n_after:
        return one
    beside = tuple(it for it in next_door(before, after, lined.pairs, one.name) if it[0] in sure)
    return TypeChange(one.name, one.time, one.n_before, one.n_after, beside)


def _totals(before: Side, after: Side, sigmas: float) -> dict[str, Difference]:
    found = {}
    walls = [_of_wall(side.wall, side.n_steps) for side in (before, after)]
    for name in ("step", "busy", "idle", "communication"):
        old, new = (figures.get(name) for figures in walls)
        if old is not None and new is not None:
            found[name] = difference(old[0], new[0], (old[1], new[1]), (math.nan, math.nan), sigmas)
    sums = [side.step_total_ns for side in (before, after)]
    steps = [float(spread_of_steps(total[None, :])[0]) for total in sums]
    calls = [_together(spread_of_calls(side)) for side in (before, after)]
    found["kernels"] = difference(
        sums[0].mean(), sums[1].mean(), (steps[0], steps[1]), (calls[0], calls[1]), sigmas
    )
    return found


def _of_wall(wall: Wall | None, n_steps: int) -> dict[str, tuple[float, float]]:
    """Mean and deviation of the mean, of a step."""
    if wall is None:
        return {}
    if wall.steps:
        parts = {
            "step": [step.wall_ns for step in wall.steps],
            "busy": [step.busy_ns for step in wall.steps],
            "idle": [step.idle_ns for step in wall.steps],
            "communication": [step.communication_ns for step in wall.steps],
        }
        return {name: _mean(values) for name, values in parts.items()}
    whole = {
        "step": wall.wall_ns,
        "busy": wall.busy_ns,
        "idle": wall.idle_ns,
        "communication": wall.communication_ns,
    }
    return {name: (value / n_steps, math.nan) for name, value in whole.items()}


def _mean(values: Sequence[int]) -> tuple[float, float]:
    kept = np.array(values, np.int64)
    return float(kept.mean()), float(spread_of_steps(kept[None, :])[0])


def _together(deviations: np.ndarray) -> float:
    """The deviation of a sum of independent parts; of those that nobody knows nothing is added."""
    known = deviations[~np.isnan(deviations)]
    return float(np.sqrt((known**2).sum())) if len(known) else math.nan
