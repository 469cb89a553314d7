"""Files from outside, opened so that nothing can go wrong: no pipe, no device, no link out of the run."""

from __future__ import annotations

import io
import os
import stat
from pathlib import Path

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
