"""What one recorded tensor is said to be, by Max and Min, by the tool's own flag or by its elements."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npulse.core.formats.msprobe.dump import read_dump
from npulse.core.formats.msprobe.records import Dump
from npulse.core.overflow.health import (
    BY_FLAG,
    BY_STATISTICS,
    BY_TENSOR,
    COUNTS,
    HIGH,
    LOW,
    MINUS,
    NO_BASIS,
    PLUS,
    Health,
    contradictions,
    from_statistics,
)
from npulse.core.overflow.health import NAN as IS_NAN

from .small_dumps import INF, MAX, NAN, Entries, analysed, causes, fwd, looked, nan, rec, reported, write

F16, BF16, F32 = MAX["float16"], MAX["bfloat16"], MAX["float32"]
F64 = float(np.finfo(np.float64).max)


def read(folder: Path, data: Entries) -> Dump:
    return read_dump(write(folder, data) / "dump.json")


def health_of(folder: Path, *records: Any, near_ratio: float = 0.5) -> Health:
    return from_statistics(read(folder, {"Torch.x.0.forward": fwd([], records)}), near_ratio)


@pytest.mark.parametrize(
    ("high", "low", "dtype", "flags"),
    [
        (3.0, -2.0, "float16", 0),
        (NAN, NAN, "float16", IS_NAN),
        (INF, -2.0, "float16", PLUS),
        (3.0, -INF, "float16", MINUS),
        (INF, -INF, "bfloat16", PLUS | MINUS),
        (INF, INF, "float32", PLUS),
        (-INF, -INF, "float32", MINUS),
        ("Infinity", "nan", "float32", IS_NAN | PLUS),
        (F16, 0.0, "float16", HIGH),
        (0.0, -F16, "float16", LOW),
        (F16, -F16, "float16", HIGH | LOW),
        (F16, INF, "float16", None),
        (-F16, -F16, "float16", LOW),
        (F16, 0.0, "float32", 0),
        (F16, 0.0, "bfloat16", 0),
        (F16 - 32, -F16 + 32, "float16", 0),
        (BF16, -1.0, "bfloat16", HIGH),
        (1.0, -BF16, "bfloat16", LOW),
        (BF16, 0.0, "float32", 0),
        (F32, 0.0, "float32", HIGH),
        (1.0, -F32, "float32", LOW),
        (F64, -F64, "float64", HIGH | LOW),
        (448.0, -448.0, "float8_e4m3fn", 0),
        (57344.0, -57344.0, "float8_e5m2", 0),
        (NAN, NAN, "float8_e4m3fn", IS_NAN),
        (127, -128, "int8", 0),
        (127.0, -127.0, "int8", 0),
        (2**31 - 1, -(2**31), "int32", 0),
        (2**63 - 1, -(2**63), "int64", 0),
        (True, False, "bool", 0),
        (INF, 0.0, "complex64", PLUS),
        (INF, 0.0, "some_new_float", PLUS),
        (65504.0, 0.0, "some_new_float", 0),
    ],
)
def test_flags_by_max_and_min(high: Any, low: Any, dtype: str, flags: int | None, tmp_path: Path) -> None:
    found = health_of(tmp_path, rec(high, low, dtype))
    if flags is None:  # Max below Min says nothing but that the record is wrong
        assert (found.flags[0], found.is_known[0], list(found.contradictory)) == (0, False, [0])
        return
    assert found.flags[0] == flags
    assert found.is_known[0]
    assert found.basis[0] == BY_STATISTICS


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize(("mean", "norm"), [(INF, INF), (NAN, NAN), (1.0, INF), (-INF, INF), (None, NAN)])
def test_norm_and_mean_say_nothing(dtype: str, mean: Any, norm: Any, tmp_path: Path) -> None:
    found = looked(
        tmp_path,
        {"Torch.add.0.forward": fwd([rec(9.0, dtype=dtype)], [rec(10.0, -3.0, dtype, Mean=mean, Norm=norm)])},
    )
    assert causes(found) == []
    assert not found.ranks[0].health.flags.any()
    assert reported(found).verdict == "pass"


def test_mindspore_names_the_same_formats_otherwise(tmp_path: Path) -> None:
    records = [{**rec(F16), "type": "mindspore.Tensor", "dtype": "Float16"}]
    records += [{**rec(BF16), "type": "mindspore.Tensor", "dtype": "BFloat16"}]
    assert list(health_of(tmp_path, *records).flags) == [HIGH, HIGH]


@pytest.mark.parametrize(("high", "low", "is_nan"), [(NAN, 1.0, True), (1.0, NAN, True), (1.0, 2.0, False)])
def test_what_contradicts_itself_is_told_with_its_byte_and_looked_at_all_the_same(
    high: float, low: float, is_nan: bool, tmp_path: Path
) -> None:
    data = {
        "Torch.mul.0.forward": fwd([rec(1.0)], [rec(2.0)]),
        "Torch.add.0.forward": fwd([rec(2.0)], [rec(high, low)]),
        "Torch.exp.0.forward": fwd([rec(3.0)], [rec(INF)]),
    }
    found = looked(tmp_path, data)
    (problem,) = found.problems
    text = (tmp_path / "step0/rank0/dump.json").read_bytes()
    assert (problem.kind, problem.artifact) == ("bad-record", "step0/rank0/dump.json")
    assert problem.byte is not None and text[problem.byte :].startswith(b'"Torch.add.0.forward"')
    row = 3
    assert bool(found.ranks[0].health.flags[row]) == is_nan
    assert is_nan or not found.ranks[0].health.is_known[row]
    expected = [("Torch.add.0.forward", "operator")] if is_nan else []
    assert causes(found) == [*expected, ("Torch.exp.0.forward", "operator")]
    assert reported(found).exit_code() == 1


def test_a_contradiction_alone_is_never_clean(tmp_path: Path) -> None:
    told = reported(looked(tmp_path, {"Torch.add.0.forward": fwd([rec(2.0)], [rec(1.0, 2.0)])}))
    assert (told.verdict, told.exit_code()) == ("incomplete", 4)


def test_many_contradictions_are_counted_after_the_first(tmp_path: Path) -> None:
    dump = read(tmp_path, {"Torch.x.0.forward": fwd([], [rec(1.0, 2.0)] * 33)})
    told = contradictions(dump, from_statistics(dump, 0.5), "a")
    assert [p.kind for p in told] == ["bad-record"] * 20 + ["limit"]
    assert told[-1].message.startswith("13 ")


@pytest.mark.parametrize(
    "record",
    [
        rec(None, None),
        rec(1.0, None),
        rec(None, 1.0),
        rec("three", "two"),
        {"type": "torch.Tensor", "dtype": "torch.float16", "shape": [2]},
        {"type": "torch.Tensor", "dtype": "torch.float16", "shape": [2], "md5": "0x0123456789abcdef"},
    ],
)
def test_without_statistics_a_tensor_is_unknown_and_not_clean(record: Any, tmp_path: Path) -> None:
    found = looked(tmp_path, {"Torch.add.0.forward": fwd([rec(1.0)], [record])})
    health = found.ranks[0].health
    assert (health.is_known[1], health.flags[1], health.basis[1]) == (False, 0, NO_BASIS)
    assert math.isnan(health.absmax[1]) and health.headroom(1) is None
    assert {name: health.count(name, 1) for name in COUNTS} == dict.fromkeys(COUNTS)
    told = reported(found)
    assert told.exit_code() == 4
    assert [f.rule for f in told.findings] == ["overflow.unknown"]


@pytest.mark.parametrize("shape", [[0], [3, 0, 2]])
@pytest.mark.parametrize("values", [(None, None), (NAN, NAN), (-INF, INF)])
def test_an_empty_tensor_is_clean(shape: list[int], values: tuple[Any, Any], tmp_path: Path) -> None:
    found = looked(tmp_path, {"Torch.cat.0.forward": fwd([], [rec(*values, shape=shape)])})
    assert causes(found) == []
    assert reported(found).verdict == "pass"


@pytest.mark.parametrize("near_ratio", [0.5, 0.25])
def test_headroom_and_what_statistics_prove(near_ratio: float, tmp_path: Path) -> None:
    records = [
        rec(100.0, -16376.0),
        rec(-1.0, -2.0),
        rec(0.0, 0.0),
        nan(),
        rec(3.0, -INF),
        rec(9, 1, "int32"),
    ]
    found = health_of(tmp_path, *records, near_ratio=near_ratio)
    assert found.headroom(0) == pytest.approx(0.25)
    assert [found.headroom(r) for r in (2, 3, 4, 5)] == [0.0, None, None, None]
    near = {0.5: 0, 0.25: None}[near_ratio]
    assert [found.count("near_limit", r) for r in range(5)] == [near, 0, 0, None, None]
    assert [found.count("nan", r) for r in range(6)] == [0, 0, 0, None, 0, 0]
    assert [found.count("minus_inf", r) for r in range(5)] == [0, 0, 0, None, None]
    assert [found.count("plus_inf", r) for r in range(5)] == [0, 0, 0, None, 0]
    assert [found.count("subnormal", r) for r in (0, 2, 5)] == [None, 0, 0]
    assert list(found.absmax[:3]) == [16376.0, 2.0, 0.0] and found.absmax[4] == INF


# ---- the tool's own check ----


def checked(flag: Any, record: Any) -> dict[str, Any]:
    return {**fwd([rec(1.0)], [record]), "is_nan": flag}


@pytest.mark.parametrize(
    ("flag", "flags", "is_known", "n_nan"),
    [(1, IS_NAN, True, None), (0, 0, False, 0), (None, 0, False, None), (True, IS_NAN, True, None)],
)
def test_the_flag_counts_where_no_statistics_do(
    flag: Any, flags: int, is_known: bool, n_nan: int | None, tmp_path: Path
) -> None:
    found = looked(tmp_path, {"Torch.add.0.forward": checked(flag, rec(None, None))}).ranks[0].health
    assert (found.flags[1], found.is_known[1], found.count("nan", 1)) == (flags, is_known, n_nan)
    assert found.basis[1] == (NO_BASIS if flag is None else BY_FLAG)


@pytest.mark.parametrize(
    ("flag", "verdicts", "rules"),
    [
        (1, ["fail"], ["overflow.origin"]),
        (0, ["pass", "unknown"], []),  # of saturation it says nothing
        (None, ["unknown"], ["overflow.unknown"]),
    ],
)
def test_a_run_of_the_nan_check(flag: Any, verdicts: list[str], rules: list[str], tmp_path: Path) -> None:
    told = reported(looked(tmp_path, {"Torch.add.0.forward": checked(flag, rec(None, None))}))
    assert told.verdict in verdicts
    assert [f.rule for f in told.findings] == rules


@pytest.mark.parametrize(("flag", "high", "flags"), [(1, 3.0, 0), (0, INF, PLUS), (None, NAN, IS_NAN)])
def test_statistics_count_more_than_the_flag(flag: Any, high: float, flags: int, tmp_path: Path) -> None:
    low = NAN if math.isnan(high) else 0.0
    found = looked(tmp_path, {"Torch.add.0.forward": checked(flag, rec(high, low))}).ranks[0].health
    assert (found.flags[1], found.basis[1]) == (flags, BY_STATISTICS)


def test_the_first_checked_call_is_named_and_what_follows_is_not(tmp_path: Path) -> None:
    silent = rec(None, None)

    def entry(flag: int) -> dict[str, Any]:
        return {**fwd([silent], [silent]), "is_nan": flag}

    data = {f"Torch.add.{i}.forward": entry(int(i >= 2)) for i in range(6)}
    found = looked(tmp_path, data)
    assert [name for name, _ in causes(found)] == ["Torch.add.2.forward"]


# ---- elements ----


def npy(folder: Path, name: str, array: Any) -> dict[str, Any]:
    files = folder / "step0" / "rank0" / "dump_tensor_data"
    files.mkdir(parents=True, exist_ok=True)
    np.save(files / name, array)
    return {"data_name": name}


def test_elements_count_more_than_statistics(tmp_path: Path) -> None:
    x = np.array([1, np.nan, np.inf, -np.inf, 65504, -65504, 6e-8, 40000], np.float16)
    out = rec(None, None, shape=[8], **npy(tmp_path, "a.npy", x))
    clean = rec(3.0, -1.0, shape=[2], **npy(tmp_path, "b.npy", np.array([3, -1], np.float16)))
    write(tmp_path, {"Torch.add.0.forward": fwd([clean], [out])}, task="tensor")
    health = analysed(tmp_path).ranks[0].health
    assert [health.count(name, 1) for name in COUNTS] == [1, 1, 1, 2, 1, 1]
    assert health.flags[1] == IS_NAN | PLUS | MINUS | HIGH | LOW
    assert (health.basis[0], health.basis[1]) == (BY_TENSOR, BY_TENSOR)
    assert (health.flags[0], health.high[0], health.low[0]) == (0, 3.0, -1.0)


def test_a_nan_no_longer_hides_an_infinity_where_elements_are_read(tmp_path: Path) -> None:
    x = np.array([1, np.nan, np.inf], np.float16)
    write(
        tmp_path,
        {"Torch.add.0.forward": fwd([rec(1.0)], [nan(shape=[3], **npy(tmp_path, "a.npy", x))])},
        task="tensor",
    )
    assert analysed(tmp_path).ranks[0].health.flags[1] == IS_NAN | PLUS


def test_a_bfloat16_saved_as_float32_keeps_its_own_limit(tmp_path: Path) -> None:
    x = np.array([1, BF16], np.float32)
    record = rec(BF16, 1.0, "bfloat16", [2], **npy(tmp_path, "a.npy", x))
    write(tmp_path, {"Torch.add.0.forward": fwd([rec(1.0)], [record])}, task="tensor")
    health = analysed(tmp_path).ranks[0].health
    assert (health.flags[1], health.count("saturated", 1)) == (HIGH, 1)


@pytest.mark.parametrize("is_missing", [True, False])
def test_a_file_that_cannot_be_read_leaves_what_statistics_say(is_missing: bool, tmp_path: Path) -> None:
    files = tmp_path / "step0" / "rank0" / "dump_tensor_data"
    files.mkdir(parents=True)
    if not is_missing:
        (files / "a.npy").write_bytes(b"\x93NUMPY\x01\x00")
    data = {"Torch.add.0.forward": fwd([rec(1.0)], [rec(INF, data_name="a.npy")])}
    write(tmp_path, data, task="tensor")
    found = analysed(tmp_path)
    assert causes(found) == [("Torch.add.0.forward", "operator")]
    assert [p.kind for p in found.problems] == ["missing" if is_missing else "cut-off"]
