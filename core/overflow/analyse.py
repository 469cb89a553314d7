"""The analysis of a round: every rank read, looked through, followed across ranks and steps."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from npulse.core.calls.captures import read_capture
from npulse.core.calls.live import KnownTensors, LiveRank, read_beside, read_live_rank
from npulse.core.calls.meetings import meetings_of
from npulse.core.calls.rank import hierarchy_of, stacks_of
from npulse.core.errors import InputError, NpulseError
from npulse.core.files import shown_path
from npulse.core.findings import CLUSTER_GONE, Problem
from npulse.core.formats.msprobe.records import Construct, Stacks
from npulse.core.progress import (
    IsCancelled,
    Progress,
    ProgressCallback,
    check,
    ignore_progress,
    never_cancelled,
)
from npulse.core.run.captures import LIVE_KINDS
from npulse.core.run.model import Artifact, Run
from npulse.core.run.sides import Declared
from npulse.core.scale import ClusterGone, open_executor

from .context import Context, read_context
from .criteria import Settings
from .gradients import Gradients, read_gradients
from .graph import GraphPart, read_graph
from .hand_out import RankDone, TellDone, looked_through_by_workers, worth_handing_out
from .health import contradictions, from_statistics
from .last import Last, key_of, may_be_kept
from .norms import Growth, LayerSlope, jumps, norms_of_dumps, slopes
from .places import Places
from .ranks import Place, RankOverflow, follow_collectives
from .roles import Origin, Roles
from .steps import CausedBy, follow_steps
from .tensors import (
    MAX_PLACED_CALLS,
    SMALL_BYTES,
    job_bytes,
    known_tensors,
    look_closer_at,
    scan_all,
    scan_jobs,
)
from .walk import walk
from .work import ScanJob, Scanned


@dataclass(frozen=True, slots=True)
class Overflow:
    """All that was found. stage: "ranks" while workers have n_awaited of them, "statistics" while tensor
    files are still to be read, then "complete".

    places: where bad elements lie, by (place of the rank, leaf row). caused_by: see `steps.follow_steps`.
    growth, slopes: of the gradients in the dumps; those of the monitor's files are in `gradients`.
    """

    root: Path
    ranks: tuple[RankOverflow, ...]
    graph: tuple[GraphPart, ...]
    gradients: Gradients | None
    growth: tuple[Growth, ...]
    slopes: tuple[LayerSlope, ...]
    context: Context
    settings: Settings
    artifacts: tuple[Artifact, ...]
    problems: tuple[Problem, ...]
    stage: str = "complete"
    places: dict[tuple[int, int], Places] = field(default_factory=dict)
    caused_by: CausedBy = field(default_factory=dict)
    n_awaited: int = 0

    @property
    def looked_through(self) -> tuple[RankOverflow, ...]:
        """Rank-steps of captures, and operators of graph-mode dumps in the same form."""
        return (*self.ranks, *(part.rank for part in self.graph))

    @property
    def is_growing(self) -> bool:
        """Whether something that was looked at is still being written, so that all that is told is so far."""
        graph = any(part.is_growing for part in self.graph)
        ranks = any(rank.live is not None and rank.live.is_growing for rank in self.ranks)
        return ranks or graph or (self.gradients is not None and self.gradients.is_growing)

    def relative(self, path: Path) -> str:
        return shown_path(path, self.root)

    def origins(self) -> list[tuple[int, Origin]]:
        """(place, origin) of all, in the order in which they happened: step, meetings before, rank, call."""
        ranks = self.looked_through
        found = [(place, origin) for place, rank in enumerate(ranks) for origin in rank.roles.origins]

        def when(one: tuple[int, Origin]) -> tuple[int, int, int, int, int]:
            place, origin = one
            rank = ranks[place]
            is_early = origin.cause in ("inputs-unknown", "first-seen", "peer")
            return (rank.step or 0, rank.time_of(origin.call), int(is_early), origin.call, place)

        return sorted(found, key=when)


OnUpdate = Callable[[Overflow], None]


def analyse(
    run: Run,
    captures: Sequence[tuple[str, Sequence[Artifact]]],
    others: Sequence[Artifact],
    settings: Settings,
    *,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
    on_update: OnUpdate | None = None,
) -> Overflow:
    """Look through the captures (name, rank-steps) and the other artifacts of one round.

    on_update gets what the statistics tell, before tensor files are read; where workers have a rank each,
    what is known of those that have come back. A rank that cannot be read is a Problem and the others are
    looked at; InputError where nothing can be.
    """
    if settings.tails is None:
        return _analyse(run, captures, others, settings, [], progress, is_cancelled, on_update)
    name = ("overflow", run.path, tuple(name for name, _ in captures))
    key = key_of(captures, others, settings)
    last: Last | None = settings.tails.kept.get(name)
    again = None if last is None else last.as_now(key, settings, progress, is_cancelled)
    if again is not None:
        return again
    tensors: list[tuple[KnownTensors[ScanJob], Sequence[ScanJob]]] = []
    found = _analyse(run, captures, others, settings, tensors, progress, is_cancelled, on_update)
    settings.tails.kept.pop(name, None)
    if may_be_kept(found, len(_wanted(captures, settings))):
        settings.tails.kept[name] = Last(key, found, tensors)
    return found


def _analyse(
    run: Run,
    captures: Sequence[tuple[str, Sequence[Artifact]]],
    others: Sequence[Artifact],
    settings: Settings,
    tensors: list[tuple[KnownTensors[ScanJob], Sequence[ScanJob]]],
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
    on_update: OnUpdate | None,
) -> Overflow:
    """tensors: gets what is known of those of each rank-step."""
    root = run.path if os.path.isdir(run.path) else run.path.parent
    problems: list[Problem] = []
    there: dict[Path, dict[int, Scanned]] = {}
    tell = None if on_update is None else partial(_tell_ranks, root, captures, settings, on_update)
    ranks, first = _load(root, captures, settings, there, problems, tell, progress, is_cancelled)
    graph = read_graph(root, others, settings, problems, progress, is_cancelled)
    gradients = read_gradients(root, others, settings, problems, is_cancelled)
    if first is not None and not (ranks or graph or gradients):
        raise first
    norms = list(norms_of_dumps(ranks))
    artifacts = tuple(artifact for _, members in captures for artifact in members)
    found = Overflow(
        root=root,
        ranks=tuple(ranks),
        graph=graph,
        gradients=gradients,
        growth=jumps(norms, settings.criteria.gradient_growth_ratio),
        slopes=slopes(norms),
        context=read_context(root, others, ranks, settings, problems),
        settings=settings,
        artifacts=(*artifacts, *others),
        problems=tuple(problems),
    )
    jobs = [scan_jobs(rank) for rank in ranks] if settings.read_tensors else []
    if not any(jobs):
        return _followed(found, {})
    if on_update is not None:
        copies = tuple(replace(rank, health=rank.health.copy(), roles=_walked(rank)) for rank in ranks)
        on_update(replace(_followed(replace(found, ranks=copies), {}), stage="statistics"))
    known = [known_tensors(rank, of_rank, settings) for rank, of_rank in zip(ranks, jobs, strict=True)]
    tensors += zip(known, jobs, strict=True)
    scan = ("scan", settings.criteria.near_ratio)
    n_bytes = sum(
        job_bytes(job)
        for rank, of_rank, kept in zip(ranks, jobs, known, strict=True)
        for job in of_rank
        if rank.dump.path not in there and kept.get(scan, job) is None
    )
    is_gone = any(problem.kind == CLUSTER_GONE for problem in problems)
    cluster = None if is_gone else settings.cluster
    with open_executor(1 if n_bytes < SMALL_BYTES else settings.jobs or None, cluster) as executor:
        gone: ClusterGone | None = None
        for place, (of_rank, kept) in enumerate(zip(jobs, known, strict=True)):
            if gone is not None:
                break
            seen = there.get(ranks[place].dump.path, {})
            try:
                found_here, n_open = scan_all(
                    executor, ranks[place], of_rank, kept, settings, progress, is_cancelled, seen
                )
            except ClusterGone as error:
                gone = error
                continue
            problems += found_here
            ranks[place] = replace(ranks[place], n_open=n_open)
        again = tuple(replace(rank, roles=_walked(rank)) for rank in ranks)
        places: dict[tuple[int, int], Places] = {}
        try:
            if gone is None:
                places = look_closer_at(executor, again, known, progress, is_cancelled)
        except ClusterGone as error:
            gone = error
        if gone is not None:  # what is recorded of the others still speaks
            message = f"{gone.message}; not all tensors were read"
            problems.append(Problem(root.name, gone.kind, message, hint=gone.hint))
    return _followed(replace(found, ranks=again, problems=tuple(problems)), places)


def _load(
    root: Path,
    captures: Sequence[tuple[str, Sequence[Artifact]]],
    settings: Settings,
    there: dict[Path, dict[int, Scanned]],
    problems: list[Problem],
    tell: TellDone | None,
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
) -> tuple[list[RankOverflow], NpulseError | None]:
    """Rank-steps as their statistics tell them; the rest goes to `problems`, with the first error.

    there: gets what workers that read them have scanned as well, by the dump's path.
    """
    ranks: list[RankOverflow] = []
    first: NpulseError | None = None
    wanted = _wanted(captures, settings)
    if worth_handing_out(wanted, settings):
        found = looked_through_by_workers(root, wanted, settings, tell, progress, is_cancelled)
        for one, artifact in found.ranks:
            if isinstance(one, RankDone):
                problems += one.problems
                ranks.append(one.rank)
                if one.scanned is not None:
                    there[one.rank.dump.path] = one.scanned
            else:
                first = first or one
                problems.append(Problem.from_error(one, artifact.relative))
        problems += [found.gone] if found.gone is not None else []
        return ranks, first
    for done, (name, artifact) in enumerate(wanted):
        check(is_cancelled)
        progress(Progress("read", done, len(wanted), "ranks"))
        try:
            if settings.tails is None or artifact.kind not in LIVE_KINDS:
                live = LiveRank(read_capture(artifact, root, Declared(), progress, is_cancelled))
            else:
                live = read_live_rank(artifact.path, root, settings.tails, progress, is_cancelled)
        except InputError as error:
            first = first or error
            problems.append(Problem.from_error(error, artifact.relative))
            continue
        problems += live.dump.problems
        ranks.append(look_through(artifact, name, root, live, settings, problems))
    return ranks, first


def _tell_ranks(
    root: Path,
    captures: Sequence[tuple[str, Sequence[Artifact]]],
    settings: Settings,
    on_update: OnUpdate,
    done: Mapping[int, RankDone],
) -> None:
    """Give `on_update` what the ranks say that workers are done with; on copies: the end takes them too."""
    copies = []
    for one in done.values():
        health = one.rank.health.copy()
        for row, seen in (one.scanned or {}).items():
            if seen.scan is not None:
                health.put(row, seen.scan)
        own = replace(one.rank, health=health, carriers={}, clock={})
        copies.append(replace(own, roles=_walked(own)))
    ranks = follow_collectives(copies)
    artifacts = tuple(artifact for _, members in captures for artifact in members)
    on_update(
        Overflow(
            root=root,
            ranks=tuple(ranks),
            graph=(),
            gradients=None,
            growth=(),
            slopes=(),
            context=Context(saturation=settings.saturation),
            settings=settings,
            artifacts=artifacts,
            problems=tuple(problem for one in done.values() for problem in one.problems),
            stage="ranks",
            caused_by=follow_steps(ranks),
            n_awaited=len(_wanted(captures, settings)) - len(ranks),
        )
    )


def _wanted(
    captures: Sequence[tuple[str, Sequence[Artifact]]], settings: Settings
) -> list[tuple[str, Artifact]]:
    return [
        (name, artifact)
        for name, members in captures
        for artifact in members
        if settings.rank in (None, artifact.rank) and settings.step in (None, artifact.step)
    ]


def look_through(
    artifact: Artifact, capture: str, root: Path, live: LiveRank, settings: Settings, problems: list[Problem]
) -> RankOverflow:
    """One rank-step as its statistics tell it."""
    dump, tails = live.dump, settings.tails
    relative = partial(shown_path, root=root)
    health = from_statistics(dump, settings.criteria.near_ratio)
    problems += contradictions(dump, health, relative(dump.path))

    def read(found: list[Problem]) -> Construct | None:
        return hierarchy_of(dump, root, found, relative)

    construct = None
    if dump.calls.names:
        construct = (
            read(problems) if tails is None else read_beside(live, "construct.json", tails, problems, read)
        )
    meetings = meetings_of(dump, artifact.rank)
    roles = walk(dump, health, construct, meetings)
    return RankOverflow(artifact, capture, root, dump, health, construct, meetings, roles, live=live)


def _walked(rank: RankOverflow) -> Roles:
    return walk(rank.dump, rank.health, rank.construct, rank.meetings)


def _followed(found: Overflow, places: dict[tuple[int, int], Places]) -> Overflow:
    """With origins followed across ranks and steps, and the call stacks of the ranks that have some."""
    ranks = follow_collectives(found.ranks)
    caused_by = follow_steps(ranks)
    problems = list(found.problems)
    told = tuple(_with_stacks(rank, found, problems) for rank in ranks)
    for number, part in enumerate(found.graph):
        places = places | {(len(told) + number, row): seen for row, seen in part.places.items()}
    return replace(found, ranks=told, places=places, caused_by=caused_by, problems=tuple(problems))


def _with_stacks(rank: RankOverflow, found: Overflow, problems: list[Problem]) -> RankOverflow:
    """With the stacks of the calls in which something begins: the whole file can be larger than the dump."""
    if not rank.roles.origins or rank.stacks is not None:
        return rank
    names = tuple(rank.name(origin.call) for origin in rank.roles.origins[:MAX_PLACED_CALLS])

    def read(told: list[Problem]) -> Stacks | None:
        return stacks_of(rank.dump, found.root, told, found.relative, only=names)

    tails, live = found.settings.tails, rank.live
    if tails is None or live is None:
        return replace(rank, stacks=read(problems))
    return replace(rank, stacks=read_beside(live, "stack.json", tails, problems, read, wanted=names))


def source_of(found: Overflow, place: int, call: int) -> Place | None:
    """The call in which the trouble of a bad call began, followed across ranks and steps; None if unknown."""
    ranks = found.looked_through
    seen: set[Place] = set()
    at: Place | None = (place, call)
    while at is not None and at not in seen:
        seen.add(at)
        rank = ranks[at[0]]
        cause = rank.roles.cause_of.get(at[1])
        if cause is None:
            return None
        here = (at[0], cause)
        if here[1] in rank.carriers:
            at = rank.carriers[here[1]]
        elif here in found.caused_by:
            at = found.caused_by[here]
        else:
            return here
    return None
