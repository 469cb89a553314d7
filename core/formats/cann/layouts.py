"""Layouts that the device keeps tensors in, and how the original tensor lies in them."""

from __future__ import annotations

import math
from dataclasses import replace

from ..tensors.layout import row_major_strides
from ..tensors.open import TensorFile
from ..tensors.tiling import Tiling
from .container import CannDump, CannTensor, tensor_file


def original_file(dump: CannDump, tensor: CannTensor) -> TensorFile | None:
    """As `tensor_file`, in the shape that the tensor has in the framework where that can be told.

    Where layout and original shape do not fit each other, or the layout is none that is known, it is the
    stored shape. Raises what `tensor_file` raises.
    """
    file = tensor_file(dump, tensor)
    tiling = None if file is None else tiling_of(tensor)
    if file is None or tiling is None:
        return file
    shape = tensor.original_shape
    return replace(file, shape=shape, strides=row_major_strides(shape), tiling=tiling)


def tiling_of(tensor: CannTensor) -> Tiling | None:
    """How the original tensor lies in the stored one; None where it is stored as it is, or cannot be told.

    Of a 4-D original both orders of the axes are tried, that of NCHW first.
    """
    original = tensor.original_shape
    if not original or min(original) <= 0 or min(tensor.shape, default=0) <= 0:
        return None
    return next((tiling for tiling in _candidates(tensor) if tiling.fits(original)), None)


def _candidates(tensor: CannTensor) -> list[Tiling]:
    stored, original, n = tensor.shape, tensor.original_shape, len(tensor.shape)
    if tensor.format in ("NC1HWC0", "NC1HWC0_C04") and n == 5:
        return [
            Tiling(stored, ((0,), (1, 4), (2,), (3,))),  # NCHW
            Tiling(stored, ((0,), (2,), (3,), (1, 4))),  # NHWC
        ]
    if tensor.format == "NDC1HWC0" and n == 6:
        return [
            Tiling(stored, ((0,), (2, 5), (1,), (3,), (4,))),  # NCDHW
            Tiling(stored, ((0,), (1,), (3,), (4,), (2, 5))),  # NDHWC
        ]
    if tensor.format.startswith("FRACTAL_NZ") and n >= 4:
        outer = tuple((axis,) for axis in range(n - 4))
        return [Tiling(stored, (*outer, (n - 3, n - 2), (n - 4, n - 1)))]
    # of a weight in groups the tiles of one group hold others' channels too
    if tensor.format == "FRACTAL_Z" and n == 4 and len(original) == 4 and tensor.sub_format <= 1:
        return [
            *_fractal_z(stored, original[2:], ((3, 4), (0, 5), (1,), (2,))),  # NCHW
            *_fractal_z(stored, original[:2], ((1,), (2,), (0, 5), (3, 4))),  # HWCN
        ]
    return []


def _fractal_z(
    stored: tuple[int, ...], window: tuple[int, ...], axes: tuple[tuple[int, ...], ...]
) -> list[Tiling]:
    """The first stored axis is C1, height and width in one."""
    n_window = math.prod(window)
    if stored[0] % n_window:
        return []
    return [Tiling((stored[0] // n_window, *window, *stored[1:]), axes)]
