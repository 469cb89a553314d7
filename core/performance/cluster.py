"""Results of the vendor's cluster analysis as profiles of ranks: steps, communication, links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from npulse.core.errors import InputError
from npulse.core.findings import Problem
from npulse.core.formats.profiling.cluster_tables import read_cluster_steps
from npulse.core.formats.profiling.communication import read_communication, read_communication_links
from npulse.core.formats.profiling.database.cluster import read_cluster_database
from npulse.core.formats.profiling.records import CommunicationLink, CommunicationTime, StepTime
from npulse.core.progress import IsCancelled, check, never_cancelled
from npulse.core.run.model import Artifact

from .profile import Profile
from .sources import CLUSTERS

FOLDER = "cluster_analysis_output"


def load_clusters(
    artifacts: Sequence[Artifact],
    root: Path,
    problems: list[Problem],
    *,
    is_cancelled: IsCancelled = never_cancelled,
) -> dict[str, tuple[Profile, ...]]:
    """Job (the folder beside which the ranks' own folders lie) -> a profile a rank, by rank.

    Tables of other recipes are not read here; they are shown as they are. What cannot be read is a problem.
    """
    folders: dict[str, list[Artifact]] = {}
    for artifact in artifacts:
        if artifact.kind in CLUSTERS:
            folders.setdefault(str(PurePosixPath(artifact.relative).parent), []).append(artifact)
    found: dict[str, tuple[Profile, ...]] = {}
    for folder, members in folders.items():
        check(is_cancelled)
        profiles = _profiles(folder, members, root, problems)
        if profiles:
            job = PurePosixPath(folder)
            found[str(job.parent if job.name == FOLDER else job)] = profiles
    return found


def _profiles(
    folder: str, members: Sequence[Artifact], root: Path, problems: list[Problem]
) -> tuple[Profile, ...]:
    steps: dict[int, list[StepTime]] = {}
    times: dict[int, list[CommunicationTime]] = {}
    links: list[CommunicationLink] = []
    sources: dict[str, str] = {}
    for artifact in members:
        try:
            _take(artifact, root, problems, steps, times, links, sources)
        except InputError as error:
            problems.append(Problem.from_error(error, artifact.relative))
    ranks = sorted({*steps, *times})
    return tuple(
        Profile(
            f"{folder} rank {rank}",
            rank,
            steps=tuple(steps.get(rank, ())),
            communications=tuple(times.get(rank, ())),
            links=tuple(links) if rank == ranks[0] else (),  # of all ranks together
            sources=sources,
        )
        for rank in ranks
    )


def _take(
    artifact: Artifact,
    root: Path,
    problems: list[Problem],
    steps: dict[int, list[StepTime]],
    times: dict[int, list[CommunicationTime]],
    links: list[CommunicationLink],
    sources: dict[str, str],
) -> None:
    """One file, told apart by its name as the tool gives it."""
    name = artifact.path.name
    if artifact.kind == "prof.cluster_db":
        tables = read_cluster_database(artifact.path, root=root)
        problems += tables.problems
        for row in tables.steps:
            if row.rank is not None:
                steps.setdefault(row.rank, []).append(row.time)
        _by_rank(tables.communications, times)
        links += tables.links
        sources["steps"] = sources["communications"] = artifact.relative
    elif "step_trace_time" in name:
        read = read_cluster_steps(artifact.path, root=root)
        problems += read.problems
        for one in read.records:
            if one.rank is not None:
                steps.setdefault(one.rank, []).append(replace(one.time, device=None))
        sources["steps"] = artifact.relative
    elif "communication_matrix" in name:
        matrix = read_communication_links(artifact.path, root=root)
        problems += matrix.problems
        links += matrix.records
        sources["links"] = artifact.relative
    elif name.endswith(".json") and "communication" in name and "group" not in name:
        told = read_communication(artifact.path, root=root)
        problems += told.problems
        _by_rank(told.records, times)
        sources["communications"] = artifact.relative


def _by_rank(records: Sequence[CommunicationTime], times: dict[int, list[CommunicationTime]]) -> None:
    for record in records:
        if record.rank is not None:
            times.setdefault(record.rank, []).append(record)
