"""Captures that the real tool wrote, with deliberate faults: the verdicts of samples/msprobe/README.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from npulse.core.analysis import AnalysisOptions
from npulse.core.api import PrecisionReport, compare, open_run, pairs_in
from npulse.core.formats.msprobe.dump import read_dump
from npulse.core.precision.pairing import pair_auto
from npulse.core.precision.run_report import report_of


@pytest.fixture(scope="module")
def edge(shared: Path) -> PrecisionReport:
    folder = shared / "samples" / "msprobe" / "edge_tensor"
    return compare(folder / "npu", folder / "bench", tables=True)


def rows(report: PrecisionReport) -> dict[str, dict[str, Any]]:
    table = report.report.tables["precision"]
    return {row["target"] or row["golden"]: row for row in (table.row(i) for i in range(table.n_rows))}


@pytest.mark.parametrize("name", ["statistics_mix", "tiny_two_steps", "edge_tensor", "edge_md5"])
def test_both_sides_are_found_by_their_folder_names(shared: Path, name: str) -> None:
    pairs = pairs_in(open_run(shared / "samples" / "msprobe" / name))
    assert [(p.target_name, p.golden_name) for p in pairs] == [("npu", "bench")]


def test_statistics_mix_origin_is_the_extra_multiplication(shared: Path) -> None:
    report = compare(shared / "samples" / "msprobe" / "statistics_mix", tables=True)
    first = report.findings[0]
    assert (first.subject, first.rule, first.role) == (
        "Tensor.__mul__.0.forward",
        "precision.unmatched",
        "origin",
    )
    assert first.figures["side"] == "target"
    assert first.figures["norm_ratio"] == pytest.approx(1.05, abs=1e-5)
    assert (first.related[0].role, first.related[0].subject) == ("inherited", "Functional.linear.3.forward")
    assert "model.py:13" in first.message
    assert [f.subject for f in report.findings if f.role == "origin"] == [first.subject]
    found = rows(report)
    before = [r for r in found.values() if r["call"] < 16 and r["golden"]]
    assert {r["role"] for r in before} <= {"ok", "unknown"}
    assert found["Functional.linear.3.forward.input.0"]["role"] == "inherited"
    assert found["Module.layers.1.Block.forward.0.output.0"]["role"] == "inherited"


@pytest.mark.parametrize("step", [0, 1])
def test_tiny_two_steps_names_the_scalar_argument(shared: Path, step: int) -> None:
    from npulse.core.precision.compare import Settings

    report = compare(shared / "samples" / "msprobe" / "tiny_two_steps", settings=Settings(step=step))
    first = report.findings[0]
    assert (first.rule, first.subject) == ("precision.scalar", "Torch.mul.0.forward.input.1")
    assert (first.figures["target"], first.figures["golden"]) == (2.0, 1.0)
    assert first.location.step == step
    assert len([f for f in report.findings if f.role == "origin"]) == 1


def test_tiny_two_steps_is_one_finding_over_both_steps(shared: Path) -> None:
    report = compare(shared / "samples" / "msprobe" / "tiny_two_steps")
    assert [f.figures["steps"] for f in report.findings if f.role == "origin"] == [[0, 1]]


@pytest.mark.parametrize(
    ("case", "side", "verdict", "reason"),
    [
        (0, "input", "error", "norm-ratio"),
        (0, "output", "error", "norm-ratio"),
        (1, "input", "error", "shape"),
        (1, "output", "error", "shape"),
        (2, "input", "pass", "rounding"),
        (2, "output", "pass", "rounding"),
        (3, "output", "error", "nonfinite"),
        (4, "output", "error", "nonfinite"),
        (5, "output", "error", "norm-ratio"),
        (6, "input", "pass", "empty"),
        (6, "output", "pass", "empty"),
        (7, "input", "pass", "equal"),
        (7, "output", "pass", "equal"),
        (8, "input", "unknown", "unreadable"),
        (8, "output", "pass", "equal"),
        (9, "input", "unknown", "unreadable"),
        (9, "output", "pass", "equal"),
    ],
)
def test_edge_cases(edge: PrecisionReport, case: int, side: str, verdict: str, reason: str) -> None:
    row = rows(edge)[f"Torch.abs.{case}.forward.{side}.0"]
    assert (row["verdict"], row["reason"]) == (verdict, reason)


def test_edge_factor_is_already_in_the_input(edge: PrecisionReport) -> None:
    first = edge.findings[0]
    assert (first.rule, first.subject) == ("precision.input-data", "Torch.abs.0.forward.input.0")
    assert first.figures["factor"] == pytest.approx(1.2, abs=1e-6)
    assert rows(edge)["Torch.abs.0.forward.output.0"]["role"] == "inherited"


def test_edge_inputs_of_their_own_are_not_called_inherited(edge: PrecisionReport) -> None:
    """Selected calls only: nothing tells whether a call behind the origin has a beginning of its own."""
    found = rows(edge)
    for number in (1, 3, 4, 5):
        assert found[f"Torch.abs.{number}.forward.input.0"]["role"] == "unknown"
        assert found[f"Torch.abs.{number}.forward.output.0"]["role"] == "unknown"
    assert found["Torch.matmul.0.forward.input.0"]["role"] != "inherited"
    untold = [f for f in edge.findings if f.rule == "precision.first-difference"]
    assert [f.subject for f in untold] == ["Torch.abs.1.forward"]
    assert edge.findings.index(untold[0]) > 0


def test_edge_dtype_difference_is_noted_not_failed(edge: PrecisionReport) -> None:
    row = rows(edge)["Torch.abs.2.forward.input.0"]
    assert (row["dtype_target"], row["dtype_golden"]) == ("torch.float16", "torch.float32")
    assert row["verdict"] == "pass"


def test_edge_unreadable_files_are_problems_with_file_and_byte(edge: PrecisionReport) -> None:
    found = {Path(p.artifact).name: p for p in edge.problems}
    assert found["Torch.abs.8.forward.input.0.pt"].kind == "missing"
    assert (found["Torch.abs.9.forward.input.0.pt"].kind, found["Torch.abs.9.forward.input.0.pt"].byte) == (
        "cut-off",
        700,
    )


def test_edge_calls_of_both_sides_are_kept(edge: PrecisionReport) -> None:
    found = rows(edge)
    assert found["Torch.exp.0.forward.output.0"]["role"] == "unmatched"
    assert found["Torch.sin.0.forward.output.0"]["golden"] == "Torch.sin.0.forward.output.0"
    assert found["Torch.sin.0.forward.output.0"]["role"] == "unmatched"


def test_edge_integer_output_off_by_one_is_an_error(edge: PrecisionReport) -> None:
    row = rows(edge)["Torch.add.0.forward.output.0"]
    assert (row["verdict"], row["reason"]) == ("error", "not-equal")
    assert any(
        f.rule == "precision.scalar" and f.subject == "Torch.add.0.forward.input.1" for f in edge.findings
    )


def test_checksums_that_differ_are_seen(shared: Path) -> None:
    report = compare(shared / "samples" / "msprobe" / "edge_md5", tables=True)
    found = rows(report)
    assert (
        found["Torch.abs.1.forward.input.0"]["reason"] == "shape"
    )  # the tool passes it: the bytes are equal
    assert found["Torch.abs.7.forward.output.0"]["reason"] == "equal"
    # NaN on both sides hides the rest: not equal by checksum, and where they stand was not recorded
    assert found["Torch.abs.3.forward.output.0"]["verdict"] in ("error", "unknown")


def test_rank_that_began_it_not_the_collective(shared: Path) -> None:
    report = compare(shared / "samples" / "msprobe" / "distributed", tables=True)
    origins = [f for f in report.findings if f.role == "origin"]
    assert origins and all(f.location.rank == 1 for f in origins)
    assert all("Distributed" not in f.subject for f in origins)
    # the target alone takes the logarithm, in a module that was given another flag
    (origin,) = (f for f in report.findings if f.severity == "error")
    assert (origin.subject, origin.rule) == ("Torch.log.0.forward", "precision.unmatched")
    assert (origin.figures["spread_by"], origin.figures["spread_to_ranks"]) == (
        "Distributed.all_reduce.1.forward",
        [0],
    )
    assert "input 2 is True on the target side and False" in origin.message
    # rank 0's collective gave what rank 1 brought to it: that is explained, and not random
    assert not [f for f in report.findings if f.rule == "precision.nondeterministic"]
    nan = shared / "samples" / "msprobe" / "distributed" / "nan"
    alone = report_of([nan], AnalysisOptions()).report
    (origin,) = (f for f in alone.findings if f.severity == "error")
    assert (origin.subject, origin.location.rank) == ("Torch.log.0.forward", 1)


@pytest.mark.parametrize("name", ["8.3.3", "1.2.2"])
def test_old_versions_compare_with_themselves(shared: Path, name: str) -> None:
    folder = shared / "samples" / "msprobe" / "old_versions" / name
    report = compare(folder, folder)
    assert report.verdict in ("pass", "unknown")
    assert not [f for f in report.findings if f.severity == "error"]


@pytest.mark.parametrize(
    ("target", "golden", "n_pairs", "alone"),
    [
        (
            "statistics_mix/npu",
            "statistics_mix/bench",
            70,
            ["Tensor.__mul__.0.forward", "Tensor.__mul__.0.backward"],
        ),
        ("tiny_two_steps/npu", "old_versions/8.3.3", 18, ["Torch.ones_like.0.forward"]),
        ("old_versions/8.3.3", "old_versions/1.2.2", 19, [f"Tensor.view_as.{k}.forward" for k in range(5)]),
    ],
)
def test_versions_of_the_tool_are_paired_with_each_other(
    shared: Path, target: str, golden: str, n_pairs: int, alone: list[str]
) -> None:
    folder = shared / "samples" / "msprobe"
    one, other = (
        read_dump(min((folder / name / "step0").rglob("dump.json")), root=folder) for name in (target, golden)
    )
    pairing = pair_auto(one, other)
    sides = list(zip(pairing.target_call.tolist(), pairing.golden_call.tolist(), strict=True))
    pairs = [(one.calls.names[t], other.calls.names[g]) for t, g in sides if t >= 0 and g >= 0]
    assert len(pairs) == n_pairs
    # gradients have a number since 26.x, all other names are the same
    assert all(t == g or t == f"{g}.0" and g.endswith(".parameters_grad") for t, g in pairs)
    left = [one.calls.names[t] if t >= 0 else other.calls.names[g] for t, g in sides if t < 0 or g < 0]
    assert left == alone
