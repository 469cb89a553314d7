"""Which calls of one dump feed which: by equal content, as far as the records tell."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from npulse.core.calls.content import content_of, producers
from npulse.core.formats.msprobe.records import INPUT, KWARGS, OUTPUT, TENSOR, Dump

from .keys import Hashes, content_hashes
from .model import Ints

_CHAIN = 16
"""Outputs of the same content that are followed back: copies, casts and views of one tensor."""


class Feeding:
    """Look-ups of one dump, made when the first group is looked for."""

    def __init__(self, dump: Dump) -> None:
        self.dump = dump

    @cached_property
    def producers(self) -> Ints:
        return producers(self.dump, content_of(self.dump))

    @cached_property
    def content(self) -> Hashes:
        """As `content_hashes`, 0 where a leaf tells nothing."""
        hashes, telling = content_hashes(self.dump)
        return np.where(telling, hashes, np.uint64(0))

    @cached_property
    def _consumers(self) -> tuple[Ints, Ints]:
        """Leaf rows in the order of their producers, and those producers."""
        order = np.argsort(self.producers, kind="stable")
        return order, self.producers[order]

    def chain(self, leaf: int) -> list[int]:
        """The outputs that hold what a leaf holds, the latest first."""
        found: list[int] = []
        at = int(self.producers[leaf])
        while at >= 0 and len(found) < _CHAIN:
            found.append(at)
            at = int(self.producers[at])
        return found

    def makers(self, leaf: int) -> list[int]:
        """Calls of `chain`."""
        return [int(self.dump.leaves.call[at]) for at in self.chain(leaf)]

    def reads(self, call: int) -> list[int]:
        """Tensors that a call is given."""
        return self._tensors(call, (INPUT, KWARGS))

    def writes(self, call: int) -> list[int]:
        """Tensors that it makes."""
        return self._tensors(call, (OUTPUT,))

    def _tensors(self, call: int, sides: tuple[int, ...]) -> list[int]:
        leaves = self.dump.leaves
        return [r for r in self.dump.leaf_range(call) if leaves.kind[r] == TENSOR and leaves.side[r] in sides]

    def readers(self, leaf: int) -> list[int]:
        """Calls that read an output as the latest of its content."""
        return [int(self.dump.leaves.call[row]) for row in self.read_by(leaf)]

    def read_by(self, leaf: int) -> list[int]:
        """The inputs that hold an output as the latest of its content."""
        order, keys = self._consumers
        span = order[slice(*np.searchsorted(keys, [leaf, leaf + 1]))]
        return [int(row) for row in span if self.dump.leaves.side[row] != OUTPUT]

    def shape(self, leaf: int) -> tuple[int, ...] | None:
        code = int(self.dump.leaves.shape[leaf])
        return self.dump.leaves.shapes[code] if code >= 0 else None
