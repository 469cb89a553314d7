"""Tensor files: .npy and .pt opened without torch, without running code, without copying."""

from .dtypes import DTYPES, Dtype, coarser, dtype_of, ulp, widen
from .error import TensorError, TensorErrorKind
from .open import TensorFile, TensorReader, open_tensor

__all__ = [
    "DTYPES",
    "Dtype",
    "TensorError",
    "TensorErrorKind",
    "TensorFile",
    "TensorReader",
    "coarser",
    "dtype_of",
    "open_tensor",
    "ulp",
    "widen",
]
