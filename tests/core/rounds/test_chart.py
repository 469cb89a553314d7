"""Figures over rounds as pictures: heights, gaps, the limit, marks; no width or height breaks them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.criteria import CriterionResult
from npulse.core.rounds.chart import ASCII_LEVELS, LEVELS, Series, chart, level, series_of, spark
from npulse.core.rounds.facts import Facts
from npulse.core.rounds.figures import Cell, State
from npulse.core.rounds.rows import StoryRow
from npulse.core.rounds.story import Story

numbers = st.none() | st.floats(0, 1e9)


def series(
    values: list[float | None], figure: str = "step_ms", limit: float | None = None, *states: State
) -> Series:
    names = tuple(f"r{i}" for i in range(len(values)))
    texts = tuple("" if value is None else f"{value:g}" for value in values)
    needs = "" if limit is None else f"<= {limit:g} ms"
    filled: tuple[State, ...] = states or ("",) * len(values)
    return Series(figure, names, tuple(values), texts, filled, limit, needs)


def test_the_limit_is_that_of_the_newest_round_which_asks() -> None:
    asked = CriterionResult("performance.step_ms", ("t", "t"), "pass", "<= 12,346 ms", 1.0, limit=12345.678)
    row = StoryRow(0, "a", "performance", Facts(), 0, 0, False, True, cells={"step_ms": Cell(1.0)})
    rows = (row, replace(row, name="b", criteria=(asked,)), replace(row, name="c"))
    found = series_of(Story(Path("archive"), rows), "step_ms")
    assert (found.limit, found.needs, found.names) == (12345.678, "<= 12,346 ms", ("a", "b", "c"))
    assert series_of(Story(Path("archive"), rows[:1]), "step_ms").limit is None


def test_an_absent_round_is_a_gap_and_zero_is_none() -> None:
    assert spark(series([0.0, None, 50.0, 100.0]), is_ascii=False) == "▁ ▄█"
    assert spark(series([0.0, None, 50.0, 100.0]), is_ascii=True) == "_ ~#"
    assert spark(series([0.96, 0.98, 1.0], "cosine"), is_ascii=False) == "▁▄█", "from what there is"


def test_the_limit_is_a_line_and_changes_are_marked() -> None:
    told = series([20.0, 10.0, None, 40.0], "step_ms", 20.0, "first", "better", "", "worse")
    lines = chart(told, "en", 40, 6, at=1, is_ascii=True)
    assert lines == [
        "step ms 10  needs <= 20 ms  + better  ! worse  ? unknown",
        "       40                   #####",
        "                            #####",
        "    20 ms #####-------------#####-",
        "        0 ##### #####       #####",
        "                +^          !",
    ]


@given(
    st.lists(numbers, max_size=80),
    st.integers(12, 120),
    st.integers(1, 12),
    st.booleans(),
    st.none() | st.floats(0, 1e6),
)
def test_no_size_breaks_it(
    values: list[float | None], width: int, height: int, is_ascii: bool, limit: float | None
) -> None:
    told = series(values, limit=limit)
    at = len(values) // 2 if values else None
    lines = chart(told, "en", width, height, at=at, is_ascii=is_ascii)
    assert len(lines) == max(3, height) and all(len(line) <= width for line in lines[1:])
    assert "^" in lines[-1] if values else "^" not in lines[-1]
    assert not is_ascii or all(line.isascii() for line in lines)


@given(st.floats(0, 1e9), st.floats(0, 1e9), st.floats(0, 1e9), st.sampled_from([1, 8, 40]))
def test_higher_values_have_no_lower_bars(low: float, a: float, b: float, n: int) -> None:
    span = (min(low, a, b), max(low, a, b))
    heights = [level(value, span, n) for value in sorted((a, b))]
    assert 1 <= heights[0] <= heights[1] <= n


@pytest.mark.parametrize("levels", [LEVELS, ASCII_LEVELS])
def test_levels_are_one_cell_each(levels: str) -> None:
    assert len(set(levels)) == 8
