"""The operator table out of a profiler's database: the rows that op_summary and kernel_details have."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ....errors import InputError
from ....progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from ..cells import NO_ID, NO_START
from ..columns import BY_NAME, SCHEMA, OperatorColumn
from ..operators import OperatorTable
from .database import MAX_ROWS, Database
from .joins import Calls, Lookup
from .open import open_database
from .pmu import Counters, read_counters
from .steps import steps_of
from .strings import Coded, Strings, kept
from .values import NOTHING, Integers, Rows, durations, read_rows

TASK_IDS = ["globalTaskId", "connectionId", "startNs", "endNs", "deviceId", "taskType"]
_TASK_COLUMNS = {"model": "modelId", "task": "taskId", "stream": "streamId", "context": "contextId"}
"""Column of the operator table -> column of TASK."""
_INFO_TEXTS = {
    "name": "name",
    "op_type": "opType",
    "op_state": "opState",
    "core_type": "taskType",
    "hf32": "hf32Eligible",
    "input_shapes": "inputShapes",
    "input_dtypes": "inputDataTypes",
    "input_formats": "inputFormats",
    "output_shapes": "outputShapes",
    "output_dtypes": "outputDataTypes",
    "output_formats": "outputFormats",
}
"""Column of the operator table -> column of COMPUTE_TASK_INFO."""
_SHAPES = ("input_shapes", "output_shapes")
_COMMUNICATION = "COMMUNICATION"
_HINT = "name the database with the table TASK, e.g. ascend_pytorch_profiler_0.db or msprof_*.db"
_Array = npt.NDArray[Any]


def read_database_operators(
    path: Path,
    *,
    root: Path | None = None,
    columns: Collection[str] | None = None,
    max_rows: int = MAX_ROWS,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> OperatorTable:
    """The kernels of a database (TASK with COMPUTE_TASK_INFO, counters of TASK_PMU_INFO) and its whole
    communication operations (core_type COMMUNICATION), as op_summary has them: by device, then by start.

    columns: names to keep, None for all. step: that of the host call that started it, as the vendor counts.
    wait_ns and cube_utilization are in no database. line: number of the row in TASK, of communication in
    COMMUNICATION_OP. Problems: cells that cannot be read, ids without a text, information without a task
    (counted in n_dropped), damage, limits. Raises InputError (no database, or without kernels and
    communication) and Cancelled. Cost: linear; 100,000 kernels take about half a second, their counters
    (28 a kernel) 3 s more.
    """
    wanted = None if columns is None else frozenset(columns)
    with open_database(path, root=root, progress=progress, is_cancelled=is_cancelled) as database:
        has_kernels = has_kernels_of(database)
        if not has_kernels and not database.has("COMMUNICATION_OP", "startNs", "endNs"):
            raise InputError("the database has neither kernels nor communication", path=path, hint=_HINT)
        return _Reading(database, wanted, max_rows).table()


def has_kernels_of(database: Database) -> bool:
    """True if the database has what tells a kernel from other tasks."""
    has_tasks = database.has("TASK", "startNs", "endNs", "globalTaskId")
    return has_tasks and database.has("COMPUTE_TASK_INFO", "globalTaskId")


def cores_column(database: Database, mixed: bool = False) -> str:
    """The column that says over how many cores a kernel was split.

    With blockNum there, blockDim is the threads of a SIMT kernel.
    """
    new, old = ("mixBlockNum", "mixBlockDim") if mixed else ("blockNum", "blockDim")
    return new if database.has("COMPUTE_TASK_INFO", new) else old


def devices_of(rows: Rows, tasks: Rows) -> Integers:
    """The device of communication operations: as written, else of the tasks that they started, else the only
    one there is; NO_ID where neither says it."""
    devices = rows.ids("deviceId")
    if not len(tasks):
        return devices
    task_devices = tasks.ids("deviceId")
    task = Lookup(tasks.ids("connectionId")).rows(rows.ids("connectionId"))
    devices = np.where((devices < 0) & (task >= 0), task_devices[task], devices)
    known = np.unique(task_devices[task_devices >= 0])
    return np.where(devices < 0, known[0], devices) if len(known) == 1 else devices


class _Reading:
    """One database becoming a table; `is_wanted` by name of a column."""

    def __init__(self, database: Database, wanted: frozenset[str] | None, max_rows: int) -> None:
        self._database = database
        self._wanted = wanted
        self._max_rows = max_rows
        self._n_dropped = 0
        self._n_unread = 0

    def table(self) -> OperatorTable:
        database = self._database
        is_known = has_kernels_of(database)
        more = [name for column, name in _TASK_COLUMNS.items() if self._is_wanted(column)]
        tasks = (
            read_rows(database, "TASK", [*TASK_IDS, *more]) if database.has("TASK", "globalTaskId") else None
        )
        self._count(tasks)
        info, kernels = self._kernels(tasks if is_known else None)
        operations = read_rows(
            database,
            "COMMUNICATION_OP",
            ["startNs", "endNs", "connectionId", "opName", "opType", "deviceId"],
        )
        self._count(operations)
        operations.arrays["deviceId"] = devices_of(operations, tasks if tasks is not None else kernels)
        arrays, labels = self._columns(kernels, info, operations)
        starts = np.concatenate([kernels.starts("startNs"), operations.starts("startNs")])
        devices = np.concatenate([kernels.ids("deviceId"), operations.ids("deviceId")])
        lines = np.concatenate([kernels.lines(), operations.lines()])
        order = np.lexsort((starts, devices))
        if len(order) > self._max_rows:
            message = f"only the first {self._max_rows:,} of {len(order):,} operators are kept"
            database.note("limit", message)
            order = order[: self._max_rows]
        counters = self._counters(kernels)
        return self._assembled(arrays, labels, counters, lines, order, len(operations))

    def _is_wanted(self, column: str) -> bool:
        return self._wanted is None or column in self._wanted

    def _count(self, rows: Rows | None) -> None:
        self._n_unread += rows.n_unread if rows is not None else 0

    def _kernels(self, tasks: Rows | None) -> tuple[Rows, Rows]:
        """What is known of each kernel, and its task, row by row."""
        none = Rows(np.zeros(0, np.int64))
        if tasks is None:
            return none, none
        database = self._database
        texts = [name for column, name in _INFO_TEXTS.items() if self._is_wanted(column)]
        sizes = [cores_column(database), cores_column(database, mixed=True)]
        info = read_rows(database, "COMPUTE_TASK_INFO", [*dict.fromkeys(["globalTaskId", *texts, *sizes])])
        self._count(info)
        ids = info.ids("globalTaskId")
        found = Lookup(ids).rows(tasks.ids("globalTaskId"))
        n_lost = len(info) - int(((ids >= 0) & np.isin(ids, tasks.ids("globalTaskId"))).sum())
        if n_lost:
            self._n_dropped += n_lost
            database.note("bad-record", f"COMPUTE_TASK_INFO: {n_lost:,} rows have no task in TASK")
        is_kernel = found >= 0
        return info.taken(found[is_kernel]), tasks.taken(is_kernel)

    def _columns(
        self, kernels: Rows, info: Rows, operations: Rows
    ) -> tuple[dict[str, _Array], dict[str, tuple[str, ...]]]:
        """Every column but the counters: kernels first, then communication."""
        n = len(operations)
        nothing = np.full(n, NO_ID, np.int64)
        arrays: dict[str, _Array] = {}
        for column, name in _TASK_COLUMNS.items():
            if kernels.has(name):
                arrays[column] = np.concatenate([kernels.ids(name), nothing])
        arrays["device"] = np.concatenate([kernels.ids("deviceId"), operations.ids("deviceId")])
        for column, mixed in (("block_dim", False), ("mix_block_dim", True)):
            name = cores_column(self._database, mixed)
            if info.has(name):
                no_cores = nothing if mixed else np.zeros(n, np.int64)
                arrays[column] = np.concatenate([info.ids(name), no_cores])
        starts = np.concatenate([kernels.integers("startNs"), operations.integers("startNs")])
        ends = np.concatenate([kernels.integers("endNs"), operations.integers("endNs")])
        arrays["start_ns"] = np.maximum(starts, NO_START)
        arrays["duration_ns"] = durations(starts, ends)
        if self._is_wanted("step"):
            connections = np.concatenate([kernels.ids("connectionId"), operations.ids("connectionId")])
            steps = steps_of(self._database, connections)
            if steps is not None:
                arrays["step"] = steps
        labels = self._texts(arrays, kernels, info, operations)
        return arrays, labels

    def _texts(
        self, arrays: dict[str, _Array], kernels: Rows, info: Rows, operations: Rows
    ) -> dict[str, tuple[str, ...]]:
        """Text columns into `arrays`; returns their labels."""
        ids: dict[str, Integers] = {}
        nothing = np.full(len(operations), NOTHING, np.int64)
        for column, name in _INFO_TEXTS.items():
            if not self._is_wanted(column):
                continue
            own = info.integers(name)
            if column == "core_type" and not info.has(name):
                own = kernels.integers("taskType")
            other = {"name": "opName", "op_type": "opType"}.get(column)
            ids[column] = kept(np.concatenate([own, operations.integers(other) if other else nothing]))
        strings = Strings(self._database, ids.values())
        labels: dict[str, tuple[str, ...]] = {}
        for column, values in ids.items():
            found = strings.coded(values, is_shape=column in _SHAPES)
            if column == "core_type" and len(operations):
                found = _with_communication(found, len(operations))
            if (found.codes >= 0).any() or column in ("name", "core_type"):
                arrays[column], labels[column] = found.codes, found.labels
        return labels

    def _counters(self, kernels: Rows) -> Counters:
        """Counters of the kernels, if any is wanted."""
        is_any = self._wanted is None or any(
            name not in BY_NAME or BY_NAME[name].kind == "number" for name in self._wanted
        )
        if not is_any:
            return Counters({}, {})
        starts, ends = kernels.integers("startNs"), kernels.integers("endNs")
        calls = Calls(kernels.ids("globalTaskId"), starts, ends)
        return read_counters(self._database, calls, len(kernels), self._wanted)

    def _assembled(
        self,
        arrays: dict[str, _Array],
        labels: Mapping[str, tuple[str, ...]],
        counters: Counters,
        lines: Integers,
        order: Integers,
        n_operations: int,
    ) -> OperatorTable:
        described: dict[str, OperatorColumn] = {
            column.name: column
            for column in SCHEMA
            if column.name in counters.arrays or (column.name in arrays and self._is_wanted(column.name))
        }
        described.update({name: column for name, column in counters.columns.items() if name not in BY_NAME})
        absent = np.full(n_operations, np.nan)
        taken: dict[str, _Array] = {}
        for name in described:
            counted = counters.arrays.get(name)
            whole = arrays[name] if counted is None else np.concatenate([counted, absent])
            taken[name] = whole[order]
        return OperatorTable(
            files=(self._database.artifact,),
            file=np.zeros(len(order), np.int32),
            line=lines[order],
            columns=described,
            arrays=taken,
            labels={name: labels[name] for name in described if name in labels},
            encodings=("",),
            left_out=counters.left_out,
            n_dropped=self._n_dropped,
            n_unread=self._n_unread + counters.n_unread,
            problems=self._database.problems(),
        )


def _with_communication(found: Coded, n: int) -> Coded:
    """The last n rows are communication, which the tables tell by this word."""
    labels = list(found.labels)
    if _COMMUNICATION not in labels:
        labels.append(_COMMUNICATION)
    codes = found.codes.copy()
    codes[len(codes) - n :] = labels.index(_COMMUNICATION)
    return Coded(codes, tuple(labels))
