"""Text from files made safe to show; texts of our own in two languages."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.text import command_line, filled, safe_text, say


@given(st.text(), st.integers(1, 50))
def test_safe_text_is_inert_and_bounded(text: str, limit: int) -> None:
    safe = safe_text(text, limit)
    assert len(safe) <= limit
    assert not [c for c in safe if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")]
    assert not set(safe) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\ufeff")
    safe.encode("utf-8")


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126)))
def test_plain_text_stays_as_it_is(text: str) -> None:
    assert safe_text(text) == text


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("\x1b[31mred", "␛[31mred"),
        ("a\tb", "a b"),
        ("a\nb\rc\x00d\x7f", "a\ufffdb\ufffdc\ufffdd\ufffd"),
        ("\x9b31m", "\ufffd31m"),
        ("层0 αβ", "层0 αβ"),
        ("", ""),
    ],
)
def test_what_becomes_of_what(text: str, want: str) -> None:
    assert safe_text(text) == want


def test_a_long_text_says_that_it_is_cut() -> None:
    assert safe_text("x" * 10, 10) == "x" * 10
    assert safe_text("x" * 11, 10) == "x" * 9 + "…"


def test_say_fills_in_and_does_not_obey_what_it_fills_in() -> None:
    texts = {"a": ("{name} is {n}", "{name} 是 {n}"), "b": ("{literal}", "字")}
    assert say(texts, "a", "en", name="{n}", n=3) == "{n} is 3"
    assert say(texts, "a", "zh", name="x", n=3) == "x 是 3"
    assert say(texts, "b", "en") == "{literal}"
    with pytest.raises(KeyError):
        say(texts, "c", "en")


def test_a_command_as_it_would_be_typed() -> None:
    assert command_line(["npulse", "check", "my run", "a'b"]) == """npulse check 'my run' 'a'"'"'b'"""
    assert "\x1b" not in command_line(["npulse", "\x1b[2J"]) and len(command_line(["x" * 2000])) == 1000


@pytest.mark.parametrize(
    ("n", "said"),
    [
        (0, "0 calls of x are open, 2 files"),
        (1, "1 call of x is open, 2 files"),
        (1200, "1,200 calls of x are open, 2 files"),
    ],
)
def test_words_stand_in_the_number_that_is_told(n: int, said: str) -> None:
    template = "{n:,} call(s) of {name} (is|are) open, {m} file(s)"
    assert filled(template, {"n": n, "name": "x", "m": 2}) == said


def test_a_value_is_shown_as_it_is_and_words_without_a_number_stay() -> None:
    assert (
        filled("{name}: byte(s), {n} row(s)", {"name": "Mb(s) (a|b)", "n": "1"})
        == "Mb(s) (a|b): byte(s), 1 row"
    )
    assert filled("{n} row(s)", {}) == "{n} row(s)"
