"""Records that say what another one said, but for their numbers: nearly all of a long log.

The bytes of such a record are those of the first of its shape except for size, address, block, program
counter and serial number, so only these are read. Whatever is not known as a shape is left to `plain`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from .bodies import Body, Line
from .records import Cores, Record

MAX_SHAPES = 1 << 13
MAX_BYTES = 4 << 20
"""Of the texts that tell shapes apart; beyond one of both all are forgotten."""
MAX_HEADS = 64
"""Of a shape, shared by the records that say the same."""

_NUMBERS = re.compile(
    rb"====== ((?:ERROR|WARNING|INFO): [A-Z]?[a-z_() ]{1,60}?)(?: of size (0|[1-9][0-9]{0,17}))?\n"
    rb"======    (?:at 0x([0-9a-f]{1,16})( on .{1,2000})|(from PIPE_.{1,2000}))\r?\n"
    rb"======    (in block [a-z0-9,()-]{1,200} on device [0-9]{1,9})\r?\n"
    rb"======    code in pc current 0x([0-9a-f]{1,16}) \(serialNo:([0-9]{1,18})\)\r?\n"
)
_SIZE = " of size "


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
    """One record: its numbers, and the shape that says the rest. address: None of a flag."""

    shape: Shape
    size_bytes: int | None
    address: int | None
    cores: tuple[Cores, ...]
    device: int
    pc: int
    serial_number: int
    line_number: int
    byte: int
    end_byte: int

    def record(self) -> Record:
        """The same as a record of its own."""
        return replace(self.shape.like, head=self.head, **self.numbers())

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

    def numbers(self) -> dict[str, Any]:
        """What differs from the first record of the shape, but for the head."""
        found = self._asdict()
        del found["shape"]
        return found


class Shapes:
    """The shapes of one log. A copy begins without any: they are found again."""

    def __init__(self, body: Callable[[bytes], Body]) -> None:
        """body: what a line says, see `parse_body`."""
        self._body = body
        self._by_stack: dict[bytes, dict[tuple[bytes, bytes, bytes], Shape]] = {}
        self._blocks: dict[bytes, tuple[tuple[Cores, ...], int] | None] = {}
        self._n_shapes = self._n_bytes = 0

    def __deepcopy__(self, memo: dict[int, Any]) -> Shapes:
        return Shapes(deepcopy(self._body, memo))

    def read(self, buffer: bytes, at: int, end: int, line: int, shift: int) -> tuple[list[Again], int, int]:
        """The records of known shapes that follow each other from `at` on, which is in line `line`.

        shift: the byte of the log where the buffer begins. Also returned: the index and the line behind them.
        """
        found: list[Again] = []
        match, by_stack, blocks = _NUMBERS.match, self._by_stack, self._blocks
        numbers = match(buffer, at, end)
        while numbers is not None:
            stack_at = numbers.end()
            stack_end = buffer.find(b"\n\n", stack_at - 1, end) + 1
            shapes = by_stack.get(buffer[stack_at:stack_end]) if stack_end else None
            if shapes is None:
                break
            head, size, address, where, pipes, block, pc, serial = numbers.groups()
            shape = shapes.get((head, where or b"", pipes or b""))
            placed = blocks.get(block)
            if shape is None or placed is None or (size is None) != (shape.like.size_bytes is None):
                break
            found.append(
                Again(
                    shape,
                    None if size is None else int(size),
                    None if address is None else int(address, 16),
                    *placed,
                    int(pc, 16),
                    int(serial),
                    line,
                    shift + at,
                    shift + stack_end,
                )
            )
            line += shape.n_lines
            at = stack_end + 1
            numbers = match(buffer, at, end)
        return found, at, line

    def note(self, record: Record, buffer: bytes, at: int, end: int) -> None:
        """Take the shape of a record that `plain` read from `buffer[at:end]`, its empty line included."""
        numbers = _NUMBERS.match(buffer, at, end)
        if numbers is None or record.pc is None or not buffer.endswith(b"\n\n", at, end):
            return
        head, size, _, where, pipes, block, *_ = numbers.groups()
        key = head, where or b"", pipes or b""
        stack = buffer[numbers.end() : end - 1]
        if buffer.find(b"\n\n", numbers.end() - 1, end) != end - 2 or not self._has_place(block):
            return
        if key in self._by_stack.get(stack, ()):  # it was the block that was not known
            return
        if (size is None) != (record.size_bytes is None):
            return
        text, heads = record.head, {}
        if size is not None:
            text, sized, digits = record.head.rpartition(_SIZE)
            if not sized or digits != size.decode():
                return
            heads[int(size)] = record.head
        n_bytes = len(head) + len(where or pipes)
        if self._n_shapes >= MAX_SHAPES or self._n_bytes > MAX_BYTES:
            self._by_stack.clear()
            self._blocks.clear()
            self._n_shapes = self._n_bytes = 0
            self._has_place(block)
        if stack not in self._by_stack:
            self._by_stack[stack] = {}
            n_bytes += len(stack)
        self._n_shapes += 1
        self._n_bytes += n_bytes
        self._by_stack[stack][key] = Shape(record, buffer.count(b"\n", at, end), text, heads)

    def _has_place(self, block: bytes) -> bool:
        """Keep what the line with the cores says, if that is cores and a device and nothing else."""
        if block not in self._blocks:
            body = self._body(block)
            is_place = body.line is Line.BLOCK and body.facts.keys() == {"cores", "device"}
            if len(self._blocks) >= MAX_SHAPES:
                self._blocks.clear()
            self._blocks[block] = (body.facts["cores"], body.facts["device"]) if is_place else None
        return self._blocks[block] is not None
