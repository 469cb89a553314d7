"""What Max, Min, Mean, Norm and a checksum prove: never an error that the elements do not confirm."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.formats.tensors.dtypes import DTYPES
from npulse.core.precision.statistics import StatisticsRows, judge_statistics
from npulse.core.precision.verdict import REASONS, VERDICTS, Criteria

Array = npt.NDArray[Any]
NAN, INF = float("nan"), float("inf")
FLOATS = ("float16", "bfloat16", "float32", "float64")


def to(dtype: str, x: Array) -> Array:
    """x rounded to a format, as float64 (bfloat16: to nearest even, by its bits)."""
    with np.errstate(over="ignore"):
        if dtype != "bfloat16":
            return np.asarray(x, dtype).astype(np.float64)
        bits = np.asarray(x, np.float32).view(np.uint32).astype(np.uint64)
        rounded = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
        return rounded.astype(np.uint32).view(np.float32).astype(np.float64)


def recorded(x: Array, dtype: str, writer: int) -> list[float | None]:
    """The four statistics as version 26 records them (or as 8.x: everything taken as float32)."""
    with np.errstate(over="ignore"):
        if writer == 8 and dtype == "float64":
            x, dtype = x.astype(np.float32).astype(np.float64), "float32"
        elif dtype == "float64":
            return [float(x.max()), float(x.min()), None, None]
        mean, norm = to(dtype, np.array([x.mean(), np.sqrt((x * x).sum())]))
    return [float(x.max()), float(x.min()), float(mean), float(norm)]


def rows_of(
    target: list[Any],
    golden: list[Any],
    n: float = 100,
    dtype: str | None = "float32",
    checksum: int = -1,
    exact: bool = False,
) -> StatisticsRows:
    def column(x: list[Any]) -> tuple[Array, Array]:
        known = np.array([[v is not None for v in x]])
        return np.array([[NAN if v is None else float(v) for v in x]]), known

    (t, has_t), (g, has_g) = column(target), column(golden)
    kind = DTYPES[dtype] if dtype else None
    return StatisticsRows(
        t,
        g,
        has_t,
        has_g,
        np.array([float(n)]),
        np.array([kind.unit_roundoff if kind and not exact else 0.0]),
        np.array([kind.smallest_subnormal if kind and not exact else 0.0]),
        np.array([exact]),
        np.array([checksum], np.int8),
    )


DEFAULT = Criteria()


def told(rows: StatisticsRows, criteria: Criteria = DEFAULT) -> tuple[str, str]:
    judged = judge_statistics(rows, criteria).judgement
    return VERDICTS[judged.verdict[0]], REASONS[judged.reason[0]]


# ---- bounds ----------------------------------------------------------------------------------------------


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Array, Array, str]:
    dtype = draw(st.sampled_from(FLOATS))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = draw(st.integers(1, 200))
    scale = 2.0 ** draw(st.integers(-30, 14 if dtype == "float16" else 40))
    golden = rng.standard_normal(n) * scale + draw(st.sampled_from((0.0, 0.0, 1.0, -3.0))) * scale
    target = golden.copy()
    change = draw(
        st.sampled_from(("rounding", "noise", "scale", "permuted", "outlier", "other", "zeros", "flip"))
    )
    amount = 10.0 ** draw(st.floats(-5, 0.5))
    if change == "noise":
        target += rng.standard_normal(n) * amount * scale
    elif change == "scale":
        target *= 1 + amount * draw(st.sampled_from((1, -1)))
    elif change == "permuted":
        target = rng.permutation(target)
    elif change == "outlier":
        target[rng.integers(n)] += amount * scale * np.sqrt(n)
    elif change == "other":
        target = rng.standard_normal(n) * scale
    elif change == "zeros":
        target[rng.random(n) < 0.5] = 0
    elif change == "flip":
        target = -target
    else:
        target *= 1 + rng.uniform(-1, 1, n) * DTYPES[dtype].unit_roundoff
    return to(dtype, target), to(dtype, golden), dtype


def _norm(x: Array, scale: float = 1.0) -> float:
    x = x / scale
    return float(np.sqrt((x * x).sum()))


def true_figures(t: Array, g: Array) -> tuple[float, float, float]:
    """cosine, relative L2 error and norm ratio of the elements, scaled so that no square leaves the range."""
    peak = max(np.abs(t).max(), np.abs(g).max()) or 1.0
    error = _norm(t - g, peak)  # before the scaling, whose rounding would be as large
    t, g = t / peak, g / peak
    norm_t, norm_g = _norm(t), _norm(g)
    if norm_t == 0 or norm_g == 0:
        both = norm_t == norm_g
        return (
            float(both),
            0.0 if error == 0 else INF if norm_g == 0 else error / norm_g,
            1.0 if both else INF,
        )
    return float((t * g).sum() / norm_t / norm_g), error / norm_g, norm_t / norm_g


@given(pairs(), st.sampled_from((8, 26)))
def test_bounds_hold_and_an_error_is_one(pair: tuple[Array, Array, str], writer: int) -> None:
    t, g, dtype = pair
    if not (np.isfinite(t).all() and np.isfinite(g).all()):
        return
    cosine, rel_l2, ratio = true_figures(t, g)
    rows = rows_of(recorded(t, dtype, writer), recorded(g, dtype, writer), len(t), dtype)
    result = judge_statistics(rows, Criteria())
    assert result.rel_l2_at_least[0] <= rel_l2 * (1 + 1e-9)
    if not np.isnan(result.cosine_at_most[0]):
        assert result.cosine_at_most[0] >= cosine - 1e-9
    verdict = VERDICTS[result.judgement.verdict[0]]
    within = cosine >= 0.99 and 0.99 <= ratio <= 1.01
    assert verdict != "error" or not within
    u = DTYPES[dtype].unit_roundoff
    assert verdict != "warning" or rel_l2 > u * (1 - 1e-9)
    if np.array_equal(t, g):
        assert verdict == "pass"


@given(pairs())
def test_a_norm_far_off_is_an_error_where_it_was_recorded(pair: tuple[Array, Array, str]) -> None:
    t, g, dtype = pair
    if dtype == "float64" or not (np.isfinite(t).all() and np.isfinite(g).all()):
        return
    four = [recorded(x, dtype, 26) for x in (t, g)]
    ratio = true_figures(t, g)[2]
    normal = min(four[0][3] or 0, four[1][3] or 0) > 100 * DTYPES[dtype].min_normal
    if normal and not any(np.isinf(x[3] or 0) for x in four) and not 0.97 < ratio < 1.03:
        assert told(rows_of(four[0], four[1], len(t), dtype))[0] == "error"


def test_rounded_bfloat16_norms_are_no_difference() -> None:
    """Norm 1.0000 and 1.0078 are neighbours in bfloat16: the true ratio may be 1."""
    assert told(rows_of([1, -1, 0, 1.015625], [1, -1, 0, 1.0078125], dtype="bfloat16"))[0] == "pass"
    assert told(rows_of([1, -1, 0, 1.0390625], [1, -1, 0, 1.0], dtype="bfloat16")) == ("error", "norm-ratio")


def test_the_order_of_a_sum_is_no_difference() -> None:
    """Mean of a large tensor around zero: other devices add up in another order."""
    golden = [4.0, -4.0, 1.0e-4, 1000.0]
    assert told(rows_of([4.0, -4.0, 1.0003e-4, 1000.0], golden, n=1_000_000)) == ("pass", "statistics-agree")
    assert told(rows_of([4.0, -4.0, 2.0e-4, 1000.0], golden, n=1_000_000)) == ("warning", "above-rounding")


# ---- what was recorded, and what was not -----------------------------------------------------------------


HEALTHY = [2.0, -1.0, 0.5, 10.0]


@pytest.mark.parametrize(
    ("target", "golden", "want"),
    [
        (HEALTHY, HEALTHY, ("pass", "statistics-agree")),
        ([2.4, -1.2, 0.6, 12.0], HEALTHY, ("error", "norm-ratio")),
        # the Norm of float16 overflows by itself
        ([6e4, 6e4 - 32, 6e4, INF], [6e4, 6e4 - 32, 6e4, INF], ("pass", "statistics-agree")),
        ([6e4, -6e4, 0.0, INF], [5e4, -5e4, 0.0, INF], ("unknown", "norm-unknown")),
        ([6e4, 5e4, 5.5e4, INF], [100.0, -100.0, 0.0, 500.0], ("error", "norm-ratio")),
        # nothing recorded
        ([None] * 4, [None] * 4, ("unknown", "not-recorded")),
        ([None] * 4, HEALTHY, ("unknown", "not-recorded")),
        (HEALTHY, [2.0, None, 0.5, 10.0], ("unknown", "not-recorded")),
        # Mean and Norm not recorded
        ([2.0, -1.0, None, None], [2.0, -1.0, None, None], ("pass", "statistics-agree")),
        ([2.4, -1.2, None, None], [2.0, -1.0, None, None], ("unknown", "norm-unknown")),
        ([2.001, -1.0, None, None], [2.0, -1.0, None, None], ("warning", "above-rounding")),
        ([50.0, -1.0, None, None], [2.0, -1.0, None, None], ("error", "norm-ratio")),
        # Max and Min on the same side: the mean bounds the norm
        ([0.0, 0.0, 0.0, 0.0], HEALTHY, ("error", "norm-ratio")),
        (HEALTHY, [0.0, 0.0, 0.0, 0.0], ("error", "norm-ratio")),
        # NaN wins, and hides where the others are
        ([NAN] * 4, HEALTHY, ("error", "nonfinite")),
        (HEALTHY, [NAN] * 4, ("error", "nonfinite")),
        ([NAN] * 4, [NAN] * 4, ("unknown", "positions-unknown")),
        ([NAN] * 4, [INF, -1.0, INF, INF], ("error", "nonfinite")),
        ([INF, -1.0, INF, INF], HEALTHY, ("error", "nonfinite")),
        ([INF, -1.0, INF, INF], [INF, -1.0, INF, INF], ("unknown", "positions-unknown")),
        ([INF, -1.0, INF, INF], [2.0, -INF, -INF, INF], ("error", "nonfinite")),
        ([0.0, -INF, -INF, INF], [0.0, -INF, -INF, INF], ("unknown", "positions-unknown")),
        ([-INF, -INF, -INF, INF], [-INF, -INF, -INF, INF], ("pass", "equal")),
    ],
)
def test_floats(target: list[Any], golden: list[Any], want: tuple[str, str]) -> None:
    assert (
        told(rows_of(target, golden, dtype="float16" if INF in golden or INF in target else "float32"))
        == want
    )


@pytest.mark.parametrize(
    ("target", "golden", "n", "want"),
    [
        # version 26: Mean and Norm are null
        ([9, 0, None, None], [9, 0, None, None], 100, ("unknown", "content-unknown")),
        ([9, 1, None, None], [9, 0, None, None], 100, ("error", "not-equal")),
        ([9, 9, None, None], [9, 9, None, None], 1, ("pass", "statistics-agree")),
        # bool: any and all
        ([True, False, None, None], [True, False, None, None], 100, ("unknown", "content-unknown")),
        ([True, True, None, None], [True, False, None, None], 100, ("error", "not-equal")),
        # before 26: taken as float32
        ([9.0, 0.0, 4.5, 50.0], [9.0, 0.0, 4.5, 50.0], 100, ("pass", "statistics-agree")),
        ([9.0, 0.0, 4.6, 50.0], [9.0, 0.0, 4.5, 50.0], 100, ("error", "not-equal")),
        ([9.0, 0.0, 4.5000005, 50.0], [9.0, 0.0, 4.5, 50.0], 100, ("unknown", "content-unknown")),
        # 8.x against 26: a token id above 2^24 is not the same number as float32
        ([50257000.0, 0.0, 3e7, 1e9], [50257001, 0, None, None], 100, ("unknown", "content-unknown")),
        ([50258000.0, 0.0, 3e7, 1e9], [50257001, 0, None, None], 100, ("error", "not-equal")),
    ],
)
def test_whole_numbers(target: list[Any], golden: list[Any], n: int, want: tuple[str, str]) -> None:
    assert told(rows_of(target, golden, n, exact=True)) == want


@pytest.mark.parametrize(
    ("target", "golden", "n", "exact", "equal", "want"),
    [
        (HEALTHY, HEALTHY, 100, False, 1, ("pass", "equal")),
        ([NAN] * 4, [NAN] * 4, 100, False, 1, ("pass", "equal")),
        ([None] * 4, [None] * 4, 100, False, 1, ("pass", "equal")),
        # the same four statistics, other bits: another order of elements, or rounding
        (HEALTHY, HEALTHY, 100, False, 0, ("warning", "content")),
        ([2.0, 2.0, 2.0, 2.0], [2.0, 2.0, 2.0, 2.0], 1, False, 0, ("pass", "statistics-agree")),
        ([2.4, -1.2, 0.6, 12.0], HEALTHY, 100, False, 0, ("error", "norm-ratio")),
        ([2.0, -1.0, 0.5, 10.000001], HEALTHY, 100, False, 0, ("warning", "above-rounding")),
        ([0.0, -INF, -INF, INF], [0.0, -INF, -INF, INF], 100, False, 0, ("unknown", "positions-unknown")),
        ([None] * 4, [None] * 4, 100, False, 0, ("error", "checksum")),
        ([9, 0, None, None], [9, 0, None, None], 100, True, 0, ("error", "not-equal")),
        ([9, 0, None, None], [9, 0, None, None], 100, True, 1, ("pass", "equal")),
        ([None] * 4, [None] * 4, 100, True, 0, ("error", "not-equal")),
    ],
)
def test_checksums(
    target: list[Any], golden: list[Any], n: int, exact: bool, equal: int, want: tuple[str, str]
) -> None:
    assert told(rows_of(target, golden, n, "float32", equal, exact)) == want


def test_one_element_is_known_whatever_was_recorded() -> None:
    """3.0 against 2.0 in a tensor of one element: the released tool passes it."""
    for n_known in (2, 4):
        target, golden = ([v] * n_known + [None] * (4 - n_known) for v in (3.0, 2.0))
        assert told(rows_of(target, golden, 1)) == ("error", "norm-ratio")
        assert told(rows_of([-v if v else v for v in golden], golden, 1)) == ("error", "statistics-bound")
        assert told(rows_of(golden, golden, 1))[0] == "pass"
    assert told(rows_of([NAN] * 4, [NAN] * 4, 1)) == ("pass", "equal")
    assert told(rows_of([INF] * 4, [INF] * 4, 1)) == ("pass", "equal")
    assert told(rows_of([INF] * 4, [-INF] * 4, 1)) == ("error", "nonfinite")


def test_subnormals_beside_zero_are_rounding() -> None:
    tiny = DTYPES["float16"].smallest_subnormal
    target = [2 * tiny, -tiny, 0.0, 8 * tiny]
    assert told(rows_of(target, [0.0] * 4, dtype="float16"))[0] == "pass"
    assert told(rows_of([100 * tiny, 0.0, tiny, 200 * tiny], [0.0] * 4, dtype="float16"))[0] == "error"


def test_an_unknown_size_proves_less_not_more() -> None:
    assert told(rows_of([2.4, -1.2, 0.6, 12.0], HEALTHY, NAN)) == ("error", "norm-ratio")
    assert told(rows_of([2.4, -1.2, None, None], [2.0, -1.0, None, None], NAN))[0] == "unknown"


def test_criteria_move_the_threshold() -> None:
    target = [2.1, -1.05, 0.525, 10.5]
    assert told(rows_of(target, HEALTHY)) == ("error", "norm-ratio")
    assert told(rows_of(target, HEALTHY), Criteria(norm_ratio_high=1.1)) == ("warning", "above-rounding")


def test_no_rows_at_all() -> None:
    empty = StatisticsRows(
        *(np.zeros((0, 4)) for _ in range(2)),
        *(np.zeros((0, 4), bool) for _ in range(2)),
        *(np.zeros(0) for _ in range(3)),
        np.zeros(0, bool),
        np.zeros(0, np.int8),
    )
    assert len(judge_statistics(empty, Criteria()).judgement.verdict) == 0
