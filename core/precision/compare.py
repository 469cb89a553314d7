"""Two captures in, one `Comparison` out: reads the dumps, measures the tensors, judges, finds the origins."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from npulse.core.cache import Cache
from npulse.core.findings import Problem
from npulse.core.formats.msprobe.construct import read_construct
from npulse.core.formats.msprobe.dump import read_dump
from npulse.core.formats.msprobe.orphans import entries_from_files
from npulse.core.formats.msprobe.records import Construct, Dump, Frame, Stacks
from npulse.core.formats.msprobe.stacks import read_stacks
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
from .links import link, share_measurements
from .pairing import Pairing, pair_by_name
from .roles import INHERITED, ORIGIN, Roles, assign_roles
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
    Raises InputError where a dump cannot be used at all, Cancelled on request.
    """
    couples = [
        (t, g)
        for t, g in zip(pair.target, pair.golden, strict=True)
        if settings.rank in (None, t.rank) and settings.step in (None, t.step)
    ]
    loaded = []
    for done, (target, golden) in enumerate(couples):
        progress(Progress("read", done, len(couples), "ranks"))
        loaded.append(_load(pair, target, golden, settings, progress, is_cancelled))
    n_bytes = sum(_tensor_bytes(tensors) for _, tensors, _, _ in loaded)
    problems = [p for _, _, _, found in loaded for p in found]
    with open_executor(1 if n_bytes < SMALL_BYTES else settings.jobs or None, settings.cluster) as executor:
        unexamined: list[_Unexamined] = []
        for rows, tensors, _, _ in loaded:
            jobs = tensor_jobs(rows, tensors, pair.root_of("target"), pair.root_of("golden"))
            kept = remember.load(settings.cache, jobs, (rows.target, rows.golden)) if settings.cache else None
            if kept is not None:
                problems += remember.restore(rows, jobs, kept)
                settle_tensors(rows, tensors, settings.criteria)
            else:
                found, differing = _first_read(
                    executor, rows, tensors, jobs, settings, progress, is_cancelled
                )
                problems += found
                unexamined.append(_Unexamined(rows, jobs, differing, found))
            settle_statistics(rows, tensors, settings.criteria)
        comparison = _judge(
            pair, couples, loaded, settings, problems, "first read" if unexamined else "complete"
        )
        if unexamined and settings.second_read:
            if on_update is not None:
                on_update(comparison)
            for part in unexamined:
                _second_read(executor, part.rows, part.differing, progress, is_cancelled)
                if settings.cache:
                    dumps = (part.rows.target, part.rows.golden)
                    remember.save(settings.cache, part.rows, part.jobs, dumps, part.problems)
    return Comparison(pair, comparison.ranks, settings.criteria, comparison.problems, "complete")


def _load(
    pair: CapturePair,
    target: Artifact,
    golden: Artifact,
    settings: Settings,
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
) -> tuple[Rows, TensorRows, Construct | None, list[Problem]]:
    dumps = [
        _read(artifact.path, pair.root_of(side), progress, is_cancelled)
        for artifact, side in ((target, "target"), (golden, "golden"))
    ]
    problems = [problem for dump in dumps for problem in dump.problems]
    construct = _construct(dumps[0], pair.root_of("target"), problems)
    rows = new_rows(settings.pair_calls(dumps[0], dumps[1]), dumps[0], dumps[1])
    tensors = tensor_rows(rows)
    settle_values(rows)
    return rows, tensors, construct, problems


def _read(path: Path, root: Path, progress: ProgressCallback, is_cancelled: IsCancelled) -> Dump:
    """The dump of a rank-step; from the names of its tensor files where the index is lost."""
    if path.is_dir():
        return entries_from_files(path, root=root, is_cancelled=is_cancelled)
    dump = read_dump(path, root=root, progress=progress, is_cancelled=is_cancelled)
    if not dump.calls.names and dump.header.task == "tensor" and dump.tensor_dir.is_dir():
        return entries_from_files(path.parent, root=root, known=dump, is_cancelled=is_cancelled)
    return dump


def _construct(dump: Dump, root: Path, problems: list[Problem]) -> Construct | None:
    path = dump.path.parent / "construct.json"
    if not path.exists():
        return None
    construct = read_construct(path, root=root)
    problems += construct.problems
    return construct


def _stacks(dump: Dump, root: Path, problems: list[Problem]) -> Stacks | None:
    """Call stacks, read only where an origin wants its source line (the file can be as large as the dump)."""
    path = dump.path.parent / "stack.json"
    if not path.exists():
        return None
    stacks = read_stacks(path, root=root)
    problems += stacks.problems
    return stacks


def _tensor_bytes(tensors: TensorRows) -> float:
    return float(np.nansum(tensors.n_elements[tensors.has_files]) * 4)


def tensor_jobs(rows: Rows, tensors: TensorRows, target_root: Path, golden_root: Path) -> list[TensorJob]:
    """One job for each row whose elements were captured on both sides, in execution order."""

    def side(dump: Dump, leaf: int, root: Path) -> TensorSide:
        t = dump.leaves
        dtype, shape = int(t.dtype[leaf]), int(t.shape[leaf])
        return TensorSide(
            dump.tensor_dir / t.data_names[int(t.data_name[leaf])],
            root,
            t.dtypes[dtype] if dtype >= 0 else None,
            t.shapes[shape] if shape >= 0 else None,
        )

    picked = np.flatnonzero(tensors.has_files & tensors.shape_equal & ~(tensors.n_elements == 0))
    return [
        TensorJob(
            int(tensors.index[i]),
            side(rows.target, int(tensors.target[i]), target_root),
            side(rows.golden, int(tensors.golden[i]), golden_root),
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
    loaded: Sequence[tuple[Rows, TensorRows, Construct | None, list[Problem]]],
    settings: Settings,
    problems: list[Problem],
    stage: str,
) -> Comparison:
    ranks: list[RankComparison] = []
    steps_with_origin: set[int] = set()
    for (target, _), (rows, _, construct, _) in zip(couples, loaded, strict=True):
        later = any(step < (target.step or 0) for step in steps_with_origin)
        links = link(rows)
        share_measurements(rows, links)
        roles = assign_roles(rows, links, construct, is_later_step=later)
        if roles.origins:
            steps_with_origin.add(target.step or 0)
        stacks = _stacks(rows.target, pair.root_of("target"), problems) if roles.origins else None
        ranks.append(
            RankComparison(target.rank, target.step, rows.target, rows.golden, rows, roles, construct, stacks)
        )
    carry_through_collectives(ranks)
    return Comparison(pair, tuple(ranks), settings.criteria, tuple(problems), stage)


def carry_through_collectives(ranks: Sequence[RankComparison]) -> None:
    """A collective whose own inputs agree, while a peer's same call was given bad ones, only carries them."""
    for here in ranks:
        peers = [r for r in ranks if r is not here and r.step == here.step]
        for origin in list(here.roles.origins):
            name = here.rows.pairing.name(here.target, here.golden, origin.call)
            if origin.cause not in ("operator", "drift") or not name.startswith(
                ("Distributed.", "MintDistributed.")
            ):
                continue
            if any(_is_given_bad(peer, name) for peer in peers):
                here.roles.origins.remove(origin)
                here.roles.call[origin.call] = INHERITED
                of_call = here.rows.pairing.row_call == origin.call
                here.roles.row[of_call & (here.roles.row == ORIGIN)] = INHERITED


def _is_given_bad(peer: RankComparison, name: str) -> bool:
    for call in _calls_named(peer, name):
        if peer.roles.call[call] == INHERITED:
            return True
    return False


def _calls_named(rank: RankComparison, name: str) -> Iterator[int]:
    for call in range(rank.rows.pairing.n_calls):
        t = int(rank.rows.pairing.target_call[call])
        if t >= 0 and rank.target.calls.names[t] == name:
            yield call
