"""Opens a profiler's database: nothing in it or beside it is trusted or changed.

No file is made beside the run, no link leads out of it, no lock of ours holds up a job that still writes.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from ....errors import InputError
from ....files import open_input, real_path, shown_path
from ....progress import IsCancelled, ProgressCallback, check, ignore_progress, never_cancelled
from ...text_lines import LineNotes
from .database import Database, text_of_error

MAX_FILE_BYTES = 20 << 30
BUSY_SECONDS = 2.0

_MAGIC = b"SQLite format 3\0"
_HEADER_BYTES = 100
_HINT = "name a database of a profiler, e.g. ascend_pytorch_profiler_0.db, msprof_*.db or analysis.db"
_BUSY = "another process is writing the database and did not let go of it"
_BUSY_HINT = "try again in a moment, or copy the file and open the copy"


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
    full_bytes = _full_bytes(header)
    is_cut = not beside and size_bytes < full_bytes
    if is_cut:
        message = f"the file ends after {size_bytes:,} of {full_bytes:,} bytes; what is behind is missing"
        notes.add("cut-off", message, None, is_last=True)
    mode = "mode=ro&immutable=1"
    try:
        return _opened(path, real, artifact, progress, is_cancelled, mode=mode, notes=notes, is_cut=is_cut)
    except sqlite3.OperationalError as error:
        if _is_busy(error):
            raise InputError(_BUSY, path=path, hint=_BUSY_HINT) from error
        raise InputError(f"the database cannot be read: {text_of_error(error)}", path=path) from error
    except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
        raise InputError(f"the database is damaged: {text_of_error(error)}", path=path) from error


def _opened(
    path: Path,
    real: str,
    artifact: str,
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
    *,
    mode: str,
    notes: LineNotes | None = None,
    is_cut: bool = False,
) -> Database:
    """Raises sqlite3.Error where the file cannot be used that way."""
    is_unlocked = "immutable" in mode
    address = f"file:{quote(os.fsencode(real))}?{mode}"
    connection = sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    database = Database(
        connection, path, real, notes or LineNotes(artifact), progress, is_cancelled, is_unlocked=is_unlocked
    )
    try:
        database.prepare(is_cut=is_cut)
    except BaseException:
        connection.close()
        database.raise_stopped()
        raise
    return database


def _full_bytes(header: bytes) -> int:
    """How long the file should be, 0 where the header does not say it for sure."""
    page_bytes = int.from_bytes(header[16:18], "big")
    is_current = header[24:28] == header[92:96]  # else an old writer left the count as it was
    return (
        int.from_bytes(header[28:32], "big") * (1 << 16 if page_bytes == 1 else page_bytes)
        if is_current
        else 0
    )


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


def _is_busy(error: sqlite3.Error) -> bool:
    return "locked" in str(error) or "busy" in str(error)
