"""Rank-steps read and looked through by several workers: columns come back, and what elements say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from npulse.core.calls.captures import read_capture
from npulse.core.calls.live import LiveRank
from npulse.core.errors import NpulseError
from npulse.core.findings import Problem
from npulse.core.progress import IsCancelled, Progress, ProgressCallback, ignore_progress, never_cancelled
from npulse.core.run.model import Artifact
from npulse.core.run.sides import Declared
from npulse.core.scale import (
    ClusterGone,
    SoFar,
    available_processors,
    n_workers_of,
    open_executor,
    results_as_known,
)

from .criteria import Settings
from .ranks import RankOverflow
from .tensors import scan_jobs
from .work import Scanned, scan_tensor

SMALL_BYTES = 16 << 20
"""Records up to which starting processes costs more than it saves."""

Wanted = tuple[str, Artifact]
"""A rank-step and the name of its capture."""


@dataclass(frozen=True, slots=True)
class RankJob:
    """One rank-step. is_whole: its tensors are scanned there too."""

    capture: str
    artifact: Artifact
    root: Path
    settings: Settings
    is_whole: bool

    @property
    def paths(self) -> tuple[Path, ...]:
        """What a worker has to see."""
        return (self.artifact.path,)

    def moved(self, move: Callable[[Path], Path]) -> RankJob:
        """The same job where another host names the folders otherwise."""
        artifact = replace(self.artifact, path=move(self.artifact.path))
        return replace(self, artifact=artifact, root=move(self.root))


@dataclass(frozen=True, slots=True)
class RankDone:
    """A rank-step as its worker leaves it: as its statistics tell it. scanned: what the elements say."""

    rank: RankOverflow
    problems: tuple[Problem, ...]
    scanned: dict[int, Scanned] | None = None

    def moved(self, move: Callable[[Path], Path]) -> RankDone:
        """The same where another host names the folders otherwise."""
        dump = self.rank.dump.moved(move)
        artifact = replace(self.rank.artifact, path=move(self.rank.artifact.path))
        rank = replace(
            self.rank, artifact=artifact, root=move(self.rank.root), dump=dump, live=LiveRank(dump)
        )
        return replace(self, rank=rank)


TellDone = Callable[[Mapping[int, RankDone]], None]
"""Gets the rank-steps that are there by now, by their place."""


@dataclass(slots=True)
class Found:
    """What workers found of all rank-steps, in the order in which they are listed.

    gone: the cluster went away before all were looked at.
    """

    ranks: list[tuple[RankDone | NpulseError, Artifact]]
    gone: Problem | None = None


def worth_handing_out(wanted: Sequence[Wanted], settings: Settings) -> bool:
    """Whether there are rank-steps enough, and enough to read of them, to be read by several processes."""
    if len(wanted) < 2 or settings.tails is not None:
        return False
    if settings.cluster is not None:
        return True
    n_jobs = settings.jobs or available_processors()
    return n_jobs > 1 and sum(artifact.size_bytes for _, artifact in wanted) >= SMALL_BYTES


def look_through_rank(job: RankJob) -> RankDone:
    """Read it, look through its statistics and, where asked, its tensors. InputError."""
    from .analyse import look_through

    dump = read_capture(job.artifact, job.root, Declared(), ignore_progress, never_cancelled)
    problems = list(dump.problems)
    settings = replace(job.settings, cluster=None)
    rank = look_through(job.artifact, job.capture, job.root, LiveRank(dump), settings, problems)
    scanned = None
    if job.is_whole and settings.read_tensors:
        near_ratio = settings.criteria.near_ratio
        scanned = {one.row: scan_tensor(one, near_ratio) for one in scan_jobs(rank)}
    return RankDone(rank, tuple(problems), scanned)


def looked_through_by_workers(
    root: Path,
    wanted: Sequence[Wanted],
    settings: Settings,
    tell: TellDone | None,
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
) -> Found:
    """Every rank-step, or why it cannot be used. Who ends first does not count. tell: while more are to come.

    ClusterGone where the cluster goes away and nothing is known as yet; Cancelled.
    """
    known: dict[int, RankDone | NpulseError] = {}
    gone = None
    note = ""
    so_far = SoFar[RankDone](len(wanted), tell or (lambda _: None))
    progress(Progress("read", 0, len(wanted), "ranks"))
    try:
        with open_executor(settings.jobs or None, settings.cluster) as executor:
            is_whole = len(wanted) >= n_workers_of(executor)
            jobs = [
                RankJob(name, artifact, root, replace(settings, cache=None, cluster=None), is_whole)
                for name, artifact in wanted
            ]
            for place, found in results_as_known(
                executor, look_through_rank, jobs, is_cancelled=is_cancelled, on_wait=so_far.look
            ):
                known[place] = found
                if isinstance(found, RankDone) and (found.scanned is not None or not settings.read_tensors):
                    so_far.add(place, found)
                note = note or (_first(found) if isinstance(found, RankDone) else "")
                progress(Progress("read", len(known), len(jobs), "ranks", note=note))
    except ClusterGone as error:
        if not any(isinstance(found, RankDone) for found in known.values()):
            raise
        names = [artifact.relative for place, (_, artifact) in enumerate(wanted) if place not in known]
        shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
        message = f"{error.message}; {len(names)} of {len(wanted)} ranks were not looked at: {shown}"
        gone = Problem(root.name, error.kind, message, hint=error.hint)
    return Found([(known[place], wanted[place][1]) for place in sorted(known)], gone)


def _first(done: RankDone) -> str:
    origins = done.rank.roles.origins
    return f"rank {done.rank.rank}: {done.rank.name(origins[0].call)}" if origins else ""
