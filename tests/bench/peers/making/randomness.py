"""Random streams that depend on a seed and an item's place alone, and number formats as files hold them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
CHUNK = 2000
"""Items that are drawn from one stream."""
SEED = 1


def stream(*place: int) -> np.random.Generator:
    return np.random.default_rng([SEED, *place])


def bfloat16_bits(values: Floats) -> npt.NDArray[np.uint16]:
    """float32 rounded to nearest even as bfloat16; NaN stays NaN."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    rounded[np.isnan(values)] = 0x7FC0
    return rounded


def stored(values: Floats, kind: str) -> Floats:
    """What a file of this number format will hold, kept as float32."""
    with np.errstate(over="ignore"):
        if kind == "fp16":
            return values.astype(np.float16).astype(np.float32)
        if kind == "bf16":
            return (bfloat16_bits(values).astype(np.uint32) << 16).view(np.float32).reshape(values.shape)
    return np.asarray(values, np.float32)
