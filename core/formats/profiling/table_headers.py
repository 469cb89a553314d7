"""What the columns of a table hold: what its header says, and where that says nothing its first rows."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ...text import safe_text
from .cell_texts import NONE_WORDS
from .columns import BY_NAME, NO_PLACE, UNITS, Layout, OperatorColumn, header_key
from .columns import Kind as StoredKind
from .operator_columns import ColumnStore

Kind = Literal["text", "int", "float", "time"]
"""What is asked for. "time": exact nanoseconds, of microseconds unless the header has another unit."""
MAX_COLUMNS = 4096
"""Iterations have two columns for each of their reductions."""

_MAX_NAME_CHARS = 120
_SAMPLE_BYTES = 1 << 16
_SAMPLE_ROWS = 200
_UNIT = re.compile(r"\(([^()]{1,12})\)$")
_INTEGER = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,3})?", re.ASCII | re.IGNORECASE)
_ALL_UNITS: Mapping[str, str] = {
    **UNITS,
    **{"μs": "us", "µs": "us", "s": "s"},
    **{"b": "bytes", "byte": "bytes", "bytes": "bytes", "gb": "gb"},
    **{"pages": "pages", "mhz": "mhz"},
}
_TEXT_SHARE = 0.05
"""A column without a unit holds texts if so many of its cells are no numbers; fewer are damaged ones."""
_TIMES = ("us", "ms", "s", "ns")
_TEXT_ENDS = ("name", "names", "type", "component", "message", "reason", "shapes")
_STORED: Mapping[str, StoredKind] = {"text": "text", "int": "int", "float": "number", "time": "ns"}


def name_and_unit(header: str) -> tuple[str, str]:
    """A header as names are compared, without its unit, and that unit: 'Size (KB)' -> ('size', 'kb')."""
    key = header_key(header)
    found = _UNIT.search(key)
    unit = _ALL_UNITS.get(found[1], "") if found else ""
    return (key[: found.start()] if found and unit else key), unit


@dataclass(slots=True)
class Plan:
    """Which column of a file is read as what.

    kinds: by `header_key` of their spellings. headers: as written, by place, once there is a layout. missing:
    what a header lacks that was refused for it.
    """

    kinds: Mapping[str, Kind]
    others: Kind | None = None
    needed: tuple[tuple[str, ...], ...] = ()
    is_ragged: bool = False
    headers: tuple[str, ...] = ()
    missing: str = ""
    _samples: list[list[str]] = field(default_factory=list)
    _learned: dict[int, Kind] = field(default_factory=dict)
    _place_of: dict[str, int] = field(default_factory=dict)
    _asked: dict[int, Kind] = field(default_factory=dict)

    def look_at(self, raw: bytes) -> None:
        """The first lines, from which is seen what undeclared columns hold."""
        lines = raw[:_SAMPLE_BYTES].decode("utf-8", "replace").split("\n")[: _SAMPLE_ROWS + 1]
        self._samples = []
        try:
            for row in csv.reader(f"{line}\n" for line in lines[:-1]):
                if any(cell.strip() for cell in row):
                    self._samples.append(row)
        except csv.Error:  # a cell of more than 128 KB, a NUL: what was read before it has to do
            pass

    def layout_of(self, cells: Sequence[str]) -> Layout | None:
        """What a first row says as a header, None if it is none or lacks what is needed."""
        if not 2 <= len(cells) <= MAX_COLUMNS or not _is_header(cells):
            return None
        names = [name_and_unit(cell)[0] for cell in cells]
        spelled = {*names, *map(header_key, cells)}
        for group in self.needed:
            if not any(header_key(spelling) in spelled for spelling in group):
                self.missing = f"the header has no column {group[0]}"
                return None
        self.headers = tuple(safe_text(cell.strip(), _MAX_NAME_CHARS) for cell in cells)
        self._asked, self._place_of = {}, {}
        columns = []
        for place, cell in enumerate(cells):
            kind = self._asked[place] = self._kind(place, cell)
            stored = "text" if self.is_scaled_time(place) else self._stored(place, kind)
            unique = self._unique(place)
            self._place_of[unique] = place
            spellings = (header_key(cell),) if cell.strip() else ()
            columns.append((place, OperatorColumn(unique, stored, "", ("", ""), spellings)))
        n_named = max(place for place, cell in enumerate(cells) if cell.strip()) + 1
        declared = [place for place, cell in enumerate(cells) if self._declared(cell)]
        n_least = n_named
        if self.is_ragged:
            n_least = 2
        elif self.others is not None and declared:
            n_least = max(2, declared[-1] + 1)
        return Layout(
            len(cells),
            tuple(columns),
            NO_PLACE,
            n_least=min(n_least, n_named),
            is_cut=self.is_ragged,
            n_named=n_named,
        )

    def is_scaled_time(self, place: int) -> bool:
        """True for times that are not in microseconds: they are read as texts and converted once each."""
        return self._asked[place] == "time" and name_and_unit(self.headers[place])[1] in ("ms", "s")

    def learn(self, store: ColumnStore) -> bool:
        """After a pass: columns that do not hold what the first rows said. True: it is to be read again."""
        is_wrong = False
        for name, cells in store.unread.items():
            place = self._place_of[name]
            asked, header = self._asked[place], self.headers[place]
            if asked not in ("int", "float") or self.others or self._declared(header):
                continue
            n_unread, n_numbers = store.shares(name)
            share = 0.5 if name_and_unit(header)[1] else _TEXT_SHARE
            if asked == "int" and _NUMBER.fullmatch(cells.text):
                self._learned[place] = "float"
            elif n_unread > share * (n_unread + n_numbers):
                self._learned[place] = "text"
            else:
                continue
            is_wrong = True
        return is_wrong

    def _unique(self, place: int) -> str:
        header = self.headers[place]
        if header and header not in BY_NAME and header not in self._place_of:
            return header
        unique = f"{header} (column {place + 1})".lstrip()
        while unique in self._place_of:
            unique += "'"
        return unique

    def _stored(self, place: int, kind: Kind) -> StoredKind:
        is_ns = kind == "time" and name_and_unit(self.headers[place])[1] == "ns"
        return "int" if is_ns else _STORED[kind]

    def _declared(self, header: str) -> Kind | None:
        """What was said of this column, None if nothing was."""
        return self.kinds.get(header_key(header)) or self.kinds.get(name_and_unit(header)[0])

    def _kind(self, place: int, cell: str) -> Kind:
        if (declared := self._declared(cell) or self.others) is not None:
            return declared
        if place in self._learned:
            return self._learned[place]
        name, unit = name_and_unit(cell)
        if unit in _TIMES:
            return "time"
        if name.endswith(_TEXT_ENDS):
            return "text"
        seen = [row[place].strip() for row in self._samples[1:] if place < len(row)]
        seen = [text for text in seen if text.lower() not in NONE_WORDS]
        numbers = [text for text in seen if _NUMBER.fullmatch(text)]
        if 2 * len(numbers) < len(seen):
            return "text"
        is_whole = not unit and numbers and all(_INTEGER.fullmatch(text) for text in numbers)
        return "int" if is_whole else "float"


def _is_header(cells: Sequence[str]) -> bool:
    """True if these can be names of columns: no control characters, and words rather than numbers."""
    texts = [cell.strip() for cell in cells if cell.strip()]
    if any(not text.isprintable() or "\ufffd" in text for text in texts):
        return False
    n_words = sum(any(char.isalpha() for char in text) and text[0] not in "{[" for text in texts)
    return n_words >= 1 and 2 * n_words > len(texts)
