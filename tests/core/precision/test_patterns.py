"""Each kind of difference made on purpose, and named."""

from __future__ import annotations

import numpy as np
import pytest

from npulse.core.formats.tensors import DTYPES, Dtype
from npulse.core.formats.tensors.dtypes import coarser
from npulse.core.precision.blocks.elements import examine
from npulse.core.precision.blocks.pair import TensorArray, compare_sides
from npulse.core.precision.blocks.patterns import Pattern, pattern

F32, F16, BF16 = DTYPES["float32"], DTYPES["float16"], DTYPES["bfloat16"]


def found(t: np.ndarray, g: np.ndarray, declared: Dtype | None = None) -> Pattern:
    target, golden = (TensorArray(x, DTYPES[x.dtype.name], declared or DTYPES[x.dtype.name]) for x in (t, g))
    return pattern(
        compare_sides(target, golden), examine(target, golden), coarser(target.declared, golden.declared)
    )


@pytest.fixture
def golden() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((64, 256)).astype(np.float32)


def noise(golden: np.ndarray, size: float) -> np.ndarray:
    return (size * np.random.default_rng(1).standard_normal(golden.shape)).astype(np.float32)


def test_equal(golden: np.ndarray) -> None:
    assert found(golden.copy(), golden).kind == "equal"


def test_non_finite_comes_before_all_else(golden: np.ndarray) -> None:
    t = golden * 4
    t[3, 5] = np.nan
    have = found(t, golden)
    assert (have.kind, have.figures["n_nonfinite_target"], have.figures["n_nonfinite_golden"]) == (
        "non-finite",
        1,
        0,
    )


def test_rounding_to_the_declared_type(golden: np.ndarray) -> None:
    have = found(golden.astype(np.float16).astype(np.float32), golden, F16)
    assert (have.kind, have.figures["dtype"]) == ("rounding", "float16")
    assert 0.4 < have.figures["ulp"] <= 0.5


def test_one_element_beyond_rounding_is_not_rounding(golden: np.ndarray) -> None:
    t = golden.astype(np.float16).astype(np.float32)
    t[0, 0] = golden[0, 0] * (1 + 2.0**-8)
    assert found(t, golden, F16).kind != "rounding"


def test_subnormals_at_golden_zeros_are_rounding(golden: np.ndarray) -> None:
    g = golden.astype(np.float16)
    g[::7] = 0
    t = g.copy()
    t[::7] = 3 * 2.0**-24
    assert found(t, g).kind == "rounding"
    t[::7] = 9 * 2.0**-24
    assert found(t, g).kind == "zero reference"
    assert found(np.full(9, 2.0**-23, np.float16), np.zeros(9, np.float16)).kind == "rounding"


@pytest.mark.parametrize("factor", [4.0, -1.0, 0.125, 1.01])
def test_constant_factor(golden: np.ndarray, factor: float) -> None:
    have = found(golden * np.float32(factor), golden)
    assert have.kind == "constant factor"
    assert have.figures["factor"] == pytest.approx(factor, rel=1e-6)


def test_constant_factor_that_was_rounded(golden: np.ndarray) -> None:
    half = golden.astype(np.float16)
    have = found((half.astype(np.float32) / 3).astype(np.float16), half)
    assert have.kind == "constant factor" and have.figures["factor"] == pytest.approx(1 / 3, rel=1e-3)


def test_factor_with_noise_is_no_constant_factor(golden: np.ndarray) -> None:
    assert found(golden * 4 + noise(golden, 0.1), golden).kind == "drift"


def test_identical_rows(golden: np.ndarray) -> None:
    have = found(np.broadcast_to(golden[0], golden.shape).copy(), golden)
    assert (have.kind, have.figures["n_rows"]) == ("identical rows", 64)


def test_contiguous_block(golden: np.ndarray) -> None:
    t = golden.copy()
    t.reshape(-1)[1000:3000] = 7
    have = found(t, golden)
    assert have.kind == "contiguous block"
    figures = have.figures
    assert (figures["first"], figures["last"], figures["n_bad_elements"], figures["n_bytes"]) == (
        1000,
        2999,
        2000,
        8000,
    )


def test_blocks_in_two_places() -> None:
    golden = np.random.default_rng(4).standard_normal((3, 1024)).astype(np.float32)
    t = golden.copy()
    t.reshape(-1)[:512] = 7.25
    t.reshape(-1)[2048:2560] = 7.25
    have = found(t, golden)
    assert have.kind == "blocks"
    wanted = {"n_blocks": 2, "first": 0, "last": 2559, "n_bad_elements": 1024}
    assert wanted.items() <= have.figures.items()


def test_few_rows_with_noise_elsewhere(golden: np.ndarray) -> None:
    t = golden + noise(golden, 1e-3)
    t[11] += noise(golden, 1)[11]
    t[40] += noise(golden, 1)[40]
    have = found(t, golden)
    assert (have.kind, have.figures["n_bad_rows"], have.figures["n_rows"]) == ("rows", 2, 64)
    assert sorted(have.figures["bad_rows"]) == [11, 40]
    assert have.figures["error_share_ratio"] > 0.99


def test_few_columns(golden: np.ndarray) -> None:
    t = golden + noise(golden, 1e-3)
    t[:, 200] += noise(golden, 1)[:, 200]
    have = found(t, golden)
    assert (have.kind, have.figures["bad_columns"]) == ("columns", [200])


def test_outlier(golden: np.ndarray) -> None:
    t = golden + noise(golden, 1e-4)
    t[5, 6] += 50
    have = found(t, golden)
    assert (have.kind, have.figures["n_bad_elements"], have.figures["n_elements"]) == (
        "outlier",
        1,
        golden.size,
    )
    assert have.figures["max_abs_error_index"] == [5, 6]


def test_permuted(golden: np.ndarray) -> None:
    assert found(np.ascontiguousarray(golden.T).reshape(golden.shape), golden).kind == "permuted"


def test_zero_reference(golden: np.ndarray) -> None:
    golden[np.random.default_rng(2).random(golden.shape) < 0.3] = 0
    t = np.where(golden == 0, np.float32(0.1), golden)
    have = found(t, golden)
    assert (have.kind, have.figures["zero_reference"]) == ("zero reference", int((golden == 0).sum()))


def test_drift(golden: np.ndarray) -> None:
    have = found(golden + noise(golden, 0.3), golden)
    assert have.kind == "drift" and have.figures["cosine"] < 0.97


def test_integers_never_round() -> None:
    g = np.arange(1000, dtype=np.int32) * 1000
    t = g.copy()
    t[17] += 1
    assert found(t, g).kind == "outlier"


def test_single_elements() -> None:
    assert found(np.float32([2.0]), np.float32([1.0])).kind == "drift"
