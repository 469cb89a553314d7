"""The kernel against plainly written whole-array sums in extended precision, over formats and odd values."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from typing import Any, get_type_hints

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npulse.core.formats.tensors import DTYPES
from npulse.core.formats.tensors.dtypes import widen
from npulse.core.precision.blocks import compiled, kernel, single
from npulse.core.precision.blocks.kernel import BLOCK, PairMetrics
from npulse.core.precision.blocks.pair import compare_arrays


@pytest.fixture(
    scope="module",
    params=["numpy", pytest.param("compiled", marks=pytest.mark.xdist_group("compiled comparison"))],
)
def way(request: pytest.FixtureRequest) -> Iterator[str]:
    """A test of what fits float32 runs with numpy's passes and with the compiled loops."""
    before = compiled._loaded
    compiled._loaded = type(compiled._loaded)()
    if request.param == "compiled":
        assert compiled.load(), "numba comes with the extra dev"
    yield request.param
    assert (compiled._loaded.loops is not None) == (request.param == "compiled")
    compiled._loaded = before


FLOATS = ("float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")
INTEGERS = ("int8", "uint8", "int16", "int32", "int64", "uint64", "bool")
ALL = (*FLOATS, *INTEGERS, "complex64", "complex128")
LONG = np.longdouble


def bits_of(values: np.ndarray, name: str) -> np.ndarray:
    """`values` (float64) rounded or cut into a format's carrier."""
    dtype = DTYPES[name]
    with np.errstate(all="ignore"):
        if name == "bfloat16":
            return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        if name.startswith("float8"):
            table = widen(np.arange(256, dtype=np.uint8), dtype).astype(np.float64)
            table[np.isnan(table)] = np.inf
            return np.abs(table[None, :] - values[:, None]).argmin(axis=1).astype(np.uint8)
        if dtype.kind == "complex":
            return (values + 1j * values[::-1]).astype(dtype.carrier)
        if dtype.kind == "bool":
            return values > 0
        if dtype.kind == "int":
            limits = np.iinfo(dtype.carrier)
            return np.clip(np.nan_to_num(values * 50), limits.min, limits.max).astype(dtype.carrier)
        return values.astype(dtype.carrier)


def parts(array: np.ndarray, name: str, other: str) -> np.ndarray:
    """Real numbers of a tensor in extended precision (complex: real and imaginary parts side by side)."""
    values = widen(array, DTYPES[name]).reshape(-1)
    if "complex" in name:
        return values.astype(np.complex128).view(np.float64).astype(LONG)
    with np.errstate(invalid="ignore"):  # signalling NaN
        real = values.astype(LONG)
    return np.stack([real, np.zeros_like(real)], axis=1).reshape(-1) if "complex" in other else real


def reference(t: np.ndarray, g: np.ndarray) -> dict[str, Any]:
    """Every figure, from its definition, over whole arrays in extended precision."""
    with np.errstate(all="ignore"):
        finite = np.isfinite(t) & np.isfinite(g)
        agree = ~finite & ((np.isnan(t) & np.isnan(g)) | (np.isinf(t) & (t == g)))
        found: dict[str, Any] = {
            "n_elements": t.size,
            "n_compared": int(finite.sum()),
            "nan_target": int(np.isnan(t).sum()),
            "nan_golden": int(np.isnan(g).sum()),
            "inf_target": int(np.isinf(t).sum()),
            "inf_golden": int(np.isinf(g).sum()),
            "nonfinite_agreeing": int(agree.sum()),
            "nonfinite_differing": int((~finite & ~agree).sum()),
        }
        found["n_different"] = int((t[finite] != g[finite]).sum()) + found["nonfinite_differing"]
        t, g = t[finite], g[finite]
        d, nonzero = np.abs(t - g), g != 0
        r = d[nonzero] / np.abs(g[nonzero])
        norm_t, norm_g, norm_d = (np.sqrt((x * x).sum()) for x in (t, g, d))
        found["zero_reference"] = int((t[~nonzero] != 0).sum())
        found["n_golden_zero"] = int((~nonzero).sum())
        both_zero = int((t[~nonzero] == 0).sum())
        for name, limit in (("1e3", 1e-3), ("5e3", 5e-3)):
            found[f"n_below_{name}_nonzero"] = int((r < limit).sum())
            found[f"n_below_{name}"] = int((r < limit).sum()) + both_zero
        found["near"] = int((np.abs(r / 1e-3 - 1) < 1e-6).sum() + (np.abs(r / 5e-3 - 1) < 1e-6).sum())
        found["zero_reference_max_abs"] = np.abs(t[~nonzero]).max(initial=0)
        found["max_abs_error"] = d.max(initial=0)
        found["max_rel_error"] = r.max(initial=0)
        found["mean_rel_error"] = r.mean() if r.size else LONG(0)
        found["euclidean"] = norm_d
        found["rel_l1"] = d.sum() / np.abs(g).sum() if norm_g else (math.inf if norm_d else 0.0)
        found["rel_l2"] = norm_d / norm_g if norm_g else (math.inf if norm_d else 0.0)
        found["norm_ratio"] = norm_t / norm_g if norm_g else (math.inf if norm_t else 1.0)
        if norm_t and norm_g:
            found["cosine"] = (t / norm_t * (g / norm_g)).sum()
        else:
            found["cosine"] = 1.0 if norm_t == norm_g else 0.0
        if not t.size and found["nonfinite_differing"]:
            found["cosine"] = math.nan
        for side, x, norm in (("target", t, norm_t), ("golden", g, norm_g)):
            found[f"min_{side}"] = x.min() if x.size else math.nan
            found[f"max_{side}"] = x.max() if x.size else math.nan
            found[f"mean_{side}"] = x.mean() if x.size else math.nan
            found[f"norm_{side}"] = norm
            found[f"scale_{side}"] = np.abs(x).mean() if x.size else 0.0
    return found


COUNTS = [name for name, kind in get_type_hints(PairMetrics).items() if kind is int]
BELOW = [name for name in COUNTS if name.startswith("n_below")]
SAME = ["min_target", "max_target", "min_golden", "max_golden"]
RELATIVE = [
    *("max_abs_error", "max_rel_error", "mean_rel_error", "rel_l1", "rel_l2", "euclidean", "norm_ratio"),
    *("zero_reference_max_abs", "norm_target", "norm_golden"),
]


def close(have: float, want: Any, tolerance: float) -> bool:
    if abs(want) > np.finfo(np.float64).max:  # infinite, or a number in extended precision only
        return math.isinf(have)
    if math.isnan(want):
        return math.isnan(have)
    return bool(abs(LONG(have) - want) <= tolerance * abs(want) + LONG(5e-324))


def check(
    t: np.ndarray, g: np.ndarray, name_t: str, name_g: str, *, cosine: float = 1e-9, relative: float = 1e-6
) -> PairMetrics:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        have = compare_arrays(t, g, DTYPES[name_t], DTYPES[name_g])
    want = reference(parts(t, name_t, name_g), parts(g, name_g, name_t))
    for name in COUNTS:
        slack = want["near"] if name in BELOW else 0
        assert abs(getattr(have, name) - want[name]) <= slack, (name, getattr(have, name), want[name])
    for name in SAME:
        assert close(getattr(have, name), want[name], 1e-15), (name, getattr(have, name), want[name])
    for name in RELATIVE:
        if name == "mean_rel_error" and math.isinf(have.max_rel_error):
            continue  # one quotient beyond float64 is in the mean too
        assert close(getattr(have, name), want[name], relative), (name, getattr(have, name), want[name])
    for side in ("target", "golden"):  # of a mean that cancels only the terms' size can be the measure
        mean, scale = getattr(have, f"mean_{side}"), want[f"scale_{side}"]
        exact = want[f"mean_{side}"]
        assert abs(mean - exact) <= relative * scale + 5e-324 or (math.isnan(mean) and math.isnan(exact))
    assert (
        math.isnan(want["cosine"]) and math.isnan(have.cosine) or abs(have.cosine - want["cosine"]) <= cosine
    )
    return have


SPECIAL = [0.0, -0.0, 1.0, -1.0, math.nan, math.inf, -math.inf, 6e-8, 1e-5, 65504.0, 1e-40, 3e38, 1e-20, 0.1]
HUGE = [1e300, -1e300, 1.7e308, -1.7e308, 1e-300, 5e-324, 1e155]


def drawn(
    seed: int, n: int, share_special: float, share_changed: float, huge: bool
) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    g = rng.standard_normal(n) * 10.0 ** rng.integers(-3, 3)
    t = np.where(rng.random(n) < share_changed, g * (1 + 1e-3 * rng.standard_normal(n)), g)
    special = np.array(SPECIAL + (HUGE if huge else []))
    for x in (t, g):
        where = rng.random(n) < share_special
        x[where] = rng.choice(special, int(where.sum()))
    where = rng.random(n) < share_special / 2
    t[where] = g[where] = rng.choice(special)
    return t, g


@settings(max_examples=200, deadline=None)
@given(
    name_t=st.sampled_from(ALL),
    name_g=st.sampled_from(ALL),
    seed=st.integers(0, 2**32),
    n=st.integers(0, 200),
    share_special=st.sampled_from([0.0, 0.05, 0.5, 1.0]),
    share_changed=st.sampled_from([0.0, 0.1, 1.0]),
)
def test_small_tensors_of_any_two_formats(
    name_t: str, name_g: str, seed: int, n: int, share_special: float, share_changed: float
) -> None:
    t, g = drawn(seed, n, share_special, share_changed, "float64" == name_t == name_g)
    check(bits_of(t, name_t), bits_of(g, name_g), name_t, name_g)


@pytest.mark.usefixtures("way")
@settings(max_examples=25, deadline=None)
@given(
    names=st.sampled_from(
        [
            *((name, name) for name in ("float32", "float16", "bfloat16", "complex64", "float8_e5m2")),
            *(
                ("float16", "float32"),
                ("bfloat16", "float32"),
                ("float32", "float8_e4m3fn"),
                ("float16", "bfloat16"),
            ),
        ]
    ),
    seed=st.integers(0, 2**32),
    n=st.sampled_from([kernel.SMALL + 1, 30_001, BLOCK, BLOCK + 1, 3 * BLOCK + 20_000]),
    share_special=st.sampled_from([0.0, 1e-5, 0.05, 0.5]),
    share_changed=st.sampled_from([0.0, 1e-4, 1.0]),
)
def test_large_tensors_in_float32(
    names: tuple[str, str], seed: int, n: int, share_special: float, share_changed: float
) -> None:
    t, g = drawn(seed, n, share_special, share_changed, False)
    check(bits_of(t, names[0]), bits_of(g, names[1]), *names, cosine=1e-7)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize(
    "kind",
    [
        *("NaN", "NaN positive", "NaN negative", "NaN zeros", "NaN equal", "NaN golden all zero", "NaN huge"),
        *("subnormal", "zeros both", "zeros golden", "positive", "equal", "far"),
    ],
)
def test_data_that_takes_other_ways(name: str, kind: str) -> None:
    """Each of these data leaves the ordinary way through a block somewhere else."""
    rng = np.random.default_rng(3)
    n = 2 * BLOCK + 17_000
    g = rng.standard_normal(n)
    t = g * (1 + 1e-3 * rng.standard_normal(n))
    share = rng.random(n)
    if kind.endswith(("positive", "negative")):
        sign = -1 if kind.endswith("negative") else 1
        t, g = sign * np.abs(t), sign * np.abs(g)
    if kind.endswith(("zeros", "zeros both", "zeros golden", "equal")):
        g[share > 0.85] = 0
    if kind.endswith(("zeros", "zeros both")):
        t[share > 0.85] = 0
    if kind.endswith("equal"):
        t = g.copy()
    if kind.endswith("golden all zero"):
        g[:] = 0
    if kind.endswith("huge"):
        t[99] = g[98] = 1e38 if name != "float16" else 65504
    if kind.startswith("NaN"):
        t[share < 0.1] = g[share < 0.1] = np.nan
        t[5], g[6], t[7], g[7], t[8], g[8] = np.inf, -np.inf, np.inf, -np.inf, np.nan, np.inf
    if kind == "subnormal":
        tiny = 2.0**-24 if name == "float16" else 1e-40
        t, g = (np.where(share < 0.5, np.round(x * 300) * tiny, x) for x in (t, g))
    elif kind == "far":
        t = -30 * g + rng.standard_normal(n)
    check(bits_of(t, name), bits_of(g, name), name, name, cosine=1e-7)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("scale", [1e-44, 1e-38, 1e-30, 1e-20, 1e-16, 1e-13, 1e13, 1e18, 1e30, 1e38])
@pytest.mark.parametrize("n", [100, BLOCK])
def test_float32_of_any_size(scale: float, n: int) -> None:
    """Squares of these leave float32's range on either side."""
    rng = np.random.default_rng(5)
    g = (rng.uniform(-3, 3, n) * scale).astype(np.float32)
    t = (g.astype(np.float64) * (1 + 1e-4 * rng.standard_normal(n))).astype(np.float32)
    check(t, g, "float32", "float32", cosine=1e-7)


@pytest.mark.usefixtures("way")
def test_errors_too_small_for_their_squares() -> None:
    g = np.random.default_rng(0).uniform(1e-12, 2e-12, BLOCK).astype(np.float32)
    have = check(np.nextafter(g, np.float32(1)), g, "float32", "float32", cosine=1e-7)
    assert 0 < have.rel_l2 < 1e-6


@pytest.mark.parametrize(
    "scale_t, scale_g", [(1e300, 1e300), (1e-300, 1e-300), (1.0, 1e-200), (1e200, 1.0), (1e300, 1e-300)]
)
def test_float64_whose_squares_overflow_or_vanish(scale_t: float, scale_g: float) -> None:
    rng = np.random.default_rng(7)
    g = rng.standard_normal(70_000)
    t = g + 0.1 * rng.standard_normal(g.size)
    check(t * scale_t, g * scale_g, "float64", "float64")


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("value_t, value_g", [(0.1, 0.3), (0.7, 0.1), (1.0, 1.0 + 1e-6), (0.1, -0.1)])
def test_constant_tensors(value_t: float, value_g: float) -> None:
    """Equal terms: the worst case for sums in float32."""
    t, g = (np.full(5 * BLOCK, x, np.float32) for x in (value_t, value_g))
    check(t, g, "float32", "float32", cosine=1e-7)


def test_worked_by_hand() -> None:
    t = np.array([3.0, 0.0, 1.0, 0.0, 2.004], np.float64)
    g = np.array([4.0, 0.0, 0.0, -0.0, 2.0], np.float64)
    have = compare_arrays(t, g, DTYPES["float64"], DTYPES["float64"])
    assert have.n_different == 3
    assert have.max_abs_error == 1.0
    assert have.max_rel_error == 0.25
    assert have.mean_rel_error == pytest.approx((0.25 + 0.002) / 2)
    assert have.rel_l1 == pytest.approx(2.004 / 6)
    assert have.euclidean == pytest.approx(math.sqrt(1 + 1 + 0.004**2))
    assert have.rel_l2 == pytest.approx(math.sqrt(2 + 0.004**2) / math.sqrt(20))
    assert (have.n_below_1e3, have.n_below_5e3) == (2, 3)
    assert (have.n_below_1e3_nonzero, have.n_below_5e3_nonzero) == (0, 1)
    assert (have.zero_reference, have.zero_reference_max_abs) == (1, 1.0)
    assert have.cosine == pytest.approx((12 + 4.008) / (math.sqrt(9 + 1 + 2.004**2) * math.sqrt(20)))


def test_zero_vectors() -> None:
    zero, one = np.zeros(3, np.float32), np.ones(3, np.float32)
    f32 = DTYPES["float32"]
    both = compare_arrays(zero, -zero, f32, f32)
    assert (both.cosine, both.norm_ratio, both.rel_l2, both.n_different) == (1.0, 1.0, 0.0, 0)
    golden = compare_arrays(one, zero, f32, f32)
    assert (golden.cosine, golden.norm_ratio, golden.rel_l2, golden.rel_l1) == (
        0.0,
        math.inf,
        math.inf,
        math.inf,
    )
    target = compare_arrays(zero, one, f32, f32)
    assert (target.cosine, target.norm_ratio, target.rel_l2) == (0.0, 0.0, 1.0)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("n", [3, kernel.SMALL + 1])
def test_non_finite_pairs(n: int) -> None:
    """Agreeing: NaN with NaN (whatever bits), Inf with the same Inf. All else non-finite differs."""
    f16 = DTYPES["float16"]
    pairs = [
        ("nan", "nan"),
        ("inf", "inf"),
        ("-inf", "-inf"),
        ("nan", "inf"),
        ("inf", "-inf"),
        ("inf", "1"),
        ("1", "nan"),
    ]
    t = np.ones(n + len(pairs), np.float16)
    g = t.copy()
    t[: len(pairs)] = [float(a) for a, _ in pairs]
    g[: len(pairs)] = [float(b) for _, b in pairs]
    t.view(np.uint16)[0] = 0xFE01  # another NaN
    have = compare_arrays(t, g, f16, f16)
    assert (have.nan_target, have.nan_golden, have.inf_target, have.inf_golden) == (2, 2, 4, 4)
    assert (have.nonfinite_agreeing, have.nonfinite_differing) == (3, 4)
    assert (have.n_compared, have.n_different) == (n, 4)
    assert (have.cosine, have.max_target, have.norm_ratio) == (1.0, 1.0, 1.0)


def test_nothing_left_to_compare() -> None:
    t, g = np.full(4, np.nan, np.float32), np.ones(4, np.float32)
    f32 = DTYPES["float32"]
    assert math.isnan(compare_arrays(t, g, f32, f32).cosine)
    assert compare_arrays(t, t, f32, f32).is_equal
    empty = compare_arrays(t[:0], g[:0], f32, f32)
    assert (empty.n_elements, empty.cosine, empty.is_equal) == (0, 1.0, True)


@pytest.mark.parametrize(
    "name_t, t, name_g, g, n_different, error",
    [
        ("int64", 2**53 + 1, "int64", 2**53, 1, 1.0),
        ("int64", 2**63 - 1, "int64", 2**63 - 2, 1, 1.0),
        ("int64", 2**63 - 1, "int64", -(2**63), 1, 2.0**64),
        ("uint64", 2**64 - 1, "int64", -1, 1, 2.0**64),
        ("uint64", 2**64 - 1, "uint64", 2**64 - 2, 1, 1.0),
        ("uint64", 2**63 + 5, "int64", 2**63 - 1, 1, 6.0),
        ("int64", 7, "int32", 7, 0, 0.0),
        ("bool", True, "int64", 1, 0, 0.0),
    ],
)
def test_whole_numbers_are_compared_exactly(
    name_t: str, t: int, name_g: str, g: int, n_different: int, error: float
) -> None:
    a, b = np.array([t], DTYPES[name_t].carrier), np.array([g], DTYPES[name_g].carrier)
    have = compare_arrays(a, b, DTYPES[name_t], DTYPES[name_g])
    assert (have.n_different, have.max_abs_error) == (n_different, error)


def test_bool_bytes_other_than_one_are_true() -> None:
    t = np.array([0, 1, 7], np.uint8).view(np.bool_)
    g = np.array([0, 2, 0], np.uint8).view(np.bool_)
    have = compare_arrays(t, g, DTYPES["bool"], DTYPES["bool"])
    assert (have.n_different, have.max_abs_error) == (1, 1.0)


@pytest.mark.usefixtures("way")
def test_infinity_of_float16_is_no_number_in_the_quick_way() -> None:
    """65504 is finite, infinity is not: the quick conversion must not mistake one for the other."""
    t = np.full(BLOCK, 65504, np.float16)
    g = t.copy()
    g[77] = np.inf
    have = check(t, g, "float16", "float16")
    assert (have.inf_golden, have.max_golden, have.nonfinite_differing) == (1, 65504.0, 1)


@pytest.mark.usefixtures("way")
def test_all_float16_values_convert() -> None:
    bits = np.arange(1 << 16, dtype=np.uint16)
    order = np.random.default_rng(0).permutation(bits)
    check(order.view(np.float16), bits.view(np.float16), "float16", "float16", cosine=1e-7)


def test_dots_without_vecdot() -> None:
    """numpy 1 has no vecdot; both ways must give the same, for rows by rows and rows by one vector."""
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal((64, single.ROW)).astype(np.float32) for _ in range(2))
    for other in (y, y[0]):
        out = np.zeros(64, np.float32)
        single._dots_by_matmul(x, other, out)
        want = (x.astype(np.float64) * other).sum(axis=1)
        np.testing.assert_allclose(out, want, atol=1e-6 * np.abs(x * other).sum(axis=1).max())
