"""Memory of comparing many ranks follows the workers and the rows of the table, not the ranks' dumps."""

from __future__ import annotations

import sys
from importlib import util
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[3] / "bench" / "rank_memory.py"
N_CALLS = 100
ROW_BYTES = 350  # of a comparison by statistics, which keeps some 270

pytestmark = pytest.mark.budget


def test_memory_follows_the_workers_and_not_the_ranks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    spec = util.spec_from_file_location("rank_memory", BENCH)
    assert spec is not None and spec.loader is not None
    bench = util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    bench.write(tmp_path / "16", 16, N_CALLS)
    bench.write(tmp_path / "64", 64, N_CALLS)
    few, many = (bench.measured("precision", tmp_path / name) for name in ("16", "64"))
    assert few["n_workers"] == many["n_workers"] == bench.N_JOBS
    assert (few["rows"], many["rows"]) == (16 * 4 * N_CALLS, 64 * 4 * N_CALLS)
    assert many["worker_mb"] <= 1.1 * few["worker_mb"]
    table_mb = ROW_BYTES * (many["rows"] - few["rows"]) / 1e6
    assert many["caller_mb"] <= 1.1 * few["caller_mb"] + table_mb
