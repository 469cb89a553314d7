"""The CSV files of msMemScope (formerly msLeaks); its lines on a console are in `memscope_console`.

Columns are found by name, in any case: those of today, and those of msLeaks (sizes in columns of their own,
times in microseconds). Columns with other names are left alone.
"""

from __future__ import annotations

import csv
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass
from npulse.core.findings import Problem
from npulse.core.progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled

from ..files import shown_path
from .log_lines import MAX_TEXT_CHARS, Line, LogNotes, bounded, log_windows

MAX_ROW_BYTES = 1 << 17
MAX_ROWS = 5_000_000
_MAX_ATTRIBUTES = 64
_MAX_LABELS = 200_000
_TOO_LARGE = 1 << 63

CsvKind = Literal["dump", "compare", "trace", "watch"]
"""dump: events of memory; compare: two steps compared; trace: Python functions; watch: watched tensors."""


@dataclass(frozen=True, slots=True)
class MemscopeEvent:
    """One row of a dump: an allocation, a release, an access, a launch, a mark or a snapshot.

    number: the tool's own; allocation_id joins the events of one block. event: "MALLOC", "FREE", "ACCESS",
    "OP_LAUNCH", "KERNEL_LAUNCH", "MSTX", "SYSTEM", "SNAPSHOT", "OOM_DETAIL" and so on; event_type: the pool
    ("PTA", "HAL", ...) or the kind of launch. device: "0", "cpu" or "" ("N/A"). size_bytes: of the block,
    used_bytes: of all blocks in use, total_bytes: what the pool holds. attributes: all of that cell, as text.
    """

    line: int
    byte: int
    number: int | None
    event: str
    event_type: str
    name: str
    time_ns: int | None
    pid: int | None
    thread: int | None
    device: str
    address: int | None
    size_bytes: int | None
    used_bytes: int | None
    total_bytes: int | None
    allocation_id: int | None
    owner: str
    attributes: Mapping[str, str]
    python_stack: str
    c_stack: str


@dataclass(frozen=True, slots=True)
class MemscopeDifference:
    """One row of a comparison of two steps: memory that was allocated in each, and the difference."""

    line: int
    byte: int
    event: str
    name: str
    device: str
    base_bytes: int | None
    compare_bytes: int | None
    difference_bytes: int | None


@dataclass(frozen=True, slots=True)
class MemscopeSpan:
    """One row of a Python trace: a function and when it ran."""

    line: int
    byte: int
    name: str
    start_ns: int | None
    end_ns: int | None
    thread: int | None
    pid: int | None


@dataclass(frozen=True, slots=True)
class MemscopeChecksum:
    """One row of watched tensors: which one, and the sum over its bytes as printed."""

    line: int
    byte: int
    tensor: str
    checksum: str


MemscopeRow = MemscopeEvent | MemscopeDifference | MemscopeSpan | MemscopeChecksum

# ---- bytes to rows ----

_ROW_START = re.compile(rb'[0-9]{1,20},"?[A-Za-z_]{2,32}')
_ROW_START_BYTES = 60


class _RowCutter:
    """Bytes as they come -> rows; cells in quotes may hold commas and line ends."""

    def __init__(self, notes: LogNotes) -> None:
        self._notes = notes
        self._head: bytes | None = b""  # until it is known whether a byte order mark comes first
        self._block, self._at = b"", 0  # what is before _at has been dealt with
        self._line, self._byte = 1, 0  # of the byte at _at
        self._looked, self._is_open = 0, False  # up to where no row's end was found; whether in a quote there
        self._skips, self._seeks = False, False  # in a line that is left out; then in search of a dump's row

    def feed(self, chunk: bytes) -> Iterator[Line]:
        """The rows that end in this chunk, each without its end. The iterator has to be used up."""
        for at in range(0, len(chunk), MAX_ROW_BYTES):
            yield from self._take(chunk[at : at + MAX_ROW_BYTES], is_last=False)

    def finish(self) -> Iterator[Line]:
        """The row without an end that may be left."""
        yield from self._take(b"", is_last=True)
        while self._is_open and self._at < len(self._block):  # what a quote without end holds are rows too
            self._leave_out("the last row has a quote without end")
            yield from self._take(b"", is_last=True)
        if self._at < len(self._block):
            yield from self._cut(len(self._block), 0)

    def _take(self, piece: bytes, *, is_last: bool) -> Iterator[Line]:
        if self._head is not None:
            self._head += piece
            if len(self._head) < 3 and not is_last:
                return
            piece, self._head = self._head, None
            if piece.startswith(b"\xef\xbb\xbf"):
                piece, self._byte = piece[3:], 3
        self._block = self._block[self._at :] + piece
        self._looked -= self._at
        self._at = 0
        while self._at < len(self._block):
            if self._skips:
                end = self._block.find(b"\n", self._at)
                self._skips = end < 0
                self._advance(len(self._block) if end < 0 else end + 1)
                continue
            if self._seeks:
                start = self._block[self._at : self._at + _ROW_START_BYTES]
                if len(start) < _ROW_START_BYTES and b"\n" not in start and not is_last:
                    return
                self._seeks = _ROW_START.match(start) is None
                self._skips = self._seeks
                continue
            end = self._row_end()
            if 0 <= end - self._at <= MAX_ROW_BYTES:
                yield from self._cut(end, 1)
            elif end >= 0 or len(self._block) - self._at > MAX_ROW_BYTES:
                self._leave_out(f"a row has more than {MAX_ROW_BYTES:,} bytes or a quote without end")
            else:
                return

    def _row_end(self) -> int:
        """Where the line end of the row at _at is; -1 if it is not there yet."""
        end = self._block.find(b"\n", self._looked)
        while end >= 0:
            self._is_open ^= self._block.count(b'"', self._looked, end) % 2 == 1
            self._looked = end + 1
            if not self._is_open:
                return end
            end = self._block.find(b"\n", self._looked)
        self._is_open ^= self._block.count(b'"', self._looked) % 2 == 1
        self._looked = len(self._block)
        return -1

    def _cut(self, end: int, n_end: int) -> Iterator[Line]:
        row = Line(self._line, self._byte, self._block[self._at : end].rstrip(b"\r"))
        self._advance(end + n_end)
        if row.raw:
            yield row

    def _leave_out(self, message: str) -> None:
        """Leave out the first line of a bad row, of a dump's all lines up to one that begins like a row."""
        self._notes.add("bad-record", message, self._line, self._byte)
        self._skips = True
        self._seeks = _ROW_START.match(self._block, self._at) is not None

    def _advance(self, to: int) -> None:
        self._line += self._block.count(b"\n", self._at, to)
        self._byte += to - self._at
        self._at = self._looked = to
        self._is_open = False


def _cells(row: Line) -> list[str]:
    text = row.raw.decode("utf-8", "replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
    if '"' not in text:
        return text.split(",")
    try:
        return next(csv.reader([text]), [])
    except csv.Error:  # a quote inside a bare cell, and a line end behind it
        return []


# ---- cells to values ----

_NUMBER = re.compile(r"0[xX]([0-9a-fA-F]{1,16})|(-?[0-9]{1,20})(?:\.0{1,9})?")


def _whole(text: str) -> int | None:
    """'31', '0x1f' or '31.0' -> the number; None for all else, "N/A" as well."""
    if text.isdecimal():
        return int(text) if len(text) <= 20 and text.isascii() else None
    if not text or text == "N/A":
        return None
    found = _NUMBER.fullmatch(text.strip())
    if found is None:
        return None
    return int(found[1], 16) if found[1] else int(found[2])


def _known(text: str) -> str:
    """A cell as text; "N/A" is "" like an empty one."""
    text = text.strip()
    return "" if text in ("N/A", "NA") else text


def _attributes(cell: str) -> dict[str, str]:
    """'{allocation_id:1,addr:0x7f,size:512}', with or without braces and quotes -> name to value.

    A part without a colon belongs to the value in front of it.
    """
    if not cell:
        return {}
    parts = cell.strip().strip('"').strip().removeprefix("{").removesuffix("}").split(",", 1000)
    if '"' not in cell and " " not in cell and len(parts) <= _MAX_ATTRIBUTES:
        pairs = [part.split(":", 1) for part in parts]
        try:
            return dict(pairs)  # as the tool writes them
        except ValueError:
            pass  # a comma in a value
    values: dict[str, str] = {}
    name = ""
    for part in parts:
        key, colon, value = part.partition(":")
        key = key.strip().strip('"')
        if colon and key:
            if len(values) >= _MAX_ATTRIBUTES:
                break
            name = key
            values[name] = value.strip().strip('"')
        elif name and len(values[name]) < 4096:
            values[name] += "," + part
    return values


def _first(*texts: str | None) -> int | None:
    """The first of the texts that is a number."""
    for text in texts:
        if text and (number := _whole(text)) is not None:
            return number
    return None


def _stack(cell: str) -> str:
    """A call stack with its frames on lines of their own, safe to show."""
    return "\n".join(bounded(frame) for frame in _known(cell)[:8192].splitlines() if frame.strip())[:4096]


# What a dump row tells -> the columns that may hold it, in lower case without blanks.
_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "number": ("id", "recordindex"),
    "event": ("event",),
    "event_type": ("eventtype",),
    "name": ("name",),
    "time_ns": ("timestamp(ns)",),
    "time_us": ("timestamp(us)",),
    "pid": ("processid",),
    "thread": ("threadid",),
    "device": ("deviceid",),
    "address": ("ptr", "addr"),
    "attributes": ("attr",),
    "size": ("size(byte)",),
    "used": ("totalallocated(byte)",),
    "total": ("totalreserved(byte)",),
    "python_stack": ("callstack(python)",),
    "c_stack": ("callstack(c)",),
    "function": ("funcinfo",),
    "start_ns": ("starttime(ns)",),
    "end_ns": ("endtime(ns)",),
    "tensor": ("tensorinfo",),
    "checksum": ("checkdatasum",),
    "difference": ("diffmemory(byte)",),
}
_OF_BLOCK = (
    *("event", "event_type", "name", "device", "attributes"),
    *("number", "time_ns", "time_us", "pid", "thread", "address", "size", "used", "total"),
)
_HEADERS: tuple[tuple[CsvKind, frozenset[str]], ...] = (
    ("dump", frozenset({"event", "eventtype", "deviceid"})),
    ("trace", frozenset({"funcinfo", "starttime(ns)"})),
    ("watch", frozenset({"tensorinfo", "checkdatasum"})),
    ("compare", frozenset({"name", "diffmemory(byte)"})),
)
_HEADER_STARTS = ("ID", "Record Index", "Event", "FuncInfo", "Tensor info", "Name", "")


@dataclass(slots=True)
class _Block:
    """What a dump row tells in numbers and short texts."""

    texts: tuple[str, str, str, str, str]  # event, event_type, name, device, owner
    numbers: tuple[int | None, ...]  # as in _NUMBERS
    attributes: dict[str, str]


_NUMBERS = (
    *("number", "time_ns", "pid", "thread", "address"),
    *("size_bytes", "used_bytes", "total_bytes", "allocation_id"),
)


class _Table:
    """A CSV file row by row: the header tells the kind, the rest is read by it."""

    def __init__(self, notes: LogNotes) -> None:
        self.kind: CsvKind | None = None
        self._notes = notes
        self._at: dict[str, int] = dict.fromkeys(_COLUMNS, -1)
        self._of_block = itemgetter(*range(len(_OF_BLOCK)))
        self._n_columns = len(_OF_BLOCK)
        self._amounts: list[int] = []  # the columns "Allocated Memory(byte)" of a comparison

    def rows(self, lines: Iterable[Line]) -> Iterator[tuple[Line, list[str]]]:
        """The rows of data with their cells; headers are taken in on the way."""
        for line in lines:
            cells = _cells(line)
            if not cells:
                self._notes.add("bad-record", "this is no row of a CSV file", line.number, line.byte)
            elif (self.kind is None or cells[0] in _HEADER_STARTS) and self._take_header(cells):
                continue
            elif self.kind is None:
                message = "no header of msMemScope stands above this row"
                self._notes.add("bad-record", message, line.number, line.byte)
            else:
                yield line, cells

    def _take_header(self, cells: Sequence[str]) -> bool:
        """True if these cells are a header, or the line of groups above one."""
        names = [cell.strip().strip('"').replace(" ", "").lower()[:64] for cell in cells[:256]]
        found = next((kind for kind, wanted in _HEADERS if wanted <= set(names)), None)
        if found is None:
            return self.kind is None and "base" in names and "compare" in names
        self.kind = found
        at = {name: index for index, name in reversed(list(enumerate(names)))}
        for what, columns in _COLUMNS.items():
            self._at[what] = next((at[name] for name in columns if name in at), -1)
        self._of_block, self._n_columns = itemgetter(*(self._at[what] for what in _OF_BLOCK)), len(names)
        self._amounts = [index for index, name in enumerate(names) if name == "allocatedmemory(byte)"]
        return True

    def _cell(self, cells: Sequence[str], what: str) -> str:
        at = self._at[what]
        return cells[at] if 0 <= at < len(cells) else ""

    def block(self, cells: Sequence[str]) -> _Block:
        if len(cells) < self._n_columns:
            cells = [*cells, *[""] * (self._n_columns - len(cells))]
        told = self._of_block([*cells, ""])  # the last one stands for columns that are not there
        event, event_type, name, device, attr = told[:5]
        number, time_ns, time_us, pid, thread, address, size, used, total = map(_whole, told[5:])
        attributes = _attributes(attr)
        of = attributes.get
        if time_ns is None and time_us is not None:
            time_ns = time_us * 1000
        return _Block(
            (_known(event), _known(event_type), _known(name), _known(device), of("owner", "")),
            (
                *(number, time_ns, pid, thread),
                address if address is not None else _first(of("addr"), of("ptr")),
                size if size is not None else _first(of("size")),
                used if used is not None else _first(of("used"), of("allocated")),
                total if total is not None else _first(of("total")),
                _first(of("allocation_id")),
            ),
            attributes,
        )

    def row(self, line: Line, cells: Sequence[str]) -> MemscopeRow:
        stands = (line.number, line.byte)
        if self.kind == "dump":
            return self._event(line, cells)
        if self.kind == "compare":
            amounts = [_whole(cells[at]) if at < len(cells) else None for at in self._amounts[:2]]
            base, compared = (*amounts, None, None)[:2]
            event, name, device = (
                bounded(_known(self._cell(cells, what))) for what in ("event", "name", "device")
            )
            difference = _whole(self._cell(cells, "difference"))
            return MemscopeDifference(*stands, event, name, device, base, compared, difference)
        if self.kind == "trace":
            numbers = (_whole(self._cell(cells, what)) for what in ("start_ns", "end_ns", "thread", "pid"))
            return MemscopeSpan(*stands, bounded(self._cell(cells, "function")), *numbers)
        tensor, checksum = (bounded(self._cell(cells, what)) for what in ("tensor", "checksum"))
        return MemscopeChecksum(*stands, tensor, checksum)

    def _event(self, line: Line, cells: Sequence[str]) -> MemscopeEvent:
        block = self.block(cells)
        event, event_type, name, device, owner = map(bounded, block.texts)
        number, time_ns, pid, thread, address, size, used, total, allocation = block.numbers
        return MemscopeEvent(
            *(line.number, line.byte, number, event, event_type, name, time_ns, pid, thread, device, address),
            *(size, used, total, allocation, owner),
            attributes={bounded(key): bounded(value) for key, value in block.attributes.items()},
            python_stack=_stack(self._cell(cells, "python_stack")),
            c_stack=_stack(self._cell(cells, "c_stack")),
        )


# ---- a CSV file as it grows, or as a whole ----


class MemscopeReader:
    """Rows of a CSV file as bytes come, in chunks cut anywhere. artifact: how problems name the file.

    A row of more than 131,072 bytes, or with a quote that is not closed by then, is left out (bad-record), of
    a dump up to a line that begins like a row, else its first line; so are rows above any header.
    """

    def __init__(self, artifact: str = "memscope") -> None:
        self._notes = LogNotes(artifact)
        self._cutter = _RowCutter(self._notes)
        self._table = _Table(self._notes)

    def feed(self, chunk: bytes) -> list[MemscopeRow]:
        """The rows that end in this chunk."""
        return [self._table.row(*row) for row in self._table.rows(self._cutter.feed(chunk))]

    def finish(self) -> list[MemscopeRow]:
        """The last row, if it has no line end."""
        return [self._table.row(*row) for row in self._table.rows(self._cutter.finish())]

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What could not be read so far."""
        return self._notes.told()


Numbers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class MemscopeTable:
    """A CSV file in columns, one entry a row of a dump; files of other kinds have their `rows` instead.

    Numbers that a row does not tell are -1. event, event_type, name, device and owner are places in the
    labels beside them, -1 if not told; their texts are safe to show. Call stacks are not kept: read them at
    `byte`. kind: None if there is no header.
    """

    path: Path
    kind: CsvKind | None
    line: Numbers
    byte: Numbers
    number: Numbers
    time_ns: Numbers
    pid: Numbers
    thread: Numbers
    address: Numbers
    size_bytes: Numbers
    used_bytes: Numbers
    total_bytes: Numbers
    allocation_id: Numbers
    event: Codes
    event_type: Codes
    name: Codes
    device: Codes
    owner: Codes
    events: tuple[str, ...]
    event_types: tuple[str, ...]
    names: tuple[str, ...]
    devices: tuple[str, ...]
    owners: tuple[str, ...]
    rows: tuple[MemscopeRow, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def n_rows(self) -> int:
        return len(self.line) or len(self.rows)


_LABELS = ("event", "event_type", "name", "device", "owner")


class _Columns:
    """Columns that grow row by row."""

    def __init__(self) -> None:
        self.numbers = {name: array("q") for name in ("line", "byte", *_NUMBERS)}
        self.codes = {name: array("i") for name in _LABELS}
        self.labels: dict[str, dict[str, int]] = {name: {} for name in _LABELS}
        self.n_unlabelled = 0
        self._appends = [self.numbers[name].append for name in _NUMBERS]

    def append(self, line: Line, block: _Block) -> None:
        self.numbers["line"].append(line.number)
        self.numbers["byte"].append(line.byte)
        for append, number in zip(self._appends, block.numbers, strict=True):
            append(-1 if number is None or number < 0 or number >= _TOO_LARGE else number)
        for name, text in zip(_LABELS, block.texts, strict=True):
            labels, text = self.labels[name], text[:MAX_TEXT_CHARS]
            code = labels.get(text, -1) if text else -1
            if code < 0 and text:
                if len(labels) < _MAX_LABELS:
                    code = labels[text] = len(labels)
                else:
                    self.n_unlabelled += 1
            self.codes[name].append(code)

    def arrays(self) -> dict[str, Any]:
        found: dict[str, Any] = {n: np.frombuffer(a, np.int64) for n, a in self.numbers.items() if a}
        found |= {name: np.frombuffer(a, np.int32) for name, a in self.codes.items() if a}
        for name in self.numbers:
            found.setdefault(name, np.zeros(0, np.int64))
        for name in self.codes:
            found.setdefault(name, np.zeros(0, np.int32))
            found[name + "s"] = tuple(map(bounded, self.labels[name]))
        return found


def read_memscope(
    path: Path,
    *,
    root: Path | None = None,
    is_growing: bool = False,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> MemscopeTable:
    """A CSV file in columns, 5,000,000 rows at most; cost and memory grow with its rows.

    is_growing: a last row without an end is still being written, and left out.
    Problems (with line and byte): see `MemscopeReader`; more rows or names than are kept; a file that fails
    or becomes shorter while it is read. Raises InputError (no such file, no regular file, a link out of
    `root`) and Cancelled.
    """
    notes = LogNotes(shown_path(path, root))
    cutter, table, columns = _RowCutter(notes), _Table(notes), _Columns()
    others: list[MemscopeRow] = []
    n_rows = 0

    def lines() -> Iterator[Line]:
        for window in log_windows(path, root, notes, progress, is_cancelled):
            yield from cutter.feed(window)
        if not is_growing:
            yield from cutter.finish()

    for line, cells in table.rows(lines()):
        if n_rows >= MAX_ROWS:
            notes.add("limit", f"only the first {MAX_ROWS:,} rows were read", line.number, line.byte)
            break
        n_rows += 1
        if table.kind == "dump":
            columns.append(line, table.block(cells))
        else:
            others.append(table.row(line, cells))
    if columns.n_unlabelled:
        notes.add("limit", f"{columns.n_unlabelled:,} texts beyond {_MAX_LABELS:,} were not kept", None)
    return MemscopeTable(path, table.kind, **columns.arrays(), rows=tuple(others), problems=notes.told())
