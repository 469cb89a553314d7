"""Lines of a text file, block by block: numbered, bounded, and in whichever encoding the file came.

UTF-8 with or without byte order mark, UTF-16, and GBK wherever a line is no UTF-8; LF and CRLF line ends.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from pathlib import Path

from npulse.core.dataclass import dataclass

from ..files import open_input
from ..findings import Problem
from ..progress import IsCancelled, Progress, ProgressCallback, check, ignore_progress, never_cancelled
from .encodings import MARK_BYTES, line_text, utf16_decoder, without_mark

BLOCK_BYTES = 1 << 20
MAX_LINE_CHARS = 1 << 16

_MAX_LINE_BYTES = 4 * MAX_LINE_CHARS + 4
_SHOWN_PROBLEMS = 20


@dataclass(frozen=True, slots=True)
class Block:
    """Neighbouring lines without their ends; `first` is the number of the first one, counted from 1.

    is_unfinished: the file ends inside this one line; whether the rest of it is missing cannot be told.
    """

    first: int
    lines: list[str]
    is_unfinished: bool = False


class LineNotes:
    """Problems of one text file, with their lines. Only the first ones are kept, the others are counted."""

    def __init__(self, artifact: str) -> None:
        self.artifact = artifact
        self._problems: list[Problem] = []
        self._n = 0

    def add(self, kind: str, message: str, line: int | None, *, is_last: bool = False) -> None:
        """Note one; `is_last`: the last word on the file, kept however many there were before."""
        self._n += 1
        if is_last or self._n <= _SHOWN_PROBLEMS:
            self._problems.append(Problem(self.artifact, kind, message, line=line))

    def close(self) -> tuple[Problem, ...]:
        """All that were kept, and how many were not."""
        n_more = self._n - len(self._problems)
        if n_more > 0:
            more = Problem(self.artifact, "limit", f"{n_more:,} more problems in this file")
            return (*self._problems, more)
        return tuple(self._problems)


class LineFeed:
    """The lines of a text that grows, as its bytes come: each once it has its end.

    Limits and encodings are those of `line_blocks`. The encoding is known once the first 64 bytes are there;
    up to then nothing is given.
    """

    def __init__(self, notes: LineNotes, *, max_bytes: int) -> None:
        self._notes = notes
        self._max_bytes = max_bytes
        self._head: bytes | None = b""
        self._decoder: codecs.IncrementalDecoder | None = None
        self._rest = b""
        self._first = 1
        self._n_bytes = 0
        self._is_full = False

    @property
    def has_rest(self) -> bool:
        """Whether there is a line without an end, or a text too short to know its encoding."""
        return bool(self._rest or self._head)

    def feed(self, raw: bytes) -> Iterator[Block]:
        """The lines that end in these bytes. The iterator has to be used up."""
        if self._is_full:
            return
        if self._n_bytes + len(raw) > self._max_bytes:
            raw = raw[: self._max_bytes - self._n_bytes]
            self._is_full = True
            self._notes.add(
                "limit", f"only the first {self._max_bytes:,} bytes were read", None, is_last=True
            )
        self._n_bytes += len(raw)
        if self._head is not None:
            self._head += raw
            if len(self._head) >= MARK_BYTES:
                yield from self._begin()
            return
        yield from self._take(raw)

    def finish(self) -> Iterator[Block]:
        """The text ends here: what has no end is given, unfinished."""
        if self._head is not None:
            yield from self._begin()
        if self._rest:
            rest, self._rest = self._rest, b""
            yield Block(self._first, _decoded(rest, self._first, self._notes), is_unfinished=True)

    def _begin(self) -> Iterator[Block]:
        raw, encoding = without_mark(self._head or b"")
        self._head, self._decoder = None, utf16_decoder(encoding)
        yield from self._take(raw)

    def _take(self, raw: bytes) -> Iterator[Block]:
        if self._decoder is not None:
            raw = self._decoder.decode(raw).encode("utf-8", "replace")
        whole, line_end, rest = (self._rest + raw).rpartition(b"\n")
        self._rest = rest[:_MAX_LINE_BYTES]
        if line_end:
            lines = _decoded(whole, self._first, self._notes)
            yield Block(self._first, lines)
            self._first += len(lines)


def line_blocks(
    path: Path,
    notes: LineNotes,
    *,
    root: Path | None = None,
    max_bytes: int,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> Iterator[Block]:
    """The lines of a file in blocks of about 1 MB; one behind the last line end comes alone, unfinished.

    A line of more than 65,536 characters comes as "" and is noted (too-large), as is what neither encoding
    can read (encoding; shown as '?'), what lies behind `max_bytes` (limit) and a failing disk (unreadable).
    Raises InputError (no such file, no regular file, a link out of `root`) at the first block, Cancelled.
    """
    file, size_bytes = open_input(path, root)
    with file:
        first = 1
        rest = b""
        n_read = 0
        for raw in _as_utf8(file, max_bytes, notes):
            check(is_cancelled)
            n_read += len(raw)
            progress(Progress("read", min(n_read, size_bytes), size_bytes, "bytes"))
            whole, line_end, rest = (rest + raw).rpartition(b"\n")
            # too long already: what is cut away would not be used, and kept it would grow without bound
            rest = rest[:_MAX_LINE_BYTES]
            if line_end:
                lines = _decoded(whole, first, notes)
                yield Block(first, lines)
                first += len(lines)
        if rest:
            yield Block(first, _decoded(rest, first, notes), is_unfinished=True)


def _as_utf8(file: io.FileIO, max_bytes: int, notes: LineNotes) -> Iterator[bytes]:
    """The bytes of a file; of one in UTF-16 those that it would have in UTF-8. No byte order mark."""
    decoder: codecs.IncrementalDecoder | None = None
    n_read = 0
    while True:
        try:
            raw = file.read(min(BLOCK_BYTES, max_bytes + 1 - n_read)) or b""
        except OSError as error:
            notes.add("unreadable", f"reading failed: {error.strerror}", None, is_last=True)
            return
        if n_read == 0:
            raw, encoding = without_mark(raw)
            decoder = utf16_decoder(encoding)
        n_read += len(raw)
        if not raw:
            return
        if n_read > max_bytes:
            notes.add("limit", f"only the first {max_bytes:,} bytes were read", None, is_last=True)
            raw = raw[: max_bytes - n_read]
        yield raw if decoder is None else decoder.decode(raw).encode("utf-8", "replace")
        if n_read > max_bytes:
            return


def _decoded(raw: bytes, first: int, notes: LineNotes) -> list[str]:
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        lines = [_decoded_line(line, first + i, notes) for i, line in enumerate(raw.split(b"\n"))]
    else:
        if "\r" in text:
            text = text.replace("\r\n", "\n").removesuffix("\r")
        lines = text.split("\n")
    if max(map(len, lines)) > MAX_LINE_CHARS:
        for i, line in enumerate(lines):
            if len(line) > MAX_LINE_CHARS:
                lines[i] = ""
                message = f"the line has more than {MAX_LINE_CHARS:,} characters and was left out"
                notes.add("too-large", message, first + i)
    return lines


def _decoded_line(raw: bytes, line: int, notes: LineNotes) -> str:
    """One line of a text that is not UTF-8 throughout."""
    raw = raw.removesuffix(b"\r")
    text, encoding = line_text(raw, is_among_gbk=True)
    if not encoding and len(raw) < _MAX_LINE_BYTES:  # else it is told as too long
        notes.add("encoding", "the line is neither UTF-8 nor GBK; bytes of it are shown as '?'", line)
    return text
