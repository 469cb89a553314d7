"""What stands around the events of a trace: an array, or an object with other members before and behind."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

from ...errors import InputError

MAX_SETTINGS = 64
MAX_SCALAR_BYTES = 64 << 10

Note = Callable[[str, str, int], None]
Scalar = str | int | float | bool | None

_BLANK = re.compile(rb"[ \t\r\n]*")
_SEPARATORS = re.compile(rb"[ \t\r\n,]*")
_KEY = re.compile(rb'"([^"\\]*(?:\\.[^"\\]*)*)"[ \t\r\n]*:[ \t\r\n]*(?=[^ \t\r\n])', re.DOTALL)
_SCALAR = re.compile(rb'(?:"[^"\\]*(?:\\.[^"\\]*)*"|[^",\[\]{}\s]+)[ \t\r\n]*(?=[^ \t\r\n])', re.DOTALL)
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}"]', re.DOTALL)
_EVENTS_KEY = re.compile(rb'"traceEvents"\s*:\s*\[')
_KEPT_BYTES = 256  # of what was searched in vain: the key may have begun there


class Envelope:
    """Follows the text up to the events and behind them; the events themselves are read by others."""

    def __init__(self, path: Path | None, note: Note) -> None:
        self.is_in_events = False
        self.is_closed = False
        self.has_events = False
        self.settings: dict[str, Scalar] = {}
        self._path = path
        self._note = note
        self._is_begun = False
        self._is_array = False
        self._is_searching = False
        self._depth = 0  # inside a member that is passed over
        self._is_told = False

    def close_events(self) -> None:
        """The bracket of the array was read."""
        self.is_in_events = False
        self.is_closed = self._is_array

    def step(self, buffer: bytes, at: int, base: int) -> tuple[int, bool]:
        """Go on from `at`: the place reached, and False where more must be known first.

        base: the byte of the buffer's begin in the file, for problems. Raises InputError: this is no trace.
        """
        if not self._is_begun:
            return self._begin(buffer, at, base)
        if self.is_closed:
            return self._behind(buffer, at, base)
        if self._is_searching:
            return self._search(buffer, at)
        if self._depth:
            return self._pass_over(buffer, at, base)
        return self._member(buffer, at, base)

    def _begin(self, buffer: bytes, at: int, base: int) -> tuple[int, bool]:
        head = buffer[at : at + 4]
        if base + at == 0:
            if len(head) < 3 and b"\xef\xbb\xbf".startswith(head):
                return at, False
            if head.startswith(b"\xef\xbb\xbf"):
                return at + 3, True
        if b"\0" in head or head[:2] in (b"\xff\xfe", b"\xfe\xff"):
            hint = "convert it: iconv -f UTF-16 -t UTF-8"
            raise InputError(
                "this is not UTF-8 text (UTF-16, or no text at all)", path=self._path, byte=base, hint=hint
            )
        at = _end_of(_BLANK, buffer, at)
        if at == len(buffer):
            return at, False
        first = buffer[at : at + 1]
        if first not in b"[{":
            hint = "name a timeline, e.g. trace_view.json or msprof_20260801120500.json"
            raise InputError(
                "this is neither a JSON array nor an object", path=self._path, byte=base + at, hint=hint
            )
        self._is_begun = True
        self._is_array = self.is_in_events = self.has_events = first == b"["
        return at + 1, True

    def _behind(self, buffer: bytes, at: int, base: int) -> tuple[int, bool]:
        at = _end_of(_BLANK, buffer, at)
        if at < len(buffer) and not self._is_told:
            self._note("bad-record", "there is text behind the end of the trace; it was not read", base + at)
            self._is_told = True
        return len(buffer), False

    def _member(self, buffer: bytes, at: int, base: int) -> tuple[int, bool]:
        at = _end_of(_SEPARATORS, buffer, at)
        if at == len(buffer):
            return at, False
        if buffer[at : at + 1] == b"}":
            self.is_closed = True
            return at + 1, True
        key = _KEY.match(buffer, at)
        if key is None:
            is_short = buffer[at : at + 1] == b'"' and len(buffer) - at < MAX_SCALAR_BYTES
            is_open = is_short and re.match(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"\s*:?\s*|\\)?\Z', buffer[at:], re.S)
            return (at, False) if is_open else self._give_up(at, base, "a name and a colon are expected")
        value, name = key.end(), _text(key[1])
        first = buffer[value : value + 1]
        if name == "traceEvents" and first == b"[":
            self.is_in_events = self.has_events = True
            return value + 1, True
        if first in b"[{":
            self._depth = 1
            return value + 1, True
        scalar = _SCALAR.match(buffer, value)
        if scalar is None:
            if len(buffer) - value < MAX_SCALAR_BYTES and first not in b",}]":
                return at, False
            return self._give_up(value, base, "a value is expected")
        if buffer[scalar.end() : scalar.end() + 1] not in b",}":
            return self._give_up(scalar.end(), base, "a comma is expected")
        if len(self.settings) < MAX_SETTINGS:
            try:
                self.settings[name] = json.loads(scalar[0].decode("utf-8", "replace"), strict=False)
            except ValueError:
                self._note("bad-record", "a member of the object cannot be read", base + value)
        return scalar.end(), True

    def _pass_over(self, buffer: bytes, at: int, base: int) -> tuple[int, bool]:
        for token in _TOKEN.finditer(buffer, at):
            mark = token[0]
            if mark == b'"':  # a string that goes on behind the buffer
                if len(buffer) - token.start() > 1 << 24:
                    return self._give_up(token.start(), base, "a text has no end")
                return token.start(), False
            if mark in b"[{":
                self._depth += 1
            elif mark in b"]}":
                self._depth -= 1
                if not self._depth:
                    return token.end(), True
        return len(buffer), False

    def _give_up(self, at: int, base: int, message: str) -> tuple[int, bool]:
        self._note("bad-record", f"the object around the events cannot be read: {message}", base + at)
        self._is_searching, self._depth = True, 0
        return at, True

    def _search(self, buffer: bytes, at: int) -> tuple[int, bool]:
        found = _EVENTS_KEY.search(buffer, at)
        if found is None:
            return max(at, len(buffer) - _KEPT_BYTES), False
        self._is_searching = False
        self.is_in_events = self.has_events = True
        return found.end(), True


def _end_of(pattern: re.Pattern[bytes], buffer: bytes, at: int) -> int:
    match = pattern.match(buffer, at)
    return at if match is None else match.end()


def _text(raw: bytes) -> str:
    text = raw.decode("utf-8", "replace")
    try:
        return str(json.loads(f'"{text}"', strict=False)) if "\\" in text else text
    except ValueError:
        return text
