"""What the user says of calls goes before every evidence, and changes nothing else."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.precision.by_hand import (
    HandPair,
    PairedByHand,
    hand_problems,
    pairs_from_json,
    pairs_to_json,
    with_hand_pairs,
)
from npulse.core.precision.by_hand.apply import HAND, unknown_names
from npulse.core.precision.by_hand.mapping_file import COMMENT, mapping_lines
from npulse.core.precision.compare import RankComparison, Settings, compare_captures
from npulse.core.precision.pairing import Pairing, pair_by_name
from npulse.core.precision.report import report
from npulse.core.run.sides import pair_of

from ....tui.panes.captures import write_capture
from ..pages.unlike import by_hand, compared


def full(*names: str) -> tuple[str, ...]:
    return tuple(f"{name}.forward" for name in names)


@pytest.fixture(scope="module")
def rank(tmp_path_factory: pytest.TempPathFactory) -> RankComparison:
    return compared(tmp_path_factory.mktemp("unlike")).ranks[0]


def steps(rank: RankComparison, pairing: Pairing) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    groups = {group.call: group for group in pairing.groups}
    found = []
    for place, (t, g) in enumerate(zip(pairing.target_call, pairing.golden_call, strict=True)):
        group = groups.get(place)
        calls = ((t,) if t >= 0 else (), (g,) if g >= 0 else ())
        if group is not None:
            calls = (group.target_calls, group.golden_calls)
        dumps = (rank.target, rank.golden)
        one, other = (
            tuple(dump.calls.names[c].removesuffix(".forward") for c in side)
            for dump, side in zip(dumps, calls, strict=True)
        )
        found.append((one, other))
    return found


def paired(rank: RankComparison, *pairs: HandPair) -> Pairing:
    return with_hand_pairs(rank.rows.pairing, rank.target, rank.golden, pairs)


CLAMPS = HandPair(full("Torch.clamp.0"), full("Torch.clamp.7"))


def test_two_calls_that_stood_alone_are_a_pair_where_the_target_was(rank: RankComparison) -> None:
    before, after = rank.rows.pairing, paired(rank, CLAMPS)
    assert (("Torch.clamp.0",), ("Torch.clamp.7",)) in steps(rank, after)
    assert steps(rank, after)[:3] == steps(rank, before)[:3]
    place = steps(rank, after).index((("Torch.clamp.0",), ("Torch.clamp.7",)))
    assert after.n_calls == before.n_calls - 1 and place == 3
    assert after.confidence is not None and after.evidence is not None
    assert (after.confidence[place], after.evidence[place]) == (1.0, HAND)
    assert after.confidence[1] == 0.8 and after.recompute_of is not None and after.recompute_of[2] == 0
    rows = after.row_call == place
    names = [rank.target.leaf_name(leaf) for leaf in after.target_leaf[rows]]
    assert names == ["Torch.clamp.0.forward.input.0", "Torch.clamp.0.forward.output.0"]
    assert (after.golden_leaf[rows] >= 0).all()


def test_a_call_of_a_group_breaks_it_up_and_a_group_is_made(rank: RankComparison) -> None:
    stolen = paired(rank, HandPair(full("Torch.clamp.0"), full("Functional.silu.0")))
    found = steps(rank, stolen)
    assert (("Torch.clamp.0",), ("Functional.silu.0",)) in found and not stolen.groups
    for alone in ((("NPU.npu_swiglu.0",), ()), ((), ("Tensor.chunk.0",)), ((), ("Tensor.__mul__.0",))):
        assert alone in found
    members = full("Tensor.chunk.0", "Functional.silu.0", "Tensor.__mul__.0")
    again = with_hand_pairs(stolen, rank.target, rank.golden, [HandPair(full("NPU.npu_swiglu.0"), members)])
    group = again.groups[0]
    assert len(again.groups) == 1 and group.golden_calls == (1, 2, 3) and group.fusion == ""
    rows = again.row_call == group.call
    assert [rank.target.leaf_name(leaf).split(".")[-2:] for leaf in again.target_leaf[rows]] == [
        ["input", "0"],
        ["output", "0"],
    ]
    golden = [rank.golden.leaf_name(leaf) for leaf in again.golden_leaf[rows]]
    assert golden == ["Tensor.chunk.0.forward.input.0", "Tensor.__mul__.0.forward.output.0"]
    assert (("Torch.clamp.0",), ()) in steps(rank, again)


def test_taken_apart_both_stand_alone(rank: RankComparison) -> None:
    names = full("Functional.linear.1")
    after = paired(rank, HandPair(names, ()), HandPair((), names))
    found = steps(rank, after)
    assert (("Functional.linear.1",), ()) in found and ((), ("Functional.linear.1",)) in found
    assert after.confidence is not None and np.isnan(after.confidence[2])


def test_names_that_are_not_there_are_told_and_change_nothing(rank: RankComparison) -> None:
    pair = HandPair(full("Torch.clamp.0"), full("Torch.nowhere.0"))
    assert paired(rank, pair) is rank.rows.pairing
    dumps = [(rank.target, rank.golden)]
    assert unknown_names([pair, CLAMPS], dumps) == ["Torch.nowhere.0.forward"]
    way = PairedByHand(lambda *_: rank.rows.pairing, (pair, CLAMPS))
    (problem,) = hand_problems(way, "npu", dumps)
    assert (problem.artifact, problem.kind) == ("npu", "missing")
    assert problem.message.startswith("1 calls") and "Torch.nowhere.0.forward" in problem.message
    assert (
        hand_problems(way.first, "npu", dumps)
        == hand_problems(replace(way, pairs=(CLAMPS,)), "npu", dumps)
        == []
    )


def test_a_comparison_tells_pairs_by_hand_that_a_new_capture_lacks(tmp_path: Path) -> None:
    one = np.ones((2, 2), np.float32)
    for side in ("npu", "cpu"):
        write_capture(tmp_path / side, [("Torch.add.0.forward", [one, one], [one + one])])
    pair = pair_of(tmp_path / "npu", tmp_path / "cpu")
    gone = HandPair(full("Torch.mul.3"), full("Torch.add.0"))
    found = report(compare_captures(pair, Settings(pair_calls=PairedByHand(pair_by_name, (gone,)))))
    assert (found.verdict, len(found.problems)) == ("incomplete", 1)
    assert "Torch.mul.3.forward" in found.problems[0].message
    assert (
        report(compare_captures(pair, Settings(pair_calls=PairedByHand(pair_by_name, ())))).verdict == "pass"
    )


N_TARGET, N_GOLDEN = 5, 7


@st.composite
def said(draw: Any) -> list[tuple[list[int], list[int]]]:
    one = st.lists(st.integers(0, N_TARGET - 1), max_size=2, unique=True).map(sorted)
    other = st.lists(st.integers(0, N_GOLDEN - 1), max_size=3, unique=True).map(sorted)
    pairs: list[tuple[list[int], list[int]]] = draw(
        st.lists(st.tuples(one, other).filter(lambda p: bool(p[0] or p[1])), max_size=5)
    )
    return pairs


@given(said())
def test_every_call_stands_once_and_the_last_word_holds(
    rank: RankComparison, pairs: list[tuple[list[int], list[int]]]
) -> None:
    names = rank.target.calls.names, rank.golden.calls.names
    meant = [HandPair(tuple(names[0][t] for t in ts), tuple(names[1][g] for g in gs)) for ts, gs in pairs]
    after = paired(rank, *meant)
    found = steps(rank, after)
    for side, dump in enumerate((rank.target, rank.golden)):
        stand = sorted(name for step in found for name in step[side])
        assert stand == sorted(name.removesuffix(".forward") for name in dump.calls.names)
    assert (np.diff(after.row_call) >= 0).all()
    for side, leaves in enumerate((after.target_leaf, after.golden_leaf)):
        there = leaves[leaves >= 0]
        assert len(set(there.tolist())) == len(there), "no leaf is in two rows"
        del side
    if meant and meant[-1].is_pair:
        last = tuple(
            tuple(n.removesuffix(".forward") for n in side) for side in (meant[-1].target, meant[-1].golden)
        )
        assert last in found
    assert pairs_from_json(json.loads(json.dumps(pairs_to_json(meant)))) == tuple(meant)


@pytest.mark.parametrize(
    "found",
    [
        *(None, {}, [1], [[["a"]]], [[["a"], "b"]], [[[], []]], [[["a"], [1]]], [[["a"], [""]]]),
        *([[["a"] * 65, []]], [[["x" * 1001], []]]),
    ],
)
def test_what_was_kept_and_looks_otherwise_is_left_out(found: object) -> None:
    assert pairs_from_json(found) == ()


def test_compared_with_the_pair_its_rows_are_judged(tmp_path: Path) -> None:
    compared(tmp_path)
    pair = pair_of(tmp_path / "npu", tmp_path / "cpu")
    done = compare_captures(pair, Settings(pair_calls=PairedByHand(by_hand, (CLAMPS,))))
    rank = done.ranks[0]
    rows = np.flatnonzero(rank.rows.pairing.row_call == 3)
    assert len(rows) == 2 and (rank.rows.verdict[rows] == 0).all()
    assert rank.rows.pairing.n_calls == 5


def test_kept_as_a_file_that_msprobe_reads(rank: RankComparison) -> None:
    members = full("Tensor.chunk.0", "Functional.silu.0", "Tensor.__mul__.0")
    new = (CLAMPS, HandPair(full("NPU.npu_swiglu.0"), members), HandPair((), full("Torch.add.1")))
    lines = list(mapping_lines([rank, rank], new, new))
    pairs = [json.loads(line.removeprefix(COMMENT)) for line in lines if line.startswith(COMMENT)]
    assert pairs_from_json(pairs) == new
    mapping = [json.loads("{" + line + "}") for line in lines if not line.startswith("#")]
    assert mapping == [
        # a group is compared at its ends; every leaf stands there once, whatever the number of ranks
        {"NPU.npu_swiglu.0.forward.input.0": "Tensor.chunk.0.forward.input.0"},
        {"NPU.npu_swiglu.0.forward.output.0": "Tensor.__mul__.0.forward.output.0"},
        {"Torch.clamp.0.forward.input.0": "Torch.clamp.7.forward.input.0"},
        {"Torch.clamp.0.forward.output.0": "Torch.clamp.7.forward.output.0"},
    ]
