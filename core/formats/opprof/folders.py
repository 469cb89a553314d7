"""Where the kernels of an OPPROF_* folder lie and what is there of each. Names only are looked at.

OPPROF/                          one kernel, one card
OPPROF/{kernel}/{launch}/        several kernels; each table has 17 digits of a time in its name
OPPROF/device{N}/{kernel}/{launch}/
.../simulator/{core}/            simulator
.../dump/                        raw files; all there is while the tool collects
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import field
from pathlib import Path

from npulse.core.dataclass import dataclass

from ...errors import InputError
from ...files import real_path, shown_path
from ...findings import Problem
from .records import TABLES, Layout

MAX_ENTRIES = 200_000
MAX_KERNELS = 10_000
_MAX_DEPTH = 8
_TABLE = re.compile(rf"(OpBasicInfo|{'|'.join(TABLES)})(?:_(\d{{14,17}}))?\.csv", re.ASCII)
_OF_CORE = re.compile(r"(.{1,80})_(code_exe|instr_exe)(?:_(\d{14,17}))?\.csv", re.ASCII)
_REPLAY = re.compile(r"DeviceProf\d{1,6}\.bin", re.ASCII)
_DEVICE = re.compile(r"device_?(\d{1,4})", re.ASCII)
_RAW = ("dump", "tmp_dump")
VISUALIZE = "visualize_data.bin"
BASIC_TEXT = "op_basic_info.txt"
WHOLE_BOARD = ("OpBasicInfo", *TABLES, VISUALIZE)


@dataclass(slots=True)
class KernelFolder:
    """One launch of one kernel as its names tell it.

    tables: "OpBasicInfo" or a name of `TABLES` -> the newest file. lines, instructions: core -> file.
    has_raw: a folder of raw files is there.
    """

    path: Path
    kernel: str = ""
    index: int | None = None
    device: int | None = None
    tables: dict[str, Path] = field(default_factory=dict)
    visualize: Path | None = None
    trace: Path | None = None
    lines: dict[str, Path] = field(default_factory=dict)
    instructions: dict[str, Path] = field(default_factory=dict)
    basic_text: Path | None = None
    n_replays: int = 0
    has_raw: bool = False
    has_simulator: bool = False
    passed_over: list[Path] = field(default_factory=list)
    _times: dict[tuple[str, str], str] = field(default_factory=dict)

    @property
    def layout(self) -> Layout:
        if self.has_simulator or self.lines or self.instructions:
            return "simulator"
        return "board" if self.tables or self.visualize else "collecting"

    @property
    def missing(self) -> tuple[str, ...]:
        """What a whole result has and this one has not; only metrics that were asked for have a table."""
        if self.layout == "simulator":
            has = {"code_exe": self.lines, "instr_exe": self.instructions, VISUALIZE: self.visualize}
            return tuple(name for name, found in has.items() if not found)
        if self.layout == "collecting":
            return WHOLE_BOARD
        there = {*self.tables, VISUALIZE} if self.visualize else set(self.tables)
        return tuple(name for name in WHOLE_BOARD if name not in there)

    @property
    def is_anything(self) -> bool:
        return bool(
            self.tables
            or self.visualize
            or self.lines
            or self.instructions
            or self.has_raw
            or self.has_simulator
        )

    def put(self, kind: str, key: str, time: str, path: Path, into: dict[str, Path]) -> None:
        """Keep the file with the newest time in its name; the others are passed over."""
        known = into.get(key)
        if known is not None and self._times[kind, key] >= time:
            self.passed_over.append(path)
            return
        if known is not None:
            self.passed_over.append(known)
        into[key], self._times[kind, key] = path, time


@dataclass(slots=True)
class _Walk:
    root: Path | None
    problems: list[Problem]
    n_entries: int = 0
    is_full: bool = False

    def entries(self, folder: Path) -> Iterator[os.DirEntry[str]]:
        """Entries of one folder in order of name, links to folders left out."""
        try:
            with os.scandir(folder) as found:
                entries = []
                for entry in found:
                    self.n_entries += 1
                    if self.n_entries > MAX_ENTRIES:
                        self._stop(folder, f"only the first {MAX_ENTRIES:,} entries were looked at")
                        break
                    entries.append(entry)
        except OSError as error:
            message = f"the folder cannot be read: {error.strerror}"
            self.problems.append(Problem(shown_path(folder, self.root), "unreadable", message))
            return
        yield from sorted(entries, key=lambda entry: entry.name)

    def _stop(self, folder: Path, message: str) -> None:
        if not self.is_full:
            self.is_full = True
            self.problems.append(Problem(shown_path(folder, self.root), "limit", message))


def find_kernels(
    folder: Path, *, root: Path | None = None
) -> tuple[tuple[KernelFolder, ...], tuple[Problem, ...]]:
    """All kernels in a folder, by natural order of their paths, and what of it could not be looked at.

    folder: an OPPROF_* folder, one above or below it, or a visualize_data.bin alone. Raises InputError where
    there is no such folder, or it lies outside `root`.
    """
    real_path(folder, root)
    if folder.is_file():
        return (KernelFolder(folder.parent, visualize=folder),), ()
    if not folder.is_dir():
        raise InputError("the folder does not exist", path=folder)
    walk = _Walk(root, [])
    start = folder
    while start.name in ("simulator", *_RAW) and _is_in(start.parent, root):
        start = start.parent
    found = list(_kernels(walk, start, _MAX_DEPTH))
    found.sort(key=lambda kernel: _natural(str(kernel.path)))
    if len(found) > MAX_KERNELS:
        message = f"only the first {MAX_KERNELS:,} of {len(found):,} kernels are read"
        walk.problems.append(Problem(shown_path(folder, root), "limit", message))
        del found[MAX_KERNELS:]
    return tuple(found), tuple(walk.problems)


def _kernels(walk: _Walk, folder: Path, depth: int) -> Iterator[KernelFolder]:
    if depth < 0 or walk.is_full:
        return
    here = _named(folder)
    if folder.name == "simulator":  # the run itself: what is above it was not opened
        here.has_simulator = True
        _take_simulator(walk, here, folder)
        yield here
        return
    if folder.name in _RAW:
        here.has_raw = True
        _take_raw(walk, here, folder)
        yield here
        return
    below: list[Path] = []
    for entry in walk.entries(folder):
        path = folder / entry.name
        if not entry.is_dir(follow_symlinks=False):
            _take_file(here, path)
        elif entry.name in _RAW:
            here.has_raw = True
            _take_raw(walk, here, path)
        elif entry.name == "simulator":
            here.has_simulator = True
            _take_simulator(walk, here, path)
        else:
            below.append(path)
    if here.is_anything:
        yield here
    for path in below:
        yield from _kernels(walk, path, depth - 1)


def _is_in(folder: Path, root: Path | None) -> bool:
    try:
        real_path(folder, root)
    except InputError:
        return False
    return True


def _named(folder: Path) -> KernelFolder:
    """What the names above a kernel's files say: .../device0/add_custom/3."""
    parts = folder.parts
    here = KernelFolder(folder)
    at = next((i for i, part in enumerate(parts) if part.startswith("OPPROF_")), None)
    below = parts[at + 1 :] if at is not None else parts[-3:]
    if below and below[-1].isdecimal() and below[-1].isascii() and len(below[-1]) <= 9 and len(below) > 1:
        here.index = int(below[-1])
        here.kernel = below[-2]
    for part in below:
        if found := _DEVICE.fullmatch(part):
            here.device = int(found[1])
    return here


def _take_file(here: KernelFolder, path: Path) -> None:
    if found := _TABLE.fullmatch(path.name):
        here.put("table", found[1], found[2] or "", path, here.tables)
    elif found := _OF_CORE.fullmatch(path.name):
        into = here.lines if found[2] == "code_exe" else here.instructions
        here.put(found[2], found[1], found[3] or "", path, into)
    elif path.name == VISUALIZE:
        here.visualize = path
    elif path.name == "trace.json":
        here.trace = path
    elif path.name == BASIC_TEXT:
        here.basic_text = path


def _take_raw(walk: _Walk, here: KernelFolder, folder: Path) -> None:
    for entry in walk.entries(folder):
        if entry.name == BASIC_TEXT:
            here.basic_text = folder / entry.name
        elif _REPLAY.fullmatch(entry.name):
            here.n_replays += 1


def _take_simulator(walk: _Walk, here: KernelFolder, folder: Path) -> None:
    for entry in walk.entries(folder):
        path = folder / entry.name
        if not entry.is_dir(follow_symlinks=False):
            _take_file(here, path)
            continue
        for inner in walk.entries(path):
            if _OF_CORE.fullmatch(inner.name) and not inner.is_dir(follow_symlinks=False):
                _take_file(here, path / inner.name)


def _natural(text: str) -> tuple[tuple[int, int, str], ...]:
    return tuple(
        (0, int(part), "") if part.isdecimal() and len(part) < 19 else (1, 0, part)
        for part in re.split(r"(\d+)", text, flags=re.ASCII)
    )
