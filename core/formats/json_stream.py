"""Members of a JSON object of any size, one at a time and in bounded memory, from a file that may be broken.

The dumps of a long run are hundreds of megabytes of one object; the run may have been killed while it wrote.
Each member is parsed on its own and let go; what cannot be read becomes a `Problem` and reading goes on at
the next member. NaN, Infinity and -Infinity are values, raw control characters in strings are kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from json import JSONDecodeError
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..files import open_input, shown_path
from ..findings import Problem
from ..progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from .json_parts import (
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
from .json_window import Notes, Window

MAX_FILE_BYTES = 10_000_000_000
MAX_VALUE_CHARS = 32 << 20
WINDOW_BYTES = 1 << 20

Member = tuple[int, bool, str, Any]
"""Byte offset of the key, whether it stands in the inner object, the key, its parsed value."""

# What broken members may cost in all, in characters looked at in vain: a file made of them ends soon.
_PATIENCE = 256 << 20
_PRICE = 16 << 10
# A member this long and still open, with the next member's line already in sight, has lost its end.
_SUSPICIOUS_CHARS = 4 << 20

_HEAD = re.compile(r'[ \t\n\r]*"([^"\\]*)"[ \t\n\r]*:[ \t\n\r]*')
_NEXT_HEAD = re.compile(r'[ \t\n\r]*,[ \t\n\r]*"([^"\\]*)"[ \t\n\r]*:[ \t\n\r]*')
_MARKS = re.compile(r"[\[\]{},]")


# The decoder's own scanner: it parses in place, without a cut-out copy, and says where the value ends.
_decoder: Any = json.JSONDecoder(strict=False)
_patient_decoder: Any = json.JSONDecoder(strict=False, parse_int=any_int)
_scan = _decoder.scan_once
_scan_any_int = _patient_decoder.scan_once


def json_members(
    path: Path,
    problems: list[Problem],
    *,
    inner: str | None = None,
    root: Path | None = None,
    max_bytes: int = MAX_FILE_BYTES,
    max_value_chars: int = MAX_VALUE_CHARS,
    window_bytes: int = WINDOW_BYTES,
    start: int = 0,
    n_before: int = 0,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> Iterator[Member]:
    """Members of the top-level object in file order.

    An object under key `inner` comes as {}, and behind it each of its members. start: the byte of the key of
    one of these members, from which on the file is read, n_before: how many of them lie before it.

    What could not be read is appended to `problems`: cut-off (byte: where the file ends), bad-record,
    too-deep, too-large, encoding, unreadable (byte: where it was noticed), limit.
    Raises InputError (no such file, no regular file, outside `root`, larger than `max_bytes`, UTF-16, no
    JSON object) before the first member, Cancelled between windows. Memory: a window, or the longest member.
    """
    file, size_bytes = open_input(path, root)
    with file:
        if size_bytes > max_bytes:
            message = f"the file has {size_bytes:,} bytes, at most {max_bytes:,} are read"
            raise InputError(message, hint="dump fewer steps, ranks or operators", path=path)
        notes = Notes(shown_path(path, root), problems)
        file.seek(start)
        window = Window(file, size_bytes, notes, max(window_bytes, 16), progress, is_cancelled, start)
        reader = _Reader(window, inner, max_value_chars)
        try:
            if start:
                reader.n_whole = n_before
                yield from reader.members(in_inner=True, parent_line="")
                yield from reader.members(in_inner=False, parent_line="\n", first=False)
            elif open_object(window, path, max_value_chars):
                yield from reader.members(in_inner=False, parent_line="\n")
            else:
                reader.cut_off(None)
        finally:
            notes.close()


class _Reader:
    """Takes members from a window; `window.at` stands behind the last whole one."""

    def __init__(self, window: Window, inner: str | None, max_value_chars: int) -> None:
        self.window = window
        self.inner = inner
        self.max_value_chars = max_value_chars
        self.stopped = False
        self.n_whole = 0
        self.patience = _PATIENCE

    def members(self, *, in_inner: bool, parent_line: str, first: bool = True) -> Iterator[Member]:
        """Members from `at` to the closing brace of one object. first: no comma stands before the first."""
        window = self.window
        line, next_line = None, None
        while not self.stopped:
            key: str | None = None
            value_at = window.at
            try:
                head = self.head(first)
                if head is None:
                    break
                key, key_at, value_at = head
                if line is None:
                    line = _line_start(window.text[window.at : key_at])
                    next_line = _next_line_pattern(line, parent_line)
                if key == self.inner and not in_inner and window.text[value_at] == "{":
                    byte = window.byte_at(key_at)
                    window.at, self.n_whole = value_at + 1, 0
                    yield byte, False, key, {}
                    yield from self.members(in_inner=True, parent_line=line)
                else:
                    value, end = self.value(value_at)
                    byte = window.byte_at(key_at)
                    window.at = end
                    self.n_whole += 1
                    yield byte, in_inner, key, value
                first = False
            except NeedMoreError:
                first = self.grow(key, value_at, next_line, first)
            except BrokenError as broken:
                first = self.pass_over(key, value_at, next_line, broken)
        if not in_inner and not self.stopped:
            expect_end(self.window)

    def head(self, first: bool) -> tuple[str, int, int] | None:
        """The next key, the indices of its opening quote and of its value; None behind the closing brace."""
        text, at = self.window.text, self.window.at
        match = (_HEAD if first else _NEXT_HEAD).match(text, at)
        if match is not None and match.end() < len(text):
            return match[1], match.start(1) - 1, match.end()
        at = skip_blanks(text, at)
        if text[at] == "," and not first:
            at = skip_blanks(text, at + 1)
        elif not first and text[at] != "}":  # said of the place behind the last member: the next one is kept
            raise BrokenError("bad-record", "a comma is expected", self.window.at)
        if text[at] == "}":
            self.window.at = at + 1
            return None
        if text[at] != '"':
            raise BrokenError("bad-record", "a quoted name is expected", at)
        key, end = self.value(at)
        colon = skip_blanks(text, end)
        if text[colon] != ":":
            raise BrokenError("bad-record", "a colon is expected", colon)
        return key, at, skip_blanks(text, colon + 1)

    def value(self, at: int, scan: Any = _scan) -> tuple[Any, int]:
        """The value that starts at `at` and the index behind it."""
        text = self.window.text
        try:
            value, end = scan(text, at)
        except StopIteration as stop:
            raise self.verdict("a value is expected", stop.value) from None
        except JSONDecodeError as error:
            raise self.verdict(error.msg, error.pos) from None
        except RecursionError:
            raise BrokenError("too-deep", "nested too deeply to be read", at) from None
        except ValueError:  # an integer of thousands of digits
            if scan is _scan:
                return self.value(at, _scan_any_int)
            raise BrokenError("bad-record", "a number cannot be read", at) from None
        if end - at > self.max_value_chars:
            raise BrokenError("too-large", f"longer than {self.max_value_chars:,} characters", at)
        if isinstance(value, (int, float)) and text[end : end + 1] in ("", ".", "e", "E", "+", "-"):
            raise self.verdict("a number is broken", end)
        return value, end

    def verdict(self, message: str, at: int) -> NeedMoreError | BrokenError:
        """Whether a parse that failed at index `at` failed for want of text."""
        if wants_more(self.window, message, at):
            return NeedMoreError()
        return BrokenError("bad-record", message, at)

    # ---- what does not go well ----

    def grow(self, key: str | None, value_at: int, next_line: re.Pattern[str] | None, first: bool) -> bool:
        """Read on for the member behind `at`, unless it has no end in sight; `first` as it is then."""
        text = self.window.text
        length = len(text) - value_at
        is_lost = length > _SUSPICIOUS_CHARS and next_line and next_line.search(text, value_at)
        if is_lost or length > self.max_value_chars:
            self.patience -= length
            message = "it has no end" if is_lost else f"longer than {self.max_value_chars:,} characters"
            broken = BrokenError("bad-record" if is_lost else "too-large", message, value_at)
            return self.pass_over(key, value_at, next_line, broken)
        if not self.window.extend(self.max_value_chars):
            self.cut_off(key)
        return first

    def cut_off(self, key: str | None) -> None:
        self.stopped = True
        window = self.window
        where = f"inside {shown_key(key)}" if key is not None else "before its object is closed"
        kept = (
            f"{self.n_whole:,} whole entries are kept, the last ends at byte {window.byte_near(window.at):,}"
        )
        message = f"the file ends {where}; {kept}" if window.read_bytes else "the file is empty"
        hint = "the run was killed or is still writing: read again later, or copy the file again"
        notes = window.notes
        notes.problems.append(Problem(notes.artifact, "cut-off", message, byte=window.read_bytes, hint=hint))

    def pass_over(
        self, key: str | None, value_at: int, next_line: re.Pattern[str] | None, broken: BrokenError
    ) -> bool:
        """Note a broken member and move behind it; True where the next one stands without a comma."""
        byte = self.window.byte_near(broken.at)
        start = broken.at if key is None else value_at
        self.patience -= _PRICE + max(broken.at - start, 0)
        if self.patience <= 0:
            found = False
        elif next_line is not None:
            found = self.to_next_line(start, next_line)
        else:
            found = key is not None and self.behind_value(start)
        self.stopped = not found
        message = f"{'an entry' if key is None else shown_key(key)} cannot be read: {broken.message}"
        if not found:
            message += f"; nothing behind it could be read, {self.n_whole:,} entries before it are kept"
        self.window.notes.add(broken.kind, message, byte, is_last=not found)
        return next_line is not None

    def to_next_line(self, start: int, next_line: re.Pattern[str]) -> bool:
        """Move to the line of the next member (or of the closing brace), known by its indentation."""
        window = self.window
        window.at = start
        while (match := next_line.search(window.text, window.at)) is None:
            window.at = max(window.at, len(window.text) - len(next_line.pattern))
            if not window.extend(0):
                return False
        window.at = match.start()
        return True

    def behind_value(self, start: int) -> bool:
        """Move behind the value that starts there by counting brackets, for files without lines."""
        window, depth = self.window, 0
        window.at = start
        while True:
            depth, window.at, is_closed = _count_brackets(window.text, window.at, depth)
            if is_closed:
                return True
            if len(window.text) - window.at > self.max_value_chars or not window.extend(self.max_value_chars):
                return False


def _line_start(before_key: str) -> str:
    """The line break and blanks that stand before a key, "" where it has no line of its own."""
    return before_key[before_key.rfind("\n") :] if "\n" in before_key else ""


def _next_line_pattern(line: str, parent_line: str) -> re.Pattern[str] | None:
    """What starts the line of a member or of the closing brace; None where lines do not tell the depth."""
    if len(line) < 2 or line == parent_line:
        return None
    closing = f"|{re.escape(parent_line)}}}" if parent_line else ""
    return re.compile(f'{re.escape(line)}"{closing}')


def _count_brackets(text: str, at: int, depth: int) -> tuple[int, int, bool]:
    """Depth and index reached from `at`, and whether the value that began at depth 0 has ended there."""
    while True:
        quote = text.find('"', at)
        stop = quote if quote >= 0 else len(text)
        closers = text.count("]", at, stop) + text.count("}", at, stop)
        if depth > closers:  # no value can end here: no need to look at each bracket
            depth += text.count("[", at, stop) + text.count("{", at, stop) - closers
        else:
            for mark in _MARKS.finditer(text, at, stop):
                if depth == 0 and mark[0] in ",}]":
                    return depth, mark.start(), True
                depth += (mark[0] in "[{") - (mark[0] in "]}")
                if depth == 0 and mark[0] in "]}":
                    return depth, mark.end(), True
        end = string_end(text, quote + 1) if quote >= 0 else -1
        if end < 0:
            return depth, stop, False
        at = end
