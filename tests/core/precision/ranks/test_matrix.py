"""Ranks by layers, and one call on all ranks."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from npulse.core.errors import InputError
from npulse.core.precision.compare import Comparison, Settings, compare_captures
from npulse.core.precision.layers import layer_strip
from npulse.core.precision.ranks import rank_matrix, ranks_of_call
from npulse.core.precision.table import place_of
from npulse.core.precision.verdict import ERROR, PASS
from npulse.core.run.sides import pair_of

from .. import faulty_net as fn
from ..faulty_net import Fault

BROKEN = "Functional.relu.1.forward"


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    """Three ranks of which the second alone is wrong, and the third lacks what follows."""
    with TemporaryDirectory() as folder:
        for side, golden in (("target", False), ("golden", True)):
            for rank in range(3):
                fault = Fault("output", BROKEN) if rank == 1 else Fault()
                net = fn.run_alone(fault, golden=golden, rank=rank)
                if rank == 2:
                    net.order = net.order[: net.order.index(BROKEN)]
                net.write(Path(folder, side, "step0", f"rank{rank}"), "mix", "tensor")
        return compare_captures(pair_of(Path(folder, "target"), Path(folder, "golden")), Settings(jobs=1))


def test_a_cell_is_the_worst_row_of_its_rank_and_layer(comparison: Comparison) -> None:
    matrix = rank_matrix(comparison)
    assert (matrix.step, matrix.ranks) == (0, (0, 1, 2))
    assert matrix.errors.shape == (3, len(matrix.layers))
    (first, *_) = matrix.origins
    assert matrix.ranks[first[0]] == 1 and matrix.layers[first[1]] == "layer 1 forward"
    assert matrix.verdicts[first] == ERROR
    # the error of the figure that was written: 1.5 times the golden tensor is half of it wrong
    rank, row = place_of(comparison, int(matrix.rows[first]))
    assert rank.rank == 1 and rank.rows.verdict[row] == ERROR
    assert 0.5 - 1e-6 <= matrix.errors[first] <= 1
    healthy = matrix.verdicts[0]
    assert (healthy == PASS).all() and (matrix.errors[0] == 0).all()


def test_a_layer_that_a_rank_does_not_have(comparison: Comparison) -> None:
    matrix = rank_matrix(comparison)
    strip = layer_strip(comparison, comparison.ranks[2])
    for place, layer in enumerate(matrix.layers):
        assert (matrix.verdicts[2, place] >= 0) == (layer in strip.labels)
    assert (matrix.verdicts[2] < 0).any() and np.isnan(matrix.errors[2][matrix.verdicts[2] < 0]).all()
    assert (matrix.rows[2][matrix.verdicts[2] < 0] == -1).all()


def test_a_step_that_is_not_there(comparison: Comparison) -> None:
    assert rank_matrix(comparison, 7).ranks == ()


def test_one_call_on_all_ranks(comparison: Comparison) -> None:
    found = ranks_of_call(comparison, BROKEN)
    assert (found.step, found.absent) == (0, (2,))
    told = [found.table.row(place) for place in range(found.table.n_rows)]
    made = [row for row in told if row["io"] == "output 0"]
    assert [row["rank"] for row in made] == [0, 1]
    assert [row["verdict"] for row in made] == ["pass", "error"]
    assert [row["rel_l2"] for row in made] == [0.0, pytest.approx(0.5, rel=1e-6)]
    assert made[1]["role"] == "origin" and made[1]["norm_ratio"] == pytest.approx(1.5, rel=1e-6)
    rank, row = place_of(comparison, made[1]["row"])
    assert rank.rank == 1 and rank.rows.io(row) == "output 0"


def test_a_call_that_nobody_makes(comparison: Comparison) -> None:
    with pytest.raises(InputError) as told:
        ranks_of_call(comparison, "relu.9")
    assert "relu.9" in str(told.value)
    with pytest.raises(InputError) as told:
        ranks_of_call(comparison, "Functional.relu")
    assert BROKEN in (told.value.hint or "")
