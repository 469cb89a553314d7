"""What comparing costs: how much memory it takes, how often it reads a byte, roughly how long it works."""

from __future__ import annotations

import json
import multiprocessing
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from npulse.core.precision import compare
from npulse.core.progress import Progress
from npulse.core.run.sides import pair_of

BENCH = Path(__file__).resolve().parents[2] / "bench"
N_TENSORS = 6  # of 25 MB each: whoever takes one into memory as a whole, in float64, is over the budget
GROWTH_MB = 120
CPU_S_A_GB = 20.0  # some ten times what it takes: for machines that are slow, not for code that is

pytestmark = pytest.mark.budget


def run(script: str, *words: str) -> str:
    command = [sys.executable, str(BENCH / script), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout


def make(folder: Path, differing: int) -> Iterator[tuple[Path, int]]:
    run("make_captures.py", "tensors", str(folder), "--size", "150MB", "--count", str(N_TENSORS),
        "--differing", str(differing))  # fmt: skip
    yield folder, sum(path.stat().st_size for path in folder.rglob("*.npy"))
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def equal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, int]]:
    """Two captures of 150 MB that hold the same, and the bytes of their tensor files."""
    yield from make(tmp_path_factory.mktemp("equal"), differing=0)


@pytest.fixture(scope="module")
def different(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, int]]:
    """The same with every tensor different."""
    yield from make(tmp_path_factory.mktemp("different"), differing=1)


def test_equal_tensors_are_read_once(equal: tuple[Path, int]) -> None:
    folder, tensor_bytes = equal
    used = json.loads(run("one_comparison.py", str(folder), "--jobs", "1"))
    assert (used["n_measured"], used["n_examined"], used["n_problems"]) == (N_TENSORS, 0, 0)
    assert 1.0 <= used["bytes_read"] / tensor_bytes <= 1.02
    assert used["peak_mb"] - used["start_mb"] <= GROWTH_MB
    assert used["cpu_s"] <= CPU_S_A_GB * tensor_bytes / 1e9


def test_tensors_that_differ_are_read_twice(different: tuple[Path, int]) -> None:
    folder, tensor_bytes = different
    used = json.loads(run("one_comparison.py", str(folder), "--jobs", "1", "--report"))
    assert (used["n_measured"], used["n_examined"], used["n_problems"]) == (N_TENSORS, N_TENSORS, 0)
    assert 1.98 <= used["bytes_read"] / tensor_bytes <= 2.05
    assert used["peak_mb"] - used["start_mb"] <= GROWTH_MB
    assert used["cpu_s"] <= CPU_S_A_GB * tensor_bytes / 1e9


def test_memory_does_not_grow_with_the_captures(tmp_path: Path) -> None:
    peaks = []
    for size, n_bytes in (("256MB", 256e6), ("1.2GB", 1.2e9)):  # tests/bench/large_captures.py: 100 GB
        folder = tmp_path / size
        run("make_captures.py", "linked", str(folder), "--size", size)
        used = json.loads(run("one_comparison.py", str(folder), "--jobs", "1"))
        assert used["n_problems"] == 0
        assert used["bytes_read"] >= 0.95 * 2 * n_bytes
        peaks.append(used["peak_mb"])
    assert peaks[1] <= 1.1 * peaks[0]


def test_parts_are_put_together_in_blocks(tmp_path: Path) -> None:
    run("make_captures.py", "split", str(tmp_path), "--size", "100MB")  # 25 MB a tensor
    used = json.loads(run("one_comparison.py", str(tmp_path), "--jobs", "1"))
    assert (used["n_measured"], used["n_examined"], used["n_problems"]) == (2 * 4, 0, 0)
    assert used["bytes_read"] <= 1.05 * 200e6  # each part once, and of the whole what belongs to it
    assert used["peak_mb"] - used["start_mb"] <= GROWTH_MB / 6  # a tensor in float64 would be 50 MB


def test_two_workers_find_what_one_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare, "SMALL_BYTES", 0)
    run("make_captures.py", "split", str(tmp_path), "--size", "2MB")
    pair, workers = pair_of(tmp_path / "target", tmp_path / "golden"), set[int | None]()

    def note(_: Progress) -> None:
        workers.update(child.pid for child in multiprocessing.active_children())

    one = compare.compare_captures(pair, compare.Settings(jobs=1), progress=note)
    assert not workers
    two = compare.compare_captures(pair, compare.Settings(jobs=2), progress=note)
    assert len(workers) == 2
    for rank, other in zip(one.ranks, two.ranks, strict=True):
        assert len(rank.rows.splits) == 4
        for name, values in rank.rows.figures.items():
            assert np.array_equal(values, other.rows.figures[name], equal_nan=True)
        assert np.array_equal(rank.rows.verdict, other.rows.verdict)


def test_worker_processes_stay_small(different: tuple[Path, int]) -> None:
    folder, _ = different
    used = json.loads(run("one_comparison.py", str(folder), "--jobs", "2"))
    assert used["n_examined"] == N_TENSORS
    # what the interpreter and numpy take is in it: less than this process had before it began, and a bit
    assert used["worker_peak_mb"] - used["start_mb"] <= GROWTH_MB / 2
    assert used["peak_mb"] - used["start_mb"] <= GROWTH_MB / 2
