"""Tensor files: .npy and .pt opened without torch, without running code, without copying."""

from .dtypes import DTYPES, Dtype, dtype_of
from .open import TensorFile, open_tensor

__all__ = ["DTYPES", "Dtype", "TensorFile", "dtype_of", "open_tensor"]
