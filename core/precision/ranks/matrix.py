"""Ranks by layers: how wrong each layer is on each rank, and where on which rank it begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from npulse.core.calls.layers import places_of
from npulse.core.progress import (
    IsCancelled,
    Progress,
    ProgressCallback,
    check,
    ignore_progress,
    never_cancelled,
)

from ..comparison import Comparison, RankComparison
from ..layers import LayersOfRanks, row_errors, worst_rows
from ..report import ordered_origins
from ..table import table_row
from ..verdict import UNKNOWN

NOT_THERE = -1
"""Verdict of a layer that a rank does not have."""


@dataclass(frozen=True, slots=True)
class RankMatrix:
    """The ranks of one step by the layers of all of them, in execution order.

    ranks: rank numbers (None where a dump has none), ascending. layers: labels as in `LayerStrip`. errors:
    (n_ranks, n_layers) relative L2 error of the worst row, 0 to 1, NaN where nothing could be compared.
    verdicts: the same shape, code of `VERDICTS` of the worst row, `NOT_THERE` where there is no such layer.
    rows: the same shape, that row in the precision table, -1. origins: (place in ranks, place in layers) of
    the origins, the one to look at first in front, each place once. layer_of_call: of each rank, the place in
    layers of its calls; ranks that make the same calls share it.
    """

    step: int | None
    ranks: tuple[int | None, ...]
    layers: tuple[str, ...]
    errors: npt.NDArray[np.float64]
    verdicts: npt.NDArray[np.int8]
    rows: npt.NDArray[np.int64]
    origins: tuple[tuple[int, int], ...] = ()
    layer_of_call: tuple[npt.NDArray[np.int64], ...] = ()

    def place_of(self, rank: RankComparison, call: int) -> tuple[int, int]:
        """The cell of a call of one of the ranks."""
        at = self.ranks.index(rank.rank)
        return at, int(self.layer_of_call[at][call])


def rank_matrix(
    comparison: Comparison,
    step: int | None = None,
    *,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> RankMatrix:
    """The matrix of one step; without `step` of the first one that has an origin, else of the first.

    A step that the comparison does not have gives a matrix without ranks. Raises Cancelled. Cost: O(rows of
    the step), and names are looked at once where all ranks make the same calls.
    """
    steps = [rank.step for rank in comparison.ranks]
    if step is None and steps:
        step = next((rank.step for rank, _ in ordered_origins(comparison)), steps[0])
    ranks = sorted(
        (rank for rank in comparison.ranks if rank.step == step),
        key=lambda rank: -1 if rank.rank is None else rank.rank,
    )
    layers, layer_of_call = _layers(ranks, is_cancelled)
    shape = (len(ranks), len(layers))
    errors = np.full(shape, np.nan)
    verdicts = np.full(shape, NOT_THERE, np.int8)
    rows = np.full(shape, -1, np.int64)
    for at, rank in enumerate(ranks):
        check(is_cancelled)
        progress(Progress("layers", at, len(ranks), "ranks"))
        layer = layer_of_call[at][rank.rows.pairing.row_call]
        error = row_errors(rank.rows)
        worst = worst_rows(rank.rows, layer, error, len(layers))
        is_there = worst >= 0  # a layer of calls without a value has nothing to compare
        verdicts[at, is_there] = rank.rows.verdict[worst[is_there]]
        rows[at, is_there] = worst[is_there] + table_row(comparison, rank, 0)
        known = rank.rows.verdict != UNKNOWN
        np.fmax.at(errors[at], layer[known], error[known])
    return RankMatrix(
        step,
        tuple(rank.rank for rank in ranks),
        layers,
        errors,
        verdicts,
        rows,
        _origins(comparison, ranks, layer_of_call),
        layer_of_call,
    )


def _layers(
    ranks: Sequence[RankComparison], is_cancelled: IsCancelled
) -> tuple[tuple[str, ...], tuple[npt.NDArray[np.int64], ...]]:
    """The layers of all ranks in one order, and of each rank the place in it of each of its calls."""
    known = LayersOfRanks()
    of_ranks: list[tuple[npt.NDArray[np.int64], list[str]]] = []
    for rank in ranks:
        check(is_cancelled)
        of_ranks.append(known.of(rank))
    orders = {id(labels): labels for _, labels in of_ranks}
    places = places_of(orders.values())
    shared: dict[int, npt.NDArray[np.int64]] = {}
    for entry_of_call, labels in of_ranks:
        if id(labels) not in shared:
            place_of_entry = np.fromiter((places[label] for label in labels), np.int64, len(labels))
            shared[id(labels)] = place_of_entry[entry_of_call] if labels else np.zeros(0, np.int64)
    return tuple(places), tuple(shared[id(labels)] for _, labels in of_ranks)


def _origins(
    comparison: Comparison,
    ranks: Sequence[RankComparison],
    layer_of_call: Sequence[npt.NDArray[np.int64]],
) -> tuple[tuple[int, int], ...]:
    places = {id(rank): at for at, rank in enumerate(ranks)}
    found: dict[tuple[int, int], None] = {}
    for rank, origin in ordered_origins(comparison):
        at = places.get(id(rank))
        if at is not None:
            found.setdefault((at, int(layer_of_call[at][origin.call])))
    return tuple(found)
