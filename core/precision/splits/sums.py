"""Partial sums of which only statistics are known: what the collective behind made of them tells more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from npulse.core.calls.apis import COMMUNICATION
from npulse.core.formats.msprobe.records import OUTPUT
from npulse.core.formats.tensors import dtype_of

from ..rows import Rows
from ..statistics import ADDING_UP, MEAN
from .model import Part


def told_behind_sums(rows: Rows, is_target_many: bool) -> None:
    """Partial sums of which only statistics are known: those of the collective behind stand for them.

    Its output is paired with the same tensor of the other side (see `carried`).
    """
    own, other = rows.pairing.target_leaf, rows.pairing.golden_leaf
    dump, whole = (rows.target, other) if is_target_many else (rows.golden, own)
    many = own if is_target_many else other
    sums = {row: split for row, split in rows.splits.items() if split.is_sum}
    untold = {
        int(whole[row]): row
        for row, split in sums.items()
        if any(p.dump.leaves.data_name[p.leaf] < 0 for p in (*split.target.parts, *split.golden.parts))
    }
    if not untold:
        return
    added: dict[int, int] = {}
    for row in np.flatnonzero(np.isin(whole, list(untold)) & (many >= 0)).tolist():
        leaf = int(many[row])
        name = dump.calls.names[int(dump.leaves.call[leaf])]
        if row not in sums and dump.leaves.side[leaf] == OUTPUT and name.startswith(COMMUNICATION):
            added[int(whole[row])] = leaf
    for row, split in sums.items():
        found = added.get(int(whole[row]))
        if found is not None:
            has = (int(dump.leaves.present[found]) >> np.arange(4) & 1).astype(np.bool_)
            side = split.target if is_target_many else split.golden
            if not _adds_up(side.parts, dump.leaves.statistics[found]):
                continue  # what the collective made is not their sum: it stands for itself
            told = replace(side, statistics=dump.leaves.statistics[found].copy(), has=has)
            rows.splits[row] = replace(split, target=told) if is_target_many else replace(split, golden=told)


def _adds_up(parts: Sequence[Part], made: npt.NDArray[np.float64]) -> bool:
    """Whether the mean of what a collective made can be that of the sum (or the average) of its parts."""
    table = np.stack([part.dump.leaves.statistics[part.leaf] for part in parts])
    largest = float(np.abs(table[:, :2]).max(axis=1).sum())
    if not (np.isfinite(table[:, :3]).all() and np.isfinite(made[:3]).all()):
        return True
    dtypes = [dtype_of(p.dump.leaves.dtypes[int(p.dump.leaves.dtype[p.leaf])]) for p in parts]
    roundoff = max((d.unit_roundoff for d in dtypes if d is not None), default=0.0)
    slack = (len(parts) + 2) * (roundoff + ADDING_UP) * largest
    means = table[:, MEAN]
    return bool(min(abs(made[MEAN] - means.sum()), abs(made[MEAN] - means.mean())) <= slack)
