"""One tensor file of a dump: where it should be, what its record says of it, and why it cannot be used."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from npulse.core.findings import Problem
from npulse.core.formats.msprobe.records import Shape
from npulse.core.formats.tensors import TensorError, TensorFile, open_tensor


class TensorPlace(NamedTuple):
    """Where the file should be and what the dump's record declares. root: the run that holds it."""

    folder: Path
    name: str
    root: Path
    dtype: str | None
    shape: Shape | None

    @property
    def path(self) -> Path:
        return self.folder / self.name


def open_place(place: TensorPlace) -> TensorFile:
    """The tensor that lies there, nothing of its elements read; raises TensorError."""
    return open_tensor(place.path, root=place.root, declared=place.dtype, shape=place.shape)


def problem_of(error: TensorError, *places: TensorPlace) -> Problem:
    """The Problem that stands for an unreadable tensor file, its path relative to the run that holds it."""
    path = Path(error.path) if error.path else places[0].path
    root = next((place.root for place in places if path.is_relative_to(place.root)), None)
    shown = str(path) if root is None else str(path.relative_to(root))
    return Problem.from_error(error, shown)
