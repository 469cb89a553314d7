"""The folder of a round: made once, written into by relative names only, its raw data closed at the end."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from npulse.core.errors import InputError

from .driver import RAW, PlannedFile
from .request import FOLDERS, Kind

MANIFEST = "round.toml"
CONSOLE = "console.log"
INPUTS = "inputs"
MAX_NAME_BYTES = 80
_MAX_SAME_SECOND = 1000

RESERVE = ".reserve"
RESERVE_BYTES = 1 << 20
"""Kept free for the end on a full disk: half for the console's last lines, half for the manifest."""

OWN_NAMES = (MANIFEST, CONSOLE, INPUTS, RESERVE)
"""Names in a round that no driver writes."""


def clean_name(name: str) -> str:
    """A name that is one part of a path: letters, digits, "._+-"; "capture" where nothing is left."""
    kept = "".join(c if c.isalnum() or c in "._+-" else "-" for c in name).lstrip(".-")
    while len(kept.encode("utf-8", "replace")) > MAX_NAME_BYTES:
        kept = kept[:-1]
    return kept or "capture"


def round_name(name: str, at_s: float, n: int = 0) -> str:
    """`<name>_<YYYYmmdd-HHMMSS>`, local time; the later ones of one second have three more digits."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(at_s))
    return f"{clean_name(name)}_{stamp}" + (f"{n:03}" if n else "")


def planned_folder(archive: Path, kind: Kind, name: str, at_s: float) -> Path:
    """Where a round that starts at that moment would lie; touches nothing."""
    folder = archive / FOLDERS[kind]
    n = next(n for n in range(_MAX_SAME_SECOND) if not os.path.lexists(folder / round_name(name, at_s, n)))
    return folder / round_name(name, at_s, n)


def open_round(archive: Path, kind: Kind, name: str, at_s: float) -> Path:
    """Make the folder of a round, with `raw` in it. InputError where that cannot be.

    The archive may be reached through links, as the user wrote it; below it no link is followed.
    """
    try:
        archive.mkdir(parents=True, exist_ok=True)
        folder = archive.resolve(strict=True) / FOLDERS[kind]
        with suppress(FileExistsError):
            folder.mkdir()
        if not stat.S_ISDIR(folder.lstat().st_mode):
            raise InputError("this is no folder of its own (a link or a file)", path=folder)
        for n in range(_MAX_SAME_SECOND):
            made = folder / round_name(name, at_s, n)
            with suppress(FileExistsError):
                made.mkdir()
                (made / RAW).mkdir()
                return made
    except OSError as error:
        raise InputError(
            f"no round can be made here: {error.strerror}",
            path=archive,
            hint="name another folder with --archive",
        ) from error
    raise InputError("a thousand rounds of this name began in one second", path=archive)


# ---- writing inside ----


def write_planned(folder: Path, files: Sequence[PlannedFile]) -> None:
    """Write a plan's files, each whole or not at all. ValueError for a name that is none of the driver's."""
    for file in files:
        write_inside(folder, file.name, file.text.encode(), file.mode)


def write_inside(folder: Path, name: str, raw: bytes, mode: int = 0o644) -> None:
    """Replace or make a file in a round: beside, to the disk, renamed; no link on the way is followed.

    ValueError for a name that leads out or is npulse's own. OSError where it cannot be written.
    """
    parts = name.split("/")
    if not all(parts) or "." in parts or ".." in parts or "\0" in name or parts[0] in OWN_NAMES:
        raise ValueError(f"not a name inside a round: {name!r}")
    _replace(folder, parts, raw, mode)


def write_manifest_text(folder: Path, text: str) -> None:
    """The manifest, replaced whole. OSError where it cannot be written."""
    _replace(folder, [MANIFEST], text.encode(), 0o644)


_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def _replace(folder: Path, parts: Sequence[str], raw: bytes, mode: int) -> None:
    at = os.open(folder, _OPEN_FOLDER)
    try:
        for part in parts[:-1]:
            with suppress(FileExistsError):
                os.mkdir(part, dir_fd=at)
            inner = os.open(part, _OPEN_FOLDER, dir_fd=at)
            os.close(at)
            at = inner
        beside = f".{parts[-1]}.new"
        with suppress(FileNotFoundError):
            os.unlink(beside, dir_fd=at)  # of one that was killed
        file = os.open(beside, _OPEN_NEW, mode, dir_fd=at)
        try:
            try:
                _write_all(file, raw)
                os.fchmod(file, mode)
                os.fsync(file)
            finally:
                os.close(file)
            os.rename(beside, parts[-1], src_dir_fd=at, dst_dir_fd=at)
        except OSError:
            with suppress(OSError):
                os.unlink(beside, dir_fd=at)
            raise
        with suppress(OSError):
            os.fsync(at)
    finally:
        os.close(at)


def _write_all(file: int, raw: bytes) -> None:
    while raw:
        raw = raw[os.write(file, raw) :]


# ---- the reserve ----


def keep_reserve(folder: Path) -> bool:
    """Lay the reserve aside; whether there was room for it."""
    path = folder / RESERVE
    try:
        file = os.open(path, _OPEN_NEW, 0o600)
        try:
            os.posix_fallocate(file, 0, RESERVE_BYTES)
        finally:
            os.close(file)
    except OSError:
        free_reserve(folder)
        return False
    return True


def free_reserve(folder: Path, *, is_half: bool = False) -> None:
    """Give the reserve back, or one half of it."""
    path = folder / RESERVE
    with suppress(OSError):
        if is_half:
            os.truncate(path, RESERVE_BYTES // 2)
        else:
            path.unlink()


# ---- the end ----


def make_read_only(folder: Path) -> int:
    """Take the permission to write from all files and folders below (and the folder itself).

    Links are not followed. Files with a second name may be somebody else's and stay as they are, like what
    lies on another file system: how many, is returned. The owner may give the permission back (chmod -R u+w).
    """
    n_left = 0
    try:
        device = folder.lstat().st_dev
    except OSError:
        return 1
    for where, folders, files, at in os.fwalk(folder, topdown=False, follow_symlinks=False):
        for name in files:
            n_left += not _without_write(name, at, device)
        del folders, where
        with suppress(OSError):
            mode = os.fstat(at)
            if mode.st_dev == device:
                os.fchmod(at, stat.S_IMODE(mode.st_mode) & ~0o222)
    return n_left


def _without_write(name: str, at: int, device: int) -> bool:
    """Whether nobody can write this file any more; links have nothing to write to."""
    try:
        status = os.lstat(name, dir_fd=at)
        if stat.S_ISLNK(status.st_mode):
            return True
        is_ours = status.st_dev == device and (status.st_nlink == 1 or not stat.S_ISREG(status.st_mode))
        if not is_ours:
            return not status.st_mode & 0o222
        os.chmod(name, stat.S_IMODE(status.st_mode) & ~0o222, dir_fd=at)
    except OSError:
        return False
    return True


def remove_raw(folder: Path) -> None:
    """Remove a round's raw data, which is read-only by now. OSError where that fails."""
    import shutil

    raw = folder / RAW
    for where, _, _, at in os.fwalk(raw, follow_symlinks=False):
        del where
        os.fchmod(at, 0o700)
    shutil.rmtree(raw)
