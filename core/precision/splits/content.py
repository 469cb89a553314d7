"""Which of several layouts the elements speak for: small samples of the parts against the whole."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from npulse.core.calls.tensors import open_place
from npulse.core.formats.tensors import TensorError, widen

from .layouts import PADDING, Layout
from .model import Part
from .place import place_of

Values = npt.NDArray[Any]

FEW_POSITIONS, MANY_POSITIONS = 8, 32
"""Places that are looked at, of two parts: where the first candidate agrees, and before one is chosen."""

N_OUTER, N_INNER = 4, 32
"""Elements before and behind the axis that are taken at each place."""

LONG_ROW = 1 << 16
"""Along the last axis rows up to this length are read as a whole."""

CLEAR = 0.5
"""The best layout has at most this share of the second best one's distance, else elements do not decide."""

AGREES = 0.1
"""Mean distance (relative, at most 1 a place) up to which a layout counts as seen in the elements."""


class Samples:
    """Elements of the parts and of the whole of one leaf, read where they are asked for.

    A class because the files stay open while the candidates are tried.
    """

    def __init__(self, parts: Sequence[Part], whole: Part, stack: ExitStack) -> None:
        from ..blocks.pair import reader_of

        self._files = [open_place(place_of(part)) for part in (*parts, whole)]
        self._read = [reader_of(file, stack) for file in self._files]
        self._rows: dict[tuple[int, int], Values] = {}
        self.n_parts = len(parts)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the whole."""
        return self._files[-1].shape

    def distances(self, layout: Layout, n_positions: int) -> Values:
        """Of each part that is looked at: mean over the places of |part - whole| / |whole|, at most 1 each.

        NaN where nothing is finite. A sum has one entry.
        """
        if layout.axis < 0:
            return self._flat(layout, n_positions)
        found: list[float] = []
        for part in sorted({0, self.n_parts // 2, self.n_parts - 1}):
            size = self._files[part].shape[layout.axis]
            positions = np.unique(np.linspace(0, size - 1, min(size, n_positions)).astype(np.int64))
            goals = np.array([_in_whole(layout, part, p) for p in positions.tolist()], np.int64)
            held = goals != PADDING
            if held.any():
                t = self.at(part, layout.axis, positions[held])
                found.append(_mean(distances(t, self.at(self.n_parts, layout.axis, goals[held]))))
        return np.array(found or [np.nan])

    def at(self, which: int, axis: int, positions: npt.NDArray[np.int64]) -> Values:
        """(place, element): what stands at some places along an axis of a part, or of the whole (last)."""
        shape = self._files[which].shape
        outer, length, inner = prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])
        rows = np.unique(np.linspace(0, outer - 1, min(outer, N_OUTER)).astype(np.int64)).tolist()
        if inner == 1 and length <= LONG_ROW:
            return np.stack([self._row(which, row, length)[positions] for row in rows], axis=1)
        n = min(inner, N_INNER)
        rows = rows[:: len(rows) // 2 or 1]
        starts = [[(row * length + p) * inner + (inner - n) // 2 for row in rows] for p in positions.tolist()]
        return np.stack([np.concatenate([self._values(which, s, n) for s in of]) for of in starts])

    def _row(self, which: int, row: int, length: int) -> Values:
        if (which, row) not in self._rows:
            self._rows[which, row] = self._values(which, row * length, length)
        return self._rows[which, row]

    def _values(self, which: int, first: int, n: int) -> Values:
        values = widen(self._read[which](first, n), self._files[which].dtype)
        return values.astype(np.complex128 if values.dtype.kind == "c" else np.float64)

    def _flat(self, layout: Layout, n_positions: int) -> Values:
        size = self._files[-1].n_elements
        n = min(size, N_INNER)
        places = np.unique(np.linspace(0, size - n, min(n_positions, size - n + 1)).astype(np.int64)).tolist()
        *parts, whole = (
            np.stack([self._values(which, first, n) for first in places]) for which in range(self.n_parts + 1)
        )
        if layout.kind == "sum":
            return np.array([_mean(distances(np.sum(parts, axis=0), whole))])
        return np.array([_mean(distances(part, whole)) for part in parts])


def choose(layouts: Sequence[Layout], parts: Sequence[Part], whole: Part) -> tuple[Layout, bool] | None:
    """The layout that agrees best, and whether the elements decide; None where they cannot be read.

    One rank's part may be wrong: it is enough that another one agrees. Of equals the first is taken.
    """
    with ExitStack() as stack, np.errstate(all="ignore"):
        try:
            samples = Samples(parts, whole, stack)
            if layouts[0].axis >= 0 and (samples.distances(layouts[0], FEW_POSITIONS) < AGREES / 2).all():
                return layouts[0], True
            found = [samples.distances(layout, MANY_POSITIONS) for layout in layouts]
        except (TensorError, ValueError):
            return None
    tables = [np.where(np.isnan(one), 2.0, one) for one in found]
    best = [float(one.min()) for one in tables]
    near = min(best) + AGREES / 2
    # copies of which one agrees may be a sum whose other parts are 0: what is expected decides
    means = [(float(one.mean()) if one.size > 1 and layouts[0].axis >= 0 else 0.0) for one in tables]
    means = [mean if b <= near else 3.0 + b for mean, b in zip(means, best, strict=True)]
    place = int(np.argmin(np.round(means, 6)))
    chosen = layouts[place]
    others = [
        b for one, b in zip(layouts, best, strict=True) if (one.kind, one.runs) != (chosen.kind, chosen.runs)
    ]
    return chosen, best[place] < AGREES or best[place] <= CLEAR * min([*others, 1.0])


def _in_whole(layout: Layout, part: int, position: int) -> int:
    for first, n in layout.runs[part]:
        if position < n:
            return first if first == PADDING else first + position
        position -= n
    return PADDING


def distances(part: Values, whole: Values) -> Values:
    """Of each place (first axis); NaN where nothing is finite on both sides."""
    finite = np.isfinite(part) & np.isfinite(whole)
    t, g = np.where(finite, part, 0), np.where(finite, whole, 0)
    off, size = np.linalg.norm(t - g, axis=1), np.linalg.norm(g, axis=1)
    found = np.where(off == 0, 0.0, np.where(size > 0, np.minimum(off / np.where(size > 0, size, 1), 1), 1.0))
    return np.where(finite.any(axis=1), found, np.nan)


def _mean(distances: Values) -> float:
    known = distances[~np.isnan(distances)]
    return float(known.mean()) if len(known) else float("nan")
