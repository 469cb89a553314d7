"""Small inputs from the field about NaN, Inf and saturation: the right values, and what must not be said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from npulse.core.analysis import AnalysisOptions
from npulse.core.api import OverflowReport, first_overflow
from npulse.core.findings import Finding

from .values import expected


def look(case: Path) -> OverflowReport:
    return first_overflow(case, options=AnalysisOptions(tables=True))


def errors(report: OverflowReport) -> list[Finding]:
    return [finding for finding in report.findings if finding.severity == "error"]


def rows(report: OverflowReport) -> dict[str, dict[str, Any]]:
    """Table rows by leaf name."""
    table = report.report.tables["overflow"]
    return {row["tensor"]: row for row in (table.row(i) for i in range(table.n_rows))}


def test_c19_the_add_overflows_and_fc2_fed_it(shared: Path) -> None:
    case = shared / "cases" / "C19"
    want, report = expected(case), look(case)
    (origin,) = errors(report)
    assert report.findings[0] is origin and origin.role == "origin"
    assert origin.subject == want["first_overflow_op"]
    assert (origin.figures["kind"], origin.figures["inputs_finite"]) == (want["kind"], want["inputs_finite"])
    assert sum(origin.figures["inputs_absmax"]) == want["sum_of_input_maxima"] == origin.figures["at_most"]
    suspect = origin.related[0]
    assert (suspect.role, suspect.subject) == ("suspect", want["upstream_suspect"])
    assert suspect.figures["absmax"] == want["suspect_absmax"]
    assert suspect.figures["headroom_ratio"] == want["suspect_absmax"] / 65504
    assert round(100 * suspect.figures["headroom_ratio"], 2) == want["share_of_fp16_max_percent"]
    assert suspect.figures["module"] == want["suspect_module"]
    chain = [line.split()[0] for line in origin.told]
    wanted = ["linear.42", "gelu.10", "linear.43", "dropout.31", "__add__.20"]
    assert [name for name in chain if any(word in name for word in wanted)][-5:] == [
        *(f"Functional.{word}.forward" for word in wanted[:4]),
        f"Tensor.{wanted[4]}.forward",
    ]
    assert "hands on" in next(line for line in origin.told if want["pass_through_op"] in line)
    nan = next(r for r in origin.related if r.role == "inherited")
    assert (nan.subject, nan.figures["kind"]) == (want["first_nan_op"], "NaN")
    assert {row["role"] for name, row in rows(report).items() if want["first_nan_op"] in name} == {
        "inherited"
    }


def test_c21_saturation_is_overflow_without_inf(shared: Path) -> None:
    case = shared / "cases" / "C21"
    want, report = expected(case), look(case)
    (origin,) = errors(report)
    assert (origin.rule, origin.subject) == ("overflow.saturated", want["saturated_op"])
    figures = origin.figures
    assert figures["saturated_count"] == want["at_plus_max"] + want["at_minus_max"]
    assert figures["n_elements"] == want["elements"]
    assert round(100 * figures["saturated_count"] / figures["n_elements"], 3) == want["percent"]
    assert report.report.summary["inf_or_nan_anywhere"] is want["inf_or_nan_anywhere"]
    assert "no NaN and no Inf anywhere" in " ".join(report.report.told)
    assert any(finding.rule == "overflow.saturation-mode" for finding in report.findings)
    assert report.verdict == "fail"


def test_c23_a_mask_is_legal_until_a_row_is_closed(shared: Path) -> None:
    case = shared / "cases" / "C23"
    want, report = expected(case), look(case)
    (origin,) = errors(report)
    assert (origin.rule, origin.subject) == ("overflow.masked-row", want["first_nan_op"])
    assert origin.figures["rows"] == want["nan_rows"]
    assert origin.figures["nan_count"] == want["nan_count_softmax"]
    legal = next(r for r in origin.related if r.role == "benign")
    assert (legal.subject, legal.figures["minus_inf_count"]) == (want["benign"], want["minus_inf_in_mask"])
    assert legal.figures["masked_rows"] == want["nan_rows"]
    assert f"row {want['nan_rows'][0]}" in origin.message
    assert want["benign"] not in {finding.subject for finding in errors(report)}
    found = rows(report)
    assert found[f"{want['benign']}.output.0"]["role"] == "benign"
    bmm = found["Torch.bmm.0.forward.output.0"]
    assert (bmm["nan"], bmm["role"]) == (want["nan_count_bmm"], "inherited")
    assert found["Tensor.mean.0.forward.output.0"]["nan"] == 1


def test_c24_the_rank_whose_backward_broke(shared: Path) -> None:
    case = shared / "cases" / "C24"
    want, report = expected(case), look(case)
    (origin,) = errors(report)
    assert (origin.location.rank, origin.subject) == (want["origin_rank"], want["origin_op"])
    assert origin.figures["spread_by"] == want["spread_by"]
    assert origin.figures["affected_ranks"] == want["affected_ranks"]
    assert origin.figures["clean_ranks_before"] == want["ranks_clean_before_collective"]


def test_c28_records_of_both_forms_by_time(shared: Path) -> None:
    case = shared / "cases" / "C28"
    want, report = expected(case), look(case)
    first, second = report.findings[:2]
    assert len([f for f in report.findings if f.rule == "overflow.record"]) == want["overflow_records"]
    assert (first.role, first.subject, first.severity) == ("origin", want["first_op_name"], "error")
    figures = first.figures
    assert figures["op_type"] == want["first_by_timestamp"]
    assert (figures["task_id"], figures["stream_id"]) == (want["first_task_id"], want["stream_id"])
    assert (figures["core_type"], figures["status"]) == (want["first_core_type"], want["first_status"])
    assert figures["first_index"] == want["first_output_inf_position"]
    assert figures["inputs_finite"] is want["first_input_finite"]
    assert (second.role, second.subject) == ("inherited", want["second_op"])
    assert (second.figures["core_type"], second.figures["status"]) == (
        want["second_core_type"],
        want["second_status"],
    )
    assert second.figures["inputs_finite"] is False


def test_c30_what_is_whole_of_a_cut_file(shared: Path) -> None:
    case = shared / "cases" / "C30"
    want, report = expected(case), look(case)
    assert report.report.counts["calls"] == want["complete_entries"]
    cut = next(problem for problem in report.problems if problem.kind == "cut-off")
    assert want["broken_entry"] in cut.message and cut.byte == want["file_bytes"]
    assert any(problem.kind == "encoding" for problem in report.problems)  # 'nan' as text
    (origin,) = errors(report)
    assert origin.subject == want["first_overflow"]
    (silent,) = (
        row
        for row in rows(report).values()
        if row["operator"] in want["null_statistics_ops"] and row["io"] == "output 0"
    )
    assert (silent["role"], silent["absmax"]) == ("unknown", None)
    assert report.report.counts["unknown"] == 1
    softmax = rows(report)["Functional.softmax.0.forward.output.0"]
    assert softmax["role"] == "inherited"


@pytest.mark.parametrize("name", ["C19", "C21", "C23", "C24", "C28", "C30"])
def test_nothing_was_written(shared: Path, name: str) -> None:
    case = shared / "cases" / name
    before = {path: path.stat().st_mtime_ns for path in case.rglob("*")}
    look(case)
    assert {path: path.stat().st_mtime_ns for path in case.rglob("*")} == before
