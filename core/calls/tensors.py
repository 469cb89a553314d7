"""One tensor file of a dump: where it should be, what its record says of it, and why it cannot be used."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from npulse.core.findings import Problem
from npulse.core.formats.msprobe.records import Dump, Shape
from npulse.core.formats.tensors import TensorError, TensorFile, dtype_of, open_tensor


class TensorPlace(NamedTuple):
    """Where the file should be and what the dump's record declares. root: the run that holds it.

    file: where it is known already which of the file's tensors is meant (`Dump.located`).
    """

    folder: Path
    name: str
    root: Path
    dtype: str | None
    shape: Shape | None
    file: TensorFile | None = None

    @property
    def path(self) -> Path:
        return self.folder / self.name

    def moved(self, move: Callable[[Path], Path]) -> TensorPlace:
        """The same file where another host names its folder otherwise."""
        file = self.file
        if file is not None:  # numbers of inodes are those of a host
            file = replace(file, path=move(Path(file.path)), identity=None)
        return self._replace(folder=move(self.folder), root=move(self.root), file=file)

    @property
    def path_text(self) -> str:
        """The same as text, which costs less than a path where there are thousands."""
        return os.path.join(self.folder, self.name)

    @property
    def identity(self) -> str:
        """What tells it from every other tensor of its folder, also of the same file."""
        if self.file is None:
            return self.name
        f = self.file
        member = "" if f.deflated is None else f" in {f.deflated.first}"
        place = f"{self.name}@{f.offset}{member}"
        return f"{place} {f.dtype.name} {f.declared.name} {f.shape} {f.strides} {f.tiling}"


class Places:
    """Where the elements of a dump's leaves lie; which folder that is, is looked up once."""

    __slots__ = ("_dump", "_folder", "_root")

    def __init__(self, dump: Dump, root: Path) -> None:
        self._dump, self._root, self._folder = dump, root, dump.tensor_dir

    @property
    def is_plain(self) -> bool:
        """Whether a file holds one tensor."""
        return self._dump.located is None

    def itemsizes(self, leaves: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Bytes of an element of each of these leaf rows, as declared; NaN where that is not known."""
        t = self._dump.leaves
        dtypes = [dtype_of(name) for name in t.dtypes]
        sizes = np.array([*(np.nan if dtype is None else dtype.itemsize for dtype in dtypes), np.nan])
        found: npt.NDArray[np.float64] = sizes[t.dtype[leaves]]
        return found

    def of(self, leaf: int) -> TensorPlace | None:
        """Where the elements of a leaf row should be; None where none were captured."""
        t, located = self._dump.leaves, self._dump.located
        file, dtype, shape = int(t.data_name[leaf]), int(t.dtype[leaf]), int(t.shape[leaf])
        if file < 0:
            return None
        return TensorPlace(
            self._folder,
            t.data_names[file],
            self._root,
            t.dtypes[dtype] if dtype >= 0 else None,
            t.shapes[shape] if shape >= 0 else None,
            None if located is None else located.file(leaf),
        )


def place_of(dump: Dump, leaf: int, root: Path) -> TensorPlace | None:
    """Where the elements of a leaf row should be; None where none were captured."""
    return Places(dump, root).of(leaf)


def open_place(place: TensorPlace) -> TensorFile:
    """The tensor that lies there, nothing of its elements read; raises TensorError."""
    if place.file is not None:
        return place.file
    return open_tensor(place.path_text, root=place.root, declared=place.dtype, shape=place.shape)


class Place(Protocol):
    """Where a tensor lies."""

    @property
    def path(self) -> Path: ...

    @property
    def root(self) -> Path: ...


def problem_of(error: TensorError, *places: Place) -> Problem:
    """The Problem that stands for an unreadable tensor file, its path relative to the run that holds it."""
    path = Path(error.path) if error.path else places[0].path
    root = next((place.root for place in places if path.is_relative_to(place.root)), None)
    shown = str(path) if root is None else str(path.relative_to(root))
    return Problem.from_error(error, shown)
