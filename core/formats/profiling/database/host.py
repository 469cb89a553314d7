"""Host calls of the CANN layers (CANN_API): summed, and those that started work on the device."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from npulse.core.dataclass import dataclass

from ....errors import InputError
from ....progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from ....text import safe_text
from ..cells import NO_ID
from ..records import ApiTotal, Read
from ..timeline import HostCalls, Tasks, no_tasks
from .database import Database
from .open import open_database
from .strings import Strings, kept
from .values import Integers, Rows, durations, read_rows

MAX_CALL_KINDS = 100_000
_LEVELS = {20000: "acl", 15000: "model", 10000: "node", 5500: "communication", 5000: "runtime"}
_OLD_LEVELS = {"hccl": "communication"}


@dataclass(frozen=True, slots=True)
class HostSide:
    """rows: CANN_API without the calls that have no times. level, name: codes into levels and names."""

    rows: Rows
    level: Integers
    name: Integers
    levels: tuple[str, ...]
    names: tuple[str, ...]


def enum_of(database: Database, table: str, known: Mapping[int, str]) -> dict[int, str]:
    """What the numbers of a column mean: as the database says it, else as is known."""
    found = dict(known)
    for _, number, name in database.rows(table, ("id", "name"), 1000):
        if isinstance(number, int) and isinstance(name, str):
            found[number] = safe_text(name, 80)
    return found


def read_host_side(database: Database) -> HostSide:
    """All calls of CANN_API. Calls without a start or an end are left out and noted."""
    rows = read_rows(database, "CANN_API", ["startNs", "endNs", "type", "connectionId", "name", "globalTid"])
    is_there = (rows.integers("startNs") >= 0) & (rows.integers("endNs") >= 0)
    n_lost = len(rows) - int(is_there.sum())
    if n_lost:
        database.note("bad-record", f"CANN_API: {n_lost:,} calls have no start or no end and are left out")
        rows = rows.taken(is_there)
    levels = enum_of(database, "ENUM_API_TYPE", _LEVELS)
    numbers, level = np.unique(rows.integers("type"), return_inverse=True)
    texts = [levels.get(number, str(number) if number >= 0 else "") for number in numbers.tolist()]
    ids = kept(rows.integers("name"))
    names = Strings(database, [ids]).coded(ids)
    return HostSide(
        rows,
        level.reshape(-1),
        names.codes.astype(np.int64),
        tuple(_OLD_LEVELS.get(text, text) for text in texts),
        names.labels,
    )


@dataclass(frozen=True, slots=True)
class CallSum:
    """All calls of one level and name together, ns; first and last: earliest start, latest end."""

    level: str
    name: str
    n: int
    total: int
    least: int
    longest: int
    first: int
    last: int


def sums_of(database: Database, host: HostSide) -> list[CallSum]:
    """The calls of each level and name, the longest sum first."""
    if not len(host.rows):
        return []
    keys = host.level * (len(host.names) + 1) + host.name + 1
    order = np.argsort(keys, kind="stable")
    at = np.flatnonzero(np.diff(keys[order], prepend=-1))
    starts, ends = host.rows.integers("startNs")[order], host.rows.integers("endNs")[order]
    spent = durations(starts, ends)
    columns = zip(
        *(host.level[order[at]].tolist(), host.name[order[at]].tolist()),
        np.diff(at, append=len(order)).tolist(),
        (sum(part.tolist()) for part in np.split(spent, at[1:])),  # Python's integers do not overflow
        *(np.minimum.reduceat(spent, at).tolist(), np.maximum.reduceat(spent, at).tolist()),
        *(np.minimum.reduceat(starts, at).tolist(), np.maximum.reduceat(ends, at).tolist()),
        strict=True,
    )
    sums = [
        CallSum(host.levels[level], host.names[name] if name >= 0 else "", *figures)
        for level, name, *figures in columns
    ]
    sums.sort(key=lambda call: (-call.total, call.level, call.name))
    if len(sums) > MAX_CALL_KINDS:
        database.note("limit", f"CANN_API: only {MAX_CALL_KINDS:,} of {len(sums):,} names are summed")
    return sums[:MAX_CALL_KINDS]


def summed(database: Database, host: HostSide) -> tuple[HostCalls, ...]:
    """The same as a timeline has it."""
    return tuple(
        HostCalls(call.level, call.name, call.n, call.total, call.longest, call.first, call.last)
        for call in sums_of(database, host)
    )


def launches_of(host: HostSide, connections: Integers) -> Tasks:
    """The calls whose connection some device work has. stream: the thread on the host."""
    known = np.unique(connections[connections >= 0])
    ids = host.rows.ids("connectionId")
    rows = np.flatnonzero((ids >= 0) & np.isin(ids, known))
    if not len(rows):
        return no_tasks()
    rows = rows[np.argsort(host.rows.integers("startNs")[rows], kind="stable")]
    starts, ends = host.rows.integers("startNs")[rows], host.rows.integers("endNs")[rows]
    threads = host.rows.integers("globalTid")[rows]
    return Tasks(
        starts,
        durations(starts, ends),
        np.where(threads >= 0, threads & 0xFFFF_FFFF, NO_ID),
        host.name[rows].astype(np.int32),
        host.level[rows].astype(np.int32),
        ids[rows],
        host.names,
        host.levels,
    )


def read_database_apis(
    path: Path,
    *,
    root: Path | None = None,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> Read[ApiTotal]:
    """What api_statistic says, out of CANN_API: calls of one level and name together, the longest sum first.

    Raises InputError (no database, or without host calls) and Cancelled.
    """
    with open_database(path, root=root, progress=progress, is_cancelled=is_cancelled) as database:
        if not database.has("CANN_API", "startNs", "endNs"):
            raise InputError("the database has no table CANN_API", path=path)
        host = read_host_side(database)
        totals = tuple(
            ApiTotal(
                call.level,
                call.name,
                call.n,
                call.total,
                average_ns=_rounded(call.total, call.n),
                min_ns=call.least,
                max_ns=call.longest,
            )
            for call in sums_of(database, host)
        )
        return Read(totals, database.problems())


def _rounded(total: int, n: int) -> int:
    return (2 * total + n) // (2 * n)
