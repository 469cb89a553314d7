"""What of a raw session can be copied while it is written: control files and slices that are closed.

A copy holds no sign of a parse: what was parsed once is not parsed again by the vendor's tools.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from npulse.core.dataclass import dataclass

from ...errors import InputError
from ...files import open_input
from ...progress import IsCancelled, check, never_cancelled
from .session import MAX_ENTRIES
from .session_folders import PART, SLICE, FolderList

MAX_CONTROL_BYTES = 1 << 20
BLOCK_BYTES = 1 << 20
_DICTIONARIES = ("hash_dic", "type_info_dic")
"""Names of operators: without them nothing has one. They are small, and seldom closed before the end."""


@dataclass(frozen=True, slots=True)
class CopyFile:
    """path: within the session. size_bytes: so many are copied, however it grows. is_open: a slice that is
    still written, to be closed in the copy."""

    path: Path
    size_bytes: int
    is_open: bool = False


def files_to_copy(folder: Path, *, root: Path | None = None) -> tuple[CopyFile, ...]:
    """What to copy of a PROF_* folder. Links that lead out of `root` (else of the folder) are left out."""
    listed = FolderList(folder if root is None else root, MAX_ENTRIES)
    found: list[CopyFile] = []
    for part in sorted(listed.entries(folder)):
        if PART.fullmatch(part):
            found += _of_part(folder, part, listed)
    return tuple(found)


def n_closed_slices(files: tuple[CopyFile, ...]) -> int:
    """How many closed slices are among them."""
    return sum(SLICE.fullmatch(one.path.name) is not None and not one.is_open for one in files)


def _of_part(folder: Path, part: str, listed: FolderList) -> Iterator[CopyFile]:
    for name, entry in sorted(listed.entries(folder / part).items()):
        if not entry.is_folder and entry.size_bytes <= MAX_CONTROL_BYTES and not name.endswith(".complete"):
            yield CopyFile(Path(part, name), entry.size_bytes)
    data = listed.entries(folder / part / "data")
    for name, entry in sorted(data.items()):
        stem = name.removesuffix(".done")
        is_slice = SLICE.fullmatch(stem) is not None
        if entry.is_folder or name.endswith(".complete"):
            continue
        if not is_slice or f"{stem}.done" in data:
            yield CopyFile(Path(part, "data", name), entry.size_bytes)
        elif any(word in name for word in _DICTIONARIES):
            yield CopyFile(Path(part, "data", name), entry.size_bytes, is_open=True)


def copy_files(
    folder: Path,
    files: tuple[CopyFile, ...],
    target: Path,
    *,
    root: Path | None = None,
    is_cancelled: IsCancelled = never_cancelled,
) -> None:
    """Copy files of a session below `target`. One that is gone meanwhile (to save space) is left out.

    Raises Cancelled, OSError where the target cannot be written.
    """
    border = folder if root is None else root
    for one in files:
        check(is_cancelled)
        try:
            source, _ = open_input(folder / one.path, border)
        except InputError:
            continue
        path = target / one.path
        path.parent.mkdir(parents=True, exist_ok=True)
        n_left = one.size_bytes
        with source, path.open("xb") as copy:
            while n_left > 0:
                check(is_cancelled)
                raw = source.read(min(BLOCK_BYTES, n_left)) or b""
                if not raw:
                    break
                copy.write(raw)
                n_left -= len(raw)
        os.chmod(path, 0o600)
        if one.is_open:
            path.with_name(f"{path.name}.done").write_text(f"filesize:{one.size_bytes - n_left}\n", "ascii")
