"""Rows for sums by type as the whole reader has them: quotes, words where numbers should be, lines that are
no rows. The arrays of `type_sums`, which loads this when a block of a table asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ...errors import InputError
from ..line_tables import NoHeaderError
from ..text_lines import LineNotes
from .cells import NO_NS, Places, ns_of
from .columns import Layout
from .rows import Grid, RowSplitter
from .table_bytes import Lines
from .type_sums import Sums, place_of

_SAFE_NS = 2**38
"""Sums of a block of so long durations are exact as float64."""
_FEW_TYPES = 1 << 10
_EXACT_NS = 2.0**49
_NEAR_NS = 0.01
"""Below 2**49 ns a float64 of microseconds is much nearer than that to a number of whole ns."""


class RowSums:
    """One file, from some block on. header: the line that was met before it, b"" for none."""

    def __init__(self, artifact: str, header: bytes, types: Sums, names: Sums, longest_ns: int) -> None:
        self._artifact = artifact
        self._splitter = RowSplitter(LineNotes(artifact))
        self._types, self._names = types, names
        self._longest_ns = longest_ns
        if header:
            self._splitter.split(Lines(1, header, 1))

    @property
    def layout(self) -> Layout | None:
        return self._splitter.layout

    @property
    def n_dropped(self) -> int:
        return self._splitter.n_dropped

    @property
    def is_holding(self) -> bool:
        """True while lines wait for more of them."""
        return self._splitter.is_holding

    def add(self, lines: Lines) -> tuple[int, int]:
        """Lines into the sums: how many rows they are, and how many of those are in no sum. Raises
        InputError: this is no operator table."""
        if not lines.is_unfinished:
            lines = replace(lines, n_lines=lines.raw.count(b"\n"))
        return self._add_grids(partial(self._splitter.split, lines))

    def finish(self) -> tuple[int, int]:
        """What was held for more lines that did not come."""
        return self._add_grids(self._splitter.finish)

    def _add_grids(self, grids: Callable[[], Iterable[Grid]]) -> tuple[int, int]:
        try:
            found = grids()
        except NoHeaderError as error:
            raise InputError(str(error), path=self._artifact, line=error.line) from error
        n_rows = n_aside = 0
        for grid in found:
            n_rows += len(grid.lines)
            n_aside += self._add(grid)
        return n_rows, n_aside

    def _add(self, grid: Grid) -> int:
        """Rows into the sums; returns how many are in none."""
        duration, at = grid.layout.duration, place_of(grid.layout, "op_type")
        ns, _ = ns_of(grid.buffer, grid.starts(duration), grid.ends(duration), NO_NS)
        codes = _codes(self._types, _cells(grid, at)) if at is not None else np.full(len(ns), -1, np.int64)
        counts = (ns >= 0) & (ns <= self._longest_ns)
        has_type = counts & (codes >= 0)
        _add(self._types, codes[has_type], ns[has_type])
        at = place_of(grid.layout, "name")
        without = np.flatnonzero(counts & (codes < 0))
        if at is not None and len(without):
            cells = _cells(grid, at)
            names = _codes(self._names, [cells[row] for row in without.tolist()])
            _add(self._names, names[names >= 0], ns[without][names >= 0])
        return len(ns) - int(np.count_nonzero(counts))


def whole_ns(texts: Sequence[bytes]) -> list[int] | None:
    """Texts of microseconds as nanoseconds; None where one of them is no plain number of whole ones."""
    try:
        us = np.array(list(map(float, texts)))
    except ValueError:
        return None
    if b"_" in b"".join(texts):
        return None
    us *= 1000
    ns = np.rint(us)
    # a text of three decimals is never so far from its nanosecond; one of more may be a half
    if not bool((np.abs(us - ns) < _NEAR_NS).all()) or not bool((np.abs(ns) < _EXACT_NS).all()):
        return None
    whole: list[int] = ns.astype(np.int64).tolist()
    return whole


def _codes(sums: Sums, cells: Sequence[bytes]) -> Places:
    known = sums.code_of
    different = dict.fromkeys(cells)
    for cell in different:
        sums.code(cell)
    if len(known) < len(different):  # more of them than are remembered
        return np.array([sums.code(cell) for cell in cells], np.int64)
    return np.fromiter(map(known.__getitem__, cells), np.int64, len(cells))


def _add(sums: Sums, codes: Places, ns: Places) -> None:
    """Durations to the sums; every code is one of a text."""
    if not len(codes):
        return
    numbers: Sequence[int] = range(len(sums.totals_ns))
    if len(numbers) > _FEW_TYPES:
        at, codes = np.unique(codes, return_inverse=True)
        numbers = at.tolist()
    n = len(numbers)
    if int(ns.max()) < _SAFE_NS and len(ns) < 2**15:
        parts = np.bincount(codes, weights=ns, minlength=n).astype(np.int64).tolist()
    else:
        high, low = np.zeros(n, np.int64), np.zeros(n, np.int64)
        np.add.at(high, codes, ns >> 32)
        np.add.at(low, codes, ns & 0xFFFF_FFFF)
        parts = [(a << 32) + b for a, b in zip(high.tolist(), low.tolist(), strict=True)]
    counts = np.bincount(codes, minlength=n).tolist()
    for number, part, count in zip(numbers, parts, counts, strict=True):
        sums.add(number, part, count)


def _cells(grid: Grid, place: int) -> list[bytes]:
    spans = zip(grid.starts(place).tolist(), grid.ends(place).tolist(), strict=True)
    return [grid.raw[start:end] for start, end in spans]
