"""Numbers out of a block of JSON text, many at once: exact integers, never by way of a float.

A time such as 1736408883688177.930 has more digits than a float64 holds: its last ones are lost there.
Tables have a parser of their own (`cells`), for a cell's end is known before its digits are. Here the end is
found out of the digits, in windows of one width: measured, that is a little faster on times, but takes up to
twice as long for short cells (ratios, N/A), and most cells are short.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass

NO_TIME = -(2**63)
"""Stands in columns of nanoseconds where there is no time."""

PAD_BYTES = 48
"""So many blanks must follow the text, for numbers are looked at in windows of equal width."""

Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]

_WIDTH = 24
_ALL = (1 << _WIDTH) - 1
_MAX_INT64 = 2**63 - 1
_MAX_HIGH = _MAX_INT64 // 10**9 - 1  # what may stand before the last nine digits
_POWERS = np.array([10**k for k in range(19)], np.int64)
_FLOAT_POWERS = np.array([float(10**k) for k in range(_WIDTH)])
_ENDS = np.zeros(256, np.bool_)
_ENDS[list(b' \t\r\n,}]"')] = True


@dataclass(frozen=True, slots=True)
class Decimals:
    """value = mantissa / 10**n_decimals, exactly. All arrays have one element a number.

    length: bytes of the digits and the point. is_read: False where something else stands there (an exponent,
    more than 19 digits, text, nothing).
    """

    mantissa: Integers
    n_decimals: npt.NDArray[np.int64]
    length: Integers
    is_read: Flags

    def part(self, start: int, stop: int) -> Decimals:
        """Those from `start` to `stop`."""
        return Decimals(
            self.mantissa[start:stop],
            self.n_decimals[start:stop],
            self.length[start:stop],
            self.is_read[start:stop],
        )

    def whole(self) -> tuple[Integers, Flags]:
        """The integers, and where they are some."""
        return self.mantissa, self.is_read & (self.n_decimals == 0)

    def floats(self) -> tuple[npt.NDArray[np.float64], Flags]:
        """The nearest float64 of each, and where it is surely that."""
        is_sure = self.is_read & (np.abs(self.mantissa) < 2**53)
        return self.mantissa / _FLOAT_POWERS[self.n_decimals], is_sure

    def thousandfold(self) -> tuple[Integers, Flags, Flags]:
        """Microseconds as whole nanoseconds, where they could be told, and where digits were rounded."""
        ns = self.mantissa.copy()
        is_read = self.is_read.copy()
        is_rounded = np.zeros(len(ns), np.bool_)
        for n_decimals in np.flatnonzero(np.bincount(self.n_decimals, minlength=1)).tolist():
            at = np.flatnonzero(self.n_decimals == n_decimals)
            if n_decimals <= 3:
                factor = 10 ** (3 - n_decimals)
                is_read[at] &= np.abs(ns[at]) <= _MAX_INT64 // factor
                ns[at] *= factor
            else:
                divisor = 10 ** (n_decimals - 3)
                part, rest = np.divmod(ns[at], divisor)
                is_rounded[at] = rest != 0
                ns[at] = part + ((2 * rest > divisor) | ((2 * rest == divisor) & (part % 2 == 1)))
        ns[~is_read] = NO_TIME
        return ns, is_read, is_rounded & is_read


def decimals_at(text: Bytes, at: Integers) -> Decimals:
    """The numbers that start at `at` in `text`, in quotes or not. `text` ends with PAD_BYTES blanks.

    Cost: about 0.15 us a number.
    """
    n = len(at)
    is_quoted = text.take(at) == 34
    at = at + is_quoted
    is_negative = text.take(at) == 45
    at = at + is_negative
    rows = np.lib.stride_tricks.sliding_window_view(text, _WIDTH)[at]
    digits = rows - 48
    # Digits as bits, the first one as the highest: the first zero is behind them.
    others = ~_as_integers(digits < 10) & _ALL
    dot = length = (_WIDTH - 1) - _highest_bit(others)
    is_dotted = text.take(at + dot) == 46
    if is_dotted.any():  # the second zero is behind the decimals
        length = (_WIDTH - 1) - _highest_bit(others & (_ALL >> (dot + 1)))
        length = np.where(is_dotted, length, dot)
    end = text.take(at + length)
    is_read = _ENDS.take(end) & ((end == 34) == is_quoted)
    n_decimals = np.maximum(length - dot - 1, 0)
    mantissa = np.zeros(n, np.int64)
    layout = np.where(is_read, length * 32 + dot, 0)
    for key in np.flatnonzero(np.bincount(layout, minlength=1)).tolist():
        width, point = divmod(key, 32)
        columns = [j for j in range(width) if j != point]
        # nothing, too much, or a point without digits before or behind it: left to others
        if not 0 < len(columns) <= 19 or point == 0 or point == width - 1:
            is_read[layout == key] = False
            continue
        chosen = np.flatnonzero(layout == key)
        picked = (digits if len(chosen) == n else digits[chosen])[:, columns].astype(np.int64)
        # not by matrix products: those start threads, which cost more than this
        mantissa[chosen] = np.einsum("ij,j->i", picked, _POWERS[len(columns) - 1 :: -1])
        if len(columns) == 19:
            high = np.einsum("ij,j->i", picked[:, :10], _POWERS[9::-1])
            is_read[chosen] &= high <= _MAX_HIGH
    np.negative(mantissa, out=mantissa, where=is_negative)
    return Decimals(mantissa, n_decimals, length, is_read)


def ns_of(value: Any) -> tuple[int, bool]:
    """Microseconds as a number or text -> (whole nanoseconds, whether digits behind them were rounded).

    Raises ValueError for what is no time, or one that 64 bits cannot hold.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ValueError("no number")
    text = str(value).strip()[:400]
    if "_" in text or not text.isascii():  # Decimal knows more ways to write a number than files have
        raise ValueError("no number")
    try:
        number = Decimal(text)
    except InvalidOperation as error:
        raise ValueError("no number") from error
    if not number.is_finite() or number.adjusted() > 17:
        raise ValueError("out of range")
    if number.adjusted() < -30:
        return 0, bool(number)
    scaled = number.scaleb(3)
    ns = int(scaled.to_integral_value())  # half to even
    if not -_MAX_INT64 <= ns <= _MAX_INT64:
        raise ValueError("out of range")
    return ns, scaled != ns


def _as_integers(bits: Flags) -> Integers:
    """Rows of 24 flags as integers, the first flag as the highest bit."""
    packed = np.packbits(bits, axis=1).astype(np.int64)
    return (packed[:, 0] << 16) | (packed[:, 1] << 8) | packed[:, 2]


def _highest_bit(values: Integers) -> Integers:
    """The number of the highest bit that is set, -1 for 0."""
    found: Integers = np.frexp(values.astype(np.float64))[1].astype(np.int64) - 1
    return found
