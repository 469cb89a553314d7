"""Statistics of one operator's tensors: the CSV that a dump with "dump_data": "stats" writes.

One row a tensor and execution. Six columns are always there; which statistics follow, and in which order,
the header says. Several executions append to one file, with the header again or without.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ...files import shown_path
from ...findings import Problem
from ..tensors.dtypes import Dtype
from ..tensors.source import Source, open_source
from .enums import dtype_of_data_type

MAX_BYTES = 16 << 20
MAX_LINES = 200_000
MAX_LINE_CHARS = 4096

_FIXED = ("input/output", "index", "data size", "data type", "format", "shape")
_COUNT = "count"
_DEFAULT = (
    *("max value", "min value", "avg value", _COUNT),
    *("nan count", "negative inf count", "positive inf count"),
)
"""The statistics of a file whose header is not there."""
_NO_VALUE = ("", "na", "n/a", "-")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*(?:e[+-]?[0-9]+)?|\.[0-9]+|inf|nan)", re.ASCII | re.IGNORECASE)
_SHAPE = re.compile(r"-?[0-9]{1,19}(?:x-?[0-9]{1,19})*", re.ASCII)


@dataclass(frozen=True, slots=True)
class StatRow:
    """The statistics of one tensor in one execution. None: not available; nan is a value.

    data_type: as written ("DT_FLOAT16"); dtype: that format, None where it is not known. shape: () without
    axes, None where the writer left it out. line: in the file, from 1.
    """

    io: Literal["input", "output"]
    index: int
    size_bytes: int | None
    data_type: str
    dtype: Dtype | None
    format: str
    shape: tuple[int, ...] | None
    max_value: float | None
    min_value: float | None
    avg_value: float | None
    l2norm: float | None
    count: int | None
    nan_count: int | None
    negative_inf_count: int | None
    positive_inf_count: int | None
    line: int


def read_statistics(path: Path, *, root: Path, problems: list[Problem] | None = None) -> tuple[StatRow, ...]:
    """The rows of a statistics file in file order; () for a header alone.

    Appended to `problems`: bad-record (rows that cannot be used, counted by reason, with the first one's
    line; they are left out), cut-off (the last line has no end; kept if all its cells are there), limit
    (lines beyond MAX_LINES). Raises TensorError: cut-off (empty), unreadable (no such table), too-large,
    missing, outside-run.
    """
    with open_source(path, root) as source:
        table = _Table()
        lines = _text(source).split("\n", MAX_LINES)
        for number, line in enumerate(lines[:MAX_LINES], 1):
            table.add(number, line, is_whole=number < len(lines))  # the writer ends every line
        if len(lines) > MAX_LINES and lines[-1]:
            table.note("limit", f"only the first {MAX_LINES:,} lines are read", MAX_LINES + 1)
        if not table.rows and not table.has_header:
            hint = "name the .csv of one operator, as written with dump_data=stats"
            raise source.error("unreadable", "not a table of CANN operator statistics", byte=0, hint=hint)
    if problems is not None:
        problems.extend(table.problems(shown_path(path, root)))
    return tuple(table.rows)


def _text(source: Source) -> str:
    if source.size == 0:
        raise source.error("cut-off", "the file is empty", byte=0)
    if source.size > MAX_BYTES:
        raise source.error("too-large", f"the file has {source.size:,} bytes, at most 16 MB are read")
    return source.read(0, source.size, "the table").decode("utf-8-sig", "replace")


class _BadRowError(Exception):
    """Why a row cannot be used, in one of few texts: rows are counted by it."""


class _Table:
    """Rows so far, under the last header seen."""

    def __init__(self) -> None:
        self.rows: list[StatRow] = []
        self.has_header = False
        self._statistics: Sequence[str] = _DEFAULT
        self._bad: dict[tuple[str, str], list[int]] = {}  # (kind, reason) to how many, and the first line

    def add(self, number: int, line: str, is_whole: bool) -> None:
        """Take one line: a header, a row, a blank one."""
        if not line.strip():
            return
        if len(line) > MAX_LINE_CHARS:
            self.note("bad-record", f"a line of more than {MAX_LINE_CHARS:,} characters", number)
            return
        cells = [cell.strip() for cell in line.split(",")]
        columns = tuple(cell.lower() for cell in cells)
        if not is_whole:
            self.note("cut-off", "the last line has no end", number)
        if columns[: len(_FIXED)] == _FIXED:
            self.has_header = True
            self._statistics = columns[len(_FIXED) :]
        elif is_whole or len(cells) == len(_FIXED) + len(self._statistics):
            try:
                self.rows.append(self._row(cells, number))
            except _BadRowError as error:
                self.note("bad-record", str(error), number)

    def problems(self, artifact: str) -> list[Problem]:
        """One for each reason."""
        return [
            Problem(artifact, kind, f"{n:,} rows: {reason}" if n > 1 else reason, line=line)
            for (kind, reason), (n, line) in self._bad.items()
        ]

    def note(self, kind: str, reason: str, number: int) -> None:
        self._bad.setdefault((kind, reason), [0, number])[0] += 1

    def _row(self, cells: list[str], number: int) -> StatRow:
        if len(cells) < len(_FIXED):
            raise _BadRowError("too few cells")
        side, index, size, data_type, layout, shape = cells[: len(_FIXED)]
        io: Literal["input", "output"]
        if side.lower() == "input":
            io = "input"
        elif side.lower() == "output":
            io = "output"
        else:
            raise _BadRowError("neither Input nor Output")
        position = _count(index)
        if position is None:
            raise _BadRowError("an index that is no number")
        found = self._aligned(cells[len(_FIXED) :])
        return StatRow(
            io=io,
            index=position,
            size_bytes=_count(size),
            data_type=data_type,
            dtype=dtype_of_data_type(data_type),
            format=layout,
            shape=_shape(shape),
            max_value=_value(found.get("max value")),
            min_value=_value(found.get("min value")),
            avg_value=_value(found.get("avg value")),
            l2norm=_value(found.get("l2norm")),
            count=_count(found.get(_COUNT)),
            nan_count=_count(found.get("nan count")),
            negative_inf_count=_count(found.get("negative inf count")),
            positive_inf_count=_count(found.get("positive inf count")),
            line=number,
        )

    def _aligned(self, cells: list[str]) -> dict[str, str]:
        """Statistic to cell. The writer leaves out the count in some rows, and nothing else.

        Of a row that lacks more nothing can be told, unless all that is left says "not available".
        """
        columns = self._statistics
        if len(cells) == len(columns) - 1 and _COUNT in columns:
            columns = [name for name in columns if name != _COUNT]
        if len(cells) == len(columns):
            return dict(zip(columns, cells, strict=True))
        if len(cells) < len(columns) and all(cell.lower() in _NO_VALUE for cell in cells):
            return {}
        raise _BadRowError("more or fewer statistics than the header names")


def _value(cell: str | None) -> float | None:
    if cell is None or cell.lower() in _NO_VALUE:
        return None
    if not _NUMBER.fullmatch(cell):
        raise _BadRowError("a statistic that is no number")
    return float(cell)


def _count(cell: str | None) -> int | None:
    """A whole number; large ones may be written as 1.04858e+06."""
    value = _value(cell)
    if value is None:
        return None
    if cell is not None and cell.isdigit() and len(cell) <= 20:
        return int(cell)  # exact, which a float is not
    if not 0 <= value < 1 << 63 or value != int(value):
        raise _BadRowError("a count that is no whole number")
    return int(value)


def _shape(cell: str) -> tuple[int, ...] | None:
    if cell == "-":
        return ()
    if not _SHAPE.fullmatch(cell):
        return None
    return tuple(int(length) for length in cell.split("x"))
