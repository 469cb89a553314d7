"""Cores that did more than the others, in time, in data or in cache misses.

msOpProf flags a core when the sigmoid of its z-score is 0.6 or more. A z-score is relative: of any unequal
load about a third of the cores passes. Here a core must also be off the mean by an absolute share.
"""

from __future__ import annotations

import numpy as np

from npulse.core.dataclass import dataclass
from npulse.core.formats.opprof.records import Floats, Integers

SCORE = 0.6


@dataclass(frozen=True, slots=True)
class Uneven:
    """rows: of the values, the worst first. scores: of these rows. mean, low, high: of all values.

    spread_percent: from lowest to highest, of the mean.
    """

    rows: Integers
    scores: Floats
    mean: float
    low: float
    high: float
    spread_percent: float


def scores_of(values: Floats, *, is_low_bad: bool = False) -> Floats:
    """Sigmoid of the z-scores (population deviation); NaN all over where the values do not differ."""
    with np.errstate(all="ignore"):
        deviation = float(values.std()) if len(values) else 0.0
        mean = float(values.mean()) if len(values) else 0.0
        if not np.isfinite(deviation) or deviation <= 1e-12 * max(abs(mean), 1e-300):
            return np.full(len(values), np.nan)
        z = (values - mean) / deviation
        return np.asarray(1 / (1 + np.exp(z if is_low_bad else -z)), np.float64)


def uneven_of(
    values: Floats, spread_percent: float, *, is_low_bad: bool = False, is_percent: bool = False
) -> Uneven | None:
    """The cores that are off, None if there are none. values: one each core, NaN left out; 2 at least.

    spread_percent: how far off the mean at least, as a share of it; in points where the values are percents.
    """
    there = np.flatnonzero(~np.isnan(values))
    own = values[there]
    if len(own) < 2:
        return None
    mean = float(own.mean())
    scores = scores_of(own, is_low_bad=is_low_bad)
    off = (mean - own) if is_low_bad else (own - mean)
    least = spread_percent if is_percent else abs(mean) * spread_percent / 100
    with np.errstate(invalid="ignore"):
        flagged = np.flatnonzero((scores >= SCORE) & (off >= least))
    if not len(flagged):
        return None
    flagged = flagged[np.argsort(-off[flagged], kind="stable")]
    low, high = float(own.min()), float(own.max())
    spread = (high - low) / abs(mean) * 100 if mean else float("inf")
    return Uneven(there[flagged], scores[flagged], mean, low, high, spread)


def tail_us(times_us: Floats) -> float | None:
    """How much longer the last core works than the one in the middle; None of fewer than 3 cores."""
    own = times_us[~np.isnan(times_us)]
    if len(own) < 3:
        return None
    return float(own.max() - np.median(own))
