"""One round as it is compared: its calls in order, step by step, and how much they differ by themselves."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass

from ..operators.calls import NONE, Calls
from ..wall.record import Wall

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
NoiseBasis = Literal["steps", "calls", "unknown"]

FEW_STEPS = 3
"""So many steps at least tell how much steps differ."""


@dataclass(frozen=True)
class Side:
    """A round. calls: in order of their starts. step: of each call, from 0 on. steps: as the table counts
    them, one "" where it counts none. wall: None where it is not known."""

    label: str
    calls: Calls
    step: Integers
    steps: tuple[str, ...]
    wall: Wall | None = None

    @property
    def n_steps(self) -> int:
        return len(self.steps)

    @cached_property
    def per_step_ns(self) -> Integers:
        """Sum of each operator type in each step, shape (types, steps)."""
        kind, n_kinds = self.calls.kind, len(self.calls.kinds)
        known = kind != NONE
        place = kind[known].astype(np.int64) * self.n_steps + self.step[known]
        sums = np.bincount(place, weights=self.calls.duration_ns[known], minlength=n_kinds * self.n_steps)
        return sums.astype(np.int64).reshape(n_kinds, self.n_steps)

    @cached_property
    def step_total_ns(self) -> Integers:
        """Sum of all durations of each step."""
        sums = np.bincount(self.step, weights=self.calls.duration_ns, minlength=self.n_steps)
        return sums.astype(np.int64)

    @cached_property
    def typical_step(self) -> int:
        """The step in the middle by its sum: what is aligned call by call."""
        return int(np.argsort(self.step_total_ns, kind="stable")[(self.n_steps - 1) // 2])

    def rows_of_step(self, step: int) -> Integers:
        """The calls of a step, stream by stream (the busiest first), in order of their starts."""
        rows = np.flatnonzero(self.step == step)
        streams = self.calls.values("stream")[rows]
        ids, place = np.unique(streams, return_inverse=True)
        busy = np.bincount(place, weights=self.calls.duration_ns[rows], minlength=len(ids))
        rank = np.empty(len(ids), np.int64)
        rank[np.argsort(-busy, kind="stable")] = np.arange(len(ids))
        ordered: Integers = rows[np.argsort(rank[place.reshape(-1)], kind="stable")]
        return ordered


def side_of(label: str, calls: Calls, wall: Wall | None = None) -> Side:
    """A round's calls with their steps. Calls of no step belong to the step before them."""
    if not len(calls) or not calls.has("step"):
        return Side(label, calls, np.zeros(len(calls), np.int64), ("",), wall)
    steps = calls.values("step")
    ids = np.unique(steps[steps != NONE])
    place = np.searchsorted(ids, steps)
    if (steps == NONE).any():  # between two steps: part of the one before
        place = np.where(steps == NONE, np.maximum.accumulate(np.where(steps == NONE, 0, place)), place)
    return Side(label, calls, place.astype(np.int64), tuple(map(str, ids.tolist())), wall)


def spread_of_steps(sums: Integers) -> Floats:
    """Deviation of the mean over steps, for each row of (rows, steps); NaN for too few steps."""
    n = sums.shape[-1]
    if n < FEW_STEPS:
        return np.full(sums.shape[:-1], np.nan)
    deviations: Floats = sums.std(axis=-1, ddof=1) / np.sqrt(n)
    return deviations


def spread_of_calls(side: Side) -> Floats:
    """Deviation of the mean sum of a step, for each type, from how calls of one type and shape differ.

    NaN where no shape has two calls.
    """
    calls = side.calls
    shapes = calls.values("input_shapes") if "input_shapes" in calls.table.arrays else calls.kind
    n_kinds = len(calls.kinds)
    known = np.flatnonzero(calls.kind != NONE)
    key = calls.kind[known].astype(np.int64) * (int(shapes.max(initial=0)) + 2) + shapes[known] + 1
    ids, place = np.unique(key, return_inverse=True)
    place = place.reshape(-1)
    values = calls.duration_ns[known].astype(np.float64)
    n = np.bincount(place, minlength=len(ids))
    means = np.bincount(place, weights=values, minlength=len(ids)) / np.maximum(n, 1)
    squares = np.bincount(place, weights=(values - means[place]) ** 2, minlength=len(ids))
    variance = np.where(n > 1, squares / np.maximum(n - 1, 1) * n, np.nan)
    kind_of = np.zeros(len(ids), np.int64)
    kind_of[place] = calls.kind[known]
    is_known = ~np.isnan(variance)
    total = np.bincount(kind_of[is_known], weights=variance[is_known], minlength=n_kinds)
    has = np.bincount(kind_of[is_known], minlength=n_kinds) > 0
    deviation: Floats = np.where(has, np.sqrt(total) / side.n_steps, np.nan)
    return deviation
