"""What the vendor's cluster analysis left: ranks out of any of its tables, its verdicts told as its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from npulse.core.analysis import AnalysisOptions
from npulse.core.errors import InputError
from npulse.core.findings import Finding, Report
from npulse.core.performance.run_report import report_of

SUMMARY = (
    "Rank,Step,Step Time(us),Computation(us),Communication Not Overlap Computation(us),"
    "Communication Overlap Computation(us),Communication(us),Free(us)\n"
)
SLOW = "rankId,slowAffectCount\n3,2\n5,9\n0,1\n"
FREE = (
    "Rank ID,Start Time(us),End Time(us),Duration(us),Pytorch Idle Time(us),Cann Idle Time(us),Reason\n"
    "0,1000.5,1030.5,30,1,2,Abnormal CANN layer: long node@launch 30.0 us\n"
    "0,1100.5,1180.5,80,1,2,Abnormal CANN layer: long node@launch 80.0 us\n"
    "1,1000.5,1100.5,100,1,2,device task running\n"
)
BOTTLENECK = (
    "Start Time(us),End Time(us),Duration(us),Communication Op,Slow Rank ID,Fast Rank ID,Reason\n"
    "1000,1400,400,hcom_allReduce__1,2.0,0.0,slow\n2000,2500,500,hcom_allReduce__2,,,\n"
    "3000,3300,300,hcom_allReduce__3,2.0,1.0,slow\n"
)


def told(run: Path, files: dict[str, str]) -> Report:
    folder = run / "cluster_analysis_output"
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    return report_of([run], AnalysisOptions()).report


def notes(report: Report) -> list[Finding]:
    return [one for one in report.findings if one.rule == "performance.cluster-analysis"]


def test_ranks_out_of_the_time_summary(tmp_path: Path) -> None:
    rows = "".join(
        f"{r},1,1000,{700 if r == 2 else 500},{100 if r == 2 else 300},0,300,200\n" for r in range(4)
    )
    report = told(tmp_path, {"cluster_time_summary_20260801120000.csv": SUMMARY + rows})
    slow = next(one for one in report.findings if one.rule == "performance.slow-rank")
    assert (slow.role, slow.subject, report.counts["profiles"]) == ("origin", "rank 2", 4)


def test_what_recipes_say_is_told_as_theirs(tmp_path: Path) -> None:
    files = {"slow_rank.csv": SLOW, "free_analysis.csv": FREE, "communication_bottleneck.csv": BOTTLENECK}
    report = told(tmp_path, files)
    assert report.verdict == "unknown" and report.exit_code() == 4 and report.problems == ()
    slow, bottleneck, free = notes(report)
    assert {one.severity for one in notes(report)} == {"note"} and {one.role for one in notes(report)} == {
        "unknown"
    }
    assert (slow.figures["rank"], slow.location.line, slow.location.rank) == (5, 3, 5)
    assert "9 of 12" in slow.message
    assert bottleneck.figures == {"n_operations": 3, "rank": 2, "longest_us": 500.0}
    assert "hcom_allReduce__2" in bottleneck.message and "rank 2 slow in 2, none in 1" in bottleneck.message
    assert (free.figures["listed_us"], free.figures["reason_us"]) == (210.0, 110.0)
    assert free.figures["reason"] == "Abnormal CANN layer: long node@launch"


def test_links_alone_name_their_ranks(tmp_path: Path) -> None:
    link = {
        "Transport Type": "HCCS",
        "Transit Time(ms)": 1.0,
        "Transit Size(MB)": 2.0,
        "Bandwidth(GB/s)": 2.0,
    }
    ops = {"allreduce-top1@1": {"0-1": link, "1-0": link}}
    text = json.dumps({"(0, 1)": {"step1": ops}})
    report = told(tmp_path, {"cluster_communication_matrix.json": text})
    assert report.counts["profiles"] == 2 and report.verdict == "unknown"


def test_a_table_that_no_figure_is_made_of_is_told(tmp_path: Path) -> None:
    report_files = {"communication_group.json": '{"collective": [[0, 1]], "p2p": [[0, 1]]}'}
    with pytest.raises(InputError, match="nothing of the profiles") as raised:
        told(tmp_path, report_files)
    assert "communication_group.json" in str(raised.value.hint)
