"""A figure over the rounds as a picture of characters: bars with a limit, or one line of heights.

What is not known is a gap, never a bar of height zero; a figure that is zero has the lowest bar.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from npulse.core.text import Lang, safe_text, say

from .figures import BY_ID, Cell, State
from .story import Story
from .texts import TEXTS
from .verdicts import figure_of
from .words import heading_of

LEVELS, ASCII_LEVELS = "▁▂▃▄▅▆▇█", "_,-~=+*#"
LIMIT, ASCII_LIMIT = "┄", "-"
GAP = " "
MARKS: Mapping[State, str] = {"better": "+", "worse": "!", "unknown": "?"}
MAX_BAR = 6
"""Cells of one round at most."""
_FIGURE_CELLS = 9


@dataclass(frozen=True, slots=True)
class Series:
    """One figure over all rounds, in time order. values: None where a round does not tell it. limit: what a
    criterion asks for, None without one; needs: the same in words. low: the value of an empty bar."""

    figure: str
    names: tuple[str, ...]
    values: tuple[float | None, ...]
    texts: tuple[str, ...]
    states: tuple[State, ...]
    limit: float | None = None
    needs: str = ""

    @property
    def known(self) -> list[float]:
        return [one for one in self.values if one is not None]

    @property
    def span(self) -> tuple[float, float]:
        """Values of the lowest and of the highest bar: from 0 for counts and times, else what there is."""
        told = [*self.known, *([] if self.limit is None else [self.limit])]
        figure = BY_ID[self.figure]
        low = 0.0 if figure.is_count or figure.unit else min(told, default=0.0)
        return low, max(told, default=low)


def series_of(story: Story, figure: str) -> Series:
    """A figure of the story; with the limit that the newest check-up which has one asks of it."""
    rows = story.rows
    cells = [row.cells.get(figure) for row in rows]
    values = [
        None if cell is None or cell.value is None or not math.isfinite(cell.value) else cell.value
        for cell in cells
    ]
    asked = [one for row in rows for one in row.criteria if figure_of(rows, one.id) == figure]
    return Series(
        figure,
        tuple(row.name or story.root.name for row in rows),
        tuple(values),
        tuple("" if cell is None else BY_ID[figure].text(cell) for cell in cells),
        tuple(row.states.get(figure, "") for row in rows),
        asked[-1].limit if asked else None,
        asked[-1].needs if asked else "",
    )


def level(value: float, span: tuple[float, float], n_levels: int) -> int:
    """The height of a bar, 1 to n_levels: what is known has one."""
    low, high = span
    if not high > low:
        return 1
    share = min(max((value - low) / (high - low), 0.0), 1.0)
    return max(1, math.ceil(share * n_levels - 1e-9))


def spark(series: Series, *, is_ascii: bool, n_most: int = 60) -> str:
    """One cell a round, the newest `n_most` of them, from the lowest figure to the highest."""
    levels = ASCII_LEVELS if is_ascii else LEVELS
    span = min(series.known, default=0.0), max(series.known, default=0.0)
    return "".join(
        GAP if value is None else levels[level(value, span, len(levels)) - 1]
        for value in series.values[-n_most:]
    )


def spark_cells(series: Series, lang: Lang, *, is_ascii: bool) -> list[str]:
    """A line of a report as cells: heading, heights, from first to last, what is asked. [] for less than two
    figures, which make no course."""
    if len(series.known) < 2:
        return []
    texts = [text for text, value in zip(series.texts, series.values, strict=True) if value is not None]
    needs = say(TEXTS, "chart-needs", lang, needs=series.needs) if series.needs else ""
    heights = f"|{spark(series, is_ascii=is_ascii)}|"
    return [heading_of(series.figure, lang), heights, f"{texts[0]} -> {texts[-1]}", needs]


def chart(
    series: Series, lang: Lang, width: int, height: int, *, at: int | None = None, is_ascii: bool = False
) -> list[str]:
    """A picture of `height` lines: a title of any width, bars in `width` cells with the limit as a line,
    and under each bar whether it is better (+) or worse (!) than the round before, or unknown (?).

    at: the round that is pointed at. More rounds than there is room for: the newest, and the title says so.
    """
    levels = ASCII_LEVELS if is_ascii else LEVELS
    n_lines = max(1, height - 2)
    low, high = series.span
    room = max(1, width - _FIGURE_CELLS - 1)
    n_shown = min(len(series.values), room)
    start = len(series.values) - n_shown
    if at is not None and at < start:
        start = max(0, at - n_shown + 1)  # the one that is pointed at is always to be seen
    cells = max(1, min(MAX_BAR, room // max(n_shown, 1)))
    gap = 1 if cells > 1 else 0
    shown = range(start, start + n_shown)
    n_steps = n_lines * len(levels)
    heights = [0 if (v := series.values[i]) is None else level(v, (low, high), n_steps) for i in shown]
    limit_line = None
    if series.limit is not None and low <= series.limit <= high and high > low:
        limit_line = (level(series.limit, (low, high), n_steps) - 1) // len(levels)
    blank = (ASCII_LIMIT if is_ascii else LIMIT, GAP)
    lines = [_title(series, lang, at, (start, n_shown))]
    for line in reversed(range(n_lines)):
        fill = blank[0] if line == limit_line else blank[1]
        drawn = ""
        for own in heights:
            left = own - line * len(levels)
            cell = fill if left <= 0 else levels[min(left, len(levels)) - 1]
            drawn += cell * (cells - gap) + fill * gap
        lines.append(f"{_side(series, line, n_lines, limit_line):>{_FIGURE_CELLS}} {drawn}".rstrip())
    marks = ""
    for i in shown:
        mark = MARKS.get(series.states[i], " ")
        pointed = f"{mark}^" if i == at and cells > 2 else "^" if i == at else mark
        marks += f"{pointed:<{cells}}"[:cells]
    lines.append(f"{'':>{_FIGURE_CELLS}} {marks}".rstrip())
    return lines


def _side(series: Series, line: int, n_lines: int, limit_line: int | None) -> str:
    """What stands left of a line: the limit at its line, the highest and the lowest value at theirs."""
    low, high = series.span
    figure = BY_ID[series.figure]
    if line == limit_line and series.limit is not None:
        return _short(series.needs.partition(" ")[2])
    values = {n_lines - 1: high, 0: low}
    if line not in values or (n_lines == 1 and line == 0 and limit_line is not None):
        return ""
    return _short(figure.text(Cell(values[line])))


def _short(text: str) -> str:
    return safe_text(text)[:_FIGURE_CELLS]


def _title(series: Series, lang: Lang, at: int | None, shown: tuple[int, int]) -> str:
    """Heading, the figure of the round that is pointed at, what is asked, what the marks mean."""
    parts = [heading_of(series.figure, lang)]
    if at is not None and 0 <= at < len(series.texts):
        parts[0] += f" {series.texts[at] or '-'}"
    if series.needs:
        parts.append(say(TEXTS, "chart-needs", lang, needs=series.needs))
    start, n_shown = shown
    if n_shown < len(series.values):
        parts.append(say(TEXTS, "chart-shown", lang, a=start + 1, b=start + n_shown, n=len(series.values)))
    if any(state in MARKS for state in series.states):
        parts.append(say(TEXTS, "chart-marks", lang))
    return "  ".join(parts)
