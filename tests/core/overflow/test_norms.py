"""Norms of gradients in dumps: jumps between steps, growth over layers; overflowed ones are left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from npulse.core.api import OverflowReport, first_overflow
from npulse.core.overflow.norms import Norm, jumps, slopes


def norm(value: float, step: int = 0, name: str = "fc.weight", **other: Any) -> Norm:
    return Norm(
        "grad", name, other.get("rank", 0), other.get("series", ""), step, value, "dump.json", None, 7
    )


def write(folder: Path, step: int, norms: dict[str, float], dtype: str = "float32") -> None:
    """A dump with the gradients of these modules."""
    data = {}
    for module, value in norms.items():
        record = {"type": "torch.Tensor", "dtype": f"torch.{dtype}", "shape": [4], "Max": 0.5, "Min": -0.5}
        entry = {"weight": [record | {"Mean": 0.0, "Norm": value, "requires_grad": False}]}
        data[f"Module.{module}.Linear.parameters_grad.0"] = entry
    path = folder / f"step{step}" / "rank0" / "dump.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"task": "statistics", "level": "mix", "framework": "pytorch", "data": data}))


def growth(report: OverflowReport) -> list[dict[str, Any]]:
    return [dict(f.figures) for f in report.findings if f.rule == "overflow.gradient-growth"]


def test_a_gradient_that_jumps_between_two_steps_of_dumps(tmp_path: Path) -> None:
    for step, value in enumerate((1.0, 1.5, 60.0)):
        write(tmp_path, step, {"fc1": value, "fc2": 1.0})
    (found,) = growth(first_overflow(tmp_path))
    assert (found["growth_ratio"], found["step_before"], found["step"], found["n_names"]) == (40.0, 1, 2, 1)


def test_layers_that_grow_backwards(tmp_path: Path) -> None:
    write(tmp_path, 0, {f"layers.{i}.fc": 3.0 ** (5 - i) for i in range(6)})
    (found,) = growth(first_overflow(tmp_path))
    assert found["layer_growth_ratio"] == pytest.approx(1 / 3)
    assert (found["first_layer"], found["last_layer"]) == (0, 5)


def test_a_norm_that_overflowed_by_itself_is_no_growth(tmp_path: Path) -> None:
    for step, value in enumerate((1.0, float("inf"))):
        write(tmp_path, step, {"fc1": value}, dtype="float16")
    report = first_overflow(tmp_path)
    assert (report.findings, report.verdict) == ((), "pass")


def test_steps_are_taken_in_order_and_names_apart() -> None:
    points = [norm(30.0, 2), norm(1.0, 1), norm(2.0, 0), norm(500.0, 0, "other"), norm(9.0, 0, rank=1)]
    (found,) = jumps(points, 10)
    assert (found.before, found.step, found.ratio) == (1, 2, 30.0)
    assert jumps(points, 31) == ()


def test_zero_has_no_growth() -> None:
    assert jumps([norm(0.0, 0), norm(5.0, 1)], 10) == ()
    assert slopes([norm(0.0, 0, f"layers.{i}.w") for i in range(8)]) == ()


@pytest.mark.parametrize(
    ("ratio", "is_told"), [(1.31, True), (1.29, False), (1 / 1.31, True), (1 / 1.29, False)]
)
def test_how_steep_a_slope_is_told(ratio: float, is_told: bool) -> None:
    points = [norm(ratio**i, 0, f"h.{i}.attn.{part}") for i in range(5) for part in ("q", "k")]
    assert bool(slopes(points)) is is_told
