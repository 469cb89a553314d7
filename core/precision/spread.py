"""Could an input be a part of what is already wrong? By the range of values, where no producer is known.

Where all APIs that compute are captured, what is left out (views, slices, transposes, casts) only picks
and copies values. An input of a forward whose values reach beyond all that came out wrong before it was
therefore not made of it: it has a beginning of its own. A capture of selected calls shows nothing of the
kind; that most inputs have a known producer is taken as the sign of a full one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from npulse.core.formats.msprobe.names import parse_name, without_number
from npulse.core.formats.msprobe.records import INPUT, OUTPUT, TENSOR, Dump

from .links import Links
from .rows import Rows

DENSE_SHARE = 0.5
"""From this share of API inputs with a known producer on, a capture counts as a full one."""

CAST_SLACK = 2.0**-7
"""A cast to bfloat16 on the way moves a value by up to 2**-8 of itself."""


class Spread:
    """The range of all wrong outputs so far, on each side, and whether they hold NaN or Inf."""

    def __init__(self, rows: Rows, links: Links) -> None:
        self._rows = rows
        self._dumps = (rows.target, rows.golden)
        self._low, self._high = [math.inf, math.inf], [-math.inf, -math.inf]
        self._has_nan, self._has_inf = [False, False], [False, False]
        share = _linked_share(rows.golden, links.golden)
        self.has_apis = share is not None
        self.is_full = share is not None and share >= DENSE_SHARE

    def add_call(self, target: Sequence[int], golden: Sequence[int]) -> None:
        """The outputs of a call that came out wrong, or of a call of one side alone behind an origin.

        target, golden: its call rows on each side: several in a group, none where that side has no such call.
        """
        for side, calls in enumerate((target, golden)):
            for call in calls:
                leaves = self._dumps[side].leaves
                for leaf in self._dumps[side].leaf_range(call):
                    if leaves.side[leaf] == OUTPUT and leaves.kind[leaf] == TENSOR:
                        self._add(side, leaf)

    def _add(self, side: int, leaf: int) -> None:
        found = _extremes(self._dumps[side], leaf)
        if found is None:  # nothing recorded: it may hold anything
            self._low[side], self._high[side] = -math.inf, math.inf
            self._has_nan[side] = self._has_inf[side] = True
            return
        high, low = found
        self._has_nan[side] |= math.isnan(high) or math.isnan(low)
        self._has_inf[side] |= math.isinf(high) or math.isinf(low)
        self._low[side] = min(self._low[side], low if math.isfinite(low) else math.inf)
        self._high[side] = max(self._high[side], high if math.isfinite(high) else -math.inf)

    def can_hold(self, target_leaf: int, golden_leaf: int) -> bool:
        """False only where an input's values, on either side, lie outside of all wrong outputs before it."""
        return all(
            self._can_hold(side, leaf) for side, leaf in enumerate((target_leaf, golden_leaf)) if leaf >= 0
        )

    def _can_hold(self, side: int, leaf: int) -> bool:
        found = _extremes(self._dumps[side], leaf)
        if found is None:
            return True
        high, low = found
        if math.isnan(high) or math.isnan(low):
            return self._has_nan[side]
        if math.isinf(high) or math.isinf(low):
            return self._has_inf[side]
        slack = CAST_SLACK * max(abs(high), abs(low))
        return self._low[side] - slack <= low and high <= self._high[side] + slack


def _linked_share(dump: Dump, producers: npt.NDArray[np.int64]) -> float | None:
    """Share of the tensor inputs of forward APIs that an earlier call made; None without such inputs."""
    names, told = dump.calls.names, dict[tuple[str, str], bool]()
    is_api = np.fromiter((_is_forward_api(name, told) for name in names), np.bool_, len(names))
    leaves = dump.leaves
    given = (leaves.side == INPUT) & (leaves.kind == TENSOR) & is_api[leaves.call] if len(is_api) else None
    if given is None or not given.any():
        return None
    return float(np.mean(producers[given] >= 0))


def _is_forward_api(name: str, told: dict[tuple[str, str], bool]) -> bool:
    """told: of the entries before it, whose calls differ in nothing but their numbers."""
    entry = without_number(name)
    known = told.get(entry)
    if known is None:
        parsed = parse_name(name)
        known = told[entry] = parsed.kind == "api" and parsed.direction == "forward"
    return known


def _extremes(dump: Dump, leaf: int) -> tuple[float, float] | None:
    """(Max, Min) of a leaf, None where they were not recorded."""
    if int(dump.leaves.present[leaf]) & 3 != 3:
        return None
    high, low = np.asarray(dump.leaves.statistics[leaf, :2]).tolist()
    return high, low
