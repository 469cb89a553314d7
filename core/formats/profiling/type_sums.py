"""Sums of an operator table by operator type, in one pass and without keeping a row.

What a Top list needs, long before the table itself is read: memory for the types alone, and a file that grows
costs what it grew by. Of a line only its head is looked at, up to the last cell that counts; a block in which
a head has quotes, or anything is not as it should be, goes the way of the whole reader (`type_sums_rows`).
No array is made before there is such a block: to load numpy costs a fifth of what a million rows do.
"""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import InputError
from ...files import open_input, shown_path
from ...progress import IsCancelled, Progress, ProgressCallback, check, ignore_progress, never_cancelled
from .cell_texts import NONE_WORDS, unquoted
from .columns import Layout, layout_of
from .records import TypeTotal
from .table_bytes import Lines, TableBytes

if TYPE_CHECKING:
    from .type_sums_rows import RowSums

BLOCK_BYTES = 1 << 16
"""As much as stays in the processor's cache while it is taken apart."""
MAX_TYPES = 1 << 17
LONGEST_NS = 2**62
_MANY_BYTES = 1 << 24
_ROWS_AT_ONCE = 1 << 8
_AS_ZEROS = bytes.maketrans(b"123456789", b"0" * 9)


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
class Sums:
    """Sums by text. Cells as they stand in the file are looked up once."""

    code_of: dict[bytes, int] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)
    totals_ns: list[int] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    n_bytes: int = 0

    def code(self, cell: bytes) -> int:
        """The number of a cell's text, -1 for one that says nothing."""
        known = self.code_of.get(cell)
        if known is not None:
            return known
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

    def add(self, code: int, total_ns: int, count: int) -> None:
        """So many durations of a text."""
        self.totals_ns[code] += total_ns
        self.counts[code] += count

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
        self._types, self._names = Sums(), Sums()
        self._longest_ns = longest_ns
        self._n_dropped = 0
        self._waiting = _Waiting()
        self.n_rows = 0
        self.n_aside = 0
        self.is_full = False
        self.begin("")

    @property
    def n_dropped(self) -> int:
        return self._n_dropped + (self._rows.n_dropped if self._rows is not None else 0)

    def begin(self, artifact: str) -> None:
        """A file begins; one before it was ended."""
        self._n_dropped = self.n_dropped if hasattr(self, "_rows") else 0
        self._bytes, self._artifact = TableBytes(is_counting=False), artifact
        self._rows: RowSums | None = None
        self._header = b""
        self._heads: tuple[Layout, _Heads | None] | None = None

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
        if self._rows is not None:
            self._count(*self._rows.finish())

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
        if self._heads is None and self._rows is None:
            lines = self._after_header(lines)
            if not lines.raw:
                return
        layout = self._rows.layout if self._rows is not None else None
        if layout is not None and (self._heads is None or self._heads[0] is not layout):
            self._add_waiting()
            self._heads = (layout, _Heads.of(layout))
        heads = self._heads[1] if self._heads is not None else None
        is_held = self._rows is not None and self._rows.is_holding
        is_plain = heads is not None and not lines.is_unfinished and not is_held
        if is_plain and heads is not None and self._waiting.split(heads, lines):
            if len(self._waiting.names) >= _ROWS_AT_ONCE:
                self._add_waiting()
        else:
            self._add_waiting()
            self._add_lines(lines)
        self.is_full = max(len(self._types.places), len(self._names.places)) > MAX_TYPES

    def _after_header(self, lines: Lines) -> Lines:
        """The lines behind a plain header on the first of them; all of them where it is none."""
        line, _, rest = lines.raw.partition(b"\n")
        if lines.is_unfinished or not line.isascii() or b'"' in line or not line.strip(b" \t\r,"):
            return lines
        layout = layout_of(line.removesuffix(b"\r").decode("ascii").split(","))
        heads = _Heads.of(layout) if layout is not None else None
        if layout is None or heads is None:
            return lines
        self._heads, self._header = (layout, heads), line + b"\n"
        return replace(lines, raw=rest)

    def _add_waiting(self) -> None:
        """The rows whose cells wait into the sums; as the whole reader has them where one is not plain."""
        waiting = self._waiting
        if not waiting.lines:
            return
        self._waiting = _Waiting()
        ns = waiting.ns()
        codes = [] if ns is None else [self._types.code(cell) for cell in waiting.written]
        if ns is None or min(codes) < 0 or max(ns) > self._longest_ns or min(ns) < 0:
            for lines in waiting.lines:
                self._add_lines(lines)
            return
        start = 0
        for code, texts in zip(codes, waiting.written.values(), strict=True):
            part = ns[start : start + len(texts)]
            self._types.add(code, sum(part), len(part))
            start += len(part)
        self.n_rows += len(ns)

    def _add_lines(self, lines: Lines) -> None:
        """Lines that are not plain, as the whole reader has them."""
        if self._rows is None:
            from .type_sums_rows import RowSums

            self._rows = RowSums(self._artifact, self._header, self._types, self._names, self._longest_ns)
            if self._heads is not None and self._rows.layout is not None:
                self._heads = (self._rows.layout, self._heads[1])
        self._count(*self._rows.add(lines))

    def _count(self, n_rows: int, n_aside: int) -> None:
        self.n_rows += n_rows
        self.n_aside += n_aside


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
        types, duration = place_of(layout, "op_type"), layout.duration
        if types is None or duration < 0 or max(types, duration) >= layout.n_columns - 1:
            return None
        last = max(types, duration)
        name = place_of(layout, "name")
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

    def ns(self) -> Sequence[int] | None:
        """The durations, type by type; None where they, or the names before them, are not plain."""
        texts = list(chain.from_iterable(self.written.values()))
        if b'"' in b"".join(self.names) or b'"' in b"".join(self.written):
            return None
        joined = b"\n".join((*texts, b""))
        digits = joined.translate(_AS_ZEROS)
        n = len(texts)
        # each has a digit, a point, three digits, and nothing else but digits: so they are whole ns
        if digits.count(b"0.000\n") == n == digits.count(b".") and not digits.translate(None, b".0\n"):
            try:
                return list(map(int, joined.translate(None, b".").split()))
            except ValueError:  # thousands of digits
                return None
        from .type_sums_rows import whole_ns

        return whole_ns(texts)


def place_of(layout: Layout, name: str) -> int | None:
    """Where a column stands, None where the layout has none of that name."""
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
    Raises InputError where none is, Cancelled. Cost: linear in the bytes; 1,000,000 rows (350 MB) take 0.8 s
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
