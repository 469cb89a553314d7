"""Parameters sorted by how they differ: values, shape, transposed, dtype, there or not."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from npulse.core.calls.tensors import open_place, place_of
from npulse.core.formats.msprobe.records import TENSOR
from npulse.core.formats.tensors import TensorError, TensorFile

from ..blocks.pair import compare_files
from ..verdict import ERROR, PASS, REASON, WARNING

if TYPE_CHECKING:
    from ..comparison import Comparison, RankComparison

MAX_TURNED_ELEMENTS = 1 << 26
"""Elements of parameters that are read once more with their axes exchanged, in one comparison."""

Place = tuple[int, int]
"""Index of a rank in the comparison, and a row of it."""


@dataclass(slots=True)
class Parameters:
    """Rows by what is the matter with them. n: parameters of both sides or one.

    equal: the same bytes in the same dtype. rounding: within what the coarser dtype allows. converted: of the
    others that agree, those in another dtype. transposed: equal when the two axes are exchanged. values:
    plain numbers and words (iteration, learning rate) that differ. absent: what lies in a file that cannot be
    read.
    """

    n: int = 0
    n_equal: int = 0
    n_rounding: int = 0
    converted: list[Place] = field(default_factory=list)
    differing: list[Place] = field(default_factory=list)
    transposed: list[Place] = field(default_factory=list)
    shapes: list[Place] = field(default_factory=list)
    values: list[Place] = field(default_factory=list)
    only_target: list[Place] = field(default_factory=list)
    only_golden: list[Place] = field(default_factory=list)
    absent: list[Place] = field(default_factory=list)


def look_at(comparison: Comparison) -> Parameters | None:
    """The parameters of a comparison of checkpoints; None where it is none.

    Parameters whose shape is that of the other side turned are read once more, up to a bound.
    """
    ranks = comparison.ranks
    if not ranks or not all(
        dump.header.framework == "checkpoint" for rank in ranks for dump in (rank.target, rank.golden)
    ):
        return None
    found = Parameters()
    left = MAX_TURNED_ELEMENTS
    for number, rank in enumerate(ranks):
        for row in range(rank.rows.n_rows):
            left -= _sort(found, comparison, number, rank, row, left)
    return found


def _sort(
    found: Parameters, comparison: Comparison, number: int, rank: RankComparison, row: int, left: int
) -> int:
    """Puts one row where it belongs; returns how many elements were read for it."""
    rows, place = rank.rows, (number, row)
    t, g = rows.target_row(row), rows.golden_row(row)
    if t < 0 or g < 0:
        is_tensor = _is_tensor(rank, row)
        found.n += is_tensor
        if is_tensor:
            (found.only_golden if t < 0 else found.only_target).append(place)
        return 0
    if rank.target.leaves.kind[t] != TENSOR or rank.golden.leaves.kind[g] != TENSOR:
        if rows.verdict[row] in (WARNING, ERROR):
            found.values.append(place)
        return 0
    found.n += 1
    verdict, reason = int(rows.verdict[row]), int(rows.reason[row])
    target, golden = rows.dtype_pair(row)
    if verdict in (PASS, WARNING):
        is_other_dtype = target != golden
        if is_other_dtype:
            found.converted.append(place)
        if not rows.figure("n_different", row) and not is_other_dtype:
            found.n_equal += 1
        else:
            found.n_rounding += 1
        return 0
    if reason == REASON["absent"]:
        found.absent.append(place)
    if verdict != ERROR:
        return 0
    files = _turned(comparison, rank, row)
    n = 0 if files is None else files[0].n_elements
    if files is not None and 0 < n <= left and _are_equal(*files):
        found.transposed.append(place)
    elif reason == REASON["shape"]:
        found.shapes.append(place)
    else:
        found.differing.append(place)
    return n if n <= left else 0


def _is_tensor(rank: RankComparison, row: int) -> bool:
    t, g = rank.rows.target_row(row), rank.rows.golden_row(row)
    kind = rank.target.leaves.kind[t] if t >= 0 else rank.golden.leaves.kind[g]
    return bool(kind == TENSOR)


def _turned(comparison: Comparison, rank: RankComparison, row: int) -> tuple[TensorFile, TensorFile] | None:
    """Both tensors, the golden one with its axes exchanged, where they have two and so fit each other."""
    pair, rows = comparison.pair, rank.rows
    target = place_of(rank.target, rows.target_row(row), pair.root_of("target"))
    golden = place_of(rank.golden, rows.golden_row(row), pair.root_of("golden"))
    if target is None or golden is None:
        return None
    try:
        one, other = open_place(target), open_place(golden)
    except TensorError:
        return None  # told by the first read
    if len(one.shape) != 2 or one.shape != other.shape[::-1]:
        return None
    return one, replace(other, shape=other.shape[::-1], strides=other.strides[::-1], is_contiguous=False)


def _are_equal(target: TensorFile, golden: TensorFile) -> bool:
    """Whether two tensors are equal up to the rounding of the coarser dtype."""
    try:
        metrics = compare_files(target, golden)
    except TensorError:
        return False
    if metrics.nonfinite_differing or metrics.rel_l2 is None:
        return metrics.n_different == 0
    roundoff = max(target.declared.unit_roundoff, golden.declared.unit_roundoff)
    return metrics.n_different == 0 or bool(np.isfinite(metrics.rel_l2) and metrics.rel_l2 <= 2 * roundoff)
