"""Which file system a folder lies on, and whether inotify hears of everything there."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

MOUNTS = Path("/proc/self/mountinfo")
_MAX_BYTES = 16 << 20
_NETWORK = re.compile(
    r"nfs\d?|cifs|smb\d?|smbfs|9p|v9fs|virtiofs|lustre|ceph|gpfs|mmfs|beegfs\w*|afs|orangefs|pvfs2|ocfs2|gfs2?"
    r"|glusterfs|panfs|wekafs|vboxsf|vmhgfs|prl_fs|davfs\d?|coda|ncpfs|fuse(?:\..+|blk)?"
)
"""Others write there without this kernel hearing of it; a fuse file system may be one of them."""


class Mount(NamedTuple):
    """A mounted file system: where, of which type, from which source."""

    point: str
    type: str
    source: str


def read_mounts(path: Path = MOUNTS) -> tuple[Mount, ...]:
    """All mounts of this process, later ones over earlier ones; empty where the system does not tell."""
    try:
        with path.open("rb") as file:
            text = os.fsdecode(file.read(_MAX_BYTES))
    except OSError:
        return ()
    found = []
    for line in text.split("\n"):
        before, separator, after = line.partition(" - ")
        words, kinds = before.split(" "), after.split(" ")
        if separator and len(words) > 4 and len(kinds) > 1:
            found.append(Mount(_plain(words[4]), kinds[0], _plain(kinds[1])))
    return tuple(found)


def _plain(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), text)


def mount_of(path: str, mounts: tuple[Mount, ...]) -> Mount | None:
    """The mount that a path lies on: the longest one above it, of equal ones the last."""
    best: Mount | None = None
    for mount in mounts:
        if _is_below(path, mount.point) and (best is None or len(mount.point) >= len(best.point)):
            best = mount
    return best


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def why_polling(root: str, mounts: tuple[Mount, ...] | None = None) -> str:
    """Why inotify does not hear of every write below a folder, mounts in it included; "" where it does."""
    mounts = read_mounts() if mounts is None else mounts
    real = os.path.realpath(root)
    here = mount_of(real, mounts)
    for mount in (here, *(one for one in mounts if _is_below(one.point, real))):
        if mount is not None and _NETWORK.fullmatch(mount.type):
            return f"network {mount.type}"
        if mount is not None and mount.type in ("overlay", "overlayfs", "aufs"):
            return "overlay"
    return ""
