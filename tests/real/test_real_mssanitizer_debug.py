"""The debug log of msSanitizer beside the report of the same run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from npulse.core.formats.mssanitizer.debug_log import read_debug_log
from npulse.core.formats.mssanitizer.debug_records import DebugLog
from npulse.core.formats.mssanitizer.reader import Report, read_report
from npulse.core.run.discover import discover

SPACES_OF_BINARY = "UB"  # vector instructions work on the unified buffer alone and do not name it


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    return shared / "samples/sanitizer/mssanitizer"


@pytest.fixture(scope="module")
def log(folder: Path) -> DebugLog:
    (path,) = folder.glob("debug_log_pair.mssanitizer_*.log")
    return read_debug_log(path, root=folder)


@pytest.fixture(scope="module")
def report(folder: Path) -> Report:
    return read_report(folder / "debug_log_pair.log", root=folder)


def test_everything_in_the_sample_is_read(folder: Path, log: DebugLog) -> None:
    (path,) = folder.glob("debug_log_pair.mssanitizer_*.log")
    lines = path.read_text().splitlines()
    assert log.problems == () and log.has_begin and log.is_whole and log.n_lines == len(lines)
    memory = [line for line in lines if "MEMORY_RECORD" in line]
    assert len(log.memory) == len(memory) > 0
    for record, line in zip(log.memory, memory, strict=True):
        assert f"serialNo:{record.serial_number}, type:{record.word}," in line
        assert f"dstAddr:{record.address:#x}," in line and f"memSize:{record.size_bytes}," in line
        assert lines[record.line_number - 1] == line
    others = [line for line in lines if line not in memory and line.endswith(", deviceId:0")]
    assert len(log.operands) == log.n_instructions == len(others)
    for one, line in zip(log.operands, others, strict=True):
        assert f"] {one.word}, {one.serial_number}, " in line and one.text in line
        assert path.read_bytes()[one.byte :].startswith(line.encode())
        if one.core is not None:
            assert f", {one.core_type}-{one.core}, " in line and f", {one.pc:#x}, {one.text}, " in line
            again = ";".join(f"{operand.name}:{operand.text}" for operand in one.operands)
            assert again == one.text


def test_each_fault_of_the_report_finds_its_operands(log: DebugLog, report: Report) -> None:
    assert len(report.records) == 4
    for record in report.records:
        assert record.serial_number is not None
        (one,) = log.operands_at(record.serial_number, record.device)
        assert one.pc == record.pc
        assert any(one.core in cores.ids and one.core_type == cores.core_type for cores in record.cores)
        touched = {(place.space or SPACES_OF_BINARY, place.address) for place in one.places}
        assert (record.space, record.address) in touched


def test_the_faults_on_gm_stand_in_or_behind_an_allocation(
    folder: Path, log: DebugLog, report: Report
) -> None:
    expected = json.loads((folder / "expected.json").read_text())["debug_log_pair.log"]
    (read,) = (one for one in expected if one["space"] == "GM" and one.get("access") == "read")
    address, n_bytes = int(read["address"], 16), read["size"]
    near = log.neighbours(address, read["device"], read["serial"])
    assert [(one.side, one.is_live) for one in near] == [("inside", True), ("before", True)]
    # 23 blocks of 32 bytes are moved, as its operands say, and what the tool reports is the end of them
    (move,) = log.operands_at(read["serial"], read["device"])
    burst = next(operand for operand in move.operands if operand.name == "lenburst").number
    assert burst is not None
    room = near[0].allocation.size_bytes - near[0].distance_bytes
    assert burst * 32 - room == n_bytes
    behind = log.neighbours(address + room, read["device"], read["serial"])[0]
    assert (behind.allocation, behind.side, behind.distance_bytes) == (near[0].allocation, "after", 0)
    assert log.neighbours(address, read["device"], 1) == ()  # nothing was had before the first record


def test_the_kind_of_the_sample_is_read_by_this(folder: Path, log: DebugLog) -> None:
    found = [one.path for one in discover(folder).artifacts if one.kind == "sanitizer.mssanitizer_debug"]
    assert found == [log.path]
