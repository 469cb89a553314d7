"""The folder that a configuration names, looked at from where its program will be started."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from npulse.core.formats.config_json import JsonPath

from .faults import Faults
from .vocabulary import MAX_PATH_CHARS

_REMOTE = re.compile(r"(?:[0-9]{1,3}\.){3}[0-9]{1,3}:.*", re.DOTALL)
_MSPROBE_PATH = re.compile(r"[a-zA-Z0-9_.:/-]+")  # FILE_VALID_PATTERN of msprobe
_MAX_MSPROBE_PATH = 4096
_MAX_PART = 255


@dataclass(frozen=True, slots=True)
class Where:
    """The working directory of the program; is_given: somebody said so, else it is only ours."""

    cwd: Path
    is_given: bool = False

    def resolved(self, path: str) -> str:
        return os.path.normpath(os.path.join(self.cwd, os.path.expanduser(path)))


def is_remote(path: str) -> bool:
    """Whether it has acl's form ip:path: the folder is on another machine."""
    return _REMOTE.fullmatch(path) is not None


def check_acl_path(path: str, at: JsonPath, faults: Faults, where: Where | None) -> None:
    """acl makes no folder: it has to be there, readable and writable."""
    if not path:
        faults.add("no-path", at, "path-empty")
        return
    if len(path) > MAX_PATH_CHARS:
        faults.add("path", at, "path-long", n=len(path), most=MAX_PATH_CHARS)
        return
    if "\0" in path:
        faults.add("path", at, "path-bad", path=path)
        return
    if is_remote(path):
        faults.remark("path-remote", path=path)
        return
    if where is None:
        return
    real = where.resolved(path)
    key = _trouble(real)
    if key is None:
        return
    if os.path.isabs(path) or where.is_given:
        faults.add("path", at, key, path=path, real=real)
    else:
        faults.add("relative-path", at, f"{key}-relative", path=path, real=real)


def check_msprobe_path(path: str, at: JsonPath, faults: Faults, where: Where | None) -> None:
    """msprobe makes the folder, and those above it: the last one that is there has to be writable."""
    if not path:
        faults.add("no-path", at, "path-empty")
        return
    if len(path) > _MAX_MSPROBE_PATH or any(len(part) > _MAX_PART for part in path.split("/")):
        faults.add("path", at, "path-long", n=len(path), most=_MAX_MSPROBE_PATH)
        return
    if _MSPROBE_PATH.fullmatch(path.removeprefix("~")) is None:
        faults.add("path", at, "path-characters", path=path)
        return
    if where is None:
        return
    real = where.resolved(path)
    above = real
    while not os.path.lexists(above) and above != os.path.dirname(above):
        above = os.path.dirname(above)
    key = _trouble(above)
    if key is None:
        return
    if os.path.isabs(path) or where.is_given:
        faults.add("path", at, key, path=path, real=above)
    else:
        faults.add("relative-path", at, f"{key}-relative", path=path, real=above)


def _trouble(real: str) -> str | None:
    """Why a folder cannot be written into, as the key of a text; None where it can."""
    try:
        status = os.stat(real)
    except FileNotFoundError:
        return "path-missing"
    except (OSError, ValueError):
        return "path-closed"
    if not stat.S_ISDIR(status.st_mode):
        return "path-file"
    return None if os.access(real, os.R_OK | os.W_OK | os.X_OK) else "path-closed"
