"""From a frame as a log has it to a file that is at hand: exact path, longest common tail, unique base name.

Logs come from build hosts, so their paths seldom exist here. Only files inside the given roots are ever
answered, and none is opened: `formats.source_text` reads their lines.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

from npulse.core.dataclass import dataclass
from npulse.core.errors import InputError
from npulse.core.text import Lang, say

from .faults import Fault, Frame
from .place_texts import TEXTS
from .source_index import SourceIndex
from .toolkit import is_runtime_file, is_toolkit_file, is_users, may_be_users

How = Literal["exact", "tail", "name"]
Reason = Literal[
    "no-frame",
    "unknown-file",
    "no-line",
    "line-zero",
    "not-found",
    "ambiguous",
    "outside-roots",
    "no-roots",
    "too-large",
    "line-past-end",
]

Built = Literal["kernel", "library-kernel", "runtime-call", "host"]

SHOWN_CANDIDATES = 20
CUT_AT = 63
"""Bytes at which a wrapper header of msSanitizer cuts off the end of a path."""

_KEPT_FILES = 1 << 16
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


@dataclass(frozen=True, slots=True)
class SourceHit:
    """A file inside `root` for a frame. line: from 1; column: from 1, None where the log has none.

    how: "exact" (the path as logged), "tail" (the last `n_tail_parts` parts of both paths agree, two or
    more), "name" (the base name alone, which no other file has).
    """

    path: Path
    line: int
    column: int | None
    how: How
    n_tail_parts: int
    root: Path


@dataclass(frozen=True, slots=True)
class Missing:
    """Why there is no line to show. candidates: files that may be meant, at most 20 of `n_candidates`."""

    reason: Reason
    candidates: tuple[Path, ...] = ()
    n_candidates: int = 0


@dataclass(frozen=True, slots=True)
class _File:
    """What a name in a log leads to, whichever line of it is asked for."""

    path: Path
    how: How
    n_tail_parts: int
    root: Path

    @property
    def below(self) -> str:
        """The path from the root on: whose code it is, a folder above the root does not decide."""
        return str(self.path.relative_to(self.root))


class SourceRoots:
    """Folders in which sources are looked for. They are walked once, when the first name asks for it.

    Raises InputError for a root that is no folder.
    """

    def __init__(self, roots: Sequence[Path]) -> None:
        for root in roots:
            if not os.path.isdir(root):
                raise InputError("not a folder", path=root, hint="--source-root takes folders with sources")
        self.roots = tuple(dict.fromkeys(Path(os.path.realpath(root)) for root in roots))
        self._named = tuple((os.path.abspath(root), os.path.realpath(root)) for root in roots)
        self._index: SourceIndex | None = None
        self._files: dict[str, _File | Missing] = {}
        self._owned: dict[tuple[str, ...], dict[str, bool]] = {}

    def to_kept(self) -> tuple[Any, ...]:
        """What `from_kept` makes them of again (core/kept_records.py)."""
        return (tuple(Path(named) for named, _ in self._named),)

    @classmethod
    def from_kept(cls, roots: tuple[Path, ...]) -> SourceRoots:
        """The same folders, to be walked anew once a name asks for it. InputError where one is gone."""
        return cls(roots)

    @property
    def index(self) -> SourceIndex:
        """All source files inside the roots, as far as they are looked through."""
        if self._index is None:
            self._index = SourceIndex([os.fspath(root) for root in self.roots])
        return self._index

    def root_of(self, hit: SourceHit) -> Path:
        """The root that a hit lies in: the bound for the reader of its lines."""
        return hit.root

    def find(self, frame: Frame | None) -> SourceHit | Missing:
        """The file and line that a frame means here, or why there is none.

        Costs one look at the file system for a new name, nothing for one that was asked before.
        """
        if frame is None:
            return Missing("no-frame")
        if not frame.has_file:
            return Missing("unknown-file")
        found = self._find_file(frame.file) if self.roots else Missing("no-roots")
        if not frame.line:
            at_hand = (found.path,) if isinstance(found, _File) else ()
            return Missing("no-line" if frame.line is None else "line-zero", at_hand, len(at_hand))
        if isinstance(found, Missing):
            return found
        column = frame.column or None
        return SourceHit(found.path, frame.line, column, found.how, found.n_tail_parts, found.root)

    def owns(self, file: str, homes: tuple[str, ...] = ()) -> bool:
        """True if a name in a log leads to a file of the user's own inside the roots.

        A copy of the toolkit or of a runtime inside a root does not count, a root inside the toolkit does.
        By the base name alone no file of the toolkit becomes the user's.
        """
        return self.first_owned((Frame(file),), homes) is not None

    def first_owned(self, frames: Sequence[Frame], homes: tuple[str, ...] = ()) -> int | None:
        """The index of the first frame whose file is the user's own, as `owns` says it."""
        owned = self._owned.setdefault(homes, {})
        for i, frame in enumerate(frames):
            is_own = owned.get(frame.file)
            if is_own is None:
                if len(owned) >= _KEPT_FILES:
                    owned.clear()
                is_own = owned[frame.file] = frame.has_file and self._is_own(frame.file, homes)
            if is_own:
                return i
        return None

    def _is_own(self, file: str, homes: tuple[str, ...]) -> bool:
        found = self._find_file(file) if self.roots else None
        if not isinstance(found, _File) or is_toolkit_file(found.below) or is_runtime_file(found.below):
            return False
        if _is_in_home_below(found, homes):
            return False
        return found.how != "name" or not (is_runtime_file(file) or is_toolkit_file(file, homes))

    def _find_file(self, file: str) -> _File | Missing:
        known = self._files.get(file)
        if known is None:
            if len(self._files) >= _KEPT_FILES:
                self._files.clear()
            known = self._files[file] = self._look_for(file)
        return known

    def _look_for(self, file: str) -> _File | Missing:
        if any(c < " " for c in file):
            return Missing("not-found")
        exact, leads_out = self._exact(file)
        if exact is not None:
            return exact
        parts = parts_of(file)
        found = self._by_cut_tail(parts) if is_cut(file) else None
        if found is None:
            found = self._by_tail(parts)
        if leads_out and isinstance(found, Missing) and found.reason == "not-found":
            return Missing("outside-roots")
        return found

    def _exact(self, file: str) -> tuple[_File | None, bool]:
        """The file at the path as written, if it is absolute and inside a root; whether it leads out of one.

        A path that does not even begin with a root is not looked at: it may lie on a disk that hangs.
        """
        if not file.startswith("/"):  # what it is relative to, the log does not say
            return None, False
        plain = os.path.normpath(file)
        leads_out = False
        for name, root in self._named:
            for start in dict.fromkeys((name, root)):
                if not _is_below(file, start):
                    continue
                if not _is_below(plain, start) or not _is_below(real := os.path.realpath(file), root):
                    leads_out = True
                elif os.path.isfile(real):
                    n_parts = len(Path(plain).parts) - 1
                    return _File(Path(real), "exact", n_parts, Path(root)), False
        return None, leads_out

    def _by_tail(self, parts: tuple[str, ...]) -> _File | Missing:
        if not parts:
            return Missing("not-found")
        return self._decided([(_n_common(parts, path), (path,)) for path in self.index.named(parts[-1])])

    def _by_cut_tail(self, parts: tuple[str, ...]) -> _File | Missing | None:
        """Of a path whose end is missing: its last part is the begin of a name, of a file or of a folder.

        None unless what stands before that name agrees by one part or more.
        """
        if not parts:
            return None
        *head, begin = parts
        begin = begin.rstrip("\N{REPLACEMENT CHARACTER}")  # what is left of a character
        scored = [(1 + _n_common(head, folder), files) for folder, files in self.index.beginning(begin)]
        scored = [(n, files) for n, files in scored if n > 1]
        return self._decided(scored) if scored else None

    def _decided(self, scored: list[tuple[int, Sequence[str]]]) -> _File | Missing:
        """The one file with the highest number of agreeing parts. scored: that number, and files with it."""
        if not scored:
            return Missing("too-large") if self.index.is_cut else Missing("not-found")
        most = max(n for n, _ in scored)
        best = sorted({path for n, files in scored if n == most for path in files})
        paths = tuple(map(Path, best[:SHOWN_CANDIDATES]))
        if len(best) > 1:
            return Missing("ambiguous", paths, len(best))
        if most == 1 and self.index.is_cut:
            return Missing("too-large", paths, len(best))
        root = max((root for _, root in self._named if _is_below(best[0], root)), key=len)
        return _File(paths[0], "tail" if most > 1 else "name", most, Path(root))


def user_frame(
    frames: Sequence[Frame], roots: SourceRoots | None = None, homes: Iterable[str] = ()
) -> int | None:
    """The index of the first frame of the user's own code; None where there is none.

    One that exists in the roots comes before all others, then the first with a file that belongs neither to
    the toolkit (`homes`: ASCEND_HOME_PATH and the like) nor to a runtime, then one without a file that may.
    """
    if not frames:
        return None
    homes = tuple(homes)
    if roots is not None:
        owned = roots.first_owned(frames, homes)
        if owned is not None:
            return owned
    for i, frame in enumerate(frames):
        if is_users(frame, homes):
            return i
    return next((i for i, frame in enumerate(frames) if may_be_users(frame)), None)


# ---- what has a place at all ----

_OF_NO_CODE = frozenset(
    (
        *("task failure", "collective time-out", "error code", "out of memory", "pool warning"),
        *("register not reset", "other"),
    )
)
_OF_LIBRARY = re.compile(r"\w+?_[0-9a-f]{32}(?:_\w{1,64})?")
"""Kernels of a package of operators are named by operator, a hash of their parameters and a tiling key."""
_OF_HOST = frozenset(("illegal free", "leak", "unused memory"))


def is_host_call(fault: Fault) -> bool:
    """True if msSanitizer reports a call of the host: of no kernel, core or program counter, though the log
    is of a style that names device or serial number. A report that lacks a line is not told to be one."""
    access = fault.access
    if fault.tool != "msSanitizer" or access.kernel or access.cores or access.pc is not None:
        return False
    if fault.kind in _OF_HOST:
        return True
    has_who = access.device is not None or access.serial_number is not None
    return has_who and not (fault.is_partial or fault.is_cut)


def can_have_place(fault: Fault) -> bool:
    """True if a build with debug data, or another tool, could give a fault a line that it lacks.

    False where the tool never tells one: a hit of the guard area or a register of msSanitizer, codes and
    time-outs, memory that ran out, a compiler that names no place.
    """
    if fault.kind in _OF_NO_CODE or not fault.accesses:
        return False
    if any(frame.has_file for access in fault.accesses for frame in access.frames):
        return True
    if fault.kind in ("python error", "buffer overflow at compile time"):
        return False
    return not _is_guard_record(fault)


def _is_guard_record(fault: Fault) -> bool:
    """'illegal write of size 8 byte(s)', 'Access to .. after the nearest allocation', 'in K on device 0'."""
    access = fault.access
    has_code = access.cores or access.pc is not None or access.serial_number is not None or access.frames
    return fault.tool == "msSanitizer" and fault.block is not None and not has_code and not fault.is_leak


def built_of(fault: Fault) -> Built:
    """What the place of a fault is in: it decides what would give a line."""
    if fault.tool not in ("msSanitizer", "CANN"):
        return "host"
    if fault.tool == "msSanitizer":
        return "runtime-call" if is_host_call(fault) else "kernel"
    name = fault.figures.get("kernel_name") or fault.access.kernel
    return "library-kernel" if isinstance(name, str) and _OF_LIBRARY.fullmatch(name[:400]) else "kernel"


def words_of(missing: Missing, lang: Lang, built: Built = "kernel") -> str:
    """Why there is no source line and what would give it. built: what the place is in (`built_of`): a kernel,
    one of the toolkit's own, a call of the host that msSanitizer watches, or host code under a sanitizer of
    the compiler."""
    what = say(TEXTS, missing.reason, lang, n=f"{missing.n_candidates:,}")
    return say(TEXTS, "join", lang, what=what, hint=say(TEXTS, _next_step(missing.reason, built), lang))


def _next_step(reason: Reason, built: Built) -> str:
    if reason in ("no-frame", "unknown-file", "no-line"):
        return f"flags-{built}"
    if reason == "line-zero":
        if built == "library-kernel":
            return "flags-library-kernel"
        return "line-zero-kernel" if built == "kernel" else "line-zero-host"
    if reason in ("not-found", "no-roots", "outside-roots"):
        return "name-root"
    if reason in ("ambiguous", "too-large"):
        return "narrower-root"
    return "same-version"


def parts_of(file: str) -> tuple[str, ...]:
    """The parts of a path as a log has it, "." and ".." resolved as text, shortenings ("...") dropped.

    Backslashes part names where a drive or the lack of any slash says that they do.
    """
    if _DRIVE.match(file):
        file = file[2:].replace("\\", "/")
    elif "\\" in file and "/" not in file:
        file = file.replace("\\", "/")
    parts: list[str] = []
    for part in file.split("/"):
        if part == "..":
            if parts:
                parts.pop()
        elif part in ("...", "\N{HORIZONTAL ELLIPSIS}"):
            parts.clear()
        elif part and part != ".":
            parts.append(part)
    return tuple(parts)


def is_cut(file: str) -> bool:
    """True if a path may lack its end: it has as many bytes as a cut one has."""
    whole = file.rstrip("\N{REPLACEMENT CHARACTER}")  # a cut inside of a character
    n_bytes = len(whole.encode("utf-8", "replace"))
    return n_bytes == CUT_AT or whole != file and CUT_AT - 3 <= n_bytes < CUT_AT


def short_paths(files: Iterable[str]) -> dict[str, str]:
    """Of every path its shortest tail of whole parts that no other of them ends in; else the path itself.

    As raw as they came: pass them through `safe_text` before they are shown.
    """
    parts = {file: parts_of(file) for file in files}
    short: dict[str, str] = {}
    open_ones = list(parts)
    n = 0
    while open_ones:
        n += 1
        by_tail: dict[tuple[str, ...], list[str]] = {}
        for file in open_ones:
            by_tail.setdefault(parts[file][-n:], []).append(file)
        open_ones = []
        for tail, same in by_tail.items():
            if len(same) == 1 and tail:
                short[same[0]] = "/".join(tail)
                continue
            for file in same:
                if len(parts[file]) <= n:
                    short[file] = file
                else:
                    open_ones.append(file)
    return short


def _is_in_home_below(found: _File, homes: tuple[str, ...]) -> bool:
    """True if a root holds a whole toolkit and the file is one of its files."""
    path, root = os.fspath(found.path), os.fspath(found.root)
    for home in map(os.path.realpath, filter(None, homes)):
        if home != root and _is_below(path, home) and _is_below(home, root):
            return True
    return False


def _n_common(parts: Sequence[str], path: str) -> int:
    """How many parts at the end of both agree."""
    n = 0
    for mine, theirs in zip(reversed(parts), reversed(path.strip("/").split("/")), strict=False):
        if mine != theirs:
            break
        n += 1
    return n


def _is_below(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")
