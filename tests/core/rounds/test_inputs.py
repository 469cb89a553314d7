"""Rounds that were measured on other inputs: told, and their figures are not compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npulse.core.analysis import AnalysisOptions
from npulse.core.findings import Report
from npulse.core.rounds.inputs import InputTold, is_other
from npulse.core.rounds.report import report
from npulse.core.rounds.story import Story, story
from npulse.core.run.discover import discover

from .archives import closed, write_round

LOG = "Torch.log.0.forward"
X = np.random.default_rng(3).random(16) + 1


def record(x: Any) -> dict[str, Any]:
    four = float(x.max()), float(x.min()), float(x.mean()), float(np.sqrt((x * x).sum()))
    return {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [16], "requires_grad": False} | dict(
        zip(("Max", "Min", "Mean", "Norm"), four, strict=True)
    )


def archive(folder: Path, *rounds: tuple[Any, float]) -> Story:
    """Rounds of one operator; one whose output is NaN has an origin."""
    for minute, (x, made) in enumerate(rounds):
        place = folder / "dump" / f"r{minute}_20260301-10{minute:02}00"
        write_round(place, closed("precision", minute, tool="msprobe"), recorded={"outcome": "recorded"})
        raw = place / "raw" / "step0" / "rank0"
        raw.mkdir(parents=True)
        entry = {"input_args": [record(x)], "input_kwargs": {}, "output": [record(np.full(16, made))]}
        data = {"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": None}
        (raw / "dump.json").write_text(json.dumps(data | {"data": {LOG: entry}}))
    return story(discover(folder), AnalysisOptions())


def other_inputs(told: Report) -> list[Any]:
    return [f for f in told.findings if f.rule == "rounds.other-input"]


def test_a_round_on_another_input_is_told_and_not_compared(tmp_path: Path) -> None:
    found = archive(tmp_path, (X, np.nan), (X, np.nan), (X * 2, 1.0), (X * 2, 1.0))
    states = [row.states.get("n_overflow_origins") for row in found.rows]
    assert states == ["first", "same", "unknown", "same"]
    (one,) = other_inputs(report(found))
    assert (one.severity, one.subject) == ("warning", "r2_20260301-100200")
    assert one.figures["since"] == found.rows[1].name
    hashes = [row["input"] for row in report(found).summary["rounds"]]
    (line,) = [line for line in report(found).told if line.startswith("input: ")]
    assert line.startswith(f"input: 4 rounds tell, 2 hashes: {hashes[0]} {found.rows[0].name}, ")
    assert hashes[0] == hashes[1] != hashes[2] == hashes[3]
    assert one.figures["input_before"] == hashes[0] and one.figures["input_after"] == hashes[2]
    assert "不同" in other_inputs(report(found, "zh"))[0].message


def test_rounds_on_one_input_are_compared(tmp_path: Path) -> None:
    found = archive(tmp_path, (X, np.nan), (X, 1.0))
    assert found.rows[1].states["n_overflow_origins"] == "better" and other_inputs(report(found)) == []
    assert any("the same in all of them" in line for line in report(found).told)


@pytest.mark.parametrize(
    ("before", "after", "want"),
    [
        (("statistics", {"a": "1"}), ("statistics", {"a": "2"}), True),
        (("statistics", {"a": "1"}), ("elements", {"a": "2"}), False),
        (("statistics", {"a": "1"}), ("statistics", {"b": "2"}), False),
        (("statistics", {"a": "1", "b": "1"}), ("statistics", {"b": "1"}), False),
        (("", {}), ("statistics", {"a": "2"}), False),
    ],
)
def test_only_hashes_of_one_kind_and_place_are_compared(before: Any, after: Any, want: bool) -> None:
    assert is_other(InputTold("x", *before), InputTold("x", *after)) is want
