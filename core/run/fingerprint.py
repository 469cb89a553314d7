"""What tells whether a folder still holds what it held: names, sizes, and content as far as is affordable."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from npulse.core.errors import InputError
from npulse.core.progress import IsCancelled, check, never_cancelled

MAX_FILES = 500_000
WHOLE_BYTES = 1 << 20
"""Files up to this size are hashed whole; of larger ones three parts of PART_BYTES: first, middle, last."""
PART_BYTES = 1 << 16
MAX_CONTENT_BYTES = 1 << 30
"""Of all files together; names and sizes alone count of what comes behind."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """digest: hexadecimal SHA-256 over names, sizes and what was read. is_whole: every byte was read."""

    digest: str
    n_files: int
    n_bytes: int
    is_whole: bool


def fingerprint_of(folder: Path, *, is_cancelled: IsCancelled = never_cancelled) -> Fingerprint:
    """The fingerprint of a folder or a file. Links are names alone: what they lead to is not read.

    InputError where something cannot be read, or there are more than MAX_FILES. Cost: at most 1 GiB is read.
    """
    total = hashlib.sha256()
    n_files = n_bytes = n_read = 0
    is_whole = True
    try:
        for path, name in _files(folder):
            if n_files % 256 == 0:
                check(is_cancelled)
            n_files += 1
            if n_files > MAX_FILES:
                raise InputError(f"more than {MAX_FILES:,} files", path=folder)
            status = os.lstat(path)
            head = f"{len(name)}:{name}:{stat.S_IFMT(status.st_mode)}:{status.st_size};"
            total.update(head.encode("utf-8", "surrogateescape"))
            if not stat.S_ISREG(status.st_mode):
                continue
            n_bytes += status.st_size
            parts = _parts(status.st_size)
            is_whole = is_whole and len(parts) == 1
            if n_read + sum(size for _, size in parts) > MAX_CONTENT_BYTES:
                is_whole = False
                continue
            n_read += _take(path, parts, total)
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror or error}", path=error.filename or folder
        ) from None
    return Fingerprint(total.hexdigest(), n_files, n_bytes, is_whole)


def _files(folder: Path) -> Iterator[tuple[str, str]]:
    """(path, name below the folder) of all that is no folder, in an order that is not the disk's."""
    if not os.path.isdir(folder):
        yield os.fspath(folder), folder.name
        return
    waiting = [""]
    while waiting:
        below = waiting.pop()
        inner = []
        for entry in sorted(os.scandir(os.path.join(folder, below)), key=lambda one: one.name):
            name = os.path.join(below, entry.name)
            if entry.is_dir(follow_symlinks=False):
                inner.append(name)
            else:
                yield entry.path, name
        waiting += reversed(inner)


def _parts(size: int) -> list[tuple[int, int]]:
    """(offset, bytes) of what is read of a file."""
    if size <= WHOLE_BYTES:
        return [(0, size)]
    return [(0, PART_BYTES), (size // 2, PART_BYTES), (size - PART_BYTES, PART_BYTES)]


def _take(path: str, parts: list[tuple[int, int]], total: hashlib._Hash) -> int:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    n = 0
    try:
        for offset, size in parts:
            data = os.pread(handle, size, offset)
            total.update(data)
            n += len(data)
    finally:
        os.close(handle)
    return n
