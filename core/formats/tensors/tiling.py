"""Elements that a device stores in tiles, addressed as in the tensor that they were made of.

A stored array has more axes than the original one: each axis of the original is made of one or more stored
axes, and what pads the last tile is cut off. Nothing is rearranged as a whole: a block of the original is
gathered from where its elements lie.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .layout import Shape, row_major_strides


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
        strides = row_major_strides(self.stored)
        rest = np.arange(first, first + n, dtype=np.int64)
        found = np.zeros(n, np.int64)
        for length, parts in zip(reversed(shape), reversed(self.axes), strict=True):
            rest, at = np.divmod(rest, length)
            for axis in reversed(parts[1:]):
                at, inner = np.divmod(at, self.stored[axis])
                found += inner * strides[axis]
            found += at * strides[parts[0]]
        return found

    def whole(self, stored: npt.NDArray[Any], shape: Shape) -> npt.NDArray[Any]:
        """A copy of all elements of the original, from those that are stored."""
        tiles = stored.reshape(self.stored).transpose([axis for parts in self.axes for axis in parts])
        merged = tiles.reshape([math.prod(self.stored[axis] for axis in parts) for parts in self.axes])
        return np.ascontiguousarray(merged[tuple(slice(length) for length in shape)])
