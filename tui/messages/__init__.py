"""Texts of the user interface in English and Chinese, looked up by id."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from npulse.core.text import Lang, filled

from .texts import TEXTS

LANGUAGES: tuple[Lang, ...] = ("en", "zh")


def tr(text_id: str, lang: Lang, /, **values: Any) -> str:
    """The text `text_id` in that language, its {fields} filled in. An unknown id is a programming error."""
    return filled(TEXTS[text_id][1 if lang == "zh" else 0], values)


def choose_language(
    flag: str | None, environ: Mapping[str, str], *, remembered: str | None = None, ascii_only: bool = False
) -> Lang:
    """The language to start in: --lang, NPULSE_LANG, the last choice, the locale.

    An ASCII terminal can't show Chinese.
    """
    if ascii_only:
        return "en"
    locale = environ.get("LC_ALL") or environ.get("LC_MESSAGES") or environ.get("LANG")
    for value in (flag, environ.get("NPULSE_LANG"), remembered, locale):
        if value:
            return "zh" if value.lower().startswith("zh") else "en"
    return "en"
