"""What ran when, out of a profiler's database: one timeline a device."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from ....errors import InputError
from ....findings import Problem
from ....progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from ..cells import NO_ID
from ..timeline import NONE, OVERLAP_LANES, Integers, Tasks, Timeline, no_tasks
from .database import Database
from .host import HostSide, launches_of, read_host_side, summed
from .joins import Lookup
from .marks import garbage_collections, has_no_end, marked_ranges, step_spans
from .open import open_database
from .operators import devices_of, has_kernels_of
from .strings import Coded, Strings, kept
from .values import NOTHING, Rows, durations, read_rows

_HINT = "name the database with the table TASK, e.g. ascend_pytorch_profiler_0.db or msprof_*.db"
_FRAMEWORK_OPERATOR = 50001
_TASK_COLUMNS = ["startNs", "endNs", "deviceId", "connectionId", "globalTaskId", "taskType", "streamId"]
_OPERATION_COLUMNS = ["startNs", "endNs", "deviceId", "connectionId", "opName", "groupName"]


def read_database_timelines(
    path: Path,
    *,
    root: Path | None = None,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> tuple[Timeline, ...]:
    """The timelines of all devices in a database, by device; what tells no device is in one with None.

    tasks: all rows of TASK, kind as its taskType. Kernels (those with a row in COMPUTE_TASK_INFO: so the
    vendor counts computing) have a name, other tasks have none, whatever their kind: the parent of fused
    tasks is AI_CORE too. communication: COMMUNICATION_OP, kind is the group. launches: CANN_API calls
    whose connection a task or an operation of this device has; framework: operators of PYTORCH_API likewise,
    a row a connection. recorded: OVERLAP_ANALYSIS. Calls, steps, ranges and pauses are of the process and the
    same in all timelines, as are `problems`. Rows without a start or an end are left out and counted.
    Raises InputError (no database, or neither tasks nor communication nor host calls) and Cancelled.
    Cost: linear; 100,000 tasks with as many host calls take about a second.
    """
    with open_database(path, root=root, progress=progress, is_cancelled=is_cancelled) as database:
        needed = ("TASK", "COMMUNICATION_OP", "CANN_API", "MSTX_EVENTS")
        if not any(database.has(table, "startNs", "endNs") for table in needed):
            raise InputError("the database has no tasks", path=path, hint=_HINT)
        if database.has("COMMUNICATION_TASK_INFO") and not database.has("COMMUNICATION_OP"):
            message = "COMMUNICATION_OP is missing beside COMMUNICATION_TASK_INFO: no collective has a time"
            database.note("missing", message)
        timelines = _Reading(database).timelines()
        problems: tuple[Problem, ...] = database.problems()
        return tuple(replace(timeline, problems=problems) for timeline in timelines)


def read_database_timeline(
    path: Path,
    device: int | None = None,
    *,
    root: Path | None = None,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> Timeline:
    """The timeline of one device, as `read_database_timelines` has it. device: None for the only one.

    Raises InputError too if there is no such device, or several and none is named.
    """
    timelines = read_database_timelines(path, root=root, progress=progress, is_cancelled=is_cancelled)
    if device is None and len(timelines) == 1:
        return timelines[0]
    there = ", ".join(str(timeline.device) for timeline in timelines)
    for timeline in timelines:
        if timeline.device is not None and timeline.device == device:
            return timeline
    message = f"device {device} is not in it" if device is not None else "it has several devices"
    raise InputError(f"{message}: there are {there}", path=path)


class _Reading:
    """One database becoming timelines."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._tasks = self._placed("TASK", _TASK_COLUMNS)
        self._operations = self._placed("COMMUNICATION_OP", _OPERATION_COLUMNS)
        self._operations.arrays["deviceId"] = devices_of(self._operations, self._tasks)
        self._names = self._kernel_names()
        lookups = [
            *(self._names, kept(self._tasks.integers("taskType"))),
            *(kept(self._operations.integers(name)) for name in ("opName", "groupName")),
        ]
        self._strings = Strings(database, lookups)

    def timelines(self) -> tuple[Timeline, ...]:
        """By device; one without a device if there is nothing on any."""
        database = self._database
        host = read_host_side(database)
        framework = self._framework()
        common = Timeline(
            source=database.artifact,
            device=None,
            tasks=no_tasks(),
            communication=no_tasks(),
            launches=no_tasks(),
            calls=summed(database, host),
            steps=step_spans(database),
            ranges=marked_ranges(database),
            pauses=garbage_collections(database),
            n_framework_events=len(framework),
            is_cut=bool(has_no_end(database)),
        )
        lanes = read_rows(database, "OVERLAP_ANALYSIS", ["deviceId", "startNs", "endNs", "type"])
        clocks = read_rows(database, "AICORE_FREQ", ["deviceId", "timestampNs"], ["freq"])
        task_devices, operation_devices = self._tasks.ids("deviceId"), self._operations.ids("deviceId")
        devices = np.unique(np.concatenate([task_devices, operation_devices])).tolist() or [NO_ID]
        tasks = self._task_columns()
        operations = self._operation_columns()
        timelines = []
        for device in devices:
            timeline = replace(
                common,
                device=device if device >= 0 else None,
                tasks=tasks.taken(task_devices == device),
                communication=operations.taken(operation_devices == device),
                recorded=_recorded(lanes, device),
            )
            timelines.append(self._with_host(_with_clock(timeline, clocks, device), host, framework))
        return tuple(timelines)

    def _placed(self, table: str, columns: list[str]) -> Rows:
        """Rows with a start and an end, in order of their starts."""
        rows = read_rows(self._database, table, columns)
        starts, ends = rows.integers("startNs"), rows.integers("endNs")
        is_there = (starts >= 0) & (ends >= 0)
        n_lost = len(rows) - int(is_there.sum())
        if n_lost:
            message = f"{table}: {n_lost:,} rows have no start or no end and are left out"
            self._database.note("bad-record", message)
        places = np.flatnonzero(is_there)
        return rows.taken(places[np.argsort(starts[places], kind="stable")])

    def _kernel_names(self) -> Integers:
        """Of each task the id of its name, NOTHING if it is no kernel."""
        nothing = np.full(len(self._tasks), NOTHING, np.int64)
        if not has_kernels_of(self._database):
            return nothing
        info = read_rows(self._database, "COMPUTE_TASK_INFO", ["globalTaskId", "name"])
        if not len(info):
            return nothing
        found = Lookup(info.ids("globalTaskId")).rows(self._tasks.ids("globalTaskId"))
        return np.where(found >= 0, kept(info.integers("name"))[found], NOTHING)

    def _task_columns(self) -> Tasks:
        names = self._strings.coded(self._names)
        kinds = self._strings.coded(kept(self._tasks.integers("taskType")))
        return _tasks_of(self._tasks, self._tasks.ids("streamId"), names, kinds)

    def _operation_columns(self) -> Tasks:
        operations = self._operations
        names = self._strings.coded(kept(operations.integers("opName")))
        groups = self._strings.coded(kept(operations.integers("groupName")))
        return _tasks_of(operations, np.full(len(operations), NONE, np.int64), names, groups)

    def _framework(self) -> Rows:
        """Events of the framework, with an id for what they have in common with CONNECTION_IDS."""
        return read_rows(
            self._database, "PYTORCH_API", ["startNs", "endNs", "globalTid", "connectionId", "name", "type"]
        )

    def _with_host(self, timeline: Timeline, host: HostSide, framework: Rows) -> Timeline:
        """What of the host started the work of this device."""
        connections = np.concatenate([timeline.tasks.connection, timeline.communication.connection])
        return replace(
            timeline,
            launches=launches_of(host, connections),
            framework=self._operators_of(framework, connections),
        )

    def _operators_of(self, framework: Rows, connections: Integers) -> Tasks:
        """Operators of the framework behind these connections, a row a connection."""
        if not len(framework) or not self._database.has("CONNECTION_IDS", "id", "connectionId"):
            return no_tasks()
        pairs = read_rows(self._database, "CONNECTION_IDS", ["id", "connectionId"])
        targets = pairs.ids("connectionId")
        pairs = pairs.taken((targets >= 0) & np.isin(targets, np.unique(connections[connections >= 0])))
        if framework.has("type"):
            framework = framework.taken(framework.integers("type") == _FRAMEWORK_OPERATOR)
        starts, ends = framework.integers("startNs"), framework.integers("endNs")
        framework = framework.taken((starts >= 0) & (ends >= 0))
        found = Lookup(framework.integers("connectionId")).rows(pairs.ids("id"))
        pairs, found = pairs.taken(found >= 0), found[found >= 0]
        rows = framework.taken(found)
        rows.arrays["connectionId"] = pairs.ids("connectionId")
        rows = rows.taken(np.argsort(rows.integers("startNs"), kind="stable"))
        ids = kept(rows.integers("name"))
        threads = rows.integers("globalTid")
        names = Strings(self._database, [ids]).coded(ids)
        no_kinds = Coded(np.full(len(rows), NONE, np.int32), ())
        return _tasks_of(rows, np.where(threads >= 0, threads & 0xFFFF_FFFF, NONE), names, no_kinds)


def _tasks_of(rows: Rows, streams: Integers, names: Coded, kinds: Coded) -> Tasks:
    starts = rows.integers("startNs")
    return Tasks(
        start_ns=starts,
        duration_ns=durations(starts, rows.integers("endNs")),
        stream=streams,
        name=names.codes,
        kind=kinds.codes,
        connection=rows.ids("connectionId"),
        names=names.labels,
        kinds=kinds.labels,
    )


def _recorded(lanes: Rows, device: int) -> dict[str, tuple[Integers, Integers]]:
    """Lanes of the vendor's overlap analysis, those that have something in them."""
    starts, ends, kinds = lanes.integers("startNs"), lanes.integers("endNs"), lanes.integers("type")
    is_mine = (starts >= 0) & (ends >= 0)
    if lanes.has("deviceId"):
        is_mine &= lanes.ids("deviceId") == device
    found: dict[str, tuple[Integers, Integers]] = {}
    for kind, lane in enumerate(OVERLAP_LANES):
        places = np.flatnonzero(is_mine & (kinds == kind))
        if len(places):
            places = places[np.argsort(starts[places], kind="stable")]
            found[lane] = (starts[places], ends[places] - starts[places])
    return found


def _with_clock(timeline: Timeline, clocks: Rows, device: int) -> Timeline:
    """The AI core clock of this device, in MHz, in order of time."""
    times, speeds = clocks.integers("timestampNs"), clocks.numbers("freq")
    is_mine = (times >= 0) & ~np.isnan(speeds)
    if clocks.has("deviceId"):
        is_mine &= clocks.ids("deviceId") == device
    places = np.flatnonzero(is_mine)
    places = places[np.argsort(times[places], kind="stable")]
    return replace(timeline, frequency_at_ns=times[places], frequency_mhz=speeds[places])
