"""A pack unpacked into the cache folder, once, after all of it was checked."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from npulse.core.dataclass import dataclass
from npulse.core.errors import InputError
from npulse.core.files import open_input, read_input, stamp_of
from npulse.core.progress import (
    IsCancelled,
    Progress,
    ProgressCallback,
    check,
    ignore_progress,
    never_cancelled,
)

from .manifest import MAX_BYTES, NAME, PackedFile, PackManifest, read_pack_manifest
from .tar import CHUNK, Member, Unpacking

FOLDER = "packs"
MAX_KEPT_BYTES = 8 << 30
MAX_AGE_S = 30 * 86_400
IN_USE_S = 86_400
"""A pack that was opened within a day is never cleared away: somebody may still look at it."""
_GZIP = b"\x1f\x8b"
_OWN = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class OpenedPack:
    """run: the folder that stands for the packed run. source: the file that was opened."""

    source: Path
    folder: Path
    manifest: PackManifest

    @property
    def run(self) -> Path:
        return self.folder / "run" / self.manifest.name


def is_archive(path: Path) -> bool:
    """Whether a regular file begins as gzip does; nothing else of it is looked at."""
    try:
        file, _ = open_input(path)
        with file:
            return file.read(2) == _GZIP
    except (InputError, OSError):
        return False


def pack_of(run: Path) -> OpenedPack | None:
    """The opened pack that a folder is the run of; None for any other folder."""
    folder = run.parent.parent
    if run.parent.name != "run":
        return None
    try:
        manifest = _known(folder)
    except InputError:
        return None
    if manifest is None or manifest.name != run.name:
        return None
    return OpenedPack(folder, folder, manifest)


def open_pack(
    path: Path,
    cache: Path,
    *,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
    now_s: float | None = None,
) -> OpenedPack:
    """The pack in a file, unpacked below `cache`. What was unpacked before is taken as it is.

    InputError: no pack, cut off, damaged, names that lead elsewhere, more than the bounds, no room on the
    disk; nothing is left behind then.
    """
    file, size_bytes = open_input(path)
    with file:
        digest = hashlib.sha256()
        while piece := file.read(CHUNK):
            check(is_cancelled)
            digest.update(piece)
        room = cache / FOLDER
        folder = room / digest.hexdigest()[:32]
        manifest = _known(folder)
        if manifest is not None and _is_whole(folder, manifest):
            with suppress(OSError):  # a cache that is read-only serves as well
                os.utime(folder)
            return OpenedPack(path, folder, manifest)
        file.seek(0)
        try:
            room.mkdir(parents=True, exist_ok=True, mode=0o700)
            clear(room, time.time() if now_s is None else now_s)
            beside = Path(tempfile.mkdtemp(prefix=".part-", dir=room))
        except OSError as error:
            raise InputError(f"no place to unpack it: {error.strerror}", path=room) from error
        try:
            manifest = _unpack(Unpacking(file, size_bytes, str(path)), path, beside, progress, is_cancelled)
            _put(beside, folder)
        except OSError as error:
            message = f"it cannot be unpacked: {error.strerror}"
            raise InputError(message, path=path, hint=f"into {room}") from error
        finally:
            shutil.rmtree(beside, ignore_errors=True)
    return OpenedPack(path, folder, manifest)


def _is_whole(folder: Path, manifest: PackManifest) -> bool:
    """Whether all that was unpacked is still there: caches are cleared by others too."""
    return all(os.path.lexists(folder / one.path) for one in manifest.files)


def _put(beside: Path, folder: Path) -> None:
    try:
        os.rename(beside, folder)
    except OSError:
        manifest = _known(folder)
        if manifest is not None and _is_whole(folder, manifest):
            return  # another npulse was faster
        shutil.rmtree(folder)  # what is left of one that somebody cleared away
        os.rename(beside, folder)


def _known(folder: Path) -> PackManifest | None:
    """The manifest of a pack that was unpacked whole; None where there is none."""
    stamp = stamp_of(folder / NAME)
    return _manifest_in(folder, stamp) if stamp is not None else None


@lru_cache(maxsize=8)
def _manifest_in(folder: Path, stamp: tuple[int, int, int]) -> PackManifest | None:
    """Asked for again by every area; the stamp says whether it is still the same."""
    try:
        raw = read_input(folder / NAME, MAX_BYTES, "a manifest")
    except InputError:
        return None
    return read_pack_manifest(raw, str(folder))


def _unpack(
    archive: Unpacking, path: Path, beside: Path, progress: ProgressCallback, is_cancelled: IsCancelled
) -> PackManifest:
    members = archive.members()
    first = _first(members, path)
    if first is None or first.name != NAME or first.size_bytes > MAX_BYTES:
        raise _no_pack(path)
    raw = b"".join(archive.chunks(first))
    manifest = read_pack_manifest(raw, str(path))
    for number, wanted in enumerate(manifest.files):
        check(is_cancelled)
        progress(Progress("unpack", number, len(manifest.files), "files"))
        member = next(members, None)
        if member is None:
            raise archive.wrong(f"{wanted.path} is missing in it; copy it again")
        if member.name not in (wanted.path, f"long/{number + 1}") or member.size_bytes != wanted.size_bytes:
            raise archive.wrong(f"{wanted.path} is not where its manifest says")
        _write(archive, member, wanted, beside)
    if next(members, None) is not None:
        raise archive.wrong("it holds more than its manifest says")
    (beside / "run" / manifest.name).mkdir(parents=True, exist_ok=True)
    (beside / NAME).write_bytes(raw)  # the last: a folder with it is whole
    return manifest


def _first(members: Iterator[Member], path: Path) -> Member | None:
    """The first member; a gzip file that is no plain tar is no pack, one that is cut off says so."""
    try:
        return next(members, None)
    except InputError as error:
        if "cut off" in error.message or "damaged" in error.message:
            raise
        raise _no_pack(path) from error


def _no_pack(path: Path) -> InputError:
    hint = f"unpack it and open the folder: mkdir RUN && tar xf {path} -C RUN && npulse RUN"
    return InputError("this archive is no pack that npulse made", path=path, hint=hint)


def _write(archive: Unpacking, member: Member, wanted: PackedFile, beside: Path) -> None:
    target = beside.joinpath(*wanted.path.split("/"))
    target.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    with open(target, "xb") as file:
        for piece in archive.chunks(member):
            digest.update(piece)
            file.write(piece)
    if digest.hexdigest() != wanted.sha256:
        raise archive.wrong(f"the content of {wanted.path} is not what was packed; copy it again")
    os.utime(target, (member.modified_s, member.modified_s))


def clear(room: Path, now_s: float) -> None:
    """Remove packs that nobody opened for long, and the oldest while all together are too large."""
    kept: list[tuple[float, int, Path]] = []
    for folder in room.iterdir():
        is_part = folder.name.startswith(".part-")
        if folder.is_symlink() or not folder.is_dir() or not (is_part or _OWN.fullmatch(folder.name)):
            continue
        try:
            used_s = folder.stat().st_mtime
        except OSError:  # another npulse has put it in its place, or cleared it away
            continue
        if now_s - used_s > (IN_USE_S if is_part else MAX_AGE_S):
            shutil.rmtree(folder, ignore_errors=True)
        elif not is_part:
            kept.append((used_s, _size_of(folder), folder))
    total = sum(size for _, size, _ in kept)
    for used_s, size, folder in sorted(kept):
        if total > MAX_KEPT_BYTES and now_s - used_s > IN_USE_S:
            shutil.rmtree(folder, ignore_errors=True)
            total -= size


def kept_packs(room: Path) -> list[tuple[float, int, Path]]:
    """(last use in seconds since 1970, bytes, folder) of the packs that are unpacked in a room."""
    try:
        folders = [one for one in room.iterdir() if _OWN.fullmatch(one.name) and not one.is_symlink()]
        return sorted((one.stat().st_mtime, _size_of(one), one) for one in folders if one.is_dir())
    except OSError:
        return []


def remove_packs(room: Path, last_s: float, now_s: float) -> int:
    """Remove unpacked packs that nobody has opened since a moment, but none that may be open; how many."""
    unused = [folder for used_s, _, folder in kept_packs(room) if used_s <= min(last_s, now_s - IN_USE_S)]
    for folder in unused:
        shutil.rmtree(folder, ignore_errors=True)
    return sum(not folder.exists() for folder in unused)


def _size_of(folder: Path) -> int:
    try:
        manifest = _known(folder)
    except InputError:
        return 0
    return manifest.n_bytes if manifest is not None else 0
