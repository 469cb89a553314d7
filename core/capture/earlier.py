"""Earlier rounds of the same program: the only ones that tell how much it writes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from npulse.core.errors import InputError

from .archive import MANIFEST
from .driver import RAW
from .manifest import Manifest
from .request import FOLDERS, CaptureRequest, usual_name

MAX_ROUNDS = 100
"""Rounds that are looked at, the newest first."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """A round that recorded. size_bytes: of its raw data. figures: of its tool."""

    folder: Path
    size_bytes: int
    figures: Mapping[str, Any]

    @property
    def raw(self) -> Path:
        return self.folder / RAW


def earlier_round(request: CaptureRequest, tools: Collection[str] = ()) -> Earlier | None:
    """The newest round of this kind and program in the archive that holds raw data; None where there is none.

    tools: ids of drivers that may have made it, () for any. The program is the script or the executable:
    another one's data would tell nothing.
    """
    return next(_rounds_like(request, tools), None)


def _rounds_like(request: CaptureRequest, tools: Collection[str]) -> Iterator[Earlier]:
    folder = request.archive / FOLDERS[request.kind]
    try:
        rounds = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime_ns, reverse=True)
    except OSError:
        return
    program = usual_name(request.command, request.pid, request.model)
    for path in rounds[:MAX_ROUNDS]:
        if path.is_symlink() or not (path / MANIFEST).is_file():
            continue
        try:
            manifest = Manifest.read(path)
        except InputError:
            continue
        record = manifest.record
        if not isinstance(manifest.table.get("command"), list):
            continue  # captures write words: one text is somebody else's record
        if record.is_raw_removed or record.outcome != "recorded":
            continue
        own = usual_name(record.command, record.request.get("pid"), record.request.get("model"))
        is_meant = own == program and (not tools or record.tool in tools)
        if is_meant and record.size_bytes is not None and record.size_bytes > 0:
            yield Earlier(path, record.size_bytes, record.figures)
