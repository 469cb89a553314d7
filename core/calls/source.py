"""The user's own source line behind a call, as the recorded call stack tells it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from npulse.core.formats.msprobe.records import Frame, Stacks
from npulse.core.formats.msprobe.stacks import read_stacks, user_frame


def frames_of(stacks: Stacks | None, name: str) -> tuple[Frame, ...]:
    """Python call stack of an entry, innermost first; () where none is at hand."""
    return stacks.frames(name) if stacks is not None else ()


def source_line(frames: Iterable[Frame]) -> str:
    """'file:line code' of the user's frame, "" where it is not known."""
    frame = user_frame(frames)
    if frame is None or frame.line is None:
        return ""
    return f"{frame.file}:{frame.line} {frame.source}"


def stack_lines(stacks: Stacks | None, folder: Path, name: str) -> list[str]:
    """The call stack as lines, innermost first, the user's own frame marked; [] if none was recorded.

    Reads stack.json in `folder` where `stacks` is None.
    """
    path = folder / "stack.json"
    if stacks is None and os.path.lexists(path):
        stacks = read_stacks(path, root=folder, only=[name])
    frames = frames_of(stacks, name)
    mine = user_frame(frames)
    return [
        f"{'* ' if frame is mine else '  '}{frame.file}:{frame.line} in {frame.function}  {frame.source}"
        for frame in frames
    ]


def source_place(frames: Iterable[Frame], run: Path) -> tuple[Path, int | None] | None:
    """The user's source line where the file is at hand.

    The name comes out of a file that nobody vouches for: it counts inside the run, and as the absolute path
    of a Python file on this machine, nowhere else.
    """
    frame = user_frame(frames)
    if frame is None:
        return None
    path = Path(frame.file)
    if path.is_absolute():
        return (path, frame.line) if path.suffix == ".py" and os.path.isfile(path) else None
    inside = (run / path).resolve()
    if not inside.is_relative_to(run.resolve()) or not inside.is_file():
        return None
    return inside, frame.line
