"""How many bytes an operator has to move: its inputs and outputs, by shape and data type.

A lower bound of the traffic; an unknown shape or type makes the sum of that call unknown, not smaller. Types
that read a part of what they are given (a gather, a slice, a paged cache) have no sum at all.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from npulse.core.formats.profiling.operators import NO_ID, OperatorTable
from npulse.core.formats.profiling.type_names import type_in

from .keys import combined
from .tensors import ITEM_BYTES, dtypes_of, n_elements, shapes_of
from .top import Top
from .usable import Usable

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

NO_BYTES = -1
_MAX_BYTES = 1 << 50
_CALLS_AT_ONCE = 1 << 17
_COLUMNS = ("input_shapes", "input_dtypes", "output_shapes", "output_dtypes")
_PARTIAL = re.compile(
    r"gather|scatter|slice|split|index|embedding|as_?strided|view|cache|paged|infer|incre|select|identity"
    r"|memset|hcom|hccl|lccl|lcoc"
)


@dataclass(frozen=True, slots=True)
class Moved:
    """One element a group of a `Top`. bytes: of the calls that say all their shapes and types, NO_BYTES where
    none does; time_ns: of the same calls. gb_per_s: bytes over time (1e9 bytes), NaN without."""

    bytes: Integers
    time_ns: Integers
    gb_per_s: Floats


def bytes_of(input_shapes: str, input_dtypes: str, output_shapes: str, output_dtypes: str) -> int:
    """Inputs and outputs of one call, as the table writes them; NO_BYTES where some of it is not known.

    An empty shape is a scalar, or an optional input that was not given (its type is UNDEFINED).
    """
    total = 0
    for shapes_text, dtypes_text in ((input_shapes, input_dtypes), (output_shapes, output_dtypes)):
        shapes, dtypes = shapes_of(shapes_text), dtypes_of(dtypes_text)
        if len(shapes) != len(dtypes):
            return NO_BYTES
        for shape, dtype in zip(shapes, dtypes, strict=True):
            if shape is None:
                return NO_BYTES
            if not dtype:
                if shape:
                    return NO_BYTES
                continue
            if dtype not in ITEM_BYTES:
                return NO_BYTES
            total += n_elements(shape) * ITEM_BYTES[dtype]
    return total if 0 < total < _MAX_BYTES else NO_BYTES


def moved_bytes(table: OperatorTable, rows: Integers) -> Integers:
    """Bytes of some rows of a table; NO_BYTES where that is not known. Each combination of shapes and types
    is taken apart once."""
    if not len(rows) or any(name not in table.arrays for name in _COLUMNS):
        return np.full(len(rows), NO_BYTES, np.int64)
    codes = [table.values_at(name, rows) for name in _COLUMNS]
    combination, first = combined(*codes)
    found = np.full(len(first), NO_BYTES, np.int64)
    texts = [table.texts(name) for name in _COLUMNS]
    for place, row in enumerate(first.tolist()):
        cells = [int(column[row]) for column in codes]
        if NO_ID not in cells:
            found[place] = bytes_of(*(text[cell] for text, cell in zip(texts, cells, strict=True)))
    return found[combination]


def moved_of(table: OperatorTable, usable: Usable, top: Top) -> Moved:
    """Bytes and effective bandwidth of the groups of a top made of this table."""
    if top.by == "call":
        return _moved_of_calls(table, top)
    n = len(top)
    groups = top.group_of(table.n_rows)
    partial = [code for code in np.unique(top.op_type).tolist() if is_part(top.op_types[code])]
    is_partial = np.isin(top.op_type, partial)
    durations: Integers = table.values("duration_ns")
    rows = np.flatnonzero(groups >= 0)
    if n:
        rows = rows[~is_partial[groups[rows]] & (durations[rows] > 0)]
    sizes = moved_bytes(table, rows)
    known = sizes != NO_BYTES
    groups, sizes, times = groups[rows][known], sizes[known], durations[rows][known]
    n_known = np.bincount(groups, minlength=n)
    total = np.bincount(groups, weights=sizes, minlength=n)
    time = np.bincount(groups, weights=times, minlength=n)
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = np.where(time > 0, total / time, np.nan)
    whole = np.where(n_known > 0, total, NO_BYTES).astype(np.int64)
    return Moved(whole, time.astype(np.int64), rate)


def _moved_of_calls(table: OperatorTable, top: Top) -> Moved:
    """The same where each group is one call: part by part, as a million calls have no sums to make."""
    n = len(top)
    found = Moved(np.full(n, NO_BYTES, np.int64), np.zeros(n, np.int64), np.full(n, np.nan))
    partial = [code for code in np.unique(top.op_type).tolist() if is_part(top.op_types[code])]
    for start in range(0, n, _CALLS_AT_ONCE):
        part = slice(start, min(start + _CALLS_AT_ONCE, n))
        rows, times = top.order[part], top.total_ns[part]
        at = np.flatnonzero(~np.isin(top.op_type[part], partial) & (times > 0))
        sizes = moved_bytes(table, rows[at])
        at, sizes = at[sizes != NO_BYTES], sizes[sizes != NO_BYTES]
        found.bytes[part][at], found.time_ns[part][at] = sizes, times[at]
        found.gb_per_s[part][at] = sizes / times[at]
    return found


def is_part(op_type: str) -> bool:
    """Whether operators of this type touch only a part of their inputs or outputs, or share them with other
    devices."""
    return _PARTIAL.search(type_in(op_type)[:200].lower()) is not None
