"""Figures of raw sessions that are written: out of exported copies (`export_copy`), read like any profile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from npulse.core.errors import InputError
from npulse.core.findings import Problem
from npulse.core.formats.profiling.session import Session
from npulse.core.progress import IsCancelled, never_cancelled
from npulse.core.run.discover import discover

from .export_copy import CopyExports, Export
from .following import Kept
from .loading import load_tables, with_timelines
from .profile import Profile
from .sources import profiles_in


def copies_of(
    sessions: Sequence[Session],
    kept: Kept,
    root: Path,
    room: Path | None,
    problems: list[Problem],
    *,
    is_cancelled: IsCancelled = never_cancelled,
) -> dict[Path, tuple[Profile, ...]]:
    """Session folder -> what its last exported copy tells. room: for copies, None where none are made.

    An export that is due begins, and goes on while others look. Raises Cancelled.
    """
    if room is None:
        return {}
    if kept.exports is None:
        kept.exports = CopyExports(room)
    for session in sessions:
        for one in _written(session):
            export = kept.exports.step(one.folder, one.n_closed, root)
            if export.copy is None:
                continue
            try:
                kept.copies[one.folder] = _read(export.copy, one, root, problems, is_cancelled)
            except InputError as error:
                export.state, export.message = "failed", error.message
            kept.exports.was_read(one.folder)
    folders = [one.folder for session in sessions for one in (session, *session.sessions)]
    return {folder: kept.copies[folder] for folder in folders if kept.copies.get(folder)}


def export_of(session: Session, kept: Kept) -> Export | None:
    """How the export of a session stands, of the first PROF folder in it; None where none was begun."""
    found = (kept.exports.of.get(one.folder) for one in _written(session) if kept.exports is not None)
    return next((one for one in found if one is not None and one.state != "waiting"), None)


def _written(session: Session) -> list[Session]:
    """The PROF folders of a session that still collect: what has ended is for its user to export."""
    inner = [session] if session.kind == "msprof" else list(session.sessions)
    return [one for one in inner if one.state == "collecting"]


def _read(
    copy: Path, session: Session, root: Path, problems: list[Problem], is_cancelled: IsCancelled
) -> tuple[Profile, ...]:
    """The profiles in an exported copy, called like the session."""
    try:
        name = session.folder.relative_to(root).as_posix()
    except ValueError:
        name = session.folder.name
    own: list[Problem] = []
    found: list[Profile] = []
    for files in profiles_in(discover(copy, is_cancelled=is_cancelled).artifacts):
        if files.is_measured:
            made = load_tables(files, copy, own, is_cancelled=is_cancelled)
            found += with_timelines(files, made, copy, own, is_cancelled=is_cancelled)
    problems += (replace(one, artifact=f"{name} (copy): {one.artifact}") for one in own)
    return tuple(
        replace(one, name=name if len(found) == 1 else f"{name} {one.name}", rank=session.rank)
        for one in found
    )
