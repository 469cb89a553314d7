"""Times that a table has in milliseconds or seconds, as exact nanoseconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

import numpy as np
import numpy.typing as npt

from .cells import NO_NS

_NS_OF: Mapping[str, int] = {"ms": 10**6, "s": 10**9}
_MAX_CHARS = 64


def times_of(
    codes: npt.NDArray[np.int32], labels: Sequence[str], unit: str
) -> tuple[npt.NDArray[np.int64], int]:
    """Codes into texts -> int64 nanoseconds, NO_NS absent; and how many cells are no times.

    unit: "ms" or "s". Halves are rounded away from zero, no float is between.
    """
    found = np.full(len(labels) + 1, NO_NS, np.int64)  # the last one: code -1, absent
    is_bad = np.zeros(len(labels) + 1, np.bool_)
    for code, text in enumerate(labels):
        ns = _ns_of(text, _NS_OF[unit])
        if ns is None:
            is_bad[code] = True
        else:
            found[code] = ns
    return found[codes], int(is_bad[codes].sum())


def _ns_of(text: str, scale: int) -> int | None:
    if len(text) > _MAX_CHARS:
        return None
    try:
        value = Decimal(text)
        if not value.is_finite() or value.adjusted() > 18:
            return None
        ns = int((value * scale).quantize(Decimal(1), ROUND_HALF_UP))
    except InvalidOperation:
        return None
    return ns if abs(ns) < 2**63 else None
