"""The other tables of a round, as their files have them: headers, units, encodings, lines."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import pytest

from npulse.core.errors import InputError
from npulse.core.performance.files import FileTable, FileView, file_tables, read_file_table
from npulse.core.run.discover import discover
from npulse.core.run.model import Artifact
from npulse.core.table import Table

API = (
    "Device_id,Level,API Name,Time(us),Count,Avg(us),Min(us),Max(us),Variance\n"
    "0,node,launch,120.5,3,40.167,20.25,60,1.5\n"
    "0,acl,aclrtMalloc,N/A,,40,20,60,0.00000025\n"
)
BIG_NS = 1_754_020_800_123_456_789


def read(tmp_path: Path, name: str, raw: bytes, kind: str = "prof.api_statistic") -> FileTable:
    path = tmp_path / name
    path.write_bytes(raw)
    return read_file_table(Artifact(kind, path, name, len(raw), 1), tmp_path)


def column(table: Table, name: str) -> list[object]:
    return [table.column(name).value(row) for row in range(table.n_rows)]


def test_columns_keep_header_order_and_unit(tmp_path: Path) -> None:
    found = read(tmp_path, "api_statistic_1.csv", API.encode())
    names = [one.name for one in found.table.columns]
    headers = API.split("\n")[0].split(",")
    assert names == ["subject", *(h for h in headers if h != "API Name"), "line"]
    assert found.subject_header == "API Name" and found.encoding == "utf-8"
    assert column(found.table, "subject") == ["launch", "aclrtMalloc"]
    assert column(found.table, "Time(us)") == [120.5, None]
    assert column(found.table, "Count") == [3, None]
    assert column(found.table, "Variance") == [1.5, 0.00000025]
    assert column(found.table, "line") == [2, 3]


@pytest.mark.parametrize(
    ("encoding", "told"),
    [("utf-8-sig", "utf-8 with BOM"), ("gb18030", "gb18030/gbk"), ("utf-16", "utf-16")],
)
def test_a_column_that_a_spreadsheet_added_is_kept(tmp_path: Path, encoding: str, told: str) -> None:
    text = "Device_id,OP Type,Core Type,Count,Total Time(us),备注\n0,自定义_旋转编码,AI_CORE,2,15.5,待优化\n"
    found = read(tmp_path, "op_statistic_1.csv", text.encode(encoding), "prof.op_statistic")
    assert found.encoding == told
    assert column(found.table, "subject") == ["自定义_旋转编码"]
    assert column(found.table, "备注") == ["待优化"]
    assert [one.name for one in found.table.columns][1] == "Device_id", "no mark of the encoding in it"


def test_times_since_1970_stay_exact(tmp_path: Path) -> None:
    us = Decimal(BIG_NS) / 1000
    text = f"Name,Start Time(us),Duration(us)\na,{us},1.5\n"
    found = read(tmp_path, "task_time_1.csv", text.encode(), "prof.task_time")
    start = next(one for one in found.table.columns if one.name.startswith("Start"))
    value = start.value(0)
    if start.name.endswith("(ns)"):
        assert value == BIG_NS
    else:
        assert Decimal(str(value)) == us
    assert column(found.table, "Duration(us)") == [1.5]


def test_headers_that_are_there_twice_are_told_apart(tmp_path: Path) -> None:
    found = read(tmp_path, "x.csv", b"Name,Time(us),Time(us),line,subject\na,1,2,7,8\n", "prof.counters")
    names = [one.name for one in found.table.columns]
    assert len(names) == len(set(names)) == 6
    assert column(found.table, "line") == [2], "our own column is the line of the file"
    assert found.table.row(0)["line 2"] == 7 and found.table.row(0)["subject 2"] == 8


def test_rows_without_any_text_are_called_by_their_line(tmp_path: Path) -> None:
    found = read(tmp_path, "x.csv", b"Step,Computing\n1,2.5\n2,3.5\n", "prof.step_trace_time")
    assert column(found.table, "subject") == ["2", "3"] and found.subject_header == ""


def test_only_tables_are_offered(tmp_path: Path) -> None:
    (tmp_path / "api_statistic_20260801120000.csv").write_text(API)
    (tmp_path / "notes.csv").write_text("a,b\n1,2\n")
    run = discover(tmp_path)
    found = [one.relative for round_ in run.rounds for one in file_tables(round_.artifacts)]
    assert found == ["api_statistic_20260801120000.csv"]


def test_what_is_no_table_is_refused(tmp_path: Path) -> None:
    for raw in (b"", b"\x00" * 64, b"\n\n\n"):
        with pytest.raises(InputError):
            read(tmp_path, "x.csv", raw)


def test_every_cut_of_a_file_is_read_or_refused(tmp_path: Path) -> None:
    raw = API.encode()
    for n in range(len(raw)):
        try:
            found = read(tmp_path, "x.csv", raw[:n])
        except InputError:
            continue
        assert found.table.n_rows <= 2
        assert all(len(one.values) == found.table.n_rows for one in found.table.columns)


def test_the_detail_of_a_row_is_not_rounded(tmp_path: Path) -> None:
    found = read(tmp_path, "x.csv", b"Step,Computing\n1,80210.512\n", "prof.step_trace_time")
    detail = FileView(cast(Any, None), found).detail(0, "en")
    assert ("Computing", "80,210.512") in detail.facts
