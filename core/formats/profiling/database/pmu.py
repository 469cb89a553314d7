"""Counters of the cores (TASK_PMU_INFO, a row a value) as columns of an operator table."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

import numpy as np

from npulse.core.dataclass import dataclass

from ....text import safe_text
from ..columns import BY_NAME, SCHEMA, OperatorColumn, header_key, own_name
from .database import Database
from .joins import Calls
from .strings import Strings
from .values import Floats, Unread, integers_of, note_unread, numbers_of

TABLE = "TASK_PMU_INFO"
MAX_METRICS = 512
MAX_CELLS = 1 << 28

_GB = float(1 << 30)  # the writer makes GB/s to Byte/s with 1024
_NUMBERS: Mapping[str, OperatorColumn] = {
    spelling: column
    for column in reversed(SCHEMA)
    if column.kind == "number"
    for spelling in column.spellings
}


@dataclass(frozen=True, slots=True)
class Metric:
    """Where the values of one name go, and by what they are divided."""

    column: OperatorColumn
    divisor: float = 1.0


@dataclass(frozen=True, slots=True)
class Counters:
    """columns: name -> description; arrays: float64, NaN where a row has no value. n_unread: values that were
    not read, or could not be given to a row for sure. left_out: names that are not used."""

    columns: Mapping[str, OperatorColumn]
    arrays: Mapping[str, Floats]
    n_unread: int = 0
    left_out: tuple[str, ...] = ()


def metric_of(text: str) -> Metric:
    """What a name in TASK_PMU_INFO means: times are ns and bandwidths Byte/s unless the name says a unit."""
    key = header_key(text)
    column = next((_NUMBERS[k] for k in (key, f"{key}(us)", f"{key}(gb/s)") if k in _NUMBERS), None)
    if column is None:
        name, unit = own_name(text)
        if not unit and name.endswith("_time"):
            name, unit = f"{name}_ns", "ns"
        if name in BY_NAME:  # a column of another kind
            name = f"pmu_{name}"
        return Metric(OperatorColumn(name, "number", unit, ("", ""), (key,)))
    if "(" in text:
        return Metric(column)
    return Metric(column, {"us": 1000.0, "gb_per_s": _GB}.get(column.unit, 1.0))


def read_counters(database: Database, calls: Calls, n_rows: int, wanted: Collection[str] | None) -> Counters:
    """The counters of the rows behind `calls`, a column a metric.

    A value of a task that ran several times goes to the call at its time; where the table tells no time, none
    of these calls gets one.
    """
    if not database.has(TABLE, "globalTaskId", "name", "value") or not n_rows:
        return Counters({}, {})
    has_time = database.has(TABLE, "timestampNs") and calls.has_shared
    listed = ["globalTaskId", "name", "value", *(("timestampNs",) if has_time else ())]
    metrics: dict[int, Metric | None] = {}
    columns: dict[str, OperatorColumn] = {}
    arrays: dict[str, Floats] = {}
    left_out: list[str] = []
    bad = {name: Unread() for name in listed}
    n_unsure = n_given = 0
    for block in database.blocks(TABLE, listed):
        numbers, *values = zip(*block, strict=True)
        tasks = integers_of(values[0], numbers, bad["globalTaskId"])
        names = integers_of(values[1], numbers, bad["name"])
        amounts = numbers_of(values[2], numbers, bad["value"])
        times = integers_of(values[3], numbers, bad["timestampNs"]) if has_time else None
        rows, n = calls.rows(tasks, times)
        n_unsure += n
        for number in np.unique(names).tolist():
            if number not in metrics:
                metrics[number] = None
                text = Strings(database, [np.array([number], np.int64)]).get(number)
                metric = metric_of(text) if text else None
                if metric is not None and (wanted is None or metric.column.name in wanted):
                    if len(arrays) >= MAX_METRICS or (len(arrays) + 1) * n_rows > MAX_CELLS:
                        left_out.append(safe_text(text, 60))
                    else:
                        metrics[number] = metric
                        columns.setdefault(metric.column.name, metric.column)
                        arrays.setdefault(metric.column.name, np.full(n_rows, math.nan))
            metric = metrics[number]
            if metric is not None:
                mine = np.flatnonzero((names == number) & (rows >= 0) & ~np.isnan(amounts))
                arrays[metric.column.name][rows[mine]] = amounts[mine] / metric.divisor
                n_given += len(mine)
    for name, cells in bad.items():
        note_unread(database, TABLE, name, cells)
    if n_unsure:
        message = (
            f"{TABLE}: {n_unsure:,} values belong to tasks that ran several times, and to no call for sure"
        )
        database.note("bad-record", message)
    n_again = n_given - sum(int((~np.isnan(array)).sum()) for array in arrays.values())
    if n_again:
        database.note("bad-record", f"{TABLE}: {n_again:,} values are of a task and metric that had one")
    if left_out:
        database.note("limit", f"{TABLE}: {len(left_out):,} metrics are more than are read")
    return Counters(columns, arrays, sum(cells.n for cells in bad.values()) + n_unsure, tuple(left_out))
