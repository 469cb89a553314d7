"""What is said of a result that another tool computed, and what is not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from npulse.core.analysis import AnalysisOptions
from npulse.core.findings import Report
from npulse.core.formats.results.table import read_result
from npulse.core.precision.run_report import report_of, reports_of
from npulse.core.precision.theirs.reading import read_theirs
from npulse.core.precision.theirs.report import theirs_report
from npulse.core.precision.theirs.rules import RULES
from npulse.core.precision.theirs.table import Result
from npulse.core.precision.verdict import Criteria
from npulse.core.run.discover import discover
from npulse.core.run.model import Artifact

from ....tui.panes.captures import ORIGIN, chain, write_capture
from ..faulty_net import api, tensor, write_dump
from .tables import HEADER, row, write

SCALED = {"EucDist": "0.6", "MaxAbsErr": "0.4", "MaxRelativeErr": "0.2", "NPU_max": "2.4", "NPU_min": "-1.2"}
SCALED |= {"NPU_mean": "0.6", "NPU_l2norm": "3.6"}
NAN = {"NPU_max": "nan\t", "NPU_min": "nan\t", "NPU_mean": "nan\t", "NPU_l2norm": "nan\t"}
NAN_BENCH = {name.replace("NPU", "Bench"): word for name, word in NAN.items()}
NOTHING = dict.fromkeys(("Cosine", "EucDist", "MaxAbsErr", "MaxRelativeErr"), "N/A")


def told(
    folder: Path, *rows: dict[str, str], name: str = "compare_result_rank0_20260801120000.csv"
) -> Report:
    path = write(folder / name, rows)
    return report_of([path], AnalysisOptions(tables=True)).report


def rules_of(report: Report) -> list[str]:
    return [finding.rule.partition(".")[2] for finding in report.findings]


def test_equal_rows_pass_and_nothing_is_said(tmp_path: Path) -> None:
    report = told(tmp_path, row("Torch.add.0.forward.input.0"), row("Torch.add.0.forward.output.0"))
    assert (report.verdict, report.findings) == ("pass", ())
    assert report.counts["pass"] == report.counts["ours_pass"] == report.counts["rows"] == 2


def test_the_call_is_the_origin_where_its_inputs_agree(tmp_path: Path) -> None:
    error = {"Result": "error", "Err_message": '["error: There is nan"]', **NAN, **NOTHING}
    report = told(
        tmp_path,
        row("Torch.abs.0.forward.input.0"),
        row("Torch.abs.0.forward.output.0", **error),
        row("Torch.add.0.forward.input.0", **error),
    )
    first = report.findings[0]
    assert (first.rule, first.role, first.subject) == (
        "precision.theirs-error", "origin", "Torch.abs.0.forward.output.0",
    )  # fmt: skip
    assert (first.location.line, first.location.rank, first.figures["n_errors"]) == (3, 0, 2)


@pytest.mark.parametrize("inputs", [[], [row("Torch.abs.0.forward.input.0", **SCALED)]])
def test_without_inputs_that_agree_nothing_is_called_the_origin(
    tmp_path: Path, inputs: list[dict[str, str]]
) -> None:
    report = told(tmp_path, *inputs, row("Torch.abs.0.forward.output.0", Result="error", **NAN, **NOTHING))
    assert report.findings[0].role == "unknown"


def test_what_the_tool_passes_and_its_own_figures_fail(tmp_path: Path) -> None:
    whole = {"NPU_Dtype": "torch.int64", "Bench_Dtype": "torch.int64"}
    rows = [
        row("Torch.mul.0.forward.output.0", **SCALED),
        row("Torch.mul.1.forward.output.0", **SCALED),
        row(
            "Torch.add.0.forward.output.0",
            MaxAbsErr="1.0",
            EucDist="1.0",
            NPU_max="3",
            Bench_max="2",
            **whole,
        ),
        row("Torch.abs.3.forward.output.0", **NAN_BENCH, **NAN, **NOTHING),
    ]
    report = told(tmp_path, *rows)
    missed = [f for f in report.findings if f.rule == "precision.theirs-missed"]
    assert [(f.subject, f.figures["n_rows"], f.figures["reason"]) for f in missed] == [
        ("Torch.mul.0.forward.output.0", 2, "norm-ratio"),
        ("Torch.add.0.forward.output.0", 1, "not-equal"),
        ("Torch.abs.3.forward.output.0", 1, "nonfinite"),
    ]
    assert report.counts["pass"] == 4 and report.counts["ours_error"] == 4  # theirs stays theirs
    assert report.verdict == "fail"


def test_no_counterpart_is_no_pass_whatever_the_tool_says(tmp_path: Path) -> None:
    alone = {name: "N/A" for name in HEADER if name.startswith("Bench ")}
    alone |= {name: "unsupported" for name in ("Cosine", "EucDist", "MaxAbsErr", "MaxRelativeErr")}
    report = told(tmp_path, {**row("Torch.exp.0.forward.output.0"), **alone})
    assert (report.verdict, report.counts["pass"], report.counts["unmatched"]) == ("unknown", 0, 1)
    assert rules_of(report) == ["theirs-unmatched"]
    assert report.findings[0].figures["n_passed_by_the_tool"] == 1


def test_a_stricter_tool_is_told_and_stays_an_error(tmp_path: Path) -> None:
    half = row("Torch.abs.2.forward.output.0", NPU_Dtype="torch.float16", Result="error")
    report = told(tmp_path, half)
    assert rules_of(report) == ["theirs-error", "theirs-stricter"]
    assert "within our criteria" in report.findings[0].message
    fed = row("Torch.abs.2.forward.input.0")
    report = told(tmp_path, fed, half)
    assert (report.findings[0].role, report.findings[0].message[-1]) == ("unknown", ")")


def test_a_table_cut_in_a_row_is_incomplete(tmp_path: Path) -> None:
    path = write(tmp_path / "compare_result_20260801120000.csv", [row("Torch.a.0.forward.output.0")] * 3)
    path.write_bytes(path.read_bytes()[:-90])
    report = report_of([path], AnalysisOptions()).report
    assert (report.verdict, report.counts["rows"]) == ("incomplete", 2)
    assert [problem.kind for problem in report.problems] == ["cut-off"]


def test_ranks_of_a_round_are_one_report(tmp_path: Path) -> None:
    for rank in (0, 1):
        changes = SCALED if rank else {}
        write(
            tmp_path / f"compare_result_rank{rank}_20260801120000.csv",
            [row("Torch.mul.0.forward.output.0", **changes)],
        )
    (one,) = reports_of(discover(tmp_path), AnalysisOptions(tables=True))
    assert one.report.counts["rows"] == 2
    assert one.report.findings[0].location.rank == 1
    assert one.report.tables["theirs"].column("rank").to_list(0, 2) == [0, 1]
    bad = [row("Torch.mul.0.forward.output.0", **SCALED)]
    write(tmp_path / "compare_result_rank0_20260801120000.csv", bad)
    (one,) = reports_of(discover(tmp_path), AnalysisOptions())
    first = one.report.findings[0]  # the same row of both ranks is one finding
    assert (first.figures["ranks"], len([f for f in one.report.findings if f.severity == "error"])) == (
        [0, 1],
        1,
    )


def test_criteria_of_the_user_count(tmp_path: Path) -> None:
    path = write(tmp_path / "compare_result_1.csv", [row("Torch.mul.0.forward.output.0", **SCALED)])
    loose = AnalysisOptions(criteria="norm_ratio_high=1.5")
    assert report_of([path], loose).report.counts["ours_error"] == 0


def test_beside_our_own_comparison_it_adds_notes_alone(tmp_path: Path) -> None:
    write_capture(tmp_path / "npu", chain(bad=ORIGIN))
    write_capture(tmp_path / "cpu", chain())
    before = report_of([tmp_path], AnalysisOptions(tables=True)).report
    table = before.tables["precision"]
    names = [name for name in table.column("target").to_list(0, table.n_rows) if name]
    verdicts = dict(zip(table.column("target").to_list(0, table.n_rows), range(table.n_rows), strict=True))
    write(tmp_path / "compare_result_20260801120000.csv", [row(name) for name in names])
    after = report_of([tmp_path], AnalysisOptions(tables=True)).report
    assert after.verdict == before.verdict == "fail"
    assert after.findings[:-1] == before.findings and after.counts == before.counts
    note = after.findings[-1]
    assert (note.rule, note.severity) == ("precision.theirs-beside", "note")
    assert note.figures["n_compared_here"] == len(names)
    n_errors = sum(table.column("verdict").value(row) == "error" for row in range(table.n_rows))
    assert note.figures["n_missed"] == n_errors > 0
    assert "read the tensors" in note.next_step
    theirs = after.tables["theirs"]
    for place in range(theirs.n_rows):
        shown = theirs.row(place)
        assert shown["our_row"] == verdicts[shown["target"]]
        assert shown["our_verdict"] == table.column("verdict").value(shown["our_row"])


def test_beside_statistics_nobody_read_a_tensor(tmp_path: Path) -> None:
    for side, factor in (("npu", 2), ("cpu", 1)):
        x = np.ones(4, np.float32)
        data = {"Torch.abs.0.forward": api([tensor(x)], [tensor(x * factor)])}
        write_dump(tmp_path / side / "step0" / "rank0", data)
    write(tmp_path / "compare_result_20260801120000.csv", [row("Torch.abs.0.forward.output.0")])
    note = report_of([tmp_path], AnalysisOptions()).report.findings[-1]
    assert (note.rule, note.figures["n_missed"]) == ("precision.theirs-beside", 1)
    assert note.next_step.startswith("both go by recorded statistics")


def test_what_the_advisor_says_is_a_note(tmp_path: Path) -> None:
    text = "Line: 6\nSuspect Nodes: Torch.abs.3.forward.input.0\nExpert Advice: 1. Look.\n2. Again."
    (tmp_path / "advisor_20260801120000.txt").write_text(text, encoding="utf-8")
    write(tmp_path / "compare_result_20260801120000.xlsx.csv", [row("Torch.abs.3.forward.input.0")])
    report = report_of([tmp_path], AnalysisOptions()).report
    assert report.verdict == "pass"
    assert rules_of(report) == ["theirs-advice"]
    assert report.findings[0].message == (
        "msprobe compare advises: 6 Torch.abs.3.forward.input.0: 1. Look. 2. Again."
    )


def test_an_advice_alone_does_not_stand_before_a_capture(tmp_path: Path) -> None:
    write_capture(tmp_path / "npu", chain())
    before = report_of([tmp_path], AnalysisOptions()).report
    (tmp_path / "advisor_1.txt").write_text("Line: NA\nSuspect Nodes: NA\nExpert Advice: All.\n")
    assert report_of([tmp_path], AnalysisOptions()).report.findings == before.findings
    write(tmp_path / "compare_result_1.csv", [row("Torch.abs.0.forward.output.0")])
    found = report_of([tmp_path], AnalysisOptions())
    assert found.report.summary["computed_by"] == "msprobe compare"
    assert any("npu" in note for note in found.notes)  # the capture is named as not looked at


def test_nan_on_both_sides_is_open_and_no_error(tmp_path: Path) -> None:
    words = dict.fromkeys(NOTHING, "Nan")
    report = told(tmp_path, row("Torch.abs.0.forward.output.0", **words, **NAN, **NAN_BENCH))
    assert (report.verdict, report.counts["both_nan"]) == ("unknown", 1)
    assert rules_of(report) == ["theirs-unjudged"]


def test_figures_beside_nan_on_both_sides_say_that_it_stands_at_the_same_places(tmp_path: Path) -> None:
    report = told(tmp_path, row("Torch.abs.0.forward.output.0", **NAN, **NAN_BENCH))
    assert (report.verdict, report.counts["ours_pass"]) == ("pass", 1)


def test_warnings_are_findings_of_their_own(tmp_path: Path) -> None:
    text = '["warning: norm relative error of output is 10 times that of input."]'
    report = told(tmp_path, row("Torch.add.0.forward.output.0", Result="warning", Err_message=text))
    assert (report.verdict, rules_of(report)) == ("warn", ["theirs-warning"])
    assert report.findings[0].message.endswith("norm relative error of output is 10 times that of input.")
    header = ("rank", "pert_mode", "stage", "step", "api_name", "max_rel", "dtype", "shape", "output_index")
    unstable = {"api_name": "Torch.exp.0.forward", "max_rel": "symbol_flipping", "shape": "torch.Size([4])"}
    path = write(tmp_path / "free_benchmark.csv", [unstable], header)
    report = report_of([path], AnalysisOptions()).report
    assert (report.verdict, report.counts["warning"]) == ("warn", 1)
    assert report.findings[0].message.endswith("max_rel symbol_flipping")


def test_an_api_that_was_run_alone_is_computed_again(tmp_path: Path) -> None:
    header = ("API name", "Forward Test Success", "Backward Test Success", "Message")
    rows = [("Functional.gelu.0", "pass", " "), ("Functional.linear.0", "pass", "error")]
    path = write(
        tmp_path / "accuracy_checking_result_1.csv",
        [dict(zip(header, cells, strict=False)) for cells in rows],
        header,
    )
    report = report_of([path], AnalysisOptions()).report
    assert (report.counts["pass"], report.counts["error"]) == (1, 1)
    assert report.findings[0].subject == "Functional.linear.0"
    assert "npulse recheck Functional.linear.0" in report.findings[0].next_step


def test_what_is_only_shown_is_no_pass(tmp_path: Path) -> None:
    header = ("NPU Name", "rank0", "rank1")
    rows = [{"NPU Name": "A", "rank0": "1", "rank1": "NPU: N/A"}]
    table = read_result(write(tmp_path / "multi_ranks_compare_merge_1.csv", rows, header))
    artifact = Artifact("msprobe.merge_result", tmp_path, "x", 1, 1)
    report = theirs_report([Result(artifact, read_theirs(table, Criteria()))], "run")
    assert (report.verdict, report.findings) == ("unknown", ())


def test_every_rule_is_told_in_both_languages(tmp_path: Path) -> None:
    assert all(a != b for rule in RULES for a, b in (rule.title, rule.meaning))
    path = write(tmp_path / "compare_result_1.csv", [row("Torch.mul.0.forward.output.0", **SCALED)])
    for lang, word in (("en", "norm ratio"), ("zh", "范数比")):
        report = report_of([path], AnalysisOptions(lang=lang)).report
        assert word in report.findings[0].message
