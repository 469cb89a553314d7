"""One cell a layer (or a time slice): height by value, the worst value where several share a cell."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from rich.cells import cell_len
from rich.text import Text
from textual.reactive import reactive
from textual.widget import Widget

from ..glyphs import Glyphs, glyphs_of

Levels = npt.NDArray[np.int8]

NOTHING, NAN, INFINITE, ABSENT = 0, -1, -2, -3
_N_LEVELS = 8


def strip_levels(
    values: npt.ArrayLike,
    width: int,
    *,
    low: float = 0.0,
    high: float | None = None,
    absent: npt.NDArray[np.bool_] | None = None,
) -> Levels:
    """One level a cell, at most `width` of them: 1-8, or NOTHING (not above `low`), NAN, INFINITE, ABSENT.

    `high` is the value of a full cell, the largest finite one by default. Cells that stand for several
    values show the worst: NaN before infinity before the largest; ABSENT only where all are.
    """
    numbers = np.asarray(values, dtype=np.float64).reshape(-1)
    if not len(numbers) or width <= 0:
        return np.empty(0, np.int8)
    gone = np.zeros(len(numbers), np.bool_) if absent is None else np.asarray(absent, np.bool_)
    finite = np.isfinite(numbers) & ~gone
    top = high if high is not None else float(np.max(numbers, where=finite, initial=low))
    scale = top - low
    share = np.zeros(len(numbers))
    if scale > 0 and np.isfinite(scale):
        with np.errstate(over="ignore"):  # far above a given `high`: a full cell
            np.divide(numbers - low, scale, out=share, where=finite)
    levels = np.ceil(np.clip(share, 0, 1) * _N_LEVELS)
    # Ranked so that the maximum of a bucket is its worst value.
    rank = np.where(gone, -1, levels)
    rank[~gone & np.isinf(numbers)] = _N_LEVELS + 1
    rank[~gone & np.isnan(numbers)] = _N_LEVELS + 2
    worst = np.maximum.reduceat(rank, bucket_starts(len(rank), width)).astype(np.int8)
    special = np.array([NOTHING, *range(1, _N_LEVELS + 1), INFINITE, NAN, ABSENT], dtype=np.int8)
    return special[worst]  # -1 is the last: ABSENT


def bucket_starts(n_values: int, n_cells: int) -> npt.NDArray[np.int64]:
    """First index of each of min(n_values, n_cells) buckets of nearly equal size."""
    cells = min(n_values, n_cells)
    return np.arange(cells, dtype=np.int64) * n_values // max(cells, 1)


def cell_of(index: int, n_values: int, n_cells: int) -> int:
    """The cell in which a value is drawn."""
    starts = bucket_starts(n_values, n_cells)
    return int(np.searchsorted(starts, index, side="right")) - 1


def render_strip(
    values: npt.ArrayLike,
    width: int,
    glyphs: Glyphs,
    *,
    cursor: int | None = None,
    low: float = 0.0,
    high: float | None = None,
    absent: npt.NDArray[np.bool_] | None = None,
    bad_style: str = "bold",
    cursor_style: str = "reverse",
) -> Text:
    """The strip as one line of at most `width` cells; `cursor` is the index of the value to mark."""
    levels = strip_levels(values, width, low=low, high=high, absent=absent)
    symbols = {NOTHING: glyphs.nothing, NAN: glyphs.nan, INFINITE: glyphs.levels[-1], ABSENT: glyphs.unknown}
    symbols |= {level: glyphs.levels[level - 1] for level in range(1, _N_LEVELS + 1)}
    text = Text("".join(symbols[int(level)] for level in levels), no_wrap=True, end="")
    for cell in np.flatnonzero((levels == NAN) | (levels == INFINITE)).tolist():
        text.stylize(bad_style, cell, cell + 1)
    n_values = int(np.size(np.asarray(values)))
    if cursor is not None and 0 <= cursor < n_values and len(levels):
        cell = cell_of(cursor, n_values, width)
        text.stylize(cursor_style, cell, cell + 1)
    return text


class LayerStrip(Widget):
    """A strip under a table; set `values` and `cursor`. The second line points at the cursor's cell."""

    DEFAULT_CSS = """
    LayerStrip { height: 2; width: 1fr; }
    """

    values: reactive[npt.NDArray[np.float64]] = reactive(np.empty(0), always_update=True)
    absent: reactive[npt.NDArray[np.bool_] | None] = reactive(None, always_update=True)
    cursor: reactive[int | None] = reactive(None)
    high: reactive[float | None] = reactive(None)
    label: reactive[str] = reactive("")
    caption: reactive[str] = reactive("")
    """What the strip shows; stands on the second line, where the pointer leaves room."""

    def render(self) -> Text:
        glyphs = glyphs_of(self.app)
        label = f"{self.label} " if self.label else ""
        head = Text(label)
        room = self.size.width - head.cell_len
        strip = render_strip(
            self.values, room, glyphs, cursor=self.cursor, high=self.high, absent=self.absent
        )
        lines = Text.assemble(head, strip, no_wrap=True)
        pointer = None
        if self.cursor is not None and 0 <= self.cursor < len(self.values) and room > 0:
            pointer = head.cell_len + cell_of(self.cursor, len(self.values), room)
        lines.append("\n" + _second_line(pointer, self.caption, self.size.width, glyphs))
        return lines


def _second_line(pointer: int | None, caption: str, width: int, glyphs: Glyphs) -> str:
    """The pointer under its cell and the caption: left of it where that fits, else right, else not at all."""
    if pointer is None:
        return caption
    cells = cell_len(caption)
    if caption and cells < pointer:
        return caption + " " * (pointer - cells) + glyphs.below
    line = " " * pointer + glyphs.below
    return f"{line}  {caption}" if caption and pointer + 3 + cells <= width else line
