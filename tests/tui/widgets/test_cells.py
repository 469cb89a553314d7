"""Cells: never wider than allowed, never a number that lies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from npulse.core.table import Column
from npulse.core.text import safe_text
from npulse.tui.glyphs import ASCII, UNICODE, showable
from npulse.tui.widgets.cells import (
    cell_width,
    choose_format,
    column_texts,
    cut,
    finite_range,
    fit,
    number_formatter,
    pad,
)

HARD = "注意力abc\u0301\u200d\ufe0f👩\u200d🚀👍🏽🇨🇳\x1b[31m\x07\t\n\u202e\u200b·│ﷺ①"
texts = st.one_of(st.text(), st.text(st.sampled_from(HARD)), st.text(st.characters(max_codepoint=0x7F)))


@given(texts, st.integers(0, 40))
def test_cut_is_never_wider_than_asked(text: str, width: int) -> None:
    assert cell_len(cut(safe_text(text), width)) <= width


@given(texts, st.integers(1, 40), st.sampled_from(("left", "right")))
def test_fit_is_exactly_as_wide_as_asked(text: str, width: int, align: str) -> None:
    cell = fit(showable(text, UNICODE), width, align)  # type: ignore[arg-type]
    assert cell_len(cell) == width
    assert cell_len(f"1 {cell} 1") == width + 4, "its neighbours keep their places"


@given(texts, st.integers(0, 40))
def test_text_that_fits_is_not_cut(text: str, spare: int) -> None:
    safe = safe_text(text)
    assert cut(safe, cell_len(safe) + spare) == safe


@given(texts)
def test_width_agrees_with_the_terminal_library(text: str) -> None:
    assert cell_width(safe_text(text)) == cell_len(safe_text(text))


@given(texts, st.integers(1, 40))
def test_ascii_cells_are_printable_ascii_and_as_wide_as_long(text: str, width: int) -> None:
    cell = fit(showable(text, ASCII), width, "left", ASCII.ellipsis)
    assert cell.isascii() and cell.isprintable() and len(cell) == width


@given(texts)
def test_no_control_character_is_showable(text: str) -> None:
    assert not any(ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0 for c in showable(text, UNICODE))


def test_wide_character_is_left_out_not_halved() -> None:
    assert cut("注意力", 4) == "注 …"
    assert cut("注意力", 3) == "注…"
    assert cut("注意力", 6) == "注意力"
    assert cut("abcdef", 1) == "…"
    assert cut("abcdef", 0) == ""


def test_ascii_shows_what_was_there() -> None:
    assert showable("注 a\x1b[2J\x07\t😀", ASCII) == r"\u6ce8 a^[[2J? \U0001f600"


def test_joiners_are_shown_and_variation_selectors_left_out() -> None:
    assert showable("👩\u200d🚀⚠\ufe0fx", UNICODE) == "👩\ufffd🚀⚠x"
    assert showable("a\u200d", ASCII) == "a?"


def test_pad() -> None:
    assert pad("注", 4) == "注  "
    assert pad("12", 4, "right") == "  12"
    assert pad("12345", 4) == "12345"


@pytest.mark.parametrize(
    ("form", "decimals", "kind", "value", "expected"),
    [
        ("fixed", 4, "float", 0.95812, "0.9581"),
        ("fixed", 2, "float", -0.5, "-0.50"),
        ("fixed", 4, "float", 0.0, "0.0000"),
        ("fixed", 4, "float", 3e-9, "3e-9"),  # not zero, must not look like zero
        ("fixed", 4, "float", -3e-9, "-3e-9"),
        ("scientific", 1, "float", 3.14, "3.1e+0"),
        ("scientific", 2, "float", 6.0608e4, "6.06e+4"),
        ("percent", 1, "float", 0.9252564728871519, "92.5 %"),
        ("significant", 3, "float", 1234.5, "1.23e+3"),
        ("significant", 3, "float", 0.01234, "0.0123"),
        ("grouped", 1, "float", 5010.6, "5,010.6"),
        ("grouped", 0, "int", 12480, "12,480"),
        ("plain", 0, "int", 12480, "12480"),
        ("auto", 4, "int", -7, "-7"),
        ("fixed", 4, "float", float("nan"), "nan"),
        ("scientific", 4, "float", float("inf"), "inf"),
        ("percent", 4, "float", float("-inf"), "-inf"),
        ("auto", 4, "bool", True, "yes"),
        ("auto", 4, "bool", False, "no"),
    ],
)
def test_number_texts(form: str, decimals: int, kind: str, value: float, expected: str) -> None:
    assert number_formatter(form, decimals, kind)(value) == expected  # type: ignore[arg-type]


@given(st.floats(), st.sampled_from(("fixed", "scientific", "percent", "significant", "grouped", "plain")))
def test_only_zero_looks_like_zero(value: float, form: str) -> None:
    text = number_formatter(form, 3, "float")(value)  # type: ignore[arg-type]
    looks_zero = not any(c in text for c in "123456789ni")
    assert looks_zero == (value == 0)


def test_choose_format() -> None:
    assert choose_format(0.5, 0.99) == "fixed"
    assert choose_format(1e-9, 0.5) == "scientific"
    assert choose_format(1.0, 3e7) == "scientific"
    assert choose_format(0.0, 0.0) == "fixed"


def test_absent_is_not_nan_and_not_zero() -> None:
    column = Column(
        "x", "float", np.array([1.0, np.nan, 9.0, 0.0]), absent=np.array([False, False, True, False])
    )
    write = number_formatter("fixed", 1, "float")
    assert column_texts(column, np.array([0, 1, 2, 3]), write, UNICODE) == ["1.0", "nan", "-", "0.0"]
    assert finite_range(column) == (0.0, 1.0)


def test_absent_value_is_never_formatted() -> None:
    def refuse(value: object) -> str:
        raise AssertionError(value)

    column = Column("x", "int", np.zeros(2, np.int64), absent=np.ones(2, np.bool_))
    assert column_texts(column, np.array([1, 0]), refuse, UNICODE) == ["-", "-"]


def test_range_of_nothing() -> None:
    assert finite_range(Column("x", "float", np.array([np.nan, np.inf]))) is None
    assert finite_range(Column("x", "int", np.empty(0, np.int64))) is None
