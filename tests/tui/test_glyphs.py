"""Glyph sets, and the filters that hold what a theme and a glyph set promise."""

from __future__ import annotations

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.css.constants import VALID_BORDER

from npulse.tui.glyphs import ASCII, UNICODE, Glyphs, ascii_shapes, ascii_text, glyphs_of
from npulse.tui.themes import MONO, THEME_NAMES, AsciiOnly, WithoutColour, line_filters, themes

BLACK = Color(0, 0, 0)


def glyphs_in(glyphs: Glyphs) -> dict[str, str]:
    names = [field.name for field in fields(Glyphs) if field.name not in ("is_ascii", "border")]
    return {name: getattr(glyphs, name) for name in names}


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
def test_every_glyph_is_one_cell(glyphs: Glyphs) -> None:
    strings = ("levels", "heat", "bar")
    found = glyphs_in(glyphs)
    assert {name: cell_len(text) for name, text in found.items() if name not in strings} == {
        name: 1 for name in found if name not in strings
    }
    assert all(cell_len(text) == len(text) for text in found.values())
    assert (len(glyphs.levels), len(glyphs.heat)) == (8, 5)
    assert len(set(glyphs.levels)) == 8 and len(set(glyphs.heat)) == 5
    assert glyphs.border in VALID_BORDER


def test_ascii_set_is_ascii() -> None:
    assert all(text.isascii() and text.isprintable() for text in glyphs_in(ASCII).values())


@pytest.mark.parametrize(
    ("word", "unicode", "ascii_"),
    [
        ("error", "E ✗", "E x"),
        ("warning", "W !", "W !"),
        ("ok", "ok", "ok"),
        ("unknown", "? unknown", "? unknown"),
        ("inherited", "↳ inherited", "> inherited"),
    ],
)
def test_severities_are_told_apart_without_colour(word: str, unicode: str, ascii_: str) -> None:
    assert UNICODE.severity(word) == unicode
    assert ASCII.severity(word) == ascii_


def test_shapes_differ_between_pass_warning_error_and_unknown() -> None:
    for glyphs in (UNICODE, ASCII):
        assert len({glyphs.shape(word) for word in ("pass", "warn", "fail", "unknown", "inherited")}) == 5
    assert "".join(ASCII.shape(w) for w in ("fail", "warn", "pass", "unknown", "inherited")) == "x!.?>"


def test_app_without_glyphs_draws_unicode() -> None:
    class WithAscii:
        glyphs = ASCII

    assert glyphs_of(object()) is UNICODE
    assert glyphs_of(WithAscii()) is ASCII


@given(st.text())
def test_ascii_text_is_printable_ascii(text: str) -> None:
    shown = ascii_text(text)
    assert shown.isascii() and (not shown or shown.isprintable())


def test_ascii_text_by_hand() -> None:
    assert ascii_text("a\x1b\u241b\ufffd\x07…é😀") == r"a^[^[??...\u00e9\U0001f600"


def test_every_drawing_character_of_ours_has_an_ascii_shape() -> None:
    drawn = "".join(glyphs_in(UNICODE).values()) + "━┃╭╮╰╯├┤┬┴┼═║╔╗▔▕▐"
    assert ascii_shapes(drawn).isascii()


# ---- filters ----


@given(st.text(st.characters(exclude_categories=("Cc", "Cs"))))
def test_ascii_filter_keeps_width_cell_by_cell(text: str) -> None:
    (segment,) = AsciiOnly().apply([Segment(text, Style(bold=True))], BLACK)
    assert segment.text.isascii()
    assert segment.style == Style(bold=True)
    assert len(segment.text) == sum(cell_len(c) for c in text)


def test_colour_filter_leaves_bold_and_reverse() -> None:
    style = Style(color="red", bgcolor="default", bold=True, reverse=True)
    filtered = WithoutColour().apply([Segment("x", style), Segment("y")], BLACK)
    assert filtered == [Segment("x", Style(bold=True, reverse=True)), Segment("y")]


def test_filters_by_theme_and_glyphs() -> None:
    def kinds(theme: str, glyphs: Glyphs) -> list[type]:
        return [type(f) for f in line_filters([], theme=theme, glyphs=glyphs)]

    assert kinds("dark", UNICODE) == []
    assert kinds(MONO, UNICODE) == [WithoutColour]
    assert kinds("ansi16", ASCII) == [AsciiOnly]
    assert kinds(MONO, ASCII) == [WithoutColour, AsciiOnly]


def test_the_four_themes() -> None:
    assert tuple(theme.name for theme in themes()) == THEME_NAMES
    assert [theme.dark for theme in themes()[:2]] == [True, False]
    for theme in themes()[2:]:
        assert {theme.primary, theme.error, theme.background} <= {
            "ansi_blue",
            "ansi_red",
            "ansi_default",
        }
