"""Which program made a result: another version, or one whose sources were edited, asks anew."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path

import npulse


@cache
def program_digest() -> str:
    """A digest of npulse's version and of names, sizes and times of its core's modules. Cost: 3 ms, once."""
    total = hashlib.sha256(str(npulse.__version__).encode())
    root = os.path.realpath(Path(__file__).parents[1])
    todo = [root]
    while todo:
        folder = todo.pop()
        found = []
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir():
                    if entry.name != "__pycache__":
                        todo.append(entry.path)
                elif entry.name.endswith(".py"):
                    status = entry.stat()
                    found.append(f"{entry.path}\0{status.st_size}\0{status.st_mtime_ns}")
        todo.sort()
        total.update("\n".join(sorted(found)).encode("utf-8", "surrogateescape"))
    return total.hexdigest()
