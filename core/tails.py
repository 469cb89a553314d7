"""Files that grow, read on from where the last look ended: no byte twice, none lost.

A *reader* takes the bytes of one file in order (`feed`). A *generation* is a file between two of its starts:
one that got shorter, was replaced or written anew begins another one, and what the one before it told stays.
A file is known by its inode, not by its name, so a rotation by renaming goes on where it was, and one by
copying is recognised by what it begins with. Removed files are read to their end while they are held open.
"""

from __future__ import annotations

import io
import os
import threading
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, cast

from .errors import InputError
from .files import open_input
from .progress import IsCancelled, Progress, ProgressCallback, check, ignore_progress, never_cancelled

BLOCK_BYTES = 1 << 20
MAX_OPEN = 128
"""Files held open. Those looked at longest ago are closed; they are known again by what they hold."""
_EDGE_BYTES = 1024


class Reader(Protocol):
    """A resumable reader of one format."""

    def feed(self, raw: bytes, /) -> object:
        """The next bytes of the file; where they are cut makes no difference."""
        ...


ReaderT = TypeVar("ReaderT", bound=Reader)
T = TypeVar("T")


@dataclass(slots=True, eq=False)
class Generation(Generic[ReaderT]):
    """A file from one of its starts on, and what its reader has been given of it.

    number: 0 for the first. why: why this one began: "", "truncated", "replaced", "rewritten". is_over: it
    gets no more bytes. was_renamed: it was followed from one name to another.
    """

    path: Path
    number: int
    reader: ReaderT
    why: str = ""
    n_bytes: int = 0
    is_over: bool = False
    was_renamed: bool = False
    _identity: tuple[int, int] = (0, 0)
    _head: bytes = b""
    _last: bytes = b""
    _crc: int = 0
    _file: io.FileIO | None = field(default=None, repr=False)

    def _take(self, raw: bytes) -> None:
        if len(self._head) < _EDGE_BYTES:
            self._head += raw[: _EDGE_BYTES - len(self._head)]
        self._last = (self._last + raw[-_EDGE_BYTES:])[-_EDGE_BYTES:]
        self._crc = zlib.crc32(raw, self._crc)
        self.n_bytes += len(raw)
        self.reader.feed(raw)

    def _is_continued_by(self, file: io.FileIO) -> bool:
        """Whether what was read of it stands unchanged at the begin of a file, as far as its edges tell."""
        return (
            os.pread(file.fileno(), len(self._head), 0) == self._head
            and os.pread(file.fileno(), len(self._last), self.n_bytes - len(self._last)) == self._last
        )

    def _is_copied_in(self, file: io.FileIO) -> bool:
        """Whether a file begins with all that was read of it. Cost: as many bytes, if the edges agree."""
        if not self.n_bytes or not self._is_continued_by(file):
            return False
        crc, at = 0, 0
        while at < self.n_bytes:
            block = os.pread(file.fileno(), min(BLOCK_BYTES, self.n_bytes - at), at)
            if not block:
                return False
            crc, at = zlib.crc32(block, crc), at + len(block)
        return crc == self._crc


class Tails:
    """The files that are followed, each with its reader. May be used from several threads."""

    def __init__(self, max_open: int = MAX_OPEN) -> None:
        self.kept: dict[Any, Any] = {}
        """What an analysis wants to find again at its next look, by a key of its own."""
        self._max_open = max_open
        self._lock = threading.RLock()
        self._by_path: dict[tuple[Path, Any], list[Generation[Any]]] = {}
        self._held: dict[int, Generation[Any]] = {}

    def read(
        self,
        path: Path,
        root: Path | None,
        make: Callable[[], ReaderT],
        *,
        kind: object = None,
        progress: ProgressCallback = ignore_progress,
        is_cancelled: IsCancelled = never_cancelled,
    ) -> tuple[Generation[ReaderT], ...]:
        """All generations of a file, oldest first, with what was written since the last look.

        kind: tells readers of different sorts of one file apart. A file that is gone keeps its generations.
        Raises InputError where it was never read and cannot be, Cancelled (what was fed stays fed).
        """
        with self._lock:
            listed = cast("list[Generation[ReaderT]]", self._by_path.setdefault((path, kind), []))
            try:
                file, size_bytes = open_input(path, root)
            except InputError:
                if not listed:
                    del self._by_path[path, kind]
                    raise
                for one in listed:
                    self._drain(one, progress, is_cancelled)
                return tuple(listed)
            status = os.fstat(file.fileno())
            identity = status.st_dev, status.st_ino
            one = self._current(path, kind, listed, identity, size_bytes, file, make)
            self._hold(one, file, identity)
            for other in listed:
                if other is not one:
                    self._drain(other, progress, is_cancelled)
            self._read_on(one, size_bytes, progress, is_cancelled)
            return tuple(listed)

    def known(self, path: Path, kind: object = None) -> tuple[Generation[Any], ...]:
        """The generations of a file as they are by now, nothing is read. Asked once all files of a look were
        read: one that was renamed stands under its old name until its new one is read."""
        with self._lock:
            return tuple(self._by_path.get((path, kind), ()))

    def once(self, name: Any, key: Any, make: Callable[[], T]) -> T:
        """What was made under this name for an equal key, else it is made anew. Of a name one is kept."""
        known = self.kept.get(name)
        if known is None or known[0] != key:
            known = self.kept[name] = (key, make())
        return cast("T", known[1])

    def let_go(self, path: Path, kind: object = None) -> None:
        """Forget a file and all that it told."""
        with self._lock:
            for one in self._by_path.pop((path, kind), []):
                self._release(one)

    def close(self) -> None:
        """Close all files; what they told stays."""
        with self._lock:
            for one in list(self._held.values()):
                self._release(one)

    def _current(
        self,
        path: Path,
        kind: object,
        listed: list[Generation[ReaderT]],
        identity: tuple[int, int],
        size_bytes: int,
        file: io.FileIO,
        make: Callable[[], ReaderT],
    ) -> Generation[ReaderT]:
        """The generation that this file goes on with: its own, one of another name, or a new one."""
        last = listed[-1] if listed else None
        why = ""
        if last is not None and not last.is_over:
            is_same_file = last._identity == identity
            if is_same_file and size_bytes >= last.n_bytes and last._is_continued_by(file):
                return last
            if not is_same_file and last._is_copied_in(file):
                return last  # written beside and renamed
            if is_same_file:
                why = "truncated" if size_bytes < last.n_bytes else "rewritten"
            else:
                why = "replaced"
            last.is_over = is_same_file
        elsewhere = self._of_another_name(path, kind, identity, size_bytes, file)
        if elsewhere is not None:
            home = self._by_path[elsewhere.path, kind]
            home.remove(elsewhere)
            if not home and elsewhere.path != path:
                del self._by_path[elsewhere.path, kind]
            elsewhere.path, elsewhere.number, elsewhere.was_renamed = path, len(listed), True
            elsewhere.is_over = False
            listed.append(elsewhere)
            return cast("Generation[ReaderT]", elsewhere)
        one = Generation(path, len(listed), make(), why if last is not None else "")
        listed.append(one)
        return one

    def _of_another_name(
        self, path: Path, kind: object, identity: tuple[int, int], size_bytes: int, file: io.FileIO
    ) -> Generation[Any] | None:
        """The generation of a renamed file, or of one that this file is a copy of (rotated by copying)."""
        for (other, other_kind), listed in self._by_path.items():
            if other == path or other_kind != kind:
                continue
            for one in listed:
                if size_bytes < one.n_bytes or not one.n_bytes:
                    continue
                is_moved = one._identity == identity and not one.is_over and one._is_continued_by(file)
                if is_moved or (self._has_left(other, one) and one._is_copied_in(file)):
                    return one
        return None

    def _has_left(self, path: Path, one: Generation[Any]) -> bool:
        """Whether a name holds another file by now, or less of it: only then is a copy of it a rotation."""
        if one.is_over:
            return True
        try:
            status = os.stat(path)
        except OSError:
            return True
        return (status.st_dev, status.st_ino) != one._identity or status.st_size < one.n_bytes

    def _read_on(
        self,
        one: Generation[Any],
        size_bytes: int,
        progress: ProgressCallback = ignore_progress,
        is_cancelled: IsCancelled = never_cancelled,
    ) -> None:
        """Feed what lies behind the last byte, up to the size that was seen: an eager writer ends no look."""
        file = one._file
        assert file is not None
        begin = one.n_bytes
        while one.n_bytes < size_bytes:
            check(is_cancelled)
            raw = os.pread(file.fileno(), min(BLOCK_BYTES, size_bytes - one.n_bytes), one.n_bytes)
            if not raw:
                break
            one._take(raw)
            progress(Progress("read", one.n_bytes - begin, size_bytes - begin, "bytes"))

    def _drain(self, one: Generation[Any], progress: ProgressCallback, is_cancelled: IsCancelled) -> None:
        """What was still written into a file that is not under its name any more."""
        if one._file is None or one.is_over:
            return
        try:
            size_bytes = os.fstat(one._file.fileno()).st_size
            if size_bytes > one.n_bytes and one._is_continued_by(one._file):
                self._read_on(one, size_bytes, progress, is_cancelled)
        except OSError:
            self._release(one)

    def _hold(self, one: Generation[Any], file: io.FileIO, identity: tuple[int, int]) -> None:
        if one._file is not None:
            one._file.close()
        one._file, one._identity = file, identity
        self._held.pop(id(one), None)
        self._held[id(one)] = one
        while len(self._held) > self._max_open:
            self._release(next(iter(self._held.values())))

    def _release(self, one: Generation[Any]) -> None:
        self._held.pop(id(one), None)
        if one._file is not None:
            one._file.close()
            one._file = None
