"""What a report of msSanitizer says: one record a finding of the tool, and facts of the log as a whole.

Nothing here is judged, merged or completed: a field is None (or empty) where the log does not have it.
Texts are kept as written, at most 4,096 characters of each; they are not safe to show as they are.
"""

from __future__ import annotations

from typing import Literal

from npulse.core.dataclass import dataclass

Kind = Literal[
    "illegal read",
    "illegal write",
    "out of bounds",
    "misaligned access",
    "uninitialized read",
    "illegal free",
    "unused memory",
    "leak",
    "race",
    "missing dcci",
    "unpaired flag",
    "redundant flag",
    "lock-up",
    "divergent threads",
    "register not reset",
    "non-default mask",
    "internal error",
    "other",
]
"""Stable words. illegal free: also what frees twice. leak: one allocation. other: its head is not known."""

Severity = Literal["error", "warning", "info"]
AccessWord = Literal["read", "write"]
Hazard = Literal["RAW", "WAR", "WAW"]
Style = Literal["", "7.0.RC1", "8.0.RC1", "8.0.RC2", "8.0.RC3", "8.2", "26.0"]
"""First release of the newest wording in a log, "" where nothing tells. A build in between can mix two."""

SummaryKind = Literal["leak", "unused memory", "lock-up", "other"]

NoticeKind = Literal[
    "records-dropped",
    "cache-exhausted",
    "address-changed",
    "sync-records-dropped",
    "heap-range",
    "tool-not-supported",
    "no-active-tool",
    "tool-error",
    "interrupted",
    "signal",
    "abnormal-exit",
    "no-debug-lines",
    "log-file",
    "other",
]
"""What a line is about that is no finding. The last three say nothing against the result."""

Gap = Literal[
    "no-markers",
    "unfinished-kernel",
    "no-start",
    "cut-off",
    "skipped-lines",
    "limit",
    "unreadable",
    "records-dropped",
    "cache-exhausted",
    "address-changed",
    "sync-records-dropped",
    "heap-range",
    "tool-not-supported",
    "no-active-tool",
    "tool-error",
    "interrupted",
    "signal",
    "abnormal-exit",
]
"""Why a log is not complete. no-markers: neither start nor end of a check in it; releases before 26.0 write
none, so that nobody can tell. no-start: more ends than starts, what was before is missing."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One line of a call stack, the innermost first. file "<unknown>" or "", line 0: so it is in the log."""

    file: str
    line: int | None = None
    column: int | None = None
    function: str | None = None


MAX_CORES = 4096


@dataclass(frozen=True, slots=True)
class Cores:
    """Cores of one type: aiv, aic, aicore, or "" in the oldest logs; listed: as in the log, "0,2-4,7"."""

    core_type: str
    listed: str

    @property
    def ids(self) -> tuple[int, ...]:
        """Their numbers, at most the first 4,096."""
        found: list[int] = []
        for item in self.listed.split(",") if self.listed else ():
            first, _, last = item.partition("-")
            stop = min(int(last or first) + 1, int(first) + MAX_CORES - len(found))
            found.extend(range(int(first), stop))
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Allocation:
    """The allocation next to an access: the access is `distance_bytes` before or after it."""

    address: int
    size_bytes: int
    distance_bytes: int
    side: Literal["before", "after", "inside"]


@dataclass(frozen=True, slots=True)
class FlagPipes:
    """The pipes between which a flag was set or awaited."""

    from_pipe: str
    to_pipe: str


@dataclass(frozen=True, slots=True)
class Mask:
    """The vector mask in force. mode: Normal, Counter."""

    mode: str
    high: int
    low: int


@dataclass(frozen=True, slots=True)
class Register:
    """A register that was left with another value. The values are as written, "0" or "0x8"."""

    name: str
    expected: str
    current: str


Detail = Allocation | FlagPipes | Mask | Register


@dataclass(frozen=True, slots=True)
class Side:
    """One access of a race, or one waiting pipe of a lock-up.

    pc: offset in the kernel's object, no address. serial_number: order of issue. frames: the call stack, or
    the one place that older logs have. thread: of SIMT kernels. line_number: where it begins.
    """

    access: AccessWord | None = None
    pipe: str | None = None
    instruction: str | None = None
    address: int | None = None
    kernel: str | None = None
    device: int | None = None
    cores: tuple[Cores, ...] = ()
    thread: tuple[int, int, int] | None = None
    pc: int | None = None
    serial_number: int | None = None
    frames: tuple[Frame, ...] = ()
    line_number: int = 0


@dataclass(frozen=True, slots=True)
class Record:
    """One finding of the tool, as it is in the log.

    head: the first line as written, without prefix and colour. line_number, byte: where the record begins,
    from 1 and 0; end_byte: behind its last line. Of a leak: its own lines, the head is that of the list.
    access: of illegal, out of bounds and uninitialized ones. space: GM, UB, L1, L0A ... kernel: without the
    quotes around it. instruction: of flags and masks. module: of a leak, the id of who allocated it.
    pc, serial_number, frames: as in `Side`; of a leak where it was allocated. sides: the two accesses of a
    race in the order of the log, the pipes of a lock-up; the record's own place is then empty.
    n_pipes: what the SUMMARY of a lock-up says. stream: the prefix of its lines ("[rank0]:"), without times.
    extra: lines of the record that are not understood, the first eight.
    is_cut: the log ends in it. is_partial: a line of it is missing or damaged. is_mixed: lines of another
    record lie between its own, and it is not sure which belong to which.
    """

    kind: Kind
    severity: Severity
    head: str
    line_number: int
    byte: int
    end_byte: int
    access: AccessWord | None = None
    size_bytes: int | None = None
    space: str | None = None
    address: int | None = None
    kernel: str | None = None
    device: int | None = None
    cores: tuple[Cores, ...] = ()
    thread: tuple[int, int, int] | None = None
    pc: int | None = None
    serial_number: int | None = None
    frames: tuple[Frame, ...] = ()
    hazard: Hazard | None = None
    instruction: str | None = None
    module: str | None = None
    detail: Detail | None = None
    sides: tuple[Side, ...] = ()
    n_pipes: int | None = None
    stream: str = ""
    extra: tuple[str, ...] = ()
    is_cut: bool = False
    is_partial: bool = False
    is_mixed: bool = False


@dataclass(frozen=True, slots=True)
class Summary:
    """A SUMMARY line as written. count: allocations or pipes; size_bytes: None for a lock-up.

    kind other: it is not known what it counts; text has it.
    """

    kind: SummaryKind
    count: int | None
    size_bytes: int | None
    text: str
    line_number: int
    byte: int


@dataclass(frozen=True, slots=True)
class Notice:
    """One line of the tool about the run itself. n_records: lost ones, in `block`; cache_size_mb: advised."""

    kind: NoticeKind
    text: str
    line_number: int
    byte: int
    n_records: int | None = None
    block: int | None = None
    cache_size_mb: int | None = None
    signal: int | None = None


@dataclass(frozen=True, slots=True)
class KernelRuns:
    """How often checks of one kernel began, ended, and what the end said. kernel "": between devices."""

    kernel: str
    n_started: int
    n_finished: int
    n_no_error: int


@dataclass(frozen=True, slots=True)
class LogState:
    """Facts of the log as far as it was read.

    tools: named by the start lines, in order of appearance; older logs name none. kernels: those of start
    and end lines, at most 10,000. summaries, notices: the first 100 of each kind; n_notices counts all.
    n_skipped_lines: too long to read.
    gaps: why the log is not complete. While it still grows, "unfinished-kernel" only says that it does.
    """

    tools: tuple[str, ...]
    style: Style
    devices: tuple[int, ...]
    kernels: tuple[KernelRuns, ...]
    streams: tuple[str, ...]
    summaries: tuple[Summary, ...]
    notices: tuple[Notice, ...]
    n_notices: dict[NoticeKind, int]
    n_records: dict[Kind, int]
    n_started: int
    n_finished: int
    n_no_error: int
    n_lines: int
    n_bytes: int
    n_skipped_lines: int
    gaps: tuple[Gap, ...]

    @property
    def is_complete(self) -> bool:
        """Every check that began has ended, and nothing says that something was lost."""
        return not self.gaps

    @property
    def says_no_error(self) -> bool:
        """Every end line says "No error detected". That is worth nothing unless `is_complete`."""
        return 0 < self.n_finished == self.n_no_error

    @property
    def is_recognised(self) -> bool:
        """There is a line in it that only this tool writes."""
        known = sum(n for kind, n in self.n_records.items() if kind != "other")
        told = any(summary.kind != "other" for summary in self.summaries)
        has_notices = any(kind != "interrupted" for kind in self.n_notices)
        return bool(known or told or has_notices or self.n_started or self.n_finished)
