"""Calls computed again as a table: a row an output, or a call of which nothing could be compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from npulse.core.table import Column, Table, text_column

from .compare import OutputCheck
from .model import Check

_INTS = ("n_elements", "n_left_out", "n_unbounded", "n_beyond", "n_saturated")
_FLOATS = (
    *("max_ratio", "made", "truth", "own", "bound", "max_abs_error"),
    "own_max_abs_error",
)


def recheck_table(checks: Sequence[Check]) -> Table:
    """Columns: call, operator, rank, step, side, outcome, reason, fits, output, dtype, shape, index,
    figures."""
    rows: list[tuple[Check, OutputCheck | None]] = []
    for check in checks:
        rows += [(check, one) for one in check.outputs] or [(check, None)]
    outputs = [one for _, one in rows]

    def of_check(name: str, values: Sequence[str | None]) -> Column:
        return text_column(name, values)

    columns = [
        of_check("call", [c.call for c, _ in rows]),
        of_check("operator", [c.operator or None for c, _ in rows]),
        _ints("rank", [c.rank for c, _ in rows]),
        _ints("step", [c.step for c, _ in rows]),
        of_check("side", [c.side or None for c, _ in rows]),
        of_check("outcome", [c.outcome for c, _ in rows]),
        of_check("reason", [c.why or None for c, _ in rows]),
        of_check("fits", [c.words[0] or None for c, _ in rows]),
        of_check("inside", [c.inside or None for c, _ in rows]),
        of_check("output", [one.name if one else None for one in outputs]),
        of_check("dtype", [one.dtype if one else None for one in outputs]),
        of_check("shape", [str(list(one.shape)) if one else None for one in outputs]),
        of_check("index", [str(list(one.index)) if one else None for one in outputs]),
        *(_ints(name, [getattr(one, name) if one else None for one in outputs]) for name in _INTS),
        *(_floats(name, [getattr(one, name) if one else None for one in outputs]) for name in _FLOATS),
    ]
    return Table("recheck", tuple(columns))


def _ints(name: str, values: Sequence[int | None]) -> Column:
    return _numbers(name, values, "int", np.int64)


def _floats(name: str, values: Sequence[float | None]) -> Column:
    return _numbers(name, values, "float", np.float64)


def _numbers(name: str, values: Sequence[Any], kind: Any, dtype: Any) -> Column:
    absent = np.array([value is None for value in values], np.bool_)
    filled = np.array([0 if value is None else value for value in values], dtype)
    return Column(name, kind, filled, absent=absent if absent.any() else None)
