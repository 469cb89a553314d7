"""Any table of the profilers that is no operator table: memory, caches, links, hosts, sums, in columns.

Columns are found by name in any spelling, never by place; a unit stands in the header or nowhere. Nothing is
judged and nothing is known of single files: those that have records of their own say which columns they need.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass

from ...errors import InputError
from ...files import open_input, shown_path
from ...findings import Problem
from ...progress import IsCancelled, Progress, ProgressCallback, check, ignore_progress, never_cancelled
from ...table import Column
from ..encodings import SHOWN
from ..line_tables import LimitError, NoHeaderError
from ..text_lines import LineNotes
from .cells import NO_ID, NO_NS
from .columns import header_key
from .operator_columns import ColumnStore
from .rows import RowSplitter
from .table_bytes import Lines, TableBytes
from .table_headers import Kind, Plan, name_and_unit
from .table_times import times_of

__all__ = ["NO_VALUE", "Kind", "ProfilerTable", "TableColumn", "read_table"]

NO_VALUE = NO_NS
"""What stands where an int or a time is absent (-2**63)."""
MAX_FILE_BYTES = 8 << 30
MAX_ROWS = 10_000_000
MAX_CELLS = 1 << 28
"""Of all columns together: 2 GB."""
MAX_RECORD_LINES = 1024
"""Lines of one row: call stacks go over many."""
BLOCK_BYTES = 1 << 19

_HINT = "name a table of msprof or of a framework's profiler, e.g. memory_record.csv"
_BYTES: Mapping[str, int] = {"bytes": 1, "kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30}


@dataclass(frozen=True, slots=True)
class TableColumn:
    """One column.

    header: as written, safe to show. name: the header without unit, case, blanks and underscores. kind
    "text": int32 codes into `labels`, -1 absent. "int": int64, NO_VALUE absent. "float": float64, NaN absent.
    unit: of the values, from the header ("kb", "percent", ...), "" where it has none. Times are exact: int64
    nanoseconds ("int", unit "ns"), whatever unit the file has.
    """

    header: str
    name: str
    kind: Literal["text", "int", "float"]
    unit: str
    values: npt.NDArray[Any]
    labels: Sequence[str] = ()

    @property
    def is_time(self) -> bool:
        return self.kind == "int" and self.unit == "ns"

    @property
    def absent(self) -> npt.NDArray[np.bool_]:
        """True where a row has no value."""
        is_absent: npt.NDArray[np.bool_]
        if self.kind == "float":
            is_absent = np.isnan(self.values)
        else:
            is_absent = np.equal(self.values, NO_ID if self.kind == "text" else NO_VALUE)
        return is_absent

    def text(self, row: int) -> str:
        """The text of a row, "" where it is absent or no text."""
        code = int(self.values[row]) if self.kind == "text" else NO_ID
        return self.labels[code] if code >= 0 else ""

    def number(self, row: int) -> float | None:
        """The number of a row, None where it is absent or a text."""
        if self.kind == "int":
            return self.integer(row)
        value = float(self.values[row]) if self.kind == "float" else math.nan
        return None if math.isnan(value) else value

    def integer(self, row: int) -> int | None:
        """The whole number of a row, None where it is absent or the column has others."""
        value = int(self.values[row]) if self.kind == "int" else NO_VALUE
        return None if value == NO_VALUE else value

    def in_bytes(self) -> npt.NDArray[np.float64] | None:
        """Sizes in bytes, NaN absent; None where the header has no unit of size."""
        if self.unit not in _BYTES or self.kind == "text":
            return None
        sizes = np.where(self.absent, np.nan, self.values.astype(np.float64))
        return sizes * _BYTES[self.unit]

    def column(self, name: str = "") -> Column:
        """The column as tables and reports take it."""
        absent = self.absent
        labels = self.labels if self.kind == "text" else None
        return Column(
            name or self.header, self.kind, self.values, labels, absent if absent.any() else None, self.unit
        )


@dataclass(frozen=True, slots=True)
class ProfilerTable:
    """Rows of one file in its order; all arrays are as long.

    artifact: path as problems name it. columns: in the order of the file, several may have one name. line
    int64, from 1, the first one of a row. encoding: "utf-8", "utf-8 with BOM", "utf-16", "gb18030/gbk".
    n_dropped: rows that could not be used. n_uneven: rows that are here though they have fewer cells than the
    header, or more. n_unread: cells that could not be read and count as absent; `problems` say where.
    """

    artifact: str
    columns: tuple[TableColumn, ...]
    line: npt.NDArray[np.int64]
    encoding: str = "utf-8"
    n_dropped: int = 0
    n_uneven: int = 0
    n_unread: int = 0
    problems: tuple[Problem, ...] = ()

    @property
    def n_rows(self) -> int:
        return len(self.line)

    @property
    def headers(self) -> tuple[str, ...]:
        return tuple(column.header for column in self.columns)

    def all_of(self, *spellings: str) -> tuple[TableColumn, ...]:
        """Columns of the first spelling that some column has; () if none.

        A spelling with its unit ("Size(KB)") finds that unit alone, one without ("Size") finds any.
        """
        for spelling in spellings:
            key = header_key(spelling)
            found = tuple(c for c in self.columns if header_key(c.header) == key or c.name == key)
            if found:
                return found
        return ()

    def find(self, *spellings: str) -> TableColumn | None:
        """The first of those columns."""
        return next(iter(self.all_of(*spellings)), None)


def read_table(
    path: Path,
    *,
    root: Path | None = None,
    kinds: Mapping[str, Kind] | None = None,
    others: Kind | None = None,
    needed: Sequence[Sequence[str]] = (),
    is_ragged: bool = False,
    hint: str = _HINT,
    max_rows: int = MAX_ROWS,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> ProfilerTable:
    """One table in columns. What a column holds is seen from its header and first rows.

    kinds: what columns hold for certain, by spelling; "time" without a unit in the header is in microseconds.
    others: what all further columns hold. needed: groups of spellings, the header must have one of each.
    is_ragged: rows may be shorter than the header, or longer (what is behind it is left out). Else a row has
    all columns; where `others` is given, those behind the last one of `kinds` may be missing, as spreadsheet
    programs leave them out. A line break in a cell becomes a blank. Rows without any value are blank lines.
    Problems: rows that cannot be used (left out and counted), cells that cannot be read (absent and counted),
    a header that stands there again, a last line without an end (it may be cut: left out), lines in no known
    encoding, what lies behind `max_rows` rows, MAX_CELLS cells or 8 GB.
    Raises InputError (no such table; `root`: a link leads out of it) and Cancelled.
    Cost: linear in the bytes; a million rows of memory_record (78 MB) take about 1.2 s of CPU. A file whose
    first rows mislead about a column is read twice.
    """
    declared = {header_key(spelling): kind for spelling, kind in (kinds or {}).items()}
    plan = Plan(declared, others, tuple(tuple(group) for group in needed), is_ragged)
    while True:
        found = _Reading(path, root, plan, max_rows)
        try:
            for raw in found.blocks(progress, is_cancelled):
                found.take(raw)
            found.finish()
        except NoHeaderError as error:
            message = plan.missing or str(error)
            raise InputError(message, path=path, line=error.line, hint=hint) from error
        if found.rows.layout is None:
            raise InputError("the file is empty", path=path, hint=hint)
        if not plan.learn(found.store):
            return found.table()


class _Reading:
    """One pass over the file."""

    def __init__(self, path: Path, root: Path | None, plan: Plan, max_rows: int) -> None:
        self.path = path
        self.root = root
        self.plan = plan
        self.artifact = shown_path(path, root)
        self.notes = LineNotes(self.artifact)
        self.bytes = TableBytes()
        self.rows = RowSplitter(
            self.notes,
            layout_of=plan.layout_of,
            no_header="this is no table: its first line names no columns",
            max_record_lines=MAX_RECORD_LINES,
        )
        self.max_rows = max_rows
        self.store = ColumnStore(None, max_rows)
        self.is_full = False

    def blocks(self, progress: ProgressCallback, is_cancelled: IsCancelled) -> Iterator[bytes]:
        """The bytes of the file as far as they are read."""
        file, size_bytes = open_input(self.path, self.root)
        n_read = 0
        with file:
            while not self.is_full:
                check(is_cancelled)
                try:
                    raw = file.read(BLOCK_BYTES) or b""
                except OSError as error:
                    self._stop("unreadable", f"reading failed: {error.strerror}")
                    return
                if not raw:
                    return
                n_read += len(raw)
                yield raw
                progress(Progress("read", min(n_read, size_bytes), size_bytes, "bytes"))
                if n_read >= MAX_FILE_BYTES:
                    self._stop("limit", f"only the first {n_read:,} bytes were read")

    def take(self, raw: bytes, *, is_last: bool = False) -> None:
        for lines in self.bytes.add(raw, is_last=is_last):
            if not self.is_full:
                self._take(lines)

    def finish(self) -> None:
        """The file has no more bytes, or no more are wanted."""
        if not self.is_full:
            self.take(b"", is_last=True)
            self._take(None)

    def _take(self, lines: Lines | None) -> None:
        """Rows of whole lines into the columns; None: what still waits for more lines."""
        is_first = self.rows.layout is None
        if lines is not None and is_first:
            self.plan.look_at(lines.raw)
        grids = self.rows.finish() if lines is None else self.rows.split(lines)
        if is_first and self.rows.layout is not None:
            self.store = ColumnStore(None, min(self.max_rows, MAX_CELLS // self.rows.layout.n_columns))
        try:
            for grid in grids:
                self.store.add(grid, 0, NO_ID)
        except LimitError as limit:
            self.is_full = True
            self.notes.add("limit", f"reading stopped here: {limit}", limit.line, is_last=True)

    def _stop(self, kind: str, message: str) -> None:
        self.is_full = True
        self.notes.add(kind, message, None, is_last=True)

    def table(self) -> ProfilerTable:
        store, layout = self.store, self.rows.layout
        assert layout is not None
        problems = [*self.notes.close(), *self.bytes.problems(self.artifact)]
        problems += store.unread_problems((self.artifact,), store.unread)
        n_unread = sum(cells.n for cells in store.unread.values())
        line = store.line.taken(0, store.n_rows, is_last=True)
        _, arrays, labels = store.taken(is_last=True, left_out=())
        columns: list[TableColumn] = []
        for place, described in layout.columns:
            header = self.plan.headers[place]
            name, unit = name_and_unit(header)
            values = arrays.get(described.name)
            if values is None:  # not one row
                values = np.zeros(0, {"text": np.int32, "number": np.float64}.get(described.kind, np.int64))
            texts = labels.get(described.name, ())
            if self.plan.is_scaled_time(place):
                values, n_bad = times_of(values, texts, unit)
                if n_bad:
                    n_unread += n_bad
                    problems.append(
                        Problem(self.artifact, "bad-record", f"{header}: {n_bad:,} cells are no times")
                    )
                columns.append(TableColumn(header, name, "int", "ns", values))
            elif described.kind == "text":
                columns.append(TableColumn(header, name, "text", unit, values, texts))
            elif described.kind == "number":
                columns.append(TableColumn(header, name, "float", unit, values))
            else:
                unit = "ns" if described.kind == "ns" else unit
                columns.append(TableColumn(header, name, "int", unit, values))
        rows = _filled(columns, len(line))
        if rows is not None:
            line = line[rows]
            columns = [
                TableColumn(c.header, c.name, c.kind, c.unit, c.values[rows], c.labels) for c in columns
            ]
        return ProfilerTable(
            artifact=self.artifact,
            columns=tuple(c for c in columns if c.header or not c.absent.all()),
            line=line,
            encoding=SHOWN.get(self.bytes.encoding, self.bytes.encoding),
            n_dropped=self.rows.n_dropped,
            n_uneven=self.rows.n_uneven,
            n_unread=n_unread,
            problems=tuple(problems),
        )


def _filled(columns: Sequence[TableColumn], n: int) -> npt.NDArray[np.bool_] | None:
    """Which rows have a value at all; None for all of them."""
    is_filled = np.zeros(n, np.bool_)
    for column in columns:
        is_filled |= ~column.absent
        if is_filled.all():
            return None
    return is_filled
