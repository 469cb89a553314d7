"""From the columns of a small table to records, one a row: what readers of such tables share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from npulse.core.dataclass import dataclass

from ...findings import Problem
from ..text_lines import LineNotes
from .cells import NO_ID
from .operator_files import device_of
from .records import Read, RecordT
from .table_headers import Kind
from .tables import ProfilerTable, TableColumn, read_table

MAX_RECORDS = 200_000
MOST_NS = 10**15
"""No part of a step takes 12 days: a larger time is a difference of unsigned counters below zero."""


@dataclass(frozen=True, slots=True)
class Spelled:
    """Columns that a reader knows: our name -> the spellings of its header, and what it holds."""

    spellings: tuple[str, ...]
    kind: Kind

    @property
    def kinds(self) -> Mapping[str, Kind]:
        return dict.fromkeys(self.spellings, self.kind)


def texts(*spellings: str) -> Spelled:
    """A column of texts."""
    return Spelled(spellings, "text")


def integers(*spellings: str) -> Spelled:
    """A column of whole numbers."""
    return Spelled(spellings, "int")


def numbers(*spellings: str) -> Spelled:
    """A column of numbers."""
    return Spelled(spellings, "float")


def times(*spellings: str) -> Spelled:
    """A column of times: exact nanoseconds, of microseconds where the header has no unit."""
    return Spelled(spellings, "time")


@dataclass(slots=True)
class Rows:
    """The rows of a table by our names. device: that of the folder or file name, None where neither says.
    row: the one that is asked about.

    impossible: durations that no counter can have counted, by our names: their rows.
    """

    table: ProfilerTable
    columns: Mapping[str, TableColumn | None]
    device: int | None = None
    row: int = 0
    impossible: dict[str, list[int]] = field(default_factory=dict)

    @property
    def others(self) -> tuple[TableColumn, ...]:
        """Columns that the reader does not know."""
        known = {id(column) for column in self.columns.values()}
        return tuple(column for column in self.table.columns if id(column) not in known)

    def has(self, name: str) -> bool:
        return self.columns.get(name) is not None

    def text(self, name: str) -> str:
        column = self.columns.get(name)
        return column.text(self.row) if column is not None else ""

    def integer(self, name: str) -> int | None:
        column = self.columns.get(name)
        return column.integer(self.row) if column is not None else None

    def number(self, name: str) -> float | None:
        column = self.columns.get(name)
        return column.number(self.row) if column is not None else None

    def duration(self, name: str) -> int | None:
        """A time of the row, None where it is none that can be."""
        return self.possible(name, self.integer(name))

    def possible(self, name: str, ns: int | None) -> int | None:
        """The duration, None where it is larger than any that can be: that is told."""
        if ns is None or abs(ns) <= MOST_NS:
            return ns
        self.impossible.setdefault(name, []).append(self.row)
        return None

    @property
    def line(self) -> int:
        return int(self.table.line[self.row])

    def problems(self) -> tuple[Problem, ...]:
        """What the table told, and what became of times that cannot be."""
        told = list(self.table.problems)
        for name, rows in self.impossible.items():
            column = self.columns.get(name)
            header = column.header if column is not None else name
            message = (
                f"{header}: {len(rows):,} times of more than {MOST_NS // 1000:,} us, counters that went below"
                " zero; they count as absent"
            )
            told.append(
                Problem(self.table.artifact, "bad-record", message, line=int(self.table.line[rows[0]]))
            )
        return tuple(told)


def read_rows(
    path: Path,
    known: Mapping[str, Spelled],
    *,
    root: Path | None,
    needed: Sequence[str],
    hint: str,
    is_ragged: bool = False,
) -> Rows:
    """The table with its columns by our names; all others as texts.

    needed: names without which it is no such table. Raises InputError.
    """
    kinds: dict[str, Kind] = {}
    for spelled in known.values():
        kinds.update(spelled.kinds)
    table = read_table(
        path,
        root=root,
        kinds=kinds,
        others="text",
        needed=[known[name].spellings for name in needed],
        is_ragged=is_ragged,
        hint=hint,
        max_rows=MAX_RECORDS,
    )
    device = device_of(path)
    return rows_of(table, known, None if device == NO_ID else device)


def rows_of(table: ProfilerTable, known: Mapping[str, Spelled], device: int | None = None) -> Rows:
    """The rows of a table that was read, by our names."""
    columns = {name: table.find(*spelled.spellings) for name, spelled in known.items()}
    return Rows(table, columns, device)


def records_of(rows: Rows, make: Callable[[Rows], RecordT | None]) -> Read[RecordT]:
    """A record of each row. `make` gives None for a row that is none: it is counted and told."""
    found: list[RecordT] = []
    notes = LineNotes(rows.table.artifact)
    n_dropped = 0
    for row in range(rows.table.n_rows):
        rows.row = row
        record = make(rows)
        if record is None:
            n_dropped += 1
            notes.add("bad-record", "the row has no name", rows.line)
        else:
            found.append(record)
    table = rows.table
    return Read(
        tuple(found),
        (*rows.problems(), *notes.close()),
        table.n_dropped + n_dropped,
        table.encoding,
        table.headers,
    )
