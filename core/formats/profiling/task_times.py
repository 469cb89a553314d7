"""Tasks of a device with their times: task_time of msprof, of both generations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...findings import Problem
from ...progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from .cells import NO_ID
from .operator_files import device_of
from .table_headers import Kind
from .table_records import MOST_NS, Rows, Spelled, integers, numbers, records_of, rows_of, texts, times
from .tables import NO_VALUE, ProfilerTable, TableColumn, read_table
from .timeline import NONE, Codes, Integers, Tasks

_CURRENT: dict[str, Spelled] = {
    "device": integers("Device_id"),
    "name": texts("kernel_name"),
    "kind": texts("kernel_type"),
    "stream": integers("stream_id"),
    "task": integers("task_id"),
    "duration": times("task_time"),
    "start": times("task_start"),
    "stop": times("task_stop"),
}
_OLD: dict[str, Spelled] = {
    "share": numbers("Time(%)"),
    "total": times("Time(us)"),
    "count": integers("Count"),
    "average": times("Avg"),
    "min": times("Min"),
    "max": times("Max"),
    "waiting": times("Waiting"),
    "running": times("Running"),
    "pending": times("Pending"),
    "op_type": texts("Type"),
    "api": texts("API"),
    "op_name": texts("Op Name"),
}
_HINT = "name a task_time_*.csv"


@dataclass(frozen=True, slots=True)
class TaskTotal:
    """One row of an old task_time: all runs of a task together. name: operator. kind: type of the task."""

    name: str
    kind: str
    api: str
    stream: int | None
    task: int | None
    count: int | None
    total_ns: int | None
    average_ns: int | None
    min_ns: int | None
    max_ns: int | None
    waiting_ns: int | None
    running_ns: int | None
    pending_ns: int | None
    share_percent: float | None
    device: int | None
    line: int


@dataclass(frozen=True, slots=True)
class TaskTimes:
    """What one task_time has.

    tasks: device -> its tasks, `kind` is the kernel type; None: the file does not say. totals: of a table of
    the old form, which has no single tasks. n_dropped: rows that could not be used, `problems` say why.
    """

    artifact: str
    tasks: Mapping[int | None, Tasks]
    totals: tuple[TaskTotal, ...] = ()
    n_dropped: int = 0
    encoding: str = ""
    headers: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


def read_task_times(
    path: Path,
    *,
    root: Path | None = None,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> TaskTimes:
    """The tasks of task_time_*.csv, in order of their start, by device.

    A row without a duration has that between start and stop. Rows without a start or a duration, or with one
    that cannot be, are left out, counted and told. Other problems: as `read_table`.
    Raises InputError (neither form of the table) and Cancelled. Cost: linear; arrays, no object a row.
    """
    kinds: dict[str, Kind] = {}
    for spelled in (*_OLD.values(), *_CURRENT.values()):
        kinds.update(spelled.kinds)
    table = read_table(
        path,
        root=root,
        kinds=kinds,
        needed=(_CURRENT["stream"].spellings, ("task_time", "Time(us)")),
        hint=_HINT,
        progress=progress,
        is_cancelled=is_cancelled,
    )
    named = device_of(path)
    device = None if named == NO_ID else named
    if table.find("task_start", "task_stop") is None:
        return _totals(table, device)
    return _tasks(table, device)


def _tasks(table: ProfilerTable, named: int | None) -> TaskTimes:
    columns = {name: table.find(*spelled.spellings) for name, spelled in _CURRENT.items()}
    start, duration, stop = (_integers(columns[name], table) for name in ("start", "duration", "stop"))
    has_both = (start >= 0) & (stop >= start)
    duration = np.where((duration == NO_VALUE) & has_both, stop - start, duration)
    is_good = (start != NO_VALUE) & (duration >= 0) & (duration <= MOST_NS)
    problems = list(table.problems)
    n_bad = int((~is_good).sum())
    if n_bad:
        line = int(table.line[np.flatnonzero(~is_good)[0]])
        message = f"{n_bad:,} rows have no start, or no duration that can be; they were left out"
        problems.append(Problem(table.artifact, "bad-record", message, line=line))
    rows = np.flatnonzero(is_good)
    rows = rows[np.argsort(start[rows], kind="stable")]
    stream = _integers(columns["stream"], table)
    name, names = _codes(columns["name"], table)
    kind, kinds = _codes(columns["kind"], table)
    tasks = Tasks(
        start_ns=start,
        duration_ns=duration,
        stream=np.where(stream == NO_VALUE, NONE, stream),
        name=name,
        kind=kind,
        connection=np.full(len(start), NONE, np.int64),
        names=names,
        kinds=kinds,
    )
    device = _integers(columns["device"], table)
    if named is not None:
        device = np.where(device == NO_VALUE, named, device)
    of_rows = device[rows]
    return TaskTimes(
        artifact=table.artifact,
        tasks={
            None if one == NO_VALUE else one: tasks.taken(rows[of_rows == one])
            for one in np.unique(of_rows).tolist()
        },
        n_dropped=table.n_dropped + n_bad,
        encoding=table.encoding,
        headers=table.headers,
        problems=tuple(problems),
    )


def _integers(column: TableColumn | None, table: ProfilerTable) -> Integers:
    if column is None or column.kind != "int":
        return np.full(table.n_rows, NO_VALUE, np.int64)
    return column.values


def _codes(column: TableColumn | None, table: ProfilerTable) -> tuple[Codes, Sequence[str]]:
    if column is None or column.kind != "text":
        return np.full(table.n_rows, NONE, np.int32), ()
    return column.values, column.labels


def _totals(table: ProfilerTable, named: int | None) -> TaskTimes:
    known = {**_OLD, **{name: _CURRENT[name] for name in ("device", "stream", "task")}}
    rows = rows_of(table, known, named)

    def make(rows: Rows) -> TaskTotal:
        device = rows.integer("device")
        return TaskTotal(
            name=rows.text("op_name"),
            kind=rows.text("op_type"),
            api=rows.text("api"),
            stream=rows.integer("stream"),
            task=rows.integer("task"),
            count=rows.integer("count"),
            total_ns=rows.duration("total"),
            average_ns=rows.duration("average"),
            min_ns=rows.duration("min"),
            max_ns=rows.duration("max"),
            waiting_ns=rows.duration("waiting"),
            running_ns=rows.duration("running"),
            pending_ns=rows.duration("pending"),
            share_percent=rows.number("share"),
            device=device if device is not None else rows.device,
            line=rows.line,
        )

    read = records_of(rows, make)
    return TaskTimes(
        artifact=table.artifact,
        tasks={},
        totals=read.records,
        n_dropped=read.n_dropped,
        encoding=read.encoding,
        headers=read.headers,
        problems=read.problems,
    )
