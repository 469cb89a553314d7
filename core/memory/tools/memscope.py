"""What msMemScope (msLeaks) says, on a console and in its table of events, as faults.

Figures of a "leak": pool, step, kernel_index, device_id. Of a "pool warning": warning ("held", "allocated
twice", "released in vain", "not released"), pool, step, n_steps, device_id. What a table shows has also
name, owner, allocation_id, time_ns (of the allocation) and number (of its row); its step counts the marks
"step start" of the process, from 1, None in front of the first. A block that is kept has its bytes in
`size_bytes`; where blocks of its stack, pool and owner stay in three steps or more also
growth_bytes_per_step, growth_steps (how many) and is_growth_even (every step keeps the same).

A table's events are no faults by themselves. Four things follow from them: a block that was never released,
which is a leak only if its process ended in the table (SYSTEM, ACL_FINI), else it is "held"; a block that is
released twice ("double-free"); an access to a block behind its release ("use after free"), told by the
allocation's number alone; a block allocated where one is in use. What was allocated before the table begins
is not known, so that a release of it is no fault. Blocks that are held are worth a warning only where they
grow from step to step.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np

from npulse.core.dataclass import dataclass
from npulse.core.formats.memscope import MemscopeTable
from npulse.core.formats.memscope_console import (
    MemscopeLeak,
    MemscopeLeakSummary,
    MemscopeNote,
    MemscopeWarning,
)
from npulse.core.formats.memscope_stacks import StackReader
from npulse.core.progress import IsCancelled, check, never_cancelled

from ..faults import Access, Block, Fault, Frame, LogSummary, Severity
from .memscope_frames import KnownStacks
from .memscope_growth import Growth, growth_of

TOOL: Literal["msMemScope"] = "msMemScope"
BATCH = 1000
STEP_MARK = "step start"
"""What the tool and its users write into the mark with which a step begins."""


def _space(pool: str, device: int | None, is_host: bool = False) -> str:
    """Where a pool's blocks lie; "" where nothing tells."""
    if pool.upper() == "HOST" or is_host:
        return "host"
    return "GM" if pool or device is not None else ""


# ---- console ----


def fault_of(note: MemscopeNote, artifact: str) -> Fault | None:
    """A leak or a warning; None of sums and of shares that stayed allocated."""
    if isinstance(note, MemscopeLeak):
        kernel = f"kernel_{note.kernel_index}"  # as the line names it
        return Fault(
            TOOL,
            "leak",
            "error",
            "",
            artifact,
            note.line,
            note.byte,
            accesses=(_access(note.pool, note.address, note.device_id, kernel=kernel),),
            size_bytes=note.size_bytes,
            n_objects=1,
            figures={
                "pool": note.pool,
                "step": note.step,
                "kernel_index": note.kernel_index,
                "device_id": note.device_id,
            },
        )
    if isinstance(note, MemscopeWarning):
        return Fault(
            TOOL,
            "pool warning",
            "warning",
            "",
            artifact,
            note.line,
            note.byte,
            accesses=(_access(note.pool, note.address, note.device_id, note.pid),),
            figures={
                "warning": note.kind,
                "pool": note.pool,
                "step": note.step,
                "n_steps": note.n_steps,
                "device_id": note.device_id,
            },
        )
    return None


def summary_of(note: MemscopeNote) -> LogSummary | None:
    """The sum of the leaks of one device; its bytes are rounded as they are printed."""
    if isinstance(note, MemscopeLeakSummary):
        return LogSummary("leak", note.n_leaks, note.size_bytes, note.line, TOOL)
    return None


def _access(
    pool: str, address: int | None, device: int | None, pid: int | None = None, kernel: str = ""
) -> Access:
    return Access(space=_space(pool, device), address=address, device=device, pid=pid, kernel=kernel)


# ---- table of events ----


@dataclass(slots=True)
class _Known:
    """The last block at one address of one pool. step: in which it was allocated, 0 before the first."""

    row: int  # of its allocation
    step: int
    freed: int = -1  # the row that released it

    @property
    def is_open(self) -> bool:
        return self.freed < 0


@dataclass(slots=True)
class _Kept:
    """A block that nobody released."""

    row: int
    step: int
    frames: tuple[Frame, ...]
    growth: Growth | None = None


class EventFaults:
    """The faults that follow from a table's events, in batches. n_unknown: releases of blocks from before.

    Rows are taken in the order of their times where all have one (threads write as they come), else as they
    stand; blocks that grow come before those that are only held. root: what links of the file may not leave.
    Cost: one pass over the rows, a small read for each row with a fault, and memory with the number of
    addresses and of accesses. Raises InputError where the file fails meanwhile, and Cancelled.
    """

    def __init__(
        self,
        table: MemscopeTable,
        artifact: str,
        root: Path | None = None,
        is_cancelled: IsCancelled = never_cancelled,
    ) -> None:
        self.n_unknown = 0
        self._table = table
        self._artifact = artifact
        self._is_cancelled = is_cancelled
        self._stacks = StackReader(table, root)
        self._known_stacks = KnownStacks()
        self._blocks: dict[tuple[int, int, int, int], _Known] = {}
        self._in_question: frozenset[int] = frozenset()  # allocations that an access names
        self._freed: dict[tuple[int, int], int] = {}  # process and allocation -> row that released it
        self._ended: dict[int, None] = {}  # processes that told their end
        self._steps: dict[int, int] = {}  # process -> steps that have begun

    def __iter__(self) -> Iterator[list[Fault]]:
        batch: list[Fault] = []
        with self._stacks:
            for fault in self._all():
                batch.append(fault)
                if len(batch) >= BATCH:
                    yield batch
                    batch = []
        if batch:
            yield batch

    def _all(self) -> Iterator[Fault]:
        table = self._table
        if table.kind != "dump" or not len(table.line):
            return
        names = [name.upper() for name in table.events]
        types = [name.upper().replace(" ", "_") for name in table.event_types]
        marks = frozenset(i for i, name in enumerate(table.names) if name.strip().lower() == STEP_MARK)
        is_access = np.isin(table.event, [code for code, name in enumerate(names) if name == "ACCESS"])
        self._in_question = frozenset(np.unique(table.allocation_id[is_access]).tolist())
        for row in self._order():
            event = names[table.event[row]] if table.event[row] >= 0 else ""
            if event == "MALLOC":
                yield from self._malloc(row)
            elif event == "FREE":
                yield from self._free(row)
            elif event == "ACCESS":
                yield from self._accessed(row)
            elif event == "MSTX" and int(table.name[row]) in marks:
                if table.event_type[row] < 0 or types[table.event_type[row]] != "RANGE_END":
                    self._steps[int(table.pid[row])] = self._steps.get(int(table.pid[row]), 0) + 1
            elif event == "SYSTEM" and table.event_type[row] >= 0:
                if types[table.event_type[row]] == "ACL_FINI":
                    self._ended[int(table.pid[row])] = None
        yield from self._left()

    def _order(self) -> list[int]:
        times = self._table.time_ns
        if np.all(times >= 0):
            rows: list[int] = np.argsort(times, kind="stable").tolist()
            return rows
        return list(range(len(times)))

    def _key(self, row: int) -> tuple[int, int, int, int] | None:
        table = self._table
        address = int(table.address[row])
        if address < 0:
            return None
        return int(table.pid[row]), int(table.device[row]), int(table.event_type[row]), address

    def _allocation(self, row: int) -> tuple[int, int] | None:
        number = int(self._table.allocation_id[row])
        return None if number < 0 else (int(self._table.pid[row]), number)

    def _malloc(self, row: int) -> Iterator[Fault]:
        key = self._key(row)
        if key is None:
            return
        known = self._blocks.get(key)
        if known is not None and known.is_open:
            yield self._fault(row, "pool warning", "warning", block=known.row, warning="allocated twice")
        self._blocks[key] = _Known(row, self._steps.get(key[0], 0))
        allocation = self._allocation(row)
        if allocation is not None:
            self._freed.pop(allocation, None)

    def _free(self, row: int) -> Iterator[Fault]:
        key = self._key(row)
        if key is None:
            return
        known = self._blocks.get(key)
        allocation = self._allocation(row)
        if known is None:
            self.n_unknown += 1
        elif known.is_open:
            known.freed = row
        else:
            yield self._fault(row, "double-free", "error", block=known.row, freed=known.freed)
        if allocation is not None and known is not None and allocation[1] in self._in_question:
            self._freed.setdefault(allocation, row)

    def _accessed(self, row: int) -> Iterator[Fault]:
        allocation = self._allocation(row)
        freed = None if allocation is None else self._freed.get(allocation)
        if freed is not None:
            yield self._fault(row, "use after free", "warning", freed=freed)

    def _left(self) -> Iterator[Fault]:
        """Blocks that nobody released, by the rows that allocated them, those that grow first."""
        table = self._table
        kept = self._kept()
        for one in sorted(kept, key=lambda one: (one.growth is None, one.row)):
            step = one.step if self._steps.get(int(table.pid[one.row])) else None
            if int(table.pid[one.row]) in self._ended:
                yield self._fault(one.row, "leak", "error", kept=one, step=step)
            else:
                severity: Severity = "info" if one.growth is None else "warning"
                yield self._fault(one.row, "pool warning", severity, kept=one, step=step, warning="held")

    def _kept(self) -> list[_Kept]:
        """The blocks that are open at the end, with their stacks and with what their group grows by."""
        table = self._table
        kept: list[_Kept] = []
        groups: dict[tuple[int, int, int, int, int], list[_Kept]] = {}
        for place, known in enumerate(sorted(self._open(), key=lambda known: known.row)):
            if not place % BATCH:
                check(self._is_cancelled)
            row = known.row
            one = _Kept(row, known.step, self._frames(row))
            columns = (table.pid, table.device, table.event_type, table.owner)
            pid, device, pool, owner = (int(column[row]) for column in columns)
            groups.setdefault((pid, device, pool, owner, id(one.frames)), []).append(one)
            kept.append(one)
        for (pid, *_), members in groups.items():
            by_step: dict[int, int] = {}
            for one in members:
                size = max(int(table.size_bytes[one.row]), 0)
                by_step[one.step] = by_step.get(one.step, 0) + size
            growth = growth_of(by_step, self._steps.get(pid, 0), is_ended=pid in self._ended)
            for one in members:
                one.growth = growth if growth is not None and one.step >= growth.first_step else None
        return kept

    def _open(self) -> Iterator[_Known]:
        return (known for known in self._blocks.values() if known.is_open)

    def _frames(self, row: int) -> tuple[Frame, ...]:
        return self._known_stacks(self._stacks.of(row))

    # ---- one fault ----

    def _number(self, column: str, row: int) -> int | None:
        value = int(getattr(self._table, column)[row])
        return None if value < 0 else value

    def _label(self, column: str, row: int) -> str:
        code = int(getattr(self._table, column)[row])
        labels: tuple[str, ...] = getattr(self._table, column + "s")
        return labels[code] if code >= 0 else ""

    def _fault(
        self,
        row: int,
        kind: str,
        severity: Severity,
        *,
        block: int | None = None,
        freed: int | None = None,
        kept: _Kept | None = None,
        step: int | None = None,
        warning: str = "",
    ) -> Fault:
        """block: the row that allocated the block in question; freed: the one that released it."""
        device_text = self._label("device", row)
        device = int(device_text) if device_text.isdecimal() and len(device_text) < 7 else None
        pool, word = self._label("event_type", row), ""
        if self._label("event", row).upper() == "ACCESS":
            word = pool.lower() if pool.upper() in ("READ", "WRITE") else ""
            pool = self._label("event_type", freed) if freed is not None else ""
        figures: dict[str, Any] = {
            "pool": pool,
            "step": step or None,
            "device_id": device,
            "name": self._label("name", row),
            "owner": self._label("owner", row if block is None else block),
            "allocation_id": self._number("allocation_id", row),
            "time_ns": self._number("time_ns", row),
            "number": self._number("number", row),
        }
        if warning:
            figures["warning"] = warning
        if kept is not None and kept.growth is not None:
            figures["growth_bytes_per_step"] = kept.growth.bytes_per_step
            figures["growth_steps"] = kept.growth.n_steps
            figures["is_growth_even"] = kept.growth.is_even
        if block is not None:
            figures["allocated_line"] = int(self._table.line[block])
        if freed is not None:
            figures["freed_line"] = int(self._table.line[freed])
        thread = self._number("thread", row)
        access = Access(
            word=word,
            size_bytes=self._number("size_bytes", row) if word else None,
            space=_space(pool, device, device_text in ("cpu", "host")),
            address=self._number("address", row),
            device=device,
            thread="" if thread is None else str(thread),
            pid=self._number("pid", row),
            frames=self._frames(row) if kept is None else kept.frames,
        )
        size = self._number("size_bytes", row)
        of = block if block is not None else freed
        return Fault(
            TOOL,
            kind,
            severity,
            "",
            self._artifact,
            int(self._table.line[row]),
            int(self._table.byte[row]),
            accesses=(access,),
            block=None if of is None else self._block(of, block, freed),
            size_bytes=None if kept is None else size,
            n_objects=None if kept is None else 1,
            figures=figures,
        )

    def _block(self, row: int, allocated: int | None, freed: int | None) -> Block:
        """allocated, freed: the rows that did it, where they are known."""
        return Block(
            size_bytes=self._number("size_bytes", row),
            start=self._number("address", row),
            allocated=() if allocated is None else self._frames(allocated),
            freed=() if freed is None else self._frames(freed),
        )
