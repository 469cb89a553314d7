"""Lines of a monitor's table as columns: the header says where each one is; no object is kept for a row."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..line_tables import LimitError, NoHeaderError
from ..text_lines import LineNotes

MAX_ROWS = 5_000_000
MAX_COLUMNS = 256
MAX_CELL_CHARS = 4096
MAX_LABEL_CHARS = 1 << 26

MONITOR_STATISTICS = ("Max", "Min", "Mean", "Norm", "Zeros")
"""Columns of `MonitorTable.statistics`: those of a dump, in its order. Zeros: share of the elements whose
magnitude is below the monitor's own eps, 0 to 1."""

KIND_OF_WORD: Mapping[str, str] = {
    "actv": "activation",
    "actv_grad": "activation_grad",
    "pre_grad": "grad_unreduced",
    "acc_grad": "grad_unreduced",
    "post_grad": "grad_reduced",
    "forward": "activation",
    "backward": "activation_grad",
    "unreduced": "grad_unreduced",
    "reduced": "grad_reduced",
    "comm": "communication",
}
"""What the tool's words stand for (file names and tags of v1, scopes of v2). exp_avg, exp_avg_sq,
grad_unreduced, grad_reduced, param_origin and param_updated are their own kind, as is a word not known here
("other", "linear_hook")."""

_LABEL_OVERHEAD = 50  # a text costs more than its characters
_NO_TEXT = ("", "nan")  # the first version writes nan for whatever it has not

_Cells = Sequence[str]
_Floats = npt.NDArray[np.float64]
_Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where the columns are: the name in lower case -> its first place."""

    n_columns: int
    places: Mapping[str, int]
    cells: tuple[str, ...]

    @property
    def version(self) -> Literal[1, 2]:
        return 2 if "module_name" in self.places else 1

    def column(self, name: str, columns: Sequence[_Cells]) -> _Cells | None:
        place = self.places.get(name)
        return None if place is None else columns[place]


def _layout_of(row: _Cells) -> _Layout | None:
    """What a row says as a header; None if it is none."""
    names = tuple(cell.strip().lower() for cell in row[: MAX_COLUMNS + 1])
    if "step" not in names or not {"name", "module_name"} & set(names) or len(row) > MAX_COLUMNS:
        return None
    return _Layout(len(row), {name: names.index(name) for name in names}, names)


class _Labels:
    """Texts, each kept once, in the order in which they came."""

    def __init__(self) -> None:
        self.code_of: dict[str, int] = {}
        self.n_chars = 0

    def codes(self, texts: _Cells, none: Sequence[str] = ()) -> npt.NDArray[np.int32]:
        """A code a text; -1 for those of `none`."""
        code_of = self.code_of
        for text in dict.fromkeys(texts):
            if text not in code_of and text not in none:
                code_of[text] = len(code_of)
                self.n_chars += len(text) + _LABEL_OVERHEAD
        return np.fromiter(map(code_of.get, texts, repeat(-1)), np.int32, len(texts))


_PARTS: Mapping[str, Any] = {
    **{"name": np.int32, "kind": np.int32, "step": np.int64, "micro_step": np.int64, "vpp_stage": np.int64},
    **{"statistics": np.float64, "present": np.uint8, "nans": np.int64},
    **{"shape": np.int32, "dtype": np.int32, "line": np.int64},
}


class MonitorRows:
    """Collects rows block by block, column by column: no object stays for a row.

    word: what the file's own name says is in it. layout: None until the header was seen; version: of the
    first header; columns: names in all headers, lower case. n_dropped: rows that were left out and told,
    without those behind a limit.
    """

    def __init__(self, word: str, notes: LineNotes, max_rows: int) -> None:
        self.layout: _Layout | None = None
        self.version: Literal[1, 2] = 1
        self.columns: tuple[str, ...] = ()
        self.n_dropped = 0
        self._word = word
        self._notes = notes
        self._max_rows = max_rows
        self._n_rows = 0
        self._labels = {name: _Labels() for name in ("name", "kind", "shape", "dtype")}
        empty = {name: np.empty(0, dtype) for name, dtype in _PARTS.items()}
        empty["statistics"] = np.empty((0, len(MONITOR_STATISTICS)))
        self._parts = {name: [part] for name, part in empty.items()}

    @property
    def has_header(self) -> bool:
        return self.layout is not None

    def drop(self, kind: str, message: str, line: int, *, is_last: bool = False) -> None:
        """A row that is left out, and told."""
        self.n_dropped += 1
        self._notes.add(kind, message, line, is_last=is_last)

    def add_lines(self, first: int, lines: list[str]) -> None:
        """Whole lines; the first one that is not blank is the header."""
        rows = _split(lines)
        has_long_lines = max(map(len, lines)) > MAX_CELL_CHARS
        start = 0
        if self.layout is None:
            start = next((i for i, row in enumerate(rows) if row), len(rows))
            if start == len(rows):
                return
            self._set_layout(_layout_of(rows[start]), first + start)
            start += 1
        for i, line in enumerate(lines):
            # a repeated header; the look at the text spares one at the cells of every row
            if i >= start and "step" in line and "name" in line:
                layout = _layout_of(rows[i])
                if layout is not None:
                    self._add(first + start, rows[start:i], has_long_lines)
                    self._repeat_header(layout, first + i)
                    start = i + 1
        self._add(first + start, rows[start:], has_long_lines)

    def _set_layout(self, layout: _Layout | None, line: int) -> None:
        if layout is None:
            raise NoHeaderError("this is no table of the monitor: no header with step and name", line)
        self.layout = layout
        self.version = layout.version
        self.columns = tuple(layout.places)

    def _repeat_header(self, layout: _Layout, line: int) -> None:
        same = self.layout is not None and layout.cells == self.layout.cells
        message = "the header stands here again" if same else "a header with other columns stands here"
        self.drop("bad-record", f"{message}: rows were appended to an older file", line)
        self.layout = layout
        self.columns = tuple(dict.fromkeys((*self.columns, *layout.places)))

    def _add(self, first: int, rows: list[list[str]], has_long_lines: bool) -> None:
        """Rows between two headers."""
        layout = self.layout
        assert layout is not None
        lines: npt.NDArray[np.int64] = np.arange(first, first + len(rows), dtype=np.int64)
        if has_long_lines or set(map(len, rows)) != {layout.n_columns}:
            kept = [self._is_whole(row, first + i, layout.n_columns) for i, row in enumerate(rows)]
            lines = lines[np.array(kept, np.bool_)]
            rows = [row for row, is_kept in zip(rows, kept, strict=True) if is_kept]
        if not rows:
            return
        steps, has_step = _whole_numbers([row[layout.places["step"]] for row in rows])
        if not has_step.all():
            for i in np.flatnonzero(~has_step).tolist():
                step = rows[i][layout.places["step"]]
                self.drop("bad-record", f"step {step[:40]!r} is no whole number", int(lines[i]))
            lines, steps = lines[has_step], steps[has_step]
            rows = [row for row, is_kept in zip(rows, has_step.tolist(), strict=True) if is_kept]
        n_left = self._max_rows - self._n_rows
        if rows and n_left:
            self._add_columns(lines[:n_left], steps[:n_left], list(zip(*rows[:n_left], strict=True)))
        if len(rows) > n_left:
            raise LimitError(f"at most {self._max_rows:,} rows are read", int(lines[n_left]))

    def _is_whole(self, row: list[str], line: int, n_columns: int) -> bool:
        if len(row) != n_columns:
            if row:  # a blank line is no row
                message = f"the row has {len(row):,} cells, the header {n_columns:,}"
                self.drop("bad-record", message, line)
            return False
        if max(map(len, row)) > MAX_CELL_CHARS:
            self.drop("too-large", f"a cell has more than {MAX_CELL_CHARS:,} characters", line)
            return False
        return True

    def _add_columns(
        self, lines: npt.NDArray[np.int64], steps: npt.NDArray[np.int64], columns: Sequence[_Cells]
    ) -> None:
        """The columns of rows that are as long as the header, at least one."""
        layout = self.layout
        assert layout is not None
        n = len(lines)
        statistics = np.full((n, len(MONITOR_STATISTICS)), np.nan)
        present = np.zeros(n, np.uint8)
        for k, statistic in enumerate(MONITOR_STATISTICS):
            cells = layout.column(statistic.lower(), columns)
            if cells is not None:
                statistics[:, k], is_number = _numbers(cells)
                present |= is_number.astype(np.uint8) << k
                self._tell_bad(statistic.lower(), cells, is_number, lines)
        names = layout.column("name" if layout.version == 1 else "module_name", columns)
        added: dict[str, npt.NDArray[Any]] = {
            "line": lines,
            "step": steps,
            "statistics": statistics,
            "present": present,
            "name": self._labels["name"].codes(names or [""] * n),
            "kind": self._labels["kind"].codes(self._kinds(layout.column("scope", columns), n)),
        }
        for word in ("micro_step", "vpp_stage", "nans"):
            cells = layout.column(word, columns)
            added[word] = np.full(n, -1, np.int64)
            if cells is not None:
                added[word], is_number = _whole_numbers(cells)
                self._tell_bad(word, cells, is_number, lines)
        for word in ("shape", "dtype"):
            cells = layout.column(word, columns) or ("",) * n
            added[word] = self._labels[word].codes(cells, none=_NO_TEXT)
        for word, part in added.items():
            self._parts[word].append(part)
        self._n_rows += n
        if sum(labels.n_chars for labels in self._labels.values()) > MAX_LABEL_CHARS:
            raise LimitError(f"the names have more than {MAX_LABEL_CHARS:,} characters", int(lines[-1]) + 1)

    def _kinds(self, scopes: _Cells | None, n: int) -> _Cells:
        """The kind of each row: by its scope where there is one, else by the file's own word."""
        if scopes is None:
            return (KIND_OF_WORD.get(self._word, self._word),) * n
        kind_of = {scope: KIND_OF_WORD.get(scope, scope) or self._word for scope in set(scopes)}
        return [kind_of[scope] for scope in scopes]

    def _tell_bad(self, column: str, cells: _Cells, is_number: _Flags, lines: npt.NDArray[np.int64]) -> None:
        for i in np.flatnonzero(~is_number).tolist():
            if cells[i].strip().lower() not in _NO_TEXT:
                message = f"{column} {cells[i][:40]!r} is not such a number; it counts as absent"
                self._notes.add("bad-record", message, int(lines[i]))

    def so_far(self) -> dict[str, Any]:
        """As `finish`, and rows can still be added."""
        for name, parts in self._parts.items():
            self._parts[name] = [np.concatenate(parts)]
        found: dict[str, Any] = {f"{name}s": tuple(texts.code_of) for name, texts in self._labels.items()}
        return found | {name: parts[0] for name, parts in self._parts.items()}

    def finish(self) -> dict[str, Any]:
        """Every column of a MonitorTable and its texts, by their names there."""
        found: dict[str, Any] = {f"{name}s": tuple(texts.code_of) for name, texts in self._labels.items()}
        for name in _PARTS:  # one by one, so that no two copies of the whole table stand side by side
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
    except csv.Error:  # a bare carriage return, a NUL
        return [line]


def _numbers(cells: _Cells) -> tuple[_Floats, _Flags]:
    """Cells as numbers ("nan" and "inf" are some), and where one stands; NaN elsewhere."""
    n = len(cells)
    if "_" not in "".join(cells):  # Python would take 1_0 for a number
        try:
            return np.fromiter(map(float, cells), np.float64, n), np.ones(n, np.bool_)
        except ValueError:
            pass
    values = np.full(n, np.nan)
    is_number = np.zeros(n, np.bool_)
    for i, cell in enumerate(cells):
        if cell and not cell.isspace() and "_" not in cell:
            try:
                values[i] = float(cell)
            except ValueError:
                continue
            is_number[i] = True
    return values, is_number


def _whole_numbers(cells: _Cells) -> tuple[npt.NDArray[np.int64], _Flags]:
    """Cells as whole numbers ("3", "3.0") from -1 up, and where one stands; -1 elsewhere."""
    values, is_number = _numbers(cells)
    is_whole = is_number & (values >= -1) & (values < 2.0**53) & (np.floor(values) == values)
    found = np.full(len(cells), -1, np.int64)
    found[is_whole] = values[is_whole].astype(np.int64)
    return found, is_whole
