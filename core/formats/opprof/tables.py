"""Tables that msOpProf writes of a kernel on a card: a comma ends every row, nothing is quoted, NA is absent.

Columns are found by name, so the sets of all chips (A2/A3, 310P without blocks, 950) are read the same way.
"""

from __future__ import annotations

import math
from dataclasses import field
from pathlib import Path

import numpy as np

from npulse.core.dataclass import dataclass

from ...errors import InputError
from ...files import shown_path
from ...findings import Problem
from ...progress import IsCancelled, never_cancelled
from ...text import safe_text
from ..line_tables import LimitError, NoHeaderError, fill
from ..text_lines import LineNotes, line_blocks
from .cells import NotANumberError, name_and_unit, number_of, whole_of
from .records import NO_BLOCK, BlockTable, Metric

MAX_TABLE_BYTES = 64 << 20
MAX_ROWS = 200_000
MAX_COLUMNS = 512
_MAX_NAME = 120
_HINT = "msOpProf writes it: msopprof --output=DIR APP"
_BLOCK_COLUMNS = ("block_id", "sub_block_id")
_BASIC_COLUMNS = {
    "op name": "name",
    "op type": "op_type",
    "task duration": "duration_us",
    "block dim": "block_dim",
    "block num": "block_dim",
    "mix block dim": "mix_block_dim",
    "mix block num": "mix_block_dim",
    "device id": "device",
    "pid": "pid",
    "current freq": "frequency_mhz",
    "rated freq": "rated_mhz",
    "run soc version": "soc",
}
_TEXTS = ("name", "op_type", "soc")
_NUMBERS = ("duration_us", "frequency_mhz", "rated_mhz")
_MAX_TEXT_BYTES = 1 << 20


@dataclass(slots=True)
class Basic:
    """OpBasicInfo.csv or op_basic_info.txt: what each of them says, None where it does not."""

    name: str | None = None
    op_type: str | None = None
    soc: str | None = None
    duration_us: float | None = None
    block_dim: int | None = None
    mix_block_dim: int | None = None
    device: int | None = None
    pid: int | None = None
    frequency_mhz: float | None = None
    rated_mhz: float | None = None

    def put(self, column: str, text: str) -> None:
        """Fill in one value. Raises NotANumberError."""
        if column in _TEXTS:
            setattr(self, column, safe_text(text.strip(), 512) or None)
        elif column in _NUMBERS:
            value = number_of(text)
            setattr(self, column, None if math.isnan(value) else value)
        else:
            setattr(self, column, whole_of(text))


def split_row(line: str) -> list[str]:
    """The cells of a row; the comma at its end makes none."""
    cells = line.split(",")
    if len(cells) > 1 and not cells[-1].strip():
        cells.pop()
    return cells


@dataclass(slots=True)
class _Metrics:
    """Rows of one table of metrics, as `line_tables.fill` gives them."""

    notes: LineNotes
    name: str
    has_header: bool = False
    headers: list[str] = field(default_factory=list)
    block: int = -1
    core: int = -1
    lines: list[int] = field(default_factory=list)
    block_ids: list[int] = field(default_factory=list)
    cores: list[str] = field(default_factory=list)
    rows: list[list[float]] = field(default_factory=list)
    n_dropped: int = 0

    def add_lines(self, first: int, lines: list[str]) -> None:
        for number, line in enumerate(lines, first):
            if line.strip():
                cells = split_row(line)
                if self.has_header:
                    self._add(cells, number)
                else:
                    self._take_header(cells, number)

    def drop(self, kind: str, message: str, line: int, *, is_last: bool = False) -> None:
        self.n_dropped += 1
        self.notes.add(kind, message, line, is_last=is_last)

    def _take_header(self, cells: list[str], line: int) -> None:
        headers = [safe_text(cell.strip().removeprefix("\ufeff"), _MAX_NAME) for cell in cells]
        lower = [header.lower() for header in headers]
        is_ours = any(name.startswith(("aic_", "aiv_")) for name in lower) or lower[0] == _BLOCK_COLUMNS[0]
        if not is_ours or len(cells) > MAX_COLUMNS:
            raise NoHeaderError(f"this is no table of {self.name}: its columns are not known", line)
        self.headers = headers
        self.block, self.core = (lower.index(name) if name in lower else -1 for name in _BLOCK_COLUMNS)
        self.has_header = True

    def _add(self, cells: list[str], line: int) -> None:
        if len(cells) != len(self.headers):
            self.drop("bad-record", f"{len(cells)} cells where the header has {len(self.headers)}", line)
            return
        if len(self.rows) >= MAX_ROWS:
            raise LimitError(f"a table of more than {MAX_ROWS:,} rows", line)
        values = []
        block = NO_BLOCK
        for i, cell in enumerate(cells):
            if i == self.core:
                continue
            try:
                if i == self.block:
                    found = whole_of(cell)
                    block = NO_BLOCK if found is None else found
                    continue
                values.append(number_of(cell))
            except NotANumberError:
                where = self.headers[i]
                if i == self.block:
                    self.drop("bad-record", f"no number in {where}", line)
                    return
                self.notes.add("bad-record", f"no number in {where}; the cell is left out", line)
                values.append(math.nan)
        self.lines.append(line)
        self.block_ids.append(block)
        self.cores.append(safe_text(cells[self.core].strip(), 32) if self.core >= 0 else "")
        self.rows.append(values)

    def table(self) -> BlockTable:
        places = [i for i in range(len(self.headers)) if i not in (self.block, self.core)]
        columns = np.array(self.rows, np.float64).reshape(len(self.rows), len(places)).T
        metrics: dict[str, Metric] = {}
        for place, values in zip(places, columns, strict=True):
            name, unit, is_estimate = name_and_unit(self.headers[place])
            if name and name not in metrics:
                metrics[name] = Metric(name, self.headers[place], unit, values.copy(), is_estimate)
            elif name:
                self.notes.add("bad-record", f"two columns are called {self.headers[place]}", 1)
        return BlockTable(
            self.name,
            np.array(self.block_ids, np.int64),
            tuple(self.cores),
            metrics,
            np.array(self.lines, np.int64),
        )


def read_block_table(
    path: Path, name: str, *, root: Path | None = None, is_cancelled: IsCancelled = never_cancelled
) -> tuple[BlockTable, tuple[Problem, ...]]:
    """One table of metrics: PipeUtilization and the like.

    Raises InputError: it cannot be opened, is empty, or is no such table.
    """
    notes = LineNotes(shown_path(path, root))
    rows = _Metrics(notes, name)
    blocks = line_blocks(path, notes, root=root, max_bytes=MAX_TABLE_BYTES, is_cancelled=is_cancelled)
    fill(rows, blocks, notes, path, _HINT)
    return rows.table(), notes.close()


@dataclass(slots=True)
class _BasicRows:
    notes: LineNotes
    has_header: bool = False
    columns: list[str] = field(default_factory=list)
    basic: Basic | None = None

    def add_lines(self, first: int, lines: list[str]) -> None:
        for number, line in enumerate(lines, first):
            if not line.strip():
                continue
            if not self.has_header:
                self._take_header(split_row(line), number)
            elif self.basic is None:
                self._add(line, number)
            else:
                self.notes.add("bad-record", "a second row; the first one is used", number)

    def drop(self, kind: str, message: str, line: int, *, is_last: bool = False) -> None:
        self.notes.add(kind, message, line, is_last=is_last)

    def _take_header(self, cells: list[str], line: int) -> None:
        names = [name_and_unit(cell.strip())[0].replace("_", " ") for cell in cells]
        self.columns = [_BASIC_COLUMNS.get(name, "") for name in names]
        if "name" not in self.columns:
            raise NoHeaderError("this is no OpBasicInfo: no column 'Op Name'", line)
        self.has_header = True

    def _add(self, line: str, number: int) -> None:
        cells = split_row(line)
        n_more = len(cells) - len(self.columns)
        if n_more > 0:  # nothing is quoted: the commas are in the name, which may have template arguments
            at = self.columns.index("name")
            cells[at : at + n_more + 1] = [",".join(cells[at : at + n_more + 1])]
        elif n_more < 0:
            self.drop("bad-record", f"{len(cells)} cells where the header has {len(self.columns)}", number)
            return
        self.basic = Basic()
        for column, cell in zip(self.columns, cells, strict=True):
            if column:
                try:
                    self.basic.put(column, cell)
                except NotANumberError:
                    self.notes.add("bad-record", f"no number in the column of {column}", number)


def read_basic_table(path: Path, *, root: Path | None = None) -> tuple[Basic | None, tuple[Problem, ...]]:
    """OpBasicInfo.csv: one row. None where it has none. Raises InputError."""
    notes = LineNotes(shown_path(path, root))
    rows = _BasicRows(notes)
    fill(rows, line_blocks(path, notes, root=root, max_bytes=_MAX_TEXT_BYTES), notes, path, _HINT)
    if rows.basic is None:
        notes.add("missing", "the table has no row", None)
    return rows.basic, notes.close()


def read_basic_text(path: Path, *, root: Path | None = None) -> tuple[Basic, tuple[Problem, ...]]:
    """op_basic_info.txt: lines "Op Name=...", written as soon as a kernel is met. Raises InputError.

    A last line without an end is left out: it may be cut in a number.
    """
    notes = LineNotes(shown_path(path, root))
    basic = Basic()
    n_known = 0
    for block in line_blocks(path, notes, root=root, max_bytes=_MAX_TEXT_BYTES):
        is_text_cut = block.is_unfinished
        for number, line in enumerate(block.lines, block.first):
            key, sign, value = line.partition("=")
            column = _BASIC_COLUMNS.get(key.strip().lower())
            if not sign or column is None:
                continue
            n_known += 1
            if is_text_cut and column not in _TEXTS:
                notes.add("cut-off", f"the file ends in the line of {key.strip()}; it is left out", number)
                continue
            try:
                basic.put(column, value)
            except NotANumberError:
                notes.add("bad-record", f"no number in the line of {column}", number)
    if not n_known:
        raise InputError("this is no op_basic_info.txt: it says nothing of a kernel", path=path)
    return basic, notes.close()
