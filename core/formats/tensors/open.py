"""Open one dumped tensor file by content: where its elements lie, of which format and shape."""

from __future__ import annotations

import math
import mmap
import os
from dataclasses import field, replace
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass

from ...text import safe_text
from . import npy, zipdir
from .dtypes import Dtype, dtype_of
from .error import TensorError
from .inflate import Deflated, Inflater, inflated
from .layout import Layout, Shape, is_contiguous, span_elements
from .source import FileState, Source, StrPath, open_source, reopen, state_of
from .tiling import Tiling
from .torchfile import read_torch_legacy, read_torch_zip

__all__ = ["TensorError", "TensorFile", "TensorReader", "open_tensor"]

MAX_COPIED_BYTES = 16 << 20
"""Tensors up to this size are copied where the whole is wanted: a copy cannot be cut by somebody else."""


@dataclass(frozen=True, slots=True)
class TensorFile:
    """A tensor on disk, nothing of its elements read yet. Can be pickled: workers open the file again.

    dtype: the format of the stored elements. declared: what the dump's record says (it counts: a bfloat16
    tensor may be stored as float32); equal to dtype where the record says nothing that is known.
    strides in elements; contiguous tensors are read with `TensorReader` from `offset`, others through
    `array()`. identity: device and inode, so that a file replaced meanwhile is noticed; None: not checked.
    state: of the file when it was opened; None where that was not done here.
    tiling: how the elements are stored where that is not in the order of `shape`; both ways of reading give
    them in that order.
    deflated: the compressed member whose content `offset` counts in; None where the elements lie in the file
    as they are. It is inflated as it is read, so it is quick in order and slow any other way.
    """

    path: StrPath
    offset: int
    dtype: Dtype
    declared: Dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    is_contiguous: bool
    identity: tuple[int, int] | None = field(default=None, repr=False, compare=False)
    tiling: Tiling | None = None
    state: FileState | None = field(default=None, repr=False, compare=False)
    deflated: Deflated | None = None

    @property
    def n_elements(self) -> int:
        return math.prod(self.shape)

    @property
    def size_bytes(self) -> int:
        """Of the elements; a view that shows stored elements again counts them again."""
        return self.n_elements * self.dtype.itemsize

    def array(self) -> npt.NDArray[Any]:
        """Read-only, shaped; elements in `dtype.carrier` (raw bits for bfloat16 and float8).

        For tensors that must be seen whole, and for those that are not contiguous. Above MAX_COPIED_BYTES the
        file is mapped: memory stays flat, but a file that is cut while it is mapped ends the process, which
        `TensorReader` survives. One that is stored in tiles is copied whole, and one that is compressed up to
        `inflate.MAX_WHOLE_BYTES` (TensorError too-large).
        """
        if self.tiling is not None:
            whole = self.tiling.whole(self.as_stored().array(), self.shape)
            whole.flags.writeable = False
            return whole
        n_bytes = span_elements(self.shape, self.strides) * self.dtype.itemsize
        if n_bytes == 0:
            empty = np.empty(self.shape, self.dtype.carrier)
            empty.flags.writeable = False
            return empty
        strides = [stride * self.dtype.itemsize for stride in self.strides]
        skipped = self.offset % mmap.ALLOCATIONGRANULARITY
        with reopen(self.path, self.identity) as source:
            if self.deflated is not None:
                content = inflated(source, self.deflated, self.offset, n_bytes)
                whole = np.ndarray(self.shape, self.dtype.carrier, buffer=content, strides=strides)
                whole.flags.writeable = False
                return whole
            if n_bytes <= MAX_COPIED_BYTES:
                block = source.read(self.offset, n_bytes, "the tensor")
                return np.ndarray(self.shape, self.dtype.carrier, buffer=block, strides=strides)
            source.need(self.offset, n_bytes, "the tensor")
            try:
                mapped = mmap.mmap(
                    source.fd, skipped + n_bytes, access=mmap.ACCESS_READ, offset=self.offset - skipped
                )
            except (OSError, ValueError) as error:
                raise source.error("unreadable", f"the file cannot be mapped: {error}") from error
        return np.ndarray(self.shape, self.dtype.carrier, buffer=mapped, offset=skipped, strides=strides)

    def as_stored(self) -> TensorFile:
        """The elements in the order in which they lie, with what pads them; 1-D where they are in tiles."""
        if self.tiling is None:
            return self
        n = math.prod(self.tiling.stored)
        return replace(self, shape=(n,), strides=(1,), tiling=None)


class TensorReader:
    """Reads a contiguous tensor block by block into the caller's buffer; memory stays what the buffer is.

    with TensorReader(file) as reader:
        block = reader.read_into(buffer, 0, 65_536)
    """

    def __init__(self, file: TensorFile) -> None:
        if not file.is_contiguous:
            raise ValueError("only contiguous tensors can be read in blocks; use TensorFile.array()")
        self._file = file
        # tiles are gathered from all over the tensor, which no run of bytes is
        self._tiles = None if file.tiling is None else file.as_stored().array()
        self._source = reopen(file.path, file.identity)
        self._inflater = None if file.deflated is None else Inflater(self._source, file.deflated)

    def __enter__(self) -> TensorReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._source.close()

    def read_into(
        self, buffer: bytearray | memoryview, first_element: int, n_elements: int
    ) -> npt.NDArray[Any]:
        """Elements first_element ... + n_elements in row-major order, as an array over `buffer`.

        1-D, in `dtype.carrier`, valid until the buffer is filled again. Raises TensorError cut-off with the
        byte where the file ends, unreadable where compressed elements are damaged; ValueError for a range
        outside the tensor or a buffer that is too small.
        """
        file = self._file
        n_bytes = n_elements * file.dtype.itemsize
        view = memoryview(buffer).cast("B")
        if not (0 <= first_element and 0 <= n_elements and first_element + n_elements <= file.n_elements):
            raise ValueError("elements outside the tensor")
        if n_bytes > len(view):
            raise ValueError("the buffer is too small")
        if self._tiles is None or file.tiling is None:
            self._fill(view[:n_bytes], file.offset + first_element * file.dtype.itemsize)
            if self._inflater is not None and first_element + n_elements == file.n_elements:
                self._inflater.finish()
            return np.frombuffer(view, file.dtype.carrier, n_elements)
        block = np.frombuffer(view, file.dtype.carrier, n_elements)
        np.take(
            self._tiles, file.tiling.places(file.shape, first_element, n_elements), out=block, mode="clip"
        )
        return block

    def _fill(self, view: memoryview, offset: int) -> None:
        if self._inflater is not None:
            self._inflater.fill(view, offset)
            return
        done = 0
        while done < len(view):  # one read may bring less than was asked for, at most 2 GB
            try:
                n_read = os.preadv(self._source.fd, [view[done:]], offset + done)
            except OSError as error:
                message = f"reading failed: {error.strerror}"
                raise self._source.error("unreadable", message, byte=offset + done) from error
            if n_read == 0:
                end = offset + done
                raise self._source.error(
                    "cut-off", f"the file ends at byte {end:,}, inside the tensor", byte=end
                )
            done += n_read


def open_tensor(
    path: StrPath, *, root: StrPath, declared: str | None = None, shape: tuple[int, ...] | None = None
) -> TensorFile:
    """The tensor in `path`, recognised by content; costs a few small reads whatever its size.

    root: the run; links that lead out of it are not followed. declared, shape: what the dump's record says;
    the type may differ from the file's, the shape may not. Raises TensorError (path, byte where known, kind):
    missing, cut-off, unreadable, shape, refused, outside-run, too-large.
    """
    with open_source(path, root) as source:
        layout = _read_layout(source)
        expected = None if declared is None else dtype_of(declared)
        dtype = _element_dtype(source, layout, expected, declared)
        if shape is not None and tuple(shape) != layout.shape:
            raise source.error(
                "shape",
                f"the record says shape {_shown(tuple(shape))}, the file holds {_shown(layout.shape)}",
                hint="record and file are of different dumps: dump again into an empty folder",
            )
        return TensorFile(
            path=path,
            offset=layout.offset,
            dtype=dtype,
            declared=expected or dtype,
            shape=layout.shape,
            strides=layout.strides,
            is_contiguous=is_contiguous(layout.shape, layout.strides),
            identity=source.identity,
            state=source.state,
            deflated=layout.deflated,
        )


def state_now(file: TensorFile) -> FileState | None:
    """The state of the file that has the tensor's name now; None where there is none."""
    try:
        return state_of(os.stat(file.path))
    except (OSError, ValueError):
        return None


def _read_layout(source: Source) -> Layout:
    if source.size == 0:
        raise source.error("cut-off", "the file is empty", byte=0)
    head = source.read(0, min(source.size, len(npy.MAGIC)), "the file")
    if head == npy.MAGIC:
        return npy.read_npy(source)
    if head[:4] == zipdir.MAGIC:
        return read_torch_zip(source)
    if head[0] == 0x80:  # how every pickle since protocol 2 begins
        return read_torch_legacy(source)
    if npy.MAGIC.startswith(head) or zipdir.MAGIC.startswith(head):
        raise source.error("cut-off", f"the file ends after {source.size:,} bytes", byte=source.size)
    raise source.error(
        "unreadable", "neither a .npy nor a .pt file", byte=0, hint="tensors are .npy (numpy) or .pt (torch)"
    )


def _element_dtype(source: Source, layout: Layout, expected: Dtype | None, declared: str | None) -> Dtype:
    """What the stored elements are. Formats that numpy lacks are stored as raw bytes or as integers."""
    stored = layout.dtype
    fits = expected is not None and expected.itemsize == layout.itemsize
    if expected is not None and fits and (stored is None or (expected.is_raw and stored.kind == "int")):
        return expected
    if stored is not None:
        return stored
    said = "no record says of which type"
    if declared is not None:
        said = f"the record says {safe_text(declared, 60)}"
    raise source.error(
        "unreadable",
        f"the elements are {layout.itemsize} raw bytes each, {said}",
        hint="open the dump folder, so that its record tells the type",
    )


def _shown(shape: Shape) -> str:
    """A shape as text, bounded: records and files may hold anything."""
    return safe_text(str(list(shape[:16]))[:200] + (" ..." if len(shape) > 16 else ""))
