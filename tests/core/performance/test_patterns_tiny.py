"""Runs of tiny operators, and kernels that vary."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.formats.profiling.records import ApiTotal
from npulse.core.performance.criteria import Criteria
from npulse.core.performance.operators.calls import calls_of
from npulse.core.performance.operators.jitter import spread_of
from npulse.core.performance.operators.tiny import runs_of, tiny_advice
from npulse.core.performance.operators.usable import usable
from npulse.core.performance.profile import Profile

from .made_tables import Row, advice_from, calls_from, table_of


def test_runs_by_hand() -> None:
    rows: list[Row] = [
        {"type": "MatMulV2", "at": 0, "us": 100},
        {"type": "Cast", "at": 110, "us": 2},
        {"type": "Mul", "at": 120, "us": 3},  # 8 us idle before it
        {"type": "Mul", "at": 143, "us": 5},  # 20 us
        {"type": "MatMulV2", "at": 200, "us": 10},  # 52 us behind the run: not counted; 10 us is not tiny
        {"type": "Add", "at": 210, "us": 1},
        {"type": "Add", "at": 220, "us": 1},  # two are no run
        {"type": "MatMulV2", "at": 250, "us": 50},
    ]
    (advice,) = advice_from(rows)["tiny"]
    figures = advice.figures
    assert (figures["n_calls"], figures["n_runs"], figures["n_longest_run"]) == (3, 1, 3)
    assert figures["calls_percent"] == 37.5
    assert (figures["total_us"], figures["gaps_us"]) == (10, 28)
    assert figures["mean_gap_us"] == 14
    assert figures["share_percent"] == pytest.approx(100 * 10 / 172, rel=1e-9)
    assert figures["share_of_wall_percent"] == pytest.approx(100 * 38 / 300, rel=1e-9)
    assert advice.cost_ns == 28_000 and advice.severity == "note"
    assert advice.location.line == 3
    assert [(one.subject, one.figures["n_calls"]) for one in advice.related] == [("Mul", 2), ("Cast", 1)]


def test_communication_ends_no_run_and_fills_its_gaps() -> None:
    rows: list[Row] = [
        {"type": "Cast", "at": 0, "us": 2},
        {"type": "Mul", "at": 10, "us": 2},
        {"type": "hcom_allReduce_", "core": "HCCL", "at": 13, "us": 40, "stream": 9},
        {"type": "Mul", "at": 60, "us": 2},
    ]
    (advice,) = advice_from(rows)["tiny"]
    assert advice.figures["gaps_us"] == 8 + 1 + 7
    assert advice.severity == "warning"  # 22 of 62 us


def test_thresholds() -> None:
    rows: list[Row] = [*({"us": 2, "gap": 10} for _ in range(4)), *({"us": 30} for _ in range(16))]
    assert "tiny" not in advice_from(rows)  # exactly 20 % of the calls
    assert "tiny" in advice_from(rows, Criteria(tiny_percent=19))
    assert "tiny" not in advice_from(rows, Criteria(tiny_percent=19, tiny_us=2))
    rows = [*({"us": 2, "gap": 1} for _ in range(4)), {"us": 5000}]
    assert "tiny" not in advice_from(rows)  # four of five calls, a fraction of the time


def test_host_dispatch_is_told_where_it_is_recorded() -> None:
    table = table_of([{"us": 2, "gap": 30} for _ in range(8)])
    apis = (ApiTotal("node", "launch", 8, 8 * 25_000), ApiTotal("acl", "other", 3, 1))
    profile = Profile("p", operators=table, apis=apis)
    (advice,) = tiny_advice(calls_of(profile, table, usable(table)), Criteria())
    assert advice.figures["dispatch_us"] == 25
    assert "node/launch: 25.0 us" in advice.message[0]


def test_unknown_without_starts() -> None:
    found = advice_from([{"us": 2} for _ in range(9)], without=["Task Start Time(us)"])
    assert "tiny" not in found
    patterns = found["pattern-unknown"][0].figures["patterns"]
    assert {"tiny", "fusible"} <= set(patterns)


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 15), st.booleans()), min_size=1, max_size=12),
    st.integers(1, 12),
)
def test_idle_time_against_counting(spans: list[tuple[int, int, bool]], limit: int) -> None:
    """Nanosecond by nanosecond: nothing covers it, and it lies between two kernels of one run."""
    rows = [
        {"at": at / 1000, "us": n / 1000, "type": "hcom_x" if is_comm else "Add", "stream": i}
        for i, (at, n, is_comm) in enumerate(spans)
    ]
    calls = calls_from(rows)
    runs = runs_of(calls, limit)
    starts, durations = calls.start_ns, calls.duration_ns
    busy = {t for s, n in zip(starts.tolist(), durations.tolist(), strict=True) for t in range(s, s + n)}
    order = sorted(np.flatnonzero(calls.is_kernel).tolist(), key=lambda i: (int(starts[i]), i))
    assert runs.at.tolist() == order
    for place, (one, two) in enumerate(zip(order, order[1:], strict=False)):
        between = range(int(starts[one]), int(starts[two]))
        assert int(runs.gap_ns[place]) == sum(t not in busy for t in between)
    tiny = "".join("t" if durations[i] < limit else "." for i in order)
    found = [(a, b) for a, b in zip(runs.first.tolist(), runs.last.tolist(), strict=True)]
    assert found == [
        (i, j - 1)
        for i in range(len(tiny))
        for j in range(i + 3, len(tiny) + 1)
        if set(tiny[i:j]) == {"t"} and (i == 0 or tiny[i - 1] == ".") and (j == len(tiny) or tiny[j] == ".")
    ]


# ---- jitter ----


def kernel(us: float, name: str = "MatMulV2_k", shapes: str = "8,8;8,8") -> Row:
    return {"type": "MatMulV2", "core": "AI_CORE", "name": name, "shapes": shapes, "us": us, "block": 24}


def test_jitter_by_hand() -> None:
    rows = [kernel(90), *(kernel(20) for _ in range(9)), kernel(60), kernel(60)]
    (advice,) = advice_from(rows)["kernel-jitter"]
    # without the first call: 9 x 20, 2 x 60; p50 20, p99 between the two of 60
    assert (advice.figures["p50_us"], advice.figures["p99_us"]) == (20, 60)
    assert advice.figures["jitter_percent"] == 200.0
    assert advice.cost_ns == 80_000
    assert advice.figures["n_calls"] == 12 and advice.severity == "note"


def test_only_the_first_call_is_warm_up() -> None:
    rows = [kernel(500), *(kernel(20) for _ in range(9))]
    found = advice_from(rows)
    assert "kernel-jitter" not in found
    (advice,) = found["kernel-warm-up"]
    assert advice.cost_ns == 480_000
    assert advice.figures["first_call_us"] == 500


@pytest.mark.parametrize(
    "rows",
    [
        [kernel(20), *(kernel(20 + 60 * (i % 2)) for i in range(8))],  # nine calls
        [kernel(20, shapes=f"{8 + i},8") for i in range(6)]
        + [kernel(80, shapes=f"{8 + i},8") for i in range(6)],
        [kernel(20 + i * 5, name=f"MatMulV2_{i}") for i in range(12)],  # twelve kernels
        [kernel(20, shapes="N/A"), *(kernel(20 + 60 * (i % 2), shapes="N/A") for i in range(12))],
        [kernel(20), *(kernel(20 + (i % 2)) for i in range(12))],
        [*(kernel(20 + 60 * (i == 5)) for i in range(12)), {"us": 9000}],  # nothing at stake
    ],
)
def test_what_is_no_jitter(rows: list[Row]) -> None:
    found = advice_from(rows)
    assert "kernel-jitter" not in found and "kernel-warm-up" not in found


@given(st.lists(st.lists(st.integers(0, 10**6), min_size=10, max_size=30), min_size=1, max_size=3))
def test_percentiles_are_those_of_numpy(groups: list[list[int]]) -> None:
    rows = [
        kernel(ns / 1000, name=f"k{i}")
        for j in range(30)
        for i, ones in enumerate(groups)
        for ns in ones[j : j + 1]
    ]
    spread = spread_of(calls_from(rows))
    assert len(spread.first) == len(groups)
    for i, ones in enumerate(groups):
        rest = np.array(ones[1:])
        assert spread.n[i] == len(ones)
        assert spread.p50_ns[i] == pytest.approx(np.percentile(rest, 50))
        assert spread.p99_ns[i] == pytest.approx(np.percentile(rest, 99))
        over = np.maximum(0, rest - np.percentile(rest, 50)).sum()
        assert abs(int(spread.over_ns[i]) - over) <= 1
