"""Why device memory ran out, by arithmetic: the model is too large, its memory is in pieces, others hold it.

Each answer is True, False, or None where the message does not have the figures for it. Several can hold, or
none. Messages round to two digits behind the point of their unit, and so these figures are rounded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from npulse.core.dataclass import dataclass

MUCH_OF_TOTAL = 0.10
"""Share of the device from which what this process does not account for is called much. Below it lie what the
driver keeps and what a process holds outside of its allocator (context, collectives)."""

_NAMES = ("tried", "total", "free", "allocated", "active", "reserved", "cached", "allowed", "in_use")


@dataclass(frozen=True, slots=True)
class Shortage:
    """The figures of one failed request, as `formats.memory_texts.OutOfMemory` has them; None: not told."""

    tried_bytes: int | None = None
    total_bytes: int | None = None
    free_bytes: int | None = None
    allocated_bytes: int | None = None
    active_bytes: int | None = None
    reserved_bytes: int | None = None
    cached_bytes: int | None = None
    allowed_bytes: int | None = None
    in_use_bytes: int | None = None

    # ---- the model needs more than there is ----

    @property
    def limit_bytes(self) -> int | None:
        """What this process can have at most: the device, or the limit that was set if that is lower."""
        told = [n for n in (self.total_bytes, self.allowed_bytes) if n is not None]
        return min(told) if told else None

    @property
    def needed_bytes(self) -> int | None:
        """What is in tensors and what was asked for, together."""
        if self.tried_bytes is None or self.allocated_bytes is None:
            return None
        return self.tried_bytes + self.allocated_bytes

    @property
    def is_too_large(self) -> bool | None:
        """More is needed than this process can have, however it is laid out."""
        if self.limit_bytes is None:
            return None
        if self.tried_bytes is not None and self.tried_bytes > self.limit_bytes:
            return True  # alone, whatever else there is
        return None if self.needed_bytes is None else self.needed_bytes > self.limit_bytes

    @property
    def reachable_bytes(self) -> int | None:
        """What tensors of this process could have in all as things stand: what they have, what is reserved
        beside them, what can still be had."""
        if self.allocated_bytes is None or self.unused_bytes is None or self.available_bytes is None:
            return None
        return self.allocated_bytes + self.unused_bytes + self.available_bytes

    @property
    def is_too_large_beside(self) -> bool | None:
        """It would fit on the device alone, not beside what the driver, the context and the like keep.

        False where that is much: then others hold the device, which is another cause.
        """
        if self.is_too_large or self.is_held_by_others:
            return False
        if self.needed_bytes is None or self.reachable_bytes is None or self.is_held_by_others is None:
            return None
        return self.needed_bytes > self.reachable_bytes

    # ---- its memory is in pieces ----

    @property
    def available_bytes(self) -> int | None:
        """What the allocator could still take from the device: what is free, up to the limit that was set."""
        if self.free_bytes is None:
            return None
        if self.allowed_bytes is None or self.reserved_bytes is None:
            return self.free_bytes
        return min(self.free_bytes, max(self.allowed_bytes - self.reserved_bytes, 0))

    @property
    def unused_bytes(self) -> int | None:
        """Reserved by the allocator and in no tensor."""
        if self.reserved_bytes is not None and self.allocated_bytes is not None:
            return max(self.reserved_bytes - self.allocated_bytes, 0)
        return self.cached_bytes

    @property
    def awaited_bytes(self) -> int | None:
        """In no tensor any more, but a stream still has to end before it can be used again."""
        if self.active_bytes is None or self.allocated_bytes is None:
            return None
        return max(self.active_bytes - self.allocated_bytes, 0)

    @property
    def idle_bytes(self) -> int | None:
        """Reserved, in no tensor, and no stream has to end first: what can be used again at once."""
        if self.unused_bytes is None:
            return None
        return max(self.unused_bytes - (self.awaited_bytes or 0), 0)

    @property
    def is_awaited(self) -> bool:
        """There would be enough, were it not for the part that a stream still has to give back."""
        if self.tried_bytes is None or self.unused_bytes is None or self.idle_bytes is None:
            return False
        available = self.available_bytes or 0
        return self.unused_bytes + available >= self.tried_bytes > self.idle_bytes + available

    @property
    def is_fragmented(self) -> bool | None:
        """What is reserved and idle would do, the device has not enough: no piece of it is large enough."""
        tried, idle, available = self.tried_bytes, self.idle_bytes, self.available_bytes
        if tried is None:
            return None
        if (idle is not None and idle < tried) or (available is not None and available >= tried):
            return False
        return None if idle is None or available is None else True

    @property
    def would_fit_joined(self) -> bool | None:
        """Idle and still available memory together would do, though neither does alone."""
        tried, idle, available = self.tried_bytes, self.idle_bytes, self.available_bytes
        if tried is None or idle is None or available is None:
            return None
        return max(idle, available) < tried <= idle + available

    # ---- somebody else holds it ----

    @property
    def own_bytes(self) -> int | None:
        """What this process is known to hold: all of it where that is told, else what its allocator has."""
        if self.in_use_bytes is not None:
            return self.in_use_bytes
        if self.reserved_bytes is not None:
            return self.reserved_bytes
        if self.allocated_bytes is None or self.cached_bytes is None:
            return None
        return self.allocated_bytes + self.cached_bytes

    @property
    def others_bytes(self) -> int | None:
        """Neither free nor known to be of this process."""
        if self.total_bytes is None or self.free_bytes is None or self.own_bytes is None:
            return None
        return max(self.total_bytes - self.free_bytes - self.own_bytes, 0)

    @property
    def is_held_by_others(self) -> bool | None:
        """Much of the device is neither free nor known to be of this process, and what is free won't do."""
        if self.others_bytes is None or not self.total_bytes:
            return None
        return not self.is_enough_free and self.others_bytes >= MUCH_OF_TOTAL * self.total_bytes

    # ---- none of them ----

    @property
    def is_enough_free(self) -> bool | None:
        """There was enough, and yet the request failed: no one piece was, or others gave some back since."""
        if self.tried_bytes is None or self.available_bytes is None:
            return None
        return self.available_bytes >= self.tried_bytes


def shortage(figures: Mapping[str, Any]) -> Shortage:
    """The figures of a fault "out of memory": "tried_bytes" and so on. What is no count is left out."""
    told = {}
    for name in _NAMES:
        value = figures.get(f"{name}_bytes")
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            told[f"{name}_bytes"] = value
    return Shortage(**told)
