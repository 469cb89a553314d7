"""Pairs in columns: jobs made when they are handed out, what differs as numbers, and what a pair takes."""

from __future__ import annotations

import gc
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from npulse.core.precision.compare import Settings, compare_captures
from npulse.core.precision.reading.jobs import Differing, Jobs, tensor_jobs
from npulse.core.precision.reading.work import measure
from npulse.core.precision.rows import tensor_rows
from npulse.core.run.sides import CapturePair

from .small_pairs import name_of, write_pair

MOST_BYTES_A_PAIR = 700


def jobs_of(pair: CapturePair) -> Jobs:
    rows = compare_captures(pair, Settings(jobs=1, second_read=False)).ranks[0].rows
    return tensor_jobs(rows, tensor_rows(rows), pair.root_of("target"), pair.root_of("golden"))


def test_jobs_are_a_sequence_of_what_they_name(tmp_path: Path) -> None:
    jobs = jobs_of(write_pair(tmp_path, 6))
    names = [name_of(n) for n in range(6)]
    assert [job.target.path.name for job in jobs] == [job.golden.path.name for job in jobs] == names
    assert [job.target.path.parts[-5] for job in jobs] == ["target"] * 6
    assert jobs[1:3] == [jobs[1], jobs[2]] and jobs[-1] == jobs[5] and len(jobs) == 6
    assert [job.row for job in jobs] == jobs.rows.tolist()
    assert list(jobs.picked(np.array([4, 1]))) == [jobs[4], jobs[1]]
    with pytest.raises(IndexError):
        jobs[6]


def test_what_differs_comes_back_as_it_was_measured(tmp_path: Path) -> None:
    jobs = jobs_of(write_pair(tmp_path, 5, differing=(1, 3, 4)))
    differing, results = Differing(jobs), [measure(job).metrics for job in jobs]
    for number in (1, 3, 4):
        metrics = results[number]
        assert metrics is not None and metrics.n_different == 64
        differing.add(number, metrics)
    assert list(differing) == [(jobs[n], results[n]) for n in (1, 3, 4)]
    assert [type(value) for value in differing[0][1]] == [type(value) for value in results[1] or ()]
    assert results[0] is not None
    differing.put(1, jobs[0], results[0])
    differing.put(2, jobs[2], results[0])
    assert differing[1:] == [(jobs[0], results[0]), (jobs[2], results[0])]
    differing.drop([0, 1])
    assert list(differing) == [(jobs[2], results[0])]


def test_what_a_pair_takes(tmp_path: Path) -> None:
    few, many = (write_pair(tmp_path / str(n), n, is_linked=True) for n in (20, 140))
    compare_captures(few, Settings(jobs=1))  # what is made once
    tracemalloc.start()
    try:
        peaks = []
        for pair in (few, many):
            gc.collect()
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            comparison = compare_captures(pair, Settings(jobs=1))
            gc.collect()
            peaks.append(tracemalloc.get_traced_memory()[0] - before)
            assert comparison.ranks[0].rows.n_rows in (20, 140)
            del comparison
    finally:
        tracemalloc.stop()
    assert (peaks[1] - peaks[0]) / 120 <= MOST_BYTES_A_PAIR
