"""Jobs of worker processes: what comes back, in this process and from others."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from npulse.core.overflow.places import find_places, kinds_in
from npulse.core.overflow.scan import scan
from npulse.core.overflow.work import ScanJob, look_closer, scan_tensor
from npulse.core.scale import open_executor, ordered_results

N_TENSORS = 40


@pytest.fixture
def jobs(tmp_path: Path) -> list[ScanJob]:
    """Small tensors and a larger one, NaN in every third; one file is cut, one is missing."""
    folder = tmp_path / "dump_tensor_data"
    folder.mkdir()
    for row in range(N_TENSORS):
        values = np.linspace(-1, 1, 12 if row else 600_000, dtype=np.float32).reshape(2, -1)
        values[:, 1] = np.nan if row % 3 == 0 else 0.0
        np.save(folder / f"{row}.npy", values)
    (folder / "1.npy").write_bytes((folder / "1.npy").read_bytes()[:130])
    (folder / "2.npy").unlink()
    return [ScanJob(row, folder, f"{row}.npy", tmp_path, "torch.float32", None) for row in range(N_TENSORS)]


@pytest.mark.parametrize("n_workers", [1, 2])
def test_scans_in_order_and_problems(jobs: list[ScanJob], n_workers: int) -> None:
    with open_executor(n_workers) as executor:
        results = list(ordered_results(executor, partial(scan_tensor, near_ratio=0.9), jobs))
        bad = [job for job, result in zip(jobs, results, strict=True) if result.scan and result.scan.n_nan]
        closer = list(ordered_results(executor, look_closer, bad))
    assert [result.row for result in results] == list(range(N_TENSORS))
    assert [result.scan is None for result in results[:4]] == [False, True, True, False]
    assert [(p.artifact, p.kind) for result in results for p in result.problems] == [
        ("dump_tensor_data/1.npy", "cut-off"),
        ("dump_tensor_data/2.npy", "missing"),
    ]
    assert [placed.row for placed in closer] == [job.row for job in bad] == list(range(0, N_TENSORS, 3))
    assert all(p.places is not None and p.places.axes[1].first == (1,) for p in closer)


def test_the_record_counts(jobs: list[ScanJob]) -> None:
    """Its type sets the ranges, its shape must be that of the file."""
    job = jobs[3]._replace(dtype="BFloat16")
    found = scan_tensor(job).scan
    assert found is not None and found.n_nan == 2
    (problem,) = scan_tensor(job._replace(shape=(12,))).problems
    assert problem.kind == "shape"


def test_a_file_that_is_gone_at_the_second_read(jobs: list[ScanJob]) -> None:
    assert look_closer(jobs[2]).places is None


def test_a_job_is_what_the_functions_say(jobs: list[ScanJob]) -> None:
    from npulse.core.calls.tensors import open_place

    file = open_place(jobs[0].place)
    np.testing.assert_equal(scan_tensor(jobs[0]).scan, scan(file))
    places = look_closer(jobs[0], kinds_in(scan(file))).places
    assert places is not None and places.axes == find_places(file, kinds=("nan",)).axes
