"""Stops of a copied msDebug session as faults; the session may be any part of a log.

Figures: reason, process, command (that showed it), code_text, core_id, block, other_stops (other cores that
an exception stopped in the same task, "aiv(13-15) VEC_ERROR"). Only where the reason is an
exception is it an error; a break point is none. The program counter is an address, not an offset, so it is a
figure: pc_address.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from npulse.core.findings import Problem
from npulse.core.formats import msdebug
from npulse.core.formats.msdebug import CoreState, KernelLaunch, MsdebugReader, MsdebugRecord, Stop

from ..faults import Access, Cores, Fault, Frame, Task

PROMPT = b"(msdebug)"
MAX_FRAMES = 512
MAX_CORES = 512

_EXCEPTION = re.compile(r"_ERROR\b|(?i:exception)|\bsignal SIG|\bEXC_")
_MOVES = re.compile(
    r"\s*(?:c|continue|r|run|n|next|s|step|ni|si|nexti|stepi|finish|f|"
    r"thread (?:continue|until|step-\S+)|process (?:continue|launch))\b"
)


def is_exception(reason: str) -> bool:
    """True of "MTE_ERROR" and the like, and of signals; not of break points and steps."""
    return _EXCEPTION.search(reason) is not None


def frame_of(frame: msdebug.Frame) -> Frame:
    """One frame of a stack."""
    return Frame(frame.path, frame.source_line, frame.column, frame.function, frame.module)


def fault_of(
    record: MsdebugRecord, artifact: str, frames: tuple[Frame, ...] = (), device: int | None = None
) -> Fault | None:
    """A stop; None of all else. frames: the whole stack if it was shown, else that of the stop is taken."""
    if not isinstance(record, Stop):
        return None
    cores: tuple[Cores, ...] = ()
    if record.core_id is not None:
        cores = (Cores(record.core_type, ((record.core_id, record.core_id),)),)
    if not frames and record.frame is not None:
        frames = (frame_of(record.frame),)
    figures: dict[str, Any] = {
        "reason": record.reason,
        "process": record.process,
        "command": record.command,
        "code_text": record.code_text,
        "core_id": record.core_id,
        "pc_address": record.frame.pc if record.frame is not None else None,
    }
    return Fault(
        "msDebug",
        "debugger stop",
        "error" if is_exception(record.reason) else "info",
        record.reason,
        artifact,
        record.line,
        record.byte,
        accesses=(Access(kernel=record.kernel, device=device, cores=cores, frames=frames),),
        figures=figures,
    )


class Stops:
    """Stops from the records of a session: one told again ("bt") is one, with its longest stack.

    A stop is handed out when the next one, or the end, shows that nothing more comes to it.
    """

    def __init__(self, artifact: str) -> None:
        self._artifact = artifact
        self._frames: list[msdebug.Frame] = []
        self._device: tuple[str, int] | None = None  # the last launch: kernel and device
        self._held: tuple[Stop, Fault] | None = None
        self._rows: list[CoreState] = []  # of the tables of cores since the stop

    def take(self, records: Iterable[MsdebugRecord]) -> list[Fault]:
        """The stops that are over with these records."""
        found: list[Fault] = []
        for record in records:
            if isinstance(record, msdebug.Frame):
                if len(self._frames) < MAX_FRAMES:
                    self._frames.append(record)
            elif isinstance(record, KernelLaunch):
                self._device = (record.kernel, record.device_id)
            elif isinstance(record, CoreState):
                self._tell(record)
            elif isinstance(record, Stop):
                found += self._stop(record)
        return found

    def finish(self) -> list[Fault]:
        """The last one."""
        held, self._held = self._held, None
        self._rows.clear()
        return [held[1]] if held is not None else []

    @property
    def held(self) -> list[Fault]:
        """The last one as far as it is told."""
        return [self._held[1]] if self._held is not None else []

    def _stop(self, stop: Stop) -> list[Fault]:
        shown = [f for f in self._frames if f.line > stop.line]
        self._frames.clear()
        frames = tuple(map(frame_of, shown))
        held = self._held
        if held is not None and _is_told_again(held[0], stop):
            fault = held[1]
            if len(frames) > len(fault.access.frames):
                access = replace(fault.access, frames=frames)
                self._held = (held[0], replace(fault, accesses=(access, *fault.accesses[1:])))
            return []
        device = None
        if self._device is not None and self._device[0] == stop.kernel:
            device = self._device[1]
        made = fault_of(stop, self._artifact, frames, device)
        self._rows.clear()
        self._held = (stop, made) if made is not None else None
        return [held[1]] if held is not None else []

    def _tell(self, core: CoreState) -> None:
        """A row of 'ascend info cores': device, stream, task and block of the core that stopped, and the
        other cores that an exception stopped in the same task."""
        held = self._held
        if held is None or core.core_id is None:
            return
        stop, fault = held
        if core.is_focus and core.core_id == stop.core_id:
            fault = _with_task(fault, core)
        elif is_exception(core.reason) and is_exception(stop.reason) and len(self._rows) < MAX_CORES:
            self._rows.append(core)
        others = _other_stops(stop, [row for row in self._rows if _task_of(row) == fault.task])
        if others:
            fault = replace(fault, figures={**fault.figures, "other_stops": others})
        self._held = stop, fault


def _task_of(core: CoreState) -> Task:
    return Task(core.device_id, core.stream_id, core.task_id)


def _with_task(fault: Fault, core: CoreState) -> Fault:
    """With what the row of its own core tells."""
    access, task = fault.access, _task_of(core)
    if core.device_id is not None:
        access = replace(access, device=core.device_id)
    figures = {**fault.figures, "block": core.block}
    told = None if task == Task() else task
    return replace(fault, accesses=(access,), task=told or fault.task, figures=figures)


def _other_stops(stop: Stop, rows: Iterable[CoreState]) -> tuple[str, ...]:
    """Cores by reason and type, "aiv(13-15) VEC_ERROR", those with the reason of the stop first."""
    ids: dict[tuple[bool, str, str], set[int]] = {}
    for row in rows:
        if row.core_id is not None:
            ids.setdefault((row.reason != stop.reason, row.reason, row.core_type), set()).add(row.core_id)
    told = (f"{Cores(of, _ranges(ids[other, reason, of]))} {reason}" for other, reason, of in sorted(ids))
    return tuple(told)


def _ranges(ids: Iterable[int]) -> tuple[tuple[int, int], ...]:
    found: list[tuple[int, int]] = []
    for one in sorted(ids):
        if found and one == found[-1][1] + 1:
            found[-1] = (found[-1][0], one)
        else:
            found.append((one, one))
    return tuple(found)


def _is_told_again(held: Stop, stop: Stop) -> bool:
    """The same stop, shown by a command that lets nothing run."""
    pcs = [one.frame.pc if one.frame is not None else None for one in (held, stop)]
    return (
        (held.reason, held.kernel, held.core_id, held.core_type) == _place(stop)
        and pcs[0] == pcs[1]
        and _MOVES.match(stop.command) is None
    )


def _place(stop: Stop) -> tuple[str, str, int | None, str]:
    return stop.reason, stop.kernel, stop.core_id, stop.core_type


class Session:
    """The session in a log, as its bytes come. Up to the first prompt a log costs a search for it.

    is_one: the log is known to be a session, so that it is read from its first byte.
    """

    def __init__(self, artifact: str, *, is_one: bool = False) -> None:
        self._artifact = artifact
        self._reader = MsdebugReader(artifact) if is_one else None
        self._stops = Stops(artifact)
        self._tail = b""
        self._n_lines = self._n_bytes = 0  # before the first byte that the reader got

    @property
    def has_begun(self) -> bool:
        """True if there is a session in the log."""
        return self._reader is not None

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What could not be read, by the lines of the whole log."""
        told = self._reader.problems if self._reader is not None else ()
        return tuple(
            replace(
                problem,
                line=None if problem.line is None else problem.line + self._n_lines,
                byte=None if problem.byte is None else problem.byte + self._n_bytes,
            )
            for problem in told
        )

    def feed(self, chunk: bytes) -> list[Fault]:
        """The stops that are over with this chunk."""
        if self._reader is None:
            chunk = self._from_prompt(chunk)
        return self._moved(self._stops.take(self._reader.feed(chunk))) if self._reader is not None else []

    def finish(self) -> list[Fault]:
        """The rest."""
        if self._reader is None:
            return []
        return self._moved([*self._stops.take(self._reader.finish()), *self._stops.finish()])

    def pending(self) -> list[Fault]:
        """The stop that may still go on; it comes again when it is over."""
        return self._moved(self._stops.held)

    def _from_prompt(self, chunk: bytes) -> bytes:
        """What follows from the first prompt on; all before it is counted."""
        block = self._tail + chunk
        at = block.find(PROMPT)
        passed = block[:at] if at >= 0 else block[: max(len(block) - len(PROMPT) + 1, 0)]
        self._n_lines += passed.count(b"\n")
        self._n_bytes += len(passed)
        self._tail = b""
        if at < 0:
            self._tail = block[len(passed) :]
            return b""
        self._reader = MsdebugReader(self._artifact)
        return block[at:]

    def _moved(self, faults: list[Fault]) -> list[Fault]:
        if not self._n_bytes:
            return faults
        return [replace(f, line=f.line + self._n_lines, byte=f.byte + self._n_bytes) for f in faults]
