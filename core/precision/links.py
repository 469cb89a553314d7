"""Which earlier output a tensor input is: found inside one dump by equal content.

Content is the checksum where one was recorded, else the four statistics, with the element count (a
reshape keeps it). Constant tensors and integers without Mean and Norm say too little and link to nothing.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from npulse.core.formats.msprobe.records import INPUT, KWARGS, OUTPUT, TENSOR, Dump
from npulse.core.formats.tensors import dtype_of


def producers(dump: Dump) -> npt.NDArray[np.int64]:
    """For every leaf row: the row of the latest earlier output with the same content, -1 where none is found.

    Only tensor inputs and keyword inputs have producers. Cost: O(leaves log leaves).
    """
    leaves = dump.leaves
    result = np.full(len(leaves.side), -1, np.int64)
    if not len(result):
        return result
    content = _content(dump)
    latest: dict[int, int] = {}
    # outputs of a call become visible behind its inputs: an in-place result must not feed itself
    pending: list[tuple[int, int]] = []
    current = -1
    interesting = np.flatnonzero((content >= 0) & np.isin(leaves.side, (INPUT, KWARGS, OUTPUT)))
    calls, sides = leaves.call[interesting].tolist(), leaves.side[interesting].tolist()
    for row, call, side, key in zip(
        interesting.tolist(), calls, sides, content[interesting].tolist(), strict=True
    ):
        if call != current:
            latest.update(pending)
            pending.clear()
            current = call
        if side == OUTPUT:
            pending.append((key, row))
        else:
            result[row] = latest.get(key, -1)
    return result


def _content(dump: Dump) -> npt.NDArray[np.int64]:
    """A code per leaf row, equal for equal content; -1 where the record cannot identify a tensor."""
    leaves = dump.leaves
    numel = np.array([*(int(np.prod(s, dtype=np.int64)) for s in leaves.shapes), -1], np.int64)[leaves.shape]
    codes = np.full(len(numel), -1, np.int64)
    summed = leaves.checksum >= 0
    if summed.any():
        pairs = np.stack([leaves.checksum[summed].astype(np.int64), numel[summed]], axis=1)
        codes[summed] = np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1)
    floating = np.array([*((d := dtype_of(n)) is not None and d.kind == "float" for n in leaves.dtypes), False])
    high, low = leaves.statistics[:, 0], leaves.statistics[:, 1]
    full = leaves.present == 0b1111
    usable = (leaves.kind == TENSOR) & ~summed & (full | (floating[leaves.dtype] & (leaves.present & 3 == 3)))
    usable &= ~(high == low) & np.isfinite(high) & np.isfinite(low)
    if usable.any():
        # Norm of half types may be Infinity on a healthy tensor; as content that is as good as a number
        key = np.ascontiguousarray(
            np.concatenate([np.nan_to_num(leaves.statistics[usable] + 0.0, nan=0.5), numel[usable, None]], axis=1)
        )
        rows = key.view(np.dtype((np.void, key.dtype.itemsize * key.shape[1]))).reshape(-1)
        codes[usable] = np.unique(rows, return_inverse=True)[1].reshape(-1) + len(numel)
    return codes
