"""Two tensors read side by side, block by block, and the figures of the pair."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass
from npulse.core.formats.tensors import Dtype, TensorFile
from npulse.core.formats.tensors.open import TensorReader

from ...progress import IsCancelled, check, never_cancelled
from ..splits.view import TensorView
from .kernel import BLOCK, PairMetrics, Totals, add_block, block_elements, metrics_of
from .loading import components

Raw = npt.NDArray[Any]

MAX_ELEMENT_BYTES = 16
CHECK_EVERY_BLOCKS = 16
SAMPLE_BLOCKS = 8
"""What a sample reads of a tensor: about a million elements; a smaller tensor is read whole."""


@dataclass(frozen=True, slots=True)
class TensorArray:
    """A tensor in memory where a file could be: elements in `dtype.carrier`, any shape and strides."""

    values: Raw
    dtype: Dtype
    declared: Dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape

    @property
    def n_elements(self) -> int:
        return self.values.size

    def array(self) -> Raw:
        return self.values


Side = TensorFile | TensorArray | TensorView


class _Buffers(threading.local):
    """One block a side for each thread; BLOCK complex128 elements are the largest that anyone asks for."""

    def __init__(self) -> None:
        self.sides = tuple(np.empty(BLOCK * MAX_ELEMENT_BYTES, np.uint8).data for _ in range(2))


_buffers = _Buffers()


def compare_files(
    target: TensorFile | TensorView,
    golden: TensorFile | TensorView,
    *,
    is_cancelled: IsCancelled = never_cancelled,
) -> PairMetrics:
    """All one-pass figures of two tensor files of equal shape. Each byte is read once.

    Cost: O(bytes) time, memory fixed (non-contiguous tensors: mapped). Raises TensorError where a file has
    become shorter or was replaced, ValueError where the shapes differ, Cancelled.
    """
    return compare_sides(target, golden, is_cancelled=is_cancelled)


def compare_arrays(target: Raw, golden: Raw, dtype_target: Dtype, dtype_golden: Dtype) -> PairMetrics:
    """All one-pass figures of two arrays of equal shape, elements in their dtype's carrier."""
    sides = TensorArray(target, dtype_target, dtype_target), TensorArray(golden, dtype_golden, dtype_golden)
    return compare_sides(*sides)


def compare_sides(target: Side, golden: Side, *, is_cancelled: IsCancelled = never_cancelled) -> PairMetrics:
    """As `compare_files`, for files and arrays."""
    totals = Totals()
    for _, t, g in pair_blocks(target, golden, is_cancelled=is_cancelled):
        add_block(t, g, target.dtype, golden.dtype, totals)
    return metrics_of(totals)


def compare_sample(target: TensorFile, golden: TensorFile) -> PairMetrics:
    """As `compare_files`, of at most SAMPLE_BLOCKS blocks that lie evenly over the tensor, both ends too.

    `n_elements` is that of the whole tensor, all other figures are of what was read: where fewer elements
    were compared (or were not finite) than there are, they are a sample's.
    """
    totals = Totals()
    for _, t, g in pair_blocks(target, golden, most=SAMPLE_BLOCKS):
        add_block(t, g, target.dtype, golden.dtype, totals)
    n = math.prod(target.shape) * max(components(target.dtype), components(golden.dtype))
    return metrics_of(totals)._replace(n_elements=n)


def pair_blocks(
    target: Side, golden: Side, *, most: int | None = None, is_cancelled: IsCancelled = never_cancelled
) -> Iterator[tuple[int, Raw, Raw]]:
    """(number of the first element, target block, golden block), flat and in row-major order.

    Blocks hold `block_elements` elements in their carriers and are valid until the next one is asked for.
    most: so many of them, spread evenly; None for all.
    """
    if target.shape != golden.shape:
        raise ValueError(f"shapes differ: {target.shape} and {golden.shape}")
    n, step = math.prod(target.shape), block_elements(target.dtype, golden.dtype)
    with ExitStack() as stack:
        read_target, read_golden = _reader(target, 0, stack), _reader(golden, 1, stack)
        starts: Sequence[int] = range(0, n, step)
        if most is not None and len(starts) > most:
            starts = [starts[round(i * (len(starts) - 1) / (most - 1))] for i in range(most)]
        for number, first in enumerate(starts):
            if number % CHECK_EVERY_BLOCKS == 0:
                check(is_cancelled)
            size = min(step, n - first)
            yield first, read_target(first, size), read_golden(first, size)


def _reader(side: Side, number: int, stack: ExitStack) -> Callable[[int, int], Raw]:
    """A function (first element, how many) -> flat block in the carrier."""
    if isinstance(side, TensorView):
        return side.read([reader_of(part, stack) for part in side.parts])
    if isinstance(side, TensorFile) and side.is_contiguous:
        reader = stack.enter_context(TensorReader(side))
        buffer = _buffers.sides[number]
        return lambda first, size: reader.read_into(buffer, first, size)
    return _of_array(side)


def reader_of(file: TensorFile, stack: ExitStack) -> Callable[[int, int], Raw]:
    """As the blocks of `pair_blocks`, of one file and in a buffer of its own; stack: closes the file."""
    if not file.is_contiguous:
        return _of_array(file)
    reader = stack.enter_context(TensorReader(file))
    buffer = bytearray()

    def read(first: int, size: int) -> Raw:
        nonlocal buffer
        if len(buffer) < size * file.dtype.itemsize:
            buffer = bytearray(size * file.dtype.itemsize)
        return reader.read_into(buffer, first, size)

    return read


def _of_array(side: TensorFile | TensorArray) -> Callable[[int, int], Raw]:
    array = side.array()
    if array.dtype != side.dtype.carrier:
        raise ValueError(f"an array of {array.dtype} is no {side.dtype.name}")
    if array.flags.c_contiguous:
        flat = array.reshape(-1)
        return lambda first, size: flat[first : first + size]
    elements = array.flat  # copies a block at a time, in row-major order; a reshape would copy all
    return lambda first, size: elements[first : first + size]
