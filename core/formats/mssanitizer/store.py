"""What the records of one log share: texts, frames and stacks, each made once; and its problems."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from npulse.core.findings import Problem

from ..log_lines import MAX_TEXT_CHARS as MAX_TEXT_CHARS
from ..log_lines import SHOWN_PROBLEMS
from .records import Frame

MAX_TEXT_BYTES = 32 << 20
"""Of different texts in all. A log with more has texts made to fill memory."""
MAX_FRAMES = 256

T = TypeVar("T")

_SHORT_CHARS = 64
_NOT_BY_CHANCE = "\u0800"
"""Two bytes a character, as GBK has, may be UTF-8 by chance: in a log with GBK they are GBK."""

_MAX_DIGITS = 9  # of a line or column; more is part of a name


class Cache(dict[bytes, T]):
    """What was made of which bytes; emptied whenever it has grown too large."""

    __slots__ = ("_n_bytes",)

    MAX_ENTRIES = 1 << 13
    MAX_BYTES = 4 << 20

    def __init__(self) -> None:
        super().__init__()
        self._n_bytes = 0

    def keep(self, key: bytes, value: T) -> T:
        """Remember `value`, and return it."""
        self._n_bytes += len(key)
        if len(self) >= self.MAX_ENTRIES or self._n_bytes > self.MAX_BYTES:
            self.clear()
            self._n_bytes = len(key)
        self[key] = value
        return value


class Notes:
    """Problems of one log. The first of each kind are kept, the others counted.

    `log_lines.LogNotes` keeps the first of all kinds: here too long lines would hide that the log is cut off.
    """

    def __init__(self, artifact: str) -> None:
        self.artifact = artifact
        self.n: dict[str, int] = {}
        self._problems: list[Problem] = []

    def add(self, kind: str, message: str, line: int | None, byte: int | None) -> None:
        n = self.n[kind] = self.n.get(kind, 0) + 1
        if n <= SHOWN_PROBLEMS:
            self._problems.append(Problem(self.artifact, kind, message, line=line, byte=byte))

    def close(self) -> tuple[Problem, ...]:
        """All that were kept, and how many were not."""
        n_more = sum(self.n.values()) - len(self._problems)
        if not n_more:
            return tuple(self._problems)
        message = f"{n_more:,} more problems in this log"
        return (*self._problems, Problem(self.artifact, "limit", message))


class Store:
    """Texts of a log as strings, in whichever encoding they come: UTF-8, or GBK where that does not fit.

    What is equal is one object, as long as few enough are different. `line` and `byte` name the place of
    what is read now, for problems.
    """

    def __init__(self, notes: Notes) -> None:
        self.line = 0
        self.byte = 0
        self._notes = notes
        self._texts: Cache[str] = Cache()
        self._frames: Cache[Frame] = Cache()
        self._stacks: Cache[tuple[Frame, ...]] = Cache()
        self._n_bytes = 0
        self._is_gbk = False
        self._is_full = False

    def scratch(self) -> Store:
        """Another store that reads texts in the same way, and leaves no trace here."""
        store = Store(Notes(""))
        store._is_gbk = self._is_gbk
        return store

    @contextmanager
    def at(self, line: int, byte: int) -> Iterator[None]:
        """Name another place for the time being."""
        here = self.line, self.byte
        self.line, self.byte = line, byte
        try:
            yield
        finally:
            self.line, self.byte = here

    def text(self, raw: bytes) -> str:
        """The text, at most 4,096 characters of it."""
        found = self._texts.get(raw)
        return self._texts.keep(raw, self._within_total(raw)) if found is None else found

    def stack(self, lines: Sequence[bytes]) -> tuple[Frame, ...]:
        """The frames of a stack from its lines, each from its number sign on."""
        key = b"\n".join(lines)
        found = self._stacks.get(key)
        if found is None:
            if len(lines) > MAX_FRAMES:
                self.note_limit(f"a call stack of more than {MAX_FRAMES} frames; the first ones were kept")
            found = self._stacks.keep(key, tuple(map(self._frame, lines[:MAX_FRAMES])))
        return found

    def place(self, raw: bytes) -> Frame:
        """FILE:LINE:COLUMN, FILE:LINE or FILE as a frame."""
        found = self._frames.get(raw)
        return self._frames.keep(raw, self._place(raw)) if found is None else found

    def note_limit(self, message: str) -> None:
        """Something here is larger than what is kept."""
        self._notes.add("limit", message, self.line, self.byte)

    def _frame(self, line: bytes) -> Frame:
        return self.place(line.partition(b" ")[2].strip())

    def _place(self, raw: bytes) -> Frame:
        function = None
        if raw.startswith(b"0x"):  # 0x<pc> in FUNCTION FILE:LINE:COLUMN, as other tools print it
            _, found, rest = raw.partition(b" in ")
            name, blank, place = rest.rpartition(b" ")
            if found and blank:
                function, raw = self.text(name), place
        file, first, second = raw, None, None
        head, colon, digits = raw.rpartition(b":")
        if colon and is_number(digits):
            file, first = head, int(digits)
            head, colon, digits = head.rpartition(b":")
            if colon and is_number(digits):
                file, first, second = head, int(digits), first
        return Frame(self.text(file), first, second, function)

    def _decoded(self, raw: bytes) -> str:
        raw = raw[: 4 * MAX_TEXT_CHARS]
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            is_cut = len(raw) == 4 * MAX_TEXT_CHARS and error.start >= len(raw) - 4
            text = raw[: error.start].decode("utf-8") if is_cut else self._gbk(raw)
        else:
            if self._is_gbk and not text.isascii() and max(text) < _NOT_BY_CHANCE:
                text = self._gbk(raw)
        return text[:MAX_TEXT_CHARS]

    def _gbk(self, raw: bytes) -> str:
        try:
            text = raw.decode("gb18030")
        except UnicodeDecodeError:
            self._notes.add(
                "encoding",
                "the line is neither UTF-8 nor GBK; bytes of it are shown as '?'",
                self.line,
                self.byte,
            )
            return raw.decode("utf-8", "replace")
        self._is_gbk = True
        return text

    def _within_total(self, raw: bytes) -> str:
        text = self._decoded(raw)
        self._n_bytes += min(len(raw), 4 * MAX_TEXT_CHARS)
        if self._n_bytes <= MAX_TEXT_BYTES or len(text) <= _SHORT_CHARS:
            return text
        if not self._is_full:
            self._is_full = True
            self.note_limit(
                f"more than {MAX_TEXT_BYTES >> 20} MB of different texts; from here on long ones are cut"
            )
        return text[:_SHORT_CHARS]


def is_surely_utf8(raw: bytes) -> bool:
    """Whether a text can be read in one way only, whatever else is in the log."""
    if raw.isascii():
        return True
    try:
        return max(raw.decode("utf-8")) >= _NOT_BY_CHANCE
    except UnicodeDecodeError:
        return False


def is_number(digits: bytes) -> bool:
    """Whether these are decimal digits, few enough for a line or column."""
    return digits.isdigit() and len(digits) <= _MAX_DIGITS
