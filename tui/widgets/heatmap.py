"""A two-dimensional array as cells of five levels, each a glyph and a colour; NaN and infinity marked."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from rich.text import Text
from textual.reactive import reactive
from textual.widget import Widget

from ..glyphs import Glyphs, glyphs_of
from .strip import bucket_starts

Levels = npt.NDArray[np.int8]

N_LEVELS = 5
INFINITE, NAN = N_LEVELS, N_LEVELS + 1

# Theme-independent names: the 16 colours every terminal has. The glyph carries the level without them.
LEVEL_STYLES = ("", "cyan", "yellow", "bright_yellow", "red", "bold magenta", "bold magenta")


def heat_levels(
    values: npt.ArrayLike,
    n_lines: int,
    n_cells: int,
    *,
    low: float | None = None,
    high: float | None = None,
) -> Levels:
    """Levels 0-4 of at most n_lines x n_cells cells; INFINITE and NAN where a cell holds such a value.

    low, high: values of the lowest and the highest level, by default the finite extremes. A cell that
    stands for several values shows the worst of them. Cost: two passes, each over the rows of one line
    of cells at a time.
    """
    array = np.asarray(values)
    if not array.size or n_lines <= 0 or n_cells <= 0:
        return np.empty((0, 0), np.int8)
    array = array.reshape(1, -1) if array.ndim < 2 else array.reshape(array.shape[0], -1)
    starts = bucket_starts(array.shape[0], n_lines).tolist()
    blocks = [slice(start, stop) for start, stop in zip(starts, [*starts[1:], None], strict=True)]
    extremes = [_extremes(array[block]) for block in blocks]
    floor = min(found for found, _ in extremes) if low is None else low
    top = max(found for _, found in extremes) if high is None else high
    cells = bucket_starts(array.shape[1], n_cells)
    lines = [np.maximum.reduceat(_levels(array[block], floor, top).max(axis=0), cells) for block in blocks]
    return np.stack(lines)


def _extremes(block: npt.NDArray[np.generic]) -> tuple[float, float]:
    """Smallest and largest finite value; (inf, -inf) where there is none."""
    numbers = block.astype(np.float64)
    finite = np.isfinite(numbers)
    low = np.min(numbers, where=finite, initial=np.inf)
    return float(low), float(np.max(numbers, where=finite, initial=-np.inf))


def _levels(block: npt.NDArray[np.generic], floor: float, top: float) -> Levels:
    numbers = block.astype(np.float64)
    share = np.zeros(numbers.shape)
    # Halved first: the difference of two finite extremes can overflow.
    span = top / 2 - floor / 2
    if span > 0 and np.isfinite(span):
        with np.errstate(over="ignore"):  # far above a given `high`: the highest level
            np.divide(numbers / 2 - floor / 2, span, out=share, where=np.isfinite(numbers))
    levels = np.minimum(np.clip(share, 0, 1) * N_LEVELS, N_LEVELS - 1).astype(np.int8)
    levels[np.isinf(numbers)] = INFINITE
    levels[np.isnan(numbers)] = NAN
    return levels


def render_heatmap(
    values: npt.ArrayLike,
    n_lines: int,
    n_cells: int,
    glyphs: Glyphs,
    *,
    low: float | None = None,
    high: float | None = None,
    cursor: tuple[int, int] | None = None,
) -> Text:
    """The array as lines of cells; `cursor` (line and cell on the screen) is drawn in reverse."""
    levels = heat_levels(values, n_lines, n_cells, low=low, high=high)
    symbols = (*glyphs.heat, glyphs.infinite, glyphs.nan)
    text = Text(no_wrap=True, end="")
    for y, line in enumerate(levels.tolist()):
        if y:
            text.append("\n")
        start = 0
        # One run per stretch of equal level: a style per cell would triple the bytes.
        for x in range(1, len(line) + 1):
            if x == len(line) or line[x] != line[start]:
                text.append(symbols[line[start]] * (x - start), LEVEL_STYLES[line[start]])
                start = x
    if cursor is not None and 0 <= cursor[0] < levels.shape[0] and 0 <= cursor[1] < levels.shape[1]:
        place = cursor[0] * (levels.shape[1] + 1) + cursor[1]
        text.stylize("reverse", place, place + 1)
    return text


def render_legend(low: float, high: float, glyphs: Glyphs) -> Text:
    """What the levels stand for, on one line."""
    text = Text(no_wrap=True, end="")
    step = (high / N_LEVELS) - (low / N_LEVELS)
    for level, symbol in enumerate(glyphs.heat):
        text.append(symbol, LEVEL_STYLES[level])
        text.append(f" {'>=' if level else '<'} {low + step * max(level, 1):.3g}  ")
    text.append(glyphs.infinite, LEVEL_STYLES[INFINITE]).append(" inf  ")
    return text.append(glyphs.nan, LEVEL_STYLES[NAN]).append(" nan")


class Heatmap(Widget):
    """An error map; set `values` (rows x columns) and, for a fixed scale, `low` and `high`."""

    DEFAULT_CSS = """
    Heatmap { height: 1fr; width: 1fr; }
    """

    values: reactive[npt.NDArray[np.float64]] = reactive(np.empty((0, 0)), always_update=True)
    low: reactive[float | None] = reactive(None)
    high: reactive[float | None] = reactive(None)
    cursor: reactive[tuple[int, int] | None] = reactive(None)

    def render(self) -> Text:
        return render_heatmap(
            self.values,
            self.size.height,
            self.size.width,
            glyphs_of(self.app),
            low=self.low,
            high=self.high,
            cursor=self.cursor,
        )
