"""What is said of the operators of a profile: rules, figures, costs, words in both languages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npulse.core.formats.profiling.operators import OperatorTable
from npulse.core.formats.profiling.records import ProfilerSettings, TypeTotal
from npulse.core.performance.advice import Advice
from npulse.core.performance.criteria import Criteria
from npulse.core.performance.operators.bound import group_bounds
from npulse.core.performance.operators.classes import classes_of
from npulse.core.performance.operators.moved_bytes import moved_of
from npulse.core.performance.operators.rules_top import RULES
from npulse.core.performance.operators.texts_top import TEXTS
from npulse.core.performance.operators.top_advice import advice_of_top, tops_of
from npulse.core.performance.operators.usable import usable
from npulse.core.performance.profile import Profile

from .operator_tables import BASE_US, row, table_of
from .test_top_bounds import aic, aiv, shaped_row

DEFAULTS = Criteria()
IDS = {rule.id for rule in RULES}


def advice(
    table: OperatorTable | None,
    criteria: Criteria = DEFAULTS,
    *,
    chip: str = "",
    types: tuple[TypeTotal, ...] = (),
    wall_ns: int | None = None,
    cores: int | None = None,
) -> list[Advice]:
    profile = Profile(
        "rank0_ascend_pt",
        3,
        operators=table,
        types=types,
        settings=ProfilerSettings(chip=chip, ai_core_num=cores),
    )
    used = None if table is None else usable(table)
    found = list(advice_of_top(profile, used, tops_of(profile, used, wall_ns), criteria))
    for one in found:
        assert one.rule in IDS and one.profile == "rank0_ascend_pt" and one.cost_ns >= 0
        for text in (*one.message, *one.next_step):
            assert text and "{" not in text
        assert one.location.rank == 3 or one.location.line is None
        one.finding("zh")
    return found


def of_rule(found: Sequence[Advice], rule: str) -> list[Advice]:
    return [one for one in found if one.rule == f"performance.{rule}"]


def test_what_takes_the_time() -> None:
    rows = [
        row("MatMulV2", "60.5", 0),
        row("Add", "20", 100),
        row("MatMulV2", "9.5", 200),
        row("Cast", "10", 300),
    ]
    (top,) = of_rule(advice(table_of(rows), wall_ns=400_000), "top-operators")
    assert top.subject == "MatMulV2" and top.severity == "note" and top.cost_ns == 70_000
    assert top.figures["total_us"] == 100.0 and top.figures["wall_us"] == 400.0
    assert top.figures["types"] == ["MatMulV2", "Add", "Cast"]
    assert top.figures["types_percent"] == [70, 20, 10] and top.figures["types_us"] == [70, 20, 10]
    assert top.figures["core_types_percent"] == {"AI_CORE": 100}
    assert top.message[0].startswith(
        "4 calls of 3 types take 100 us of kernel time, the wall time is 400 us: MatMulV2 70 us (70.00 %)"
    )
    assert "Only 3 types in all; 80 % are in 2 types." in top.message[0]
    assert "总共只有 3 种算子类型，80 % 集中在 2 种算子类型。" in top.message[1]
    assert '--kernel-name="MatMulV2*"' in top.next_step[0]
    assert top.location.line == 2 and top.location.artifact == "op_summary_slice_0.csv"
    assert top.told[0].split() == [
        "70.00",
        "%",
        "70",
        "us",
        "2",
        "x",
        "35",
        "us",
        "cube",
        "unknown",
        "MatMulV2",
    ]


@pytest.mark.parametrize(
    ("core", "name", "words"),
    [("COMMUNICATION", "hcom_allReduce_", "communication"), ("AI_CPU", "IndexPutV2", "performance.aicpu")],
)
def test_the_next_step_is_that_of_the_first_one(core: str, name: str, words: str) -> None:
    (top,) = of_rule(advice(table_of([row(name, "60", 0, core=core), row("Add", "9", 99)])), "top-operators")
    assert words in top.next_step[0] and "msprof op" not in top.next_step[0]


def test_sums_alone_point_to_no_other_finding() -> None:
    (top,) = of_rule(advice(None, types=(TypeTotal("IndexPutV2", "AI_CPU", 1, 60_000),)), "top-operators")
    assert "onto the AI cores" in top.next_step[0] and "performance.aicpu" not in top.next_step[0]


def test_scattered_time_is_for_fusion() -> None:
    rows = [row(f"Own{i}", "10", 100 * i) for i in range(60)]
    (top,) = of_rule(advice(table_of(rows)), "top-operators")
    assert top.figures["reading"] == "scattered"
    assert top.figures["first_20_types_percent"] == pytest.approx(100 * 20 / 60, rel=1e-9)
    assert "Scattered" in top.message[0] and "fused operators" in top.next_step[0]
    (top,) = of_rule(advice(table_of(rows), Criteria(scattered_percent=30)), "top-operators")
    assert top.figures["reading"] == "between"
    (top,) = of_rule(advice(table_of(rows), Criteria(concentrated_percent=33)), "top-operators")
    assert top.figures["reading"] == "concentrated"


def test_rows_that_are_set_aside_are_named() -> None:
    rows = [row("Add", us, 20 * i) for i, us in enumerate(["5", "N/A", "", "-3", "1.8e14", "6"])]
    found = advice(table_of(rows))
    (absent,) = of_rule(found, "no-duration")
    assert absent.figures["lines"] == [3, 4] and absent.figures["n_rows"] == 2
    assert absent.severity == "note" and absent.role == "unknown"
    assert "2 rows of 6 without a duration" in absent.message[0] and "(line 3)" in absent.message[0]
    (impossible,) = of_rule(found, "impossible-duration")
    assert impossible.severity == "warning"
    assert impossible.figures["values_us"] == [-3.0, 1.8e14] and impossible.location.line == 5
    assert "(line 6: 180000000000000 us)" in impossible.message[0]
    assert of_rule(found, "top-operators")[0].figures["n_used"] == 2


def test_rows_out_of_a_timeline_have_no_line() -> None:
    rows = [row("Add", us, 20 * i) for i, us in enumerate(["5", "N/A", "-3"])]
    table = table_of(rows)
    found = advice(replace(table, line=np.zeros_like(table.line)))
    for rule in ("no-duration", "impossible-duration"):
        (one,) = of_rule(found, rule)
        assert one.figures["lines"] == [None] and one.location.line is None
        assert "1 row of 3" in one.message[0] and "line" not in one.message[0]


def test_many_rows_without_a_duration_are_counted_exactly() -> None:
    table = table_of([row("Add", "N/A" if i % 2 else "5", 20 * i) for i in range(3000)])
    (absent,) = of_rule(advice(table), "no-duration")
    assert absent.figures["n_rows"] == 1500 and len(absent.figures["names"]) == 20
    assert "and 1,497 more" in absent.message[0]


def test_an_impossible_row_behind_many_absent_ones_is_named() -> None:
    rows = [row("Add", "N/A", 20 * i) for i in range(3000)]
    (impossible,) = of_rule(advice(table_of([*rows, row("Mul", "-5", 10**6)])), "impossible-duration")
    assert impossible.subject == "aclnnMul_Mul_Mul" and impossible.location.line == 3002


def test_repeats_and_stray_starts_are_told() -> None:
    rows = [row("Add", "10", 20 * i, task=i) for i in range(6)]
    rows[2]["start"] = f"{BASE_US - 2 * 86_400_000_000}.000"
    found = advice(table_of([*rows, rows[0]], rows[4:]))
    assert [
        one.figures.get("n_rows", one.figures.get("n_twice_in_one_file"))
        for one in of_rule(found, "repeated-rows")
    ] == [2, 1]
    (stray,) = of_rule(found, "stray-start")
    assert stray.figures["lines"] == [4] and "1 row of 9" in stray.message[0]


def test_no_pipe_is_busy() -> None:
    rows = [
        row("MatMulV2", "40", 0, **aic(0.4, 0.6)),
        row("MatMulV2", "20", 100, **aic(0.4, 0.4)),
        row("MatMulV2", "19.999", 200, **aic(0.1, 0.1)),  # shorter than the limit
        row("MatMulV2", "100", 300, **aic(0.9, 0.1)),
        row("hcom_allReduce_", "500", 500, core="COMMUNICATION", **aiv(0.1, 0.1, 0.1)),
        row("Add", "30", 1100, core="AI_VECTOR_CORE", **aiv(0.1, 0.2, 0.16)),
    ]
    found = of_rule(advice(table_of(rows)), "unbound-operator")
    assert [one.subject for one in found] == ["Add", "MatMulV2"]
    add, matmul = found
    assert matmul.figures["n_calls"] == 2 and matmul.figures["total_us"] == 60
    assert matmul.figures["pipe"] == "mte2"
    assert matmul.figures["highest_ratio"] == pytest.approx((0.6 * 40 + 0.4 * 20) / 60, rel=1e-9)
    assert matmul.cost_ns == pytest.approx(40_000 * (1 - 0.6 / 0.8) + 20_000 * (1 - 0.4 / 0.8), abs=1)
    assert matmul.severity == "warning" and matmul.location.line == 2
    assert "2 calls of 20 us or more with no pipe above 0.8" in matmul.message[0]
    assert add.cost_ns == 22_500 and "double buffer" in add.next_step[0]
    assert (
        of_rule(advice(table_of(rows), Criteria(unbound_us=35)), "unbound-operator")[0].figures["n_calls"]
        == 1
    )
    assert of_rule(advice(table_of(rows), Criteria(bound_ratio=0.15)), "unbound-operator") == []


def test_near_its_reach_is_a_note() -> None:
    more = {"core": "AI_VECTOR_CORE", **aiv(0.3, 0.5, 0.4)}
    (found,) = of_rule(
        advice(table_of([shaped_row("Add", "50", 0, "64;64", "64", **more)])), "unbound-operator"
    )
    assert found.severity == "note" and "near its reach (vec+mte2+mte3)" in found.message[0]


def test_what_bounds_the_heavy_ones() -> None:
    rows = [
        row("MatMulV2", "100", 0, **aic(0.95, 0.5)),
        row("Add", "50", 200, core="AI_VECTOR_CORE", **aiv(0.2, 1.25, 0.5)),
        row("Conv2D", "40", 300, mac_ratio=0.2, vec_ratio=0.1, mte2_ratio=0.5, memory_bound=2.5),
        row("Tiny", "1", 400, **aic(0.95, 0.5)),
        row("hcom_allReduce_", "5000", 500, core="COMMUNICATION", **aiv(0.9, 0.1, 0.1)),
    ]
    found = of_rule(advice(table_of(rows)), "bound-operator")
    assert [(one.subject, one.figures["bound"]) for one in found] == [
        ("MatMulV2", "cube"),
        ("Add", "mte2"),
        ("Conv2D", "none"),
    ]
    assert (
        found[1].figures["ratios"]["mte2"] == 1.25 and "mte2 is busy 1.00 of the time" in found[1].message[0]
    )
    assert "memory_bound is 2.50" in found[2].message[0]
    assert all(one.severity == "note" and one.cost_ns == 0 for one in found)


def test_cube_cores_without_work() -> None:
    rows = [
        row("MatMulV2", "80", 0, utilization=20, blocks=8),
        row("MatMulV2", "20", 100, utilization=40, blocks=6),
        row("MatMulV3", "100", 200, utilization=80),
        row("Add", "100", 400, core="AI_VECTOR_CORE", utilization=5),
        row("Conv2D", "1", 600, utilization=10),
        row("Conv3D", "50", 700, utilization="N/A"),
    ]
    (found,) = of_rule(advice(table_of(rows), cores=24), "cube-utilization")
    assert found.subject == "MatMulV2" and found.figures["utilization_percent"] == 24
    assert found.cost_ns == 52_000 and found.severity == "warning"
    assert "It is split over 6-8 cores of 24." in found.message[0]
    assert of_rule(advice(table_of(rows), Criteria(core_utilization_percent=20)), "cube-utilization") == []
    assert of_rule(advice(table_of(rows), Criteria(core_utilization_percent=0)), "cube-utilization") == []


def test_axes_that_do_not_fit() -> None:
    rows = [
        shaped_row("MatMulV3", "500", 0, "8192,15365;8192,4096", "15365,4096", **aic(0.7, 0.5)),
        shaped_row(
            "FlashAttentionScore", "200", 900, "4000,2,2560", "2,32,4000,8", core="MIX_AIC", **aic(0.5, 0.9)
        ),
    ]
    found = advice(table_of(rows))
    (matmul,) = of_rule(found, "matmul-axis")
    assert matmul.figures["axes"] == [15365] and matmul.cost_ns == 225_000
    assert "inner axis 15,365 is no multiple of 256" in matmul.message[0] and "15,616" in matmul.next_step[0]
    (attention,) = of_rule(found, "attention-axis")
    assert attention.figures["axes"] == [80, 4000] and attention.cost_ns == 0
    assert "head dim 80 is no multiple of 128, sequence 4,000 is no multiple of 128" in attention.message[0]


def test_the_roof_of_the_memory() -> None:
    # 12 MB in 8 us: 1,500 GB/s
    rows = [
        shaped_row("Add", "8", 0, "1000000;1000000", "1000000", core="AI_VECTOR_CORE"),
        shaped_row("Mul", "40", 100, "1000000;1000000", "1000000", core="AI_VECTOR_CORE"),
    ]
    table = table_of(rows)
    unknown = advice(table)
    assert of_rule(unknown, "memory-roof") == []  # nobody says what the chip can
    (roof,) = of_rule(advice(table, chip="Ascend910B3"), "memory-roof")
    assert (
        roof.subject == "Add"
        and roof.figures["bandwidth_gb_per_s"] == 1500
        and roof.figures["peak_gb_per_s"] == 1750
    )
    assert "86 % of 1750 GB/s (peak of 910B3)" in roof.message[0] and "Fuse it" in roof.next_step[0]
    (roof,) = of_rule(advice(table, Criteria(bandwidth_gb_per_s=1400)), "memory-roof")
    assert "107 % of 1400 GB/s (as set), part of it from the L2 cache" in roof.message[0]
    # the limits of throughput are those of chips with vector cores
    assert of_rule(unknown, "low-throughput") == []
    assert of_rule(advice(table, chip="Ascend310P3"), "low-throughput") == []
    (low,) = of_rule(advice(table, chip="Ascend910B3"), "low-throughput")
    assert low.subject == "Mul" and low.figures["bandwidth_gb_per_s"] == 300 and low.severity == "note"
    assert "17 % of 1750 GB/s" in low.message[0] and low.cost_ns == round(40_000 * (1 - 300 / 575))


def test_more_bytes_than_any_memory_gives_is_no_roof() -> None:
    rows = [shaped_row("Add", "8", 0, "40000000;40000000", "40000000", core="AI_VECTOR_CORE")]
    assert of_rule(advice(table_of(rows), chip="910B3"), "memory-roof") == []


def test_totals_only() -> None:
    types = (
        TypeTotal("MatMulV2", "AI_CORE", 3, 70_000, 10_000, 23_333, 40_000),
        TypeTotal("Cast", "AI_VECTOR_CORE", None, 30_000),
        TypeTotal("Lost", "AI_CORE", 1, None),
    )
    found = advice(None, types=types)
    assert [one.rule.split(".")[1] for one in found] == ["top-operators", "time-by-class"]
    top, classes = found
    assert top.message[0].startswith("calls of 2 types take 100 us") and top.figures["n_left_out"] == 1
    assert top.location.line is None and classes.figures["cube_percent"] == 70
    assert advice(None) == []


def test_what_the_caller_has_is_used() -> None:
    table = table_of([row("MatMulV2", "40", 0, **aic(0.4, 0.6)), row("Add", "20", 100, **aiv(0.1, 0.1, 0.1))])
    profile, used = Profile("p", operators=table), usable(table)
    tops = tops_of(profile, used)
    bounds = group_bounds(table, used, tops["type"])
    more: dict[str, Any] = {
        "bounds": bounds,
        "classes": classes_of(tops["type"], bounds.ratios),
        "moved": moved_of(table, used, tops["type"]),
    }
    given_ = list(advice_of_top(profile, used, tops, Criteria(), **more))
    assert given_ == list(advice_of_top(profile, used, tops, Criteria()))


def test_names_out_of_files_are_made_safe() -> None:
    evil = "Mat\x1b[2J\u202eMul;rm -rf"
    found = advice(table_of([{**row(evil, "40", 0, **aic(0.4, 0.6)), "name": evil}, row("Add", "N/A", 9)]))
    for one in found:
        for text in (one.subject, *one.message, *one.next_step, *one.told):
            assert "\x1b" not in text and "\u202e" not in text
    (top,) = of_rule(found, "top-operators")
    assert "--kernel-name=NAME " in top.next_step[0]


def test_every_text_is_there_in_both_languages() -> None:
    for rule in RULES:
        for pair in (rule.title, rule.meaning, rule.threshold, rule.source, rule.silence):
            assert all(pair)
    fields = __import__("string").Formatter().parse
    for key, (en, zh) in TEXTS.items():
        names = [{name for _, name, _, _ in fields(text) if name is not None} for text in (en, zh)]
        assert names[0] == names[1], key


CELLS = st.sampled_from(["N/A", "", "0", "0.5", "0.95", "1e300", "-1", "x", "12.5", "99999999999999999999"])


@given(st.lists(st.tuples(*[CELLS] * 6), min_size=1, max_size=6), st.sampled_from(["", "910B4", "310P3"]))
@settings(max_examples=60, deadline=None)
def test_nothing_breaks_it(cells: list[tuple[str, ...]], chip: str) -> None:
    rows = [
        shaped_row("Add" if i % 2 else "MatMulV2", us, 50 * i, f"{dim};{dim}", dim)
        | {
            "aic_mac_ratio": mac,
            "aiv_vec_ratio": vec,
            "aic_mte2_ratio": mte2,
            "utilization": value,
            "blocks": dim,
        }
        for i, (us, dim, mac, vec, mte2, value) in enumerate(cells)
    ]
    table = table_of(rows)
    advice(table, chip=chip)
    advice(table, Criteria(core_utilization_percent=0, unbound_us=0, bound_ratio=0), chip=chip)
