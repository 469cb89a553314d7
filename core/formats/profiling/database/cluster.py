"""cluster_analysis.db: steps, communication and groups of all ranks together, as msprof-analyze sums them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from npulse.core.dataclass import dataclass

from ....errors import InputError
from ....findings import Problem
from ....progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from ....text import safe_text
from ..communication_groups import CommunicationGroup
from ..records import MAX_SET_CHARS, ClusterStep, CommunicationLink, CommunicationTime, ranks_of
from .communication import MATRIX_TABLES, TIME_TABLES, communication_of, links_of
from .database import Database
from .open import open_database
from .steps import MAX_STEPS, PARTS, step_time
from .values import integer_of, text_of

STEPS = "ClusterStepTraceTime"
MAX_GROUPS = 100_000
MAX_RANKS = 1_000_000


@dataclass(frozen=True, slots=True)
class ClusterTables:
    """What a cluster_analysis.db says. devices: rank -> device. n_dropped: rows that could not be used."""

    steps: tuple[ClusterStep, ...] = ()
    communications: tuple[CommunicationTime, ...] = ()
    links: tuple[CommunicationLink, ...] = ()
    groups: tuple[CommunicationGroup, ...] = ()
    devices: Mapping[int, int] = field(default_factory=dict)
    n_dropped: int = 0
    problems: tuple[Problem, ...] = ()


def read_cluster_database(
    path: Path,
    *,
    root: Path | None = None,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> ClusterTables:
    """All tables of a cluster_analysis.db that are there, of old releases too. Steps are in us in the file.

    Raises InputError (no database, or with none of these tables) and Cancelled.
    """
    with open_database(path, root=root, progress=progress, is_cancelled=is_cancelled) as database:
        needed = (
            STEPS,
            *TIME_TABLES[1:],
            *MATRIX_TABLES[1:],
            "CommunicationGroupMapping",
            "CommunicationGroup",
        )
        if not any(map(database.has, needed)):
            message = "the database has no tables of a cluster analysis"
            raise InputError(message, path=path, hint="name cluster_analysis.db")
        communications, n_times = communication_of(database)
        links, n_links = links_of(database)
        steps = _steps(database)
        groups, n_groups = _groups(database)
        return ClusterTables(
            steps=steps,
            communications=communications,
            links=links,
            groups=groups,
            devices=_devices(database),
            n_dropped=n_times + n_links + n_groups,
            problems=database.problems(),
        )


def _steps(database: Database) -> tuple[ClusterStep, ...]:
    names = [*(name for name, _ in PARTS), "step", "type", "index"]
    steps = []
    for number, *cells in database.rows(STEPS, names, MAX_STEPS * 10):
        *parts, step, kind, index = cells
        shown = safe_text(text_of(index), 400)
        time = step_time(database, STEPS, number, parts, step)
        ranks = ranks_of(text_of(index)) or ()
        is_rank = text_of(kind).lower() == "rank"
        rank = ranks[0] if is_rank and len(ranks) == 1 else None
        steps.append(ClusterStep(safe_text(text_of(kind), 40), shown, rank, () if is_rank else ranks, time))
    return tuple(steps)


def _groups(database: Database) -> tuple[tuple[CommunicationGroup, ...], int]:
    """CommunicationGroupMapping, or CommunicationGroup of old releases."""
    groups: list[CommunicationGroup] = []
    n_dropped = 0
    for table in ("CommunicationGroupMapping", "CommunicationGroup"):
        columns = ("type", "rank_set", "group_name", "group_id", "pg_name")
        for number, *cells in database.rows(table, columns, MAX_GROUPS, text_bytes=MAX_SET_CHARS + 2):
            kind, ranks, name, group_id, label = cells
            found = ranks_of(text_of(ranks))
            if found is None:
                n_dropped += 1
                database.note(
                    "bad-record", f"{table}.rank_set is no list of ranks; the group is left out", number
                )
                continue
            texts = (safe_text(text_of(cell), 400) for cell in (name, group_id, label))
            groups.append(CommunicationGroup(safe_text(text_of(kind), 40), found, *texts))
    return tuple(groups), n_dropped


def _devices(database: Database) -> dict[int, int]:
    devices: dict[int, int] = {}
    for _, rank, device in database.rows("RankDeviceMap", ("rankId", "deviceId"), MAX_RANKS):
        whole, number = integer_of(rank), integer_of(device)
        if whole is not None and number is not None and whole >= 0 and number >= 0:
            devices.setdefault(whole, number)
    return devices
