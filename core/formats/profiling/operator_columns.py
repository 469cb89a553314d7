"""Rows of operator tables collected in columns: arrays that grow in place, texts kept once."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ...findings import Problem
from ..line_tables import LimitError
from .cell_texts import NONE_WORDS, unquoted
from .cells import (
    NO_ID,
    NO_NS,
    NO_START,
    ids_of,
    integers_of,
    ns_of,
    numbers_of,
)
from .columns import BY_NAME, SCHEMA, Layout, OperatorColumn
from .packed import GrowingPacked, Packed, PackedColumns
from .rows import Grid

MAX_TEXT_CHARS = 1 << 16
LONGEST_NS = 2**63 - 1
"""What a duration beyond 64 bits is kept as: too long to be one, which is not the same as absent."""
MAX_LABEL_CHARS = 1 << 28
_LABEL_OVERHEAD = 50  # a text costs more than its characters
_MEMO_KEYS = 1 << 15
_MEMO_BYTES = 1 << 24
_FIRST_ROWS = 1 << 10
_FEW = frozenset({"op_state", "hf32"})
"""Columns with few values: one of these between two wanted ones does not keep them apart."""
_NO_TEXT = NONE_WORDS - {"null", "nan"}  # a format may be NULL
_SHAPES = frozenset({"input_shapes", "output_shapes"})
_DTYPES: Mapping[str, type] = {
    **{"text": np.int32, "id": np.int64, "int": np.int64, "ns": np.int64, "number": np.float64},
}
_PACKED = frozenset({"text", "id", "number"})
"""Kinds whose values are small; times need all their bytes."""
_READ = {"id": ids_of, "int": integers_of, "number": numbers_of}
_Array = npt.NDArray[Any]


def absent_of(column: OperatorColumn) -> int | float:
    """What stands in an array where the file has no value."""
    if column.kind == "number":
        return float("nan")
    if column.kind in ("ns", "int"):
        return NO_START if column.name == "start_ns" else NO_NS
    return NO_ID


class Growing:
    """An array that is added to; its memory grows by a part, not by a copy where the system can."""

    def __init__(self, dtype: type, absent: int | float) -> None:
        self._values: _Array = np.empty(0, dtype)
        self._n = 0
        self._absent = absent

    def add(self, values: _Array | Sequence[int], at: int) -> None:
        """Values for the rows from `at` on; rows between that nobody gave are absent."""
        self.reach(at)
        stop = at + len(values)
        self._reserve(stop)
        self._values[at:stop] = values
        self._n = stop

    def reach(self, n: int) -> None:
        """Absent up to row `n`."""
        if self._n < n:
            self._reserve(n)
            self._values[self._n : n] = self._absent
            self._n = n

    def drop(self, n: int) -> None:
        """Without the first n rows."""
        self._values, self._n = self._values[n : self._n].copy(), max(self._n - n, 0)

    def values(self) -> _Array:
        """All that were given; not a copy."""
        return self._values[: self._n]

    def recode(self, code_of: _Array) -> None:
        """Each code as another one; the last of `code_of` stands for absent."""
        self._values[: self._n] = code_of[self._values[: self._n]]

    def taken(self, since: int, n: int, *, is_last: bool) -> _Array:
        """The values from `since` to n; a copy, unless nothing is added any more."""
        self.reach(n)
        if not is_last:
            return self._values[since:n].copy()
        self._values.resize(n, refcheck=False)
        return self._values[since:] if since else self._values

    def _reserve(self, n: int) -> None:
        if n > len(self._values):
            self._values.resize(max(_FIRST_ROWS, n, len(self._values) * 5 // 4), refcheck=False)


def growing_of(column: OperatorColumn) -> Growing | GrowingPacked:
    """An empty array for the values of a column."""
    kind = GrowingPacked if column.kind in _PACKED else Growing
    return kind(_DTYPES[column.kind], absent_of(column))


@dataclass(slots=True)
class _Unread:
    """Cells of a column that were not read: how many, and the first of them."""

    n: int = 0
    file: int = 0
    line: int = 0
    text: str = ""


@dataclass(slots=True)
class _Run:
    """Text columns side by side in a file. The bytes of all of them together are looked up at once: few of
    the combinations differ, and only those are taken apart.

    codes: per column a code a combination. has_unread: some of them are no texts.
    """

    first: int
    columns: list[tuple[int, OperatorColumn]]
    place_of: dict[bytes, int] = field(default_factory=dict)
    codes: list[array[int]] = field(default_factory=list)
    n_bytes: int = 0
    has_unread: bool = False

    def forget(self) -> None:
        """No combination is known."""
        self.place_of.clear()
        self.codes = [array("i") for _ in self.columns]
        self.n_bytes = 0

    @property
    def last(self) -> int:
        return self.columns[-1][0]


class ColumnStore:
    """Columns of the rows of one or several files, in the order in which they come.

    wanted: names of columns, None for all. unread: column -> cells that could not be read.
    """

    def __init__(self, wanted: Collection[str] | None, max_rows: int) -> None:
        self.n_rows = 0
        self.columns: dict[str, OperatorColumn] = {}
        self.line = Growing(np.int64, NO_ID)
        self.file = Growing(np.int32, NO_ID)
        self.unread: dict[str, _Unread] = {}
        self._file = 0
        self._wanted = None if wanted is None else frozenset(wanted)
        self._max_rows = max_rows
        self._arrays: dict[str, Growing | GrowingPacked] = {}
        self._labels: dict[str, dict[str, int]] = {}
        self._n_label_chars = 0
        self._n_numbers: dict[str, int] = {}
        self._runs: list[tuple[Layout, list[_Run]]] = []

    def begin_file(self) -> None:
        """What was remembered of the last file's bytes goes; columns and texts stay."""
        self._runs = []

    def add(self, grid: Grid, file: int, device: int) -> None:
        """All rows of a grid. device: for files that have no such column. Raises LimitError."""
        n = len(grid.lines)
        room = self._max_rows - self.n_rows
        over = int(grid.lines[room]) if n > room else 0
        if over:
            n = room
            grid = grid.head(n)
        if n:
            self._add(grid, file, device)
            self.n_rows += n
        if over:
            raise LimitError(f"at most {self._max_rows:,} rows are read", over)
        if self._n_label_chars > MAX_LABEL_CHARS:
            message = f"the texts have more than {MAX_LABEL_CHARS:,} characters"
            raise LimitError(message, int(grid.lines[-1]) + 1)

    def drop(self, n: int) -> None:
        """Without the first n rows, and without texts that stand in no other row."""
        self.n_rows -= n
        for grown in (self.line, self.file, *self._arrays.values()):
            grown.drop(n)
        self._runs = []  # they know codes
        for name, labels in self._labels.items():
            grown = self._arrays[name]
            texts = list(labels)
            code_of = np.full(len(texts) + 1, NO_ID, np.int32)
            used = [code for code in np.unique(grown.values()).tolist() if code != NO_ID]
            code_of[used] = np.arange(len(used))
            grown.recode(code_of)
            self._labels[name] = {texts[code]: place for place, code in enumerate(used)}
        self._n_label_chars = sum(
            len(text) + _LABEL_OVERHEAD for labels in self._labels.values() for text in labels
        )

    def _add(self, grid: Grid, file: int, device: int) -> None:
        n, at = len(grid.lines), self.n_rows
        self._file = file
        self.line.add(grid.lines, at)
        self.file.add(np.full(n, file, np.int32), at)
        columns = [
            (place, column)
            for place, column in grid.layout.columns
            if self._wanted is None or column.name in self._wanted
        ]
        for kind in _READ:
            self._add_numbers(grid, [pair for pair in columns if pair[1].kind == kind], kind)
        for place, column in columns:
            if column.kind == "ns":
                none = int(absent_of(column))
                largest = LONGEST_NS if column is BY_NAME["duration_ns"] else None
                values, bad = ns_of(grid.buffer, grid.starts(place), grid.ends(place), none, largest)
                self._array(column).add(values, at)
                self._note(grid, place, column, bad.places)
        for run in self._runs_of(grid, columns):
            self._add_texts(grid, run)
        has_device = any(column.name == "device" for _, column in columns)
        if device != NO_ID and not has_device and (self._wanted is None or "device" in self._wanted):
            self._array(BY_NAME["device"]).add(np.full(n, device, np.int64), at)

    def _add_numbers(self, grid: Grid, columns: list[tuple[int, OperatorColumn]], kind: str) -> None:
        """All columns of a kind at once: arrays of a block are small, and each step has its own price."""
        if not columns:
            return
        places = [place for place, _ in columns]
        n = len(grid.lines)
        starts = np.concatenate([grid.starts(place) for place in places])
        ends = np.concatenate([grid.ends(place) for place in places])
        values, bad = _READ[kind](grid.buffer, starts, ends)
        for i, (_, column) in enumerate(columns):
            part = values[i * n : (i + 1) * n]
            self._array(column).add(part, self.n_rows)
            if column.name not in BY_NAME:
                is_none = np.isnan(part) if kind == "number" else part == absent_of(column)
                n_numbers = self._n_numbers.get(column.name, 0) + n - int(is_none.sum())
                self._n_numbers[column.name] = n_numbers
        if bad.places:
            for i, (place, column) in enumerate(columns):
                self._note(
                    grid, place, column, [at - i * n for at in bad.places if i * n <= at < (i + 1) * n]
                )

    def _array(self, column: OperatorColumn) -> Growing | GrowingPacked:
        array = self._arrays.get(column.name)
        if array is None:
            array = self._arrays[column.name] = growing_of(column)
            self.columns[column.name] = column
            if column.kind == "text":
                self._labels[column.name] = {}
        return array

    def _note(self, grid: Grid, place: int, column: OperatorColumn, rows: Sequence[int]) -> None:
        if not rows:
            return
        unread = self.unread.setdefault(column.name, _Unread())
        if not unread.n:
            unread.file = self._file
            unread.line = int(grid.lines[rows[0]])
            cell = grid.cell(place, rows[0])[:60]
            unread.text = cell.decode("utf-8", "replace").strip()[:40]
        unread.n += len(rows)

    # ---- texts ----

    def _runs_of(self, grid: Grid, columns: list[tuple[int, OperatorColumn]]) -> list[_Run]:
        """Wanted text columns of a layout, those side by side together."""
        for layout, known in self._runs:
            if layout is grid.layout:
                return known
        few = {place for place, column in grid.layout.columns if column.name in _FEW}
        runs: list[_Run] = []
        for place, column in columns:
            if column.kind != "text":
                continue
            self._array(column)
            if runs and all(between in few for between in range(runs[-1].last + 1, place)):
                runs[-1].columns.append((place, column))
            else:
                runs.append(_Run(place, [(place, column)]))
        for run in runs:
            run.forget()
        self._runs.append((grid.layout, runs))
        return runs

    def _add_texts(self, grid: Grid, run: _Run) -> None:
        raw, place_of = grid.raw, run.place_of
        if len(place_of) > _MEMO_KEYS or run.n_bytes > _MEMO_BYTES:
            run.forget()
        starts, ends = grid.starts(run.first).tolist(), grid.ends(run.last).tolist()
        keys = [raw[start:end] for start, end in zip(starts, ends, strict=True)]
        n_before = len(place_of)
        for key in dict.fromkeys(keys):
            if key not in place_of:
                place_of[key] = len(place_of)
        if len(place_of) > n_before:
            self._take_apart(grid, run, keys, n_before)
        places = np.fromiter(map(place_of.__getitem__, keys), np.int64, len(keys))
        for (place, column), codes in zip(run.columns, run.codes, strict=True):
            found = np.frombuffer(codes, np.int32)[places]
            if not run.has_unread:
                self._arrays[column.name].add(found, self.n_rows)
                continue
            self._arrays[column.name].add(np.maximum(found, NO_ID), self.n_rows)
            if (found < NO_ID).any():
                self._note(grid, place, column, np.flatnonzero(found < NO_ID).tolist())

    def _take_apart(self, grid: Grid, run: _Run, keys: list[bytes], n_before: int) -> None:
        """The codes of combinations that were not met before."""
        place_of = run.place_of
        new: list[int] = []
        for row, key in enumerate(keys):
            if place_of[key] == n_before + len(new):  # they were numbered in this order
                new.append(row)
                run.n_bytes += len(key)
        for (place, column), codes in zip(run.columns, run.codes, strict=True):
            starts, ends = grid.starts(place)[new].tolist(), grid.ends(place)[new].tolist()
            for start, end in zip(starts, ends, strict=True):
                code = self._code(column.name, grid.raw[start:end])
                run.has_unread |= code < NO_ID
                codes.append(code)

    def _code(self, name: str, cell: bytes) -> int:
        """The code of a text; -1 absent, -2 too long to be one."""
        text = unquoted(cell.decode("utf-8", "replace"))
        if name in _SHAPES and len(text) >= 2 and text[0] == text[-1] == '"':
            text = text.replace('"', "")  # an empty one is a scalar, not an absent one
        elif text.lower() in _NO_TEXT:
            return NO_ID
        if len(text) > MAX_TEXT_CHARS:
            return NO_ID - 1
        labels = self._labels[name]
        code = labels.get(text)
        if code is None:
            code = labels[text] = len(labels)
            self._n_label_chars += len(text) + _LABEL_OVERHEAD
        return code

    # ---- results ----

    def shares(self, name: str) -> tuple[int, int]:
        """Cells of a column of numbers that were not read, and those that are numbers."""
        unread = self.unread.get(name)
        return (unread.n if unread else 0), self._n_numbers.get(name, 0)

    def unread_problems(self, files: Sequence[str], names: Collection[str]) -> list[Problem]:
        """What is told of cells that were not read. files: by number; names: of the columns that are used."""
        found = []
        for name, cells in self.unread.items():
            if name in names:
                more = f"{cells.n:,} cells were not read and count as absent; the first is {cells.text!r}"
                found.append(Problem(files[cells.file], "bad-record", f"{name}: {more}", line=cells.line))
        return found

    def left_out(self) -> list[str]:
        """Columns that are not declared and hold texts rather than numbers."""
        return [
            name
            for name in self.columns
            if name not in BY_NAME
            and name in self.unread
            and self.unread[name].n > self._n_numbers.get(name, 0)
        ]

    def taken(
        self, since: int = 0, *, is_last: bool, left_out: Collection[str] | None = None
    ) -> tuple[dict[str, OperatorColumn], Mapping[str, _Array], dict[str, tuple[str, ...]]]:
        """Columns in the order of the schema (others behind them), their arrays, texts of text columns.

        left_out: columns that are not given, by default those of `left_out`.
        """
        left_out = set(self.left_out() if left_out is None else left_out)
        order = {column.name: i for i, column in enumerate(SCHEMA)}
        names = sorted((n for n in self.columns if n not in left_out), key=lambda n: order.get(n, len(order)))
        columns = {name: self.columns[name] for name in names}
        held: dict[str, Packed] = {}
        for name in names:
            taken = self._arrays[name].taken(since, self.n_rows, is_last=is_last)
            held[name] = taken if isinstance(taken, Packed) else Packed(taken, taken.dtype.type)
        arrays = PackedColumns(held)
        labels = {name: tuple(self._labels[name]) for name in names if name in self._labels}
        return columns, arrays, labels
