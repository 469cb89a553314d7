"""What bounds an operator: which of its pipes was busy nearly all the time, as the vendor's advisor judges.

Rests on the counters of PipeUtilization (or PipelineExecuteUtilization). Raw ratios are kept; noise of the
counters can be above 1 (`shown` for people). Without counters the bound is unknown, which is not "none".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from npulse.core.formats.profiling.operators import OperatorTable

from .classes import class_by_pipes
from .top import Top
from .usable import Usable

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]

PIPES = ("mac", "vec", "scalar", "mte1", "mte2", "mte3", "fixpipe")
BOUNDS = ("cube", "vector", "scalar", "mte1", "mte2", "mte3", "fixpipe", "none", "unknown")
NONE, UNKNOWN = 7, 8
_MAC, _VEC, _MTE2 = 0, 1, 4
_DIGITS = 9  # ratios have three: the error of a sum of floats decides nothing
_MAX_RATIO = 100.0  # noise makes 1.1 of 1
_MAX_VALUE = 1e6
_SIDES = ("", "aic_", "aiv_")
_CALLS_AT_ONCE = 1 << 17


@dataclass(frozen=True, slots=True)
class RowBounds:
    """One element a row of the table. code int8 into BOUNDS. highest: ratio of the busiest pipe, NaN where
    none was recorded."""

    code: npt.NDArray[np.int8]
    highest: Floats


@dataclass(frozen=True, slots=True)
class GroupBounds:
    """One element a group of a `Top`, weighted by time; NaN where nothing was recorded.

    ratios: (groups, pipes in the order of PIPES), raw; without rows where a group is one call (`pipe_ratio`
    of its row says it). code int8 into BOUNDS, highest: of the busiest pipe.
    measured_ns: time of the calls that have counters. utilization_percent: cube_utilization(%) of the calls
    that used the cube, used_ns their time. memory_bound: that column of 310P and 910A (above 1: by memory).
    """

    ratios: Floats
    code: npt.NDArray[np.int8]
    highest: Floats
    measured_ns: Integers
    utilization_percent: Floats
    used_ns: Integers
    memory_bound: Floats

    def label(self, group: int) -> str:
        return BOUNDS[int(self.code[group])]


def shown(ratio: float) -> float:
    """A ratio for people: not above 1."""
    return min(ratio, 1.0)


def pipe_ratio(table: OperatorTable, pipe: str, rows: Integers | None = None) -> Floats | None:
    """Busy share of a pipe, per row (or of some rows): of the side of the chip where it was busier. None: not
    recorded."""
    found: Floats | None = None
    for side in _SIDES:
        for name in (f"{side}{pipe}_ratio", f"{side}{pipe}_exe_ratio"):
            if name in table.arrays:
                values = table.values(name) if rows is None else table.values_at(name, rows)
                found = values if found is None else np.fmax(found, values)
    return None if found is None else _sane(found, _MAX_RATIO)


def _sane(values: Floats, most: float) -> Floats:
    """The same without numbers that are none of a counter: those are absent."""
    lowest, highest = np.fmin.reduce(values, initial=0), np.fmax.reduce(values, initial=0)
    if lowest >= 0 and highest <= most:
        return values
    return np.where((values >= 0) & (values <= most), values, np.nan)


def row_bounds(table: OperatorTable, limit: float = 0.8) -> RowBounds:
    """The bound of every row: its busiest pipe if that is above the limit."""
    n = table.n_rows
    highest = np.full(n, np.nan)
    code = np.full(n, UNKNOWN, np.int8)
    is_complete = np.zeros(n, np.bool_)
    has_unit = np.zeros(n, np.bool_)
    for place, pipe in enumerate(PIPES):
        values = pipe_ratio(table, pipe)
        if values is None:
            continue
        is_more = (values > highest) | (np.isnan(highest) & ~np.isnan(values))
        code[is_more] = place
        highest = np.fmax(highest, values)
        if place == _MTE2:
            is_complete = ~np.isnan(values)
        elif place in (_MAC, _VEC):
            has_unit |= ~np.isnan(values)
    highest[~(highest > 0)] = np.nan  # a core that ran was busy: all 0 is "not of this core"
    is_below = ~(highest > limit)
    code[is_below] = np.where(is_complete & has_unit & ~np.isnan(highest), NONE, UNKNOWN)[is_below]
    return RowBounds(code, highest)


def group_bounds(table: OperatorTable, usable: Usable, top: Top, limit: float = 0.8) -> GroupBounds:
    """The bounds of the groups of a top made of this table. Cost: a pass over each recorded pipe."""
    groups = top.group_of(table.n_rows)
    rows = np.flatnonzero(groups >= 0)
    return _bounds(table, rows, groups[rows], len(top), limit)


def call_bounds(
    table: OperatorTable, top: Top, limit: float = 0.8
) -> tuple[GroupBounds, npt.NDArray[np.int8]]:
    """The same where each group is one call, and the class that its pipes say (`classes.class_by_pipes`).

    Part by part, without the ratios themselves, which the table says: in full width a million calls would
    have some 200 MB of them.
    """
    n = len(top)
    found = GroupBounds(
        np.zeros((0, len(PIPES))),
        np.empty(n, np.int8),
        np.empty(n),
        np.empty(n, np.int64),
        np.empty(n),
        np.empty(n, np.int64),
        np.empty(n) if "memory_bound" in table.arrays else np.broadcast_to(np.nan, n),
    )
    names = ["code", "highest", "measured_ns", "utilization_percent", "used_ns"]
    names += ["memory_bound"] if "memory_bound" in table.arrays else []
    by_pipes = np.empty(n, np.int8)
    for start in range(0, n, _CALLS_AT_ONCE):
        part = slice(start, min(start + _CALLS_AT_ONCE, n))
        places = np.arange(part.stop - start)
        one = _bounds(table.taken(top.order[part]), places, places, len(places), limit)
        for name in names:
            getattr(found, name)[part] = getattr(one, name)
        by_pipes[part] = class_by_pipes(one.ratios)
    return found, by_pipes


def _bounds(table: OperatorTable, rows: Integers, groups: Integers, n: int, limit: float) -> GroupBounds:
    """groups: of each of these rows, 0 to n - 1."""
    times = table.values_at("duration_ns", rows).astype(np.float64)
    is_measured = np.zeros(len(rows), np.bool_)
    is_few = len(rows) <= _CALLS_AT_ONCE  # of more, all pipes at once would be most of the memory
    columns: list[Floats | None] = []
    for pipe in PIPES:
        column = pipe_ratio(table, pipe, rows)
        if column is not None:
            is_measured |= column > 0
        columns.append(column if is_few else None)
    ratios = np.full((n, len(PIPES)), np.nan)
    for place, pipe in enumerate(PIPES):
        column = columns[place] if is_few else pipe_ratio(table, pipe, rows)
        if column is not None:
            ratios[:, place], _ = _weighted(column, times, groups, n, is_measured)
    highest = np.full(n, np.nan)
    code = np.full(n, UNKNOWN, np.int8)
    if n:
        filled = np.where(np.isnan(ratios), -1, ratios)
        best = filled.max(axis=1)
        has_unit = ~np.isnan(ratios[:, _MAC]) | ~np.isnan(ratios[:, _VEC])
        is_complete = ~np.isnan(ratios[:, _MTE2]) & has_unit & (best > 0)
        highest = np.where(best > 0, best, np.nan)
        code = np.where(best > limit, filled.argmax(axis=1), np.where(is_complete, NONE, UNKNOWN)).astype(
            np.int8
        )
    measured = np.bincount(groups[is_measured], weights=times[is_measured], minlength=n)
    utilization, used = _of(table, "cube_utilization_percent", rows, times, groups, n, above=0)
    memory, _ = _of(table, "memory_bound", rows, times, groups, n)
    return GroupBounds(
        ratios, code, highest, measured.astype(np.int64), utilization, used.astype(np.int64), memory
    )


def _of(
    table: OperatorTable,
    name: str,
    rows: Integers,
    times: Floats,
    groups: Integers,
    n: int,
    above: float = -np.inf,
) -> tuple[Floats, Floats]:
    if name not in table.arrays:
        return np.full(n, np.nan), np.zeros(n)
    values = _sane(table.values_at(name, rows), _MAX_VALUE)
    return _weighted(values, times, groups, n, values > above)


def _weighted(
    values: Floats, times: Floats, groups: Integers, n: int, counts: Flags
) -> tuple[Floats, Floats]:
    """Mean of each group weighted by time, and the time that it rests on."""
    there = counts & ~np.isnan(values)
    if len(groups) == n:  # every group is one call
        there &= times > 0
        single, lasted = np.full(n, np.nan), np.zeros(n)
        single[groups[there]], lasted[groups[there]] = values[there], times[there]
        return single, lasted
    weights: Floats = np.bincount(groups[there], weights=times[there], minlength=n).astype(np.float64)
    sums = np.bincount(groups[there], weights=times[there] * values[there], minlength=n)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(weights > 0, np.round(sums / weights, _DIGITS), np.nan), weights
