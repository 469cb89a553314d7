"""Faults that say what another one said, but for their numbers: counted without an object of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from npulse.core.formats.mssanitizer.again import Again, OnCores, Shape

from .faults import Access, Cores, Fault


class On(NamedTuple):
    """The cores and the device of an access."""

    cores: tuple[Cores, ...]
    device: int


class Likes(Protocol):
    """What the records of one log have in common, in the form of faults."""

    def like(self, shape: Shape) -> Fault:
        """The first fault of a shape."""

    def on(self, where: OnCores) -> On: ...


@dataclass(frozen=True, slots=True)
class Repeats:
    """Faults of one log in its order, each as its numbers. likes: what says the rest."""

    numbers: Sequence[Again]
    likes: Likes

    def faults(self) -> Iterator[Fault]:
        """Each as a fault of its own."""
        return (fault_of(one, self.likes) for one in self.numbers)

    def apart(self) -> Iterator[Repeats]:
        """Each alone."""
        return (Repeats((one,), self.likes) for one in self.numbers)


def fault_of(one: Again, likes: Likes) -> Fault:
    """The same as a fault of its own."""
    like = likes.like(one.shape)
    own = _access(like.accesses[0], one.size_bytes, one.address, likes.on(one.on), one.pc, one.serial_number)
    accesses: tuple[Access, ...] = (own,)
    if one.second is not None:
        address, on, pc, serial = one.second
        accesses = own, _access(like.accesses[1], None, address, likes.on(on), pc, serial)
    return Fault(
        like.tool,
        like.kind,
        like.severity,
        one.head,
        like.artifact,
        one.line_number,
        one.byte,
        accesses,
        like.hazard,
        figures=like.figures,
    )


def _access(
    like: Access, size_bytes: int | None, address: int | None, on: On, pc: int, serial_number: int
) -> Access:
    return Access(
        like.word,
        size_bytes,
        like.space,
        address,
        like.kernel,
        on.device,
        on.cores,
        like.thread,
        like.pid,
        pc,
        serial_number,
        like.pipe,
        like.instruction,
        like.frames,
    )


def whole(told: Iterable[Fault | Repeats]) -> Iterator[Fault]:
    """Each as a fault of its own."""
    for one in told:
        if isinstance(one, Repeats):
            yield from one.faults()
        else:
            yield one


def in_order(told: Iterable[Fault | Repeats]) -> list[Fault | Repeats]:
    """All by the place where they begin in their log."""
    apart: list[Fault | Repeats] = []
    for one in told:
        if isinstance(one, Repeats):
            apart += one.apart()
        else:
            apart.append(one)
    return sorted(apart, key=_byte_of)


def _byte_of(one: Fault | Repeats) -> int:
    return one.numbers[0].byte if isinstance(one, Repeats) else one.byte
