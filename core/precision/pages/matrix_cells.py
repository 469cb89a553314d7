"""The rank matrix in few levels, so that the worst of several cells is the largest of their numbers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..compare import Comparison
from ..layers import layers_of_rank
from ..ranks.matrix import NOT_THERE, RankMatrix
from ..report import ordered_origins
from ..table import place_of, table_row
from ..verdict import ERROR, PASS, UNKNOWN, WARNING

ABSENT, AGREES, NOT_KNOWN, HEAT, ORIGIN_CELL = 0, 1, 2, 3, 7
"""No such layer; nothing over a threshold; nothing could be judged; HEAT ... HEAT + 3: over a threshold, by
how large the error is; an origin lies there."""
HEAT_STEPS = (1e-2, 1e-1, 0.5)
"""Relative L2 errors at which the next level begins."""

Cells = npt.NDArray[np.int8]
Rows = npt.NDArray[np.int64]


def matrix_cells(matrix: RankMatrix) -> Cells:
    """(n_ranks, n_layers) levels."""
    heat = HEAT + np.digitize(np.nan_to_num(matrix.errors, nan=0.0), HEAT_STEPS)
    levels = {NOT_THERE: ABSENT, PASS: AGREES, UNKNOWN: NOT_KNOWN}
    cells = np.where(np.isin(matrix.verdicts, (WARNING, ERROR)), heat, ABSENT).astype(np.int8)
    for verdict, level in levels.items():
        cells[matrix.verdicts == verdict] = level
    for rank, layer in matrix.origins:
        cells[rank, layer] = ORIGIN_CELL
    return cells


def told_rows(comparison: Comparison, matrix: RankMatrix) -> Rows:
    """The row of the precision table that each cell is about: the origin where one is, else the worst."""
    rows = matrix.rows.copy()
    is_told = np.zeros(rows.shape, np.bool_)
    places = {label: place for place, label in enumerate(matrix.layers)}
    for rank, origin in ordered_origins(comparison):
        if rank.step != matrix.step:
            continue
        layer_of_call, labels = layers_of_rank(rank)
        at = matrix.ranks.index(rank.rank), places[labels[int(layer_of_call[origin.call])]]
        row_call = rank.rows.pairing.row_call
        row = origin.row if origin.row >= 0 else int(np.searchsorted(row_call, origin.call))
        is_there = row < rank.rows.n_rows and int(row_call[row]) == origin.call
        if is_there and not is_told[at]:  # the first one in execution
            rows[at], is_told[at] = table_row(comparison, rank, row), True
    return rows


def cell_of_row(comparison: Comparison, matrix: RankMatrix, row: int) -> tuple[int, int] | None:
    """The cell that a row of the precision table lies in; None where it is of another step."""
    rank, inner = place_of(comparison, row)
    if rank.step != matrix.step:
        return None
    layer_of_call, labels = layers_of_rank(rank)
    label = labels[int(layer_of_call[rank.rows.pairing.row_call[inner]])]
    return matrix.ranks.index(rank.rank), matrix.layers.index(label)


def squeezed(cells: Cells, n_cells: int) -> Cells:
    """At most `n_cells` across, each the worst of the layers in it; cell i begins at `starts(...)[i]`."""
    if not cells.size or n_cells <= 0:
        return cells[:, :0]
    return np.maximum.reduceat(cells, starts(cells.shape[1], n_cells), axis=1)


def starts(n_layers: int, n_cells: int) -> npt.NDArray[np.int64]:
    """The first layer of each cell."""
    n = min(n_layers, n_cells)
    return np.arange(n, dtype=np.int64) * n_layers // max(n, 1)
