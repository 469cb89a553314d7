"""What is in the folder of a profiling session that may still run or was never parsed: PROF_*, *_ascend_pt,
*_ascend_ms. Names and sizes are looked at, and small control files are read; raw records are not opened.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Literal

from npulse.core.dataclass import dataclass

from ...errors import InputError
from ...files import open_input, real_path
from ...findings import Problem
from .records import ProfilerSettings
from .session_folders import (
    PART,
    Entry,
    FolderList,
    Part,
    part_of,
    slice_of,
)
from .settings import (
    SessionFacts,
    SessionTimes,
    merged,
    merged_times,
    read_profiler_info,
    read_profiler_metadata,
    read_times,
)

MAX_ENTRIES = 200_000
MAX_SESSIONS = 64
MAX_PARTS = 256
MAX_INFOS = 16

FRAMEWORK_OUTPUT = "ASCEND_PROFILER_OUTPUT"
MSPROF_OUTPUT = "mindstudio_profiler_output"

State = Literal["collecting", "collected", "parsing", "parsed", "exporting", "exported"]
Kind = Literal["msprof", "pytorch", "mindspore"]

_SESSION = re.compile(r"(?:.*_)?PROF_\d+_\d+_[0-9A-Za-z]+", re.ASCII)
_INFO = re.compile(r"profiler_info(?:_\d{1,9})?\.json", re.ASCII)
_DATABASE = re.compile(r"msprof_\d+\.db|ascend_(?:pytorch|mindspore)_profiler(?:_\d+)?\.db", re.ASCII)
_RANK = re.compile(r"(?:^|[_.-])rank[_-]?(\d{1,9})(?=[_.-]|$)", re.ASCII)
_ANALYSE = {
    "pytorch": "from torch_npu.profiler.profiler import analyse; analyse({})",
    "mindspore": "from mindspore.profiler.profiler import analyse; analyse({})",
}


@dataclass(frozen=True, slots=True)
class Session:
    """One session as its files tell it. Nothing was started, nothing is judged.

    state: "collecting": no end is recorded or a slice is still open. A session that was killed looks the
    same: `newest_ns` (when a raw file last changed) and `pid` are what tells them apart. "collected": the end
    is recorded. "parsing": sqlite/ or *.complete are there; "parsed": all_file.complete in every part.
    "exporting": an output folder is there and its end is not; "exported": README.txt, analyse.done or, of
    releases without them, whole output. is_end_marked: such a mark is there.
    parts: host, devices, FRAMEWORK. sessions: PROF_* within a framework folder. missing: the output folder
    that is not there. export_argv: the command that makes it, () where it is there; export_code: the same as
    Python, "" for msprof. rank, pid, options, settings, times: out of the control files.
    n_links: symbolic links that lead out and were not followed.
    """

    folder: Path
    kind: Kind
    state: State
    parts: tuple[Part, ...] = ()
    sessions: tuple[Session, ...] = ()
    rank: int | None = None
    pid: int | None = None
    process: str = ""
    app: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    settings: ProfilerSettings = ProfilerSettings()
    times: SessionTimes = SessionTimes()
    has_output: bool = False
    is_end_marked: bool = False
    missing: tuple[str, ...] = ()
    export_argv: tuple[str, ...] = ()
    export_code: str = ""
    n_links: int = 0
    problems: tuple[Problem, ...] = ()

    @property
    def all_parts(self) -> tuple[Part, ...]:
        """Its parts and those of the sessions in it."""
        return (*self.parts, *(part for inner in self.sessions for part in inner.parts))

    @property
    def devices(self) -> tuple[int, ...]:
        """Devices that have a folder."""
        return tuple(sorted({part.device for part in self.all_parts if part.device is not None}))

    @property
    def has_host(self) -> bool:
        return any(part.name == "host" for part in self.all_parts)

    @property
    def n_files(self) -> int:
        """Raw files."""
        return sum(part.n_files for part in self.all_parts)

    @property
    def n_slices(self) -> int:
        """Raw files that are slices."""
        return sum(part.n_slices for part in self.all_parts)

    @property
    def n_closed(self) -> int:
        """Slices that have a .done beside them."""
        return sum(part.n_closed for part in self.all_parts)

    @property
    def size_bytes(self) -> int:
        """Of the raw files."""
        return sum(part.size_bytes for part in self.all_parts)

    @property
    def newest_ns(self) -> int:
        """When a raw file last changed, 0 where there is none."""
        return max((part.newest_ns for part in self.all_parts), default=0)


def read_session(folder: Path, *, root: Path | None = None, max_entries: int = MAX_ENTRIES) -> Session:
    """What is in a PROF_*, *_ascend_pt or *_ascend_ms folder.

    root: the run; without it the folder itself is the border that links may not cross. Problems: links out
    of it, folders that cannot be listed, control files that cannot be read, more than `max_entries` entries
    (what is behind them is not counted). Raises InputError: no folder, outside `root`, no session.
    """
    border = folder if root is None else root
    try:
        real_path(folder, border)
    except ValueError as error:  # a NUL in the name
        raise InputError("the name is not one that a folder can have", path=folder) from error
    listed = FolderList(border, max_entries)
    if not folder.is_dir():
        raise InputError("the folder does not exist", path=folder)
    top = listed.entries(folder)
    kind = _kind_of(folder.name, top)
    if kind is None:
        hint = "name a folder PROF_..., ..._ascend_pt or ..._ascend_ms"
        raise InputError("this is no folder of a profiling session", path=folder, hint=hint)
    return _msprof(folder, top, listed) if kind == "msprof" else _framework(folder, kind, top, listed)


def slices_of(folder: Path, part: str, family: str, *, root: Path | None = None) -> tuple[Path, ...]:
    """The slices of one family ("host", "host_cpu.data") in their order, for the readers of raw text."""
    listed = FolderList(folder if root is None else root, MAX_ENTRIES)
    found = []
    for entry in listed.entries(folder / part / "data").values():
        name, number = slice_of(entry.name)
        if name == family and number is not None and not entry.is_folder:
            found.append((number, folder / part / "data" / entry.name))
    return tuple(path for _, path in sorted(found))


def _kind_of(name: str, top: Mapping[str, Entry]) -> Kind | None:
    if name.endswith("_ascend_ms"):
        return "mindspore"
    if name.endswith("_ascend_pt"):
        return "pytorch"
    if _SESSION.fullmatch(name) or any(e.is_folder and PART.fullmatch(e.name) for e in top.values()):
        return "msprof"
    is_framework = FRAMEWORK_OUTPUT in top or "FRAMEWORK" in top
    return "pytorch" if is_framework else None  # renamed; MindSpore's would have kept its name as well


def _msprof(folder: Path, top: Mapping[str, Entry], listed: FolderList) -> Session:
    """A PROF_* folder."""
    parts = []
    settings, times, facts = ProfilerSettings(), SessionTimes(), SessionFacts(options={})
    has_old_output = False
    found = [entry for entry in top.values() if entry.is_folder and PART.fullmatch(entry.name)]
    if len(found) > MAX_PARTS:
        listed.tell(
            folder, "limit", f"at most {MAX_PARTS} of {len(found):,} hosts and devices are looked into"
        )
    for entry in sorted(found, key=lambda entry: _part_key(entry.name))[:MAX_PARTS]:
        part, control = part_of(folder, entry.name, listed)
        parts.append(part)
        settings = merged(settings, control.settings)
        times = merged_times(times, part.times)
        facts = SessionFacts(
            pid=facts.pid if facts.pid is not None else control.facts.pid,
            process=facts.process or control.facts.process,
            app=facts.app or control.facts.app,
            options={**(control.facts.options or {}), **(facts.options or {})},
        )
        has_old_output |= control.has_old_output
    output = listed.entries(folder / MSPROF_OUTPUT) if MSPROF_OUTPUT in top else None
    is_marked = output is not None and "README.txt" in output
    has_database = any(_DATABASE.fullmatch(name) for name in top)
    has_output = output is not None or has_old_output or has_database
    if is_marked or has_old_output or (has_database and output is None):
        state: State = "exported"
    elif output is not None:
        state = "exporting"
    else:
        state = _raw_state(parts)
    return Session(
        folder=folder,
        kind="msprof",
        state=state,
        parts=tuple(parts),
        rank=settings.rank,
        pid=facts.pid,
        process=facts.process,
        app=facts.app,
        options=facts.options or {},
        settings=settings,
        times=times,
        has_output=has_output,
        is_end_marked=is_marked,
        missing=() if has_output else (MSPROF_OUTPUT,),
        export_argv=() if state == "exported" else ("msprof", "--export=on", f"--output={folder}"),
        n_links=listed.n_links,
        problems=tuple(listed.taken()),
    )


def _raw_state(parts: list[Part]) -> State:
    """State of a session that has no output."""
    if parts and all(part.is_parsed for part in parts):
        return "parsed"
    if any(part.is_parsing or part.is_parsed for part in parts):
        return "parsing"
    is_ended = bool(parts) and all(part.has_end for part in parts)
    return "collected" if is_ended and all(part.n_closed == part.n_slices for part in parts) else "collecting"


def _framework(folder: Path, kind: Kind, top: Mapping[str, Entry], listed: FolderList) -> Session:
    """A folder of the torch or MindSpore profiler, with the PROF_* in it."""
    settings, times = ProfilerSettings(framework=kind), SessionTimes()
    infos = sorted(name for name in top if _INFO.fullmatch(name))
    for name in infos[:MAX_INFOS]:
        if (info := listed.tried(read_profiler_info, folder / name)) is not None:
            settings = merged(settings, info.records[0])
        if (read := listed.tried(read_times, folder / name, is_silent=True)) is not None:
            times = merged_times(times, read.records[0])
    if "profiler_metadata.json" in top:
        if (info := listed.tried(read_profiler_metadata, folder / "profiler_metadata.json")) is not None:
            settings = merged(settings, info.records[0])
    parts = []
    if "FRAMEWORK" in top and top["FRAMEWORK"].is_folder:
        parts.append(listed.plain_part(folder, "FRAMEWORK"))
    inner = tuple(_inner(folder, top, listed))
    output = listed.entries(folder / FRAMEWORK_OUTPUT) if FRAMEWORK_OUTPUT in top else None
    is_marked = output is not None and "analyse.done" in output
    if output is None:
        state = _unparsed_state(inner, is_finalised=bool(infos))
    else:
        is_whole = is_marked or _is_whole(folder / FRAMEWORK_OUTPUT, output, listed)
        state = "exported" if is_whole else "exporting"
    for one in inner:
        settings, times = merged(settings, one.settings), merged_times(times, one.times)
    rank = settings.rank
    if rank is None and (named := _RANK.search(folder.name)):
        rank = int(named[1])
    code = "" if state == "exported" else _ANALYSE[kind].format(_quoted(str(folder)))
    first = inner[0] if inner else None
    return Session(
        folder=folder,
        kind=kind,
        state=state,
        parts=tuple(parts),
        sessions=inner,
        rank=rank,
        pid=None if first is None else first.pid,
        process="" if first is None else first.process,
        app="" if first is None else first.app,
        options={} if first is None else first.options,
        settings=settings,
        times=times,
        has_output=output is not None,
        is_end_marked=is_marked,
        missing=() if output is not None else (FRAMEWORK_OUTPUT,),
        export_argv=("python3", "-c", code) if code else (),
        export_code=code,
        n_links=listed.n_links,
        problems=(*(problem for one in inner for problem in one.problems), *listed.taken()),
    )


def _inner(folder: Path, top: Mapping[str, Entry], listed: FolderList) -> Iterator[Session]:
    """Sessions of msprof in a framework folder, oldest first."""
    names = sorted(name for name, entry in top.items() if entry.is_folder and _SESSION.fullmatch(name))
    for name in names[:MAX_SESSIONS]:
        yield _msprof(folder / name, listed.entries(folder / name), listed)
    if len(names) > MAX_SESSIONS:
        listed.tell(folder, "limit", f"at most {MAX_SESSIONS} of {len(names):,} PROF folders are looked into")


def _unparsed_state(inner: tuple[Session, ...], *, is_finalised: bool) -> State:
    """State of a framework folder without output: the least that its sessions have reached."""
    order: tuple[State, ...] = ("collecting", "collected", "parsing", "parsed", "exporting", "exported")
    state: State = min((one.state for one in inner), key=order.index, default="collecting")
    if state in ("exporting", "exported"):  # by msprof; what the framework makes of it is still missing
        return "parsing"
    return "collected" if state == "collecting" and is_finalised else state


def _is_whole(folder: Path, output: Mapping[str, Entry], listed: FolderList) -> bool:
    """Whether output without a mark of its end looks finished: older releases write none."""
    if not any(not entry.is_folder and entry.size_bytes for entry in output.values()):
        return False
    trace = output.get("trace_view.json")
    if trace is None or trace.is_folder:
        return True
    try:
        file, size_bytes = open_input(folder / trace.name, listed.root)
        with file:
            file.seek(max(size_bytes - 64, 0))
            return (file.read(64) or b"").rstrip().endswith((b"]", b"}"))
    except (InputError, OSError):
        return False


def _part_key(name: str) -> tuple[int, int]:
    """host first, then devices by number."""
    match = PART.fullmatch(name)
    return (1, int(match[1])) if match and match[1] else (0, 0)


def _quoted(text: str) -> str:
    """A text as Python reads it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(text)
    return json.dumps(text, ensure_ascii=False)
