"""Look-alike calls in another order under identical names, and a weight loaded into the wrong place."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ..faulty_net import Fault, Leaf
from .step_net import StepNet
from .test_every_fusion import compared, origins

LAYERS = 2


def attention(order: str, weights: str, *, is_golden: bool, fault: Fault | None = None) -> StepNet:
    """q, k and v in some order; weights: which weight each of q, k and v has been loaded with."""
    net = StepNet(fault or Fault(), ulp_noise=not is_golden, is_golden=is_golden)
    x = Leaf(np.random.default_rng(2).standard_normal((6, 8)).astype(np.float32))
    for layer in range(LAYERS):
        x = net.silu(x)
        of = dict(zip("qkv", weights, strict=True))
        made = {name: net.affine(x, net.parameter(f"{layer}.{of[name]}", 8, 8)) for name in order}
        scores = net.mul(net.matmul(made["q"], net.transpose(made["k"])), 0.3)
        x = net.matmul(net.softmax(scores), made["v"])
    return net


def pairs(target: StepNet, golden: StepNet, folder: Path) -> dict[str, str]:
    rank = compared(folder, target, golden)
    pairing = rank.rows.pairing
    return {
        rank.target.calls.names[t]: rank.golden.calls.names[g]
        for t, g in zip(pairing.target_call.tolist(), pairing.golden_call.tolist(), strict=True)
        if t >= 0 and g >= 0
    }


@pytest.mark.parametrize("order", ["kqv", "vkq", "vqk"])
def test_calls_in_another_order_are_paired_by_their_weights(tmp_path: Path, order: str) -> None:
    golden = attention("qkv", "qkv", is_golden=True)
    found = pairs(attention(order, "qkv", is_golden=False), golden, tmp_path / "pairs")
    for layer in range(LAYERS):
        for place, name in enumerate(order):
            t, g = 3 * layer + place, 3 * layer + "qkv".index(name)
            assert found[f"Functional.linear.{t}.forward"] == f"Functional.linear.{g}.forward"
    clean = compared(tmp_path / "clean", attention(order, "qkv", is_golden=False), golden)
    assert origins(clean) == []
    place = "Functional.linear.4.forward"
    wrong = attention(order, "qkv", is_golden=False, fault=Fault("output", place, "scale"))
    assert origins(compared(tmp_path / "wrong", wrong, golden)) == [place]


def test_a_weight_in_the_wrong_place_is_no_other_order(tmp_path: Path) -> None:
    """Its results go where the names say, so the names are right and the parameters are the origin."""
    golden = attention("qkv", "qkv", is_golden=True)
    rank = compared(tmp_path, attention("qkv", "kqv", is_golden=False), golden)
    pairing = rank.rows.pairing
    assert (pairing.target_call == pairing.golden_call).all()
    causes = {(o.cause, rank.rows.pairing.name(rank.target, rank.golden, o.call)) for o in rank.roles.origins}
    assert ("parameter", "Functional.linear.0.forward") in causes
