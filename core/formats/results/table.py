"""A result table of another tool, read: its rows in columns, by the tool's own names.

Nothing is judged here: what the tool said of a row stands in `verdict` and `message` as it wrote it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from ...errors import InputError
from ...files import shown_path
from ...findings import Problem
from ...progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from ..text_lines import LineNotes
from .cells import ColumnCells, ResultColumn
from .csv_rows import Rows, csv_rows
from .layouts import TEXT_ROLES, Layout, bare, layout_of, roles_of, separator_of
from .workbook import workbook_rows

MAX_ROWS = 4_000_000
MAX_CELLS = 1 << 27
MAX_COLUMNS = 16_384

_HINT = "name a result of msprobe compare, msaccucmp, msit or acc_check (csv or xlsx)"


@dataclass(frozen=True, slots=True)
class ResultTable:
    """One result of another tool; all columns are as long as `lines`.

    artifact: path as problems name it. columns: in the order of the file; what several sheets have in common
    stands in the same one. lines int64: of the file; in workbooks row numbers of the sheet, in documents the
    number of the entry (`counts`). sheet int32 into `sheets`; () for what is no workbook. n_dropped: rows
    that could not be used; `problems` say why. n_headers: times that the header stands there again, as in
    files that were put together; those are no rows.
    """

    artifact: str
    layout: Layout
    columns: tuple[ResultColumn, ...]
    lines: npt.NDArray[np.int64]
    sheets: tuple[str, ...] = ()
    sheet: npt.NDArray[np.int32] | None = None
    n_dropped: int = 0
    n_headers: int = 0
    problems: tuple[Problem, ...] = ()
    counts: Literal["line", "entry"] = "line"

    @property
    def n_rows(self) -> int:
        return len(self.lines)

    def all_of(self, role: str) -> tuple[ResultColumn, ...]:
        """The columns of a role."""
        return tuple(column for column in self.columns if column.role == role)

    def first_of(self, role: str) -> ResultColumn | None:
        """The first column of a role, None where there is none."""
        return next((column for column in self.columns if column.role == role), None)

    def named(self, *headers: str) -> ResultColumn | None:
        """The first column of one of these headers, in any case."""
        wanted = [header.lower() for header in headers]
        found = {bare(column.header).lower(): column for column in reversed(self.columns)}
        return next((found[header] for header in wanted if header in found), None)

    def text(self, role: str, row: int) -> str:
        """What stands in the column of a role, "" where there is none."""
        column = self.first_of(role)
        return "" if column is None else column.word(row)


def read_result(
    path: Path,
    *,
    root: Path | None = None,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> ResultTable:
    """A result table: csv, or the sheets of an xlsx that are one.

    Problems: rows with fewer or more cells than the header (left out), what was cut off, damaged or beyond
    MAX_ROWS and MAX_CELLS. Raises InputError where there is no such table, and Cancelled.
    Cost: about 18 us a row of 27 cells (200,000 rows, 78 MB: 3.6 s); an xlsx takes about six times that.
    """
    artifact = shown_path(path, root)
    notes = LineNotes(artifact)
    builder = _Builder(notes)
    if path.suffix.lower() == ".xlsx":
        folder = root or path.parent
        blocks = workbook_rows(path, folder, notes, progress=progress, is_cancelled=is_cancelled)
        parts: Iterator[tuple[str | None, Rows]] = ((part.sheet, part.rows) for part in blocks)
    else:
        found = csv_rows(
            path, notes, separator_of=separator_of, root=root, progress=progress, is_cancelled=is_cancelled
        )
        parts = ((None, rows) for rows in found)
    for sheet, rows in parts:
        if not builder.add(sheet, rows):
            break
    table = builder.table(artifact)
    if table is None:
        raise InputError("this is no result table: no header of one that is known", path=path, hint=_HINT)
    return table


class _Builder:
    """Rows into columns. Sheets under the same header go on from each other."""

    def __init__(self, notes: LineNotes) -> None:
        self.notes = notes
        self.layout: Layout | None = None
        self.columns: list[ColumnCells] = []
        self.lines: list[npt.NDArray[np.int64]] = []
        self.sheets: list[str] = []
        self.sheet: list[npt.NDArray[np.int32]] = []
        self.n_rows = 0
        self.n_dropped = self.n_headers = 0
        self.max_rows = MAX_ROWS
        self._header: list[str] | None = None
        self._skipped = self._is_other = False

    def add(self, sheet: str | None, rows: Rows) -> bool:
        """Take rows; False where no more are wanted."""
        if sheet is not None and (not self.sheets or self.sheets[-1] != sheet):
            self.sheets.append(sheet)
            self._header, self._skipped, self._is_other = None, False, False
        lines, cells = rows.lines, rows.cells
        if self._header is None and cells and not self._skipped:
            self._begin(cells[0], lines[0], sheet)
            lines, cells = lines[1:], cells[1:]
        if self._header is None or not cells:
            return not (sheet is None and self._skipped)
        n_columns, least = len(self._header), self._least(self._header)
        first = bare(self._header[0])
        kept, numbers = [], []
        for line, row in zip(lines, cells, strict=True):
            if bare(row[0]) == first and self._is_header(row, line):
                continue
            if self._is_other:
                self.n_dropped += 1
                continue
            n = len(row)
            if n != n_columns:
                if n > n_columns:
                    while n > n_columns and not row[n - 1].strip():
                        n -= 1
                if sheet is not None:  # blank cells at the end of a row are not written
                    least = 1
                if not least <= n <= n_columns:
                    self.n_dropped += 1
                    message = f"the row has {n:,} cells, the header {n_columns:,}: it was left out"
                    self.notes.add("bad-record", message, line)
                    continue
                row = row[:n] + [""] * (n_columns - n)
            kept.append(row)
            numbers.append(line)
        return self._keep(kept, numbers)

    def _is_header(self, row: list[str], line: int) -> bool:
        """Whether a row is a header again: of the same columns, or of others, whose rows are left out."""
        names = [bare(cell) for cell in row]
        while names and not names[-1]:
            names.pop()
        assert self._header is not None
        if names == [bare(name) for name in self._header]:
            self.n_headers += 1
            self._is_other = False
            return True
        if layout_of(names) is None:
            return False
        self._is_other = True
        self.notes.add("bad-record", "a header of other columns: what stands below it was left out", line)
        return True

    def _least(self, header: list[str]) -> int:
        assert self.layout is not None
        return self.layout.least or len(header)

    def _begin(self, header: list[str], line: int, sheet: str | None) -> None:
        """The first row of the file or of a sheet: a header, or this is no table."""
        header = list(header)
        while header and not bare(header[-1]):
            header.pop()
        layout = layout_of(header)
        if layout is None or len(header) > MAX_COLUMNS or (self.layout and self.layout is not layout):
            self._skipped = True
            return
        if self.layout is not None and [bare(c.header) for c in self.columns] != [bare(h) for h in header]:
            self.notes.add(
                "bad-record", f"the sheet '{sheet}' has other columns than the first: it was left out", line
            )
            self._skipped = True
            return
        self._header = header
        if self.layout is None:
            self.layout = layout
            self.columns = [
                ColumnCells(bare(name), role, role in TEXT_ROLES)
                for name, role in zip(header, roles_of(layout, header), strict=True)
            ]
            self.max_rows = min(MAX_ROWS, MAX_CELLS // len(header))

    def _keep(self, rows: Sequence[list[str]], lines: list[int]) -> bool:
        room = self.max_rows - self.n_rows
        is_full = len(rows) > room
        if is_full:
            self.notes.add(
                "limit", f"only the first {self.max_rows:,} rows were read", lines[room], is_last=True
            )
            rows, lines = rows[:room], lines[:room]
        if rows:
            for column, cells in zip(self.columns, zip(*rows, strict=True), strict=True):
                column.add(cells)
            self.lines.append(np.array(lines, np.int64))
            self.sheet.append(np.full(len(lines), len(self.sheets) - 1, np.int32))
            self.n_rows += len(rows)
        return not is_full

    def table(self, artifact: str) -> ResultTable | None:
        """What was read; None where no header was found."""
        if self.layout is None:
            return None
        return ResultTable(
            artifact=artifact,
            layout=self.layout,
            columns=tuple(column.column() for column in self.columns),
            lines=np.concatenate(self.lines) if self.lines else np.zeros(0, np.int64),
            sheets=tuple(self.sheets),
            sheet=(np.concatenate(self.sheet) if self.sheet else np.zeros(0, np.int32))
            if self.sheets
            else None,
            n_dropped=self.n_dropped,
            n_headers=self.n_headers,
            problems=self.notes.close(),
        )
