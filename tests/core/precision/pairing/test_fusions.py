"""Fused operators against the steps that programs write for them; what fails is known by its making."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from npulse.core.precision.compare import Comparison, Settings, compare_captures
from npulse.core.precision.verdict import ERROR, UNKNOWN
from npulse.core.run.sides import pair_of

from ..faulty_net import Fault
from .fused_net import FusedNet, fused_net

KINDS = {
    "rotary-attention": ("NPU.npu_fusion_attention.1.forward", ["rotary", "rotary", "attention"]),
    "swiglu-norm": ("NPU.npu_swiglu.1.forward", ["swiglu", "rms-norm"]),
    "uncut-swiglu": ("NPU.npu_swiglu.1.forward", ["swiglu"]),
    "swiglu-of-two": ("NPU.npu_swiglu.1.forward", ["swiglu"]),
    "gelu": ("NPU.npu_gelu.1.forward", ["gelu"]),
    "experts": ("NPU.npu_grouped_matmul.1.forward", ["grouped-matmul"]),
    "square-linear": ("Functional.linear.2.forward", ["linear"]),
}
"""Kind of layer: the fused call of the second one that is made wrong, the fusions of one layer in order."""


def compared(folder: Path, target: FusedNet, golden: FusedNet, mode: str) -> Comparison:
    for name, net in (("npu", target), ("cpu", golden)):
        net.write(folder / name / "step0" / "rank", "L1", mode)
    return compare_captures(pair_of(folder / "npu", folder / "cpu"), Settings(jobs=1, second_read=False))


def origins(done: Comparison) -> list[tuple[str, str]]:
    (rank,) = done.ranks
    return [(rank.rows.pairing.name(rank.target, rank.golden, o.call), o.cause) for o in rank.roles.origins]


@pytest.mark.parametrize("kind", KINDS)
def test_groups_are_found_and_agree(tmp_path: Path, kind: str) -> None:
    """On which side the fused one is makes no difference."""
    for number, is_fused in enumerate((True, False)):
        sides = [fused_net(kind, is_fused=fused) for fused in (is_fused, not is_fused)]
        done = compared(tmp_path / str(number), *sides, mode="tensor")
        (rank,) = done.ranks
        pairing = rank.rows.pairing
        assert [group.fusion for group in pairing.groups] == 2 * KINDS[kind][1]
        assert (pairing.target_call >= 0).all() and (pairing.golden_call >= 0).all()
        assert origins(done) == []
        of_both = (pairing.target_leaf >= 0) & (pairing.golden_leaf >= 0)
        assert not np.isin(rank.rows.verdict[of_both], (ERROR, UNKNOWN)).any()


@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_fused_operator_is_the_origin(tmp_path: Path, kind: str) -> None:
    place = KINDS[kind][0]
    target = fused_net(kind, is_fused=True, fault=Fault("output", place, "scale"))
    done = compared(tmp_path, target, fused_net(kind, is_fused=False), "tensor")
    assert origins(done) == [(place, "operator")]
    if kind == "rotary-attention":
        done = compared(tmp_path / "statistics", target, fused_net(kind, is_fused=False), "statistics")
        assert origins(done) == [(place, "operator")]


def test_k_is_not_held_against_v(tmp_path: Path) -> None:
    """K transposed by no record, V of K's shape: a wrong K upstream is no reason to compare it with V."""
    place = "NPU.npu_rotary_mul.3.forward"
    target = fused_net("rotary-attention", is_fused=True, fault=Fault("output", place, "noise"))
    done = compared(tmp_path, target, fused_net("rotary-attention", is_fused=False), "tensor")
    assert origins(done) == [(place, "operator")]
