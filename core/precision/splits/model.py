"""What a row knows of its parts: which leaves of which ranks make a tensor, and how they are put together."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from npulse.core.calls.tensors import TensorPlace
from npulse.core.dataclass import dataclass
from npulse.core.formats.msprobe.records import Dump

Segment = tuple[int, int, int]
"""(which part, first index along its axis, how many)."""

SUM = -1
"""Part of a segment that is added up over all parts."""


class Cut(NamedTuple):
    """How a tensor is put together from parts.

    shape: of the tensor. outer, inner: how many elements lie before and behind the axis along which the
    parts are cut: part k is seen as (outer, m_k, inner). segments: in the order of the tensor.
    """

    shape: tuple[int, ...]
    outer: int
    inner: int
    segments: tuple[Segment, ...]

    @property
    def is_sum(self) -> bool:
        return any(part == SUM for part, _, _ in self.segments)

    @property
    def length(self) -> int:
        """Along the axis."""
        return sum(n for _, _, n in self.segments)


class PartsPlace(NamedTuple):
    """Where the parts of a tensor lie, in the place of a `TensorPlace`."""

    parts: tuple[TensorPlace, ...]
    cut: Cut

    def moved(self, move: Callable[[Path], Path]) -> PartsPlace:
        """The same parts where another host names their folders otherwise."""
        return self._replace(parts=tuple(part.moved(move) for part in self.parts))

    @property
    def path(self) -> Path:
        return self.parts[0].path

    @property
    def root(self) -> Path:
        return self.parts[0].root

    @property
    def name(self) -> str:
        return self.parts[0].name


class Part(NamedTuple):
    """A leaf of one rank. root: the run that holds its files."""

    dump: Dump
    root: Path
    leaf: int


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a row that is made of parts.

    cut: how its elements are put together for the comparison. statistics: float64 (4), Max, Min, Mean and
    Norm of the whole tensor, has: which of them follow from the records. n_elements: of the whole.
    """

    parts: tuple[Part, ...]
    cut: Cut
    statistics: npt.NDArray[np.float64]
    has: npt.NDArray[np.bool_]
    n_elements: int


@dataclass(frozen=True, slots=True)
class Split:
    """A row whose sides are laid out over unlike numbers of ranks, or in another order.

    layout: in words ("column 2 ranks"). confidence: 0 to 1, as in `Pairing`. n_padding: entries along the
    axis that one side has as padding and that are not compared. group: ranks of target and golden side.
    parts: of all ranks of the side that has them. is_reordered: the same content, heads in another order.
    """

    layout: str
    target: Side
    golden: Side
    confidence: float
    n_padding: int = 0
    group: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    parts: tuple[Part, ...] = ()
    is_reordered: bool = False

    @property
    def n_compared(self) -> int:
        """Elements that are compared."""
        return math.prod(self.target.cut.shape)

    @property
    def is_sum(self) -> bool:
        return self.target.cut.is_sum or self.golden.cut.is_sum


def merged(segments: list[Segment]) -> tuple[Segment, ...]:
    """Neighbouring segments of one part as one."""
    found: list[Segment] = []
    for part, first, n in segments:
        if n <= 0:
            continue
        if found and found[-1][0] == part and found[-1][1] + found[-1][2] == first:
            found[-1] = (part, found[-1][1], found[-1][2] + n)
        else:
            found.append((part, first, n))
    return tuple(found)
