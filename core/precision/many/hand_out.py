"""Ranks as the unit of work: several at once, in worker processes of this host or of a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from npulse.core.calls.live import LiveRank
from npulse.core.errors import NpulseError
from npulse.core.findings import Problem
from npulse.core.formats.msprobe.records import Dump
from npulse.core.progress import IsCancelled, Progress, ProgressCallback
from npulse.core.run.model import Artifact
from npulse.core.run.sides import CapturePair
from npulse.core.scale import (
    ClusterGone,
    SoFar,
    available_processors,
    n_workers_of,
    open_executor,
    results_as_known,
)

from ..captured import Loaded
from ..comparison import Settings
from ..mixed.dtype_map import PrecisionMap
from ..mixed.judge_by import Judged, judge_by
from .work import RankDone, RankJob, SideJob, compare_rank, read_side

SMALL_BYTES = 16 << 20
"""Records (dump.json and its like) of both sides up to which starting processes costs more than it saves:
a second and a half of reading against a fifth for each process."""

Couple = tuple[Artifact, Artifact]


@dataclass(slots=True)
class Ranks:
    """What workers have done of a comparison: by the target's path, and what went wrong with the cluster."""

    done: dict[Path, RankDone] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    gone: ClusterGone | None = None

    def of(self, one: Loaded) -> RankDone | None:
        """What a worker made of these rows; None where they are to be read here."""
        done = self.done.get(one.artifacts[0].path)
        return done if done is not None and done.rows is one.rows and done.is_read else None

    def judged(self, told: PrecisionMap, one: Loaded) -> Judged:
        """What a precision map was used for, there or here."""
        done = self.of(one)
        if done is not None and done.judged is not None:
            return done.judged
        return judge_by(told, one.rows, one.tensors, one.construct)


def worth_handing_out(artifacts: Sequence[Artifact], settings: Settings) -> bool:
    """Whether there are rank-steps enough, and enough to read of them, to be read by several processes."""
    if len(artifacts) < 4 or settings.tails is not None:
        return False
    if settings.cluster is not None:
        return True
    n_jobs = settings.jobs or available_processors()
    return n_jobs > 1 and sum(artifact.size_bytes for artifact in artifacts) >= SMALL_BYTES


def loaded_by_workers(
    pair: CapturePair,
    couples: Sequence[Couple],
    settings: Settings,
    ranks: Ranks,
    so_far: SoFar[RankDone] | None,
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
) -> Iterator[tuple[int, Loaded | NpulseError]]:
    """(place, rank-step) of the couples as they are known; what workers did beyond loading is in `ranks`.

    Tensors are read by the worker that has the rank; where there are fewer ranks than workers they are left
    to be handed out one by one. Where the cluster goes away, `ranks.problems` say so and the rest is missing;
    ClusterGone is raised where nothing is known as yet. Cancelled. so_far: told of each that comes back.
    """
    n_done, note = 0, ""
    missing = dict(enumerate(couples))
    progress(Progress("read", 0, len(couples), "ranks"))
    try:
        with open_executor(settings.jobs or None, settings.cluster) as executor:
            is_whole = settings.measured is None and len(couples) >= n_workers_of(executor)
            jobs = jobs_of_ranks(pair, couples, settings, is_whole=is_whole)
            waiting = (lambda: None) if so_far is None else so_far.look
            for place, found in results_as_known(
                executor, compare_rank, jobs, is_cancelled=is_cancelled, on_wait=waiting
            ):
                target, golden = missing.pop(place)
                n_done += 1
                if isinstance(found, RankDone):
                    ranks.done[target.path] = found
                    if settings.cache is not None:
                        settings.cache.tell_trouble(found.unkept)
                    note = note or (f"rank {target.rank}: {found.first}" if found.first else "")
                    yield place, found.loaded(target, golden)
                    if so_far is not None and found.is_read and found.roles is not None:
                        so_far.add(place, found)
                else:
                    yield place, found
                progress(
                    Progress("compare" if is_whole else "read", n_done, len(couples), "ranks", note=note)
                )
    except ClusterGone as error:
        if not ranks.done:
            raise
        ranks.gone = error
        ranks.problems.append(_gone_problem(error, pair, missing, len(couples)))


def jobs_of_ranks(
    pair: CapturePair, couples: Sequence[Couple], settings: Settings, *, is_whole: bool
) -> list[RankJob]:
    steps = [target.step or 0 for target, _ in couples]
    return [
        RankJob(
            target,
            golden,
            pair.target_root,
            pair.golden_root,
            pair.declared,
            settings.criteria,
            settings.pair_calls,
            settings.precision_map,
            is_whole=is_whole,
            is_trained=step > min(steps),
            second_read=settings.second_read,
            sample=settings.sample,
            where_needed=settings.where_needed,
            cache=settings.cache if settings.cluster is None else None,
        )
        for (target, golden), step in zip(couples, steps, strict=True)
    ]


def sides_by_workers(
    pair: CapturePair,
    couples: Sequence[Couple],
    members: Sequence[Artifact],
    settings: Settings,
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
) -> dict[Path, LiveRank]:
    """The dumps of all ranks by path, where it is not known as yet which are compared with which.

    One that cannot be read is missing: whoever asks for it is told why. Cancelled, ClusterGone.
    """
    artifacts = list(dict.fromkeys([*(one for couple in couples for one in couple), *members]))
    golden = {one.path for _, one in couples} | {one.path for one in members if one.side == "golden"}
    jobs = [
        SideJob(one, pair.root_of("golden" if one.path in golden else "target"), pair.declared)
        for one in artifacts
    ]
    read: dict[Path, LiveRank] = {}
    with open_executor(settings.jobs or None, settings.cluster) as executor:
        for n, (place, found) in enumerate(
            results_as_known(executor, read_side, jobs, is_cancelled=is_cancelled), 1
        ):
            if isinstance(found, Dump):
                read[artifacts[place].path] = LiveRank(found)
            progress(Progress("read", n, len(jobs), "ranks"))
    return read


def _gone_problem(error: ClusterGone, pair: CapturePair, missing: dict[int, Couple], n: int) -> Problem:
    names = [target.relative for target, _ in missing.values()]
    shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    message = f"{error.message}; {len(names)} of {n} ranks were not compared: {shown}"
    return Problem(pair.target_name or str(pair.target_root), error.kind, message, hint=error.hint)


def tensors_lost(
    error: ClusterGone, pair: CapturePair, n_lost: int, n: int, *, is_closer: bool = False
) -> Problem:
    """What was not read where the cluster went away while it had tensors of a rank."""
    what = "looked at closer" if is_closer else "compared"
    message = f"{error.message}; {n_lost:,} of {n:,} tensor pairs were not {what}"
    return Problem(pair.target_name or str(pair.target_root), error.kind, message, hint=error.hint)
