"""Inputs that a round keeps: copied beside its data, hashed on the way."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from npulse.core.errors import InputError
from npulse.core.files import open_input

from .archive import INPUTS, clean_name
from .driver import Words
from .stop import StopRequests

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class KeptInput:
    """A file as it was before the start. copy: relative to the round, "" where it could not be copied."""

    name: str
    path: str
    size_bytes: int
    sha256: str
    copy: str

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def keep_inputs(
    folder: Path, paths: Sequence[Path], stop: StopRequests
) -> tuple[list[KeptInput], list[Words]]:
    """Copy and hash files into `inputs/` of a round; what could not be kept is told as warnings."""
    kept: list[KeptInput] = []
    warnings: list[Words] = []
    names: set[str] = set()
    for path in paths:
        try:
            name = _free_name(clean_name(path.name), names)
            kept.append(_keep(folder / INPUTS, path, name, stop))
        except (InputError, OSError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            warnings.append((f"the input {path} was not kept: {reason}", f"未保留输入 {path}：{reason}"))
    return kept, warnings


def _free_name(name: str, taken: set[str]) -> str:
    n, free = 1, name
    while free in taken:
        n += 1
        free = f"{n}-{name}"
    taken.add(free)
    return free


def _keep(folder: Path, path: Path, name: str, stop: StopRequests) -> KeptInput:
    folder.mkdir(exist_ok=True)
    source, _ = open_input(path)
    digest, size_bytes = hashlib.sha256(), 0
    with source:
        target = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o444)
        try:
            while piece := source.read(_CHUNK):
                if stop.n_asked:
                    raise InputError("the capture was stopped")
                digest.update(piece)
                size_bytes += len(piece)
                while piece:
                    piece = piece[os.write(target, piece) :]
        except BaseException:
            os.unlink(folder / name)  # half a copy would be taken for the input
            raise
        finally:
            os.close(target)
    return KeptInput(name, str(path.absolute()), size_bytes, digest.hexdigest(), f"{INPUTS}/{name}")


def sha256_of(raw: bytes) -> str:
    """The hash of a text that npulse wrote itself."""
    return hashlib.sha256(raw).hexdigest()
