"""Where npu-smi is asked: in a container or not, and which parts of the driver can be seen from there."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_MARKS = (".dockerenv", "run/.containerenv")
_GROUPS = (b"docker", b"kubepods", b"containerd", b"/lxc", b"libpod", b"crio")
DEVICES = "/dev/davinci*"
LIBRARIES = "/usr/local/Ascend/driver/lib64"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """missing: `DEVICES` and `LIBRARIES`, those that are not there."""

    is_container: bool
    missing: tuple[str, ...]


def surroundings(root: Path = Path("/")) -> Surroundings:
    """What can be seen below `root`. Reads names and /proc/1/cgroup alone."""
    return Surroundings(is_container(root), tuple(_missing(root)))


def is_container(root: Path = Path("/")) -> bool:
    """Whether this is a container, by the marks and control groups of those that are in use."""
    if any((root / mark).exists() for mark in _MARKS):
        return True
    try:
        with open(root / "proc/1/cgroup", "rb") as file:
            groups = file.read(1 << 16)
    except OSError:
        return False
    return any(word in groups for word in _GROUPS)


def _missing(root: Path) -> list[str]:
    try:
        names = os.listdir(root / "dev")
    except OSError:
        names = []
    found = [] if any(name.startswith("davinci") and name[7:].isdecimal() for name in names) else [DEVICES]
    if not (root / LIBRARIES.lstrip("/")).is_dir():
        found.append(LIBRARIES)
    return found
