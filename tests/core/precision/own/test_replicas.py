"""Parameters of ranks that are copies, and those of ranks that are not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from .dumps import Calls, checked, own, random, write

MODES = ("tensor", "statistics", "md5")
N_LAYERS = 4


def layer(i: int, part: str) -> str:
    return f"Module.layers.{i}.{part}.forward.0"


def job(folder: Path, mode: str, weight_of: Any) -> list[Any]:
    """Four ranks, two parts of a split weight, each held by two of them; norms are on all."""
    for rank in range(4):
        calls: Calls = {}
        parameters: dict[str, Any] = {}
        for i in range(N_LAYERS):
            for part in ("norm.RMSNorm", "fc.Linear"):
                calls[layer(i, part)] = ([random(500 + rank)], [random(600 + rank)])
                parameters[layer(i, part).replace(".", "__")] = {"weight": weight_of(rank, i, part)}
        write(folder / "step0" / f"rank{rank}", calls, mode, **parameters)
    return own(checked(folder))


def healthy(rank: int, i: int, part: str) -> Any:
    return random(i, 16) if part.startswith("norm") else random(100 + 10 * i + rank % 2, 4, 16)


@pytest.mark.parametrize("mode", MODES)
def test_split_weights_and_other_data_are_no_fault(tmp_path: Path, mode: str) -> None:
    assert job(tmp_path, mode, healthy) == []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("part", ["norm.RMSNorm", "fc.Linear"])
def test_one_copy_that_is_another(tmp_path: Path, mode: str, part: str) -> None:
    def weights(rank: int, i: int, which: str) -> Any:
        found = healthy(rank, i, which)
        if (rank, i, which) == (3, 2, part):
            found = found.copy()
            found.reshape(-1)[3:6] = 9.0
        return found

    (one,) = job(tmp_path, mode, weights)
    assert (one.rule, one.severity, one.location.rank) == ("precision.replica", "error", 3)
    assert one.subject == f"{layer(2, part)}.parameters.weight"
    assert one.figures["different_ranks"] == [3] and one.figures["n_parameters"] == 1
    if mode == "tensor":
        assert (one.figures["first"], one.figures["last"]) == (3, 5)


def test_copies_that_drifted_apart_are_found_in_every_layer(tmp_path: Path) -> None:
    def weights(rank: int, i: int, part: str) -> Any:
        drift = np.float32(1 + 1e-4 * (rank >= 2))
        return healthy(rank, i, part) * drift

    (one,) = job(tmp_path, "statistics", weights)
    assert one.figures["n_parameters"] == 2 * N_LAYERS


def test_a_parameter_that_stands_alone_is_judged_by_all_others(tmp_path: Path) -> None:
    for rank in range(2):
        parts = [layer(i, "fc.Linear") for i in range(12)] + ["Module.embed.Embedding.forward.0"]
        weights = {name.replace(".", "__"): {"weight": random(k, 16)} for k, name in enumerate(parts)}
        if rank:
            weights["Module__embed__Embedding__forward__0"] = {"weight": random(99, 16)}
        calls: Calls = {name: ([random(500 + rank)], [random(600 + rank)]) for name in parts}
        write(tmp_path / "step0" / f"rank{rank}", calls, "md5", **weights)
    (one,) = own(checked(tmp_path))
    assert (one.rule, one.subject) == (
        "precision.replica",
        "Module.embed.Embedding.forward.0.parameters.weight",
    )


def test_of_two_halves_that_differ_nobody_can_say_which_is_wrong(tmp_path: Path) -> None:
    def weights(rank: int, i: int, part: str) -> Any:
        found = healthy(rank, i, part)
        return found + (rank >= 2) if part.startswith("norm") and i == 1 else found

    (one,) = job(tmp_path, "md5", weights)
    assert one.figures["different_ranks"] == [2, 3] and one.figures["other_rank"] == 0
    assert "ranks that are copies of each other" in one.message
