"""removed_tensors.txt: the tensor files that npulse itself took out of a rank-step while it was captured.

A capture that keeps only the operators before the first anomaly writes each name here before it removes the
file, one line each: size in bytes, a tab, the name. What stands here is not missing: its record in dump.json
holds, and says all that is known of the tensor.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from npulse.core.dataclass import dataclass

from ...errors import InputError
from ...files import open_input
from .records import Dump

REMOVED_FILE = "removed_tensors.txt"
MAX_BYTES = 512 << 20


@dataclass(frozen=True, slots=True)
class Removed:
    """names: of the files that were removed. size_bytes: of all of them together."""

    names: frozenset[str]
    size_bytes: int


def read_removed(folder: Path, *, root: Path | None = None) -> Removed | None:
    """What was removed from a rank-step; None where nothing was. A line that is none is left out.

    Raises InputError: not readable, more than 512 MB, outside `root`.
    """
    path = folder / REMOVED_FILE
    if not path.is_file():
        return None
    file, size_bytes = open_input(path, root)
    with file:
        if size_bytes > MAX_BYTES:
            raise InputError(f"a list of more than {MAX_BYTES:,} bytes is not read", path=path)
        try:
            text = file.readall().decode("utf-8", "replace")
        except OSError as error:
            raise InputError(f"reading failed: {error.strerror}", path=path) from error
    names, total = set(), 0
    for line in text.split("\n")[:-1]:  # what has no line end was cut
        size, tab, name = line.partition("\t")
        if tab and name and size.isascii() and size.isdecimal() and len(size) < 19:
            total += 0 if name in names else int(size)
            names.add(name)
    return Removed(frozenset(names), total)


def line_of(name: str, size_bytes: int) -> str:
    """The line for one file."""
    return f"{size_bytes}\t{name}\n"


def without_files(dump: Dump, names: Iterable[str]) -> Dump:
    """The dump whose records of these files name no file any more; the same object where none does."""
    gone = frozenset(names)
    leaves = dump.leaves
    codes = [code for code, name in enumerate(leaves.data_names) if name in gone]
    if not codes:
        return dump
    data_name = leaves.data_name.copy()
    data_name[np.isin(data_name, codes)] = -1
    return replace(dump, leaves=replace(leaves, data_name=data_name))
