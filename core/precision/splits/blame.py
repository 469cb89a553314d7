"""Whose part is wrong where several ranks make one tensor that does not agree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from npulse.core.calls.tensors import open_place
from npulse.core.formats.msprobe.records import GRAD, OUTPUT
from npulse.core.formats.tensors import TensorError, widen

from ..blocks.kernel import BLOCK
from ..role_records import Origin
from ..rows import BY_STATISTICS, BY_TENSOR
from .model import Part, Split
from .place import place_of

if TYPE_CHECKING:
    from ..comparison import RankComparison

ALIKE, APART = 0.3, 3.0
"""The error of a sum is one rank's where it is as much like its part as this cosine, and so many times more
than like any other part."""

SPARE = 1.001
"""A part whose extremes or norm are beyond those of the whole by more than this factor is wrong."""

MAX_BYTES = 1 << 30
"""Larger sums are looked at up to so many bytes a part."""


def innocent(ranks: Sequence[RankComparison]) -> list[dict[int, tuple[int, int]]]:
    """Of each rank the calls that only show what another rank's part has wrong, with that (place, call).

    Looked at: origins at the same call of all ranks of a group, where a tensor of all of them was compared.
    """
    found: list[dict[int, tuple[int, int]]] = [{} for _ in ranks]
    for place, rank in enumerate(ranks):
        for origin in rank.roles.origins:
            if (giver := _giver_of_sum(ranks, rank, origin)) is not None:
                found[place][int(rank.rows.pairing.row_call[origin.first_row])] = giver
            row = _row_of(rank, origin)
            split = rank.rows.splits.get(row)
            if split is None or len(split.group[0]) < 2 or rank.rank not in (split.group[0][0], None):
                continue
            name = rank.rows.pairing.name(rank.target, rank.golden, origin.call)
            peers = _peers(ranks, rank, split, name)
            if len(peers) != len(split.group[0]):
                continue
            guilty = _guilty(rank, row, split)
            for number, (peer, call) in enumerate(peers):
                if guilty is not None and number != guilty:
                    found[peer][call] = peers[guilty]
    return found


def _giver_of_sum(
    ranks: Sequence[RankComparison], rank: RankComparison, origin: Origin
) -> tuple[int, int] | None:
    """The origin of another rank before a sum that nothing of this rank's own explains; None for none."""
    row = origin.first_row
    split = rank.rows.splits.get(row)
    if split is None or not split.target.cut.is_sum or rank.rows.side(row) in (OUTPUT, GRAD):
        return None
    call = int(rank.rows.pairing.row_call[row])
    for place, other in enumerate(ranks):
        if other is rank or other.step != rank.step or (other.rank or 0) not in split.group[0]:
            continue
        for cause in other.roles.origins:
            is_sum = cause.first_row in other.rows.splits and other.rows.splits[cause.first_row].is_sum
            if cause.call < call and not is_sum:
                return place, cause.call
    return None


def _row_of(rank: RankComparison, origin: Origin) -> int:
    is_made = origin.row >= 0 and origin.cause in ("operator", "drift")
    return origin.row if is_made and rank.rows.side(origin.row) in (OUTPUT, GRAD) else -1


def _peers(
    ranks: Sequence[RankComparison], rank: RankComparison, split: Split, name: str
) -> list[tuple[int, int]]:
    """(place, call) of each rank of the group that has an origin at the same call, in the group's order."""
    found = []
    for number in split.group[0]:
        for place, other in enumerate(ranks):
            if (other.rank or 0) == number and other.step == rank.step:
                found += [
                    (place, origin.call)
                    for origin in other.roles.origins
                    if other.rows.pairing.name(other.target, other.golden, origin.call) == name
                ][:1]
    return found


def _guilty(rank: RankComparison, row: int, split: Split) -> int | None:
    """The place in the group of the part that is wrong; None where that cannot be told."""
    if rank.rows.basis[row] == BY_TENSOR and split.target.cut.is_sum:
        try:
            return _by_elements(split.parts, split.golden.parts[0])
        except (TensorError, ValueError):
            return None
    if rank.rows.basis[row] == BY_STATISTICS:
        return _by_statistics(split.parts, split.golden.parts[0])
    return None


def _by_elements(parts: Sequence[Part], whole: Part) -> int | None:
    from ..blocks.pair import reader_of

    with ExitStack() as stack, np.errstate(all="ignore"):
        files = [open_place(place_of(part)) for part in (*parts, whole)]
        readers = [reader_of(file, stack) for file in files]
        n = min(file.n_elements for file in files)
        n = min(n, MAX_BYTES // max(file.dtype.itemsize for file in files))
        products, squares = np.zeros(len(parts)), np.zeros(len(parts))
        of_error, bad = 0.0, np.zeros(len(parts), np.int64)
        for first in range(0, n, BLOCK):
            size = min(BLOCK, n - first)
            blocks = [
                widen(read(first, size), file.dtype).astype(np.float64)
                for read, file in zip(readers, files, strict=True)
            ]
            finite = np.logical_and.reduce([np.isfinite(block) for block in blocks])
            bad += [int((~np.isfinite(block)).sum()) for block in blocks[:-1]]
            table = np.where(finite, np.stack(blocks[:-1]), 0.0)
            error = table.sum(axis=0) - np.where(finite, blocks[-1], 0.0)
            products += table @ error
            squares += (table * table).sum(axis=1)
            of_error += float(error @ error)
    if bad.any():
        return _only(bad > 0)
    if (squares == 0).any():
        return _only(squares == 0)
    if of_error == 0:
        return None
    alike = np.abs(products) / np.sqrt(squares * of_error)
    order = np.argsort(-alike)
    is_clear = alike[order[0]] >= ALIKE and alike[order[0]] >= APART * alike[order[1]]
    return int(order[0]) if is_clear else None


def _by_statistics(parts: Sequence[Part], whole: Part) -> int | None:
    golden = whole.dump.leaves.statistics[whole.leaf]
    table = np.stack([part.dump.leaves.statistics[part.leaf] for part in parts])
    bad = ~np.isfinite(table[:, :2]).all(axis=1)
    if bad.any() and np.isfinite(golden[:2]).all():
        return _only(bad)
    if len(parts) < 2 or not all(math.isfinite(v) for v in (*golden, *table.reshape(-1))):
        return None
    reach = max(abs(golden[0]), abs(golden[1])) * (SPARE - 1)
    beyond = (table[:, 0] > golden[0] + reach) | (table[:, 1] < golden[1] - reach)
    beyond |= table[:, 3] > golden[3] * SPARE
    return _only(beyond)


def _only(which: npt.NDArray[np.bool_]) -> int | None:
    """The one that is set, None for none and for several."""
    places = np.flatnonzero(which)
    return int(places[0]) if len(places) == 1 else None
