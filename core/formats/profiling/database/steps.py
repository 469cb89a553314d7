"""Steps of the script: where they lie (STEP_TIME), which task belongs to which, and how they divide
(StepTraceTime)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ....errors import InputError
from ....progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from ....text import safe_text
from ..cells import NO_ID
from ..records import Read, StepTime
from .database import Database
from .joins import Lookup
from .open import open_database
from .values import NOTHING, Integers, Rows, integer_of, ns_of_us, read_rows, text_of

MAX_STEPS = 100_000
STEP_TRACE = "StepTraceTime"
PARTS = (
    ("computing", "computing_ns"),
    ("communication_not_overlapped", "communication_not_overlapped_ns"),
    ("overlapped", "overlapped_ns"),
    ("communication", "communication_ns"),
    ("free", "free_ns"),
    ("stage", "stage_ns"),
    ("bubble", "bubble_ns"),
    ("communication_not_overlapped_and_exclude_receive", "exclude_receive_ns"),
    ("preparing", "preparing_ns"),
)
"""Column of the step tables -> field of StepTime."""


def read_step_windows(database: Database) -> Rows:
    """STEP_TIME in order of its starts: id, startNs, endNs. Rows without both times are left out."""
    windows = read_rows(database, "STEP_TIME", ["id", "startNs", "endNs"])
    starts, ends = windows.integers("startNs"), windows.integers("endNs")
    windows = windows.taken((starts >= 0) & (ends >= starts))
    return windows.taken(np.argsort(windows.integers("startNs"), kind="stable"))


def steps_of(database: Database, connections: Integers, *, calls: Rows | None = None) -> Integers | None:
    """The step of each task: the one in which the host call began that started it (NO_ID (-1): in none).

    connections: of the tasks, NO_ID for none. calls: CANN_API if it was read already. None: the database
    counts no steps or has no host calls.
    """
    if not database.has("STEP_TIME", "id", "startNs", "endNs"):
        return None
    if calls is None:
        calls = read_rows(database, "CANN_API", ["startNs", "connectionId"])
    windows = read_step_windows(database)
    if not len(windows) or not len(calls):
        return None
    call = Lookup(calls.ids("connectionId")).rows(connections)
    began = np.where(call >= 0, calls.integers("startNs")[call], NOTHING)
    place = np.searchsorted(windows.integers("startNs"), began, side="right") - 1
    is_in = (place >= 0) & (began < windows.integers("endNs")[place])
    return np.where(is_in, windows.ids("id")[place], NO_ID)


def read_database_steps(
    path: Path,
    *,
    root: Path | None = None,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> Read[StepTime]:
    """How the steps of one device divide: StepTraceTime of analysis.db or communication_analyzer.db.

    Written in us, also by old releases. line: number of the row. Problems: cells that are no time (absent).
    Raises InputError (no database, or without that table) and Cancelled.
    """
    with open_database(path, root=root, progress=progress, is_cancelled=is_cancelled) as database:
        if not database.has(STEP_TRACE):
            raise InputError(f"the database has no table {STEP_TRACE}", path=path, hint="name analysis.db")
        names = [*(name for name, _ in PARTS), "step", "deviceId", "device_id"]
        records = []
        for number, *cells in database.rows(STEP_TRACE, names, MAX_STEPS):
            *parts, step, device, device_old = cells
            records.append(
                step_time(
                    database, STEP_TRACE, number, parts, step, device if device is not None else device_old
                )
            )
        return Read(tuple(records), database.problems())


def step_time(
    database: Database, table: str, number: int | None, parts: list[Any], step: Any, device: Any = None
) -> StepTime:
    """One row of a step table. parts: cells in the order of PARTS."""
    read = cells_reader(database, table, number)
    times = {field: read(name, cell, ns_of_us) for (name, field), cell in zip(PARTS, parts, strict=True)}
    whole = integer_of(device)
    return StepTime(
        step=safe_text(text_of(step), 80),
        device=whole if whole is not None and 0 <= whole < 1 << 31 else None,
        line=number,
        **times,
    )


def cells_reader(
    database: Database, table: str, number: int | None
) -> Callable[[str, Any, Callable[[Any], Any]], Any]:
    """A function (column, cell, conversion) -> value, None where the conversion raises ValueError, noted."""

    def read(name: str, cell: Any, convert: Callable[[Any], Any]) -> Any:
        try:
            return convert(cell)
        except ValueError:
            shown = safe_text(text_of(cell) or type(cell).__name__, 40)
            database.note("bad-record", f"{table}.{name} is not a number: {shown!r}", number)
            return None

    return read
