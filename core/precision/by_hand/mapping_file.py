"""What was paired by hand as a mapping file: the data mapping of msprobe, leaf by leaf.

What that cannot say (groups, calls that stand alone) is a comment.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from npulse.core.formats.msprobe.mapping import COMMENT as COMMENT
from npulse.core.formats.msprobe.mapping_write import group_line, renamed_lines
from npulse.core.formats.msprobe.records import TENSOR

from ..comparison import RankComparison
from .apply import HAND, with_hand_pairs
from .record import HandPair

_HEAD = (
    "# Calls of the target (left) and of the golden side (right) that were paired by hand.",
    "# msprobe compare -dm FILE reads the lines below; npulse reads the comments as well.",
)


def mapping_lines(
    ranks: Sequence[RankComparison], pairs: Sequence[HandPair], new: Sequence[HandPair] = ()
) -> Iterator[str]:
    """The file, line by line. ranks: compared with all of `pairs` but `new`. Each line once."""
    yield from (f"{line}\n" for line in _HEAD)
    yield from (group_line(pair.target, pair.golden) for pair in pairs)
    yield from renamed_lines(pair for rank in ranks for pair in _leaves(rank, new))


def _leaves(rank: RankComparison, new: Sequence[HandPair]) -> Iterator[tuple[str, str]]:
    """Names of tensors that are compared because the user said so."""
    pairing = with_hand_pairs(rank.rows.pairing, rank.target, rank.golden, new)
    if pairing.evidence is None:
        return
    by_hand = (pairing.evidence & HAND > 0)[pairing.row_call]
    both = by_hand & (pairing.target_leaf >= 0) & (pairing.golden_leaf >= 0)
    for row in np.flatnonzero(both).tolist():
        leaf = int(pairing.target_leaf[row])
        if int(rank.target.leaves.kind[leaf]) == TENSOR:
            yield rank.target.leaf_name(leaf), rank.golden.leaf_name(int(pairing.golden_leaf[row]))
