"""The other tables of real tools: every cell that the pane shows is the one that a plain csv reader finds."""

from __future__ import annotations

import csv
from decimal import Decimal, InvalidOperation
from pathlib import Path

import pytest

from npulse.core.performance.files import FileTable, file_tables, read_file_table
from npulse.core.run.discover import discover

pytestmark = pytest.mark.real

NONE_WORDS = ("", "N/A")
LEAST_FILES = 20
HALF_NS_OF_US = Decimal("0.0005")
"""Times are whole nanoseconds; some tools write more digits."""
MAX_ROWS = 400


def tables(folder: Path) -> list[FileTable]:
    run = discover(folder)
    found = [one for round_ in run.rounds for one in file_tables(round_.artifacts)]
    return [read_file_table(artifact, run.path) for artifact in found]


def is_same(cell: str, value: object, error: Decimal) -> bool:
    text = cell.strip()
    if value is None:
        return text in NONE_WORDS
    if isinstance(value, str):
        return text.split() == value.split()  # line breaks are shown as blanks
    try:
        number = Decimal(text)
    except InvalidOperation:
        return False
    return abs(number - Decimal(repr(value))) <= max(abs(number) * Decimal("1e-12"), error)


@pytest.fixture(scope="module")
def found(shared: Path) -> list[FileTable]:
    return tables(shared / "samples" / "profiling" / "real")


def test_cells_are_those_of_the_file(found: list[FileTable]) -> None:
    assert len(found) >= LEAST_FILES
    n_cells = 0
    for one in found:
        path = one.artifact.path
        with path.open(newline="", encoding="utf-8-sig") as file:
            header, *rows = [row for row in csv.reader(file) if row]
        if one.n_dropped or one.problems or len(set(header)) < len(header):
            continue
        assert one.table.n_rows == len(rows), path
        for column in one.table.columns:
            name = one.subject_header if column.name == "subject" else column.name
            if name not in header:  # "line", rows called by it, times kept in nanoseconds
                assert column.name in ("line", "subject") or name.endswith("(ns)"), (path, name)
                continue
            place = header.index(name)
            error = HALF_NS_OF_US if column.unit == "us" else Decimal(0)
            for row in range(min(one.table.n_rows, MAX_ROWS)):
                assert is_same(rows[row][place], column.value(row), error), (path, name, row)
                n_cells += 1
    assert n_cells > 10_000


def test_encodings_and_added_columns(shared: Path) -> None:
    found = {one.artifact.path.name: one for one in tables(shared / "cases" / "C53")}
    encodings = {name: one.encoding for name, one in found.items()}
    assert encodings == {
        "op_statistic_bom.csv": "utf-8 with BOM",
        "op_statistic_gbk.csv": "gb18030/gbk",
        "op_statistic_utf16.csv": "utf-16",
    }
    for name, one in found.items():
        assert one.table.column("subject").value(1) == "自定义_旋转编码", name
        names = [column.name for column in one.table.columns]
        assert names[1] == "Device_id", "no mark of the encoding in it"
        assert ("备注" in names) == (name == "op_statistic_gbk.csv")
