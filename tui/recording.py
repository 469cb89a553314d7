"""Recordings: what was done in the workbench, as lines that can be done again.

A line is the id of an action, `type:` and a line that was typed (a filter, a note), or `round:` and the name
of the round that was shown when it began: a run opens on its newest one, the demo on its first. What reaches
out of the workbench (starts a capture or an editor, writes a file, opens another run) is never done again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from npulse.core.errors import InputError, UsageError
from npulse.core.files import read_input
from npulse.core.text import safe_text

from .actions import BY_ID

TYPED, ROUND = "type:", "round:"
MAX_BYTES = 4 << 20
MAX_STEPS = 10_000
UNLOGGED_SCOPES = frozenset(("entry", "pick", "ask"))
UNLOGGED = frozenset(("app.palette", "app.runs", "app.capture", "app.recording", "pane.note", "help.codes"))
"""What asks for typed text: a note is logged once it is taken, the rest of them does its work by itself."""
_REACHING_OUT = frozenset(
    ("pane.export", "pairing.keep", "pane.edit", "pane.copy", "memory.roots", "app.cancel")
)
_OF_THIS_MACHINE = frozenset(("device.now", "device.poll", "rounds.baseline"))
"""They start npu-smi, and change with what later commands compare."""


def is_replayable(step: str) -> bool:
    """Whether a step of a recording is done again; what is not known is not."""
    if step.startswith((TYPED, ROUND)):
        return True
    action = BY_ID.get(step)
    if action is None or action.scope in (*UNLOGGED_SCOPES, "capture"):
        return False
    return step not in _REACHING_OUT | _OF_THIS_MACHINE and (step not in UNLOGGED or step == "pane.note")


def read_recording(path: Path) -> tuple[str, ...]:
    """The steps in a file, a line each; # begins a remark. InputError: no text, or too much of it."""
    raw = read_input(path, MAX_BYTES, "a recording")
    try:
        lines = raw.decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise InputError("a recording is UTF-8 text, a step a line", path=path, byte=error.start) from error
    steps = tuple(line.rstrip("\r") for line in lines if line.strip() and not line.startswith("#"))
    if len(steps) > MAX_STEPS:
        raise InputError(f"a recording of more than {MAX_STEPS:,} steps is not read", path=path)
    for number, line in enumerate(lines, 1):
        word = line.rstrip("\r")
        if word.strip() and not word.startswith(("#", TYPED, ROUND)) and word not in BY_ID:
            shown = safe_text(word, 60)
            raise InputError(f"'{shown}' is no action", path=path, line=number, hint="npulse keys lists them")
    return steps


def recording_of(told: str, kept: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The recording that is meant: one that is kept for the run by its name, else a file. UsageError where
    there is none."""
    if told in kept:
        return tuple(kept[told])
    path = Path(told)
    if path.exists():
        return read_recording(path)
    known = f"kept for this run: {', '.join(kept)}" if kept else "none is kept for this run"
    raise UsageError(f"no recording and no file '{told}'", hint=known)


def typed(text: str) -> str:
    """The step that types a line."""
    return TYPED + safe_text(text)


def start(area: str, round_name: str) -> tuple[str, ...]:
    """The steps that bring a run to where a recording began: its pane, and its round where it has one."""
    return (f"pane.{area}", *([ROUND + safe_text(round_name)] if round_name else ()))


def shown_steps(steps: Iterable[str], most: int = 5) -> str:
    """The first of some steps, for a notice."""
    names = list(steps)
    more = f" ... ({len(names)})" if len(names) > most else ""
    return ", ".join(names[:most]) + more
