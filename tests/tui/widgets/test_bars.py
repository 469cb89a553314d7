"""Bars: length by value, figures exact, anything non-finite told apart."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.tui.glyphs import ASCII, UNICODE
from npulse.tui.widgets.bars import bar, figure_text, histogram_labels, render_bars


@pytest.mark.parametrize(
    ("share", "expected"),
    [(0.0, ""), (0.5, "█████"), (1.0, "██████████"), (0.55, "█████▌"), (1e-9, "▏"), (7.0, "██████████")],
)
def test_bar(share: float, expected: str) -> None:
    assert bar(share, 10, UNICODE) == expected


def test_ascii_bar() -> None:
    assert bar(0.55, 10, ASCII) == "######"
    assert bar(1e-9, 10, ASCII) == "#"
    assert bar(math.nan, 10, ASCII) == ""


def test_lines_by_hand() -> None:
    text = render_bars(["a", "bb"], [1.0, 4.0], 16, ASCII)
    assert str(text).split("\n") == ["a  ###         1", "bb ########### 4"]


def test_non_finite_and_negative_values() -> None:
    text = render_bars(["n", "i", "m", "x"], [math.nan, math.inf, -5.0, 5.0], 20, ASCII)
    lines = str(text).split("\n")
    assert [line.split() for line in lines] == [
        ["n", "nan"],
        ["i", "#" * 14, "inf"],
        ["m", "-5"],
        ["x", "#" * 14, "5"],
    ]
    assert {str(span.style) for span in text.spans if span.style} == {"bold"}


def test_figures() -> None:
    assert figure_text(12480) == "12,480"
    assert figure_text(0.25) == "0.25"
    assert figure_text(1e300) == "1e+300"
    assert figure_text(math.nan) == "nan"


def test_hostile_and_wide_labels() -> None:
    text = str(render_bars(["\x1b[2J[b]", "注意力"], [1.0, 2.0], 30, UNICODE))
    assert text.split("\n")[0].startswith("␛[2J[b] ") and "\x1b" not in text
    assert str(render_bars(["注意力"], [1.0], 40, ASCII)).startswith(r"\u6ce8\u610f\u529b ")


@given(
    st.lists(st.tuples(st.text(max_size=30), st.floats()), max_size=6),
    st.integers(0, 60),
    st.sampled_from((UNICODE, ASCII)),
)
def test_never_wider_than_asked(rows: list[tuple[str, float]], width: int, glyphs) -> None:  # type: ignore[no-untyped-def]
    text = render_bars([label for label, _ in rows], [value for _, value in rows], width, glyphs)
    lines = text.split("\n", allow_blank=True) if rows else []
    assert len(lines) == len(rows)
    assert all(line.cell_len <= width for line in lines)


def test_histogram_labels() -> None:
    assert histogram_labels([0.0, 0.5, 1.0]) == ["0 .. 0.5", "0.5 .. 1"]
