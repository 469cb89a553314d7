"""What ranks gave each other is followed within a step: what comes of steps is put together as it is."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from npulse.core.precision import judge
from npulse.core.precision.collectives import Walk, carry_through_collectives
from npulse.core.precision.compare import RankComparison, Settings, compare_captures
from npulse.core.run.sides import pair_of

from .. import faulty_net as fn
from ..faulty_net import Fault

Given = tuple[list[RankComparison], list[Walk]]
N_STEPS, N_RANKS = 3, 2
GROUPINGS = [(0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0), (2, 0, 1)]
"""The group of each step: all ways to part three of them."""


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Given:
    """Steps of two ranks each, with the roles of each rank by itself; another rank errs in each step."""
    ranks: list[RankComparison] = []
    walks: list[Walk] = []

    def note(some: Sequence[RankComparison], own: Sequence[Walk], known: Any = ()) -> list[RankComparison]:
        step = len(ranks) // N_RANKS
        ranks.extend(replace(rank, step=step) for rank in some)
        walks.extend(own)
        return list(some)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judge, "carry_through_collectives", note)
        for step in range(N_STEPS):
            folder = tmp_path_factory.mktemp("step")
            fault = Fault("output", "Functional.relu.0.forward")
            for side, golden in (("target", False), ("golden", True)):
                for net in fn.run_ranks(fault, step % N_RANKS, golden=golden, n_ranks=N_RANKS):
                    net.write(folder / side / "step0" / f"rank{net.rank}", "L1", "statistics")
            compare_captures(pair_of(folder / "target", folder / "golden"), Settings(jobs=1))
    return ranks, walks


def followed(given_: Given, places: Sequence[int]) -> dict[int, Any]:
    """What is told of the ranks at these places, followed as one group."""
    ranks = [replace(given_[0][p], roles=copy.deepcopy(given_[0][p].roles)) for p in places]
    found = carry_through_collectives(ranks, [given_[1][p] for p in places])
    return {
        place: (
            rank.roles.call.tolist(),
            rank.roles.row.tolist(),
            rank.roles.origins,
            {call: (places[peer], other) for call, (peer, other) in rank.carried.items()},
            dict(rank.clock),
        )
        for place, rank in zip(places, found, strict=True)
    }


def test_any_grouping_of_steps_gives_the_same(alone: Given) -> None:
    n = len(alone[0])
    whole = followed(alone, range(n))
    assert sum(len(told[2]) for told in whole.values()) == N_STEPS  # one origin a step: the others inherit
    for groups in GROUPINGS:
        together: dict[int, Any] = {}
        for group in sorted(set(groups)):
            together |= followed(alone, [place for place in range(n) if groups[place // N_RANKS] == group])
        assert together == whole
