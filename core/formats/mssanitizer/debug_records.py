"""What the debug log of msSanitizer says: memory that was had and freed, instructions with their operands.

Serial numbers are those of the report: one instruction or memory operation each, in the order of issue. Texts
stand as written, without control characters, at most 4,096 characters of each.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np

from npulse.core.dataclass import dataclass
from npulse.core.findings import Problem

MAX_OPERANDS = 256
"""Of one instruction; what stands behind them is left out."""
MAX_HOLDERS = 8
"""Blocks around one address that are named; regions inside of regions can be many."""

_NUMBER = re.compile(r"-?(?:0x[0-9a-fA-F]{1,16}|[0-9]{1,20})")
_TOP = (1 << 64) - 1
_REAL = frozenset(("HAL", "RT", "ACL"))
_REPORTED = frozenset(("EXTRA", "MANUAL"))


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    """One operation on memory by the host.

    word: MALLOC, FREE, MEMCPY_BLOCKS, LOAD, STORE. address: of the memory, of a copy its target;
    source_address, source_space: of a copy. size_bytes: 0 of a FREE. source: who told of it: HAL, RT, ACL
    (real memory), EXTRA, MANUAL, BYPASS (arguments of a kernel, told for the check), MSTX_HEAP, MSTX_REGION
    (parts of a pool). purpose: of arguments, "INPUT0". module: id of who allocated. file, source_line: where,
    "" and None where the log has none. line_number, byte: of the line, from 1 and 0.
    """

    word: str
    serial_number: int
    device: int
    address: int
    size_bytes: int
    space: str
    source: str
    source_address: int = 0
    source_space: str = ""
    purpose: str = ""
    module: int | None = None
    file: str = ""
    source_line: int | None = None
    core: int | None = None
    line_number: int = 0
    byte: int = 0


@dataclass(frozen=True, slots=True)
class LoggedAllocation:
    """Memory from its MALLOC on. freed_at: serial number of its FREE, None where the log has none."""

    memory: MemoryRecord
    freed_at: int | None = None

    @property
    def address(self) -> int:
        return self.memory.address

    @property
    def size_bytes(self) -> int:
        return self.memory.size_bytes

    def is_live_at(self, serial_number: int) -> bool:
        """Whether it was there when the operation with this number was issued; its own FREE finds it."""
        is_had = self.memory.serial_number < serial_number
        return is_had and (self.freed_at is None or serial_number <= self.freed_at)


@dataclass(frozen=True, slots=True)
class Neighbour:
    """An allocation near an address: the address is distance_bytes `before` its begin, `inside` behind its
    begin, or `after` its end (0: the first byte behind it). is_live: when the access was issued."""

    allocation: LoggedAllocation
    side: Literal["before", "inside", "after"]
    distance_bytes: int
    is_live: bool


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand. name "": none is written. text: as written, with parentheses; parts: what is in them."""

    name: str
    text: str
    parts: tuple[Operand, ...] = ()

    @property
    def number(self) -> int | None:
        """Its value, decimal or hexadecimal; None where it is no number."""
        return _number(self.text)

    def part(self, name: str) -> Operand | None:
        return next((part for part in self.parts if part.name == name), None)


@dataclass(frozen=True, slots=True)
class Place:
    """Memory that an instruction names: "dst", "src0", "" of loads and stores. space "": the log has none."""

    name: str
    space: str
    address: int


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction of a core.

    word: DMA_MOV, BINARY_OP, BLOCK_FINISH ... core_type: aiv, aic, aicore; core: its number; pc: offset in
    the kernel's object; "" and None of lines that end an execution. text: the operands as written.
    """

    word: str
    serial_number: int
    device: int
    core_type: str = ""
    core: int | None = None
    pc: int | None = None
    text: str = ""
    line_number: int = 0
    byte: int = 0

    @property
    def operands(self) -> tuple[Operand, ...]:
        """The operands, at most 256, in the order of the log."""
        return split_operands(self.text)

    @property
    def places(self) -> tuple[Place, ...]:
        """The memory in the operands."""
        found = []
        operands = self.operands
        for operand in (Operand("", "", operands), *operands):
            address = operand.part("addr")
            if address is not None and address.number is not None:
                space = operand.part("type") or operand.part("space")
                found.append(Place(operand.name, space.text if space else "", address.number))
        return tuple(found)


def split_operands(text: str) -> tuple[Operand, ...]:
    """Operands "name:text" between semicolons or commas; those in parentheses once more, one level deep."""
    found = []
    for piece in _pieces(text):
        name, inner = _named(piece)
        parts: tuple[Operand, ...] = ()
        if inner.startswith("(") and inner.endswith(")") and ":" in inner:
            parts = tuple(Operand(*_named(part)) for part in _pieces(inner[1:-1]))
        found.append(Operand(name, inner, parts))
    return tuple(found)


def _pieces(text: str) -> list[str]:
    """Cut at ";" and "," outside of parentheses; of one that is never closed the rest is one piece."""
    pieces, depth, start = [], 0, 0
    for found in re.finditer(r"[();,]", text):
        sign = found[0]
        if sign == "(":
            depth += 1
        elif sign == ")":
            depth = max(depth - 1, 0)
        elif not depth:
            pieces.append(text[start : found.start()].strip())
            start = found.end()
            if len(pieces) == MAX_OPERANDS:
                return [piece for piece in pieces if piece]
    return [piece for piece in (*pieces, text[start:].strip()) if piece]


def _named(piece: str) -> tuple[str, str]:
    name, colon, text = piece.partition(":")
    return (name, text) if colon and name.isidentifier() else ("", piece)


def _number(text: str) -> int | None:
    return int(text, 0 if "x" in text else 10) if _NUMBER.fullmatch(text) else None


R = TypeVar("R", MemoryRecord, Instruction)


@dataclass(frozen=True, slots=True)
class DebugLog:
    """One file of the debug log.

    memory, operands: in the order of their serial numbers; of a log that was read for some serial numbers
    only theirs, and all that had or freed memory. allocations: in the order in which they were had.
    has_begin: the log begins here; without it memory was had before that is not in `allocations`.
    is_whole: nothing of it was left out or cut off. n_instructions: in the file, kept or not.
    """

    path: Path
    memory: tuple[MemoryRecord, ...]
    allocations: tuple[LoggedAllocation, ...]
    operands: tuple[Instruction, ...]
    has_begin: bool
    is_whole: bool
    n_lines: int
    n_instructions: int
    problems: tuple[Problem, ...] = ()
    _columns: _Columns = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_columns", _Columns(self.allocations))

    def operands_at(self, serial_number: int, device: int | None = None) -> tuple[Instruction, ...]:
        """The instructions of a fault: one, of one device; more where the report names no device."""
        return tuple(_at(self.operands, serial_number, device))

    def memory_at(self, serial_number: int, device: int | None = None) -> tuple[MemoryRecord, ...]:
        """The host's operations of a fault that the host made, or of the allocation of a leak."""
        return tuple(_at(self.memory, serial_number, device))

    def neighbours(
        self, address: int, device: int | None = None, serial_number: int | None = None
    ) -> tuple[Neighbour, ...]:
        """Allocations on GM near `address`, the nearest first.

        Those that hold it, at most 8; of the others the nearest on either side, live ones only. What held it
        and was freed before comes behind them, the last one first: the access may be a use after free.
        serial_number: of the access; without it all memory counts as live that was never freed.
        Cost: linear in the allocations, about 1 ms for 100,000.
        """
        rows, is_live = self._columns.near(address, device, serial_number)
        found = []
        for row, live in zip(rows, is_live, strict=True):
            one = self.allocations[row]
            behind = address - one.address
            if behind < 0:
                found.append(Neighbour(one, "before", -behind, live))
            elif behind < max(one.size_bytes, 1):
                found.append(Neighbour(one, "inside", behind, live))
            else:
                found.append(Neighbour(one, "after", behind - one.size_bytes, live))
        return tuple(found)


def _at(records: Sequence[R], serial_number: int, device: int | None) -> Iterator[R]:
    first = bisect_left(records, serial_number, key=_serial)
    last = bisect_right(records, serial_number, key=_serial)
    for record in records[first:last]:
        if device is None or record.device == device:
            yield record


def _serial(record: MemoryRecord | Instruction) -> int:
    return record.serial_number


class _Columns:
    """Allocations on GM as columns, for questions about addresses."""

    def __init__(self, allocations: Sequence[LoggedAllocation]) -> None:
        rows = [row for row, one in enumerate(allocations) if one.memory.space == "GM"]
        chosen = [allocations[row] for row in rows]
        self._rows = rows
        self._start = np.array([one.address for one in chosen], np.uint64)
        last = [min(one.address + max(one.size_bytes, 1) - 1, _TOP) for one in chosen]
        self._last = np.array(last, np.uint64)
        self._had = np.array([one.memory.serial_number for one in chosen], np.uint64)
        freed = [_TOP if one.freed_at is None else one.freed_at for one in chosen]
        self._freed = np.array(freed, np.uint64)
        self._device = np.array([one.memory.device for one in chosen], np.int64)

    def near(
        self, address: int, device: int | None, serial_number: int | None
    ) -> tuple[list[int], list[bool]]:
        """Rows of the allocations to name, the nearest first, and which of them were live."""
        if not self._rows or not 0 <= address <= _TOP:
            return [], []
        at = np.uint64(address)
        of_device = self._device == device if device is not None else np.ones(len(self._rows), bool)
        if serial_number is None:
            live = of_device & (self._freed == _TOP)
            freed = of_device & ~live
        else:
            serial = np.uint64(min(max(serial_number, 0), _TOP))
            live = of_device & (self._had < serial) & (serial <= self._freed)
            freed = of_device & (self._freed < serial)
        holds = (self._start <= at) & (at <= self._last)
        held = np.flatnonzero(holds & live)
        inner_first = held[np.argsort(self._last[held] - self._start[held], kind="stable")]
        chosen = list(inner_first[:MAX_HOLDERS])
        left = np.flatnonzero(live & (self._last < at))
        right = np.flatnonzero(live & (self._start > at))
        beside = [*_best(left, self._last, largest=True), *_best(right, self._start, largest=False)]
        beside.sort(key=lambda i: max(address - int(self._last[i]) - 1, int(self._start[i]) - address))
        gone = np.flatnonzero(holds & freed)
        latest_first = gone[np.argsort(self._freed[gone], kind="stable")[::-1]]
        n_live = len(chosen) + len(beside)
        chosen += [*beside, *latest_first[: MAX_HOLDERS - len(chosen)]]
        return [self._rows[i] for i in chosen], [n < n_live for n in range(len(chosen))]


def _best(rows: np.ndarray[Any, Any], column: np.ndarray[Any, Any], *, largest: bool) -> list[int]:
    if not len(rows):
        return []
    values = column[rows]
    return [int(rows[np.argmax(values) if largest else np.argmin(values)])]


def pair_allocations(memory: Sequence[MemoryRecord]) -> tuple[LoggedAllocation, ...]:
    """Each MALLOC with its FREE: the next one of the same device, address and kind of source.

    What the runtime gives and what is told for a check are two tables of the tool, as here.
    """
    freed: dict[int, int] = {}
    live: dict[tuple[int, int, str], list[int]] = {}
    for i, record in enumerate(memory):
        source = "real" if record.source in _REAL else "told" if record.source in _REPORTED else record.source
        key = record.device, record.address, source
        if record.word == "MALLOC":
            live.setdefault(key, []).append(i)
        elif record.word == "FREE":
            freed.update(dict.fromkeys(live.pop(key, ()), record.serial_number))
    return tuple(
        LoggedAllocation(record, freed.get(i)) for i, record in enumerate(memory) if record.word == "MALLOC"
    )
