"""Captures whose graphs are not alike: a fused operator, recomputed forwards."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from npulse.core.api import PrecisionReport, compare
from npulse.core.precision.compare import RankComparison
from npulse.core.precision.report import report as render

from .values import expected


def rank_of(report: PrecisionReport) -> RankComparison:
    (rank,) = report.comparison.ranks
    return rank


def table(report: PrecisionReport) -> list[dict[str, object]]:
    found = report.report.tables["precision"]
    return [found.row(i) for i in range(found.n_rows)]


@pytest.mark.parametrize("is_swapped", [False, True])
def test_c03_one_fused_operator_against_three(shared: Path, is_swapped: bool) -> None:
    case = shared / "cases" / "C03"
    want = expected(case)
    sides = (case / "golden", case / "target") if is_swapped else (case / "target", case / "golden")
    report = compare(*sides, tables=True)
    rank = rank_of(report)
    one, other = (rank.golden, rank.target) if is_swapped else (rank.target, rank.golden)
    found = {}
    for group in rank.rows.pairing.groups:
        fused, several = (
            (group.golden_calls, group.target_calls)
            if is_swapped
            else (group.target_calls, group.golden_calls)
        )
        found[one.calls.names[fused[0]]] = [other.calls.names[call] for call in several]
        assert group.fusion == "swiglu"
    assert found == want["pairs"]
    chinese = render(report.comparison, lang="zh").told
    assert any("舍入误差内（bfloat16）" in line for line in chinese)
    outputs = {}
    for row in table(report):
        fused, leaf = (row["golden"], row["target"]) if is_swapped else (row["target"], row["golden"])
        if str(fused).endswith("output.0") and "swiglu" in str(fused):
            outputs[str(fused).removesuffix(".output.0")] = leaf
            assert row["group"] == 4 and "fusion swiglu" in str(row["pairing_why"])
            if not is_swapped:
                assert row["cosine"] == pytest.approx(want["cosine"][str(row["operator"])], abs=2e-6)
                norms = abs(float(str(row["norm_ratio"])) - 1)
                assert norms == pytest.approx(want["norm_rel_err"][str(row["operator"])], abs=1e-4)
    assert outputs == want["compare_output_with"]
    origins = [f for f in report.findings if f.role == "origin"]
    assert [f.rule for f in origins] == ["precision.operator"]
    members = {origins[0].subject, *(r.subject for r in origins[0].related if r.role == "ok")}
    first = want["first_diff_op"]
    assert members == {first, *want["pairs"][first]}
    if not is_swapped:
        assert origins[0].subject == first and report.findings[0] is origins[0]
    assert report.report.counts.get("unmatched", 0) == want["unmatched_after_fusion"]
    assert not any("linear.3" in f.subject for f in report.findings if f.severity == "error")


@pytest.mark.parametrize("is_swapped", [False, True])
def test_c09_recomputed_forwards_shift_the_backwards(shared: Path, is_swapped: bool) -> None:
    case = shared / "cases" / "C09"
    want = expected(case)
    sides = (case / "golden", case / "target") if is_swapped else (case / "target", case / "golden")
    report = compare(*sides, tables=True)
    rank = rank_of(report)
    pairing = rank.rows.pairing
    assert report.verdict == "pass" and report.report.counts.get("unmatched", 0) == 0
    assert (pairing.target_call >= 0).all() and (pairing.golden_call >= 0).all()
    names = [
        (rank.target.calls.names[t], rank.golden.calls.names[g])
        for t, g in zip(pairing.target_call.tolist(), pairing.golden_call.tolist(), strict=True)
    ]
    names = [(g, t) for t, g in names] if is_swapped else names
    assert {t: g for t, g in names if t.endswith("backward")} == want["backward_pairs"]
    assert pairing.recompute_of is not None
    copies = np.flatnonzero(pairing.recompute_of >= 0)
    assert len(copies) == want["recomputed_forward_entries"]
    for copy in copies.tolist():
        first = int(pairing.recompute_of[copy])
        assert names[copy][1] == names[first][0] == names[first][1]
    rows = table(report)
    assert {row["verdict"] for row in rows} == {"pass"}
    assert max(abs(float(str(row["norm_ratio"])) - 1) for row in rows) == want["max_norm_rel_err"]
    (note,) = [f for f in report.findings if f.rule == "precision.pairing"]
    assert note.figures["n_recomputed"] == want["recomputed_forward_entries"]
    assert " 0" not in note.message, "what is not there is not counted out"
