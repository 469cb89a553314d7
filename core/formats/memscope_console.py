"""Lines of msMemScope (formerly msLeaks) on a console or in its own log: leaks, gaps and warnings.

"====== ERROR: Detected memory leaks on device 0 ======" looks like a report of msSanitizer, and is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from npulse.core.dataclass import dataclass
from npulse.core.findings import Problem
from npulse.core.progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled

from ..files import shown_path
from .log_lines import Line, LineCutter, LogNotes, read_records, split_prefix, text_of

MAX_RECORDS = 50_000


@dataclass(frozen=True, slots=True)
class MemscopeLeak:
    """Memory that a pool did not get back within several steps, and the kernel and step that took it."""

    line: int
    byte: int
    device_id: int | None
    pool: str
    size_bytes: int
    address: int
    kernel_index: int
    step: int


@dataclass(frozen=True, slots=True)
class MemscopeLeakSummary:
    """The end of the leaks of one device: their sum, rounded as it is printed, and their number."""

    line: int
    byte: int
    device_id: int | None
    size_bytes: int
    n_leaks: int


@dataclass(frozen=True, slots=True)
class MemscopeGap:
    """The step with the smallest or the largest share of its peak that stayed allocated."""

    line: int
    byte: int
    device_id: int | None
    pool: str
    is_largest: bool
    share_percent: float
    allocated_bytes: int
    step: int


@dataclass(frozen=True, slots=True)
class MemscopeWarning:
    """A line of the tool's own log: a block held for many steps, allocated twice, or released in vain."""

    line: int
    byte: int
    kind: Literal["held", "allocated twice", "released in vain", "not released"]
    device_id: int | None
    pid: int | None
    pool: str
    address: int
    step: int | None = None
    n_steps: int | None = None


MemscopeNote = MemscopeLeak | MemscopeLeakSummary | MemscopeGap | MemscopeWarning

_NOTE_WORDS = (
    *(b"Detected memory leaks on device", b" Mb(s) ", b" Gap Analysis of Device", b"MinGap", b"MaxGap"),
    *(b"Please check if there is leaks", b"------double malloc in", b"------free error in"),
    b"Leak memory in Malloc operator",
)
_FLOAT = r"(\d{1,15}(?:\.\d{1,12})?(?:e[+-]?\d{1,2})?)"
_LEAKS_OF = re.compile(r"={6} ERROR: Detected memory leaks on device (-?\d{1,6}) ={6}")
_LEAK = re.compile(
    rf"Direct (\w{{1,32}}) leak of {_FLOAT} Mb\(s\) at 0x([0-9a-f]{{1,16}}) in kernel_(\d{{1,18}})"
    r" at step (\d{1,18})"
)
_SUM = re.compile(rf"={{6}} SUMMARY: {_FLOAT} Mb\(s\) leaked in (\d{{1,18}}) allocation\(s\)")
_GAPS_OF = re.compile(r"={7} (\w{1,32}) Gap Analysis of Device (-?\d{1,6}) ={7}")
_GAP = re.compile(rf"\b(Min|Max)Gap\s{{1,40}}{_FLOAT}\s{{1,40}}{_FLOAT}\s{{1,40}}(\d{{1,18}})\b")
_HELD = re.compile(
    r"\[npu (-?\d{1,6})\]\[step (\d{1,18})\]: ptr: (?:0x)?([0-9a-f]{1,16}) has last for (\d{1,18}) steps\."
    r" Please check if there is leaks in (\w{1,32})"
)
_TWICE = re.compile(
    r"\[npu(-?\d{1,6}) (?:malloc|free)\]\[client (\d{1,10})\]:!{3} -{6}(double malloc|free error) in "
    r"(\w{1,32})-{6}!{3}, ptr: (\d{1,20})"
)
_NOT_RELEASED = re.compile(
    r"\[client (\d{1,10})\]\[device: (-?\d{1,6})\]: Leak memory in Malloc operator, addr: 0x([0-9a-f]{1,16})"
)
_MEGABYTE = 1 << 20


class MemscopeConsoleReader:
    """Records as bytes come, in chunks cut anywhere. artifact: how problems name the file."""

    def __init__(self, artifact: str = "log") -> None:
        self._notes = LogNotes(artifact)
        self._lines = LineCutter(self._notes, _NOTE_WORDS)
        self._leaks_of: dict[str, int] = {}  # origin -> the device whose leaks it lists
        self._gaps_of: dict[str, tuple[str, int]] = {}  # origin -> pool and device

    def feed(self, chunk: bytes) -> list[MemscopeNote]:
        """The records of all lines that end in this chunk."""
        return [note for line in self._lines.feed(chunk) for note in self._taken(line)]

    def pass_over(self, chunk: bytes) -> list[MemscopeNote]:
        """As `feed`, of bytes in which the caller knows that no record is."""
        return [note for line in self._lines.pass_over(chunk) for note in self._taken(line)]

    def finish(self) -> list[MemscopeNote]:
        """The record of a last line without an end."""
        return [note for line in self._lines.finish() for note in self._taken(line)]

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What could not be read so far."""
        return self._notes.told()

    def _taken(self, line: Line) -> Iterator[MemscopeNote]:
        origin, text = split_prefix(text_of(line, self._notes)[:8192])
        stands = (line.number, line.byte)
        if len(self._leaks_of) + len(self._gaps_of) > 1024:
            self._leaks_of.clear()
            self._gaps_of.clear()
        if (found := _LEAKS_OF.search(text)) is not None:
            self._leaks_of[origin.name] = int(found[1])
        elif (found := _LEAK.search(text)) is not None:
            size, address = _bytes(found[2]), int(found[3], 16)
            device = self._leaks_of.get(origin.name)
            yield MemscopeLeak(*stands, device, found[1], size, address, int(found[4]), int(found[5]))
        elif (found := _SUM.search(text)) is not None:
            device = self._leaks_of.pop(origin.name, None)
            yield MemscopeLeakSummary(*stands, device, _bytes(found[1]), int(found[2]))
        elif (found := _GAPS_OF.search(text)) is not None:
            self._gaps_of[origin.name] = (found[1], int(found[2]))
        elif (found := _GAP.search(text)) is not None:
            pool, of_device = self._gaps_of.get(origin.name, ("", None))
            share, size = float(found[2]), _bytes(found[3])
            yield MemscopeGap(*stands, of_device, pool, found[1] == "Max", share, size, int(found[4]))
        else:
            yield from _warned(text, stands)


def _warned(text: str, stands: tuple[int, int]) -> Iterator[MemscopeWarning]:
    if (found := _HELD.search(text)) is not None:
        device, step, address, n_steps = int(found[1]), int(found[2]), int(found[3], 16), int(found[4])
        yield MemscopeWarning(*stands, "held", device, None, found[5], address, step, n_steps)
    elif (found := _TWICE.search(text)) is not None:
        is_double = found[3] == "double malloc"
        kind: Literal["allocated twice", "released in vain"] = (
            "allocated twice" if is_double else "released in vain"
        )
        yield MemscopeWarning(*stands, kind, int(found[1]), int(found[2]), found[4], int(found[5]))
    elif (found := _NOT_RELEASED.search(text)) is not None:
        address = int(found[3], 16)
        yield MemscopeWarning(*stands, "not released", int(found[2]), int(found[1]), "HAL", address)


def _bytes(megabytes: str) -> int:
    return round(float(megabytes) * _MEGABYTE)


@dataclass(frozen=True, slots=True)
class MemscopeNotes:
    """All such lines of one file, in its order."""

    path: Path
    notes: tuple[MemscopeNote, ...]
    problems: tuple[Problem, ...] = ()


def read_memscope_console(
    path: Path,
    *,
    root: Path | None = None,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> MemscopeNotes:
    """The tool's lines in a console log, 50,000 at most; cost grows with bytes, memory with records.

    Problems and errors are those of the other log readers.
    """
    reader = MemscopeConsoleReader(shown_path(path, root))
    records, problems = read_records(path, root, reader, MAX_RECORDS, progress, is_cancelled)
    return MemscopeNotes(path, records, problems)
