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
from npulse.core.errors import InputError
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
from npulse.core.scale import open_executor

from . import remember
from .by_hand.apply import hand_problems
from .by_hand.mapping import mapping_problems
from .captured import Loaded, PairCalls, jobs_of, load, stacks_beside, unread_bytes
from .collectives import Walk, carry_through_collectives
from .comparison import AS_USUAL
from .comparison import Comparison as Comparison
from .comparison import RankComparison as RankComparison
from .comparison import Settings as Settings
from .jobs import Jobs
from .jobs import tensor_jobs as tensor_jobs
from .last import Last
from .links import link, share_measurements
from .mixed.judge_by import judge_by
from .origins.narrow import narrow_non_finite
from .own.beside import check_beside
from .plugged import measured_by_plugins
from .reads import Unexamined, first_read, second_read
from .resume import Resumed
from .role_records import UNKNOWN_ROLE
from .roles import all_well, assign_roles, is_all_well
from .rows import tensor_rows as tensor_rows
from .settle import settle_statistics, settle_tensors
from .splits.blame import innocent
from .splits.even import unlike_groups
from .splits.group import RankGroup, groups_of
from .splits.ranks import regroup
from .splits.reorder import in_other_orders, is_order_wrong, take_back
from .steps import Steps
from .verdict import PASS, REASON, UNKNOWN

SMALL_BYTES = 64 << 20
"""Below this many tensor bytes starting worker processes costs more than it saves."""


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
    `on_update` gets the comparison after the first read (figures, verdicts, origins complete).
    A rank whose dump cannot be used, or that one side lacks, is a problem and the others are compared.
    Raises InputError where no rank can be, Cancelled on request.
    """
    if settings.sample:
        settings = replace(settings, second_read=False, cache=None, tails=None, measured=None)
    candidates = groups_of(pair, settings.ranks)
    # which ranks a rank is compared with is known when the dumps have been read
    asked = replace(settings, rank=None) if candidates else settings
    couples = [(t, g) for t, g in zip(pair.target, pair.golden, strict=True) if asked.is_asked(t)]
    if pair.target and not couples:
        raise _nothing_asked_for(pair, settings)
    members = [couple for group in candidates for couple in (group.target, group.golden)]
    dump_paths = list(dict.fromkeys(a.path for couple in (*couples, *members) for a in couple))
    cache = settings.cache if settings.tails is None else None
    last = Last.of(pair, couples, settings)
    again = None if last is None else last.as_now(pair, settings, progress, is_cancelled)
    if again is not None:
        return again
    as_read = remember.stamp(dump_paths) if cache else None
    problems: list[Problem] = []
    pair, loaded, couples, groups = _load_all(
        pair, couples, candidates, settings, problems, progress, is_cancelled
    )
    problems[:0] = without_counterpart(pair, settings, any(one.growth for one in loaded))
    sides = [(one.rows.target, one.rows.golden) for one in loaded]
    problems += mapping_problems(settings.mappings, sides)
    if not any(one.growth for one in loaded):  # else they may be still to come
        problems += hand_problems(settings.pair_calls, pair.target_name, sides)
    problems += dict.fromkeys(p for one in loaded for p in one.problems)  # ranks may share a golden dump
    told = settings.precision_map
    judged = tuple(judge_by(told, one.rows, one.tensors, one.construct) for one in loaded) if told else ()
    keeps = settings.tails is not None or settings.measured is not None
    all_jobs = [jobs_of(pair, one, is_followed=keeps) for one in loaded]
    n_bytes = sum(
        unread_bytes(one.tensors, one.known, jobs) for one, jobs in zip(loaded, all_jobs, strict=True)
    )
    with open_executor(1 if n_bytes < SMALL_BYTES else settings.jobs or None, settings.cluster) as executor:
        unexamined: list[Unexamined] = []
        steps = Steps("compare", all_jobs, progress)
        for place, (one, jobs) in enumerate(zip(loaded, all_jobs, strict=True)):
            part = _read_or_found(executor, one, jobs, settings, cache, problems, steps, is_cancelled)
            if part is not None:
                unexamined.append(part)
                loaded[place] = one.with_open(part.n_open)
            settle_statistics(one.rows, one.tensors, settings.criteria)
        stage = "first read" if unexamined else "complete"
        comparison = replace(_judge(pair, couples, loaded, settings, problems, stage), groups=groups)
        if unexamined and settings.second_read:
            if on_update is not None:
                on_update(comparison)
            closer = [part.jobs.picked(np.array(part.differing.numbers, np.int64)) for part in unexamined]
            steps = Steps("look closer", closer, progress)
            for part in unexamined:
                resumed = Resumed.begin(cache, part.key, part.jobs)
                with closing(resumed) if resumed is not None else nullcontext():
                    second_read(executor, part, resumed, steps, is_cancelled)
                    is_kept = True
                    is_changed = any(problem.kind == "changed" for problem in part.problems)
                    if cache and not is_changed and as_read == remember.stamp(dump_paths):
                        dumps = (part.rows.target, part.rows.golden)
                        is_kept = remember.save(cache, part.key, part.rows, part.jobs, dumps, part.problems)
                    if resumed is not None and is_kept:
                        resumed.remove()
    done = replace(comparison, stage="complete", judged=judged)
    if settings.sample:
        _unsure_of_samples(done)
    if settings.second_read and not done.is_growing:
        done = _with_own(done, progress, is_cancelled)
    if settings.tails is not None and not groups:
        Last.keep(pair, couples, settings, done, loaded, all_jobs)
    elif settings.metrics and settings.tails is None:
        if on_update is not None and metrics(is_cancelled)[0]:
            on_update(replace(done, stage="first read"))  # more figures are to come
        parts = [(one.rows.n_rows, jobs) for one, jobs in zip(loaded, all_jobs, strict=True)]
        plugged, wrong = measured_by_plugins(parts, progress, is_cancelled)
        done = replace(done, plugged=plugged, problems=(*done.problems, *wrong))
    return done


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


def _unsure_of_samples(comparison: Comparison) -> None:
    """What agrees as far as it was read is unknown; after the roles, which are told by what was read."""
    for rank in comparison.ranks:
        sampled = rank.rows.sampled() & (rank.rows.verdict == PASS)
        rank.rows.verdict[sampled], rank.rows.reason[sampled] = UNKNOWN, REASON["sampled"]


_Couple = tuple[Artifact, Artifact]


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
    problems: list[Problem],
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
) -> tuple[CapturePair, list[Loaded], list[_Couple], tuple[RankGroup, ...]]:
    """What can be read, and its couples; the rest goes to `problems`. InputError if none can.

    Where the numbers of ranks differ and shapes say why, the couples are those of the groups.
    """
    read: dict[Path, LiveRank] = {}
    is_kept = bool(candidates)

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

    loaded: list[Loaded] = []
    readable: list[_Couple] = []
    first: InputError | None = None
    for done, (target, golden) in enumerate(couples):
        progress(Progress("read", done, len(couples), "ranks"))
        try:
            loaded.append(load_one(target, golden, settings.pair_calls))
            readable.append((target, golden))
        except InputError as error:
            first = first or error
            problems.append(_problem_of(pair, error, target))
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


def _problem_of(pair: CapturePair, error: InputError, artifact: Artifact) -> Problem:
    where = pair.relative(Path(error.path)) if error.path else artifact.relative
    return Problem.from_error(error, where)


def _judge(
    pair: CapturePair,
    couples: Sequence[tuple[Artifact, Artifact]],
    loaded: Sequence[Loaded],
    settings: Settings,
    problems: list[Problem],
    stage: str,
) -> Comparison:
    ranks: list[RankComparison] = []
    walks: list[Walk] = []
    differing_steps: set[int] = set()
    for (target, _), one in zip(couples, loaded, strict=True):
        rows, construct = one.rows, one.construct
        step = target.step or 0
        is_later = any(other < step for other in differing_steps)
        is_trained = any((other.step or 0) < step for other, _ in couples)
        if is_all_well(rows):
            walk: Walk = partial(all_well, rows)
        else:
            links = link(rows)
            share_measurements(rows, links)
            walk = partial(
                assign_roles, rows, links, construct, is_later_step=is_later, is_trained=is_trained
            )
        walks.append(walk)
        roles = walk(frozenset())
        if rows.unordered and is_order_wrong(rows, roles):
            take_back(rows, one.tensors, settings.criteria)
            roles = walk(frozenset())
        if roles.origins or (roles.call == UNKNOWN_ROLE).any():
            differing_steps.add(step)
        ranks.append(
            RankComparison(
                target.rank,
                target.step,
                rows.target,
                rows.golden,
                rows,
                roles,
                construct,
                growth=one.growth,
            )
        )
    walked = carry_through_collectives(ranks, walks)
    others = innocent(walked)
    if any(others):
        walked = carry_through_collectives(ranks, walks, others)
    told = tuple(
        replace(rank, stacks=stacks_beside(pair, one.sides[0], settings.tails, problems))
        if rank.roles.origins
        else rank
        for rank, one in zip(narrow_non_finite(walked), loaded, strict=True)
    )
    return Comparison(pair, told, settings.criteria, tuple(problems), stage)
