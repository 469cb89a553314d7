"""Results kept between two openings of the same files, in the user's cache folder and never in the run.

One entry is one `.npz` file of plain arrays with a JSON member beside them: nothing in it is code. An entry
that cannot be read is removed and counts as missing; a folder that cannot be written means that nothing is
kept, never an error. A file's name tells its kind and the run it is of: `npulse-KIND-RUN-HASH.npz`.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import math
import os
import stat
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from npulse.core.dataclass import dataclass

if TYPE_CHECKING:  # loaded with the first entry: the workbench opens its cache before its first screen
    import numpy.typing as npt

    Array = npt.NDArray[Any]

MAX_BYTES = 512_000_000
SCHEMA = 2

_SUFFIX = ".npz"
_PART = ".part"
JOURNAL_SUFFIX = ".journal"
"""Of results that are kept while the work goes on, see `journal`."""
_FACTS = "facts.json"
_PREFIX = "npulse-"
_KINDS = ("report", "run", "tensors", "view")
_OTHER = "other"
_MAX_ENTRY_BYTES = 256 << 20
_MAX_FACTS_BYTES = 64 << 20
_MAX_MEMBERS = 4096
_CHECKED_BYTES = 16 << 20
"""Entries up to this size are checked byte by byte when they are read, larger ones by their sizes alone."""
_ENCODED = ("utf-8", "surrogateescape")
_STALE_PART_S = 3600.0


@dataclass(frozen=True, slots=True)
class Entry:
    """What was kept under one key: numpy arrays by name (not to be written into), and facts (anything JSON
    can hold)."""

    arrays: Mapping[str, Array]
    facts: Any = None


@dataclass(frozen=True, slots=True)
class KindUsage:
    """Entries of one kind. oldest_s, newest_s: when the first and the last of them was used, s since 1970."""

    kind: str
    n_entries: int
    size_bytes: int
    oldest_s: float
    newest_s: float


@dataclass(frozen=True, slots=True)
class Usage:
    """How much is kept where."""

    folder: Path
    n_entries: int
    size_bytes: int
    max_bytes: int
    kinds: tuple[KindUsage, ...] = ()


@dataclass(slots=True)
class Cache:
    """Entries in one folder; beyond `max_bytes` the least recently used go. Safe for several processes."""

    folder: Path
    max_bytes: int = MAX_BYTES
    _kept_bytes: int | None = field(default=None, repr=False)
    trouble: str = field(default="", compare=False, repr=False)
    """Why something could not be kept: what the system said first, "" as long as all could."""
    on_trouble: Callable[[str], None] | None = field(default=None, compare=False, repr=False)
    """Told of that, once."""

    def __reduce__(self) -> tuple[Any, ...]:
        # a worker process keeps in the same folder; whom to tell of trouble stays with this one
        return Cache, (self.folder, self.max_bytes)

    def get(self, key: str, *, kind: str = "tensors", run: str = "") -> Entry | None:
        """The entry of a key, None where there is none (or none that can be read). Marks it as used."""
        path = self.path_of(key, kind=kind, run=run)
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

    def put(
        self,
        key: str,
        arrays: Mapping[str, Array] | None = None,
        facts: Any = None,
        *,
        kind: str = "tensors",
        run: str = "",
    ) -> bool:
        """Keep an entry; False if it could not be kept (too large, or the folder can't be written).

        kind: a word, what `npulse cache` counts it as. run: what the entry is of, for `forget`. Arrays of
        objects and facts that JSON can't hold are programming errors: TypeError or ValueError.
        """
        import numpy as np

        arrays = {name: np.asarray(array) for name, array in (arrays or {}).items()}
        header = json.dumps({"schema": SCHEMA, "facts": facts, "arrays": list(arrays)}).encode()
        if any(array.dtype.hasobject for array in arrays.values()):
            raise ValueError("arrays of objects are never kept")
        size = len(header) + sum(array.nbytes for array in arrays.values())
        if size > min(_MAX_ENTRY_BYTES, self.max_bytes) or len(header) > _MAX_FACTS_BYTES:
            return False
        if len(arrays) >= _MAX_MEMBERS or not self.make_folder():
            return False
        try:
            written = _write(self.path_of(key, kind=kind, run=run), header, arrays)
        except OSError as error:
            self.note_trouble(error)
            return False
        self._bound(written)
        return True

    def forget(self, run: str) -> int:
        """Remove all entries of one run; how many there were."""
        named = f"-{_hashed(run, 16)}-"
        return sum(_remove(path) for _, _, path in self._entries() if named in path.name)

    def usage(self) -> Usage:
        """What the cache holds now, kind by kind."""
        entries = self._entries()
        kinds: dict[str, list[tuple[float, int]]] = {}
        for used_s, size, path in entries:
            kinds.setdefault(_kind_of(path.name), []).append((used_s, size))
        told = tuple(
            KindUsage(kind, len(found), sum(size for _, size in found), found[0][0], found[-1][0])
            for kind, found in sorted(kinds.items())
        )
        return Usage(self.folder, len(entries), sum(size for _, size, _ in entries), self.max_bytes, told)

    def clear(self, *, older_than_s: float | None = None, now_s: float | None = None) -> int:
        """Remove all entries, or those that nobody has used for longer; how many. Files of others stay."""
        now_s = time.time() if now_s is None else now_s
        last_s = math.inf if older_than_s is None else now_s - older_than_s
        self._kept_bytes = None
        return sum(_remove(path) for used_s, _, path in self._entries() if used_s <= last_s)

    def note_trouble(self, error: OSError) -> None:
        """Remember the first reason for which something could not be kept; the work itself goes on."""
        self.tell_trouble(error.strerror or type(error).__name__)

    def tell_trouble(self, why: str) -> None:
        """The same of what another process could not keep; "" for nothing."""
        if why and not self.trouble:
            self.trouble = why
            if self.on_trouble is not None:
                self.on_trouble(self.trouble)

    def path_of(self, key: str, suffix: str = _SUFFIX, *, kind: str = "tensors", run: str = "") -> Path:
        """The file of a key."""
        of_run = f"{_hashed(run, 16)}-" if run else ""
        return self.folder / f"{_PREFIX}{kind}-{of_run}{_hashed(key, 40)}{suffix}"

    def make_folder(self) -> bool:
        """The folder exists, is ours, no link, and closed to others; else the reason is noted."""
        try:
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            try:
                self.folder.mkdir(mode=0o700)
            except FileExistsError:
                pass
            status = os.lstat(self.folder)
            if not stat.S_ISDIR(status.st_mode):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
            if status.st_uid != os.geteuid():
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            if status.st_mode & 0o077:
                os.chmod(self.folder, 0o700)
        except OSError as error:
            self.note_trouble(error)
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
            is_part = path.suffix == _PART
            if (is_part and newest - used > _STALE_PART_S) or (kept > self.max_bytes and not is_part):
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

    A file is known by its path, size, inode and both times of change: the one of its content can be set to
    what it was (`cp -p`, archives without times), and inodes are used again. None if one is missing: nothing
    to keep then.
    `function` names the computation and its version ("precision.compare/3"); settings are taken by `repr`.
    """
    told = hashlib.sha256("\n".join((f"schema {SCHEMA}", function, repr(settings))).encode(*_ENCODED))
    for path in inputs:
        name = os.path.abspath(os.fsdecode(path))
        try:
            status = os.stat(name)
        except (OSError, ValueError):
            return None
        times = f"{status.st_mtime_ns}\0{status.st_ctime_ns}"
        state = f"\n{name}\0{status.st_size}\0{times}\0{status.st_ino}\0{status.st_dev}"
        told.update(state.encode(*_ENCODED))
    return f"{function} {told.hexdigest()}"


def _hashed(text: str, n_digits: int) -> str:
    return hashlib.sha256(text.encode(*_ENCODED)).hexdigest()[:n_digits]


def _kind_of(name: str) -> str:
    kind = name.removeprefix(_PREFIX).partition("-")[0]
    return kind if kind in _KINDS else _OTHER


def _unpacked(raw: bytes) -> Entry | None:
    """The entry in the bytes of a file; None for anything that this module did not write as it is."""
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            members = {member.filename: member for member in archive.infolist()}
            if len(members) > _MAX_MEMBERS or len(members) != len(archive.infolist()):
                return None
            for member in members.values():
                is_plain = member.compress_type == zipfile.ZIP_STORED and member.flag_bits & 1 == 0
                if not is_plain or member.file_size != member.compress_size or member.file_size > len(raw):
                    return None
            if members[_FACTS].file_size > _MAX_FACTS_BYTES:
                return None
            header = json.loads(archive.read(_FACTS))
            if header["schema"] != SCHEMA:
                return None
            arrays = {
                str(name): _array_in(raw, archive, members[f"{i}.npy"])
                for i, name in enumerate(header["arrays"])
            }
            return Entry(arrays, header["facts"])
    except (zipfile.BadZipFile, ValueError, KeyError, TypeError, EOFError, OSError):
        return None
    # an encrypted or unknown zip, a header that lies or is too deep
    except (RuntimeError, MemoryError, SyntaxError, OverflowError, AttributeError, IndexError):
        return None


def _array_in(raw: bytes, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Array:
    """A member as an array over the bytes of the file, without a copy. ValueError where it is none."""
    import numpy as np

    if len(raw) <= _CHECKED_BYTES:
        data: bytes | memoryview = archive.read(member)
    else:
        at = member.header_offset
        start = at + 30 + int.from_bytes(raw[at + 26 : at + 28], "little")
        start += int.from_bytes(raw[at + 28 : at + 30], "little")
        data = memoryview(raw)[start : start + member.file_size]
    head = io.BytesIO(data[:12_000])
    if np.lib.format.read_magic(head) != (1, 0):
        raise ValueError("another version of the format")
    shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(head)
    n_bytes = math.prod(shape) * dtype.itemsize
    if dtype.hasobject or min(shape, default=0) < 0 or n_bytes != len(data) - head.tell():
        raise ValueError("not what its header says")
    if not n_bytes:
        return np.empty(shape, dtype)
    found: Array = np.frombuffer(data, dtype, offset=head.tell())
    return found.reshape(shape[::-1]).T if is_fortran else found.reshape(shape)


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


def _write(path: Path, header: bytes, arrays: Mapping[str, Array]) -> int:
    """Beside, to the disk, then in place: a reader sees the old entry or the new one, never half of one.

    Returns the size in bytes.
    """
    fd, part = tempfile.mkstemp(prefix=f"{path.stem}.", suffix=_PART, dir=path.parent)
    try:
        with os.fdopen(fd, "wb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
                archive.writestr(_FACTS, header)
                for i, array in enumerate(arrays.values()):
                    with archive.open(f"{i}.npy", "w", force_zip64=array.nbytes >= 1 << 31) as member:
                        _write_array(member, array)
            file.flush()
            os.fsync(file.fileno())
            size = file.tell()
        os.replace(part, path)
        return size
    except BaseException:
        _remove(Path(part))
        raise


def _write_array(member: IO[bytes], array: Array) -> None:
    """As numpy's `.npy`, version 1.0, rows first."""
    import numpy as np

    facts = {"descr": np.lib.format.dtype_to_descr(array.dtype), "fortran_order": False, "shape": array.shape}
    np.lib.format.write_array_header_1_0(member, facts)
    if array.nbytes:
        member.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


def _remove(path: Path) -> bool:
    try:
        path.unlink()
    except OSError:
        return False
    return True
