"""Where events, keys and values stand in a block of trace JSON, found by numpy and not by a parser.

A parser makes an object of every argument of every event. Here a block of text is looked at as bytes: quotes,
brackets, depth. That gives the places of all events and keys; only values that are wanted are then read.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass

from .trace_numbers import PAD_BYTES, Bytes, Flags, Integers

_QUOTE, _BACKSLASH, _COLON, _COMMA = 34, 92, 58, 44
_OPEN_BRACE, _CLOSE_BRACE, _CLOSE_BRACKET = 123, 125, 93
_MAX_BLANKS = 16
_PIECE_BYTES = 1 << 16

_BLANKS = np.zeros(256, np.bool_)
_BLANKS[list(b" \t\r\n")] = True
_BEFORE_STRING = _BLANKS.copy()
_BEFORE_STRING[list(b"{[,:")] = True
_BEHIND_STRING = _BLANKS.copy()
_BEHIND_STRING[list(b",:}]")] = True
_NOT_BEFORE, _NOT_BEHIND = ~_BEFORE_STRING, ~_BEHIND_STRING


@dataclass(frozen=True, slots=True)
class Keys:
    """Names of values in file order, one element a key.

    event: the event that holds it. opens, closes: its quotes. value: where its value begins. string_end: the
    closing quote of a value that is a string, else -1. parent: the last bracket before the key.
    """

    event: Integers
    opens: Integers
    closes: Integers
    value: Integers
    string_end: Integers
    parent: Integers

    def where(self, mask: Flags | Integers) -> Keys:
        at = np.flatnonzero(mask) if mask.dtype == np.bool_ else mask
        columns = (self.event, self.opens, self.closes, self.value, self.string_end, self.parent)
        return Keys(*(column.take(at) for column in columns))


@dataclass(frozen=True, slots=True)
class Scan:
    """What stands in one block that begins between two elements of an array.

    text: its bytes and PAD_BYTES blanks. starts, ends: the brackets of each whole element before `bad_at`.
    keys: those of the elements; strings: gives those of objects in them (arguments).
    is_odd: elements that a parser must look at, as they are written in an uncommon way.
    array_end: where the array is closed, -1 if the block ends before that.
    bad_at: the first place where this is no JSON, -1 if none was noticed. open_start: where an element begins
    that has no end in this block, -1 if there is none.
    """

    text: Bytes
    starts: Integers
    ends: Integers
    keys: Keys
    strings: _Strings
    is_odd: Flags
    array_end: int
    bad_at: int
    open_start: int


def scan(block: bytes) -> Scan:
    """The structure of a block. Numbers and words between the strings are not checked here.

    Cost: about 5 ms a MB. Memory: some 10 bytes a byte, at worst 100.
    """
    n = len(block)
    padded = np.frombuffer(b" " + block + b" " * PAD_BYTES, np.uint8)
    text = padded[1:]
    places = _marks(text[:n])
    is_quote = text.take(places) == _QUOTE
    backslashes = _EMPTY
    if b"\\" in block:
        backslashes = np.flatnonzero(text == _BACKSLASH)
        escaped = _escaped(text, places, backslashes)
        if len(escaped):
            places, is_quote = np.delete(places, escaped), np.delete(is_quote, escaped)
    quotes = places[is_quote]
    if len(quotes) % 2:  # the block ends in a string
        quotes = quotes[:-1]
    opens, closes = quotes[0::2], quotes[1::2]
    before, behind = padded.take(opens), text[1:].take(closes)
    bad = [_first(opens, _NOT_BEFORE.take(before)), _first(closes, _NOT_BEHIND.take(behind))]

    quotes_before = np.cumsum(is_quote, dtype=np.int32)  # of flags to int64 costs ten times as much
    is_outside = ~(is_quote | (quotes_before & 1).astype(np.bool_))
    brackets, strings_before = places[is_outside], quotes_before[is_outside] >> 1
    marks = text.take(brackets)
    steps = (marks & 2).astype(np.int8) - 1
    depths = np.cumsum(steps, dtype=np.int32)
    array_end = -1
    below = np.flatnonzero(depths < 0)
    if len(below):
        first = int(below[0])
        if marks[first] == _CLOSE_BRACKET:
            array_end = int(brackets[first])
        else:
            bad.append(int(brackets[first]))
        brackets, marks, steps, depths = brackets[:first], marks[:first], steps[:first], depths[:first]
    is_pair = (steps[:-1] > 0) & (steps[1:] < 0)
    bad.append(_first(brackets[1:], is_pair & (marks[1:] - marks[:-1] != 2)))

    starts = brackets[(depths == 1) & (steps > 0)]
    ends = brackets[(depths == 0) & (steps < 0)]
    bad.append(_first(ends, text[ends] - text[starts[: len(ends)]] != 2))
    bad_at = min((place for place in bad if place >= 0), default=-1)
    if bad_at >= 0 and 0 <= array_end < bad_at:
        bad_at = -1  # it stands behind the array
    if bad_at >= 0:
        ends = ends[: np.searchsorted(ends, bad_at)]
        array_end = -1
    open_start = int(starts[len(ends)]) if len(starts) > len(ends) else -1
    starts = starts[: len(ends)]
    is_odd = text[starts] != _OPEN_BRACE
    strings = _Strings(text, opens, closes, is_odd)
    if len(ends):
        n = int(np.searchsorted(opens, ends[-1]))
        strings.find_keys(n, brackets, depths, strings_before[: len(brackets)])
    keys = strings.keys(strings.outer)
    if len(backslashes):
        # nobody writes the names of fields like that, but it would be one of them
        at = np.flatnonzero(keys.closes - keys.opens > len("\\u0070h"))
        opens, closes = keys.opens[at], keys.closes[at]
        inside = np.searchsorted(backslashes, opens) != np.searchsorted(backslashes, closes)
        is_odd[keys.event[at[inside]]] = True
    return Scan(text, starts, ends, keys, strings, is_odd, array_end, bad_at, open_start)


Levels = npt.NDArray[np.int32]
_EMPTY: Integers = np.zeros(0, np.int64)


def _marks(text: Bytes) -> Integers:
    """Where quotes and brackets are. In pieces that stay in the cache."""
    found = []
    for start in range(0, len(text), _PIECE_BYTES):
        piece = text[start : start + _PIECE_BYTES]
        mask = piece == _QUOTE
        folded = piece | 32  # [ as {, ] as }
        mask |= folded == _OPEN_BRACE
        mask |= folded == _CLOSE_BRACE
        places = np.flatnonzero(mask)
        places += start
        found.append(places)
    return np.concatenate(found) if found else _EMPTY


class _Strings:
    """The strings of a block, and which of them are names of values."""

    def __init__(self, text: Bytes, opens: Integers, closes: Integers, is_odd: Flags) -> None:
        self._text = text
        self._opens = opens
        self._closes = closes
        self._is_odd = is_odd
        self.outer = self.inner = _EMPTY
        self._before = self._brackets = self._events = _EMPTY

    def find_keys(self, n: int, brackets: Integers, depths: Levels, strings_before: Levels) -> None:
        """Find the keys among the first n strings. strings_before: of each bracket."""
        text = self._text
        behind = self._closes[:n] + 1
        marks = text.take(behind)
        is_key = marks == _COLON
        blank = np.flatnonzero(_BLANKS.take(marks))
        # the last bracket before each string
        before = np.cumsum(np.bincount(strings_before, minlength=n + 1)[:n]) - 1
        is_start = (depths == 1) & (np.diff(depths, prepend=0) > 0)
        events = np.cumsum(is_start, dtype=np.int32).astype(np.int64) - 1
        if len(blank):  # "key" : value
            place, late = _behind_blanks(text, behind[blank])
            is_key[blank] = text[place] == _COLON
            self._is_odd[events[before[blank[late]]]] = True
            self._is_odd[events[before[blank[~_BEHIND_STRING[text[place]]]]]] = True
        depth = depths.take(before)
        self._before, self._brackets, self._events = before, brackets, events
        self.outer = np.flatnonzero(is_key & (depth == 1))
        self.inner = np.flatnonzero(is_key & (depth == 2))

    def inner_of(self, events: Flags) -> Keys:
        """The keys of objects in the chosen elements."""
        of = self._events.take(self._before.take(self.inner))
        return self.keys(self.inner[events.take(of)])

    def keys(self, number: Integers) -> Keys:
        """The keys that are these strings, and where their values are."""
        text, is_odd = self._text, self._is_odd
        before = self._before.take(number)
        event, opens, closes = self._events.take(before), self._opens.take(number), self._closes.take(number)
        mark = _before_blanks(text, opens)
        is_odd[event[(mark != _COMMA) & (mark != _OPEN_BRACE)]] = True
        colon = closes + 1
        if (text.take(colon) != _COLON).any():
            colon, _ = _behind_blanks(text, colon)
        value, slow = _behind_blanks(text, colon + 1)
        is_odd[event[slow]] = True
        is_string = text.take(value) == _QUOTE
        following = np.minimum(number + 1, len(self._opens) - 1)
        string_end = np.where(is_string, self._closes.take(following), -1)
        is_lost = is_string & (self._opens.take(following) != value)
        is_odd[event[is_lost]] = True
        return Keys(event, opens, closes, value, string_end, self._brackets.take(before))


def _behind_blanks(text: Bytes, at: Integers) -> tuple[Integers, Integers]:
    """The places behind the blanks there, and which of them have more blanks than are looked at."""
    at = at + _BLANKS.take(text.take(at))
    left = np.flatnonzero(_BLANKS.take(text.take(at)))
    for _ in range(_MAX_BLANKS):
        if not len(left):
            break
        at[left] += 1
        left = left[_BLANKS[text[at[left]]]]
    return at, left


def _before_blanks(text: Bytes, at: Integers) -> Bytes:
    """The bytes that stand before these places and the blanks before them."""
    found = text.take(at - 1)
    found = np.where(_BLANKS.take(found), text.take(at - 2), found)
    left = np.flatnonzero(_BLANKS.take(found))
    for distance in range(3, _MAX_BLANKS):
        if not len(left):
            break
        found[left] = text[at[left] - distance]
        left = left[_BLANKS[found[left]]]
    return found


def _escaped(text: Bytes, places: Integers, backslashes: Integers) -> Integers:
    """Which of the places are quotes with an odd number of backslashes before them."""
    quotes = backslashes[text[backslashes + 1] == _QUOTE] + 1
    if not len(quotes):
        return _EMPTY
    suspects = np.searchsorted(places, quotes)
    begins = np.flatnonzero(np.diff(backslashes, prepend=-2) != 1)
    last = np.searchsorted(backslashes, places[suspects] - 1)
    begin = begins[np.searchsorted(begins, last, side="right") - 1]
    escaped: Integers = suspects[(last - begin) % 2 == 0]
    return escaped


def _first(places: Integers, mask: Flags) -> int:
    """The first place where the mask is set, -1 if it is nowhere."""
    at = int(np.argmax(mask)) if len(mask) else 0
    return int(places[at]) if len(mask) and mask[at] else -1
