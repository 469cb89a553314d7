"""What a host sanitizer wrote, as records: errors, leaks, undefined behaviour, and the facts of a log.

Addresses and sizes are numbers; None means that the log does not say. Names and places stand as the tool
wrote them: line 0, "<null>", "<unknown>", "<unknown module>". Texts have at most 4,096 characters.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from npulse.core.dataclass import dataclass
from npulse.core.findings import Problem

from ..log_lines import MAX_TEXT_CHARS

Access = Literal["read", "write", "unknown"]
Relation = Literal["before", "inside", "after"]
PlaceKind = Literal["heap", "global", "stack", "wild", "other"]
Reach = Literal["direct", "indirect"]


def bounded(text: str) -> str:
    """The text with at most 4,096 characters; the last one is an ellipsis where it was longer."""
    return text if len(text) <= MAX_TEXT_CHARS else text[: MAX_TEXT_CHARS - 1] + "\N{HORIZONTAL ELLIPSIS}"


@dataclass(frozen=True, slots=True)
class Span:
    """Where a record is in the log: first and last line, counted from 1; first byte, and the one behind it.

    Lines of other processes and of the program may lie between.
    """

    line: int
    last_line: int
    byte: int
    end_byte: int


# ---- stacks ----


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame; 0 is the innermost. pc: address in the process; module_offset: in the file of the module.

    Inlined frames have the pc of the frame that they were inlined into. Equal lines share one object.
    """

    index: int
    pc: int | None = None
    function: str | None = None
    file: str | None = None
    line: int | None = None
    column: int | None = None
    module: str | None = None
    module_offset: int | None = None
    build_id: str | None = None


@dataclass(frozen=True, slots=True)
class Stack:
    """Frames under the title that the tool gave them ("" for the stack of the error itself).

    n_frames: how many the log has; at most 512 are kept. thread: "T1", with its name if it has one.
    """

    title: str
    frames: tuple[Frame, ...]
    n_frames: int
    thread: str | None = None
    thread_name: str | None = None


@dataclass(frozen=True, slots=True)
class ThreadStart:
    """Where a thread that takes part in an error was made. parent: None where the tool does not know it."""

    thread: str
    thread_name: str | None
    parent: str | None
    stack: Stack


# ---- where an address lies ----


@dataclass(frozen=True, slots=True)
class Allocation:
    """A heap block as the program asked for it; `end` is the address behind its last byte."""

    size_bytes: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class GlobalVariable:
    name: str
    address: int | None
    size_bytes: int | None
    file: str | None = None
    line: int | None = None
    column: int | None = None


@dataclass(frozen=True, slots=True)
class StackObject:
    """A variable in the frame that an address points into; offsets are from the start of that frame.

    access: how the access of the error meets it, in the tool's words ("overflows", "partially overflows",
    "underflows", "partially underflows", "is inside"); None for its neighbours.
    """

    name: str
    start_bytes: int
    end_bytes: int
    line: int | None = None
    access: str | None = None
    access_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """What the tool says of one address. text: its line as written.

    offset_bytes: from the nearer end of the block or variable if before or after it, from its start if
    inside. frame, frame_offset_bytes, objects: of a place on a stack; n_objects as the tool counted them.
    """

    kind: PlaceKind
    text: str
    address: int | None
    offset_bytes: int | None = None
    relation: Relation | None = None
    allocation: Allocation | None = None
    variable: GlobalVariable | None = None
    freed_by: Stack | None = None
    allocated_by: Stack | None = None
    thread: str | None = None
    frame_offset_bytes: int | None = None
    frame: Stack | None = None
    objects: tuple[StackObject, ...] = ()
    n_objects: int | None = None

    @property
    def hit_object(self) -> StackObject | None:
        """The stack variable that the access overflows, underflows or is inside of."""
        return next((found for found in self.objects if found.access is not None), None)


@dataclass(frozen=True, slots=True)
class ShadowRow:
    """address: of shadow memory in old runtimes, of the program's in new ones. cells: "fa fa 00 04"."""

    address: int
    cells: str


@dataclass(frozen=True, slots=True)
class Shadow:
    """The shadow bytes (or memory tags) around the address; which one is meant: row, cell and its text."""

    rows: tuple[ShadowRow, ...]
    marked_row: int | None
    marked_cell: int | None
    marked: str | None


@dataclass(frozen=True, slots=True)
class Summary:
    """A line "SUMMARY: <tool>: ...". text: as written; kind: None for leaks, which have the numbers instead.

    The place is that of frame #0, which is often an interceptor and not the user's code.
    """

    line: int
    byte: int
    tool: str
    text: str
    kind: str | None = None
    leaked_bytes: int | None = None
    n_allocations: int | None = None
    place: Frame | None = None


# ---- records ----


@dataclass(frozen=True, slots=True)
class SanitizerError:
    """One report of AddressSanitizer, MemorySanitizer, HWAddressSanitizer, ThreadSanitizer, or of a signal.

    kind: the tool's word ("heap-buffer-overflow", "SEGV", "use-of-uninitialized-value", "data race").
    message: the header behind the tool's name. size_bytes: of the access, else the size that the header names
    (it can be negative). places: what is said of each address. others: further stacks under their titles, as
    the second access of a race. origins: of an uninitialised value, the latest store first. cause: HWASan's.
    prefix: what a launcher wrote before every line, "[default3]:".
    is_cut: the log ends, or other text begins, before the report is complete. is_mixed: lines of several
    reports lay between each other and were told apart by what fits best.
    """

    span: Span
    tool: str
    severity: Literal["error", "warning"]
    kind: str
    message: str
    pid: int | None
    prefix: str = ""
    address: int | None = None
    pc: int | None = None
    bp: int | None = None
    sp: int | None = None
    access: Access | None = None
    size_bytes: int | None = None
    thread: str | None = None
    thread_name: str | None = None
    cause: str | None = None
    ranges: tuple[tuple[int, int], ...] = ()
    stack: Stack | None = None
    places: tuple[Place, ...] = ()
    created_by: tuple[ThreadStart, ...] = ()
    origins: tuple[Stack, ...] = ()
    others: tuple[Stack, ...] = ()
    details: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    registers: tuple[tuple[str, int], ...] = ()
    shadow: Shadow | None = None
    command: str | None = None
    summary: Summary | None = None
    is_cut: bool = False
    is_mixed: bool = False

    @property
    def place(self) -> Place | None:
        """The first address that is described: that of the access, where there is one."""
        return self.places[0] if self.places else None

    @property
    def freed_by(self) -> Stack | None:
        return next((place.freed_by for place in self.places if place.freed_by is not None), None)

    @property
    def allocated_by(self) -> Stack | None:
        return next((place.allocated_by for place in self.places if place.allocated_by is not None), None)


@dataclass(frozen=True, slots=True)
class Leak:
    """Blocks of one allocation stack that nothing points to any more (direct), or only leaked blocks do.

    objects: (address, size in bytes) where the tool was told to list them; at most 256 are kept.
    """

    span: Span
    pid: int | None
    reach: Reach
    size_bytes: int
    n_objects: int
    stack: Stack | None
    prefix: str = ""
    objects: tuple[tuple[int, int], ...] = ()
    is_cut: bool = False
    is_mixed: bool = False


@dataclass(frozen=True, slots=True)
class UndefinedBehavior:
    """One "runtime error:" of UndefinedBehaviorSanitizer.

    kind: from the message (see `undefined.KINDS`), or the one that the SUMMARY names. file is "<unknown>"
    where the tool wrote that; module, module_offset or pc stand for it where there is no debug information.
    notes: further lines about it, "a.cpp:3:1: note: nonnull attribute specified here".
    """

    span: Span
    kind: str
    message: str
    file: str | None = None
    line: int | None = None
    column: int | None = None
    module: str | None = None
    module_offset: int | None = None
    pc: int | None = None
    prefix: str = ""
    notes: tuple[str, ...] = ()
    stack: Stack | None = None
    summary: Summary | None = None
    is_cut: bool = False
    is_mixed: bool = False


Record = SanitizerError | Leak | UndefinedBehavior


# ---- the log as a whole ----


@dataclass(frozen=True, slots=True)
class Suppression:
    """One line of the "Suppressions used" table: leaks that were found and are not reported."""

    n_leaks: int
    size_bytes: int
    template: str


@dataclass(frozen=True, slots=True)
class Note:
    """What the runtime says about itself. word: a short stable one, see `headers.TROUBLE`."""

    line: int
    byte: int
    word: str
    text: str
    pid: int | None = None


@dataclass(frozen=True, slots=True)
class LogState:
    """Facts of the log so far. Lists keep their first 1,000 entries; n_summaries counts all.

    aborting_pids: processes that say that the error ended them. n_truncated: records that are cut.
    incomplete: why the log does not show all there was, as words: "in progress" (before `finish`), "cut-off",
    "lost-begin" (a SUMMARY without its report), "too-large" (lines were skipped), "encoding",
    "runtime-refused", "check-failed", "nested-bug", "leak-check-failed", "leaks-omitted", "out-of-memory".
    """

    tools: tuple[str, ...]
    pids: tuple[int, ...]
    prefixes: tuple[str, ...]
    n_lines: int
    n_bytes: int
    n_records: int
    n_truncated: int
    summaries: tuple[Summary, ...]
    n_summaries: int
    aborting_pids: tuple[int, ...]
    suppressions: tuple[Suppression, ...]
    notes: tuple[Note, ...]
    incomplete: tuple[str, ...]

    @property
    def is_complete(self) -> bool:
        return not self.incomplete

    @property
    def is_aborting(self) -> bool:
        """True if an error ended a process."""
        return bool(self.aborting_pids)


@dataclass(frozen=True, slots=True)
class Log:
    """One file: its records by the line that they begin at, its state, and what could not be read."""

    path: Path
    size_bytes: int
    records: tuple[Record, ...]
    state: LogState
    problems: tuple[Problem, ...]
