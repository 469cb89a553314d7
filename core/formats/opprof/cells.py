"""Cells of msOpProf's tables as numbers: NA and N/A are no numbers, and no zeros."""

from __future__ import annotations

import math
import re

NONE_WORDS = frozenset({"", "na", "n/a", "nan", "none", "null", "-"})
MAX_NUMBER = 1e18
"""Beyond any counter, time or rate of a kernel."""

_MAX_CELL = 64
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,3})?", re.ASCII | re.IGNORECASE)
_WHOLE = re.compile(r"[+-]?\d{1,19}(?:\.0*)?", re.ASCII)
_HEX = re.compile(r"0x[0-9a-f]{1,16}", re.ASCII | re.IGNORECASE)
_UNIT = re.compile(r"\(([^()]{1,8})\)")
_MAX_INT64 = 2**63 - 1


class NotANumberError(ValueError):
    """A cell that is neither a number nor one of the words for none."""


def number_of(text: str) -> float:
    """A number up to `MAX_NUMBER`, NaN for none. Raises NotANumberError."""
    text = text.strip()
    if text.lower() in NONE_WORDS:
        return math.nan
    if len(text) > _MAX_CELL or not _NUMBER.fullmatch(text):
        raise NotANumberError(text[:_MAX_CELL])
    value = float(text)
    if not abs(value) <= MAX_NUMBER:
        raise NotANumberError(text[:_MAX_CELL])
    return value


def whole_of(text: str) -> int | None:
    """A whole number, None for none. Raises NotANumberError."""
    text = text.strip()
    if text.lower() in NONE_WORDS:
        return None
    if len(text) > _MAX_CELL or not _WHOLE.fullmatch(text):
        raise NotANumberError(text[:_MAX_CELL])
    value = int(text.partition(".")[0])
    if abs(value) > _MAX_INT64:
        raise NotANumberError(text[:_MAX_CELL])
    return value


def address_of(text: str) -> int:
    """A program counter, decimal or 0x..., -1 for none. Raises NotANumberError."""
    text = text.strip()
    if not _HEX.fullmatch(text):
        value = whole_of(text)
        if value is not None and value < 0:
            raise NotANumberError(text)
        return -1 if value is None else value
    value = int(text, 16)
    if value > _MAX_INT64:
        raise NotANumberError(text)
    return value


def name_and_unit(header: str) -> tuple[str, str, bool]:
    """'GM_to_L1_bw_usage_rate(%)' -> ('gm_to_l1_bw_usage_rate', '%', False); True: an estimate."""
    unit = ""
    is_estimate = False
    for found in _UNIT.findall(header):
        if found.lower() == "estimate":
            is_estimate = True
        elif not unit:
            unit = found
    return "_".join(_UNIT.sub("", header).lower().split()), unit, is_estimate
