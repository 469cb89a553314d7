"""The report of an error while its lines come in: header, stacks, places, tables."""

from __future__ import annotations

from collections.abc import Iterable

from .drafts import MAX_LINES, MAX_PARTS, READY, WAITING, Draft
from .headers import Head
from .places import PlaceDraft, StackDraft, built
from .records import Access, Frame, Record, SanitizerError, Shadow, ShadowRow, Summary, ThreadStart

NO_SHADOW = "its shadow bytes"
SHADOW_TITLE = "Shadow bytes around the buggy address:"
_FULL_SHADOW_ROWS = 11
_SHADOW_OFFSETS = (0x7FFF8000, 1 << 36)  # of old runtimes on x86-64 and AArch64
_ASAN_LAST_LEGENDS = ("ASan internal", "Left alloca", "Right alloca", "Shadow gap")

# What comes behind header and access line, without a word of which process wrote it, and the end of that.
_TAIL = ("command", "hints", "legend", "limit", "open", "rows", "summary")
_BODY = (
    *("cause", "created_by", "details", "is_listing_registers", "is_skipping_rows", "main", "origins"),
    *("others", "places", "registers", *_TAIL),
)


class ErrorDraft(Draft):
    """A report that begins with a header."""

    __slots__ = (
        *(
            "access",
            "address",
            "cause",
            "command",
            "created_by",
            "details",
            "head",
            "hints",
            "kind",
            "legend",
        ),
        *("is_listing_registers", "is_skipping_rows", "main", "origins", "others", "places", "registers"),
        *("rows", "said", "size_bytes", "summary", "thread", "thread_name"),
    )

    def __init__(self, head: Head, prefix: str, line: int, byte: int) -> None:
        super().__init__(head.pid, prefix, line, byte)
        self.head = head
        self.kind = head.kind
        self.address = head.address
        self.access: Access | None = None
        self.size_bytes = head.size_bytes
        self.thread = head.thread
        self.thread_name = head.thread_name
        self.cause: str | None = None
        self.main = self.open = StackDraft()
        self.places: list[PlaceDraft] = []
        self.created_by: list[tuple[str, str | None, str | None, StackDraft]] = []
        self.origins: list[StackDraft] = []
        self.others: list[StackDraft] = []
        self.details: list[str] = []
        self.hints: list[str] = []
        self.said: list[str] = []  # hints in lines that name the process
        self.registers: list[tuple[str, int]] = []
        self.rows: list[tuple[int, str]] | None = None
        self.legend: str | None = None  # the last line of it, "" after its title
        self.command: str | None = None
        self.summary: Summary | None = None
        self.is_listing_registers = False
        self.is_skipping_rows = False

    @property
    def tool(self) -> str:
        return self.head.tool

    @property
    def is_body(self) -> bool:
        """True as long as stacks and places can come."""
        return self.summary is None and self.legend is None

    @property
    def is_legend_over(self) -> bool:
        return self.legend is not None and self.legend.startswith(_ASAN_LAST_LEGENDS)

    def missing(self) -> str | None:
        if self.is_mixed and self.head.pc is not None and not self.main.n_frames:
            return "its stack"
        if self.is_legend_over or (self.is_ended and not self.is_mixed):
            return None
        if self.legend is not None:
            return "the end of its legend"
        if self.rows is not None and self.summary is not None and len(self.rows) < _FULL_SHADOW_ROWS:
            return "the end of its shadow bytes"
        if self.summary is None:
            return "its summary"
        if (
            self.rows is None
            and self.head.is_access
            and self.tool == "AddressSanitizer"
            and self.kind != "wild-access"
        ):
            return NO_SHADOW
        return None

    def is_first(self, frame: Frame) -> bool:
        if self.main.n_frames or self.head.pc is None or frame.pc is None or not self.is_body:
            return False
        return 0 <= self.head.pc - frame.pc <= 8  # the frame has the call, the header what is behind it

    def is_waiting_for_first(self) -> bool:
        return self.is_body and super().is_waiting_for_first()

    def wants(self, frame: Frame) -> bool:
        if not self.is_body:
            return False
        return frame.index == 0 or super().wants(frame)

    def add_frame(self, frame: Frame) -> None:
        if frame.index == 0 and (self.open is None or self.open.n_frames):
            if len(self.others) < MAX_PARTS:
                self.others.append(StackDraft())  # its title was lost
                self.open = self.others[-1]
        super().add_frame(frame)

    def add_place(self, place: PlaceDraft) -> PlaceDraft:
        if len(self.places) < MAX_PARTS:
            self.places.append(place)
        self.open = place.frame if place.kind == "stack" else place.allocated_by
        return place

    def add_stack(self, stacks: list[StackDraft], stack: StackDraft) -> None:
        if len(stacks) < MAX_PARTS:
            stacks.append(stack)
        self.open = stack

    def add_created(self, thread: str, name: str | None, parent: str | None, title: str) -> None:
        stack = StackDraft(title, thread, name)
        if len(self.created_by) < MAX_PARTS:
            self.created_by.append((thread, name, parent, stack))
        self.open = stack

    def is_marked(self, row: int, cell: int) -> bool:
        """True if a cell of shadow memory stands for the address of this report."""
        if self.address is None:
            return False
        if row + 8 * cell <= self.address < row + 8 * cell + 8:
            return True  # new runtimes write the program's address before a row
        return row + cell - (self.address >> 3) in _SHADOW_OFFSETS

    def add_row(self, address: int, cells: str) -> None:
        if self.rows is not None and len(self.rows) < MAX_LINES and not self.is_skipping_rows:
            self.rows.append((address, cells[:256]))

    def end_body(self, summary: Summary) -> None:
        self.summary = summary
        self.open = None
        if not self.head.is_known_kind and summary.kind:
            self.kind = summary.kind
        self.limit = WAITING if self.tool == "AddressSanitizer" else READY

    def may_be(self, other: ErrorDraft) -> bool:
        """True if their stacks could be each other's: forked processes fail at the same instruction."""
        return self.head.pc == other.head.pc and self.head.kind == other.head.kind

    def swap_bodies(self, other: ErrorDraft) -> None:
        """What seemed to belong to one report belongs to the other."""
        _swap(self, other, _BODY)
        self.is_mixed = other.is_mixed = True

    def swap_tails(self, other: ErrorDraft) -> None:
        """The same from the first stack on that has not come here."""
        if self.places and other.places:
            mine, theirs = self.places[-1], other.places[-1]
            wanted = [name for name in ("freed_by", "allocated_by") if built(getattr(mine, name)) is None]
            _swap(mine, theirs, wanted)
        _swap(self, other, _TAIL)
        self.is_mixed = other.is_mixed = True

    def swap_shadows(self, other: ErrorDraft) -> None:
        """The same of the last table."""
        _swap(self, other, ("legend", "limit", "rows"))
        self.is_mixed = other.is_mixed = True

    def build(self, is_cut: bool) -> Record:
        return SanitizerError(
            span=self.span,
            tool=self.tool,
            severity=self.head.severity,
            kind=self.kind,
            message=self.head.message,
            pid=self.pid,
            prefix=self.prefix,
            address=self.address,
            pc=self.head.pc,
            bp=self.head.bp,
            sp=self.head.sp,
            access=self.access,
            size_bytes=self.size_bytes,
            thread=self.thread,
            thread_name=self.thread_name,
            cause=self.cause,
            ranges=self.head.ranges,
            stack=built(self.main),
            places=tuple(place.build() for place in self.places),
            created_by=tuple(
                ThreadStart(thread, name, parent, stack.build())
                for thread, name, parent, stack in self.created_by
            ),
            origins=tuple(stack.build() for stack in self.origins),
            others=tuple(stack.build() for stack in self.others),
            details=tuple(self.details),
            hints=(*self.said, *self.hints),
            registers=tuple(self.registers),
            shadow=None if self.rows is None else _shadow(self.rows),
            command=self.command,
            summary=self.summary,
            is_cut=is_cut,
            is_mixed=self.is_mixed,
        )


def _shadow(rows: list[tuple[int, str]]) -> Shadow:
    row = cell = text = None
    kept = []
    for i, (address, cells) in enumerate(rows):
        before, bracket, after = cells.partition("[")
        if bracket and row is None:
            row, cell, text = i, len(before.split()), after.partition("]")[0].strip()
        kept.append(ShadowRow(address, " ".join(cells.replace("[", " ").replace("]", " ").split())))
    return Shadow(tuple(kept), row, cell, text)


def _swap(mine: object, theirs: object, names: Iterable[str]) -> None:
    for name in names:
        kept = getattr(mine, name)
        setattr(mine, name, getattr(theirs, name))
        setattr(theirs, name, kept)
