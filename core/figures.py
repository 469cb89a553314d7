"""Figures for people: rounded as one reads them. Reports for programs keep every digit."""

from __future__ import annotations


def number(value: float | int) -> str:
    """3 to 7 significant digits, more where the value (a cosine) is close below 1; counts with commas."""
    if isinstance(value, int):
        return f"{value:,}"
    if 0.99 < value < 1:
        text = f"{value:.7f}"
        return text if text == "1.0000000" else text.rstrip("0")
    return f"{value:.4g}"


def amount(value: float) -> str:
    """A magnitude as people compare it with a limit: 60,608 rather than 6.061e+04; else as `number`."""
    if 1000 <= abs(value) < 1e6:
        return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"
    return number(float(value))


def time_text(ns: float) -> str:
    """A duration in the unit that fits, as exact as the vendor's tables: 1,150.5 us, 136.58 ms, 12.35 s."""
    if abs(ns) >= 1e10:
        return f"{ns / 1e9:,.2f} s"
    if abs(ns) >= 1e7:
        return f"{ns / 1e6:,.2f} ms"
    text = f"{ns / 1e3:,.2f}" if abs(ns) >= 10 else f"{ns / 1e3:,.3f}"  # a nanosecond is not nothing
    return f"{text.rstrip('0').rstrip('.')} us"


def percent_text(value: float) -> str:
    """A share that is given in percent: 71.03 %."""
    return f"{value:.2f} %"


_UNITS = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def size_text(n_bytes: int) -> str:
    """Bytes in the unit that fits: 1.50 GiB, 12.0 MiB, 312 bytes."""
    for size, unit in _UNITS:
        if n_bytes >= size:
            return f"{n_bytes / size:.2f} {unit}" if n_bytes < 10 * size else f"{n_bytes / size:,.1f} {unit}"
    return f"{n_bytes} bytes"
