"""Faults that say what another one said, but for their numbers: counted without an object of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from npulse.core.formats.mssanitizer.again import Again as Numbers

from .faults import Access, Cores, Fault


class Again(NamedTuple):
    """One fault: its numbers, and the first fault of the shape, which says the rest.

    like: of one access; all faults of a shape have the same object. cores: those of the numbers.
    """

    like: Fault
    numbers: Numbers
    cores: tuple[Cores, ...]

    def fault(self) -> Fault:
        """The same as a fault of its own."""
        like, numbers = self.like, self.numbers
        access = like.access
        return Fault(
            like.tool,
            like.kind,
            like.severity,
            numbers.head,
            like.artifact,
            numbers.line_number,
            numbers.byte,
            (
                Access(
                    access.word,
                    numbers.size_bytes,
                    access.space,
                    numbers.address,
                    access.kernel,
                    numbers.device,
                    self.cores,
                    access.thread,
                    access.pid,
                    numbers.pc,
                    numbers.serial_number,
                    access.pipe,
                    access.instruction,
                    access.frames,
                ),
            ),
            like.hazard,
            figures=like.figures,
        )


def whole(told: Iterable[Fault | Again]) -> Iterator[Fault]:
    """Each as a fault of its own."""
    for one in told:
        yield one.fault() if isinstance(one, Again) else one


def byte_of(one: Fault | Again) -> int:
    """Where it begins in its log."""
    return one.numbers.byte if isinstance(one, Again) else one.byte
