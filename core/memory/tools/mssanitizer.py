"""Records of msSanitizer as faults.

Figures: from_pipe and to_pipe of a flag; mask_mode, mask_high, mask_low; register, expected, current (as
written); module_id of who allocated; n_pipes of a lock-up; extra: lines that were not understood.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Literal

from npulse.core.formats.mssanitizer import records
from npulse.core.formats.mssanitizer.again import MAX_SHAPES, Again, OnCores, Shape
from npulse.core.formats.mssanitizer.records import Allocation, FlagPipes, LogState, Mask, Record, Register

from ..again import On, Repeats
from ..faults import Access, Block, Cores, Fault, Frame, LogSummary
from .parts import Stacks, TrustPart

TOOL: Literal["msSanitizer"] = "msSanitizer"
_KEPT = ("leak", "unused memory")
MAX_KERNELS = 1000
_DAMAGED = ("in block", "at 0x", "code in", "by thread", "allocated in")
"""How lines of a record begin; one of these that was not understood is a damaged one."""


def frame_of(frame: records.Frame) -> Frame:
    """One frame; "<unknown>" and line 0 stay as they are written."""
    return Frame(frame.file, frame.line, frame.column, frame.function or "")


def stacks() -> Stacks[records.Frame]:
    """Frames of many records, each stack converted once."""
    return Stacks(frame_of)


def fault_of(record: Record, artifact: str, shared: Stacks[records.Frame] | None = None) -> Fault:
    """One record. Accesses: both sides of a race, one a pipe of a lock-up, else the record's own.

    Of a leak and of unused memory size_bytes and n_objects (1) are set, and the access has the address and
    the stack that allocated. shared: of all records of a log (`stacks`), for speed.
    """
    if shared is None:
        shared = stacks()
    block, figures = _details(record)
    is_kept = record.kind in _KEPT
    if record.sides:
        accesses = tuple([_side(record, side, shared) for side in record.sides])
    else:
        accesses = (_own(record, shared, None if is_kept else record.size_bytes),)
    return Fault(
        TOOL,
        record.kind,
        record.severity,
        record.head,
        artifact,
        record.line_number,
        record.byte,
        accesses,
        record.hazard or "",
        block,
        record.size_bytes if is_kept else None,
        1 if is_kept else None,
        None,
        figures,
        None,
        record.stream,
        record.is_cut,
        record.is_partial or any(line.startswith(_DAMAGED) for line in record.extra),
        record.is_mixed,
    )


class Faults:
    """Records of one log as faults; those that repeat another one stay numbers."""

    def __init__(self, artifact: str) -> None:
        self._artifact = artifact
        self._stacks = stacks()
        self._likes: dict[Shape, Fault] = {}
        self._on: dict[OnCores, On] = {}

    def __deepcopy__(self, memo: dict[int, Any]) -> Faults:
        return Faults(self._artifact)  # what is known is only kept for speed

    def of(self, records: Iterable[Record | Again]) -> list[Fault | Repeats]:
        """All in the same order; those that follow each other as numbers are one item."""
        found: list[Fault | Repeats] = []
        numbers: list[Again] = []
        for one in records:
            if isinstance(one, Again):
                numbers.append(one)
                continue
            if numbers:
                found.append(Repeats(numbers, self))
                numbers = []
            found.append(fault_of(one, self._artifact, self._stacks))
        if numbers:
            found.append(Repeats(numbers, self))
        return found

    def like(self, shape: Shape) -> Fault:
        """The first fault of a shape, the same object each time."""
        like = self._likes.get(shape)
        if like is None:
            if len(self._likes) >= MAX_SHAPES:
                self._likes.clear()
            like = self._likes[shape] = fault_of(shape.like, self._artifact, self._stacks)
        return like

    def on(self, where: OnCores) -> On:
        """Cores and device of an access, the same object each time."""
        known = self._on.get(where)
        if known is None:
            if len(self._on) >= MAX_SHAPES:
                self._on.clear()
            known = self._on[where] = On(_cores(where.cores), where.device)
        return known


def _own(record: Record, shared: Stacks[records.Frame], size_bytes: int | None) -> Access:
    return Access(
        record.access or "",
        size_bytes,
        record.space or "",
        record.address,
        record.kernel or "",
        record.device,
        _cores(record.cores),
        _thread(record.thread),
        None,
        record.pc,
        record.serial_number,
        "",
        record.instruction or "",
        shared(record.frames),
    )


def _side(record: Record, side: records.Side, shared: Stacks[records.Frame]) -> Access:
    """One side; kernel, device and memory are often told once, for both."""
    return Access(
        side.access or "",
        None,
        record.space or "",
        side.address,
        side.kernel or record.kernel or "",
        record.device if side.device is None else side.device,
        _cores(side.cores or record.cores),
        _thread(side.thread),
        None,
        side.pc,
        side.serial_number,
        side.pipe or "",
        side.instruction or "",
        shared(side.frames),
    )


def _thread(thread: tuple[int, int, int] | None) -> str:
    """(1, 0, 0) as the log writes it: "(1,0,0)"."""
    return "" if thread is None else f"({thread[0]},{thread[1]},{thread[2]})"


def _cores(cores: tuple[records.Cores, ...]) -> tuple[Cores, ...]:
    return tuple([_ranges(one.core_type, one.listed) for one in cores]) if cores else ()


@lru_cache(maxsize=4096)
def _ranges(core_type: str, listed: str) -> Cores:
    """ "0,2-4" -> (0, 0), (2, 4); what touches is put together, order and repetition do not matter."""
    pairs: list[tuple[int, int]] = []
    for item in listed.split(",") if listed else ():
        first, _, last = item.partition("-")
        pairs.append((int(first), int(last or first)))
    ranges: list[tuple[int, int]] = []
    for begin, end in sorted(pair for pair in pairs if pair[0] <= pair[1]):
        if ranges and begin <= ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], max(ranges[-1][1], end))
        else:
            ranges.append((begin, end))
    return Cores(core_type, tuple(ranges))


def _details(record: Record) -> tuple[Block | None, dict[str, Any]]:
    block: Block | None = None
    figures: dict[str, Any] = {}
    detail = record.detail
    if isinstance(detail, Allocation):
        block = Block(detail.size_bytes, detail.address, detail.side, detail.distance_bytes)
    elif isinstance(detail, FlagPipes):
        figures = {"from_pipe": detail.from_pipe, "to_pipe": detail.to_pipe}
    elif isinstance(detail, Mask):
        figures = {"mask_mode": detail.mode, "mask_high": detail.high, "mask_low": detail.low}
    elif isinstance(detail, Register):
        figures = {"register": detail.name, "expected": detail.expected, "current": detail.current}
    if record.module is not None:
        figures["module_id"] = record.module
    if record.n_pipes is not None:
        figures["n_pipes"] = record.n_pipes
    if record.extra:
        figures["extra"] = record.extra
    return block, figures


def trust_of(state: LogState) -> TrustPart:
    """What the log says of itself; nothing at all if no line of it is msSanitizer's."""
    if not state.is_recognised:
        return TrustPart()
    return TrustPart(
        tools=(TOOL,),
        checks=state.tools,
        gaps=state.gaps,
        summaries=tuple(
            LogSummary(one.kind, one.count, one.size_bytes, one.line_number, TOOL)
            for one in state.summaries
            if one.kind != "other"
        ),
        notices=tuple((notice.line_number, notice.text) for notice in state.notices),
        n_clean_ends=state.n_no_error,
        kernels=tuple(one.kernel for one in state.kernels if one.n_finished)[:MAX_KERNELS],
        unfinished=tuple(one.kernel for one in state.kernels if one.n_started > one.n_finished)[:MAX_KERNELS],
    )
