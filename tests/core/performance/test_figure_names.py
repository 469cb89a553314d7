"""Names of figures in reports of whole runs: units, counts, one name for one thing, every digit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from npulse.core.analysis import AnalysisOptions
from npulse.core.diff import diff
from npulse.core.findings import Finding
from npulse.core.formats.profiling.records import CommunicationLink, CommunicationTime, LinkUse
from npulse.core.formats.profiling.session import Session
from npulse.core.performance.advice import Advice
from npulse.core.performance.criteria import Criteria
from npulse.core.performance.profile import Profile
from npulse.core.performance.ranks.advice import advice_of_ranks, ranks_of
from npulse.core.performance.raw import advice_of_raw
from npulse.core.performance.run_report import report_of, reports_of
from npulse.core.report import render
from npulse.core.run.discover import discover

from .figure_names import wrong_in

HEAD = (
    "Step Id,Name,Type,OP State,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim,"
    "HF32 Eligible,Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,"
    "Output Formats\n"
)
STEPS = "Device_id,Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free\n"
AT = 1_700_000_000_000_000.0
OLD_NAMES = frozenset(
    {"calls", "steps", "ranks", "gaps", "percent", "time_us", "stake_us", "exposed_us", "exposed_percent"}
    | {"not_overlapped_us", "free_us", "gb_per_s", "criterion", "ratio"}
)
"""Second names of what has one already, or counts without n_."""


def session(job: Path, rank: int, slower: float = 1.0, exposed_us: float = 40) -> Path:
    """A rank as the framework's profiler exports it: conversions, AI CPU, tiny ones, gaps."""
    folder = job / f"host_{rank}_20260101000000000_ascend_pt"
    output = folder / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    lines, at = [HEAD], AT
    for step in range(4):
        for kind, core, us, dtype in (
            ("MatMulV2", "AI_CORE", 100 * slower, "FLOAT"),
            ("Cast", "AI_VECTOR_CORE", 33.333, "FLOAT"),
            ("TransData", "AI_VECTOR_CORE", 20.001, "FLOAT"),
            ("Sin", "AI_CPU", 70.007, "DOUBLE"),
            *[("Add", "AI_VECTOR_CORE", 2.003, "FLOAT")] * 30,
        ):
            lines.append(
                f"{step},aclnn{kind},{kind},dynamic,{core},{at:.3f}\t,{us:.3f},1.5,13,NO,"
                f'"""8,8""",{dtype},ND,"""8,8""",{dtype},ND\n'
            )
            at += us + 17
    (output / "kernel_details.csv").write_text("".join(lines))
    (output / "step_trace_time.csv").write_text(
        STEPS + "".join(f"0,{step},{300 * slower},{exposed_us},0,{exposed_us},200\n" for step in range(4))
    )
    (folder / f"profiler_info_{rank}.json").write_text('{"config": {"common_config": {}}}')
    return folder


def wrong_of(findings: Sequence[Finding]) -> set[str]:
    """What breaks the contract in the figures of these findings and of what belongs to them."""
    wrong = set()
    for finding in findings:
        for figures in (finding.figures, *(one.figures for one in finding.related)):
            wrong |= {f"{finding.rule}: {text}" for text in wrong_in(figures)}
            wrong |= {f"{finding.rule}: {name}" for name in OLD_NAMES & set(figures)}
    return wrong


def test_a_job_of_several_ranks(tmp_path: Path) -> None:
    for rank in range(4):
        session(tmp_path / "job", rank, 1.5 if rank == 2 else 1.0, 10 if rank == 2 else 160)
    options = AnalysisOptions(criteria="first_token_ms=5,step_ms=0.001")
    report = report_of([tmp_path], options).report
    rules = {finding.rule.removeprefix("performance.") for finding in report.findings}
    assert {"slow-rank", "idle", "aicpu", "conversion", "tiny", "top-operators", "time-by-class"} <= rules
    assert {"criterion-unknown", "criterion-missed", "precision-mode", "dynamic-shape"} <= rules
    assert wrong_of(report.findings) == set()


def test_two_runs(tmp_path: Path) -> None:
    old, new = session(tmp_path / "old", 0), session(tmp_path / "new", 0, 1.3)
    findings = diff(old, new, AnalysisOptions()).findings
    assert {"performance.round-total", "performance.operator-slower"} <= {one.rule for one in findings}
    assert wrong_of(findings) == set()
    (slower,) = [one for one in findings if one.rule == "performance.operator-slower"]
    assert (slower.figures["before_us"], slower.figures["after_us"]) == (100, 130)
    assert slower.figures["change_percent"] == pytest.approx(30, rel=1e-9)


def test_every_digit_is_in_the_json(tmp_path: Path) -> None:
    report = report_of([session(tmp_path, 0)], AnalysisOptions()).report
    parsed = json.loads("".join(render(report, "json", version="0")))
    found = {one["rule"]: one["figures"] for one in parsed["findings"]}
    kernels_us = 100 + 33.333 + 20.001 + 70.007 + 30 * 2.003
    conversion, aicpu = found["performance.conversion"], found["performance.aicpu"]
    assert conversion["total_us"] == 4 * 33.333 + 4 * 20.001
    assert conversion["share_percent"] == pytest.approx(100 * 53.334 / kernels_us, rel=1e-9)
    assert aicpu["share_percent"] == pytest.approx(100 * 70.007 / kernels_us, rel=1e-9)
    assert aicpu["n_calls"] == 4
    busy = found["performance.idle"]
    assert busy["idle_percent"] == pytest.approx(100 * busy["idle_us"] / busy["wall_us"], rel=1e-9)


def test_links_transfers_and_late_ranks() -> None:
    def operation(place: int, elapse_ms: float) -> CommunicationTime:
        uses = (
            LinkUse("SDMA", 40, 4, 10, None, ((8.0, 3, 3.0), (32.0, 1, 1.0))),
            LinkUse("RDMA", 1, 4100, 1),
        )
        return CommunicationTime(
            "1", f"hcom_allReduce__586_{place}_1", "g", False, start_ns=place, elapse_ms=elapse_ms, links=uses
        )

    links = tuple(
        CommunicationLink("1", "allreduce-total", "g", 0, target, "HCCS", size, 10, None)
        for target, size in ((1, 180), (2, 176), (3, 90))
    )
    profiles = [
        Profile(
            f"rank{rank}",
            rank=rank,
            communications=tuple(operation(i, 4300.0 if rank == 1 else 9000.0 + rank) for i in range(4)),
            links=links if rank == 0 else (),
        )
        for rank in range(3)
    ]
    found = [
        one.finding("en") for one in advice_of_ranks(ranks_of(".", profiles, {}, Criteria()), Criteria())
    ]
    rules = {one.rule.removeprefix("performance.") for one in found}
    assert {"slow-link", "small-packets", "rdma-retransmission", "late-rank"} <= rules
    assert wrong_of(found) == set()
    late = next(one for one in found if one.rule == "performance.late-rank").figures
    assert (late["rank"], late["n_late_collectives"], late["n_collectives"]) == (1, 4, 4)


def test_a_session_that_nobody_exported(tmp_path: Path) -> None:
    session = Session(tmp_path / "PROF_1", "msprof", "collected", rank=3, missing=("out",))
    (advice,) = advice_of_raw(session, tmp_path)
    assert advice.figures["n_raw_files"] == 0 and wrong_of([advice.finding("en")]) == set()


@pytest.mark.parametrize(
    ("figures", "is_fine"),
    [
        ({"n_calls": 3, "share_percent": 1.5, "rank": 0, "reason": "type", "is_computed": True}, True),
        ({"calls_c": 3}, False),
        ({"calls": 3}, False),
        ({"n_calls": 3.5}, False),
        ({"n_calls_before": 3.5}, True),
        ({"reason": 3}, False),
        ({"settings": {"a": object()}}, False),
    ],
)
def test_what_the_list_says(figures: dict[str, object], is_fine: bool) -> None:
    assert (list(wrong_in(figures)) == []) is is_fine


def test_every_advice_of_these_tests_is_looked_at() -> None:
    """`conftest.py` wraps what makes them."""
    assert Advice.__init__.__name__ == "checked"


@pytest.mark.real
def test_figures_of_real_profiles(shared: Path) -> None:
    real = shared / "samples" / "profiling" / "real"
    findings: list[Finding] = []
    for folder in sorted(path for path in real.iterdir() if path.is_dir() and path.name != "trace"):
        for done in reports_of(discover(folder), AnalysisOptions()):
            findings += done.report.findings
    assert len({finding.rule for finding in findings}) > 20
    assert wrong_of(findings) == set()
