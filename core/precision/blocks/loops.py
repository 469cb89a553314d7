"""The loops of the comparison kernel, for numba to compile: `build`. Only `compiled` uses this, and late.

A block is gone over in pieces that stay in the cache: once for what needs a division, which the memory
feeds in the meantime, once more for the plain sums and extremes. One loop for all would need more registers
than there are. Sums are float32 along `ROW` elements (in as many lanes as a register has), float64 beyond.

No flag lets the compiler assume that there is no NaN, but for the smaller or larger of two numbers: what
`least` and `most` give of a NaN is undefined; who calls `measure` throws it away where a sum is not finite.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .single import ABS_D, ABS_G, DD, GG, REL, SUMS, TT, G, T

Array = npt.NDArray[Any]

ROW = 1 << 8
"""Longest sum in float32, in 8 or 16 lanes: as few roundings for each of them as by numpy."""

PIECE = 1 << 14
"""Elements: 64 KiB a side, both sides in the second-level cache."""

MIN_T, MAX_T, MIN_G, MAX_G, MAX_ERROR, MAX_REL, MAX_REFERENCE = range(SUMS, SUMS + 7)
EQUAL, BELOW_1E3, BELOW_5E3, ZEROS, REFERENCES = range(SUMS + 7, SUMS + 12)
FIGURES = SUMS + 12
"""What `measure` tells of a block, all of it as float64 (counts of a block are exact in it)."""

KEPT, NAN_T, NAN_G, INF_T, INF_G, AGREEING = range(6)
SIFTED = 6
"""What `sift` counts in a block."""

F32, I32, U32 = np.float32, np.int32, np.uint32
ZERO, INFINITE = np.float32(0), np.float32(np.inf)
LOW, HIGH = np.float32(1e-3), np.float32(5e-3)
SIGN, MAGNITUDE, INFINITY_BITS = np.uint32(1 << 31), np.uint32(0x7FFFFFFF), np.uint32(0x7F800000)


# ---- single instructions: what they do; `_instructions` says what they are compiled to ---------------------


def least(a: Any, b: Any) -> Any:
    return a if a < b else b


def most(a: Any, b: Any) -> Any:
    return a if a > b else b


def bits_of(value: Any) -> Any:
    """The bits of a float32; of numbers that are not negative they have the same order."""
    return np.float32(value).view(np.int32)


def from_bits(bits: Any) -> Any:
    return np.uint32(bits).view(np.float32)


def from_half(bits: Any) -> Any:
    """The value of a float16 from its bits; needs a processor that has the conversion."""
    return np.float32(np.uint16(bits).view(np.float16))


# ---- loops -----------------------------------------------------------------------------------------------
# Each operation's result is brought back to 32 bits: in wider ones half as many fit a register.


def _errors(t: Array, g: Array, told: Array) -> None:
    """Errors and quotients of a piece. A golden 0 makes its sum of quotients NaN or infinite."""
    largest = largest_quotient = I32(0)
    for first in range(0, t.size, ROW):
        row_t, row_g = t[first : first + ROW], g[first : first + ROW]
        sum_d = sum_dd = sum_r = ZERO
        n_low = n_high = I32(0)
        for i in range(row_t.size):
            d = abs(row_t[i] - row_g[i])
            quotient = d / abs(row_g[i])
            sum_d += d
            sum_dd += d * d
            sum_r += quotient
            largest = max(largest, bits_of(d))
            largest_quotient = max(largest_quotient, bits_of(quotient))
            n_low = I32(n_low + I32(quotient < LOW))
            n_high = I32(n_high + I32(quotient < HIGH))
        told[ABS_D] += sum_d
        told[DD] += sum_dd
        told[REL] += sum_r
        told[BELOW_1E3] += n_low
        told[BELOW_5E3] += n_high
    told[MAX_ERROR] = max(told[MAX_ERROR], from_bits(U32(largest)))
    told[MAX_REL] = max(told[MAX_REL], from_bits(U32(largest_quotient)))


def _errors_beside_zeros(t: Array, g: Array, told: Array) -> None:
    """As `_errors`, where golden zeros are counted, and 0 is their quotient."""
    largest = largest_quotient = largest_there = I32(0)
    for first in range(0, t.size, ROW):
        row_t, row_g = t[first : first + ROW], g[first : first + ROW]
        sum_d = sum_dd = sum_r = ZERO
        n_low = n_high = n_zero = n_there = I32(0)
        for i in range(row_t.size):
            d = abs(row_t[i] - row_g[i])
            is_zero = row_g[i] == ZERO
            quotient = d / (INFINITE if is_zero else abs(row_g[i]))
            there = d if is_zero else ZERO
            sum_d += d
            sum_dd += d * d
            sum_r += quotient
            largest = max(largest, bits_of(d))
            largest_quotient = max(largest_quotient, bits_of(quotient))
            largest_there = max(largest_there, bits_of(there))
            n_low = I32(n_low + I32(quotient < LOW))
            n_high = I32(n_high + I32(quotient < HIGH))
            n_zero = I32(n_zero + I32(is_zero))
            n_there = I32(n_there + I32(there != ZERO))
        told[ABS_D] += sum_d
        told[DD] += sum_dd
        told[REL] += sum_r
        told[BELOW_1E3] += n_low
        told[BELOW_5E3] += n_high
        told[ZEROS] += n_zero
        told[REFERENCES] += n_there
    told[MAX_ERROR] = max(told[MAX_ERROR], from_bits(U32(largest)))
    told[MAX_REL] = max(told[MAX_REL], from_bits(U32(largest_quotient)))
    told[MAX_REFERENCE] = max(told[MAX_REFERENCE], from_bits(U32(largest_there)))


def _sides(t: Array, g: Array, told: Array) -> None:
    """Sums and extremes of either side of a piece, and where both are equal."""
    min_t, max_t, min_g, max_g = INFINITE, -INFINITE, INFINITE, -INFINITE
    for first in range(0, t.size, ROW):
        row_t, row_g = t[first : first + ROW], g[first : first + ROW]
        sum_t = sum_tt = sum_g = sum_gg = sum_abs = ZERO
        n_equal = I32(0)
        for i in range(row_t.size):
            x, y = row_t[i], row_g[i]
            sum_t += x
            sum_tt += x * x
            sum_g += y
            sum_gg += y * y
            sum_abs += abs(y)
            min_t, max_t = least(x, min_t), most(x, max_t)
            min_g, max_g = least(y, min_g), most(y, max_g)
            n_equal = I32(n_equal + I32(x == y))
        told[T] += sum_t
        told[TT] += sum_tt
        told[G] += sum_g
        told[GG] += sum_gg
        told[ABS_G] += sum_abs
        told[EQUAL] += n_equal
    told[MIN_T], told[MAX_T] = min(told[MIN_T], min_t), max(told[MAX_T], max_t)
    told[MIN_G], told[MAX_G] = min(told[MIN_G], min_g), max(told[MAX_G], max_g)


def measure(t: Array, g: Array, beside_zeros: Any, told: Array) -> None:
    """All figures of a block of float32 into told[:FIGURES].

    Meaningless where the sum of squares of a side is not finite; without `beside_zeros` also where the sum of
    quotients is not.
    """
    told[:] = 0
    told[MIN_T] = told[MIN_G] = np.inf
    told[MAX_T] = told[MAX_G] = -np.inf
    for first in range(0, t.size, PIECE):
        piece_t, piece_g = t[first : first + PIECE], g[first : first + PIECE]
        if beside_zeros:
            _errors_beside_zeros(piece_t, piece_g, told)
        else:
            _errors(piece_t, piece_g, told)
        _sides(piece_t, piece_g, told)


def _count_odd(t: Array, g: Array, told: Array) -> None:
    """The bits of a piece: how many elements of each side are NaN or infinite, how many agree in that."""
    n_kept = n_nan_t = n_nan_g = n_inf_t = n_inf_g = n_agreeing = I32(0)
    for i in range(t.size):
        abs_t, abs_g = t[i] & MAGNITUDE, g[i] & MAGNITUDE
        both_nan = (abs_t > INFINITY_BITS) & (abs_g > INFINITY_BITS)
        n_kept = I32(n_kept + I32((abs_t < INFINITY_BITS) & (abs_g < INFINITY_BITS)))
        n_nan_t = I32(n_nan_t + I32(abs_t > INFINITY_BITS))
        n_nan_g = I32(n_nan_g + I32(abs_g > INFINITY_BITS))
        n_inf_t = I32(n_inf_t + I32(abs_t == INFINITY_BITS))
        n_inf_g = I32(n_inf_g + I32(abs_g == INFINITY_BITS))
        n_agreeing = I32(n_agreeing + I32(both_nan | ((abs_t == INFINITY_BITS) & (t[i] == g[i]))))
    told[KEPT] += n_kept
    told[NAN_T] += n_nan_t
    told[NAN_G] += n_nan_g
    told[INF_T] += n_inf_t
    told[INF_G] += n_inf_g
    told[AGREEING] += n_agreeing


def _keep(t: Array, g: Array, kept_t: Array, kept_g: Array) -> None:
    """The bits of a piece, 0 on both sides where one is not finite."""
    for i in range(t.size):
        is_kept = ((t[i] & MAGNITUDE) < INFINITY_BITS) & ((g[i] & MAGNITUDE) < INFINITY_BITS)
        kept = U32(U32(0) - U32(is_kept))  # all bits, or none
        kept_t[i], kept_g[i] = t[i] & kept, g[i] & kept


def sift(t: Array, g: Array, kept_t: Array, kept_g: Array, told: Array) -> None:
    """Bits of float32 (uint32) into kept_t, kept_g, 0 on both sides where one is not finite; how many there
    are of what kind into told[:SIFTED]. No array may overlap another."""
    told[:] = 0
    for first in range(0, t.size, PIECE):
        here = slice(first, first + PIECE)
        _count_odd(t[here], g[here], told)
        _keep(t[here], g[here], kept_t[here], kept_g[here])


def extremes(bits: Array, others: Array) -> tuple[Any, Any]:
    """Smallest and largest element of a side where both sides are finite, from their bits; (NaN, NaN) where
    none is.

    As whole numbers: the signed ones tell the largest of what is positive, the unsigned ones the smallest of
    what is negative, and what is nearest to 0 where all have one sign.
    """
    positive, negative, nearest = I32(-(1 << 31)), U32(0), U32(0xFFFFFFFF)
    for i in range(bits.size):
        is_kept = ((bits[i] & MAGNITUDE) < INFINITY_BITS) & ((others[i] & MAGNITUDE) < INFINITY_BITS)
        left_out = U32(U32(is_kept) - U32(1))  # no bits, or all of them: a NaN
        kept = U32(bits[i] & ~left_out)
        positive = max(positive, I32(kept | U32(left_out & SIGN)))
        negative = max(negative, kept)
        nearest = min(nearest, U32(bits[i] | left_out))
    smallest = from_bits(negative if negative >= SIGN else nearest)
    return smallest, from_bits(U32(positive) if positive >= I32(0) else nearest)


def widen_half(halves: Array, values: Array) -> None:
    """float16 (its bits) to float32."""
    for i in range(halves.size):
        values[i] = from_half(halves[i])


def widen_bfloat(halves: Array, bits: Array) -> None:
    """bfloat16 to float32, both as bits."""
    for i in range(halves.size):
        bits[i] = U32(halves[i]) << U32(16)


# ---- compiling -------------------------------------------------------------------------------------------


class Loops(NamedTuple):
    """The compiled loops: `measure`, `sift`, `extremes`, `widen_bfloat`, and `widen_half` where the processor
    has it. Arrays that are only read are marked read-only."""

    measure: Callable[[Array, Array, bool, Array], None]
    sift: Callable[[Array, Array, Array, Array, Array], None]
    extremes: Callable[[Array, Array], tuple[float, float]]
    widen_bfloat: Callable[[Array, Array], None]
    widen_half: Callable[[Array, Array], None] | None


def build() -> Loops:
    """The loops with all that they call, compiled at their first call. ImportError without numba."""
    from llvmlite.binding import get_host_cpu_features
    from numba import njit

    names: dict[str, Any] = {**globals(), **_instructions()}
    # sums may be added up in lanes; divisions and what is compared stay as they are written
    jit = njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
    for loop in (
        *(_errors, _errors_beside_zeros, _sides, measure, _count_odd, _keep, sift, extremes),
        *(widen_bfloat, widen_half),
    ):
        names[loop.__name__] = jit(FunctionType(loop.__code__, names, loop.__name__))
    has_half = platform.machine() in ("aarch64", "arm64") or get_host_cpu_features().get("f16c", False)
    return Loops(
        names["measure"],
        names["sift"],
        names["extremes"],
        names["widen_bfloat"],
        names["widen_half"] if has_half else None,
    )


def _instructions() -> dict[str, Any]:
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    def choice(comparison: str) -> Any:
        def make(_: Any, a: Any, b: Any) -> Any:
            def generate(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
                flags = ("nnan", "nsz")
                is_first = builder.fcmp_ordered(comparison, *args, flags=flags)
                return builder.select(is_first, *args, flags=flags)

            return types.float32(types.float32, types.float32), generate

        return intrinsic(make)

    def cast(signature: Any, *steps: tuple[str, Any]) -> Any:
        def make(_: Any, value: Any) -> Any:
            def generate(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
                (made,) = args
                for step, kind in steps:
                    made = getattr(builder, step)(made, kind)
                return made

            return signature, generate

        return intrinsic(make)

    return {
        "least": choice("<"),
        "most": choice(">"),
        "bits_of": cast(types.int32(types.float32), ("bitcast", ir.IntType(32))),
        "from_bits": cast(types.float32(types.uint32), ("bitcast", ir.FloatType())),
        "from_half": cast(types.float32(types.uint16), ("bitcast", ir.HalfType()), ("fpext", ir.FloatType())),
    }
