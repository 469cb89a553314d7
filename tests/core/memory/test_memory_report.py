"""The whole way from logs in a folder to findings, verdict and exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from npulse.core.analysis import AnalysisOptions
from npulse.core.api import MemoryReport, memory
from npulse.core.errors import InputError, UsageError
from npulse.core.findings import Finding
from npulse.core.memory import run_report
from npulse.core.memory.view import memory_view
from npulse.core.report import render
from npulse.core.run.discover import discover

from .logs_by_hand import CLEAN, DROPPED, SEEN, START, illegal, leaks


def look(path: Path, **options: object) -> MemoryReport:
    return memory(path, options=AnalysisOptions(**options))  # type: ignore[arg-type]


def log(folder: Path, *parts: str, name: str = "check.log") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("".join(parts), encoding="utf-8")
    return folder


def of_rule(report: MemoryReport, rule: str) -> list[Finding]:
    return [finding for finding in report.findings if finding.rule == f"memory.{rule}"]


# ---- verdicts ----


def test_clean_and_complete_passes(tmp_path: Path) -> None:
    report = look(log(tmp_path, START, CLEAN))
    assert report.verdict == "pass" and report.findings == () and report.report.exit_code() == 0
    assert "memcheck" in " ".join(report.report.told)


def test_no_error_after_dropped_records_is_no_pass(tmp_path: Path) -> None:
    report = look(log(tmp_path, START, DROPPED, CLEAN))
    assert report.verdict == "incomplete" and report.report.exit_code() == 4
    (finding,) = report.findings
    assert (finding.rule, finding.role) == ("memory.incomplete", "unknown")
    assert "--cache-size" in finding.message


def test_a_kernel_that_never_ended_is_no_pass(tmp_path: Path) -> None:
    report = look(log(tmp_path, START, CLEAN, START))
    assert report.verdict == "incomplete" and report.report.exit_code() == 4


def test_a_log_in_which_nothing_ran_is_unknown(tmp_path: Path) -> None:
    text = "[mssanitizer] logging to file: ./check.log\n"
    report = look(log(tmp_path, text))
    assert report.verdict in ("unknown", "incomplete") and report.report.exit_code() == 4


STATISTICS = """AddressSanitizer exit stats:
Stats: 0M malloced (0M for red zones) by 5 calls
Stats: 0M freed by 3 calls
"""


def test_statistics_at_a_process_end_show_that_a_sanitizer_was_there(tmp_path: Path) -> None:
    report = look(log(tmp_path, STATISTICS, name="asan.log.77"))
    assert (report.verdict, report.findings) == ("pass", ())
    assert "by AddressSanitizer" in " ".join(report.report.told)
    # another process found something, which its own log tells
    error = "==78==ERROR: AddressSanitizer: attempting double-free on 0x602000000010 in thread T0:\n"
    frames = "    #0 0x55d0c0de01ac in main /op/a.c:3\n\nSUMMARY: AddressSanitizer: double-free /op/a.c:3\n"
    report = look(log(tmp_path, error, frames, name="asan.log.78"))
    assert report.verdict == "fail"


def test_a_console_is_not_blamed_for_what_stands_in_the_log_beside_it(tmp_path: Path) -> None:
    """With --log-file begin and end of the checks stand in that file alone."""
    console = "at work\n[mssanitizer] logging to file: /elsewhere/raw/check.log\n"
    log(tmp_path, console, name="console.log")
    assert look(tmp_path).verdict == "unknown", "the file is not here"
    report = look(log(tmp_path / "raw", START, CLEAN).parent)
    assert (report.verdict, report.findings) == ("pass", ())
    # what the tool lost is said on the console, and counts
    log(tmp_path, console, DROPPED, name="console.log")
    assert look(tmp_path).verdict == "incomplete"
    # another file is no answer
    (tmp_path / "raw" / "check.log").rename(tmp_path / "raw" / "other.log")
    log(tmp_path, console, name="console.log")
    assert look(tmp_path).verdict == "unknown"


def test_warnings_alone_warn_and_strict_counts_them(tmp_path: Path) -> None:
    record = illegal(43).replace("ERROR: illegal read of size", "WARNING: out of bounds of size")
    report = look(log(tmp_path, START, record, SEEN))
    assert report.verdict == "warn" and report.report.exit_code() == 0
    assert report.report.exit_code(strict=True) == 1
    assert (report.findings[0].rule, report.findings[0].role) == ("memory.overlap", "suspect")


def test_an_error_fails_also_in_an_incomplete_log(tmp_path: Path) -> None:
    report = look(log(tmp_path, START, DROPPED, illegal(43)))
    assert report.verdict == "fail" and report.report.exit_code() == 1
    assert report.findings[0].rule == "memory.access", "the error first, then what is missing"
    assert of_rule(report, "incomplete")
    assert report.origin is report.findings[0] and report.max_error == 1


# ---- what a site says ----


def test_many_reports_of_one_line_are_one_finding(tmp_path: Path) -> None:
    records = [illegal(43, block=f"aiv({n})", address=0x1000 + 512 * n, serial=90 - n) for n in range(8)]
    report = look(log(tmp_path, START, *records, illegal(54, serial=3), SEEN))
    first, second = report.findings
    assert first.subject.endswith("add_custom.cpp:54"), "the lower serial number was issued first"
    figures = second.figures
    assert (figures["count"], figures["cores"], figures["serial_first"]) == (8, "aiv(0-7)", 83)
    assert (figures["address_first"], figures["address_last"]) == ("0x1000", "0x1e00")
    assert "8 reports" in second.message and "serialNo 83" in second.message
    assert (second.location.line, second.location.byte) == (2, len(START))


def test_the_source_is_shown_from_a_moved_tree(tmp_path: Path) -> None:
    source = tmp_path / "moved" / "op_kernel"
    source.mkdir(parents=True)
    lines = [f"// line {n}" for n in range(1, 80)]
    lines[42] = "    DataCopy(dst, src[i], tail);"
    (source / "add_custom.cpp").write_text("\n".join(lines), encoding="utf-8")
    run = log(tmp_path / "run", START, illegal(43), SEEN)
    report = memory(run, source_roots=[tmp_path / "moved"])
    assert report.findings[0].source.endswith("add_custom.cpp:43 DataCopy(dst, src[i], tail);")
    view = memory_view(report.found, "en")
    detail = view.detail(0, "en")
    (marked,) = [line for line in detail.code if line.is_marked]
    assert (marked.number, marked.text) == (43, lines[42])
    assert view.place(0) == (source / "add_custom.cpp", 43)
    assert any("moved tree" in line for line in view.where(0, "en"))


def test_the_operator_project_in_the_run_is_a_root_where_none_is_named(tmp_path: Path) -> None:
    run = log(tmp_path / "run", START, illegal(2, file="/build/op_kernel/op.cpp"), SEEN)
    lines = ("first line", "second line")
    for folder in (run / "op_kernel", tmp_path / "named", run / "other"):
        folder.mkdir()
        (folder / "op.cpp").write_text("\n".join(f"{line} in {folder.name}" for line in lines))
    assert memory(run).findings[0].source.endswith("op.cpp:2 second line in op_kernel")
    named = memory(run, source_roots=[tmp_path / "named"])
    assert named.findings[0].source.endswith("op.cpp:2 second line in named")


def test_no_other_folder_of_the_run_is_searched_unasked(tmp_path: Path) -> None:
    run = log(tmp_path / "run", START, illegal(2, file="/build/op_kernel/op.cpp"), SEEN)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "op.cpp").write_text("first\nsecond")
    (run / "src").mkdir()
    (run / "src" / "op.cpp").write_text("first\nsecond")
    (run / "op_kernel").symlink_to(tmp_path / "elsewhere")
    assert memory(run).found.settings.source_roots == ()


def test_a_path_out_of_the_roots_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "secret.cpp").write_text("secret\n" * 80, encoding="utf-8")
    root = tmp_path / "root"
    root.mkdir()
    (root / "link.cpp").symlink_to(tmp_path / "secret.cpp")
    outside = [str(tmp_path / "secret.cpp"), f"{root}/../secret.cpp", "../secret.cpp", str(root / "link.cpp")]
    records = [illegal(n + 10, file=file) for n, file in enumerate(outside)]
    report = memory(log(tmp_path / "run", START, *records, SEEN), source_roots=[root])
    assert len(report.found.sites) == 4
    assert all(finding.source == "" for finding in report.findings)
    view = memory_view(report.found, "en")
    assert all(not view.detail(row, "en").code for row in range(4))


def test_without_a_root_the_log_is_what_the_editor_opens(tmp_path: Path) -> None:
    report = look(log(tmp_path, START, illegal(43), SEEN))
    assert memory_view(report.found, "en").place(0) == (tmp_path / "check.log", 2)


# ---- leaks ----


def test_leaks_are_summed_by_place_and_checked(tmp_path: Path) -> None:
    blocks = [(4096, "run.cpp:88")] * 4 + [(512, "run.cpp:15"), (8, "run.cpp:15")]
    report = look(log(tmp_path, START, CLEAN, leaks(*blocks)))
    workspace, other = report.findings
    assert workspace.rule == "memory.workspace-leak"
    assert workspace.figures["leaked_bytes"] == 4 * 4096 and workspace.figures["size_bytes"] == 4096
    assert "4,096 bytes a call" in workspace.message
    assert (other.rule, other.figures["leaked_bytes"]) == ("memory.leak", 520)
    assert report.report.summary["leaks_match_the_total"] is True
    report = look(tmp_path, criteria="repeated_leaks=5")
    assert not of_rule(report, "workspace-leak")


def test_a_total_that_does_not_fit_is_said(tmp_path: Path) -> None:
    report = look(log(tmp_path, START, CLEAN, leaks((64, "run.cpp:1"), total=(4096, 3))))
    (finding,) = of_rule(report, "summary-mismatch")
    assert (finding.figures["leaked_bytes"], finding.figures["told_bytes"]) == (64, 4096)
    assert report.report.summary["leaks_match_the_total"] is False


def test_a_total_without_its_leaks_is_no_pass(tmp_path: Path) -> None:
    total = "====== SUMMARY: 4096 byte(s) leaked in 3 allocation(s)\n"
    report = look(log(tmp_path, START, CLEAN, total))
    (finding,) = of_rule(report, "leak")
    assert "3 blocks, 4,096 bytes" in finding.message and (finding.severity, finding.role) == (
        "error",
        "origin",
    )
    assert report.verdict == "fail" and report.report.exit_code() == 1
    assert report.found.n_faults == 0


# ---- rounds ----


def test_rounds_tell_what_was_fixed_and_what_is_new(tmp_path: Path) -> None:
    log(tmp_path / "round1", START, illegal(43), illegal(54, word="write"), SEEN)
    log(tmp_path / "round2", START, illegal(43), illegal(63, word="write", space="UB"), SEEN)
    report = look(tmp_path)
    states = {finding.subject[-2:]: finding.figures.get("state") for finding in report.findings}
    assert states["43"] == "same" and states["63"] == "new"
    (gone,) = of_rule(report, "clean-up")
    assert gone.figures["is_fixed"] is True and gone.subject.endswith(":54")
    clean_up = report.report.summary["clean_up"]
    assert (clean_up["fixed"], clean_up["new"], clean_up["still_there"], clean_up["is_done"]) == (
        1,
        1,
        1,
        False,
    )
    assert any("run the same check again" in line for line in report.report.told)


def test_the_loop_ends_with_a_complete_and_clean_log(tmp_path: Path) -> None:
    log(tmp_path / "round1", START, illegal(43), SEEN)
    log(tmp_path / "round2", START, CLEAN)
    report = look(tmp_path)
    assert report.report.summary["clean_up"]["is_done"] is True
    assert [finding.severity for finding in report.findings] == ["note"]
    assert report.report.exit_code() == 0
    assert look(tmp_path, round_name="round1").report.exit_code() == 1


def test_every_round_has_a_report(tmp_path: Path) -> None:
    log(tmp_path / "round1", START, illegal(43), SEEN)
    log(tmp_path / "round2", START, CLEAN)
    reports = run_report.reports_of(discover(tmp_path), AnalysisOptions())
    assert [(one.round, one.report.verdict) for one in reports] == [("round1", "fail"), ("round2", "pass")]


# ---- settings ----


def test_names_of_guides_are_mapped_to_the_real_options(tmp_path: Path) -> None:
    log(tmp_path, START, CLEAN)
    (tmp_path / "env.txt").write_text(
        "ASCEND_HOME_PATH=/usr/local/Ascend\nMSANITIZER_MODE=racecheck\nMSANITIZER_OUTPUT=/tmp/out.log\n",
        encoding="utf-8",
    )
    report = look(tmp_path)
    found = {finding.subject: finding for finding in of_rule(report, "setting")}
    assert "--tool" in found["MSANITIZER_MODE"].next_step
    assert "--log-file" in found["MSANITIZER_OUTPUT"].next_step
    assert found["MSANITIZER_MODE"].location.line == 2


# ---- joins ----

PLOG = (
    "[ERROR] RUNTIME({pid},python):2026-08-01-02:28:06.{ms}.110 [device_error_core_proc.cc:1][{pid}]"
    "[DEFAULT][GLOBAL] {text}\n"
)


def exception_log(task: int, pid: int = 4711) -> str:
    texts = (
        f"Task run failed, device_id=3, stream_id=2, task_id={task}, flip_num=0, task_type=0, "
        "error_type=task exception",
        f"[AIC_INFO] after execute:args print end, fault kernel_name=AddCustom_{'ab' * 16}_0, "
        "fault kernel info ext=none",
    )
    return "".join(PLOG.format(pid=pid, ms=510 + n, text=text) for n, text in enumerate(texts))


def test_an_exception_is_joined_to_the_operator_of_a_profile(tmp_path: Path) -> None:
    log(tmp_path, exception_log(77), name="plog-4711_20260801022806123.log")
    (tmp_path / "op_summary_20260801022900.csv").write_text(
        "Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,OP State,Task Type,Task Start Time(us),"
        "Task Duration(us)\n"
        "3,1,76,2,model.layers.3.mul,Mul,dynamic,AI_VECTOR_CORE,1785551285000000.000,5\n"
        "3,1,77,2,model.layers.4.add,AddCustom,dynamic,AI_VECTOR_CORE,1785551286000000.000,5\n",
        encoding="utf-8",
    )
    report = look(tmp_path)
    (root,) = of_rule(report, "exception")
    assert root.figures["operator"] == "model.layers.4.add"
    assert "model.layers.4.add" in root.message
    source = next(one for one in root.related if one.subject == "model.layers.4.add")
    assert source.figures["line"] == 3


# ---- bad input and other ways in ----


def test_escape_sequences_of_a_log_never_come_out(tmp_path: Path) -> None:
    evil = "\x1b]52;c;ZXZpbA==\x07\x1b[2Jadd\x07"
    record = illegal(43, kernel=f"k{evil}", file=f"/x/{evil}.cpp")
    log(tmp_path, START, record, leaks((8, f"run{evil}.cpp:3")), SEEN)
    report = look(tmp_path, tables=True)
    for format_name in ("text", "json", "jsonl", "md", "csv"):
        text = "".join(render(report.report, format_name, version="0", lang="en"))
        assert "\x1b" not in text and "\x07" not in text, format_name
    view = memory_view(report.found, "en")
    for row in range(view.table.n_rows):
        detail = view.detail(row, "en")
        shown = [detail.name, detail.headline, *(f"{a}{b}" for a, b in detail.facts), *view.where(row, "en")]
        shown += [line.text for line in detail.code]
        assert all("\x1b" not in text and "\x07" not in text for text in shown)


def test_json_is_what_the_contract_says(tmp_path: Path) -> None:
    report = look(log(tmp_path, START, illegal(43), SEEN), tables=True)
    made = json.loads("".join(render(report.report, "json", version="0", lang="en")))
    assert made["command"] == "memory" and made["verdict"] == "fail"
    (row,) = made["tables"]["memory"]
    assert row["subject"] == made["findings"][0]["subject"] and row["count"] == 1
    assert report.to_frame().shape == (1, len(row))


def test_both_languages_say_the_same(tmp_path: Path) -> None:
    log(tmp_path, START, illegal(43), leaks((8, "run.cpp:3")), SEEN)
    en, zh = look(tmp_path), look(tmp_path, lang="zh")
    assert [f.figures for f in en.findings] == [f.figures for f in zh.findings]
    assert all(a.message != b.message for a, b in zip(en.findings, zh.findings, strict=True))
    view = memory_view(en.found, "en").translated("zh")
    assert [f.message for f in view.report.findings] == [f.message for f in zh.findings]


def test_rows_and_findings_find_each_other(tmp_path: Path) -> None:
    records = [illegal(n, file=f"/x/f{n % 3}.cpp") for n in range(20, 50)]
    report = look(log(tmp_path, START, *records, SEEN))
    view = memory_view(report.found, "en")
    for row in range(view.table.n_rows):
        finding = view.finding(row, "en")
        assert view.row_of(finding) == row
        assert view.table.column("subject").value(row) == finding.subject


def test_more_sites_than_are_explained_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("npulse.core.memory.report.SHOWN_SITES", 5)
    report = look(log(tmp_path, START, *(illegal(n) for n in range(20, 40)), SEEN), tables=True)
    assert len(of_rule(report, "access")) == 5
    (more,) = of_rule(report, "more")
    assert more.figures["n"] == 15 and report.report.tables["memory"].n_rows == 20


def test_nothing_to_look_at_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        look(tmp_path)
    assert "mssanitizer" in (caught.value.hint or "")
    log(tmp_path, START, CLEAN)
    with pytest.raises(InputError):
        look(tmp_path, round_name="round9")
    with pytest.raises(UsageError):
        look(tmp_path, criteria="cosine=1")


def test_a_log_that_cannot_be_read_is_a_problem_and_the_others_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log(tmp_path, START, illegal(43), SEEN, name="a.log")
    log(tmp_path, START, CLEAN, name="b.log")
    run = discover(tmp_path)
    (tmp_path / "b.log").unlink()
    report = memory(run)
    assert [problem.artifact for problem in report.problems] == ["b.log"]
    assert report.verdict == "fail" and report.found.n_faults == 1


def test_sites_are_told_while_logs_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("npulse.core.memory.analyse.FIRST_UPDATE_S", 0.0)
    records = [illegal(n % 50 + 1, serial=n) for n in range(12_000)]
    log(tmp_path, START, *records, SEEN)
    seen: list[tuple[str, int]] = []
    report = memory(tmp_path, on_update=lambda found: seen.append((found.stage, found.n_faults)))
    assert len(seen) >= 2 and {stage for stage, _ in seen} == {"reading"}
    assert 0 < seen[0][1] < report.found.n_faults == 12_000


# ---- by whom, and what a log says of itself ----


def test_who_did_it_is_told_of_one_report_too(tmp_path: Path) -> None:
    (finding,) = look(log(tmp_path, START, illegal(43, block="aiv(1-2,5)"), SEEN)).findings
    assert "aiv(1-2,5)" in finding.message and "device 0" in finding.message


def test_the_tools_own_lines_stand_below_a_gap(tmp_path: Path) -> None:
    report = look(log(tmp_path, START, DROPPED, CLEAN))
    (finding,) = report.findings
    assert any("--cache-size=200" in line and "block 0" in line for line in finding.told)


def test_a_kernel_that_did_not_end_is_named(tmp_path: Path) -> None:
    other = START.replace("add_custom", "mul_custom")
    report = look(log(tmp_path, START, CLEAN, other))
    finding = next(f for f in report.findings if f.figures["gap"] == "unfinished-kernel")
    assert any("mul_custom" in line and "add_custom" not in line for line in finding.told)


def test_settings_are_told_with_their_values(tmp_path: Path) -> None:
    log(tmp_path, START, CLEAN)
    (tmp_path / "env.txt").write_text(
        "ASCEND_HOME_PATH=/usr/local/Ascend\nMSANITIZER_MODE=memcheck,racecheck\nMSANITIZER_OUTPUT=/tmp/o.log\n",
        encoding="utf-8",
    )
    report = look(tmp_path)
    found = {finding.subject: finding for finding in of_rule(report, "setting")}
    assert "--tool memcheck --tool racecheck" in found["MSANITIZER_MODE"].next_step
    assert "racecheck did not run" in found["MSANITIZER_MODE"].message
    assert "--log-file=/tmp/o.log" in found["MSANITIZER_OUTPUT"].next_step


def test_all_values_of_a_script_are_told(tmp_path: Path) -> None:
    log(tmp_path, START, CLEAN)
    text = (
        "#!/bin/sh\nexport MSANITIZER_MODE=memcheck\nexport MSANITIZER_MODE=${MODE:-race,leakcheck}\n./run\n"
    )
    (tmp_path / "run.sh").write_text(text, encoding="utf-8")
    found = of_rule(look(tmp_path), "setting")
    assert [(f.location.line, f.figures["use"]) for f in found] == [
        (2, "mssanitizer --tool memcheck"),
        (3, "mssanitizer --tool racecheck"),
    ]
    assert "leakcheck is no check; there are memcheck, racecheck, initcheck, synccheck" in found[1].message
    assert "racecheck did not run" in found[1].message


def test_no_pass_while_an_earlier_fault_may_still_be_there(tmp_path: Path) -> None:
    log(tmp_path / "round1", START, illegal(43), SEEN)
    log(tmp_path / "round2", START.replace("memcheck", "racecheck"), CLEAN)
    report = look(tmp_path)
    assert report.verdict == "unknown" and report.report.exit_code() == 4
    assert not any("clean-up is done" in line for line in report.report.told)


def test_totals_of_two_runs_in_one_log(tmp_path: Path) -> None:
    first, second = (
        leaks((64, "a.cpp:1"), total=(300, 2)),
        leaks((36, "a.cpp:1"), (300, "b.cpp:2"), total=(100, 1)),
    )
    (finding,) = of_rule(look(log(tmp_path, START, CLEAN, first, second)), "summary-mismatch")
    assert (finding.figures["leaked_bytes"], finding.figures["told_bytes"]) == (64, 300)
