"""Whether a run is still what it was, from the file system's own notes: no file is opened.

Every file and folder counts with name, size, inode and the times of its last changes. What was changed
moments before it was read could be changed again without a trace, and what was changed within the last
minute may still be written: such a run has no stamp that holds (`Stamp.is_settled`).
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from pathlib import Path

from npulse.core.dataclass import dataclass

from ..progress import IsCancelled, check, never_cancelled

SKIPPED_FOLDERS = frozenset({".git", "__pycache__", "node_modules", "site-packages"})
"""Folders that are never looked into."""
FRESH_NS = 60 * 10**9
"""A file that changed within the last minute may still be written to."""
RACY_NS = 2 * 10**9
"""Some file systems tell times in steps of two seconds."""
MAX_ENTRIES = 2_000_000
MAX_BESIDE_FILE = 20_000
"""Entries of the folder of a run that is one file: readers look beside it."""
_MAX_DEPTH = 64


@dataclass(frozen=True, slots=True)
class Stamp:
    """digest: hexadecimal, over all entries. modified_ns, changed_ns: the latest change of content, and of
    anything at all."""

    digest: str
    modified_ns: int
    changed_ns: int
    n_entries: int

    def is_settled(self, now_ns: int | None = None) -> bool:
        """Whether a result of reading the run now can be kept. now_ns: when reading began (default: now)."""
        now_ns = time.time_ns() if now_ns is None else now_ns
        return now_ns - self.modified_ns > FRESH_NS and now_ns - self.changed_ns > RACY_NS


def stamp_of(path: Path, *, is_cancelled: IsCancelled = never_cancelled) -> Stamp | None:
    """The stamp of a run; None where none could be relied on: a part that cannot be listed, links into
    folders that are not looked at, more entries than are looked at. Cost: about 4 us an entry. Cancelled.
    """
    root = os.path.abspath(path)
    try:
        status = os.stat(root)
        if stat.S_ISDIR(status.st_mode):
            return _stamp(root, MAX_ENTRIES, "", is_cancelled)
        return _stamp(os.path.dirname(root), MAX_BESIDE_FILE, os.path.basename(root), is_cancelled)
    except (OSError, ValueError):
        return None


def _stamp(root: str, max_entries: int, name: str, is_cancelled: IsCancelled) -> Stamp | None:
    total = hashlib.sha256(os.fsencode(f"{root}\0{name}\0"))
    modified_ns = changed_ns = n_entries = 0
    todo = [(root, 0)]
    while todo:
        folder, depth = todo.pop()
        check(is_cancelled)
        here = os.stat(folder, follow_symlinks=depth == 0)
        lines = [_line(".", here)]
        modified_ns, changed_ns = max(modified_ns, here.st_mtime_ns), max(changed_ns, here.st_ctime_ns)
        inner = []
        with os.scandir(folder) as entries:
            for entry in entries:
                status = entry.stat(follow_symlinks=False)
                n_entries += 1
                if n_entries > max_entries:
                    return None
                modified_ns, changed_ns = (
                    max(modified_ns, status.st_mtime_ns),
                    max(changed_ns, status.st_ctime_ns),
                )
                line = _line(entry.name, status)
                if stat.S_ISDIR(status.st_mode):
                    if entry.name in SKIPPED_FOLDERS:
                        continue  # nor does the walk look into it, or speak of it
                    inner.append(entry.path)
                elif stat.S_ISLNK(status.st_mode):
                    real = os.path.realpath(entry.path)
                    if SKIPPED_FOLDERS.intersection(real.split(os.sep)):
                        return None
                    line += f"\0{os.readlink(entry.path)}\0{real}"  # other links may lie on the way
                lines.append(line)
        if inner and depth >= _MAX_DEPTH:
            return None
        lines.sort()
        total.update(os.fsencode("\n".join((folder, *lines, ""))))
        todo += [(one, depth + 1) for one in sorted(inner)]
    return Stamp(total.hexdigest(), modified_ns, changed_ns, n_entries)


def _line(name: str, status: os.stat_result) -> str:
    times = f"{status.st_mtime_ns}\0{status.st_ctime_ns}"
    return f"{name}\0{status.st_mode}\0{status.st_size}\0{times}\0{status.st_ino}\0{status.st_dev}"
