"""Bytes as they come, cut into lines: numbered, with byte offsets, bounded; fast over what is not looked for.

A line ends at LF. CR before it is not part of it, and of a line with a CR in its middle only the part behind
the last one counts, as on a terminal: progress bars write over themselves. `log_lines.LineCutter` makes lines
of their own of those parts, which may stand in the middle of a report here; and whether all lines are wanted
changes with every line, so that lines are asked for one at a time.
"""

from __future__ import annotations

import codecs
import re

from ..log_lines import MAX_LINE_BYTES as MAX_LINE_BYTES
from ..log_lines import Finders, decoded, last_segment, long_line

_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_ESCAPES = re.compile("\x1b\\[[0-9;?]*[ -/]*[@-~]")
_RAW_ESCAPES = re.compile(_ESCAPES.pattern.encode())


class Cutter:
    """Cuts what is pushed into lines. `number`, `byte` and `end_byte` are those of the last line handed out.

    tokens: what makes a line worth handing out while `seek` is used. Lines of more than 65,536 bytes are
    never handed out; `lost` has their number and byte. No more than one such line is held.
    """

    def __init__(self, tokens: tuple[bytes, ...], *, line: int = 1, byte: int = 0) -> None:
        self.number = line
        self.byte = self.end_byte = byte
        self.lost: list[tuple[int, int]] = []
        self.n_lines = 0
        self._next_number = line
        self._next_byte = byte  # where the line begins that is next
        self._tokens = tokens
        self._data = b""
        self._at = 0
        self._data_byte = byte
        self._finders: Finders | None = None  # over _data, once it was searched
        self._is_long = False  # the unfinished line: is it too long to be kept as it is?
        self._is_lost = False  # and is what counts of it too long, too?
        self._first = b"" if byte == 0 else None

    @property
    def n_bytes(self) -> int:
        """Bytes pushed so far, and those before them."""
        return self._data_byte + len(self._data)

    @property
    def is_utf16(self) -> bool:
        """True if the text begins with a byte order mark of UTF-16."""
        return self._first is not None and self._first.startswith(_UTF16_MARKS)

    def push(self, chunk: bytes) -> None:
        if self._first is not None and len(self._first) < 2:
            self._first += chunk[:2]
        kept = self._data[self._at :]
        self._data_byte += self._at
        self._data = kept + chunk if kept else bytes(chunk)
        self._at = 0
        self._finders = None

    def next(self) -> bytes | None:
        """The next line without its end; None where there is no whole one."""
        while True:
            start = self._at
            end = self._data.find(b"\n", start)
            if end < 0:
                self._shorten_rest()
                return None
            raw = self._data[start:end]
            is_long, is_lost = self._is_long or end - start > MAX_LINE_BYTES, self._is_lost
            self._begin(end + 1)
            self.end_byte = self._next_byte
            if not is_long:
                return _on_screen(raw) if b"\r" in raw else raw
            _, cr, raw = raw.rstrip(b"\r").rpartition(b"\r")
            if len(raw) <= MAX_LINE_BYTES and (cr or not is_lost):
                return raw
            self.lost.append((self.number, self.byte))

    def seek(self) -> None:
        """Go on to the next line that holds one of the tokens or is too long, else to the unfinished one."""
        if self._is_long:
            return
        data = self._data
        if self._finders is None:
            self._finders = Finders(data, self._tokens)
        at = self._finders.first_from(self._at)
        end = data.rfind(b"\n", self._at, at if at >= 0 else len(data)) + 1
        if end > self._at and (stop := long_line(data, self._at, end)) > self._at:
            n_more = data.count(b"\n", self._at, stop - 1)
            self._next_number += n_more
            self.n_lines += n_more
            self._begin(stop)

    def rest(self) -> bytes | None:
        """The last line where it has no end; None if there is none or it is too long."""
        if self._next_byte == self.n_bytes:
            return None
        self._shorten_rest()
        self.end_byte = self.n_bytes
        raw = self._data[self._at :]
        raw = last_segment(raw) if self._is_long else _on_screen(raw)
        is_lost = self._is_lost
        self._data_byte, self._data, self._at = self.n_bytes, b"", 0
        self.n_lines += 1
        self.number, self.byte = self._next_number, self._next_byte
        self._next_byte = self._data_byte
        self._is_long = self._is_lost = False
        if is_lost:
            self.lost.append((self.number, self.byte))
        return None if is_lost else raw

    def _begin(self, at: int) -> None:
        """The next line begins at `at`; the one before it becomes the last one handed out."""
        self.number, self.byte = self._next_number, self._next_byte
        self._next_number += 1
        self.n_lines += 1
        self._at = at
        self._next_byte = self._data_byte + at
        self._is_long = self._is_lost = False

    def _shorten_rest(self) -> None:
        """Let go what will not be used of an unfinished line that is too long."""
        if len(self._data) - self._at <= MAX_LINE_BYTES and not self._is_lost:
            return
        self._is_long = True
        rest = self._data[self._at :]
        body = rest.rstrip(b"\r")
        cr = body.rfind(b"\r")
        if cr >= 0:
            body = body[cr + 1 :]
            self._is_lost = False
        if self._is_lost or len(body) > MAX_LINE_BYTES:
            self._is_lost = True
            body = b""
        kept = body + b"\r" if rest.endswith(b"\r") else body
        self._data_byte += len(self._data) - len(kept)
        self._data, self._at = kept, 0
        self._finders = None


def _on_screen(raw: bytes) -> bytes:
    """What a terminal shows of a line with CR in it: the part behind the last one. Colours are no part."""
    if b"\x1b" in raw:
        raw = _RAW_ESCAPES.sub(b"", raw)
    return last_segment(raw)


def text_of(raw: bytes) -> tuple[str, bool]:
    """A line as text without colour codes, and whether it could be read, see `log_lines.decoded`."""
    text, is_read = decoded(raw)
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    return text, is_read
