"""Collectives of one part a rank: what each got against what all gave. Expected values are numpy's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from .dumps import checked, own, random, write

MODES = ("tensor", "statistics")
N, PART = 4, 6
GROUP = {"type": "torch.ProcessGroup", "group_ranks": list(range(N)), "group_id": "1a2b3c4d"}


def exchanged(api: str, wholes: list[Any]) -> list[Any]:
    """What each rank gets of what all gave."""
    blocks = [np.split(whole, N) for whole in wholes]
    if api == "all_gather_into_tensor":
        return [np.concatenate(wholes)] * N
    if api == "all_to_all_single":
        return [np.concatenate([blocks[j][i] for j in range(N)]) for i in range(N)]
    return [np.sum([blocks[j][i] for j in range(N)], axis=0, dtype=np.float32) for i in range(N)]


def dumped(folder: Path, api: str, given: list[Any], made: list[Any], mode: str, group: Any) -> list[Any]:
    for rank, (x, y) in enumerate(zip(given, made, strict=True)):
        write(
            folder / "step0" / f"rank{rank}",
            {f"Distributed.{api}.0.forward": ([None, x, group], [y, x])},
            mode,
        )
    return own(checked(folder))


APIS = ("reduce_scatter", "reduce_scatter_tensor", "all_gather_into_tensor", "all_to_all_single")


def case(api: str) -> tuple[list[Any], list[Any]]:
    wholes = [random(i, N * PART, 3) + i for i in range(N)]
    if api == "reduce_scatter":  # a list of parts
        return [np.split(whole, N) for whole in wholes], exchanged(api, wholes)
    return wholes, exchanged(api, wholes)


@pytest.mark.parametrize("group", [GROUP, None], ids=["named", "all ranks"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("api", APIS)
def test_right_parts_are_nothing(tmp_path: Path, api: str, mode: str, group: Any) -> None:
    given, made = case(api)
    assert dumped(tmp_path, api, given, made, mode, group) == []


@pytest.mark.parametrize("group", [GROUP, None], ids=["named", "all ranks"])
@pytest.mark.parametrize("api", APIS)
def test_a_wrong_part_is_found_with_its_rank_and_place(tmp_path: Path, api: str, group: Any) -> None:
    given, made = case(api)
    made = [np.array(y) for y in made]
    wrong = 2
    if api == "all_gather_into_tensor":
        for y in made:  # the same on all ranks, and not what rank 2 gave
            y[wrong * N * PART + 5, 1] += 1
    else:
        made[wrong].reshape(-1)[7] += 1
    (found,) = dumped(tmp_path, api, given, made, "tensor", group)
    assert (found.rule, found.role) == ("precision.collective", "origin")
    if api.startswith("reduce"):
        assert (found.location.rank, found.figures["op"]) == (wrong, "SUM")
        assert found.figures["times_rounding"] > 1
    elif api == "all_to_all_single":
        assert (found.location.rank, found.figures["rank"], found.figures["first"]) == (wrong, 0, 7)
    else:
        assert (found.figures["rank"], found.figures["first"]) == (wrong, (wrong * N * PART + 5) * 3 + 1)


@pytest.mark.parametrize("api", APIS)
def test_statistics_tell_of_a_part_that_is_missing(tmp_path: Path, api: str) -> None:
    given, made = case(api)
    (found,) = dumped(tmp_path, api, given, [y * np.float32(0.75) for y in made], "statistics", GROUP)
    assert found.figures["basis"] == "statistics"
    assert "statistics" in found.message


def test_parts_of_sizes_that_were_given_are_left_alone(tmp_path: Path) -> None:
    """An all_to_all_single with sizes: even where they are equal by chance nothing is said of the order."""
    wholes, made = case("all_to_all_single")
    for rank, (x, y) in enumerate(zip(wholes, reversed(made), strict=True)):
        given: list[Any] = [None, x, [PART] * N, [PART] * N, GROUP]
        write(tmp_path / "step0" / f"rank{rank}", {"Distributed.all_to_all_single.0.forward": (given, [y])})
    assert own(checked(tmp_path)) == []


def test_a_group_of_which_ranks_are_missing_is_left_alone(tmp_path: Path) -> None:
    given, made = case("reduce_scatter_tensor")
    for rank in range(2):
        calls = {"Distributed.reduce_scatter_tensor.0.forward": ([None, given[rank]], [made[rank] * 2])}
        write(tmp_path / "step0" / f"rank{rank}", calls)
    assert own(checked(tmp_path)) == []
