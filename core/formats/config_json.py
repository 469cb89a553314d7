"""Small JSON files that people write: every value with the place where it stands, and keys that stand twice.

For the configurations of tools. A parser that forgets lines can say that something is wrong, not where.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from npulse.core.dataclass import dataclass

from ..errors import InputError
from ..files import open_input
from .encodings import line_text, utf16_decoder, without_mark
from .json_parts import any_int

MAX_TEXT_BYTES = 4 << 20
MAX_VALUES = 200_000
MAX_DEPTH = 100

_BLANKS = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORDS: Mapping[str, Any] = {
    **{"true": True, "false": False, "null": None},
    **{"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")},
}

_decoder: Any = json.JSONDecoder()  # its own scanner of strings says where they end

JsonPath = tuple[str | int, ...]
"""Keys and list indices from the root: ("dump", "dump_list", 0, "layer")."""


@dataclass(frozen=True, slots=True)
class Place:
    """Line and column, both from 1. Of a member: of its key."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class ConfigJson:
    """A JSON text and where everything in it stands.

    places: of members their keys, of list items the items. repeated: members that stand twice; the last one
    counts, as it does for the tools. Texts hold no half surrogate pairs: they are '?'.
    """

    path: Path
    value: Any
    places: Mapping[JsonPath, Place]
    repeated: tuple[tuple[JsonPath, Place], ...] = ()


def read_config_json(path: Path, *, root: Path | None = None) -> ConfigJson:
    """The JSON in `path` (UTF-8 with or without mark, UTF-16, GBK).

    Raises InputError: no such file, a link out of `root`, more than 4 MB or 200,000 values, nested deeper
    than 100, no JSON (with its line).
    """
    return parse_config_json(text_of(path, root, MAX_TEXT_BYTES), path)


def text_of(path: Path, root: Path | None, max_bytes: int) -> str:
    """The whole text of a file, whatever its encoding, lines ending in LF. A line may be of any length.

    InputError: as read_config_json.
    """
    file, _ = open_input(path, root)
    with file:
        parts = []
        left = max_bytes + 1
        while left and (part := file.read(left)):
            parts.append(part)
            left -= len(part)
    if not left:
        hint = "a configuration is a small file: is it the right one?"
        raise InputError(f"the file is larger than {max_bytes:,} bytes", path=path, hint=hint)
    raw, encoding = without_mark(b"".join(parts))
    decoder = utf16_decoder(encoding)
    text = decoder.decode(raw, True) if decoder is not None else line_text(raw, is_among_gbk=False)[0]
    return text.replace("\r\n", "\n").replace("\r", "\n")


def parse_config_json(text: str, path: Path) -> ConfigJson:
    """The same of a text. Raises InputError as read_config_json."""
    parser = _Parser(text, path)
    value = parser.value(parser.skip(0), (), 0)
    end = parser.skip(parser.end)
    if end != len(text):
        raise parser.error("there is text behind the end of the JSON", end)
    return ConfigJson(path, value, parser.places, tuple(parser.repeated))


class _Parser:
    """Recursive descent; `end` is the index behind the value that was parsed last."""

    def __init__(self, text: str, path: Path) -> None:
        self.text = text
        self.path = path
        self.end = 0
        self.places: dict[JsonPath, Place] = {}
        self.repeated: list[tuple[JsonPath, Place]] = []
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._n = 0

    def skip(self, at: int) -> int:
        match = _BLANKS.match(self.text, at)
        return at if match is None else match.end()

    def place(self, at: int) -> Place:
        line = bisect_right(self._starts, at)
        return Place(line, at - self._starts[line - 1] + 1)

    def error(self, message: str, at: int) -> InputError:
        place = self.place(min(at, len(self.text)))
        what = f"this is no JSON: {message} (column {place.column})"
        return InputError(what, path=self.path, line=place.line, hint=_hint(self.text, at))

    def value(self, at: int, path: JsonPath, depth: int) -> Any:
        self._n += 1
        if self._n > MAX_VALUES:
            raise InputError(f"more than {MAX_VALUES:,} values", path=self.path, line=self.place(at).line)
        if depth > MAX_DEPTH:
            hint = f"no tool takes more than {MAX_DEPTH} levels"
            raise InputError("this JSON is too deep", path=self.path, line=self.place(at).line, hint=hint)
        first = self.text[at : at + 1]
        if first == '"':
            return self._string(at)
        if first == "{":
            return self._object(at, path, depth)
        if first == "[":
            return self._list(at, path, depth)
        return self._plain(at)

    def _string(self, at: int) -> str:
        try:
            found, self.end = _decoder.parse_string(self.text, at + 1, True)
        except json.JSONDecodeError as error:
            raise self.error(error.msg, error.pos) from None
        return clean(found)

    def _plain(self, at: int) -> Any:
        for word, value in _WORDS.items():
            if self.text.startswith(word, at):
                self.end = at + len(word)
                return value
        match = _NUMBER.match(self.text, at)
        if match is None:
            raise self.error("a value is expected here", at)
        self.end = match.end()
        return any_int(match[0]) if match[1] is None and match[2] is None else float(match[0])

    def _object(self, at: int, path: JsonPath, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        at = self.skip(at + 1)
        if self.text[at : at + 1] == "}":
            self.end = at + 1
            return found
        while True:
            if self.text[at : at + 1] != '"':
                raise self.error("a key in double quotes is expected here", at)
            place = self.place(at)
            key = self._string(at)
            at = self.skip(self.end)
            if self.text[at : at + 1] != ":":
                raise self.error("':' is expected here", at)
            inner = (*path, key)
            if key in found:
                self.repeated.append((inner, place))
            self.places[inner] = place
            found[key] = self.value(self.skip(at + 1), inner, depth + 1)
            at = self._next(self.end, "}")
            if at < 0:
                return found

    def _list(self, at: int, path: JsonPath, depth: int) -> list[Any]:
        found: list[Any] = []
        at = self.skip(at + 1)
        if self.text[at : at + 1] == "]":
            self.end = at + 1
            return found
        while True:
            inner = (*path, len(found))
            self.places[inner] = self.place(at)
            found.append(self.value(at, inner, depth + 1))
            at = self._next(self.end, "]")
            if at < 0:
                return found

    def _next(self, at: int, closing: str) -> int:
        """Where the next member or item begins; -1 behind the last one."""
        at = self.skip(at)
        if self.text[at : at + 1] == closing:
            self.end = at + 1
            return -1
        if self.text[at : at + 1] != ",":
            raise self.error(f"',' or '{closing}' is expected here", at)
        return self.skip(at + 1)


def clean(text: str) -> str:
    """Text that can be encoded: half a surrogate pair, which only an escape can make, becomes '?'."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _hint(text: str, at: int) -> str:
    near = text[at : at + 2]
    if near.startswith(("//", "/*", "#")):
        return "JSON has no comments: remove them"
    if near.startswith(("}", "]")):
        return "a comma stands in front of this bracket: remove it"
    if near.startswith("'"):
        return "JSON has double quotes only"
    if near.startswith(("True", "Fals", "None")) or text[at : at + 4] in ("True", "None"):
        return "JSON writes true, false and null"
    return "python3 -m json.tool FILE shows where it breaks"
