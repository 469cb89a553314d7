"""Logs that are damaged, begin in their middle or show no check: never a pass, and never a crash."""

from __future__ import annotations

import json
from pathlib import Path

from npulse.core.analysis import AnalysisOptions
from npulse.core.api import MemoryReport, memory
from npulse.core.report import render

from .logs_by_hand import CLEAN, SEEN, START, illegal

SESSION = """\
(msdebug) run
Process 1730254 launched: '/work/add_custom' (aarch64)
[Launch of Kernel add_custom on Device 0]
Process 1730254 stopped
[Switching to focus on Kernel add_custom, CoreId 17, Type aiv]
* thread #1, name = 'add_custom', stop reason = breakpoint 1.1
(msdebug) quit
"""
HEADLESS = """\
    #2 0x55 in f /src/a.cpp:9:3
SUMMARY: AddressSanitizer: heap-use-after-free /src/a.cpp:9:3 in f
==5==ABORTING
"""
NEGATIVE = f"""\
==5==ERROR: AddressSanitizer: negative-size-param: (size=-{2**64})
    #0 0x55 in f /src/a.cpp:9:3

SUMMARY: AddressSanitizer: negative-size-param /src/a.cpp:9:3 in f
==5==ABORTING
"""


def look(folder: Path, *, tables: bool = False, **logs: str) -> MemoryReport:
    for name, text in logs.items():
        (folder / f"{name}.log").write_text(text, encoding="utf-8")
    return memory(folder, options=AnalysisOptions(tables=tables))


def test_a_stop_of_a_debugger_is_no_check(tmp_path: Path) -> None:
    report = look(tmp_path, session=SESSION)
    assert report.report.counts["sites"] == 1
    assert report.verdict == "unknown" and report.report.exit_code() == 4


def test_a_summary_whose_report_is_gone_is_no_pass(tmp_path: Path) -> None:
    report = look(tmp_path, check=START + CLEAN, asan=HEADLESS)
    assert report.verdict == "incomplete" and report.report.exit_code() == 4
    (finding,) = report.findings
    assert (finding.rule, finding.figures["gap"]) == ("memory.incomplete", "lost-begin")
    assert [(one.artifact, one.kind, one.line) for one in report.problems] == [("asan.log", "bad-record", 2)]


def test_sizes_beyond_64_bits_have_rows(tmp_path: Path) -> None:
    log = START + illegal(43, size=10**30) + SEEN
    report = look(tmp_path, tables=True, asan=NEGATIVE, check=log)
    made = json.loads("".join(render(report.report, "json", version="0", lang="en")))
    sizes = {row["kind"]: row["size_bytes"] for row in made["tables"]["memory"]}
    assert sizes["negative-size-param"] == -(2**63)
    assert all(size is None or abs(size) <= 2**63 for size in sizes.values())
