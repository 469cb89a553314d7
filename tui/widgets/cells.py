"""Text measured, cut and padded in terminal cells, and values turned into the text of a table cell."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from rich.cells import cell_len, set_cell_size

from npulse.core.table import Column

from ..glyphs import Glyphs, showable

Align = Literal["left", "right"]
NumberFormat = Literal["auto", "plain", "grouped", "fixed", "scientific", "percent", "significant"]
Formatter = Callable[[Any], str]

ABSENT = "-"

# ---- widths ----


def cell_width(text: str) -> int:
    """Terminal cells that safe text takes; wide characters count two, combining marks none."""
    return len(text) if text.isascii() else cell_len(text)


def cut(text: str, width: int, ellipsis: str = "…") -> str:
    """Safe text in at most `width` cells; what was cut off is marked by an ellipsis.

    A wide character that does not fit whole is left out, never halved.
    """
    if cell_width(text) <= width:
        return text
    room = width - cell_width(ellipsis)
    if room < 0:
        return ""
    return set_cell_size(text, room) + ellipsis


def pad(text: str, width: int, align: Align = "left") -> str:
    """Text filled up with blanks to `width` cells; longer text is returned as it is."""
    blanks = " " * (width - cell_width(text))
    return blanks + text if align == "right" else text + blanks


def fit(text: str, width: int, align: Align = "left", ellipsis: str = "…") -> str:
    """Text from `showable` in exactly `width` cells."""
    size = cell_width(text)
    if size > width:
        text = cut(text, width, ellipsis)
        size = cell_width(text)
    blanks = " " * (width - size)
    return blanks + text if align == "right" else text + blanks


# ---- numbers ----


def choose_format(low: float, high: float) -> NumberFormat:
    """The format that shows a column whose finite magnitudes lie in low..high (zeros left out)."""
    return "fixed" if high == 0 or (low >= 1e-3 and high < 1e6) else "scientific"


def number_formatter(number_format: NumberFormat, decimals: int, kind: str) -> Formatter:
    """A function from one present value to its text; nan and inf are always "nan", "inf", "-inf".

    "percent" takes a ratio. A value that is not zero never shows as zero: it takes the short
    scientific form instead.
    """
    if kind == "bool":
        return lambda value: "yes" if value else "no"
    if kind == "int" and number_format in ("auto", "plain"):
        return str
    if kind == "int" and number_format == "grouped":
        return lambda value: f"{value:,}"
    write = _WRITERS["fixed" if number_format == "auto" else number_format]
    return lambda value: _float_text(value, write, decimals)


def _float_text(value: float, write: Callable[[float, int], str], decimals: int) -> str:
    if not math.isfinite(value):
        return str(float(value))
    text = write(value, decimals)
    if value and not any("1" <= digit <= "9" for digit in text):
        return _scientific(value, 0)
    return text


def _scientific(value: float, decimals: int) -> str:
    mantissa, exponent = f"{value:.{decimals}e}".split("e")
    return f"{mantissa}e{int(exponent):+d}"


def _significant(value: float, digits: int) -> str:
    text = f"{value:.{max(digits, 1)}g}"
    if "e" not in text:
        return text
    mantissa, exponent = text.split("e")
    return f"{mantissa}e{int(exponent):+d}"


_WRITERS: dict[str, Callable[[float, int], str]] = {
    "plain": lambda value, decimals: repr(float(value)),
    "grouped": lambda value, decimals: f"{value:,.{decimals}f}",
    "fixed": lambda value, decimals: f"{value:.{decimals}f}",
    "scientific": _scientific,
    "percent": lambda value, decimals: f"{value * 100:.{decimals}f} %",
    "significant": _significant,
}


def finite_range(column: Column) -> tuple[float, float] | None:
    """Smallest and largest finite value of a number column; None where there is none. One pass."""
    values = column.values
    if not len(values) or column.kind == "text":
        return None
    if column.absent is None:
        low, high = np.fmin.reduce(values), np.fmax.reduce(values)
        if column.kind != "float" or (np.isfinite(low) and np.isfinite(high)):  # NaN counts for neither
            return float(low), float(high)
    usable = np.isfinite(values) if column.kind == "float" else np.ones(len(values), np.bool_)
    if column.absent is not None:
        usable &= ~column.absent
    if not usable.any():
        return None
    low = np.min(values, where=usable, initial=values[usable.argmax()])
    high = np.max(values, where=usable, initial=values[usable.argmax()])
    return float(low), float(high)


# ---- a column's visible cells ----


def column_texts(column: Column, rows: npt.NDArray[np.int64], write: Formatter, glyphs: Glyphs) -> list[str]:
    """The texts of some rows of one column, uncut: "-" where the value is absent. Cost: O(rows)."""
    values: Sequence[Any] = column.values[rows].tolist()
    if column.labels is not None:
        values = [column.labels[code] for code in values]
    if column.absent is None or not (missing := column.absent[rows]).any():
        return [showable(write(value), glyphs) for value in values]
    pairs = zip(values, missing.tolist(), strict=True)
    return [ABSENT if gone else showable(write(value), glyphs) for value, gone in pairs]
