"""What is said of a kernel, each rule at both sides of its threshold, and what is not said."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

from npulse.core.formats.opprof.records import (
    CacheUse,
    ComputeUse,
    Instructions,
    KernelProfile,
    MemoryPath,
    PipeUse,
    SourceLines,
    ToolAdvice,
    UnitUse,
)
from npulse.core.performance.advice import AREA
from npulse.core.performance.chips import Chip
from npulse.core.performance.criteria import Criteria
from npulse.core.performance.kernel.advice import advice_of_kernel, summary_of
from npulse.core.performance.kernel.bounds import bounds_of, busiest
from npulse.core.performance.kernel.cores import cores_of
from npulse.core.performance.kernel.hot_lines import hot_instructions, hot_lines
from npulse.core.performance.kernel.rules import RULES
from npulse.core.performance.kernel.texts import TEXTS

from .kernels import CHIP, NA, kernel, one, said, vectors


def severity_of(profile: KernelProfile, rule: str) -> str:
    advice = one(profile, rule)
    return "" if advice is None else advice.severity


def pipes(n: int = 4, side: str = "aiv", **ratios: float) -> dict[str, dict[str, list[float]]]:
    """PipeUtilization of n equal cores of 60 us."""
    names = {"vector": "vec"}
    columns = {f"{side}_{names.get(pipe, pipe)}_ratio": [value] * n for pipe, value in ratios.items()}
    columns |= {f"{side}_time(us)": [60.0] * n, f"{side}_total_cycles": [100_000.0] * n}
    return {"PipeUtilization": columns}


# ---- clock ----


@pytest.mark.parametrize(
    ("current", "rated", "speaks"),
    [
        (1567.5, 1650, True),
        (1568, 1650, False),
        (800, 1650, True),
        (1650, 1650, False),
        (0, 1650, False),
        (800, None, False),
    ],
)
def test_frequency(current: float, rated: float | None, speaks: bool) -> None:
    made = kernel([], {}, frequency_mhz=current, rated_mhz=rated)
    advice = one(made, "frequency")
    assert (advice is not None) == speaks
    if advice is not None and rated:
        assert advice.cost_ns == pytest.approx(100_000 * (1 - current / rated), abs=1)
    assert one(made, "frequency", frequency_drop_percent=60) is None


# ---- bounds ----


@pytest.mark.parametrize(
    ("ratios", "bound", "basis", "severity"),
    [
        ({"vector": 0.81, "mte2": 0.5}, "vector", "ratio", "note"),
        ({"vector": 0.81, "mte2": 0.9}, "mte2", "ratio", "warning"),
        ({"scalar": 0.85, "mte2": 0.1}, "scalar", "ratio", "warning"),
        ({"mte3": 0.7, "vector": 0.1}, "mte3", "advisor", "warning"),
        ({"vector": 0.3, "mte2": 0.35, "mte3": 0.25}, "mte2", "advisor", "warning"),
        ({"vector": 0.3, "mte2": 0.3, "mte3": 0.25}, "latency", "none", "warning"),
        ({"scalar": 0.8, "mte2": 0.1}, "latency", "none", "warning"),
    ],
)
def test_bound_of_vector_kernels(ratios: dict[str, float], bound: str, basis: str, severity: str) -> None:
    made = kernel(vectors(4), pipes(4, "aiv", **ratios))
    advice = one(made, "bound")
    assert advice is not None
    assert (advice.figures["bound"], advice.figures["basis"], advice.severity) == (bound, basis, severity)
    assert summary_of(made).bound == bound
    for word in advice.message:
        assert f"{max(ratios.values()) * 100:.1f}%" in word


def test_advisors_limits_are_those_of_vector_kernels_only() -> None:
    made = kernel(["0 cube0"], pipes(1, "aic", mte2=0.75, cube=0.3))
    assert [(b.pipe, b.basis) for b in bounds_of(cores_of(made))] == [("mte2", "none")]


def test_a_short_kernel_is_no_candidate_for_tuning() -> None:
    assert severity_of(kernel(vectors(4), pipes(vector=0.1), duration_us=19.9), "bound") == "note"
    assert severity_of(kernel(vectors(4), pipes(vector=0.1), duration_us=20.0), "bound") == "warning"


def test_bound_takes_means_and_busiest_takes_the_worst_core() -> None:
    columns = {"aiv_vec_ratio": [0.9, 0.1], "aiv_mte2_ratio": [0.4, 0.6], "aiv_mte3_ratio": [NA, NA]}
    cores = cores_of(kernel(vectors(2), {"PipeUtilization": columns}))
    (bound,) = bounds_of(cores)
    assert bound.ratios == {"vector": 0.5, "mte2": 0.5} and bound.n_busy == 1
    assert busiest(cores) == ("vector", 0.9)


def test_cores_that_only_wait_for_the_others_are_not_judged() -> None:
    names = ["0 cube0", "0 vector0"]
    columns = {
        "aic_time(us)": [90, NA],
        "aic_cube_ratio": [0.9, NA],
        "aiv_time(us)": [NA, 10],
        "aiv_vec_ratio": [NA, 0.05],
    }
    found = said(kernel(names, {"PipeUtilization": columns}))
    assert [a.figures["bound"] for a in found["bound"]] == ["cube"]


# ---- shares ----


def test_compute_use_counts_cores_below() -> None:
    columns = {"aiv_vec_ratio": [0.1, 0.19, 0.2, 0.5]}
    advice = one(kernel(vectors(4), {"PipeUtilization": columns}), "use")
    assert advice is not None and advice.figures["n_cores_below"] == 2
    assert advice.figures["busy_percent"] == pytest.approx(24.75)
    assert one(kernel(vectors(2), {"PipeUtilization": {"aiv_vec_ratio": [0.2, NA]}}), "use") is None


def test_scalar_is_told_once_with_its_parts() -> None:
    tables = pipes(scalar=0.5, mte2=0.3)
    tables["PipeUtilization"] |= {
        "aiv_scalar_wait_ib_time(us)": [9.0] * 4,
        "aiv_scalar_wait_time(us)": [1.0] * 4,
    }
    advice = one(kernel(vectors(4), tables), "scalar")
    assert advice is not None and advice.told == ("scalar_wait_ib 9 us", "scalar_wait 1 us")
    assert "scalar_wait_ib 9 us" in advice.message[0] and advice.cost_ns == 30_000
    assert one(kernel(vectors(4), pipes(scalar=0.49)), "scalar") is None
    bound = said(kernel(vectors(4), pipes(scalar=0.9)))
    assert "scalar" not in bound and bound["bound"][0].figures["bound"] == "scalar"


def test_conflicts_by_their_parts() -> None:
    conflicts = {
        "aiv_vec_total_cflt_ratio": [0.06, 0.08],
        "aiv_vec_bank_cflt_ratio": [0.05, 0.07],
        "aiv_vec_bankgroup_cflt_ratio": [0.01, 0.01],
        "aiv_vec_mte_cflt_ratio": [0.0, 0.0],
    }
    advice = one(kernel(vectors(2), {"ResourceConflictRatio": conflicts}), "conflict")
    assert advice is not None and advice.figures["conflict_percent"] == pytest.approx(7)
    assert "(bank 6.0%, bankgroup 1.0%)" in advice.message[0]
    assert (
        one(kernel(vectors(2), {"ResourceConflictRatio": conflicts}), "conflict", kernel_conflict_percent=7.1)
        is None
    )
    new = {"aiv_vec_stu_cflt": [0.04, 0.04], "aiv_vec_ldu_cflt": [0.02, 0.02]}
    advice = one(kernel(vectors(2), {"ResourceConflictRatio": new}), "conflict")
    assert advice is not None and advice.figures["conflict_percent"] == pytest.approx(6)


def test_conflicts_of_visualize_data() -> None:
    computes = (ComputeUse(0, "vector0", "Vector All Block", "instr", 60.0),)
    units = (UnitUse(0, "vector0", 500, 1000, 50.0),)
    advice = one(kernel([], {}, computes=computes, units=units), "conflict")
    assert advice is not None and advice.figures["conflict_percent"] == 6


def test_instruction_cache() -> None:
    columns = {"aiv_icache_miss_rate": [0.04, 0.06], "aiv_scalar_wait_ib_time(us)": [3.0, 5.0]}
    advice = one(kernel(vectors(2), {"PipeUtilization": columns}), "icache")
    assert (
        advice is not None and advice.figures["miss_percent"] == pytest.approx(5) and advice.cost_ns == 4000
    )
    assert one(kernel(vectors(2), {"PipeUtilization": columns}), "icache", kernel_icache_percent=5.1) is None
    units = (UnitUse(0, "cube0", 1, 2, 50.0),)
    caches = (CacheUse(0, "iCache Total", 90, 10, 90.0),)
    advice = one(kernel([], {}, units=units, caches=caches), "icache")
    assert advice is not None and advice.figures["miss_percent"] == 10


# ---- memory ----


def test_l2_hits_are_weighted_by_accesses() -> None:
    names = ("write_cache", "r0_read_cache", "r1_read_cache")
    columns: dict[str, list[float]] = {}
    for name, hit, miss in zip(names, (10, 20, 0), (30, 20, 10), strict=True):
        columns |= {f"aiv_{name}_hit": [hit, 0], f"aiv_{name}_miss_allocate": [miss, 10]}
    advice = one(kernel(vectors(2), {"L2Cache": columns}), "l2")
    assert advice is not None and advice.figures["l2_hit_percent"] == pytest.approx(30 / 120 * 100)
    assert advice.figures["n_hits"] == 30 and advice.figures["n_accesses"] == 120
    rate = {"L2Cache": {"aic_l2_cache_hit_rate(%)": [60.0]}}
    assert one(kernel(["-1 "], rate), "l2") is None
    assert one(kernel(["-1 "], {"L2Cache": {"aic_l2_cache_hit_rate(%)": [59.9]}}), "l2") is not None
    new = {"aic_read_close_hit": [2.0], "aic_read_close_miss": [2.0], "aic_write_far_victim": [4.0]}
    advice = one(kernel(["0 cube0"], {"L2Cache": new}), "l2")
    assert advice is not None and advice.figures["l2_hit_percent"] == 25


def test_a_busy_pipe_that_moves_little() -> None:
    tables = pipes(2, mte2=0.5, mte3=0.09) | {
        "Memory": {"GM_to_UB_bw_usage_rate(%)": [10.0, 30.0], "UB_to_GM_bw_usage_rate(%)": [0.1, 0.1]}
    }
    advice = one(kernel(vectors(2), tables), "pipe-slow")
    assert advice is not None, "mte3 is hardly busy: nothing is said of it"
    assert advice.figures["pipe"] == "mte2" and advice.figures["speed_ratio"] == pytest.approx(0.4)
    assert advice.cost_ns == pytest.approx(60_000 * 0.5 * 0.6, abs=1)
    fast = pipes(2, mte2=0.5) | {"Memory": {"GM_to_UB_bw_usage_rate(%)": [40.0, 40.0]}}
    assert one(kernel(vectors(2), fast), "pipe-slow") is None


def test_the_same_of_visualize_data() -> None:
    units = (UnitUse(0, "cube0", 1, 2, 50.0),)
    use = (PipeUse(0, "cube0", "fixpipe", 1, 1, 0, 50.0),)
    paths = (MemoryPath(0, 10, "L0C to L2", 1, 1.0, 10.0), MemoryPath(0, 2, "L2 to L1", 1, 1.0, None))
    advice = one(kernel([], {}, units=units, pipes=use, paths=paths), "pipe-slow")
    assert advice is not None and advice.figures["pipe"] == "fixpipe"
    assert advice.figures["speed_ratio"] == pytest.approx(0.2)


def test_bandwidth_needs_the_chip() -> None:
    moved = {
        "Memory": {"read_main_memory_datas(KB)": [40_000.0] * 2, "write_main_memory_datas(KB)": [NA, 100.0]}
    }
    made = kernel(vectors(2), moved)
    expected = (80_000 + 100) * 1024 / 100e-6 / 1e9
    assert summary_of(made).gm_gb_per_s == pytest.approx(expected)
    assert one(made, "bandwidth") is None and summary_of(made).gm_percent is None
    advice = one(made, "bandwidth", CHIP)
    assert advice is not None and advice.figures["bandwidth_percent"] == pytest.approx(expected / 1000 * 100)
    assert one(made, "bandwidth", Chip("x", "A2", 20, 40, 1200, None)) is None
    way = {"Memory": {"UB_to_GM_bw_usage_rate(%)": [80.0, 90.0]}}
    advice = one(kernel(vectors(2), way), "bandwidth")
    assert advice is not None and advice.figures == {
        "duration_us": 100.0,
        "way": "ub_to_gm",
        "used_percent": 85.0,
    }


# ---- cores ----


@pytest.mark.parametrize(
    ("op_type", "dim", "used"),
    [
        ("vector", 8, 20),
        ("vector", 19, 47.5),
        ("vector", 20, None),
        ("cube", 9, 45),
        ("mix", 10, None),
        ("vector", 41, None),
    ],
)
def test_few_cores(op_type: str, dim: int, used: float | None) -> None:
    advice = one(kernel([], {}, op_type=op_type, block_dim=dim), "few-cores", CHIP)
    assert (None if advice is None else advice.figures["used_percent"]) == (
        None if used is None else pytest.approx(used)
    )
    assert one(kernel([], {}, op_type=op_type, block_dim=dim), "few-cores") is None, "no chip, no judgement"


def test_a_second_round_that_is_nearly_empty() -> None:
    advice = one(
        kernel([], {}, op_type="vector", block_dim=41), "few-cores", CHIP, core_utilization_percent=60
    )
    assert advice is not None and advice.figures["used_percent"] == pytest.approx(51.25)


def test_cores_of_chips_that_are_not_split() -> None:
    chip = Chip("310P", "310P", 8, 0)
    advice = one(kernel(["-1 "], {}, op_type="AiCore", block_dim=2), "few-cores", chip)
    assert advice is not None and advice.figures["used_percent"] == 25


def test_time_in_which_no_core_works() -> None:
    advice = one(kernel(vectors(4), pipes(vector=0.5), block_dim=4), "outside")
    assert advice is not None and advice.figures["outside_us"] == 40 and advice.severity == "note"
    assert one(kernel(vectors(4), pipes(vector=0.5), block_dim=9), "outside") is None, "maybe several rounds"
    assert (
        one(kernel(vectors(4), pipes(vector=0.5), block_dim=9, op_type="vector"), "outside", CHIP) is not None
    )
    slow = kernel(vectors(4), pipes(vector=0.5), block_dim=4, frequency_mhz=1000.0)
    assert one(slow, "outside") is None, "100,000 cycles at 1,000 MHz are the whole 100 us"
    assert one(kernel(vectors(4), pipes(vector=0.5), block_dim=4, duration_us=64.9), "outside") is None
    launch = kernel(vectors(4), pipes(vector=0.5), block_dim=4, duration_us=64.5)
    assert one(launch, "outside", kernel_outside_percent=5) is None, "a launch takes some microseconds"
    long = kernel(vectors(4), pipes(vector=0.5), block_dim=4, duration_us=200.0)
    assert severity_of(long, "outside") == "warning"


# ---- lines ----


def lines(cycles: list[float], calls: list[int]) -> SourceLines:
    n = len(cycles)
    codes = np.arange(n, dtype=np.int32)
    return SourceLines(
        ("c0", "c1"),
        tuple(f"a.cpp:{i}" for i in range(n // 2)),
        codes % 2,
        codes // 2,
        np.array(calls),
        np.array(cycles, np.float64),
        np.full(n, NA),
    )


def test_hot_lines_are_summed_over_cores() -> None:
    found = hot_lines(lines([1, 2, 30, 40, 0, 7], [1, 1, 2, 2, 3, 3]))
    assert [(h.name, h.cycles, h.calls, h.n_cores) for h in found] == [
        ("a.cpp:1", 70, 4, 2),
        ("a.cpp:2", 7, 6, 2),
        ("a.cpp:0", 3, 2, 2),
    ]
    assert found[0].share == pytest.approx(70 / 80) and math.isnan(found[0].running_us)
    made = kernel([], {}, layout="simulator", lines=lines([1, 2, 30, 40], [1, 1, 2, 2]))
    advice = one(made, "hot-line")
    assert advice is not None and advice.figures["share_percent"] == pytest.approx(70 / 73 * 100)
    assert one(made, "hot-line", kernel_line_percent=99) is None
    counted = hot_lines(lines([NA] * 4, [1, 1, 5, 5]))
    assert [(h.name, h.share) for h in counted] == [("a.cpp:1", 10 / 12), ("a.cpp:0", 2 / 12)]
    advice = one(kernel([], {}, layout="simulator", lines=lines([NA] * 4, [1, 1, 5, 5])), "hot-line")
    assert advice is not None and "cycles are not told" in advice.message[0]
    assert hot_lines(lines([], [])) == () == hot_lines(lines([0, 0], [0, 0]))


def test_hot_instructions_by_name_and_pipe() -> None:
    i32 = np.array([0, 0, 0, 1], np.int32)
    found = Instructions(
        ("c0",),
        ("VADD", "MOV"),
        ("VECTOR", "MTE2"),
        ("",),
        np.zeros(4, np.int32),
        i32,
        np.array([0, 0, 1, 1], np.int32),
        np.zeros(4, np.int32),
        np.arange(4),
        np.ones(4, np.int64),
        np.array([1.0, 2.0, 4.0, 30.0]),
        np.array([0.1, 0.5, NA, 0.2]),
    )
    told = [(h.name, h.pipe, h.cycles, h.calls) for h in hot_instructions(found)]
    assert told == [("MOV", "MTE2", 30, 1), ("VADD", "MTE2", 4, 1), ("VADD", "VECTOR", 3, 2)]
    assert hot_instructions(found)[2].running_us == 0.5


def flags(*cycles: float) -> Instructions:
    """VADD on VECTOR, WAIT_FLAG on VECTOR, WAIT_FLAG on MTE3, SET_FLAG on MTE3."""
    n = len(cycles)
    return Instructions(
        ("c0",),
        ("VADD", "WAIT_FLAG", "SET_FLAG"),
        ("VECTOR", "MTE3"),
        ("",),
        np.zeros(n, np.int32),
        np.array([0, 1, 1, 2], np.int32)[:n],
        np.array([0, 0, 1, 1], np.int32)[:n],
        np.zeros(n, np.int32),
        np.arange(n),
        np.ones(n, np.int64),
        np.array(cycles, np.float64),
        np.full(n, NA),
    )


def test_waits_for_other_pipes() -> None:
    advice = one(kernel([], {}, layout="simulator", instructions=flags(70, 5, 20, 5)), "sync")
    assert advice is not None and advice.figures["wait_percent"] == 25
    assert "(MTE3 20.0%, VECTOR 5.0%)" in advice.message[0] and advice.cost_ns == 25_000
    assert one(kernel([], {}, layout="simulator", instructions=flags(75.1, 5, 14.9, 5)), "sync") is None
    for empty in (flags(NA, NA), flags()):
        assert said(kernel([], {}, layout="simulator", instructions=empty)) == {}


# ---- what is not known ----


def test_the_tools_own_words_are_shown_once_each() -> None:
    words = ("first.", "second", "first.")
    made = kernel([], {}, advice=tuple(ToolAdvice("memory", str(i), text) for i, text in enumerate(words)))
    advice = one(made, "tool")
    assert advice is not None and advice.severity == "note"
    assert advice.told == ("first. (x2)", "second") and "first; second" in advice.message[1]


def test_a_collection_in_progress_is_told_and_nothing_else() -> None:
    made = kernel([], {}, layout="collecting", duration_us=None, n_replays=3)
    found = said(made, CHIP)
    assert list(found) == ["collecting"] and "3" in found["collecting"][0].message[0]
    assert not summary_of(made).is_finished


def test_tables_that_are_missing_are_not_clean() -> None:
    made = kernel(vectors(2), pipes(2, vector=0.9), missing=("L2Cache", "visualize_data.bin"))
    advice = one(made, "not-judged")
    assert advice is not None and advice.figures["missing"] == ["L2Cache"]
    assert one(kernel(vectors(2), pipes(2), missing=("visualize_data.bin",)), "not-judged") is None


def test_a_kernel_of_which_nothing_is_told() -> None:
    made = kernel([], {}, duration_us=None)
    assert said(made, CHIP) == {}
    summary = summary_of(made, chip=CHIP)
    assert (summary.bound, summary.roof, summary.spread_percent, summary.l2_hit_percent) == (None,) * 4
    na = kernel(vectors(3), {"PipeUtilization": {"aiv_vec_ratio": [NA] * 3, "aiv_time(us)": [NA] * 3}})
    assert said(na, CHIP) == {}


# ---- texts and rules ----


def test_rules_and_texts() -> None:
    ids = [rule.id for rule in RULES]
    assert len(set(ids)) == len(ids) and all(i.startswith(f"{AREA}.kernel-") for i in ids)
    known = set(Criteria.__dataclass_fields__)
    for rule in RULES:
        for pair in (rule.title, rule.meaning, rule.threshold, rule.source, rule.silence):
            assert len(pair) == 2 and all(pair)
        if rule.silence[0].startswith("--criteria"):
            assert rule.silence[0].split()[1].split("=")[0] in known
    for key, pair in TEXTS.items():
        fields = [sorted(set(_fields(text))) for text in pair]
        assert fields[0] == fields[1], key


def test_what_is_said_to_silence_a_rule_does() -> None:
    columns = {
        "aiv_time(us)": [20.0, 20.0, 20.0, 60.0],
        "aiv_total_cycles": [1000.0, 1000.0, 1000.0, 3000.0],
        "aiv_vec_ratio": [0.1] * 4,
        "aiv_mte2_ratio": [0.6] * 4,
        "aiv_scalar_ratio": [0.6] * 4,
        "aiv_icache_miss_rate": [0.2] * 4,
    }
    tables = {
        "PipeUtilization": columns,
        "Memory": {"GM_to_UB_bw_usage_rate(%)": [10.0] * 4, "UB_to_GM_bw_usage_rate(%)": [90.0] * 4},
        "L2Cache": {"aiv_write_cache_hit": [1.0] * 4, "aiv_write_cache_miss_allocate": [9.0] * 4},
        "ResourceConflictRatio": {"aiv_vec_total_cflt_ratio": [0.2] * 4},
    }
    told: dict[str, Any] = {"op_type": "vector", "block_dim": 4, "frequency_mhz": 900.0, "rated_mhz": 1000.0}
    told |= {"lines": lines([9, 9, 1, 1], [1, 1, 1, 1]), "instructions": flags(1, 1, 1, 1)}
    made = kernel(vectors(4), tables, **told)
    all_of_them = said(made, CHIP)
    n_silenced = 0
    for rule in RULES:
        name = rule.id.removeprefix("performance.kernel-")
        if not rule.silence[0].startswith("--criteria "):
            continue
        key, _, value = rule.silence[0].removeprefix("--criteria ").partition("=")
        assert name in all_of_them, name
        assert name not in said(made, CHIP, **{key: float(value)}), name
        n_silenced += 1
    assert n_silenced == 14


def _fields(text: str) -> list[str]:
    import string

    return [name for _, name, _, _ in string.Formatter().parse(text) if name]


def test_every_finding_has_a_rule_and_both_languages() -> None:
    """Over kernels with random figures, odd ones among them."""
    rng = random.Random(3)
    ids = {rule.id for rule in RULES}
    seen = set()
    numbers = [0.0, 1.0, 0.05, 0.5, 0.9, NA, 1e18, -1.0, 1e-320, 100.0]
    sides = ("aic", "aiv")
    names = [
        *(
            "cube_ratio",
            "vec_ratio",
            "scalar_ratio",
            "mte1_ratio",
            "mte2_ratio",
            "mte3_ratio",
            "fixpipe_ratio",
        ),
        *("time(us)", "total_cycles", "icache_miss_rate", "vec_total_cflt_ratio", "vec_bank_cflt_ratio"),
        *("write_cache_hit", "write_cache_miss_allocate", "vec_fops", "cube_fops", "scalar_wait_time(us)"),
    ]
    tables = ("PipeUtilization", "Memory", "L2Cache", "ArithmeticUtilization", "ResourceConflictRatio")
    for _ in range(300):
        cores = rng.choice(
            [vectors(4), ["0 cube0", "0 vector0", "0 vector1"], ["-1 "], [], ["0 cube0", "1 cube0"]]
        )
        made: dict[str, dict[str, list[float]]] = {}
        for table in tables:
            columns = [f"{side}_{name}" for side in sides for name in names if rng.random() < 0.5]
            columns += ["GM_to_UB_bw_usage_rate(%)", "read_main_memory_datas(KB)"]
            made[table] = {c: [rng.choice(numbers) for _ in cores] for c in columns}
        told: dict[str, Any] = {
            "duration_us": rng.choice([None, 0.0, 5.0, 100.0, 1e300]),
            "block_dim": rng.choice([None, 0, 1, 8, 10**18]),
            "frequency_mhz": rng.choice([None, 0.0, 900.0]),
            "rated_mhz": rng.choice([None, 1000.0]),
            "op_type": rng.choice(["vector", "cube", "mix", "AiCore", "?"]),
            "name": rng.choice(["k", "\x1b[2J{evil}%s"]),
            "index": rng.choice([None, 3]),
        }
        profile: KernelProfile = kernel(cores, made, **told)
        for advice in advice_of_kernel(profile, None, rng.choice([None, CHIP])):
            assert advice.rule in ids and advice.cost_ns >= 0
            seen.add(advice.rule)
            for lang in ("en", "zh"):
                finding = advice.finding(lang)
                assert finding.message and finding.next_step and "\x1b" not in finding.subject
        summary_of(profile, None, CHIP)
    assert len(seen) >= 10, sorted(seen)
