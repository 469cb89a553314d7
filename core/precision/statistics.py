"""Rows judged by what a statistics or md5 capture holds: Max, Min, Mean, Norm and a checksum.

Statistics cannot prove that two tensors agree, but they bound how close they can be:
|max t - max g|, |min t - min g|, sqrt(n) |mean t - mean g| and |norm t - norm g| are each at most ||t - g||.
From the largest of these follow a least relative L2 error and a highest possible cosine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .verdict import ERROR, PASS, REASON, UNKNOWN, WARNING, Criteria, Judgement

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
MAX, MIN, MEAN, NORM = range(4)


@dataclass(frozen=True, slots=True)
class StatisticsRows:
    """One entry a row; both sides are tensors of equal shape.

    target, golden: float64 (n, 4) in the order Max, Min, Mean, Norm; has_*: bool (n, 4), False where null.
    n_elements, unit_roundoff (coarser dtype): float64. is_exact: integer or bool on both sides.
    checksum: 1 equal, 0 different, -1 not comparable.
    """

    target: Floats
    golden: Floats
    has_target: Bools
    has_golden: Bools
    n_elements: Floats
    unit_roundoff: Floats
    is_exact: Bools
    checksum: npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class StatisticsResult:
    """Judgement and the figures it rests on; NaN where a figure does not follow from the statistics."""

    judgement: Judgement
    norm_ratio: Floats
    rel_l2_at_least: Floats
    cosine_at_most: Floats


def judge_statistics(rows: StatisticsRows, criteria: Criteria) -> StatisticsResult:
    """Judge rows by statistics and checksums. Vectorised; cost O(rows)."""
    with np.errstate(all="ignore"):
        norm_ratio, least, cosine = _bounds(rows)
    n = len(rows.n_elements)
    verdict = np.full(n, PASS, np.int8)
    reason = np.full(n, REASON["statistics-agree"], np.int8)

    def put(mask: Bools, code: int, why: str) -> None:
        verdict[mask] = code
        reason[mask] = REASON[why]

    both = rows.has_target & rows.has_golden
    same = ((rows.target == rows.golden) | ~both).all(axis=1)
    extremes = both[:, MAX] & both[:, MIN]
    complete = extremes & both[:, MEAN] & both[:, NORM]
    inside = (norm_ratio >= criteria.norm_ratio_low) & (norm_ratio <= criteria.norm_ratio_high)
    outside = ~np.isnan(norm_ratio) & ~inside

    put(least > rows.unit_roundoff, WARNING, "above-rounding")
    put(outside, ERROR, "norm-ratio")
    put(cosine < criteria.cosine, ERROR, "statistics-bound")
    put(rows.is_exact & ~same, ERROR, "not-equal")
    put(rows.is_exact & same & ~complete & (rows.n_elements > 1), UNKNOWN, "content-unknown")
    put(~extremes, UNKNOWN, "not-recorded")
    _non_finite(rows, put)

    differs = rows.checksum == 0
    put(differs & (verdict == PASS) & ~same, WARNING, "above-rounding")
    put(differs & same & extremes, ERROR, "content")
    put(differs & rows.is_exact, ERROR, "not-equal")
    put(differs & ~extremes, ERROR, "checksum")
    equal = rows.checksum == 1
    put(equal, PASS, "equal")
    norm_ratio = np.where(equal, 1.0, norm_ratio)
    return StatisticsResult(Judgement(verdict, reason), norm_ratio, np.where(equal, 0.0, least), cosine)


def _bounds(rows: StatisticsRows) -> tuple[Floats, Floats, Floats]:
    t = np.where(rows.has_target, rows.target, np.nan)
    g = np.where(rows.has_golden, rows.golden, np.nan)
    # the Norm of a half-precision tensor can overflow by itself: then it says nothing
    norm_t, norm_g = (np.where(np.isfinite(x[:, NORM]), np.abs(x[:, NORM]), np.nan) for x in (t, g))
    absmax_t, absmax_g = (np.fmax(np.abs(x[:, MAX]), np.abs(x[:, MIN])) for x in (t, g))
    root = np.sqrt(rows.n_elements)
    # Mean and Norm are rounded to the tensor's own type: two roundings are not a difference
    slack = 2 * rows.unit_roundoff
    mean_t, mean_g = t[:, MEAN], g[:, MEAN]
    parts = [
        np.abs(t[:, MAX] - g[:, MAX]),
        np.abs(t[:, MIN] - g[:, MIN]),
        np.maximum(np.abs(mean_t - mean_g) - slack * np.fmax(np.abs(mean_t), np.abs(mean_g)), 0) * root,
        np.maximum(np.abs(norm_t - norm_g) - slack * np.fmax(norm_t, norm_g), 0),
    ]
    distance = np.zeros(len(root))
    for part in parts:
        distance = np.fmax(distance, np.where(np.isfinite(part), part, np.nan))
    reference = np.where(np.isnan(norm_g), absmax_g * root, norm_g)
    least = np.where(distance == 0, 0.0, np.where(reference == 0, np.inf, distance / reference))
    top = np.where(np.isnan(norm_t) | np.isnan(norm_g), absmax_t, norm_t)
    bottom = np.where(np.isnan(norm_t) | np.isnan(norm_g), absmax_g, norm_g)
    ratio = np.where(bottom == 0, np.where(top == 0, 1.0, np.inf), top / bottom)
    ratio = np.where(np.isfinite(top) & np.isfinite(bottom), ratio, np.nan)
    # |t - g|^2 = |t|^2 + |g|^2 - 2 cos |t| |g|, in units of |g|
    cosine = np.clip((1 + ratio**2 - least**2) / (2 * ratio), -1.0, 1.0)
    undefined = (distance == 0) | ~np.isfinite(ratio) | (ratio == 0) | ~np.isfinite(least)
    cosine = np.where(undefined, np.nan, cosine)
    return ratio, least, cosine


def _non_finite(rows: StatisticsRows, put: Callable[[Bools, int, str], None]) -> None:
    t, g = rows.target, rows.golden
    extremes = (rows.has_target & rows.has_golden)[:, MAX] & (rows.has_target & rows.has_golden)[:, MIN]
    nan_t, nan_g = (np.isnan(x[:, MAX]) | np.isnan(x[:, MIN]) for x in (t, g))
    signs = [
        (np.isposinf(x[:, MAX]), np.isneginf(x[:, MIN]), np.isneginf(x[:, MAX]), np.isposinf(x[:, MIN]))
        for x in (t, g)
    ]
    infinite_t, infinite_g = (np.logical_or.reduce(s) for s in signs)
    unlike = np.logical_or.reduce([a != b for a, b in zip(*signs, strict=True)])
    some = nan_t | nan_g | infinite_t | infinite_g
    put(extremes & some, UNKNOWN, "positions-unknown")
    put(extremes & (nan_t != nan_g), ERROR, "nonfinite")
    put(extremes & ~nan_t & ~nan_g & unlike, ERROR, "nonfinite")
    one = rows.n_elements == 1
    put(extremes & one & ((nan_t & nan_g) | (infinite_t & infinite_g & ~unlike)), PASS, "equal")
