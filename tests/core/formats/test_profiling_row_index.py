"""Rows of a table by its index: the same as those of the whole table, whatever stands between them."""

from __future__ import annotations

import os
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npulse.core.errors import Cancelled, InputError
from npulse.core.formats.profiling import row_index
from npulse.core.formats.profiling.operators import OperatorTable, read_operators
from npulse.core.formats.profiling.row_index import RowIndex, index_rows

HEADER = "Device_id,Op Name,OP Type,Task Start Time(us),Task Duration(us),Input Shapes"


def row(i: int, name: str = "mm") -> str:
    return f'0,{name}{i},MatMul,{1000 + i}.250\t,{i % 97}.125,"""4,{i};8"""'


ODD = (
    '0,"two\nlines",Add,1.0,2.5,"""4"""',
    '0,"three\n\n,lines",Add,1.0,2.5,"""4"""',
    '0,"open,Add,1.0,2.5,4',
    "",
    "  ",
    ",,",
    HEADER,
    "0,short,Add",
    "0,long,Add,1.0,2.5,4,5,6,7",
    "0,word,Add,1.0,N/A,4",
    "0,算子,加,1.0,2.5,4",
    "x" * 700,
)


def made(folder: Path, lines: list[str], end: str = "\n", last: str = "\n", encoding: str = "utf-8") -> Path:
    path = folder / "op_summary_20260801120500.csv"
    path.write_bytes((end.join([HEADER, *lines]) + last).encode(encoding))
    return path


def cells(table: OperatorTable) -> dict[int, Mapping[str, Any]]:
    """Line -> what stands there."""
    columns = [table.column(name) for name in table.columns]
    return {
        int(line): {column.name: column.value(i) for column in columns} for i, line in enumerate(table.line)
    }


def all_rows(index: RowIndex, at_once: int) -> dict[int, Mapping[str, Any]]:
    found: dict[int, Mapping[str, Any]] = {}
    for first in range(0, index.n_rows, at_once):
        found |= cells(index.rows(first, at_once))
    return found


def test_any_rows_are_those_of_the_table(tmp_path: Path) -> None:
    path = made(tmp_path, [row(i) for i in range(500)])
    index, table = index_rows(path), read_operators(path)
    assert index.n_rows == table.n_rows and index.lines is None and not index.n_passed_over
    some = index.rows(123, 60)
    assert cells(some) == {line: one for line, one in cells(table).items() if 125 <= line < 185}
    assert index.rows(490, 60).n_rows == 10 and index.rows(500, 60).n_rows == 0
    assert [index.line(0), index.line(499)] == [2, 501]


@pytest.mark.parametrize("seed", range(12))
def test_lines_that_are_no_rows_hide_none(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    monkeypatch.setattr(row_index, "_BLOCK_BYTES", rng.choice([17, 200, 1 << 19]))
    lines = [rng.choice(ODD) if rng.random() < 0.3 else row(i) for i in range(60)]
    encoding = rng.choice(["utf-8", "utf-8-sig", "gb18030"])
    path = made(tmp_path, lines, rng.choice(["\n", "\r\n"]), rng.choice(["\n", ""]), encoding)
    index, table = index_rows(path), read_operators(path)
    assert all_rows(index, rng.choice([1, 7, 100])) == cells(table)
    assert table.n_rows <= index.n_rows


def test_long_lines_are_passed_over_without_being_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_index, "MAX_LINE_BYTES", 300)
    monkeypatch.setattr(row_index, "_BLOCK_BYTES", 100)
    monkeypatch.setattr(row_index, "_SPAN_BYTES", 100)
    path = made(tmp_path, [row(0), "x" * 5000, row(1), "y" * 301, row(2)])
    index = index_rows(path)
    assert index.n_passed_over == 2
    found = index.rows(0, 9)
    assert found.line.tolist() == [2, 4, 6]
    assert [found.text("name", i) for i in range(3)] == ["mm0", "mm1", "mm2"]


def test_a_last_line_without_an_end_is_told_and_is_no_row(tmp_path: Path) -> None:
    index = index_rows(made(tmp_path, [row(0), row(1)], last=""))
    assert index.n_rows == 1
    assert [(one.kind, one.line) for one in index.problems] == [("cut-off", 3)]


def test_lines_of_problems_are_those_of_the_file(tmp_path: Path) -> None:
    path = made(tmp_path, [row(i) for i in range(40)] + ["0,mm,Add,1.0,fast,4"] + [row(41)])
    (told,) = index_rows(path).rows(30, 12).problems
    (whole,) = read_operators(path).problems
    assert told.line == whole.line == 42


def test_a_table_with_other_columns_behind_it_is_refused(tmp_path: Path) -> None:
    path = made(tmp_path, [row(0), "Device_id,Op Name,Task Duration(us)", "0,mm,2.5"])
    with pytest.raises(InputError, match="other columns"):
        index_rows(path)


def test_what_has_no_index_is_refused(tmp_path: Path) -> None:
    for text, encoding in ((f"{HEADER}\n{row(0)}\n", "utf-16"), ("a,b\n1,2\n", "utf-8"), ("", "utf-8")):
        path = tmp_path / "table.csv"
        path.write_bytes(text.encode(encoding))
        with pytest.raises(InputError):
            index_rows(path)


def test_a_file_that_changed_since_is_told(tmp_path: Path) -> None:
    path = made(tmp_path, [row(0), row(1)])
    index = index_rows(path)
    with path.open("a") as file:
        file.write(row(2) + "\n")
    with pytest.raises(InputError, match="changed"):
        index.rows(0, 1)


def test_another_file_of_the_same_size_and_time_is_told(tmp_path: Path) -> None:
    path = made(tmp_path, [row(0), row(1)])
    index = index_rows(path)
    before, text = path.stat(), path.read_text()
    other = tmp_path / "other"
    other.write_text(text[::-1])
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(path)
    with pytest.raises(InputError, match="changed"):
        index.rows(0, 1)


def test_rows_are_limited_and_reading_can_be_stopped(tmp_path: Path) -> None:
    path = made(tmp_path, [row(i) for i in range(30)])
    index = index_rows(path, max_rows=10)
    assert index.n_rows == 10 and [one.kind for one in index.problems] == ["limit"]
    assert index.rows(8, 9).line.tolist() == [10, 11]
    with pytest.raises(Cancelled):
        index_rows(path, is_cancelled=lambda: True)


def test_eight_bytes_a_row_are_kept(tmp_path: Path) -> None:
    index = index_rows(made(tmp_path, [row(i) for i in range(3000)]))
    assert index.starts.nbytes == 8 * (index.n_rows + 1)
    assert np.all(np.diff(index.starts) > 0)
