"""What profilers left in a round: sessions by the readers of the performance area, told as they are.

A session that nobody exported is raw, whatever the exit status said: it is named with what is missing and the
command that exports it.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from npulse.core.errors import InputError
from npulse.core.files import open_input
from npulse.core.findings import Figures
from npulse.core.formats.profiling.session import Session, read_session
from npulse.core.formats.profiling.steps import read_step_times
from npulse.core.run.discover import discover
from npulse.core.run.model import Artifact
from npulse.core.text import safe_text

from ..base import count_files
from ..driver import Ended, Recorded, Words
from .parts import words
from .texts_performance import SESSIONS as TEXTS

MAX_SESSIONS = 256
MAX_TABLE_BYTES = 1 << 28
_SESSION_KINDS = ("prof.framework", "prof.session")
_OPERATORS = ("prof.op_summary", "prof.kernel_details")
_WINDOW_BYTES = 1 << 20
_NUMBER = re.compile(r"\d{1,9}", re.ASCII)


@dataclass(frozen=True, slots=True)
class SessionsLook:
    """What was found of sessions below a folder.

    sessions: the outermost folders (a framework's holds its PROF_* itself). found: kinds of artifact -> how
    many. n_rows: of operator tables, None where there is none. steps: those that the frameworks' tables of
    steps name. unread: sessions that can't be read.
    """

    root: Path
    sessions: tuple[Session, ...] = ()
    found: Mapping[str, int] = field(default_factory=dict)
    n_rows: int | None = None
    steps: tuple[int, ...] = ()
    unread: tuple[str, ...] = ()

    @property
    def raw(self) -> tuple[Session, ...]:
        """Sessions without a finished export."""
        return tuple(one for one in self.sessions if one.state != "exported")

    @property
    def n_open_slices(self) -> int:
        """Raw slices that were never closed: up to 2 MB of each may be lost."""
        return sum(one.n_slices - one.n_closed for one in self.sessions)

    @property
    def ranks(self) -> tuple[int, ...]:
        """Ranks of the sessions; devices where a session names no rank."""
        found: set[int] = set()
        for one in self.sessions:
            found |= {one.rank} if one.rank is not None else set(one.devices)
        return tuple(sorted(found))


def look_at_sessions(folder: Path) -> SessionsLook:
    """All sessions below a folder, by discovery and one look into each. Opens no raw record."""
    if not folder.is_dir():
        return SessionsLook(folder)
    try:
        artifacts = discover(folder).artifacts
    except InputError:
        return SessionsLook(folder, unread=(folder.name,))
    folders = [one.path for one in artifacts if one.kind in _SESSION_KINDS]
    outer = [path for path in folders if not any(other in path.parents for other in folders)]
    sessions, unread = [], []
    for path in outer[:MAX_SESSIONS]:
        try:
            sessions.append(read_session(path, root=folder))
        except InputError:
            unread.append(safe_text(path.name, 200))
    tables = [one for one in artifacts if one.kind in _OPERATORS]
    return SessionsLook(
        root=folder,
        sessions=tuple(sessions),
        found=dict(sorted(Counter(one.kind for one in artifacts).items())),
        n_rows=_rows(tables) if tables else None,
        steps=_steps([one for one in artifacts if one.kind == "prof.step_trace_time"]),
        unread=tuple(unread),
    )


def figures_of(look: SessionsLook) -> Figures:
    """For the manifest."""
    return {
        "n_sessions": len(look.sessions),
        "n_exported": len(look.sessions) - len(look.raw),
        "n_slices": sum(one.n_slices for one in look.sessions),
        "n_open_slices": look.n_open_slices,
        "n_operator_rows": look.n_rows,
        "raw_bytes": sum(one.size_bytes for one in look.sessions),
    }


def recorded_of(
    look: SessionsLook,
    ended: Ended,
    *,
    nothing: Words,
    nothing_step: Words,
    warnings: Sequence[Words] = (),
) -> Recorded:
    """The outcome by what lies there. nothing, nothing_step: the tool's own cause where no session does."""
    n_files, size_bytes = count_files(look.root)
    told = list(warnings)
    if look.n_open_slices:
        told.append(words(TEXTS, "open-slices", n=look.n_open_slices))
    if look.unread:
        told.append(words(TEXTS, "unread", names=", ".join(look.unread[:5])))
    if not look.sessions:
        return Recorded(
            "nothing",
            n_files,
            size_bytes,
            found=look.found,
            why=nothing,
            next_step=nothing_step,
            warnings=tuple(told),
        )
    outcome = "recorded"
    why, step = ("", ""), ("", "")
    if look.raw:
        outcome = "incomplete"
        why, step = raw_words(look.raw, look.root)
    elif look.n_rows == 0:
        outcome = "nothing"
        why, step = words(TEXTS, "no-rows"), words(TEXTS, "no-rows-step")
    elif ended.is_killed:
        outcome = "incomplete"
        why, step = words(TEXTS, "killed"), words(TEXTS, "killed-step")
    return Recorded(
        "recorded" if outcome == "recorded" else "nothing" if outcome == "nothing" else "incomplete",
        n_files,
        size_bytes,
        ranks=look.ranks,
        steps=look.steps,
        n_operators=look.n_rows,
        found=look.found,
        why=why,
        next_step=step,
        warnings=tuple(told),
    )


def raw_words(raw: Sequence[Session], root: Path) -> tuple[Words, Words]:
    """(what is said of sessions that nobody exported, the command that exports the first one)."""
    first = raw[0]
    try:
        folder = first.folder.relative_to(root).as_posix()
    except ValueError:
        folder = first.folder.name
    who = ", ".join(
        (
            *(() if first.rank is None else (f"rank {first.rank}",)),
            *(f"device {device}" for device in first.devices),
        )
    )
    missing = ", ".join(first.missing) or "-"
    key = "raw" if first.state in ("collecting", "collected") else "half-exported"
    why = words(
        TEXTS,
        key,
        folder=safe_text(folder, 300),
        who=f" ({who})" if who else "",
        n=len(raw),
        missing=missing,
        files=f"{first.n_files:,}",
    )
    return why, words(TEXTS, "export", command=safe_text(_export_command(first), 1000))


def _export_command(session: Session) -> str:
    """Export of a copy: the raw data of a closed round is read-only, and stays as it was recorded."""
    folder, copy = str(session.folder), f"COPY/{session.folder.name}"
    argv = [word.replace(folder, copy) for word in session.export_argv]
    return f"mkdir COPY && cp -r --no-preserve=mode {shlex.quote(folder)} COPY/ && {shlex.join(argv)}"


def _steps(tables: Sequence[Artifact]) -> tuple[int, ...]:
    """Steps that have a row of times; none where a script counts none."""
    found: set[int] = set()
    for table in tables:
        try:
            records = read_step_times(table.path).records
        except InputError:
            continue
        found |= {int(one.step) for one in records if _NUMBER.fullmatch(one.step)}
    return tuple(sorted(found))


def _rows(tables: Sequence[Artifact]) -> int:
    """Rows of operator tables, counted by their line ends. A call stack is in neither of them."""
    n_rows = 0
    for table in tables:
        try:
            file, _ = open_input(table.path)
        except InputError:
            continue
        with file:
            n_lines, n_read, last = 0, 0, b"\n"
            while n_read < MAX_TABLE_BYTES and (window := file.read(_WINDOW_BYTES)):
                n_lines += window.count(b"\n")
                n_read += len(window)
                last = window[-1:]
            n_lines += last != b"\n"
        n_rows += max(0, n_lines - 1)
    return n_rows
