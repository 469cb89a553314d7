"""Raw files of a session by part and family: counted, not opened. Listing is bounded, no link leads out."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import field
from pathlib import Path
from typing import TypeVar

from npulse.core.dataclass import dataclass

from ...errors import InputError
from ...files import real_path, shown_path
from ...findings import Problem
from .records import ProfilerSettings, Read
from .settings import (
    SessionFacts,
    SessionTimes,
    merged,
    merged_times,
    read_sample,
    read_session_info,
    read_times,
)

PART = re.compile(r"host|device_(\d{1,6})", re.ASCII)
SLICE = re.compile(r"(.+)\.slice_(\d{1,9})", re.ASCII)
_CONTROL = re.compile(r"(sample\.json|info\.json|start_info|end_info)(?:\.\d{1,6})?", re.ASCII)
_DEVICE = re.compile(r"\.\d{1,6}$", re.ASCII)
_OLD_OUTPUT = ("summary", "timeline")
MAX_FAMILIES = 4096
MAX_CONTROL_FILES = 64
MAX_CONTROL_BYTES = 256 << 20
_SHOWN_PROBLEMS = 20

ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True)
class Entry:
    """One file or folder. modified_ns: since 1970."""

    name: str
    is_folder: bool
    size_bytes: int = 0
    modified_ns: int = 0


@dataclass(frozen=True, slots=True)
class Family:
    """Raw files of one kind, e.g. "stars_soc.data". n_slices: those in slices, n_closed: of them those with a
    .done; n_files: all, without the .done, as size_bytes and newest_ns. first, last: numbers of the slices,
    None where there are none; a first one above 0: earlier ones were deleted to save space. open_bytes: of
    the slices without .done."""

    name: str
    n_files: int
    n_slices: int
    n_closed: int
    size_bytes: int
    open_bytes: int
    newest_ns: int
    first: int | None = None
    last: int | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """One side of a session: "host", "device_0", or "FRAMEWORK" of a framework's folder.

    is_parsing: sqlite/ or *.complete are there. is_parsed: all_file.complete is.
    """

    name: str
    device: int | None = None
    has_start: bool = False
    has_end: bool = False
    is_parsing: bool = False
    is_parsed: bool = False
    families: tuple[Family, ...] = ()
    times: SessionTimes = SessionTimes()

    @property
    def n_files(self) -> int:
        return sum(family.n_files for family in self.families)

    @property
    def n_slices(self) -> int:
        return sum(family.n_slices for family in self.families)

    @property
    def n_closed(self) -> int:
        return sum(family.n_closed for family in self.families)

    @property
    def size_bytes(self) -> int:
        return sum(family.size_bytes for family in self.families)

    @property
    def newest_ns(self) -> int:
        return max((family.newest_ns for family in self.families), default=0)


@dataclass(frozen=True, slots=True)
class Control:
    """What the control files of a part say. has_old_output: summary/ or timeline/, as before CANN 8."""

    settings: ProfilerSettings = ProfilerSettings()
    facts: SessionFacts = SessionFacts()
    has_old_output: bool = False


class FolderList:
    """Lists folders below `root`, at most so many entries in all; keeps what went wrong."""

    def __init__(self, root: Path, max_entries: int) -> None:
        self.root = root
        self.n_links = 0
        self._n_left = max_entries
        self._n_bytes_left = MAX_CONTROL_BYTES
        self._max_entries = max_entries
        self._is_full = False
        self._problems: list[Problem] = []
        self._n_problems = 0

    def tell(self, path: Path, kind: str, message: str) -> None:
        """Keep a problem; only the first ones."""
        self._n_problems += 1
        if self._n_problems <= _SHOWN_PROBLEMS:
            self._problems.append(Problem(shown_path(path, self.root), kind, message))

    def taken(self) -> list[Problem]:
        """The problems since the last call."""
        found, self._problems = self._problems, []
        return found

    def entries(self, folder: Path) -> dict[str, Entry]:
        """Files and folders in it by name; {} (and told) where it cannot be listed."""
        found: dict[str, Entry] = {}
        try:
            real_path(folder, self.root)
            with os.scandir(folder) as listing:
                for item in listing:
                    if self._n_left <= 0:
                        self._tell_full(folder)
                        break
                    self._n_left -= 1
                    entry = self._entry(folder, item)
                    if entry is not None:
                        found[entry.name] = entry
        except InputError as error:
            self.tell(folder, "outside-run", error.message)
        except NotADirectoryError:
            self.tell(folder, "bad-record", "this is no folder")
        except FileNotFoundError:
            pass
        except OSError as error:
            self.tell(folder, "unreadable", f"the folder cannot be listed: {error.strerror}")
        return found

    def tried(
        self, read: Callable[..., Read[ResultT]], path: Path, *, is_silent: bool = False
    ) -> Read[ResultT] | None:
        """What a reader gives for a file; None (and told) where it cannot be read.

        is_silent: another reader of the same file tells its problems.
        """
        try:
            self._n_bytes_left -= path.stat().st_size
            if self._n_bytes_left < 0:
                self.tell(path, "limit", f"not read: {MAX_CONTROL_BYTES:,} bytes of such files are before it")
                return None
            result = read(path, root=self.root)
        except OSError as error:
            self.tell(path, "unreadable", f"it cannot be looked at: {error.strerror}")
            return None
        except InputError as error:
            if not is_silent:
                self.tell(path, "unreadable", error.message)
            return None
        if not is_silent:
            for problem in result.problems:
                self._n_problems += 1
                if self._n_problems <= _SHOWN_PROBLEMS:
                    self._problems.append(problem)
        return result

    def plain_part(self, folder: Path, name: str) -> Part:
        """A folder of raw files that are not sliced."""
        families = tuple(
            Family(entry.name, 1, 0, 0, entry.size_bytes, 0, entry.modified_ns)
            for entry in sorted(self.entries(folder / name).values(), key=lambda entry: entry.name)
            if not entry.is_folder
        )
        return Part(name, families=families[:MAX_FAMILIES])

    def _entry(self, folder: Path, item: os.DirEntry[str]) -> Entry | None:
        try:
            if item.is_symlink():
                real_path(Path(item.path), self.root)
            status = item.stat()
            is_folder = item.is_dir()
        except InputError as error:
            self.n_links += 1
            self.tell(folder / item.name, "outside-run", error.message)
            return None
        except OSError as error:  # gone meanwhile, or a link to nothing
            if not isinstance(error, FileNotFoundError) or item.is_symlink():
                self.tell(folder / item.name, "unreadable", f"it cannot be looked at: {error.strerror}")
            return None
        return Entry(item.name, is_folder, 0 if is_folder else status.st_size, status.st_mtime_ns)

    def _tell_full(self, folder: Path) -> None:
        if not self._is_full:
            self._is_full = True
            message = (
                f"more than {self._max_entries:,} files are in this session; from here on none is counted"
            )
            self._problems.append(Problem(shown_path(folder, self.root), "limit", message))


def part_of(session: Path, name: str, listed: FolderList) -> tuple[Part, Control]:
    """host or device_N of a session."""
    folder = session / name
    top = listed.entries(folder)
    match = PART.fullmatch(name)
    raw = listed.entries(folder / "data") if "data" in top else {}
    settings, times, facts = ProfilerSettings(), SessionTimes(), SessionFacts(options={})
    seen: set[str] = set()
    n_read = 0
    for entry in sorted(top.values(), key=lambda entry: entry.name):
        control = _CONTROL.fullmatch(entry.name)
        if control is None or entry.is_folder:
            continue
        word = control[1]
        seen.add(word)
        n_read += 1
        if n_read > MAX_CONTROL_FILES:
            listed.tell(folder, "limit", f"at most {MAX_CONTROL_FILES} control files of a part are read")
            break
        if word in ("start_info", "end_info"):
            if (read := listed.tried(read_times, folder / entry.name)) is not None:
                times = merged_times(times, read.records[0])
            continue
        said = _said(word, folder / entry.name, listed)
        if said is not None:
            settings = merged(settings, said[0])
            facts = _joined(facts, said[1])
    part = Part(
        name=name,
        device=int(match[1]) if match and match[1] else None,
        has_start="start_info" in seen,
        has_end="end_info" in seen,
        is_parsing="sqlite" in top or any(entry.endswith(".complete") for entry in raw),
        is_parsed="all_file.complete" in raw,
        families=_families(raw, folder / "data", listed),
        times=times,
    )
    has_old_output = any(word in top and top[word].is_folder for word in _OLD_OUTPUT)
    return part, Control(settings, facts, has_old_output)


def _said(word: str, path: Path, listed: FolderList) -> tuple[ProfilerSettings, SessionFacts] | None:
    """Settings and facts of a sample.json or info.json."""
    facts: list[SessionFacts] = []

    def read(path: Path, *, root: Path | None = None) -> Read[ProfilerSettings]:
        result, said = (read_sample if word == "sample.json" else read_session_info)(path, root=root)
        facts.append(said)
        return result

    result = listed.tried(read, path)
    return None if result is None else (result.records[0], facts[0])


def _joined(first: SessionFacts, second: SessionFacts) -> SessionFacts:
    """`second` where it is of the process itself (info.json), else what is there."""
    return SessionFacts(
        pid=first.pid if first.pid is not None else second.pid,
        process=first.process or second.process,
        app=first.app or second.app,
        options={**(second.options or {}), **(first.options or {})},
    )


@dataclass(slots=True)
class _Count:
    """A family while it is counted, by full name of a file without .done."""

    files: dict[str, tuple[int | None, Entry]] = field(default_factory=dict)
    closed: set[str] = field(default_factory=set)


def slice_of(name: str) -> tuple[str, int | None]:
    """Family and number of a raw file: "stars_soc.data.0.slice_3" -> ("stars_soc.data", 3)."""
    match = SLICE.fullmatch(name)
    stem = match[1] if match else name
    return _DEVICE.sub("", stem), int(match[2]) if match else None


def _families(raw: dict[str, Entry], folder: Path, listed: FolderList) -> tuple[Family, ...]:
    """Raw files by family, in the order of their names."""
    counts: dict[str, _Count] = {}
    for entry in raw.values():
        if entry.is_folder or entry.name.endswith(".complete"):
            continue
        name = entry.name.removesuffix(".done")
        family, number = slice_of(name)
        count = counts.setdefault(family, _Count())
        if name != entry.name:
            count.closed.add(name)
        else:
            count.files[name] = (number, entry)
    if len(counts) > MAX_FAMILIES:
        listed.tell(folder, "limit", f"at most {MAX_FAMILIES:,} kinds of raw files are told")
    found = (_family(name, counts[name]) for name in sorted(counts)[:MAX_FAMILIES])
    return tuple(family for family in found if family.n_files)


def _family(name: str, count: _Count) -> Family:
    slices = {name: number for name, (number, _) in count.files.items() if number is not None}
    entries = [entry for _, entry in count.files.values()]
    return Family(
        name=name,
        n_files=len(entries),
        n_slices=len(slices),
        n_closed=len(count.closed & slices.keys()),
        size_bytes=sum(entry.size_bytes for entry in entries),
        open_bytes=sum(e.size_bytes for e in entries if e.name in slices and e.name not in count.closed),
        newest_ns=max((entry.modified_ns for entry in entries), default=0),
        first=min(slices.values(), default=None),
        last=max(slices.values(), default=None),
    )
