"""Kept results: they come back whole, are thrown away when a file changed, and are not trusted."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from npulse.core.cache import Cache, Entry
from npulse.core.findings import Problem
from npulse.core.precision.compare import Settings, compare_captures, tensor_jobs
from npulse.core.precision.reading import reads, remember
from npulse.core.precision.reading.work import Measured, TensorJob, measure
from npulse.core.precision.rows import FIGURES, LINKED, Rows, new_rows, tensor_rows
from npulse.core.run.sides import CapturePair, pair_of

from . import faulty_net as fn
from .faulty_net import Fault

FAULT = Fault("output", "Functional.relu.0.forward", "outlier")


@pytest.fixture
def pair(tmp_path: Path) -> CapturePair:
    for side, golden in (("target", False), ("golden", True)):
        net = fn.run_alone(FAULT, golden=golden, backward=False, ulp_noise=True)
        net.write(tmp_path / side / "rank0", "L1", "tensor")
    return pair_of(tmp_path / "target", tmp_path / "golden")


def compared(pair: CapturePair) -> tuple[Rows, list[TensorJob]]:
    rows = compare_captures(pair, Settings()).ranks[0].rows
    return rows, tensor_jobs(rows, tensor_rows(rows), pair.root_of("target"), pair.root_of("golden"))


def kept(pair: CapturePair, cache: Cache) -> tuple[Rows, list[TensorJob], Entry]:
    rows, jobs = compared(pair)
    dumps = (rows.target, rows.golden)
    key = remember.key(jobs, dumps)
    assert key is not None
    remember.save(cache, key, rows, jobs, dumps, [])
    entry = remember.load(cache, key, jobs)
    assert entry is not None
    return rows, jobs, entry


def test_a_row_that_is_told_by_another_one_is_the_same_from_kept_results(
    pair: CapturePair, tmp_path: Path
) -> None:
    """The output of the fault was not stored; its consumer's input, which was, speaks for it."""
    for side in ("target", "golden"):
        (path,) = (tmp_path / side).rglob("dump.json")
        dump = json.loads(path.read_text())
        (output,) = dump["data"][FAULT.place]["output"]
        (path.parent / "dump_tensor_data" / output.pop("data_name")).unlink()
        path.write_text(json.dumps(dump))
    pair, cache = pair_of(pair.target_root, pair.golden_root), Cache(tmp_path / "cache")
    first, again = (compare_captures(pair, Settings(cache=cache)).ranks[0].rows for _ in ("measured", "kept"))
    assert (first.basis == LINKED).any()
    for name in FIGURES:
        assert first.computed[name].tolist() == again.computed[name].tolist(), name
        np.testing.assert_array_equal(first.figures[name], again.figures[name])


def test_everything_comes_back(pair: CapturePair, tmp_path: Path) -> None:
    rows, jobs, entry = kept(pair, Cache(tmp_path / "cache"))
    fresh = new_rows(rows.pairing, rows.target, rows.golden)
    assert remember.restore(fresh, jobs, entry) == []
    index = [job.row for job in jobs]
    for name in FIGURES:
        np.testing.assert_array_equal(fresh.figures[name][index], rows.figures[name][index])
        assert fresh.computed[name][index].tolist() == rows.computed[name][index].tolist()
    assert fresh.patterns == rows.patterns and fresh.patterns
    assert fresh.examinations == rows.examinations and fresh.examinations


def test_a_file_that_changed_has_another_key(pair: CapturePair, tmp_path: Path) -> None:
    rows, jobs = compared(pair)
    before = remember.key(jobs, (rows.target, rows.golden))
    path = jobs[0].target.path
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    os.utime(path, ns=(1, 1))
    assert remember.key(jobs, (rows.target, rows.golden)) != before
    path.unlink()
    cache = Cache(tmp_path / "cache")
    remember.save(cache, before, rows, jobs, (rows.target, rows.golden), [])
    assert before is None or remember.load(cache, before, jobs) is None


def test_a_file_that_the_system_refused_is_read_again(
    pair: CapturePair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(job: TensorJob) -> Measured:
        problem = Problem(job.target.path.name, "unreadable", f"reading failed: {os.strerror(errno.EIO)}")
        return Measured(job.row, None, (problem,)) if job.row == first.row else measure(job)

    settings = Settings(jobs=1, cache=Cache(tmp_path / "cache"))
    whole, jobs = compared(pair)
    first = jobs[0]
    monkeypatch.setattr(reads, "measure", refused)
    assert len(compare_captures(pair, settings).problems) == 1
    monkeypatch.setattr(reads, "measure", measure)
    again = compare_captures(pair, settings)
    assert not again.problems
    for name in FIGURES:
        np.testing.assert_array_equal(again.ranks[0].rows.figures[name], whole.figures[name])


def test_other_rows_of_the_same_files_have_another_key(pair: CapturePair) -> None:
    rows, jobs = compared(pair)
    moved = [job._replace(row=job.row + 1) for job in jobs]
    dumps = (rows.target, rows.golden)
    assert remember.key(list(jobs), dumps) == remember.key(jobs, dumps) != remember.key(moved, dumps)


def test_nothing_is_kept_of_nothing(pair: CapturePair) -> None:
    rows, _ = compared(pair)
    assert remember.key([], (rows.target, rows.golden)) is None


def test_an_entry_that_is_something_else_is_not_used(pair: CapturePair, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    rows, jobs, entry = kept(pair, cache)
    fresh = new_rows(rows.pairing, rows.target, rows.golden)
    for facts in (
        {},
        {**entry.facts, "patterns": [[0]]},
        {**entry.facts, "examinations": [[0, {"unknown": 1}]]},
        {**entry.facts, "problems": [{"nothing": 1}]},
        {**entry.facts, "patterns": [[10**9, ["drift", {}]]]},
    ):
        assert remember.restore(fresh, jobs, replace(entry, facts=facts)) is None
        assert not fresh.patterns and (fresh.basis == 0).all()
    for name, array in (
        ("codes", entry.arrays["codes"] + 100),
        ("codes", -entry.arrays["codes"] - 1),
        ("codes", entry.arrays["codes"].astype(np.int64)),
        ("values", entry.arrays["values"][:-1]),
        ("computed", entry.arrays["computed"].astype(np.int8)),
    ):
        cache.put("other", {**entry.arrays, name: array}, entry.facts)
        assert remember.load(cache, "other", jobs) is None
    cache.put("other", {"values": entry.arrays["values"]}, entry.facts)
    assert remember.load(cache, "other", jobs) is None
    assert remember.load(cache, "never put", jobs) is None
