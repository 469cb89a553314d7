"""What readers of large JSON objects share: how one begins and ends, what is unfinished, what is broken."""

from __future__ import annotations

import re
from pathlib import Path

from ..errors import InputError
from .json_window import Window

_BLANKS = re.compile(r"[ \t\n\r]*")
_UNFINISHED = re.compile(r"[\w.+\-\\]*[ \t\n\r]*")


class NeedMoreError(Exception):
    """The text at hand ends too soon."""


class BrokenError(Exception):
    """A member cannot be parsed, however much text follows. at: index where that was noticed."""

    def __init__(self, kind: str, message: str, at: int) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.at = at


def any_int(digits: str) -> int | float:
    """Python refuses to convert numbers of thousands of digits; as float they are infinite."""
    return int(digits) if len(digits) < 400 else float(digits)


def open_object(window: Window, path: Path, most_chars: int) -> bool:
    """Step behind the opening brace; False where the file holds nothing but blanks.

    Raises InputError for UTF-16 and for what is no JSON object.
    """
    while (start := blanks_end(window.text, window.at)) == len(window.text):
        window.at = start
        is_first = window.read_bytes == 0
        if not window.extend(most_chars):
            return False
        head = window.text[:4] if is_first else ""
        if head.startswith("\ufeff"):
            window.at = 1
        elif "\0" in head or head[:2] in ("\udcff\udcfe", "\udcfe\udcff"):
            message = "this is not UTF-8 text (UTF-16, or no text at all)"
            raise InputError(message, path=path, byte=0, hint="convert it: iconv -f UTF-16 -t UTF-8")
    if window.text[start] != "{":
        raise InputError("this is not a JSON object", path=path, byte=window.byte_at(start))
    window.at = start + 1
    return True


def expect_end(window: Window) -> None:
    """Nothing but blanks may follow the object; what does is a problem."""
    while (at := blanks_end(window.text, window.at)) == len(window.text):
        window.at = at
        if not window.extend(0):
            return
    window.notes.add("bad-record", "there is text behind the end of the JSON object", window.byte_at(at))


def wants_more(window: Window, message: str, at: int) -> bool:
    """Whether a parse that failed with this message at this index failed for want of text."""
    if message.startswith("Unterminated string"):
        return True
    is_near_end = at >= len(window.text) - 16
    return is_near_end and (not window.ended or _UNFINISHED.fullmatch(window.text, at) is not None)


def skip_blanks(text: str, at: int) -> int:
    """The index of the next character that is no blank. Raises NeedMoreError where there is none."""
    end = blanks_end(text, at)
    if end == len(text):
        raise NeedMoreError
    return end


def blanks_end(text: str, at: int) -> int:
    """The index of the next character that is no blank, or the length of the text."""
    match = _BLANKS.match(text, at)
    return at if match is None else match.end()


def string_end(text: str, at: int) -> int:
    """The index behind the closing quote of the string whose content starts at `at`, -1 if there is none."""
    while (quote := text.find('"', at)) >= 0:
        before = text[at:quote]
        if (len(before) - len(before.rstrip("\\"))) % 2 == 0:
            return quote + 1
        at = quote + 1
    return -1


def shown_key(key: str) -> str:
    """A key in quotes, cut where it is very long."""
    return repr(key if len(key) <= 200 else key[:199] + "…")
