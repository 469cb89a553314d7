"""Texts and ids of a trace, each kept once and named by a code; names of processes and threads."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from .trace_blocks import NO_CODE, Codes, Id, TraceNames
from .trace_numbers import Integers

MAX_LABEL_BYTES = 1 << 26
MAX_LABEL_CHARS = 4096
MAX_IDS = 1_000_000

_OVERHEAD_BYTES = 150  # what a text costs beside its characters
_PLAIN_INTEGER = re.compile(r"-?\d{1,39}", re.ASCII)


class Labels:
    """Texts by code. Bytes as they stand in the file are kept too, so that they need no second look."""

    def __init__(self, max_bytes: int = MAX_LABEL_BYTES) -> None:
        self.texts: list[str] = []
        self.is_full = False
        self.has_bad_bytes = False
        self.has_long = False
        self._code_of: dict[str, int] = {}
        self._code_of_raw: dict[bytes, int] = {}
        self._n_left = max_bytes

    def codes(self, raws: Sequence[bytes]) -> Codes:
        """The code of each string, given as it stands between quotes. NO_CODE once the table is full."""
        found = list(map(self._code_of_raw.get, raws))
        if None in found:
            for i, code in enumerate(found):
                if code is None:
                    found[i] = self._add_raw(raws[i])
        return np.array(found, np.int32)

    def code(self, text: str) -> int:
        """The code of a text; NO_CODE if it is new and the table is full."""
        if len(text) > MAX_LABEL_CHARS:
            text = text[: MAX_LABEL_CHARS - 1] + "\N{HORIZONTAL ELLIPSIS}"
            self.has_long = True
        code = self._code_of.get(text)
        if code is None:
            if not self._takes(len(text)):
                return NO_CODE
            code = self._code_of[text] = len(self.texts)
            self.texts.append(text)
        return code

    def _add_raw(self, raw: bytes) -> int:
        known = self._code_of_raw.get(raw)
        if known is not None:  # added a moment ago
            return known
        code = self.code(self._decoded(raw))
        if code != NO_CODE and len(raw) <= MAX_LABEL_CHARS and self._takes(len(raw)):
            self._code_of_raw[raw] = code
        return code

    def _takes(self, n_bytes: int) -> bool:
        self._n_left -= n_bytes + _OVERHEAD_BYTES
        self.is_full |= self._n_left < 0
        return not self.is_full

    def _decoded(self, raw: bytes) -> str:
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError:
            self.has_bad_bytes = True
            text = raw.decode("utf-8", "replace")
        if "\\" not in text:
            return text
        try:
            value = json.loads(f'"{text}"', strict=False)
        except ValueError:  # a broken escape: what is there is shown
            return text
        return str(value)


class Ids:
    """Process and thread ids by code: 5 and "5" are one."""

    def __init__(self) -> None:
        self.values: list[Id] = []
        self.is_full = False
        self._code_of: dict[Id, int] = {}
        self._known: Integers = np.zeros(0, np.int64)  # integers, sorted, and their codes
        self._known_codes: Codes = np.zeros(0, np.int32)

    def codes(self, values: Integers) -> Codes:
        """The code of each number."""
        if not len(values):
            return np.zeros(0, np.int32)
        place = np.searchsorted(self._known, values)
        if len(self._known):
            place = np.minimum(place, len(self._known) - 1)
            if (self._known[place] == values).all():
                return self._known_codes[place]
        distinct = np.unique(values)
        new = distinct[~np.isin(distinct, self._known, assume_unique=True)]
        codes = np.array([self.code(value) for value in new.tolist()], np.int32)
        if not self.is_full:
            known = np.concatenate([self._known, new])
            order = np.argsort(known, kind="stable")
            self._known, self._known_codes = known[order], np.concatenate([self._known_codes, codes])[order]
            return self._known_codes[np.searchsorted(self._known, values)]
        return np.array([self._code_of.get(value, NO_CODE) for value in values.tolist()], np.int32)

    def code(self, value: Any) -> int:
        """The code of an id of any type; NO_CODE for none."""
        key: Id
        if isinstance(value, int) and not isinstance(value, bool):
            key = value if abs(value) < 10**39 else str(value)[:40]
        elif isinstance(value, str):
            text = str(value)[:MAX_LABEL_CHARS]
            key = int(text) if _PLAIN_INTEGER.fullmatch(text) else text
        elif value is None or isinstance(value, (dict, list)):
            return NO_CODE
        else:
            key = str(value)
        code = self._code_of.get(key)
        if code is None:
            if len(self.values) >= MAX_IDS:
                self.is_full = True
                return NO_CODE
            code = self._code_of[key] = len(self.values)
            self.values.append(key)
        return code


class Names:
    """What metadata events say. They come anywhere, and often more than once."""

    def __init__(self, labels: Labels, ids: Ids) -> None:
        self._labels = labels
        self._ids = ids
        self._process_names: dict[int, str] = {}
        self._process_labels: dict[int, str] = {}
        self._process_sort: dict[int, int] = {}
        self._thread_names: dict[tuple[int, int], str] = {}
        self._thread_sort: dict[tuple[int, int], int] = {}
        self._n_repeated = 0
        self._n_changed = 0

    def add(self, event: dict[str, Any]) -> bool:
        """Take one metadata event; False if it says nothing that can be used."""
        kind, args = event.get("name"), event.get("args")
        pid = self._ids.code(event.get("pid"))
        if not isinstance(args, dict) or pid == NO_CODE:
            return False
        thread = (pid, self._ids.code(event.get("tid")))
        if kind == "process_name":
            return self._set(self._process_names, pid, _text(args.get("name")))
        if kind == "process_labels":
            return self._set(self._process_labels, pid, _text(args.get("labels")))
        if kind == "process_sort_index":
            return self._set(self._process_sort, pid, _integer(args.get("sort_index")))
        if kind == "thread_name":
            return self._set(self._thread_names, thread, _text(args.get("name")))
        if kind == "thread_sort_index":
            return self._set(self._thread_sort, thread, _integer(args.get("sort_index")))
        return isinstance(kind, str)  # another tool's own

    def _set(self, table: dict[Any, Any], key: Any, value: Any) -> bool:
        if value is None or (key not in table and len(table) >= MAX_IDS):
            return False
        if key in table:
            self._n_repeated += table[key] == value
            self._n_changed += table[key] != value
        table[key] = value
        return True

    def snapshot(self) -> TraceNames:
        """Names as they are known now; the tables are not copied and grow on."""
        return TraceNames(
            labels=self._labels.texts,
            ids=self._ids.values,
            process_names=self._process_names,
            process_labels=self._process_labels,
            process_sort=self._process_sort,
            thread_names=self._thread_names,
            thread_sort=self._thread_sort,
            n_repeated=self._n_repeated,
            n_changed=self._n_changed,
        )


def _text(value: Any) -> str | None:
    return value[:MAX_LABEL_CHARS] if isinstance(value, str) else None


def _integer(value: Any) -> int | None:
    if isinstance(value, str) and _PLAIN_INTEGER.fullmatch(value):
        value = int(value)
    is_small = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
    return value if is_small else None
