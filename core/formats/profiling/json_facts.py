"""Values out of small JSON objects by key: of the right type, or absent and told."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from ...files import shown_path
from ...findings import Problem
from ..json_stream import json_members
from ..json_window import Notes
from .cell_texts import NONE_WORDS

MAX_FILE_BYTES = 64 << 20
MAX_TEXT_CHARS = 4096
MAX_ITEMS = 100_000
_MAX_INT64 = 2**63 - 1


class Facts:
    """Members of one JSON object. Each getter gives None where there is no value; what is there but of
    another type is noted. where: stands before the key in a message."""

    def __init__(self, members: Any, notes: Notes, where: str = "", byte: int | None = None) -> None:
        self._notes = notes
        self._where = where
        self._byte = byte
        if not isinstance(members, Mapping):
            if members is not None:
                self._tell("", "is no object")
            members = {}
        self.members: Mapping[str, Any] = members

    def inner(self, key: str) -> Facts:
        """The object under a key, an empty one where there is none."""
        return Facts(self.members.get(key), self._notes, f"{self._where}{_shown(key)}: ", self._byte)

    def text(self, *keys: str) -> str:
        """A text, or a number as text; "" where there is none."""
        key, value = self._found(keys)
        if value is None or value == "":
            return ""
        if isinstance(value, str) or (isinstance(value, (int, Decimal)) and not isinstance(value, bool)):
            return _cut(value)
        if isinstance(value, float) and math.isfinite(value):
            return str(value)
        self._tell(key, "is no text")
        return ""

    def whole(self, *keys: str) -> int | None:
        """An integer of 64 bits, or a text that is one."""
        key, value = self._found(keys)
        if value is None:
            return None
        number = whole_of(value)
        if number is None:
            self._tell(key, "is no whole number")
        return number

    def number(self, *keys: str) -> float | None:
        """A finite number."""
        value = self.members.get(keys[0])
        if type(value) is Decimal and math.isfinite(number := float(value)):  # nearly all of them
            return number
        key, value = self._found(keys)
        if value is None:
            return None
        found = number_of(value)
        if found is None:
            self._tell(key, "is no number")
        return found

    def flag(self, *keys: str) -> bool | None:
        """true or false."""
        key, value = self._found(keys)
        if value is None or isinstance(value, bool):
            return value
        self._tell(key, "is neither true nor false")
        return None

    def wholes(self, *keys: str) -> tuple[int, ...]:
        """Whole numbers of a list, or of a text such as "0,1"; what is none is told."""
        key, value = self._found(keys)
        if value is None:
            return ()
        if isinstance(value, str):
            value = [part for part in value.split(",") if part.strip()]
        elif isinstance(value, int) and not isinstance(value, bool):
            value = [value]
        if not isinstance(value, list):
            self._tell(key, "is no list of numbers")
            return ()
        found = [whole_of(part) for part in value[:MAX_ITEMS]]
        if len(value) > MAX_ITEMS or None in found:
            self._tell(key, "has parts that are no whole numbers, or too many of them")
        return tuple(part for part in found if part is not None)

    def _found(self, keys: tuple[str, ...]) -> tuple[str, Any]:
        """The first of the spellings that is there; the writers' words for none are none."""
        key = next((key for key in keys if key in self.members), keys[0])
        value = self.members.get(key)
        is_none = isinstance(value, str) and value.strip().lower() in NONE_WORDS
        return key, None if is_none else value

    def _tell(self, key: str, what: str) -> None:
        message = f"{self._where}{_shown(key) + ' ' if key else ''}{what}; it counts as absent"
        self._notes.add("bad-record", message, self._byte)


def read_facts(path: Path, root: Path | None, problems: list[Problem]) -> tuple[Facts, Notes]:
    """The members of a small JSON file, as far as it is whole. Close the notes when they were looked at.

    Raises InputError: no JSON object, no regular file, outside `root`, more than 64 MB.
    """
    members: dict[str, Any] = {}
    for _, _, key, value in json_members(path, problems, root=root, max_bytes=MAX_FILE_BYTES):
        members[key] = value
    notes = Notes(shown_path(path, root), problems)
    return Facts(members, notes), notes


def whole_of(value: Any) -> int | None:
    """A JSON value as an integer of 64 bits."""
    if isinstance(value, str):
        text = value.strip()
        if len(text) > 20 or not text.removeprefix("-").isdecimal() or not text.isascii():
            return None
        value = int(text)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if -_MAX_INT64 <= value <= _MAX_INT64 else None


def number_of(value: Any) -> float | None:
    """A JSON number, finite, as float."""
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        return None
    try:
        number = float(value)
    except (OverflowError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _cut(value: object) -> str:
    """Text of bounded length. str of an integer of thousands of digits is refused by Python."""
    if isinstance(value, int) and abs(value) > _MAX_INT64:
        return ""
    return str(value)[:MAX_TEXT_CHARS]


def _shown(key: str) -> str:
    return repr(key if len(key) <= 200 else key[:199] + "…")
