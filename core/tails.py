"""Files that grow, read on from where the last look ended: no byte twice, none lost.

A *reader* takes the bytes of one file in order (`feed`). A *generation* is a file between two of its starts:
one that got shorter, was replaced or written anew begins another one, and what the one before it told stays.
A file is known by its inode, not by its name, so a rotation by renaming goes on where it was; one by copying
(`x` to `x.1`, then `x` is emptied) is recognised by what the copy begins with. Removed files are read to
their end while they are held open.
"""

from __future__ import annotations

import io
import os
import threading
import time
import zlib
from collections.abc import Callable, Iterable
from dataclasses import field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, cast

from npulse.core.dataclass import dataclass

from .errors import InputError
from .files import open_input
from .progress import IsCancelled, Progress, ProgressCallback, check, ignore_progress, never_cancelled

BLOCK_BYTES = 1 << 20
MAX_OPEN = 128
"""Files held open. Those looked at longest ago are closed; they are known again by what they hold."""
_EDGE_BYTES = 1024
_MAX_LEFT = 1024
_SETTLED_NS = 10**9
"""A file whose last modification is older has no later write that its times don't show."""

_Key = tuple[Path, Any]
_Identity = tuple[int, int]
_Stamp = tuple[int, int, int, int, int]


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
    _make: Callable[[], ReaderT] | None = field(default=None, repr=False)
    _kind: object = field(default=None, repr=False)
    _identity: _Identity = (0, 0)
    _head: bytes = b""
    _last: bytes = b""
    _crc: int = 0
    _file: io.FileIO | None = field(default=None, repr=False)
    _stamp: _Stamp | None = None

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
        self._by_path: dict[_Key, list[Generation[Any]]] = {}
        self._by_identity: dict[tuple[_Identity, Any], Generation[Any]] = {}
        self._left: dict[int, Generation[Any]] = {}  # those whose name holds something else, or nothing
        self._held: dict[int, Generation[Any]] = {}
        self._names: dict[Path, _Identity] = {}
        self._root: Path | None = None

    def begin(self, paths: Iterable[Path], root: Path | None = None) -> None:
        """Before a look: all names that will be read in it. Files that were renamed or copied away go on
        under their new names at once.

        Without it a rotated file may be told under both: of a renamed one in the look that comes to its old
        name first, of a copied one for longer. What is written into a removed file behind a copy of it that
        goes on in its place is not told. root: links out of it are not followed. Cost: 4 us a name.
        """
        with self._lock:
            self._root = root
            old_names, self._names = self._names, {}
            at_name: dict[_Identity, Path] = {}
            new: dict[str, list[Path]] = {}
            for path in paths:
                try:
                    status = os.stat(path)
                except (OSError, ValueError):
                    continue
                identity = status.st_dev, status.st_ino
                at_name.setdefault(identity, path)
                self._names[path] = identity
                if old_names.get(path) != identity:
                    new.setdefault(os.path.dirname(path), []).append(path)
            for one in [one for listed in self._by_path.values() for one in listed]:
                if one.is_over or one not in self._by_path[one.path, one._kind]:
                    continue
                is_there = self._names.get(one.path) == one._identity
                if not is_there and (id(one) in self._left or _has_left(one)):
                    self._leave_for(one, at_name.get(one._identity))
            for one in list(self._left.values()) if new else ():
                if id(one) in self._left:
                    self._find_copy(one, new.get(os.path.dirname(one.path), ()))

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

        kind: tells readers of different sorts of one file apart. A file that is gone keeps its generations;
        it has none left where they went on under another name. Raises InputError where it was never read and
        cannot be, Cancelled (what was fed stays fed).
        """
        with self._lock:
            key = path, kind
            listed = cast("list[Generation[ReaderT]] | None", self._by_path.get(key))
            current: Generation[ReaderT] | None = None
            if listed and _is_unchanged(listed[-1]):
                current = listed[-1]
                self._look_at(current)
            else:
                try:
                    file, size_bytes = open_input(path, root)
                except InputError:
                    if listed is None:
                        raise
                    if listed:
                        self._drain(listed[-1], progress, is_cancelled)
                    if listed and not listed[-1].is_over:
                        self._leave(listed[-1])
                else:
                    listed = cast("list[Generation[ReaderT]]", self._by_path.setdefault(key, []))
                    current = self._current(path, kind, listed, file, size_bytes, make)
                    self._hold(current, file)
                    self._read_on(current, size_bytes, progress, is_cancelled)
            for other in list(listed):
                if other is not current and other in listed:
                    self._drain(other, progress, is_cancelled)
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

    def knows(self, path: Path) -> bool:
        """Whether anything was read of a file, under whatever kind."""
        with self._lock:
            return any(known == path for known, _ in self._by_path)

    def let_go(self, path: Path, kind: object = None) -> None:
        """Forget a file and all that it told."""
        with self._lock:
            for one in self._by_path.pop((path, kind), []):
                self._forget(one)

    def close(self) -> None:
        """Close all files; what they told stays."""
        with self._lock:
            for one in list(self._held.values()):
                self._release(one)

    # ---- which generation a file goes on with ----

    def _current(
        self,
        path: Path,
        kind: object,
        listed: list[Generation[ReaderT]],
        file: io.FileIO,
        size_bytes: int,
        make: Callable[[], ReaderT],
    ) -> Generation[ReaderT]:
        """The generation that this file goes on with: its own, one of another name, or a new one."""
        identity = _identity_of(file)
        last = listed[-1] if listed else None
        why = ""
        if last is not None and not last.is_over:
            is_same_file = last._identity == identity
            if is_same_file and size_bytes >= last.n_bytes and last._is_continued_by(file):
                return last
            if not is_same_file:
                self._drain(last)
                last = listed[-1]
            if not is_same_file and last._is_copied_in(file):
                return last  # written beside and renamed
            why = "replaced"
            if is_same_file:
                why = "truncated" if size_bytes < last.n_bytes else "rewritten"
                last.is_over = True
            self._leave(last)
        elsewhere = self._of_another_name(path, kind, identity, size_bytes, file)
        if elsewhere is not None:
            self._move(elsewhere, path)
            return cast("Generation[ReaderT]", elsewhere)
        one = Generation(path, len(listed), make(), why, _make=make, _kind=kind)
        listed.append(one)
        return one

    def _of_another_name(
        self, path: Path, kind: object, identity: _Identity, size_bytes: int, file: io.FileIO
    ) -> Generation[Any] | None:
        """The generation of a renamed file, or of one that this file is a copy of (rotated by copying)."""
        one = self._by_identity.get((identity, kind))
        if (
            one is not None
            and one.path != path
            and not one.is_over
            and (one.n_bytes or one._file is not None)  # else the inode may be another file's by now
            and size_bytes >= one.n_bytes
            and one._is_continued_by(file)
            and _has_left(one)
        ):
            return one
        for one in self._left.values():
            is_known_name = one.path == path or _is_rotated(one.path, path)
            if one._kind == kind and is_known_name and one._is_copied_in(file):
                return one
        return None

    def _leave_for(self, one: Generation[Any], path: Path | None) -> None:
        """Its name holds another file by now, or none; its own lies at `path`, None where nobody knows."""
        if path is not None:
            if not self._follow(one, path):
                one.is_over = True  # emptied behind the renaming, or the inode is another file's
                self._leave(one)
        elif id(one) not in self._left:
            self._drain(one)
            if not one.is_over:
                self._leave(one)

    def _leave(self, one: Generation[Any]) -> None:
        """Its name holds something else, or nothing: was it copied before that?"""
        self._left.pop(id(one), None)
        self._left[id(one)] = one
        while len(self._left) > _MAX_LEFT:
            del self._left[next(iter(self._left))]
        self._find_copy(one, self._names)

    def _find_copy(self, one: Generation[Any], paths: Iterable[Path]) -> None:
        for path in paths:
            is_likely = path == one.path or _is_rotated(one.path, path)
            if is_likely and path.parent == one.path.parent and self._follow(one, path):
                return

    def _follow(self, one: Generation[Any], path: Path) -> bool:
        """Go on with a generation under another name, if what lies there begins with all of it.

        Where another generation tells that file from its first byte on, this one has nothing to add.
        """
        try:
            file, size_bytes = open_input(path, self._root)
        except InputError:
            return False
        identity = _identity_of(file)
        is_same_file = identity == one._identity and not one.is_over
        is_moved = is_same_file and size_bytes >= one.n_bytes and one._is_continued_by(file)
        if not (is_moved or one._is_copied_in(file)):
            file.close()
            return False
        listed = self._by_path.get((path, one._kind))
        last = listed[-1] if listed else None
        if last is not None and last is not one and not last.is_over and last._identity == identity:
            if size_bytes >= last.n_bytes and last._is_continued_by(file):
                file.close()
                self._unlist(one)
                self._forget(one)
                return True
            last.is_over = True
            self._leave(last)
        self._move(one, path)
        self._hold(one, file)
        return True

    def _move(self, one: Generation[Any], path: Path) -> None:
        self._unlist(one)
        listed = self._by_path.setdefault((path, one._kind), [])
        one.path, one.number, one.was_renamed, one.is_over = path, len(listed), True, False
        listed.append(one)

    def _unlist(self, one: Generation[Any]) -> None:
        listed = self._by_path[one.path, one._kind]
        listed.remove(one)
        _number(listed)

    # ---- reading ----

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
        one._stamp = None
        seen = os.fstat(file.fileno())
        begin = one.n_bytes
        while one.n_bytes < size_bytes:
            check(is_cancelled)
            raw = os.pread(file.fileno(), min(BLOCK_BYTES, size_bytes - one.n_bytes), one.n_bytes)
            if not raw or not one._is_continued_by(file):
                break  # written anew since the look began: the next one finds out
            one._take(raw)
            progress(Progress("read", one.n_bytes - begin, size_bytes - begin, "bytes"))
        if (
            one.n_bytes == seen.st_size
            and time.time_ns() - max(seen.st_mtime_ns, seen.st_ctime_ns) > _SETTLED_NS
        ):
            one._stamp = _stamp_of(seen)

    def _drain(
        self,
        one: Generation[Any],
        progress: ProgressCallback = ignore_progress,
        is_cancelled: IsCancelled = never_cancelled,
    ) -> None:
        """What was still written into a file that is not under its name any more."""
        if one._file is None or one.is_over:
            return
        file = one._file
        try:
            size_bytes = os.fstat(file.fileno()).st_size
            if size_bytes < one.n_bytes or not one._is_continued_by(file):
                one = self._begun_anew(one, "truncated" if size_bytes < one.n_bytes else "rewritten")
                self._read_on(one, size_bytes, progress, is_cancelled)
                self._leave(one)
            else:
                self._read_on(one, size_bytes, progress, is_cancelled)
        except OSError:
            self._release(one)

    def _begun_anew(self, one: Generation[Any], why: str) -> Generation[Any]:
        """The next generation of a file without a name."""
        listed = self._by_path[one.path, one._kind]
        assert one._make is not None
        new = Generation(one.path, 0, one._make(), why, _make=one._make, _kind=one._kind)
        listed.insert(one.number + 1, new)
        _number(listed)
        file, one._file, one.is_over = one._file, None, True
        self._held.pop(id(one), None)
        assert file is not None
        self._hold(new, file)
        self._leave(one)
        return new

    def _hold(self, one: Generation[Any], file: io.FileIO) -> None:
        if one._file is not None:
            one._file.close()
        if self._by_identity.get((one._identity, one._kind)) is one:
            del self._by_identity[one._identity, one._kind]
        one._file, one._identity = file, _identity_of(file)
        self._by_identity[one._identity, one._kind] = one
        self._left.pop(id(one), None)
        self._held[id(one)] = one
        self._look_at(one)
        while len(self._held) > self._max_open:
            self._release(next(iter(self._held.values())))

    def _look_at(self, one: Generation[Any]) -> None:
        """It was looked at last: others are closed before it."""
        if self._held.pop(id(one), None) is not None:
            self._held[id(one)] = one

    def _release(self, one: Generation[Any]) -> None:
        self._held.pop(id(one), None)
        if one._file is not None:
            one._file.close()
            one._file = None

    def _forget(self, one: Generation[Any]) -> None:
        self._release(one)
        self._left.pop(id(one), None)
        if self._by_identity.get((one._identity, one._kind)) is one:
            del self._by_identity[one._identity, one._kind]


def _number(listed: list[Generation[Any]]) -> None:
    for number, one in enumerate(listed):
        one.number = number


def _identity_of(file: io.FileIO) -> _Identity:
    status = os.fstat(file.fileno())
    return status.st_dev, status.st_ino


def _stamp_of(status: os.stat_result) -> _Stamp:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _is_unchanged(one: Generation[Any]) -> bool:
    """Whether its file need not be opened: nothing of it is other than when all of it had been read."""
    if one._stamp is None or one.is_over:
        return False
    try:
        return _stamp_of(os.stat(one.path)) == one._stamp
    except OSError:
        return False


def _has_left(one: Generation[Any]) -> bool:
    """Whether its name holds another file by now, or none."""
    try:
        status = os.stat(one.path)
    except OSError:
        return True
    return (status.st_dev, status.st_ino) != one._identity


def _is_rotated(old: Path, new: Path) -> bool:
    """Whether a name is one that rotation gives: `x.log.1`, `x.log-2026`, `x.1.log`, `x_old.log` of `x.log`.

    Of copies only: equal beginnings alone prove nothing, the logs of two ranks may have them.
    """
    if old.name == new.name:
        return False
    begins = [begin for begin in (old.name, old.stem) if new.name.startswith(begin)]
    return any(not new.name[len(begin) : len(begin) + 1].isalnum() for begin in begins)
