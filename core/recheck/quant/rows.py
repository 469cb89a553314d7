"""An activation as rows of channels, a block at a time: memory does not grow with the tensor."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from npulse.core.formats.tensors import TensorFile, TensorReader, widen

Floats = npt.NDArray[np.float64]
BLOCK_ELEMENTS = 1 << 18


@dataclass(frozen=True, slots=True)
class Rows:
    """Tokens (all axes but the last) by channels (the last one), of a file or of an array.

    Elements that are not finite are 0 in the blocks; the first pass counts them.
    """

    source: TensorFile | Floats

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.source.shape)

    @property
    def n_channels(self) -> int:
        return self.shape[-1] if self.shape else 1

    @property
    def n_rows(self) -> int:
        return math.prod(self.shape[:-1])

    def blocks(self, wanted: npt.NDArray[np.int64] | None = None) -> Iterator[tuple[int, Floats]]:
        """First row and rows [n, channels] of each block. wanted: only these rows, in their order.

        Raises TensorError where the file ends early.
        """
        step = max(BLOCK_ELEMENTS // max(self.n_channels, 1), 1)
        if wanted is not None:
            for place in range(0, len(wanted), step):
                rows = [self._read(int(row), 1)[0] for row in wanted[place : place + step]]
                yield place, np.array(rows)
            return
        yield from self._all(step)

    def _all(self, step: int) -> Iterator[tuple[int, Floats]]:
        n, channels = self.n_rows, self.n_channels
        if not n or not channels:
            return
        if isinstance(self.source, TensorFile) and self.source.is_contiguous:
            buffer = bytearray(step * channels * self.source.dtype.itemsize)
            with TensorReader(self.source) as reader:
                for first in range(0, n, step):
                    count = min(step, n - first)
                    raw = reader.read_into(buffer, first * channels, count * channels)
                    values = widen(raw, self.source.dtype).astype(np.float64)
                    yield first, values.reshape(count, channels)
            return
        for first in range(0, n, step):
            yield first, self._read(first, min(step, n - first))

    def _read(self, first: int, count: int) -> Floats:
        if isinstance(self.source, TensorFile):
            whole = self.source.array().reshape(self.n_rows, self.n_channels)
            return widen(whole[first : first + count], self.source.dtype).astype(np.float64)
        return self.source.reshape(self.n_rows, self.n_channels)[first : first + count]
