"""Quantising and quantised products, against integers of Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npulse.core.recheck.number import Inside, Number
from npulse.core.recheck.registry import reference_of_api
from npulse.core.recheck.run_recheck import recheck

from .dumps import Of, rounded, write

EXACT = Inside(2.0**-52, 2.0**-1022)
RANDOM = np.random.default_rng(7)


def number(array: Any, dtype: str = "") -> Number:
    return Number(np.asarray(array, np.float64), EXACT, 0.0, "int" in dtype, dtype)


def of(name: str) -> Any:
    reference = reference_of_api(name)
    assert reference is not None
    return reference.function


def test_npu_quantize_by_channel_and_with_an_offset() -> None:
    x, scales, zeros = (
        RANDOM.normal(size=(3, 4)) * 9,
        np.array([0.1, 0.05, 0.2, 0.01]),
        np.array([1, 0, -2, 3.0]),
    )
    made = of("npu_quantize")(number(x), number(scales), number(zeros), "torch.qint8", 1)
    for place in np.ndindex(x.shape):
        expected = x[place] / scales[place[1]] + zeros[place[1]]
        assert made.value[place] == pytest.approx(min(max(expected, -128), 127), rel=1e-14)
    by_token = of("npu_quantize")(number(x), number(np.array([2.0, 3.0, 4.0])), None, None, 0, False)
    np.testing.assert_allclose(by_token.value[2], np.clip(x[2] * 4, -128, 127))


def test_npu_dynamic_quant() -> None:
    x = RANDOM.normal(size=(2, 3, 8))
    x[0, 1] = 0
    made, scale = of("npu_dynamic_quant")(number(x))
    assert scale.shape == (2, 3) and not made.value[0, 1].any() and scale.value[0, 1] == 0
    for place in ((0, 0), (1, 2)):
        top = max(abs(float(v)) for v in x[place])
        assert scale.value[place] == pytest.approx(top / 127, rel=1e-14)
        np.testing.assert_allclose(made.value[place], x[place] / (top / 127), rtol=1e-13)
    smooth = RANDOM.uniform(0.5, 2, size=8)
    again, _ = of("npu_dynamic_quant")(number(x), number(smooth))
    np.testing.assert_allclose(again.value[1], of("npu_dynamic_quant")(number(x * smooth))[0].value[1])


def test_npu_dynamic_quant_asymmetric() -> None:
    x = RANDOM.normal(size=(2, 8)) + 3
    made, scale, offset = of("npu_dynamic_quant_asymmetric")(number(x))
    step = (x[1].max() - x[1].min()) / 255
    assert scale.value[1] == pytest.approx(step) and offset.value[1] == pytest.approx(127 - x[1].max() / step)
    assert made.value[1].max() == pytest.approx(127) and made.value[1].min() == pytest.approx(-128)


X1 = RANDOM.integers(-128, 128, size=(3, 16))
X2 = RANDOM.integers(-128, 128, size=(16, 5))
SUMS = [[sum(int(a) * int(b) for a, b in zip(row, column, strict=True)) for column in X2.T] for row in X1]


def test_npu_quant_matmul() -> None:
    scale, tokens, bias = (
        RANDOM.uniform(0.001, 0.01, 5),
        RANDOM.uniform(0.5, 2, 3),
        RANDOM.integers(-50, 50, 5),
    )
    made = of("npu_quant_matmul")(
        number(X1, "int8"),
        number(X2, "int8"),
        number(scale),
        pertoken_scale=number(tokens),
        bias=number(bias, "int32"),
    )
    for i, j in np.ndindex(3, 5):
        expected = (SUMS[i][j] + int(bias[j])) * float(scale[j]) * float(tokens[i])
        assert made.value[i, j] == pytest.approx(expected, rel=1e-14)
    floating = of("npu_quant_matmul")(
        number(X1, "int8"), number(X2, "int8"), number([0.5]), number([3.0]), bias=number(bias)
    )
    assert floating.value[2, 1] == SUMS[2][1] * 0.5 + bias[1] + 3


def test_a_scale_in_64_bits() -> None:
    scale = np.array([0.25, 0.003], np.float32)
    packed = scale.view(np.uint32).astype(np.int64) | (1 << 46)
    made = of("npu_quant_matmul")(number(X1, "int8"), number(X2[:, :2], "int8"), number(packed, "int64"))
    np.testing.assert_allclose(made.value, np.array(SUMS)[:, :2] * scale.astype(float), rtol=1e-14)


def test_npu_weight_quant_batchmatmul() -> None:
    x, scale, offset = RANDOM.normal(size=(3, 16)), RANDOM.uniform(0.01, 0.1, 5), RANDOM.normal(size=5)
    made = of("npu_weight_quant_batchmatmul")(number(x), number(X2, "int8"), number(scale), number(offset))
    np.testing.assert_allclose(made.value, x @ ((X2 + offset) * scale), rtol=1e-12)
    grouped = RANDOM.uniform(0.01, 0.1, (2, 5))
    made = of("npu_weight_quant_batchmatmul")(
        number(x), number(X2, "int8"), number(grouped), antiquant_group_size=8
    )
    np.testing.assert_allclose(made.value, x @ (X2 * np.repeat(grouped, 8, 0)), rtol=1e-12)
    back = of("npu_anti_quant")(number(X2, "int8"), number(scale), offset=number(offset))
    np.testing.assert_allclose(back.value, (X2 + offset) * scale, rtol=1e-14)


def test_both_integers_beside_the_middle_are_right_and_the_next_one_is_not(tmp_path: Path) -> None:
    x = np.array([[0.25, 0.35, -0.25, 1.0]])
    name = "NPU.npu_quantize.0.forward"
    for made, outcome in (
        ([[2, 4, -2, 10]], "within"),
        ([[3, 3, -3, 10]], "within"),
        ([[2, 4, -2, 11]], "implementation"),
    ):
        args = [Of(x, "float32"), Of([0.1], "float32"), None, "torch.qint8", 1]
        run = write(tmp_path, {name: {"args": args, "out": [Of(made, "int8")]}})
        assert recheck(run, name).calls[0].check.outcome == outcome, made


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("pertoken_scale", "without pertoken_scale"),
        ("bias", "without bias"),
        ("transposed", "the weight transposed"),
    ],
)
def test_a_quantised_product_called_otherwise(fault: str, words: str, tmp_path: Path) -> None:
    weight = RANDOM.integers(-128, 128, size=(16, 16))
    scale = rounded(RANDOM.uniform(1e-4, 1e-3, 16), "float32")
    tokens, bias = rounded(RANDOM.uniform(0.5, 2, 3), "float32"), RANDOM.integers(-900, 900, 16)
    sums = X1 @ (weight.T if fault == "transposed" else weight) + (0 if fault == "bias" else bias)
    made = sums * scale * (1 if fault == "pertoken_scale" else tokens[:, None])
    call = {
        "args": [Of(X1, "int8"), Of(weight, "int8"), Of(scale, "float32")],
        "kwargs": {"pertoken_scale": Of(tokens, "float32"), "bias": Of(bias, "int32")},
        "out": [Of(rounded(made, "float16"), "float16")],
    }
    name = "NPU.npu_quant_matmul.0.forward"
    check = recheck(write(tmp_path, {name: call}), name).calls[0].check
    assert (check.outcome, check.words[0]) == ("call", words)
