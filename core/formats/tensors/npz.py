"""Archives of arrays (.npz): each member a .npy, read where it lies or inflated as it is read."""

from __future__ import annotations

from pathlib import Path

from ...files import shown_path
from ...findings import Problem
from ...text import safe_text
from .error import TensorError, TensorErrorKind
from .inflate import Inflater
from .layout import Extent, is_contiguous
from .npy import read_npy
from .open import TensorFile
from .safetensors import NamedTensor
from .source import Source, open_source
from .zipdir import locate, read_directory

_MAX_HEAD_BYTES = 128 * 1024
"""The header of a .npy lies in it; so much of a compressed one is inflated to read that."""


class _Part(Source):
    """A member of an archive as if it were a file."""

    __slots__ = ("_deflated", "_first", "_inflated_head", "_whole")

    def __init__(self, whole: Source, extent: Extent) -> None:
        self._whole, self._first, self._deflated = whole, extent.first, extent.deflated
        self._inflated_head = b""
        self.path, self.fd, self.identity = whole.path, -1, whole.identity
        self.size = extent.end - extent.first

    def read(self, offset: int, n_bytes: int, what: str) -> bytes:
        self.need(offset, n_bytes, what)
        if self._deflated is None:
            return self._whole.read(self._first + offset, n_bytes, what)
        if offset + n_bytes > _MAX_HEAD_BYTES:
            raise self.error("unreadable", "more lies behind the compressed array than the array")
        if not self._inflated_head:
            head = memoryview(bytearray(min(self.size, _MAX_HEAD_BYTES)))
            Inflater(self._whole, self._deflated).fill(head, 0)
            self._inflated_head = bytes(head)
        return self._inflated_head[offset : offset + n_bytes]

    def error(
        self, kind: TensorErrorKind, message: str, *, byte: int | None = None, hint: str | None = None
    ) -> TensorError:
        at = None if byte is None else byte + self._first
        if self._deflated is not None:
            at = self._deflated.first
        return TensorError(kind, message, path=self.path, byte=at, hint=hint)


def read_npz(path: Path, *, root: Path, problems: list[Problem]) -> tuple[NamedTensor, ...]:
    """The arrays of an archive in its order; costs its directory and a header an array.

    Arrays that cannot be read are problems and have no file.
    Raises TensorError: cut-off, unreadable, too-large, missing, outside-run.
    """
    found = []
    with open_source(path, root) as source:
        directory = read_directory(source)
        for member in directory.members.values():
            name = member.name.removesuffix(".npy")
            if name == member.name:
                continue
            try:
                extent = locate(source, directory, member)
                layout = read_npy(_Part(source, extent))
                if layout.dtype is None:
                    raise source.error(
                        "unreadable", "raw bytes, no record says of which type", byte=member.header_offset
                    )
            except TensorError as error:
                message = f"{safe_text(name, 120)}: {error.message}"
                problems.append(Problem(shown_path(path, root), error.kind, message, byte=error.byte))
                found.append(NamedTensor(name, None, None, None))
                continue
            file = TensorFile(
                path=path,
                offset=extent.first + layout.offset,
                dtype=layout.dtype,
                declared=layout.dtype,
                shape=layout.shape,
                strides=layout.strides,
                is_contiguous=is_contiguous(layout.shape, layout.strides),
                identity=source.identity,
                deflated=extent.deflated,
            )
            found.append(NamedTensor(name, layout.dtype.name, layout.shape, file))
        if not found:
            raise source.error("unreadable", "an archive without a .npy in it", byte=0)
    return tuple(found)
