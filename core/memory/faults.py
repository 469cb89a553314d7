"""One memory fault in one form, whichever tool told it: who accessed what, where, against which block.

Nothing is grouped or judged here. None, "" and () mean that the log does not say. Texts stand as the tool
wrote them (bounded by the readers) and are not safe to show as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from npulse.core.dataclass import dataclass

Severity = Literal["error", "warning", "info"]
Tool = Literal[
    "msSanitizer",
    "AddressSanitizer",
    "LeakSanitizer",
    "MemorySanitizer",
    "ThreadSanitizer",
    "HWAddressSanitizer",
    "UndefinedBehaviorSanitizer",
    "CANN",
    "HCCL",
    "torch_npu",
    "MindSpore",
    "compiler",
    "msMemScope",
    "msDebug",
    "Python",
]
Side = Literal["before", "inside", "after"]


@dataclass(frozen=True, slots=True)
class Frame:
    """One place of a call stack, the innermost first.

    file: as written, "" or "<unknown>" where none is known. line: None or 0 where none is known. module: the
    object file that holds the code; offset: in that file.
    """

    file: str = ""
    line: int | None = None
    column: int | None = None
    function: str = ""
    module: str = ""
    offset: int | None = None

    @property
    def has_file(self) -> bool:
        return bool(self.file) and not self.file.startswith("<")

    @property
    def has_line(self) -> bool:
        """Line 0 is what compilers write where code belongs to no line."""
        return self.has_file and bool(self.line)


@dataclass(frozen=True, slots=True)
class Cores:
    """Cores of one type ("aiv", "aic", "aicore", ""), as inclusive ranges in ascending order."""

    core_type: str
    ranges: tuple[tuple[int, int], ...]

    def __str__(self) -> str:
        listed = ",".join(str(a) if a == b else f"{a}-{b}" for a, b in self.ranges)
        return f"{self.core_type}({listed})" if self.core_type else listed


@dataclass(frozen=True, slots=True)
class Access:
    """Who touched what. word: "read", "write", "". space: GM, UB, L1, L0A ..., or heap, stack, global, host.

    size_bytes: of the access. kernel, device, cores, thread, pid: by whom. pc: offset in the kernel's object;
    serial_number: order of issue. pipe, instruction: of on-chip work.
    """

    word: str = ""
    size_bytes: int | None = None
    space: str = ""
    address: int | None = None
    kernel: str = ""
    device: int | None = None
    cores: tuple[Cores, ...] = ()
    thread: str = ""
    pid: int | None = None
    pc: int | None = None
    serial_number: int | None = None
    pipe: str = ""
    instruction: str = ""
    frames: tuple[Frame, ...] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """The memory next to an access: a heap block, a variable, a device allocation, an on-chip buffer.

    start, size_bytes: of the block. The access is distance_bytes `before` its begin, `after` its end, or
    behind its begin (`inside`). name: of a variable. allocated, freed: the stacks that did it;
    allocating_thread, freeing_thread: who.
    """

    size_bytes: int | None = None
    start: int | None = None
    side: Side | None = None
    distance_bytes: int | None = None
    name: str = ""
    allocated: tuple[Frame, ...] = ()
    freed: tuple[Frame, ...] = ()
    allocating_thread: str = ""
    freeing_thread: str = ""


@dataclass(frozen=True, slots=True)
class Fault:
    """One report of one tool.

    kind: a stable word: of msSanitizer `formats.mssanitizer.records.Kind`, of host sanitizers the tool's own
    ("heap-buffer-overflow"), else "aicore exception", "task failure", "collective time-out", "error code",
    "python error", "out of memory", "buffer overflow at compile time", "pool warning", "debugger stop".
    hazard: RAW, WAR, WAW of a race. accesses: the access itself; both sides of a race; pipes of a lock-up.
    size_bytes: of a leak or of unused memory, with n_objects blocks.
    message: the first line as written. figures: what only this kind has, names with units.
    artifact, line, byte: where it begins, line from 1, byte from 0. time_us: microseconds since 1970 by the
    log's clock. origin: what a launcher put in front of its lines. is_cut: the log ends in it; is_partial: a
    line is missing or damaged; is_mixed: lines of others lay between its own.
    """

    tool: Tool
    kind: str
    severity: Severity
    message: str
    artifact: str
    line: int
    byte: int
    accesses: tuple[Access, ...] = ()
    hazard: str = ""
    block: Block | None = None
    size_bytes: int | None = None
    n_objects: int | None = None
    task: Task | None = None
    figures: Mapping[str, Any] = field(default_factory=dict)
    time_us: int | None = None
    origin: str = ""
    is_cut: bool = False
    is_partial: bool = False
    is_mixed: bool = False

    @property
    def access(self) -> Access:
        """The first access; an empty one where the tool names none."""
        return self.accesses[0] if self.accesses else _NO_ACCESS

    @property
    def is_leak(self) -> bool:
        return self.kind in LEAKS


_NO_ACCESS = Access()

LEAKS = frozenset({"leak", "unused memory"})
"""Kinds that are memory kept rather than touched: summed by allocation site."""


@dataclass(frozen=True, slots=True)
class Task:
    """The task on a device that a fault belongs to. flip: how often task ids had wrapped; -1 is a real id."""

    device: int | None = None
    stream: int | None = None
    task: int | None = None
    flip: int | None = None


@dataclass(frozen=True, slots=True)
class LogSummary:
    """A SUMMARY line of a tool. what: "leak", "unused memory", "lock-up". count: allocations or pipes.

    tool: whose faults it sums up, "" if not known.
    """

    what: str
    count: int | None
    size_bytes: int | None
    line: int
    tool: str = ""


@dataclass(frozen=True, slots=True)
class LogTrust:
    """How far a log can be trusted: what is missing in it, and what it says of itself.

    tools: those that wrote into it. checks: what msSanitizer was told to look for ("memcheck", ...). gaps:
    why it is not complete, as words of the readers ("records-dropped", "cut-off", "runtime-refused"), each
    once. notices: (line, text) of the tool about the run itself, the first 100. n_clean_ends: kernels of
    which the tool says that nothing was detected, processes that AddressSanitizer says have ended in a log
    without a report. is_aborting: a fault ended a process, what it would have
    done after is not seen. kernels: those of which the log says that a check ended, the first 1,000;
    unfinished: those of which it only says that one began.
    """

    artifact: str
    kind: str
    tools: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    summaries: tuple[LogSummary, ...] = ()
    notices: tuple[tuple[int, str], ...] = ()
    n_clean_ends: int = 0
    n_lines: int = 0
    n_bytes: int = 0
    is_aborting: bool = False
    kernels: tuple[str, ...] = ()
    unfinished: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        return not self.gaps
