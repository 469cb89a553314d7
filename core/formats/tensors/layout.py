"""Where the elements of a tensor lie in its file, and the checks that every format shares."""

from __future__ import annotations

import math
from typing import NamedTuple

from npulse.core.dataclass import dataclass

from .dtypes import Dtype
from .inflate import Deflated
from .source import Source

Shape = tuple[int, ...]

MAX_DIMENSIONS = 32
MAX_REPEATED_ELEMENTS = 1 << 30
"""Cap on the elements of a view that shows stored elements more than once (expand, sliding windows)."""


@dataclass(frozen=True, slots=True)
class Layout:
    """First element at byte `offset`; strides in elements.

    dtype is None where the file holds bytes of `itemsize` each without saying what they are. deflated: the
    member that `offset` counts in, where that is compressed.
    """

    offset: int
    dtype: Dtype | None
    itemsize: int
    shape: Shape
    strides: Shape
    deflated: Deflated | None = None


class Extent(NamedTuple):
    """Where a storage lies: bytes first to end, of the file or of what its compressed member inflates to."""

    first: int
    end: int
    deflated: Deflated | None = None


def row_major_strides(shape: Shape) -> Shape:
    """Strides in elements of a C-contiguous array."""
    strides = []
    step = 1
    for length in reversed(shape):
        strides.append(step)
        step *= length
    return tuple(reversed(strides))


def is_contiguous(shape: Shape, strides: Shape) -> bool:
    """True if the elements lie one after the other in row-major order (an axis of length 1 has no say)."""
    if 0 in shape:
        return True
    packed = row_major_strides(shape)
    return all(n == 1 or have == want for n, have, want in zip(shape, strides, packed, strict=True))


def span_elements(shape: Shape, strides: Shape) -> int:
    """How many stored elements there are from the first to the last one that the tensor uses."""
    if 0 in shape:
        return 0
    return 1 + sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))


def check_shape(source: Source, shape: Shape, itemsize: int) -> None:
    """Raise unless numpy can hold such an array: few axes, all lengths but zeros within the address space."""
    if len(shape) > MAX_DIMENSIONS:
        raise source.error("unreadable", f"a tensor of {len(shape)} dimensions")
    if math.prod(n for n in shape if n) * itemsize >= 1 << 62:
        raise source.error("too-large", "the shape in the file is larger than any memory")


def check_extent(source: Source, layout: Layout, end: int) -> None:
    """Raise unless all elements lie before byte `end` and the tensor is no bomb of repeated elements."""
    span_bytes = span_elements(layout.shape, layout.strides) * layout.itemsize
    if layout.offset + span_bytes > end:
        raise source.error(
            "unreadable",
            f"the tensor needs {span_bytes:,} bytes from byte {layout.offset:,}, its storage ends at {end:,}",
            byte=end if layout.deflated is None else layout.deflated.first,
        )
    n_elements = math.prod(layout.shape)
    if n_elements * layout.itemsize > span_bytes and n_elements > MAX_REPEATED_ELEMENTS:
        raise source.error(
            "too-large",
            f"a view of {n_elements:,} elements over {span_bytes:,} stored bytes",
            hint="save the tensor before it is expanded",
        )
