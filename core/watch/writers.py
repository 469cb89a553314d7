"""Whether a process of this machine holds files open for writing, as far as /proc tells."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

PROC = Path("/proc")
_FLAGS = re.compile(rb"^flags:\s*([0-7]+)", re.MULTILINE)
_DELETED = " (deleted)"


def has_writer(paths: Iterable[str], proc: Path = PROC) -> bool:
    """Whether a process has one of the files open for writing, of those that this one may ask.

    False is no proof: the writer may be another user's, or in another container. Cost: 5 us an open file of
    the machine.
    """
    wanted: dict[str, set[tuple[int, int]]] = {}
    for path in paths:
        try:
            status = os.stat(path)
        except OSError:
            continue
        wanted.setdefault(os.path.basename(os.path.realpath(path)), set()).add((status.st_dev, status.st_ino))
    if not wanted:
        return False
    try:
        processes = [name for name in os.listdir(proc) if name.isdecimal()]
    except OSError:
        return False
    return any(_writes(proc / process, wanted) for process in processes)


def _writes(process: Path, wanted: dict[str, set[tuple[int, int]]]) -> bool:
    """Whether one process has such a file open."""
    try:
        numbers = os.listdir(process / "fd")
    except OSError:
        return False  # it ended, or may not be asked
    for number in numbers:
        link = f"{process}/fd/{number}"
        try:
            name = os.path.basename(os.readlink(link).removesuffix(_DELETED))
            if name not in wanted:
                continue
            status = os.stat(link)
            if (status.st_dev, status.st_ino) in wanted[name] and _is_for_writing(process, number):
                return True
        except OSError:
            continue  # closed since
    return False


def _is_for_writing(process: Path, number: str) -> bool:
    with open(process / "fdinfo" / number, "rb") as file:
        flags = _FLAGS.search(file.read(4096))
    return flags is not None and int(flags[1], 8) & os.O_ACCMODE != os.O_RDONLY
