"""Cells of a table as arrays, straight from the bytes: numbers by columns of digits, anything else one by
one.

A cell is the bytes from `starts` to `ends` (not included) in a buffer. A cell that is not a plain decimal is
looked at as text, with the same result as digits would give, so it does not matter which way a cell went.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

import numpy as np
import numpy.typing as npt

from .cell_texts import NONE_WORDS, unquoted

NO_ID = -1
NO_START = -1
NO_NS = -(2**63)

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]
Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

_MAX_INT64 = 2**63 - 1
_NO_NUMBER = 0xFFFF_FFFF  # what the writer has for "none"
_POWERS = 10 ** np.arange(19, dtype=np.int64)
_FLOAT_POWERS = 10.0 ** np.arange(19)
_EXACT = 2**53
_MAX_DIGITS = 19
_MAX_CELL = 64
_ID = re.compile(r"(\d{1,19})(?:\.0*)?", re.ASCII)
_INTEGER = re.compile(r"([+-]?\d{1,19})(?:\.0*)?", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,3})?", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Bad:
    """Cells that are neither a value nor one of the words for none: places in the arrays, in their order."""

    places: list[int]


@dataclass(frozen=True, slots=True)
class _Decimals:
    """Plain decimals: sign * digits / 10**n_decimals, right where `is_plain`; `is_none`: empty or N/A."""

    digits: Integers
    n_decimals: Integers
    is_negative: Flags
    is_plain: Flags
    is_none: Flags


def decimals_of(buffer: Bytes, starts: Places, ends: Places) -> _Decimals:
    """Digits column by column. Every `ends` is inside the buffer: the separator stands there."""
    width = ends - starts
    first = buffer[starts]
    is_none = width == 0
    three = np.flatnonzero((width == 3) & (first == 78))
    at = starts[three]
    is_none[three[(buffer[at + 1] == 47) & (buffer[at + 2] == 65)]] = True  # N/A
    if is_none.any():
        width = np.where(is_none, 0, width)
    width = width - ((buffer[ends - 1] == 9) & (width > 1))  # the guard against spreadsheets
    is_negative = (first == 45) & (width > 1)
    starts = starts + is_negative
    width = width - is_negative
    n = len(starts)
    digits = np.zeros(n, np.int64)
    n_decimals = np.zeros(n, np.int64)
    is_plain = (width > 0) & (width <= _MAX_DIGITS + 1)
    rows = np.flatnonzero(is_plain)
    dots = np.full(n, -1, np.int64)
    k = 0
    is_all = len(rows) == n
    at, left = (starts, width) if is_all else (starts[rows], width[rows])
    value = np.zeros(len(rows), np.int64)
    dot = np.full(len(rows), -1, np.int64)
    is_good = np.ones(len(rows), np.bool_)
    while len(rows):
        char = buffer[at + k]
        digit = char - np.uint8(48)
        is_digit = digit < 10
        if is_digit.all():
            value = value * 10 + digit
        else:
            is_dot = (char == 46) & (dot < 0) & (k > 0)
            value = np.where(is_digit, value * 10 + digit, value)
            dot[is_dot] = k
            is_good &= is_digit | is_dot
        k += 1
        is_over = left == k
        if is_over.any():
            done = rows[is_over]
            digits[done], dots[done], is_plain[done] = value[is_over], dot[is_over], is_good[is_over]
            more = ~is_over
            rows, at, left, value, dot, is_good = (
                part[more] for part in (rows, at, left, value, dot, is_good)
            )
    has_dot = dots >= 0
    n_decimals = np.where(has_dot, width - 1 - dots, 0)
    n_digits = width - has_dot
    is_plain &= (n_digits < _MAX_DIGITS) | ((n_digits == _MAX_DIGITS) & (buffer[starts] != 57) & (digits > 0))
    is_plain &= n_decimals < _MAX_DIGITS
    return _Decimals(digits, n_decimals, is_negative, is_plain, is_none)


def ids_of(buffer: Bytes, starts: Places, ends: Places) -> tuple[Integers, Bad]:
    """Whole numbers from 0; NO_ID (-1) where there is none, or where the writer has 4294967295 for that."""
    found = decimals_of(buffer, starts, ends)
    is_id = found.is_plain & (found.n_decimals == 0) & ~found.is_negative
    values = np.where(is_id & (found.digits != _NO_NUMBER), found.digits, NO_ID)
    return values, _one_by_one(buffer, starts, ends, is_id | found.is_none, values, _id_of)


def integers_of(buffer: Bytes, starts: Places, ends: Places) -> tuple[Integers, Bad]:
    """Whole numbers of either sign, exact; NO_NS where there is none, or `host` in place of a number."""
    found = decimals_of(buffer, starts, ends)
    is_whole = found.is_plain & (found.n_decimals == 0)
    values = np.where(found.is_negative, -found.digits, found.digits)
    values[~is_whole] = NO_NS
    return values, _one_by_one(buffer, starts, ends, is_whole | found.is_none, values, _integer_of)


def ns_of(
    buffer: Bytes, starts: Places, ends: Places, none: int, largest: int | None = None
) -> tuple[Integers, Bad]:
    """Microseconds as written -> whole nanoseconds, halves away from zero; `none` where there is none.

    No float is between, which would lose the last digits of a time since 1970. largest: what stands for
    numbers beyond 64 bits, such as counters that ran below zero; without it they are not read.
    """
    found = decimals_of(buffer, starts, ends)
    digits, n_decimals = found.digits, found.n_decimals
    is_fine = n_decimals > 3
    is_time = found.is_plain & (is_fine | (digits <= _MAX_INT64 // _POWERS[np.clip(3 - n_decimals, 0, 3)]))
    values = digits * _POWERS[np.clip(3 - n_decimals, 0, 3)]
    if is_fine.any():
        part = _POWERS[np.clip(n_decimals - 3, 0, 18)]
        whole, rest = np.divmod(digits, part)
        values = np.where(is_fine, whole + (rest >= part - rest), values)
    values = np.where(found.is_negative, -values, values)
    values[~is_time] = none
    if none == NO_START:  # nothing starts before 1970
        is_time &= values >= 0
        values[values < 0] = none
    return values, _one_by_one(
        buffer, starts, ends, is_time | found.is_none, values, lambda text: _ns_of(text, none, largest)
    )


def numbers_of(buffer: Bytes, starts: Places, ends: Places) -> tuple[Floats, Bad]:
    """Numbers as float64, the nearest one to what is written; NaN where there is none."""
    found = decimals_of(buffer, starts, ends)
    is_number = found.is_plain & (found.digits <= _EXACT)
    # both are exact, so that one division rounds as a reading of the text does
    values = found.digits / _FLOAT_POWERS[found.n_decimals.clip(0, 18)]
    values = np.where(found.is_negative, -values, values)
    values[~is_number] = math.nan
    return values, _one_by_one(buffer, starts, ends, is_number | found.is_none, values, _number_of)


def _one_by_one(
    buffer: Bytes,
    starts: Places,
    ends: Places,
    is_done: Flags,
    values: Integers | Floats,
    read: Callable[[str], int | float | None],
) -> Bad:
    """Fill in the cells that are no plain decimals; the places of those that are not read either."""
    if is_done.all():
        return Bad([])
    bad: list[int] = []
    memo: dict[bytes, int | float | None] = {}
    left = np.flatnonzero(~is_done)
    for i, start, end in zip(left.tolist(), starts[left].tolist(), ends[left].tolist(), strict=True):
        raw = buffer[start : min(end, start + _MAX_CELL + 1)].tobytes()
        if raw not in memo:
            text = unquoted(raw.decode("utf-8", "replace")) if len(raw) <= _MAX_CELL else "?"
            memo[raw] = read(text)
        value = memo[raw]
        if value is None:
            bad.append(i)
        else:
            values[i] = value
    return Bad(bad)


def _id_of(text: str) -> int | None:
    if text.lower() in NONE_WORDS or text.lower() == "host":
        return NO_ID
    found = _ID.fullmatch(text)
    if found is None or int(found[1]) > _MAX_INT64:
        return None
    return NO_ID if int(found[1]) == _NO_NUMBER else int(found[1])


def _integer_of(text: str) -> int | None:
    if text.lower() in NONE_WORDS or text.lower() == "host":
        return NO_NS
    found = _INTEGER.fullmatch(text)
    return int(found[1]) if found is not None and abs(int(found[1])) <= _MAX_INT64 else None


def _ns_of(text: str, none: int, largest: int | None = None) -> int | None:
    if text.lower() in NONE_WORDS:
        return none
    if not _NUMBER.fullmatch(text):
        return None
    try:
        us = Decimal(text)
        if us.adjusted() > 16:
            return largest if us > 0 else None
        ns = int((us * 1000).quantize(Decimal(1), ROUND_HALF_UP))
    except InvalidOperation:
        return None
    if ns > _MAX_INT64:
        return largest
    return None if ns <= NO_NS or (none == NO_START and ns < 0) else ns


def _number_of(text: str) -> float | None:
    if text.lower() in NONE_WORDS:
        return math.nan
    if not _NUMBER.fullmatch(text):
        return None
    value = float(text)
    return value if math.isfinite(value) else None
