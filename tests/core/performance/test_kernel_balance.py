"""Cores that do more than others."""

from __future__ import annotations

import math
import statistics
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.formats.opprof.records import CoreLoad, KernelProfile
from npulse.core.performance.kernel.balance import scores_of, tail_us, uneven_of

from .kernels import NA, kernel, one, said, vectors


def plain_scores(values: list[float]) -> list[float]:
    mean, deviation = statistics.fmean(values), statistics.pstdev(values)
    return [1 / (1 + math.exp(-(v - mean) / deviation)) for v in values]


@given(st.lists(st.integers(1, 10**6), min_size=2, max_size=40).filter(lambda v: len(set(v)) > 1))
def test_scores_are_the_tools(values: list[int]) -> None:
    found = scores_of(np.array(values, np.float64))
    assert found == pytest.approx(plain_scores([float(v) for v in values]), rel=1e-9)
    low = scores_of(np.array(values, np.float64), is_low_bad=True)
    assert low + found == pytest.approx(np.ones(len(values)))


def test_the_score_alone_would_flag_a_third_of_all_cores() -> None:
    """Why there is an absolute condition beside it."""
    values = np.random.default_rng(1).normal(10_000, 20, 60)
    assert 0.2 < (scores_of(values) >= 0.6).mean() < 0.45
    assert uneven_of(values, 10) is None


@given(st.lists(st.floats(0, 1e9) | st.just(NA), max_size=30), st.floats(0.1, 100))
def test_flagged_cores_are_off_by_both(values: list[float], spread: float) -> None:
    found = uneven_of(np.array(values, np.float64), spread)
    own = [v for v in values if not math.isnan(v)]
    if found is None:
        return
    mean = statistics.fmean(own)
    assert found.mean == pytest.approx(mean) and len(found.rows) < len(own)
    for row, score in zip(found.rows.tolist(), found.scores.tolist(), strict=True):
        assert score >= 0.6 and values[row] - mean >= mean * spread / 100 * (1 - 1e-9)
    assert [values[row] for row in found.rows] == sorted((values[row] for row in found.rows), reverse=True)


def test_the_score_begins_at_0_6() -> None:
    """Eight cores at z = 0.5 (score 0.62), and eight at z = 0.4 (0.599)."""
    found = uneven_of(np.array([120.0] * 8 + [60.0] * 2), 10)
    assert found is not None and len(found.rows) == 8 and found.scores[0] == pytest.approx(0.6225, abs=1e-4)
    assert uneven_of(np.array([120.0] * 25 + [60.0] * 4), 1) is None


def test_equal_cores_and_single_cores_are_even() -> None:
    for values in ([], [5.0], [NA, 5.0], [5.0] * 9, [0.0, 0.0]):
        assert uneven_of(np.array(values, np.float64), 0) is None


def cycles(*values: float, **told: Any) -> KernelProfile:
    columns = {"aiv_total_cycles": list(values), "aiv_time(us)": [v / 100 for v in values]}
    return kernel(vectors(len(values)), {"PipeUtilization": columns}, **told)


def test_one_slow_core() -> None:
    advice = one(cycles(1000, 1000, 1000, 2000), "uneven")
    assert advice is not None and advice.severity == "warning"
    assert advice.figures["cores_off"] == ["block 3 vector0"] and advice.figures["mean_cycles"] == 1250
    assert advice.cost_ns == int(100_000 * (1 - 1250 / 2000))
    assert "block 3 vector0" in advice.message[0] and "2,000" in advice.message[1]
    assert one(cycles(1000, 1000, 1000, 1100), "uneven") is None
    assert one(cycles(1000, 1000, 1000, 2000), "uneven", kernel_spread_percent=70) is None


def test_kinds_of_cores_are_not_compared_with_each_other() -> None:
    names = ["0 cube0", "1 cube0", "0 vector0", "1 vector0"]
    columns = {"aic_total_cycles": [9000, 9000, NA, NA], "aiv_total_cycles": [NA, NA, 100, 100]}
    assert one(kernel(names, {"PipeUtilization": columns}), "uneven") is None


def test_data_and_hits_of_the_occupancy_block() -> None:
    loads = [CoreLoad(i, "vector", 0, 1000, 4096 if i else 81920, 90.0 if i else 40.0) for i in range(4)]
    found = said(kernel([], {}, loads=tuple(loads)))["uneven"]
    assert len(found) == 2
    data, hits = found
    assert data.figures["worst_bytes"] == 81920 and "80 KB" in data.message[0]
    assert hits.figures["worst_percent"] == 40 and hits.figures["cores_off"] == ["core0 vector0"]
    near = [CoreLoad(i, "vector", 0, 1000, 4096, 90.0 if i else 78.0) for i in range(4)]
    assert "uneven" not in said(kernel([], {}, loads=tuple(near))), "9 points below the mean are no finding"


def test_a_tail_is_longest_minus_median() -> None:
    assert tail_us(np.array([1.0, 2.0, 9.0])) == 7
    assert tail_us(np.array([1.0, NA, 9.0])) is None
    advice = one(cycles(1000, 1000, 1000, 1500), "tail")
    assert advice is not None and advice.figures["tail_us"] == 5 and advice.cost_ns == 5000
    assert advice.figures["tail_percent"] == 5
    assert one(cycles(1000, 1000, 1000, 1499), "tail") is None
    assert one(cycles(1000, 1000, 1000, 1500, duration_us=None), "tail") is None
