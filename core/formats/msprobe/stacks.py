"""stack.json: the Python call stack of each forward entry, innermost frame first."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ...files import shown_path
from ...findings import Problem
from ...progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from ..json_stream import MAX_FILE_BYTES, WINDOW_BYTES, json_members
from ..json_window import Notes
from .columns import clean_text
from .records import Frame, Stacks

_LINE_NUMBER = re.compile(r"(\d{1,9}), in ")
_LIBRARY = re.compile(
    r"(?:^|/)(?:site-packages|dist-packages|torch|torch_npu|msprobe|mindspore|mindtorch)/"
    r"|(?:^|/)lib(?:64)?/python\d[\d.]*/"
    r"|(?:^|/)npulse_launcher\.py$"
    r"|^<"
)


def read_stacks(
    path: Path,
    *,
    root: Path | None = None,
    only: Iterable[str] | None = None,
    max_bytes: int = MAX_FILE_BYTES,
    window_bytes: int = WINDOW_BYTES,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> Stacks:
    """The stacks of a rank-step, of both layouts: entry -> frames (1.x), groups of entries (8.x and later).

    only: names that are wanted; reading ends when all of them (or the forward entries that stand for
    backward ones) are found.

    Equal frames and equal stacks are kept once. Problems (with byte) for what cannot be read; the rest is
    kept. Raises InputError (not usable at all) and Cancelled. Cost: linear in the file.
    """
    problems: list[Problem] = []
    notes = Notes(shown_path(path, root), problems)
    pool = _Pool()
    wanted = None if only is None else {forward_of(name) for name in only}
    members = json_members(
        path,
        problems,
        root=root,
        max_bytes=max_bytes,
        window_bytes=window_bytes,
        progress=progress,
        is_cancelled=is_cancelled,
    )
    for byte, _, key, value in members:
        entries, frames = _entries_and_frames(key, value)
        if entries is None or not all(isinstance(text, str) for text in frames):
            notes.add("bad-record", f"{key[:200]!r} holds no call stack", byte)
            continue
        pool.add(entries, frames)
        if wanted is not None:
            wanted.difference_update(entries)
            if not wanted:
                break
    notes.close()
    return Stacks(tuple(pool.groups), pool.of_entry, tuple(problems))


def user_frame(frames: Iterable[Frame]) -> Frame | None:
    """The innermost frame of the user's own code; None where there is none.

    Not the user's are files below site-packages or dist-packages, below a folder torch, torch_npu, msprobe,
    mindspore or mindtorch (a source checkout), below lib/pythonX.Y, our own npulse_launcher.py, and frames
    without a file ("<string>").
    """
    return next((frame for frame in frames if not _LIBRARY.search(frame.file.replace("\\", "/"))), None)


def parse_frame(text: str) -> Frame:
    """A frame from "File {path}, line {n}, in {function}, \\n {source}"; of other texts, all is the file.

    Split at the last ", line ", so that a path may hold commas and blanks.
    """
    head, _, source = clean_text(text).partition("\n")
    file, found, rest = head.removeprefix("File ").rpartition(", line ")
    match = _LINE_NUMBER.match(rest) if found else None
    if match is None:
        return Frame(head.strip(), None, "", source.strip())
    function = rest[match.end() :].rstrip().removesuffix(",")
    return Frame(file, int(match[1]), function, source.strip())


def forward_of(entry: str) -> str:
    """The forward entry of the same call: backward ones have no stack of their own."""
    return "forward".join(entry.rsplit("backward", 1)) if "backward" in entry else entry


class _Pool:
    """Frames and stacks, each kept once: a model of many layers repeats them by the thousand."""

    def __init__(self) -> None:
        self.groups: list[tuple[Frame, ...]] = []
        self.of_entry: dict[str, int] = {}
        self._frames: dict[str, Frame] = {}
        self._group_of: dict[tuple[int, ...], int] = {}

    def add(self, entries: Iterable[str], texts: Iterable[str]) -> None:
        frames = tuple([self._frames.get(text) or self._new(text) for text in texts])
        group = self._group_of.setdefault(tuple(map(id, frames)), len(self.groups))
        if group == len(self.groups):
            self.groups.append(frames)
        for entry in entries:
            self.of_entry[clean_text(entry)] = group

    def _new(self, text: str) -> Frame:
        return self._frames.setdefault(text, parse_frame(text))


def _entries_and_frames(key: str, value: Any) -> tuple[list[str] | None, list[Any]]:
    if not isinstance(value, list):
        return None, []
    if value and isinstance(value[0], list):
        if len(value) != 2 or not isinstance(value[1], list) or not all(isinstance(e, str) for e in value[0]):
            return None, []
        return value[0], value[1]
    return [key], value
