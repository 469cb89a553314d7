"""How findings about operators are put into words: lists, counts, places, names in commands."""

from __future__ import annotations

import re
from collections.abc import Iterable

from npulse.core.findings import Location
from npulse.core.text import safe_text

from ..advice import Words, words
from ..profile import Profile
from .texts_top import TEXTS
from .top import Top
from .usable import line_of

_NAME_CHARS = 80
_KERNEL = re.compile(r"[A-Za-z0-9_]{1,120}")

NOTHING: Words = ("", "")


def filled(key: str, **values: object) -> Words:
    """A text of both languages; a value that is itself a pair (en, zh) is taken by language."""
    sides = [
        {name: value[lang] if isinstance(value, tuple) else value for name, value in values.items()}
        for lang in (0, 1)
    ]
    en, zh = TEXTS[key]
    return en.format(**sides[0]), zh.format(**sides[1])


def joined(parts: Iterable[Words]) -> Words:
    """A list in both languages."""
    listed = list(parts)
    return ", ".join(part[0] for part in listed), "、".join(part[1] for part in listed)


def count(key: str, n: int) -> Words:
    """ "1 row", "5 rows": `key` names the thing in the texts."""
    return words(TEXTS, f"{key}-one" if n == 1 else key, n=n)


def shown_name(label: str) -> str:
    """A name out of a file, safe to show."""
    return safe_text(label, _NAME_CHARS) or "?"


def kernel_name(label: str) -> str:
    """A name as the profiler of single kernels takes it, where it can stand in a command."""
    return f'"{label}*"' if _KERNEL.fullmatch(label) else "NAME"


def longest_row(top: Top, group: int) -> int:
    """The row of a group that took the most; below 0 for totals."""
    rows = top.rows_of(group)
    return int(rows[0]) if len(rows) else -1


def location_of(profile: Profile, row: int) -> Location:
    """Where a row stands in its file; of totals, the file that they are from."""
    table = profile.operators
    if table is None or row < 0:
        return Location(artifact=profile.sources.get("types"), rank=profile.rank)
    artifact = table.files[int(table.file[row])] if table.files else None
    return Location(artifact=artifact, rank=profile.rank, line=line_of(table, row))
