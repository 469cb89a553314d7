"""Numbers as texts a column at a time: the texts that `repr` gives one by one, several times sooner.

A float has the shortest text that reads back as the same float; of several the nearest. Seventeen digits
always do, so each value is scaled to an integer of seventeen digits and a rest, exactly enough to see which
shorter integers lie inside half a step of the float. Whatever is too near to a border to tell (and whatever
is no ordinary number) goes through `repr`.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]

_N_DIGITS = 17
_RANGE = (1e-38, 1e38)
"""Magnitudes that are scaled here; others are rare in figures."""
_UNSURE = 1e-6
"""So near to a border, in units of the 17th digit, nothing is told: far above the error, about 1e-14."""
_FEW = 64
"""So few values are quicker one by one."""


def float_texts(values: npt.NDArray[np.floating]) -> list[str]:
    """repr of each value as a Python float."""
    if len(values) < _FEW:
        return list(map(repr, values.tolist()))
    with np.errstate(all="ignore"):
        wide = values.astype(np.float64)
        integers, n_digits, exponents, is_sure = _shortest(np.abs(wide))
    texts = _written(integers, n_digits, exponents, np.signbit(wide))
    others = np.flatnonzero(~is_sure)
    for row, value in zip(others.tolist(), wide[others].tolist(), strict=True):
        texts[row] = repr(value)
    return texts


def _shortest(magnitudes: Floats) -> tuple[Ints, Ints, Ints, Flags]:
    """Integers of 17 digits, how many of these are needed, decimal exponents; of which that is sure."""
    is_zero = magnitudes == 0
    is_sure = (magnitudes >= _RANGE[0]) & (magnitudes <= _RANGE[1])
    magnitudes = np.where(is_sure, magnitudes, 1.0)
    exponents = np.floor(np.log10(magnitudes)).astype(np.int64)
    whole, rest, half_step = _scaled(magnitudes, exponents)
    is_sure &= (whole >= 10**16) & (0.5 - np.abs(rest) > _UNSURE)  # the logarithm may be off by one
    # the step below a power of two is half of the one above: told only where two digits less fit that, too
    is_power = np.frexp(magnitudes)[0] == 0.5
    half_step[is_power] *= 0.5

    by_one, fits_one, is_told = _rounded(10, whole, rest, half_step)
    is_sure &= is_told
    integers = np.where(fits_one, by_one, whole)
    n_digits = _N_DIGITS - fits_one.astype(np.int64)
    rows = np.flatnonzero(fits_one)
    by_two, fits_two, is_told = _rounded(100, whole[rows], rest[rows], half_step[rows])
    is_sure[rows] &= is_told
    rows, by_two = rows[fits_two], by_two[fits_two]
    integers[rows] = by_two  # no other multiple of 100 is so near: what is shorter still is the same number
    n_digits[rows] = _N_DIGITS - _n_zeros(by_two)
    is_power[rows] = False
    is_sure &= ~is_power & (integers < 10**_N_DIGITS)
    integers[is_zero], n_digits[is_zero], exponents[is_zero] = 0, 1, 0
    return integers, n_digits, exponents, is_sure | is_zero


def _rounded(unit: int, whole: Ints, rest: Floats, half_step: Floats) -> tuple[Ints, Flags, Flags]:
    """The nearest multiples of unit; which are within half a step; of which that is certain."""
    shorter = (whole + (unit // 2) - (rest < 0)) // unit * unit
    away = np.abs((shorter - whole) - rest)
    room = half_step - away
    return shorter, room > 0, (np.abs(room) > _UNSURE) & (np.abs(away - unit // 2) > _UNSURE)


def _n_zeros(integers: Ints) -> Ints:
    """The zeros at the end of each number, of up to 17 digits; never more than 16."""
    n_zeros = np.zeros(len(integers), np.int64)
    for n in (8, 4, 2, 1, 1):
        shorter = integers // 10**n
        is_whole = shorter * 10**n == integers
        integers = np.where(is_whole, shorter, integers)
        n_zeros += n * is_whole
    return n_zeros


def _scaled(magnitudes: Floats, exponents: Ints) -> tuple[Ints, Floats, Floats]:
    """magnitudes * 10 ** (16 - exponents) as an integer and a rest within 0.5; half a step, scaled alike."""
    powers, lows = (table[_PLACE + exponents] for table in _powers())
    product = magnitudes * powers
    above, below = _halves(magnitudes)
    power_above, power_below = _halves(powers)
    error = below * power_below - (
        ((product - above * power_above) - below * power_above) - above * power_below
    )
    error += magnitudes * lows
    nearest = np.rint(error)
    half_step = np.spacing(magnitudes) * 0.5 * powers
    return product.astype(np.int64) + nearest.astype(np.int64), error - nearest, half_step


def _halves(values: Floats) -> tuple[Floats, Floats]:
    """Each float as the sum of two with half the digits, whose products are exact."""
    large = values * 134217729.0  # 2 ** 27 + 1
    above = large - (large - values)
    return above, values - above


_PLACE = 40
"""Where the powers' tables hold the exponent 0."""


@cache
def _powers() -> tuple[Floats, Floats]:
    """10 ** (16 - exponent) for exponents from -40 to 40, and what these floats lack of it."""
    from fractions import Fraction  # only where a table is written

    exact = [Fraction(10) ** (16 - exponent) for exponent in range(-_PLACE, _PLACE + 1)]
    return np.array([float(power) for power in exact]), np.array(
        [float(power - Fraction(float(power))) for power in exact]
    )


# A text in 32 columns of one byte, what it does not have being NUL, which falls out in the end: sign, "0.000"
# in front of a number below one, up to 17 digits with a point between (those in front of it one column
# further left), exponent, end.
_PREFIX, _BODY, _EXPONENT, _END, _WIDTH = 1, 6, 24, 28, 32
_N_SHAPES = _N_DIGITS + 1


def _written(integers: Ints, n_digits: Ints, exponents: Ints, is_negative: Flags) -> list[str]:
    is_fixed = (exponents >= -4) & (exponents < 16)
    points = np.where(is_fixed, np.maximum(exponents + 1, 0), 1)
    n_kept = np.where(is_fixed, np.maximum(n_digits, exponents + 2), n_digits)  # at least "3.0"
    before, behind, point = (np.take(mask, points * _N_SHAPES + n_kept, axis=0) for mask in _shapes())
    digits = _digits(integers)
    text = digits & behind
    text.ravel()[:-1] |= digits.ravel()[1:] & before.ravel()[:-1]
    text |= point
    text |= np.take(_frames(), exponents + _PLACE, axis=0)
    text[:, 0] = is_negative * np.uint8(ord("-"))
    return text.tobytes().translate(None, b"\0").decode("ascii")[:-1].split(",")


@cache
def _shapes() -> tuple[Bytes, Bytes, Bytes]:
    """By digits in front of the point and digits in all: masks of either side of the point, and the point."""
    front, kept = (side.reshape(-1, 1) for side in np.indices((_N_SHAPES, _N_SHAPES)))
    place = np.arange(_WIDTH) - _BODY
    before = (place >= 0) & (place < np.minimum(front, kept))
    behind = (place > front) & (place <= kept)
    point = (place == front) & (front > 0) & (front < kept)
    return before * np.uint8(255), behind * np.uint8(255), point * np.uint8(ord("."))


@cache
def _frames() -> Bytes:
    """By exponent: what stands around the digits."""
    frames = np.zeros((2 * _PLACE + 1, _WIDTH), np.uint8)
    for exponent, frame in enumerate(frames, -_PLACE):
        prefix = b"0." + b"0" * (-1 - exponent) if -4 <= exponent < 0 else b""
        frame[_PREFIX : _PREFIX + len(prefix)] = list(prefix)
        frame[_EXPONENT:_END] = 0 if -4 <= exponent < 16 else list(b"e%+03d" % exponent)
    frames[:, _END] = ord(",")
    return frames


@cache
def _fours() -> npt.NDArray[np.uint32]:
    """The four digits of each number below 10,000, as four bytes at once."""
    numbers = np.arange(10_000)[:, None] // (1000, 100, 10, 1) % 10 + ord("0")
    fours: npt.NDArray[np.uint32] = numbers.astype(np.uint8).view(np.uint32).ravel()
    return fours


def _digits(integers: Ints) -> Bytes:
    """The 17 digits of each, up to the column of the exponent: [n, 32]."""
    words = np.zeros((len(integers), _WIDTH // 4), np.uint32)
    rest = integers
    for word in range(_EXPONENT // 4 - 1, 0, -1):
        more = rest // 10_000
        words[:, word] = _fours()[rest - more * 10_000]
        rest = more
    return words.view(np.uint8)
