"""What torch's own kernels gave on the CPU (torch 2.13, copied from there) is right, whatever they round in
between; where nothing is left to judge, that is said."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npulse.core.recheck.model import Check
from npulse.core.recheck.run_recheck import recheck

from .dumps import Of, rounded, write

A = [1.541015625, -0.29345703125, -2.1796875, 0.568359375]
B = [-1.0849609375, -1.3984375, 0.4033203125, 0.837890625]
ROWS = [A[:2], A[2:], B[:2]]
SOFTMAX = [
    [0.912109375, 0.270263671875],
    [0.0220794677734375, 0.64013671875],
    [0.0660400390625, 0.08953857421875],
]
SMALL, SMALL_ERF = 1.2516975402832031e-06, 1.1920928955078125e-06


def one(folder: Path, api: str, args: list[Any], out: Any, **named: Any) -> Check:
    name = f"Functional.{api}.0.forward"
    return recheck(write(folder, {name: {"args": args, "kwargs": named, "out": [out]}}), name).calls[0].check


KERNELS: list[tuple[str, str, list[Any], Any, dict[str, Any]]] = [
    # (API, dtype of the output, arguments, output, keywords)
    ("sub", "bfloat16", [Of([0.10009765625, -0.30078125], "bfloat16"), 0.1], [0.0, -0.400390625], {}),
    ("pow", "bfloat16", [Of([2.84375, 45.5], "bfloat16"), 3], [22.875, 93696.0], {}),
    ("rsqrt", "bfloat16", [Of([0.11328125, 7.0], "bfloat16")], [2.96875, 0.37890625], {}),
    ("erf", "bfloat16", [Of([SMALL, 0.5], "bfloat16")], [SMALL_ERF, 0.51953125], {}),
    ("softmax", "float16", [Of(ROWS, "float16")], SOFTMAX, {"dim": 0}),
    ("mse_loss", "float16", [Of(A, "float16"), Of(B, "float16")], 3.712890625, {}),
    ("mse_loss", "float16", [Of([300.0, 0, 0, 0], "float16"), Of([0.0] * 4, "float16")], math.inf, {}),
    ("sum", "bfloat16", [Of([0.3001, 0.7003], "float32")], 1.0, {"dtype": "torch.bfloat16"}),
    ("rms_norm", "float16", [Of([[0.00099945068359375] * 3], "float16"), 3], [[0.9453125] * 3], {}),
    ("sum", "float64", [Of([1.0, 2.0], "float64")], 3.0, {}),
    ("sum", "int64", [Of([1, 2], "int64")], 3, {}),
    ("add", "int8", [Of([100, -100], "int8"), Of([100, -100], "int8")], [-56, 56], {}),
    ("argmax", "int64", [Of([1.0, 3.0, 3.0], "float16")], 2, {"dim": 0}),
]  # fmt: skip


@pytest.mark.parametrize(("api", "dtype", "args", "out", "named"), KERNELS, ids=lambda v: str(v)[:12])
def test_a_real_kernel_is_not_accused(
    tmp_path: Path, api: str, dtype: str, args: list[Any], out: Any, named: dict[str, Any]
) -> None:
    assert one(tmp_path, api, args, Of(out, dtype), **named).outcome == "within"


def test_a_product_may_be_accumulated_onto_what_is_added_to_it(tmp_path: Path) -> None:
    a, b = np.full((1, 64), 2.0**-9, np.float32), np.full((64, 1), 2.0**-9 * 1.05, np.float32)
    total = np.float32(100)
    for x, y in zip(a[0], b[:, 0], strict=True):
        total = np.float32(total + x * y)
    args = [Of([100.0], "float32"), Of(a, "float32"), Of(b, "float32")]
    assert one(tmp_path, "addmm", args, Of([[total]], "float32")).outcome == "within"
    args = [Of(a, "float32"), Of(b.T, "float32"), Of([100.0], "float32")]
    assert one(tmp_path, "linear", args, Of([[total]], "float32")).outcome == "within"


@pytest.mark.parametrize(
    ("api", "args", "out"),
    [
        ("argmax", [Of([1.0, 3.0, 3.0], "float16"), 0], Of(0, "int64")),
        ("argmax", [Of([3.0, 1.0, 2.0], "float16"), 0], Of(2, "int64")),
        ("add", [Of([100], "int8"), Of([100], "int8")], Of([-55], "int8")),
        ("sub", [Of([0.10009765625], "bfloat16"), 0.1], Of([0.0003], "bfloat16")),
        ("clamp", [Of([65504.0], "float16"), -1.0], Of([math.inf], "float16")),
        ("norm", [Of([0.0, 0.0], "float32")], Of(1.0, "float32")),
        ("std", [Of([2.0, 2.0], "float32"), 0], Of(0.5, "float32")),
    ],
)
def test_what_is_allowed_reaches_no_further(tmp_path: Path, api: str, args: list[Any], out: Of) -> None:
    assert one(tmp_path, api, args, out).outcome == "implementation"


def test_a_bound_that_allows_everything_is_no_pass(tmp_path: Path) -> None:
    """All masked with the dtype's lowest value: in bfloat16 the scores below it are lost."""
    lowest = -3.3895313892515355e38
    q, k = Of(np.ones((1, 1, 4)), "bfloat16"), Of(np.ones((1, 2, 4)), "bfloat16")
    v = Of([[[1.0] * 4, [3.0] * 4]], "bfloat16")
    check = one(
        tmp_path,
        "scaled_dot_product_attention",
        [q, k, v, Of([[lowest, lowest]], "bfloat16")],
        Of([[[50.0] * 4]], "bfloat16"),
    )
    assert (check.outcome, check.why) == ("unknown", "unbounded")
    assert check.outputs[0].n_unbounded == 4


def test_garbage_is_no_coarse_sum(tmp_path: Path) -> None:
    """Half precision over 2,048 terms explains much, but no zeros and no other rows."""
    draw = np.random.default_rng(4).normal
    x, w = rounded(draw(size=(6, 2048)), "bfloat16"), rounded(draw(size=(32, 2048)), "bfloat16")
    summed = np.zeros((6, 32))
    for a, b in zip(x.T, w.T, strict=True):
        summed = rounded(summed + np.outer(a, b), "bfloat16")
    right = rounded(x @ w.T, "bfloat16")
    for made, outcome in (
        (right, "within"),
        (summed, "coarse"),
        (0 * right, "implementation"),
        (right[::-1], "implementation"),
    ):
        check = one(tmp_path, "linear", [Of(x, "bfloat16"), Of(w, "bfloat16")], Of(made, "bfloat16"))
        assert check.outcome == outcome


def test_one_sided_sums_that_stand_still_are_coarse(tmp_path: Path) -> None:
    x = rounded(abs(np.random.default_rng(5).normal(size=(4, 1024))), "bfloat16")
    total = np.zeros(4)
    for column in x.T:
        total = rounded(total + column, "bfloat16")
    assert abs(total / x.sum(-1) - 1).max() > 0.2
    assert one(tmp_path, "sum", [Of(x, "bfloat16"), -1], Of(total, "bfloat16")).outcome == "coarse"


def test_quantised_by_one_scale_or_cut_is_named(tmp_path: Path) -> None:
    x = np.random.default_rng(6).normal(size=(3, 16)).astype(np.float32)
    scale = np.full(3, abs(x).max() / 127, np.float32)
    name = "NPU.npu_dynamic_quant.0.forward"
    made = [Of(np.rint(x / scale[:, None]), "int8"), Of(scale, "float32")]
    run = write(tmp_path, {name: {"args": [Of(x, "float32")], "out": made}})
    check = recheck(run, name).calls[0].check
    assert (check.outcome, check.words[0]) == ("call", "one scale for the whole tensor")
    name = "NPU.npu_quantize.0.forward"
    args = [Of(x, "float32"), Of([0.01] * 16, "float32"), Of([3] * 16, "int32")]
    cut = np.clip(np.trunc(x / np.float32(0.01)) + 3, -128, 127)
    run = write(tmp_path, {name: {"args": args, "kwargs": {"axis": 1}, "out": [Of(cut, "int8")]}})
    check = recheck(run, name).calls[0].check
    assert (check.outcome, check.words[0]) == ("implementation", "cut instead of rounded")


@pytest.mark.parametrize("api", ["alpha_dropout", "rrelu_", "poisson", "empty_like", "dropout"])
def test_what_is_random_is_no_fault(tmp_path: Path, api: str) -> None:
    check = one(tmp_path, api, [Of([1.0, 2.0], "float32")], Of([0.0, 4.0], "float32"))
    assert (check.outcome, check.why) == ("unknown", "random")


def test_attention_that_drops_is_random(tmp_path: Path) -> None:
    q = Of(np.ones((1, 2, 4)), "float32")
    check = one(tmp_path, "scaled_dot_product_attention", [q, q, q, None, 0.5], Of(q.values * 2, "float32"))
    assert (check.outcome, check.why) == ("unknown", "random")
