"""What comparing costs: how much memory it takes, how often it reads a byte, roughly how long it works."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

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


def test_worker_processes_stay_small(different: tuple[Path, int]) -> None:
    folder, _ = different
    used = json.loads(run("one_comparison.py", str(folder), "--jobs", "2"))
    assert used["n_examined"] == N_TENSORS
    # what the interpreter and numpy take is in it: less than this process had before it began, and a bit
    assert used["worker_peak_mb"] - used["start_mb"] <= GROWTH_MB / 2
    assert used["peak_mb"] - used["start_mb"] <= GROWTH_MB / 2
