"""Two captures in, one `Comparison` out: reads the dumps, measures the tensors, judges, finds the origins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import closing, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from npulse.core.cache import Cache
from npulse.core.calls.live import LiveRank
from npulse.core.errors import InputError, NpulseError
from npulse.core.findings import Problem
from npulse.core.plugins.metrics import metrics
from npulse.core.progress import (
    IsCancelled,
    Progress,
    ProgressCallback,
    ignore_progress,
    never_cancelled,
)
from npulse.core.run.model import Artifact
from npulse.core.run.sides import CapturePair
from npulse.core.scale import ClusterGone, SoFar, open_executor

from .by_hand.apply import hand_problems
from .by_hand.mapping import mapping_problems
from .captured import Loaded, PairCalls, jobs_of, load, unread_bytes
from .comparison import AS_USUAL
from .comparison import Comparison as Comparison
from .comparison import RankComparison as RankComparison
from .comparison import Settings as Settings
from .judge import judge, unsure_of_samples
from .last import Last
from .many.hand_out import (
    Ranks,
    loaded_by_workers,
    sides_by_workers,
    tensors_lost,
    worth_handing_out,
)
from .many.so_far import tell_ranks
from .many.work import RankDone
from .own.beside import check_beside
from .plugged import measured_by_plugins
from .reading import remember
from .reading.jobs import Jobs
from .reading.jobs import tensor_jobs as tensor_jobs
from .reading.needed import where_needed
from .reading.reads import Unexamined, first_read, give_up, second_read
from .reading.resume import Resumed
from .rows import BY_STATISTICS
from .rows import tensor_rows as tensor_rows
from .settle import settle_statistics, settle_tensors
from .splits.even import unlike_groups
from .splits.group import RankGroup, groups_of
from .splits.ranks import regroup
from .splits.reorder import in_other_orders
from .steps import Steps

SMALL_BYTES = 64 << 20
"""Below this many tensor bytes starting worker processes costs more than it saves."""


_Couple = tuple[Artifact, Artifact]


def compare_captures(
    pair: CapturePair,
    settings: Settings = AS_USUAL,
    *,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
    on_update: Callable[[Comparison], None] | None = None,
) -> Comparison:
    """Compare every rank and step of a pair.

    Each tensor byte is read once; tensors that differ are read a second time for places, ulps and pattern.
    `on_update` gets the comparison after the first read (figures, verdicts, origins complete); where workers
    have a rank each, before that what is known of those that have come back.
    A rank whose dump cannot be used, or that one side lacks, is a problem and the others are compared.
    Raises InputError where no rank can be, Cancelled on request.
    """
    pair = _in_order(pair)
    if settings.sample:
        settings = replace(settings, second_read=False, cache=None, tails=None, measured=None)
    if settings.tails is not None or settings.measured is not None:
        settings = replace(settings, where_needed=False)
    candidates = groups_of(pair, settings.ranks)
    # which ranks a rank is compared with is known when the dumps have been read
    asked = replace(settings, rank=None) if candidates else settings
    couples = [(t, g) for t, g in zip(pair.target, pair.golden, strict=True) if asked.is_asked(t)]
    if pair.target and not couples:
        raise _nothing_asked_for(pair, settings)
    members = [couple for group in candidates for couple in (group.target, group.golden)]
    dump_paths = list(dict.fromkeys(a.path for couple in (*couples, *members) for a in couple))
    # what workers elsewhere read need not be what this host has under the same names
    cache = settings.cache if settings.tails is None and settings.cluster is None else None
    last = Last.of(pair, couples, settings)
    again = None if last is None else last.as_now(pair, settings, progress, is_cancelled)
    if again is not None:
        return again
    as_read = remember.stamp(dump_paths) if cache else None
    problems: list[Problem] = []
    ranks = Ranks()
    so_far: SoFar[RankDone] | None = None
    if on_update is not None:
        so_far = SoFar(len(couples), partial(tell_ranks, pair, couples, settings, on_update))
    pair, loaded, couples, groups = _load_all(
        pair, couples, candidates, settings, ranks, so_far, problems, progress, is_cancelled
    )
    problems[:0] = without_counterpart(pair, settings, any(one.growth for one in loaded))
    sides = [(one.rows.target, one.rows.golden) for one in loaded]
    problems += mapping_problems(settings.mappings, sides)
    if not any(one.growth for one in loaded):  # else they may be still to come
        problems += hand_problems(settings.pair_calls, pair.target_name, sides)
    problems += dict.fromkeys(p for one in loaded for p in one.problems)  # ranks may share a golden dump
    problems += ranks.problems
    told = settings.precision_map
    judged = tuple(ranks.judged(told, one) for one in loaded) if told else ()
    keeps = settings.tails is not None or settings.measured is not None
    all_jobs = [jobs_of(pair, one, is_followed=keeps) for one in loaded]
    if settings.where_needed:
        all_jobs = [
            where_needed(one.rows, one.tensors, jobs, settings.criteria) if ranks.of(one) is None else jobs
            for one, jobs in zip(loaded, all_jobs, strict=True)
        ]
    unread = [(one, jobs) for one, jobs in zip(loaded, all_jobs, strict=True) if ranks.of(one) is None]
    n_bytes = sum(unread_bytes(one.tensors, one.known, jobs) for one, jobs in unread)
    cluster = settings.cluster if ranks.gone is None and any(len(jobs) for _, jobs in unread) else None
    with open_executor(1 if n_bytes < SMALL_BYTES else settings.jobs or None, cluster) as executor:
        unexamined: list[Unexamined] = []
        gone: ClusterGone | None = None
        n_lost = 0
        steps = Steps("compare", [jobs for _, jobs in unread], progress)
        for place, (one, jobs) in enumerate(zip(loaded, all_jobs, strict=True)):
            if (done_there := ranks.of(one)) is not None:
                problems += done_there.unread
                continue
            part = None
            try:
                if gone is None:
                    part = _read_or_found(executor, one, jobs, settings, cache, problems, steps, is_cancelled)
            except ClusterGone as error:
                gone = error
            if gone is not None:
                n_lost += give_up(one, jobs, settings)
            if part is not None:
                unexamined.append(part)
                loaded[place] = one.with_open(part.n_open)
            settle_statistics(one.rows, one.tensors, settings.criteria)
        if gone is not None:
            n = sum(len(jobs) for _, jobs in unread)
            if n_lost == n:
                raise gone
            problems.append(tensors_lost(gone, pair, n_lost, n))
        stage = "first read" if unexamined else "complete"
        comparison = judge(pair, couples, loaded, settings, ranks, problems, stage)
        comparison = replace(comparison, groups=groups)
        if unexamined and settings.second_read and gone is None:
            if on_update is not None:
                on_update(comparison)
            closer = [part.jobs.picked(np.array(part.differing.numbers, np.int64)) for part in unexamined]
            steps = Steps("look closer", closer, progress)
            try:
                for part in unexamined:
                    _second_read_kept(executor, part, cache, as_read, dump_paths, steps, is_cancelled)
            except ClusterGone as error:
                n = sum(map(len, closer))
                n_lost = n - sum(len(one.rows.examinations) for one in loaded)
                problems.append(tensors_lost(error, pair, n_lost, n, is_closer=True))
                comparison = replace(comparison, problems=tuple(problems))
    done = replace(comparison, stage="complete", judged=judged)
    if settings.sample:
        unsure_of_samples(done)
    if settings.second_read and not done.is_growing:
        done = _with_own(done, progress, is_cancelled)
    if settings.tails is not None and not groups:
        Last.keep(pair, couples, settings, done, loaded, all_jobs)
    elif settings.metrics and settings.tails is None:
        if on_update is not None and metrics(is_cancelled)[0]:
            on_update(replace(done, stage="first read"))  # more figures are to come
        parts = [
            (one.rows.n_rows, jobs.picked(np.flatnonzero(one.rows.basis[jobs.rows] != BY_STATISTICS)))
            for one, jobs in zip(loaded, all_jobs, strict=True)
        ]
        plugged, wrong = measured_by_plugins(parts, progress, is_cancelled)
        done = replace(done, plugged=plugged, problems=(*done.problems, *wrong))
    return done


def _in_order(pair: CapturePair) -> CapturePair:
    """Steps before later ones, ranks by their numbers: how they were listed says nothing."""

    def place(couple: _Couple) -> tuple[int, int, str]:
        step, rank = couple[0].step, couple[0].rank
        return (-1 if step is None else step, -1 if rank is None else rank, couple[0].relative)

    couples = sorted(zip(pair.target, pair.golden, strict=True), key=place)
    return replace(pair, target=tuple(t for t, _ in couples), golden=tuple(g for _, g in couples))


def _with_own(done: Comparison, progress: ProgressCallback, is_cancelled: IsCancelled) -> Comparison:
    """With what the target says of itself."""
    own = check_beside(done.pair, done.ranks, progress, is_cancelled)
    new = (problem for problem in own.problems if problem not in done.problems)
    return replace(done, own=own, problems=(*done.problems, *new))


def _read_or_found(
    executor: Executor,
    one: Loaded,
    jobs: Jobs,
    settings: Settings,
    cache: Cache | None,
    problems: list[Problem],
    steps: Steps,
    is_cancelled: IsCancelled,
) -> Unexamined | None:
    """The first read of a rank, and what the second one has to look at; None where both were found in the
    cache. What cannot be read goes to `problems`."""
    rows, tensors = one.rows, one.tensors
    key = remember.key(jobs, (rows.target, rows.golden)) if cache else None
    kept = remember.load(cache, key, jobs) if cache and key else None
    known = remember.restore(rows, jobs, kept) if kept is not None else None
    if known is not None:
        problems += known
        settle_tensors(rows, tensors, settings.criteria)
        steps.without(jobs)
        return None
    resumed = Resumed.begin(cache, key, jobs)
    with closing(resumed) if resumed is not None else nullcontext():
        found, differing, n_open = first_read(executor, one, jobs, settings, resumed, steps, is_cancelled)
    problems += found
    if settings.tails is None:
        in_other_orders(rows, tensors, differing, settings.criteria)
    # what was compared in another order is found again: a kept figure would not tell the order
    key = None if rows.unordered else key
    return Unexamined(rows, jobs, differing, found, key, one.known, n_open)


def read_tensors(
    executor: Executor, one: Loaded, jobs: Jobs, settings: Settings, as_read: str | None
) -> list[Problem]:
    """Both reads of one rank-step at once; returns what could not be read. as_read: `remember.stamp` of its
    dumps before they were read, where results are kept."""
    problems: list[Problem] = []
    cache = settings.cache
    steps = Steps("compare", [jobs], ignore_progress)
    part = _read_or_found(executor, one, jobs, settings, cache, problems, steps, never_cancelled)
    if part is not None and settings.second_read:
        dump_paths = [dump.path for dump in (part.rows.target, part.rows.golden)]
        _second_read_kept(executor, part, cache, as_read, dump_paths, steps, never_cancelled)
    return problems


def _second_read_kept(
    executor: Executor,
    part: Unexamined,
    cache: Cache | None,
    as_read: str | None,
    dump_paths: Sequence[Path],
    steps: Steps,
    is_cancelled: IsCancelled,
) -> None:
    """The second read of a rank; the whole is kept if its dumps are still what they were."""
    resumed = Resumed.begin(cache, part.key, part.jobs)
    with closing(resumed) if resumed is not None else nullcontext():
        second_read(executor, part, resumed, steps, is_cancelled)
        is_kept = True
        is_passing = any(problem.kind == "changed" or problem.is_passing for problem in part.problems)
        if cache and not is_passing and as_read == remember.stamp(dump_paths):
            dumps = (part.rows.target, part.rows.golden)
            is_kept = remember.save(cache, part.key, part.rows, part.jobs, dumps, part.problems)
        if resumed is not None and is_kept:
            resumed.remove()


def _nothing_asked_for(pair: CapturePair, settings: Settings) -> InputError:
    asked = [f"{name} {n}" for name, n in (("rank", settings.rank), ("step", settings.step)) if n is not None]
    if settings.steps:
        asked.append("step " + "|".join(f"{a}-{b}" if a != b else str(a) for a, b in settings.steps))
    known = [f"step {a.step} rank {a.rank}" for a in pair.target[:8]]
    hint = f"both captures have {', '.join(known)}" + (", ..." if len(pair.target) > 8 else "")
    return InputError(f"no {' of '.join(asked)} in both captures", path=pair.target_root, hint=hint)


def without_counterpart(pair: CapturePair, settings: Settings, is_growing: bool) -> list[Problem]:
    """Rank-steps that were asked for and that one side alone has: nothing can be said of them.

    While a capture runs the next ones are still to come.
    """
    if is_growing:
        return []
    return [
        Problem(
            a.relative,
            "missing",
            f"only the {a.side} side has this rank and step",
            hint="capture the same ranks and steps on both sides",
        )
        for a in pair.unmatched
        if settings.is_asked(a)
    ]


def _load_all(
    pair: CapturePair,
    couples: Sequence[_Couple],
    candidates: Sequence[RankGroup],
    settings: Settings,
    ranks: Ranks,
    so_far: SoFar[RankDone] | None,
    problems: list[Problem],
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
) -> tuple[CapturePair, list[Loaded], list[_Couple], tuple[RankGroup, ...]]:
    """What can be read, and its couples; the rest goes to `problems`. InputError if none can.

    Where there is much to read workers do it, and `ranks` holds what else they did.
    Where the numbers of ranks differ and shapes say why, the couples are those of the groups.
    """
    members = [artifact for group in candidates for artifact in (*group.target, *group.golden)]
    is_handed_out = worth_handing_out([*(a for couple in couples for a in couple), *members], settings)
    read: dict[Path, LiveRank] = {}
    is_kept = bool(candidates)
    if is_handed_out and is_kept:
        read = sides_by_workers(pair, couples, members, settings, progress, is_cancelled)

    def load_one(target: Artifact, golden: Artifact, pair_calls: PairCalls) -> Loaded:
        return load(
            pair,
            target,
            golden,
            pair_calls=pair_calls,
            criteria=settings.criteria,
            tails=settings.tails,
            progress=progress,
            is_cancelled=is_cancelled,
            read=read if is_kept else None,
            measured=settings.measured,
        )

    def load_here(couple: _Couple) -> Loaded | NpulseError:
        try:
            return load_one(*couple, settings.pair_calls)
        except InputError as error:
            return error

    found_of: dict[int, Loaded | NpulseError] = {}
    if is_handed_out and not is_kept:
        found_of.update(loaded_by_workers(pair, couples, settings, ranks, so_far, progress, is_cancelled))
    else:
        for place, couple in enumerate(couples):
            progress(Progress("read", place, len(couples), "ranks"))
            found_of[place] = load_here(couple)
    loaded: list[Loaded] = []
    readable: list[_Couple] = []
    first: NpulseError | None = None
    for place in sorted(found_of):  # whoever was first to be known
        one = found_of[place]
        if isinstance(one, Loaded):
            loaded.append(one)
            readable.append(couples[place])
        else:
            first = first or one
            problems.append(_problem_of(pair, one, couples[place][0]))
    if first is not None and not loaded:
        raise first
    if not candidates:
        candidates, is_kept = unlike_groups(pair, readable, loaded), True
        read.update(
            (a.path, side) for one in loaded for a, side in zip(one.artifacts, one.sides, strict=True)
        )
    if not candidates:
        return pair, loaded, readable, ()
    try:
        found = regroup(pair, readable, loaded, candidates, load_one, settings.pair_calls)
    except InputError as error:  # a rank of a group cannot be read: the others are compared as they are
        problems.append(_problem_of(pair, error, readable[0][0]))
        return pair, loaded, readable, ()
    problems += found.problems
    asked = [place for place, (t, _) in enumerate(found.couples) if settings.rank in (None, t.rank)]
    if not asked:
        raise _nothing_asked_for(found.pair, settings)
    return (
        found.pair,
        [found.loaded[place] for place in asked],
        [found.couples[place] for place in asked],
        found.groups,
    )


def _problem_of(pair: CapturePair, error: NpulseError, artifact: Artifact) -> Problem:
    where = pair.relative(Path(error.path)) if error.path else artifact.relative
    return Problem.from_error(error, where)
