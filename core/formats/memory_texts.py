"""Messages of memory that ran out: device memory of a framework, on-chip buffers of a compiler.

Looked for in any console or log, and codes that only guides know. Sizes are bytes; where a message rounds
("5.03 GiB"), so does the number.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from pathlib import Path
from typing import Literal

from npulse.core.dataclass import dataclass
from npulse.core.findings import Problem
from npulse.core.progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled

from ..files import shown_path
from .log_lines import Line, LineCutter, LogNotes, Origin, bounded, read_records, split_prefix, text_of

MAX_RECORDS = 50_000
_MAX_CHARS = 16384
_MAX_ORIGINS = 256

Allocator = Literal["caching", "workspace", "pool", "hccl", "mindspore"]
"""Who asked: the caching or the workspace allocator of torch_npu (or of torch), a pool put in place of
them, HCCL, or MindSpore."""


@dataclass(frozen=True, slots=True)
class OutOfMemory:
    """A request for device memory that failed; what the message does not tell is None.

    total_bytes: of the device; free_bytes: what its driver had left; allocated_bytes: in tensors;
    active_bytes: allocated or still awaited by a stream; reserved_bytes: taken from the device by the
    allocator (allocated and cached); cached_bytes: reserved, but in no tensor; allowed_bytes: the limit that
    was set; in_use_bytes: all that this process has. kernel_name: of MindSpore. origin: what a launcher put
    in front of the line, pid: the process that it names.
    """

    line: int
    byte: int
    allocator: Allocator
    device: str
    device_id: int | None
    tried_bytes: int | None
    total_bytes: int | None = None
    free_bytes: int | None = None
    allocated_bytes: int | None = None
    active_bytes: int | None = None
    reserved_bytes: int | None = None
    cached_bytes: int | None = None
    allowed_bytes: int | None = None
    in_use_bytes: int | None = None
    kernel_name: str = ""
    origin: str = ""
    pid: int | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class BufferOverflow:
    """A kernel that a compiler could not fit into an on-chip buffer.

    buffer: as printed ("ub", "cbuf", "local.UB"). required_bits, available_bits: of the message, in whatever
    unit it has them; None if it does not tell them. path, source_line, column: the place that it names,
    often of an intermediate file; a column of 0 is unknown. block_size: the last "block_size=N" that the
    same process printed before, None if it printed none, or if an error of another file came in between.
    """

    line: int
    byte: int
    buffer: str
    required_bits: int | None
    available_bits: int | None
    path: str = ""
    source_line: int | None = None
    column: int | None = None
    block_size: int | None = None
    origin: str = ""
    pid: int | None = None
    text: str = ""

    @property
    def required_bytes(self) -> int | None:
        return None if self.required_bits is None else bytes_to_hold(self.required_bits)

    @property
    def available_bytes(self) -> int | None:
        return None if self.available_bits is None else bytes_inside(self.available_bits)


@dataclass(frozen=True, slots=True)
class GuideCode:
    """An error text that begins with a code which guides name and no tool prints ("E1001").

    What else begins so - a date that a logger writes as E1001, a name, a path - is none.
    """

    line: int
    byte: int
    code: str
    origin: str = ""
    pid: int | None = None
    text: str = ""


MemoryText = OutOfMemory | BufferOverflow | GuideCode

_WORDS = (
    *(b"out of memory", b"verflow, requires ", b"verflow: requires ", b"bound of memory tag"),
    *(b"isn't enough and alloc failed", b"bytes of NPU memory", b"block_size", b"BLOCK_SIZE"),
    *(b"E1001", b"E2003", b"E3005"),
)


def bytes_to_hold(bits: int) -> int:
    """So many bytes are needed for `bits`: rounded up."""
    return -(-bits // 8)


def bytes_inside(bits: int) -> int:
    """So many whole bytes are in `bits`: rounded down."""
    return bits // 8


# ---- device memory ----

_UNITS = {"bytes": 0, "B": 0, "KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40}
_SIZE = r"(?<![\d.])(\d{1,20}(?:\.\d{1,9})?) ?(bytes|B|KiB|MiB|GiB|TiB)\b"
_HEAD = re.compile(r"\b(NPU|CUDA|GPU|XPU|HIP) out of memory\.")
_TRIED = re.compile(rf"[tT]ried to allocate {_SIZE}")
_DEVICE = re.compile(r"\b(?:NPU|GPU|CUDA|XPU)[: ](\d{1,6})\b")
_FIELDS = {
    name: re.compile(pattern)
    for name, pattern in (
        ("total_bytes", rf"{_SIZE} total capacity|total capacity of {_SIZE}"),
        ("free_bytes", rf"{_SIZE} free\b|of which {_SIZE} is free"),
        (
            "allocated_bytes",
            rf"{_SIZE} already allocated|with {_SIZE} total allocated"
            rf"|allocated memory {_SIZE} is allocated by PyTorch",
        ),
        ("active_bytes", rf"{_SIZE} current active"),
        ("reserved_bytes", rf"{_SIZE} reserved in total"),
        ("cached_bytes", rf"{_SIZE} cached\)|{_SIZE} is reserved by PyTorch but unallocated"),
        ("allowed_bytes", rf"{_SIZE} allowed\b"),
        ("in_use_bytes", rf"[tT]his process has {_SIZE} memory in use"),
    )
}
_MINDSPORE = re.compile(r"(?:\(id: ?(\d{1,6})\) |\b)[mM]emory isn't enough and alloc failed")
_KERNEL = re.compile(r"(?:kernel|actor) name: ?(.{1,2000}?), alloc size: ?(\d{1,20})")
_ALLOC_SIZE = re.compile(r"alloc size: ?(\d{1,20})")
_HCCL = re.compile(r"Failed to allocate \[?(\d{1,20})\]? ?bytes of NPU memory")


def _bytes_of(number: str, unit: str) -> int:
    """'5.03', 'GiB' -> 5400921374, rounded to whole bytes."""
    whole, _, part = number.partition(".")
    scaled = int(whole + part) << _UNITS[unit]
    ten = int("1" + "0" * len(part))
    return (2 * scaled + ten) // (2 * ten)


def _size(pattern: re.Pattern[str], text: str) -> int | None:
    found = pattern.search(text)
    if found is None:
        return None
    number, unit = (group for group in found.groups() if group)
    return _bytes_of(number, unit)


def _out_of_memory(text: str, line: Line, origin: Origin) -> OutOfMemory | None:
    head = _HEAD.search(text)
    stands = (line.number, line.byte)
    who = bounded(origin.name)
    if head is not None:
        told = text[head.end() :]
        device = _DEVICE.search(told)
        allocator: Allocator = "caching"
        if "WorkspaceAllocator" in told[:80]:
            allocator = "workspace"
        elif "total allocated" in told[:200]:
            allocator = "pool"
        sizes = {name: _size(pattern, told) for name, pattern in _FIELDS.items()}
        return OutOfMemory(
            *stands,
            allocator,
            head[1],
            int(device[1]) if device else None,
            _size(_TRIED, told),
            total_bytes=sizes["total_bytes"],
            free_bytes=sizes["free_bytes"],
            allocated_bytes=sizes["allocated_bytes"],
            active_bytes=sizes["active_bytes"],
            reserved_bytes=sizes["reserved_bytes"],
            cached_bytes=sizes["cached_bytes"],
            allowed_bytes=sizes["allowed_bytes"],
            in_use_bytes=sizes["in_use_bytes"],
            origin=who,
            pid=origin.pid,
            text=bounded(text[head.start() :]),
        )
    if (found := _MINDSPORE.search(text)) is not None:
        kernel, size = _KERNEL.search(text, found.end()), _ALLOC_SIZE.search(text, found.end())
        return OutOfMemory(
            *stands,
            "mindspore",
            "",
            int(found[1]) if found[1] else None,
            int(size[1]) if size else None,
            kernel_name=bounded(kernel[1]) if kernel else "",
            origin=who,
            pid=origin.pid,
            text=bounded(text),
        )
    if (asked := _HCCL.search(text)) is not None:
        return OutOfMemory(
            *stands, "hccl", "NPU", None, int(asked[1]), origin=who, pid=origin.pid, text=bounded(text)
        )
    return None


# ---- on-chip buffers ----

_COUNT = r"(\d{1,18}(?:,\d{3}){0,6}(?:\.\d{1,9})?)"
_BITS = rf"{_COUNT} ?(bits?|bytes?|B|KiB|MiB)\b"
_BITS_OF_UNIT = {"bit": 1, "bits": 1, "byte": 8, "bytes": 8, "B": 8, "KiB": 8 << 10, "MiB": 8 << 20}
_OVERFLOW = re.compile(
    rf"\b([A-Za-z][\w.]{{0,31}}) [oO]verflow[,:] requires {_BITS}"
    rf"(?:,? while {_BITS} ava[il]{{2}}able|,? ava[il]{{2}}able:? {_BITS})"
)
_BOUND = re.compile(
    r"exceed bound of memory tag:? ?([A-Za-z][\w.]{0,63})"
    r"(?:: need (\d{1,18}) bits|,? ?\((\d{1,18}) vs\.? (\d{1,18})(?: bits)?\))?"
)
_LOC = re.compile(r'loc\("([^"\n]{1,4096})":(\d{1,9}):(\d{1,9})\)')
_PLAIN_PLACE = re.compile(
    r"(?<!\S)((?:[A-Za-z]:(?=[\\/]))?[^\s:<>()\"]{1,1024}):(\d{1,9})(?::(\d{1,9}))?: (?:fatal )?error:"
)
_BLOCK_SIZE = re.compile(r"(?i)\bblock_size[\"']?\s?[=:]{1,2}\s?(\d{1,10})\b")


def _bits_of(number: str, unit: str, *, is_up: bool) -> int:
    """'29.3', 'KiB' -> 240025 or 240026: a part of a bit is rounded as asked."""
    whole, _, part = number.replace(",", "").partition(".")
    scaled, ten = int(whole + part) * _BITS_OF_UNIT[unit], int("1" + "0" * len(part))
    return -(-scaled // ten) if is_up else scaled // ten


def _place_before(text: str, end: int) -> tuple[str, int | None, int | None]:
    """(path, line, column) of the last place in front of the message: that is where it stands."""
    # the message's own "error:" belongs to a plain place and stands right in front
    found = [*_LOC.finditer(text, 0, end), *_PLAIN_PLACE.finditer(text, 0, end)]
    if not found:
        return "", None, None
    last = max(found, key=lambda one: one.start())
    return bounded(last[1]), int(last[2]), int(last[3]) if last[3] else None


class _BlockSizes:
    """The block size that each process printed last, and the file that it was printed for.

    An error takes the size over for its file: what another file is built with, it does not tell.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[str, tuple[int, str | None]] = OrderedDict()  # by origin

    def note(self, origin: str, size: int) -> None:
        self._known[origin] = (size, None)
        self._known.move_to_end(origin)
        if len(self._known) > _MAX_ORIGINS:
            self._known.popitem(last=False)

    def of_error(self, origin: str, path: str) -> int | None:
        known = self._known.get(origin)
        if known is None or known[1] not in (None, path):
            return None
        self._known[origin] = (known[0], path)
        return known[0]


def _buffer_overflow(text: str, line: Line, origin: Origin, sizes: _BlockSizes) -> BufferOverflow | None:
    found = _OVERFLOW.search(text)
    required = available = None
    if found is not None:
        there = (found[4], found[5]) if found[4] else (found[6], found[7])
        required, available = _bits_of(found[2], found[3], is_up=True), _bits_of(*there, is_up=False)
    else:
        found = _BOUND.search(text)
        if found is None:
            return None
        numbers = [int(n) for n in found.groups()[1:] if n]
        required = numbers[0] if numbers else None
        available = numbers[1] if len(numbers) > 1 else None
    path, source_line, column = _place_before(text, found.start())
    return BufferOverflow(
        line.number,
        line.byte,
        bounded(found[1]).rstrip("."),
        required,
        available,
        path=path,
        source_line=source_line,
        column=column,
        block_size=sizes.of_error(origin.name, path),
        origin=bounded(origin.name),
        pid=origin.pid,
        text=bounded(text),
    )


# ---- codes that only guides know ----

# Loggers write "E1001 02:38:42" and "[E1001 02:38:42" on the first of October: behind a code without a word
# in front stands a colon or its own bracket.
_GUIDE_CODE = re.compile(
    r"\s{0,16}(?:(?!\[(?i:(?:fatal )?error)\])\[[\w-]{1,24}\]:? ?)?"
    r"(?:(?P<word>\[?(?i:(?:fatal )?error|error[ _]?code|err)\]?"
    r"|[A-Za-z_][\w.]{0,80}Error|\u9519\u8bef\u7801?)"
    r"(?: is)?[:=\uff1a,]? ?(?:(?i:code)[:=]? ?)?)?"
    r"(?:\[(?P<bracketed>E1001|E2003|E3005)\]"
    r"|(?P<plain>E1001|E2003|E3005)(?P<colon>[:\uff1a](?!\d))?(?![\w.+/\\=-]))"
)
_CLOCK = re.compile(r" \d\d:\d\d")


def _guide_code(text: str, line: Line, origin: Origin) -> GuideCode | None:
    found = _GUIDE_CODE.match(text)
    if found is None:
        return None
    is_named = found["word"] or found["bracketed"] or found["colon"]
    if not is_named or _CLOCK.match(text, found.end()):
        return None
    code = found["bracketed"] or found["plain"]
    return GuideCode(line.number, line.byte, code, bounded(origin.name), origin.pid, bounded(text))


# ---- readers ----


class MemoryTextReader:
    """Records as bytes come, in chunks cut anywhere. artifact: how problems name the file."""

    def __init__(self, artifact: str = "log") -> None:
        self._notes = LogNotes(artifact)
        self._lines = LineCutter(self._notes, _WORDS)
        self._block_sizes = _BlockSizes()

    def feed(self, chunk: bytes) -> list[MemoryText]:
        """The records of all lines that end in this chunk."""
        return [record for line in self._lines.feed(chunk) for record in self._taken(line)]

    def pass_over(self, chunk: bytes) -> list[MemoryText]:
        """As `feed`, of bytes in which the caller knows that no record is."""
        return [record for line in self._lines.pass_over(chunk) for record in self._taken(line)]

    def finish(self) -> list[MemoryText]:
        """The record of a last line without an end."""
        return [record for line in self._lines.finish() for record in self._taken(line)]

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What could not be read so far."""
        return self._notes.told()

    def _taken(self, line: Line) -> list[MemoryText]:
        origin, text = split_prefix(text_of(line, self._notes)[:_MAX_CHARS])
        sized = _BLOCK_SIZE.search(text)
        if sized is not None:
            self._block_sizes.note(origin.name, int(sized[1]))
        record = (
            _out_of_memory(text, line, origin)
            or _buffer_overflow(text, line, origin, self._block_sizes)
            or _guide_code(text, line, origin)
        )
        return [] if record is None else [record]


@dataclass(frozen=True, slots=True)
class MemoryTexts:
    """All records of one file, in its order."""

    path: Path
    records: tuple[MemoryText, ...]
    problems: tuple[Problem, ...] = ()


def read_memory_texts(
    path: Path,
    *,
    root: Path | None = None,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> MemoryTexts:
    """All records of a console or log file, 50,000 at most; cost grows with bytes, memory with records.

    Problems (with line and byte): lines of more than 65,536 bytes that would have mattered, lines in neither
    UTF-8 nor GBK, more records than are kept, a file that fails or becomes shorter while it is read.
    Raises InputError (no such file, no regular file, a link out of `root`) and Cancelled.
    """
    reader = MemoryTextReader(shown_path(path, root))
    records, problems = read_records(path, root, reader, MAX_RECORDS, progress, is_cancelled)
    return MemoryTexts(path, records, problems)
