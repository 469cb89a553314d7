"""Captures of other tools: what a call runs is known, what it was told beside its tensors is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.core.calls.captures.test_other_tools import atb_file, put
from tests.core.formats.cann_files import Tensor, container

from npulse.core.plugins import registry
from npulse.core.precision.compare import compare_captures
from npulse.core.recheck import sample
from npulse.core.recheck.compared import recheck_compared
from npulse.core.recheck.report import Rechecked
from npulse.core.recheck.run_recheck import recheck
from npulse.core.run.sides import pair_of

from .dumps import Of, write
from .test_foreign import CODE, RIGHT, X, run_of

A, B = (np.random.default_rng(seed).standard_normal((4, 4)).astype(np.float32) for seed in (1, 2))


def graph(folder: Path, kind: str, made: Any, *given: Any) -> Path:
    """A container of one operator as a compiled graph writes it."""
    inputs = [Tensor(one.tobytes(), shape=one.shape) for one in given]
    output = np.asarray(made, np.float32)
    content = container(inputs, [Tensor(output.tobytes(), shape=output.shape)])
    return put(folder, {f"0/net/1/0/{kind}.layer_op.1.2.1749633330000123": content})


def one(run: Path, operator: str) -> Rechecked:
    (found,) = recheck(run, operator).calls
    return found


@pytest.mark.parametrize("asked", ["layer_op", "MatMulV2", "MatMul", "matmul", "*op"])
def test_a_call_is_found_by_its_name_and_by_what_it_runs(asked: str, tmp_path: Path) -> None:
    told = one(graph(tmp_path, "MatMulV2", A.astype(float) @ B, A, B), asked).check
    assert (told.outcome, told.operator, told.words[0]) == ("within", "matmul", "")


def test_attributes_that_no_container_holds_are_no_fault(tmp_path: Path) -> None:
    transposed = one(graph(tmp_path / "t", "MatMulV2", A.astype(float) @ B.T, A, B), "matmul").check
    assert transposed.outcome == "within" and "transposed" in transposed.words[0]
    wrong = one(graph(tmp_path / "w", "MatMulV2", A.astype(float) @ B + 0.5, A, B), "matmul")
    assert (wrong.check.outcome, wrong.check.why) == ("unknown", "attributes")
    assert "attributes" in wrong.lines("en")[0] and "属性" in wrong.lines("zh")[0]


def test_an_operator_without_attributes_is_accused(tmp_path: Path) -> None:
    assert one(graph(tmp_path / "r", "RealDiv", A / B, A, B), "RealDiv").check.outcome == "within"
    found = recheck(graph(tmp_path / "w", "RealDiv", A / B * 1.01, A, B), "div").report
    assert found.exit_code() == 1 and found.findings[0].rule == "recheck.implementation"
    assert found.findings[0].location.byte is None


def test_of_an_operation_of_atb_the_parameters_that_the_reference_knows_count(tmp_path: Path) -> None:
    made = A / np.sqrt((A.astype(float) ** 2).mean(-1, keepdims=True) + 0.25) * B[0]
    files = {
        "0_7/0/0_RmsNormOperation/before/intensor0.bin": atb_file(A),
        "0_7/0/0_RmsNormOperation/before/intensor1.bin": atb_file(B[0]),
        "0_7/0/0_RmsNormOperation/after/outtensor0.bin": atb_file(made.astype("<f4")),
        "0_7/0/0_RmsNormOperation/op_param.json": json.dumps({"layerType": "NORM", "epsilon": 0.25}),
    }
    assert one(put(tmp_path, files), "RmsNorm").check.outcome == "within"


def test_the_workbench_asks_plug_ins_as_the_command_does(tmp_path: Path) -> None:
    path = tmp_path / "acme.py"
    path.write_text(CODE)
    run_of(tmp_path / "a", RIGHT), run_of(tmp_path / "b", RIGHT)
    comparison = compare_captures(pair_of(tmp_path / "a" / "run", tmp_path / "b" / "run"))
    registry.use([path])
    try:
        found = recheck_compared(comparison, comparison.ranks[0], 0)
        assert (found.check.outcome, found.check.operator) == ("within", "acme.acme")
        assert found.golden is not None and found.golden.outcome == "within"
    finally:
        registry.use()


def test_a_sampled_layer_that_communicates_is_not_accused_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sample, "MAX_WORK", 64)
    name = "Module.fc.RowParallelLinear.forward.0"
    w = {"weight": Of(A, "float32")}
    call = {"args": [Of(X[:, :4], "float32")], "parameters": w, "out": [Of(X[:, :4] @ A.T * 2, "float32")]}
    (found,) = recheck(write(tmp_path, {name: call}), name).calls
    assert (found.check.outcome, found.check.why) == ("unknown", "communicates")
