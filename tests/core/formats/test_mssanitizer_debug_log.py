from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npulse.core.errors import Cancelled, InputError
from npulse.core.formats.mssanitizer import debug_log
from npulse.core.formats.mssanitizer.debug_log import DebugReader, Entry, read_debug_log
from npulse.core.formats.mssanitizer.debug_records import (
    MAX_HOLDERS,
    MAX_OPERANDS,
    DebugLog,
    Instruction,
    MemoryRecord,
    Operand,
    Place,
    pair_allocations,
    split_operands,
)

BEGIN = "[I] Init log at [2026-03-01 08:00:00]\n"
HEAD = "[2026-03-01 08:00:01] [77] [checker.cpp:463] "


def memory_line(
    word: str,
    serial: int,
    address: int,
    size: int = 0,
    *,
    device: int = 0,
    source: str = "ACL",
    **more: object,
) -> str:
    given_more = {"module": -1, "line": 0, "file": "", "core": -1, "purpose": "", **more}
    purpose = f", memInfoDesc:{given_more['purpose']}" if given_more["purpose"] else ""
    return (
        f"{HEAD}RecordVersion:MEMORY_RECORD, serialNo:{serial}, type:{word}, coreId:{given_more['core']}, "
        f"srcAddr:0x0, dstAddr:{address:#x}{purpose}, memInfoSrc:{source}, srcSpace:GM, dstSpace:GM, "
        f"memSize:{size}, moduleId:{given_more['module']}, lineNo:{given_more['line']}, "
        f"fileName:{given_more['file']}, deviceId:{device}\n"
    )


def move_line(serial: int, *, device: int = 0, core: str = "aiv-3", operands: str = "x:1") -> str:
    return f"{HEAD}DMA_MOV, {serial}, {core}, loc--1-0, 0x6a0, {operands}, deviceId:{device}\n"


def read(folder: Path, text: str | bytes, **more: object) -> DebugLog:
    path = folder / "mssanitizer_20260301080000_77.log"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_debug_log(path, root=folder, **more)  # type: ignore[arg-type]


def told(log: DebugLog) -> list[tuple[str, int | None, int | None]]:
    return [(problem.kind, problem.line, problem.byte) for problem in log.problems]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


# ---- what a line says ----


def test_every_field_of_a_memory_record(folder: Path) -> None:
    line = memory_line(
        "MALLOC",
        7,
        0x12C0C0013000,
        8192,
        device=3,
        source="EXTRA",
        module=33,
        line=15,
        file="/src/run, all.cpp",
        purpose="INPUT0",
        core=2,
    )
    log = read(folder, BEGIN + line)
    assert log.memory == (
        MemoryRecord(
            *("MALLOC", 7, 3, 0x12C0C0013000, 8192, "GM", "EXTRA"),
            source_space="GM",
            purpose="INPUT0",
            module=33,
            file="/src/run, all.cpp",
            source_line=15,
            core=2,
            line_number=2,
            byte=len(BEGIN),
        ),
    )
    assert log.has_begin and log.is_whole and log.problems == ()


def test_what_the_log_does_not_know_is_none(folder: Path) -> None:
    record = read(folder, BEGIN + memory_line("MALLOC", 1, 0x1000, 32)).memory[0]
    assert (record.module, record.file, record.source_line, record.core) == (None, "", None, None)


def test_an_instruction_and_its_operands(folder: Path) -> None:
    text = (
        "dst:(type:UB;addr:0x404;stride:0);src:(type:GM;addr:0x12c0c001c000;stride:0);"
        "nburst:1;lenburst:16;padmode:NONE"
    )
    log = read(folder, BEGIN + move_line(5, device=1, operands=text))
    (move,) = log.operands
    assert move == Instruction("DMA_MOV", 5, 1, "aiv", 3, 0x6A0, text, line_number=2, byte=len(BEGIN))
    assert [operand.name for operand in move.operands] == ["dst", "src", "nburst", "lenburst", "padmode"]
    assert move.operands[0].part("stride") == Operand("stride", "0")
    assert move.operands[3].number == 16 and move.operands[4].number is None
    assert move.places == (Place("dst", "UB", 0x404), Place("src", "GM", 0x12C0C001C000))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        ("vectormask:(-1,-1)", (("vectormask", "(-1,-1)", ()),)),
        ("a:1;b:(c:2;d:(3,4));e", (("a", "1", ()), ("b", "(c:2;d:(3,4))", ("c", "d")), ("", "e", ()))),
        ("d:(addr:0x10,size:4), name:f", (("d", "(addr:0x10,size:4)", ("addr", "size")), ("name", "f", ()))),
        ("a:(b:1;c", (("a", "(b:1;c", ()),)),
        ("a:1);b:2", (("a", "1)", ()), ("b", "2", ()))),
        (";;, ;", ()),
    ],
)  # fmt: skip
def test_splitting_operands(text: str, expected: tuple[object, ...]) -> None:
    found = split_operands(text)
    assert tuple((one.name, one.text, tuple(part.name for part in one.parts)) for one in found) == expected


def test_operands_of_loads_and_of_tensors() -> None:
    load = Instruction("LOAD", 1, 0, text="type:GM;addr:0x20;size:4;datatype:B32")
    assert load.places == (Place("", "GM", 0x20),)
    tensors = Instruction("MSTX_STUB", 1, 0, text="error:0, dst:(addr:0x30,size:4,space:UB,dataBits:32)")
    assert tensors.places == (Place("dst", "UB", 0x30),)
    assert Instruction("X", 1, 0, text="dst:(addr:none)").places == ()


def test_lines_without_a_place_and_lines_of_the_tool(folder: Path) -> None:
    log = read(
        folder,
        BEGIN
        + HEAD + "BLOCK_FINISH, 36, deviceId:0\n"
        + "[2026-03-01 08:00:02] [78] [heap.cpp:103] [I] Add heap block. serialNo:1, addr:0x1, size:8\n"
        + HEAD + "RecordVersion:IPC_RECORD, type:MAP_INFO, addr:0x1, name:x\n"
        + HEAD + "Unknown RecordType(250), 37, Unknown BlockType(9)-0, loc-2-17, 0x0, 9;8, deviceId:0\n",
    )  # fmt: skip
    assert [(one.word, one.core_type, one.core, one.pc, one.text) for one in log.operands] == [
        ("BLOCK_FINISH", "", None, None, ""),
        ("Unknown RecordType(250)", "Unknown BlockType(9)", 0, 0, "9;8"),
    ]
    assert log.problems == () and log.n_lines == 5


# ---- joining ----


def test_a_fault_finds_its_operands_by_serial_number_and_device(folder: Path) -> None:
    lines = [move_line(9, device=1, operands="a:1"), move_line(4), move_line(9, device=0, operands="a:2")]
    log = read(folder, BEGIN + "".join(lines))
    assert [one.text for one in log.operands_at(9, 0)] == ["a:2"]
    assert [one.text for one in log.operands_at(9, 1)] == ["a:1"]
    assert [one.text for one in log.operands_at(9)] == ["a:1", "a:2"]
    assert log.operands_at(9, 2) == log.operands_at(5) == ()


def test_a_fault_of_the_host_finds_its_copy(folder: Path) -> None:
    log = read(folder, BEGIN + memory_line("MALLOC", 1, 0x1000, 64) + memory_line("STORE", 2, 0x1020, 128))
    assert [(one.word, one.size_bytes) for one in log.memory_at(2, 0)] == [("STORE", 128)]
    assert [(near.side, near.distance_bytes) for near in log.neighbours(0x1040, 0, 2)] == [("after", 0)]


def test_allocations_and_their_frees(folder: Path) -> None:
    lines = [
        memory_line("MALLOC", 1, 0x1000, 64),
        memory_line("MALLOC", 2, 0x1000, 64, device=1),
        memory_line("MALLOC", 3, 0x1000, 32, source="EXTRA"),  # an argument in it, told for the check
        memory_line("FREE", 5, 0x1000),
        memory_line("FREE", 6, 0x2000),  # of nothing
        memory_line("MALLOC", 8, 0x1000, 128, source="RT"),
        memory_line("FREE", 9, 0x1000, source="MANUAL"),
        memory_line("MALLOC", 10, 0x1000, 16, source="MSTX_HEAP"),
        memory_line("MALLOC", 11, 0x1000, 16, source="MSTX_REGION"),
        memory_line("FREE", 12, 0x1000, source="MSTX_REGION"),
    ]
    log = read(folder, BEGIN + "".join(lines))
    found = [(one.memory.serial_number, one.freed_at) for one in log.allocations]
    assert found == [(1, 5), (2, None), (3, 9), (8, None), (10, None), (11, 12)]
    first = log.allocations[0]
    assert [first.is_live_at(serial) for serial in (1, 2, 5, 6)] == [False, True, True, False]


def test_neighbours_of_an_address(folder: Path) -> None:
    lines = [
        memory_line("MALLOC", 1, 0x1000, 0x100),
        memory_line("MALLOC", 2, 0x2000, 0x100),
        memory_line("FREE", 10, 0x1000),
        memory_line("MALLOC", 20, 0x1080, 0x100, device=1),
    ]
    log = read(folder, BEGIN + "".join(lines))

    def near(address: int, device: int | None, serial: int | None) -> list[tuple[int, str, int, bool]]:
        found = log.neighbours(address, device, serial)
        return [(n.allocation.address, n.side, n.distance_bytes, n.is_live) for n in found]

    assert near(0x1010, 0, 5) == [(0x1000, "inside", 0x10, True), (0x2000, "before", 0xFF0, True)]
    assert near(0x1010, 0, 10) == near(0x1010, 0, 5)  # what frees it finds it
    assert near(0x1100, 0, 5) == [(0x1000, "after", 0, True), (0x2000, "before", 0xF00, True)]
    assert near(0x1FFF, 0, 5) == [(0x2000, "before", 1, True), (0x1000, "after", 0xEFF, True)]
    assert near(0x1010, 0, 11) == [(0x2000, "before", 0xFF0, True), (0x1000, "inside", 0x10, False)]
    assert near(0x1010, 0, None) == [(0x2000, "before", 0xFF0, True), (0x1000, "inside", 0x10, False)]
    assert near(0x1090, 1, 21) == [(0x1080, "inside", 0x10, True)]
    assert near(0x1090, 1, 3) == []  # not there yet
    assert near(-1, 0, 5) == near(1 << 64, 0, 5) == near(0x1000, 7, 5) == []


@dataclass(frozen=True)
class Step:
    word: str
    address: int
    size: int
    device: int


STEPS = st.lists(
    st.builds(
        Step,
        st.sampled_from(["MALLOC", "MALLOC", "FREE"]),
        st.sampled_from([0, 16, 32, 40, 48, 64, 2**64 - 8]),
        st.sampled_from([0, 1, 8, 16, 100]),
        st.sampled_from([0, 1]),
    ),
    max_size=30,
)


@given(
    STEPS,
    st.sampled_from([0, 7, 15, 16, 39, 40, 47, 64, 170, 2**64 - 1]),
    st.integers(0, 32),
    st.sampled_from([0, 1, None]),
)
def test_neighbours_are_those_of_a_plain_search(
    steps: list[Step], address: int, serial: int, device: int | None
) -> None:
    records = tuple(
        MemoryRecord(
            step.word, n, step.device, step.address, step.size if step.word == "MALLOC" else 0, "GM", "ACL"
        )
        for n, step in enumerate(steps, 1)
    )
    log = DebugLog(Path("a"), records, pair_allocations(records), (), True, True, 0, 0)
    found = log.neighbours(address, device, serial)

    # played step by step, as the tool does: what is there when the access is issued
    there: dict[tuple[int, int], list[int]] = {}
    gone: set[int] = set()
    for n, step in enumerate(steps, 1):
        if n >= serial:
            break
        if step.word == "MALLOC":
            there.setdefault((step.device, step.address), []).append(n)
        else:
            gone |= set(there.pop((step.device, step.address), ()))
    live = {n for serials in there.values() for n in serials if device in (None, steps[n - 1].device)}

    def span(n: int) -> range:
        begin = steps[n - 1].address
        return range(begin, begin + max(steps[n - 1].size, 1))

    holding = {n for n in live if address in span(n)}
    named = [one.allocation.memory.serial_number for one in found]
    assert len(set(named)) == len(named)
    inside_live = {n for n, one in zip(named, found, strict=True) if one.side == "inside" and one.is_live}
    assert inside_live <= holding and len(inside_live) == min(len(holding), MAX_HOLDERS)
    for one in found:
        begin, size = one.allocation.address, one.allocation.size_bytes
        n = one.allocation.memory.serial_number
        assert one.is_live == (n in live) and (one.is_live or n in gone)
        if one.side == "before":
            assert begin - address == one.distance_bytes
            assert begin == min(steps[m - 1].address for m in live if steps[m - 1].address > address)
        elif one.side == "after":
            assert address - begin - size == one.distance_bytes
            ends = [span(m).stop for m in live if span(m).stop <= address]
            assert span(n).stop == max(ends)
        else:
            assert address - begin == one.distance_bytes and address in span(n)
    if any(steps[m - 1].address > address for m in live):
        assert any(one.side == "before" for one in found)
    if any(span(m).stop <= address for m in live):
        assert any(one.side == "after" for one in found)
    if not holding and any(address in span(n) and device in (None, steps[n - 1].device) for n in gone):
        assert any(one.side == "inside" and not one.is_live for one in found)


# ---- limits, damage, cuts ----


def test_only_the_wanted_ones_are_kept(folder: Path) -> None:
    lines = [memory_line("MALLOC", 1, 0x1000, 8), memory_line("LOAD", 2, 0x1000, 8)]
    lines += [move_line(serial) for serial in range(3, 50)]
    log = read(folder, BEGIN + "".join(lines), wanted={20})
    assert [one.serial_number for one in log.operands] == [20]
    assert [one.serial_number for one in log.memory] == [1]
    assert log.n_instructions == 47 and log.is_whole


def test_more_than_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debug_log, "MAX_INSTRUCTIONS", 3)
    monkeypatch.setattr(debug_log, "MAX_MEMORY_RECORDS", 2)
    lines = [memory_line("MALLOC", n, n << 12, 8) for n in range(1, 5)]
    log = read(folder, BEGIN + "".join(lines) + "".join(move_line(n) for n in range(5, 10)))
    assert (len(log.memory), len(log.operands), log.n_instructions) == (2, 3, 5)
    assert told(log) == [("limit", None, None)] and "4 records" in log.problems[0].message
    assert not log.is_whole


@pytest.mark.parametrize(
    "line",
    [
        HEAD + "DMA_MOV, 4, aiv-0, loc--1-0, 0x668, dst:(type:UB;addr",
        HEAD + "RecordVersion:MEMORY_RECORD, serialNo:1, type:MALLOC, coreId:-1, srcAddr:0x0",
        memory_line("MALLOC", 1, 0x1000, 8).strip().replace("memSize:8", "memSize:many"),
        memory_line("MALLOC", 1, 0x1000, 8).strip().replace("type:MALLOC, ", ""),
        memory_line("MALLOC", 1 << 64, 0x1000, 8).strip(),
        memory_line("MALLOC", -1, 0x1000, 8).strip(),
    ],
)
def test_a_damaged_line_is_told_and_the_rest_is_read(folder: Path, line: str) -> None:
    log = read(folder, BEGIN + line + "\n" + move_line(9))
    assert told(log) == [("bad-record", 2, len(BEGIN))] and not log.is_whole
    assert [one.serial_number for one in log.operands] == [9] and log.memory == ()


def test_a_log_that_is_cut_off_anywhere_says_so(folder: Path) -> None:
    text = BEGIN + memory_line("MALLOC", 1, 0x1000, 8) + move_line(5, device=12)
    start = text.rindex("[2026")
    for end in range(start + 1, len(text)):
        log = read(folder, text[:end])
        assert told(log) == [("cut-off", 3, start)] and log.operands == (), text[:end]
    assert read(folder, text[:start]).is_whole and read(folder, text).operands_at(5, 12)


def test_a_log_that_was_rotated_has_no_begin(folder: Path) -> None:
    log = read(folder, move_line(5000) + BEGIN)
    assert not log.has_begin and [one.serial_number for one in log.operands] == [5000]


def test_crlf_gbk_and_controls(folder: Path) -> None:
    lines = [
        BEGIN.replace("\n", "\r\n").encode(),
        memory_line("MALLOC", 1, 0x1000, 8, file="/源码/a.cpp").replace("\n", "\r\n").encode("gbk"),
        memory_line("MALLOC", 2, 0x2000, 8, file="/a\x1b]0;x\x07.cpp").encode(),
        memory_line("MALLOC", 3, 0x3000, 8, file="@").encode().replace(b"@", b"/\xff\xff"),
    ]
    log = read(folder, b"".join(lines))
    assert [one.file for one in log.memory] == ["/源码/a.cpp", "/a␛]0;x�.cpp", "/��"]
    assert [(kind, line) for kind, line, _ in told(log)] == [("encoding", 4)]


@pytest.mark.parametrize("text", ["", "\n", "nothing of it\n", "====== ERROR: illegal read of size 8\n"])
def test_a_file_that_is_no_debug_log(folder: Path, text: str) -> None:
    with pytest.raises(InputError, match="no line of msSanitizer's debug log"):
        read(folder, text)


def test_files_that_are_not_opened(tmp_path: Path) -> None:
    inside = tmp_path / "run"
    inside.mkdir()
    outside = tmp_path / "a.log"
    outside.write_text(BEGIN)
    (inside / "link.log").symlink_to(outside)
    for path in (inside / "link.log", inside / "missing.log", inside / ".." / "a.log", inside):
        with pytest.raises(InputError):
            read_debug_log(path, root=inside)


def test_cancelling(folder: Path) -> None:
    with pytest.raises(Cancelled):
        read(folder, BEGIN, is_cancelled=lambda: True)


PIECES = st.one_of(
    st.binary(max_size=30),
    st.sampled_from(
        [
            *(BEGIN, HEAD, move_line(3), memory_line("MALLOC", 1, 16, 8), memory_line("FREE", 2, 16)),
            *(HEAD + "BLOCK_FINISH, 9, deviceId:0\n", ", deviceId:0", "RecordVersion:MEMORY_RECORD, "),
            *(", lineNo:1, fileName:", "(", ")", ";", ":", "\n", "\r", "[", "]", "0x", "-1", "loc-"),
        ]
    ).map(str.encode),
)


@settings(max_examples=300)
@given(st.lists(PIECES, max_size=12), st.lists(st.integers(0, 1 << 20), max_size=8))
def test_any_bytes_in_any_cut_give_the_same_records(pieces: list[bytes], cuts: list[int]) -> None:
    content = b"".join(pieces)

    def run(edges: list[int]) -> tuple[list[Entry], object, int]:
        reader, found = DebugReader("a"), []
        for start, end in zip(edges, edges[1:], strict=False):
            found += reader.feed(content[start:end])
        found += reader.finish()
        return found, reader.problems, reader.n_lines

    whole = run([0, len(content)])
    assert run([0, *sorted(cut % (len(content) + 1) for cut in cuts), len(content)]) == whole
    n_line_ends = content.count(b"\n") + content.count(b"\r")
    assert len(whole[0]) <= n_line_ends
    for entry in whole[0]:
        if isinstance(entry, Instruction):
            assert len(entry.operands) <= MAX_OPERANDS and entry.places is not None
    memory = tuple(entry for entry in whole[0] if isinstance(entry, MemoryRecord))
    log = DebugLog(Path("a"), memory, pair_allocations(memory), (), True, True, 0, 0)
    assert len(log.neighbours(16)) <= 2 * MAX_HOLDERS + 2


@pytest.mark.parametrize(
    "unit",
    [
        *(", deviceId:1", ", lineNo:1, fileName:", "[x] ", "(", "a:(b:1;", ", ", ";", "loc-1-1, 0x1, "),
        *("RecordVersion:MEMORY_RECORD, ", "aiv-", "-1-", "A, 1, ", " "),
    ],
)
@pytest.mark.parametrize("start", ["", "DMA_MOV, 4, ", "RecordVersion:MEMORY_RECORD, serialNo:1, "])
def test_hostile_lines_take_linear_time(folder: Path, start: str, unit: str) -> None:
    line = HEAD + start + unit * (60_000 // len(unit))
    text = BEGIN + "".join(line + end + "\n" for end in ("", ", deviceId:0", "x")) * 5
    begun = time.process_time()
    log = read(folder, text)
    for one in log.operands:
        assert len(one.places) <= MAX_OPERANDS + 1
    assert time.process_time() - begun < 5.0  # less than 0.3 s


def test_a_line_of_many_megabytes_is_left_out(folder: Path) -> None:
    line = move_line(4, operands="x" * 5_000_000)
    log = read(folder, BEGIN + line + move_line(5))
    assert [one.serial_number for one in log.operands] == [5]
    assert told(log) == [("too-large", 2, len(BEGIN))]
