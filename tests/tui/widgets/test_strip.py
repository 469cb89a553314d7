"""The strip: the worst of a bucket is what its cell shows."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from npulse.tui.glyphs import ASCII, UNICODE
from npulse.tui.widgets.strip import (
    ABSENT,
    INFINITE,
    NAN,
    NOTHING,
    bucket_starts,
    cell_of,
    render_strip,
    strip_levels,
)

floats = st.lists(st.floats(), max_size=60)


def test_levels_by_hand() -> None:
    values = [0.0, 0.5, 1.0, 4.0, 8.0, math.nan, math.inf, -math.inf, -3.0]
    expected = [NOTHING, 1, 1, 4, 8, NAN, INFINITE, INFINITE, NOTHING]
    assert strip_levels(values, 20).tolist() == expected
    assert str(render_strip(values, 20, UNICODE)) == "·▁▁▄█✗██·"
    assert str(render_strip(values, 20, ASCII)) == ".__~#x##."


def test_given_scale() -> None:
    assert strip_levels([0.25, 1.0, 9.0], 3, high=1.0).tolist() == [2, 8, 8]
    assert strip_levels([0.98, 0.99, 1.0], 3, low=0.98, high=1.0).tolist() == [0, 4, 8]
    assert strip_levels([5.0, 5.0], 2, low=5.0).tolist() == [NOTHING, NOTHING]
    assert strip_levels([1e308], 1, high=1e-308).tolist() == [8]


def test_absent_is_its_own_mark_and_yields_to_any_value() -> None:
    absent = np.array([True, True, False, True])
    assert strip_levels([9.0, 9.0, 1.0, 9.0], 4, absent=absent).tolist() == [ABSENT, ABSENT, 8, ABSENT]
    assert strip_levels([9.0, 9.0, 1.0, 9.0], 2, absent=absent).tolist() == [ABSENT, 8]
    assert str(render_strip([0.0], 1, UNICODE, absent=np.array([True]))) == "?"


def _badness(value: float) -> tuple[int, float]:
    if math.isnan(value):
        return 2, 0.0
    return (1, 0.0) if math.isinf(value) else (0, max(value, 0.0))


@given(
    st.lists(st.floats(allow_subnormal=False, max_value=1e300), min_size=1, max_size=60), st.integers(1, 20)
)
def test_a_cell_shows_the_worst_of_its_bucket(values: list[float], width: int) -> None:
    whole = strip_levels(values, len(values)).tolist()
    cells = strip_levels(values, width).tolist()
    assert len(cells) == min(width, len(values))
    for cell, level in enumerate(cells):
        inside = [i for i in range(len(values)) if cell_of(i, len(values), width) == cell]
        assert level == whole[max(inside, key=lambda i: _badness(values[i]))]


@given(st.integers(1, 500), st.integers(1, 80))
def test_buckets_cover_all_and_differ_by_at_most_one(n_values: int, n_cells: int) -> None:
    starts = bucket_starts(n_values, n_cells).tolist()
    sizes = np.diff([*starts, n_values])
    assert starts[0] == 0 and len(starts) == min(n_values, n_cells)
    assert sizes.min() >= 1 and sizes.max() - sizes.min() <= 1
    assert [cell_of(i, n_values, n_cells) for i in starts] == list(range(len(starts)))


@given(floats, st.integers(-1, 40), st.one_of(st.none(), st.integers(-2, 60)))
def test_any_values_any_width(values: list[float], width: int, cursor: int | None) -> None:
    for glyphs in (UNICODE, ASCII):
        text = render_strip(values, width, glyphs, cursor=cursor)
        assert text.cell_len == max(0, min(len(values), width))
        assert str(text).isascii() or not glyphs.is_ascii


def test_cursor_is_marked_in_the_cell_of_its_value() -> None:
    text = render_strip(np.arange(100.0), 10, UNICODE, cursor=57)
    assert [(span.start, span.end, span.style) for span in text.spans] == [(5, 6, "reverse")]


def test_non_finite_cells_are_styled_too() -> None:
    text = render_strip([1.0, math.nan], 10, UNICODE, bad_style="bold")
    assert [(span.start, span.end, span.style) for span in text.spans] == [(1, 2, "bold")]
