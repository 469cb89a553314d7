"""Rows of a followed run that are kept no longer, folded into exact sums by operator type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from datetime import datetime, timezone
from typing import Any

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass
from npulse.core.findings import Problem
from npulse.core.formats.profiling.operators import NO_ID, NO_NS, OperatorTable

from .bound import UNKNOWN, GroupBounds
from .classes import Classes, classes_of
from .moved_bytes import NO_BYTES, Moved
from .top import By, Top, top
from .usable import usable


@dataclass(frozen=True, slots=True)
class Groups:
    """Groups of operators with class, bound and bytes, an element a group each; None where only sums are
    recorded."""

    top: Top
    classes: Classes
    bounds: GroupBounds | None = None
    moved: Moved | None = None


@dataclass(frozen=True, slots=True)
class TypeSum:
    """One operator type. Times int ns."""

    n_calls: int
    total_ns: int
    min_ns: int
    max_ns: int

    def __add__(self, other: TypeSum) -> TypeSum:
        return TypeSum(
            self.n_calls + other.n_calls,
            self.total_ns + other.total_ns,
            min(self.min_ns, other.min_ns),
            max(self.max_ns, other.max_ns),
        )


@dataclass(frozen=True, slots=True)
class Gone:
    """Rows that were let go. n_rows: all of them, also those without a usable duration. until_ns: the last
    start among them, since 1970, None where none has one. types: sums by operator type."""

    n_rows: int = 0
    until_ns: int | None = None
    types: Mapping[str, TypeSum] = field(default_factory=dict)

    def __add__(self, other: Gone) -> Gone:
        types = dict(self.types)
        for name, one in other.types.items():
            types[name] = types[name] + one if name in types else one
        ends = [one.until_ns for one in (self, other) if one.until_ns is not None]
        return Gone(self.n_rows + other.n_rows, max(ends, default=None), types)

    def problem(self, artifact: str) -> Problem:
        """What people are told of it."""
        when = "" if self.until_ns is None else f" before {_time(self.until_ns)}"
        message = (
            f"{self.n_rows:,} single calls{when} were let go to bound memory; they are in the sums by type "
            "and in nothing else"
        )
        return Problem(artifact, "limit", message)


def folded(table: OperatorTable) -> dict[int, Gone]:
    """The rows of a table as sums, by device (NO_ID: rows that name none)."""
    devices = table.values("device")
    found = {}
    for device in np.unique(devices).tolist():
        mine = table.taken(devices == device)
        groups = top(mine, usable(mine))
        starts = mine.values("start_ns")
        last = int(starts.max(initial=NO_ID))
        found[device] = Gone(
            mine.n_rows,
            last if last >= 0 else None,
            {
                groups.label(i): TypeSum(
                    int(groups.calls[i]),
                    int(groups.total_ns[i]),
                    int(groups.min_ns[i]),
                    int(groups.max_ns[i]),
                )
                for i in range(len(groups))
            },
        )
    return found


def with_gone(groups: Groups, gone: Gone, by: By) -> Groups:
    """Groups by type and those of rows that were let go together, in the order of `by`.

    Medians, bounds and bytes are those of the rows that are left; a median is absent where others are gone.
    """
    old = groups.top
    names = [old.label(i) for i in range(len(old))]
    more = [name for name in gone.types if name not in set(names)]
    sums = [gone.types.get(name) for name in (*names, *more)]
    n, n_more = len(old), len(more)

    def longer(values: npt.NDArray[Any], fill: float) -> npt.NDArray[Any]:
        return np.concatenate([values, np.full((n_more, *values.shape[1:]), fill, values.dtype)])

    calls = longer(old.calls, 0) + np.array([one.n_calls if one else 0 for one in sums], np.int64)
    totals = longer(old.total_ns, 0) + np.array([one.total_ns if one else 0 for one in sums], np.int64)
    largest = np.iinfo(np.int64).max
    least = np.array([one.min_ns if one else largest for one in sums], np.int64)
    most = np.array([one.max_ns if one else NO_NS for one in sums], np.int64)
    labels = [*old.labels, *more]
    codes = np.concatenate([old.name, np.arange(len(old.labels), len(labels), dtype=np.int32)])
    averages = totals / np.maximum(calls, 1)
    alphabet = sorted(range(n + n_more), key=lambda i: labels[int(codes[i])])
    ranks = np.zeros(n + n_more, np.int64)
    ranks[alphabet] = np.arange(n + n_more)
    first = {"type": totals, "count": calls, "average": averages}[by]
    order = np.lexsort((ranks, -calls, -totals, -first))
    n_rows = longer(np.diff(old.offsets), 0)
    begins = longer(old.offsets[:-1], 0)[order]
    offsets = np.concatenate(([0], np.cumsum(n_rows[order])))
    places = np.repeat(begins - offsets[:-1], n_rows[order]) + np.arange(len(old.order))
    medians = np.where([one is None for one in sums], longer(old.median_ns, np.nan), np.nan)
    whole = replace(
        old,
        name=codes[order],
        labels=labels,
        op_type=codes[order],
        op_types=labels,
        calls=calls[order],
        total_ns=totals[order],
        min_ns=np.minimum(longer(old.min_ns, largest), least)[order],
        average_ns=averages[order],
        median_ns=medians[order],
        max_ns=np.maximum(longer(old.max_ns, NO_NS), most)[order],
        core=longer(old.core, NO_ID)[order],
        block_dim=longer(old.block_dim, NO_ID)[order],
        least_block_dim=longer(old.least_block_dim, NO_ID)[order],
        first_row=longer(old.first_row, NO_ID)[order],
        order=old.order[places],
        offsets=offsets,
        all_ns=old.all_ns + sum(one.total_ns for one in gone.types.values()),
        wall_ns=None,  # that of the rows that are left says nothing of all
    )
    bounds, moved = groups.bounds, groups.moved
    if bounds is not None:
        bounds = replace(
            bounds,
            ratios=longer(bounds.ratios, np.nan)[order],
            code=longer(bounds.code, UNKNOWN)[order],
            highest=longer(bounds.highest, np.nan)[order],
            measured_ns=longer(bounds.measured_ns, 0)[order],
            utilization_percent=longer(bounds.utilization_percent, np.nan)[order],
            used_ns=longer(bounds.used_ns, 0)[order],
            memory_bound=longer(bounds.memory_bound, np.nan)[order],
        )
    if moved is not None:
        moved = replace(
            moved,
            bytes=longer(moved.bytes, NO_BYTES)[order],
            time_ns=longer(moved.time_ns, 0)[order],
            gb_per_s=longer(moved.gb_per_s, np.nan)[order],
        )
    return Groups(whole, classes_of(whole, bounds.ratios if bounds is not None else None), bounds, moved)


def _time(ns: int) -> str:
    return datetime.fromtimestamp(ns / 1e9, timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")
