"""Tensor files for the tests of this folder: any format, layout and place in the file; and their values."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import ml_dtypes
import numpy as np
import pytest

from npulse.core.formats.tensors import DTYPES, TensorFile
from npulse.core.formats.tensors.layout import is_contiguous, row_major_strides
from npulse.core.overflow import blocks

FLOATS = [name for name, dtype in DTYPES.items() if dtype.kind == "float"]
COMPONENTS = {"complex64": "float32", "complex128": "float64"}


def reference_dtype(name: str) -> np.dtype:
    """The format as ml_dtypes has it (numpy where it has it), which knows nothing of ours."""
    return np.dtype(getattr(ml_dtypes, name) if DTYPES[name].is_raw else name)


def limits(name: str) -> tuple[float, float]:
    """(largest finite value, smallest normal number) of a float format."""
    info = ml_dtypes.finfo(reference_dtype(name))
    return float(info.max), float(info.smallest_normal)


def telling_values(name: str) -> np.ndarray:
    """Elements on both sides of every limit of a format, of both signs where it has signs."""
    dtype = reference_dtype(name)
    largest, normal = limits(name)
    unsigned = np.dtype(f"u{dtype.itemsize}")
    with np.errstate(all="ignore"):
        edges = np.array([0, normal, largest / 2, largest, np.inf, np.nan, 1]).astype(dtype).view(unsigned)
    first = np.array([1, 2], unsigned)
    near = np.concatenate([edges, edges + unsigned.type(1), edges - unsigned.type(1), first])
    return np.concatenate([near, near ^ unsigned.type(1 << (8 * dtype.itemsize - 1))]).view(dtype)


def float_values(array: np.ndarray) -> np.ndarray:
    """The real numbers in an array (of a complex element both parts) as float64."""
    if array.dtype.kind == "c":
        array = np.stack([array.real, array.imag], axis=-1)
    with np.errstate(all="ignore"):
        return array.astype(np.float64)


@contextmanager
def tensor_file(
    array: np.ndarray,
    name: str,
    declared: str | None = None,
    *,
    offset: int = 0,
    strides: tuple[int, ...] | None = None,
    shape: tuple[int, ...] | None = None,
) -> Iterator[TensorFile]:
    """`array` written after `offset` bytes. shape, strides (in elements): a view of what was written."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "tensor"
        path.write_bytes(bytes(offset) + array.tobytes())
        shape = array.shape if shape is None else shape
        strides = row_major_strides(shape) if strides is None else strides
        yield TensorFile(
            path=path,
            offset=offset,
            dtype=DTYPES[name],
            declared=DTYPES[declared or name],
            shape=shape,
            strides=strides,
            is_contiguous=is_contiguous(shape, strides),
        )


@contextmanager
def small_maps() -> Iterator[None]:
    """Even the smallest file is mapped, and its pages are given back at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "MIN_MAPPED_BYTES", 1)
        patch.setattr(blocks, "KEPT_BYTES", 1)
        yield
