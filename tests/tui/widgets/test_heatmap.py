"""The error map: five levels, glyph and colour, NaN and infinity never hidden by compression."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from npulse.tui.glyphs import ASCII, UNICODE, Glyphs
from npulse.tui.widgets.heatmap import (
    INFINITE,
    LEVEL_STYLES,
    NAN,
    heat_levels,
    render_heatmap,
    render_legend,
)


def test_levels_by_hand() -> None:
    values = np.array([[0.0, 0.19, 0.2, 0.5, 0.99, 1.0], [np.nan, np.inf, -np.inf, 0.4, 0.6, 0.8]])
    assert heat_levels(values, 9, 9).tolist() == [[0, 0, 1, 2, 4, 4], [NAN, INFINITE, INFINITE, 2, 3, 4]]


def test_given_scale_and_constant_array() -> None:
    assert heat_levels([[1.0, 5.0]], 1, 2, low=0.0, high=10.0).tolist() == [[0, 2]]
    assert heat_levels([[7.0, 7.0]], 1, 2).tolist() == [[0, 0]]
    assert heat_levels([[-1.7e308, 1.7e308, 0.0]], 1, 3).tolist() == [[0, 4, 2]]


def test_compression_keeps_the_single_bad_element() -> None:
    values = np.zeros((1000, 900))
    values[777, 888] = 1.0
    levels = heat_levels(values, 10, 9)
    assert levels.shape == (10, 9)
    assert np.argwhere(levels).tolist() == [[7, 8]] and levels[7, 8] == 4
    values[0, 0] = np.nan
    assert heat_levels(values, 10, 9)[0, 0] == NAN


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
def test_every_level_has_its_own_glyph_and_style(glyphs: Glyphs) -> None:
    values = np.array([[0.0, 0.25, 0.5, 0.75, 1.0, np.inf, np.nan]])
    text = render_heatmap(values, 1, 7, glyphs)
    assert str(text) == glyphs.heat + glyphs.infinite + glyphs.nan
    assert len(set(str(text))) == 7
    styles = [str(text.get_style_at_offset(_console(), i)) for i in range(5)]
    assert len(set(styles)) == 5


def _console():  # type: ignore[no-untyped-def]
    from rich.console import Console

    return Console()


def test_equal_neighbours_are_one_run() -> None:
    text = render_heatmap(np.array([[1.0] * 50 + [0.0] * 50]), 1, 100, UNICODE)
    assert [(s.start, s.end, s.style) for s in text.spans if s.style] == [(0, 50, LEVEL_STYLES[4])]


def test_cursor() -> None:
    text = render_heatmap(np.zeros((3, 4)), 3, 4, UNICODE, cursor=(1, 2))
    assert [(s.start, s.end) for s in text.spans if s.style == "reverse"] == [(7, 8)]
    assert str(text).splitlines() == ["····"] * 3


@given(
    hnp.arrays(np.float64, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=12)),
    st.integers(-1, 9),
    st.integers(-1, 9),
)
def test_any_array_any_size(values: np.ndarray, n_lines: int, n_cells: int) -> None:
    text = str(render_heatmap(values, n_lines, n_cells, ASCII))
    lines = text.split("\n") if text else []
    assert len(lines) <= max(n_lines, 0)
    assert all(len(line) <= n_cells and line.isascii() for line in lines)


@given(hnp.arrays(np.float32, hnp.array_shapes(min_dims=2, max_dims=2, max_side=10)), st.integers(1, 4))
def test_no_bad_value_is_lost(values: np.ndarray, size: int) -> None:
    levels = heat_levels(values, size, size)
    assert (levels == NAN).any() == np.isnan(values).any()
    assert np.isinf(values).any() <= (levels >= INFINITE).any()


def test_legend_names_the_borders() -> None:
    text = str(render_legend(0.0, 1.0, ASCII))
    assert text == ". < 0.2  : >= 0.2  + >= 0.4  % >= 0.6  # >= 0.8  ! inf  x nan"
