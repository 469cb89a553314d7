"""What msSanitizer's debug log adds to a report: the instruction's operands, the allocation beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from npulse.core.errors import InputError
from npulse.core.findings import Problem
from npulse.core.formats.mssanitizer.debug_log import read_debug_log
from npulse.core.formats.mssanitizer.debug_records import DebugLog, Instruction, Neighbour
from npulse.core.progress import IsCancelled, ProgressCallback
from npulse.core.run.model import Artifact

from .faults import Access, Block, Fault, Frame
from .sites import Key, Site

KIND = "sanitizer.mssanitizer_debug"
MAX_SITES = 1000
MAX_LOGS = 16

_WITH_NEIGHBOURS = frozenset(("illegal read", "illegal write", "out of bounds", "uninitialized read"))


def read_debug_logs(
    sites: Sequence[Site],
    artifacts: Sequence[Artifact],
    root: Path,
    problems: list[Problem],
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
) -> tuple[DebugLog, ...]:
    """The debug logs of a round, as far as the first sites need them; () where there is none."""
    logs = [artifact for artifact in artifacts if artifact.kind == KIND][:MAX_LOGS]
    serials = {
        access.serial_number
        for site in sites[:MAX_SITES]
        for access in site.first.accesses
        if access.serial_number is not None and site.first.tool == "msSanitizer"
    }
    found = []
    for artifact in logs if serials else ():
        try:
            log = read_debug_log(
                artifact.path, root=root, wanted=serials, progress=progress, is_cancelled=is_cancelled
            )
        except InputError as error:
            problems.append(Problem.from_error(error, artifact.relative))
            continue
        problems += log.problems
        found.append(log)
    return tuple(found)


def operands_of(sites: Sequence[Site], logs: Sequence[DebugLog]) -> Mapping[Key, tuple[str, ...]]:
    """By site the instruction of each access as the debug log has it: "DMA_MOV dst:(...);src:(...)"."""
    found = {}
    for site in sites[:MAX_SITES] if logs else ():
        told = [instruction for access in site.first.accesses for _, instruction in _matches(access, logs)]
        if told:
            found[site.key] = tuple(dict.fromkeys(f"{one.word} {one.text}" for one in told))
    return found


def with_allocations(sites: Sequence[Site], logs: Sequence[DebugLog]) -> tuple[Site, ...]:
    """Sites on global memory with the allocation that lies nearest, where the report names none."""
    made = []
    for place, site in enumerate(sites):
        block = _block_of(site.first, logs) if logs and place < MAX_SITES else None
        if block is not None:
            first = replace(site.first, block=block)
            site = replace(
                site, first=first, earliest=first if site.earliest is site.first else site.earliest
            )
        made.append(site)
    return tuple(made)


def _matches(access: Access, logs: Sequence[DebugLog]) -> list[tuple[DebugLog, Instruction]]:
    """The instruction of an access: same serial number, device and program counter."""
    if access.serial_number is None:
        return []
    return [
        (log, one)
        for log in logs
        for one in log.operands_at(access.serial_number, access.device)
        if access.pc is None or one.pc is None or access.pc == one.pc
    ]


def _block_of(fault: Fault, logs: Sequence[DebugLog]) -> Block | None:
    access = fault.access
    if fault.block is not None or access.space != "GM" or access.address is None:
        return None
    if fault.kind not in _WITH_NEIGHBOURS:
        return None
    matching = [log for log, _ in _matches(access, logs)]
    # a log that starts later than the run does not have all allocations: the nearest may be missing
    usable = [log for log in matching if log.has_begin and log.is_whole]
    if len(usable) != 1:
        return None
    near = usable[0].neighbours(access.address, access.device, access.serial_number)
    return _block(near[0], access) if near else None


def _block(near: Neighbour, access: Access) -> Block:
    """The allocation as the access meets it.

    Of an access that begins inside and runs over the end the tool counts only the bytes outside, beside the
    address at which it begins: what is outside begins at the end of the block.
    """
    memory = near.allocation.memory
    if near.side == "inside" and near.distance_bytes + (access.size_bytes or 0) <= near.allocation.size_bytes:
        near = replace(near, side="after", distance_bytes=0)
        start = None  # the address is not that of the bytes that are meant
    else:
        start = near.allocation.address
    frames = (Frame(memory.file, memory.source_line),) if memory.file else ()
    return Block(
        size_bytes=near.allocation.size_bytes,
        start=start,
        side=near.side,
        distance_bytes=near.distance_bytes,
        name=memory.purpose,
        allocated=frames,
    )
