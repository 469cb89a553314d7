"""Operators on the AI CPU."""

from __future__ import annotations

import pytest

from npulse.core.performance.criteria import Criteria

from .made_tables import advice_from

AI_CPU = {"core": "AI_CPU", "block": 1}
DOUBLE = {**AI_CPU, "type": "Sin", "us": 60, "dtypes": "DOUBLE", "out_dtypes": "DOUBLE"}


def test_share_marks_and_dtypes() -> None:
    rows = [
        {"type": "MatMulV2", "us": 100, "core": "AI_CORE"},
        DOUBLE,
        {**DOUBLE, "us": 20},  # exactly the limit: not longer
        {**AI_CPU, "type": "NonZero", "us": 20.001, "dtypes": "BOOL", "out_dtypes": "INT64"},
    ]
    (advice,) = advice_from(rows)["aicpu"]
    assert advice.severity == "warning"
    assert advice.figures["n_calls"] == 3
    assert advice.figures["n_long_calls"] == 2
    assert advice.figures["total_us"] == 100.001
    assert advice.figures["share_percent"] == pytest.approx(100 * 100.001 / 200.001, rel=1e-9)
    assert advice.figures["not_allowed_dtypes"] == ["DOUBLE"]
    assert advice.cost_ns == 100_001
    assert [(one.subject, one.figures["n_calls"], one.figures["reason"]) for one in advice.related] == [
        ("Sin", 2, "DOUBLE"),
        ("NonZero", 1, "type"),
    ]
    assert [one.figures["n_long_calls"] for one in advice.related] == [1, 1]
    assert "DOUBLE" in advice.next_step[0] and "NonZero" in advice.next_step[1]
    assert advice.location.line == 3 and advice.location.rank == 0


@pytest.mark.parametrize(
    ("kind", "dtypes", "out", "bad"),
    [
        ("Sin", "COMPLEX64", "COMPLEX64", ["COMPLEX64"]),
        ("Sin", "INT64", "INT64", []),
        ("Cast", "INT8", "FLOAT", ["INT8"]),
        ("Cast", "UINT64", "INT32", []),
        ("Mul", "INT16;DT_BF16", "INT16", ["INT16"]),
        ("Equal", "INT64", "BOOL", []),
        ("TensorEqual", "INT64", "BOOL", ["INT64"]),
        ("Index", "DOUBLE;INT64", "DOUBLE", ["DOUBLE"]),
        ("Index", "FLOAT;INT64", "FLOAT", []),
        ("IndexAiCpu", "UNDEFINED;COMPLEX128", "FLOAT", ["COMPLEX128"]),
    ],
)
def test_allow_lists(kind: str, dtypes: str, out: str, bad: list[str]) -> None:
    rows = [{**AI_CPU, "type": kind, "us": 50, "dtypes": dtypes, "out_dtypes": out}]
    (advice,) = advice_from(rows)["aicpu"]
    assert advice.figures["not_allowed_dtypes"] == bad
    assert ("masked_fill_" in advice.next_step[0]) == kind.startswith("Index")


def test_only_time_in_which_nothing_else_ran_is_at_stake() -> None:
    rows = [
        {"type": "MatMulV2", "at": 0, "us": 100, "core": "AI_CORE"},
        {**DOUBLE, "at": 70, "us": 60, "stream": 3},  # 30 us of it beside the matmul
        {"type": "Add", "at": 120, "us": 5},  # and 5 us beside this one
    ]
    (advice,) = advice_from(rows)["aicpu"]
    assert advice.cost_ns == 25_000
    assert advice.figures["total_us"] == 60


def test_few_short_ones_are_a_note_and_the_limit_is_the_users() -> None:
    rows = [{"us": 5000}, {**DOUBLE, "us": 30}]
    (note,) = advice_from(rows)["aicpu"]
    assert (note.severity, note.figures["n_long_calls"]) == ("note", 1)
    (none,) = advice_from(rows, Criteria(aicpu_us=40))["aicpu"]
    assert none.figures["n_long_calls"] == 0


def test_unknown_where_nothing_says_what_ran_where() -> None:
    found = advice_from([DOUBLE], without=["Task Type"])
    assert "aicpu" not in found
    assert "aicpu" in found["pattern-unknown"][0].figures["patterns"]
    assert "aicpu" not in advice_from([{"us": 50}])


def test_a_communication_kernel_on_the_ai_cpu_is_communication() -> None:
    assert "aicpu" not in advice_from([{"us": 50, "core": "HCCL_AI_CPU"}, {"us": 1}])
    assert "aicpu" not in advice_from([{"us": 50, "core": "AI_CPU", "type": "hcom_allReduce_"}, {"us": 1}])
