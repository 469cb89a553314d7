"""Which earlier output a tensor input is: found inside one dump by equal content.

Content is the checksum where one was recorded, else the four statistics, with the element count (a
reshape keeps it). What says too little (constants, integers without Mean and Norm) links to nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from npulse.core.formats.msprobe.records import INPUT, KWARGS, OUTPUT, TENSOR, Dump
from npulse.core.formats.tensors import dtype_of


def producers(dump: Dump, content: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """For every leaf row: the row of the latest earlier output with the same content, -1 where none is found.

    Only tensor inputs, keyword inputs and outputs have producers. Cost: O(leaves log leaves).
    """
    leaves = dump.leaves
    result = np.full(len(leaves.side), -1, np.int64)
    rows = np.flatnonzero((content >= 0) & np.isin(leaves.side, (INPUT, KWARGS, OUTPUT)))
    order = np.argsort(content[rows], kind="stable")
    rows = rows[order]  # equal content together, in the order of execution
    if not len(rows):
        return result
    places = np.arange(len(rows))
    keys = content[rows]
    is_new_content = np.append(True, keys[1:] != keys[:-1])
    calls = leaves.call[rows]
    is_new_call = is_new_content | np.append(True, calls[1:] != calls[:-1])
    # outputs of a call become visible behind its leaves: an in-place result must not feed itself
    begin = np.maximum.accumulate(np.where(is_new_call, places, 0))
    latest = np.maximum.accumulate(np.where(leaves.side[rows] == OUTPUT, places, -1))
    made = np.append(-1, latest)[begin]
    is_made = made >= np.maximum.accumulate(np.where(is_new_content, places, 0))
    result[rows[is_made]] = rows[made[is_made]]
    return result


def find_producer(dump: Dump, row: int, *, with_modules: bool = False) -> int:
    """The row of the latest output in front of a call that holds what its input `row` holds; -1 if none does.

    Unlike `producers` it looks for one tensor, NaN and Inf included. with_modules: outputs of module entries
    too, which repeat those of the calls inside them. Cost: a pass over the columns.
    """
    leaves = dump.leaves
    first = int(dump.calls.first_leaf[int(leaves.call[row])])
    shape, checksum = int(leaves.shape[row]), int(leaves.checksum[row])
    if shape < 0 or leaves.present[row] & 3 != 3 and checksum < 0:
        return -1
    sizes = np.array([*(int(np.prod(s, dtype=np.int64)) for s in leaves.shapes), -1], np.int64)
    alike = (leaves.side[:first] == OUTPUT) & (sizes[leaves.shape[:first]] == sizes[shape])
    if checksum >= 0:
        alike &= leaves.checksum[:first] == checksum
    for column in range(4 if leaves.present[row] & 3 == 3 else 0):
        values, wanted = leaves.statistics[:first, column], leaves.statistics[row, column]
        alike &= np.isnan(values) if np.isnan(wanted) else values == wanted
    for found in np.flatnonzero(alike)[::-1].tolist():
        name = dump.calls.names[int(leaves.call[found])]
        if with_modules or not name.startswith(("Module.", "Cell.")):
            return int(found)
    return -1


def content_of(dump: Dump) -> npt.NDArray[np.int64]:
    """A code per leaf row, equal for equal content; -1 where the record cannot identify a tensor."""
    leaves = dump.leaves
    codes = np.full(len(leaves.side), -1, np.int64)
    if not len(codes):
        return codes
    numel = np.array([*(int(np.prod(s, dtype=np.int64)) for s in leaves.shapes), -1], np.int64)[leaves.shape]
    high, low = leaves.statistics[:, 0] + 0.0, leaves.statistics[:, 1] + 0.0
    extremes = leaves.present & 3 == 3
    tensors = (leaves.kind == TENSOR) & ~(extremes & (high == low))  # zeros are zeros wherever they come from
    summed = tensors & (leaves.checksum >= 0)
    # 32 bits of checksum collide in a large dump; with the extremes they do not
    if summed.any():
        codes[summed] = _coded(column[summed] for column in (leaves.checksum, numel, high, low))
    floating = np.array(
        [*((d := dtype_of(n)) is not None and d.kind == "float" for n in leaves.dtypes), False]
    )
    full = leaves.present == 0b1111
    # two statistics identify a float only where they are no round numbers, as the 0 and 1 of a softmax are
    telling = floating[leaves.dtype] & extremes & ((high != np.rint(high)) | (low != np.rint(low)))
    usable = tensors & ~summed & (full | telling) & np.isfinite(high) & np.isfinite(low)
    del high, low
    if usable.any():
        columns = (*leaves.statistics.T, numel)
        codes[usable] = _coded(column[usable] for column in columns) + len(codes)
    return codes


def _coded(columns: Iterable[npt.NDArray[Any]]) -> npt.NDArray[np.int64]:
    """The same number for equal rows; absent statistics equal each other."""
    codes: npt.NDArray[np.int64] | None = None
    for column in columns:
        # 0.0 and -0.0 are equal here. Norm of half types may be Infinity on a healthy tensor; as content that
        # is as good as a number
        values, own = np.unique(np.nan_to_num(column.astype(np.float64), nan=0.5), return_inverse=True)
        own = own.reshape(-1).astype(np.int64, copy=False)
        if codes is None or len(values) == 1:
            codes = own if codes is None else codes
            continue
        codes *= len(values)  # below n * n at any time: what came before is numbered anew each time
        codes += own
        codes = np.unique(codes, return_inverse=True)[1].reshape(-1).astype(np.int64, copy=False)
    assert codes is not None
    return codes


def inverse(places: npt.NDArray[np.int64], n: int) -> npt.NDArray[np.int64]:
    """inverse[places[i]] = i, the first i of equal places; -1 elsewhere."""
    result = np.full(n, -1, np.int64)
    used = np.flatnonzero(places >= 0)[::-1]
    result[places[used]] = used  # the first one is written last
    return result
