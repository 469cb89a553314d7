"""Results kept between two openings of the same files, in the user's cache folder and never in the run.

One entry is one `.npz` file of plain arrays with a JSON member beside them: nothing in it is code. An entry
that cannot be read is removed and counts as missing; a folder that cannot be written means that nothing is
kept, never an error.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import stat
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

MAX_BYTES = 512 << 20
SCHEMA = 1

_SUFFIX = ".npz"
JOURNAL_SUFFIX = ".journal"
"""Of results that are kept while the work goes on, see `journal`."""
_FACTS = "facts.json"
_PREFIX = "npulse-"
_MAX_ENTRY_BYTES = 256 << 20
_MAX_MEMBERS = 4096
_ENCODED = ("utf-8", "surrogateescape")
_STALE_PART_S = 3600.0

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """What was kept under one key: numpy arrays by name, and facts (anything JSON can hold)."""

    arrays: Mapping[str, Array]
    facts: Any = None


@dataclass(frozen=True, slots=True)
class Usage:
    """How much is kept where."""

    folder: Path
    n_entries: int
    size_bytes: int
    max_bytes: int


@dataclass(slots=True)
class Cache:
    """Entries in one folder; beyond `max_bytes` the least recently used go. Safe for several processes."""

    folder: Path
    max_bytes: int = MAX_BYTES
    _kept_bytes: int | None = field(default=None, repr=False)
    trouble: str = field(default="", compare=False, repr=False)
    """Why something could not be kept: what the system said first, "" as long as all could."""

    def get(self, key: str) -> Entry | None:
        """The entry of a key, None where there is none (or none that can be read). Marks it as used."""
        path = self.path_of(key)
        raw = _read(path)
        if raw is None:
            return None
        entry = _unpacked(raw)
        if entry is None:
            _remove(path)
            return None
        try:
            os.utime(path, follow_symlinks=False)
        except OSError:
            pass  # a cache that may only be read still serves
        return entry

    def put(self, key: str, arrays: Mapping[str, Array] | None = None, facts: Any = None) -> bool:
        """Keep an entry; False if it could not be kept (too large, or the folder can't be written).

        Arrays of objects and facts that JSON can't hold are programming errors: TypeError or ValueError.
        """
        raw = _packed(arrays or {}, facts)
        if len(raw) > min(_MAX_ENTRY_BYTES, self.max_bytes) or not self.make_folder():
            return False
        try:
            _write(self.path_of(key), raw)
        except OSError as error:
            self.note_trouble(error)
            return False
        self._bound(len(raw))
        return True

    def usage(self) -> Usage:
        """What the cache holds now."""
        entries = self._entries()
        return Usage(self.folder, len(entries), sum(size for _, size, _ in entries), self.max_bytes)

    def clear(self) -> int:
        """Remove all entries; how many there were. Files of others in the folder stay."""
        entries = self._entries()
        self._kept_bytes = None
        return sum(_remove(path) for _, _, path in entries)

    def note_trouble(self, error: OSError) -> None:
        """Remember the first reason for which something could not be kept; the work itself goes on."""
        self.trouble = self.trouble or error.strerror or type(error).__name__

    def path_of(self, key: str, suffix: str = _SUFFIX) -> Path:
        """The file of a key."""
        name = hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()[:40]
        return self.folder / f"{_PREFIX}{name}{suffix}"

    def make_folder(self) -> bool:
        """The folder exists, is ours, no link, and closed to others."""
        try:
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            try:
                self.folder.mkdir(mode=0o700)
            except FileExistsError:
                pass
            status = os.lstat(self.folder)
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
                return False
            if status.st_mode & 0o077:
                os.chmod(self.folder, 0o700)
        except OSError:
            return False
        return True

    def _entries(self) -> list[tuple[float, int, Path]]:
        """(last use, size, path) of our entries, and no others; oldest first."""
        found: list[tuple[float, int, Path]] = []
        try:
            with os.scandir(self.folder) as files:
                for file in files:
                    if file.name.startswith(_PREFIX) and file.is_file(follow_symlinks=False):
                        status = file.stat(follow_symlinks=False)
                        found.append((status.st_mtime, status.st_size, Path(file.path)))
        except OSError:
            return found
        return sorted(found)

    def _bound(self, added_bytes: int) -> None:
        """Remove what was used longest ago; the folder is listed only when the sum may be over the bound."""
        if self._kept_bytes is not None and self._kept_bytes + added_bytes <= self.max_bytes:
            self._kept_bytes += added_bytes
            return
        entries = self._entries()
        newest = entries[-1][0] if entries else 0.0
        kept = sum(size for _, size, _ in entries)
        for used, size, path in entries:
            is_whole = path.suffix in (_SUFFIX, JOURNAL_SUFFIX)
            is_left_over = not is_whole and newest - used > _STALE_PART_S
            if is_left_over or (kept > self.max_bytes and is_whole):
                kept -= size * _remove(path)
        self._kept_bytes = kept


def default_cache(folder: str | os.PathLike[str] | None = None, *, max_bytes: int = MAX_BYTES) -> Cache:
    """The cache in `folder`, else in the user's cache folder of npulse."""
    if not folder:
        from platformdirs import user_cache_dir

        folder = user_cache_dir("npulse", appauthor=False)
    return Cache(Path(folder), max_bytes)


def key_of(function: str, inputs: Iterable[str | os.PathLike[str]], *settings: object) -> str | None:
    """The key of a result: who computed it, with which settings, from which files as they are now.

    A file is known by its path, size, time of change and inode. None if one is missing: nothing to keep then.
    `function` names the computation and its version ("precision.compare/3"); settings are taken by `repr`.
    """
    told = hashlib.sha256("\n".join((f"schema {SCHEMA}", function, repr(settings))).encode(*_ENCODED))
    for path in inputs:
        name = os.path.abspath(os.fsdecode(path))
        try:
            status = os.stat(name)
        except (OSError, ValueError):
            return None
        state = f"\n{name}\0{status.st_size}\0{status.st_mtime_ns}\0{status.st_ino}\0{status.st_dev}"
        told.update(state.encode(*_ENCODED))
    return f"{function} {told.hexdigest()}"


def _packed(arrays: Mapping[str, Array], facts: Any) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(_FACTS, json.dumps({"schema": SCHEMA, "facts": facts, "arrays": list(arrays)}))
        for i, array in enumerate(arrays.values()):
            member = io.BytesIO()
            np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)
            archive.writestr(f"{i}.npy", member.getbuffer())
    return buffer.getvalue()


def _unpacked(raw: bytes) -> Entry | None:
    """The entry in the bytes of a file; None for anything that this module did not write as it is."""
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            members = archive.infolist()
            if len(members) > _MAX_MEMBERS or any(m.compress_type != zipfile.ZIP_STORED for m in members):
                return None
            header = json.loads(archive.read(_FACTS))
            if header["schema"] != SCHEMA:
                return None
            arrays = {
                str(name): np.lib.format.read_array(io.BytesIO(archive.read(f"{i}.npy")), allow_pickle=False)
                for i, name in enumerate(header["arrays"])
            }
            return Entry(arrays, header["facts"])
    except (zipfile.BadZipFile, ValueError, KeyError, TypeError, EOFError, OSError):
        return None
    except (RuntimeError, MemoryError, SyntaxError):  # an encrypted or unknown zip, a header that lies
        return None


def _read(path: Path) -> bytes | None:
    """The bytes of a regular file of ours; links and other people's files are not read."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW
    try:
        with os.fdopen(os.open(path, flags), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
                return None
            return file.read() if status.st_size <= _MAX_ENTRY_BYTES else None
    except OSError:
        return None


def _write(path: Path, raw: bytes) -> None:
    """Beside, to the disk, then in place: a reader sees the old entry or the new one, never half of one."""
    fd, part = tempfile.mkstemp(prefix=f"{path.stem}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        _remove(Path(part))
        raise


def _remove(path: Path) -> bool:
    try:
        path.unlink()
    except OSError:
        return False
    return True
