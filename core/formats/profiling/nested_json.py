"""Objects that lie deep in one JSON object of any size, one at a time and in bounded memory.

Communication files nest their records by step, by kind and by name, and reach hundreds of megabytes. Levels
above the records are walked; each record is parsed on its own and let go.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from decimal import Decimal
from json import JSONDecodeError
from pathlib import Path
from typing import Any

from ...errors import InputError
from ...files import open_input, shown_path
from ...findings import Problem
from ...progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from ..json_parts import (
    BrokenError,
    NeedMoreError,
    any_int,
    expect_end,
    open_object,
    shown_key,
    skip_blanks,
    string_end,
    wants_more,
)
from ..json_window import Notes, Window

MAX_FILE_BYTES = 10_000_000_000
MAX_OBJECT_CHARS = 8 << 20
MAX_DEPTH = 8
WINDOW_BYTES = 1 << 20

Nested = tuple[int, tuple[str, ...], dict[str, Any]]
"""Byte offset of an object, the keys that lead to it, the object. Numbers with a point are Decimal, exact."""

_MARK = re.compile(r'["\[\]{},]')


def _any_decimal(text: str) -> Decimal:
    """Exponents of dozens of digits are refused by Decimal."""
    try:
        return Decimal(text)
    except ArithmeticError:
        return Decimal("Infinity")


_exact_decoder: Any = json.JSONDecoder(strict=False, parse_float=Decimal)
_patient_decoder: Any = json.JSONDecoder(strict=False, parse_float=_any_decimal, parse_int=any_int)


def nested_objects(
    path: Path,
    problems: list[Problem],
    first_keys: Collection[str],
    *,
    root: Path | None = None,
    max_bytes: int = MAX_FILE_BYTES,
    window_bytes: int = WINDOW_BYTES,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> Iterator[Nested]:
    """The objects whose first key is one of `first_keys`, or has no object as value, in file order.

    Empty objects on the way are passed. `problems` get: cut-off (the file ends inside; what is whole came),
    bad-record (an object that is no JSON, a value where an object belongs: passed over; a broken level: the
    rest is not read), too-deep, too-large, encoding, unreadable, limit.
    Raises InputError (no such file, no regular file, outside `root`, larger than `max_bytes`, UTF-16, no JSON
    object) before the first object, Cancelled between windows.
    """
    file, size_bytes = open_input(path, root)
    with file:
        if size_bytes > max_bytes:
            message = f"the file has {size_bytes:,} bytes, at most {max_bytes:,} are read"
            raise InputError(message, hint="profile fewer steps or ranks", path=path)
        notes = Notes(shown_path(path, root), problems)
        window = Window(file, size_bytes, notes, max(window_bytes, 16), progress, is_cancelled)
        walker = _Walker(window, first_keys)
        try:
            if open_object(window, path, MAX_OBJECT_CHARS):
                yield from walker.objects()
            else:
                message = "the file holds nothing" if window.read_bytes else "the file is empty"
                notes.add("cut-off", message, window.read_bytes, is_last=True)
        finally:
            notes.close()


class _LevelError(Exception):
    """What should stand between members does not: nothing behind it can be told apart."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.message = message
        self.at = at


class _Walker:
    """Walks down levels; `window.at` stands behind the last thing that was whole."""

    def __init__(self, window: Window, first_keys: Collection[str]) -> None:
        self.window = window
        self.first_keys = first_keys
        self.place: list[str] = []
        self.is_first = True
        self.n_objects = 0

    def objects(self) -> Iterator[Nested]:
        """Every wanted object up to the end of the outermost one."""
        window, depth = self.window, 1
        while depth:
            try:
                depth, found = self._step(depth)
            except NeedMoreError:
                if not self._grow():
                    return
                continue
            except BrokenError as broken:
                window.notes.add(broken.kind, broken.message, window.byte_near(broken.at))
                if not self._pass_over(broken.at):
                    return
                continue
            except _LevelError as broken:
                message = f"{broken.message}; the rest was not read, {self.n_objects:,} records are before it"
                window.notes.add("bad-record", message, window.byte_near(broken.at), is_last=True)
                return
            if found is not None:
                self.n_objects += 1
                yield found
        expect_end(window)

    def _step(self, depth: int) -> tuple[int, Nested | None]:
        """One member or one end of a level: the depth behind it, and the object if it is a wanted one."""
        window, text = self.window, self.window.text
        at = skip_blanks(self.window.text, window.at)
        if text[at] == "}":
            window.at, self.is_first = at + 1, False
            if self.place:
                self.place.pop()
            return depth - 1, None
        if not self.is_first:
            if text[at] != ",":
                raise _LevelError("a comma is expected", at)
            at = skip_blanks(self.window.text, at + 1)
            if text[at] == "}":  # a comma behind the last member
                window.at = at
                self.is_first = True
                return depth, None
        key, end = self._key(at)
        colon = skip_blanks(self.window.text, end)
        if text[colon] != ":":
            raise _LevelError("a colon is expected", colon)
        start = skip_blanks(self.window.text, colon + 1)
        if text[start] != "{":
            raise BrokenError("bad-record", f"{shown_key(key)}: an object is expected", start)
        inner = skip_blanks(self.window.text, start + 1)
        if text[inner] == "}":
            window.at, self.is_first = inner + 1, False
            return depth, None
        if text[inner] != '"':
            raise BrokenError("bad-record", f"{shown_key(key)}: a quoted name is expected", start)
        if self._is_wanted(inner):
            value, end = self._object(key, start)
            byte = window.byte_at(start)
            window.at, self.is_first = end, False
            return depth, (byte, (*self.place, key), value)
        if depth >= MAX_DEPTH:
            raise BrokenError("too-deep", f"{shown_key(key)}: nested too deeply to be a record", start)
        self.place.append(key)
        window.at, self.is_first = start + 1, True
        return depth + 1, None

    def _is_wanted(self, at: int) -> bool:
        """Whether the object with its first key at `at` is a record."""
        key, end = self._key(at)
        if key in self.first_keys:
            return True
        colon = skip_blanks(self.window.text, end)
        if self.window.text[colon] != ":":
            return True  # its parse will say what is wrong
        return self.window.text[skip_blanks(self.window.text, colon + 1)] != "{"

    def _key(self, at: int) -> tuple[str, int]:
        """The string at `at` and the index behind it."""
        if self.window.text[at] != '"':
            raise _LevelError("a quoted name is expected", at)
        try:
            key, end = _exact_decoder.scan_once(self.window.text, at)
        except JSONDecodeError as error:
            verdict = self._verdict(error, at)
            if isinstance(verdict, NeedMoreError):
                raise verdict from None
            raise _LevelError("a name cannot be read", at) from None
        return key, end

    def _object(self, key: str, at: int) -> tuple[dict[str, Any], int]:
        """The object at `at` and the index behind it."""
        for decoder in (_exact_decoder, _patient_decoder):
            try:
                value, end = decoder.scan_once(self.window.text, at)
            except StopIteration as stop:
                raise self._verdict(JSONDecodeError("a value is expected", "", stop.value), at) from None
            except JSONDecodeError as error:
                raise self._verdict(error, at) from None
            except RecursionError:
                message = f"{shown_key(key)}: nested too deeply to be read"
                raise BrokenError("too-deep", message, at) from None
            except (ValueError, ArithmeticError):  # a number of thousands of digits
                continue
            return value, end
        raise BrokenError("bad-record", f"{shown_key(key)}: a number cannot be read", at)

    def _verdict(self, error: JSONDecodeError, start: int) -> NeedMoreError | BrokenError:
        """Whether a parse failed for want of text."""
        if wants_more(self.window, error.msg, error.pos):
            return NeedMoreError()
        return BrokenError("bad-record", f"a record is no JSON: {error.msg}", start)

    def _grow(self) -> bool:
        """Read on; False (and told) where there is no more, or nothing has an end."""
        window = self.window
        if len(window.text) - window.at > MAX_OBJECT_CHARS:
            message = f"longer than {MAX_OBJECT_CHARS:,} characters"
            window.notes.add("too-large", message, window.byte_near(window.at), is_last=True)
            opening = window.text.find("{", window.at)
            return opening >= 0 and self._pass_over(opening)
        if window.extend(MAX_OBJECT_CHARS):
            return True
        self._cut_off()
        return False

    def _cut_off(self) -> None:
        window = self.window
        where = f"inside {shown_key(self.place[-1])}" if self.place else "before its object is closed"
        message = f"the file ends {where}; {self.n_objects:,} whole records are kept"
        window.notes.add("cut-off", message, window.read_bytes, is_last=True)

    def _pass_over(self, start: int) -> bool:
        """Move behind the value that starts at `start`; False (and told) where the file ends in it."""
        window, depth = self.window, 0
        window.at = start
        self.is_first = False
        while True:
            found = _MARK.search(window.text, window.at)
            if found is None:
                window.at = len(window.text)
                if not window.extend(0):
                    break
                continue
            mark = found[0]
            if mark == '"':
                end = string_end(window.text, found.end())
                if end < 0:
                    window.at = found.start()
                    if len(window.text) - window.at > MAX_OBJECT_CHARS or not window.extend(MAX_OBJECT_CHARS):
                        break
                    continue
                window.at = end
                continue
            if depth == 0 and mark in ",}]":
                window.at = found.start()
                return True
            depth += (mark in "[{") - (mark in "]}")
            window.at = found.end()
            if depth == 0 and mark in "]}":
                return True
        self._cut_off()
        return False
