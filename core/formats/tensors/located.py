"""Where each leaf's tensor lies, in columns: a capture of a million tensors keeps no object for each."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from .dtypes import Dtype
from .inflate import Deflated
from .layout import Shape
from .open import TensorFile
from .source import StrPath
from .tiling import Tiling

_Layout = tuple[Dtype, Dtype, Shape, Shape, bool, Tiling | None]
_File = tuple[StrPath, tuple[int, int] | None]


class Located:
    """Tensors by leaf row. `add` in the order of rows, then `file` gives what was added."""

    __slots__ = ("_deflated", "_file", "_files", "_layout", "_layouts", "_offset", "_row", "_rows")

    def __init__(self) -> None:
        self._row, self._file, self._layout = array("q"), array("q"), array("q")
        self._offset = array("q")
        self._deflated: dict[int, Deflated] = {}  # by place: hardly ever any
        self._files: dict[_File, int] = {}
        self._layouts: dict[_Layout, int] = {}
        self._rows: tuple[npt.NDArray[np.int64], list[_File], list[_Layout]] | None = None

    def add(self, row: int, file: TensorFile) -> None:
        """The tensor of a leaf row; rows in ascending order."""
        layout = (file.dtype, file.declared, file.shape, file.strides, file.is_contiguous, file.tiling)
        if file.deflated is not None:
            self._deflated[len(self._row)] = file.deflated
        self._row.append(row)
        self._file.append(self._files.setdefault((file.path, file.identity), len(self._files)))
        self._layout.append(self._layouts.setdefault(layout, len(self._layouts)))
        self._offset.append(file.offset)
        self._rows = None

    def moved(self, move: Callable[[Path], Path]) -> Located:
        """The same tensors where another host names their files otherwise; numbers of inodes are its own."""
        found = Located()
        found._row, found._file, found._layout = self._row, self._file, self._layout
        found._offset, found._layouts = self._offset, self._layouts
        files: list[_File] = [(move(Path(path)), None) for path, _ in self._files]
        found._files = dict(zip(files, range(len(files)), strict=True))
        return found

    def file(self, row: int) -> TensorFile | None:
        """The tensor of a leaf row, None where none was added. Opens nothing."""
        if self._rows is None:
            self._rows = np.array(self._row, np.int64), list(self._files), list(self._layouts)
        rows, files, layouts = self._rows
        place = int(np.searchsorted(rows, row))
        if place == len(rows) or rows[place] != row:
            return None
        path, identity = files[self._file[place]]
        dtype, declared, shape, strides, is_contiguous, tiling = layouts[self._layout[place]]
        offset = self._offset[place]
        deflated = self._deflated.get(place)
        return TensorFile(
            path, offset, dtype, declared, shape, strides, is_contiguous, identity, tiling, None, deflated
        )
