"""What the figures of a fault say when one reckons with them: alignment, capacity, sizes that would fit.

Numbers only, no words. None means that the figures at hand do not tell; it never means no. Bytes and bits
stand in names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from npulse.core.dataclass import dataclass
from npulse.core.formats.memory_texts import bytes_inside, bytes_to_hold

from .faults import Access, Block, Frame, Side
from .places import user_frame

MOVE_BYTES = 32
"""What moves and vector instructions on the chip want addresses and lengths to be multiples of."""
GM_BYTES = 512
"""Moves to and from GM are at full speed where addresses and lengths are multiples of this."""
_KIB = 1024

# ---- alignment ----


@dataclass(frozen=True, slots=True)
class Alignment:
    """An access against a boundary. behind_bytes: from the last boundary to its address, ahead_bytes: to the
    next one, both 0 on one. size_over_bytes: what its size has above a multiple; None if it is not told.
    """

    boundary_bytes: int
    address: int
    behind_bytes: int
    ahead_bytes: int
    size_bytes: int | None
    size_over_bytes: int | None

    @property
    def is_aligned(self) -> bool:
        """The address is; its size need not be."""
        return self.behind_bytes == 0


def alignment(access: Access, boundary_bytes: int = MOVE_BYTES) -> Alignment | None:
    """The access against a boundary; None where it has no address, or where nothing is over."""
    if access.address is None:
        return None
    behind = access.address % boundary_bytes
    over = None if access.size_bytes is None else access.size_bytes % boundary_bytes
    if not behind and not over:
        return None
    ahead = boundary_bytes - behind if behind else 0
    return Alignment(boundary_bytes, access.address, behind, ahead, access.size_bytes, over)


def alignments(access: Access) -> tuple[Alignment, ...]:
    """Against 32 bytes, and for what moves 512 bytes or more to or from GM against 512, each where it shows.

    Loads and stores of one number (up to 8 bytes, aligned to their own size) are no moves: nothing is told.
    """
    size = access.size_bytes
    if size in (1, 2, 4, 8) and access.address is not None and access.address % size == 0:
        return ()
    found = [alignment(access)]
    if access.space == "GM" and size is not None and size >= GM_BYTES:
        found.append(alignment(access, GM_BYTES))
    return tuple(each for each in found if each is not None)


# ---- on-chip buffers ----

CAPACITIES: Mapping[str, tuple[tuple[int, tuple[str, ...]], ...]] = {
    "UB": ((192 * _KIB, ("910B", "A3")), (256 * _KIB, ("910A", "310P", "950"))),
    "L1": ((512 * _KIB, ("910B", "A3", "950")), (1024 * _KIB, ("910A", "310P"))),
    "L0A": ((64 * _KIB, ("910A", "910B", "A3", "310P", "950")),),
    "L0B": ((64 * _KIB, ("910A", "910B", "A3", "310P", "950")),),
    "L0C": ((128 * _KIB, ("910B", "A3")), (256 * _KIB, ("910A", "310P", "950"))),
}
"""Bytes of each on-chip buffer and the chips that have so many, the smallest first. Addresses in them count
from 0."""


@dataclass(frozen=True, slots=True)
class OnChip:
    """An access against one size of an on-chip buffer. past_bytes: from the buffer's end to that of the
    access, 0 if it fits; None if its size is not told and it begins inside. gap_bytes: from the buffer's end
    to the first byte, None if that lies inside.
    """

    space: str
    capacity_bytes: int
    chips: tuple[str, ...]
    past_bytes: int | None
    gap_bytes: int | None

    @property
    def is_beyond(self) -> bool:
        return bool(self.past_bytes) or self.gap_bytes is not None


def on_chip(access: Access) -> tuple[OnChip, ...]:
    """The access against each size that its buffer has on known chips; () elsewhere."""
    if access.address is None:
        return ()
    return tuple(
        _against(access.address, access.size_bytes, access.space, capacity, chips)
        for capacity, chips in CAPACITIES.get(access.space, ())
    )


def _against(address: int, size: int | None, space: str, capacity: int, chips: tuple[str, ...]) -> OnChip:
    gap = address - capacity if address >= capacity else None
    if size is None:
        past = None if gap is None else gap  # at least so far; its own bytes are not known
    else:
        past = max(address + size - capacity, 0)
    return OnChip(space, capacity, chips, past, gap)


# ---- a kernel that a compiler could not fit in ----


@dataclass(frozen=True, slots=True)
class BufferNeed:
    """What a kernel needs of an on-chip buffer against what there is.

    required_bytes: rounded up; available_bytes: down. ratio: needed by available. fitting: the largest block
    size that fits if the need grows linearly with it, rounded down; fitting_multiple: the largest multiple of
    32 up to it, fitting_power: the largest power of two. All None where they are not known or nothing fits.
    """

    required_bits: int
    available_bits: int | None
    block_size: int | None = None
    fitting: int | None = None

    @property
    def required_bytes(self) -> int:
        return bytes_to_hold(self.required_bits)

    @property
    def available_bytes(self) -> int | None:
        return None if self.available_bits is None else bytes_inside(self.available_bits)

    @property
    def excess_bytes(self) -> int | None:
        """How much must go; None where the message does not tell, or tells of no excess."""
        if self.available_bytes is None or self.required_bytes <= self.available_bytes:
            return None
        return self.required_bytes - self.available_bytes

    @property
    def ratio(self) -> float | None:
        return self.required_bits / self.available_bits if self.available_bits else None

    @property
    def fitting_multiple(self) -> int | None:
        return (self.fitting or 0) // MOVE_BYTES * MOVE_BYTES or None

    @property
    def fitting_power(self) -> int | None:
        return 1 << (self.fitting.bit_length() - 1) if self.fitting else None


def buffer_need(
    required_bits: int | None, available_bits: int | None, block_size: int | None = None
) -> BufferNeed | None:
    """The figures of one "requires .. bits while .. bits available"; None if nothing is required."""
    if required_bits is None or required_bits <= 0:
        return None
    fitting = None
    if available_bits and block_size and 0 < available_bits < required_bits:
        fitting = block_size * available_bits // required_bits or None
    return BufferNeed(required_bits, available_bits, block_size, fitting)


# ---- an access against the block beside it ----


@dataclass(frozen=True, slots=True)
class Reach:
    """Where an access lies against a block, in bytes; offset_bytes: of its first byte from the block's start.

    before_bytes, inside_bytes, past_bytes: how many of its bytes lie in front of the block, in it, behind its
    end. gap_bytes: between the two, 0 if they touch or overlap. end_bytes: from the block's end to that of
    the access, None if it ends before. element, n_elements: its index and their number, where the size of the
    access divides both the offset and the block.
    """

    side: Side
    offset_bytes: int
    gap_bytes: int
    before_bytes: int | None
    inside_bytes: int | None
    past_bytes: int | None
    end_bytes: int | None = None
    element: int | None = None
    n_elements: int | None = None

    @property
    def is_straddling(self) -> bool:
        """Part of it lies inside and part outside."""
        return bool(self.inside_bytes) and bool(self.before_bytes or self.past_bytes)


def offset_of(block: Block, access: Access) -> int | None:
    """Bytes from the block's start to the access, negative in front of it; from addresses, else as told."""
    if block.start is not None and access.address is not None:
        return access.address - block.start
    if block.distance_bytes is None or block.side is None:
        return None
    if block.side == "before":
        return -block.distance_bytes
    if block.side == "inside":
        return block.distance_bytes
    return None if block.size_bytes is None else block.size_bytes + block.distance_bytes


def reach(block: Block | None, access: Access) -> Reach | None:
    """Where the access lies against the block; None if that is not told or the block's size is not known."""
    if block is None or block.size_bytes is None or block.size_bytes < 0:
        return None
    offset = offset_of(block, access)
    if offset is None:
        return None
    n, size = block.size_bytes, access.size_bytes
    side: Side = "before" if offset < 0 else "inside" if offset < n else "after"
    if size is None or size <= 0:
        gap = -offset if offset < 0 else max(offset - n, 0)
        return Reach(side, offset, gap, None, None, None)
    end = offset + size
    before = max(min(end, 0) - min(offset, 0), 0)
    inside = max(min(end, n) - max(offset, 0), 0)
    past = max(end - max(offset, n), 0)
    gap = max(-end, offset - n, 0)
    reaching = end - n if end > n else None
    is_element = size in (2, 4, 8) and offset % size == 0 and n % size == 0
    element, n_elements = (offset // size, n // size) if is_element else (None, None)
    return Reach(side, offset, gap, before, inside, past, reaching, element, n_elements)


# ---- who made and who freed a block ----


@dataclass(frozen=True, slots=True)
class Lifetime:
    """The functions of the user that allocated and freed a block; "" where the stack has none.

    is_same_function: one function did both. is_other_thread: another thread freed it; None if not told.
    """

    allocated_in: str
    freed_in: str
    is_same_function: bool
    is_other_thread: bool | None


def function_of(frames: Sequence[Frame]) -> str:
    """The function of the innermost frame of the user's own code; "" where none is told."""
    place = user_frame(frames)
    return "" if place is None else frames[place].function


def lifetime(block: Block | None) -> Lifetime | None:
    """Who made and who freed the block; None unless it was freed and one of both is known."""
    if block is None or not block.freed:
        return None
    allocated_in, freed_in = function_of(block.allocated), function_of(block.freed)
    if not (allocated_in or freed_in):
        return None
    threads = (block.allocating_thread, block.freeing_thread)
    is_other = threads[0] != threads[1] if all(threads) else None
    return Lifetime(allocated_in, freed_in, bool(freed_in) and allocated_in == freed_in, is_other)
