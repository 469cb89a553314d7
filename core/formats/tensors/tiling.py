"""Elements that a device stores in tiles, addressed as in the tensor that they were made of.

A stored array has more axes than the original one: each axis of the original is made of one or more stored
axes, and what pads the last tile is cut off. Nothing is rearranged as a whole: a block of the original is
gathered from where its elements lie.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass

from .layout import Shape, row_major_strides

MAX_TABLE = 1 << 17
"""Elements of a last axis whose places are kept; about a block, so that no table is larger than one."""


@dataclass(frozen=True, slots=True)
class Tiling:
    """stored: lengths of the stored axes. axes: for each axis of the original the stored axes that make it,
    the outer one first; every stored axis stands in it once.
    """

    stored: Shape
    axes: tuple[Shape, ...]

    def fits(self, shape: Shape) -> bool:
        """Whether an original of this shape fills the tiles: no axis is longer, none lacks a whole tile."""
        if len(shape) != len(self.axes) or 0 in shape or 0 in self.stored:
            return False
        for length, parts in zip(shape, self.axes, strict=True):
            tile = math.prod(self.stored[axis] for axis in parts[1:])
            whole = tile * self.stored[parts[0]]
            if not whole - tile < length <= whole:
                return False
        return True

    def places(self, shape: Shape, first: int, n: int) -> npt.NDArray[np.int64]:
        """Where the elements first ... + n of the original (row-major) lie among the stored ones."""
        if n == 0:
            return np.zeros(0, np.int64)
        length = shape[-1]
        rows = np.arange(first // length, (first + n - 1) // length + 1, dtype=np.int64)
        of_row = np.zeros(len(rows), np.int64)
        rest = rows
        for axis in range(len(shape) - 2, -1, -1):
            rest, at = np.divmod(rest, shape[axis])
            of_row += self._offsets(axis, at)
        if length > MAX_TABLE:  # few rows, each longer than any block
            at = np.arange(first, first + n, dtype=np.int64)
            of_each: npt.NDArray[np.int64] = of_row[at // length - rows[0]]
            return of_each + self._offsets(len(shape) - 1, at % length)
        table = _table(self, len(shape) - 1, length)
        skipped = first - int(rows[0]) * length
        if len(rows) == 1:  # part of one row: the rest of it is not needed
            table, skipped = table[skipped : skipped + n], 0
        found: npt.NDArray[np.int64] = np.add.outer(of_row, table).reshape(-1)
        return found[skipped : skipped + n]

    def _offsets(self, axis: int, at: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """What a coordinate of an original axis adds to the place of an element."""
        strides = row_major_strides(self.stored)
        found = np.zeros(len(at), np.int64)
        for part in reversed(self.axes[axis][1:]):
            at, inner = np.divmod(at, self.stored[part])
            found += inner * strides[part]
        found += at * strides[self.axes[axis][0]]
        return found

    def whole(self, stored: npt.NDArray[Any], shape: Shape) -> npt.NDArray[Any]:
        """A copy of all elements of the original, from those that are stored."""
        tiles = stored.reshape(self.stored).transpose([axis for parts in self.axes for axis in parts])
        merged = tiles.reshape([math.prod(self.stored[axis] for axis in parts) for parts in self.axes])
        return np.ascontiguousarray(merged[tuple(slice(length) for length in shape)])


@lru_cache(maxsize=16)
def _table(tiling: Tiling, axis: int, length: int) -> npt.NDArray[np.int64]:
    """What every coordinate of an axis adds to the place of an element."""
    return tiling._offsets(axis, np.arange(length, dtype=np.int64))
