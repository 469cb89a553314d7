"""Ranks by layers: how wrong each layer is on each rank, and where on which rank it begins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from npulse.core.calls.layers import places_of

from ..compare import Comparison, RankComparison
from ..layers import layer_strip, layers_of_rank
from ..report import ordered_origins
from ..table import table_row

NOT_THERE = -1
"""Verdict of a layer that a rank does not have."""


@dataclass(frozen=True, slots=True)
class RankMatrix:
    """The ranks of one step by the layers of all of them, in execution order.

    ranks: rank numbers (None where a dump has none), ascending. layers: labels as in `LayerStrip`. errors:
    (n_ranks, n_layers) relative L2 error of the worst row, 0 to 1, NaN where nothing could be compared.
    verdicts: the same shape, code of `VERDICTS` of the worst row, `NOT_THERE` where there is no such layer.
    rows: the same shape, that row in the precision table, -1. origins: (place in ranks, place in layers) of
    the origins, the one to look at first in front, each place once.
    """

    step: int | None
    ranks: tuple[int | None, ...]
    layers: tuple[str, ...]
    errors: npt.NDArray[np.float64]
    verdicts: npt.NDArray[np.int8]
    rows: npt.NDArray[np.int64]
    origins: tuple[tuple[int, int], ...] = ()


def rank_matrix(comparison: Comparison, step: int | None = None) -> RankMatrix:
    """The matrix of one step; without `step` of the first one that has an origin, else of the first.

    A step that the comparison does not have gives a matrix without ranks. Cost: O(rows of the step).
    """
    steps = [rank.step for rank in comparison.ranks]
    if step is None and steps:
        step = next((rank.step for rank, _ in ordered_origins(comparison)), steps[0])
    ranks = sorted(
        (rank for rank in comparison.ranks if rank.step == step),
        key=lambda rank: -1 if rank.rank is None else rank.rank,
    )
    strips = [layer_strip(comparison, rank) for rank in ranks]
    places = places_of(strip.labels for strip in strips)
    shape = (len(ranks), len(places))
    errors = np.full(shape, np.nan)
    verdicts = np.full(shape, NOT_THERE, np.int8)
    rows = np.full(shape, -1, np.int64)
    for at, (rank, strip) in enumerate(zip(ranks, strips, strict=True)):
        start = table_row(comparison, rank, 0)
        for entry, label in enumerate(strip.labels):
            if not (strip.layer_of_row == entry).any():
                continue  # calls without a value: there is nothing to compare
            row, place = int(strip.rows[entry]), places[label]
            verdict = int(rank.rows.verdict[row - start])
            is_worse = verdicts[at, place] == NOT_THERE or _is_worse(verdict, int(verdicts[at, place]))
            if is_worse:  # a label may stand twice: a layer that runs again
                verdicts[at, place], rows[at, place] = verdict, row
            if strip.known[entry]:
                errors[at, place] = np.fmax(errors[at, place], strip.errors[entry])
    return RankMatrix(
        step,
        tuple(rank.rank for rank in ranks),
        tuple(places),
        errors,
        verdicts,
        rows,
        _origins(comparison, ranks, [strip.labels for strip in strips], places),
    )


_BY_SEVERITY = (0, 2, 3, 1)  # of verdict codes pass, warning, error, unknown


def _is_worse(verdict: int, other: int) -> bool:
    return _BY_SEVERITY[verdict] > _BY_SEVERITY[other]


def _origins(
    comparison: Comparison,
    ranks: list[RankComparison],
    labels: list[tuple[str, ...]],
    places: dict[str, int],
) -> tuple[tuple[int, int], ...]:
    found: dict[tuple[int, int], None] = {}
    for rank, origin in ordered_origins(comparison):
        at = next((i for i, one in enumerate(ranks) if one is rank), None)
        if at is None:
            continue
        layer = int(layers_of_rank(rank)[0][origin.call])
        found.setdefault((at, places[labels[at][layer]]))
    return tuple(found)
