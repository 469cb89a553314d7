"""Which earlier output a tensor input is: found inside one dump by equal content.

Content is the checksum where one was recorded, else the four statistics, with the element count (a
reshape keeps it). Constant tensors and integers without Mean and Norm say too little and link to nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from npulse.core.formats.msprobe.records import INPUT, KWARGS, OUTPUT, TENSOR, Dump
from npulse.core.formats.tensors import dtype_of

from .rows import BY_STATISTICS, BY_TENSOR, FIGURES, LINKED, Rows


@dataclass(frozen=True, slots=True)
class Links:
    """Producers of both sides (leaf rows, -1 where none), and the row of the comparison of each leaf."""

    target: npt.NDArray[np.int64]
    golden: npt.NDArray[np.int64]
    row_of_target: npt.NDArray[np.int64]
    row_of_golden: npt.NDArray[np.int64]


def link(rows: Rows) -> Links:
    """Find the producers of all inputs of both dumps."""
    pairing = rows.pairing
    return Links(
        producers(rows.target),
        producers(rows.golden),
        inverse(pairing.target_leaf, len(rows.target.leaves.call)),
        inverse(pairing.golden_leaf, len(rows.golden.leaves.call)),
    )


def inverse(places: npt.NDArray[np.int64], n: int) -> npt.NDArray[np.int64]:
    """inverse[places[i]] = i, -1 elsewhere."""
    result = np.full(n, -1, np.int64)
    used = places >= 0
    result[places[used]] = np.flatnonzero(used)
    return result


def share_measurements(rows: Rows, links: Links) -> None:
    """Give a row that only statistics speak for the figures of a measured row with the same two tensors.

    Where a consumer's elements were captured and its producer's were not (or the other way round), and both
    sides say that the two hold the same content, one measurement speaks for both.
    """
    pairing = rows.pairing
    t, g = pairing.target_leaf, pairing.golden_leaf
    both = np.flatnonzero((t >= 0) & (g >= 0))
    by_t, by_g = links.target[t[both]], links.golden[g[both]]
    linked = (by_t >= 0) & (by_g >= 0)
    consumer, by_t, by_g = both[linked], by_t[linked], by_g[linked]
    producer = links.row_of_target[by_t]
    same = (producer >= 0) & (producer == links.row_of_golden[by_g])
    consumer, producer = consumer[same], producer[same]
    for source, other in ((consumer, producer), (producer, consumer)):
        fits = (rows.basis[source] == BY_TENSOR) & (rows.basis[other] == BY_STATISTICS)
        _copy(rows, source[fits], other[fits])


def _copy(rows: Rows, source: npt.NDArray[np.int64], other: npt.NDArray[np.int64]) -> None:
    for name in FIGURES:
        rows.figures[name][other] = rows.figures[name][source]
        rows.computed[name][other] = rows.computed[name][source]
    rows.verdict[other], rows.reason[other] = rows.verdict[source], rows.reason[source]
    rows.basis[other] = LINKED


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
    floating = np.array(
        [*((d := dtype_of(n)) is not None and d.kind == "float" for n in leaves.dtypes), False]
    )
    high, low = leaves.statistics[:, 0], leaves.statistics[:, 1]
    full = leaves.present == 0b1111
    usable = (leaves.kind == TENSOR) & ~summed & (full | (floating[leaves.dtype] & (leaves.present & 3 == 3)))
    usable &= ~(high == low) & np.isfinite(high) & np.isfinite(low)
    if usable.any():
        # Norm of half types may be Infinity on a healthy tensor; as content that is as good as a number
        key = np.ascontiguousarray(
            np.concatenate(
                [np.nan_to_num(leaves.statistics[usable] + 0.0, nan=0.5), numel[usable, None]], axis=1
            )
        )
        rows = key.view(np.dtype((np.void, key.dtype.itemsize * key.shape[1]))).reshape(-1)
        codes[usable] = np.unique(rows, return_inverse=True)[1].reshape(-1) + len(numel)
    return codes
