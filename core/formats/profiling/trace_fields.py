"""Columns out of a scanned block of trace JSON.

Common events are read by numpy from the places that the scan found. Events written in an uncommon way
(escaped keys, exponents, nested arguments) go through a parser (`trace_odd`), and fill the same rows.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from .trace_blocks import (
    ARG_FLOAT,
    ARG_INT,
    ARG_TEXT,
    NO_CODE,
    ArgColumn,
    Codes,
    TraceBlock,
)
from .trace_elements import (
    COUNTER,
    IS_FLOW,
    METADATA,
    BadElement,
    Elements,
    Tables,
)
from .trace_known import N_ID_WORDS, N_STRING_WORDS, Known, string_words, words_at
from .trace_numbers import Bytes, Decimals, Flags, Integers, decimals_at
from .trace_odd import MAX_ID_CHARS, read_odd
from .trace_scan import Keys, Scan
from .trace_tables import Ids, Labels, Names
from .trace_values import (
    MAX_FLOW_DIGITS,
    Tally,
)

MAX_STRING_BYTES = 8 * N_STRING_WORDS

_FIELDS = ("ph", "name", "pid", "tid", "ts", "dur", "cat", "id", "args")
_IS_DIGIT = np.zeros(256, np.bool_)
_IS_DIGIT[list(b"0123456789")] = True
_QUOTE, _OPEN_BRACE = 34, 123
_WORDS = np.array([0, 0xFF, 0xFFFF, 0xFFFFFF, 0xFFFFFFFF], np.int64)  # the first n bytes of four


class Columns:
    """Turns scans into blocks; tables of names grow from one to the next."""

    def __init__(self, args: Sequence[str]) -> None:
        self.labels = Labels()
        self.ids = Ids()
        self.names = Names(self.labels, self.ids)
        self.tally = Tally()
        self.known_labels = Known(N_STRING_WORDS + 1)
        self.known_ids = Known(N_ID_WORDS)
        self.tables = Tables(self.labels, self.ids, self.names, self.tally)
        self._args = tuple(dict.fromkeys(args))

    def block(
        self, block: bytes, found: Scan, first_byte: int, end_byte: int
    ) -> tuple[TraceBlock, list[BadElement]]:
        """The whole elements of a scan as columns, and those that are none.

        first_byte: of the block in the file. end_byte: behind the last of these elements.
        """
        rows = Elements(block, found, self.tables, self._args)
        if rows.n:
            _Common(rows, self).read()
        read_odd(rows)
        return rows.split(first_byte, end_byte), rows.bad


class _Common:
    """Reads the elements of a block that are written as usual; marks the others as odd."""

    def __init__(self, rows: Elements, owner: Columns) -> None:
        self.rows = rows
        self.owner = owner
        self.found = rows.found

    def read(self) -> None:
        """All fields. There must be an element."""
        places = self._fields()
        text = self.found.text
        phase_at, phase_end = places["ph"]
        is_char = (phase_at >= 0) & (phase_end == phase_at + 2)
        self.rows.phase = np.where(is_char, text[phase_at + 1], 0).astype(np.uint8)
        self.rows.is_odd |= (self.rows.phase == METADATA) | (self.rows.phase <= 32) | (self.rows.phase >= 127)
        is_flow = IS_FLOW[self.rows.phase]
        self._read_labels(places, is_flow)
        self._read_numbers(places, is_flow)
        self._read_args(places["args"][0])

    def _fields(self) -> dict[str, tuple[Integers, Integers]]:
        """By field: where each element's value begins and, of a string, ends; -1 where there is none."""
        keys, text = self.found.keys, self.found.text
        length = keys.closes - keys.opens - 1
        words = np.ndarray((len(text) - 3,), "<u4", text, 0, (1,))[keys.opens + 1].astype(np.int64)
        words &= _WORDS[np.minimum(length, 4)]
        words |= length << 32
        found: dict[str, tuple[Integers, Integers]] = {}
        for name in _FIELDS:
            mine = np.flatnonzero(words == int.from_bytes(name.encode(), "little") | len(name) << 32)
            value, end = np.full(self.rows.n, -1, np.int64), np.full(self.rows.n, -1, np.int64)
            event = keys.event.take(mine)
            value[event] = keys.value.take(mine)  # of a key that is there twice the last one counts
            end[event] = keys.string_end.take(mine)
            found[name] = value, end
        return found

    def _slices(self, starts: Integers, ends: Integers) -> list[bytes]:
        block = self.rows.block
        return [block[a:b] for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]

    def _read_labels(self, places: dict[str, tuple[Integers, Integers]], is_flow: Flags) -> None:
        for field_name, column in (("name", self.rows.name), ("cat", self.rows.category)):
            value, end = places[field_name]
            self.rows.is_odd |= (value >= 0) & (end < 0)
            is_usable = (end >= 0) & ~self.rows.is_odd
            if field_name == "name":
                at = np.flatnonzero(is_usable & is_flow)
                # the number at its end makes every arrow's name another one
                behind = _without_digits(self.found.text, value[at] + 1, end[at])
                is_escaped = _is_in_escape(self.found.text, behind)
                self.rows.is_odd[at[is_escaped]] = True
                at, behind = at[~is_escaped], behind[~is_escaped]
                column[at] = self._labels_at(value[at] + 1, behind)
                is_usable &= ~is_flow
            at = np.flatnonzero(is_usable)
            column[at] = self._labels_at(value[at] + 1, end[at])

    def _labels_at(self, starts: Integers, ends: Integers) -> Codes:
        """The codes of the strings between these places."""
        owner, text = self.owner, self.found.text
        length = ends - starts
        words = string_words(text, starts, np.minimum(length, MAX_STRING_BYTES + 1))
        codes, is_known = owner.known_labels.look_up(words)
        is_known &= length <= MAX_STRING_BYTES
        new = np.flatnonzero(~is_known)
        if len(new):
            codes[new] = owner.labels.codes(self._slices(starts[new], ends[new]))
            short = new[(length[new] <= MAX_STRING_BYTES) & (codes[new] != NO_CODE)]
            owner.known_labels.add([part[short] for part in words], codes[short])
        return codes

    def _read_numbers(self, places: dict[str, tuple[Integers, Integers]], is_flow: Flags) -> None:
        """Ids and times, all of them together: each step has a price of its own."""
        text = self.found.text
        chosen: list[Integers] = []
        words: list[list[Any]] = []
        for name, codes in (("pid", self.rows.pid), ("tid", self.rows.tid)):
            value, _ = places[name]
            at = np.flatnonzero((value >= 0) & ~self.rows.is_odd)
            these = words_at(text, value[at], N_ID_WORDS)
            codes[at], is_known = self.owner.known_ids.look_up(these)
            new = np.flatnonzero(~is_known)
            chosen.append(at[new])
            words.append([part[new] for part in these])
        for name in ("id", "ts", "dur"):
            is_chosen = (places[name][0] >= 0) & ~self.rows.is_odd
            chosen.append(np.flatnonzero(is_chosen & is_flow if name == "id" else is_chosen))
        names = ("pid", "tid", "id", "ts", "dur")
        values = [places[name][0].take(at) for name, at in zip(names, chosen, strict=True)]
        read = decimals_at(text, np.concatenate(values))
        cuts = np.cumsum([0, *map(len, chosen)]).tolist()
        pid, tid, flow_id, ts, dur = (read.part(*cut) for cut in zip(cuts[:-1], cuts[1:], strict=True))
        self._take_ids(self.rows.pid, chosen[0], pid, places["pid"], words[0])
        self._take_ids(self.rows.tid, chosen[1], tid, places["tid"], words[1])
        self._take_flow_ids(chosen[2], flow_id, places["id"])
        self._take_times(self.rows.start_ns, chosen[3], ts)
        self._take_times(self.rows.duration_ns, chosen[4], dur)
        if len(chosen[3]) and not self.owner.tally.is_time_text:
            self.owner.tally.is_time_text = bool((text[values[3]] == _QUOTE).any())

    def _take_ids(
        self, codes: Codes, at: Integers, read: Decimals, places: tuple[Integers, Integers], words: list[Any]
    ) -> None:
        """Ids that were not known. words: their first bytes."""
        if not len(at):
            return
        value, end = places
        numbers, is_whole = read.whole()
        codes[at] = NO_CODE
        codes[at[is_whole]] = self.owner.ids.codes(numbers[is_whole])
        for i in at[~is_whole].tolist():
            raw = self.rows.block[value[i] + 1 : end[i]]
            if end[i] >= 0 and b"\\" not in raw and raw.isascii():
                codes[i] = self.owner.ids.code(raw.decode("ascii"))
            else:
                self.rows.is_odd[i] = True
        # the end of a number must be among the bytes by which it is known
        is_short = is_whole & (read.length < 8 * N_ID_WORDS - 3) & (codes[at] != NO_CODE)
        short = np.flatnonzero(is_short)
        self.owner.known_ids.add([part[short] for part in words], codes[at[short]])

    def _take_flow_ids(self, at: Integers, read: Decimals, places: tuple[Integers, Integers]) -> None:
        value, end = places
        numbers, is_whole = read.whole()
        is_whole = is_whole & (numbers >= 0)
        self.rows.id[at[is_whole]] = numbers[is_whole]
        for i in at[~is_whole].tolist():
            raw = self.rows.block[value[i] + 1 : end[i]]
            if end[i] >= 0 and b"\\" not in raw and raw.isascii():
                self.rows.id_texts[i] = raw.decode("ascii")[:MAX_ID_CHARS]
            else:
                self.rows.is_odd[i] = True

    def _take_times(self, times: Integers, at: Integers, read: Decimals) -> None:
        times[at], is_read, is_rounded = read.thousandfold()
        self.rows.is_odd[at[~is_read]] = True
        self.rows.is_rounded[at] |= is_rounded

    def _read_args(self, args_at: Integers) -> None:
        text = self.found.text
        is_counter = self.rows.phase == COUNTER
        is_wanted = is_counter | bool(self.rows.args)
        self.rows.is_odd |= (args_at >= 0) & (text[args_at] != _OPEN_BRACE) & is_wanted
        if not self.rows.args and not is_counter.any():
            return
        usable = ~self.rows.is_odd if self.rows.args else is_counter & ~self.rows.is_odd
        inner = self.found.strings.inner_of(usable)
        self.rows.is_odd |= self.found.is_odd  # of those keys that were looked at only now
        # behind a nested value of an argument nothing is taken from here
        is_plain = inner.parent == args_at[inner.event]
        self.rows.is_odd[inner.event[~is_plain]] = True
        inner = inner.where(np.flatnonzero(is_plain & ~self.rows.is_odd[inner.event]))
        if is_counter.any():
            self._read_counters(inner.where(np.flatnonzero(is_counter[inner.event])))
        for name, column in self.rows.args.items():
            self._read_arg(name, column, inner)

    def _read_counters(self, keys: Keys) -> None:
        values, is_sure = decimals_at(self.found.text, keys.value).floats()
        self.rows.is_odd[keys.event[~is_sure]] = True
        codes = self._labels_at(keys.opens + 1, keys.closes).astype(np.int64)
        pairs = keys.event << 32 | codes
        # of a series that is twice in one event the parser knows which one counts
        if len(np.unique(pairs)) < len(pairs):
            self.rows.is_odd[keys.event[_is_repeated(pairs)]] = True
        self.rows.series.append((keys.event, codes, values))

    def _read_arg(self, name: str, column: ArgColumn, inner: Keys) -> None:
        """One wanted argument of all elements that are not odd."""
        text = self.found.text
        spellings = {json.dumps(name, ensure_ascii=is_ascii)[1:-1] for is_ascii in (True, False)}
        mine = [_keys_named(text, inner, spelling.encode("utf-8", "replace")) for spelling in spellings]
        inner = inner.where(np.sort(np.concatenate(mine)))
        if len(inner.event) > 1:  # the argument twice in one element: the parser knows which one counts
            self.rows.is_odd[inner.event[1:][inner.event[1:] == inner.event[:-1]]] = True
        is_string = inner.string_end >= 0
        strings, numbers = inner.where(is_string), inner.where(~is_string)
        column.kind[strings.event] = ARG_TEXT
        column.texts[strings.event] = self._labels_at(strings.value + 1, strings.string_end)
        read = decimals_at(text, numbers.value)
        whole, is_whole = read.whole()
        floats, is_sure = read.floats()
        is_float = is_sure & ~is_whole
        column.kind[numbers.event[is_whole]] = ARG_INT
        column.integers[numbers.event[is_whole]] = whole[is_whole]
        column.floats[numbers.event[is_whole]] = whole[is_whole]
        column.kind[numbers.event[is_float]] = ARG_FLOAT
        column.floats[numbers.event[is_float]] = floats[is_float]
        self.rows.is_odd[numbers.event[~is_whole & ~is_float]] = True


def _without_digits(text: Bytes, starts: Integers, ends: Integers) -> Integers:
    """Where these strings end without the digits at their end."""
    ends = ends.copy()
    left = np.flatnonzero((ends > starts) & _IS_DIGIT[text[ends - 1]])
    for _ in range(MAX_FLOW_DIGITS):
        if not len(left):
            break
        ends[left] -= 1
        left = left[(ends[left] > starts[left]) & _IS_DIGIT[text[ends[left] - 1]]]
    return ends


def _is_in_escape(text: Bytes, ends: Integers) -> Flags:
    """Where a backslash is so near that the digits behind may be part of an escaped character."""
    found = np.zeros(len(ends), np.bool_)
    for distance in range(1, 6):
        found |= text[ends - distance] == 92
    return found


def _is_repeated(values: Integers) -> Flags:
    """Where a value stands that stands elsewhere too."""
    _, inverse, count = np.unique(values, return_inverse=True, return_counts=True)
    mask: Flags = count[inverse] > 1
    return mask


def _keys_named(text: Any, keys: Keys, name: bytes) -> Integers:
    """Which keys are written so."""
    mine = np.flatnonzero(keys.closes - keys.opens - 1 == len(name))
    for offset, byte in enumerate(name):
        mine = mine[text.take(keys.opens.take(mine) + (1 + offset)) == byte]
    return mine
