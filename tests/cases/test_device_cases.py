"""npu-smi's output from the field: the right values, and what must not be said."""

from __future__ import annotations

from pathlib import Path

import pytest

from npulse.core.analysis import AnalysisOptions
from npulse.core.api import DeviceReport, device
from npulse.tui.cli.main import run

from .values import expected


def look(case: Path) -> DeviceReport:
    return device(case, options=AnalysisOptions(tables=True))


def test_c59_alarm_and_memory_without_a_process(shared: Path) -> None:
    case = shared / "cases" / "C59"
    want, report = expected(case), look(case)
    told = report.report.summary
    assert {key: told[key] for key in want} == want
    rules = {(f.rule, f.subject): f for f in report.findings}
    alarm = rules["device.health", "NPU 1 chip 1"]
    assert (alarm.severity, report.findings[0], report.origin) == ("error", alarm, alarm)
    assert (alarm.figures["phy_id"], alarm.figures["temperature_c"]) == (3, 88)
    assert rules["device.health", "NPU 3 chip 0"].severity == "warning"
    assert rules["device.memory-held", "NPU 1 chip 1"].figures["used_mb"] == 61444
    idle = {f.subject for f in report.findings if f.rule == "device.loaded-idle"}
    assert idle == {"NPU 0 chip 0", "NPU 0 chip 1"}
    assert [f.figures["chips"] for f in report.findings if f.rule == "device.busy"] == [[[2, 0], [2, 1]]]
    assert report.verdict == "fail" and report.problems == ()


def test_c59_power_of_the_second_chip_is_neither_0_nor_an_error(shared: Path) -> None:
    report = look(shared / "cases" / "C59")
    rows = [report.report.tables["device"].row(row) for row in range(8)]
    assert [row["power_w"] is None for row in rows] == [False, True] * 4
    assert not any("power" in f.rule for f in report.findings)
    assert any("'-'" in line for line in report.report.told)


def test_c61_the_driver_cannot_be_reached(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = shared / "cases" / "C61"
    want, report = expected(case), look(case)
    told = report.report.summary
    assert {key: told[key] for key in want} == want
    assert told["devices"] is None and report.verdict == "unknown" and "chips" not in report.report.counts
    (finding,) = report.findings
    assert (finding.rule, finding.role) == ("device.unreachable", "unknown")
    assert "-8005" in finding.message and "npulse PATH" in finding.next_step
    assert run(["device", str(case)]) == 4
    out = capsys.readouterr().out
    assert "driver not reachable" in out and "can still be opened" in out
