"""Folders that are one artifact: msprobe rank-steps, raw profiler sessions, dumps of many files."""

from __future__ import annotations

import os
import re
import time
from dataclasses import field
from pathlib import Path

from npulse.core.dataclass import dataclass

from ..findings import Completeness
from .kinds import KINDS
from .paths import Parts
from .peek import JsonKeys, json_keys, looks_closed, peek
from .stamp import FRESH_NS

INDEXES = ("dump.json", "debug.json")
TENSOR_FOLDER = "dump_tensor_data"

_SESSION = re.compile(r"(?:.*_)?PROF_\d+_\d{10,20}_[0-9A-Za-z]+")
_OPPROF = re.compile(r"OPPROF_\d{14,17}_\w+")
_FRAMEWORK = re.compile(r".*_ascend_(?:pt|ms)")
_RAW_IN_SESSION = re.compile(r"host|device_\d+|sqlite|data|query|mindstudio_profiler_log|FRAMEWORK|logs")
_EXPORTS_IN_RAW = frozenset({"summary", "timeline"})
_FX_FOLDERS = frozenset({"msprobe_fx_dump", "msit_fx_dump"})
_FX_STEP = re.compile(r"gm_\d+_dump")
_PROFILER_INFO = re.compile(r"profiler_info_(\d{1,9})\.json")
_ENTRY = re.compile(r"\.(?:forward|backward|debug|parameters_grad)(?:\.\d+)?$")


def is_fresh(path: Path, now_ns: int | None = None) -> bool:
    """Whether a file changed within the last minute; one that is gone did not. now_ns: of the clock."""
    try:
        modified_ns = os.stat(path).st_mtime_ns
    except (OSError, ValueError):
        return False
    return (time.time_ns() if now_ns is None else now_ns) - modified_ns < FRESH_NS


@dataclass(slots=True)
class Folder:
    """A folder artifact while it is being counted.

    n_own: files of a dump that are no tensors. is_confirmed: a file's content agreed with its name.
    """

    kind: str
    parts: Parts
    size_bytes: int = 0
    modified_ns: int = 0
    n_files: int = 0
    n_own: int = 0
    n_looks: int = 0
    is_confirmed: bool = False
    completeness: Completeness = "unknown"
    rank: int | None = None
    marks: set[str] = field(default_factory=set)

    def add(self, size_bytes: int, modified_ns: int) -> None:
        self.size_bytes += size_bytes
        self.modified_ns = max(self.modified_ns, modified_ns)
        self.n_files += 1


def session_of(name: str, parts: Parts) -> Folder | None:
    """The profiler session that a folder of this name is; None for all other folders."""
    if _FRAMEWORK.fullmatch(name):
        return Folder("prof.framework", parts)
    return Folder("prof.session", parts) if _SESSION.fullmatch(name) else None


def is_raw(name: str, in_session: bool, in_raw: bool) -> bool:
    """Whether a folder of a profiler session holds raw records, which are counted and not looked into."""
    if in_raw:
        return name not in _EXPORTS_IN_RAW
    return in_session and bool(_RAW_IN_SESSION.fullmatch(name))


def is_opprof_raw(name: str, parts: Parts) -> bool:
    return name in ("dump", "tmp_dump") and any(_OPPROF.fullmatch(part) for part in parts)


def looks_like_folder_artifact(name: str) -> bool:
    """Whether a folder's name promises an artifact (asked of links that lead out of the run)."""
    return name == TENSOR_FOLDER or any(p.fullmatch(name) for p in (_SESSION, _OPPROF, _FRAMEWORK))


def note_file(session: Folder, name: str) -> None:
    """What the name of a file in a session says about the session."""
    if name.startswith("end_info"):
        session.marks.add("ended")
    found = _PROFILER_INFO.fullmatch(name)
    if found:
        session.marks.add("ended")
        session.rank = int(found[1])


def unnamed_kind(name: str, parts: Parts) -> str | None:
    """The kind of a file whose own name says nothing, by the folders above it."""
    if "data-dump" in parts[-2:]:
        return None if name.endswith((".o", ".json")) else "cann.exception"
    if name.endswith(".npy") and (
        _FX_FOLDERS.intersection(parts) or _FX_STEP.fullmatch(parts[-1] if parts else "")
    ):
        return "torchair.dump"
    return None


def group_parts(kind: str, parts: Parts) -> Parts:
    """The folder that is the artifact, for a file of a folder kind lying in folder `parts`."""
    if kind == "opprof.result":
        for i, name in enumerate(parts):
            if name in ("simulator", "dump", "tmp_dump"):
                return parts[:i]
    elif kind == "atb.dump":
        for i in range(len(parts), 0, -1):
            if parts[i - 1].isdecimal():
                return parts[:i]
        return ()
    elif kind == "atb.topology":
        for i, name in enumerate(parts):
            if name == "info":
                return parts[: i + 1]
    elif kind == "msit.dump" and "torch_tensors" in parts:
        return parts[: parts.index("torch_tensors") + 3]
    return parts


def is_grouped(kind: str) -> bool:
    """Whether files of this kind are one artifact a folder (not a dump's index under another name)."""
    return KINDS[kind].is_folder and kind != "msprobe.dump"


@dataclass(frozen=True, slots=True)
class IndexLook:
    """What one look at dump.json or debug.json says. `is_empty`: it holds no entry (yet)."""

    size_bytes: int
    modified_ns: int
    is_closed: bool
    is_empty: bool
    task: str


def look_at_index(path: str, *, follow: bool) -> IndexLook | None:
    """The state of a dump's index; None if it is another program's file. OSError as reading raises it.

    An empty or hardly begun file counts as an index: the tool rewrites it in place.
    """
    seen = peek(path, head=4096, tail=1024, follow=follow)
    if seen is None:
        return None
    text = seen.head.strip()
    keys = json_keys(seen.head)
    if text and keys is None:
        return None
    if keys and not _is_header(keys, text):
        return None
    found = re.search(rb'"task"\s*:\s*"(\w+)"', seen.head)
    return IndexLook(
        size_bytes=seen.size_bytes,
        modified_ns=seen.modified_ns,
        is_closed=bool(text) and looks_closed(seen.end),
        is_empty=not text or bool(re.search(rb'"data"\s*:\s*\{\s*\}', seen.head)),
        task=found[1].decode("ascii", "replace") if found else "",
    )


def _is_header(keys: JsonKeys, text: bytes) -> bool:
    if keys.shape != "object":
        return False
    if {"task", "level"} <= keys.top or "dump_data_dir" in keys.top:
        return True
    has_entries = "data" in keys.top and any(_ENTRY.search(key) for key in keys.inner)
    return has_entries or (len(text) < 64 and not text.endswith(b"}"))


def dump_completeness(look: IndexLook | None, n_tensors: int, now_ns: int) -> Completeness:
    """Of an msprobe rank-step. raw: tensors without an index; a fresh cut file is still being written."""
    if look is None:
        return "raw"
    if not look.is_closed:
        if look.is_empty and n_tensors:
            return "raw"
        return "in progress" if now_ns - look.modified_ns < FRESH_NS else "cut off"
    if look.is_empty and look.task != "structure":
        return "raw" if n_tensors else "unknown"
    return "complete"


def session_completeness(session: Folder, now_ns: int) -> Completeness:
    """Of a profiler session: exported, still being written, or raw and not yet parsed."""
    if "exported" in session.marks:
        return "complete"
    fresh = now_ns - session.modified_ns < FRESH_NS
    return "in progress" if fresh and "ended" not in session.marks else "raw"
