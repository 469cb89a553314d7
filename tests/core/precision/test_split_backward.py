"""Gradients of weights and inputs that several ranks hold in parts, and whose rank is at fault."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from npulse.core.precision.role_records import ORIGIN, UNMATCHED

from .faulty_net import Fault
from .split_backward import TrainedJob
from .test_splits import NO_ORIGIN, compared, layouts, origins, verdicts

COLUMN, ROW = "Functional.linear.2.backward", "Functional.linear.3.backward"
"""Of the second layer, which comes first in the backward."""


@pytest.mark.parametrize(
    ("n_target", "n_golden", "mode"),
    [(2, 1, "tensor"), (8, 1, "tensor"), (1, 4, "tensor"), (2, 1, "statistics")],
)
def test_without_a_fault_no_gradient_differs(tmp_path: Path, n_target: int, n_golden: int, mode: str) -> None:
    done = compared(tmp_path, TrainedJob(n_target), TrainedJob(n_golden, is_golden=True), mode)
    assert len(done.ranks) == n_target
    assert origins(done) == NO_ORIGIN
    assert (verdicts(done)["error"], verdicts(done)["unknown"]) == (0, 0)
    assert not any(np.isin(rank.roles.call, (ORIGIN, UNMATCHED)).any() for rank in done.ranks)
    n = max(n_target, n_golden)
    found = layouts(done, n_target - 1)
    side = {name: found.get(name) for name in found if name.startswith((COLUMN, ROW))}
    # the order of halves is seen in elements alone
    both = f"column {n} ranks" + (", interleaved gate/up" if mode == "tensor" else "")
    assert side == {
        f"{COLUMN}.input.0": both,
        f"{COLUMN}.output.0": f"partial sum of {n}",
        f"{COLUMN}.output.1": both,
        f"{COLUMN}.output.2": both,
        f"{ROW}.output.0": f"column {n} ranks",
        f"{ROW}.output.1": f"row {n} ranks",
    }


@pytest.mark.parametrize(
    ("leaf", "how", "n"),
    [
        (f"{COLUMN}.output.0", "scale", 4),  # a partial sum: whose part is wrong
        (f"{COLUMN}.output.0", "zero", 2),
        (f"{COLUMN}.output.1", "scale", 2),
        (f"{COLUMN}.output.2", "zero", 2),
        (f"{ROW}.output.0", "nan", 2),
        (f"{ROW}.output.1", "noise", 2),
    ],
)
def test_a_wrong_gradient_of_one_rank_is_named_with_its_rank(
    tmp_path: Path, leaf: str, how: str, n: int
) -> None:
    target = TrainedJob(n, Fault("gradient", leaf, how), 1)
    done = compared(tmp_path, target, TrainedJob(1, is_golden=True))
    assert origins(done) == [(1, leaf.rpartition(".output")[0], "operator")]


def test_a_wrong_sum_of_gradients_is_named(tmp_path: Path) -> None:
    """The all_reduce behind a column's gradient of its input; one rank is given something else."""
    place = "Distributed.all_reduce.2.forward"
    target = TrainedJob(2, Fault("output", place, "noise"), 1)
    done = compared(tmp_path, target, TrainedJob(1, is_golden=True))
    assert origins(done) == [(1, place, "operator")]
