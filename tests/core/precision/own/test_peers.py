"""Ranks that add up activations are given the same data; others need not be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from .dumps import Calls, checked, own, random, write

REDUCE, EMBED = "Distributed.all_reduce.0.forward", "Functional.embedding.0.forward"
TABLE = random(1, 90, 16)


def job(folder: Path, mode: str, ids_of: Any, *, n: int = 64, backward: bool = False) -> list[Any]:
    """Two groups of two ranks that add up what they made."""
    for rank in range(4):
        group = {"type": "torch.ProcessGroup", "group_ranks": [rank // 2 * 2, rank // 2 * 2 + 1]}
        xs = [random(10 + peer, n) for peer in group["group_ranks"]]  # type: ignore[union-attr]
        sums: Calls = {REDUCE: ([xs[rank % 2], group], [xs[0] + xs[1]])}
        first: Calls = {EMBED: ([ids_of(rank), TABLE], [random(50 + rank, 8, 16)])}
        behind: Calls = {"Functional.embedding.0.backward": ([random(3, 8, 16)], [random(4, 90, 16)])}
        write(folder / "step0" / f"rank{rank}", {**first, **(behind if backward else {}), **sums}, mode)
    return own(checked(folder))


def ids(seed: int) -> Any:
    return np.random.default_rng(seed).integers(0, 90, 8)


@pytest.mark.parametrize("mode", ["tensor", "md5"])
def test_groups_may_have_other_data_and_ranks_of_a_group_may_not(tmp_path: Path, mode: str) -> None:
    assert job(tmp_path / "good", mode, lambda rank: ids(rank // 2)) == []
    (one,) = job(tmp_path / "bad", mode, lambda rank: ids(rank // 2 + 5 * (rank == 3)))
    assert (one.rule, one.severity, one.subject) == ("precision.replica", "warning", f"{EMBED}.input.0")
    assert (one.location.rank, one.figures["different_ranks"], one.figures["other_rank"]) == (3, [3], 2)
    if mode == "tensor":
        assert one.figures["different_elements"] == int((ids(6) != ids(1)).sum())


def test_what_is_added_up_behind_the_forward_or_is_a_loss_says_nothing_of_the_data(tmp_path: Path) -> None:
    assert job(tmp_path / "gradients", "md5", ids, backward=True) == []
    assert job(tmp_path / "loss", "md5", ids, n=1) == []
