"""The file that a command starts, and the Python in it: found as the system would, by its own PATH."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from .request import CaptureRequest

PYTHON = re.compile(r"python(\d+(\.\d+)?)?", re.ASCII)


def program_of(request: CaptureRequest) -> Path | None:
    """The file that the command starts; None where there is none."""
    if not request.command:
        return None
    name = request.command[0]
    if os.sep in name:
        path = request.cwd / name
        return path if path.is_file() else None
    found = shutil.which(name, path=_path(request))
    return None if found is None else request.cwd / found


def has_program(request: CaptureRequest, name: str) -> bool:
    """Whether a program of that name is on the request's PATH."""
    return shutil.which(name, path=_path(request)) is not None


def python_of(request: CaptureRequest) -> str | None:
    """The Python that the command starts: itself, or the one in the first line of a script such as torchrun.

    None where the command does not tell (a shell script, a container).
    """
    path = program_of(request)
    if path is None:
        return None
    if PYTHON.fullmatch(path.name):
        return str(path)
    first = _beginning(path, 512).partition(b"\n")[0]
    if not first.startswith(b"#!"):
        return None
    named = first[2:].decode("utf-8", "replace").split()
    return named[0] if len(named) == 1 and PYTHON.fullmatch(Path(named[0]).name) else None


def is_elf(path: Path | None) -> bool:
    """Whether a file is machine code."""
    return path is not None and _beginning(path, 4) == b"\x7fELF"


def _beginning(path: Path, most: int) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(most)
    except OSError:
        return b""


def _path(request: CaptureRequest) -> str | None:
    return request.environment.get("PATH", os.environ.get("PATH"))
