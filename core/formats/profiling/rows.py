"""Whole lines of a table -> where the cells of each row stand. Rows that cannot be used are named and left
out.

Lines that are as they should be (nearly all) are taken apart by arrays, a block at once; a block with
anything else in it goes line by line, with the same result.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..line_tables import NoHeaderError
from ..text_lines import LineNotes
from .cells import Bytes, Places
from .columns import NO_PLACE, Layout, layout_of
from .table_bytes import Lines

MAX_RECORD_LINES = 64
MAX_RECORD_BYTES = 1 << 18
_NO_HEADER = "this is no operator table: no header with a name and a duration"


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows under one header.

    raw: their text. buffer: the same as uint8. seps int64 (n rows, n columns): the comma or line end behind
    each cell. lines int64: from 1, the first one of a row.
    """

    layout: Layout
    raw: bytes
    buffer: Bytes
    seps: Places
    lines: Places

    def starts(self, place: int) -> Places:
        """Where the cells of a column begin, quotes and blanks in them."""
        if place:
            before: Places = self.seps[:, place - 1] + 1
            return before
        starts = np.zeros(len(self.lines), np.int64)
        starts[1:] = self.seps[:-1, -1] + 1
        return starts

    def ends(self, place: int) -> Places:
        """Where they end (not included); the carriage return of a line is no part of its last cell."""
        ends: Places = self.seps[:, place]
        if place < self.layout.n_columns - 1:
            return ends
        has_return = (self.buffer[ends - 1] == 13) & (ends > self.starts(place))
        ends = ends - has_return
        return ends

    def cell(self, place: int, row: int) -> bytes:
        """One cell as it stands in the file."""
        return self.raw[int(self.starts(place)[row]) : int(self.ends(place)[row])]

    def head(self, n: int) -> Grid:
        """The first n rows."""
        return Grid(self.layout, self.raw, self.buffer, self.seps[:n], self.lines[:n])


@dataclass(slots=True)
class RowSplitter:
    """Takes blocks of lines in their order. layout: None until the header was seen.

    layout_of: what a first row says as a header, None if it is none; no_header: what is said then.
    max_record_lines: over how many lines a cell may go. n_uneven: rows that were used though they have not
    all cells of the header, or more.
    """

    notes: LineNotes
    layout: Layout | None = None
    n_dropped: int = 0
    layout_of: Callable[[Sequence[str]], Layout | None] = layout_of
    no_header: str = _NO_HEADER
    max_record_lines: int = MAX_RECORD_LINES
    n_uneven: int = 0
    _header: bytes = b""
    _held: list[bytes] = field(default_factory=list)
    _held_first: int = 0

    @property
    def is_holding(self) -> bool:
        """True while lines wait for more of them."""
        return bool(self._held)

    def split(self, lines: Lines) -> list[Grid]:
        """The rows of a block; those of a cell that goes over several lines once it is whole.

        Raises NoHeaderError.
        """
        raw, first, n_lines = lines.raw, lines.first, lines.n_lines
        if lines.is_unfinished:
            return self._end(lines)
        if self._held:
            raw, first = b"\n".join([*self._held, raw]), self._held_first
            n_lines += len(self._held)
            self._held = []
        if self.layout is None:
            raw, after = self._after_header(raw, first)
            n_lines -= after - first
            first = after
        if self.layout is None or not raw:
            return []
        grid = _grid_of(self.layout, raw, np.arange(first, first + n_lines, dtype=np.int64))
        if grid is not None and not self._may_hold_header(grid):
            return [grid]
        return self._line_by_line(raw.split(b"\n")[:-1], first, is_last=False)

    def finish(self) -> list[Grid]:
        """What was held for more lines that did not come."""
        held, self._held = self._held, []
        return self._line_by_line(held, self._held_first, is_last=True) if held else []

    def _end(self, lines: Lines) -> list[Grid]:
        """The file ends inside a line: it may be cut in a number, which would look whole."""
        grids = self.finish()
        if self.layout is None:
            self._after_header(lines.raw, lines.first)
            self.notes.add("cut-off", "the file ends in its header", lines.first, is_last=True)
        elif lines.raw.strip():
            message = "the last line has no end: its row may be cut and was left out"
            self.n_dropped += 1
            self.notes.add("cut-off", message, lines.first, is_last=True)
        return grids

    def _after_header(self, raw: bytes, first: int) -> tuple[bytes, int]:
        """What stands behind the header, with its first line; nothing while all lines are blank."""
        start = 0
        while (end := raw.find(b"\n", start)) >= 0:
            if (line := raw[start:end]).strip(b" \t\r,"):
                self._header = _bare(line)
                cells = _csv_cells(line.removesuffix(b"\r"))
                self.layout = None if cells is None else self.layout_of(cells)
                if self.layout is None:
                    raise NoHeaderError(self.no_header, first)
                return raw[end + 1 :], first + 1
            first += 1
            start = end + 1
        return b"", first

    def _line_by_line(self, lines: list[bytes], first: int, *, is_last: bool) -> list[Grid]:
        """The same for any lines; with `is_last` nothing is held for more of them."""
        grids: list[Grid] = []
        kept: list[bytes] = []
        numbers: list[int] = []
        at = 0
        while at < len(lines):
            line, number = lines[at], first + at
            if not line:
                at += 1
                continue
            assert self.layout is not None
            if (layout := self._repeated(line)) is not None:
                self._close(grids, kept, numbers)
                self._drop("bad-record", "a header stands here again: tables were put together", number)
                self.layout = layout
                at += 1
                continue
            n_used = 1
            if line.count(b'"') % 2:
                n_used = _n_lines_of(lines, at, self.max_record_lines)
                if not n_used and not is_last and _may_go_on(lines, at, self.max_record_lines):
                    self._held, self._held_first = lines[at:], number
                    break
                line = b" ".join(part.removesuffix(b"\r") for part in lines[at : at + n_used])
            row, n_cells = row_of(line, self.layout) if n_used else (None, 0)
            if row is not None:
                self._note_uneven(n_cells, number)
                kept.append(row)
                numbers.append(number)
            elif n_used > 1 or not n_used:
                n_used = 1  # whatever follows is a row of its own
                self._drop("bad-record", "a quote is not closed", number)
            elif line.strip(b" \t\r"):
                message = f"the row has {n_cells:,} cells, the header {self.layout.n_columns:,}"
                self._drop("bad-record", message, number)
            at += n_used
        self._close(grids, kept, numbers)
        return grids

    def _may_hold_header(self, grid: Grid) -> bool:
        if grid.layout.duration == NO_PLACE:
            return self._header in grid.raw
        return _may_hold_word(grid)

    def _note_uneven(self, n_cells: int, line: int) -> None:
        """Tell of a row that is used though it has not as many cells as the header."""
        assert self.layout is not None
        if self.layout.n_named <= n_cells <= self.layout.n_columns:
            return
        self.n_uneven += 1
        is_short = n_cells < self.layout.n_columns
        what = "what is missing is absent" if is_short else "the cells behind it were left out"
        message = f"the row has {n_cells:,} cells, the header {self.layout.n_columns:,}: {what}"
        self.notes.add("bad-record", message, line)

    def _repeated(self, line: bytes) -> Layout | None:
        """The layout of a line that is a header; a row whose name reads like one is none."""
        assert self.layout is not None
        if self.layout.duration == NO_PLACE:
            return self.layout if _bare(line) == self._header else None
        if b"uration" not in line.lower():
            return None
        cells = _csv_cells(line.removesuffix(b"\r"))
        layout = None if cells is None else self.layout_of(cells)
        assert cells is not None or layout is None
        if layout is None or cells is None or len(cells) != self.layout.n_columns:
            return layout
        return layout if cells[self.layout.duration].strip()[:1].isalpha() else None

    def _close(self, grids: list[Grid], kept: list[bytes], numbers: list[int]) -> None:
        """The rows so far as a grid of their own."""
        if not kept:
            return
        assert self.layout is not None
        raw = b"\n".join([*kept, b""])
        grid = _grid_of(self.layout, raw, np.array(numbers, np.int64))
        assert grid is not None, "every kept row was looked at"
        grids.append(grid)
        kept.clear()
        numbers.clear()

    def _drop(self, kind: str, message: str, line: int) -> None:
        self.n_dropped += 1
        self.notes.add(kind, message, line)


def _grid_of(layout: Layout, raw: bytes, lines: Places) -> Grid | None:
    """The cells of a block; None if a line in it does not have as many as the header."""
    n_rows, n_columns = len(lines), layout.n_columns
    buffer = np.frombuffer(raw, np.uint8)
    is_sep = buffer == 44
    is_sep |= buffer == 10
    if b'"' in raw:
        is_quote = buffer == 34
        places = np.flatnonzero(is_sep | is_quote)
        is_quote = is_quote[places]
        n_before = np.cumsum(is_quote, dtype=np.int32)
        n_before &= 1
        is_outside = n_before == 0
        is_outside &= ~is_quote
        seps = places[is_outside]
    else:
        seps = np.flatnonzero(is_sep)
    if len(seps) != n_rows * n_columns:
        return None
    seps = seps.reshape(n_rows, n_columns)
    # as many line ends as lines, each behind its last cell: so none is elsewhere, nor inside quotes
    return Grid(layout, raw, buffer, seps, lines) if (buffer[seps[:, -1]] == 10).all() else None


def _may_hold_word(grid: Grid) -> bool:
    """True if some row has a word where its duration should be, other than N/A."""
    buffer, at = grid.buffer, grid.starts(grid.layout.duration)
    width = grid.ends(grid.layout.duration) - at
    first = buffer[at]
    is_blank = (first == 34) | (first == 32) | (first == 9)
    if is_blank.any():
        first = np.where(is_blank, buffer[np.minimum(at + 1, len(buffer) - 1)], first)
    is_word = (first >= 65) & (width > 0)
    rows = np.flatnonzero(is_word)
    if not len(rows):
        return False
    at = at[rows]
    return not ((width[rows] == 3) & (buffer[at] == 78) & (buffer[at + 1] == 47)).all()


def _bare(line: bytes) -> bytes:
    """A header as it is told again: without what may stand around it in one place and not in another."""
    return line.removeprefix(codecs.BOM_UTF8).strip(b" \t\r,")


def _csv_cells(line: bytes) -> list[str] | None:
    try:
        rows = list(csv.reader([line.decode("utf-8", "replace")]))
    except csv.Error:  # a bare carriage return, a NUL, a cell of more than 128 KB
        return None
    return rows[0] if len(rows) == 1 else None


def _n_lines_of(lines: list[bytes], at: int, most: int) -> int:
    """How many lines it takes from `at` on to close the quote that is open there; 0 if that is not seen."""
    n_quotes = n_bytes = 0
    for i in range(at, min(at + most, len(lines))):
        n_quotes += lines[i].count(b'"')
        n_bytes += len(lines[i])
        if n_bytes > MAX_RECORD_BYTES:
            return 0
        if n_quotes % 2 == 0:
            return i - at + 1
    return 0


def _may_go_on(lines: list[bytes], at: int, most: int) -> bool:
    """True if more lines could still close the quote that is open at the end of these."""
    return len(lines) - at < most and sum(map(len, lines[at:])) <= MAX_RECORD_BYTES


def row_of(line: bytes, layout: Layout) -> tuple[bytes | None, int]:
    """The line as one that quotes take apart as they should, and how many cells it has.

    None: it has not as many as the layout wants. Empty cells behind the header count where no others are
    wanted, else they are cut away.
    """
    n_columns, least = layout.n_columns, layout.n_least or layout.n_columns
    parts = line.split(b'"')
    n_outside = sum(part.count(b",") for part in parts[::2])
    is_plain = len(parts) % 2 == 1
    if is_plain and n_outside == n_columns - 1:
        return line, n_columns
    if is_plain and least <= n_outside + 1 < n_columns:
        return line.removesuffix(b"\r") + b"," * (n_columns - 1 - n_outside), n_outside + 1
    if is_plain and layout.n_least and (n_more := n_outside - n_columns + 1) > 0:
        bare = line.removesuffix(b"\r")
        if bare.endswith(b"," * n_more):
            return bare[:-n_more], n_columns
    cells = _csv_cells(line.removesuffix(b"\r"))
    if cells is None:
        return None, n_outside + 1
    n_cells = len(cells)
    if layout.n_least and n_cells > n_columns:
        while n_cells > n_columns and not cells[n_cells - 1].strip():
            n_cells -= 1
        if n_cells == n_columns or layout.is_cut:
            cells = cells[:n_columns]
    elif least <= n_cells < n_columns:
        cells += [""] * (n_columns - n_cells)
    if len(cells) != n_columns:
        return None, n_cells
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="").writerow(cells)
    return text.getvalue().replace("\n", " ").encode("utf-8", "replace"), n_cells
