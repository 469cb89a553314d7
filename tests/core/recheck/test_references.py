"""Every reference against torch in float64 (expected.json), or against loops over single numbers."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npulse.core.recheck.number import Inside, Number
from npulse.core.recheck.registry import (
    Reference,
    known_names,
    reference_of_api,
    reference_of_class,
)

EXACT = Inside(2.0**-52, 2.0**-1022)
IN_FLOAT32 = Inside(2.0**-24)
PLAIN = Inside(2.0**-24, carrier="float32", is_plain=True)
CASES = json.loads(Path(__file__).with_name("expected.json").read_text(encoding="utf-8"))


def lifted(value: Any, inside: Inside) -> Any:
    if isinstance(value, dict) and "tensor" in value:
        is_integer = not value["dtype"].startswith("float")
        carrier = "float64" if is_integer else inside.carrier
        array = np.array(value["tensor"], carrier).reshape(value["shape"])
        return Number(array, inside, 0.0, is_integer, value["dtype"])
    if isinstance(value, list):
        return [lifted(item, inside) for item in value]
    if isinstance(value, dict):
        return {key: lifted(item, inside) for key, item in value.items()}
    return value


def computed(reference: Reference, case: dict[str, Any], inside: Inside) -> list[Number]:
    found = reference.function(*lifted(case["given"], inside), **lifted(case["named"], inside))
    return list(found) if isinstance(found, (tuple, list)) else [found]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_truth_is_torchs_and_a_plain_computation_lies_within_its_bound(case: dict[str, Any]) -> None:
    reference = reference_of_api(case["name"])
    assert reference is not None
    with np.errstate(all="ignore"):
        exact = computed(reference, case, EXACT)
        bounded = computed(reference, case, IN_FLOAT32)
        plain = computed(reference, case, PLAIN)
    for expected, truth, bound, own in zip(case["outputs"], exact, bounded, plain, strict=False):
        values = np.array(expected["tensor"], np.float64).reshape(expected["shape"])
        assert truth.shape == values.shape
        np.testing.assert_allclose(truth.value, values, rtol=1e-12, atol=1e-14)
        distance = np.nan_to_num(abs(own.value - truth.value))
        assert np.all(distance <= bound.error + 1e-45)
        allowed = 1e-3 * np.max(abs(values), initial=1.0)
        assert np.all(np.asarray(bound.error) <= allowed), "a bound this wide tells nothing"


def test_every_reference_is_held_to_something() -> None:
    """A new one needs a case in make_expected.py, or a test of its own named here."""
    from_torch = {reference_of_api(case["name"]) for case in CASES}
    known = {reference_of_api(name) or reference_of_class(name) for name in known_names()}
    left = {one.name for one in known - from_torch if one is not None}
    assert left <= OWN_TESTS


def numbers(*shape: int, seed: int = 3) -> Number:
    return Number(np.random.default_rng(seed).normal(size=shape), EXACT)


def of(name: str) -> Any:
    reference = reference_of_api(name) or reference_of_class(name)
    assert reference is not None
    return reference.function


def rms_norm_by_hand(row: list[float], gamma: list[float], eps: float) -> tuple[list[float], float]:
    rstd = 1 / math.sqrt(math.fsum(v * v for v in row) / len(row) + eps)
    return [v * rstd * g for v, g in zip(row, gamma, strict=True)], rstd


def test_rms_norms_of_the_npu() -> None:
    x, other, gamma = numbers(3, 8), numbers(3, 8, seed=4), numbers(8, seed=5)
    made, rstd = of("npu_rms_norm")(x, gamma, 1e-3)
    for i, row in enumerate(x.value.tolist()):
        expected, scale = rms_norm_by_hand(row, gamma.value.tolist(), 1e-3)
        np.testing.assert_allclose(made.value[i], expected, rtol=1e-13)
        assert rstd.value[i, 0] == pytest.approx(scale, rel=1e-13)
    added, again, total = of("npu_add_rms_norm")(x, other, gamma, 1e-5)
    np.testing.assert_array_equal(total.value, x.value + other.value)
    expected, scale = rms_norm_by_hand(total.value[1].tolist(), gamma.value.tolist(), 1e-5)
    np.testing.assert_allclose(added.value[1], expected, rtol=1e-13)
    assert again.value[1, 0] == pytest.approx(scale, rel=1e-13)
    np.testing.assert_array_equal(of("RMSNorm")(x, gamma, 1e-3).value, made.value)


def silu(v: float) -> float:
    return v / (1 + math.exp(-v))


def test_gated_units() -> None:
    x = numbers(2, 6)
    made = of("npu_swiglu")(x, -1)
    assert made.shape == (2, 3)
    for i, row in enumerate(x.value.tolist()):
        expected = [silu(gate) * up for gate, up in zip(row[:3], row[3:], strict=True)]
        np.testing.assert_allclose(made.value[i], expected, rtol=1e-13)
    np.testing.assert_allclose(of("npu_swiglu")(x, 0).value, made_of_rows(x), rtol=1e-13)
    np.testing.assert_array_equal(of("SiluAndMul")(x).value, made.value)
    fast = of("npu_fast_gelu")(x).value
    np.testing.assert_allclose(
        fast[0, 0], (v := float(x.value[0, 0])) / (1 + math.exp(-1.702 * v)), rtol=1e-13
    )


def made_of_rows(x: Number) -> list[list[float]]:
    return [[silu(gate) * up for gate, up in zip(*x.value.tolist(), strict=True)]]


def test_scaled_masked_softmax() -> None:
    x = numbers(1, 1, 2, 3)
    mask = Number(np.array([[[[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]]]), EXACT, 0.0, True, "bool")
    made = of("npu_scaled_masked_softmax")(x, mask, 0.5, False).value[0, 0]
    for i, row in enumerate(x.value[0, 0].tolist()):
        exponentials = [0.0 if mask.value[0, 0, i, j] else math.exp(0.5 * v) for j, v in enumerate(row)]
        np.testing.assert_allclose(made[i], np.array(exponentials) / sum(exponentials), rtol=1e-12, atol=0)


def test_modules_take_their_parameters_by_name() -> None:
    x, weight, bias = numbers(3, 4), numbers(5, 4, seed=4), numbers(5, seed=5)
    np.testing.assert_array_equal(
        of("Linear")(x, weight=weight, bias=bias).value, of("linear")(x, weight, bias).value
    )
    gain, shift = numbers(4, seed=6), numbers(4, seed=7)
    np.testing.assert_array_equal(
        of("LayerNorm")(x, weight=gain, bias=shift).value, of("layer_norm")(x, [4], gain, shift)[0].value
    )
    table = numbers(6, 2)
    index = Number(np.array([5.0, 0.0]), EXACT, 0.0, True, "int64")
    np.testing.assert_array_equal(of("Embedding")(index, weight=table).value, table.value[[5, 0]])
    np.testing.assert_array_equal(of("Softmax")(x).value, of("softmax")(x, -1).value)


def test_what_changes_nothing() -> None:
    x = numbers(2, 3)
    for name in ("contiguous", "clone"):
        np.testing.assert_array_equal(of(name)(x).value, x.value)
    np.testing.assert_array_equal(of("dropout")(x, 0.5, False).value, x.value)
    with pytest.raises(NotImplementedError):
        of("dropout")(x, 0.5, True)
    np.testing.assert_array_equal(of("view_as")(x, numbers(3, 2)).value, x.value.reshape(3, 2))
    np.testing.assert_array_equal(of("getitem")(x, [slice(None), 1]).value, x.value[:, 1])


OWN_TESTS = {
    *("npu_rms_norm", "npu_add_rms_norm", "RMSNorm", "npu_swiglu", "npu_fast_gelu"),
    *("npu_scaled_masked_softmax", "Linear", "LayerNorm", "Embedding", "Softmax"),
    *("SiluAndMul", "contiguous", "dropout", "view_as", "getitem"),
    "to",  # test_check.py
    *("npu_fusion_attention", "npu_incre_flash_attention", "npu_prompt_flash_attention"),  # test_attention.py
    *("npu_fused_infer_attention_score", "npu_rotary_mul", "npu_apply_rotary_pos_emb"),
    *("npu_quantize", "npu_dynamic_quant", "npu_dynamic_quant_asymmetric", "npu_quant_matmul"),
    *("npu_weight_quant_batchmatmul", "npu_anti_quant"),  # test_quantised.py
}
