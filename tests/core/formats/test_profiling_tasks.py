"""Ids and names of tasks out of msprof's tables: spellings, encodings, rows that cannot be used."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import Cancelled, InputError, NpulseError
from npulse.core.formats.profiling.tasks import NO_ID, TaskTable, read_tasks

HEADER = (
    "Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,Task Type,"
    "Task Start Time(us),Input Shapes,Context ID"
)
ROWS = (
    '0,4294967295,100,2,aclnnAdd_AddAiCore_Add,Add,AI_VECTOR_CORE,1785556800000187.501\t,"""8,4;4,4""",N/A',
    '1,4294967295,65535,7,trans_Cast_1,Cast,AI_CORE,1785556800000200\t,"""2""",4294967295',
)


def table_of(folder: Path, content: str | bytes, name: str = "op_summary_20260801120500.csv") -> TaskTable:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_tasks(path, root=folder)


def lines(*rows: str) -> str:
    return "".join(f"{row}\n" for row in rows)


def said(table: TaskTable) -> list[tuple[Any, ...]]:
    """(device, stream, task, name, op type, start) of each row."""

    def text(texts: Any, code: int) -> str:
        return texts[code] if code >= 0 else ""

    return [
        (
            *(int(column[i]) for column in (table.device, table.stream, table.task)),
            text(table.names, table.name[i]) or text(table.kernels, table.kernel[i]),
            text(table.op_types, table.op_type[i]),
            int(table.start_ns[i]),
        )
        for i in range(table.n_rows)
    ]


BOTH = [
    (0, 2, 100, "aclnnAdd_AddAiCore_Add", "Add", 1785556800000187501),
    (1, 7, 65535, "trans_Cast_1", "Cast", 1785556800000200000),
]


def test_an_op_summary(tmp_path: Path) -> None:
    table = table_of(tmp_path, lines(HEADER, *ROWS))
    assert said(table) == BOTH
    assert table.line.tolist() == [2, 3]
    assert (table.batch.tolist(), table.context.tolist(), table.has_batches) == ([-1, -1], [-1, -1], False)
    assert (table.problems, table.n_dropped, table.n_without_ids) == ((), 0, 0)
    assert table.artifact == "op_summary_20260801120500.csv"
    assert table.task_types == ("AI_VECTOR_CORE", "AI_CORE")


@pytest.mark.parametrize(
    "encode",
    [
        lambda text: b"\xef\xbb\xbf" + text.encode(),
        lambda text: text.replace("\n", "\r\n").encode(),
        lambda text: text.encode("utf-16"),
        lambda text: ("\n\n" + text).encode(),
    ],
    ids=["bom", "crlf", "utf-16", "blank lines in front"],
)
def test_the_same_in_other_encodings(tmp_path: Path, encode: Any) -> None:
    table = table_of(tmp_path, encode(lines(HEADER, *ROWS)))
    assert (said(table), table.problems) == (BOTH, ())


def test_names_in_gbk(tmp_path: Path) -> None:
    table = table_of(
        tmp_path, lines(HEADER, ROWS[0].replace("aclnnAdd_AddAiCore_Add", "加法算子")).encode("gbk")
    )
    assert (table.names, table.problems) == (("加法算子",), ())


@pytest.mark.parametrize(
    ("header", "row", "expected"),
    [
        (
            "Device_id,kernel_name,kernel_type,stream_id,task_id,task_time(us),task_start(us),task_stop(us)",
            "3,Add_0123456789abcdef_1,KERNEL_AIVEC,2,9,1.5,1785556800000000.125\t,1785556800000185.629\t",
            (3, 2, 9, "Add_0123456789abcdef_1", "", 1785556800000000125),
        ),
        (
            "Step Id,Model ID,Task ID,Stream ID,Op Name,OP Type,Task Type,Start Time(us)",
            "2,4294967295,2451,16,ZerosLike,ZerosLike,AI_CORE,1695115378713661",
            (-1, 16, 2451, "ZerosLike", "ZerosLike", 1695115378713661000),
        ),
        (
            "Time(%),Time(us),Count,Avg(us),Min(us),Max(us),Waiting(us),Running(us),Pending(us),Type,API,"
            "Task ID,Op Name,Stream ID",
            "1.0,2.0,1,2.0,2.0,2.0,0,2.0,0,kernel,KernelLaunch,4,conv1,5",
            (-1, 5, 4, "conv1", "", -1),
        ),
        ("STREAM id, Task_ID ,op_name,Op Type", "5,4.0,conv1,Conv2D", (-1, 5, 4, "conv1", "Conv2D", -1)),
        (
            "Task ID,Stream ID,Name,Type,Start Time(us)",
            "4,5,conv1,Conv2D,7",
            (-1, 5, 4, "conv1", "Conv2D", 7000),
        ),
        ("Stream Id,Task Id,Hit Rate,Victim Rate,Op Name", "2,11052,N/A,0.2,t", (-1, 2, 11052, "t", "", -1)),
        ("OP Type,Op Name,Stream ID,Task ID", "Add,a,5,4", (-1, 5, 4, "a", "Add", -1)),
    ],
)
def test_columns_are_found_by_name(tmp_path: Path, header: str, row: str, expected: tuple[Any, ...]) -> None:
    table = table_of(tmp_path, lines(header, row))
    assert (said(table), table.problems) == ([expected], ())


def test_batch_ids(tmp_path: Path) -> None:
    table = table_of(tmp_path, lines("Stream ID,Task ID,Batch Id,Op Name", "1,2,3,a", "1,2,N/A,a"))
    assert (table.batch.tolist(), table.has_batches) == ([3, NO_ID], True)


@pytest.mark.parametrize(
    ("name", "device"),
    [
        ("device_5/summary/op_summary_0_1.csv", 5),
        ("op_summary_6_1_1_20230101120000.csv", 6),
        ("op_summary_6_1_20230101120000.csv", 6),
        ("op_summary_slice_0_20260801120500.csv", NO_ID),
        ("op_summary_20260801120500.csv", NO_ID),
    ],
)
def test_the_device_of_old_exports_is_in_their_path(tmp_path: Path, name: str, device: int) -> None:
    header = lines("Task ID,Stream ID,Op Name", "1,2,a")
    assert table_of(tmp_path, header, name).device.tolist() == [device]
    own = table_of(tmp_path, lines("Task ID,Stream ID,Op Name,Device_id", "1,2,a,4"), name)
    assert own.device.tolist() == [4]


def test_collectives_have_no_ids_and_are_no_problem(tmp_path: Path) -> None:
    row = "0,4294967295,N/A,N/A,hcom_broadcast__483_0,hcom_broadcast_,COMMUNICATION,1\t,N/A,N/A"
    table = table_of(tmp_path, lines(HEADER, row, ROWS[0]))
    assert (said(table), table.line.tolist()) == (BOTH[:1], [3])
    assert (table.n_without_ids, table.n_dropped, table.problems) == (1, 0, ())


@pytest.mark.parametrize(
    ("row", "kind", "words"),
    [
        ("0,1,2", "bad-record", "3 cells, the header 10"),
        (ROWS[0] + ",1", "bad-record", "11 cells"),
        (ROWS[0].replace(",100,", ",ten,"), "bad-record", "task 'ten'"),
        (ROWS[0].replace(",100,", ",-3,"), "bad-record", "task '-3'"),
        (ROWS[0].replace(",100,", ",1_0,"), "bad-record", "task '1_0'"),
        (ROWS[0].replace(",100,", ",१,"), "bad-record", "task"),
        (ROWS[0].replace(",100,", f",{2**64},"), "bad-record", "task"),
        (ROWS[0].replace(",100,2,", ",100,x,"), "bad-record", "stream 'x'"),
        (ROWS[0].replace("0,", "first,", 1), "bad-record", "device 'first'"),
        (ROWS[0].replace("aclnnAdd", "a" * 5000), "too-large", "name"),
        (HEADER, "bad-record", "header"),
        ('0,1,100,2,"open', "bad-record", "cells"),
        ("0,1,100,2,a\0b", "bad-record", "cells"),
    ],
)
def test_rows_that_cannot_be_used_are_told(tmp_path: Path, row: str, kind: str, words: str) -> None:
    table = table_of(tmp_path, lines(HEADER, ROWS[0], row, ROWS[1]))
    assert said(table) == BOTH
    (problem,) = table.problems
    assert (problem.kind, problem.line, table.n_dropped) == (kind, 3, 1)
    assert words in problem.message
    assert table.line.tolist() == [2, 4]


def test_a_header_with_other_columns_holds_from_there_on(tmp_path: Path) -> None:
    table = table_of(
        tmp_path, lines("Task ID,Stream ID,Op Name", "1,2,a", "Op Name,Stream ID,Task ID", "b,3,4")
    )
    assert said(table) == [(-1, 2, 1, "a", "", -1), (-1, 3, 4, "b", "", -1)]


def test_a_start_that_is_no_time_is_absent(tmp_path: Path) -> None:
    rows = [
        ROWS[0].replace("1785556800000187.501", text) for text in ("soon", "N/A", "1e3", "9" * 17, "1.5x")
    ]
    table = table_of(tmp_path, lines(HEADER, *rows))
    assert set(table.start_ns.tolist()) == {NO_ID}
    assert [problem.line for problem in table.problems] == [2, 4, 5, 6]


def test_a_last_line_without_end_is_left_out(tmp_path: Path) -> None:
    table = table_of(tmp_path, lines(HEADER, ROWS[0]) + ROWS[1])
    assert said(table) == BOTH[:1]
    assert [(problem.kind, problem.line) for problem in table.problems] == [("cut-off", 3)]


def test_row_limit(tmp_path: Path) -> None:
    path = tmp_path / "op_summary_1.csv"
    path.write_text(lines(HEADER, *ROWS, *ROWS))
    table = read_tasks(path, max_rows=3)
    assert table.n_rows == 3
    assert [(problem.kind, problem.line) for problem in table.problems] == [("limit", 5)]


@pytest.mark.parametrize(
    "content", ["", "\n\n", "a,b\n1,2\n", "Task ID,Op Name\n1,a\n", "Task ID,Stream ID\n1,2\n"]
)
def test_no_such_table(tmp_path: Path, content: str) -> None:
    with pytest.raises(InputError):
        table_of(tmp_path, content)


def test_a_link_out_of_the_run_is_not_opened(tmp_path: Path) -> None:
    outside = tmp_path / "outside.csv"
    outside.write_text(lines(HEADER, *ROWS))
    run = tmp_path / "run"
    run.mkdir()
    (run / "op_summary_1.csv").symlink_to(outside)
    with pytest.raises(InputError):
        read_tasks(run / "op_summary_1.csv", root=run)


def test_cancel(tmp_path: Path) -> None:
    path = tmp_path / "op_summary_1.csv"
    path.write_text(lines(HEADER, *ROWS))
    with pytest.raises(Cancelled):
        read_tasks(path, is_cancelled=lambda: True)


def test_many_rows_over_several_blocks(tmp_path: Path) -> None:
    n = 40_000
    path = tmp_path / "op_summary_1.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(HEADER.split(","))
        for i in range(n):
            writer.writerow(
                (0, 1, i % 65536, i % 7, f"op{i}", f"T{i % 5}", "AI_CORE", f"{i}.5\t", '"1,2;3"', "N/A")
            )
    table = read_tasks(path)
    assert table.problems == ()
    assert np.array_equal(table.task, np.arange(n) % 65536)
    assert np.array_equal(table.stream, np.arange(n) % 7)
    assert np.array_equal(table.start_ns, np.arange(n) * 1000 + 500)
    assert np.array_equal(table.line, np.arange(n) + 2)
    assert [table.names[code] for code in table.name[[0, 17, n - 1]]] == ["op0", "op17", f"op{n - 1}"]
    assert table.op_types == tuple(f"T{i}" for i in range(5))


@given(at=st.integers(0, 400), byte=st.integers(0, 255), cut=st.integers(0, 500))
def test_damaged_files_give_rows_or_say_why(
    tmp_path_factory: pytest.TempPathFactory, at: int, byte: int, cut: int
) -> None:
    content = bytearray(lines(HEADER, *ROWS).encode())
    if at < len(content):
        content[at] = byte
    try:
        table = table_of(
            tmp_path_factory.mktemp("t"), bytes(content[: len(content) - cut] if cut else content)
        )
    except NpulseError as error:
        assert isinstance(error, InputError)
        return
    assert table.n_rows <= 2
    assert {
        len(getattr(table, name)) for name in ("device", "stream", "task", "start_ns", "name", "line")
    } == {table.n_rows}
