"""Messages of memory that ran out: device memory of a framework, on-chip buffers of a compiler.

Looked for in any console or log. Sizes are bytes; where a message rounds ("5.03 GiB"), so does the number.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from npulse.core.findings import Problem
from npulse.core.progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled

from .json_window import shown_path
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

    buffer: as printed ("ub", "cbuf", "local.UB"). required_bytes, available_bytes: of the bits in the
    message, required rounded up to whole bytes, available down; None if it does not tell them. path,
    source_line, column: the place that it names, often of an intermediate file; a column of 0 is unknown.
    block_size: the last "block_size=N" that the same process printed before, None if it printed none.
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
        return None if self.required_bits is None else -(-self.required_bits // 8)

    @property
    def available_bytes(self) -> int | None:
        return None if self.available_bits is None else self.available_bits // 8


MemoryText = OutOfMemory | BufferOverflow

_WORDS = (
    *(b"out of memory", b" overflow, requires ", b"bound of memory tag", b"isn't enough and alloc failed"),
    *(b"bytes of NPU memory", b"block_size", b"BLOCK_SIZE"),
)

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

_OVERFLOW = re.compile(
    r"\b([A-Za-z][\w.]{0,31}) overflow, requires (\d{1,18}) bits while (\d{1,18}) bits ava[il]{2}able"
)
_BOUND = re.compile(
    r"exceed bound of memory tag:? ?([A-Za-z][\w.]{0,63})"
    r"(?:: need (\d{1,18}) bits|,? ?\((\d{1,18}) vs\.? (\d{1,18})(?: bits)?\))?"
)
_LOC = re.compile(r'loc\("([^"\n]{1,4096})":(\d{1,9}):(\d{1,9})\)')
_BLOCK_SIZE = re.compile(r"(?i)\bblock_size[\"']?\s?[=:]{1,2}\s?(\d{1,10})\b")


def _buffer_overflow(text: str, line: Line, origin: Origin, block_size: int | None) -> BufferOverflow | None:
    found = _OVERFLOW.search(text)
    required = available = None
    if found is not None:
        required, available = int(found[2]), int(found[3])
    else:
        found = _BOUND.search(text)
        if found is None:
            return None
        numbers = [int(n) for n in found.groups()[1:] if n]
        required = numbers[0] if numbers else None
        available = numbers[1] if len(numbers) > 1 else None
    places = list(_LOC.finditer(text, 0, found.start()))
    place = places[-1] if places else None  # the last one in front of the message is where it stands
    return BufferOverflow(
        line.number,
        line.byte,
        bounded(found[1]).rstrip("."),
        required,
        available,
        path=bounded(place[1]) if place else "",
        source_line=int(place[2]) if place else None,
        column=int(place[3]) if place else None,
        block_size=block_size,
        origin=bounded(origin.name),
        pid=origin.pid,
        text=bounded(text),
    )


# ---- readers ----


class MemoryTextReader:
    """Records as bytes come, in chunks cut anywhere. artifact: how problems name the file."""

    def __init__(self, artifact: str = "log") -> None:
        self._notes = LogNotes(artifact)
        self._lines = LineCutter(self._notes, _WORDS)
        self._block_sizes: OrderedDict[str, int] = OrderedDict()  # by origin

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
            self._block_sizes[origin.name] = int(sized[1])
            self._block_sizes.move_to_end(origin.name)
            if len(self._block_sizes) > _MAX_ORIGINS:
                self._block_sizes.popitem(last=False)
        record: MemoryText | None = _out_of_memory(text, line, origin)
        if record is None:
            record = _buffer_overflow(text, line, origin, self._block_sizes.get(origin.name))
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
