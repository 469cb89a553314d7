"""One regular file of a run, opened read-only: bounded reads, and no way out of the run."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from types import TracebackType

from .error import TensorError, TensorErrorKind

# A file that was swapped for a pipe or a terminal between look and open must neither block nor take over.
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
StrPath = str | os.PathLike[str]
"""A path; of thousands of tensors it comes as text: a Path interns the name and takes ten times as long."""

HEAD_BYTES = 1024
"""Read at once and kept: the headers of most files are in it, and a read costs as much as parsing them."""

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


FileState = tuple[int, int, int, int]
"""Device, inode, size and time of the last change of a file."""


def state_of(status: os.stat_result) -> FileState:
    """What tells whether a file is as it was."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


class Source:
    """An open file: `size` at the time of opening, `identity` to notice that it was replaced since,
    `state` to notice that it was written to."""

    __slots__ = ("_head", "fd", "identity", "path", "size", "state")

    def __init__(self, path: StrPath, fd: int, status: os.stat_result) -> None:
        self.path = path
        self.fd = fd
        self.size = status.st_size
        self.identity = (status.st_dev, status.st_ino)
        self.state: FileState = state_of(status)
        self._head = b""

    def __enter__(self) -> Source:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def error(
        self, kind: TensorErrorKind, message: str, *, byte: int | None = None, hint: str | None = None
    ) -> TensorError:
        """A TensorError that names this file."""
        return TensorError(kind, message, path=self.path, byte=byte, hint=hint)

    def need(self, offset: int, n_bytes: int, what: str) -> None:
        """Raise cut-off unless `n_bytes` bytes from `offset` lie inside the file."""
        if offset + n_bytes > self.size:
            raise self.error(
                "cut-off",
                f"the file ends after {self.size:,} bytes, {what} needs {offset + n_bytes:,}",
                byte=self.size,
            )

    def read(self, offset: int, n_bytes: int, what: str) -> bytes:
        """Exactly `n_bytes` bytes from `offset`; cut-off if the file has fewer. The caller bounds n_bytes."""
        self.need(offset, n_bytes, what)
        if offset + n_bytes > HEAD_BYTES:
            block = self._pread(offset, n_bytes)
        else:
            self._head = self._head or self._pread(0, min(self.size, HEAD_BYTES))
            block = self._head[offset : offset + n_bytes]
        if len(block) != n_bytes:
            raise self.error("cut-off", "the file became shorter while it was read", byte=offset + len(block))
        return block

    def _pread(self, offset: int, n_bytes: int) -> bytes:
        try:
            return os.pread(self.fd, n_bytes, offset)
        except OSError as error:
            raise self.error("unreadable", f"reading failed: {error.strerror}", byte=offset) from error


def open_source(path: StrPath, root: StrPath) -> Source:
    """`path` opened, after its links were followed, if it is a regular file at or below `root`.

    Raises TensorError: outside-run, missing, unreadable. Never blocks on pipes or devices.
    """
    with _explained(path):
        real = os.fspath(path)
        status = _plainly_below(real, os.fspath(root))
        if status is None:
            real, real_root = os.path.realpath(real), os.path.realpath(root)
            if real != real_root and not real.startswith(real_root.rstrip(os.sep) + os.sep):
                raise TensorError("outside-run", "the path leads outside the opened run", path=path)
            status = os.stat(real)
        _require_regular(path, status)
        return _open_regular(path, real, os.O_NOFOLLOW)


def reopen(path: StrPath, identity: tuple[int, int] | None) -> Source:
    """The same file again; unreadable if another one has taken its name since."""
    with _explained(path):
        if identity is None:
            _require_regular(path, os.stat(path))
        source = _open_regular(path, os.fspath(path), 0)
    if identity is not None and source.identity != identity:
        source.close()
        raise source.error(
            "unreadable", "the file was replaced while it was in use", hint="scan the run again (r)"
        )
    return source


def _plainly_below(path: str, root: str) -> os.stat_result | None:
    """Status of `path` if it goes on from `root` without link or '..': most files, cheaper than realpath."""
    at = root.rstrip(os.sep)
    folder, _, name = path.rpartition(os.sep)
    if not path.startswith(at + os.sep) or name == "..":
        return None
    try:
        now = os.stat(folder or os.sep)
    except OSError:
        return None
    if not _is_plain_folder(folder, at, (now.st_dev, now.st_ino)):
        return None
    status = os.lstat(path)
    return None if stat.S_ISLNK(status.st_mode) else status


@lru_cache(maxsize=256)
def _is_plain_folder(folder: str, root: str, identity: tuple[int, int]) -> bool:
    """True if `folder` goes on from `root` without a link or '..'. A dump has thousands of files in a folder.

    identity: of the folder as it is now, so that what was found is not believed of another one.
    """
    at = root
    for name in folder[len(root) + 1 :].split(os.sep) if folder != root else ():
        at = f"{at}{os.sep}{name}"
        if name == ".." or stat.S_ISLNK(os.lstat(at).st_mode):
            return False
    return True


@contextmanager
def _explained(path: StrPath) -> Iterator[None]:
    """What the system says about opening `path`, as a TensorError."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError) as error:
        raise TensorError("missing", "the file does not exist", path=path) from error
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise TensorError("unreadable", f"the file cannot be opened: {reason}", path=path) from error
    except ValueError as error:  # a NUL or a lone surrogate in a name that came from a record
        raise TensorError("missing", "the name is not one that a file can have", path=path) from error


def _open_regular(path: StrPath, real: str, flags: int) -> Source:
    fd = os.open(real, _FLAGS | flags)
    try:
        status = os.fstat(fd)
        _require_regular(path, status)
    except BaseException:
        os.close(fd)
        raise
    return Source(path, fd, status)


def _require_regular(path: StrPath, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        name = next((name for test, name in _KINDS if test(status.st_mode)), "a special file")
        raise TensorError("unreadable", f"{name}, not a regular file", path=path)
