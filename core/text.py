"""Text from files made safe to show, and texts of our own in the user's language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

Lang = Literal["en", "zh"]

# C0, DEL and C1 controls; line and paragraph separators; bidirectional overrides and zero-width marks
# that could make a name read as another one. The tab becomes a blank.
_UNSAFE = {c: "\N{REPLACEMENT CHARACTER}" for c in (*range(0x20), 0x7F, *range(0x80, 0xA0))}
_UNSAFE |= {
    c: "\N{REPLACEMENT CHARACTER}"
    for c in (0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0xFEFF)
}
_UNSAFE |= {c: "\N{REPLACEMENT CHARACTER}" for c in range(0xD800, 0xE000)}  # lone surrogates
_UNSAFE[0x1B] = "\N{SYMBOL FOR ESCAPE}"
_UNSAFE[0x09] = " "


def safe_text(text: str, limit: int = 4096) -> str:
    """Text that cannot move the cursor, set a title, write the clipboard or reorder its neighbours."""
    if len(text) > limit:
        text = text[: limit - 1] + "\N{HORIZONTAL ELLIPSIS}"
    if text.isascii() and text.isprintable():
        return text
    return text.translate(_UNSAFE)


def say(texts: Mapping[str, tuple[str, str]], key: str, lang: Lang, /, **values: Any) -> str:
    """The text `key` of a (en, zh) table, its {fields} filled in. Unknown keys are programming errors."""
    template = texts[key][1 if lang == "zh" else 0]
    return template.format(**values) if values else template
