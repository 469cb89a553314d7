"""A tensor made of parts that lie in several files: read block by block, never as a whole."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass
from npulse.core.formats.tensors import DTYPES, Dtype, TensorFile, widen

from ..blocks.kernel import BLOCK
from .model import SUM, Cut

Raw = npt.NDArray[Any]
Read = Callable[[int, int], Raw]
"""(first element, how many) -> flat elements in the carrier."""

SHORT_RUN_BYTES = 4096
"""Shorter runs are picked out of whole rows: a system call each would cost more than what lies between."""


@dataclass(frozen=True, slots=True)
class TensorView:
    """In the place of a `TensorFile`: parts put together as `cut` says.

    Parts that are added up, and parts of unlike formats, are float64 (complex128) values.
    """

    parts: tuple[TensorFile, ...]
    cut: Cut

    @property
    def shape(self) -> tuple[int, ...]:
        return self.cut.shape

    @property
    def n_elements(self) -> int:
        return math.prod(self.cut.shape)

    @property
    def is_widened(self) -> bool:
        return self.cut.is_sum or any(part.dtype.name != self.parts[0].dtype.name for part in self.parts)

    @property
    def dtype(self) -> Dtype:
        if not self.is_widened:
            return self.parts[0].dtype
        is_complex = any(part.dtype.kind == "complex" for part in self.parts)
        return DTYPES["complex128" if is_complex else "float64"]

    @property
    def declared(self) -> Dtype:
        """The coarsest of the parts."""
        return max((part.declared for part in self.parts), key=lambda dtype: dtype.unit_roundoff)

    @property
    def is_as_declared(self) -> bool:
        return all(part.dtype.name == part.declared.name for part in self.parts)

    def fits(self) -> bool:
        """Whether the files hold what the cut asks for."""
        width = self.cut.outer * self.cut.inner
        lengths = [part.n_elements // width if width else 0 for part in self.parts]
        whole = all(part.n_elements == n * width for part, n in zip(self.parts, lengths, strict=True))
        return whole and all(
            first >= 0 and first + n <= (min(lengths) if part == SUM else lengths[part])
            for part, first, n in self.cut.segments
        )

    def array(self) -> Raw:
        """The whole, shaped, for tensors that must be seen so. TensorError."""
        from contextlib import ExitStack

        from ..blocks.pair import reader_of

        with ExitStack() as stack:
            read = self.read([reader_of(part, stack) for part in self.parts])
            return read(0, self.n_elements).reshape(self.shape)

    def read(self, readers: Sequence[Read]) -> Read:
        """A reader of the whole; readers: of the parts, their blocks may be overwritten by the next call."""
        return _Reader(self, readers).read


class _Reader:
    """Blocks of a view; a class because a row that was put together serves two blocks."""

    def __init__(self, view: TensorView, readers: Sequence[Read]) -> None:
        cut = view.cut
        self._parts = view.parts
        width = max(cut.outer * cut.inner, 1)
        self._lengths = [part.n_elements // width for part in view.parts]
        self._readers = readers
        self._dtype, self._is_widened, self._is_sum = view.dtype, view.is_widened, cut.is_sum
        self._inner = cut.inner
        self._segments = cut.segments
        self._starts = np.cumsum([0, *(n for _, _, n in cut.segments)])
        self._row = int(self._starts[-1]) * cut.inner
        self._kept: tuple[int, Raw] | None = None

    def read(self, first: int, size: int) -> Raw:
        out = np.empty(size, self._dtype.carrier)
        at, end = first, first + size
        while at < end:
            row, within = divmod(at, self._row)
            here = out[at - first :]
            if within == 0 and end - at >= self._row:
                n_rows = (end - at) // self._row
                self._rows(row, n_rows, here[: n_rows * self._row])
                at += n_rows * self._row
            elif self._row <= BLOCK:
                n = min(end - at, self._row - within)
                here[:n] = self._whole_row(row)[within : within + n]
                at += n
            else:
                n = min(end - at, self._row - within)
                self._run(row, within, here[:n])
                at += n
        return out

    def _whole_row(self, row: int) -> Raw:
        if self._kept is None or self._kept[0] != row:
            values = np.empty(self._row, self._dtype.carrier)
            self._rows(row, 1, values)
            self._kept = row, values
        return self._kept[1]

    def _take(self, part: int, first: int, n: int) -> Raw:
        """Flat elements of a part in the carrier of the view; part SUM: added up over all."""
        if part == SUM:
            total = self._take(0, first, n).copy()
            with np.errstate(all="ignore"):
                for other in range(1, len(self._readers)):
                    total += self._take(other, first, n)
            return total
        raw = self._readers[part](first, n)
        return widen(raw, self._parts[part].dtype).astype(self._dtype.carrier) if self._is_widened else raw

    def _rows(self, row: int, n_rows: int, out: Raw) -> None:
        """Whole rows of the view."""
        inner = self._inner
        table = out.reshape(n_rows, -1, inner)
        short = SHORT_RUN_BYTES // max(self._dtype.itemsize, 1)
        picked: dict[int, list[int]] = {}
        for place, (part, first, n) in enumerate(self._segments):
            length = self._length(part)
            if n == length:
                start = int(self._starts[place])
                block = self._take(part, row * length * inner, n_rows * length * inner)
                table[:, start : start + n] = block.reshape(n_rows, n, inner)
            elif n * inner < short:
                picked.setdefault(part, []).append(place)
            else:
                start = int(self._starts[place])
                for i in range(n_rows):
                    run = self._take(part, ((row + i) * length + first) * inner, n * inner)
                    table[i, start : start + n] = run.reshape(n, inner)
        for part, places in picked.items():
            self._pick(part, places, row, table)

    def _pick(self, part: int, places: list[int], row: int, table: Raw) -> None:
        """Short segments of one part: its rows are read as a whole, as many as fit a block."""
        length, inner = self._length(part), self._inner
        lows = [self._segments[place][1] for place in places]
        highs = [self._segments[place][1] + self._segments[place][2] for place in places]
        low, high = min(lows), max(highs)
        source = np.concatenate([np.arange(a, b) for a, b in zip(lows, highs, strict=True)]) - low
        goal = np.concatenate([np.arange(self._starts[p], self._starts[p + 1]) for p in places])
        is_dense = high - low == length
        step = max(1, BLOCK // max(length * inner, 1)) if is_dense else 1
        for i in range(0, len(table), step):
            n_rows = min(step, len(table) - i)
            if is_dense:
                block = self._take(part, (row + i) * length * inner, n_rows * length * inner)
            else:
                block = self._take(part, ((row + i) * length + low) * inner, (high - low) * inner)
            table[i : i + n_rows, goal] = block.reshape(n_rows, -1, inner)[:, source]

    def _run(self, row: int, within: int, out: Raw) -> None:
        """A range inside one row that is larger than a block."""
        inner, at, end = self._inner, within, within + out.size
        place = int(np.searchsorted(self._starts, at // inner, side="right")) - 1
        while at < end:
            part, first, _ = self._segments[place]
            begin, stop = int(self._starts[place]) * inner, int(self._starts[place + 1]) * inner
            n = min(end, stop) - at
            where = (row * self._length(part) + first) * inner + at - begin
            out[at - within : at - within + n] = self._take(part, where, n)
            at += n
            place += 1

    def _length(self, part: int) -> int:
        return self._lengths[0 if part == SUM else part]
