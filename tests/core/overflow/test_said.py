"""What a report says, and what it must not: no verdict without data, no advice that does not fit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npulse.core.findings import Finding, Report
from npulse.core.overflow.report import report

from .small_dumps import INF, MAX, OPTIONS, analysed, fwd, looked, nan, num, rec, reported, write

F16, F32 = MAX["float16"], MAX["float32"]
X, PLUS, FULL = rec(3.0, -2.5), rec(INF, -2.0), rec(F16, -2.0)
REDUCE, ADD, TO = "Distributed.all_reduce.0.forward", "Torch.add.0.forward", "Tensor.to.0.forward"
SUMS = {ADD: fwd([rec(4e4, -1.0), rec(4e4, -1.0)], [FULL])}


def first_of(folder: Path, *ranks: Any, **options: Any) -> Finding:
    for rank, data in enumerate(ranks):
        write(folder, data, rank=rank)
    return reported(analysed(folder, replace(OPTIONS, **options))).findings[0]


# ---- no verdict without data ----


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_nothing_recorded_is_not_clean(tmp_path: Path, lang: Any) -> None:
    found = report(looked(tmp_path, {}), lang=lang)
    assert (found.verdict, found.counts["tensors"]) == ("unknown", 0)
    (line,) = found.told
    assert line == ("nothing was recorded in it: no tensor to look at" if lang == "en" else line)
    assert "没有 NaN" not in line


def test_scalars_alone_are_not_clean(tmp_path: Path) -> None:
    assert reported(looked(tmp_path, {ADD: fwd([num(1)], [num(2)])})).verdict == "unknown"


def monitor(folder: Path, *rows: str) -> Report:
    place = folder / "rank_0"
    place.mkdir()
    lines = ["vpp_stage,name,step,min,max,norm,nans", *rows]
    (place / "grad_unreduced_0-9.csv").write_text("\n".join(lines) + "\n")
    return reported(analysed(folder))


def test_rows_of_the_monitor_without_statistics_are_not_clean(tmp_path: Path) -> None:
    found = monitor(tmp_path, "0,w,0,,,,", "0,w,1,,,,")
    assert found.verdict == "unknown"
    assert found.told[0] == "2 rows of monitor files: 0 with NaN or Inf, 2 without statistics"


def test_bad_rows_of_the_monitor_count_as_nan_somewhere(tmp_path: Path) -> None:
    found = monitor(tmp_path, "0,w,0,-1,1,2,0", "0,w,1,nan,nan,nan,3")
    assert found.summary["inf_or_nan_anywhere"] is True
    assert found.summary["near_ratio"] == 0.5
    assert found.told[0] == "2 rows of monitor files: 1 with NaN or Inf, 0 without statistics"
    assert "no NaN" not in "".join(found.told)


# ---- statistics and elements ----


def tensors(folder: Path, record: Any, values: np.ndarray) -> Report:
    place = write(folder, {ADD: fwd([], [{**record, "data_name": "a.npy"}])}, task="tensor")
    (place / "dump_tensor_data").mkdir()
    np.save(place / "dump_tensor_data" / "a.npy", values)
    return reported(analysed(folder))


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (X, ""),
        (rec(3.01, -2.49), ""),
        (nan(), "recorded are NaN"),
        (rec(INF, -2.5), "recorded are Inf"),
        (rec(90.0, -2.5), "recorded are Max 90 and Min -2.5"),
    ],
)
def test_elements_that_are_not_those_of_the_record(tmp_path: Path, record: Any, said: str) -> None:
    found = tensors(tmp_path, record, np.array([3.0, -2.5, 0, 1], np.float16))
    assert [p.kind for p in found.problems] == (["bad-tensor"] if said else [])
    assert said in "".join(p.message for p in found.problems)
    assert found.verdict == ("incomplete" if said else "pass")
    assert not found.counts["nan_calls"]  # the elements count


def test_extremes_beyond_the_dtype_are_no_extremes(tmp_path: Path) -> None:
    found = reported(looked(tmp_path, {ADD: fwd([X], [rec(2e5, 0.0)])}))
    (problem,) = found.problems
    assert "beyond the largest torch.float16" in problem.message
    assert (found.verdict, found.counts["unknown"], found.counts["origin"]) == ("incomplete", 1, 0)


# ---- a collective ----


def test_a_reduction_that_cannot_overflow_is_not_said_to(tmp_path: Path) -> None:
    """0.1 from each of two ranks: no sum, no dtype that would have held it."""
    small = rec(0.1, -0.1)
    found = first_of(tmp_path, *({REDUCE: fwd([small], [nan()])} for _ in range(2)))
    assert "would have held" not in found.message and "overflows" not in found.message
    assert "at_most" not in found.figures


def test_a_sum_that_is_too_large(tmp_path: Path) -> None:
    found = first_of(tmp_path, *({REDUCE: fwd([rec(4e4, 0.0)], [PLUS])} for _ in range(2)))
    assert (found.rule, found.figures["at_most"]) == ("overflow.collective", 8e4)
    assert "divide the inputs by 4" in found.next_step  # 8e4 / 4 is below half of 65504


SEND, RECEIVE = "Distributed.send.0.forward", "Distributed.recv.0.forward"
SILENT = {"type": "torch.Tensor", "dtype": "torch.float16", "shape": [4], "Max": None, "Min": None}


@pytest.mark.parametrize(("sent", "rule"), [(X, "collective"), (SILENT, "peer")])
def test_a_receive_from_a_rank_that_is_captured(tmp_path: Path, sent: Any, rule: str) -> None:
    sender, getter = {SEND: fwd([sent], [], dst=num(1))}, {RECEIVE: fwd([X], [nan()], src=num(0))}
    got = first_of(tmp_path, sender, getter)
    assert got.rule == f"overflow.{rule}"
    assert "not every rank that took part was captured" not in got.message
    assert "the transfer itself" in got.message


# ---- saturation ----


@pytest.mark.parametrize(
    ("mode", "severity", "role", "is_noted"),
    [(True, "error", "origin", True), (None, "error", "origin", True), (False, "warning", "suspect", False)],
)
def test_saturated_by_mode(tmp_path: Path, mode: Any, severity: str, role: str, is_noted: bool) -> None:
    write(tmp_path, SUMS)
    found = reported(analysed(tmp_path, replace(OPTIONS, saturation=mode)))
    first = found.findings[0]
    assert (first.rule, first.severity, first.role) == ("overflow.saturated", severity, role)
    assert ("overflow.saturation-mode" in {f.rule for f in found.findings}) == is_noted
    assert ("may run in saturation mode" in str([f.message for f in found.findings])) == (mode is None)
    assert ("INF_NAN_MODE_ENABLE=1 to see Inf" in first.next_step) == (mode is not False)


def test_a_cast_of_the_largest_value_is_exact(tmp_path: Path) -> None:
    found = reported(looked(tmp_path, {TO: fwd([rec(F16, -2.0, "float32")], [FULL])}))
    assert found.counts["origin"] == 0
    assert [f.figures["exact"] for f in found.findings if f.rule == "overflow.legal"] == [1]


def test_a_cast_of_more_is_not(tmp_path: Path) -> None:
    found = first_of(tmp_path, {TO: fwd([rec(7e4, -2.0, "float32")], [FULL])})
    assert (found.rule, found.figures["at_most"]) == ("overflow.saturated", 7e4)


# ---- advice ----


@pytest.mark.parametrize(("dtype", "share", "is_offered"), [("float16", F16, True), ("float32", F32, False)])
def test_a_wider_range_is_offered_where_there_is_one(
    tmp_path: Path, dtype: str, share: float, is_offered: bool
) -> None:
    found = first_of(tmp_path, {ADD: fwd([X], [rec(0.9 * share, 0.0, dtype)])})
    assert found.rule == "overflow.near-limit"
    assert ("bfloat16 or float32" in found.next_step) == is_offered


def test_a_value_that_was_written_is_not_close_to_the_limit(tmp_path: Path) -> None:
    data = {"Tensor.masked_fill.0.forward": fwd([X, num(-5e4)], [rec(3.0, -5e4)])}
    assert reported(looked(tmp_path, data)).findings == ()


def test_an_output_that_the_tool_found_clean_is_not_unknown(tmp_path: Path) -> None:
    found = reported(looked(tmp_path, {ADD: {**fwd([X], [SILENT]), "is_nan": 0}}))
    assert (found.verdict, found.counts["unknown"]) == ("pass", 0)


def test_nan_of_small_operands_asks_for_no_wider_dtype(tmp_path: Path) -> None:
    found = first_of(tmp_path, {"Torch.custom.0.forward": fwd([X], [nan()])})
    assert "no wider dtype" in found.next_step and "float32" not in found.next_step


def test_the_first_step_has_no_steps_before(tmp_path: Path) -> None:
    weights = {"input_args": [X], "input_kwargs": {}, "output": [nan()], "parameters": {"weight": nan()}}
    data = {"Module.fc.Linear.forward.0": weights}
    write(tmp_path, data, step=0)
    first = reported(analysed(tmp_path)).findings[0]
    assert first.rule == "overflow.parameter"
    assert "steps before" not in first.next_step and "loaded or initialised" in first.next_step


def test_a_weight_that_was_good_at_an_earlier_step(tmp_path: Path) -> None:
    def data(weight: Any, out: Any) -> dict[str, Any]:
        entry = {"input_args": [X], "input_kwargs": {}, "output": [out], "parameters": {"weight": weight}}
        return {"Module.fc.Linear.forward.0": entry}

    write(tmp_path, data(X, X), step=3)
    write(tmp_path, data(nan(), nan()), step=7)
    first = reported(analysed(tmp_path)).findings[0]
    assert "between step 3 and step 7" in first.message
