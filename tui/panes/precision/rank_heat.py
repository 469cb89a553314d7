"""The rank matrix as a control: one line a rank, one cell a layer or several."""

from __future__ import annotations

import numpy as np
from rich.text import Text
from textual.reactive import reactive
from textual.widget import Widget

from npulse.core.precision.pages.matrix_cells import (
    ABSENT,
    AGREES,
    HEAT,
    NOT_KNOWN,
    ORIGIN_CELL,
    Cells,
    squeezed,
    starts,
)

from ...glyphs import Glyphs, glyphs_of
from ...widgets.cells import fit

_LABEL_CELLS = 9


class RankHeat(Widget, can_focus=True):
    """One line a rank, one cell a layer or several; the cursor is `rank_at`, `layer_at` in the matrix."""

    DEFAULT_CSS = """
    RankHeat { height: auto; max-height: 50%; min-height: 1; width: 1fr; padding: 0 1; }
    """
    rank_at: reactive[int] = reactive(0)
    layer_at: reactive[int] = reactive(0)
    cells: reactive[Cells] = reactive(np.zeros((0, 0), np.int8), layout=True, always_update=True)
    labels: tuple[str, ...] = ()

    def __init__(self) -> None:
        super().__init__()
        self._top = 0
        self._squeezed: Cells | None = None

    def watch_cells(self) -> None:
        self._squeezed = None

    def shown(self, room: int) -> Cells:
        """The cells in at most `room` columns: put together once, not for each key."""
        if self._squeezed is None or self._squeezed.shape[1] != min(room, self.cells.shape[1]):
            self._squeezed = squeezed(self.cells, room)
        return self._squeezed

    def validate_rank_at(self, rank: int) -> int:
        return max(0, min(rank, len(self.cells) - 1))

    def validate_layer_at(self, layer: int) -> int:
        return max(0, min(layer, int(self.cells.shape[1]) - 1))

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        return max(len(self.cells), 1)

    def render(self) -> Text:
        glyphs, height = glyphs_of(self.app), max(self.size.height, 1)
        room = max(self.size.width - _LABEL_CELLS - 1, 1)
        shown = self.shown(room)
        n_ranks = len(shown)
        self._top = max(min(self._top, self.rank_at, n_ranks - height), self.rank_at - height + 1, 0)
        text = Text(no_wrap=True, end="")
        at = 0
        if self.cells.shape[1]:
            at = int(np.searchsorted(starts(self.cells.shape[1], room), self.layer_at, side="right")) - 1
        stop = min(self._top + height, n_ranks)
        for row in range(self._top, stop):
            label = fit(self.labels[row], _LABEL_CELLS, "left", glyphs.ellipsis)
            text.append(f"{label} ", "bold" if row == self.rank_at else "")
            start = len(text)
            text.append("".join(sign_of(int(cell), glyphs) for cell in shown[row]))
            for place in np.flatnonzero(shown[row] == ORIGIN_CELL).tolist():
                text.stylize("bold", start + place, start + place + 1)
            if row == self.rank_at:
                text.stylize("reverse", start + at, start + at + 1)
            if row + 1 < stop:
                text.append("\n")
        return text


def sign_of(cell: int, glyphs: Glyphs) -> str:
    """One cell of the matrix."""
    if HEAT <= cell < ORIGIN_CELL:
        return glyphs.heat[cell - HEAT + 1]
    return {ABSENT: " ", AGREES: glyphs.nothing, NOT_KNOWN: glyphs.unknown, ORIGIN_CELL: glyphs.error}[cell]
