"""Class, bound, bytes and the advisor's limits of operators, by figures made by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npulse.core.formats.profiling.operators import OperatorTable
from npulse.core.performance.chips import chip_of
from npulse.core.performance.operators import bound as bound_module
from npulse.core.performance.operators.aicore_rules import (
    Axis,
    attention_axes,
    matmul_axes,
    reach_of,
    shaped_of,
)
from npulse.core.performance.operators.bound import (
    BOUNDS,
    PIPES,
    GroupBounds,
    call_bounds,
    group_bounds,
    pipe_ratio,
    row_bounds,
    shown,
)
from npulse.core.performance.operators.classes import (
    BASES,
    CLASSES,
    class_by_pipes,
    class_of,
    classes_of,
    weights_percent,
)
from npulse.core.performance.operators.moved_bytes import NO_BYTES, bytes_of, moved_bytes, moved_of
from npulse.core.performance.operators.shares import sums_by_class
from npulse.core.performance.operators.top import Top, top
from npulse.core.performance.operators.usable import usable

from .operator_tables import row, table_of


def bounds_of(table: OperatorTable, limit: float = 0.8) -> tuple[Top, GroupBounds]:
    used = usable(table)
    found = top(table, used)
    return found, group_bounds(table, used, found, limit)


def aic(mac: object, mte2: object, **more: object) -> dict[str, object]:
    """Ratios of a cube operator, with the 0 of the other side as the tool writes it."""
    ratios = {"aic_mac_ratio": mac, "aic_scalar_ratio": 0.1, "aic_mte1_ratio": 0.2, "aic_mte2_ratio": mte2}
    return {
        **ratios,
        "aic_fixpipe_ratio": 0.05,
        "aiv_vec_ratio": 0,
        "aiv_mte2_ratio": 0,
        "aiv_mte3_ratio": 0,
        **more,
    }


def aiv(vec: object, mte2: object, mte3: object) -> dict[str, object]:
    zeros = dict.fromkeys(("aic_mac_ratio", "aic_scalar_ratio", "aic_mte1_ratio", "aic_mte2_ratio"), 0)
    return {
        **zeros,
        "aic_fixpipe_ratio": 0,
        "aiv_vec_ratio": vec,
        "aiv_mte2_ratio": mte2,
        "aiv_mte3_ratio": mte3,
    }


# ---- class ----


@pytest.mark.parametrize(
    ("op_type", "core", "expected"),
    [
        ("MatMulV2", "AI_CORE", "cube"),
        ("BatchMatMulV2", "MIX_AIC", "cube"),
        ("GroupedMatmul", "MIX_AIC", "cube"),
        ("AllGatherMatmul", "MIX_AIC", "cube"),
        ("QuantBatchMatmulV3", "", "cube"),
        ("Conv2DBackpropFilter", "AI_CORE", "cube"),
        ("FlashAttentionScoreGrad", "MIX_AIC", "cube"),
        ("FusedInferAttentionScore", "MIX_AIC", "cube"),
        ("Add", "AI_VECTOR_CORE", "vector"),
        ("AddRmsNorm", "AI_VECTOR_CORE", "vector"),
        ("Mul", "AI_CORE", "vector"),
        ("Gelu", "AI_VECTOR_CORE", "vector"),
        ("ForeachAddList", "AI_VECTOR_CORE", "vector"),
        ("ReduceSum", "MIX_AIV", "vector"),
        ("MaxPoolGradWithArgmaxV1", "AI_VECTOR_CORE", "vector"),
        ("SoftmaxV2", "AI_VECTOR_CORE", "vector"),
        ("split_qkv_rmsnorm_rope_kernel_0", "AI_VECTOR_CORE", "vector"),
        ("TransData", "AI_VECTOR_CORE", "move"),
        ("trans_TransData", "", "move"),
        ("Transpose", "AI_VECTOR_CORE", "move"),
        ("CastAiCore", "AI_VECTOR_CORE", "move"),
        ("GatherV2", "AI_VECTOR_CORE", "move"),
        ("ScatterElementsV2", "AI_VECTOR_CORE", "move"),
        ("StridedSliceD", "AI_VECTOR_CORE", "move"),
        ("ConcatD", "AI_VECTOR_CORE", "move"),
        ("IndexPutV2", "AI_VECTOR_CORE", "move"),
        ("TensorMove", "AI_VECTOR_CORE", "move"),
        ("MemSet", "AI_VECTOR_CORE", "move"),
        ("MoeTokenPermute", "MIX_AIV", "move"),
        ("anything", "SDMA", "move"),
        ("IndexPutV2", "AI_CPU", "aicpu"),
        ("hcom_allReduce_", "COMMUNICATION", "communication"),
        ("hcom_allReduce_", "", "communication"),
        ("broken", "HCCL", "communication"),
        ("aclnnMm_MatMulCommon_MatMulV2", "", "cube"),
        ("_triton_kernel_1", "AI_VECTOR_CORE", "unknown"),
        ("", "", "unknown"),
        ("x" * 100_000, "AI_CORE", "unknown"),
    ],
)
def test_class_by_type(op_type: str, core: str, expected: str) -> None:
    assert CLASSES[class_of(op_type, core)] == expected


def test_class_by_pipes() -> None:
    def ratios(mac: float, vec: float, mte2: float, mte3: float) -> list[float]:
        return [mac, vec, 0.1, 0.9, mte2, mte3, 0.1]

    nan = float("nan")
    table = np.array(
        [
            ratios(0.8, 0, 0.5, 0.1),
            ratios(0.1, 0.5, 0.3, 0.2),
            ratios(0, 0.3, 0.25, 0.1),
            ratios(nan, 0.3, nan, 0.1),
            ratios(nan, nan, 0.3, 0.1),
            ratios(0, 0, 0, 0),
            ratios(0.5, nan, 0.6, nan),
        ]
    )
    found = [CLASSES[code] for code in class_by_pipes(table)]
    assert found == ["cube", "vector", "move", "unknown", "unknown", "unknown", "move"]


def test_class_rests_on_type_then_pipes_then_core() -> None:
    rows = [
        row("MatMulV2", "50", 0, **aic(0.3, 0.9)),
        row("own_kernel", "40", 100, core="AI_VECTOR_CORE", **aiv(0.1, 0.5, 0.2)),
        row("own_other", "30", 200, core="AI_VECTOR_CORE", **aiv("N/A", "N/A", "N/A")),
        row("own_mix", "20", 300, core="MIX_AIC", **aiv("N/A", "N/A", "N/A")),
        row("own_none", "10", 400, core="DSA", **aiv("N/A", "N/A", "N/A")),
        row("hcom_allReduce_", "5", 500, core="COMMUNICATION", **aiv("N/A", "N/A", "N/A")),
        row("Cast", "4", 600, core="AI_VECTOR_CORE", **aiv(0.8, 0.2, 0.1)),
    ]
    table = table_of(rows)
    found, bounds = bounds_of(table)
    classes = classes_of(found, bounds.ratios)
    labels = [classes.label(group) for group in range(7)]
    assert labels == ["cube", "move", "vector", "cube", "unknown", "communication", "move"]
    assert [BASES[code] for code in classes.basis] == [
        "type",
        "pipes",
        "core",
        "core",
        "none",
        "type",
        "type",
    ]
    assert classes.is_contradicted.tolist() == [True, False, False, False, False, False, True]
    sums = sums_by_class(found, classes)
    assert {name: part.total_ns for name, part in sums.items()} == {
        "cube": 70_000,
        "move": 44_000,
        "vector": 30_000,
        "unknown": 10_000,
        "communication": 5_000,
    }
    assert sum(part.percent for part in sums.values()) == pytest.approx(100)
    weights = weights_percent(found, classes)
    assert weights[5] == 0 and weights.sum() == pytest.approx(100) and weights[0] == pytest.approx(5000 / 154)
    assert [classes_of(found).label(group) for group in (0, 1, 3)] == ["cube", "vector", "cube"]


# ---- bound ----


@pytest.mark.parametrize(
    ("ratios", "bound"),
    [
        (aic(0.85, 0.5), "cube"),
        (aic(0.85, 0.95), "mte2"),
        (aic(0.8, 0.8), "none"),
        (aic(0.3, 0.5, aic_scalar_ratio=0.81), "scalar"),
        (aic(0.3, 0.5, aic_mte1_ratio=0.9), "mte1"),
        (aic(0.3, 0.5, aic_fixpipe_ratio=0.9), "fixpipe"),
        (aiv(0.9, 0.5, 0.5), "vector"),
        (aiv(0.1, 0.5, 0.97), "mte3"),
        (aiv(0, 0, 0), "unknown"),
        (aiv("N/A", "N/A", "N/A") | dict.fromkeys(aic(0, 0), "N/A"), "unknown"),
        ({"mac_ratio": 0.7, "vec_ratio": 0.1, "mte2_ratio": 0.7}, "none"),
        ({"mac_ratio": 0.9, "vec_ratio": 0.1, "mte2_ratio": 0.7}, "cube"),
        ({"aic_mac_ratio": 0.5, "aiv_vec_ratio": 0}, "unknown"),  # MTE2 was not recorded
        ({"aic_mac_ratio": 0.85, "aiv_vec_ratio": 0}, "cube"),
        ({"aic_mac_exe_ratio": 0.85, "aic_mte2_exe_ratio": 0.2}, "cube"),
        ({"aic_mac_fp16_ratio": 0.9}, "unknown"),
        (aic(1.7, 1.2), "cube"),
    ],
)
def test_bound_of_one_call(ratios: dict[str, object], bound: str) -> None:
    table = table_of([row("MatMul", "50", 0, **ratios)])
    _, bounds = bounds_of(table)
    assert bounds.label(0) == bound
    assert BOUNDS[row_bounds(table).code[0]] == bound
    assert shown(1.7) == 1


def test_ratios_of_a_group_are_weighted_by_time() -> None:
    rows = [
        row("MatMul", "10", 0, **aic(0.9, 0.2)),
        row("MatMul", "30", 100, **aic(0.5, 0.4)),
        row("MatMul", "100", 200, **aiv("N/A", "N/A", "N/A") | dict.fromkeys(aic(0, 0), "N/A")),
        row("MatMul", "N/A", 300, **aic(1, 1)),
    ]
    _, bounds = bounds_of(table_of(rows))
    assert bounds.ratios[0, 0] == pytest.approx((0.9 * 10 + 0.5 * 30) / 40)
    assert bounds.ratios[0, 4] == pytest.approx((0.2 * 10 + 0.4 * 30) / 40)
    assert bounds.measured_ns.tolist() == [40_000]
    assert bounds.label(0) == "none"
    assert bounds.highest[0] == pytest.approx(0.6)


def test_the_error_of_sums_of_floats_decides_nothing() -> None:
    table = table_of([row("MatMul", f"{us}.003", 10**4 * us, **aic(0.8, 0.8)) for us in range(50, 90)])
    _, bounds = bounds_of(table)
    assert bounds.highest[0] == 0.8 and bounds.label(0) == "none"


def test_utilization_and_memory_bound() -> None:
    rows = [
        row("Conv2D", "10", 0, utilization=80, memory_bound=0.5),
        row("Conv2D", "30", 100, utilization=40, memory_bound=2.5),
        row("Conv2D", "60", 200, utilization=0, memory_bound="N/A"),
        row("Pool", "5", 300, utilization=0, memory_bound="N/A"),
    ]
    _, bounds = bounds_of(table_of(rows))
    assert bounds.utilization_percent[0] == pytest.approx(50) and np.isnan(bounds.utilization_percent[1])
    assert bounds.used_ns.tolist() == [40_000, 0]
    assert bounds.memory_bound[0] == pytest.approx(2) and np.isnan(bounds.memory_bound[1])


def test_without_counters_nothing_is_known() -> None:
    table = table_of([row("MatMul", "50", 0)])
    _, bounds = bounds_of(table)
    assert bounds.label(0) == "unknown" and np.isnan(bounds.ratios).all() and bounds.measured_ns[0] == 0
    assert pipe_ratio(table, "mac") is None
    none, bounds = bounds_of(table_of([row("MatMul", "N/A", 0, **aic(0.9, 0.9))]))
    assert len(none) == 0 and bounds.ratios.shape == (0, len(PIPES))


RATIO = st.one_of(st.floats(0, 1.3), st.just("N/A"))


@given(st.lists(st.tuples(st.integers(0, 10**4), RATIO, RATIO, RATIO), min_size=1, max_size=8))
@settings(max_examples=60, deadline=None)
def test_bounds_against_the_definition(cells: list[tuple[int, Any, Any, Any]]) -> None:
    rows = [
        row("Own", us, 10**5 * i, **{"aiv_vec_ratio": vec, "aiv_mte2_ratio": mte2, "aiv_mte3_ratio": mte3})
        for i, (us, vec, mte2, mte3) in enumerate(cells)
    ]
    _, bounds = bounds_of(table_of(rows))
    for place, at in ((1, 1), (4, 2), (5, 3)):
        pairs = [
            (cell[0], float(f"{cell[at]}"))
            for cell in cells
            if cell[at] != "N/A" and any(part != "N/A" and part > 0 for part in cell[1:])
        ]
        weight = sum(us for us, _ in pairs)
        if weight:
            assert bounds.ratios[0, place] == pytest.approx(
                sum(us * ratio for us, ratio in pairs) / weight, abs=1e-9
            )
        else:
            assert np.isnan(bounds.ratios[0, place])


# ---- bytes ----


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (
            ("16,5120;5120,1024", "DT_BF16;DT_BF16", "16,1024", "DT_BF16"),
            2 * (16 * 5120 + 5120 * 1024 + 16 * 1024),
        ),
        (("8", "FLOAT", "8", "INT64"), 8 * 4 + 8 * 8),
        (("", "FLOAT", "", "FLOAT"), 8),  # scalars
        (("8;;8", "FLOAT;UNDEFINED;FLOAT", "8", "FLOAT"), 96),  # an input that was not given
        (("8;8", "FLOAT;UNDEFINED", "8", "FLOAT"), NO_BYTES),
        (("8", "FLOAT;FLOAT", "8", "FLOAT"), NO_BYTES),
        (("8", "SOMETHING", "8", "FLOAT"), NO_BYTES),
        (("8,x", "FLOAT", "8", "FLOAT"), NO_BYTES),
        (("-1,4", "FLOAT", "8", "FLOAT"), NO_BYTES),
        (("0,4", "FLOAT", "0", "FLOAT"), NO_BYTES),
        ((",".join(["99999"] * 30), "FLOAT", "8", "FLOAT"), NO_BYTES),
        (("8", "DT_BOOL", "8", "COMPLEX128"), 8 + 128),
    ],
)
def test_bytes_of_one_call(cells: tuple[str, str, str, str], expected: int) -> None:
    assert bytes_of(*cells) == expected


def shaped_row(
    op_type: str, us: object, start: int, inputs: str, outputs: str, **more: object
) -> dict[str, object]:
    shapes = {"in_shapes": f'"{inputs}"', "out_shapes": f'"{outputs}"'}
    dtypes = {
        "in_dtypes": ";".join(["FLOAT"] * (inputs.count(";") + 1)),
        "out_dtypes": ";".join(["FLOAT"] * (outputs.count(";") + 1)),
    }
    return row(op_type, us, start, **shapes, **dtypes, **more)


def test_bandwidth_of_groups() -> None:
    rows = [
        shaped_row("Add", "10", 0, "1000,1000;1000,1000", "1000,1000"),
        shaped_row("Add", "2", 100, "1000;1000", "1000"),
        shaped_row("Add", "77", 200, "1000;1000", "1000") | {"in_dtypes": "N/A"},
        shaped_row("Add", "0", 300, "1000;1000", "1000"),
        shaped_row("GatherV2", "5", 400, "100000,1000;8", "8,1000"),
        row("Mul", "5", 500, in_shapes="N/A"),
    ]
    table = table_of(rows)
    used = usable(table)
    found = top(table, used)
    moved = moved_of(table, used, found)
    assert [found.label(group) for group in range(3)] == ["Add", "GatherV2", "Mul"]
    assert moved.bytes.tolist() == [12_000_000 + 12_000, NO_BYTES, NO_BYTES]
    assert moved.time_ns[0] == 12_000
    assert moved.gb_per_s[0] == pytest.approx(12_012_000 / 12_000) and np.isnan(moved.gb_per_s[1:]).all()
    sizes = moved_bytes(table, np.arange(6))
    assert sizes.tolist() == [12_000_000, 12_000, NO_BYTES, 12_000, 8 * 4 + 8000 * 4 + 4 * 10**8, NO_BYTES]
    calls = moved_of(table, used, top(table, used, "call"))
    assert calls.bytes.tolist() == [NO_BYTES, 12_000_000, NO_BYTES, NO_BYTES, 12_000, NO_BYTES]
    bare = table_of([row("Add", "5", 0)])
    assert np.isnan(moved_of(bare, usable(bare), top(bare, usable(bare))).gb_per_s).all()


# ---- the advisor's limits ----


def test_axes_of_matrices() -> None:
    nd = ["ND", "ND"]
    assert matmul_axes([(16, 5120), (5120, 1024)], nd) == ()
    assert matmul_axes([(8192, 15365), (8192, 4096)], nd) == (Axis("inner", 15365, 256),)
    assert matmul_axes([(4, 16, 100), (4, 100, 300)], nd) == (
        Axis("inner", 100, 256),
        Axis("inner", 300, 256),
    )
    assert matmul_axes([(16, 100), (4, 4, 16, 16)], ["ND", "FRACTAL_NZ"]) == (Axis("inner", 100, 256),)
    assert matmul_axes([(16, 256), (256, 512), (7,)], nd) == ()
    assert matmul_axes([None, ()], nd) == matmul_axes([], []) == ()


def test_axes_of_attention() -> None:
    softmax = (2, 32, 4096, 8)
    assert attention_axes([(4096, 2, 4096)], [softmax]) == ()  # 4096 / 32 heads = 128
    assert attention_axes([(4096, 2, 2560)], [softmax]) == (Axis("head", 80, 128),)
    assert attention_axes([(4000, 2, 2560)], [(2, 32, 4000, 8)]) == (
        Axis("head", 80, 128),
        Axis("sequence", 4000, 128),
    )
    assert attention_axes([(2, 32, 4096, 128)], [softmax]) == ()
    assert attention_axes([(2, 32, 4096, 96)], []) == (Axis("head", 96, 128),)
    assert attention_axes([(8192, 32, 192)], []) == (Axis("head", 192, 128),)  # tokens, heads, size
    # the gradient has the statistics of the softmax among its inputs
    grad = [(4096, 2, 2560), (4096, 2, 2560), softmax]
    assert attention_axes(grad, [(4096, 2, 2560)]) == (Axis("head", 80, 128),)
    assert attention_axes([(4096, 2, 4097)], [softmax]) == ()  # not a whole number of heads: nothing to say
    assert attention_axes([None], []) == attention_axes([], []) == attention_axes([(5,)], []) == ()


def ratios_of(**known: float) -> dict[str, float]:
    return dict.fromkeys(PIPES, float("nan")) | known


@pytest.mark.parametrize(
    ("kind", "ratios", "reach", "by", "space"),
    [
        ("matmul", {"mac": 0.95, "mte2": 0.1}, "reached", "mac", 0),
        ("matmul", {"mac": 0.8, "mte2": 0.95}, "reached", "mac+mte2", 0),
        ("matmul", {"mac": 0.1, "mte2": 0.96}, "reached", "mte2", 0),
        ("matmul", {"mac": 0.85, "mte2": 0.6}, "space", "", 0.35),
        ("matmul", {"mac": 0.5, "mte2": 0.9}, "space", "", 0.3),
        ("matmul", {"mac": 0.9}, "unknown", "", 0),
        ("attention", {"mte2": 0.8, "vec": 0.1}, "reached", "mte2", 0),
        ("attention", {"mte2": 0.5, "vec": 0.75}, "reached", "vec", 0),
        ("attention", {"mte2": 0.5, "vec": 0.7}, "space", "", 0.3),
        ("attention-grad", {"mte2": 0.85, "fixpipe": 0.8}, "reached", "mte2+fixpipe", 0),
        ("attention-grad", {"mte2": 0.7, "vec": 0.9}, "unknown", "", 0),
        ("vector", {"vec": 0.3, "mte2": 0.3, "mte3": 0.3}, "reached", "vec+mte2+mte3", 0),
        ("vector", {"vec": 0.1, "mte2": 0.7, "mte3": 0.05}, "reached", "mte2", 0),
        ("vector", {"vec": 0.2, "mte2": 0.3, "mte3": 0.1}, "space", "", 0.6),
    ],
)
def test_reach(kind: Any, ratios: dict[str, float], reach: str, by: str, space: float) -> None:
    found = reach_of(kind, ratios_of(**ratios))
    assert found[:2] == (reach, by) and found[2] == pytest.approx(space)


def test_shapes_that_the_limits_are_for() -> None:
    big, small = "8192,15365;8192,4096", "8,100;100,8"
    softmax = "2,32,4000,8"
    rows = [
        shaped_row("MatMulV3", "500", 0, big, "15365,4096", **aic(0.7, 0.5)),
        shaped_row("MatMulV3", "400", 600, big, "15365,4096", **aic(0.9, 0.5)),
        shaped_row("MatMulV3", "300", 1100, small, "8,8", **aic(0.1, 0.1)),
        shaped_row(
            "FlashAttentionScore", "200", 1500, "4000,2,2560", softmax, core="MIX_AIC", **aic(0.5, 0.85)
        ),
        shaped_row("Add", "100", 2000, "64;64", "64", core="AI_VECTOR_CORE", **aiv(0.1, 0.3, 0.2)),
        shaped_row("Neg", "1", 3000, "64", "64", core="AI_VECTOR_CORE", **aiv(0.1, 0.3, 0.2)),
        shaped_row("MatMulV3", "50", 4000, big, "15365,4096", core="AI_CPU", **aiv("N/A", "N/A", "N/A")),
    ]
    table = table_of(rows)
    found = shaped_of(table, usable(table))
    assert [(one.kind, one.n, one.total_ns) for one in found] == [
        ("matmul", 2, 900_000),
        ("attention", 1, 200_000),
        ("vector", 1, 100_000),
    ]
    assert found[0].axes == (Axis("inner", 15365, 256),) and found[0].first_row == 0
    # (0.7 + 0.9) / 2 is at the limit of the cube; MTE2 is 0.45 away from its own
    assert found[0].reach == "space" and found[0].space_ratio == pytest.approx(0.45)
    assert [axis.what for axis in found[1].axes] == ["head", "sequence"] and found[1].by == "mte2"
    assert found[2].axes == () and found[2].space_ratio == pytest.approx(0.6)
    assert shaped_of(table_of([row("MatMul", "5", 0)]), usable(table_of([row("MatMul", "5", 0)]))) == ()


# ---- chips ----


@pytest.mark.parametrize(
    ("name", "expected", "peak"),
    [
        ("Ascend910B1", "910B1", 1800),
        ("ascend 910b2", "910B2", 1750),
        ("Ascend910B2C", "910B2", 1750),
        ("Ascend910B3", "910B3", 1750),
        ("Ascend910B4-1", "910B4", 800),
        ("910B4", "910B4", 800),
        ("Ascend910_9391", "910C", None),
        ("Ascend910A", "910A", None),
        ("Ascend310P3", "310P", None),
        ("Ascend310B1", "310B", None),
        ("Ascend950PR_9599", "950", None),
        ("Ascend777", None, None),
        ("", None, None),
        ("Ascend910B" + "1" * 500, None, None),
    ],
)
def test_chips(name: str, expected: str | None, peak: float | None) -> None:
    chip = chip_of(name)
    assert (None if chip is None else chip.name) == expected
    assert (None if chip is None else chip.memory_gb_per_s) == peak


@pytest.mark.parametrize("memory_bound", [{}, {"memory_bound": 1.5}])
def test_calls_part_by_part_are_as_groups_of_one(
    monkeypatch: pytest.MonkeyPatch, memory_bound: dict[str, object]
) -> None:
    monkeypatch.setattr(bound_module, "_CALLS_AT_ONCE", 3)
    ratios = [aic(0.9, 0.2), aiv(0.1, 0.95, 0.2), aiv("N/A", "N/A", "N/A"), aic(0.3, 0.4)]
    rows = [
        row("MatMulV2", (7 * i) % 5, 100 * i, utilization=10 * i, **ratios[i % 4], **memory_bound)
        for i in range(8)
    ]
    table = table_of(rows)
    used = usable(table)
    found = top(table, used, "call")
    whole = group_bounds(table, used, found)
    parts, by_pipes = call_bounds(table, found)
    assert parts.ratios.shape == (0, len(PIPES))
    for name in ("code", "highest", "measured_ns", "utilization_percent", "used_ns", "memory_bound"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))
    assert by_pipes.tolist() == class_by_pipes(whole.ratios).tolist()
    assert len(set(parts.code.tolist())) > 2
