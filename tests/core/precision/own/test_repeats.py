"""The same call on the same input twice: within a capture, and in two runs of one program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npulse.core.api import PrecisionReport, compare

from .dumps import Calls, checked, own, random, write

MODES = ("tensor", "statistics", "md5")
X, W, Y = random(1, 8, 8), random(2, 8, 8), random(3, 8, 8)


def matmuls(second: Any, *, x: Any = X, api: str = "Torch.matmul") -> Calls:
    return {f"{api}.0.forward": ([X, W], [Y]), f"{api}.1.forward": ([x, W], [second])}


@pytest.mark.parametrize("mode", MODES)
def test_equal_inputs_and_unequal_outputs_are_not_deterministic(tmp_path: Path, mode: str) -> None:
    write(tmp_path / "step0" / "rank0", matmuls(np.nextafter(Y, np.float32(9))), mode)
    (found,) = own(checked(tmp_path))
    assert (found.rule, found.severity) == ("precision.nondeterministic", "warning")
    assert (found.subject, found.figures["first_call"]) == (
        "Torch.matmul.1.forward",
        "Torch.matmul.0.forward",
    )
    assert "use_deterministic_algorithms" in found.next_step
    assert found.figures["basis"] == {"tensor": "elements", "md5": "checksum"}.get(mode, "statistics")


@pytest.mark.parametrize("mode", MODES)
def test_equal_outputs_other_inputs_and_random_operators_are_nothing(tmp_path: Path, mode: str) -> None:
    for number, calls in enumerate(
        (
            matmuls(Y),
            matmuls(Y * 2, x=X * 2),
            matmuls(Y * 2, api="Functional.dropout"),
            matmuls(Y * 2, api="Aten.native_dropout.default"),
            matmuls(Y * 2, api="Tensor.uniform"),
            {
                f"Functional.scaled_dot_product_attention.{n}.forward": ([X, X, X, None, 0.1], [made])
                for n, made in enumerate((Y, Y * 2))
            },
            matmuls(Y * 2, api="Distributed.all_reduce"),
            {"Torch.sum.0.forward": ([X, 0], [Y]), "Torch.sum.1.forward": ([X, 1], [Y * 2])},
            {"Torch.to.0.forward": ([X], [Y]), "Torch.to.1.forward": ([X], [Y.astype(np.float16)])},
        )
    ):
        write(tmp_path / str(number) / "step0" / "rank0", calls, mode)
        assert own(checked(tmp_path / str(number))) == []


def test_another_order_with_the_same_statistics_is_another_input(tmp_path: Path) -> None:
    turned = np.ascontiguousarray(X.T)
    write(tmp_path / "a" / "step0" / "rank0", matmuls(Y * 2, x=turned))
    assert own(checked(tmp_path / "a")) == []


# ---- two runs ----------------------------------------------------------------------------------------------


def runs(folder: Path, later: Any, mode: str, *, manifest: bool = False) -> PrecisionReport:
    for side, z in (("a", Y * 3), ("b", later)):
        calls: Calls = {
            "Functional.embedding.0.forward": ([np.arange(8), W], [X]),
            "Torch.matmul.0.forward": ([X, W], [Y]),
            "Functional.softmax.0.forward": ([Y, 1], [Y * 2]),
            "Torch.index_add.0.forward": ([Y * 2, 0], [z]),
            "Torch.exp.0.forward": ([z], [z * 4]),
        }
        write(folder / side / "step0" / "rank0", calls, mode)
        if manifest:
            text = 'kind = "precision"\ncommand = ["python", "train.py"]\n'
            (folder / side / "round.toml").write_text(text)
    return compare(folder / "a", folder / "b")


def of_runs(report: PrecisionReport) -> list[Any]:
    return [f for f in report.findings if f.rule == "precision.nondeterministic"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("manifest", [True, False])
def test_the_first_operator_whose_inputs_are_equal(tmp_path: Path, mode: str, manifest: bool) -> None:
    later = np.nextafter(Y * 3, np.float32(99))
    (found,) = of_runs(runs(tmp_path, later, mode, manifest=manifest))
    assert found.subject == "Torch.index_add.0.forward"
    assert found.severity == ("warning" if manifest else "note")
    assert found.figures["n_calls"] == 1 and found.figures["is_same_program"] is manifest
    if manifest:
        assert "inputs equal, output differs between two runs of the same program" in found.message


def test_two_runs_that_are_equal_are_deterministic(tmp_path: Path) -> None:
    assert of_runs(runs(tmp_path, Y * 3, "md5", manifest=True)) == []


def test_two_devices_are_not_two_runs(tmp_path: Path) -> None:
    """Nothing that rounds is equal before: other kernels, no proof of anything."""
    for side, y in (("a", Y), ("b", np.nextafter(Y, np.float32(9)))):
        calls: Calls = {
            "Functional.embedding.0.forward": ([np.arange(8), W], [X]),
            "Tensor.__add__.0.forward": ([X, X], [X * 2]),
            "Torch.matmul.0.forward": ([X * 2, W], [y]),
        }
        write(tmp_path / side / "step0" / "rank0", calls, "md5")
    assert of_runs(compare(tmp_path / "a", tmp_path / "b")) == []
