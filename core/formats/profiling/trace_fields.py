"""Columns out of a scanned block of trace JSON.

Common events are read by numpy from the places that the scan found. Events written in an uncommon way
(escaped keys, exponents, nested arguments) go through a parser, one by one, and fill the same rows.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .trace_blocks import (
    ARG_ABSENT,
    ARG_FLOAT,
    ARG_INT,
    ARG_TEXT,
    NO_CODE,
    ArgColumn,
    Codes,
    Counters,
    Events,
    Flows,
    TraceBlock,
)
from .trace_known import N_ID_WORDS, N_STRING_WORDS, Known, string_words, words_at
from .trace_numbers import NO_TIME, Bytes, Decimals, Flags, Integers, decimals_at, ns_of
from .trace_scan import Keys, Scan
from .trace_tables import Ids, Labels, Names
from .trace_values import (
    MAX_FLOW_DIGITS,
    NumberText,
    Tally,
    args_at,
    as_text,
    empty_args,
    float_of,
    flow_name,
    parse_event,
    take_arg,
)

MAX_EVENT_BYTES = 4 << 20
MAX_ID_CHARS = 400
MAX_STRING_BYTES = 8 * N_STRING_WORDS

_FIELDS = ("ph", "name", "pid", "tid", "ts", "dur", "cat", "id", "args")
_IS_FLOW = np.zeros(256, np.bool_)
_IS_FLOW[list(b"stf")] = True
_COUNTER, _METADATA = ord("C"), ord("M")
_IS_DIGIT = np.zeros(256, np.bool_)
_IS_DIGIT[list(b"0123456789")] = True
_QUOTE, _OPEN_BRACE = 34, 123
_WORDS = np.array([0, 0xFF, 0xFFFF, 0xFFFFFF, 0xFFFFFFFF], np.int64)  # the first n bytes of four


@dataclass(frozen=True, slots=True)
class BadElement:
    """An element that gave no row (is_dropped), or one without a time. at: its index in the block."""

    at: int
    kind: str
    message: str
    is_dropped: bool = True


class Columns:
    """Turns scans into blocks; tables of names grow from one to the next."""

    def __init__(self, args: Sequence[str]) -> None:
        self.labels = Labels()
        self.ids = Ids()
        self.names = Names(self.labels, self.ids)
        self.tally = Tally()
        self.known_labels = Known(N_STRING_WORDS + 1)
        self.known_ids = Known(N_ID_WORDS)
        self._args = tuple(dict.fromkeys(args))

    def block(
        self, block: bytes, found: Scan, first_byte: int, end_byte: int
    ) -> tuple[TraceBlock, list[BadElement]]:
        """The whole elements of a scan as columns, and those that are none.

        first_byte: of the block in the file. end_byte: behind the last of these elements.
        """
        rows = _Rows(block, found, self)
        rows.read_common()
        rows.read_odd()
        return rows.split(first_byte, end_byte), rows.bad

    @property
    def wanted(self) -> tuple[str, ...]:
        return self._args


class _Rows:
    """All elements of one block, whatever their phase."""

    def __init__(self, block: bytes, found: Scan, owner: Columns) -> None:
        self.block = block
        self.found = found
        self.owner = owner
        n = self.n = len(found.ends)
        self.phase = np.zeros(n, np.uint8)
        self.name = np.full(n, NO_CODE, np.int32)
        self.category = np.full(n, NO_CODE, np.int32)
        self.pid = np.full(n, NO_CODE, np.int32)
        self.tid = np.full(n, NO_CODE, np.int32)
        self.start_ns = np.full(n, NO_TIME, np.int64)
        self.duration_ns = np.full(n, NO_TIME, np.int64)
        self.id = np.full(n, NO_CODE, np.int64)
        self.id_texts: dict[int, str] = {}
        self.is_odd = found.is_odd | (found.ends - found.starts >= MAX_EVENT_BYTES)
        self.args = {name: empty_args(n) for name in owner.wanted}
        self.series: list[tuple[Integers, Integers, Any]] = []  # event, code, value of counters
        self.bad: list[BadElement] = []
        self.is_rounded = np.zeros(n, np.bool_)

    # ---- the common way ----

    def read_common(self) -> None:
        if not self.n:
            return
        places = self._fields()
        text = self.found.text
        phase_at, phase_end = places["ph"]
        is_char = (phase_at >= 0) & (phase_end == phase_at + 2)
        self.phase = np.where(is_char, text[phase_at + 1], 0).astype(np.uint8)
        self.is_odd |= (self.phase == _METADATA) | (self.phase <= 32) | (self.phase >= 127)
        is_flow = _IS_FLOW[self.phase]
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
            value, end = np.full(self.n, -1, np.int64), np.full(self.n, -1, np.int64)
            event = keys.event[mine]
            value[event] = keys.value[mine]  # of a key that is there twice the last one counts
            end[event] = keys.string_end[mine]
            found[name] = value, end
        return found

    def _slices(self, starts: Integers, ends: Integers) -> list[bytes]:
        block = self.block
        return [block[a:b] for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]

    def _read_labels(self, places: dict[str, tuple[Integers, Integers]], is_flow: Flags) -> None:
        for field_name, column in (("name", self.name), ("cat", self.category)):
            value, end = places[field_name]
            self.is_odd |= (value >= 0) & (end < 0)
            is_usable = (end >= 0) & ~self.is_odd
            if field_name == "name":
                at = np.flatnonzero(is_usable & is_flow)
                # the number at its end makes every arrow's name another one
                behind = _without_digits(self.found.text, value[at] + 1, end[at])
                is_escaped = _is_in_escape(self.found.text, behind)
                self.is_odd[at[is_escaped]] = True
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
        for name, codes in (("pid", self.pid), ("tid", self.tid)):
            value, _ = places[name]
            at = np.flatnonzero((value >= 0) & ~self.is_odd)
            these = words_at(text, value[at], N_ID_WORDS)
            codes[at], is_known = self.owner.known_ids.look_up(these)
            new = np.flatnonzero(~is_known)
            chosen.append(at[new])
            words.append([part[new] for part in these])
        for name in ("id", "ts", "dur"):
            is_chosen = (places[name][0] >= 0) & ~self.is_odd
            chosen.append(np.flatnonzero(is_chosen & is_flow if name == "id" else is_chosen))
        names = ("pid", "tid", "id", "ts", "dur")
        values = [places[name][0][at] for name, at in zip(names, chosen, strict=True)]
        read = decimals_at(text, np.concatenate(values))
        cuts = np.cumsum([0, *map(len, chosen)]).tolist()
        pid, tid, flow_id, ts, dur = (read.part(*cut) for cut in zip(cuts[:-1], cuts[1:], strict=True))
        self._take_ids(self.pid, chosen[0], pid, places["pid"], words[0])
        self._take_ids(self.tid, chosen[1], tid, places["tid"], words[1])
        self._take_flow_ids(chosen[2], flow_id, places["id"])
        self._take_times(self.start_ns, chosen[3], ts)
        self._take_times(self.duration_ns, chosen[4], dur)
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
            raw = self.block[value[i] + 1 : end[i]]
            if end[i] >= 0 and b"\\" not in raw and raw.isascii():
                codes[i] = self.owner.ids.code(raw.decode("ascii"))
            else:
                self.is_odd[i] = True
        # the end of a number must be among the bytes by which it is known
        is_short = is_whole & (read.length < 8 * N_ID_WORDS - 3) & (codes[at] != NO_CODE)
        short = np.flatnonzero(is_short)
        self.owner.known_ids.add([part[short] for part in words], codes[at[short]])

    def _take_flow_ids(self, at: Integers, read: Decimals, places: tuple[Integers, Integers]) -> None:
        value, end = places
        numbers, is_whole = read.whole()
        is_whole = is_whole & (numbers >= 0)
        self.id[at[is_whole]] = numbers[is_whole]
        for i in at[~is_whole].tolist():
            raw = self.block[value[i] + 1 : end[i]]
            if end[i] >= 0 and b"\\" not in raw and raw.isascii():
                self.id_texts[i] = raw.decode("ascii")[:MAX_ID_CHARS]
            else:
                self.is_odd[i] = True

    def _take_times(self, times: Integers, at: Integers, read: Decimals) -> None:
        times[at], is_read, is_rounded = read.thousandfold()
        self.is_odd[at[~is_read]] = True
        self.is_rounded[at] |= is_rounded

    def _read_args(self, args_at: Integers) -> None:
        text = self.found.text
        is_counter = self.phase == _COUNTER
        self.is_odd |= (args_at >= 0) & (text[args_at] != _OPEN_BRACE) & (is_counter | bool(self.args))
        if not self.args and not is_counter.any():
            return
        usable = ~self.is_odd if self.args else is_counter & ~self.is_odd
        inner = self.found.strings.inner_of(usable)
        self.is_odd |= self.found.is_odd  # of those keys that were looked at only now
        # behind a nested value of an argument nothing is taken from here
        is_plain = inner.parent == args_at[inner.event]
        self.is_odd[inner.event[~is_plain]] = True
        inner = inner.where(np.flatnonzero(is_plain & ~self.is_odd[inner.event]))
        if is_counter.any():
            self._read_counters(inner.where(np.flatnonzero(is_counter[inner.event])))
        for name, column in self.args.items():
            self._read_arg(name, column, inner)

    def _read_counters(self, keys: Keys) -> None:
        values, is_sure = decimals_at(self.found.text, keys.value).floats()
        self.is_odd[keys.event[~is_sure]] = True
        codes = self._labels_at(keys.opens + 1, keys.closes).astype(np.int64)
        pairs = keys.event << 32 | codes
        # of a series that is twice in one event the parser knows which one counts
        if len(np.unique(pairs)) < len(pairs):
            self.is_odd[keys.event[_is_repeated(pairs)]] = True
        self.series.append((keys.event, codes, values))

    def _read_arg(self, name: str, column: ArgColumn, inner: Keys) -> None:
        """One wanted argument of all elements that are not odd."""
        text = self.found.text
        spellings = {json.dumps(name, ensure_ascii=is_ascii)[1:-1] for is_ascii in (True, False)}
        mine = [_keys_named(text, inner, spelling.encode("utf-8", "replace")) for spelling in spellings]
        inner = inner.where(np.sort(np.concatenate(mine)))
        if len(inner.event) > 1:  # the argument twice in one element: the parser knows which one counts
            self.is_odd[inner.event[1:][inner.event[1:] == inner.event[:-1]]] = True
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
        self.is_odd[numbers.event[~is_whole & ~is_float]] = True

    # ---- one by one ----

    def read_odd(self) -> None:
        starts, ends = self.found.starts, self.found.ends
        # what was taken of one that turned out to be odd is read again
        self.series = [_without(part, self.is_odd) for part in self.series]
        for i in np.flatnonzero(self.is_odd).tolist():
            self._forget(i)
            if ends[i] - starts[i] >= MAX_EVENT_BYTES:
                self._bad(i, "too-large", f"an event of more than {MAX_EVENT_BYTES:,} bytes was left out")
                continue
            try:
                event = parse_event(self.block[starts[i] : ends[i] + 1])
            except RecursionError:
                self._bad(i, "too-deep", "nested too deeply to be read")
                continue
            except ValueError as error:
                self._bad(i, "bad-record", f"this is no JSON: {getattr(error, 'msg', error)}")
                continue
            if not isinstance(event, dict):
                self._bad(i, "bad-record", "this is no event")
                continue
            self._take(i, event)

    def _forget(self, i: int) -> None:
        for column in (self.name, self.category, self.pid, self.tid, self.id):
            column[i] = NO_CODE
        self.start_ns[i] = self.duration_ns[i] = NO_TIME
        self.is_rounded[i] = False
        self.id_texts.pop(i, None)
        for arg in self.args.values():
            arg.kind[i], arg.integers[i], arg.floats[i], arg.texts[i] = ARG_ABSENT, 0, np.nan, NO_CODE

    def _bad(self, i: int, kind: str, message: str) -> None:
        self.bad.append(BadElement(i, kind, message))
        self.phase[i] = 0

    def _take(self, i: int, event: dict[str, Any]) -> None:
        phase = event.get("ph")
        if not isinstance(phase, str) or len(phase) != 1 or not "!" <= phase <= "~":
            self._bad(i, "bad-record", "an event without a phase (ph) of one character")
            return
        self.phase[i] = ord(phase)
        if phase == "M":
            if not self.owner.names.add(event):
                self.bad.append(BadElement(i, "bad-record", "metadata that names nothing"))
                self.phase[i] = 0
            return
        labels, ids = self.owner.labels, self.owner.ids
        name = event.get("name")
        if name is not None:
            text = as_text(name)
            self.name[i] = labels.code(flow_name(text) if phase in "stf" else text)
        if (category := event.get("cat")) is not None:
            self.category[i] = labels.code(as_text(category))
        self.pid[i], self.tid[i] = ids.code(event.get("pid")), ids.code(event.get("tid"))
        self.start_ns[i] = self._time(i, event, "ts")
        self.duration_ns[i] = self._time(i, event, "dur")
        if phase in "stf":
            self._take_flow_id(i, event.get("id"))
        args = event.get("args")
        if not isinstance(args, dict):
            return
        for wanted, column in self.args.items():
            take_arg(i, args.get(wanted), wanted in args, column, labels)
        if phase == "C":
            self._take_counters(i, args)

    def _time(self, i: int, event: dict[str, Any], key: str) -> int:
        value = event.get(key)
        if value is None:
            return NO_TIME
        try:
            ns, is_rounded = ns_of(value)
        except ValueError as error:
            self.bad.append(BadElement(i, "bad-record", f"{key} is no time: {error}", False))
            return NO_TIME
        self.is_rounded[i] |= is_rounded
        self.owner.tally.is_time_text |= isinstance(value, str) and not isinstance(value, NumberText)
        return ns

    def _take_flow_id(self, i: int, value: Any) -> None:
        if value is None or isinstance(value, (dict, list)):
            return
        text = str(value)
        if text.isdecimal() and text.isascii() and len(text) <= 19 and int(text) < 2**63:
            self.id[i] = int(text)
        else:
            self.id_texts[i] = text[:MAX_ID_CHARS]

    def _take_counters(self, i: int, args: dict[str, Any]) -> None:
        for series, value in args.items():
            number = float_of(value)
            if number is None:
                self.owner.tally.n_bad_values += 1
                continue
            code = self.owner.labels.code(series)
            self.series.append((np.array([i]), np.array([code]), np.array([number])))

    # ---- the result ----

    def split(self, first_byte: int, end_byte: int) -> TraceBlock:
        tally = self.owner.tally
        for phase, n in enumerate(np.bincount(self.phase, minlength=1).tolist()):
            if n and phase:
                tally.n_by_phase[chr(phase)] += n
        tally.n_rounded += int(self.is_rounded.sum())
        byte = self.found.starts + first_byte
        is_flow = _IS_FLOW[self.phase]
        others = (self.phase != 0) & (self.phase != _METADATA) & (self.phase != _COUNTER) & ~is_flow
        at = np.flatnonzero(others)
        events = Events(
            self.name[at],
            self.category[at],
            self.pid[at],
            self.tid[at],
            self.phase[at],
            self.start_ns[at],
            self.duration_ns[at],
            byte[at],
            {name: args_at(column, at) for name, column in self.args.items()},
        )
        tally.add_events(events)
        flows = self._flows(np.flatnonzero(is_flow), byte)
        counters = self._counters(byte)
        tally.n_without_time += int((flows.at_ns == NO_TIME).sum() + (counters.at_ns == NO_TIME).sum())
        return TraceBlock(events, flows, counters, first_byte, end_byte)

    def _flows(self, at: Integers, byte: Integers) -> Flows:
        row_of = {i: row for row, i in enumerate(at.tolist())} if self.id_texts else {}
        texts = {row_of[i]: text for i, text in self.id_texts.items() if i in row_of}
        return Flows(
            self.name[at],
            self.category[at],
            self.pid[at],
            self.tid[at],
            self.phase[at],
            self.start_ns[at],
            self.id[at],
            texts,
            byte[at],
        )

    def _counters(self, byte: Integers) -> Counters:
        none = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float64))
        event, code, value = (np.concatenate(parts) for parts in zip(*(self.series or [none]), strict=True))
        order = np.argsort(event, kind="stable")
        at = event[order]
        return Counters(
            self.name[at],
            code[order].astype(np.int32),
            self.pid[at],
            self.tid[at],
            self.start_ns[at],
            value[order],
            byte[at],
        )


def _without(part: tuple[Integers, Integers, Any], is_odd: Flags) -> tuple[Integers, Integers, Any]:
    event, code, value = part
    kept = ~is_odd[event]
    return event[kept], code[kept], value[kept]


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
        mine = mine[text[keys.opens[mine] + 1 + offset] == byte]
    return mine
