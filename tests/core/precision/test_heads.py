"""Heads in another order: the same content, told and compared in that order; an error if results differ."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from npulse.core.precision.compare import Comparison, Settings, compare_captures
from npulse.core.precision.report import report
from npulse.core.precision.verdict import ERROR
from npulse.core.run.sides import pair_of

from .faulty_net import Fault, Net
from .split_net import attend

ORDER = np.array([3, 0, 5, 1, 4, 2])


def compared(folder: Path, target: Net, golden: Net) -> Comparison:
    for side, net in (("npu", target), ("cpu", golden)):
        net.write(folder / side / "step0" / "rank0", "L1", "tensor")
    return compare_captures(pair_of(folder / "npu", folder / "cpu"), Settings(jobs=1))


def orders(done: Comparison) -> dict[str, str]:
    rank = done.ranks[0]
    return {
        rank.target.leaf_name(rank.rows.target_row(row)): split.layout
        for row, split in rank.rows.splits.items()
    }


def test_weights_in_another_order_are_the_same_content(tmp_path: Path) -> None:
    done = compared(tmp_path, attend(Net(), ORDER), attend(Net(), None))
    assert not (done.ranks[0].rows.verdict == ERROR).any()
    assert orders(done) == {
        "Functional.linear.0.forward.input.1": "other order of 18 heads",
        "Functional.linear.0.forward.output.0": "other order of 18 heads",
        "NPU.npu_fusion_attention.0.forward.input.0": "other order of 18 heads",
        "NPU.npu_fusion_attention.0.forward.output.0": "other order of 6 heads",
        "Functional.linear.1.forward.input.0": "other order of 6 heads",
        "Functional.linear.1.forward.input.1": "other order of 6 heads",
    }
    told = report(done)
    assert told.verdict == "warn"
    finding = next(finding for finding in told.findings if finding.rule == "precision.heads")
    assert finding.figures["n_tensors"] == 6


def test_q_k_v_by_head_is_told_as_such(tmp_path: Path) -> None:
    done = compared(tmp_path, attend(Net(), None, by_head=True), attend(Net(), None))
    assert not (done.ranks[0].rows.verdict == ERROR).any()
    assert set(orders(done).values()) == {"q k v by head where golden has q, k, v (6 heads)"}


def test_an_operator_that_turns_heads_is_at_fault_where_its_consumer_differs(tmp_path: Path) -> None:
    done = compared(tmp_path, attend(Net(), ORDER, weights_too=False), attend(Net(), None))
    rank = done.ranks[0]
    names = [rank.rows.pairing.name(rank.target, rank.golden, o.call) for o in rank.roles.origins]
    assert names == ["Functional.linear.0.forward"]
    assert not orders(done)


@pytest.mark.parametrize("place", ["NPU.npu_fusion_attention.0.forward", "Functional.linear.1.forward"])
def test_a_fault_behind_reordered_weights_keeps_its_place(tmp_path: Path, place: str) -> None:
    target = attend(Net(Fault("output", place, "noise")), ORDER)
    done = compared(tmp_path, target, attend(Net(), None))
    rank = done.ranks[0]
    names = [rank.rows.pairing.name(rank.target, rank.golden, o.call) for o in rank.roles.origins]
    assert names == [place]


def test_rotary_pairs_against_halves(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    golden = rng.standard_normal((4, 6, 16)).astype(np.float32)
    target = golden.reshape(4, 6, 2, 8).swapaxes(2, 3).reshape(4, 6, 16)
    sides = []
    for side, x in (("npu", target), ("cpu", golden)):
        net = Net()
        net.call("Torch.rope", lambda x=x: np.ascontiguousarray(x), [])
        net.write(tmp_path / side / "step0" / "rank0", "L1", "tensor")
        sides.append(tmp_path / side)
    done = compare_captures(pair_of(*sides), Settings(jobs=1))
    assert orders(done) == {"Torch.rope.0.forward.output.0": "pairs where golden has halves of 16"}


def test_noise_and_reversed_elements_are_no_order_of_heads(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    golden = rng.standard_normal((24, 32)).astype(np.float32)
    for place, target in enumerate((rng.permutation(golden.reshape(-1)).reshape(24, 32), -golden)):
        folder = tmp_path / str(place)
        for side, x in (("npu", target), ("cpu", golden)):
            net = Net()
            net.call("Torch.add", lambda x=x: x, [])
            net.write(folder / side / "step0" / "rank0", "L1", "tensor")
        done = compare_captures(pair_of(folder / "npu", folder / "cpu"), Settings(jobs=1))
        assert not orders(done)
        assert (done.ranks[0].rows.verdict == ERROR).sum() == 1
