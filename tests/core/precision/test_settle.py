"""Scalars, leaves of unlike kind, shapes, empty tensors: each row judged once, for one reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npulse.core.api import PrecisionReport, compare
from npulse.core.precision.settle import equal_values

from .faulty_net import api, number, tensor, write_dump

X, Y = (np.random.default_rng(i).standard_normal(64) for i in (1, 2))
CALL = "Torch.mul.0.forward"


def two(folder: Path, target: dict[str, Any], golden: dict[str, Any]) -> PrecisionReport:
    for side, entry in (("target", target), ("golden", golden)):
        write_dump(folder / side / "step0" / "rank0", {CALL: entry})
    return compare(folder / "target", folder / "golden", tables=True)


def row(report: PrecisionReport, io: str) -> tuple[str, str, str]:
    table = report.report.tables["precision"]
    found = next(r for r in (table.row(i) for i in range(table.n_rows)) if r["io"] == io)
    return found["verdict"], found["reason"], found["role"]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1, 1, True),
        (1, 2, False),
        (1, 1.0, True),
        (True, True, True),
        (True, False, False),
        (float("nan"), float("nan"), True),
        (float("nan"), 1.0, False),
        (float("inf"), float("inf"), True),
        ("mean", "mean", True),
        ("mean", "sum", False),
        ("npu:0", "cuda:1", True),
        ("npu", "cpu:None", True),
        ("npu:0", "sum", False),
        ([1, 2], [1, 2], True),
        ([1, 2], [2, 1], False),
        (None, None, True),
        (None, 1, False),
        ("1", 1, False),
    ],
)
def test_equal_values(one: Any, other: Any, same: bool) -> None:
    assert equal_values(one, other) is same


@pytest.mark.parametrize(
    ("target", "golden", "want"),
    [
        (2, 2, ("pass", "equal", "ok")),
        (2, 3, ("warning", "scalar-alone", "ok")),
        (0.1, 0.1, ("pass", "equal", "ok")),
        # one float32, written out
        (0.10000000149011612, 0.1, ("pass", "rounding", "ok")),
        (0.1001, 0.1, ("warning", "scalar-alone", "ok")),
        (1e-5, 1e-6, ("warning", "scalar-alone", "ok")),
        (0.0, 1e-12, ("warning", "scalar-alone", "ok")),
        (True, False, ("warning", "scalar-alone", "ok")),
    ],
)
def test_an_argument_alone(tmp_path: Path, target: Any, golden: Any, want: tuple[str, str, str]) -> None:
    sides = [api([tensor(X), number(v)], [tensor(Y)]) for v in (target, golden)]
    report = two(tmp_path, *sides)
    assert row(report, "input 1") == want
    assert [f.rule for f in report.findings if f.severity == "warning"] == (
        ["precision.scalar"] if want[0] == "warning" else []
    )
    assert report.report.exit_code() == 0


@pytest.mark.parametrize(
    ("target", "golden", "want"),
    [
        (2.5, 2.5, ("pass", "equal")),
        (2.5000001, 2.5, ("pass", "rounding")),
        # a loss read with item(): the next device rounds otherwise
        (2.505, 2.5, ("warning", "above-rounding")),
        (2.6, 2.5, ("error", "scalar")),
        (-2.5, 2.5, ("error", "scalar")),
        (1, 2, ("error", "scalar")),
        (float("nan"), 2.5, ("error", "scalar")),
    ],
)
def test_a_number_as_output(tmp_path: Path, target: Any, golden: Any, want: tuple[str, str]) -> None:
    sides = [api([tensor(X)], [number(v)]) for v in (target, golden)]
    assert row(two(tmp_path, *sides), "output 0")[:2] == want


def test_an_argument_with_its_output_is_the_origin(tmp_path: Path) -> None:
    report = two(
        tmp_path, api([tensor(X), number(3)], [tensor(X * 3)]), api([tensor(X), number(2)], [tensor(X * 2)])
    )
    assert row(report, "input 1") == ("error", "scalar", "origin")
    assert row(report, "output 0")[2] == "inherited"
    first = report.findings[0]
    assert (first.rule, first.subject) == ("precision.scalar", f"{CALL}.input.1")
    assert (first.figures["target"], first.figures["golden"]) == (3, 2)


@pytest.mark.parametrize("golden", [None, number(2)])
def test_an_argument_that_one_side_has_is_the_origin(tmp_path: Path, golden: Any) -> None:
    """eps=1e-5 against None; a mask against nothing at all."""
    given = tensor(Y) if golden is None else None
    report = two(
        tmp_path, api([tensor(X), given], [tensor(X * 3)]), api([tensor(X), golden], [tensor(X * 2)])
    )
    first = report.findings[0]
    assert (first.rule, first.subject) == ("precision.scalar", f"{CALL}.input.1")
    assert [f.role for f in report.findings].count("origin") == 1
    words = ("torch.float32 [64]", None) if golden is None else (None, 2)
    assert (first.figures["target"], first.figures["golden"]) == words
    alone = two(
        tmp_path, api([tensor(X)], [tensor(X * 3)], out_dtype=number(1)), api([tensor(X)], [tensor(X)])
    )
    assert alone.findings[0].subject == f"{CALL}.input.out_dtype"
    swapped = two(
        tmp_path, api([tensor(X)], [tensor(X * 3)]), api([tensor(X)], [tensor(X)], out_dtype=number(1))
    )
    assert swapped.findings[0].subject == f"{CALL}.input.out_dtype"
    assert swapped.findings[0].figures["target"] is None


def test_a_tensor_against_a_number_is_unknown(tmp_path: Path) -> None:
    report = two(
        tmp_path, api([tensor(X), number(1.0)], [tensor(Y)]), api([tensor(X), tensor(Y)], [tensor(Y)])
    )
    assert row(report, "input 1") == ("unknown", "one-side", "unmatched")
    assert report.verdict == "unknown"


def test_shapes_and_empty_tensors(tmp_path: Path) -> None:
    empty = {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [0, 4], "Max": None, "Min": None}
    report = two(
        tmp_path,
        api([tensor(X.reshape(8, 8)), empty], [tensor(Y)]),
        api([tensor(X), empty], [tensor(Y)]),
    )
    assert row(report, "input 0") == ("error", "shape", "origin")
    assert row(report, "input 1") == ("pass", "empty", "ok")
    assert report.findings[0].figures["shape_target"] == [8, 8]


def test_a_file_that_is_gone_is_unknown_and_a_problem(tmp_path: Path) -> None:
    entry = api([tensor(X)], [tensor(Y, data_name=f"{CALL}.output.0.npy")])
    report = two(tmp_path, entry, entry)
    assert row(report, "output 0") == ("unknown", "unreadable", "unknown")
    assert [p.kind for p in report.problems] == ["missing", "missing"]
    assert (report.verdict, report.report.exit_code()) == ("incomplete", 4)
