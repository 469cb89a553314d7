"""Number formats: one name each, their numpy carrier, largest value, spacing - and how to widen them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass

DtypeKind = Literal["float", "int", "bool", "complex"]


@dataclass(frozen=True, slots=True)
class Dtype:
    """One number format.

    carrier: the numpy dtype that holds its bits; raw bits (u2, u1) where numpy has no such float.
    max_finite, min_normal, smallest_subnormal, mantissa_bits (stored bits, without the leading one):
    of one real component. unit_roundoff: largest relative error of rounding to nearest.
    Integers and bool: spacing 1, nothing is rounded (mantissa_bits 0, unit_roundoff 0).
    """

    name: str
    itemsize: int
    carrier: np.dtype[Any]
    kind: DtypeKind
    max_finite: float
    min_normal: float
    smallest_subnormal: float
    mantissa_bits: int
    unit_roundoff: float

    def __reduce__(self) -> tuple[Callable[[str], Dtype | None], tuple[str]]:
        return dtype_of, (self.name,)  # there is one of each, also behind a pickle

    @property
    def bits(self) -> int:
        return 8 * self.itemsize

    @property
    def is_raw(self) -> bool:
        """True where arrays of the carrier are bits, not values: `widen` before any arithmetic."""
        return self.kind == "float" and self.carrier.kind == "u"


def _floating(
    name: str,
    carrier: str,
    mantissa_bits: int,
    max_exponent: int,
    min_exponent: int,
    *,
    max_significand: float | None = None,
    kind: DtypeKind = "float",
) -> Dtype:
    """A binary float with normal numbers from 2^min_exponent to max_significand * 2^max_exponent."""
    significand = 2.0 - 2.0**-mantissa_bits if max_significand is None else max_significand
    dtype = np.dtype(carrier)
    return Dtype(
        name=name,
        itemsize=dtype.itemsize,
        carrier=dtype,
        kind=kind,
        max_finite=significand * 2.0**max_exponent,
        min_normal=2.0**min_exponent,
        smallest_subnormal=2.0 ** (min_exponent - mantissa_bits),
        mantissa_bits=mantissa_bits,
        unit_roundoff=2.0 ** -(mantissa_bits + 1),
    )


def _whole(name: str, carrier: str, kind: DtypeKind, largest: int) -> Dtype:
    dtype = np.dtype(carrier)
    return Dtype(name, dtype.itemsize, dtype, kind, largest, 1, 1, 0, 0.0)


def _all_dtypes() -> tuple[Dtype, ...]:
    return (
        _floating("float64", "<f8", 52, 1023, -1022),
        _floating("float32", "<f4", 23, 127, -126),
        _floating("float16", "<f2", 10, 15, -14),
        _floating("bfloat16", "<u2", 7, 127, -126),
        # the all-ones exponent still holds numbers; only its last mantissa pattern is NaN
        _floating("float8_e4m3fn", "u1", 3, 8, -6, max_significand=1.75),
        _floating("float8_e5m2", "u1", 2, 15, -14),
        # fnuz: no infinity, no -0; the pattern of -0 is the one NaN
        _floating("float8_e4m3fnuz", "u1", 3, 7, -7),
        _floating("float8_e5m2fnuz", "u1", 2, 15, -15),
        # a scale factor: powers of two only; no sign, no zero, no subnormals
        _floating("float8_e8m0fnu", "u1", 0, 127, -127),
        *(_whole(f"int{8 * n}", f"<i{n}", "int", 2 ** (8 * n - 1) - 1) for n in (1, 2, 4, 8)),
        *(_whole(f"uint{8 * n}", f"<u{n}", "int", 2 ** (8 * n) - 1) for n in (1, 2, 4, 8)),
        _whole("bool", "?", "bool", 1),
        _floating("complex64", "<c8", 23, 127, -126, kind="complex"),
        _floating("complex128", "<c16", 52, 1023, -1022, kind="complex"),
    )


DTYPES: dict[str, Dtype] = {dtype.name: dtype for dtype in _all_dtypes()}
"""Every number format that is known, by its one name."""

_PREFIXES = ("torch.", "mindspore.", "numpy.", "np.", "dt_")
_ALIASES = {
    "bf16": "bfloat16",
    "fp16": "float16",
    "fp32": "float32",
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "bool_": "bool",
    "cfloat": "complex64",
    "cdouble": "complex128",
    **{name.replace("_", ""): name for name in DTYPES if name.startswith("float8_")},
}
_KIND_LETTERS = {"f": "float", "i": "int", "u": "uint", "c": "complex"}


_EXPONENT_BITS = np.int64(0x7FF0000000000000)  # of a float64


@lru_cache(maxsize=256)
def dtype_of(text: str) -> Dtype | None:
    """The number format that a record or header names, None for anything else.

    Understands torch ("torch.float16"), MindSpore ("Float16"), numpy names ("float16") and numpy type
    strings ("<f2", "|b1"; byte order is not part of a format).
    """
    word = text.strip()
    if word[:1] in ("<", ">", "|", "=") and len(word) > 1:
        return _of_type_string(word[1:])  # case matters: <u1 is a number, <U1 a character
    word = word.lower()
    for prefix in _PREFIXES:
        word = word.removeprefix(prefix)
    return DTYPES.get(_ALIASES.get(word, word))


def _of_type_string(code: str) -> Dtype | None:
    """Of a numpy type string without its byte order: a kind letter and the size in bytes."""
    if code == "b1":
        return DTYPES["bool"]
    kind, size = code[0], code[1:]
    if kind not in _KIND_LETTERS or not (size.isascii() and size.isdigit() and len(size) <= 2):
        return None
    return DTYPES.get(f"{_KIND_LETTERS[kind]}{8 * int(size)}")


def coarser(a: Dtype, b: Dtype) -> Dtype:
    """Of two formats the one that rounds more; equal rounding: the narrower one, whichever comes first."""
    return max(a, b, key=lambda dtype: (dtype.unit_roundoff, -dtype.itemsize, dtype.name))


def widen(array: npt.NDArray[Any], dtype: Dtype) -> npt.NDArray[Any]:
    """The values of `array`, whose elements are `dtype.carrier`, in a type that numpy computes in.

    Exact: bfloat16, float8 and float16 become float32 (NaN stays NaN, its payload is not kept); float32,
    float64, complex and integers are returned as they are, bool with every byte but 0 as True.
    """
    if dtype.name == "bfloat16":
        widened = array.astype(np.uint32)
        widened <<= np.uint32(16)  # a plain 16 would widen a 0-d array in numpy 1
        return widened.view(np.float32)
    if dtype.is_raw:
        return np.take(_float8_values(dtype.name), array)
    if dtype.name == "float16":
        # half the time of astype, and an eighth of it where gradients are subnormal
        return np.take(_float16_values(), array.view(np.uint16))
    if dtype.kind == "bool":
        return np.not_equal(array.view(np.uint8), 0)  # numpy trusts a bool to be 0 or 1; a file may hold more
    return array


def ulp(values: npt.ArrayLike, dtype: Dtype) -> npt.NDArray[np.float64]:
    """Spacing of `dtype` at each |value|, as a real number: 2^(floor(log2|v|) - mantissa_bits).

    Never below the smallest subnormal (which is the spacing at 0); 1 for integers and bool; NaN where the
    value is not finite. Beyond `max_finite` the spacing goes on growing as if the format had more range.
    """
    array = np.asarray(values)
    magnitude = np.abs(array if array.dtype.kind == "c" else array.astype(np.float64))
    spacing = spacing_into(np.empty_like(magnitude), magnitude, dtype)
    return np.where(np.isfinite(magnitude), spacing, np.nan)


def spacing_into(
    out: npt.NDArray[np.float64], values: npt.NDArray[np.float64], dtype: Dtype
) -> npt.NDArray[np.float64]:
    """`ulp` of contiguous finite float64 values, written to `out` (which may be `values`) and returned."""
    if dtype.kind in ("int", "bool"):
        out.fill(1.0)
        return out
    # a float64 without sign and mantissa is the power of two at or below it
    np.bitwise_and(values.view(np.int64), _EXPONENT_BITS, out=out.view(np.int64))
    np.multiply(out, 2.0**-dtype.mantissa_bits, out=out)
    if (
        out.size and np.minimum.reduce(out, axis=None) < dtype.smallest_subnormal
    ):  # rare, and dearer than to look
        np.maximum(out, dtype.smallest_subnormal, out=out)
    return out


@cache
def _float16_values() -> npt.NDArray[np.float32]:
    """The float32 value of each of the 65,536 bit patterns of float16."""
    return np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)


@cache
def _float8_values(name: str) -> npt.NDArray[np.float32]:
    """The float32 value of each of the 256 bit patterns of a float8 format."""
    bits = np.arange(256)
    if name == "float8_e8m0fnu":
        return np.asarray(np.where(bits == 255, np.nan, np.ldexp(1.0, bits - 127)), np.float32)
    dtype = DTYPES[name]
    fraction = bits & ((1 << dtype.mantissa_bits) - 1)
    exponent = (bits & 0x7F) >> dtype.mantissa_bits
    significand = fraction / (1 << dtype.mantissa_bits) + (exponent > 0)
    lowest = int(np.log2(dtype.min_normal))
    values: npt.NDArray[np.float64] = np.ldexp(significand, np.maximum(exponent, 1) - 1 + lowest)
    if name == "float8_e5m2":
        values[0x7C], values[0x7D:0x80] = np.inf, np.nan
    if name == "float8_e4m3fn":
        values[0x7F] = np.nan
    values[128:] = -values[:128]
    if name.endswith("fnuz"):
        values[128] = np.nan
    return values.astype(np.float32)
