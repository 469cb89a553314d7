"""Call stacks as msMemScope writes them into its table, as frames: "train.py(33): step" of Python, and
"/lib/libx.so(run+0x1a) [0x7f00]" of C, where libc knows no source file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..faults import Frame

MAX_FRAMES = 64
MAX_STACKS = 4096

_PYTHON = re.compile(r"(?P<file>.+)\((?P<line>\d{1,9})\):\s*(?P<function>.*)")
_C = re.compile(
    r"(?P<module>[^()\s][^()]*)\((?P<function>[^()+]*)(?:\+0x(?P<offset>[0-9a-fA-F]{1,16}))?\)"
    r"(?:\s*\[0x[0-9a-fA-F]{1,16}\])?"
)
_ADDRESS = re.compile(r"\[?0x[0-9a-fA-F]{1,16}\]?")


def frames_of(python_stack: str, c_stack: str) -> tuple[Frame, ...]:
    """The frames of both cells, those of Python first: they have lines. Each cell's innermost is first."""
    return tuple((*_frames(python_stack), *_frames(c_stack)))[:MAX_FRAMES]


def _frames(cell: str) -> Iterator[Frame]:
    for text in cell.splitlines():
        frame = frame_of(text.strip())
        if frame is not None:
            yield frame


def frame_of(text: str) -> Frame | None:
    """One line of a stack; what has another form is told as a function. None of an address alone."""
    found = _PYTHON.fullmatch(text)
    if found is not None:
        return Frame(found["file"], int(found["line"]), function=found["function"])
    found = _C.fullmatch(text)
    if found is not None:
        function = found["function"]
        # behind a function the offset counts from its begin, without one from that of the object
        offset = int(found["offset"], 16) if found["offset"] and not function else None
        return Frame(function=function, module=found["module"], offset=offset)
    if not text or text in ("NA", "N/A") or _ADDRESS.fullmatch(text):
        return None
    return Frame(function=text)


class KnownStacks:
    """Stacks by their texts: equal ones are one object. At most 4,096 are kept."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[Frame, ...]] = {}

    def __call__(self, stacks: tuple[str, str]) -> tuple[Frame, ...]:
        if not any(stacks):
            return ()
        found = self._known.get(stacks)
        if found is None:
            found = frames_of(*stacks)
            if len(self._known) < MAX_STACKS:
                self._known[stacks] = found
        return found
