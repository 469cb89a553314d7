"""Rows judged by what a statistics or md5 capture holds: Max, Min, Mean, Norm and a checksum.

Statistics cannot prove that two tensors agree, but they bound how close they can be:
|max t - max g|, |min t - min g|, sqrt(n) |mean t - mean g| and |norm t - norm g| are each at most ||t - g||.
From the largest of these follow a least relative L2 error and a highest possible cosine. Mean and Norm are
themselves rounded and were added up in some order: a bound allows for that, so that an error is proven.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass

from .verdict import ERROR, PASS, REASON, UNKNOWN, WARNING, Codes, Criteria, Judgement

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Put = Callable[[Bools, int, str], None]
MAX, MIN, MEAN, NORM = range(4)

ADDING_UP = 2.0**-20
"""Relative error left by the order of a float32 sum over a large tensor (16 roundings)."""

AS_FLOAT32 = 2.0**-23
"""Two roundings to float32: writers before 26 take float64 and integers as float32."""


@dataclass(frozen=True, slots=True)
class StatisticsRows:
    """One entry a row; both sides are tensors of equal shape.

    target, golden: float64 (n, 4) in the order Max, Min, Mean, Norm; has_*: bool (n, 4), False where null.
    n_elements; unit_roundoff, smallest (subnormal) of the coarser dtype: float64. is_exact: integer or bool
    on both sides. checksum: 1 equal, 0 different, -1 not comparable.
    """

    target: Floats
    golden: Floats
    has_target: Bools
    has_golden: Bools
    n_elements: Floats
    unit_roundoff: Floats
    smallest: Floats
    is_exact: Bools
    checksum: npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class StatisticsResult:
    """Judgement and the figures it rests on; NaN where a figure does not follow from the statistics."""

    judgement: Judgement
    norm_ratio: Floats
    rel_l2_at_least: Floats
    cosine_at_most: Floats


@dataclass(frozen=True, slots=True)
class _Bounds:
    """What follows from the statistics of a row; NaN where nothing does."""

    norm_ratio: Floats
    ratio_least: Floats
    ratio_most: Floats
    absmax_ratio: Floats
    rel_l2_least: Floats
    cosine_most: Floats
    max_abs_error_least: Floats
    extremes_agree: Bools
    sums_agree: Bools


def judge_statistics(rows: StatisticsRows, criteria: Criteria) -> StatisticsResult:
    """Judge rows by statistics and checksums. Vectorised; cost O(rows)."""
    with np.errstate(all="ignore"):
        bounds = _bounds(rows)
    n = len(rows.n_elements)
    verdict = np.full(n, PASS, np.int8)
    reason = np.full(n, REASON["statistics-agree"], np.int8)

    def put(mask: Bools, code: int, why: str) -> None:
        verdict[mask] = code
        reason[mask] = REASON[why]

    both = rows.has_target & rows.has_golden
    extremes = both[:, MAX] & both[:, MIN]
    _by_bounds(rows, bounds, criteria, put, verdict)
    _whole_numbers(rows, bounds, np.logical_and.reduce(both, axis=1), put)
    put(~extremes, UNKNOWN, "not-recorded")
    _non_finite(rows, put)
    _checksums(rows, extremes, put, verdict)
    equal = rows.checksum == 1
    return StatisticsResult(
        Judgement(verdict, reason),
        np.where(equal, 1.0, bounds.norm_ratio),
        np.where(equal, 0.0, bounds.rel_l2_least),
        np.where(equal, np.nan, bounds.cosine_most),
    )


# ---- verdicts --------------------------------------------------------------------------------------------


def _by_bounds(rows: StatisticsRows, b: _Bounds, criteria: Criteria, put: Put, verdict: Codes) -> None:
    low, high = criteria.norm_ratio_low, criteria.norm_ratio_high
    # as for measured tensors: a few of the smallest numbers beside zeros are rounding
    seen = ~(b.max_abs_error_least <= 4 * rows.smallest)
    put((b.rel_l2_least > rows.unit_roundoff) & seen, WARNING, "above-rounding")
    for name, least in (("rel_l2", b.rel_l2_least), ("max_abs_error", b.max_abs_error_least)):
        put((least > dict(criteria.limits).get(name, np.inf)) & seen, ERROR, "error-threshold")
    put(((b.ratio_least > high) | (b.ratio_most < low)) & seen, ERROR, "norm-ratio")
    put((b.cosine_most < criteria.cosine) & seen, ERROR, "statistics-bound")
    far = (b.absmax_ratio < low) | (b.absmax_ratio > high)
    put(far & seen & np.isnan(b.norm_ratio) & (verdict != ERROR), UNKNOWN, "norm-unknown")


def _whole_numbers(rows: StatisticsRows, b: _Bounds, complete: Bools, put: Put) -> None:
    exact = rows.is_exact
    same = ((rows.target == rows.golden) | ~(rows.has_target & rows.has_golden)).all(axis=1)
    put(exact, PASS, "statistics-agree")
    put(exact & ~(b.extremes_agree & b.sums_agree), ERROR, "not-equal")
    told = same & (complete | (rows.n_elements == 1))
    put(exact & b.extremes_agree & b.sums_agree & ~told, UNKNOWN, "content-unknown")


def _checksums(rows: StatisticsRows, extremes: Bools, put: Put, verdict: Codes) -> None:
    same = ((rows.target == rows.golden) | ~(rows.has_target & rows.has_golden)).all(axis=1)
    differs = rows.checksum == 0
    put(differs & (verdict == PASS) & ~same, WARNING, "above-rounding")
    # a single element whose Max agrees is equal: the bits can differ in the sign of a zero
    put(differs & (verdict == PASS) & same & (rows.n_elements != 1), WARNING, "content")
    put(differs & rows.is_exact, ERROR, "not-equal")
    put(differs & ~rows.is_exact & ~extremes, ERROR, "checksum")
    put(rows.checksum == 1, PASS, "equal")


def _non_finite(rows: StatisticsRows, put: Put) -> None:
    t, g = rows.target, rows.golden
    both = rows.has_target & rows.has_golden
    extremes = both[:, MAX] & both[:, MIN]
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
    # Max and Min are both infinite: every element is
    everywhere = (rows.n_elements == 1) | signs[0][2] | signs[0][3]
    put(extremes & ~nan_t & ~nan_g & infinite_t & infinite_g & ~unlike & everywhere, PASS, "equal")
    put(extremes & (rows.n_elements == 1) & nan_t & nan_g, PASS, "equal")


# ---- bounds ----------------------------------------------------------------------------------------------


def _bounds(rows: StatisticsRows) -> _Bounds:
    t = np.where(rows.has_target, rows.target, np.nan)
    g = np.where(rows.has_golden, rows.golden, np.nan)
    root = np.sqrt(rows.n_elements)
    absmax_t, absmax_g = (np.fmax(np.abs(x[:, MAX]), np.abs(x[:, MIN])) for x in (t, g))
    absmax = np.fmax(absmax_t, absmax_g)
    rounding = 2 * rows.unit_roundoff + ADDING_UP
    written_as_float32 = _written_as_float32(rows)

    by_extreme = np.fmax(np.abs(t[:, MAX] - g[:, MAX]), np.abs(t[:, MIN] - g[:, MIN]))
    by_extreme = np.maximum(by_extreme - written_as_float32 * absmax, 0)
    mean_t, mean_g = np.abs(t[:, MEAN]), np.abs(g[:, MEAN])
    slack = rounding * np.fmax(mean_t, mean_g) + ADDING_UP * absmax + rows.smallest
    by_mean = np.maximum(np.abs(t[:, MEAN] - g[:, MEAN]) - slack, 0)
    # the Norm of a half-precision tensor can overflow by itself, squares can vanish: then it says nothing
    norm_t, norm_g = (
        np.where(np.isfinite(x[:, NORM]) & (x[:, NORM] >= peak * (1 - rounding)), x[:, NORM], np.nan)
        for x, peak in ((t, absmax_t), (g, absmax_g))
    )
    by_norm = np.maximum(np.abs(norm_t - norm_g) - rounding * np.fmax(norm_t, norm_g) - rows.smallest, 0)
    distance = _largest([by_extreme, by_mean * root, by_norm])

    box_t, box_g = (
        _norm_between(norm, peak, mean, root, rounding, rows.smallest, written_as_float32)
        for norm, peak, mean in ((norm_t, absmax_t, mean_t), (norm_g, absmax_g, mean_g))
    )
    single = rows.n_elements == 1
    top, bottom = (np.where(single, peak, norm) for norm, peak in ((norm_t, absmax_t), (norm_g, absmax_g)))
    return _Bounds(
        norm_ratio=_ratio(top, bottom),
        ratio_least=_ratio(box_t[0], box_g[1]),
        ratio_most=np.where(box_g[0] > 0, box_t[1] / box_g[0], np.inf),
        absmax_ratio=_ratio(absmax_t, absmax_g),
        rel_l2_least=np.where(distance == 0, 0.0, np.where(box_g[1] == 0, np.inf, distance / box_g[1])),
        cosine_most=np.where(distance == 0, np.nan, _cosine_most(distance, box_t, box_g)),
        max_abs_error_least=_largest([by_extreme, by_mean, by_norm / root]),
        extremes_agree=by_extreme == 0,
        sums_agree=~(by_mean > 0) & ~(by_norm > 0),
    )


def _written_as_float32(rows: StatisticsRows) -> Floats:
    """How far Max and Min may be off: not at all, unless a writer took the tensor as float32."""
    means = np.stack([rows.has_target[:, MEAN], rows.has_golden[:, MEAN]])
    finer = (rows.unit_roundoff < AS_FLOAT32 / 2) & ~rows.is_exact & means.any(axis=0)
    return np.where(finer | rows.is_exact & (means[0] != means[1]), AS_FLOAT32, 0.0)


def _norm_between(
    norm: Floats,
    peak: Floats,
    mean: Floats,
    root: Floats,
    rounding: Floats,
    smallest: Floats,
    peak_slack: Floats,
) -> tuple[Floats, Floats]:
    """Least and largest norm: around the recorded one, else between what Max, Min and Mean allow."""
    absent = np.isnan(norm)
    by_mean = root * np.maximum(mean * (1 - rounding) - ADDING_UP * peak - smallest, 0)
    least = np.where(absent, np.fmax(peak * (1 - peak_slack), by_mean), norm * (1 - rounding) - smallest)
    most = np.where(absent, peak * (1 + peak_slack) * root, norm * (1 + rounding) + smallest)
    return np.maximum(least, 0), np.where((norm == 0) & (peak == 0), 0.0, most)


def _cosine_most(distance: Floats, box_t: tuple[Floats, Floats], box_g: tuple[Floats, Floats]) -> Floats:
    """|t - g|^2 = |t|^2 + |g|^2 - 2 cos |t| |g|: convex in either norm, so a corner of the box is highest."""
    most = np.full(len(distance), -1.0)
    for t in box_t:
        for g in box_g:
            # NaN, and a norm that may be zero, leave the cosine open
            corner = (t / g + g / t - (distance / t) * (distance / g)) / 2
            most = np.maximum(most, np.where((t > 0) & (g > 0), corner, np.nan))
    return np.where(np.isinf(distance), np.nan, np.minimum(most, 1.0))


def _ratio(top: Floats, bottom: Floats) -> Floats:
    ratio = np.where(bottom == 0, np.where(top == 0, 1.0, np.inf), top / bottom)
    return np.where(np.isfinite(top) & np.isfinite(bottom), ratio, np.nan)


def _largest(parts: list[Floats]) -> Floats:
    largest = np.zeros(len(parts[0]))
    for part in parts:
        largest = np.fmax(largest, np.where(np.isfinite(part), part, np.nan))
    return largest
