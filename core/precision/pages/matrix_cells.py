"""The rank matrix in few levels, so that the worst of several cells is the largest of their numbers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..comparison import Comparison
from ..ranks.matrix import RankMatrix
from ..report import ordered_origins
from ..table import place_of, table_row
from ..verdict import ERROR, PASS, UNKNOWN, WARNING

ABSENT, AGREES, NOT_KNOWN, HEAT, ORIGIN_CELL = 0, 1, 2, 3, 7
"""No such layer; nothing over a threshold; nothing could be judged; HEAT ... HEAT + 3: over a threshold, by
how large the error is; an origin lies there."""
HEAT_STEPS = (1e-2, 1e-1, 0.5)
"""Relative L2 errors at which the next level begins."""

Cells = npt.NDArray[np.int8]


def matrix_cells(matrix: RankMatrix) -> Cells:
    """(n_ranks, n_layers) levels. Rank by rank: a matrix of single calls can have some ten million cells."""
    cells = np.full(matrix.verdicts.shape, ABSENT, np.int8)
    for verdicts, errors, levels in zip(matrix.verdicts, matrix.errors, cells, strict=True):
        levels[verdicts == PASS] = AGREES
        levels[verdicts == UNKNOWN] = NOT_KNOWN
        over = (verdicts == WARNING) | (verdicts == ERROR)
        levels[over] = HEAT + np.digitize(np.nan_to_num(errors[over], nan=0.0), HEAT_STEPS)
    for rank, layer in matrix.origins:
        cells[rank, layer] = ORIGIN_CELL
    return cells


def told_rows(comparison: Comparison, matrix: RankMatrix) -> dict[tuple[int, int], int]:
    """Cells that are about another row of the precision table than their worst: where an origin lies, it."""
    told: dict[tuple[int, int], int] = {}
    for rank, origin in ordered_origins(comparison):
        if rank.step != matrix.step:
            continue
        row_call = rank.rows.pairing.row_call
        row = origin.row if origin.row >= 0 else int(np.searchsorted(row_call, origin.call))
        if row < rank.rows.n_rows and int(row_call[row]) == origin.call:
            # the first one in execution
            told.setdefault(matrix.place_of(rank, origin.call), table_row(comparison, rank, row))
    return told


def cell_of_row(comparison: Comparison, matrix: RankMatrix, row: int) -> tuple[int, int] | None:
    """The cell that a row of the precision table lies in; None where it is of another step."""
    rank, inner = place_of(comparison, row)
    if rank.step != matrix.step:
        return None
    return matrix.place_of(rank, int(rank.rows.pairing.row_call[inner]))


def squeezed(cells: Cells, n_cells: int) -> Cells:
    """At most `n_cells` across, each the worst of the layers in it; cell i begins at `starts(...)[i]`."""
    if not cells.size or n_cells <= 0:
        return cells[:, :0]
    return np.maximum.reduceat(cells, starts(cells.shape[1], n_cells), axis=1)


def starts(n_layers: int, n_cells: int) -> npt.NDArray[np.int64]:
    """The first layer of each cell."""
    n = min(n_layers, n_cells)
    return np.arange(n, dtype=np.int64) * n_layers // max(n, 1)
