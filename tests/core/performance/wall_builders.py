"""Small timelines and tables, made by hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from npulse.core.formats.profiling.columns import BY_NAME
from npulse.core.formats.profiling.operators import NO_NS, NO_START, OperatorTable
from npulse.core.formats.profiling.timeline import NONE, Tasks, Timeline
from npulse.core.performance.profile import Profile

BASE_NS = 1_756_001_234_000_000_177  # so large that a float64 would round it
Row = tuple[Any, ...]


def tasks(rows: Iterable[Row], base_ns: int = BASE_NS) -> Tasks:
    """Rows (start, duration, stream, name, kind, connection); the last four may be left out."""
    defaults = (0, 0, 0, "Add", "AI_CORE", NONE)
    whole = sorted((tuple(row) + defaults[len(row) :] for row in rows), key=lambda row: row[0])
    names = list(dict.fromkeys(row[3] for row in whole if row[3]))
    kinds = list(dict.fromkeys(row[4] for row in whole if row[4]))

    def column(i: int) -> np.ndarray[Any, np.dtype[np.int64]]:
        return np.array([row[i] for row in whole], np.int64)

    return Tasks(
        column(0) + base_ns if whole else column(0),
        column(1),
        column(2),
        np.array([names.index(row[3]) if row[3] else NONE for row in whole], np.int32),
        np.array([kinds.index(row[4]) if row[4] else NONE for row in whole], np.int32),
        column(5),
        tuple(names),
        tuple(kinds),
    )


def timeline(
    device: Iterable[Row], communication: Iterable[Row] = (), launches: Iterable[Row] = (), **others: Any
) -> Timeline:
    """A timeline of device 0 at BASE_NS."""
    return Timeline("trace_view.json", 0, tasks(device), tasks(communication), tasks(launches), **others)


def of(found: Timeline, **others: Any) -> Profile:
    return Profile("rank0", rank=0, timeline=found, **others)


def table(rows: Sequence[Row], columns: Sequence[str], base_ns: int = BASE_NS) -> OperatorTable:
    """An operator table of these columns; None is an absent cell, start_ns counts from base_ns."""
    arrays: dict[str, Any] = {}
    labels: dict[str, Sequence[str]] = {}
    for i, name in enumerate(columns):
        cells = [row[i] for row in rows]
        kind = BY_NAME[name].kind
        if kind == "text":
            texts = list(dict.fromkeys(cell for cell in cells if cell is not None))
            labels[name] = texts
            arrays[name] = np.array([NONE if c is None else texts.index(c) for c in cells], np.int32)
        elif kind == "ns":
            absent = NO_START if name == "start_ns" else NO_NS
            shift = base_ns if name == "start_ns" else 0
            arrays[name] = np.array([absent if c is None else c + shift for c in cells], np.int64)
        else:
            arrays[name] = np.array([NONE if c is None else c for c in cells], np.int64)
    n = len(rows)
    return OperatorTable(
        ("kernel_details.csv",),
        np.zeros(n, np.int32),
        np.arange(2, n + 2, dtype=np.int64),
        {name: BY_NAME[name] for name in columns},
        arrays,
        labels,
    )
