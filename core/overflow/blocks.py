"""The elements of one tensor file, block by block, in memory that does not grow with the file.

Two ways. Mapping reads nothing twice: the kernel's own pages are looked at, and given back as the scan goes
on. It is twice as quick as copying what is in the page cache already. But a file that is cut while it is
mapped ends the process, which copying survives: so only processes that may be lost should map.
"""

from __future__ import annotations

import mmap
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from npulse.core.formats.tensors import TensorFile, TensorReader
from npulse.core.formats.tensors.layout import is_contiguous
from npulse.core.formats.tensors.source import Source, reopen

Raw = npt.NDArray[Any]
Read = Callable[[int, int], Raw]
"""(first element, how many) -> flat array in the carrier, valid until the next call."""

MAPPED_BLOCK_BYTES = 2 << 20
"""Larger ones gain nothing; in smaller ones the calls cost more, and the memory is read ahead less well."""

READ_BLOCK_BYTES = 1 << 18
"""Copies of this size stay in the processor's own cache; four times as large they take half as long again."""

MIN_MAPPED_BYTES = 1 << 20
"""Smaller tensors are copied: setting up a mapping costs more than that."""

KEPT_BYTES = 8 << 20
"""Mapped pages that are given back together. Up to then they count as memory of the process."""


class _Buffer(threading.local):
    """One block for each thread, made once; grows only for elements read in larger pieces than usual."""

    def __init__(self) -> None:
        self.view = np.empty(READ_BLOCK_BYTES, np.uint8).data

    def of(self, n_bytes: int) -> memoryview:
        if n_bytes > len(self.view):
            self.view = np.empty(n_bytes, np.uint8).data
        return self.view


_buffer = _Buffer()


def in_stored_order(file: TensorFile) -> TensorFile:
    """The same elements in the order in which they are stored, where only the axes were exchanged.

    Transposed and column-major tensors become contiguous that way; others are returned as they are.
    """
    if file.is_contiguous:
        return file
    order = sorted(range(len(file.shape)), key=lambda axis: (-file.strides[axis], file.shape[axis]))
    shape = tuple(file.shape[axis] for axis in order)
    strides = tuple(file.strides[axis] for axis in order)
    if not is_contiguous(shape, strides):
        return file
    return replace(file, shape=shape, strides=strides, is_contiguous=True)


def is_mappable(file: TensorFile) -> bool:
    """True if mapping this file pays, and numpy can compute with the elements where they lie."""
    return (
        file.is_contiguous
        and file.deflated is None
        and file.size_bytes >= MIN_MAPPED_BYTES
        and file.offset % file.dtype.itemsize == 0
        and hasattr(mmap, "MADV_DONTNEED")
    )


@contextmanager
def open_elements(file: TensorFile, *, may_map: bool) -> Iterator[Read]:
    """A function that reads elements in row-major order.

    Raises TensorError here or in the function: missing, replaced, cut-off, unreadable. Mapped elements must
    be asked for in order (what lies before them is given back).
    """
    if may_map and is_mappable(file):
        with reopen(file.path, file.identity) as source:
            yield _mapped(file, source)
    elif file.is_contiguous:
        itemsize = file.dtype.itemsize
        with TensorReader(file) as reader:
            yield lambda first, n: reader.read_into(_buffer.of(n * itemsize), first, n)
    else:
        elements = file.array().flat  # copies a piece at a time; a reshape would copy all
        yield lambda first, n: elements[first : first + n]


def _mapped(file: TensorFile, source: Source) -> Read:
    end = file.offset + file.size_bytes
    source.need(file.offset, file.size_bytes, "the tensor")
    try:
        mapped = mmap.mmap(source.fd, end, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise source.error("unreadable", f"the file cannot be mapped: {error}") from error
    elements = np.frombuffer(mapped, file.dtype.carrier, file.n_elements, file.offset)
    itemsize, page = file.dtype.itemsize, mmap.PAGESIZE
    given_back = 0

    def read(first: int, n: int) -> Raw:
        nonlocal given_back
        size = os.fstat(source.fd).st_size
        if size < end:  # looking at a page behind the end of its file would end the process
            raise source.error("cut-off", f"the file ends at byte {size:,}, inside the tensor", byte=size)
        start = (file.offset + first * itemsize) // page * page
        if start - given_back >= KEPT_BYTES:
            mapped.madvise(mmap.MADV_DONTNEED, given_back, start - given_back)
            given_back = start
        return elements[first : first + n]

    return read
