"""Any table of the profilers: what columns hold, rows that cannot be used, encodings, damaged files."""

from __future__ import annotations

import csv
import io
import math
import random
import time
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import Cancelled, InputError
from npulse.core.formats.profiling import tables
from npulse.core.formats.profiling.table_headers import name_and_unit
from npulse.core.formats.profiling.tables import NO_VALUE, ProfilerTable, TableColumn, read_table
from npulse.core.progress import Progress

MEMORY = (
    "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Total Active(MB),Stream Ptr"
    ",Device Type\r\n"
    "APP,1736408883573957.920\t,,2109.6015625,,,NPU:0\r\n"
    "PTA,1736408883573957.921\t,1.5,2,N/A,897357296,NPU:0\r\n"
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tables") / "memory_record.csv"


def table_of(path: Path, content: str | bytes, **options: Any) -> ProfilerTable:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_table(path, root=path.parent, **options)


def values_of(column: TableColumn) -> list[Any]:
    """A column as Python values, None where absent."""
    return column.column().to_list(0, len(column.values))


def told(table: ProfilerTable) -> list[tuple[str, list[Any]]]:
    return [(column.header, values_of(column)) for column in table.columns]


def kinds(table: ProfilerTable) -> list[tuple[str, int | None]]:
    return [(problem.kind, problem.line) for problem in table.problems]


def test_a_memory_record(path: Path) -> None:
    table = table_of(path, MEMORY)
    assert told(table) == [
        ("Component", ["APP", "PTA"]),
        ("Timestamp(us)", [1736408883573957920, 1736408883573957921]),
        ("Total Allocated(MB)", [None, 1.5]),
        ("Total Reserved(MB)", [2109.6015625, 2.0]),
        ("Total Active(MB)", [None, None]),
        ("Stream Ptr", [None, 897357296]),
        ("Device Type", ["NPU:0", "NPU:0"]),
    ]
    assert table.artifact == "memory_record.csv" and table.encoding == "utf-8"
    assert table.line.tolist() == [2, 3] and table.problems == () and table.n_dropped == 0
    assert [(c.name, c.kind, c.unit) for c in table.columns][:4] == [
        ("component", "text", ""),
        ("timestamp", "int", "ns"),
        ("totalallocated", "float", "mb"),
        ("totalreserved", "float", "mb"),
    ]


def test_columns_are_found_by_name_in_any_spelling(path: Path) -> None:
    table = table_of(path, MEMORY)
    for spelling in ("Total Reserved(MB)", "total_reserved", "TOTAL RESERVED", "Total Reserved ( MB )"):
        column = table.find(spelling)
        assert column is not None and column.header == "Total Reserved(MB)"
    assert table.find("Total Reserved(KB)") is None  # a unit that is named is meant
    assert table.find("Reserved", "Device Type") is table.columns[-1]
    assert table.find("nothing") is None and table.all_of("nothing") == ()


def test_sizes_know_their_unit(path: Path) -> None:
    kb = table_of(path, "Component,Total Reserved(KB),Device\nHCCL,409600,NPU:0\nSLOG,N/A,NPU:0\n")
    mb = table_of(path, "Component,Total Reserved(MB),Device\nHCCL,400,NPU:0\n")
    sizes = kb.columns[1].in_bytes(), mb.columns[1].in_bytes()
    assert sizes[0] is not None and sizes[1] is not None
    assert sizes[0][0] == sizes[1][0] == 400 * 1024 * 1024 and math.isnan(sizes[0][1])
    assert kb.columns[0].in_bytes() is None


@pytest.mark.parametrize(
    ("header", "name", "unit"),
    [
        ("Size(KB)", "size", "kb"),
        ("Rx Bandwidth efficiency(%)", "rxbandwidthefficiency", "percent"),
        ("Read(MB/s)", "read", "mb_per_s"),
        ("Avg. time (us)", "avg.time", "us"),
        ("Huge Pages Total(pages)", "hugepagestotal", "pages"),
        ("Communication(Not Overlapped)", "communication(notoverlapped)", ""),
        ("rxPacket/s", "rxpacket/s", ""),
        ("耗时(us)", "耗时", "us"),
        ("(us)", "", "us"),
    ],
)
def test_names_and_units_of_headers(header: str, name: str, unit: str) -> None:
    assert name_and_unit(header) == (name, unit)


def test_times_of_every_unit_are_exact_nanoseconds(path: Path) -> None:
    content = "Name,A(us),B(ns),C(ms),D(s)\nx,1736408883573957.9205,9007199254740993,0.1000005,1.0000000005\n"
    table = table_of(path, content + "y,,N/A,,-1\nz,-0.5,-7,word,1e3\n")
    assert told(table)[1:] == [
        ("A(us)", [1736408883573957921, None, -500]),
        ("B(ns)", [9007199254740993, None, -7]),
        ("C(ms)", [100001, None, None]),
        ("D(s)", [1000000001, -1000000000, 1000000000000]),
    ]
    assert all(column.is_time for column in table.columns[1:])
    assert table.n_unread == 1 and [p.message for p in table.problems] == ["C(ms): 1 cells are no times"]


def test_whole_numbers_are_exact_and_large_ones_are_no_loss(path: Path) -> None:
    table = table_of(path, "Name,Id\na,9007199254740993\nb,-5\nc,N/A\n")
    assert told(table)[1] == ("Id", [9007199254740993, -5, None])
    assert table.columns[1].values[2] == NO_VALUE


def test_what_first_rows_do_not_show_is_learned(path: Path) -> None:
    """The first 200 rows have whole numbers, numbers or nothing; then comes something else."""
    rows = [f"{i},{i},{i}.5,,x{i}\n" for i in range(300)]
    rows += ["0.5,word,word,word,y\n"] * 400
    table = table_of(path, "Code,Place,Share(%),Note,Name\n" + "".join(rows))
    assert [column.kind for column in table.columns] == ["float", "text", "text", "text", "text"]
    assert values_of(table.columns[0])[298:301] == [298.0, 299.0, 0.5]
    assert values_of(table.columns[1])[299:301] == ["299", "word"]
    assert values_of(table.columns[2])[299:301] == ["299.5", "word"]
    assert values_of(table.columns[3])[299:301] == [None, "word"] and table.problems == ()


def test_few_damaged_cells_do_not_make_a_column_of_texts(path: Path) -> None:
    rows = ["0.25,7,a\n"] * 100
    rows[40] = "0.2#5,7x,a\n"
    table = table_of(path, "Hit Rate,Task Id,Op Name\n" + "".join(rows))
    assert [column.kind for column in table.columns] == ["float", "int", "text"]
    assert table.n_unread == 2 and kinds(table) == [("bad-record", 42), ("bad-record", 42)]
    assert any(p.message.endswith("the first is '0.2#5'") for p in table.problems)
    assert [column.absent.sum() for column in table.columns] == [1, 1, 0]


def test_a_column_with_a_unit_has_numbers_unless_most_are_none(path: Path) -> None:
    table = table_of(path, "Share(%),Name\n" + "1.5,a\n" * 250 + "?,a\n" * 100)
    assert table.columns[0].kind == "float" and table.n_unread == 100
    assert kinds(table) == [("bad-record", 252)]


def test_numbers_too_large_for_whole_ones_are_nearly_there(path: Path) -> None:
    table = table_of(path, "Id,Name\n1,a\n9999999999999999999,b\n", kinds={"Name": "text"})
    assert told(table)[0] == ("Id", [1.0, 1e19]) and table.problems == ()
    table = table_of(path, "Id,Name\n1,a\n9999999999999999999,b\n", kinds={"Id": "int"})
    assert told(table)[0] == ("Id", [1, None]) and kinds(table) == [("bad-record", 3)]


def test_labels_among_numbers_are_texts(path: Path) -> None:
    table = table_of(path, 'Step,Index\n1,0\n1,1\n1,"(0, 1)"\n')
    assert told(table)[1] == ("Index", ["0", "1", "(0, 1)"])


def test_what_is_asked_for_holds(path: Path) -> None:
    content = "Step,Computing,Rest\n50,8873.756000000001,7\n,1,8\n"
    table = table_of(path, content, kinds={"step": "text", "Computing": "time"}, others="text")
    assert told(table) == [("Step", ["50", None]), ("Computing", [8873756, 1000]), ("Rest", ["7", "8"])]
    with pytest.raises(InputError, match="no column Free"):
        table_of(path, content, needed=[("Computing",), ("Free", "Idle")])


def test_columns_of_one_name(path: Path) -> None:
    content = "Id,Start(us),Duration(us),Start(us),Duration(us)\n1,10,2,20,3\n2,30,4,N/A,N/A\n"
    table = table_of(path, content)
    assert [values_of(column) for column in table.all_of("Start")] == [[10000, 30000], [20000, None]]
    assert [values_of(column) for column in table.all_of("Duration(us)")] == [[2000, 4000], [3000, None]]


def test_headers_that_look_like_the_names_we_give(path: Path) -> None:
    table = table_of(path, "X,X (column 3),X,name,name\n1,2,3,a,b\n")
    assert told(table) == [("X", [1]), ("X (column 3)", [2]), ("X", [3]), ("name", ["a"]), ("name", ["b"])]


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_commas_behind_the_last_column(path: Path, line_end: str) -> None:
    everywhere = table_of(path, f"a,b,{line_end}1,2,{line_end}3,4,{line_end}")
    header = table_of(path, f"a,b,{line_end}1,2{line_end}3,4{line_end}")
    rows = table_of(path, f"a,b{line_end}1,2,{line_end}3,4,,,{line_end}")
    blanks = table_of(path, f'a,b{line_end}1,2," ",{line_end}3,4, {line_end}')
    for table in (everywhere, header, rows, blanks):
        assert told(table) == [("a", [1, 3]), ("b", [2, 4])] and table.problems == ()


def test_values_below_no_header_are_kept(path: Path) -> None:
    table = table_of(path, ",a,\n0,1,\n1,2,x\n")
    assert told(table) == [("", [0, 1]), ("a", [1, 2]), ("", [None, "x"])]


def test_rows_of_another_length_are_left_out_and_told(path: Path) -> None:
    table = table_of(path, "a,b,c\n1,2,3\n4,5\n6,7,8,9\n\n,,\n10,11,12\n")
    assert told(table) == [("a", [1, 10]), ("b", [2, 11]), ("c", [3, 12])]
    assert table.n_dropped == 2 and kinds(table) == [("bad-record", 3), ("bad-record", 4)]
    assert table.line.tolist() == [2, 7]


def test_rows_may_be_ragged(path: Path) -> None:
    table = table_of(path, "a,b,c\n1,2,3\n4,5\n6,7,8,9\nword\n", is_ragged=True)
    assert told(table) == [("a", [1, 4, 6]), ("b", [2, 5, 7]), ("c", [3, None, 8])]
    assert table.n_uneven == 2 and table.n_dropped == 1
    assert kinds(table) == [("bad-record", 3), ("bad-record", 4), ("bad-record", 5)]


def test_what_spreadsheets_leave_out_is_empty(path: Path) -> None:
    """Cells of remarks behind the tool's own columns may be missing, the tool's own may not."""
    content = "OP Type,Count,备注\nAdd,1,慢\nMul,2\nSub\n"
    table = table_of(path, content, kinds={"OP Type": "text", "Count": "int"}, others="text")
    assert told(table) == [("OP Type", ["Add", "Mul"]), ("Count", [1, 2]), ("备注", ["慢", None])]
    assert (table.n_uneven, table.n_dropped) == (1, 1)


def test_cells_over_several_lines(path: Path) -> None:
    stack = ";\r\n".join(f"/home/user/main.py({i}): f" for i in range(300))
    content = f'Name,Call Stack,Host Self Duration(us)\r\nadd,"{stack}",1.5\r\nmul,"a ""b""",2\r\n'
    table = table_of(path, content)
    assert told(table)[0] == ("Name", ["add", "mul"]) and told(table)[2][1] == [1500, 2000]
    found = values_of(table.columns[1])
    assert found == [stack.replace("\r\n", " "), 'a "b"'] and table.line.tolist() == [2, 302]


def test_a_quote_that_is_not_closed_costs_its_row_alone(path: Path) -> None:
    table = table_of(path, 'a,b\n1,2\n3,"4\n5,6\n7,8\n')
    assert told(table) == [("a", [1, 5, 7]), ("b", [2, 6, 8])]
    assert table.n_dropped == 1 and kinds(table) == [("bad-record", 3)]


def test_a_header_in_the_middle(path: Path) -> None:
    table = table_of(path, MEMORY + MEMORY.rstrip("\r\n") + "\r\n" + "\ufeff" + MEMORY)
    assert table.n_rows == 6 and table.n_dropped == 2
    assert kinds(table) == [("bad-record", 4), ("bad-record", 7)]


def test_the_last_line_may_be_cut(path: Path) -> None:
    table = table_of(path, "a,b\n1,2\n3,45")
    assert told(table) == [("a", [1]), ("b", [2])] and kinds(table) == [("cut-off", 3)]
    assert table.n_dropped == 1
    table = table_of(path, "a,b")
    assert (table.n_rows, kinds(table), table.headers) == (0, [("cut-off", 1)], ("a", "b"))


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [
        ("utf-8", "utf-8"),
        ("utf-8-sig", "utf-8 with BOM"),
        ("utf-16", "utf-16"),
        ("utf-16-le", "utf-16"),
        ("utf-16-be", "utf-16"),
        ("gbk", "gb18030/gbk"),
        ("gb18030", "gb18030/gbk"),
    ],
)
def test_every_encoding_gives_the_same_table(path: Path, encoding: str, shown: str) -> None:
    header = "Device_id,OP Type,Core Type,Count,备注"
    content = f"{header}\r\n0,自定义_旋转编码,AIV,240,占比偏高，需优化\r\n0,Add,AIV,1,\r\n"
    table = table_of(path, content.encode(encoding))
    assert table.encoding == shown and table.problems == ()
    assert told(table) == [
        ("Device_id", [0, 0]),
        ("OP Type", ["自定义_旋转编码", "Add"]),
        ("Core Type", ["AIV", "AIV"]),
        ("Count", [240, 1]),
        ("备注", ["占比偏高，需优化", None]),
    ]


def test_a_cut_character_does_not_change_the_encoding(path: Path) -> None:
    content = ("OP Type,Count\n" + "编码编码编码,1\n" * 10).encode() + "编".encode()[:2]
    table = table_of(path, content)
    assert table.encoding == "utf-8" and table.n_rows == 10 and kinds(table) == [("cut-off", 12)]


def test_a_line_in_no_encoding_is_told(path: Path) -> None:
    table = table_of(path, b"OP Type,Count\n" + b"Add,1\n" * 20 + b"A\xff\xffd,2\nMul,3\n")
    assert table.n_rows == 22 and kinds(table) == [("encoding", 22)]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n \r\n",
        b"one column\n1\n",
        b"1,2,3\n4,5,6\n",
        b'{"traceEvents": [{"ph": "X", "name": "a"}, 1]}\n',
        b"PK\x03\x04\x14\x00\x06,\x00\x08\n\x00",
        b"PK\x03\x04,ab\x06c,de\n1,2,3\n",
        bytes(100),
        b"SQLite format 3\x00,\x10\x00\n",
        b",,,\n1,2,3,4\n",
        ("x," * 5000).encode() + b"x\n",
    ],
)
def test_what_is_no_table(path: Path, content: bytes) -> None:
    with pytest.raises(InputError) as caught:
        table_of(path, content)
    assert caught.value.path == str(path) and caught.value.hint


def test_only_files_of_the_run(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (tmp_path / "outside.csv").write_text("a,b\n1,2\n")
    (run / "link.csv").symlink_to(tmp_path / "outside.csv")
    for bad in (run / "link.csv", run / "missing.csv", run):
        with pytest.raises(InputError):
            read_table(bad, root=run)


def test_limits_are_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = "a,b\n" + "".join(f"{i},{i}\n" for i in range(100))
    table = table_of(path, content, max_rows=10)
    assert table.n_rows == 10 and kinds(table) == [("limit", 12)]
    monkeypatch.setattr(tables, "MAX_CELLS", 40)
    table = table_of(path, content)
    assert table.n_rows == 20 and kinds(table) == [("limit", 22)]
    monkeypatch.setattr(tables, "MAX_CELLS", 4000)
    monkeypatch.setattr(tables, "MAX_FILE_BYTES", 200)
    monkeypatch.setattr(tables, "BLOCK_BYTES", 100)
    table = table_of(path, content)
    assert 0 < table.n_rows < 100 and kinds(table) == [("limit", None)]


def test_progress_and_cancel(path: Path) -> None:
    seen: list[Progress] = []
    table_of(path, MEMORY, progress=seen.append)
    assert (seen[-1].done, seen[-1].total) == (len(MEMORY), len(MEMORY))
    with pytest.raises(Cancelled):
        table_of(path, MEMORY, is_cancelled=lambda: True)


# ---- against the standard library ----

CELLS = st.one_of(
    st.sampled_from(["", "N/A", "NA", "0", "-1", "1.5", "1e3", "00", "12345678901234567890", "word", " x "]),
    st.text(st.characters(blacklist_categories=("Cs", "Cc"), blacklist_characters="\ufeff"), max_size=6),
    st.decimals(-(10**6), 10**6, places=3).map(str),
)


@given(rows=st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=12), block=st.integers(1, 64))
def test_texts_are_those_of_the_csv_module(path: Path, rows: list[tuple[str, ...]], block: int) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([("a", "b", "c"), *rows])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "BLOCK_BYTES", block)
        table = table_of(path, text.getvalue(), others="text")
    none = ("", "n/a", "na", "none", "-")
    wanted = [[cell.strip() for cell in row] for row in rows]
    cells = [[None if cell.lower() in none else cell for cell in row] for row in wanted]
    expected = [row for row in cells if any(cell is not None for cell in row)]
    assert [list(row) for row in zip(*(values for _, values in told(table)), strict=True)] == expected


NUMBERS = st.one_of(
    st.decimals(-(10**9), 10**9, places=4).map(str),
    st.integers(-(10**15), 10**15).map(lambda value: f"{value}\t"),
    st.sampled_from(["N/A", "", "1e-3", "+7", "0.0005", "-0.0005", "1736408883573957.9205"]),
)


@given(rows=st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=10))
def test_times_are_those_of_decimal(path: Path, rows: list[tuple[str, str]]) -> None:
    table = table_of(path, "A(us),B(ms)\n" + "".join(f"{a},{b}\n" for a, b in rows))

    def ns(cell: str, scale: int) -> int | None:
        if cell in ("N/A", ""):
            return None
        value = int((Decimal(cell.strip()) * scale).quantize(Decimal(1), ROUND_HALF_UP))
        return value if abs(value) < 2**63 else None

    expected = [(ns(a, 1000), ns(b, 10**6)) for a, b in rows]
    expected = [pair for pair in expected if pair != (None, None)]
    found = list(zip(*(values for _, values in told(table)), strict=True))
    assert table.n_rows == len(expected) and found == expected


# ---- damaged files ----


def test_cut_at_every_byte_no_row_changes(path: Path) -> None:
    whole = told(table_of(path, MEMORY, others="text"))
    raw = MEMORY.encode()
    for n in range(len(raw)):
        try:
            table = table_of(path, raw[:n], others="text")
        except InputError:
            assert n < raw.index(b"\r\n")
            continue
        if n >= raw.index(b"\n"):
            assert [(header, values[: table.n_rows]) for header, values in whole] == told(table)
            assert table.problems or raw[n - 1 : n] == b"\n"


@given(raw=st.binary(max_size=300))
def test_no_bytes_break_it(path: Path, raw: bytes) -> None:
    try:
        told(table_of(path, raw))
    except InputError:
        pass


@given(seed=st.integers(0, 10**9))
def test_damaged_tables_do_not_break_it(path: Path, seed: int) -> None:
    rng = random.Random(seed)
    raw = bytearray(MEMORY.encode(rng.choice(["utf-8", "utf-16", "gbk"])) * 2)
    for _ in range(rng.randrange(1, 8)):
        raw[rng.randrange(len(raw))] = rng.choice(b'",\n\r\x00\xff9\t')
    try:
        table = table_of(path, bytes(raw))
    except InputError:
        return
    told(table)
    assert table.n_rows <= 8 and all(len(column.values) == table.n_rows for column in table.columns)


@pytest.mark.parametrize(
    "row",
    ['"', '","', '"a\n', "1" * 5000 + ",2", "1e999999999,9e-999999999", '"' * 4001 + ",", ",", "\x00,\x00"],
)
def test_hostile_rows_cost_no_more_than_their_bytes(path: Path, row: str) -> None:
    content = "A(us),B(ms)\n" + f"{row}\n" * (400_000 // (len(row) + 1))
    began = time.process_time()
    table = table_of(path, content)
    assert time.process_time() - began < 3
    told(table)
    assert len(table.problems) <= 25


def test_many_columns(path: Path) -> None:
    """An iteration has two columns a reduction."""
    header = "Id" + ",Reduce Start(us),Reduce Duration(us)" * 1000
    table = table_of(path, f"{header}\n" + ("1" + ",5,6" * 1000 + "\n") * 3)
    assert len(table.all_of("Reduce Start")) == 1000 and table.n_rows == 3
    assert np.all(table.all_of("Reduce Duration")[-1].values == 6000)
