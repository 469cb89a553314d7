"""What the performance area finds again when it looks at a followed run once more (`AnalysisOptions.tails`).

Files that grow are read on; what did not change is neither read nor analysed again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from npulse.core.dataclass import dataclass
from npulse.core.findings import Problem
from npulse.core.formats.profiling.follow import Followed, is_kept
from npulse.core.formats.profiling.msmonitor_log import FILE_NAME, MonitorLog
from npulse.core.formats.profiling.operator_files import OperatorFiles
from npulse.core.formats.profiling.operators import OperatorTable
from npulse.core.formats.profiling.timeline import Timeline
from npulse.core.tails import Tails

from .export_copy import CopyExports
from .operators.gone import Gone, folded
from .operators.top import Top
from .profile import Profile
from .since import Since, since

_KEY = "performance"
Signature = tuple[int, ...] | None


@dataclass(slots=True)
class _Once:
    """What a reader gave for an artifact. signature: of its file then."""

    signature: tuple[Signature, ...]
    found: Any
    problems: tuple[Problem, ...]
    encoding: str


@dataclass(slots=True)
class Kept:
    """All of it, of one followed run.

    files: of each profile the files that are read on, also those that are gone; followed: how far they are;
    exported: the export that they are of; gone: rows that are kept no longer, by device. tables: of each
    profile the last table by type, and what came with it. exports: of raw sessions' copies; copies: what the
    last one told of each.
    """

    files: dict[Any, tuple[Path, ...]] = field(default_factory=dict)
    followed: dict[str, Followed] = field(default_factory=dict)
    exported: dict[str, str] = field(default_factory=dict)
    made: dict[Any, tuple[Any, Any]] = field(default_factory=dict)
    n_looks: int = 0
    exports: CopyExports | None = None
    copies: dict[Path, tuple[Profile, ...]] = field(default_factory=dict)
    gone: dict[str, dict[int, Gone]] = field(default_factory=dict)
    tables: dict[tuple[str, int | None], tuple[Top, Since | None]] = field(default_factory=dict)
    _once: dict[tuple[Path, str], _Once] = field(default_factory=dict)

    def once(
        self, path: Path, name: str, read: Callable[[], tuple[Any, tuple[Problem, ...], str]]
    ) -> tuple[Any, tuple[Problem, ...], str]:
        """What a reader gives for a file: again only where the file changed, and what it gave last where the
        file is gone. read: record, problems, encoding."""
        signature = (signature_of(path), signature_of(path.with_name(f"{path.name}-wal")))
        kept = self._once.get((path, name))
        if kept is not None and (signature[0] is None or kept.signature == signature):
            return kept.found, kept.problems, kept.encoding
        found, problems, encoding = read()
        self._once[path, name] = _Once(signature, found, problems, encoding)
        return found, problems, encoding

    def followed_of(self, names: Iterable[str]) -> Followed:
        """How far the files of some profiles are, together."""
        return sum((self.followed.get(name, Followed()) for name in names), Followed())

    def let_go(self, name: str, rows: OperatorTable) -> None:
        """Keep of rows of a profile nothing but their sums."""
        sums = self.gone.setdefault(name, {})
        for device, one in folded(rows).items():
            sums[device] = sums[device] + one if device in sums else one

    def since(self, name: str, step: int | None, now: Top) -> Since | None:
        """What came to a profile (or a step of it) with the last look that found something; None at first."""
        before, told = self.tables.get((name, step), (None, None))
        if before is not None and now is not before and (new := since(before, now)) != Since():
            told = new
        self.tables[name, step] = now, told
        return told

    def again(self, key: Any, of: Sequence[Any], make: Callable[[], Any]) -> Any:
        """What was made of the same things at the last look, else what is made now."""
        kept = self.made.get(key)
        if kept is None or not _are_same(kept[0], of):
            kept = self.made[key] = (tuple(of), make())
        return kept[1]


class The:
    """An object that is the same only as itself: what holds arrays is not compared."""

    __slots__ = ("_it",)

    def __init__(self, it: object) -> None:
        self._it = it

    def __eq__(self, other: object) -> bool:
        return isinstance(other, The) and self._it is other._it

    __hash__ = None  # type: ignore[assignment]


def _are_same(before: Sequence[Any], now: Sequence[Any]) -> bool:
    """Whether these are the same: tables and timelines as objects, others by value."""
    return len(before) == len(now) and all(map(_is_same, before, now))


def _is_same(before: Any, now: Any) -> bool:
    if before is now:
        return True
    if isinstance(before, Profile) and isinstance(now, Profile):
        if before.operators is not now.operators or before.timeline is not now.timeline:
            return False
        before = replace(before, operators=None, timeline=None)
        now = replace(now, operators=None, timeline=None)
    elif isinstance(before, (OperatorTable, Timeline, MonitorLog)):
        return False
    return bool(before == now)


def kept_in(tails: Tails) -> Kept:
    """What is kept of this area."""
    kept: Kept = tails.kept.setdefault(_KEY, Kept())
    return kept


def signature_of(path: Path) -> Signature:
    """What changes when a file does; None where it is gone."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def monitor_paths(kept: Kept, tails: Tails, paths: Sequence[Path]) -> tuple[Path, ...]:
    """The files of one process of msMonitor, those that are gone with them."""
    first = paths[0]
    match = FILE_NAME.fullmatch(first.name)
    key = ("msmonitor", first.parent, (match[1], match[3]) if match else first.name)
    return _with_gone(
        kept, key, [one for one in paths if one.exists() or is_kept(one, tails, "msmonitor")], tails
    )


def operator_paths(kept: Kept, tails: Tails, chosen: OperatorFiles, name: str) -> tuple[Path, ...]:
    """The files of one export, those that are gone with them. Of other exports nothing is kept any more."""
    key = ("operators", name)
    if kept.exported.setdefault(name, chosen.exported) != chosen.exported:
        for path in kept.files.pop(key, ()):
            if path not in chosen.files:
                tails.let_go(path, "operators")
        kept.gone.pop(name, None)
        kept.exported[name] = chosen.exported
    files = [path for path in chosen.files if path.exists() or is_kept(path, tails, "operators")]
    for path in kept.files.get(key, ()):
        if path not in files and path.exists():  # still there, of another set
            tails.let_go(path, "operators")
    return _with_gone(kept, key, files or chosen.files, tails)


def _with_gone(kept: Kept, key: Any, paths: Iterable[Path], tails: Tails) -> tuple[Path, ...]:
    """These files, and those of earlier looks that are gone and of which something is kept."""
    now = tuple(paths)
    gone = tuple(path for path in kept.files.get(key, ()) if path not in now and is_kept(path, tails, key[0]))
    kept.files[key] = (*gone, *now)
    return kept.files[key]
