"""Records that say what another one said, but for their numbers: nearly all of a long log.

The bytes of such a record are those of the first of its shape except for sizes, addresses, blocks, program
counters and serial numbers, so only these are read. Whatever is not known as a shape is left to `plain`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from .bodies import Body, Line
from .records import Cores, Record, Side

MAX_SHAPES = 1 << 14
MAX_BYTES = 8 << 20
"""Of the texts that tell shapes apart; beyond one of both all are forgotten."""
MAX_HEADS = 1024
"""Of shapes that differ elsewhere, shared by the records that say the same."""

_PC = rb"pc current 0x([0-9a-f]{1,16}) \(serialNo:([0-9]{1,18})\)"
_NUMBERS = re.compile(
    rb"====== ((?:ERROR|WARNING|INFO): [A-Z]?[a-z_() ]{1,60}?)(?: of size (0|[1-9][0-9]{0,17}))?\n"
    rb"======    (?:at 0x([0-9a-f]{1,16})( on .{1,2000})|(from PIPE_.{1,2000}))\r?\n"
    rb"======    (in block [a-z0-9,()-]{1,200} on device [0-9]{1,9})\r?\n"
    rb"======    code in " + _PC + rb"\r?\n"
)
_SIDE = rb"0x([0-9a-f]{1,16}) (in block [0-9]{1,9} \([a-z]{1,16}\) on device [0-9]{1,9}) at " + _PC + rb"\n"
_BEGIN = rb"======    PIPE_[A-Z0-9]{1,16} (?:Read|Write) at (?:RAW|WAR|WAW)\(\)\+"
_FRAMES = rb"(?:======    #.{1,1100}\n)*"
_RACE = re.compile(
    rb"(====== ERROR: Potential .{1,2200}\n%s)%s(%s%s)%s(%s)\n"
    % (_BEGIN, _SIDE, _FRAMES, _BEGIN, _SIDE, _FRAMES)
)
_SIZE = " of size "


@dataclass(frozen=True, slots=True, eq=False)
class OnCores:
    """The cores and the device of an access; equal ones of a log are one object."""

    cores: tuple[Cores, ...]
    device: int


@dataclass(slots=True, eq=False)
class Shape:
    """What records have in common. like: the first of them; n_lines: of each, with the empty one.

    head: the first line up to the size, all of it where there is none; heads: whole ones by their sizes.
    """

    like: Record
    n_lines: int
    head: str
    heads: dict[int, str]


class Again(NamedTuple):
    """One record: its numbers, and the shape that says the rest. address: None of a flag.

    second: address, cores, program counter and serial number of the other side of a race.
    """

    shape: Shape
    size_bytes: int | None
    address: int | None
    on: OnCores
    pc: int
    serial_number: int
    line_number: int
    byte: int
    end_byte: int
    second: tuple[int, OnCores, int, int] | None = None

    @property
    def head(self) -> str:
        """The first line as written."""
        shape, size = self.shape, self.size_bytes
        if size is None:
            return shape.head
        found = shape.heads.get(size)
        if found is None:
            if len(shape.heads) >= MAX_HEADS:
                shape.heads.clear()
            found = shape.heads[size] = f"{shape.head}{_SIZE}{size}"
        return found

    def record(self) -> Record:
        """The same as a record of its own."""
        like = replace(self.shape.like, line_number=self.line_number, byte=self.byte, end_byte=self.end_byte)
        if self.second is not None:
            further = self.line_number - self.shape.like.line_number
            first = self.address, self.on, self.pc, self.serial_number
            sides = [_side(*one, further) for one in zip(like.sides, (first, self.second), strict=True)]
            return replace(like, sides=tuple(sides))
        return replace(
            like,
            head=self.head,
            size_bytes=self.size_bytes,
            address=self.address,
            cores=self.on.cores,
            device=self.on.device,
            pc=self.pc,
            serial_number=self.serial_number,
        )


def _side(side: Side, numbers: tuple[int | None, OnCores, int, int], n_lines: int) -> Side:
    """One side of a race, so many lines further down than the one it is like."""
    address, on, pc, serial = numbers
    return replace(
        side,
        address=address,
        cores=on.cores,
        device=on.device,
        pc=pc,
        serial_number=serial,
        line_number=side.line_number + n_lines,
    )


class Shapes:
    """The shapes of one log. A copy begins without any: they are found again."""

    def __init__(self, body: Callable[[bytes], Body]) -> None:
        """body: what a line says, see `parse_body`."""
        self._body = body
        self._by_stack: dict[bytes, dict[tuple[bytes, ...], Shape]] = {}
        self._blocks: dict[bytes, OnCores | None] = {}
        self._heads: dict[str, dict[int, str]] = {}
        self._n_shapes = self._n_bytes = 0

    def __deepcopy__(self, memo: dict[int, Any]) -> Shapes:
        return Shapes(deepcopy(self._body, memo))

    def read(self, buffer: bytes, at: int, end: int, line: int, shift: int) -> tuple[list[Again], int, int]:
        """The records of known shapes that follow each other from `at` on, which is in line `line`.

        shift: the byte of the log where the buffer begins. Also returned: the index and the line behind them.
        """
        found: list[Again] = []
        match, by_stack, blocks = _NUMBERS.match, self._by_stack, self._blocks
        new = tuple.__new__  # a third of what the class's own takes
        while True:
            numbers = match(buffer, at, end)
            if numbers is None:
                race = self._race(buffer, at, end, line, shift)
                if race is None:
                    break
                found.append(race)
                line += race.shape.n_lines
                at = race.end_byte - shift + 1
                continue
            stack_at = numbers.end()
            stack_end = buffer.find(b"\n\n", stack_at - 1, end) + 1
            shapes = by_stack.get(buffer[stack_at:stack_end]) if stack_end else None
            if shapes is None:
                break
            head, size, address, where, pipes, block, pc, serial = numbers.groups()
            shape = shapes.get((head, where or pipes))
            on = blocks.get(block)
            if shape is None or on is None or (size is None) != (shape.like.size_bytes is None):
                break
            found.append(
                new(
                    Again,
                    (
                        shape,
                        None if size is None else int(size),
                        None if address is None else int(address, 16),
                        on,
                        int(pc, 16),
                        int(serial),
                        line,
                        shift + at,
                        shift + stack_end,
                        None,
                    ),
                )
            )
            line += shape.n_lines
            at = stack_end + 1
        return found, at, line

    def _race(self, buffer: bytes, at: int, end: int, line: int, shift: int) -> Again | None:
        """The race at `at`, if another one said the same."""
        numbers = _RACE.match(buffer, at, end)
        if numbers is None:
            return None
        begin, address, block, pc, serial, middle, address_2, block_2, pc_2, serial_2, stack = (
            numbers.groups()
        )
        shape = self._by_stack.get(stack, {}).get((begin, middle))
        on, on_2 = self._blocks.get(block), self._blocks.get(block_2)
        if shape is None or on is None or on_2 is None:
            return None
        return Again(
            shape,
            None,
            int(address, 16),
            on,
            int(pc, 16),
            int(serial),
            line,
            shift + at,
            shift + numbers.end() - 1,
            (int(address_2, 16), on_2, int(pc_2, 16), int(serial_2)),
        )

    def note(self, record: Record, buffer: bytes, at: int, end: int) -> None:
        """Take the shape of a record that `plain` read from `buffer[at:end]`, its empty line included."""
        if record.sides:
            self._note_race(record, buffer, at, end)
            return
        numbers = _NUMBERS.match(buffer, at, end)
        if numbers is None or record.pc is None or not buffer.endswith(b"\n\n", at, end):
            return
        head, size, _, where, pipes, block, *_ = numbers.groups()
        stack = buffer[numbers.end() : end - 1]
        if buffer.find(b"\n\n", numbers.end() - 1, end) != end - 2:
            return
        if (size is None) != (record.size_bytes is None):
            return
        text = record.head
        if size is not None:
            text, sized, digits = record.head.rpartition(_SIZE)
            if not sized or digits != size.decode():
                return
        self._keep(record, stack, (head, where or pipes), (block,), text, buffer.count(b"\n", at, end))

    def _note_race(self, record: Record, buffer: bytes, at: int, end: int) -> None:
        numbers = _RACE.match(buffer, at, end)
        if numbers is None or numbers.end() != end:
            return
        begin, _, block, _, _, middle, _, block_2, _, _, stack = numbers.groups()
        n_lines = buffer.count(b"\n", at, end)
        self._keep(record, stack, (begin, middle), (block, block_2), record.head, n_lines)

    def _keep(
        self,
        record: Record,
        stack: bytes,
        key: tuple[bytes, ...],
        blocks: tuple[bytes, ...],
        head: str,
        n_lines: int,
    ) -> None:
        if not all([self._has_place(block) for block in blocks]):
            return
        if key in self._by_stack.get(stack, ()):  # it was the block that was not known
            return
        n_bytes = sum(map(len, key))
        if self._n_shapes >= MAX_SHAPES or self._n_bytes > MAX_BYTES:
            self._by_stack.clear()
            self._blocks.clear()
            self._heads.clear()
            self._n_shapes = self._n_bytes = 0
            for block in blocks:
                self._has_place(block)
        if stack not in self._by_stack:
            self._by_stack[stack] = {}
            n_bytes += len(stack)
        self._n_shapes += 1
        self._n_bytes += n_bytes
        heads = self._heads.setdefault(head, {})
        if record.size_bytes is not None and len(heads) < MAX_HEADS:
            heads.setdefault(record.size_bytes, record.head)
        self._by_stack[stack][key] = Shape(record, n_lines, head, heads)

    def _has_place(self, block: bytes) -> bool:
        """Keep what the line with the cores says, if that is cores and a device and nothing else."""
        if block not in self._blocks:
            body = self._body(block)
            is_place = body.line is Line.BLOCK and body.facts.keys() == {"cores", "device"}
            if len(self._blocks) >= MAX_SHAPES:
                self._blocks.clear()
            self._blocks[block] = OnCores(body.facts["cores"], body.facts["device"]) if is_place else None
        return self._blocks[block] is not None
