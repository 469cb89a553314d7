"""What areas are called, in sentences and on the command line."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from npulse.core.areas import all_rules, area_of
from npulse.core.findings import Finding
from npulse.core.text import Lang, safe_text, say

from .texts import TEXTS

_LONG = 300


def command_of(area: str) -> str:
    """The word on the command line that opens an area of its own command."""
    return area_of(area).command


def origin_text(origin: Finding, lang: Lang) -> str:
    """The subject of a finding and what its rule is called."""
    title = _titles().get(origin.rule, (origin.message, origin.message))[
        lang == "zh"
    ]  # a plug-in's: its words
    return say(
        TEXTS, "first-is", lang, subject=safe_text(origin.subject, _LONG), title=safe_text(title, _LONG)
    )


@cache
def _titles() -> Mapping[str, tuple[str, str]]:
    return {rule.id: rule.title for rule in all_rules()}
