"""The tensor files of a capture: which are read, what they say, what earlier looks know of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from functools import partial

import numpy as np

from npulse.core.calls.live import KnownTensors
from npulse.core.files import shown_path
from npulse.core.findings import Problem
from npulse.core.formats.msprobe.records import TENSOR
from npulse.core.progress import IsCancelled, Progress, ProgressCallback
from npulse.core.scale import ordered_results

from .criteria import Settings
from .health import BY_TENSOR, disagreement
from .places import Places
from .ranks import RankOverflow
from .scan import Scan
from .work import Placed, ScanJob, Scanned, look_closer, scan_tensor

SMALL_BYTES = 64 << 20
"""Up to here a second process costs more than it saves."""
MAX_PLACED_CALLS = 64
"""Calls behind an origin of which it is looked up where their bad elements lie."""


def scan_jobs(rank: RankOverflow) -> list[ScanJob]:
    """One job for each recorded tensor file of numbers that can overflow or be clipped."""
    leaves, health = rank.dump.leaves, rank.health
    folder, located = rank.dump.tensor_dir, rank.dump.located
    wanted = (leaves.kind == TENSOR) & (leaves.data_name >= 0) & (health.n_elements != 0)
    wanted &= health.is_float | health.is_quantised | (leaves.dtype < 0)
    jobs = []
    for row in np.flatnonzero(wanted).tolist():
        dtype, shape = int(leaves.dtype[row]), int(leaves.shape[row])
        jobs.append(
            ScanJob(
                row,
                folder,
                leaves.data_names[int(leaves.data_name[row])],
                rank.root,
                leaves.dtypes[dtype] if dtype >= 0 else None,
                leaves.shapes[shape] if shape >= 0 else None,
                None if located is None else located.file(row),
            )
        )
    return jobs


def job_bytes(job: ScanJob) -> int:
    return 4 * int(np.prod(job.shape, dtype=np.int64)) if job.shape is not None else SMALL_BYTES


def known_tensors(rank: RankOverflow, jobs: Sequence[ScanJob], settings: Settings) -> KnownTensors[ScanJob]:
    """What earlier looks found out of these tensors; nothing where the run is not followed."""
    if settings.tails is None:
        return KnownTensors(lambda job: (job.place,))
    name = ("known", "overflow", rank.dump.path)
    known: KnownTensors[ScanJob] = settings.tails.kept.setdefault(
        name, KnownTensors(lambda job: (job.place,))
    )
    known.take_stamps(jobs)
    return known


def scan_all(
    executor: Executor,
    rank: RankOverflow,
    jobs: Sequence[ScanJob],
    known: KnownTensors[ScanJob],
    settings: Settings,
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
    seen: Mapping[int, Scanned] | None = None,
) -> tuple[list[Problem], int]:
    """Read each tensor once; what its elements say replaces what its statistics said.

    seen: what the worker that read the rank has found in some of them, by row.
    Returns what could not be read, and how many files are half written as yet.
    """
    problems: list[Problem] = []
    n_open = 0
    near_ratio = settings.criteria.near_ratio
    what = ("scan", near_ratio)
    seen = {} if seen is None else seen
    before: list[Scanned | None] = [seen.get(job.row) or known.get(what, job) for job in jobs]
    new = [job for job, result in zip(jobs, before, strict=True) if result is None]

    def step(done: int) -> None:
        progress(Progress("scan", done, len(new), "tensors"))

    scan = partial(scan_tensor, near_ratio=near_ratio)
    beside = (rank.dump.path, rank.dump.tensor_dir)
    results = ordered_results(executor, scan, new, is_cancelled=is_cancelled, on_done=step, beside=beside)
    is_growing = rank.live is not None and rank.live.is_growing
    for job, earlier in zip(jobs, before, strict=True):
        result = earlier
        if result is None:
            result = next(results)
            if not result.problems:
                known.keep(what, job, result)
        if result.problems and is_growing and known.may_be_half_written(job):
            n_open += 1
            continue
        problems += result.problems
        if result.scan is not None:
            told = disagreement(rank.health, result.row, result.scan)
            if told:
                problems.append(_disagrees(rank, result.row, told, result.scan))
            rank.health.put(result.row, result.scan)
    return problems, n_open


def _disagrees(rank: RankOverflow, row: int, told: str, seen: Scan) -> Problem:
    """A tensor file that is not the tensor of its record: cut, overwritten, of another run."""
    where = rank.dump.tensor_dir / (rank.dump.leaf(row).data_name or "")
    elements = f"NaN {seen.n_nan:,}, Inf {seen.n_plus_inf + seen.n_minus_inf:,}, {seen.min:g} to {seen.max:g}"
    message = f"{rank.dump.leaf_name(row)[:200]}: recorded are {told}, its elements say {elements}"
    hint = "file and record are not of the same run; what the elements say is taken"
    return Problem(shown_path(where, rank.root), "bad-tensor", message, hint=hint)


def look_closer_at(
    executor: Executor,
    ranks: Sequence[RankOverflow],
    known: Sequence[KnownTensors[ScanJob]],
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
) -> dict[tuple[int, int], Places]:
    """Where bad elements lie: of tensors in which something begins or is legal, and of what was given."""
    found: dict[tuple[int, int], Places] = {}
    for place, rank in enumerate(ranks):
        calls = rank.roles.origin_calls() | set(rank.roles.legal)
        calls |= set(sorted(rank.roles.cause_of)[:MAX_PLACED_CALLS])
        jobs = [job for job in scan_jobs(rank) if int(rank.dump.leaves.call[job.row]) in calls]
        closer = [j for j in jobs if rank.health.flags[j.row] and rank.health.basis[j.row] == BY_TENSOR]

        before: list[Placed | None] = [known[place].get("places", job) for job in closer]
        new = [job for job, result in zip(closer, before, strict=True) if result is None]

        def step(done: int, n: int = len(new)) -> None:
            progress(Progress("look closer", done, n, "tensors"))

        beside = (rank.dump.path, rank.dump.tensor_dir)
        results = ordered_results(
            executor, look_closer, new, is_cancelled=is_cancelled, on_done=step, beside=beside
        )
        for job, earlier in zip(closer, before, strict=True):
            result = earlier
            if result is None:
                result = next(results)
                if result.places is not None:
                    known[place].keep("places", job, result)
            if result.places is not None:
                found[place, result.row] = result.places
    return found
