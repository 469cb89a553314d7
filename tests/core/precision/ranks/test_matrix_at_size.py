"""The matrix and one call on all ranks: right against a count by hand, and no dearer than their rows."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np
import pytest

from npulse.core.errors import Cancelled
from npulse.core.precision.layers import layers_of_rank
from npulse.core.precision.pages.matrix_cells import matrix_cells, told_rows
from npulse.core.precision.ranks import rank_matrix, ranks_of_call
from npulse.core.precision.table import table_row
from npulse.core.precision.verdict import UNKNOWN

from ..large_net import dump_of, large_comparison, names_of

T = TypeVar("T")


def cpu_of(work: Callable[[], T]) -> tuple[T, float]:
    began_s = time.process_time()
    return work(), time.process_time() - began_s


@pytest.mark.parametrize("n_layers", [0, 5])
def test_every_cell_is_what_a_count_by_hand_gives(n_layers: int) -> None:
    comparison = large_comparison(n_ranks=4, n_calls=40, n_layers=n_layers)
    rng = np.random.default_rng(n_layers)
    for rank in comparison.ranks:
        rank.rows.verdict[:] = rng.integers(0, 4, rank.rows.n_rows)
    matrix = rank_matrix(comparison)
    for at, rank in enumerate(comparison.ranks):
        of_call, labels = layers_of_rank(rank)
        for place, label in enumerate(matrix.layers):
            rows = [
                row
                for row, call in enumerate(rank.rows.pairing.row_call.tolist())
                if labels[int(of_call[call])] == label
            ]
            verdicts = rank.rows.verdict
            # of verdict codes pass, warning, error, unknown; among equals the largest error, then the first
            worst = min(
                rows,
                key=lambda row: (
                    -(0, 2, 3, 1)[int(verdicts[row])],
                    -min(rank.rows.figures["rel_l2"][row], 1.0),
                    row,
                ),
            )
            assert matrix.rows[at, place] == table_row(comparison, rank, worst)
            assert matrix.verdicts[at, place] == verdicts[worst]
            known = [min(rank.rows.figures["rel_l2"][r], 1.0) for r in rows if verdicts[r] != UNKNOWN]
            assert matrix.errors[at, place] == pytest.approx(max(known), abs=0) if known else True
            assert bool(known) == (not np.isnan(matrix.errors[at, place]))
    assert matrix.layer_of_call[0] is matrix.layer_of_call[3], "ranks that make the same calls share it"


def test_a_rank_with_other_calls_has_layers_of_its_own() -> None:
    comparison = large_comparison(n_ranks=3, n_calls=8, n_layers=4)
    names = names_of(8, 4)
    names[5] = "Functional.gelu.0.forward"  # goes with the layer before it
    middle = comparison.ranks[1]
    other = replace(middle, target=dump_of(middle.target.path, names))
    comparison = replace(comparison, ranks=(comparison.ranks[0], other, comparison.ranks[2]))
    matrix = rank_matrix(comparison)
    assert matrix.layer_of_call[1] is not matrix.layer_of_call[0]
    assert matrix.layer_of_call[2].tolist() == matrix.layer_of_call[0].tolist()
    found = ranks_of_call(comparison, names[5])
    assert found.table.column("rank").to_list(0, 9) == [1, 1] and found.absent == (0, 2)
    # looked for from the place of another rank's call, of which this rank makes another one
    near = ranks_of_call(comparison, names_of(8, 4)[5], near=5)
    assert near.table.column("rank").to_list(0, 9) == [0, 2, 0, 2] and near.absent == (1,)


def test_cancel() -> None:
    with pytest.raises(Cancelled):
        rank_matrix(large_comparison(2, 10, 0), is_cancelled=lambda: True)


@pytest.mark.budget
def test_cost_of_single_calls_as_layers() -> None:
    """Without layers in the names each call is a cell: as many cells as rows."""
    comparison = large_comparison(n_ranks=16, n_calls=20_000, n_layers=0, n_sets=2)
    matrix, cpu_s = cpu_of(lambda: rank_matrix(comparison))
    assert matrix.errors.shape == (16, 20_000)
    assert cpu_s <= 1.0, "640,000 rows"
    _, cpu_s = cpu_of(lambda: (matrix_cells(matrix), told_rows(comparison, matrix)))
    assert cpu_s <= 0.1
    name = comparison.ranks[0].target.calls.names[10_000]
    found, cpu_s = cpu_of(lambda: ranks_of_call(comparison, name, 0, near=10_000))
    assert found.table.n_rows == 32 and cpu_s <= 0.05
