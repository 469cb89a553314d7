"""Result tables of other tools as one table: their rows, their figures by their own names, our reading."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from npulse.core.formats.results.cells import ResultColumn
from npulse.core.run.model import Artifact
from npulse.core.table import Column, Table, joined_text, text_column
from npulse.core.text import safe_text

from ..role_records import OK, ORIGIN, ROLES, UNKNOWN_ROLE, UNMATCHED
from ..table import STATES
from ..verdict import ERROR, REASONS, UNKNOWN, VERDICTS
from .reading import Theirs

_TEXTS = (
    ("golden", "golden"),
    ("type", "type"),
    ("dtype_target", "target_dtype"),
    ("dtype_golden", "golden_dtype"),
    ("shape_target", "target_shape"),
    ("shape_golden", "golden_shape"),
)
_SHOWN = frozenset(("figure", "statistic", "part"))
"""Roles whose columns stand under the tool's own names."""
_LABEL_CHARS = 256


@dataclass(frozen=True, slots=True)
class Result:
    """A result table of a run: its artifact and our reading."""

    artifact: Artifact
    theirs: Theirs


def theirs_table(results: Sequence[Result]) -> Table:
    """All rows, table behind table, in the order of the files.

    Columns: artifact, rank, line (of the file, or row of the sheet), sheet, operator, io, target, golden,
    type, dtype and shape of both sides, theirs (the tool's verdict as written), message, cell (what stands in
    place of a first figure), verdict and reason (ours); then the tool's figures under its own names, absent
    where a cell is no number.
    """
    read = [one.theirs for one in results]
    columns = [
        _spread("artifact", read, [safe_text(one.table.artifact, _LABEL_CHARS) for one in read]),
        _ranks(results),
        Column("line", "int", _joined([one.table.lines for one in read]).astype(np.int64)),
        *_sheets(read),
        joined_text("operator", [(one.call, [_shown(name) for name in one.calls]) for one in read]),
        text_column("io", [_shown(io.replace(".", " ", 1)) or None for one in read for io in one.io]),
        text_column("target", [_shown(one.name(row)) for one in read for row in range(one.table.n_rows)]),
        *(column for name, role in _TEXTS if (column := _texts(name, role, read)) is not None),
        text_column(
            "theirs", [_shown(one.said(row)) or None for one in read for row in range(one.table.n_rows)]
        ),
        _texts("message", "message", read),
        text_column("cell", [word for one in read for word in _cells(one)]),
        Column("state", "text", _joined([_states(one) for one in read]), labels=STATES, is_internal=True),
        Column("verdict", "text", _joined([one.ours.verdict for one in read]), labels=VERDICTS),
        Column("reason", "text", _joined([one.ours.reason for one in read]), labels=REASONS),
        *_figures(read),
    ]
    return Table("theirs", tuple(column for column in columns if column is not None))


def place_of(results: Sequence[Result], row: int) -> tuple[Result, int]:
    """The result that a table row stands in, and the row in it."""
    for one in results:
        if row < one.theirs.table.n_rows:
            return one, row
        row -= one.theirs.table.n_rows
    raise IndexError(row)


def table_row(results: Sequence[Result], result: Result, row: int) -> int:
    """The table row of a result's row."""
    start = 0
    for one in results:
        if one is result:
            return start + row
        start += one.theirs.table.n_rows
    raise ValueError("not one of these results")


def _shown(text: str) -> str:
    return safe_text(text.strip(), _LABEL_CHARS)


def _joined(parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def _states(one: Theirs) -> npt.NDArray[np.int64]:
    """The worse of both verdicts of each row, where it is judged; a role has the first error row alone."""
    verdict = np.where(one.is_bad, ERROR, one.ours.verdict).astype(np.int64)
    told = ~one.is_unjudged & (verdict == UNKNOWN)  # by the tool's own standard
    verdict = np.where(told, one.theirs, verdict)
    role = np.where(verdict == UNKNOWN, UNKNOWN_ROLE, OK).astype(np.int64)
    role[one.ours.is_unmatched & (verdict == UNKNOWN)] = UNMATCHED
    if one.first is not None and one.first_role == "origin":
        role[one.first] = ORIGIN
    return verdict * len(ROLES) + role


def _spread(name: str, read: Sequence[Theirs], values: Sequence[str]) -> Column:
    codes = [np.full(one.table.n_rows, place, np.int32) for place, one in enumerate(read)]
    return Column(name, "text", _joined(codes), labels=tuple(values) or ("",))


def _ranks(results: Sequence[Result]) -> Column | None:
    if all(one.artifact.rank is None for one in results):
        return None
    values = [np.full(one.theirs.table.n_rows, one.artifact.rank or 0, np.int64) for one in results]
    absent = [np.full(one.theirs.table.n_rows, one.artifact.rank is None, np.bool_) for one in results]
    return Column("rank", "int", _joined(values), absent=_joined(absent))


def _sheets(read: Sequence[Theirs]) -> list[Column]:
    if not any(len(one.table.sheets) > 1 for one in read):
        return []
    parts = []
    for one in read:
        sheet = one.table.sheet
        codes = np.full(one.table.n_rows, -1, np.int32) if sheet is None else sheet
        parts.append((codes, [_shown(name) for name in one.table.sheets]))
    return [joined_text("sheet", parts)]


def _texts(name: str, role: str, read: Sequence[Theirs]) -> Column | None:
    """A column of texts, from the first column of that role; absent where a cell is empty."""
    parts = []
    for one in read:
        column = one.table.first_of(role)
        if column is None:
            parts.append((np.full(one.table.n_rows, -1, np.int32), [""]))
            continue
        is_empty = np.array([not label.strip() for label in column.labels] or [True])
        codes = np.where(is_empty[column.words], -1, column.words)
        parts.append((codes, [_shown(label) for label in column.labels]))
    return joined_text(name, parts) if any((codes >= 0).any() for codes, _ in parts) else None


def _cells(one: Theirs) -> list[str | None]:
    """The word that stands in place of the first figure of each row."""
    figures = one.table.all_of("figure")
    if not figures:
        return [None] * one.table.n_rows
    words = figures[0].words
    shown = [_shown(label) for label in figures[0].labels]
    return [(shown[code] or None) if code >= 0 else None for code in words.tolist()]


@dataclass(slots=True)
class _Parts:
    """One figure over all tables."""

    unit: str = ""
    parts: dict[int, ResultColumn] = field(default_factory=dict)


def _figures(read: Sequence[Theirs]) -> list[Column]:
    """Figures of all tables by their names; the same name in two tables is one column."""
    found: dict[tuple[str, bool], _Parts] = {}
    for place, one in enumerate(read):
        for column in one.table.columns:
            if column.role in _SHOWN:
                is_text = column.role == "part"
                entry = found.setdefault((_shown(column.header), is_text), _Parts())
                entry.unit = entry.unit or column.unit
                entry.parts.setdefault(place, column)
    sizes = [one.table.n_rows for one in read]
    taken = {
        "artifact",
        "rank",
        "line",
        "sheet",
        "operator",
        "io",
        "target",
        "golden",
        "type",
        "theirs",
        "message",
    }
    taken |= {"cell", "state", "verdict", "reason", *(name for name, _ in _TEXTS)}
    columns = []
    for (header, is_text), entry in found.items():
        name = header if header not in taken else f"{header} (theirs)"
        while name in taken:
            name += "'"
        taken.add(name)
        if is_text:
            pieces = [
                (entry.parts[i].words, [_shown(label) for label in entry.parts[i].labels])
                if i in entry.parts
                else (np.full(n, -1, np.int32), [""])
                for i, n in enumerate(sizes)
            ]
            columns.append(joined_text(name, pieces))
            continue
        numbers = [
            entry.parts[i].numbers if i in entry.parts else np.full(n, np.nan) for i, n in enumerate(sizes)
        ]
        values = _joined(numbers).astype(np.float64)
        columns.append(Column(name, "float", values, absent=np.isnan(values), unit=entry.unit))
    return columns
