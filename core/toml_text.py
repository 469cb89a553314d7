"""TOML that people write by hand: read whole, and where in it a key stands (tomllib keeps no positions)."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .errors import InputError
from .files import read_input
from .text import safe_text

Key = tuple[str, ...]
_AT = re.compile(r"\(at (?:line (\d+), column \d+|end of document)\)")
_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]#]+?)\s*\]")
_KEY = re.compile(r"""\s*((?:"[^"]*"|'[^']*'|[\w-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[\w-]+))*)\s*=""")
_QUOTES = re.compile(r'"""|\'\'\'')
_PART = re.compile(r""""([^"]*)"|'([^']*)'|([\w-]+)""")


def loads_toml(text: str) -> dict[str, Any]:
    """The tables of a text. ValueError for all that is none, also for what nests too deep."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        found: dict[str, Any] = tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    return found


def read_toml(
    path: Path, max_bytes: int, what: str, *, root: Path | None = None, hint: str | None = None
) -> tuple[dict[str, Any], str]:
    """The tables in a file, and its text. what: names it in messages ("a manifest").

    InputError: as `read_input`; with the line, no UTF-8, no TOML, a key that stands there twice.
    """
    raw = read_input(path, max_bytes, what, root=root, hint=hint)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InputError(f"{what} is UTF-8", path=path, line=line, hint=hint) from error
    return parse_toml(text, path, hint=hint), text


def parse_toml(text: str, path: Path | str, *, hint: str | None = None) -> dict[str, Any]:
    """The tables of a text. InputError with the line, as `read_toml`."""
    try:
        return loads_toml(text)
    except ValueError as error:  # also numbers and dates that Python refuses
        told = str(error)
    at = _AT.search(told)
    line = None if at is None else int(at[1] or len(text.rstrip().split("\n")))
    message = f"this is no TOML: {safe_text(_AT.sub('', told).strip(), 200)}"
    twice = _first_repeated(text)
    if twice is not None and twice[0] == line:
        message = f"{safe_text('.'.join(twice[1]), 120)}: stands here a second time"
    raise InputError(message, path=path, line=line, hint=hint)


def line_of(text: str, key: Key) -> int | None:
    """The line (from 1) on which a key or section stands, else that of the nearest one around it.

    Of tables in a list the first one with the key.
    """
    lines: dict[Key, int] = {}
    for line, found, _ in _places(text):
        for end in range(1, len(found) + 1):
            lines.setdefault(found[:end], line)
    return next((lines[key[:end]] for end in range(len(key), 0, -1) if key[:end] in lines), None)


def lines_of_list(text: str, name: str) -> list[dict[str, int]]:
    """Of each [[name]] the line of its keys; "": of its head."""
    found: list[dict[str, int]] = []
    for line, key, is_listed in _places(text):
        if key == (name,) and is_listed:
            found.append({"": line})
        elif key[0] == name and len(key) > 1 and found:
            found[-1].setdefault(key[1], line)
    return found


def _places(text: str) -> Iterator[tuple[int, Key, bool]]:
    """Every header and key with its line, and whether it begins a table of a list; what stands in texts of
    several lines is none."""
    section: Key = ()
    closing = ""
    for number, line in enumerate(text.split("\n"), 1):
        was_inside = bool(closing)
        for quotes in _QUOTES.findall(line):
            closing = "" if closing == quotes else closing or quotes
        if was_inside:
            continue
        if header := _HEADER.match(line):
            section = _parts(header[2])
            yield number, section, header[1] == "[["
        elif key := _KEY.match(line):
            yield number, (*section, *_parts(key[1])), False


def _first_repeated(text: str) -> tuple[int, Key] | None:
    """The first key or section that stands in the text a second time, with its line."""
    seen: set[Key] = set()
    for line, found, is_listed in _places(text):
        if is_listed:  # a table of its own, with keys of its own
            seen = {key for key in seen if key[: len(found)] != found}
        elif found in seen:
            return line, found
        seen.add(found)
    return None


def _parts(dotted: str) -> Key:
    return tuple(next(filter(None, found), "") for found in _PART.findall(dotted))
