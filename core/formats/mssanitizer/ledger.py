"""The lines of the tool about the run itself, and the facts of a log as a whole that come of them.

Everything is gathered in bounded memory while the log is read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from .again import Again
from .bodies import cores_of, kernel_of
from .heads import Head
from .records import (
    Gap,
    KernelRuns,
    Kind,
    LogState,
    Notice,
    NoticeKind,
    Record,
    Register,
    Style,
    Summary,
)
from .store import Store

MAX_KERNELS = 10_000
MAX_KEPT = 100
MAX_NAMES = 1024

_STYLES: tuple[Style, ...] = ("", "7.0.RC1", "8.0.RC1", "8.0.RC2", "8.0.RC3", "8.2", "26.0")
_AGE = {style: age for age, style in enumerate(_STYLES)}
# notice to gap: the kinds that take away from the result
_GAPS: tuple[Gap, ...] = (
    *("records-dropped", "cache-exhausted", "address-changed", "sync-records-dropped", "heap-range"),
    *("tool-not-supported", "no-active-tool", "tool-error", "interrupted", "signal", "abnormal-exit"),
)

_START = re.compile(rb"Start ([a-z, ]{1,80}) sanitizer on kernel (.+)$")
_TOOLS = re.compile(rb"[a-z]+check")
_FINISHED = b"Sanitizer finished on kernel "
_CROSS_START = b"Start cross npu racecheck"
_CROSS_FINISHED = b"Cross npu racecheck finished."
_NO_ERROR = b" No error detected."
_ERRORS = b" See all detected errors above."

_REGISTER = re.compile(rb"Warning: ?Register (\S{1,64}) was not reset to default in block (.*)$")
_REGISTER_VALUES = re.compile(rb"\(([^()]{0,64})\), but current value is \(([^()]{0,64})\)")
_REGISTER_MIDDLE = b". Expected default value is "

_LOST = re.compile(rb"\[(?:warning|error)\] ([0-9]{1,20}) records undetected in block ([0-9]{1,9})")
_CACHE = re.compile(rb"--cache-size=([0-9]{1,9})")
_SIGNAL = re.compile(rb"exited by signal\(([0-9]{1,3})\)$")

# What a line begins with, and what it holds: the first that fits.
_WORDS: tuple[tuple[bytes, bytes, NoticeKind], ...] = (
    (b"No active sanitizer tool on kernel", b"", "no-active-tool"),
    (b"WARN", b"missed debug_line information", "no-debug-lines"),
    (b"WARN", b" is not supported on the kernel", "tool-not-supported"),
    (b"WARN", b"Some records were discarded", "sync-records-dropped"),
    (b"[error]", b"The record address has been changed", "address-changed"),
    (b"ERROR: heap is not in malloc range", b"", "heap-range"),
    (b"user program ", b" exited abnormally", "abnormal-exit"),
    (b"logging to file: ", b"", "log-file"),
    (b"unsupported soc version", b"", "tool-error"),
    (b"ERROR:", b"", "tool-error"),
    (b"[error]", b"", "tool-error"),
)


@dataclass(slots=True)
class ToolLine:
    """What one line says. event: of a check of `kernel` ("": between devices); else the line is a notice."""

    event: Literal["start", "finish", ""] = ""
    tools: tuple[str, ...] = ()
    kernel: str = ""
    is_no_error: bool = False
    kind: NoticeKind = "other"
    n_records: int | None = None
    block: int | None = None
    cache_size_mb: int | None = None
    signal: int | None = None


def parse_tool_line(text: bytes, store: Store) -> ToolLine:
    """What stands behind "[mssanitizer]"; a line that is not known is a notice of kind other."""
    found = _START.match(text)
    if found:
        tools = tuple(store.text(tool) for tool in _TOOLS.findall(found[1]))
        return ToolLine("start", tools, kernel_of(found[2], store)[0])
    if text.startswith(_CROSS_START):
        return ToolLine("start", ("racecheck",))
    if text.startswith(_CROSS_FINISHED):
        return ToolLine("finish", is_no_error=text.endswith(_NO_ERROR))
    if text.startswith(_FINISHED):
        for end in (_NO_ERROR, _ERRORS):
            if text.endswith(end):
                name = text[len(_FINISHED) : -len(end)].removesuffix(b".")
                return ToolLine("finish", kernel=kernel_of(name, store)[0], is_no_error=end is _NO_ERROR)
    return _notice(text)


def _notice(text: bytes) -> ToolLine:
    lost = _LOST.match(text)
    if lost:
        line = ToolLine(n_records=int(lost[1]), block=int(lost[2]))
        cache = _CACHE.search(text)
        line.kind = "records-dropped" if cache else "cache-exhausted"
        line.cache_size_mb = int(cache[1]) if cache else None
        return line
    if text.startswith(b"user program "):
        at = text.rfind(b"exited by signal(")
        signal = _SIGNAL.match(text, at) if at >= 0 else None
        if signal:
            return ToolLine(kind="signal", signal=int(signal[1]))
    for start, part, kind in _WORDS:
        if text.startswith(start) and part in text:
            return ToolLine(kind=kind)
    return ToolLine()


def parse_register(raw: bytes, text: bytes, store: Store) -> Head | None:
    """The finding in a line about a register, or None if it is about something else."""
    found = _REGISTER.match(text)
    if found is None:
        return None
    where, middle, values = found[2].rpartition(_REGISTER_MIDDLE)
    block, on, kernel = where.partition(b" on kernel ")
    both = _REGISTER_VALUES.match(values)
    cores = cores_of(block, store)
    if not middle or not on or both is None or cores is None:
        return None
    register = Register(store.text(found[1]), store.text(both[1]), store.text(both[2]))
    facts = {"cores": cores, "kernel": kernel_of(kernel, store)[0], "detail": register}
    return Head("register not reset", "warning", store.text(raw), facts)


class Ledger:
    """Counts, lists and first places of what was seen in one log."""

    def __init__(self) -> None:
        self.style: Style = ""
        self.gaps: dict[Gap, None] = {}
        self.n_skipped_lines = 0
        self._tools: dict[str, None] = {}
        self._devices: set[int] = set()
        self._kernels: dict[str, list[int]] = {}
        self._runs = [0, 0, 0]
        self._summaries: list[Summary] = []
        self._n_summaries: dict[str, int] = {}
        self._notices: list[Notice] = []
        self._n_notices: dict[NoticeKind, int] = {}
        self._n_records: dict[Kind, int] = {}

    def add_style(self, style: Style) -> None:
        """Take note of a wording: the newest one tells the release."""
        if _AGE[style] > _AGE[self.style]:
            self.style = style

    def add_record(self, record: Record) -> None:
        self._n_records[record.kind] = self._n_records.get(record.kind, 0) + 1
        if record.device is not None:
            self.add_device(record.device)
        for side in record.sides:
            if side.device is not None:
                self.add_device(side.device)

    def add_again(self, repeated: Sequence[Again]) -> None:
        """Records that repeat others: what these say of the log beside it is known."""
        counts, devices = self._n_records, self._devices
        for one in repeated:
            kind = one.shape.like.kind
            counts[kind] = counts.get(kind, 0) + 1
            if one.on.device not in devices:
                self.add_device(one.on.device)
            if one.second is not None and one.second[1].device not in devices:
                self.add_device(one.second[1].device)

    def add_device(self, device: int) -> None:
        if len(self._devices) < MAX_NAMES:
            self._devices.add(device)

    def add_summary(self, summary: Summary) -> None:
        n = self._n_summaries[summary.kind] = self._n_summaries.get(summary.kind, 0) + 1
        if n <= MAX_KEPT:
            self._summaries.append(summary)

    def add_notice(self, line: ToolLine, text: bytes, store: Store) -> None:
        """A line of the tool, at the place where the store is."""
        n = self._n_notices[line.kind] = self._n_notices.get(line.kind, 0) + 1
        if n <= MAX_KEPT:
            self._notices.append(
                Notice(
                    line.kind,
                    store.text(text),
                    store.line,
                    store.byte,
                    n_records=line.n_records,
                    block=line.block,
                    cache_size_mb=line.cache_size_mb,
                    signal=line.signal,
                )
            )

    def add_run(self, line: ToolLine) -> None:
        """Start or end of a check."""
        self.add_style("26.0")
        for tool in line.tools if len(self._tools) < MAX_NAMES else ():
            self._tools.setdefault(tool)
        of_kernel = self._kernels.get(line.kernel)
        if of_kernel is None and len(self._kernels) < MAX_KERNELS:
            of_kernel = self._kernels[line.kernel] = [0, 0, 0]
        for counts in (self._runs, *([] if of_kernel is None else [of_kernel])):
            counts[0] += line.event == "start"
            counts[1] += line.event == "finish"
            counts[2] += line.is_no_error

    def state(self, n_lines: int, n_bytes: int, streams: tuple[str, ...]) -> LogState:
        """All of it as it is now."""
        return LogState(
            tools=tuple(self._tools),
            style=self.style,
            devices=tuple(sorted(self._devices)),
            kernels=tuple(KernelRuns(name, *counts) for name, counts in self._kernels.items()),
            streams=streams,
            summaries=tuple(self._summaries),
            notices=tuple(self._notices),
            n_notices=dict(self._n_notices),
            n_records=dict(self._n_records),
            n_started=self._runs[0],
            n_finished=self._runs[1],
            n_no_error=self._runs[2],
            n_lines=n_lines,
            n_bytes=n_bytes,
            n_skipped_lines=self.n_skipped_lines,
            gaps=self._all_gaps(),
        )

    def _all_gaps(self) -> tuple[Gap, ...]:
        found: dict[Gap, None] = {}
        started, finished, _ = self._runs
        if not started and not finished:
            found["no-markers"] = None
        counts = [(n[0], n[1]) for n in self._kernels.values()]
        if started > finished or any(a > b for a, b in counts):
            found["unfinished-kernel"] = None
        if finished > started or any(b > a for a, b in counts):
            found["no-start"] = None
        if self.n_skipped_lines:
            found["skipped-lines"] = None
        found.update(self.gaps)
        found.update({gap: None for gap in _GAPS if gap in self._n_notices})
        return tuple(found)
