"""Records while their lines come in: what is there, what is still to come, and what can be done without."""

from __future__ import annotations

from .places import StackDraft, built
from .records import Frame, Leak, Reach, Record, Span, Summary, UndefinedBehavior, bounded
from .undefined import Diagnosis

MAX_LINES = 32
MAX_PARTS = 64
MAX_LEAKED_OBJECTS = 256

# How many lines that belong to nothing may come before a record is given up, by what it still waits for.
PATIENT = 20_000  # its body: a symboliser can take a minute, other processes go on writing meanwhile
WAITING = 64  # its last parts, which are written at once
READY = 0  # nothing, but some more may come


class Draft:
    """What drafts have in common.

    limit: how many foreign lines it endures; mark: how many the lane had had at its last line.
    """

    __slots__ = (
        *("byte", "end_byte", "is_ended", "is_mixed", "last_line", "limit", "line", "mark", "open", "pid"),
        "prefix",
    )

    def __init__(self, pid: int | None, prefix: str, line: int, byte: int) -> None:
        self.pid = pid
        self.prefix = bounded(prefix)
        self.line = self.last_line = line
        self.byte = self.end_byte = byte
        self.mark = 0
        self.limit = PATIENT
        self.is_mixed = False
        self.is_ended = False
        self.open: StackDraft | None = None

    @property
    def span(self) -> Span:
        return Span(self.line, self.last_line, self.byte, self.end_byte)

    def missing(self) -> str | None:
        """What of the report has not come; None if it is whole, or as whole as can be told."""
        raise NotImplementedError

    def build(self, is_cut: bool) -> Record | None:
        """The record as far as it came; None if nothing of it did."""
        raise NotImplementedError

    def is_first(self, frame: Frame) -> bool:
        """True if the frame is certainly the first one of this report."""
        return False

    def is_waiting_for_first(self) -> bool:
        """True if a stack was announced and none of its frames came."""
        return self.open is not None and self.open.n_frames == 0

    def wants(self, frame: Frame) -> bool:
        if self.open is None:
            return False
        return frame.index >= self.open.next_index if frame.index else self.open.n_frames == 0

    def add_frame(self, frame: Frame) -> None:
        if self.open is not None:
            self.open.add(frame)


class LeakDraft(Draft):
    """A report of leaks: its records are the leaks in it, one at a time."""

    __slots__ = (
        *("is_at_objects", "is_leak_over", "leak_byte", "leak_line", "n_objects", "objects", "reach"),
        "size_bytes",
    )

    def __init__(self, pid: int | None, prefix: str, line: int, byte: int) -> None:
        super().__init__(pid, prefix, line, byte)
        self.reach: Reach = "direct"
        self.size_bytes = self.n_objects = 0
        self.objects: list[tuple[int, int]] = []
        self.leak_line, self.leak_byte = line, byte
        self.is_leak_over = False
        self.is_at_objects = False

    def missing(self) -> str | None:
        return None if self.is_ended else "its summary"

    def begin(self, reach: Reach, size_bytes: int, n_objects: int, line: int, byte: int) -> None:
        self.reach, self.size_bytes, self.n_objects = reach, size_bytes, n_objects
        self.leak_line, self.leak_byte = line, byte
        self.objects = []
        self.open = StackDraft("allocated from:")
        self.is_leak_over = self.is_at_objects = False

    def add_object(self, address: int, size_bytes: int) -> None:
        if len(self.objects) < MAX_LEAKED_OBJECTS:
            self.objects.append((address, size_bytes))

    def take_leak(self, is_cut: bool) -> Leak | None:
        """The leak that came in; None if there is none. There is none after that."""
        leak = self.build(is_cut)
        self.open = None
        return leak

    def build(self, is_cut: bool) -> Leak | None:
        """The leak that came in, up to the last line that was taken; None if there is none."""
        if self.open is None:
            return None
        return Leak(
            span=Span(self.leak_line, self.last_line, self.leak_byte, self.end_byte),
            pid=self.pid,
            reach=self.reach,
            size_bytes=self.size_bytes,
            n_objects=self.n_objects,
            stack=built(self.open),
            prefix=self.prefix,
            objects=tuple(self.objects),
            is_cut=is_cut and not self.is_leak_over,
            is_mixed=self.is_mixed,
        )


class UndefinedDraft(Draft):
    """A "runtime error:" line and what belongs to it: notes, a stack, a summary, or nothing at all."""

    __slots__ = ("diagnosis", "is_at_memory", "is_stack_over", "notes", "summary")

    def __init__(self, diagnosis: Diagnosis, prefix: str, line: int, byte: int) -> None:
        super().__init__(None, prefix, line, byte)
        self.diagnosis = diagnosis
        self.notes: list[str] = []
        self.summary: Summary | None = None
        self.is_at_memory = False
        self.is_stack_over = False
        self.open = StackDraft()
        self.limit = 8

    def missing(self) -> str | None:
        if self.is_ended or self.summary is not None or self.is_stack_over:
            return None
        return "the end of its stack" if self.open is not None and self.open.n_frames else None

    def is_first(self, frame: Frame) -> bool:
        there = self.diagnosis
        if not self.is_waiting_for_first() or frame.line != there.line or not (frame.file and there.file):
            return False
        return _name(frame.file) == _name(there.file)  # one of them can be relative

    def add_frame(self, frame: Frame) -> None:
        super().add_frame(frame)
        self.limit = WAITING

    def end_stack(self) -> None:
        if self.open is not None and self.open.n_frames:
            self.is_stack_over = True
            self.limit = READY

    def build(self, is_cut: bool) -> Record:
        found = self.diagnosis
        named = self.summary.kind if self.summary is not None else None
        return UndefinedBehavior(
            span=self.span,
            kind=named if named and named != "undefined-behavior" else found.kind,
            message=found.message,
            file=found.file,
            line=found.line,
            column=found.column,
            module=found.module,
            module_offset=found.module_offset,
            pc=found.pc,
            prefix=self.prefix,
            notes=tuple(self.notes),
            stack=built(self.open),
            summary=self.summary,
            is_cut=is_cut,
            is_mixed=self.is_mixed,
        )


def _name(path: str) -> str:
    return path.rpartition("/")[2]
