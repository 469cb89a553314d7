"""Situations of real reports about profiles: what the performance area must say, and what it must not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from npulse.core.analysis import AnalysisOptions
from npulse.core.findings import Finding, Report
from npulse.core.performance.run_report import report_of
from npulse.core.report import render

from .values import expected

pytestmark = pytest.mark.real


def told(case: Path, **options: Any) -> tuple[Report, str]:
    """The report of a case, and all that the command prints of it."""
    report = report_of([case], AnalysisOptions(tables=True, **options)).report
    return report, "".join(render(report, "text", version="0", lang="en"))


def by_rule(report: Report, rule: str) -> Finding:
    return next(finding for finding in report.findings if finding.rule == f"performance.{rule}")


def test_c45_the_gaps_come_first_not_the_longest_operator(shared: Path) -> None:
    case = shared / "cases" / "C45"
    want = expected(case)
    report, text = told(case)
    facts = report.summary
    assert facts["first"] == "idle" and facts["host_bound"] == "yes"
    assert (facts["busy_us"], facts["idle_us"], facts["wall_us"]) == (
        want["busy_us"],
        want["free_us_between_kernels"],
        want["span_us_first_start_to_last_end"],
    )
    assert facts["wait_us"] == want["sum_of_wait_us"] and report.counts["used_rows"] == want["kernels"]
    first = report.findings[0]
    assert (first.rule, first.role) == ("performance.idle", "origin")
    assert f"{want['free_share_per_block_percent']} %" in first.message
    block, free = f"{want['per_block_us']:g} us", f"{want['per_block_free_us']:g} us"
    assert f"{block} a block, {free} of it idle" in first.message
    types = facts["types"][0]
    assert (types["type"], types["total_us"]) == (want["top_type"], want["top_type_us"])
    assert round(types["share_percent"], 2) == want["top_type_share_of_busy_percent"]
    assert "the gaps come first" in first.message
    assert text.index("IDLE") < text.index(
        want["top_type"]
    )  # it must not rank kernels and hide the idle share


def test_c47_rows_that_cannot_be_used_are_named_not_counted_as_zero(shared: Path) -> None:
    case = shared / "cases" / "C47"
    want = expected(case)
    report, _ = told(case)
    facts = report.summary
    assert facts["total_us"] == want["total_us"]
    assert (report.counts["rows"], report.counts["used_rows"]) == (want["data_rows"], want["used_rows"])
    named = [(one["line"], one["name"], one["reason"]) for one in facts["set_aside"]]
    assert named == [(one["csv_line"], one["op"], "absent") for one in want["not_usable"]]
    types = [(t["type"], t["total_us"], round(t["share_percent"], 2)) for t in facts["types"]]
    assert types == [tuple(one) for one in want["types"]]
    assert facts["by_core_us"]["AI_CPU"] == want["ai_cpu_us"]
    assert round(facts["by_core_percent"]["AI_CPU"], 2) == want["ai_cpu_percent"]
    assert by_rule(report, "aicpu").severity == "warning"
    assert report.problems == ()  # `"";""` is no broken row
    old = [finding for finding in report.findings if "old_version" in str(finding.location.artifact)]
    assert report.counts["profiles"] == 2 and old  # the other header generation is read as well
    assert sum("old_version" in line for line in report.told) >= 1


def test_c48_nanoseconds_behind_sixteen_digits(shared: Path) -> None:
    case = shared / "cases" / "C48"
    want = expected(case)
    facts = told(case)[0].summary
    assert round(facts["busy_us"] * 1000) == want["busy_ns"]
    assert (
        round(facts["idle_us"] * 1000) == want["gap_ns"] and round(facts["wall_us"] * 1000) == want["span_ns"]
    )
    assert round(facts["sum_of_kernels_us"] * 1000) == want["busy_ns"]  # no overlap of neighbours


def test_c50_an_event_at_zero_is_set_aside_and_named(shared: Path) -> None:
    case = shared / "cases" / "C50"
    want = expected(case)
    report, text = told(case)
    facts = report.summary
    assert [one["name"] for one in facts["events_set_aside"]] == want["outliers"]
    assert (facts["wall_us"], facts["busy_us"]) == (want["span_us"], want["busy_us"])
    assert round(facts["idle_percent"], 2) == want["idle_share_percent"]
    assert "Cast_zero" in text and "100.00 %, communication" not in text


def test_c52_the_slow_rank_is_the_one_that_waits_least(shared: Path) -> None:
    case = shared / "cases" / "C52"
    want = expected(case)
    report, _ = told(case)
    first = report.findings[0]
    assert (first.rule, first.role) == ("performance.slow-rank", "origin")
    figures = first.figures
    assert figures["rank"] == want["slow_rank"] and figures["computing_us"] == want["computing_us"]
    assert figures["median_computing_us"] == want["median_computing_us"]
    median = want["median_computing_us"]
    excess = 100 * (want["computing_us"] - median) / median
    assert figures["excess_percent"] == pytest.approx(excess, rel=1e-9)
    assert round(excess, 2) == want["excess_percent"] and figures["is_lowest_communication"]
    assert figures["most_communication_rank"] == want["highest_not_overlapped_communication_rank"]
    assert figures["waiting_ranks"] == want["waiting_ranks"] and figures["n_ranks"] == want["ranks"]
    assert report.summary["jobs"][0]["slow_ranks"] == [want["slow_rank"]]
    accused = [f.figures.get("rank") for f in report.findings if f.rule == "performance.slow-rank"]
    assert accused == [want["slow_rank"]]
    table = report.tables["ranks"]
    roles = {table.row(i)["rank"]: table.row(i)["role"] for i in range(table.n_rows)}
    assert roles.pop(want["slow_rank"]) == "origin" and set(roles.values()) == {"inherited"}


def test_c53_encodings_of_spreadsheets(shared: Path) -> None:
    case = shared / "cases" / "C53"
    want = expected(case)
    report, text = told(case)
    assert report.counts["profiles"] == want["files"]
    assert report.summary["encodings"] == want["encodings"] | {}
    assert report.summary["total_us"] == want["total_us"]
    assert report.summary["types"][1]["type"] == want["second_op_type"]
    assert "\N{REPLACEMENT CHARACTER}" not in text and want["second_op_type"] in text


def test_c58_a_profile_that_nobody_exported(shared: Path) -> None:
    case = shared / "cases" / "C58"
    want = expected(case)
    report, text = told(case)
    (found,) = report.findings
    assert found.rule == "performance.not-exported" and report.verdict == "unknown"
    for name in ("kind", "parsed", "rank", "missing", "devices"):
        assert found.figures[name] == want[name]
    assert "analyse(" in found.next_step and str(case) in found.next_step
    assert report.exit_code() == 4 and "no data" not in text.lower()
