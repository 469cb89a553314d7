"""Bytes as people read them."""

from __future__ import annotations

_UNITS = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def size_text(n_bytes: int) -> str:
    """1.50 GiB, 12.0 MiB, 312 bytes."""
    for size, unit in _UNITS:
        if n_bytes >= size:
            return f"{n_bytes / size:.2f} {unit}" if n_bytes < 10 * size else f"{n_bytes / size:,.1f} {unit}"
    return f"{n_bytes} bytes"


def range_text(least: int, most: int) -> str:
    """1.50 GiB to 2.00 GiB; one of them where both read alike."""
    low, high = size_text(least), size_text(most)
    return low if low == high else f"{low} - {high}"
