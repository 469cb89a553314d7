"""Tensors before the first anomaly: what stays, what goes, and what a round tells of it afterwards."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.core.capture.drivers.programs import Program, program

import npulse
from npulse.core.capture.driver import Ended
from npulse.core.capture.drivers.overflow_statistics import OverflowStatistics
from npulse.core.formats.msprobe.removed import read_removed


@dataclass
class Step:
    """A rank-step that is being written, call by call. bad: from this call on there is a NaN in each output.
    mask: the call that fills in -inf."""

    ran: Program
    number: int = 0
    rank: str = "rank0"
    bad: int | None = None
    mask: int | None = None

    @property
    def folder(self) -> Path:
        return self.ran.raw / f"step{self.number}" / self.rank

    @property
    def tensors(self) -> set[int]:
        """Numbers of the calls whose tensor is still there."""
        return {int(path.name.split(".")[2]) for path in (self.folder / "dump_tensor_data").glob("*.npy")}

    def name(self, call: int) -> str:
        return f"Tensor.masked_fill.{call}.forward" if call == self.mask else f"Torch.tanh.{call}.forward"

    def values(self, call: int) -> np.ndarray[Any, np.dtype[np.float32]]:
        values = np.full(4, 1.0 + call / 100, np.float32)
        if call == self.mask:
            values[0] = -np.inf
        elif self.bad is not None and call >= self.bad:
            values[1] = np.nan
        return values

    def write(self, upto: int, files: int | None = None) -> Step:
        """The index with that many calls; tensors of `files` calls (of as many)."""
        data: dict[str, Any] = {}
        (self.folder / "dump_tensor_data").mkdir(parents=True, exist_ok=True)
        for call in range(files or upto):
            name = self.name(call)
            file = f"{name}.output.0.npy"
            path = self.folder / "dump_tensor_data" / file
            if call not in self.tensors and not self.is_removed(file):
                np.save(path, self.values(call))
            if call < upto:
                given = self.record(call - 1) if call and call != self.mask else None
                data[name] = {
                    "input_args": [given] if given else [],
                    "input_kwargs": {},
                    "output": [{**self.record(call), "data_name": file}],
                }
        index = {"task": "tensor", "level": "L1", "framework": "pytorch", "dump_data_dir": "x", "data": data}
        (self.folder / "dump.json").write_text(json.dumps(index, indent=1))
        return self

    def record(self, call: int) -> dict[str, Any]:
        values = self.values(call)
        most, least = (float(f(values)) for f in (np.max, np.min))
        return {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [4], "Max": most, "Min": least}

    def is_removed(self, file: str) -> bool:
        removed = read_removed(self.folder)
        return removed is not None and file in removed.names

    def age(self) -> None:
        """Let everything be an hour old."""
        then = time.time() - 3600
        for path in self.folder.rglob("*"):
            os.utime(path, (then, then))


@pytest.fixture
def ran(tmp_path: Path) -> Program:
    made = program(
        tmp_path, "pass", kind="overflow", settings={"task": "tensor"}, retro=3, stop_at_first=True
    )
    made.raw.mkdir(parents=True)
    made.ended = Ended(0, None, "", False, made.round / "console.log")
    return made


def look(ran: Program) -> str:
    """One tick of the session, whatever time the last one took."""
    driver = ran.driver
    assert isinstance(driver, OverflowStatistics)
    driver._watch.due_s = 0.0
    return driver.wants_stop(ran.request, ran.raw)


def test_while_nothing_is_wrong_the_last_calls_stay_and_what_no_index_names(ran: Program) -> None:
    step = Step(ran).write(20, files=25)
    assert look(ran) == ""
    assert step.tensors == set(range(17, 25))
    step.write(30)
    assert look(ran) == ""
    assert step.tensors == set(range(27, 30))


def test_a_step_that_is_over_without_an_anomaly_keeps_nothing(ran: Program) -> None:
    first, second = Step(ran, 0).write(20), Step(ran, 1).write(20)
    look(ran)
    assert first.tensors == set() and second.tensors == set(range(17, 20))


def test_the_first_anomaly_and_the_calls_before_it_stay_and_nothing_else(ran: Program) -> None:
    healthy, step = Step(ran, 0).write(20), Step(ran, 1, bad=22)
    step.write(20)
    look(ran)
    step.write(30)
    assert look(ran) == "first-anomaly"
    step.write(35)
    look(ran)
    ran.driver.finish(ran.request, ran.round, ran.ended)
    assert step.tensors == {19, 20, 21, 22} and healthy.tensors == set()
    assert len(json.loads((step.folder / "dump.json").read_text())["data"]) == 35, "the index stays whole"


def test_a_step_behind_the_anomaly_keeps_nothing(ran: Program) -> None:
    step = Step(ran, 0, bad=10).write(20)
    look(ran)
    later = Step(ran, 1, bad=0).write(20)
    ran.driver.finish(ran.request, ran.round, ran.ended)
    assert step.tensors == {7, 8, 9, 10} and later.tensors == set()


def test_an_anomaly_that_one_look_saw_is_not_decided_yet(ran: Program) -> None:
    step = Step(ran, bad=12).write(20)
    look(ran)
    assert step.tensors == set(range(20)), "nothing goes before a second look agrees"


def test_a_mask_of_minus_infinity_is_no_anomaly(ran: Program) -> None:
    step = Step(ran, mask=5).write(20)
    assert look(ran) == "" and look(ran) == ""
    assert step.tensors == set(range(17, 20))


def test_tensors_without_an_index_are_judged_by_nobody_and_stay(ran: Program) -> None:
    step = Step(ran).write(20)
    (step.folder / "dump.json").unlink()
    look(ran)
    ran.driver.finish(ran.request, ran.round, ran.ended)
    assert step.tensors == set(range(20))


def test_what_was_removed_is_noted_and_told_in_figures(ran: Program) -> None:
    step = Step(ran, bad=12).write(20)
    sizes = {path.name: path.stat().st_size for path in (step.folder / "dump_tensor_data").iterdir()}
    ran.driver.finish(ran.request, ran.round, ran.ended)
    gone = {name: size for name, size in sizes.items() if int(name.split(".")[2]) not in step.tensors}
    removed = read_removed(step.folder)
    assert removed is not None and removed.names == set(gone) and removed.size_bytes == sum(gone.values())
    assert ran.driver.figures(ran.raw) == {"n_removed_tensors": 16, "removed_bytes": sum(gone.values())}


def test_the_origin_of_a_thinned_round_is_named_and_nothing_is_missing(ran: Program) -> None:
    step = Step(ran, bad=12).write(20)
    ran.driver.finish(ran.request, ran.round, ran.ended)
    step.age()
    report = npulse.first_overflow(ran.raw)
    assert report.origin is not None and report.origin.subject == step.name(12)
    assert report.problems == () and report.verdict == "fail"
    recorded = ran.recorded
    assert recorded.n_operators == 20 and recorded.is_failure


def test_a_tensor_that_went_otherwise_is_still_a_problem(ran: Program) -> None:
    step = Step(ran, bad=12).write(20)
    ran.driver.finish(ran.request, ran.round, ran.ended)
    (step.folder / "dump_tensor_data" / f"{step.name(11)}.output.0.npy").unlink()
    step.age()
    problems = npulse.first_overflow(ran.raw).problems
    assert [problem.kind for problem in problems] == ["missing"]


def test_statistics_alone_remove_nothing_and_still_stop(tmp_path: Path) -> None:
    made = program(tmp_path, "pass", kind="overflow", stop_at_first=True)
    made.raw.mkdir(parents=True)
    step = Step(made, bad=12).write(20)
    assert look(made) == "first-anomaly"
    assert step.tensors == set(range(20)) and made.driver.figures(made.raw) == {}
