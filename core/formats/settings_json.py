"""A small JSON file of settings as keys and values, whatever they mean: to compare two of them key by key."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..files import read_input

MAX_BYTES = 1 << 20
MAX_KEYS = 5_000
MAX_DEPTH = 32
MAX_VALUE = 4_000


def read_settings_json(path: Path, *, root: Path | None = None) -> Mapping[str, str]:
    """Key paths ("statistics.list", "dump.dump_list[0].layer") to values as JSON has them, texts bare.

    A list of plain values is one value. Raises InputError: no JSON object, more than a megabyte or 5,000
    keys, outside `root`.
    """
    raw = read_input(path, MAX_BYTES, "a file of settings", root=root)
    try:
        found = json.loads(raw.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"this is no JSON: {error}", path=path) from error
    if not isinstance(found, dict):
        raise InputError("this is no JSON object", path=path)
    settings: dict[str, str] = {}
    for key, value in flattened(found):
        if len(settings) >= MAX_KEYS:
            raise InputError(f"more than {MAX_KEYS:,} keys are not read", path=path)
        settings[key] = value
    return settings


def flattened(value: Any, key: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """The leaves of nested tables and lists, each with its key path. An empty table is a leaf; what lies
    deeper than 32 levels is one text."""
    if isinstance(value, Mapping) and value and depth < MAX_DEPTH:
        for name, inner in value.items():
            yield from flattened(inner, f"{key}.{name}" if key else str(name), depth + 1)
    elif isinstance(value, list) and any(isinstance(one, dict | list) for one in value) and depth < MAX_DEPTH:
        for place, inner in enumerate(value):
            yield from flattened(inner, f"{key}[{place}]", depth + 1)
    else:
        yield key, _text(value)[:MAX_VALUE]


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        pass
    try:
        return str(value)  # a date of TOML
    except ValueError:  # a whole number of thousands of digits, written in base 16
        return "?"
