"""Records of host sanitizers as faults.

Figures of an error, only those that the log has: thread_name, cause (HWASan's real kind), origins (the
stacks that made or stored an uninitialised value, the latest first), created_by ((thread, parent, stack)),
stacks ((title, stack): what is no access), other_blocks (of further addresses), declared_at (a variable's
frame), details, hints, command, ranges, bp, sp, registers, shadow ((address, cells) rows) and shadow_marked.
Of a leak: reach ("direct", "indirect"), objects ((address, bytes)). Of undefined behaviour: notes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, cast

from npulse.core.formats import hostsan
from npulse.core.formats.hostsan import (
    Leak,
    LogState,
    Place,
    Record,
    SanitizerError,
    Stack,
    UndefinedBehavior,
)
from npulse.core.formats.hostsan.headers import EXIT_STATS

from ..faults import Access, Block, Fault, Frame, LogSummary, Side, Tool
from .parts import TrustPart, distinct

_SPACES = {"heap": "heap", "global": "global", "stack": "stack"}
_TITLED_ACCESS = re.compile(
    r"(?i)^(?:previous |as if synchronized |\[failed to restore the stack\] )*(?:atomic )?(read|write)"
    r" of size (\d{1,18}) at 0x([0-9a-f]{1,16})"
)


def frame_of(frame: hostsan.Frame) -> Frame:
    """One frame; the address in the process is left out, the place in the module's file stays."""
    return Frame(
        frame.file or "",
        frame.line,
        frame.column,
        frame.function or "",
        frame.module or "",
        frame.module_offset,
    )


def _frames(stack: Stack | None) -> tuple[Frame, ...]:
    return tuple(map(frame_of, stack.frames)) if stack is not None else ()


def fault_of(record: Record, artifact: str) -> Fault:
    """One record: an error of any of these tools, leaked blocks of one stack, or undefined behaviour."""
    if isinstance(record, SanitizerError):
        return _error(record, artifact)
    if isinstance(record, Leak):
        return _leak(record, artifact)
    return _undefined(record, artifact)


# ---- errors ----


def _error(record: SanitizerError, artifact: str) -> Fault:
    place = record.place
    space = _SPACES.get(place.kind, "") if place is not None else ""
    access = Access(
        word=record.access if record.access in ("read", "write") else "",
        size_bytes=record.size_bytes,
        space=space,
        address=record.address,
        thread=record.thread or "",
        pid=record.pid,
        pc=record.pc,
        frames=_frames(record.stack),
    )
    figures = _figures(record)
    others: list[Access] = []
    untold: list[tuple[str, tuple[Frame, ...]]] = []
    for stack in record.others:
        found = _TITLED_ACCESS.match(stack.title)
        if found is None:
            untold.append((stack.title, _frames(stack)))
        else:
            others.append(_titled(stack, found, space, record.pid))
    if untold:
        figures["stacks"] = tuple(untold)
    blocks = [block for block in map(_block, record.places) if block is not None]
    if len(blocks) > 1:
        figures["other_blocks"] = tuple(blocks[1:])
    return Fault(
        cast(Tool, record.tool),
        record.kind,
        record.severity,
        record.message,
        artifact,
        record.span.line,
        record.span.byte,
        accesses=(access, *others),
        block=blocks[0] if blocks else None,
        figures=figures,
        origin=record.prefix,
        is_cut=record.is_cut,
        is_mixed=record.is_mixed,
    )


def _titled(stack: Stack, found: re.Match[str], space: str, pid: int | None) -> Access:
    """'Previous write of size 4 at 0x7f.. by thread T1:': the other access of a race."""
    return Access(
        word=found[1].lower(),
        size_bytes=int(found[2]),
        space=space,
        address=int(found[3], 16),
        thread=stack.thread or "",
        pid=pid,
        frames=_frames(stack),
    )


def _block(place: Place) -> Block | None:
    """The memory that a place names; None of a wild address and where the tool names no block."""
    allocated, freed = _frames(place.allocated_by), _frames(place.freed_by)
    by, freed_by = (stack.thread or "" if stack else "" for stack in (place.allocated_by, place.freed_by))
    side: Side | None = place.relation
    if place.variable is not None:
        variable = place.variable
        size, start, name = variable.size_bytes, variable.address, variable.name
        return Block(size, start, side, place.offset_bytes, name, allocated, freed, by, freed_by)
    if place.allocation is not None:
        found = place.allocation
        return Block(
            found.size_bytes, found.start, side, place.offset_bytes, "", allocated, freed, by, freed_by
        )
    hit = place.hit_object
    if hit is not None:
        size = hit.end_bytes - hit.start_bytes
        stack_side, distance = _on_stack(hit.start_bytes, hit.end_bytes, hit.access_bytes)
        return Block(size, _start_on_stack(place, hit.start_bytes), stack_side, distance, hit.name)
    if allocated or freed:
        return Block(None, None, side, place.offset_bytes, "", allocated, freed, by, freed_by)
    return None


def _on_stack(start: int, end: int, access: int | None) -> tuple[Side | None, int | None]:
    """Where an access at an offset in the frame begins, seen from a variable in it."""
    if access is None:
        return None, None
    if access < start:
        return "before", start - access
    return ("inside", access - start) if access < end else ("after", access - end)


def _start_on_stack(place: Place, start_bytes: int) -> int | None:
    if place.address is None or place.frame_offset_bytes is None:
        return None
    return place.address - place.frame_offset_bytes + start_bytes


def _declared_at(place: Place | None) -> Frame | None:
    """Where the variable is declared that the access meets."""
    if place is None:
        return None
    variable, hit = place.variable, place.hit_object
    if variable is not None and variable.file:
        return Frame(variable.file, variable.line, variable.column)
    if hit is not None and hit.line is not None and place.frame is not None and place.frame.frames:
        inner = frame_of(place.frame.frames[0])
        return Frame(inner.file, hit.line, None, inner.function)
    return None


def _figures(record: SanitizerError) -> dict[str, Any]:
    shadow = record.shadow
    told: dict[str, Any] = {
        "thread_name": record.thread_name,
        "cause": record.cause,
        "origins": tuple(map(_frames, record.origins)),
        "created_by": tuple(
            (start.thread, start.parent or "", _frames(start.stack)) for start in record.created_by
        ),
        "declared_at": _declared_at(record.place),
        "details": record.details,
        "hints": record.hints,
        "command": record.command,
        "ranges": record.ranges,
        "bp": record.bp,
        "sp": record.sp,
        "registers": record.registers,
        "shadow": tuple((row.address, row.cells) for row in shadow.rows) if shadow is not None else (),
        "shadow_marked": shadow.marked if shadow is not None else None,
    }
    return {name: value for name, value in told.items() if value not in (None, "", ())}


# ---- leaks, undefined behaviour ----


def _leak(record: Leak, artifact: str) -> Fault:
    reach = "Indirect" if record.reach == "indirect" else "Direct"
    message = f"{reach} leak of {record.size_bytes} byte(s) in {record.n_objects} object(s) allocated from:"
    figures: dict[str, Any] = {"reach": record.reach}
    address = None
    if record.objects:
        figures["objects"] = record.objects
        if record.n_objects == 1:
            address = record.objects[0][0]
    return Fault(
        "LeakSanitizer",
        "leak",
        "error",
        message,
        artifact,
        record.span.line,
        record.span.byte,
        accesses=(Access(space="heap", address=address, pid=record.pid, frames=_frames(record.stack)),),
        size_bytes=record.size_bytes,
        n_objects=record.n_objects,
        figures=figures,
        origin=record.prefix,
        is_cut=record.is_cut,
        is_mixed=record.is_mixed,
    )


def _undefined(record: UndefinedBehavior, artifact: str) -> Fault:
    own = Frame(record.file or "", record.line, record.column, "", record.module or "", record.module_offset)
    frames = _frames(record.stack)
    if not any((frame.file, frame.line) == (own.file, own.line) for frame in frames[:1]):
        frames = (own, *frames)  # the place of the message is the surest, with or without a stack
    return Fault(
        "UndefinedBehaviorSanitizer",
        record.kind,
        "error",
        record.message,
        artifact,
        record.span.line,
        record.span.byte,
        accesses=(Access(pc=record.pc, frames=frames),),
        figures={"notes": record.notes} if record.notes else {},
        origin=record.prefix,
        is_cut=record.is_cut,
        is_mixed=record.is_mixed,
    )


# ---- the log as a whole ----


def trust_of(state: LogState) -> TrustPart:
    """What the runtimes say of themselves. "in progress" is a gap until the log is finished.

    A clean end is one of a process that left its statistics, in a log without a report.
    """
    n_ends = sum(note.word == EXIT_STATS for note in state.notes)
    return TrustPart(
        tools=distinct(state.tools, ("AddressSanitizer",) if n_ends else ()),
        n_clean_ends=0 if state.n_records else n_ends,
        gaps=state.incomplete,
        summaries=tuple(_summaries(state.summaries)),
        notices=tuple((note.line, note.text) for note in state.notes),
    )


def _summaries(summaries: Iterable[hostsan.Summary]) -> Iterable[LogSummary]:
    for one in summaries:
        if one.leaked_bytes is not None or one.n_allocations is not None:
            yield LogSummary("leak", one.n_allocations, one.leaked_bytes, one.line, "LeakSanitizer")
