"""The two reads of a rank-step: every pair of tensors measured once, those that differ looked at closer.

What was found before - by an earlier look of a followed run, or before the comparison was stopped - is not
read again.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from npulse.core.findings import Problem
from npulse.core.formats.tensors import Dtype
from npulse.core.progress import IsCancelled
from npulse.core.scale import ordered_results

from ..blocks.totals import PairMetrics
from ..captured import Loaded
from ..comparison import Settings
from ..live import Known
from ..rows import BY_TENSOR, Rows, TensorRows
from ..settle import settle_tensors, store_examination, store_measured
from ..steps import Steps
from ..verdict import REASON, UNKNOWN
from .jobs import Differing, Jobs
from .resume import Resumed
from .work import Examined, Measured, TensorJob, look_closer, measure, measure_sample


@dataclass(frozen=True, slots=True)
class Unexamined:
    """A rank after its first read: what the second one still has to look at."""

    rows: Rows
    jobs: Jobs
    differing: Differing
    problems: Sequence[Problem]
    key: str | None
    known: Known
    n_open: int


def first_read(
    executor: Executor,
    one: Loaded,
    jobs: Jobs,
    settings: Settings,
    resumed: Resumed | None,
    steps: Steps,
    is_cancelled: IsCancelled,
) -> tuple[list[Problem], Differing, int]:
    """What could not be read, what is worth a second look, and how many files are half written."""
    rows, tensors, known = one.rows, one.tensors, one.known
    problems: list[Problem] = []
    differing = Differing(jobs)
    n_open = 0
    is_new = np.zeros(len(jobs), np.bool_)
    is_new[known.unmeasured(jobs)] = True

    def store(number: int, result: Measured) -> None:
        store_measured(rows, result)
        if result.coarser is not None:
            _declare(tensors, int(jobs.places[number]), result.coarser)
        if result.metrics is not None and result.metrics.n_different > 0:
            differing.add(number, result.metrics)

    is_done = np.zeros(len(jobs), np.bool_)
    for number, result in resumed.measured() if resumed is not None else ():
        if is_new[number] and not is_done[number]:
            is_done[number] = True
            store(number, result)
    new = jobs.picked(np.flatnonzero(is_new & ~is_done))

    steps.without(jobs.picked(np.flatnonzero(~is_new | is_done)))
    step = steps.of(new)
    how = measure_sample if settings.sample else measure
    results = ordered_results(
        executor, how, new, is_cancelled=is_cancelled, on_done=step, beside=_dumps_of(rows)
    )
    for number in np.flatnonzero(~is_done).tolist():
        if is_new[number]:
            result = next(results)
            if known.is_keeping:
                known.keep_measured(jobs[number], result)
            if resumed is not None:
                resumed.keep_measured(number, result)
        else:
            result = known.measured(jobs[number]) or Measured(jobs.row(number), None)
        if result.problems and one.growth is not None and known.may_be_half_written(jobs[number]):
            n_open += 1
            continue
        problems += result.problems
        store(number, result)
    next(results, None)  # the end is told too
    settle_tensors(rows, tensors, settings.criteria)
    return problems, differing, n_open


def _declare(tensors: TensorRows, place: int, dtype: Dtype) -> None:
    """Give a row without a declared dtype the one of its files (dumps rebuilt from file names)."""
    if tensors.unit_roundoff[place] == 0 and not tensors.is_exact[place]:
        tensors.is_exact[place] = dtype.kind in ("int", "bool")
        tensors.unit_roundoff[place] = 0.0 if tensors.is_exact[place] else dtype.unit_roundoff
        tensors.smallest[place] = 0.0 if tensors.is_exact[place] else dtype.smallest_subnormal


def second_read(
    executor: Executor,
    part: Unexamined,
    resumed: Resumed | None,
    steps: Steps,
    is_cancelled: IsCancelled,
) -> None:
    differing, known = part.differing, part.known
    before: dict[int, Examined] = {} if resumed is None else resumed.examined()
    if not known.is_empty:
        for number, (job, _) in zip(differing.numbers, differing, strict=True):
            if (earlier := known.examined(job)) is not None:
                before[number] = earlier
    new: Sequence[tuple[TensorJob, PairMetrics]] = differing
    if before:
        new = [differing[i] for i, number in enumerate(differing.numbers) if number not in before]

    steps.without(part.jobs.picked(np.array([n for n in differing.numbers if n in before], np.int64)))
    step = steps.of(part.jobs.picked(np.array([n for n in differing.numbers if n not in before], np.int64)))
    results = ordered_results(
        executor, look_closer, new, is_cancelled=is_cancelled, on_done=step, beside=_dumps_of(part.rows)
    )
    for place, number in enumerate(differing.numbers):
        result = before.pop(number, None)
        if result is None:
            result = next(results)
            if known.is_keeping:
                known.keep_examined(differing[place][0], result)
            if resumed is not None:
                resumed.keep_examined(number, result)
        store_examination(part.rows, result)
    next(results, None)


def _dumps_of(rows: Rows) -> list[Path]:
    """The dumps in whose folders the tensors lie, and those folders."""
    parts = [
        part.dump
        for split in rows.splits.values()
        for side in (split.target, split.golden)
        for part in side.parts
    ]
    dumps = {id(dump): dump for dump in (rows.target, rows.golden, *parts)}
    return list(dict.fromkeys(path for dump in dumps.values() for path in (dump.path, dump.tensor_dir)))


def give_up(one: Loaded, jobs: Jobs, settings: Settings) -> int:
    """Judge what was read before nobody was left to read; the rest is unknown. Returns how much that is."""
    rows = one.rows
    left = jobs.rows[rows.reason[jobs.rows] == REASON["pending"]]
    left = left[rows.basis[left] != BY_TENSOR]
    rows.verdict[left], rows.reason[left] = UNKNOWN, REASON["unreadable"]
    settle_tensors(rows, one.tensors, settings.criteria)
    return len(left)
