"""A profiler's database opened so that nothing in it or beside it is trusted or changed.

No view, trigger or virtual table is asked, no file is made beside the run, no lock of ours holds up a job
that is still writing.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import quote

from ....errors import Cancelled, InputError
from ....findings import Problem
from ....progress import IsCancelled, Progress, ProgressCallback, check, ignore_progress, never_cancelled
from ...json_window import open_input, real_path, shown_path
from ...text_lines import LineNotes

MAX_FILE_BYTES = 20 << 30
MAX_ROWS = 10_000_000
MAX_TABLES = 4096
MAX_COLUMNS = 512
MAX_VALUE_BYTES = 1 << 24
MAX_SECONDS = 900.0
BUSY_SECONDS = 2.0
BLOCK_ROWS = 1 << 15

_MAGIC = b"SQLite format 3\0"
_HEADER_BYTES = 100
_LEAST_ROW_BYTES = 4  # two for its place on the page, two for its length and number
_STEPS_BETWEEN_LOOKS = 50_000
_HINT = "name a database of a profiler, e.g. ascend_pytorch_profiler_0.db, msprof_*.db or analysis.db"
_BUSY = "another process is writing the database and did not let go of it"
_BUSY_HINT = "try again in a moment, or copy the file and open the copy"
_PRAGMAS = (
    *("trusted_schema=OFF", "query_only=ON", "cell_size_check=ON", "mmap_size=0", "temp_store=MEMORY"),
    *("cache_size=-16384", "automatic_index=OFF"),
)

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
        self._stamp = _stamp(real)
        self._max_rows = min(MAX_ROWS, self._stamp[0] // _LEAST_ROW_BYTES)
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
        self, table: str, columns: Sequence[str], *, only: tuple[str, Collection[int]] | None = None
    ) -> Iterator[list[Row]]:
        """Rows as (number of the row or None, value a column), some ten thousand at a time.

        only: (column, values that it may have). What stops the reading is noted: a damaged page, a limit.
        Raises Cancelled.
        """
        stored = self.tables[table.lower()]
        number = "rowid" if stored.has_rowid else "NULL"
        listed = ", ".join([number, *(quoted(stored.columns[name.lower()]) for name in columns)])
        statement = f"SELECT {listed} FROM main.{quoted(stored.name)}"
        parameters: list[int] = []
        if only is not None:
            parameters = list(only[1])
            marks = ",".join("?" * len(parameters))
            statement += f" WHERE {quoted(stored.columns[only[0].lower()])} IN ({marks})"
        n_rows = 0
        try:
            with closing(self._connection.execute(statement, parameters)) as cursor:
                while True:
                    check(self._is_cancelled)
                    rows = cursor.fetchmany(BLOCK_ROWS)
                    if n_rows + len(rows) > self._max_rows:
                        rows = rows[: self._max_rows - n_rows]
                        self.note("limit", f"{stored.name}: only the first {self._max_rows:,} rows are read")
                    if not rows:
                        return
                    n_rows += len(rows)
                    yield rows
                    self._progress(Progress("read", n_rows, None, "rows"))
                    if n_rows >= self._max_rows:
                        return
        except (sqlite3.Error, sqlite3.Warning, OverflowError, ValueError) as error:
            self._raise_stopped()
            self._look_for_change()
            is_late = time.monotonic() > self._ends_s
            why = f"more than {MAX_SECONDS:,.0f} s" if is_late else _text_of(error)
            kind = "limit" if is_late else "cut-off" if self._has_changed else "unreadable"
            self.note(kind, f"{stored.name}: reading stopped after {n_rows:,} rows: {why}")

    def rows(self, table: str, columns: Sequence[str], most: int = MAX_ROWS) -> Iterator[Row]:
        """Rows one by one, for small tables. Columns that are not there are None. What is over `most` is
        noted."""
        if table.lower() not in self.tables:
            return
        there = self.columns_of(table, columns)
        places = [there.index(name) + 1 if name in there else None for name in columns]
        n_rows = 0
        for block in self.blocks(table, there):
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

    def prepare(self) -> None:
        """Switch everything off that the file could use, then look at its tables. Raises sqlite3.Error."""
        connection = self._connection
        connection.text_factory = _decoded
        if hasattr(connection, "setlimit"):  # Python 3.11
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)
            connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        for pragma in _PRAGMAS:
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

    def _raise_stopped(self) -> None:
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


def open_database(
    path: Path,
    *,
    root: Path | None = None,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> Database:
    """The database at `path`, for reading.

    With nothing beside it, it is read without locks, and told if it changed. With a journal or a write-ahead
    log of a writer it is read as SQLite does it; where that would need writing (a writer that died), the file
    alone is read and that is told. Raises InputError (no such file, no database, empty, damaged from the
    start, busy; `root`: a link leads out of it) and Cancelled.
    """
    check(is_cancelled)
    file, size_bytes = open_input(path, root)
    with file:
        try:
            header = file.read(_HEADER_BYTES) or b""
        except OSError as error:
            raise InputError(f"reading failed: {error.strerror}", path=path) from error
    if not header:
        raise InputError("the file is empty", path=path, hint=_HINT)
    if not header.startswith(_MAGIC) or len(header) < _HEADER_BYTES:
        raise InputError("this is no SQLite database", path=path, hint=_HINT)
    if size_bytes > MAX_FILE_BYTES:
        raise InputError(f"the database is larger than {MAX_FILE_BYTES:,} bytes", path=path)
    real = real_path(path, root)
    artifact = shown_path(path, root)
    beside, odd = _beside(real)
    notes = LineNotes(artifact)
    if beside and not odd and ("wal" not in beside or "shm" in beside):
        try:
            return _opened(path, real, artifact, progress, is_cancelled, mode="mode=ro&readonly_shm=1")
        except sqlite3.OperationalError as error:
            if _is_busy(error):
                raise InputError(_BUSY, path=path, hint=_BUSY_HINT) from error
        except sqlite3.Error:
            pass  # the journal may be what is damaged
    if odd:
        notes.add(
            "outside-run", f"{_named(artifact, odd)} beside it is no regular file and is not used", None
        )
    if beside:
        message = (
            f"{_named(artifact, beside)} beside it says that the last changes are unfinished or not merged; "
            "only what stands in the database itself is read"
        )
        notes.add("cut-off", message, None, is_last=True)
    try:
        return _opened(path, real, artifact, progress, is_cancelled, mode="mode=ro&immutable=1", notes=notes)
    except sqlite3.OperationalError as error:
        if _is_busy(error):
            raise InputError(_BUSY, path=path, hint=_BUSY_HINT) from error
        raise InputError(f"the database cannot be read: {_text_of(error)}", path=path) from error
    except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
        raise InputError(f"the database is damaged: {_text_of(error)}", path=path) from error


def quoted(name: str) -> str:
    """A name as SQL takes it, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


def _opened(
    path: Path,
    real: str,
    artifact: str,
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
    *,
    mode: str,
    notes: LineNotes | None = None,
) -> Database:
    """Raises sqlite3.Error where the file cannot be used that way."""
    is_unlocked = "immutable" in mode
    address = f"file:{quote(os.fsencode(real))}?{mode}"
    connection = sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    database = Database(
        connection, path, real, notes or LineNotes(artifact), progress, is_cancelled, is_unlocked=is_unlocked
    )
    try:
        database.prepare()
    except BaseException:
        connection.close()
        database._raise_stopped()
        raise
    return database


def _allowed(action: int, first: str | None, second: str | None, _: str | None, inside: str | None) -> int:
    """What a statement may do: read tables, use one function. `inside`: of which view or trigger."""
    if inside is not None:
        return sqlite3.SQLITE_DENY
    if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ):
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_PRAGMA and first == "table_info":
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION and second == "substr":
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def _beside(real: str) -> tuple[list[str], list[str]]:
    """What of a writer's lies beside the file and has something in it; of these, what is no regular file."""
    found: list[str] = []
    odd: list[str] = []
    for end in ("journal", "wal", "shm"):
        try:
            status = os.lstat(f"{real}-{end}")
        except OSError:
            continue
        if not stat.S_ISREG(status.st_mode):
            odd.append(end)
        elif status.st_size:
            found.append(end)
    if found == ["shm"]:  # an index without a log
        found = []
    return found, odd


def _named(artifact: str, ends: Sequence[str]) -> str:
    return ", ".join(f"{artifact}-{end}" for end in ends)


def _stamp(real: str) -> tuple[int, int]:
    with suppress(OSError):
        status = os.stat(real)
        return status.st_size, status.st_mtime_ns
    return 0, 0


def _is_busy(error: sqlite3.Error) -> bool:
    return "locked" in str(error) or "busy" in str(error)


def _text_of(error: BaseException) -> str:
    """What SQLite says, without what the file could have put into it."""
    text = str(error)
    return "malformed database schema" if text.startswith("malformed database schema") else text[:120]


def _decoded(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
