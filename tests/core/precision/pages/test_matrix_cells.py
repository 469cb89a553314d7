"""The matrix in levels: the worst of several layers is what their common cell shows."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.precision.pages.matrix_cells import (
    ABSENT,
    AGREES,
    HEAT,
    NOT_KNOWN,
    ORIGIN_CELL,
    matrix_cells,
    squeezed,
    starts,
)
from npulse.core.precision.ranks import RankMatrix
from npulse.core.precision.verdict import ERROR, PASS, UNKNOWN


def test_levels_by_verdict_and_size_of_the_error() -> None:
    verdicts = np.array([[PASS, ERROR, ERROR, ERROR, ERROR, UNKNOWN, -1], [ERROR, *[PASS] * 6]], np.int8)
    errors = np.array([[0.0, 0.001, 0.05, 0.2, 1.0, np.nan, np.nan], [0.9, *[1e-4] * 6]])
    labels = tuple(f"layer {i}" for i in range(7))
    rows = np.zeros(errors.shape, np.int64)
    cells = matrix_cells(RankMatrix(0, (0, 1), labels, errors, verdicts, rows, ((1, 0),)))
    assert cells.tolist() == [
        [AGREES, HEAT, HEAT + 1, HEAT + 2, HEAT + 3, NOT_KNOWN, ABSENT],
        [ORIGIN_CELL, *[AGREES] * 6],
    ]
    assert squeezed(cells, 2).tolist() == [[HEAT + 1, HEAT + 3], [ORIGIN_CELL, AGREES]]
    assert squeezed(cells, 7).tolist() == cells.tolist() == squeezed(cells, 100).tolist()


@given(st.integers(1, 300), st.integers(1, 120), st.integers(0, 7))
def test_a_cell_is_as_bad_as_its_worst_layer(n_layers: int, n_cells: int, level: int) -> None:
    rng = np.random.default_rng(n_layers)
    cells = rng.integers(0, level + 1, (2, n_layers)).astype(np.int8)
    shown = squeezed(cells, n_cells)
    begins = [*starts(n_layers, n_cells).tolist(), n_layers]
    assert shown.shape == (2, min(n_layers, n_cells))
    for place, (a, b) in enumerate(zip(begins, begins[1:], strict=False)):
        assert b > a and shown[:, place].tolist() == cells[:, a:b].max(axis=1).tolist()
