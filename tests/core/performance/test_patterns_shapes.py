"""Dynamic shapes and block dim."""

from __future__ import annotations

from typing import Any

import pytest

from npulse.core.performance.operators.shapes import cores_of

from .made_tables import advice_from, calls_from

MATMUL = {"type": "MatMulV2", "core": "AI_CORE", "us": 30}


def test_all_dynamic() -> None:
    rows = [{"state": "dynamic", "us": 30}, {"state": "N/A", "us": 10}, {"state": "dynamic", "us": 60}]
    (advice,) = advice_from(rows)["dynamic-shape"]
    assert advice.figures["n_dynamic_calls"] == 2
    assert (advice.figures["n_static_calls"], advice.figures["n_unknown_calls"]) == (0, 1)
    assert advice.figures["share_percent"] == 90.0
    assert "jit_compile=False" in advice.next_step[0]
    assert advice.cost_ns == 0 and advice.severity == "note"


def test_mixed_is_said_with_its_share() -> None:
    rows = [{"state": "dynamic", "us": 25}, {"state": "static", "us": 75}]
    (advice,) = advice_from(rows)["dynamic-shape"]
    assert advice.figures["share_percent"] == 25.0
    assert "jit_compile" not in advice.next_step[0]


def test_static_and_unknown_say_nothing_of_the_kind() -> None:
    assert "dynamic-shape" not in advice_from([{"state": "static"}])
    found = advice_from([{"state": "N/A"}])
    assert "dynamic-shape" not in found
    assert "dynamic" in found["pattern-unknown"][0].figures["patterns"]


def test_last_wave_by_hand() -> None:
    rows = [
        *({**MATMUL, "block": 30, "us": 30} for _ in range(3)),  # 2 waves of 20: 10 of 40 places idle
        {**MATMUL, "block": 20, "us": 500},
        {"type": "Add", "block": 60, "us": 40},  # 2 waves of 40 vector cores: 20 of 80 idle
    ]
    (advice,) = advice_from(rows, ai_core_num=20, aiv_num=40)["block-dim"]
    assert advice.figures["n_calls"] == 4
    assert advice.figures["idle_core_percent"] == 25.0
    assert advice.figures["core_utilization_percent"] == 75.0
    assert advice.cost_ns == (3 * 30_000 + 40_000) // 4
    assert advice.figures["is_core_number_inferred"] is False
    assert [(one.figures["block_dim"], one.figures["n_calls"]) for one in advice.related] == [
        (30, 3),
        (60, 1),
    ]
    assert "20 cores (as the profile says)" in advice.message[0]


@pytest.mark.parametrize(
    "row",
    [
        {**MATMUL, "block": 13, "us": 20},  # not longer than 20 us
        {**MATMUL, "block": 40},
        {**MATMUL, "block": 0},
        {**MATMUL, "block": "N/A"},
        {"type": "FlashAttentionScore", "core": "MIX_AIC", "block": 13, "mix": 80, "us": 90},
        {"type": "Index", "core": "AI_CPU", "block": 1, "us": 90},
        {"type": "hcom_allReduce_", "core": "COMMUNICATION", "block": 16, "us": 90},
    ],
)
def test_what_passes(row: dict[str, Any]) -> None:
    assert "block-dim" not in advice_from([row, {"us": 50, "block": 40}], ai_core_num=20, aiv_num=40)


def test_mixed_operator_with_both_kinds_uneven() -> None:
    row = {"type": "FlashAttentionScore", "core": "MIX_AIC", "block": 13, "mix": 26, "us": 90}
    (advice,) = advice_from([row], ai_core_num=20, aiv_num=40)["block-dim"]
    assert advice.figures["idle_core_percent"] == 35.0


def test_silent_where_all_is_dynamic() -> None:
    rows = [{**MATMUL, "block": 13, "state": "dynamic"}, {**MATMUL, "block": 20, "state": "dynamic"}]
    assert "block-dim" not in advice_from(rows)
    rows.append({"state": "static", "us": 1})
    assert "block-dim" in advice_from(rows)
    rows = [{**MATMUL, "block": 13, "state": "N/A"}, {**MATMUL, "block": 20, "state": "N/A"}]
    assert "block-dim" in advice_from(rows)  # unknown is not dynamic


def test_cores_are_inferred_from_the_largest_single_wave() -> None:
    rows = [
        {**MATMUL, "block": 24},
        {**MATMUL, "block": 16},
        {"block": 48},
        {"block": 256},  # several waves, no number of cores
    ]
    cores = cores_of(calls_from(rows))
    assert (cores.cube, cores.vector, cores.is_inferred) == (24, 48, True)
    told = cores_of(calls_from(rows, ai_core_num=25, aiv_num=50))
    assert (told.cube, told.vector, told.is_inferred) == (25, 50, False)
    (advice,) = advice_from(rows)["block-dim"]
    assert "inferred" in advice.message[0] and "推断" in advice.message[1]
    assert advice.figures["idle_core_percent"] == pytest.approx(100 / 3, rel=1e-9)
