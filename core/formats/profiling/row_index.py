"""Where every row of an operator table begins, so that any of them is shown without reading the table.

One pass finds line ends and quotes, nothing is taken apart: eight bytes a row are kept. A row is read when
somebody looks at it, by the reader of whole tables, so that both say the same of it.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from ...errors import InputError
from ...files import open_input, shown_path
from ...findings import Problem
from ...progress import IsCancelled, Progress, ProgressCallback, check, ignore_progress, never_cancelled
from ..encodings import without_mark
from .columns import Layout, layout_of
from .operator_columns import Growing
from .operator_files import device_of
from .operators import MAX_FILE_BYTES, MAX_ROWS, OperatorReader, OperatorTable
from .rows import MAX_RECORD_BYTES, MAX_RECORD_LINES, row_of
from .table_bytes import MAX_LINE_BYTES

__all__ = ["RowIndex", "index_rows"]

MOST_ROWS_AT_ONCE = 100_000
_BLOCK_BYTES = 1 << 19
_SPAN_BYTES = 1 << 23
"""Rows that lie within so many bytes are read at once, others one by one."""
_HINT = "name an op_summary_*.csv or kernel_details.csv"
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RowIndex:
    """The rows of one file. A row is a line that is long enough to be one, or the lines of an open quote.

    starts int64 (rows + 1): byte at which each begins; the last one is where the last row ends. lines int64:
    from 1, None where row i is line `first_line` + i. state: of the file when it was
    read: size, both times of change, inode, device; the first time can be set to what it was.
    n_passed_over: lines that are no rows (too short or long, a header again, a quote that is not closed).
    problems: what is not in the index at all.
    """

    path: Path
    root: Path | None
    header: bytes
    layout: Layout
    starts: Integers
    first_line: int
    lines: Integers | None
    state: tuple[int, ...]
    n_passed_over: int = 0
    problems: tuple[Problem, ...] = ()

    @property
    def n_rows(self) -> int:
        return len(self.starts) - 1

    def line(self, row: int) -> int:
        """The line of the file on which a row begins, from 1."""
        return self.first_line + row if self.lines is None else int(self.lines[row])

    def rows(self, first: int, n: int, columns: Collection[str] | None = None) -> OperatorTable:
        """Up to n rows (at most 100,000) from `first` on, as `read_operators` gives them: those that it
        leaves out are not there, `line` tells the others apart. columns: names to keep, None for all.

        Costs what these rows have in bytes, whatever the file has. Raises InputError where the file is
        another one by now.
        """
        last = min(first + min(max(n, 0), MOST_ROWS_AT_ONCE), self.n_rows)
        file, _ = open_input(self.path, self.root)
        reader = OperatorReader(columns)
        reader.begin(shown_path(self.path, self.root), device_of(self.path))
        reader.feed(self.header + b"\n")
        numbers: list[int] = []
        with file:
            if _state(file) != self.state:
                raise InputError("the file has changed since it was opened", path=self.path)
            for line, start, stop in self._spans(first, last):
                raw = _all_of(file, start, stop)
                numbers += range(line, line + raw.count(b"\n"))
                reader.feed(raw)
        table = reader.finish()
        at = np.array([0, self.first_line - 1, *numbers], np.int64)  # of what was fed, the header in front
        return replace(
            table,
            line=at[table.line],
            problems=tuple(
                one if one.line is None else replace(one, line=int(at[one.line])) for one in table.problems
            ),
        )

    def _spans(self, first: int, last: int) -> Iterator[tuple[int, int, int]]:
        """Line, first byte and end of what is read for rows from first to last (not included)."""
        if first >= last:
            return
        if int(self.starts[last] - self.starts[first]) <= _SPAN_BYTES:
            yield self.line(first), int(self.starts[first]), int(self.starts[last])
            return
        for row in range(first, last):  # what is passed over between them may be long
            start = int(self.starts[row])
            yield (
                self.line(row),
                start,
                min(int(self.starts[row + 1]), start + MAX_LINE_BYTES + 1),
            )


def index_rows(
    path: Path,
    *,
    root: Path | None = None,
    max_rows: int = MAX_ROWS,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> RowIndex:
    """Where the rows of an op_summary or kernel_details table begin.

    Problems: what lies behind `max_rows` rows or 8 GB, a last line without an end. Raises InputError (no such
    table, UTF-16, tables with other columns one behind the other; `root`: a link leads out of it), Cancelled.
    Cost: about that of counting lines, and of each row that goes over several lines; 8 bytes a row.
    """
    file, size_bytes = open_input(path, root)
    with file:
        try:
            state = _state(file)
            header, layout, start, line = _header_of(file, path)
            found = _Lines(layout, header, start, line)
            is_cut = _read(found, file, min(size_bytes, MAX_FILE_BYTES), max_rows, progress, is_cancelled)
            starts, lines = found.rows(file, is_cancelled)
        except OSError as error:
            raise InputError(f"reading failed: {error.strerror}", path=path) from error
    problems = []
    artifact = shown_path(path, root)
    if is_cut:
        message = "the last line has no end: its row may be cut and was left out"
        problems.append(Problem(artifact, "cut-off", message, line=line + found.n))
    if len(starts) - 1 > max_rows or found.n >= found.most:
        starts, lines = starts[: max_rows + 1], lines if lines is None else lines[:max_rows]
        problems.append(Problem(artifact, "limit", f"only the first {max_rows:,} rows can be looked at"))
    elif size_bytes > MAX_FILE_BYTES:
        problems.append(
            Problem(artifact, "limit", f"only the first {MAX_FILE_BYTES:,} bytes can be looked at")
        )
    return RowIndex(
        path, root, header, layout, starts, line, lines, state,
        n_passed_over=found.n_passed_over, problems=tuple(problems),
    )  # fmt: skip


def _state(file: BinaryIO) -> tuple[int, ...]:
    status = os.fstat(file.fileno())
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev


@dataclass(slots=True)
class _Lines:
    """Lines behind the header as they are found. starts: the first byte of each. odd: those that leave a
    quote open, or close it. aside: those that are no rows by themselves."""

    layout: Layout
    header: bytes
    end: int
    first: int
    n: int = 0
    most: int = 0
    n_passed_over: int = 0
    starts: Growing = field(default_factory=lambda: Growing(np.int64, -1))
    odd: list[Integers] = field(default_factory=list)
    aside: list[Integers] = field(default_factory=list)

    def add(self, buffer: npt.NDArray[np.uint8], raw: memoryview, room: npt.NDArray[np.bool_]) -> int:
        """The whole lines of a block, which begins with a line; returns the bytes that they have. room (2, as
        many or more): for what is found, so that no block has to ask for memory."""
        is_mark, is_quote = room[0, : len(buffer)], room[1, : len(buffer)]
        np.equal(buffer, 10, out=is_mark)
        np.equal(buffer, 34, out=is_quote)
        is_mark |= is_quote
        marks = np.flatnonzero(is_mark)
        at = np.flatnonzero(buffer[marks] == 10)
        if not len(at):
            return 0
        ends = marks[at]
        starts = np.empty(len(ends) + 1, np.int64)
        starts[0], starts[1:] = 0, ends + 1
        lengths = ends - starts[:-1]
        n_quotes = at.copy()
        n_quotes[1:] -= at[:-1] + 1
        is_odd = (n_quotes & 1).astype(np.bool_)
        if is_odd.any():
            self.odd.append(np.flatnonzero(is_odd) + self.n)
        is_none = (lengths < self.layout.n_columns - 1) | (lengths > MAX_LINE_BYTES)
        for line in self._like_header(buffer, starts[:-1], lengths).tolist():
            text = bytes(raw[starts[line] : ends[line]])
            if _bare(text) == _bare(self.header):
                is_none[line] = True
            elif _layout(text) is not None:
                raise InputError("tables with other columns follow in this file", line=self.first + self.n)
        if is_none.any():
            self.aside.append(np.flatnonzero(is_none) + self.n)
        self.starts.add(starts[:-1] + self.end, self.n)
        self.n += len(ends)
        n_bytes = int(starts[-1])
        self.end += n_bytes
        return n_bytes

    def _like_header(
        self, buffer: npt.NDArray[np.uint8], starts: Integers, lengths: Integers
    ) -> npt.NDArray[np.intp]:
        """Lines that begin as the header does."""
        found = np.flatnonzero(lengths >= 4)
        for i, letter in enumerate(self.header[:4]):
            found = found[buffer[starts[found] + i] == letter]
        return found

    def skip(self, n_bytes: int) -> None:
        """A line that is too long to be looked at, with its end."""
        self.starts.add([self.end], self.n)
        self.aside.append(np.array([self.n]))
        self.n += 1
        self.end += n_bytes

    def _is_row(self, file: io.FileIO, starts: Integers, line: int, last: int) -> bool:
        """Whether the lines from one that opens a quote to the next that may close it are one row."""
        n = last - line + 1
        if last >= self.n or n > MAX_RECORD_LINES:
            return False
        if int(starts[last + 1] - starts[line]) - n > MAX_RECORD_BYTES:
            return False
        parts = _all_of(file, int(starts[line]), int(starts[last + 1]) - 1).split(b"\n")
        return row_of(b" ".join(part.removesuffix(b"\r") for part in parts), self.layout)[0] is not None

    def rows(self, file: io.FileIO, is_cancelled: IsCancelled) -> tuple[Integers, Integers | None]:
        """Where rows begin, and where the last one ends; their lines where some line is none of its own."""
        self.starts.add([self.end], self.n)
        starts: Integers = self.starts.taken(0, self.n + 1, is_last=True)
        if not self.odd and not self.aside:
            return starts, None
        is_row = np.ones(self.n, np.bool_)
        for lines in self.aside:
            is_row[lines] = False
        odd = np.concatenate(self.odd).tolist() if self.odd else []
        n_inside = at = 0
        while at < len(odd):
            if at % 1000 == 0:
                check(is_cancelled)
            line = odd[at]
            last = odd[at + 1] if at + 1 < len(odd) else self.n
            is_row[line] = self._is_row(file, starts, line, last)
            if is_row[line]:
                is_row[line + 1 : last + 1] = False
                n_inside += last - line
                at += 1
            at += 1
        kept = np.flatnonzero(is_row)
        self.n_passed_over = self.n - len(kept) - n_inside
        return np.append(starts[kept], starts[-1]), kept + self.first


def _read(
    found: _Lines,
    file: io.FileIO,
    n_bytes: int,
    max_rows: int,
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
) -> bool:
    """All lines of the file; True where the last one has no end."""
    block = bytearray(_BLOCK_BYTES + MAX_LINE_BYTES)
    raw, buffer = memoryview(block), np.frombuffer(block, np.uint8)
    room = np.empty((2, len(block)), np.bool_)
    found.most = 2 * max_rows + MAX_RECORD_LINES
    file.seek(found.end)
    held = n_skipped = 0
    n_read = found.end
    while n_read < n_bytes and found.n < found.most:
        check(is_cancelled)
        n_new = file.readinto(raw[held : held + min(_BLOCK_BYTES, n_bytes - n_read)]) or 0
        if not n_new:
            break
        n_read += n_new
        progress(Progress("read", n_read, n_bytes, "bytes"))
        n_there, start = held + n_new, 0
        if n_skipped:
            at = block.find(b"\n", 0, n_there) + 1
            if not at:
                n_skipped, held = n_skipped + n_there, 0
                continue
            found.skip(n_skipped + at)
            n_skipped, start = 0, at
        start += found.add(buffer[start:n_there], raw[start:n_there], room)
        held = n_there - start
        raw[:held] = bytes(raw[start:n_there])
        if held > MAX_LINE_BYTES:
            n_skipped, held = held, 0
    return bool(held or n_skipped) and n_read >= n_bytes


def _header_of(file: io.FileIO, path: Path) -> tuple[bytes, Layout, int, int]:
    """Header, what it says, the byte behind it and the number of the first line there."""
    head = _all_of(file, 0, MAX_LINE_BYTES)
    text, encoding = without_mark(head)
    if encoding.startswith("utf-16"):
        raise InputError("a table in UTF-16 has no index: it is read as a whole", path=path, hint=_HINT)
    start, line = len(head) - len(text), 1
    while (end := head.find(b"\n", start)) >= 0:
        header = head[start:end].removesuffix(b"\r")
        if header.strip(b" \t\r,"):
            layout = _layout(header)
            if layout is None:
                break
            return header, layout, end + 1, line + 1
        start, line = end + 1, line + 1
    raise InputError(
        "this is no operator table: no header with a name and a duration", path=path, line=line, hint=_HINT
    )


def _layout(line: bytes) -> Layout | None:
    try:
        rows = list(csv.reader([line.removesuffix(b"\r").decode("utf-8", "replace")]))
    except csv.Error:
        return None
    return layout_of(rows[0]) if len(rows) == 1 else None


def _bare(line: bytes) -> bytes:
    return line.strip(b" \t\r,")


def _all_of(file: io.FileIO, start: int, stop: int) -> bytes:
    """The bytes from start to stop, fewer where the file ends before."""
    parts = []
    while start < stop and (part := os.pread(file.fileno(), stop - start, start)):
        parts.append(part)
        start += len(part)
    return b"".join(parts)
