"""Which operator ran as which task: ids and names out of msprof's op_summary and task_time tables.

Tables beside them that have both ids and names (kernel_details, aicpu, l2_cache) are read too. Columns are
found by name, in any of their spellings: `Task ID` and `task_id` are one. Figures are not read.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from itertools import repeat
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass

from ...files import shown_path
from ...findings import Problem
from ...progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from ..line_tables import LimitError, NoHeaderError, fill
from ..text_lines import LineNotes, line_blocks
from .cells import NO_ID as NO_ID
from .operator_files import device_of

MAX_FILE_BYTES = 2 << 30
MAX_ROWS = 5_000_000
MAX_COLUMNS = 512
MAX_NAME_CHARS = 4096
MAX_LABEL_CHARS = 1 << 26

_HINT = "name a table of msprof, e.g. op_summary_20260801120500.csv or task_time_20260801120500.csv"
_NO_HEADER = "this is no table of tasks: no header with task and stream ids"
_SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "device": ("deviceid",),
    "stream": ("streamid",),
    "task": ("taskid",),
    "batch": ("batchid", "flipnum"),
    "context": ("contextid",),
    "start_ns": ("taskstarttime(us)", "taskstart(us)", "starttime(us)", "taskstarttime"),
    "name": ("opname", "name", "node"),
    "op_type": ("optype", "type"),
    "kernel": ("kernelname",),
    "task_type": ("tasktype", "kerneltype", "acceleratorcore"),
}
"""Our column -> names in a header without blanks and underscores, the first one that is there counts."""

_IDS = ("device", "stream", "task", "batch", "context")
_NEEDED = ("stream", "task")
_TEXTS = ("name", "op_type", "kernel", "task_type")
_NONE_WORDS = frozenset({"", "n/a", "na", "none", "null", "nan", "-", "host"})
_MAX_INT64 = 2**63 - 1
_NO_NUMBER = 0xFFFF_FFFF  # what the writer has for "none"
_ID = re.compile(r"(\d{1,19})(?:\.0+)?", re.ASCII)
_LABEL_OVERHEAD = 50  # a text costs more than its characters

_Cells = Sequence[str]
_Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TaskTable:
    """Tasks of one file in its order, a row a line. NO_ID (-1) is where the file has no such number.

    artifact: the file as problems name it. device, stream, task, batch, context int64: device is that of
    the row, else of the folder or file name; batch counts how often task ids had wrapped (flip); context is
    the part of a fused task. start_ns int64: since 1970 by the profiler's clock, exact where the file has
    three decimals of a microsecond.
    name, op_type, kernel, task_type int32 -> names, op_types, kernels, task_types (-1: none): name and
    op_type of op_summary, kernel of task_time. line int64: from 1.
    n_without_ids: rows that belong to no task on a device (collectives have N/A there); no problem, but they
    are not in the table. n_dropped: rows that could not be used; `problems` say why.
    """

    path: Path
    artifact: str
    device: _Integers
    stream: _Integers
    task: _Integers
    batch: _Integers
    context: _Integers
    start_ns: _Integers
    name: npt.NDArray[np.int32]
    op_type: npt.NDArray[np.int32]
    kernel: npt.NDArray[np.int32]
    task_type: npt.NDArray[np.int32]
    line: _Integers
    names: Sequence[str] = ()
    op_types: Sequence[str] = ()
    kernels: Sequence[str] = ()
    task_types: Sequence[str] = ()
    n_without_ids: int = 0
    n_dropped: int = 0
    problems: tuple[Problem, ...] = ()

    @property
    def n_rows(self) -> int:
        return len(self.line)

    @property
    def has_batches(self) -> bool:
        """True if the file says how often task ids had wrapped, so that a task can be told for sure."""
        return bool((self.batch != NO_ID).any())


def read_tasks(
    path: Path,
    *,
    root: Path | None = None,
    max_rows: int = MAX_ROWS,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> TaskTable:
    """The tasks in `path`, an op_summary or task_time table of any release, whole or a slice.

    Problems, with their line: rows of another length than the header, ids that are no numbers, names that
    are too long, a header that stands there again (all left out); starts that are no time (absent); a last
    line without an end (left out, it may be cut); what lies behind `max_rows` rows or 2 GB.
    Raises InputError (no such table; `root`: a link leads out of it) and Cancelled.
    Cost: linear; a million rows take about 7 s of CPU and 200 MB.
    """
    notes = LineNotes(shown_path(path, root))
    rows = _Rows(notes, max_rows, device_of(path))
    blocks = line_blocks(
        path, notes, root=root, max_bytes=MAX_FILE_BYTES, progress=progress, is_cancelled=is_cancelled
    )
    fill(rows, blocks, notes, path, _HINT)
    return TaskTable(
        path=path,
        artifact=notes.artifact,
        n_without_ids=rows.n_without_ids,
        n_dropped=rows.n_dropped,
        problems=notes.close(),
        **rows.finish(),
    )


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where our columns stand in a row."""

    n_columns: int
    places: Mapping[str, int]


def _layout_of(row: _Cells) -> _Layout | None:
    """What a row says as a header; None if it is none."""
    if len(row) > MAX_COLUMNS:
        return None
    names = ["".join(cell.lower().replace("_", "").split()) for cell in row]
    found = {
        column: names.index(name)
        for column, spellings in _SPELLINGS.items()
        for name in [next((spelling for spelling in spellings if spelling in names), None)]
        if name is not None
    }
    if "opname" in names and "optype" not in names:
        found.pop("op_type", None)  # the `Type` beside an `Op Name` is that of the task or API
    has_names = any(column in found for column in ("name", "op_type", "kernel"))
    return _Layout(len(row), found) if has_names and all(c in found for c in _NEEDED) else None


class _Labels:
    """Texts, each kept once, in the order in which they came."""

    def __init__(self) -> None:
        self.code_of: dict[str, int] = {}
        self.n_chars = 0

    def codes(self, cells: _Cells) -> npt.NDArray[np.int32]:
        """A code a cell; -1 where it says that there is none."""
        code_of = self.code_of
        codes: dict[str, int] = {}
        for cell in dict.fromkeys(cells):
            text = cell.strip()
            if text.lower() in _NONE_WORDS:
                continue
            if text not in code_of:
                code_of[text] = len(code_of)
                self.n_chars += len(text) + _LABEL_OVERHEAD
            codes[cell] = code_of[text]
        return np.fromiter(map(codes.get, cells, repeat(-1)), np.int32, len(cells))


class _Rows:
    """Collects rows block by block, column by column: no object stays for a row.

    layout: None until the header was seen.
    """

    def __init__(self, notes: LineNotes, max_rows: int, device: int) -> None:
        self.layout: _Layout | None = None
        self.n_without_ids = 0
        self.n_dropped = 0
        self._notes = notes
        self._max_rows = max_rows
        self._device = device
        self._n_rows = 0
        self._labels = {name: _Labels() for name in _TEXTS}
        self._parts: dict[str, list[npt.NDArray[Any]]] = {
            **{name: [np.empty(0, np.int64)] for name in (*_IDS, "start_ns", "line")},
            **{name: [np.empty(0, np.int32)] for name in _TEXTS},
        }

    def add_lines(self, first: int, lines: list[str]) -> None:
        """Whole lines; the first one that is not blank is the header."""
        rows = _split(lines)
        start = 0
        if self.layout is None:
            start = next((i for i, row in enumerate(rows) if any(map(str.strip, row))), len(rows))
            if start == len(rows):
                return
            self.layout = _layout_of(rows[start])
            if self.layout is None:
                raise NoHeaderError(
                    "this is no table of tasks: no header with task and stream ids", first + start
                )
            start += 1
        for i in range(start, len(rows)):
            # the look at the text spares one at the cells of every row
            if "ask" in lines[i] and "tream" in lines[i] and (layout := _layout_of(rows[i])) is not None:
                self._add(first + start, rows[start:i])
                self.drop("bad-record", "a header stands here again: tables were put together", first + i)
                self.layout = layout
                start = i + 1
        self._add(first + start, rows[start:])

    @property
    def has_header(self) -> bool:
        return self.layout is not None

    def drop(self, kind: str, message: str, line: int, *, is_last: bool = False) -> None:
        """A row that is left out, and told."""
        self.n_dropped += 1
        self._notes.add(kind, message, line, is_last=is_last)

    def _add(self, first: int, rows: list[list[str]]) -> None:
        """Rows between two headers."""
        layout = self.layout
        assert layout is not None
        lines: _Integers = np.arange(first, first + len(rows), dtype=np.int64)
        if set(map(len, rows)) - {layout.n_columns}:
            kept = [self._is_whole(row, first + i, layout.n_columns) for i, row in enumerate(rows)]
            lines = lines[np.array(kept, np.bool_)]
            rows = [row for row, is_kept in zip(rows, kept, strict=True) if is_kept]
        if not rows:
            return
        columns = {name: list(map(itemgetter(place), rows)) for name, place in layout.places.items()}
        self._add_columns(lines, columns)

    def _is_whole(self, row: _Cells, line: int, n_columns: int) -> bool:
        if len(row) == n_columns:
            return True
        if any(map(str.strip, row)):  # a blank line is no row
            message = f"the row has {len(row):,} cells, the header {n_columns:,}"
            self.drop("bad-record", message, line)
        return False

    def _add_columns(self, lines: _Integers, columns: dict[str, list[str]]) -> None:
        n = len(lines)
        is_kept = np.ones(n, np.bool_)
        added: dict[str, npt.NDArray[Any]] = {"line": lines}
        for name in _IDS:
            if name not in columns:
                added[name] = np.full(n, self._device if name == "device" else NO_ID, np.int64)
                continue
            added[name], bad = _ids(columns[name])
            for i in bad:
                if is_kept[i]:
                    message = f"{name} {columns[name][i][:40]!r} is no number"
                    self.drop("bad-record", message, int(lines[i]))
                    is_kept[i] = False
        has_ids = (added["task"] != NO_ID) & (added["stream"] != NO_ID)
        self.n_without_ids += int((is_kept & ~has_ids).sum())
        is_kept &= has_ids
        for name in _TEXTS:
            cells = columns.get(name)
            if cells is not None and max(map(len, cells)) > MAX_NAME_CHARS:
                for i in [i for i, cell in enumerate(cells) if len(cell) > MAX_NAME_CHARS and is_kept[i]]:
                    message = f"{name}: more than {MAX_NAME_CHARS:,} characters"
                    self.drop("too-large", message, int(lines[i]))
                    is_kept[i] = False
        at = np.flatnonzero(is_kept)[: self._max_rows - self._n_rows]
        is_over = len(at) < int(is_kept.sum())
        if len(at) < n:
            added = {name: part[at] for name, part in added.items()}
            places = at.tolist()
            columns = {name: [cells[i] for i in places] for name, cells in columns.items()}
        self._append(added, columns)
        if is_over:
            raise LimitError(
                f"at most {self._max_rows:,} rows are read", int(lines[np.flatnonzero(is_kept)[len(at)]])
            )

    def _append(self, added: dict[str, npt.NDArray[Any]], columns: Mapping[str, list[str]]) -> None:
        lines = added["line"]
        n = len(lines)
        if not n:
            return
        if "start_ns" in columns:
            cells = columns["start_ns"]
            added["start_ns"], bad = _times_ns(cells)
            for i in bad:
                message = f"start {cells[i][:40]!r} is no time; it counts as absent"
                self._notes.add("bad-record", message, int(lines[i]))
        else:
            added["start_ns"] = np.full(n, NO_ID, np.int64)
        for name in _TEXTS:
            none = np.full(n, -1, np.int32)
            added[name] = self._labels[name].codes(columns[name]) if name in columns else none
        for name, part in added.items():
            self._parts[name].append(part)
        self._n_rows += n
        if sum(labels.n_chars for labels in self._labels.values()) > MAX_LABEL_CHARS:
            raise LimitError(f"the names have more than {MAX_LABEL_CHARS:,} characters", int(lines[-1]) + 1)

    def finish(self) -> dict[str, Any]:
        """Every column of a TaskTable and its texts, by their names there."""
        found: dict[str, Any] = {f"{name}s": tuple(texts.code_of) for name, texts in self._labels.items()}
        for name in list(self._parts):  # one by one: no two copies of the whole table stand side by side
            found[name] = np.concatenate(self._parts.pop(name))
        return found


def _split(lines: list[str]) -> list[list[str]]:
    """The cells of each line. A quote that its line does not close must not swallow the next ones."""
    try:
        rows = list(csv.reader(lines))
    except csv.Error:
        rows = []
    is_line_by_line = len(rows) == len(lines) and lines[-1].count('"') % 2 == 0
    return rows if is_line_by_line else [_split_line(line) for line in lines]


def _split_line(line: str) -> list[str]:
    try:
        return next(csv.reader([line]), []) if line.count('"') % 2 == 0 else [line]
    except csv.Error:  # a bare carriage return, a NUL, a cell of more than 128 KB
        return [line]


def _ids(cells: _Cells) -> tuple[_Integers, list[int]]:
    """Cells as ids, NO_ID where there is none, and the places of those that are neither."""
    n = len(cells)
    code_of: dict[str, int] = {}
    is_bad: set[str] = set()
    for cell in set(cells):
        if cell.isdecimal() and len(cell) <= 9 and cell.isascii():  # nearly all of them
            code_of[cell] = int(cell)
            continue
        text = cell.strip()
        found = _ID.fullmatch(text)
        value = int(found[1]) if found else -1
        if found and value <= _MAX_INT64:
            code_of[cell] = NO_ID if value == _NO_NUMBER else value
        elif text.lower() not in _NONE_WORDS:
            is_bad.add(cell)
    values = np.fromiter(map(code_of.get, cells, repeat(NO_ID)), np.int64, n)
    return values, [i for i, cell in enumerate(cells) if cell in is_bad] if is_bad else []


def _times_ns(cells: _Cells) -> tuple[_Integers, list[int]]:
    """Microseconds as written -> whole nanoseconds; no float is between, which would lose the last digits."""
    values: list[int] = []
    bad: list[int] = []
    for i, cell in enumerate(cells):
        text = cell.strip()
        whole, point, decimals = text.partition(".")
        if whole.isdecimal() and len(whole) <= 16 and text.isascii() and (decimals.isdecimal() or not point):
            ns = int(whole) * 1000 + int((decimals + "000")[:3] if point else 0)
            if ns <= _MAX_INT64:
                values.append(ns)
                continue
        values.append(NO_ID)
        if text.lower() not in _NONE_WORDS:
            bad.append(i)
    return np.array(values, np.int64), bad
