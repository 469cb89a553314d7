"""Which files of a folder make one operator table: slices, devices, and several exports side by side.

Every export adds a set of files with its time in their names; files of one set may differ by a second or two.
Names only are looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from npulse.core.dataclass import dataclass

from .cells import NO_ID

SAME_EXPORT_S = 10
_NAME = re.compile(
    r"(?P<kind>op_summary|kernel_details)(?:_slice_(?P<slice>\d{1,6}))?(?P<numbers>(?:_\d+)*)\.csv",
    re.ASCII | re.IGNORECASE,
)
_TIME = re.compile(r"20\d{12}(?:\d{3})?", re.ASCII)

_OLD_NAME = re.compile(r"(?:op_summary|task_time)_(\d{1,4})(?:_\d+){2,3}\.csv", re.ASCII | re.IGNORECASE)
_DEVICE_FOLDER = re.compile(r"device_(\d{1,4})", re.ASCII)


@dataclass(frozen=True, slots=True)
class OperatorFiles:
    """The files of one export, in the order in which their rows follow each other.

    exported: time of the export as in the names (14 digits), "" where they have none. missing: numbers of
    slices that are not there, though later ones are. older: files of exports before this one. passed_over:
    files of newer exports that lack a slice, where this one is whole.
    """

    folder: Path
    files: tuple[Path, ...]
    exported: str = ""
    missing: tuple[int, ...] = ()
    older: tuple[Path, ...] = ()
    passed_over: tuple[Path, ...] = ()

    @property
    def is_complete(self) -> bool:
        return not self.missing


@dataclass(frozen=True, slots=True)
class _Named:
    """What a name says. part: kind, device, model, iteration; slice: 0 where it has none."""

    path: Path
    part: tuple[str, tuple[int, ...]]
    slice: int
    time: str


def newest_complete(paths: Iterable[Path]) -> tuple[OperatorFiles, ...]:
    """Of every folder the newest export with all its slices; where none has them, the newest one.

    Paths with other names (a table that somebody renamed) make a set of their own each. Folders come in the
    order of their first path.
    """
    named: dict[Path, list[_Named]] = {}
    others: list[OperatorFiles] = []
    for path in dict.fromkeys(paths):
        read = _read_name(path)
        if read is None:
            others.append(OperatorFiles(path.parent, (path,)))
        else:
            named.setdefault(path.parent, []).append(read)
    return (*(_newest(folder, files) for folder, files in named.items()), *others)


def _read_name(path: Path) -> _Named | None:
    found = _NAME.fullmatch(path.name)
    if found is None:
        return None
    numbers = found["numbers"].split("_")[1:]
    time = ""
    if numbers and _TIME.fullmatch(numbers[-1]):
        time = numbers.pop()[:14]
    if any(len(number) > 10 for number in numbers):
        return None
    part = (found["kind"].lower(), tuple(map(int, numbers)))
    return _Named(path, part, int(found["slice"] or 0), time)


def _newest(folder: Path, files: list[_Named]) -> OperatorFiles:
    exports = _exports(files)
    missing = [_missing(export) for export in exports]
    at = next((i for i, numbers in enumerate(missing) if not numbers), 0)
    return OperatorFiles(
        folder,
        tuple(file.path for file in sorted(exports[at], key=lambda file: (file.part, file.slice))),
        max(file.time for file in exports[at]),
        missing[at],
        older=tuple(file.path for export in exports[at + 1 :] for file in export),
        passed_over=tuple(file.path for export in exports[:at] for file in export),
    )


def _exports(files: list[_Named]) -> list[list[_Named]]:
    """Files of the same export together, the newest export first: no part of it twice, no long pause."""
    exports: list[dict[tuple[tuple[str, tuple[int, ...]], int], _Named]] = []
    last = ""
    for file in sorted(files, key=lambda file: (file.time, file.path.name), reverse=True):
        key = (file.part, file.slice)
        if not exports or not _is_near(last, file.time) or key in exports[-1]:
            exports.append({})
        last = file.time
        exports[-1][key] = file
    return [list(export.values()) for export in exports]


def _missing(export: list[_Named]) -> tuple[int, ...]:
    slices: dict[tuple[str, tuple[int, ...]], set[int]] = {}
    for file in export:
        slices.setdefault(file.part, set()).add(file.slice)
    return tuple(sorted({i for there in slices.values() for i in range(max(there)) if i not in there}))


def _is_near(newer: str, older: str) -> bool:
    if newer == older:
        return True
    try:
        seconds = datetime.strptime(newer, "%Y%m%d%H%M%S") - datetime.strptime(older, "%Y%m%d%H%M%S")
    except ValueError:  # one of them has no time, or one that no clock shows
        return False
    return seconds.total_seconds() <= SAME_EXPORT_S


def device_of(path: Path) -> int:
    """The device in the name of an old export, or of a folder above it; NO_ID (-1) if there is none."""
    named = _OLD_NAME.fullmatch(path.name)
    if named:
        return int(named[1])
    folders = (_DEVICE_FOLDER.fullmatch(part) for part in reversed(path.parts[-4:-1]))
    return next((int(found[1]) for found in folders if found), NO_ID)
