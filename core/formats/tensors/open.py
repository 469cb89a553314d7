"""Open one dumped tensor file by content: where its elements lie, of which format and shape."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .dtypes import Dtype


@dataclass(frozen=True, slots=True)
class TensorFile:
    """A tensor on disk, nothing of its elements read yet.

    dtype: the format of the stored elements. declared: what the dump's record says (it counts: a bfloat16
    tensor may be stored as float32). strides in elements; contiguous tensors are read with `pread` from
    `offset`, others through `array()`.
    """

    path: Path
    offset: int
    dtype: Dtype
    declared: Dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    is_contiguous: bool

    @property
    def n_elements(self) -> int: ...

    @property
    def size_bytes(self) -> int: ...

    def array(self) -> npt.NDArray[Any]:
        """Memory-mapped, read-only, shaped; elements in `dtype.carrier` (raw bits for bfloat16 and float8)."""
        ...


def open_tensor(
    path: Path, *, root: Path, declared: str | None = None, shape: tuple[int, ...] | None = None
) -> TensorFile:
    """STUB. Raises InputError (path, byte where known): missing, cut, wrong shape, refused pickle, outside root."""
    raise NotImplementedError
