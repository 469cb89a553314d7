from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import Cancelled, InputError
from npulse.core.findings import Problem
from npulse.core.formats import memscope
from npulse.core.formats.memscope import (
    MAX_ROW_BYTES,
    MemscopeChecksum,
    MemscopeDifference,
    MemscopeEvent,
    MemscopeReader,
    MemscopeRow,
    MemscopeSpan,
    MemscopeTable,
    read_memscope,
)

HEADER = (
    "ID,Event,Event Type,Name,Timestamp(ns),Process Id,Thread Id,Device Id,Ptr,Attr,"
    "Call Stack(Python),Call Stack(C)\n"
)
MALLOC = (
    "7,MALLOC,PTA,N/A,1757000000000000001,100,101,0,0x00007f0012340000,"
    '"{allocation_id:5,addr:0x00007f0012340000,size:512,total:2097152,used:1024,owner:PTA@ops@aten}",'
    '"a.py(3): f\n b.py(4): g","lib.so(x)"\n'
)


def fed(content: bytes, sizes: list[int]) -> tuple[list[MemscopeRow], tuple[Problem, ...]]:
    reader = MemscopeReader("a.csv")
    rows: list[MemscopeRow] = []
    at = 0
    for size in sizes:
        rows += reader.feed(content[at : at + size])
        at += size
    rows += reader.feed(content[at:])
    rows += reader.finish()
    return rows, reader.problems


def rows_of(text: str) -> list[MemscopeRow]:
    rows, problems = fed(text.encode(), [])
    assert problems == ()
    return rows


def told(problems: tuple[Problem, ...]) -> list[tuple[str, int | None, int | None]]:
    return [(problem.kind, problem.line, problem.byte) for problem in problems]


# ---- rows of a dump ----


def test_an_allocation() -> None:
    (found,) = rows_of(HEADER + MALLOC)
    assert found == MemscopeEvent(
        line=2,
        byte=len(HEADER),
        number=7,
        event="MALLOC",
        event_type="PTA",
        name="",
        time_ns=1757000000000000001,
        pid=100,
        thread=101,
        device="0",
        address=0x7F0012340000,
        size_bytes=512,
        used_bytes=1024,
        total_bytes=2097152,
        allocation_id=5,
        owner="PTA@ops@aten",
        attributes={
            "allocation_id": "5",
            "addr": "0x00007f0012340000",
            "size": "512",
            "total": "2097152",
            "used": "1024",
            "owner": "PTA@ops@aten",
        },
        python_stack="a.py(3): f\nb.py(4): g",
        c_stack="lib.so(x)",
    )


def test_launches_marks_and_snapshots() -> None:
    launch, mark, snapshot = rows_of(
        HEADER
        + '1,KERNEL_LAUNCH,KERNEL_START,AddCustom,5,2,3,0,N/A,"{path:/a/b,streamId:2,taskId:7}",,\n'
        + '2,MSTX,Mark,"step ""1"", begin",6,2,3,cpu,N/A,,,\n'
        + '3,SNAPSHOT,N/A,N/A,7,N/A,3,1,N/A,"{reserved:10,allocated:4,total:64,free:50,device_rate:21.9}",,\n'
    )
    assert isinstance(launch, MemscopeEvent) and isinstance(mark, MemscopeEvent)
    assert isinstance(snapshot, MemscopeEvent)
    assert launch.attributes == {"path": "/a/b", "streamId": "2", "taskId": "7"}
    assert (launch.name, launch.address, launch.size_bytes) == ("AddCustom", None, None)
    assert (mark.name, mark.device) == ('step "1", begin', "cpu")
    assert (snapshot.pid, snapshot.used_bytes, snapshot.total_bytes, snapshot.event_type) == (None, 4, 64, "")


@pytest.mark.parametrize(
    ("cell", "attributes"),
    [
        ("{a:1,b:2}", {"a": "1", "b": "2"}),
        ("a:1,b:2", {"a": "1", "b": "2"}),
        ('{"a":"1", "b": "2"}', {"a": "1", "b": "2"}),
        ("{path:C:/x,b:2}", {"path": "C:/x", "b": "2"}),
        ("{owner:a,b,size:3}", {"owner": "a,b", "size": "3"}),
        ("{}", {}),
        ("", {}),
        ("nothing", {}),
    ],
)
def test_the_attributes_in_every_syntax(cell: str, attributes: dict[str, str]) -> None:
    quoted = '"' + cell.replace('"', '""') + '"'
    (found,) = rows_of(HEADER + f"1,MALLOC,PTA,N/A,5,2,3,0,0x1,{quoted},,\n")
    assert isinstance(found, MemscopeEvent) and found.attributes == attributes


def test_columns_by_name_in_any_order_and_case() -> None:
    (found,) = rows_of('device id,NEW,EVENT,Attr,event type\n3,x,FREE,"{size:9}",HAL\n')
    assert isinstance(found, MemscopeEvent)
    assert (found.device, found.event, found.event_type, found.size_bytes) == ("3", "FREE", "HAL", 9)
    assert (found.number, found.time_ns, found.name) == (None, None, "")


def test_the_columns_of_msleaks() -> None:
    header = (
        "Record Index,Timestamp(us),Event,Event Type,Process Id,Thread Id,Device Id,Kernel Index,Flag,Addr,"
        "Size(byte),Total Allocated(byte),Total Reserved(byte)\n"
    )
    (found,) = rows_of(header + "4,17,malloc,pytorch,5,6,0,3,0,20616937226752,512,1024,2048\n")
    assert isinstance(found, MemscopeEvent)
    assert (found.number, found.time_ns, found.address) == (4, 17_000, 20616937226752)
    assert (found.size_bytes, found.used_bytes, found.total_bytes) == (512, 1024, 2048)


def test_short_and_long_rows() -> None:
    short, long = rows_of(HEADER + "1,FREE,PTA\n2,FREE,PTA,n,5,6,7,0,0x1,{size:3},,,more,and more\n")
    assert isinstance(short, MemscopeEvent) and isinstance(long, MemscopeEvent)
    assert (short.event, short.device, short.address, short.attributes) == ("FREE", "", None, {})
    assert (long.address, long.size_bytes) == (1, 3)


def test_numbers_that_are_none() -> None:
    (found,) = rows_of(HEADER + "x,FREE,PTA,n,1e5,-,²,0,0xzz,{size:12.5},,\n")
    assert isinstance(found, MemscopeEvent)
    numbers = (found.number, found.time_ns, found.pid, found.thread, found.address, found.size_bytes)
    assert numbers == (None,) * 6


# ---- the other files ----


def test_two_steps_compared() -> None:
    (found,) = rows_of(
        ",,,Base,Compare\n"
        "Event,Name,Device Id,Allocated Memory(byte),Allocated Memory(byte),Diff Memory(byte)\n"
        "MALLOC,aten::add,0,100,N/A,-100\n"
    )
    assert found == MemscopeDifference(3, 101, "MALLOC", "aten::add", "0", 100, None, -100)
    (old,) = rows_of(
        ",,Base,Compare\n"
        "Name,Device Id,Allocated Memory(byte),Allocated Memory(byte),Diff Memory(byte)\n"
        "add,0,1,3,2\n"
    )
    assert isinstance(old, MemscopeDifference)
    assert (old.event, old.name, old.base_bytes, old.compare_bytes, old.difference_bytes) == (
        "",
        "add",
        1,
        3,
        2,
    )


def test_python_traces_and_watched_tensors() -> None:
    assert rows_of("FuncInfo,StartTime(ns),EndTime(ns),Thread Id,Process Id\na.py(3): f,5,N/A,6,7\n") == [
        MemscopeSpan(2, 56, "a.py(3): f", 5, None, 6, 7)
    ]
    assert rows_of("Tensor info,Check data sum\nlayer1,0xab12\n") == [
        MemscopeChecksum(2, 27, "layer1", "0xab12")
    ]


# ---- broken files ----


def test_rows_without_a_header_are_told() -> None:
    rows, problems = fed(b"1,2,3\n4,5,6\n", [])
    assert rows == [] and told(problems) == [("bad-record", 1, 0), ("bad-record", 2, 6)]


def test_a_row_that_is_no_csv() -> None:
    rows, problems = fed(HEADER.encode() + b'1,a"b\n"c,PTA\n' + MALLOC.encode(), [])
    assert len(rows) == 1 and told(problems) == [("bad-record", 2, len(HEADER))]


def test_a_quote_without_end_costs_one_line() -> None:
    content = (HEADER + '1,"MALLOC,PTA\n' + "2,FREE,PTA\n" * 3).encode()
    rows, problems = fed(content, [])
    assert [row.line for row in rows] == [3, 4, 5]
    assert told(problems) == [("bad-record", 2, len(HEADER))]


def test_a_quote_without_end_in_a_large_file() -> None:
    content = (HEADER + '1,"MALLOC,PTA\n' + f"2,FREE,PTA,{'x' * 400}\n" * 1000 + MALLOC).encode()
    rows, problems = fed(content, [])
    assert len(rows) == 1001
    assert told(problems) == [("bad-record", 2, len(HEADER))]
    assert fed(content, [100_000] * 5) == (rows, problems)
    assert fed(content, [MAX_ROW_BYTES + 1, 1, 77_777]) == (rows, problems)


def test_a_row_that_is_too_long_is_left_out() -> None:
    for body in ("x" * (MAX_ROW_BYTES + 10), '1,FREE,PTA,"' + "x\n" * (MAX_ROW_BYTES // 2 + 10) + '"'):
        content = (HEADER + body + "\n" + MALLOC).encode()
        rows, problems = fed(content, [])
        assert [row.number for row in rows if isinstance(row, MemscopeEvent)] == [7]
        assert told(problems) == [("bad-record", 2, len(HEADER))]
        for cut in range(len(content) - len(MALLOC) - 8, len(content), 7):
            assert fed(content, [cut]) == (rows, problems)


def test_byte_order_mark_line_ends_and_no_last_line_end() -> None:
    content = b"\xef\xbb\xbf" + HEADER.encode().replace(b"\n", b"\r\n") + b"\r\n1,FREE,PTA\r\n2,FREE,PTA"
    rows, problems = fed(content, [])
    assert [(row.line, row.byte) for row in rows] == [(3, len(HEADER) + 6), (4, len(HEADER) + 18)]
    assert problems == ()
    for at in range(len(content)):
        assert fed(content, [at]) == (rows, ())


# ---- as it grows ----

SESSION = (HEADER + MALLOC + '2,MSTX,Mark,"a, ""b""\n核",6,2,3,0,N/A,,,\n' + MALLOC + "9,FREE,PTA").encode()


def test_any_cut_changes_nothing() -> None:
    whole, problems = fed(SESSION, [])
    assert ([row.line for row in whole], problems) == ([2, 4, 6, 8], ())
    for at in range(len(SESSION) + 1):
        assert fed(SESSION, [at]) == (whole, ())
    assert fed(SESSION, [1] * len(SESSION)) == (whole, ())


PARTS = [
    b'"',
    b",",
    b"\n",
    b"\r",
    b'""',
    b"MALLOC",
    b"{size:1}",
    b"\x00",
    b"\xff",
    b"\xe6\xa0",
    HEADER.encode(),
]


@given(st.lists(st.sampled_from(PARTS), max_size=80), st.lists(st.integers(1, 60), max_size=8))
def test_any_mixture_and_any_cut(parts: list[bytes], sizes: list[int]) -> None:
    content = HEADER.encode() + b"".join(parts)
    assert fed(content, sizes) == fed(content, [])


@given(st.binary(max_size=1000))
def test_any_bytes_are_survived(content: bytes) -> None:
    fed(content, [])


@pytest.mark.parametrize("part", [b'"', b'"\n', b"\n", b",", b'a"b\n', b'""', b":", b'"\n"\n'])
def test_nothing_repeated_is_slow(part: bytes) -> None:
    begin = time.process_time()
    fed(HEADER.encode() + part * (200_000 // len(part)), [])
    assert time.process_time() - begin < 5.0


# ---- columns ----


def table(folder: Path, text: str) -> MemscopeTable:
    path = folder / "memscope_dump_1.csv"
    path.write_text(text)
    return read_memscope(path, root=folder)


def test_a_dump_in_columns(tmp_path: Path) -> None:
    free = "8,FREE,HAL,N/A,9,100,101,cpu,0xffffffffffffffff,{size:512},,\n"
    found = table(tmp_path, HEADER + MALLOC + free + MALLOC)
    assert (found.kind, found.n_rows, found.problems, found.rows) == ("dump", 3, (), ())
    assert (found.line.tolist(), found.byte.tolist()[:2]) == ([2, 4, 5], [len(HEADER), len(HEADER + MALLOC)])
    assert (found.events, found.event.tolist()) == (("MALLOC", "FREE"), [0, 1, 0])
    assert (found.event_types, found.event_type.tolist()) == (("PTA", "HAL"), [0, 1, 0])
    assert (found.devices, found.device.tolist()) == (("0", "cpu"), [0, 1, 0])
    assert (found.owners, found.owner.tolist()) == (("PTA@ops@aten",), [0, -1, 0])
    assert (found.names, found.name.tolist()) == ((), [-1, -1, -1])
    assert found.time_ns.tolist() == [1757000000000000001, 9, 1757000000000000001]
    assert found.address.tolist() == [0x7F0012340000, -1, 0x7F0012340000]
    assert (found.size_bytes.tolist(), found.used_bytes.tolist()) == ([512] * 3, [1024, -1, 1024])
    assert found.allocation_id.tolist() == [5, -1, 5]
    assert found.size_bytes.dtype == np.int64 and found.event.dtype == np.int32


def test_columns_hold_what_the_rows_hold(tmp_path: Path) -> None:
    found = table(tmp_path, SESSION.decode())
    for at, row in enumerate(fed(SESSION, [])[0]):
        assert isinstance(row, MemscopeEvent)
        for name in ("line", "byte", "number", "time_ns", "pid", "thread", "address", "size_bytes"):
            assert getattr(found, name)[at] == (-1 if getattr(row, name) is None else getattr(row, name))
        assert found.events[found.event[at]] == row.event


def test_other_kinds_and_empty_files(tmp_path: Path) -> None:
    trace = table(tmp_path, "FuncInfo,StartTime(ns),EndTime(ns),Thread Id,Process Id\nf,5,6,6,7\n")
    assert (trace.kind, trace.n_rows, len(trace.rows), trace.line.size) == ("trace", 1, 1, 0)
    empty = table(tmp_path, "")
    assert (empty.kind, empty.n_rows, empty.problems) == (None, 0, ())


def test_limits_of_rows_and_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memscope, "MAX_ROWS", 5)
    monkeypatch.setattr(memscope, "_MAX_LABELS", 2)
    found = table(tmp_path, HEADER + "".join(f"{n},E{n},PTA\n" for n in range(9)))
    assert (found.n_rows, found.event.tolist()) == (5, [0, 1, -1, -1, -1])
    assert [(p.kind, p.line) for p in found.problems] == [("limit", 7), ("limit", None)]


def test_names_are_safe_to_show(tmp_path: Path) -> None:
    found = table(tmp_path, HEADER + "1,\x1b[31mMALLOC,PTA,\x00x\n")
    assert (found.events, found.names) == (("\u241b[31mMALLOC",), ("\ufffdx",))


def test_errors_and_cancelling(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        read_memscope(tmp_path / "none.csv", root=tmp_path)
    (tmp_path / "a.csv").write_text(HEADER)
    with pytest.raises(Cancelled):
        read_memscope(tmp_path / "a.csv", root=tmp_path, is_cancelled=lambda: True)
