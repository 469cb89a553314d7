"""Bytes of a table as they come in -> whole lines in UTF-8, block by block; half a line waits for its rest.

UTF-8 with or without byte order mark, UTF-16, and GBK wherever a line is no UTF-8. Where the bytes were cut
makes no difference.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from ...findings import Problem
from ..encodings import MARK_BYTES, line_text, utf16_decoder, without_mark

MAX_LINE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Lines:
    """Neighbouring lines, each with its line end; `first` is the number of the first one, from 1.

    n_lines: how many. is_unfinished: one last line that had no end (one was put there).
    """

    first: int
    raw: bytes
    n_lines: int
    is_unfinished: bool = False


class TableBytes:
    """One file from its first byte on.

    encoding: "utf-8", "utf-8-sig", "utf-16-le", "utf-16-be"; "gb18030" once a line was read as GBK. too_long,
    unreadable: numbers of lines that were longer than a megabyte (they come as empty lines), and that are in
    neither encoding (replacement characters are in them); at most 100 of each are kept. is_counting: False
    where nobody asks which line it is: `Lines.first` and `n_lines` say nothing then.
    """

    def __init__(self, *, is_counting: bool = True) -> None:
        self._is_counting = is_counting
        self.encoding = ""
        self.too_long: list[int] = []
        self.unreadable: list[int] = []
        self.n_lines = 0
        self._held = b""
        self._is_skipping = False
        self._decoder: codecs.IncrementalDecoder | None = None

    @property
    def has_rest(self) -> bool:
        """True while half a line is held."""
        return bool(self._held) or self._is_skipping

    def problems(self, artifact: str) -> list[Problem]:
        """What is told of lines that were not read as they are."""
        long, unknown = "the line is longer than a megabyte", "the line is neither UTF-8 nor GBK"
        return [
            *(Problem(artifact, "too-large", long, line=line) for line in self.too_long),
            *(Problem(artifact, "encoding", unknown, line=line) for line in self.unreadable),
        ]

    def add(self, raw: bytes, *, is_last: bool = False) -> list[Lines]:
        """The lines that are whole now; with `is_last` also one that has no end."""
        if not self.encoding:
            raw = self._held + raw
            if len(raw) < MARK_BYTES and not is_last:
                self._held = raw
                return []
            self._held = b""
            raw, self.encoding = without_mark(raw)
            self._decoder = utf16_decoder(self.encoding)
        if self._decoder is not None:
            raw = self._decoder.decode(raw, is_last).encode("utf-8", "replace")
        raw = self._held + raw if self._held else raw
        cut = raw.rfind(b"\n") + 1
        found = [self._block(raw[:cut])] if cut else []
        rest = raw[cut:]
        if self._is_skipping or len(rest) > MAX_LINE_BYTES:
            self._is_skipping, rest = True, b""
        self._held = rest
        if is_last and (rest or self._is_skipping):
            before = self.encoding if found or self.n_lines else ""
            block = self._block(rest + b"\n")
            self.encoding = before or self.encoding  # a character that is cut says nothing of the others
            found.append(Lines(block.first, block.raw, 1, is_unfinished=True))
            self._held = b""
        return found

    def _block(self, raw: bytes) -> Lines:
        first = self.n_lines + 1
        if self._is_skipping:
            raw = raw[raw.index(b"\n") :]
            _note(self.too_long, first)
            self._is_skipping = False
        n = _n_lines(raw) if self._is_counting else 0
        if len(raw) > MAX_LINE_BYTES:
            lines = raw.split(b"\n")
            if max(map(len, lines)) > MAX_LINE_BYTES:
                for i, line in enumerate(lines):
                    if len(line) > MAX_LINE_BYTES:
                        lines[i] = b""
                        _note(self.too_long, first + i)
                raw = b"\n".join(lines)
        self.n_lines += n
        return Lines(first, raw if raw.isascii() else self._as_utf8(raw, first), n)

    def _as_utf8(self, raw: bytes, first: int) -> bytes:
        if self.encoding != "gb18030":
            try:
                raw.decode("utf-8")
                return raw
            except UnicodeDecodeError:
                pass
        lines = raw.split(b"\n")
        for i, line in enumerate(lines):
            if not line.isascii():
                lines[i] = self._line_as_utf8(line, first + i)
        return b"\n".join(lines)

    def _line_as_utf8(self, line: bytes, number: int) -> bytes:
        text, encoding = line_text(line, is_among_gbk=self.encoding == "gb18030")
        if encoding == "utf-8":
            return line
        if encoding:
            self.encoding = encoding
        else:
            _note(self.unreadable, number)
        return text.encode("utf-8", "replace")


def _note(numbers: list[int], number: int) -> None:
    if len(numbers) < 100:
        numbers.append(number)


def _n_lines(raw: bytes) -> int:
    import numpy as np  # not before somebody counts

    return int(np.count_nonzero(np.frombuffer(raw, np.uint8) == 10))  # quicker than bytes.count
