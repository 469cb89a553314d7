"""Sums of an operator table by operator type, in one pass and without keeping a row.

What a Top list needs, long before the table itself is read: memory for the types alone, and a file that grows
costs what it grew by. Of a line only its head is looked at, up to the last cell that counts; a block in which
a head has quotes, or anything is not as it should be, goes the way of the whole reader.
"""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np

from ...errors import InputError
from ...files import open_input, shown_path
from ...progress import IsCancelled, Progress, ProgressCallback, check, ignore_progress, never_cancelled
from ..line_tables import NoHeaderError
from ..text_lines import LineNotes
from .cells import NO_NS, NONE_WORDS, Places, ns_of, unquoted
from .columns import Layout
from .records import TypeTotal
from .rows import Grid, RowSplitter
from .table_bytes import Lines, TableBytes

BLOCK_BYTES = 1 << 16
"""As much as stays in the processor's cache while it is taken apart."""
MAX_TYPES = 1 << 17
LONGEST_NS = 2**62
_MANY_BYTES = 1 << 24
_SAFE_NS = 2**38
"""Sums of a block of so long durations are exact as float64."""
_FEW_TYPES = 1 << 10
_ROWS_AT_ONCE = 1 << 11
_EXACT_NS = 2.0**49
_NEAR_NS = 0.01
"""Below 2**49 ns a float64 of microseconds is much nearer than that to a number of whole ns."""


@dataclass(frozen=True, slots=True)
class TypeSums:
    """What the rows so far add up to.

    types: an operator type each, in the order of their first rows; names: the rows that say no type, a name
    each (`op_type` is the name). n_rows: all rows; n_aside: those of them without a duration, or with one
    that is negative or longer than was asked for: they are in no sum. n_dropped: lines that are no rows.
    n_bytes: how much was read, of size_bytes; is_whole: that was all of it.
    """

    types: tuple[TypeTotal, ...]
    names: tuple[TypeTotal, ...]
    n_rows: int
    n_aside: int
    n_dropped: int
    n_bytes: int
    size_bytes: int
    is_whole: bool


@dataclass(slots=True)
class _Sums:
    """Sums by text. Cells as they stand in the file are looked up once."""

    code_of: dict[bytes, int] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)
    totals_ns: list[int] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    n_bytes: int = 0

    def code(self, cell: bytes) -> int:
        """The number of a cell's text, -1 for one that says nothing."""
        text = unquoted(cell.decode("utf-8", "replace"))
        code = -1
        if text.lower() not in NONE_WORDS:
            code = self.places.setdefault(text, len(self.places))
            if code == len(self.totals_ns):
                self.totals_ns.append(0)
                self.counts.append(0)
        self.n_bytes += len(cell)
        if self.n_bytes > _MANY_BYTES:
            self.code_of.clear()
            self.n_bytes = 0
        self.code_of[cell] = code
        return code

    def codes(self, cells: Sequence[bytes]) -> Places:
        known = self.code_of
        different = set(cells)
        for cell in different:
            if cell not in known:
                self.code(cell)
        if len(known) < len(different):  # more of them than are remembered
            return np.array([self.code(cell) for cell in cells], np.int64)
        return np.fromiter(map(known.__getitem__, cells), np.int64, len(cells))

    def add(self, codes: Places, ns: Places) -> None:
        """Durations to the sums; every code is one of a text."""
        if not len(codes):
            return
        if len(self.totals_ns) > _FEW_TYPES:
            at, codes = np.unique(codes, return_inverse=True)
            numbers = at.tolist()
        else:
            numbers = range(len(self.totals_ns))
        n = len(numbers)
        if int(ns.max()) < _SAFE_NS and len(ns) < 2**15:
            sums = np.bincount(codes, weights=ns, minlength=n).astype(np.int64)
            parts = sums.tolist()
        else:
            high, low = np.zeros(n, np.int64), np.zeros(n, np.int64)
            np.add.at(high, codes, ns >> 32)
            np.add.at(low, codes, ns & 0xFFFF_FFFF)
            parts = [(a << 32) + b for a, b in zip(high.tolist(), low.tolist(), strict=True)]
        counts = np.bincount(codes, minlength=n).tolist()
        for number, part, count in zip(numbers, parts, counts, strict=True):
            self.totals_ns[number] += part
            self.counts[number] += count

    def told(self) -> tuple[TypeTotal, ...]:
        return tuple(
            TypeTotal(text, "", count, total, average_ns=total // count)
            for text, total, count in zip(self.places, self.totals_ns, self.counts, strict=True)
            if count
        )


class TypeSummer:
    """Adds up tables as they come: begin a file, feed its bytes as it grows, ask for the sums in between.

    longest_ns: durations above it are set aside, as negative ones are. is_full: there are more types than
    131,072; nothing more is added.
    """

    def __init__(self, *, longest_ns: int = LONGEST_NS) -> None:
        self._types, self._names = _Sums(), _Sums()
        self._longest_ns = longest_ns
        self._bytes = TableBytes()
        self._rows = RowSplitter(LineNotes(""))
        self._artifact = ""
        self._n_dropped = 0
        self._heads: tuple[Layout, _Heads | None] | None = None
        self._waiting = _Waiting()
        self.n_rows = 0
        self.n_aside = 0
        self.is_full = False

    @property
    def n_dropped(self) -> int:
        return self._n_dropped + self._rows.n_dropped

    def begin(self, artifact: str) -> None:
        """A file begins; one before it was ended."""
        self._heads = None
        self._n_dropped += self._rows.n_dropped
        self._bytes, self._rows, self._artifact = TableBytes(), RowSplitter(LineNotes(artifact)), artifact

    def feed(self, raw: bytes) -> int:
        """More bytes of the file; half a line waits for its rest. Returns the rows so far. Raises InputError:
        this is no operator table."""
        for lines in self._bytes.add(raw):
            self._take(lines)
        return self.n_rows

    def end(self) -> None:
        """The file has no more bytes. A last line without an end may be cut: it is no row."""
        for lines in self._bytes.add(b"", is_last=True):
            self._take(lines)
        self._add_waiting()
        self._add_grids(self._rows.finish)

    def sums(self, n_bytes: int = 0, size_bytes: int = 0, *, is_whole: bool = False) -> TypeSums:
        """The sums so far. Cost: of the types, whatever the rows."""
        self._add_waiting()
        return TypeSums(
            self._types.told(),
            self._names.told(),
            self.n_rows,
            self.n_aside,
            self.n_dropped,
            n_bytes,
            size_bytes,
            is_whole,
        )

    def _take(self, lines: Lines) -> None:
        if self.is_full:
            return
        layout = self._rows.layout
        if layout is not None and (self._heads is None or self._heads[0] is not layout):
            self._add_waiting()
            self._heads = (layout, _Heads.of(layout))
        heads = self._heads[1] if self._heads is not None and layout is not None else None
        is_plain = heads is not None and not lines.is_unfinished and not self._rows.is_holding
        if is_plain and heads is not None and self._waiting.split(heads, lines):
            if len(self._waiting.names) >= _ROWS_AT_ONCE:
                self._add_waiting()
        else:
            self._add_waiting()
            self._add_grids(partial(self._rows.split, lines))
        self.is_full = max(len(self._types.places), len(self._names.places)) > MAX_TYPES

    def _add_waiting(self) -> None:
        """The rows whose cells wait into the sums; as the whole reader has them where one is not plain."""
        waiting = self._waiting
        if not waiting.lines:
            return
        self._waiting = _Waiting()
        ns = waiting.ns()
        codes = self._types.codes(list(waiting.written)) if ns is not None else None
        if ns is not None and codes is not None and int(codes.min()) >= 0:
            self._add(np.repeat(codes, waiting.sizes()), ns)
            return
        for lines in waiting.lines:
            self._add_grids(partial(self._rows.split, lines))

    def _add_grids(self, grids: Callable[[], Iterable[Grid]]) -> None:
        try:
            found = grids()
        except NoHeaderError as error:
            raise InputError(str(error), path=self._artifact, line=error.line) from error
        for grid in found:
            duration, at = grid.layout.duration, _place(grid.layout, "op_type")
            ns, _ = ns_of(grid.buffer, grid.starts(duration), grid.ends(duration), NO_NS)
            codes = np.full(len(ns), -1, np.int64)
            if at is not None:
                codes = self._types.codes(_cells(grid, at))
            self._add(codes, ns, grid)

    def _add(self, codes: Places, ns: Places, grid: Grid | None = None) -> None:
        """Rows by their types (-1: none) and durations."""
        counts = (ns >= 0) & (ns <= self._longest_ns)
        self.n_rows += len(ns)
        if not counts.all():
            self.n_aside += len(ns) - int(np.count_nonzero(counts))
        has_type = counts & (codes >= 0)
        if has_type.all():
            self._types.add(codes, ns)
            return
        self._types.add(codes[has_type], ns[has_type])
        at = None if grid is None else _place(grid.layout, "name")
        without = np.flatnonzero(counts & (codes < 0))
        if grid is not None and at is not None and len(without):
            cells = _cells(grid, at)
            names = self._names.codes([cells[row] for row in without.tolist()])
            self._names.add(names[names >= 0], ns[without][names >= 0])


@dataclass(frozen=True, slots=True)
class _Heads:
    """The first cells of lines, up to the last one that is wanted.

    types: place of the operator type; duration: of the duration; name: of the name where that stands before
    one of them, as a quoted name may hold a comma. n: cells that are split off.
    """

    types: int
    duration: int
    name: int
    n: int

    @classmethod
    def of(cls, layout: Layout) -> _Heads | None:
        """None where a layout has no types, or its last column is wanted."""
        types, duration = _place(layout, "op_type"), layout.duration
        if types is None or duration < 0 or max(types, duration) >= layout.n_columns - 1:
            return None
        last = max(types, duration)
        name = _place(layout, "name")
        return cls(types, duration, types if name is None or name > last else name, last + 1)


@dataclass(slots=True)
class _Waiting:
    """Lines whose cells were split off and are not added yet: arrays pay from some thousand rows on.

    written: the durations of each operator type, in the order of their first lines. lines: the same as they
    stand in the file, should one of the cells turn out to be another than it seems.
    """

    lines: list[Lines] = field(default_factory=list)
    written: dict[bytes, list[bytes]] = field(default_factory=lambda: defaultdict(list))
    names: list[bytes] = field(default_factory=list)

    def split(self, heads: _Heads, lines: Lines) -> bool:
        """Cells of more lines; False where one of them is too short, and nothing was taken."""
        n = heads.n
        types_at, duration_at, name_at = heads.types, heads.duration, heads.name
        written, add_name = self.written, self.names.append
        try:
            for line in io.BytesIO(lines.raw):  # a line is gone before the next one comes: nothing is copied
                row = line.split(b",", n)
                add_name(row[name_at])
                written[row[types_at]].append(row[duration_at])
        except IndexError:
            earlier, self.lines, self.names = self.lines, [], []
            self.written = defaultdict(list)
            for whole in earlier:
                self.split(heads, whole)
            return False
        self.lines.append(lines)
        return True

    def sizes(self) -> list[int]:
        """How many durations each type has."""
        return list(map(len, self.written.values()))

    def ns(self) -> Places | None:
        """The durations, type by type; None where they, or the names before them, are not plain."""
        texts = list(chain.from_iterable(self.written.values()))
        try:
            us = np.array(list(map(float, texts)))
        except ValueError:
            return None
        if b'"' in b"".join(self.names) or b'"' in b"".join(self.written) or b"_" in b"".join(texts):
            return None
        us *= 1000
        ns = np.rint(us)
        # a text of three decimals is never so far from its nanosecond; one of more may be a half
        if not bool((np.abs(us - ns) < _NEAR_NS).all()) or not bool((np.abs(ns) < _EXACT_NS).all()):
            return None
        whole: Places = ns.astype(np.int64)
        return whole


def _cells(grid: Grid, place: int) -> list[bytes]:
    spans = zip(grid.starts(place).tolist(), grid.ends(place).tolist(), strict=True)
    return [grid.raw[start:end] for start, end in spans]


def _place(layout: Layout, name: str) -> int | None:
    return next((place for place, column in layout.columns if column.name == name), None)


def read_type_sums(
    paths: Path | Sequence[Path],
    *,
    root: Path | None = None,
    longest_ns: int = LONGEST_NS,
    on_sums: Callable[[Callable[[], TypeSums]], None] | None = None,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> TypeSums:
    """Time of every operator type of an op_summary or kernel_details table, or of its slices together.

    on_sums: called behind every block with what makes the sums so far; who calls that decides how often.
    Rows are not compared with each other, and what stands behind the wanted cells of a line is not looked
    at: `read_operators` says what is wrong with a table. Files that are no such table are left out.
    Raises InputError where none is, Cancelled. Cost: linear in the bytes; 1,000,000 rows (350 MB) take 1 s
    of CPU and a few MB.
    """
    listed = [paths] if isinstance(paths, Path) else list(paths)
    summer = TypeSummer(longest_ns=longest_ns)
    size_bytes = sum(path.stat().st_size for path in listed if path.is_file())
    n_bytes = 0
    failed: list[InputError] = []
    for path in listed:
        try:
            file, _ = open_input(path, root)
            summer.begin(shown_path(path, root))
            with file:
                while raw := file.read(BLOCK_BYTES):
                    check(is_cancelled)
                    n_bytes += len(raw)
                    summer.feed(raw)
                    progress(Progress("read", min(n_bytes, size_bytes), size_bytes, "bytes"))
                    if on_sums is not None:
                        on_sums(partial(summer.sums, n_bytes, size_bytes))
            summer.end()
        except OSError as error:
            failed.append(InputError(f"reading failed: {error.strerror}", path=path))
        except InputError as error:
            failed.append(error)
    if failed and len(failed) == len(listed):
        raise failed[0]
    return summer.sums(n_bytes, size_bytes, is_whole=not failed and not summer.is_full)
