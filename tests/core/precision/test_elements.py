"""The second read: places, ulps, tolerance, concentration, views - against whole-array arithmetic."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import Cancelled
from npulse.core.formats.tensors import DTYPES, Dtype
from npulse.core.precision.blocks import elements
from npulse.core.precision.blocks.elements import error_map, examine, histogram, worst_elements
from npulse.core.precision.blocks.kernel import BLOCK
from npulse.core.precision.blocks.pair import TensorArray

F64, F32, F16, BF16 = (DTYPES[name] for name in ("float64", "float32", "float16", "bfloat16"))


def side(values: np.ndarray, declared: Dtype | None = None) -> TensorArray:
    dtype = DTYPES[values.dtype.name]
    return TensorArray(values, dtype, declared or dtype)


def pair(seed: int, shape: tuple[int, ...], n_changed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    g = rng.standard_normal(shape)
    t = g.copy()
    where = rng.choice(g.size, min(n_changed, g.size), replace=False)
    t.reshape(-1)[where] += rng.standard_normal(where.size)
    return t, g


SHAPES = st.sampled_from(
    [(7,), (3, 5), (1, 6), (6, 1), (2, 3, 4), (4, 3 * BLOCK // 2), (300, 701), (3 * BLOCK, 2)]
)


@given(seed=st.integers(0, 2**32), shape=SHAPES, n_changed=st.sampled_from([0, 1, 3, 1000]))
def test_places_and_shares(seed: int, shape: tuple[int, ...], n_changed: int) -> None:
    t, g = pair(seed, shape, n_changed)
    seen = examine(side(t), side(g))
    error = np.abs(t - g)
    places = np.argwhere(t != g)
    assert seen.n_different == len(places)
    if len(places) == 0:
        assert (seen.max_abs_error_index, seen.first_different_index, seen.span) == ((), (), 0)
        return
    assert seen.first_different_index == tuple(places[0])
    assert seen.last_different_index == tuple(places[-1])
    flat = np.flatnonzero(t != g)
    assert (seen.first_different, seen.last_different) == (flat[0], flat[-1])
    assert seen.span_share == pytest.approx(len(flat) / (flat[-1] - flat[0] + 1))
    assert seen.max_abs_error_index == np.unravel_index(error.argmax(), shape)
    assert seen.passes_at == pytest.approx((error / (1 + np.abs(g))).max())
    squares = np.sort(error.reshape(-1) ** 2)[::-1]
    reached = squares.cumsum() / squares.sum()
    n_most = int(np.searchsorted(reached, 0.9)) + 1
    assert seen.elements.n_most == (n_most if n_most <= elements.N_TOP_ELEMENTS else None)
    if len(shape) > 1 and shape[-1] < g.size:
        by_row = (error.reshape(-1, shape[-1]) ** 2).sum(axis=1)
        by_column = (error.reshape(-1, shape[-1]) ** 2).sum(axis=0)
        for have, sums in ((seen.rows, by_row), (seen.columns, by_column)):
            assert have is not None
            assert have.of == sums.size
            number, share = have.top[0]
            assert share == pytest.approx(sums.max() / sums.sum())
            assert sums[number] == pytest.approx(sums.max())
            in_order = np.sort(sums)[::-1].cumsum() / sums.sum()
            assert have.n_most is not None
            assert in_order[have.n_most - 1] >= 0.9 - 1e-12
            assert have.n_most == 1 or in_order[have.n_most - 2] < 0.9 + 1e-12
    else:
        assert seen.rows is None


def test_rows_beyond_the_cap_are_grouped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elements, "MAX_SUMS", 100)
    t, g = pair(0, (1001, 7), 0)
    t[500] += 1
    rows = examine(side(t), side(g)).rows
    assert rows is not None
    assert (rows.of, rows.group) == (1001, 11)
    assert rows.top == ((495, 1.0),)  # rows 495 to 505


def test_ulps_by_hand() -> None:
    """At 1.5 a float16 has a spacing of 2^-10, at 1000 of 0.5, at 0 of 2^-24."""
    g = np.array([1.5, 1000.0, 0.0, 8.0], np.float32)
    t = g + np.array([2.0**-10, 1.25, 3 * 2.0**-24, 0], np.float32)
    seen = examine(side(t, F16), side(g))
    assert (seen.ulp_max, seen.ulp_max_zero_reference) == (2.5, 3.0)
    assert examine(side(t), side(g, F16)).ulp_max == 2.5  # the coarser declared type, whichever side
    assert examine(side(t), side(g)).ulp_max == 1.25 / 2.0**-14


def test_integers_have_a_spacing_of_one() -> None:
    seen = examine(side(np.array([2**60 + 3, 5])), side(np.array([2**60, 5])))
    assert (seen.ulp_max, seen.n_different, seen.max_abs_error_index) == (3.0, 1, (0,))


def test_non_finite() -> None:
    t = np.array([[1.0, np.nan], [np.inf, 2.5], [np.inf, 0]])
    g = np.array([[1.0, np.nan], [np.inf, 2.0], [3.0, 0]])
    seen = examine(side(t), side(g))
    assert (seen.n_different, seen.n_nonfinite, seen.passes_at) == (2, 1, math.inf)
    assert (seen.first_different_index, seen.last_different_index) == ((1, 1), (2, 0))
    assert seen.max_abs_error_index == (1, 1)  # the largest error that is a number
    only = examine(side(np.array([1.0, np.nan])), side(np.array([1.0, 1.0])))
    assert only.max_abs_error_index == (1,)


def test_factor_and_residual() -> None:
    g = np.random.default_rng(0).standard_normal(1000)
    exact = examine(side(-3 * g), side(g))
    assert exact.factor == pytest.approx(-3) and exact.residual == pytest.approx(0, abs=1e-7)
    noise = np.random.default_rng(1).standard_normal(1000)
    noise -= g * (noise @ g) / (g @ g)  # what no factor explains
    seen = examine(side(2 * g + noise), side(g))
    assert seen.factor == pytest.approx(2)
    assert seen.residual == pytest.approx(np.linalg.norm(noise) / np.linalg.norm(2 * g + noise))
    assert examine(side(np.zeros(3)), side(np.ones(3))).factor is None


@pytest.mark.parametrize("shape", [(4, 5), (5, BLOCK), (BLOCK, 3), (3, BLOCK + 7), (2, 3, 4)])
def test_identical_rows(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    g = rng.standard_normal(shape)
    t = np.broadcast_to(rng.standard_normal(shape[-1]), shape).copy()
    t.reshape(-1, shape[-1])[:, 1] = np.nan
    seen = examine(side(t), side(g))
    assert (seen.target_rows_identical, seen.golden_rows_identical) == (True, False)
    t.reshape(-1)[-1] += 1
    assert not examine(side(t), side(g)).target_rows_identical


def test_permuted() -> None:
    g = np.random.default_rng(0).standard_normal((30, 40))
    assert examine(side(np.ascontiguousarray(g.T).reshape(30, 40)), side(g)).is_permuted
    assert examine(side(g + 1), side(g)).is_permuted is False
    large = np.zeros(elements.MAX_SORTED + 1)
    assert examine(side(large), side(large)).is_permuted is None


def test_complex_components_have_an_index_of_their_own() -> None:
    g = np.ones((2, 3), np.complex64)
    t = g.copy()
    t[1, 2] += 2j
    seen = examine(side(t), side(g))
    assert (seen.n_elements, seen.max_abs_error_index, seen.first_different) == (12, (1, 2, 1), 11)


@given(seed=st.integers(0, 2**32), n=st.sampled_from([1, 5, 100]), n_bad=st.integers(0, 3))
def test_worst_elements(seed: int, n: int, n_bad: int) -> None:
    t, g = pair(seed, (50, 3000), 300)
    rng = np.random.default_rng(seed)
    bad = np.sort(rng.choice(t.size, n_bad, replace=False))
    t.reshape(-1)[bad] = np.nan
    table = worst_elements(side(t), side(g), n)
    error = np.abs(t - g).reshape(-1)
    error[bad] = np.inf
    order = np.argsort(-error, kind="stable")[: min(n, int((error > 0).sum()))]
    assert table.column("flat_index").values.tolist() == order.tolist()
    last = len(order) - 1
    row = table.row(last)
    at = tuple(int(i) for i in np.unravel_index(order[last], t.shape))
    assert row["index"] == str(list(at))
    assert row["golden"] == g[at]
    if last >= n_bad:
        assert row["abs_error"] == abs(t[at] - g[at])
        assert row["rel_error"] == pytest.approx(abs(t[at] - g[at]) / abs(g[at]))
    else:
        assert row["abs_error"] is None and math.isnan(row["target"])


def test_worst_element_at_a_golden_zero_has_no_relative_error() -> None:
    row = worst_elements(side(np.array([1.0, 2.0])), side(np.array([0.0, 2.0]))).row(0)
    assert (row["rel_error"], row["abs_error"], row["target"]) == (None, 1.0, 1.0)


def test_worst_elements_of_equal_tensors() -> None:
    assert worst_elements(side(np.ones(5)), side(np.ones(5))).n_rows == 0


@pytest.mark.parametrize("shape", [(10, 7), (3, 200_000), (200_000, 3), (50,), (4, 5, 6), (1, 1)])
@pytest.mark.parametrize("cells", [(1, 1), (4, 3), (100, 100)])
@pytest.mark.parametrize("reduce", ["max", "mean"])
def test_error_map(shape: tuple[int, ...], cells: tuple[int, int], reduce: str) -> None:
    t, g = pair(1, shape, 500)
    t.reshape(-1)[-1] = np.nan
    have = error_map(side(t), side(g), *cells, reduce=reduce)  # type: ignore[arg-type]
    table = np.nan_to_num(np.abs(t - g)).reshape(-1, shape[-1])
    n_rows, n_columns = min(cells[0], table.shape[0]), min(cells[1], table.shape[1])
    assert have.errors.shape == (n_rows, n_columns)
    bands = np.array_split(np.arange(table.shape[0]), have.row_edges[1:-1])
    strips = np.array_split(np.arange(table.shape[1]), have.column_edges[1:-1])
    operation = np.max if reduce == "max" else np.mean
    want = [[operation(table[np.ix_(band, strip)]) for strip in strips] for band in bands]
    np.testing.assert_allclose(have.errors, want, rtol=1e-12)
    assert np.argwhere(have.is_nonfinite).tolist() == [[n_rows - 1, n_columns - 1]]
    sizes = np.diff(have.row_edges)
    assert sizes.min() > 0 and sizes.max() - sizes.min() <= 1 and sizes.sum() == table.shape[0]


def test_relative_error_map() -> None:
    t, g = np.array([[2.0, 5.0], [4.0, 1.0]]), np.array([[1.0, 5.0], [0.0, 2.0]])
    assert error_map(side(t), side(g), 2, 2, relative=True).errors.tolist() == [[1.0, 0.0], [0.0, 0.5]]


def test_histogram_by_hand() -> None:
    g = np.array([0.0, 0.0, 1.0, 1.0, 10.0, 2.0, np.nan, np.inf])
    t = np.array([0.0, 2.0, 1.0, 1.25, 10.25, 4.0, np.nan, 1.0])
    have = histogram(side(t), side(g), 10)
    assert (have.n_equal, have.n_zero_reference) == (2, 1)
    assert (have.n_nonfinite_agreeing, have.n_nonfinite_differing) == (1, 1)
    assert have.absolute.counts.sum() == 4 and have.relative.counts.sum() == 3
    assert have.absolute.edges[0] <= math.log10(0.25) and have.absolute.edges[-1] > math.log10(2)
    assert len(have.relative.counts) <= 10
    assert have.relative.edges[0] <= math.log10(0.025) < have.relative.edges[1]
    assert (have.value_edges[0], have.value_edges[-1]) == (0.0, 10.25)
    assert have.target_counts.sum() == have.golden_counts.sum() == 6
    assert have.golden_counts.tolist() == np.histogram(g[:6], np.linspace(0, 10.25, 11))[0].tolist()


@pytest.mark.parametrize(
    "values", [np.zeros(0), np.full(3, np.nan), np.full(4, 7.0), np.array([-1.7e308, 1.7e308])]
)
def test_histogram_of_odd_tensors(values: np.ndarray) -> None:
    have = histogram(side(values), side(values))
    assert have.absolute.counts.size == 0
    assert have.target_counts.sum() == np.isfinite(values).sum()
    assert np.isfinite(have.value_edges).all()


def test_decades_add_up() -> None:
    g = np.random.default_rng(0).standard_normal(2 * BLOCK)
    t = g * (1 + 10.0 ** np.random.default_rng(1).uniform(-8, 0, g.size))
    have = histogram(side(t), side(g), 16)
    error = np.log10(np.abs(t - g) / np.abs(g))
    want = np.histogram(error, have.relative.edges)[0]
    assert np.abs(have.relative.counts - want).max() <= 2  # on an edge either side is right
    assert have.relative.counts.sum() == g.size


@pytest.mark.parametrize(
    "view", [examine, worst_elements, histogram, lambda a, b, **k: error_map(a, b, 2, 2, **k)]
)
def test_cancel(view: object) -> None:
    values = side(np.ones(10))
    with pytest.raises(Cancelled):
        view(values, values, is_cancelled=lambda: True)  # type: ignore[operator]
