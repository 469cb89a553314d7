"""Inputs of a group that one side alone is given, and what may be concluded where they cannot be compared."""

from __future__ import annotations

from collections.abc import Sequence

from npulse.core.formats.msprobe.records import Dump

from .rows import Rows
from .verdict import REASON

_MASKED = -1e3
"""What a mask that is added holds where it hides: far below any score (-10000, the least number, -inf)."""


def lone_of_both(rows: Rows, given: Sequence[int]) -> bool:
    """Whether each side is given a tensor that has no like on the other: it may be the same and may not.

    Where one side alone has more, all of the other side's inputs have been compared. Masks are left out: each
    implementation has its own form of them.
    """
    lone = [row for row in given if rows.reason[row] == REASON["one-side"]]
    target = [leaf for row in lone if (leaf := rows.target_row(row)) >= 0]
    golden = [leaf for row in lone if (leaf := rows.golden_row(row)) >= 0]
    sides = ((rows.target, target), (rows.golden, golden))
    return all(any(not _is_mask(dump, leaf) for leaf in leaves) for dump, leaves in sides)


def _is_mask(dump: Dump, leaf: int) -> bool:
    """One of booleans, or of zeros and of numbers far below."""
    leaves = dump.leaves
    code = int(leaves.dtype[leaf])
    if code >= 0 and "bool" in leaves.dtypes[code].lower():
        return True
    high, low = leaves.statistics[leaf, :2].tolist()
    return bool(high == 0 and low <= _MASKED)
