"""The operator table, a row a call of an operator: op_summary and kernel_details of any release and chip.

Columns are found by name, in any of their spellings (`columns.SCHEMA`). Nothing is judged: an impossible
duration is a duration, a row without one is a row.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import InputError
from ...files import open_input, shown_path
from ...findings import Problem
from ...progress import IsCancelled, Progress, ProgressCallback, check, ignore_progress, never_cancelled
from ...table import Column
from ..line_tables import LimitError, NoHeaderError
from ..text_lines import LineNotes
from .cells import NO_ID, NO_NS, NO_START
from .columns import BY_NAME, OperatorColumn
from .operator_columns import ColumnStore, absent_of
from .operator_files import device_of
from .packed import PackedColumns
from .rows import RowSplitter
from .table_bytes import Lines, TableBytes

__all__ = ["NO_ID", "NO_NS", "NO_START", "OperatorReader", "OperatorTable", "first_rows", "read_operators"]

MAX_FILE_BYTES = 8 << 30
MAX_ROWS = 10_000_000
BLOCK_BYTES = 1 << 19
"""As much as stays in the processor's cache while it is taken apart."""
_FIRST_BLOCK_BYTES = 1 << 16

_HINT = "name an op_summary_*.csv or kernel_details.csv"


@dataclass(frozen=True, slots=True)
class OperatorTable:
    """Rows of one or several files in their order. Arrays are as long as the table.

    files: paths as problems name them; `file` int32 -> files, line int64 (from 1) say where a row stands.
    columns: name -> its description, for every column that some file has, in display order. arrays: their
    values: "id" int64, NO_ID (-1) absent; start_ns int64 since 1970, NO_START (-1) absent; duration_ns and
    wait_ns int64, NO_NS (-2**63) absent; "number" float64 as in the file, NaN absent; "text" int32 codes into
    `labels`, -1 absent. encodings: of each file. left_out: headers that were not used: texts that are not
    declared, a second column of one name. n_dropped: rows that could not be used; n_unread: cells that could
    not be read and count as absent; `problems` say where. has_inferred_types: op_type is no column of a file
    but taken from names (`type_names`).
    """

    files: tuple[str, ...]
    file: npt.NDArray[np.int32]
    line: npt.NDArray[np.int64]
    columns: Mapping[str, OperatorColumn]
    arrays: Mapping[str, npt.NDArray[Any]]
    labels: Mapping[str, Sequence[str]]
    encodings: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    n_dropped: int = 0
    n_unread: int = 0
    has_inferred_types: bool = False
    problems: tuple[Problem, ...] = ()

    @property
    def n_rows(self) -> int:
        return len(self.line)

    @property
    def devices(self) -> tuple[int, ...]:
        """The devices that rows name, in order; () where none does."""
        found = np.unique(self.values("device")).tolist()
        return tuple(device for device in found if device != NO_ID)

    def taken(self, rows: npt.NDArray[np.bool_] | npt.NDArray[np.int64]) -> OperatorTable:
        """Some of the rows; texts, files and problems are those of the whole table."""
        return replace(
            self,
            file=self.file[rows],
            line=self.line[rows],
            arrays=self.arrays.taken(rows)
            if isinstance(self.arrays, PackedColumns)
            else {name: values[rows] for name, values in self.arrays.items()},
        )

    def values(self, name: str) -> npt.NDArray[Any]:
        """The array of a column; of a declared one that no file has, all absent. KeyError for other names."""
        if name in self.arrays:
            return self.arrays[name]
        column = BY_NAME[name]
        dtype = {"text": np.int32, "number": np.float64}.get(column.kind, np.int64)
        return np.full(self.n_rows, absent_of(column), dtype)

    def values_at(self, name: str, rows: npt.NDArray[Any] | slice) -> npt.NDArray[Any]:
        """`values(name)[rows]`, without the whole column in full width."""
        if isinstance(self.arrays, PackedColumns) and name in self.arrays:
            return self.arrays.at(name, rows)
        taken: npt.NDArray[Any] = self.values(name)[rows]
        return taken

    def is_absent(self, name: str) -> npt.NDArray[np.bool_]:
        """True where a row has no value in that column."""
        values = self.values(name)
        column = self.columns.get(name) or BY_NAME[name]
        is_absent: npt.NDArray[np.bool_] = (
            np.isnan(values) if column.kind == "number" else np.equal(values, absent_of(column))
        )
        return is_absent

    def texts(self, name: str) -> Sequence[str]:
        """What the codes of a text column stand for."""
        return self.labels.get(name, ())

    def text(self, name: str, row: int) -> str:
        """The text of one cell, "" where it is absent."""
        code = int(self.values(name)[row]) if name in self.arrays else NO_ID
        return self.labels[name][code] if code >= 0 else ""

    def column(self, name: str) -> Column:
        """A column as tables and reports take it."""
        described = self.columns.get(name) or BY_NAME[name]
        absent = self.is_absent(name)
        return Column(
            name=name,
            kind="text" if described.kind == "text" else "float" if described.kind == "number" else "int",
            values=self.values(name),
            labels=self.texts(name) if described.kind == "text" else None,
            absent=absent if absent.any() else None,
            unit=described.unit,
        )


class OperatorReader:
    """Reads tables as they come: begin a file, feed its bytes as it grows, look at the table in between.

    columns: names to keep (those of `SCHEMA`, or of further columns), None for all. Half a line waits for its
    rest; where the bytes are cut makes no difference.
    """

    def __init__(self, columns: Collection[str] | None = None, *, max_rows: int = MAX_ROWS) -> None:
        self._store = ColumnStore(columns, max_rows)
        self._files: list[str] = []
        self._encodings: list[str] = []
        self._problems: list[Problem] = []
        self._n_dropped = 0
        self._left_out: dict[str, None] = {}
        self._open: _OpenFile | None = None
        self.is_full = False

    @property
    def n_rows(self) -> int:
        return self._store.n_rows

    @property
    def has_header(self) -> bool:
        """Whether the header of the file that is open was seen, or of one before it."""
        return self._open is None or self._open.rows.layout is not None or len(self._files) > 1

    @property
    def has_rest(self) -> bool:
        """Whether the file that is open ends inside a row, as far as it was fed."""
        return self._open is not None and (self._open.bytes.has_rest or self._open.rows.is_holding)

    @property
    def file_problems(self) -> tuple[Problem, ...]:
        """Problems so far but for cells that were not read."""
        opened = self._open
        return (*self._problems, *(self._problems_of(opened) if opened is not None else ()))

    @property
    def unread(self) -> dict[str, tuple[int, str, Problem]]:
        """Column -> how many of its cells were not read, the first of them, and what is told of it."""
        left_out = set(self._store.left_out())
        cells = {name: one for name, one in self._store.unread.items() if name not in left_out}
        told = self._store.unread_problems(self._files, cells)
        return {
            name: (one.n, repr(one.text), problem)
            for (name, one), problem in zip(cells.items(), told, strict=True)
        }

    def begin(self, artifact: str, device: int = NO_ID) -> None:
        """A file begins; one before it ends. device: of its rows, if the file has no such column."""
        self.end()
        self._store.begin_file()
        notes = LineNotes(artifact)
        self._files.append(artifact)
        self._open = _OpenFile(notes, TableBytes(), RowSplitter(notes), device)

    def feed(self, raw: bytes) -> int:
        """More bytes of the file. Returns how many rows the table has now. Raises InputError: no table."""
        if self._open is not None and not self.is_full:
            for lines in self._open.bytes.add(raw):
                self._take(self._open, lines)
        return self.n_rows

    def note(self, kind: str, message: str) -> None:
        """A problem of the whole file, e.g. that the rest of it was not read."""
        if self._open is not None:
            self._open.notes.add(kind, message, None, is_last=True)

    def leave_out(self, artifact: str, kind: str, message: str) -> None:
        """A file that is not read, and why; one that was begun ends here."""
        if self._open is None or self._open.notes.artifact != artifact:
            self.begin(artifact)
        self.note(kind, message)
        self.end(is_whole=False)

    def end(self, *, is_whole: bool = True) -> None:
        """The file has no more bytes: a line without an end may be cut. not is_whole: there are more."""
        opened = self._open
        if opened is None:
            return
        if is_whole and not self.is_full:
            for lines in opened.bytes.add(b"", is_last=True):
                self._take(opened, lines)
            self._take(opened, None)
            if opened.rows.layout is None:
                raise InputError("the file is empty", path=opened.notes.artifact, hint=_HINT)
        self._open = None
        self._encodings.append(opened.bytes.encoding)
        self._n_dropped += opened.rows.n_dropped
        self._problems += self._problems_of(opened)

    def table(self, since: int = 0) -> OperatorTable:
        """The rows so far, from row `since` on; codes of texts are the same in all of them.

        Costs a copy of those rows; `finish` does not.
        """
        return self._table(since, is_last=False)

    def let_go(self, n: int) -> OperatorTable:
        """The first n rows, which are not kept any more. Costs a copy of all rows."""
        first = self.table().taken(np.arange(n))
        self._store.drop(n)
        return first

    def finish(self) -> OperatorTable:
        """Ends the file, and gives the columns away: nothing can be fed any more."""
        self.end()
        return self._table(0, is_last=True)

    def _take(self, opened: _OpenFile, lines: Lines | None) -> None:
        """Rows of whole lines into the columns; None: what still waits for more lines."""
        if self.is_full:
            return
        rows = opened.rows
        try:
            grids = rows.finish() if lines is None else rows.split(lines)
        except NoHeaderError as error:
            raise InputError(str(error), path=opened.notes.artifact, line=error.line, hint=_HINT) from error
        try:
            for grid in grids:
                self._left_out.update(dict.fromkeys(grid.layout.unnamed))
                self._store.add(grid, len(self._files) - 1, opened.device)
        except LimitError as limit:
            self.is_full = True
            opened.notes.add("limit", f"reading stopped here: {limit}", limit.line, is_last=True)

    def _problems_of(self, opened: _OpenFile) -> list[Problem]:
        return [*opened.notes.close(), *opened.bytes.problems(opened.notes.artifact)]

    def _table(self, since: int, *, is_last: bool) -> OperatorTable:
        store = self._store
        left_out = store.left_out()
        columns, arrays, labels = store.taken(since, is_last=is_last)
        unread = {name: cells for name, cells in store.unread.items() if name in columns}
        opened = self._open
        problems = [*self.file_problems, *store.unread_problems(self._files, unread)]
        encodings = [*self._encodings, *([opened.bytes.encoding] if opened is not None else ())]
        return OperatorTable(
            files=tuple(self._files),
            file=store.file.taken(since, store.n_rows, is_last=is_last),
            line=store.line.taken(since, store.n_rows, is_last=is_last),
            columns=columns,
            arrays=arrays,
            labels=labels,
            encodings=tuple(encodings),
            left_out=tuple(dict.fromkeys([*self._left_out, *left_out])),
            n_dropped=self._n_dropped + (opened.rows.n_dropped if opened is not None else 0),
            n_unread=sum(cells.n for cells in unread.values()),
            problems=tuple(problems),
        )


@dataclass(slots=True)
class _OpenFile:
    """The file that is read just now."""

    notes: LineNotes
    bytes: TableBytes
    rows: RowSplitter
    device: int


def read_operators(
    paths: Path | Sequence[Path],
    *,
    root: Path | None = None,
    columns: Collection[str] | None = None,
    max_rows: int = MAX_ROWS,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> OperatorTable:
    """The rows of an op_summary or kernel_details table, or of several (slices, devices) one after another.

    columns: names to keep; few of them are much faster and smaller than all. Problems: rows of another length
    than the header, a quote that is not closed, a header that stands there again, a last line without an end
    (all left out and counted); cells that cannot be read (absent and counted); lines in no known encoding;
    what lies behind `max_rows` rows or 8 GB; of several files those that cannot be used.
    Raises InputError (no such table, or none of them; `root`: a link leads out of it) and Cancelled.
    Cost: linear in the bytes; a million rows (350 MB) take about 1.1 s of CPU and 90 MB for four columns, 5 s
    and 380 MB for all of them.
    """
    listed = [paths] if isinstance(paths, Path) else list(paths)
    reader = OperatorReader(columns, max_rows=max_rows)
    failed: list[InputError] = []
    for path in listed:
        if reader.is_full:
            reader.leave_out(shown_path(path, root), "limit", f"not read: {max_rows:,} rows are before it")
            continue
        try:
            _read_file(reader, path, root, None, progress, is_cancelled)
        except InputError as error:
            if len(listed) == 1:
                raise
            failed.append(error)
            reader.leave_out(shown_path(path, root), "unreadable", error.message)
    if failed and len(failed) == len(listed):
        raise failed[0]
    return reader.finish()


def first_rows(
    path: Path, n: int, *, root: Path | None = None, columns: Collection[str] | None = None
) -> OperatorTable:
    """The first n rows of a file at once, whatever its size. Raises InputError as `read_operators` does.

    Nothing is said of the rest of it.
    """
    reader = OperatorReader(columns, max_rows=n)
    _read_file(reader, path, root, n, ignore_progress, never_cancelled)
    table = reader.finish()
    problems = tuple(problem for problem in table.problems if problem.kind != "limit")
    return replace(table, problems=problems)


def _read_file(
    reader: OperatorReader,
    path: Path,
    root: Path | None,
    n_wanted: int | None,
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
) -> None:
    """The bytes of a file into the reader: all, or what the wanted rows take."""
    file, size_bytes = open_input(path, root)
    reader.begin(shown_path(path, root), device_of(path))
    block_bytes = BLOCK_BYTES if n_wanted is None else _FIRST_BLOCK_BYTES
    n_read = 0
    is_whole = False
    try:
        with file:
            while not reader.is_full and (n_wanted is None or reader.n_rows < n_wanted):
                check(is_cancelled)
                raw = file.read(block_bytes) or b""
                n_read += len(raw)
                is_whole = not raw
                if n_read > MAX_FILE_BYTES:
                    reader.note("limit", f"only the first {MAX_FILE_BYTES:,} bytes were read")
                if is_whole or n_read > MAX_FILE_BYTES:
                    break
                reader.feed(raw)
                progress(Progress("read", min(n_read, size_bytes), size_bytes, "bytes"))
        reader.end(is_whole=is_whole)
    except OSError as error:
        reader.note("unreadable", f"reading failed: {error.strerror}")
        reader.end(is_whole=False)
    except InputError as error:
        raise InputError(error.message, path=path, line=error.line, hint=error.hint) from error
