"""Two captures in, one `Comparison` out: reads the dumps, measures the tensors, judges, finds the origins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from npulse.core.cache import Cache
from npulse.core.calls.rank import hierarchy_of, read_rank, stacks_of
from npulse.core.errors import InputError
from npulse.core.findings import Problem
from npulse.core.formats.msprobe.records import Construct, Dump, Frame, Stacks
from npulse.core.formats.tensors import Dtype
from npulse.core.progress import (
    IsCancelled,
    Progress,
    ProgressCallback,
    ignore_progress,
    never_cancelled,
)
from npulse.core.run.model import Artifact
from npulse.core.run.sides import CapturePair
from npulse.core.scale import open_executor, ordered_results

from . import remember
from .collectives import Walk, carry_through_collectives
from .links import link, share_measurements
from .pairing import Pairing, pair_by_name
from .roles import UNKNOWN_ROLE, Roles, assign_roles
from .rows import Rows, TensorRows, new_rows, tensor_rows
from .settle import settle_statistics, settle_tensors, settle_values, store_examination, store_measured
from .totals import PairMetrics
from .verdict import Criteria
from .work import TensorJob, TensorSide, look_closer, measure

SMALL_BYTES = 64 << 20
"""Below this many tensor bytes starting worker processes costs more than it saves."""

PairCalls = Callable[[Dump, Dump], Pairing]


@dataclass(frozen=True, slots=True)
class RankComparison:
    """One rank and step of both captures, compared."""

    rank: int | None
    step: int | None
    target: Dump
    golden: Dump
    rows: Rows
    roles: Roles
    construct: Construct | None
    stacks: Stacks | None = None

    def frames_of(self, call: int) -> tuple[Frame, ...]:
        """Python call stack of a call of the sequence, innermost first; () where none is at hand."""
        name = self.rows.pairing.name(self.target, self.golden, call)
        return self.stacks.frames(name) if self.stacks is not None else ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """All ranks and steps of a capture pair. `stage`: "first read" done, or "complete" with the second."""

    pair: CapturePair
    ranks: tuple[RankComparison, ...]
    criteria: Criteria
    problems: tuple[Problem, ...]
    stage: str


@dataclass(frozen=True, slots=True)
class Settings:
    """How to compare. jobs: worker processes (0: as many as processors). cluster: a Dask scheduler."""

    criteria: Criteria = Criteria()
    pair_calls: PairCalls = pair_by_name
    jobs: int = 0
    cluster: str | None = None
    second_read: bool = True
    cache: Cache | None = None
    rank: int | None = None
    step: int | None = None


@dataclass(frozen=True, slots=True)
class _Unexamined:
    """A rank after its first read: what the second one still has to look at."""

    rows: Rows
    jobs: Sequence[TensorJob]
    differing: Sequence[tuple[TensorJob, PairMetrics]]
    problems: Sequence[Problem]
    key: str | None


def compare_captures(
    pair: CapturePair,
    settings: Settings = Settings(),
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
    couples = [
        (t, g)
        for t, g in zip(pair.target, pair.golden, strict=True)
        if settings.rank in (None, t.rank) and settings.step in (None, t.step)
    ]
    if pair.target and not couples:
        raise _nothing_asked_for(pair, settings)
    dump_paths = [artifact.path for couple in couples for artifact in couple]
    as_read = remember.stamp(dump_paths) if settings.cache else None
    problems = _without_counterpart(pair, settings)
    loaded, couples = _load_all(pair, couples, settings, problems, progress, is_cancelled)
    n_bytes = sum(_tensor_bytes(tensors) for _, tensors, _, _ in loaded)
    problems += [p for _, _, _, found in loaded for p in found]
    with open_executor(1 if n_bytes < SMALL_BYTES else settings.jobs or None, settings.cluster) as executor:
        unexamined: list[_Unexamined] = []
        for rows, tensors, _, _ in loaded:
            jobs = tensor_jobs(rows, tensors, pair.root_of("target"), pair.root_of("golden"))
            key = remember.key(jobs, (rows.target, rows.golden)) if settings.cache else None
            kept = remember.load(settings.cache, key, jobs) if settings.cache and key else None
            known = remember.restore(rows, jobs, kept) if kept is not None else None
            if known is not None:
                problems += known
                settle_tensors(rows, tensors, settings.criteria)
            else:
                found, differing = _first_read(
                    executor, rows, tensors, jobs, settings, progress, is_cancelled
                )
                problems += found
                unexamined.append(_Unexamined(rows, jobs, differing, found, key))
            settle_statistics(rows, tensors, settings.criteria)
        comparison = _judge(
            pair, couples, loaded, settings, problems, "first read" if unexamined else "complete"
        )
        if unexamined and settings.second_read:
            if on_update is not None:
                on_update(comparison)
            for part in unexamined:
                _second_read(executor, part.rows, part.differing, progress, is_cancelled)
                if settings.cache and as_read == remember.stamp(dump_paths):
                    dumps = (part.rows.target, part.rows.golden)
                    remember.save(settings.cache, part.key, part.rows, part.jobs, dumps, part.problems)
    return Comparison(pair, comparison.ranks, settings.criteria, comparison.problems, "complete")


_Loaded = tuple[Rows, TensorRows, Construct | None, list[Problem]]
_Couple = tuple[Artifact, Artifact]


def _nothing_asked_for(pair: CapturePair, settings: Settings) -> InputError:
    asked = [f"{name} {n}" for name, n in (("rank", settings.rank), ("step", settings.step)) if n is not None]
    known = [f"step {a.step} rank {a.rank}" for a in pair.target[:8]]
    hint = f"both captures have {', '.join(known)}" + (", ..." if len(pair.target) > 8 else "")
    return InputError(f"no {' of '.join(asked)} in both captures", path=pair.target_root, hint=hint)


def _without_counterpart(pair: CapturePair, settings: Settings) -> list[Problem]:
    """Rank-steps that were asked for and that one side alone has: nothing can be said of them."""
    return [
        Problem(
            a.relative,
            "missing",
            f"only the {a.side} side has this rank and step",
            hint="capture the same ranks and steps on both sides",
        )
        for a in pair.unmatched
        if settings.rank in (None, a.rank) and settings.step in (None, a.step)
    ]


def _load_all(
    pair: CapturePair,
    couples: Sequence[_Couple],
    settings: Settings,
    problems: list[Problem],
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
) -> tuple[list[_Loaded], list[_Couple]]:
    """What can be read, and its couples; the rest goes to `problems`. InputError if none can."""
    loaded: list[_Loaded] = []
    readable: list[_Couple] = []
    first: InputError | None = None
    for done, (target, golden) in enumerate(couples):
        progress(Progress("read", done, len(couples), "ranks"))
        try:
            loaded.append(_load(pair, target, golden, settings, progress, is_cancelled))
            readable.append((target, golden))
        except InputError as error:
            first = first or error
            problems.append(_problem_of(pair, error, target))
    if first is not None and not loaded:
        raise first
    return loaded, readable


def _problem_of(pair: CapturePair, error: InputError, artifact: Artifact) -> Problem:
    where = pair.relative(Path(error.path)) if error.path else artifact.relative
    return Problem.from_error(error, where)


def _load(
    pair: CapturePair,
    target: Artifact,
    golden: Artifact,
    settings: Settings,
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
) -> _Loaded:
    dumps = [
        read_rank(artifact.path, pair.root_of(side), progress, is_cancelled)
        for artifact, side in ((target, "target"), (golden, "golden"))
    ]
    problems = [problem for dump in dumps for problem in dump.problems]
    rows = new_rows(settings.pair_calls(dumps[0], dumps[1]), dumps[0], dumps[1])
    construct = _hierarchy(rows, pair, problems)
    tensors = tensor_rows(rows)
    settle_values(rows, settings.criteria)
    return rows, tensors, construct, problems


def _hierarchy(rows: Rows, pair: CapturePair, problems: list[Problem]) -> Construct | None:
    """The target's hierarchy, and what the golden one says of calls that the target does not have."""
    construct = hierarchy_of(rows.target, pair.target_root, problems, pair.relative)
    if not (rows.pairing.target_call < 0).any():
        return construct
    other = hierarchy_of(rows.golden, pair.golden_root, problems, pair.relative)
    if construct is None or other is None:
        return construct or other
    return replace(construct, parents={**other.parents, **construct.parents})


def _tensor_bytes(tensors: TensorRows) -> float:
    return float(np.nansum(tensors.n_elements[tensors.has_files]) * 4)


def tensor_jobs(rows: Rows, tensors: TensorRows, target_root: Path, golden_root: Path) -> list[TensorJob]:
    """One job for each row whose elements were captured on both sides, in execution order."""

    def side(dump: Dump, folder: Path, leaf: int, root: Path) -> TensorSide:
        t = dump.leaves
        dtype, shape = int(t.dtype[leaf]), int(t.shape[leaf])
        return TensorSide(
            folder,
            t.data_names[int(t.data_name[leaf])],
            root,
            t.dtypes[dtype] if dtype >= 0 else None,
            t.shapes[shape] if shape >= 0 else None,
        )

    of_target, of_golden = rows.target.tensor_dir, rows.golden.tensor_dir
    picked = np.flatnonzero(tensors.has_files & tensors.shape_equal & ~(tensors.n_elements == 0))
    return [
        TensorJob(
            int(tensors.index[i]),
            side(rows.target, of_target, int(tensors.target[i]), target_root),
            side(rows.golden, of_golden, int(tensors.golden[i]), golden_root),
        )
        for i in picked
    ]


def _first_read(
    executor: Executor,
    rows: Rows,
    tensors: TensorRows,
    jobs: Sequence[TensorJob],
    settings: Settings,
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
) -> tuple[list[Problem], list[tuple[TensorJob, PairMetrics]]]:
    problems: list[Problem] = []
    differing: list[tuple[TensorJob, PairMetrics]] = []

    def step(done: int) -> None:
        progress(Progress("compare", done, len(jobs), "tensors"))

    place_of_row = {int(row): place for place, row in enumerate(tensors.index)}
    results = ordered_results(executor, measure, jobs, is_cancelled=is_cancelled, on_done=step)
    for job, result in zip(jobs, results, strict=True):
        problems += result.problems
        store_measured(rows, result)
        if result.coarser is not None:
            _declare(tensors, place_of_row[job.row], result.coarser)
        if result.metrics is not None and _is_worth_a_second_look(result.metrics):
            differing.append((job, result.metrics))
    settle_tensors(rows, tensors, settings.criteria)
    return problems, differing


def _declare(tensors: TensorRows, place: int, dtype: Dtype) -> None:
    """Give a row without a declared dtype the one of its files (dumps rebuilt from file names)."""
    if tensors.unit_roundoff[place] == 0 and not tensors.is_exact[place]:
        tensors.is_exact[place] = dtype.kind in ("int", "bool")
        tensors.unit_roundoff[place] = 0.0 if tensors.is_exact[place] else dtype.unit_roundoff
        tensors.smallest[place] = 0.0 if tensors.is_exact[place] else dtype.smallest_subnormal


def _is_worth_a_second_look(metrics: PairMetrics) -> bool:
    return metrics.n_different > 0


def _second_read(
    executor: Executor,
    rows: Rows,
    differing: Sequence[tuple[TensorJob, PairMetrics]],
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
) -> None:
    def step(done: int) -> None:
        progress(Progress("look closer", done, len(differing), "tensors"))

    for result in ordered_results(executor, look_closer, differing, is_cancelled=is_cancelled, on_done=step):
        store_examination(rows, result)


def _judge(
    pair: CapturePair,
    couples: Sequence[tuple[Artifact, Artifact]],
    loaded: Sequence[_Loaded],
    settings: Settings,
    problems: list[Problem],
    stage: str,
) -> Comparison:
    ranks: list[RankComparison] = []
    walks: list[Walk] = []
    differing_steps: set[int] = set()
    for (target, _), (rows, _, construct, _) in zip(couples, loaded, strict=True):
        step = target.step or 0
        is_later = any(other < step for other in differing_steps)
        is_trained = any((other.step or 0) < step for other, _ in couples)
        links = link(rows)
        share_measurements(rows, links)
        walk = partial(assign_roles, rows, links, construct, is_later_step=is_later, is_trained=is_trained)
        walks.append(walk)
        roles = walk()
        if roles.origins or (roles.call == UNKNOWN_ROLE).any():
            differing_steps.add(step)
        ranks.append(
            RankComparison(target.rank, target.step, rows.target, rows.golden, rows, roles, construct)
        )
    told = tuple(
        replace(rank, stacks=stacks_of(rank.target, pair.target_root, problems, pair.relative))
        if rank.roles.origins
        else rank
        for rank in carry_through_collectives(ranks, walks)
    )
    return Comparison(pair, told, settings.criteria, tuple(problems), stage)
