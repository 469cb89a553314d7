"""Number formats against numpy and ml_dtypes, which know them independently."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.formats.tensors import DTYPES, coarser, dtype_of, ulp, widen

FLOAT8 = [name for name in DTYPES if name.startswith("float8_")]
NARROW = ["bfloat16", "float16", *FLOAT8]
NUMPY_FLOATS = ["float64", "float32", "float16", "complex64", "complex128"]
INTEGERS = [name for name, dtype in DTYPES.items() if dtype.kind == "int"]


def reference(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, name) if name in ("bfloat16", *FLOAT8) else name)


def all_values(name: str) -> np.ndarray:
    """Every bit pattern of a narrow format, as float32, decoded by the reference."""
    dtype = reference(name)
    patterns = np.arange(2 ** (8 * dtype.itemsize), dtype=f"u{dtype.itemsize}")
    return patterns.view(dtype).astype(np.float32)


def test_the_registry_holds_every_format_once():
    expected = {"float64", "float32", "float16", "bfloat16", "bool", "complex64", "complex128", *FLOAT8}
    expected |= {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
    assert set(DTYPES) == expected
    assert len(FLOAT8) == 5
    assert all(name == dtype.name for name, dtype in DTYPES.items())


@pytest.mark.parametrize("name", [*NUMPY_FLOATS, "bfloat16", *FLOAT8])
def test_constants_of_floats(name: str):
    dtype, real = DTYPES[name], reference(name)
    limits = np.finfo(name) if name in NUMPY_FLOATS else ml_dtypes.finfo(real)
    assert (dtype.itemsize, dtype.bits, dtype.carrier.itemsize) == (
        real.itemsize,
        8 * real.itemsize,
        real.itemsize,
    )
    assert dtype.max_finite == float(limits.max)
    assert dtype.min_normal == float(limits.tiny)
    assert dtype.smallest_subnormal == float(limits.smallest_subnormal)
    assert dtype.mantissa_bits == limits.nmant
    assert dtype.unit_roundoff == float(limits.eps) / 2
    assert dtype.kind == ("complex" if name.startswith("complex") else "float")
    assert dtype.is_raw == (name not in NUMPY_FLOATS)


@pytest.mark.parametrize("name", INTEGERS)
def test_constants_of_integers(name: str):
    dtype = DTYPES[name]
    assert dtype.carrier == np.dtype(name)
    assert dtype.max_finite == np.iinfo(name).max
    assert (dtype.unit_roundoff, dtype.mantissa_bits, dtype.min_normal) == (0.0, 0, 1)


@pytest.mark.parametrize("name", NARROW)
def test_widen_is_exact_for_every_bit_pattern(name: str):
    dtype = DTYPES[name]
    patterns = np.arange(2**dtype.bits, dtype=f"u{dtype.itemsize}")
    widened = widen(patterns.view(dtype.carrier), dtype)
    expected = all_values(name)
    assert widened.dtype == np.float32
    np.testing.assert_array_equal(widened, expected)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(widened[numbers]), np.signbit(expected[numbers]))


@pytest.mark.parametrize("name", NARROW)
def test_widen_keeps_the_shape_also_of_views(name: str):
    dtype = DTYPES[name]
    bits = np.arange(24, dtype=f"u{dtype.itemsize}").reshape(2, 3, 4).view(dtype.carrier)
    view = bits.transpose(2, 0, 1)[::2]
    np.testing.assert_array_equal(widen(view, dtype), widen(bits, dtype).transpose(2, 0, 1)[::2])
    assert widen(bits[:0], dtype).shape == (0, 3, 4)
    assert widen(bits[0, 0, 0:1].reshape(()), dtype).shape == ()


@pytest.mark.parametrize("name", ["float64", "float32", "complex64", *INTEGERS])
def test_widen_passes_what_numpy_computes_in(name: str):
    array = np.array([0, 1, 7], name)
    assert widen(array, DTYPES[name]) is array


def test_widen_makes_clean_bools_of_any_byte():
    dirty = np.array([0, 1, 2, 255], np.uint8).view(np.bool_)
    widened = widen(dirty, DTYPES["bool"])
    assert widened.dtype == np.bool_
    assert widened.view(np.uint8).tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize("name", NARROW)
def test_ulp_is_the_distance_to_the_next_larger_number(name: str):
    values = all_values(name)
    ladder = np.unique(values[np.isfinite(values) & (values >= 0)].astype(np.float64))
    below, above = ladder[:-1], ladder[1:]
    np.testing.assert_array_equal(ulp(below, DTYPES[name]), above - below)
    np.testing.assert_array_equal(ulp(-below, DTYPES[name]), above - below)


@given(st.floats(-1e308, 1e308))
def test_ulp_of_float64_is_numpys_spacing(value: float):
    assert float(ulp(value, DTYPES["float64"])) == np.spacing(abs(value))


@given(st.floats(-(2.0**127), 2.0**127, width=32))
def test_ulp_of_float32_is_numpys_spacing(value: float):
    assert float(ulp(value, DTYPES["float32"])) == float(np.spacing(np.float32(abs(value))))


def test_ulp_at_the_edges():
    half = DTYPES["float16"]
    assert ulp([0.0, 1.0, -1.0, 2048.0, 1e-30], half).tolist() == [2**-24, 2**-10, 2**-10, 2.0, 2**-24]
    assert np.isnan(ulp([np.nan, np.inf, -np.inf], half)).all()
    assert float(ulp(131072.0, half)) == 128.0  # beyond the range: as if it went on
    assert ulp(np.array([3 + 4j]), DTYPES["complex64"]).tolist() == [2.0 ** (2 - 23)]
    assert ulp(np.array([-(2**63), 0, 5]), DTYPES["int64"]).tolist() == [1, 1, 1]
    assert ulp(np.array([True, False]), DTYPES["bool"]).tolist() == [1, 1]
    assert float(ulp(0.0, DTYPES["float8_e8m0fnu"])) == 2.0**-127


def test_coarser_does_not_depend_on_the_order():
    for a, b in itertools.product(DTYPES.values(), repeat=2):
        assert coarser(a, b) is coarser(b, a)
        assert coarser(a, b).unit_roundoff == max(a.unit_roundoff, b.unit_roundoff)
    assert all(coarser(a, a) is a for a in DTYPES.values())


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("float32", "float16", "float16"),
        ("float16", "bfloat16", "bfloat16"),
        ("bfloat16", "float8_e4m3fn", "float8_e4m3fn"),
        ("int64", "float64", "float64"),
        ("int64", "int8", "int8"),
        ("bool", "int32", "bool"),
    ],
)
def test_coarser(a: str, b: str, expected: str):
    assert coarser(DTYPES[a], DTYPES[b]).name == expected


@pytest.mark.parametrize("name", DTYPES)
def test_dtype_of_knows_every_spelling(name: str):
    dtype = DTYPES[name]
    mindspore = name.replace("bfloat", "BFloat").replace("uint", "UInt")
    mindspore = mindspore[0].upper() + mindspore[1:]
    for text in (name, f"torch.{name}", mindspore, f"mindspore.{name}", f" {name} ", name.upper()):
        assert dtype_of(text) is dtype, text


@pytest.mark.parametrize("name", [*NUMPY_FLOATS, *INTEGERS, "bool"])
def test_dtype_of_knows_numpys_texts(name: str):
    for text in (np.dtype(name).str, str(np.dtype(name)), np.dtype(name).newbyteorder(">").str):
        assert dtype_of(text) is DTYPES[name], text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("torch.half", "float16"),
        ("torch.float", "float32"),
        ("torch.double", "float64"),
        ("torch.long", "int64"),
        ("DT_BF16", "bfloat16"),
        ("Float8E4M3FN", "float8_e4m3fn"),
        ("bool_", "bool"),
    ],
)
def test_dtype_of_knows_second_names(text: str, expected: str):
    assert dtype_of(text) is DTYPES[expected]


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "<", "|V2", "<f16", "<f1", "<U1", "<U4", "<U5", "|S1", "|B1", "|O", "<f²", "f4x", "u1"),
        *("torch.qint8", "torch.", "<class 'float'>", "torch.Size", "N/A", "x" * 9999),
    ],
)
def test_dtype_of_says_none_for_the_rest(text: str):
    assert dtype_of(text) is None
