"""The matrix in levels: the worst of several layers is what their common cell shows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.precision.compare import compare_captures
from npulse.core.precision.pages.matrix_cells import (
    ABSENT,
    AGREES,
    HEAT,
    NOT_KNOWN,
    ORIGIN_CELL,
    matrix_cells,
    squeezed,
    starts,
    told_rows,
)
from npulse.core.precision.ranks import RankMatrix, rank_matrix
from npulse.core.precision.verdict import ERROR, PASS, UNKNOWN
from npulse.core.run.sides import pair_of

from ....tui.panes.captures import write_capture


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


def test_a_cell_with_an_origin_is_about_the_origin(tmp_path: Path) -> None:
    """Behind the origin in its own layer the error grows: the worst row is not the one to look at."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((4, 4)).astype(np.float32)
    names = [f"Module.layers.{i}.{part}.Linear.forward.0" for i in (0, 1) for part in ("a", "b")]
    for side in ("npu", "cpu"):
        bad = x + (np.float32(0.5) if side == "npu" else np.float32(0))
        worse = -bad if side == "npu" else bad
        calls = [
            *((names[0], [x], [x]), (names[1], [x], [x])),
            *((names[2], [x], [bad]), (names[3], [bad], [worse])),
        ]
        write_capture(tmp_path / side, calls)
    comparison = compare_captures(pair_of(tmp_path / "npu", tmp_path / "cpu"))
    matrix = rank_matrix(comparison)
    rank = comparison.ranks[0]

    def name_at(row: int) -> str:
        pairing = rank.rows.pairing
        return pairing.name(rank.target, rank.golden, int(pairing.row_call[row]))

    layer = matrix.layers.index("layer 1 forward")
    assert matrix.origins == ((0, layer),) and name_at(int(matrix.rows[0, layer])) == names[3]
    told = told_rows(comparison, matrix)
    assert list(told) == [(0, layer)], "all others are about their worst row"
    assert name_at(told[0, layer]) == names[2]
