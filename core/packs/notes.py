"""What people wrote down of a run, as it travels in its pack: marks with notes, recordings of commands."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from npulse.core.errors import InputError
from npulse.core.files import read_input
from npulse.core.text import safe_text

from .opening import OpenedPack

NAME = "notes.json"
MAX_BYTES = 16 << 20
MAX_ENTRIES = 10_000
MAX_CHARACTERS = 4_000


@dataclass(frozen=True, slots=True)
class Notes:
    """marks: subject -> note, "" for none. recordings: name -> steps."""

    marks: Mapping[str, str] = field(default_factory=dict)
    recordings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def notes_text(notes: Notes) -> str:
    """As it stands in a pack."""
    body = {"marks": dict(notes.marks), "recordings": {k: list(v) for k, v in notes.recordings.items()}}
    return json.dumps(body, ensure_ascii=False, indent=1) + "\n"


def read_notes(pack: OpenedPack) -> Notes:
    """The notes of a pack; what is no text is left out. InputError where the file is not readable."""
    path = pack.folder / NAME
    raw = read_input(path, MAX_BYTES, "a file of notes")
    try:
        body = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise InputError("the notes of this pack cannot be read", path=path)
    marks, recordings = body.get("marks"), body.get("recordings")
    return Notes(
        {
            subject: note[:MAX_CHARACTERS]
            for subject, note in list(marks.items() if isinstance(marks, dict) else ())[:MAX_ENTRIES]
            if isinstance(note, str)
        },
        {
            safe_text(name, 100): tuple(
                step[:MAX_CHARACTERS] for step in steps[:MAX_ENTRIES] if isinstance(step, str)
            )
            for name, steps in list(recordings.items() if isinstance(recordings, dict) else ())[:MAX_ENTRIES]
            if isinstance(steps, list)
        },
    )
