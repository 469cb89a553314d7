"""Results of the vendor's cluster analysis as profiles of ranks: steps, communication, links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TypeVar

from npulse.core.dataclass import dataclass
from npulse.core.errors import InputError
from npulse.core.findings import Problem
from npulse.core.formats.profiling.cluster_tables import (
    ClusterTime,
    CommunicationBottleneck,
    FreeTime,
    SlowRank,
    read_cluster_steps,
    read_cluster_times,
    read_communication_bottlenecks,
    read_free_times,
    read_slow_ranks,
)
from npulse.core.formats.profiling.communication import read_communication, read_communication_links
from npulse.core.formats.profiling.database.cluster import read_cluster_database
from npulse.core.formats.profiling.records import CommunicationLink, CommunicationTime, Read, StepTime
from npulse.core.progress import IsCancelled, check, never_cancelled
from npulse.core.run.model import Artifact

from .profile import Profile
from .sources import CLUSTERS

FOLDER = "cluster_analysis_output"
Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class ToolTables:
    """What recipes of the vendor's cluster analysis found in one folder, as they wrote it. sources: table
    ("slow_ranks", "free", "bottlenecks") -> artifact."""

    folder: str
    sources: dict[str, str]
    slow_ranks: tuple[SlowRank, ...]
    free: tuple[FreeTime, ...]
    bottlenecks: tuple[CommunicationBottleneck, ...]


@dataclass(frozen=True, slots=True)
class Clusters:
    """job (the folder beside which the ranks' own folders lie) -> a profile a rank, by rank; and what recipes
    found."""

    profiles: dict[str, tuple[Profile, ...]]
    told: tuple[ToolTables, ...]


def load_clusters(
    artifacts: Sequence[Artifact],
    root: Path,
    problems: list[Problem],
    *,
    is_cancelled: IsCancelled = never_cancelled,
) -> Clusters:
    """All that the vendor's cluster analysis left. What cannot be read is a problem; so is a table that is
    shown as it is but not looked at here, where nothing else lies beside it."""
    folders: dict[str, list[Artifact]] = {}
    for artifact in artifacts:
        if artifact.kind in CLUSTERS:
            folders.setdefault(str(PurePosixPath(artifact.relative).parent), []).append(artifact)
    found: dict[str, tuple[Profile, ...]] = {}
    told: list[ToolTables] = []
    for folder, members in folders.items():
        check(is_cancelled)
        reading = _Folder(folder, root, problems)
        for artifact in members:
            try:
                reading.take(artifact)
            except InputError as error:
                problems.append(Problem.from_error(error, artifact.relative))
        profiles = reading.profiles()
        if profiles:
            job = PurePosixPath(folder)
            found[str(job.parent if job.name == FOLDER else job)] = profiles
        if reading.told:
            told.append(reading.tool_tables())
        if not profiles and not reading.told and reading.unread:
            message = "this table of the cluster analysis is shown as it is; no figure here is made of it"
            problems.append(Problem(reading.unread[0], "unsupported", message))
    return Clusters(found, tuple(told))


class _Folder:
    """What is put together of one folder."""

    def __init__(self, folder: str, root: Path, problems: list[Problem]) -> None:
        self.folder, self.root, self.problems = folder, root, problems
        self.steps: dict[int, list[StepTime]] = {}
        self.summary: dict[int, list[StepTime]] = {}
        self.times: dict[int, list[CommunicationTime]] = {}
        self.links: list[CommunicationLink] = []
        self.sources: dict[str, str] = {}
        self.slow_ranks: list[SlowRank] = []
        self.free: list[FreeTime] = []
        self.bottlenecks: list[CommunicationBottleneck] = []
        self.told: dict[str, str] = {}
        self.unread: list[str] = []

    def profiles(self) -> tuple[Profile, ...]:
        """A profile a rank. Links are of all ranks together, and the first rank has them."""
        steps = self.steps or self.summary
        ranks = sorted({*steps, *self.times} or self._ends())
        return tuple(
            Profile(
                f"{self.folder} rank {rank}",
                rank,
                steps=tuple(steps.get(rank, ())),
                communications=tuple(self.times.get(rank, ())),
                links=tuple(self.links) if rank == ranks[0] else (),
                sources=self.sources,
            )
            for rank in ranks
        )

    def _ends(self) -> set[int]:
        """Ranks between which links are, where nothing else names any."""
        ends = {rank for link in self.links for rank in (link.source, link.target)}
        return {rank for rank in ends if rank is not None}

    def tool_tables(self) -> ToolTables:
        return ToolTables(
            self.folder, self.told, tuple(self.slow_ranks), tuple(self.free), tuple(self.bottlenecks)
        )

    def take(self, artifact: Artifact) -> None:
        """One file, told apart by its name as the tool gives it. Raises InputError."""
        name, path, where = artifact.path.name.lower(), artifact.path, artifact.relative
        if artifact.kind == "prof.cluster_db":
            tables = read_cluster_database(path, root=self.root)
            self.problems += tables.problems
            for row in tables.steps:
                if row.rank is not None:
                    self.steps.setdefault(row.rank, []).append(row.time)
            self._by_rank(tables.communications)
            self.links += tables.links
            self.sources["steps"] = self.sources["communications"] = where
        elif "step_trace_time" in name:
            for one in self._records(read_cluster_steps(path, root=self.root)):
                if one.rank is not None:
                    self.steps.setdefault(one.rank, []).append(replace(one.time, device=None))
            self.sources["steps"] = where
        elif "cluster_time_summary" in name:
            for time in self._records(read_cluster_times(path, root=self.root)):
                if time.rank is not None:
                    self.summary.setdefault(time.rank, []).append(_step_of(time))
            self.sources.setdefault("steps", where)
        elif "slow_rank" in name:
            self.slow_ranks += self._records(read_slow_ranks(path, root=self.root))
            self.told["slow_ranks"] = where
        elif "free_analysis" in name:
            self.free += self._records(read_free_times(path, root=self.root))
            self.told["free"] = where
        elif "communication_bottleneck" in name:
            self.bottlenecks += self._records(read_communication_bottlenecks(path, root=self.root))
            self.told["bottlenecks"] = where
        elif "communication_matrix" in name:
            self.links += self._records(read_communication_links(path, root=self.root))
            self.sources["links"] = where
        elif name.endswith(".json") and "communication" in name and "group" not in name:
            self._by_rank(self._records(read_communication(path, root=self.root)))
            self.sources["communications"] = where
        else:
            self.unread.append(where)

    def _records(self, read: Read[Row]) -> tuple[Row, ...]:
        self.problems += read.problems
        return read.records

    def _by_rank(self, records: Sequence[CommunicationTime]) -> None:
        for record in records:
            if record.rank is not None:
                self.times.setdefault(record.rank, []).append(record)


def _step_of(time: ClusterTime) -> StepTime:
    return StepTime(
        time.step,
        None,
        computing_ns=time.computing_ns,
        communication_not_overlapped_ns=time.communication_not_overlapped_ns,
        overlapped_ns=time.overlapped_ns,
        communication_ns=time.communication_ns,
        free_ns=time.free_ns,
        line=time.line,
    )
