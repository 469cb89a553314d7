"""Values of SQLite as arrays. A column's declared type binds no value: each may be any of five types."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any

import numpy as np
import numpy.typing as npt

from ....text import safe_text
from ..cell_texts import NONE_WORDS
from ..cells import NO_ID, NO_NS, NO_START
from .database import Database

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

NOTHING = -(2**63)
"""What stands in an array of integers where the file has none."""
NO_CONNECTION = 0xFFFF_FFFF
"""What the writers put for "none" into ids."""

_MAX_INT64 = 2**63 - 1
_INTEGER = re.compile(r"[+-]?\d{1,20}(?:\.0*)?", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,3})?", re.ASCII | re.IGNORECASE)
_MAX_TEXT = 64
_ONLY_INTEGERS, _ONLY_TEXTS, _ONLY_NONE, _PLAIN_NUMBERS = {int}, {str}, {type(None)}, {int, float}
_DIGITS = re.compile(r"\d+", re.ASCII)


@dataclass(slots=True)
class Unread:
    """Values of one column that are not what the column holds: how many, the first one and its row."""

    n: int = 0
    row: int | None = None
    first: str = ""

    def add(self, value: Any, row: int | None) -> None:
        """Count one."""
        if not self.n:
            self.row = row
            shown = "a blob" if isinstance(value, bytes) else text_of(value)
            self.first = safe_text(shown, 40)
        self.n += 1


@dataclass(slots=True)
class Rows:
    """Columns of one table as they were read. arrays: name as asked for -> values; columns that the table
    does not have are not in it. number: of each row, NOTHING where rows have none."""

    number: Integers
    arrays: dict[str, Integers | Floats] = field(default_factory=dict)
    n_unread: int = 0

    def __len__(self) -> int:
        return len(self.number)

    def has(self, name: str) -> bool:
        """True if the table has that column."""
        return name in self.arrays

    def integers(self, name: str) -> Integers:
        """A column as it is, all NOTHING where there is no such column."""
        found = self.arrays.get(name)
        return np.full(len(self), NOTHING, np.int64) if found is None else found.astype(np.int64, copy=False)

    def numbers(self, name: str) -> Floats:
        """A column of numbers, all NaN where there is no such column."""
        found = self.arrays.get(name)
        return np.full(len(self), math.nan) if found is None else found.astype(np.float64, copy=False)

    def ids(self, name: str) -> Integers:
        """A column of ids from 0; NO_ID (-1) for none, whichever way the writer says it."""
        found = self.integers(name)
        return np.where((found < 0) | (found == NO_CONNECTION), NO_ID, found)

    def starts(self, name: str) -> Integers:
        """Times since 1970 in ns; NO_START (-1) for none: nothing starts before 1970."""
        return np.maximum(self.integers(name), NO_START)

    def lines(self) -> Integers:
        """Numbers of the rows, -1 for none."""
        return np.maximum(self.number, NO_ID)

    def taken(self, rows: Integers | Flags) -> Rows:
        """Some of the rows."""
        return Rows(self.number[rows], {name: values[rows] for name, values in self.arrays.items()})


def read_rows(
    database: Database,
    table: str,
    integers: Sequence[str],
    numbers: Sequence[str] = (),
    *,
    only: tuple[str, Sequence[int]] | None = None,
) -> Rows:
    """Columns of a table, int64 and float64; empty if there is no such table.

    Values that are no such numbers count as absent and are noted, once a column.
    """
    if not database.has(table):
        return Rows(np.zeros(0, np.int64))
    there = database.columns_of(table, [*integers, *numbers])
    are_whole = [name in integers for name in there]
    pieces: list[list[Integers | Floats]] = [[] for _ in there]
    numbered: list[Integers] = []
    unread = [Unread() for _ in there]
    groups = _groups(only)
    for group in groups:
        for block in database.blocks(table, there, only=group):
            columns = list(zip(*block, strict=True))
            rows = columns[0]
            numbered.append(integers_of(rows, rows, Unread()))
            for place, values in enumerate(columns[1:]):
                read = integers_of if are_whole[place] else numbers_of
                pieces[place].append(read(values, rows, unread[place]))
    result = Rows(_joined(numbered, np.int64))
    for name, is_whole, piece, bad in zip(there, are_whole, pieces, unread, strict=True):
        result.arrays[name] = _joined(piece, np.int64 if is_whole else np.float64)
        result.n_unread += bad.n
        note_unread(database, table, name, bad)
    return result


def note_unread(database: Database, table: str, column: str, bad: Unread) -> None:
    """Say what of a column was not read, if anything."""
    if bad.n:
        message = (
            f"{table}.{column}: {bad.n:,} cells were not read and count as absent; the first is {bad.first!r}"
        )
        database.note("bad-record", message, bad.row)


def integers_of(values: Sequence[Any], rows: Sequence[Any], bad: Unread) -> Integers:
    """Values as int64, NOTHING for NULL and for words that mean it."""
    types = set(map(type, values))
    if types == _ONLY_INTEGERS:
        return np.array(values, np.int64)
    if types == _ONLY_TEXTS and max(map(len, values)) <= 19 and _DIGITS.fullmatch("".join(values)):
        numbers = list(map(int, filter(None, values)))
        if len(numbers) == len(values) and max(numbers) <= _MAX_INT64:
            return np.array(numbers, np.int64)
    if types == _ONLY_NONE:
        return np.full(len(values), NOTHING, np.int64)
    found = np.empty(len(values), np.int64)
    for i, value in enumerate(values):
        whole = integer_of(value)
        if whole is None:
            bad.add(value, rows[i])
            whole = NOTHING
        found[i] = whole
    return found


def numbers_of(values: Sequence[Any], rows: Sequence[Any], bad: Unread) -> Floats:
    """Values as float64, NaN for NULL and for words that mean it."""
    if set(map(type, values)) <= _PLAIN_NUMBERS:
        found = np.array(values, np.float64)
        if np.isfinite(found).all():
            return found
    result = np.empty(len(values))
    for i, value in enumerate(values):
        number = number_of(value)
        if number is None:
            bad.add(value, rows[i])
            number = math.nan
        result[i] = number
    return result


def integer_of(value: Any) -> int | None:
    """One value as a whole number: NOTHING for none, None if it is something else.

    Times stand as text in some tables; a fraction of a nanosecond is rounded.
    """
    if isinstance(value, int):
        return value
    if value is None:
        return NOTHING
    if isinstance(value, float):
        return round(value) if math.isfinite(value) and abs(value) < 2.0**63 else None
    if not isinstance(value, str) or len(value) > _MAX_TEXT:
        return None
    text = value.strip()
    if text.lower() in NONE_WORDS:
        return NOTHING
    if not _INTEGER.fullmatch(text):
        return None
    whole = int(text.partition(".")[0])
    return whole if abs(whole) <= _MAX_INT64 else None


def number_of(value: Any) -> float | None:
    """One value as a number: NaN for none, None if it is something else."""
    if isinstance(value, (int, float)):
        return float(value) if math.isfinite(value) else None
    if value is None:
        return math.nan
    if not isinstance(value, str) or len(value) > _MAX_TEXT:
        return None
    text = value.strip()
    if text.lower() in NONE_WORDS:
        return math.nan
    if not _NUMBER.fullmatch(text):
        return None
    number = float(text)
    return number if math.isfinite(number) else None


def ns_of_us(value: Any) -> int | None:
    """Microseconds as the database has them -> whole nanoseconds, halves away from zero; None for none.

    The shortest text of a float is what was written. Raises ValueError if it is no time.
    """
    if value is None:
        return None
    text = value.strip() if isinstance(value, str) else repr(value)
    if text.lower() in NONE_WORDS:
        return None
    if len(text) > _MAX_TEXT or not _NUMBER.fullmatch(text):
        raise ValueError(text[:_MAX_TEXT])
    try:
        us = Decimal(text)
        if us.adjusted() > 16:
            raise ValueError(text)
        ns = int((us * 1000).quantize(Decimal(1), ROUND_HALF_UP))
    except InvalidOperation as error:
        raise ValueError(text) from error
    if abs(ns) > _MAX_INT64:
        raise ValueError(text)
    return ns


def text_of(value: Any) -> str:
    """A cell of a table without STRING_IDS as text, "" for NULL and bytes."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, (int, float)) else ""


def durations(starts: Integers, ends: Integers) -> Integers:
    """End minus start, NO_NS where one of them is not there. Starts from 0 on cannot overflow."""
    is_there = (starts >= 0) & (ends >= 0)
    return np.where(is_there, np.where(is_there, ends, 0) - np.where(is_there, starts, 0), NO_NS)


_IDS_AT_ONCE = 500


def _groups(only: tuple[str, Sequence[int]] | None) -> Iterable[tuple[str, Sequence[int]] | None]:
    """What is asked for in pieces: a statement has room for so many values."""
    if only is None:
        return (None,)
    column, wanted = only
    return ((column, wanted[at : at + _IDS_AT_ONCE]) for at in range(0, len(wanted), _IDS_AT_ONCE))


def _joined(pieces: Sequence[npt.NDArray[Any]], dtype: type) -> npt.NDArray[Any]:
    if not pieces:
        return np.zeros(0, dtype)
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
