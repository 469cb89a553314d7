"""What the debug log adds: the instruction behind a report, the allocation beside the access."""

from __future__ import annotations

from pathlib import Path

from npulse.core.api import MemoryReport, memory

from .logs_by_hand import SEEN, START, illegal

HEAD = "[I] Init log at [2026-08-29 10:15:02]\n"


def malloc(serial: int, address: int, size: int, file: str = "", line: int = 0) -> str:
    return (
        f"[2026-08-29 10:15:02] [24117] [checker.cpp:463] RecordVersion:MEMORY_RECORD, serialNo:{serial}, "
        f"type:MALLOC, coreId:-1, srcAddr:0x0, dstAddr:{address:#x}, memInfoSrc:ACL, srcSpace:GM, "
        f"dstSpace:GM, memSize:{size}, moduleId:-1, lineNo:{line}, fileName:{file}, deviceId:0\n"
    )


def move(serial: int, pc: int, source: int, device: int = 0) -> str:
    return (
        f"[2026-08-29 10:15:02] [24117] [checker.cpp:515] DMA_MOV, {serial}, aiv-0, loc-0-0, {pc:#x}, "
        f"dst:(type:UB;addr:0x200;stride:0);src:(type:GM;addr:{source:#x};stride:0);nburst:1;lenburst:23, "
        f"deviceId:{device}\n"
    )


def look(folder: Path, *debug: str, address: int, serial: int = 9, size: int = 224) -> MemoryReport:
    record = illegal(43, address=address, serial=serial, pc=0x668, size=size)
    (folder / "check.log").write_text(START + record + SEEN, encoding="utf-8")
    path = folder / "mssanitizer_20260829101502_24117.log"
    path.write_text("".join(debug), encoding="utf-8")
    return memory(folder)


BEGIN = 0x12C0C0013000


def test_the_instruction_is_told(tmp_path: Path) -> None:
    address = BEGIN + 8192 + 64
    debug = HEAD, malloc(1, BEGIN, 8192, "run_add.cpp", 15), move(9, 0x668, address)
    (finding,) = look(tmp_path, *debug, address=address).findings
    assert finding.figures["operands"][0].startswith("DMA_MOV dst:(type:UB;addr:0x200")
    assert any("DMA_MOV" in line for line in finding.told)
    figures = finding.figures
    assert (figures["side"], figures["distance_bytes"], figures["block_bytes"]) == ("after", 64, 8192)
    assert figures["allocated_at"] == "run_add.cpp:15"
    assert any("8192 B" in line for line in finding.told)


def test_bytes_outside_of_an_access_that_begins_inside(tmp_path: Path) -> None:
    """The tool prints where the access begins and how many of its bytes are outside."""
    address = BEGIN + 7680
    (finding,) = look(
        tmp_path, HEAD, malloc(1, BEGIN, 8192), move(9, 0x668, address), address=address
    ).findings
    assert (finding.figures["side"], finding.figures["distance_bytes"]) == ("after", 0)
    assert finding.figures["address_first"] == hex(address)


def test_another_run_or_device_does_not_match(tmp_path: Path) -> None:
    address = BEGIN + 8192
    for other in (move(9, 0x700, address), move(9, 0x668, address, device=1), move(8, 0x668, address)):
        (finding,) = look(tmp_path, HEAD, malloc(1, BEGIN, 8192), other, address=address).findings
        assert "operands" not in finding.figures and "side" not in finding.figures


def test_a_log_without_its_begin_does_not_know_all_allocations(tmp_path: Path) -> None:
    address = BEGIN + 8192
    path = tmp_path / "mssanitizer_20260829101502_24117.log"
    report = look(tmp_path, HEAD, malloc(1, BEGIN, 8192), move(9, 0x668, address), address=address)
    assert "side" in report.findings[0].figures
    # rotated: the head is gone, and with it allocations that may lie nearer
    text = path.read_text(encoding="utf-8")
    path.write_text(HEAD + text.removeprefix(HEAD)[: -len(move(9, 0x668, address)) // 2], encoding="utf-8")
    cut = memory(tmp_path)
    assert cut.verdict == "fail" and "side" not in cut.findings[0].figures
