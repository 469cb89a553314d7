"""Conversions of formats and types, and those that are undone."""

from __future__ import annotations

from typing import Any

import pytest

from npulse.core.performance.criteria import Criteria

from .made_tables import CUBE, advice_from

TO_5HD = {
    "type": "TransData",
    "shapes": "8,16,4,4",
    "out": "8,1,4,4,16",
    "formats": "NCHW",
    "out_formats": "NC1HWC0",
}
TO_NCHW = {
    "type": "TransData",
    "shapes": "8,1,4,4,16",
    "out": "8,16,4,4",
    "formats": "NC1HWC0:1",
    "out_formats": "FORMAT_NCHW",
}
CONV = {"type": "Conv2D", "us": 50, **CUBE}


def cast(source: str, target: str, **more: Any) -> dict[str, Any]:
    return {"type": "Cast", "dtypes": source, "out_dtypes": target, **more}


def test_share_pairs_and_neighbours() -> None:
    rows = [
        {"type": "Relu", "us": 50},
        {**TO_5HD, "us": 6},
        CONV,
        {**TO_NCHW, "us": 4},
        {"type": "Relu", "us": 20},
        {**TO_5HD, "us": 6},
        CONV,
        cast("FLOAT", "DT_BF16", us=4),
        {"type": "BroadcastTo", "us": 10},  # has "cast" in it and is none
        {"type": "hcom_broadcast_", "core": "HCCL", "us": 500},  # not of the kernel time
    ]
    (advice,) = advice_from(rows)["conversion"]
    assert advice.figures["total_us"] == 20
    assert advice.figures["share_percent"] == 10.0  # 20 of 200
    assert advice.figures["vector_share_percent"] == 20.0  # 20 of 100
    assert (advice.figures["cast_us"], advice.figures["transdata_us"]) == (4, 16)
    assert advice.cost_ns == 20_000
    pairs = {one.subject: one.figures for one in advice.related}
    assert list(pairs) == [
        "TransData NCHW -> NC1HWC0",
        "TransData NC1HWC0 -> NCHW",
        "Cast FLOAT -> BF16",
    ]
    first = pairs["TransData NCHW -> NC1HWC0"]
    assert (first["n_calls"], first["before"], first["after"]) == (2, "Relu x2", "Conv2D x2")
    assert pairs["TransData NC1HWC0 -> NCHW"]["before"] == "Conv2D x1"


def test_threshold_is_the_users_and_must_be_passed() -> None:
    rows = [{"us": 95}, cast("FLOAT", "DT_BF16", us=5)]
    assert "conversion" not in advice_from(rows)  # exactly 5 %
    assert "conversion" in advice_from([{"us": 94}, cast("FLOAT", "DT_BF16", us=5)])
    assert "conversion" in advice_from(rows, Criteria(conversion_percent=4.9))


def test_neighbours_stay_on_their_stream() -> None:
    rows = [
        {"type": "Relu", "at": 0, "us": 1, "stream": 1},
        {"type": "Sigmoid", "at": 1, "us": 1, "stream": 2},
        {**TO_5HD, "at": 2, "us": 9, "stream": 1},
        {"type": "Tanh", "at": 3, "us": 1, "stream": 2},
        {"type": "Conv2D", "at": 11, "us": 1, "stream": 1, **CUBE},
    ]
    (advice,) = advice_from(rows)["conversion"]
    assert (advice.related[0].figures["before"], advice.related[0].figures["after"]) == (
        "Relu x1",
        "Conv2D x1",
    )


def test_the_first_of_a_stream_has_nothing_before_it() -> None:
    rows = [
        {"type": "Relu", "at": 0, "us": 1, "stream": 1},
        {**TO_5HD, "at": 2, "us": 9, "stream": 2},
        {"type": "Tanh", "at": 30, "us": 1, "stream": 3},
    ]
    (advice,) = advice_from(rows)["conversion"]
    assert (advice.related[0].figures["before"], advice.related[0].figures["after"]) == ("", "")


def test_many_shapes_are_one_pair() -> None:
    rows = [{**TO_5HD, "shapes": f"{i},16,4,4", "out": f"{i},1,4,4,16", "us": 1} for i in range(1, 30)]
    rows += [{"type": "Transpose", "shapes": f"{i},2", "out": f"2,{i}", "us": 1 + i} for i in range(1, 4)]
    (advice,) = advice_from(rows)["conversion"]
    assert [(one.subject, one.figures["n_calls"]) for one in advice.related] == [
        ("TransData NCHW -> NC1HWC0", 29),
        ("Transpose 3,2 -> 2,3", 1),
        ("Transpose 2,2 -> 2,2", 1),
        ("Transpose 1,2 -> 2,1", 1),
    ]


def test_conversions_on_the_ai_cpu_are_told_there() -> None:
    found = advice_from([{"us": 50}, cast("INT32", "UINT64", us=50, core="AI_CPU", name="trans_Cast_5")])
    assert "conversion" not in found and "aicpu" in found


def test_trans_names_count_without_a_type() -> None:
    rows = [{"us": 50}, {"type": "N/A", "name": "trans_TransData_12", "us": 10}]
    (advice,) = advice_from(rows)["conversion"]
    assert advice.figures["transdata_us"] == 10


@pytest.mark.parametrize(("between", "is_trip"), [(0, True), (4, True), (5, False)])
def test_there_and_back(between: int, is_trip: bool) -> None:
    rows = [
        {"us": 900},
        cast("FLOAT", "FLOAT16", us=3),
        *({"type": "Mul", "us": 1} for _ in range(between)),
        cast("FLOAT16", "FLOAT", us=4),
    ]
    found = advice_from(rows)
    assert ("conversion-back" in found) == is_trip
    if is_trip:
        (advice,) = found["conversion-back"]
        assert advice.figures["n_pairs"] == 1
        assert advice.cost_ns == 7_000
        assert advice.related[0].subject == "Cast FLOAT -> FLOAT16 -> FLOAT"
        assert advice.severity == "note"


@pytest.mark.parametrize(
    "second",
    [
        cast("FLOAT16", "INT32"),  # goes on, not back
        cast("FLOAT16", "FLOAT", shapes="4,4", out="4,4"),  # another tensor
        cast("FLOAT16", "FLOAT", stream=7),
        {"type": "TransData"},
    ],
)
def test_what_is_no_round_trip(second: dict[str, Any]) -> None:
    assert "conversion-back" not in advice_from([cast("FLOAT", "FLOAT16"), second])


def test_formats_go_back_with_their_shapes() -> None:
    rows = [{**TO_5HD, "us": 6}, CONV, {**TO_NCHW, "us": 4}]
    (advice,) = advice_from(rows)["conversion-back"]
    assert advice.related[0].subject == "TransData NCHW -> NC1HWC0 -> NCHW"
    assert (advice.cost_ns, advice.severity) == (10_000, "warning")


def test_no_round_trips_without_shapes() -> None:
    rows = [cast("FLOAT", "FLOAT16"), cast("FLOAT16", "FLOAT")]
    assert "conversion-back" in advice_from(rows)
    assert "conversion-back" not in advice_from(rows, without=["Input Shapes"])
    rows = [cast("FLOAT", "FLOAT16", shapes="N/A"), cast("FLOAT16", "FLOAT", shapes="N/A")]
    assert "conversion-back" not in advice_from(rows)
