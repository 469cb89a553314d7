"""Which earlier output a tensor is: found inside one dump by equal content.

Content is the checksum where one was recorded, else the four statistics, with the element count (a
reshape keeps it). Constant tensors and integers without Mean and Norm say too little and link to nothing.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from npulse.core.calls.content import content_of, inverse, producers
from npulse.core.dataclass import dataclass

from .rows import BY_STATISTICS, BY_TENSOR, FIRST_READ, LINKED, Rows
from .splits.carried import given_on


@dataclass(frozen=True, slots=True)
class Links:
    """Per leaf of either dump: its producer (leaf row or -1), its row of the comparison, its content.

    The producer of an output is the latest earlier output that holds the same: what a module hands on from
    inside, what a copy copied. content: equal codes for equal content, -1 where the record does not say.
    """

    target: npt.NDArray[np.int64]
    golden: npt.NDArray[np.int64]
    row_of_target: npt.NDArray[np.int64]
    row_of_golden: npt.NDArray[np.int64]
    content_target: npt.NDArray[np.int64]
    content_golden: npt.NDArray[np.int64]


def link(rows: Rows) -> Links:
    """Find the producers of all inputs and outputs of both dumps."""
    pairing = rows.pairing
    content_target, content_golden = content_of(rows.target), content_of(rows.golden)
    row_of_target = inverse(pairing.target_leaf, len(rows.target.leaves.call))
    row_of_golden = inverse(pairing.golden_leaf, len(rows.golden.leaves.call))
    for row in given_on(rows):  # what is read behind a collective is what it made
        row_of_target[pairing.target_leaf[row]] = row_of_golden[pairing.golden_leaf[row]] = row
    return Links(
        producers(rows.target, content_target),
        producers(rows.golden, content_golden),
        row_of_target,
        row_of_golden,
        content_target,
        content_golden,
    )


def share_measurements(rows: Rows, links: Links) -> None:
    """Give a row that only statistics speak for the figures of a measured row with the same two tensors.

    Where a consumer's elements were captured and its producer's were not (or the other way round), and both
    sides say that the two hold the same content, one measurement speaks for both. Figures of the second read
    are left out: it comes later, but for kept results, which must not say more than those that were measured.
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
    for name in FIRST_READ:
        rows.own(name)
        rows.figures[name][other] = rows.figures[name][source]
        rows.computed[name][other] = rows.computed[name][source]
    rows.verdict[other], rows.reason[other] = rows.verdict[source], rows.reason[source]
    rows.basis[other] = LINKED
