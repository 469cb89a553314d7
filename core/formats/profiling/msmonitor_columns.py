"""Records of msMonitor in columns: blocks of parsed lines in, arrays out. No object stays for a line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .json_facts import whole_of
from .operator_columns import Growing
from .timeline import NONE, Codes, Integers, Tasks
from .trace_tables import Labels

Tell = Callable[[str, int], None]
"""A message about a line."""

_INTEGERS = ("start_ns", "end_ns", "device", "stream", "connection", "amount", "line")
_CODES = ("name", "kind", "data_type", "algorithm", "file")
TEXTS = ("name", "kind", "data_type", "algorithm")
COLUMNS = (*_INTEGERS, *_CODES)
NO_ROWS: Mapping[str, npt.NDArray[Any]] = {
    **{name: np.zeros(0, np.int64) for name in _INTEGERS},
    **{name: np.zeros(0, np.int32) for name in _CODES},
}


class TaskColumns:
    """Records of one sort (kernels, communication, calls). keys: our column -> key of the record.

    A record needs a name, a start and an end from 1970 on; without them it is left out, told and counted.
    Another value of a wrong type is absent and told.
    """

    def __init__(self, labels: Labels, keys: Mapping[str, str]) -> None:
        self.n_dropped = 0
        self.n_rows = 0
        self._labels = labels
        self._keys = keys
        self._columns = {
            **{name: Growing(np.int64, NONE) for name in _INTEGERS},
            **{name: Growing(np.int32, NONE) for name in _CODES},
        }

    def add(self, records: Sequence[dict[str, Any]], lines: Sequence[int], file: int, tell: Tell) -> None:
        """Records of one block, each with its line."""
        names = [record.get("name") for record in records]
        added: dict[str, npt.NDArray[Any]] = {"line": np.array(lines, np.int64)}
        is_kept = np.array([type(name) is str for name in names], np.bool_)
        for column, key in (("start_ns", "startNs"), ("end_ns", "endNs")):
            added[column], _ = _integers(records, key)
            is_kept &= added[column] >= 0
        for column in ("device", "stream", "connection", "amount"):
            added[column] = np.full(len(records), NONE, np.int64)
            if column in self._keys:
                key = self._keys[column]
                added[column], bad = _integers(records, key)
                for place in bad:
                    tell(f"{key} is no whole number; it counts as absent", lines[place])
        for place in np.flatnonzero(~is_kept).tolist():
            self.n_dropped += 1
            tell("a record without a name, a start or an end is left out", lines[place])
        added["name"] = self._codes(names)
        added["file"] = np.full(len(records), file, np.int32)
        for column in ("kind", "data_type", "algorithm"):
            if column in self._keys:
                added[column] = self._codes([record.get(self._keys[column]) for record in records])
            else:
                added[column] = np.full(len(records), NONE, np.int32)
        n_kept = int(is_kept.sum())
        for column, values in added.items():
            kept = values if n_kept == len(records) else values[is_kept]
            self._columns[column].add(kept, self.n_rows)
        self.n_rows += n_kept

    def _codes(self, texts: Sequence[Any]) -> Codes:
        code_of: dict[Any, int] = {}
        for text in dict.fromkeys(text for text in texts if type(text) is str):
            code_of[text] = self._labels.code(text)
        plain = [text if type(text) is str else None for text in texts]
        return np.fromiter((code_of.get(text, NONE) for text in plain), np.int32, len(texts))

    def lines(self) -> Integers:
        """The line of each record, rising; not a copy."""
        return self._columns["line"].values()

    def head(self, n: int) -> dict[str, npt.NDArray[Any]]:
        """Copies of the first n records, which are not kept any more."""
        first = {name: column.taken(0, n, is_last=False) for name, column in self._columns.items()}
        for column in self._columns.values():
            column.drop(n)
        self.n_rows -= n
        return first

    def codes(self) -> set[int]:
        """Codes of texts that some record has."""
        return {code for name in TEXTS for code in np.unique(self._columns[name].values()).tolist()} - {NONE}

    def recode(self, code_of: Codes, labels: Labels) -> None:
        """With other codes for the same texts; the last of `code_of` stands for absent."""
        self._labels = labels
        for name in TEXTS:
            self._columns[name].recode(code_of)

    def taken(self) -> dict[str, npt.NDArray[Any]]:
        """Copies of the columns, in the order in which the records came."""
        return {name: column.taken(0, self.n_rows, is_last=False) for name, column in self._columns.items()}


def tasks_of(columns: Mapping[str, npt.NDArray[Any]], texts: Sequence[str]) -> Tasks:
    """Columns as the records that analyses take."""
    return Tasks(
        start_ns=columns["start_ns"],
        duration_ns=columns["end_ns"] - columns["start_ns"],
        stream=columns["stream"],
        name=columns["name"],
        kind=columns["kind"],
        connection=columns["connection"],
        names=texts,
        kinds=texts,
    )


def _integers(records: Sequence[dict[str, Any]], key: str) -> tuple[Integers, list[int]]:
    """A value a record, NONE where there is none, and the places of those that are no integers of 64 bits."""
    values = [record.get(key, NONE) for record in records]
    if set(map(type, values)) <= {int}:
        try:
            return np.array(values, np.int64), []
        except OverflowError:
            pass
    found = np.full(len(values), NONE, np.int64)
    bad = []
    for place, value in enumerate(values):
        if value is None:
            continue
        number = whole_of(value)
        if number is None:
            bad.append(place)
        else:
            found[place] = number
    return found, bad
