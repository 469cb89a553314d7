"""Collectives of one capture: equal on all ranks, and what the inputs give. Expected values are numpy's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .dumps import Calls, checked, own, random, write

REDUCE, CAST, GATHER = (f"Distributed.{api}.0.forward" for api in ("all_reduce", "broadcast", "all_gather"))
MODES = ("tensor", "statistics", "md5")
GROUP = {"type": "torch.ProcessGroup", "group_ranks": [0, 1, 2], "group_id": "1a2b3c4d"}


def reduced(folder: Path, made: list[Any], given_: list[Any], mode: str, group: Any = GROUP) -> Any:
    for rank, (x, y) in enumerate(zip(given_, made, strict=True)):
        write(folder / "step0" / f"rank{rank}", {REDUCE: ([x, group], [y])}, mode)
    return own(checked(folder))


@pytest.mark.parametrize("mode", MODES)
def test_the_rank_that_got_another_result(tmp_path: Path, mode: str) -> None:
    xs = [random(i) for i in range(3)]
    total = np.sum(xs, axis=0, dtype=np.float32)
    broken = total.copy()
    broken[10:20] = 3.5
    (found,) = reduced(tmp_path, [total, total, broken], xs, mode)
    assert (found.rule, found.severity, found.role) == ("precision.collective", "error", "origin")
    assert (found.subject, found.location.rank) == (REDUCE, 2)
    assert (found.figures["different_ranks"], found.figures["ranks"]) == ([2], [0, 1, 2])
    if mode == "tensor":
        assert (found.figures["first"], found.figures["last"]) == (10, 19)
        assert (found.figures["different_elements"], found.figures["n_bytes"]) == (10, 40)
        assert found.figures["rel_l2"] == pytest.approx(
            np.linalg.norm(broken.astype(float) - total) / np.linalg.norm(total.astype(float)), rel=1e-6
        )


@pytest.mark.parametrize("mode", MODES)
def test_equal_results_that_are_what_the_inputs_give_are_nothing(tmp_path: Path, mode: str) -> None:
    xs = [random(i) for i in range(3)]
    for number, total in enumerate((np.sum(xs, axis=0), np.mean(xs, axis=0), np.max(xs, axis=0))):
        made = [total.astype(np.float32)] * 3
        assert reduced(tmp_path / str(number), made, xs, mode) == []


@pytest.mark.parametrize("mode", MODES)
def test_a_result_that_is_not_what_the_inputs_give(tmp_path: Path, mode: str) -> None:
    xs = [random(i) + 1 for i in range(3)]
    without_one = [(xs[0] + xs[1]).astype(np.float32)] * 3
    (found,) = reduced(tmp_path, without_one, xs, mode)
    assert (found.rule, found.subject) == ("precision.collective", REDUCE)
    assert found.figures["times_rounding"] > 1
    assert "not what the inputs" in found.message


def test_the_way_that_was_recorded_is_the_only_right_one(tmp_path: Path) -> None:
    xs = [random(i) for i in range(2)]
    group = {**GROUP, "group_ranks": [0, 1]}
    way = {"type": "torch.distributed.ReduceOp", "value": "<RedOpType.SUM: 0>"}
    mean = np.mean(xs, axis=0).astype(np.float32)
    for rank, x in enumerate(xs):
        write(tmp_path / "step0" / f"rank{rank}", {REDUCE: ([x, way, group], [mean])})
    (found,) = own(checked(tmp_path))
    assert found.figures["op"] == "SUM"


def test_ranks_that_were_not_captured_may_be_missing_in_a_sum(tmp_path: Path) -> None:
    """The default group is not named: only another sum that is right says that all its ranks are here."""
    xs = [random(i) for i in range(3)]
    wrong = (xs[0] * 2).astype(np.float32)
    assert reduced(tmp_path / "a", [wrong] * 3, xs, "tensor", None) == []
    for rank, x in enumerate(xs):
        calls: Calls = {
            REDUCE: ([x], [np.sum(xs, axis=0, dtype=np.float32)]),
            "Distributed.all_reduce.1.forward": ([x], [wrong]),
        }
        write(tmp_path / "b" / "step0" / f"rank{rank}", calls)
    (found,) = own(checked(tmp_path / "b"))
    assert found.subject == "Distributed.all_reduce.1.forward"


def test_rounding_between_ranks_is_a_warning(tmp_path: Path) -> None:
    xs = [random(i) for i in range(3)]
    total = np.sum(xs, axis=0, dtype=np.float32)
    made = [total, total, np.nextafter(total, np.float32(9))]
    (found,) = reduced(tmp_path, made, xs, "tensor")
    assert (found.severity, found.figures["different_ranks"]) == ("warning", [2])
    assert "HCCL_DETERMINISTIC" in found.next_step


def test_two_groups_of_one_api_are_two_meetings(tmp_path: Path) -> None:
    for rank in range(4):
        group = {**GROUP, "group_ranks": [rank // 2 * 2, rank // 2 * 2 + 1]}
        total = sum(random(i) for i in group["group_ranks"]).astype(np.float32)  # type: ignore[union-attr]
        write(tmp_path / "step0" / f"rank{rank}", {REDUCE: ([random(rank), group], [total])})
    assert own(checked(tmp_path)) == []


def test_ranks_that_called_unequally_often_are_not_held_against_each_other(tmp_path: Path) -> None:
    calls: Calls = {REDUCE: ([random(1)], [random(2)])}
    write(tmp_path / "step0" / "rank0", calls)
    write(
        tmp_path / "step0" / "rank1",
        {**calls, "Distributed.all_reduce.1.forward": ([random(3)], [random(4)])},
    )
    assert own(checked(tmp_path)) == []


@pytest.mark.parametrize("mode", MODES)
def test_a_broadcast_is_what_its_source_gave_and_a_gather_what_each_gave(tmp_path: Path, mode: str) -> None:
    group, xs = {**GROUP, "group_ranks": [0, 1]}, [random(1), random(2)]

    def run(folder: Path, source: Any, parts: list[Any]) -> list[str]:
        for rank, x in enumerate(xs):
            calls: Calls = {
                CAST: ([x, 0, group], [source, 0]),
                GATHER: ([None, x, group], [parts, x]),
            }
            write(folder / "step0" / f"rank{rank}", calls, mode)
        return [f.subject for f in own(checked(folder))]

    assert run(tmp_path / "good", xs[0], xs) == []
    assert run(tmp_path / "cast", xs[1], xs) == [CAST]
    assert run(tmp_path / "swapped", xs[0], xs[::-1]) == [GATHER]


@settings(max_examples=8)
@given(
    n_ranks=st.integers(2, 5),
    dtype=st.sampled_from(("float32", "float16")),
    seed=st.integers(0, 999),
    order=st.randoms(use_true_random=False),
)
def test_sums_in_any_order_are_right(
    tmp_path_factory: pytest.TempPathFactory, n_ranks: int, dtype: str, seed: int, order: Any
) -> None:
    xs = [random(seed + i, 40, dtype=dtype) for i in range(n_ranks)]
    shuffled = list(xs)
    order.shuffle(shuffled)
    total = shuffled[0]
    for x in shuffled[1:]:
        total = (total + x).astype(dtype)
    group = {**GROUP, "group_ranks": list(range(n_ranks))}
    assert reduced(tmp_path_factory.mktemp("sum"), [total] * n_ranks, xs, "tensor", group) == []
