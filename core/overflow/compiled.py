"""The scan's loops over the elements of a block, compiled by numba where it is installed (extra `compiled`).

numpy takes several passes over a block for what one loop can do; a compiled scan keeps up with numpy.max.
But loading the compiler costs a process 0.4 s and 130 MB (the first time on a machine a few seconds more),
which pays only for much data. So a process loads it once it has scanned `LOAD_AFTER_BYTES` without it, and
then has lost at most as much as it had to win. The machine code is kept where Python keeps compiled modules.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from npulse.core.compiled_late import CompiledLate

Raw = npt.NDArray[Any]

LOAD_AFTER_BYTES = 4 << 30

_PIECE = 1 << 15
"""Counters are as wide as the elements, which keeps as many of them in a register: a piece must not
overflow those of 16 bits."""


class Kernel(NamedTuple):
    """The loops, for flat contiguous arrays that are marked read-only.

    The first three take the bits of floats as unsigned integers; patterns are bits without the sign.
    ends(bits, the same as signed, sign bit): the smallest pattern, the smallest one but 0, the largest of the
    positive and of the negative elements (-1 without any). counts(bits, infinity, normal, near, ceiling, sign
    bit): how many elements are NaN, +Inf, -Inf, subnormal, near; then of the finite ones the largest pattern
    of each sign (-1 without any); of all the smallest. occurrences(bits, number): how many elements are that
    number. Arguments are of the elements' type.
    small_ends(int8 elements): the largest, the smallest, how many are 127, how many <= -127.
    histogram(bytes): how often each of the 256 occurs.
    """

    ends: Callable[[Raw, Raw, Any], tuple[Any, Any, Any, Any]]
    counts: Callable[[Raw, Any, Any, Any, Any, Any], npt.NDArray[np.int64]]
    occurrences: Callable[[Raw, Any], Any]
    small_ends: Callable[[Raw], tuple[Any, Any, Any, Any]]
    histogram: Callable[[Raw], npt.NDArray[np.int64]]


_loaded: CompiledLate[Kernel] = CompiledLate()


def kernel_for(n_bytes: int) -> Kernel | None:
    """The compiled loops for a scan of that many bytes; None while numpy is the better choice."""
    return _loaded.loops_for(n_bytes, LOAD_AFTER_BYTES, _compile)


def load() -> bool:
    """Load the compiler now. False without numba, or where it cannot be used on this machine."""
    return _loaded.load(_compile)


def _compile() -> Kernel | None:
    try:
        from numba import njit

        jit: Any = njit(nogil=True, cache=True)
        kernel = Kernel(*(jit(loop) for loop in (_ends, _counts, _occurrences, _small_ends, _histogram)))
        sample = np.zeros(1, np.uint16)
        sample.flags.writeable = False
        kernel.ends(sample, sample.view(np.int16), np.uint16(1 << 15))
    except Exception:  # an optional helper: no place for its code, no numba for this processor or numpy
        return None
    return kernel


# ---- the loops -------------------------------------------------------------------------------------------
# Each operation's result is brought back to the type of the elements: in wider ones fewer fit a register.


def _ends(bits: Raw, signed: Raw, sign: Any) -> tuple[Any, Any, Any, Any]:
    of = bits.dtype.type
    one = of(1)
    least = least_but_zero = of(~of(0))
    unsigned_most, signed_most = bits[0], signed[0]
    for i in range(bits.size):
        doubled = of(bits[i] + bits[i])  # the sign bit falls out
        least = min(least, doubled)
        least_but_zero = min(least_but_zero, of(doubled - one))  # zeros become the largest number
        unsigned_most = max(unsigned_most, bits[i])
        signed_most = max(signed_most, signed[i])
    plus = np.int64(signed_most) if signed_most >= 0 else np.int64(-1)
    minus = np.int64(of(unsigned_most - sign)) if unsigned_most >= sign else np.int64(-1)
    return np.int64(least >> one), np.int64(least_but_zero >> one) + 1, plus, minus


def _counts(bits: Raw, infinity: Any, normal: Any, near: Any, ceiling: Any, sign: Any) -> Raw:
    of = bits.dtype.type
    one, zero = of(1), of(0)
    magnitudes, minus_infinity = of(sign - one), of(sign + infinity)
    n_subnormal_patterns, n_near_patterns = of(normal - one), of(ceiling - near)
    totals = np.zeros(8, np.int64)
    above_plus = above_minus = zero
    least = magnitudes
    for first in range(0, bits.size, _PIECE):
        piece = bits[first : first + _PIECE]  # an index that may be negative would be looked at each time
        n_nan = n_plus_inf = n_minus_inf = n_subnormal = n_near = zero
        for i in range(piece.size):
            element = piece[i]
            magnitude = of(element & magnitudes)
            n_nan = of(n_nan + of(magnitude > infinity))
            n_plus_inf = of(n_plus_inf + of(element == infinity))
            n_minus_inf = of(n_minus_inf + of(element == minus_infinity))
            # a range is one comparison: what lies below its beginning becomes a large number
            n_subnormal = of(n_subnormal + of(of(magnitude - one) < n_subnormal_patterns))
            n_near = of(n_near + of(of(magnitude - near) < n_near_patterns))
            mirrored = of(element - sign)  # of a negative one the magnitude
            above_plus = max(above_plus, of(element + one) if element < infinity else zero)
            above_minus = max(above_minus, of(mirrored + one) if mirrored < infinity else zero)
            least = min(least, magnitude)
        totals[0] += n_nan
        totals[1] += n_plus_inf
        totals[2] += n_minus_inf
        totals[3] += n_subnormal
        totals[4] += n_near
    totals[5] = np.int64(above_plus) - 1
    totals[6] = np.int64(above_minus) - 1
    totals[7] = least
    return totals


def _occurrences(bits: Raw, number: Any) -> Any:
    of = bits.dtype.type
    total = np.int64(0)
    for first in range(0, bits.size, _PIECE):
        piece = bits[first : first + _PIECE]
        n = of(0)
        for i in range(piece.size):
            n = of(n + of(piece[i] == number))
        total += np.int64(n)
    return total


def _small_ends(numbers: Raw) -> tuple[Any, Any, Any, Any]:
    most = least = numbers[0]
    n_high = n_low = np.int64(0)
    for first in range(0, numbers.size, _PIECE):
        piece = numbers[first : first + _PIECE]
        in_piece_high = in_piece_low = np.uint16(0)
        for i in range(piece.size):
            most = max(most, piece[i])
            least = min(least, piece[i])
            in_piece_high = np.uint16(in_piece_high + np.uint16(piece[i] == 127))
            in_piece_low = np.uint16(in_piece_low + np.uint16(piece[i] <= -127))
        n_high += np.int64(in_piece_high)
        n_low += np.int64(in_piece_low)
    return most, least, n_high, n_low


def _histogram(elements: Raw) -> Raw:
    # in turn into four tables: a count that was changed right before would have to be waited for
    tables = np.zeros((4, 256), np.int64)
    in_fours = elements.size // 4 * 4
    for i in range(0, in_fours, 4):
        for table in range(4):
            tables[table, elements[i + table]] += 1
    for i in range(in_fours, elements.size):
        tables[0, elements[i]] += 1
    total: Raw = tables[0] + tables[1] + tables[2] + tables[3]
    return total
