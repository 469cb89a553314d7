"""Files from outside, opened so that nothing can go wrong: no pipe, no device, no link out of the run. And a
file that a command leaves, written whole or not at all."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from .errors import InputError


def open_input(path: Path, root: Path | None = None) -> tuple[io.FileIO, int]:
    """The regular file behind `path`, opened for reading, and its size in bytes; never blocks on a pipe.

    Raises InputError: missing, not permitted, a folder, pipe or device, or (with `root`) a link out of it.
    """
    try:
        fd = os.open(
            real_path(path, root), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW
        )
    except FileNotFoundError as error:
        raise InputError("the file does not exist", path=path) from error
    except OSError as error:
        raise InputError(f"the file cannot be opened: {error.strerror}", path=path) from error
    except ValueError as error:  # a NUL or a lone surrogate
        raise InputError("the name is not one that a file can have", path=path) from error
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        os.close(fd)
        raise InputError("not a regular file", path=path, hint="name the file itself, e.g. dump.json")
    return io.FileIO(fd, "r"), status.st_size


def read_input(
    path: Path, max_bytes: int, what: str, *, root: Path | None = None, hint: str | None = None
) -> bytes:
    """All bytes of the regular file behind `path`. what: names it in messages ("a manifest").

    Raises InputError: as `open_input`, for more than `max_bytes`, and where reading fails.
    """
    file, size_bytes = open_input(path, root)
    with file:
        try:
            raw = file.read(max_bytes + 1) or b"" if size_bytes <= max_bytes else None
        except OSError as error:
            raise InputError(f"reading failed: {error.strerror}", path=path) from error
    if raw is None or len(raw) > max_bytes:
        raise InputError(f"{what} of more than {max_bytes:,} bytes is not read", path=path, hint=hint)
    return raw


def stamp_of(path: Path) -> tuple[int, int, int] | None:
    """What changes whenever a file does: inode, size, time of the last change; None where it is gone."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def real_path(path: Path, root: Path | None) -> str:
    """`path` with its links followed. Raises InputError if that leads out of `root`."""
    real = os.path.realpath(path)
    if root is not None and os.path.commonpath([real, real_root := os.path.realpath(root)]) != real_root:
        raise InputError("the path leads outside the opened run", path=path)
    return real


def shown_path(path: Path, root: Path | None) -> str:
    """How problems name the file: relative to the run where that is known."""
    try:
        return str(path.relative_to(root)) if root is not None else str(path)
    except ValueError:
        return str(path)


def refuse_inside(path: Path, runs: Iterable[Path]) -> None:
    """InputError where a file would lie in one of the folders that were looked at."""
    target = Path(os.path.realpath(os.path.expanduser(path)))
    for run in runs:
        if target.is_relative_to(os.path.realpath(run)):
            raise InputError(
                "not written into the run that was looked at",
                path=path,
                hint="choose a path outside of it",
            )


def write_whole(pieces: Iterable[str], path: Path, *, force: bool = True) -> int:
    """Write text to a file, whole or not at all: beside, to the disk, renamed; returns its bytes.

    Links are followed, a home (`~`) too. A half surrogate becomes '?'. FileExistsError: something is there,
    whoever made it meanwhile, and not `force`. InputError where it cannot be written.
    """
    size_bytes = 0
    with open_whole(path, force=force) as file:
        for piece in pieces:
            size_bytes += file.write(piece.encode("utf-8", "replace"))
    return size_bytes


@contextmanager
def open_whole(path: Path, *, force: bool = True) -> Iterator[BinaryIO]:
    """A file to write bytes to, which stands at `path` once the block has ended without an error, else never.

    As `write_whole` does it, with the same errors; an OSError of the block is one of writing.
    """
    import tempfile

    try:
        target = Path(os.path.realpath(os.path.expanduser(path)))
        handle, beside = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:40]}.")
    except (OSError, ValueError) as error:
        raise _unwritten(error, path) from None
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(beside, 0o644)
        if force:
            os.replace(beside, target)
        else:
            _rename_new(beside, target)
    except FileExistsError:
        raise
    except OSError as error:
        raise _unwritten(error, path) from None
    finally:
        if os.path.lexists(beside):
            os.unlink(beside)


def _rename_new(beside: str, target: Path) -> None:
    try:
        os.link(beside, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if os.path.lexists(target):
            raise FileExistsError from None
        os.replace(beside, target)


def _unwritten(error: OSError | ValueError, path: Path) -> InputError:
    return InputError(f"cannot write: {getattr(error, 'strerror', None) or error}", path=path)
