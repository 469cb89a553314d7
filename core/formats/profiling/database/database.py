"""A database while it is read: its real tables, their rows in blocks, and what went wrong on the way.

No view, trigger or virtual table is asked, and no statement can do anything but read.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from npulse.core.dataclass import dataclass

from ....errors import Cancelled
from ....findings import Problem
from ....progress import IsCancelled, Progress, ProgressCallback, check
from ...text_lines import LineNotes

MAX_ROWS = 10_000_000
MAX_TABLES = 4096
MAX_COLUMNS = 512
MAX_VALUE_BYTES = 1 << 24
MAX_SECONDS = 900.0
BLOCK_ROWS = 1 << 15
BLOCK_BYTES = 1 << 26
NUMBER_BYTES = 128
"""Longer texts are no numbers."""
TEXT_BYTES = 1 << 14

_LEAST_ROW_BYTES = 4  # two for its place on the page, two for its length and number
_STEPS_BETWEEN_LOOKS = 50_000
_PRAGMAS = (
    *("trusted_schema=OFF", "query_only=ON", "cell_size_check=ON", "mmap_size=0", "temp_store=MEMORY"),
    *("cache_size=-16384", "automatic_index=OFF"),
)
_READ_ERRORS = (sqlite3.Error, sqlite3.Warning, OverflowError, ValueError)

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A real table. columns: name in lower case -> as the file spells it, in the file's order.

    has_rowid: rows have numbers. key: its column that is the row's number, "" if there is none.
    """

    name: str
    columns: Mapping[str, str]
    has_rowid: bool = True
    key: str = ""


class Database:
    """An open database; a context manager. Use `open_database`.

    artifact: the file as problems name it. tables: name in lower case -> table. notes: problems found so far.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path,
        real: str,
        notes: LineNotes,
        progress: ProgressCallback,
        is_cancelled: IsCancelled,
        *,
        is_unlocked: bool,
    ) -> None:
        self.path = path
        self.artifact = notes.artifact
        self.notes = notes
        self.tables: dict[str, StoredTable] = {}
        self._connection = connection
        self._real = real
        self._is_unlocked = is_unlocked
        self._text_bytes = TEXT_BYTES
        self._stamp = _stamp(real)
        n_bytes = self._stamp[0] + (0 if is_unlocked else _stamp(f"{real}-wal")[0])
        self._max_rows = min(MAX_ROWS, n_bytes // _LEAST_ROW_BYTES)
        self._progress = progress
        self._is_cancelled = is_cancelled
        self._ends_s = time.monotonic() + MAX_SECONDS
        self._stopped: BaseException | None = None
        self._has_changed = False

    def __enter__(self) -> Database:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file. Once more does no harm."""
        self._connection.close()

    def has(self, table: str, *columns: str) -> bool:
        """True if that table is there, with all of these columns. Case does not matter, as in SQLite."""
        found = self.tables.get(table.lower())
        return found is not None and all(column.lower() in found.columns for column in columns)

    def columns_of(self, table: str, wanted: Sequence[str]) -> list[str]:
        """Those of the wanted columns that the table has, as they were asked for."""
        found = self.tables.get(table.lower())
        return [name for name in wanted if found is not None and name.lower() in found.columns]

    def blocks(
        self,
        table: str,
        columns: Sequence[str],
        *,
        only: tuple[str, Collection[int]] | None = None,
        text_bytes: int = NUMBER_BYTES,
    ) -> Iterator[list[Row]]:
        """Rows as (number of the row or None, value a column), some ten thousand at a time.

        only: (column, values that it may have). text_bytes: texts are cut there; blobs come empty, so that a
        block stays small. What stops the reading is noted: a damaged page, a limit. Raises Cancelled.
        """
        stored = self.tables[table.lower()]
        number = "rowid" if stored.has_rowid else "NULL"
        names = [quoted(stored.columns[name.lower()]) for name in columns]
        listed = ", ".join(
            [number, *(f"CASE typeof({name}) WHEN 'blob' THEN x'' ELSE {name} END" for name in names)]
        )
        statement = f"SELECT {listed} FROM main.{quoted(stored.name)}"
        block_rows = max(1, min(BLOCK_ROWS, BLOCK_BYTES // (text_bytes * (len(columns) + 1))))
        parameters: list[int] = []
        if only is not None:
            parameters = list(only[1])
            marks = ",".join("?" * len(parameters))
            statement += f" WHERE {quoted(stored.columns[only[0].lower()])} IN ({marks})"
        n_rows = 0
        error: Exception | None = None
        while error is None:
            try:
                if not n_rows:
                    cursor = self._connection.execute(statement, parameters)
                check(self._is_cancelled)
                self._text_bytes = text_bytes
                rows = cursor.fetchmany(block_rows)
            except _READ_ERRORS as caught:
                error = caught
                self.raise_stopped()
                rows = self._before_damage(statement, parameters, n_rows, block_rows)
            if n_rows + len(rows) > self._max_rows:
                rows = rows[: self._max_rows - n_rows]
                self.note("limit", f"{stored.name}: only the first {self._max_rows:,} rows are read")
            n_rows += len(rows)
            if rows:
                yield rows
                self._progress(Progress("read", n_rows, None, "rows"))
            if error is None and (not rows or n_rows >= self._max_rows):
                return
        self._note_stop(stored.name, n_rows, error)

    def _before_damage(self, statement: str, parameters: Sequence[int], n_known: int, most: int) -> list[Row]:
        """The rows from `n_known` on that can be had one by one before the statement fails."""
        found: list[Row] = []
        if time.monotonic() > self._ends_s:
            return found
        try:
            with closing(self._connection.execute(statement, parameters)) as cursor:
                for number, row in enumerate(cursor):
                    if number >= n_known:
                        found.append(row)
                    if len(found) >= most:
                        break
        except _READ_ERRORS:
            self.raise_stopped()
            # Python asks for the next row before it hands one out, and so loses the last good one
            last = f"{statement} LIMIT 1 OFFSET {n_known + len(found)}"
            with suppress(*_READ_ERRORS):
                found += self._connection.execute(last, parameters).fetchall()
            self.raise_stopped()
        return found

    def _note_stop(self, table: str, n_rows: int, error: Exception) -> None:
        self._look_for_change()
        is_late = time.monotonic() > self._ends_s
        why = f"more than {MAX_SECONDS:,.0f} s" if is_late else text_of_error(error)
        kind = "limit" if is_late else "cut-off" if self._has_changed else "unreadable"
        self.note(kind, f"{table}: reading stopped after {n_rows:,} rows: {why}")

    def rows(
        self, table: str, columns: Sequence[str], most: int = MAX_ROWS, *, text_bytes: int = TEXT_BYTES
    ) -> Iterator[Row]:
        """Rows one by one, for small tables. Columns that are not there are None. What is over `most` is
        noted."""
        if table.lower() not in self.tables:
            return
        there = self.columns_of(table, columns)
        places = [there.index(name) + 1 if name in there else None for name in columns]
        n_rows = 0
        for block in self.blocks(table, there, text_bytes=text_bytes):
            for row in block:
                if n_rows == most:
                    self.note("limit", f"{self.tables[table.lower()].name}: only {most:,} rows are read")
                    return
                n_rows += 1
                yield (row[0], *(None if place is None else row[place] for place in places))

    def note(self, kind: str, message: str, line: int | None = None) -> None:
        """A problem of this file. line: number of the row in its table."""
        self.notes.add(kind, message, line)

    def problems(self) -> tuple[Problem, ...]:
        """All problems; whether the file changed meanwhile is looked at now."""
        self._look_for_change()
        return self.notes.close()

    # ---- inside ----

    def prepare(self, *, is_cut: bool = False) -> None:
        """Switch everything off that the file could use, then look at its tables. Raises sqlite3.Error.

        is_cut: the file is shorter than it says, which SQLite takes only like this.
        """
        connection = self._connection
        connection.text_factory = self._decoded
        if hasattr(connection, "setlimit"):  # Python 3.11
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)
            connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        for pragma in (*(("writable_schema=ON",) if is_cut else ()), *_PRAGMAS):
            connection.execute(f"PRAGMA {pragma}").close()
        connection.set_authorizer(_allowed)
        connection.set_progress_handler(self._is_over, _STEPS_BETWEEN_LOOKS)
        statement = (
            "SELECT name, substr(sql, 1, 13) FROM main.sqlite_master"
            f" WHERE type = 'table' AND rootpage > 0 LIMIT {MAX_TABLES}"
        )
        for name, made in connection.execute(statement).fetchall():
            if isinstance(name, str) and isinstance(made, str) and made.upper() == "CREATE TABLE ":
                self._add_table(name)

    def _add_table(self, name: str) -> None:
        if not name or len(name) > 128 or not name.isascii() or name.lower().startswith("sqlite_"):
            return
        try:
            listed = self._connection.execute(f"PRAGMA main.table_info({quoted(name)})").fetchmany(
                MAX_COLUMNS
            )
        except sqlite3.Error:
            return  # a table that SQLite does not understand is none of a profiler's
        has_rowid = True
        try:
            self._connection.execute(f"SELECT rowid FROM main.{quoted(name)} LIMIT 0").close()
        except sqlite3.Error:  # WITHOUT ROWID
            has_rowid = False
        columns: dict[str, str] = {}
        keys: list[str] = []
        for _, column, type_name, _, _, place in listed:
            if isinstance(column, str) and column.isascii():
                columns.setdefault(column.lower(), column)
                if place:
                    keys.append(column.lower() if str(type_name).upper() == "INTEGER" else "")
        key = keys[0] if len(keys) == 1 and has_rowid else ""
        self.tables.setdefault(name.lower(), StoredTable(name, columns, has_rowid, key))

    def _decoded(self, raw: bytes) -> str:
        return raw[: self._text_bytes].decode("utf-8", "replace")

    def _is_over(self) -> int:
        """Called by SQLite as it works: 1 stops the statement. An error may not leave a callback."""
        try:
            if self._is_cancelled():
                self._stopped = Cancelled()
                return 1
        except BaseException as error:  # the caller's own: raised again where the statement ends
            self._stopped = error
            return 1
        return int(time.monotonic() > self._ends_s)

    def raise_stopped(self) -> None:
        if self._stopped is not None:
            stopped, self._stopped = self._stopped, None
            raise stopped

    def _look_for_change(self) -> None:
        """Without locks a writer may have changed pages while they were read: that is told, once."""
        if self._is_unlocked and not self._has_changed and _stamp(self._real) != self._stamp:
            self._has_changed = True
            message = (
                "the file changed while it was read: what was written last may be missing or inconsistent"
            )
            self.notes.add("cut-off", message, None, is_last=True)


def quoted(name: str) -> str:
    """A name as SQL takes it, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


def _allowed(action: int, first: str | None, second: str | None, _: str | None, inside: str | None) -> int:
    """What a statement may do: read tables, use two functions. `inside`: of which view or trigger."""
    if inside is not None:
        return sqlite3.SQLITE_DENY
    if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ):
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_PRAGMA and first == "table_info":
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION and second in ("substr", "typeof"):
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def _stamp(real: str) -> tuple[int, int]:
    with suppress(OSError):
        status = os.stat(real)
        return status.st_size, status.st_mtime_ns
    return 0, 0


def text_of_error(error: BaseException) -> str:
    """What SQLite says, without what the file could have put into it."""
    text = str(error)
    return "malformed database schema" if text.startswith("malformed database schema") else text[:120]
