"""The reader of msDebug transcripts on the shared ones; values were worked out from the files by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from npulse.core.formats.msdebug import (
    Breakpoint,
    CoreState,
    Focus,
    Frame,
    InfoRow,
    KernelLaunch,
    MemoryShown,
    Msdebug,
    MsdebugReader,
    SessionStart,
    read_msdebug,
)

ADD = "::add_custom(uint8_t *, uint8_t *, uint8_t *, uint32_t) [inlined] KernelAdd::Compute"
CORE = "/workspace/op/build/extra-info/data-dump/0/add_custom.2.1.20260829101507233.core"


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    return shared / "samples" / "sanitizer" / "msdebug"


def read(path: Path) -> Msdebug:
    found = read_msdebug(path, root=path.parent)
    assert found.problems == ()
    return found


def test_a_session_with_a_break_point(folder: Path) -> None:
    found = read(folder / "live_session.txt")
    start, point, launch, focus = found.records[:4]
    assert isinstance(start, SessionStart)
    assert (start.line, start.path, start.is_core_file) == (4, "/workspace/op/build/add_custom", False)
    assert isinstance(point, Breakpoint)
    assert (point.number, point.function, point.path, point.source_line, point.column, point.address) == (
        *(1, ADD, "add_custom.cpp"),
        *(54, 9, 0x694),
    )
    assert isinstance(launch, KernelLaunch) and (launch.kernel, launch.device_id) == ("add_custom", 0)
    assert isinstance(focus, Focus) and (focus.core_id, focus.core_type, focus.line) == (13, "aiv", 11)
    first, second = found.stops
    assert (first.line, first.command, first.reason, first.process) == (
        12,
        "run",
        "breakpoint 1.1",
        "add_custom",
    )
    assert (first.kernel, first.core_id, first.core_type) == ("add_custom", 13, "aiv")
    assert first.frame is not None and first.frame.pc == 0x694
    assert (first.frame.path, first.frame.source_line, first.frame.column) == ("add_custom.cpp", 54, 9)
    assert first.code_text.startswith("AscendC::Add(zLocal[progress * 49152], xLocal, yLocal, TILE_LENGTH);")
    assert (second.line, second.command, second.core_id, second.code_text) == (45, "ascend aiv 14", 14, "")
    cores = [record for record in found.records if isinstance(record, CoreState)]
    assert [(c.is_focus, c.core_id, c.stream_id, c.task_id, c.block, c.pc, c.reason) for c in cores] == [
        (True, 13, 46, 1, 0, 0x12C0C0040694, "breakpoint 1.1"),
        (False, 14, 46, 1, 1, 0x12C0C0040694, "breakpoint 1.1"),
        (False, 15, 46, 1, 2, 0x12C0C0040678, ""),
    ]
    assert [(c.path, c.source_line) for c in cores] == [("add_custom.cpp", 54)] * 2 + [("", None)]
    rows = [record for record in found.records if isinstance(record, InfoRow)]
    assert [(row.table, row.is_focus) for row in rows] == [
        *(("devices", True), ("tasks", True), ("stream", True)),
        *(("blocks", True), ("blocks", False), ("blocks", False)),
    ]
    assert rows[0].cells["Aiv_Mask"] == "0x1fe000" and rows[1].cells["Invocation"] == "add_custom"
    memory = [record for record in found.records if isinstance(record, MemoryShown)]
    assert [(m.address, m.space, m.element, m.values) for m in memory] == [
        (0x0, "UB", "float32[]", ("1",) * 8),
        (0x20, "UB", "float32[]", ("1",) * 8),
    ]


def test_a_core_file(folder: Path) -> None:
    found = read(folder / "core_session.txt")
    start = found.records[0]
    assert isinstance(start, SessionStart) and (start.path, start.is_core_file) == (CORE, True)
    at_start, by_bt = found.stops
    for stop in (at_start, by_bt):
        assert (stop.reason, stop.kernel, stop.core_id, stop.core_type) == (
            "MTE_ERROR",
            "add_custom",
            17,
            "aiv",
        )
        assert stop.frame is not None and stop.frame.pc == 0x12C0C0040678
    assert by_bt.command == "bt"
    frames = [record for record in found.records if isinstance(record, Frame) and record.command == "bt"]
    assert [(f.index, f.is_selected, f.path, f.source_line, f.column, f.pc) for f in frames] == [
        (0, True, "kernel_operator_data_copy_impl.h", 60, 5, 0x12C0C0040678),
        (1, False, "add_custom.cpp", 44, 9, 0x12C0C0040678),
        (2, False, "add_custom.cpp", 32, 13, 0x12C0C0040630),
        (3, False, "add_custom.cpp", 78, 8, 0x12C0C0040610),
    ]
    assert frames[1].function.endswith("KernelAdd::CopyIn(this=0x0000000000000000, progress=<unavailable>)")
    rows = [record for record in found.records if isinstance(record, InfoRow)]
    assert [(row.table, row.is_focus, row.cells["CoreId"]) for row in rows] == [
        *(("summary", False, "16"), ("summary", True, "17")),
        *(("memory", False, None), ("memory", False, "16"), ("memory", False, "17"), ("memory", False, None)),
    ]
    assert rows[2].cells == {
        **{"Id": "0", "DataType": "DEVICE_KERNEL_OBJECT", "MemType": "GM", "Addr": "0x12c0c0040000"},
        **{"Size": "18944", "CoreId": None, "CoreType": None, "Dim": None},
    }
    cores = [record for record in found.records if isinstance(record, CoreState)]
    assert [(c.core_id, c.is_focus, c.is_exception, c.reason, c.source_line, c.stream_id) for c in cores] == [
        (16, False, True, "MTE_ERROR", 44, None),
        (17, True, True, "MTE_ERROR", 44, None),
    ]


@pytest.mark.parametrize("name", ["live_session.txt", "core_session.txt"])
def test_cutting_a_session_anywhere_changes_nothing(folder: Path, name: str) -> None:
    content = (folder / name).read_bytes()
    whole = list(read(folder / name).records)
    for at in range(len(content)):
        reader = MsdebugReader()
        assert reader.feed(content[:at]) + reader.feed(content[at:]) + reader.finish() == whole
