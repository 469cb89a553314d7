"""A linear against a product of the turned weight; which calls belong together is known by their making."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from npulse.core.precision.pairing.products import LINEAR
from npulse.core.precision.verdict import ERROR

from ..faulty_net import Fault, Leaf
from .step_net import StepNet
from .test_every_fusion import SIDES, compared, groups_of, origins

WIDTHS = ((8, 8), (12, 8), (8, 12), (8, 8))
WAYS = ("t", "kept turned", "addmm")


def stack(
    way: str, *, is_linear: bool, is_golden: bool, fault: Fault | None = None, extra: int = -1
) -> tuple[StepNet, list[list[str]]]:
    """Products with activations between, and the calls of each. extra: one more in front of that one."""
    net = StepNet(fault or Fault(), ulp_noise=not is_golden, is_golden=is_golden)
    x = Leaf(np.random.default_rng(5).standard_normal((6, 8)).astype(np.float32))
    calls: list[list[str]] = []
    for number, (n_out, n_in) in enumerate(WIDTHS):
        for name in ([f"more {number}"] if number == extra else []) + [f"{number}"]:
            first = len(net.order)
            weight = net.parameter(name, n_out, n_in)
            bias = [net.parameter(f"{name}.bias", n_out)] if way == "addmm" else []
            if is_linear:
                x = net.affine(x, weight, *bias)
            else:
                turned = Leaf(np.ascontiguousarray(weight.value.T))
                if way == "t":
                    turned = net.do("Tensor.t", lambda a: np.ascontiguousarray(a.T), weight)[0]
                if bias:
                    x = net.do("Torch.addmm", lambda b, a, w: a @ w + b, *bias, x, turned)[0]
                else:
                    x = net.matmul(x, turned)
            if not name.startswith("more"):
                calls.append(net.order[first:])
            x = net.silu(x)
    return net, calls


@pytest.mark.parametrize("is_linear", SIDES)
@pytest.mark.parametrize("way", WAYS)
def test_a_linear_stands_against_the_product(tmp_path: Path, way: str, is_linear: bool) -> None:
    _, calls = stack(way, is_linear=is_linear, is_golden=False)
    wrong = calls[2][-1]
    fault = Fault("output", wrong, "scale")
    target, one = stack(way, is_linear=is_linear, is_golden=False, fault=fault)
    golden, other = stack(way, is_linear=not is_linear, is_golden=True)
    rank = compared(tmp_path, target, golden)
    pairing = rank.rows.pairing
    assert groups_of(rank, "forward") == [(LINEAR, *both) for both in zip(one, other, strict=True)]
    assert (pairing.target_call >= 0).all() and (pairing.golden_call >= 0).all()
    before = pairing.row_call < pairing.groups[2].call
    assert not (rank.rows.verdict[before] == ERROR).any()
    assert origins(rank) == [wrong]


@pytest.mark.parametrize("way", WAYS)
def test_one_more_product_of_the_same_shapes_stays_alone(tmp_path: Path, way: str) -> None:
    """The weights say which is which, though all names and shapes would fit the other one too."""
    target, one = stack(way, is_linear=True, is_golden=False, extra=3)
    golden, other = stack(way, is_linear=False, is_golden=True)
    rank = compared(tmp_path, target, golden)
    assert groups_of(rank, "forward") == [(LINEAR, *both) for both in zip(one, other, strict=True)]
