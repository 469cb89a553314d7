"""msprobe's mapping files, written: each kind as `mapping` reads it, a line an entry."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from .mapping import COMMENT, ApiEntry

_SIDES = ("ms", "pt")


def renamed_lines(pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    """A data or cell mapping: (target, golden). Keys are unique: the first of a target counts."""
    seen: set[str] = set()
    for target, golden in pairs:
        if target not in seen:
            seen.add(target)
            yield f"{_quoted(target)}: {_quoted(golden)}\n"


def api_lines(entries: Iterable[ApiEntry]) -> Iterator[str]:
    """An api mapping; positions are numbers, as msprobe has them."""
    for entry in entries:
        fields = [
            f"{side}_api: {_quoted(name)}"
            for side, name in zip(_SIDES, (entry.target, entry.golden), strict=True)
        ]
        for name, pairs in entry.lists.items():
            for side, places in zip(_SIDES, zip(*pairs, strict=True), strict=True):
                fields.append(f"{side}_{name}: [{', '.join(_place(place) for place in places)}]")
        yield f"- {{{', '.join(fields)}}}\n"


def group_line(target: Sequence[str], golden: Sequence[str]) -> str:
    """Calls that stand against each other as one, or alone where a side is empty: a comment of ours."""
    return f"{COMMENT}{json.dumps([list(target), list(golden)])}\n"


def _quoted(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)  # YAML knows no pairs of half surrogates


def _place(place: str) -> str:
    return place if place.isascii() and place.isdigit() else _quoted(place)
