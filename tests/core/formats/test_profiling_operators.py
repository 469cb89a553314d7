"""The operator table: spellings, encodings, rows that cannot be used, files that grow."""

from __future__ import annotations

import csv
import io
import math
import random
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import Cancelled, InputError, NpulseError
from npulse.core.formats.profiling.columns import BY_NAME, SCHEMA, header_key, layout_of, own_name
from npulse.core.formats.profiling.operators import (
    NO_ID,
    NO_NS,
    NO_START,
    OperatorReader,
    OperatorTable,
    first_rows,
    read_operators,
)

NEW = (
    "Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,OP State,Task Type,Task Start Time(us),"
    "Task Duration(us),Task Wait Time(us),Block Num,Mix Block Num,HF32 Eligible,Input Shapes,"
    "Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats,Context ID,"
    "aicore_time(us),aic_mac_ratio"
)
ROWS = (
    "0,4294967295,100,2,aclnnAdd_AddAiCore_Add,Add,dynamic,AI_VECTOR_CORE,1785556800000187.501\t,12.36,2.000000,"
    '48,0,NO,"""8,4;4,4""",FLOAT;FLOAT,ND;ND,"""8,4""",FLOAT,ND,N/A,0,0.5',
    "0,4294967295,N/A,N/A,hcom_allReduce__586_0_1,hcom_allReduce_,N/A,COMMUNICATION,1785556800000266.5\t,1893.420,"
    "1.25,0,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A",
    '1,3,65535,7,conv1,Conv2D,static,AI_CORE,1785556800000300\t,0.001,0,24,48,YES,"""""",FLOAT16,NC1HWC0,"""2;"""'
    ",FLOAT16,NC1HWC0,4294967295,11.5,1.004",
)


def lines(*rows: str) -> str:
    return "".join(f"{row}\n" for row in rows)


def table_of(
    folder: Path, content: str | bytes, name: str = "op_summary_20260801120500.csv", **options: Any
) -> OperatorTable:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_operators(path, root=folder, **options)


def told(table: OperatorTable) -> dict[str, list[Any]]:
    """Every column as Python values, None where absent."""
    return {name: table.column(name).to_list(0, table.n_rows) for name in table.columns}


def kinds(table: OperatorTable) -> list[tuple[str, int | None]]:
    return [(problem.kind, problem.line) for problem in table.problems]


def test_an_op_summary(tmp_path: Path) -> None:
    table = table_of(tmp_path, lines(NEW, *ROWS))
    assert told(table) == {
        "device": [0, 0, 1],
        "model": [None, None, 3],
        "task": [100, None, 65535],
        "stream": [2, None, 7],
        "context": [None, None, None],
        "name": ["aclnnAdd_AddAiCore_Add", "hcom_allReduce__586_0_1", "conv1"],
        "op_type": ["Add", "hcom_allReduce_", "Conv2D"],
        "op_state": ["dynamic", None, "static"],
        "core_type": ["AI_VECTOR_CORE", "COMMUNICATION", "AI_CORE"],
        "start_ns": [1785556800000187501, 1785556800000266500, 1785556800000300000],
        "duration_ns": [12360, 1893420, 1],
        "wait_ns": [2000, 1250, 0],
        "block_dim": [48, 0, 24],
        "mix_block_dim": [0, None, 48],
        "hf32": ["NO", None, "YES"],
        "input_shapes": ["8,4;4,4", None, ""],
        "input_dtypes": ["FLOAT;FLOAT", None, "FLOAT16"],
        "input_formats": ["ND;ND", None, "NC1HWC0"],
        "output_shapes": ["8,4", None, "2;"],
        "output_dtypes": ["FLOAT", None, "FLOAT16"],
        "output_formats": ["ND", None, "NC1HWC0"],
        "aic_time_us": [0.0, None, 11.5],
        "aic_mac_ratio": [0.5, None, 1.004],
    }
    assert table.line.tolist() == [2, 3, 4]
    assert (table.files, table.file.tolist()) == (("op_summary_20260801120500.csv",), [0, 0, 0])
    assert (table.problems, table.n_dropped, table.n_unread, table.left_out) == ((), 0, 0, ())
    assert (table.text("name", 2), table.text("op_state", 1), table.encodings) == ("conv1", "", ("utf-8",))


def test_absent_is_not_zero(tmp_path: Path) -> None:
    table = table_of(tmp_path, lines(NEW, *ROWS))
    assert table.is_absent("mix_block_dim").tolist() == [False, True, False]
    assert table.is_absent("aic_mac_ratio").tolist() == [False, True, False]
    batch = table.column("batch")  # no file has it
    assert (batch.to_list(0, 3), table.is_absent("batch").all()) == ([None] * 3, True)
    with pytest.raises(KeyError):
        table.values("nothing of that name")


def test_a_row_without_a_duration_is_a_row(tmp_path: Path) -> None:
    without = [row.replace(",12.36,", f",{cell},") for row, cell in ((ROWS[0], "N/A"), (ROWS[0], ""))]
    table = table_of(tmp_path, lines(NEW, *without, ROWS[2]))
    assert table.values("duration_ns").tolist() == [NO_NS, NO_NS, 1]
    assert (table.problems, table.n_unread) == ((), 0)


def test_a_cell_that_cannot_be_read(tmp_path: Path) -> None:
    bad = ROWS[0].replace(",12.36,", ",fast,").replace(",100,", ",1x,").replace(",0.5", ",half")
    table = table_of(tmp_path, lines(NEW, ROWS[2], bad, bad))
    assert (table.n_rows, table.n_unread, table.n_dropped) == (3, 6, 0)
    assert table.values("duration_ns").tolist() == [1, NO_NS, NO_NS]
    assert table.values("task").tolist() == [65535, NO_ID, NO_ID]
    assert {(p.kind, p.line) for p in table.problems} == {("bad-record", 3)}
    assert [p.message for p in table.problems if "duration" in p.message] == [
        "duration_ns: 2 cells were not read and count as absent; the first is 'fast'"
    ]


@pytest.mark.parametrize(
    ("encode", "encoding"),
    [
        (lambda text: text.replace("\n", "\r\n").encode(), "utf-8"),
        (lambda text: b"\xef\xbb\xbf" + text.encode(), "utf-8-sig"),
        (lambda text: text.encode("utf-16"), "utf-16-le"),
        (lambda text: text.encode("utf-16-be"), "utf-16-be"),
        (lambda text: text.encode("gbk"), "gb18030"),
        (lambda text: ("\n \r\n" + text + "\n\n").encode(), "utf-8"),
    ],
    ids=["crlf", "bom", "utf-16", "utf-16-be", "gbk", "blank lines"],
)
def test_other_encodings(tmp_path: Path, encode: Any, encoding: str) -> None:
    rows = [row.replace("conv1", "自定义_旋转编码") for row in ROWS]
    plain = table_of(tmp_path, lines(NEW, *rows))
    table = table_of(tmp_path, encode(lines(NEW, *rows)), "op_summary_1.csv")
    assert (told(table), table.problems, table.encodings) == (told(plain), (), (encoding,))
    assert told(table)["name"][2] == "自定义_旋转编码"


def test_a_line_in_no_encoding(tmp_path: Path) -> None:
    raw = lines(NEW, *ROWS).encode().replace(b"conv1", b"conv\xff\xff1")
    table = table_of(tmp_path, raw)
    assert (table.n_rows, kinds(table)) == (3, [("encoding", 4)])


@pytest.mark.parametrize("cell", ['""";"""', '""""";"""""'])
def test_scalars_are_no_broken_shapes(tmp_path: Path, cell: str) -> None:
    table = table_of(tmp_path, lines("Name,Duration(us),Input Shapes,Input Formats", f"add,1,{cell},NULL"))
    assert (told(table)["input_shapes"], told(table)["input_formats"]) == ([";"], ["NULL"])
    assert table.problems == ()


@pytest.mark.parametrize("device_first", [True, False])
@pytest.mark.parametrize(
    ("column", "headers"),
    [
        (
            "start_ns",
            ("Task Start Time(us)", "Start Time(us)", "Start Time (us)", "task_start(us)", "Task Start Time"),
        ),
        ("duration_ns", ("Task Duration(us)", "Duration(us)", "task_duration", "task_time(us)")),
        ("wait_ns", ("Task Wait Time(us)", "Wait Time(us)", "Wait Time")),
        ("core_type", ("Task Type", "Accelerator Core", "task_type", "Core Type")),
        ("block_dim", ("Block Num", "Block Dim", "block_dim")),
        ("mix_block_dim", ("Mix Block Num", "Mix Block Dim")),
        ("device", ("Device_id", "Device Id", "device_id", "Device ID")),
        ("step", ("Step Id", "Step")),
        ("batch", ("Batch Id", "flip_num")),
        ("aic_time_us", ("aicore_time(us)", "aicore_time", "aic_time(us)", "aic_total_time(us)")),
        ("aiv_time_us", ("aiv_time(us)", "aiv_total_time(us)")),
        ("cube_utilization_percent", ("cube_utilization(%)", "cube_utilization( %)")),
        ("aiv_vec_time_us", ("aiv_vec_time(us)", "aiv_vec_time")),
        ("mte2_ratio", ("mte2_ratio",)),
        ("aic_gm_to_l1_datas_kb", ("aic_GM_to_L1_datas(KB)",)),
        ("aiv_ub_fixp2ub_write_bw_gb_per_s", ("aiv_ub_fixp2ub_write_bw(GB/s)",)),
        ("mac_exe_ratio", ("mac_exe_ratio",)),
        ("total_cycles", ("total_cycles",)),
    ],
)
def test_spellings(column: str, headers: Sequence[str], device_first: bool) -> None:
    for header in headers:
        others = [
            name for name in ("Op Name", "Duration(us)") if column != "duration_ns" or name == "Op Name"
        ]
        cells = [header, *others] if device_first else [*others, header]
        layout = layout_of(cells)
        assert layout is not None and layout.unnamed == ()
        assert [found.name for place, found in layout.columns if place == cells.index(header)] == [column]


def test_the_type_beside_an_operator_name_is_not_its_type() -> None:
    layout = layout_of(["Op Name", "Type", "Duration(us)"])
    assert layout is not None and [c.name for _, c in layout.columns] == ["name", "type", "duration_ns"]
    layout = layout_of(["Name", "Type", "Duration(us)"])
    assert layout is not None and [c.name for _, c in layout.columns] == ["name", "op_type", "duration_ns"]


def test_the_schema() -> None:
    names = [column.name for column in SCHEMA]
    assert len(set(names)) == len(names) == len(BY_NAME)
    spelled = [spelling for column in SCHEMA for spelling in column.spellings]
    assert len(set(spelled)) == len(spelled)
    assert all(spelling == header_key(spelling) for spelling in spelled)
    for column in SCHEMA:
        assert column.meaning[0] and column.meaning[1] and column.meaning[0] != column.meaning[1]
        assert column.name.endswith(
            ("_rate", "_ratio") if column.unit == "ratio" else f"_{column.unit}".rstrip("_")
        )


def test_further_columns_keep_their_names(tmp_path: Path) -> None:
    header = "Name,Duration(us),0x49,L9 Rate (GB/s),备注,Remark,Name,Note"
    table = table_of(tmp_path, lines(header, "a,1,7,0.5,好,x,b,1", "a,1,N/A,1.5,好,1,b,"))
    assert told(table) == {
        "name": ["a", "a"],
        "duration_ns": [1000, 1000],
        "0x49": [7.0, None],
        "l9_rate_gb_per_s": [0.5, 1.5],
        "remark": [None, 1.0],
        "note": [1.0, None],
    }
    assert table.left_out == ("Name", "备注")
    assert table.columns["l9_rate_gb_per_s"].unit == "gb_per_s"
    assert (table.n_unread, kinds(table)) == (1, [("bad-record", 2)])


def test_a_hostile_header_is_safe() -> None:
    name, _ = own_name("a\x1b[31mb\u202e" + "x" * 500)
    assert "\x1b" not in name and "\u202e" not in name and len(name) <= 130


@pytest.mark.parametrize(
    ("path", "device"),
    [
        ("device_5/summary/op_summary_0_1.csv", 5),
        ("op_summary_6_1_1_20230101120000.csv", 6),
        ("op_summary_slice_0_20260801120500.csv", NO_ID),
    ],
)
def test_the_device_of_an_old_export(tmp_path: Path, path: str, device: int) -> None:
    table = table_of(tmp_path, lines("Op Name,Task Duration(us)", "a,1"), path)
    assert table.values("device").tolist() == [device]


def test_rows_of_another_length(tmp_path: Path) -> None:
    short, long = ROWS[0].rpartition(",")[0], ROWS[0] + ",1"
    table = table_of(tmp_path, lines(NEW, ROWS[0], short, ROWS[1], long, ROWS[2]))
    assert (table.line.tolist(), table.n_dropped) == ([2, 4, 6], 2)
    assert kinds(table) == [("bad-record", 3), ("bad-record", 5)]
    assert "22 cells, the header 23" in table.problems[0].message


def test_one_short_and_one_long_row_are_not_taken_for_two(tmp_path: Path) -> None:
    table = table_of(tmp_path, lines("Name,Duration(us),x", "a,1", "b,2,3,4", "c,5,6"))
    assert (table.line.tolist(), told(table)["name"]) == ([4], ["c"])


def test_a_header_in_the_middle(tmp_path: Path) -> None:
    table = table_of(tmp_path, lines(NEW, ROWS[0], NEW, ROWS[1], "Duration(us),Name", "5,late"))
    assert table.line.tolist() == [2, 4, 6]
    assert told(table)["name"][2] == "late"
    assert (told(table)["duration_ns"][2], told(table)["task"][2]) == (5000, None)
    assert kinds(table) == [("bad-record", 3), ("bad-record", 5)]


def test_a_reordered_header_of_the_same_length(tmp_path: Path) -> None:
    table = table_of(
        tmp_path, lines("Name,Duration(us),Type", "a,1,T", '"Type","Name","Duration(us)"', "U,b,2")
    )
    assert (told(table)["name"], told(table)["op_type"]) == (["a", "b"], ["T", "U"])
    assert (told(table)["duration_ns"], table.n_dropped) == ([1000, 2000], 1)


def test_an_operator_that_is_named_like_a_header(tmp_path: Path) -> None:
    table = table_of(tmp_path, lines("Name,Duration(us)", "Duration(us),1", "Start Time(us),N/A"))
    assert (told(table)["name"], table.n_dropped) == (["Duration(us)", "Start Time(us)"], 0)


def test_a_quote_that_is_not_closed_swallows_nothing(tmp_path: Path) -> None:
    broken = ROWS[0].replace('"""8,4;4,4"""', '"""8,4;4,4')
    for rows in ((ROWS[0], broken, ROWS[1]), (broken, *[ROWS[1]] * 100), (ROWS[0], broken)):
        table = table_of(tmp_path, lines(NEW, *rows))
        at = rows.index(broken) + 2
        assert (table.n_dropped, kinds(table)) == (1, [("bad-record", at)])
        assert table.line.tolist() == [line for line in range(2, len(rows) + 2) if line != at]


def test_two_quotes_that_are_not_closed(tmp_path: Path) -> None:
    broken = ROWS[0].replace('"""8,4;4,4"""', '"""8,4;4,4')
    table = table_of(tmp_path, lines(NEW, broken, ROWS[1], broken, ROWS[2]))
    assert table.line.tolist() == [3, 5]
    assert kinds(table) == [("bad-record", 2), ("bad-record", 4)]


def test_a_cell_of_several_lines(tmp_path: Path) -> None:
    raw = 'Name,Type,Duration(us)\r\n"conv1;\r\nmodel.py:3,\r\nmain.py:9",Conv2D,1.5\r\nadd,Add,2\r\n'
    table = table_of(tmp_path, raw)
    assert told(table)["name"] == ["conv1; model.py:3, main.py:9", "add"]
    assert (table.line.tolist(), told(table)["duration_ns"], table.problems) == ([2, 5], [1500, 2000], ())


def test_a_last_line_that_may_be_cut(tmp_path: Path) -> None:
    table = table_of(tmp_path, lines(NEW, *ROWS).removesuffix("\n"))
    assert (table.line.tolist(), table.n_dropped, kinds(table)) == ([2, 3], 1, [("cut-off", 4)])


def test_a_million_blank_lines_take_no_time(tmp_path: Path) -> None:
    table = table_of(tmp_path, "\n" * 1_000_000 + lines(NEW, ROWS[0]) + "\n" * 1_000_000)
    assert (table.line.tolist(), table.problems) == ([1_000_002], ())


def test_a_file_that_ends_in_its_header(tmp_path: Path) -> None:
    table = table_of(tmp_path, NEW)
    assert (table.n_rows, kinds(table)) == (0, [("cut-off", 1)])
    assert table_of(tmp_path, NEW + "\n").problems == ()


@pytest.mark.parametrize(
    "content",
    ["", "\n\n", "Time,Value\n1,2\n", "Op Name,OP Type\na,b\n", "\x00\x01\x02", "{}", "a" * 3_000_000],
)
def test_what_is_no_operator_table(tmp_path: Path, content: str) -> None:
    with pytest.raises(InputError) as caught:
        table_of(tmp_path, content)
    assert caught.value.path is not None and caught.value.hint


def test_a_line_that_is_too_long(tmp_path: Path) -> None:
    table = table_of(tmp_path, lines(NEW, ROWS[0], "x" * 3_000_000, ROWS[2]))
    assert (table.line.tolist(), kinds(table)) == ([2, 4], [("too-large", 3)])


def test_a_text_that_is_too_long(tmp_path: Path) -> None:
    table = table_of(tmp_path, lines("Name,Duration(us)", "a,1", "b" * 70_000 + ",2", "c,3"))
    assert told(table)["name"] == ["a", None, "c"]
    assert (table.n_unread, kinds(table)) == (1, [("bad-record", 3)])


def test_links_out_of_the_run(tmp_path: Path) -> None:
    outside = tmp_path / "outside.csv"
    outside.write_text(lines(NEW, *ROWS))
    run = tmp_path / "run"
    run.mkdir()
    (run / "op_summary_1.csv").symlink_to(outside)
    with pytest.raises(InputError, match="outside"):
        read_operators(run / "op_summary_1.csv", root=run)


def test_cancel_and_progress(tmp_path: Path) -> None:
    seen: list[Any] = []
    table_of(tmp_path, lines(NEW, *ROWS), progress=seen.append)
    assert seen[-1].done == seen[-1].total == (tmp_path / "op_summary_20260801120500.csv").stat().st_size
    with pytest.raises(Cancelled):
        table_of(tmp_path, lines(NEW, *ROWS), is_cancelled=lambda: True)


def test_a_limit_is_told(tmp_path: Path) -> None:
    table = table_of(tmp_path, lines(NEW, *ROWS), max_rows=2)
    assert (table.n_rows, kinds(table)) == (2, [("limit", 4)])


def test_few_columns_are_the_same_as_in_all(tmp_path: Path) -> None:
    content = lines(NEW, *ROWS, ROWS[0] + ",1", *ROWS)
    every = told(table_of(tmp_path, content))
    for names in (
        ["name"],
        ["op_type", "core_type", "duration_ns"],
        ["hf32", "input_formats"],
        ["aic_mac_ratio"],
    ):
        table = table_of(tmp_path, content, columns=names)
        assert told(table) == {name: every[name] for name in every if name in names}
        assert (table.n_dropped, table.line.tolist()) == (1, [2, 3, 4, 6, 7, 8])


# ---- several files ----


def test_slices_one_behind_the_other(tmp_path: Path) -> None:
    paths = [tmp_path / f"op_summary_slice_{i}_20260801120500.csv" for i in range(2)]
    paths[0].write_text(lines(NEW, ROWS[0], ROWS[1]))
    paths[1].write_text(lines("Name,Duration(us),new_ratio", "late,7,0.25"))
    table = read_operators(paths, root=tmp_path)
    assert (table.file.tolist(), table.line.tolist()) == ([0, 0, 1], [2, 3, 2])
    assert told(table)["new_ratio"] == [None, None, 0.25]
    assert told(table)["name"][2] == "late" and told(table)["task"] == [100, None, None]
    assert table.problems == ()


def test_one_file_of_several_that_cannot_be_used(tmp_path: Path) -> None:
    good, bad = tmp_path / "op_summary_1.csv", tmp_path / "op_summary_2.csv"
    good.write_text(lines(NEW, *ROWS))
    bad.write_text("no,table\n1,2\n")
    for paths, at in (([bad, good], 0), ([good, bad], 1), ([good, tmp_path / "op_summary_3.csv"], 1)):
        table = read_operators(paths, root=tmp_path)
        assert (table.n_rows, [(p.artifact, p.kind) for p in table.problems]) == (
            3,
            [(paths[at].name, "unreadable")],
        )
        assert table.files == tuple(path.name for path in paths)
    with pytest.raises(InputError):
        read_operators([bad, bad], root=tmp_path)


# ---- files that grow ----


def test_a_file_that_grows() -> None:
    raw = lines(NEW, *ROWS).encode()
    reader = OperatorReader()
    reader.begin("op_summary.csv")
    cut = raw.index(b"conv1") + 2
    assert reader.feed(raw[:cut]) == 2
    before = reader.table()
    assert (before.n_rows, before.problems, before.n_dropped) == (2, (), 0)
    assert reader.feed(raw[cut:]) == 3
    assert told(reader.table())["name"][2] == "conv1"
    assert told(before)["name"] == told(reader.table())["name"][:2]
    new = reader.table(since=2)
    assert (new.line.tolist(), told(new)["name"], told(new)["start_ns"]) == (
        [4],
        ["conv1"],
        [1785556800000300000],
    )
    assert told(reader.finish())["start_ns"][2] == 1785556800000300000


def test_the_first_rows(tmp_path: Path) -> None:
    path = tmp_path / "op_summary_1.csv"
    path.write_text(lines(NEW, *ROWS * 2000))
    table = first_rows(path, 60)
    assert (table.n_rows, table.problems) == (60, ())
    assert told(table)["name"][:3] == ["aclnnAdd_AddAiCore_Add", "hcom_allReduce__586_0_1", "conv1"]
    path.write_text(lines(NEW, *ROWS))
    assert first_rows(path, 60, columns=["name"]).n_rows == 3


HEADERS = (
    "Op Name",
    "OP Type",
    "Task ID",
    "Task Start Time(us)",
    "Task Duration(us)",
    "Input Shapes",
    "aic_mac_ratio",
)
NAMES = ("name", "op_type", "task", "start_ns", "duration_ns", "input_shapes", "aic_mac_ratio")
TEXT = st.text(
    st.one_of(
        st.sampled_from('ab,";_\t \u4e2d\u00e9'), st.characters(exclude_characters="\r\n\x00", codec="utf-8")
    ),
    max_size=12,
)
ROW = st.tuples(
    TEXT,
    st.sampled_from(["Add", "MatMulV2", "N/A", ""]),
    st.one_of(st.integers(0, 65535).map(str), st.just("N/A")),
    st.integers(0, 2 * 10**18).map(lambda ns: f"{ns // 1000}.{ns % 1000:03d}\t"),
    st.one_of(st.decimals(0, 10**9, places=3).map(str), st.sampled_from(["N/A", "", "x"])),
    st.sampled_from(['"8,4;4,4"', '""', '";"', "N/A", '"' + "7," * 40 + '1"']),
    st.one_of(st.floats(0, 2).map(lambda value: f"{value:.3f}"), st.just("N/A")),
)


def by_hand(rows: Sequence[Sequence[str]]) -> dict[str, list[Any]]:
    """What a table of these rows says, cell by cell."""

    def text(cell: str) -> str | None:
        return None if cell.strip().lower() in ("", "n/a", "na", "none", "-") else cell.strip()

    def ns(cell: str) -> int | None:
        if cell in ("N/A", "", "x"):
            return None
        return int((Decimal(cell.strip()) * 1000).quantize(Decimal(1), ROUND_HALF_UP))

    return {
        "name": [text(row[0]) for row in rows],
        "op_type": [text(row[1]) for row in rows],
        "task": [None if row[2] == "N/A" else int(row[2]) for row in rows],
        "start_ns": [ns(row[3]) for row in rows],
        "duration_ns": [ns(row[4]) for row in rows],
        "input_shapes": [None if row[5] == "N/A" else row[5][1:-1] for row in rows],
        "aic_mac_ratio": [None if row[6] == "N/A" else float(row[6]) for row in rows],
    }


def written(rows: Sequence[Sequence[str]], line_end: str) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator=line_end)
    writer.writerow(HEADERS)
    writer.writerows(rows)
    return text.getvalue()


def fed(raw: bytes, cuts: Sequence[int], columns: Sequence[str] | None = None) -> OperatorTable:
    reader = OperatorReader(columns)
    reader.begin("t.csv")
    places = sorted({0, len(raw), *(cut % (len(raw) + 1) for cut in cuts)})
    for start, stop in zip(places, places[1:], strict=False):
        reader.feed(raw[start:stop])
    return reader.finish()


@given(
    st.lists(ROW, max_size=30),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["utf-8", "utf-16", "utf-8-sig"]),
)
def test_a_table_that_was_written_is_read(rows: list[tuple[str, ...]], line_end: str, encoding: str) -> None:
    table = fed(written(rows, line_end).encode(encoding), [])
    want = by_hand(rows)
    assert {name: table.column(name).to_list(0, table.n_rows) for name in NAMES} == want
    assert (table.n_dropped, table.line.tolist()) == (0, list(range(2, len(rows) + 2)))
    assert table.n_unread == sum(row[4] == "x" for row in rows)


def everything(table: OperatorTable) -> tuple[Any, ...]:
    columns = {name: [None if v is None else v for v in values] for name, values in told(table).items()}
    return (columns, table.line.tolist(), table.n_dropped, table.n_unread, table.problems, table.left_out)


SPOILT = st.sampled_from(
    [
        *(b"\n", b"\r\n", b'a,"b\n', b",,,\n", b"a,b,c,d,e,f,g,h\n", b"\xff\xfe,\n", b'a"b"",c\n'),
        ",".join(HEADERS).encode() + b"\n",
        b"Duration(us),Name\n",
        b'\xd6\xd0,Add,1,2.5,1,"2,3",0.5\n',
        b'"x\ny",Add,1,2.5,1,N/A,0.5\n',
        b'q"r,Add,1,2.5,1,N/A,0.5\n',
        b'q"r,s"t,1,2.5,1,N/A,0.5\n',
        b"\xc1\xaa\xcd\xa8,Add,1,2.5,1,N/A,0.5\n",  # GBK that is UTF-8 by chance
    ]
)


@given(
    st.lists(st.one_of(ROW, SPOILT), max_size=20), st.lists(st.integers(0, 5000), max_size=12), st.booleans()
)
def test_where_the_bytes_are_cut_makes_no_difference(
    parts: list[Any], cuts: list[int], has_end: bool
) -> None:
    raw = written([], "\n").encode()
    for part in parts:
        raw += part if isinstance(part, bytes) else written([part], "\n").partition("\n")[2].encode()
    raw = raw if has_end else raw.removesuffix(b"\n")
    whole = everything(fed(raw, []))
    assert everything(fed(raw, cuts)) == whole
    assert everything(fed(raw, range(0, len(raw), 7))) == whole


@given(st.binary(max_size=400), st.lists(st.integers(0, 500), max_size=6))
def test_any_bytes_behind_a_header(raw: bytes, cuts: list[int]) -> None:
    raw = lines("Name,Duration(us),aic_mac_ratio").encode() + raw
    assert everything(fed(raw, cuts)) == everything(fed(raw, []))


def test_fuzz(tmp_path: Path) -> None:
    """Bytes changed, cut out and put in: a table or an InputError; no row comes from nowhere."""
    rng = random.Random(5)
    whole = lines(NEW, *ROWS * 5).encode()
    n_tables = 0
    for _ in range(200):
        raw = bytearray(whole)
        for _ in range(rng.randint(1, 8)):
            at = rng.randrange(len(raw))
            choice = rng.randrange(3)
            if choice == 0:
                raw[at] = rng.randrange(256)
            elif choice == 1:
                del raw[at : at + rng.randint(1, 30)]
            else:
                raw[at:at] = rng.choice(
                    [b'"', b"\n", b",", b"\x00", b"\r", b"\t", b"9" * 30, bytes([rng.randrange(256)])]
                )
        path = tmp_path / "op_summary_1.csv"
        path.write_bytes(raw)
        try:
            table = read_operators(path)
        except NpulseError as error:
            assert isinstance(error, InputError)
            continue
        n_tables += 1
        assert table.n_rows + table.n_dropped <= raw.count(b"\n") + 1
        has_header = raw.startswith(NEW.encode() + b"\n")
        assert (table.n_rows >= 1 or not has_header) and (np.diff(table.line) > 0).all()
        for values in told(table).values():
            assert len(values) == table.n_rows
            assert all(math.isfinite(value) for value in values if isinstance(value, float))
        assert (table.values("start_ns") >= NO_START).all()
    assert n_tables > 100


def test_a_duration_beyond_64_bits_is_too_long_and_not_absent(tmp_path: Path) -> None:
    path = tmp_path / "op_summary_20260801120500.csv"
    rows = ["18446744073709551.615", "1e17", "1e999", "-1e17", "N/A", "5"]
    path.write_text("Op Name,Task Duration(us)\n" + "".join(f"Add,{row}\n" for row in rows))
    table = read_operators(path)
    assert table.values("duration_ns").tolist() == [2**63 - 1] * 3 + [NO_NS, NO_NS, 5000]
    assert table.n_unread == 1  # only -1e17 is neither a duration nor a word for none
