"""Text from files made safe to show, and texts of our own in the user's language."""

from __future__ import annotations

import re
import time
import unicodedata
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, Literal

Lang = Literal["en", "zh"]

UNSAFE_CODES = (
    *range(0x20),
    *range(0x7F, 0xA0),
    *(0xAD, 0x61C, 0x180E, *range(0x200B, 0x2010), *range(0x2028, 0x202F), *range(0x2060, 0x2070), 0xFEFF),
    *range(0xD800, 0xE000),
    *range(0xFFF9, 0xFFFC),
    *range(0xE0000, 0xE0080),
)
"""C0, DEL and C1 controls; line and paragraph separators; marks of direction and of no width, which could
make a name read as another one; lone surrogates; interlinear marks; tags."""

_UNSAFE = dict.fromkeys(UNSAFE_CODES, "\N{REPLACEMENT CHARACTER}")
_UNSAFE[0x1B] = "\N{SYMBOL FOR ESCAPE}"
_UNSAFE[0x09] = " "  # the tab


def safe_text(text: str, limit: int = 4096) -> str:
    """Text that cannot move the cursor, set a title, write the clipboard or reorder its neighbours."""
    if len(text) > limit:
        text = text[: limit - 1] + "\N{HORIZONTAL ELLIPSIS}"
    if text.isascii() and text.isprintable():
        return text
    return text.translate(_UNSAFE)


def command_line(words: Iterable[str], limit: int = 1000) -> str:
    """A command as it would be typed in a shell, safe to show."""
    import shlex

    return safe_text(shlex.join(words), limit)


def columns_of(rows: Sequence[Sequence[str]], *, left: Container[int] = (0,)) -> list[str]:
    """Rows of cells as aligned lines; columns not in `left` are numbers and stand to the right.

    A wide character counts two cells.
    """
    cells = [[safe_text(cell) for cell in row] for row in rows]
    widths = [max(map(_cells, column)) for column in zip(*cells, strict=True)]
    lines = []
    for row in cells:
        padded = [
            cell + " " * (width - _cells(cell)) if i in left else " " * (width - _cells(cell)) + cell
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(padded).rstrip())
    return lines


def _cells(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def say(texts: Mapping[str, tuple[str, str]], key: str, lang: Lang, /, **values: Any) -> str:
    """The text `key` of a (en, zh) table, its {fields} filled in. Unknown keys are programming errors."""
    return filled(texts[key][1 if lang == "zh" else 0], values)


_COUNTED = re.compile(r"\{(?P<field>\w+)[^{}]*\}|\((?:s|(?P<one>\w+)\|(?P<many>\w+))\)")


def filled(template: str, values: Mapping[str, Any]) -> str:
    """A text with its {fields} filled in: "{n} call(s) (is|are) open" is "1 call is open" for 1.

    The last number in front of such a word says how many; without one it stays as it is.
    """
    if not values:
        return template
    if "(s)" in template or "|" in template:
        template = _in_number(template, values)
    return template.format(**values)


def _in_number(template: str, values: Mapping[str, Any]) -> str:
    parts: list[str] = []
    end, number = 0, ""
    for found in _COUNTED.finditer(template):
        parts.append(template[end : found.start()])
        end = found.end()
        if found["field"] is not None:
            told = str(values.get(found["field"], "")).replace(",", "")
            number = told if told[:1].isdigit() else number
        if found["field"] is not None or not number:
            parts.append(found[0])
        else:
            parts.append((found["one"] or "") if number == "1" else (found["many"] or "s"))
    return "".join((*parts, template[end:]))


def clock_text(at_ns: int) -> str:
    """A moment as the clock on the wall shows it."""
    return time.strftime("%H:%M:%S", time.localtime(at_ns / 1e9))


def since_text(at_ns: int, now_ns: int) -> str:
    """A moment before now, with the date where that is another day."""
    at, now = time.localtime(at_ns / 1e9), time.localtime(now_ns / 1e9)
    return time.strftime("%H:%M:%S" if at[:3] == now[:3] else "%Y-%m-%d %H:%M:%S", at)
