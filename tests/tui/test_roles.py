"""How states look: letters of verdicts are the same in each language, words are not."""

from __future__ import annotations

import pytest

from npulse.tui.glyphs import UNICODE
from npulse.tui.roles import state_formatter


@pytest.mark.parametrize(
    ("state", "en", "zh"),
    [
        ("unknown ok", "? unknown", "? 未知"),
        ("unknown unknown", "? unknown", "? 未知"),
        ("pass ok", "ok", "ok"),
        ("error ok", "E ✗", "E ✗"),
        ("error origin", "E ✗ origin", "E ✗ 源头"),
    ],
)
def test_a_state_is_told_in_the_language_of_the_screen(state: str, en: str, zh: str) -> None:
    assert state_formatter(UNICODE, "en")(state) == en
    assert state_formatter(UNICODE, "zh")(state) == zh
