"""Which parts of a log are nothing but lines of msSanitizer's reports: other tools' readers pass over them.

A race prints a hundred thousand records. To find the lines between them that are none is much less work than
to look for the words of every other tool in all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

MARK = b"======"
WORDS = (b"rror", b"Traceback", b"xception", b"out of memory", b"requires", b"Mb(s)", b"\r")
"""Nearly all other records hold one of these. Program text can stand behind the mark, where a pipe was cut in
the middle of a line, so a line with one of them is looked at by all readers."""
MAX_FOREIGN_LINES = 4096
"""In a chunk with more of them nothing is gained."""
_MAX_OPEN_BYTES = 4096

_FOREIGN = re.compile(rb"\n(?!======|\n)")
_OURS = (MARK, b"\n")


class ReportLines:
    """Cuts chunks into pieces: (bytes, whether another tool's lines may be in them)."""

    def __init__(self) -> None:
        self._open_line = b""  # the line that has not ended, as far as it is there

    def split(self, chunk: bytes) -> list[tuple[bytes, bool]]:
        """The pieces of a chunk; together they are the chunk. Those without other lines end in a line end."""
        first_end = chunk.find(b"\n") + 1
        if not first_end:
            self._open_line = (self._open_line + chunk)[: _MAX_OPEN_BYTES + 1]
            return [(chunk, True)] if chunk else []
        first = self._open_line + chunk[:first_end]
        last_begin = chunk.rfind(b"\n") + 1
        self._open_line = chunk[last_begin : last_begin + _MAX_OPEN_BYTES + 1]
        begins = set(_with_words(chunk, first_end))
        for found in _FOREIGN.finditer(chunk, first_end - 1):
            begins.add(found.end())
            if len(begins) > MAX_FOREIGN_LINES:
                return [(chunk, True)]
        is_ours = first.startswith(_OURS) and len(first) <= _MAX_OPEN_BYTES
        if not is_ours or any(word in first for word in WORDS):
            begins.add(0)
        begins.add(last_begin)  # nobody knows yet what it becomes
        return list(_pieces(chunk, sorted(begins)))


def _with_words(chunk: bytes, start: int) -> Iterator[int]:
    """Where the lines begin that hold one of the words, from `start` on."""
    for word in WORDS:
        at = chunk.find(word, start)
        while at >= 0:
            yield chunk.rfind(b"\n", 0, at) + 1
            end = chunk.find(b"\n", at)
            at = chunk.find(word, end) if end >= 0 else -1


def _pieces(chunk: bytes, begins: list[int]) -> Iterator[tuple[bytes, bool]]:
    """Runs of foreign lines, and what lies between them."""
    at = place = 0
    while place < len(begins):
        begin = begins[place]
        if begin > at:
            yield chunk[at:begin], False
        end = begin
        while place < len(begins) and begins[place] == end:
            line_end = chunk.find(b"\n", end) + 1
            end = line_end or len(chunk)
            place += 1
        if end > begin:
            yield chunk[begin:end], True
        at = end
    if at < len(chunk):
        yield chunk[at:], False
