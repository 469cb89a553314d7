"""Archives of arrays (.npz): each member a .npy that is stored as it is, read where it lies."""

from __future__ import annotations

from pathlib import Path

from ...files import shown_path
from ...findings import Problem
from ...text import safe_text
from .error import TensorError, TensorErrorKind
from .layout import is_contiguous
from .npy import read_npy
from .open import TensorFile
from .safetensors import NamedTensor
from .source import Source, open_source
from .zipdir import locate, read_directory


class _Part(Source):
    """A run of bytes of a file as if it were one."""

    __slots__ = ("_first", "_whole")

    def __init__(self, whole: Source, first: int, size: int) -> None:
        self._whole, self._first = whole, first
        self.path, self.fd, self.size, self.identity = whole.path, -1, size, whole.identity

    def read(self, offset: int, n_bytes: int, what: str) -> bytes:
        self.need(offset, n_bytes, what)
        return self._whole.read(self._first + offset, n_bytes, what)

    def error(
        self, kind: TensorErrorKind, message: str, *, byte: int | None = None, hint: str | None = None
    ) -> TensorError:
        at = None if byte is None else byte + self._first
        return TensorError(kind, message, path=self.path, byte=at, hint=hint)


def read_npz(path: Path, *, root: Path, problems: list[Problem]) -> tuple[NamedTensor, ...]:
    """The arrays of an archive in its order; costs its directory and a header an array.

    Arrays that cannot be read are problems (compressed ones among them: `numpy.savez` does not compress) and
    have no file. Raises TensorError: cut-off, unreadable, too-large, missing, outside-run.
    """
    found = []
    with open_source(path, root) as source:
        directory = read_directory(source)
        for member in directory.members.values():
            name = member.name.removesuffix(".npy")
            if name == member.name:
                continue
            try:
                start = locate(source, directory, member)
                layout = read_npy(_Part(source, start, member.size))
                if layout.dtype is None:
                    raise source.error("unreadable", "raw bytes, no record says of which type", byte=start)
            except TensorError as error:
                message = f"{safe_text(name, 120)}: {error.message}"
                problems.append(Problem(shown_path(path, root), error.kind, message, byte=error.byte))
                found.append(NamedTensor(name, None, None, None))
                continue
            file = TensorFile(
                path=path,
                offset=start + layout.offset,
                dtype=layout.dtype,
                declared=layout.dtype,
                shape=layout.shape,
                strides=layout.strides,
                is_contiguous=is_contiguous(layout.shape, layout.strides),
                identity=source.identity,
            )
            found.append(NamedTensor(name, layout.dtype.name, layout.shape, file))
        if not found:
            raise source.error("unreadable", "an archive without a .npy in it", byte=0)
    return tuple(found)
