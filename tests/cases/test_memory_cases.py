"""Small logs from the field about memory faults: the right values, and what must not be said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from npulse.core.analysis import AnalysisOptions
from npulse.core.api import MemoryReport, memory
from npulse.core.findings import Finding

from .values import expected


def look(case: Path) -> MemoryReport:
    return memory(case, options=AnalysisOptions(tables=True))


def faults(report: MemoryReport) -> list[Finding]:
    """The findings that stand for sites."""
    beside = {"memory.incomplete", "memory.summary-mismatch", "memory.more"}
    return [finding for finding in report.findings if finding.rule not in beside]


def of_rule(report: MemoryReport, rule: str) -> list[Finding]:
    return [finding for finding in report.findings if finding.rule == f"memory.{rule}"]


def said(report: MemoryReport) -> str:
    return "\n".join(f"{f.subject} {f.message} {f.next_step}" for f in report.findings)


def test_c33_sixty_four_reports_are_one_race(shared: Path) -> None:
    case = shared / "cases" / "C33"
    want, report = expected(case), look(case)
    found = faults(report)
    assert report.report.counts["reports"] == want["raw_findings"]
    assert len(found) == want["distinct"] == report.report.tables["memory"].n_rows
    for finding, group in zip(found, want["groups"], strict=True):
        figures = finding.figures
        assert figures["count"] == group["count"]
        assert (figures["hazard"], figures["space"]) == (group["kind"], group["space"])
        assert figures["places"] == group["lines"]
        assert figures["core_ids"] == group["blocks"]
        for name in ("kernel", "pcs", "address_first", "address_last"):
            assert name not in group or figures[name] == group[name]
    assert found[1].figures["core_ids"] == [0, 3], "the single one between cores is kept"


def test_c35_places_that_are_not_known_stay_unknown(shared: Path) -> None:
    case = shared / "cases" / "C35"
    want, report = expected(case), look(case)
    found = {finding.figures["kind"]: finding for finding in faults(report)}
    assert len(found) == want["findings"] and set(found) == set(want["kinds"])
    sizes = [found[kind].figures.get("size_bytes") for kind in want["kinds"]]
    assert sizes == want["sizes"]
    assert sum("file" not in finding.figures for finding in found.values()) == want["without_file"]
    zero = [finding for finding in found.values() if "line 0" in finding.message]
    assert len(zero) == want["line_zero"] and "-O2" in zero[0].message
    assert all("line" not in finding.figures for finding in found.values())
    assert all(not finding.subject.endswith((":0", ":1")) for finding in found.values())
    no_debug = [found["illegal read"], found["illegal free"]]
    assert all("does not know the source file" in finding.message for finding in no_debug)
    assert "-g --cce-enable-sanitizer" in found["illegal read"].message
    assert "cores" not in found["illegal free"].figures


def test_c37_leaks_between_program_output_add_up(shared: Path) -> None:
    case = shared / "cases" / "C37"
    want, report = expected(case), look(case)
    leaks = of_rule(report, "leak")
    assert len(leaks) == want["leaks"] == report.report.counts["leaks"]
    assert sum(f.figures["leaked_bytes"] for f in leaks) == want["leaked_bytes"]
    assert report.report.counts["leaked_bytes"] == want["leaked_bytes"]
    largest: dict[str, Any] = want["largest"]
    first = leaks[0].figures
    assert (first["leaked_bytes"], first["file"], first["line"]) == (
        largest["bytes"],
        largest["file"],
        largest["line"],
    )
    assert sum("file" not in finding.figures for finding in leaks) == 1
    assert report.report.summary["leaks_match_the_total"] is want["summary_matches"]
    assert report.report.counts["unused"] == want["unused"]
    assert report.report.counts["unused_bytes"] == want["unused_bytes"]
    assert len(faults(report)) == want["leaks"] + want["unused"], "totals are no findings"
    assert not of_rule(report, "summary-mismatch")


def test_c38_the_kernel_is_the_root_and_the_time_out_only_follows(shared: Path) -> None:
    case = shared / "cases" / "C38"
    want, report = expected(case), look(case)
    (root,) = [finding for finding in report.findings if finding.severity == "error"]
    assert report.findings[0] is root and (root.rule, root.role) == ("memory.exception", "origin")
    told, figures = want["root"], root.figures
    assert figures["kernel"] == told["kernel"] and figures["kernel_name"].startswith(told["kernel"])
    for name, ours in (
        ("chip", "chip_id"),
        ("device_id", "device_id"),
        ("stream_id", "stream_id"),
        ("task_id", "task_id"),
        ("cores", "core_ids"),
        ("pc_offset_decimal", "pc_offset"),
    ):
        assert figures[ours] == told[name], name
    assert hex(figures["error_code"]) == told["errcode"] and hex(figures["ret_code"]) == told["ret_code"]
    assert figures["pcs"] == [told["pc_offset"]]
    assert figures["cores"] == "aiv(45,47)" and told["core_type"] == "aivec"
    assert told["reason"] in figures["error_text"] and told["reason"] in root.message
    moment = figures["time"].split(" ")[1]
    assert moment == "02:28:06.512110" and want["first_time"] == "02:28:06.512.110"
    followers = [finding for finding in report.findings if finding.role == "inherited"]
    assert {finding.rule for finding in followers} == {"memory.follows"}
    (late,) = [finding for finding in followers if finding.subject == "EI0002"]
    assert want["secondary"] == ["EI0002 on pid 221633 (30 s later)"]
    assert late.figures["pids"] == [221633] and "30.2 s later" in late.message
    related = next(one for one in root.related if one.subject == "EI0002")
    assert round(related.figures["delay_us"] / 1e6) == 30
    assert any(finding.subject == str(want["acl_error_code"]) for finding in followers)
    (python,) = [finding for finding in followers if finding.figures["kind"] == "python error"]
    assert want["python_line_is_reliable"] is False
    assert "ASCEND_LAUNCH_BLOCKING=1" in python.message and "surfaced" in python.message
    assert report.report.counts["origin"] == 1, "two cores are one problem"


def test_c40_the_compiler_speaks_in_bits(shared: Path) -> None:
    case = shared / "cases" / "C40"
    want, report = expected(case), look(case)
    (finding,) = faults(report)
    figures = finding.figures
    assert figures["required_bytes"] == want["requires_bytes"]
    assert figures["available_bytes"] == want["available_bytes"] == want["available_kib"] * 1024
    assert figures["required_bytes"] / figures["available_bytes"] == want["ratio"]
    assert (figures["file"], figures["line"]) == (want["file"], want["line"])
    fits = want["block_size_that_fits_if_linear"]
    for text in (f"{want['requires_bytes']:,} bytes", "192 KiB", str(want["ratio"]), f"{fits:,}"):
        assert text in f"{finding.message} {finding.next_step}"


def test_c42_a_hang_in_both_spellings(shared: Path) -> None:
    case = shared / "cases" / "C42"
    want, report = expected(case), look(case)
    hangs = of_rule(report, "lock-up")
    assert len(hangs) == want["lock_ups"] == sum(f.figures["count"] for f in hangs)
    assert [finding.figures["kernel"] for finding in hangs] == want["kernels"]
    assert [finding.figures["n_pipes"] for finding in hangs] == want["pipes"]
    assert all(finding.figures["summary_matches"] is want["summary_matches"] for finding in hangs)
    for pipe in ("PIPE_V", "PIPE_MTE2", "PIPE_MTE3"):
        assert pipe in hangs[0].message
    assert "PIPE_S" in hangs[1].message
    first = hangs[0].figures
    assert first["serial_first"] == want["earliest_serial_in_first"]
    assert first["line"] == want["earliest_line_in_first"]
    assert f"serialNo {want['earliest_serial_in_first']}" in hangs[0].message
    (flag,) = of_rule(report, "sync")
    assert flag.figures["count"] == want["unpaired_set_flag"]
    assert (flag.figures["from_pipe"], flag.figures["to_pipe"]) == ("PIPE_S", "PIPE_MTE3")
    assert flag.figures["line"] == 26


def test_no_log_of_the_cases_is_called_clean(shared: Path) -> None:
    for name in ("C33", "C35", "C37", "C38", "C40", "C42"):
        report = look(shared / "cases" / name)
        assert report.verdict == "fail" and report.report.exit_code() == 1
        assert "\x1b" not in said(report)
