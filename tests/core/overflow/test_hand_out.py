"""Ranks looked through by workers: what they find is what one process finds, whoever ends first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.analysis import AnalysisOptions
from npulse.core.errors import Cancelled
from npulse.core.overflow import hand_out
from npulse.core.overflow.analyse import Overflow
from npulse.core.overflow.hand_out import RankDone, look_through_rank
from npulse.core.overflow.report import report
from npulse.core.overflow.run_report import look, selections
from npulse.core.report import render
from npulse.core.run.discover import discover
from npulse.core.run.model import Run
from npulse.core.scale import ClusterGone, WorkerDied, so_far

from ..scale.in_order import in_order_of
from .small_dumps import begun, fwd, nan, rec, write

ALONE, SHARED = AnalysisOptions(jobs=1), AnalysisOptions(jobs=2)
N_RANKS = 4
LOG, REDUCE = "Torch.log.0.forward", "Distributed.all_reduce.0.forward"
X, BAD = rec(3.0, -2.5), nan()
BEGUN = [(0, 2, LOG, "operator")]


def answer(found: Overflow) -> str:
    """All that is told, table and all."""
    return "".join(render(report(found, tables=True), "json", version="0"))


def looked(run: Run, options: AnalysisOptions, **asked: Any) -> Overflow:
    return look(run, selections(run, options)[-1], options, **asked)


def handed_out(
    patch: pytest.MonkeyPatch,
    run: Run,
    ends: Sequence[int] = (),
    lost: dict[int, Exception] | None = None,
    kept: dict[Path, bytes] | None = None,
    **asked: Any,
) -> Overflow:
    patch.setattr(hand_out, "SMALL_BYTES", 0)
    patch.setattr(hand_out, "results_as_known", in_order_of(ends, lost, kept))
    return looked(run, SHARED, **asked)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Four ranks of statistics; the NaN of rank 2 gets to the others through a collective."""
    folder = tmp_path_factory.mktemp("statistics")
    for rank in range(N_RANKS):
        own = {LOG: fwd([X], [BAD])} if rank == 2 else {LOG: fwd([X], [X])}
        given_ = BAD if rank == 2 else X
        write(folder, {**own, REDUCE: fwd([given_], [BAD])}, rank=rank)
    return discover(folder)


@pytest.fixture(scope="module")
def tensors(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The same with tensor files alone: no record says what is in them."""
    folder = tmp_path_factory.mktemp("tensors")
    for rank in range(N_RANKS):
        fine, bad = np.array([3, -2.5, 0, 1], np.float16), np.array([np.nan, 1, 1, 1], np.float16)
        files = {"in": fine, "log": bad if rank == 2 else fine, "got": bad}

        def named(name: str) -> dict[str, Any]:
            return {**rec(None, None), "data_name": f"{name}.npy"}

        data = {LOG: fwd([named("in")], [named("log")]), REDUCE: fwd([named("log")], [named("got")])}
        place = write(folder, data, rank=rank, task="tensor", dump_data_dir="dump_tensor_data")
        (place / "dump_tensor_data").mkdir()
        for name, array in files.items():
            np.save(place / "dump_tensor_data" / f"{name}.npy", array)
    return discover(folder)


@pytest.fixture(scope="module")
def expected(run: Run) -> tuple[str, dict[Path, bytes]]:
    """What is told by one process, and where what was computed for a rank is kept."""
    found = looked(run, ALONE)
    assert begun(found) == BEGUN
    return answer(found), {}


@given(ends=st.permutations(range(N_RANKS)))
def test_who_ends_first_does_not_count(
    run: Run, expected: tuple[str, dict[Path, bytes]], ends: list[int]
) -> None:
    told, kept = expected
    with pytest.MonkeyPatch.context() as patch:
        assert answer(handed_out(patch, run, ends, kept=kept)) == told


def test_what_is_known_is_told_while_ranks_come_in(tensors: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(so_far, "PAUSE_S", 0)
    monkeypatch.setattr(so_far, "COSTS", 0)
    told: list[Overflow] = []
    done = handed_out(monkeypatch, tensors, ends=(2, 3, 0, 1), on_update=told.append)
    early = [one for one in told if one.stage == "ranks"]
    assert [(len(one.ranks), one.n_awaited) for one in early] == [(1, 3), (2, 2), (3, 1)]
    assert [begun(one) for one in early] == [BEGUN] * 3
    for n, one in enumerate(early, 1):
        assert report(one).told[0].startswith(f"so far: {n} of 4 ranks")
    assert answer(done) == answer(looked(tensors, ALONE))


def test_healthy_ranks_are_no_pass_before_all_are_there(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[Overflow] = []
    handed_out(monkeypatch, run, ends=(0,), on_update=kept.append)
    assert kept[0].n_awaited == 3
    assert report(kept[0]).beneath == "unknown"


def test_workers_read_the_tensors_of_their_rank(tensors: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from npulse.core.overflow import tensors as here

    once = looked(tensors, ALONE)
    assert begun(once) == BEGUN
    seen: list[RankDone] = []

    def note(asked: Any) -> RankDone:
        seen.append(look_through_rank(asked))
        return seen[-1]

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a tensor was read by the caller")

    monkeypatch.setattr(hand_out, "look_through_rank", note)
    monkeypatch.setattr(here, "scan_tensor", refuse)
    done = handed_out(monkeypatch, tensors, ends=(3, 1))
    assert [len(one.scanned or {}) for one in seen] == [4] * N_RANKS
    assert answer(done) == answer(once)
    with pytest.raises(AssertionError):
        looked(tensors, ALONE)  # the trap is one


@pytest.mark.parametrize("name", ["distributed", "tiny_two_steps"])
def test_real_captures(name: str, shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = discover(shared / "samples" / "msprobe" / name)
    once = answer(looked(run, ALONE))
    kept: dict[Path, bytes] = {}
    assert answer(handed_out(monkeypatch, run, ends=(1, 0), kept=kept)) == once
    assert len(kept) == 2


def test_processes_of_this_host(
    run: Run, expected: tuple[str, dict[Path, bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hand_out, "SMALL_BYTES", 0)
    assert answer(looked(run, SHARED)) == expected[0]


def test_a_rank_whose_worker_died_is_a_problem(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    found = handed_out(monkeypatch, run, lost={1: WorkerDied("its worker died 4 times")})
    assert [rank.rank for rank in found.ranks] == [0, 2, 3]
    (problem,) = found.problems
    assert (problem.kind, problem.artifact) == ("worker-died", "step0/rank1")
    assert begun(found) == BEGUN


def test_only_lost_ranks_are_no_clean_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for rank in range(3):
        write(tmp_path, {LOG: fwd([X], [X])}, rank=rank)
    healthy = discover(tmp_path)
    assert report(looked(healthy, ALONE)).exit_code() == 0
    told = report(handed_out(monkeypatch, healthy, lost={1: WorkerDied("its worker died 4 times")}))
    assert told.exit_code() != 0
    lost: dict[int, Exception] = {place: WorkerDied("its worker died 4 times") for place in range(3)}
    with pytest.raises(WorkerDied):
        handed_out(monkeypatch, healthy, lost=lost)


def test_a_rank_that_cannot_be_read_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for rank in range(3):
        place = write(tmp_path, {LOG: fwd([X], [BAD])}, rank=rank)
    damaged = discover(tmp_path)
    (place / "dump.json").unlink()
    once = looked(damaged, ALONE)
    assert len(once.ranks) == 2 and once.problems
    assert answer(handed_out(monkeypatch, damaged, ends=(2, 1, 0))) == answer(once)


def test_what_was_known_when_the_scheduler_went_is_told(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = ClusterGone("the scheduler is gone: tcp://127.0.0.1:1")
    found = handed_out(monkeypatch, run, ends=(2, 0, 1, 3), lost={1: gone})
    assert [rank.rank for rank in found.ranks] == [0, 2]
    (problem,) = found.problems
    assert problem.kind == "cluster-gone"
    assert "2 of 4 ranks were not looked at" in problem.message
    assert all(f"step0/rank{rank}" in problem.message for rank in (1, 3))
    assert report(found).exit_code() == 3
    with pytest.raises(ClusterGone):
        handed_out(monkeypatch, run, lost={0: gone})


def test_tensors_of_one_rank_that_were_read_when_the_scheduler_went_are_told(
    tensors: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from npulse.core.overflow import tensors as here

    def stopping(executor: object, function: Any, jobs: Sequence[Any], **_: Any) -> Iterator[Any]:
        yield from map(function, jobs[:2])
        raise ClusterGone("the scheduler is gone")

    asked = replace(ALONE, rank=2)
    assert begun(looked(tensors, asked)) == BEGUN
    monkeypatch.setattr(here, "ordered_results", stopping)
    found = looked(tensors, asked)
    assert begun(found) == BEGUN  # the second tensor is the output of the call that errs
    assert [(p.kind, p.message) for p in found.problems] == [
        ("cluster-gone", "the scheduler is gone; not all tensors were read")
    ]
    assert report(found).exit_code() == 3


def test_progress_counts_ranks_and_names_where_it_begins(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[int, str]] = []

    def note(progress: Any) -> None:
        if progress.unit == "ranks" and progress.done:
            assert progress.total == N_RANKS
            told.append((progress.done, progress.note))

    handed_out(monkeypatch, run, ends=(2, 1, 0, 3), progress=note)
    assert [n for n, _ in told] == [1, 2, 3, 4]
    assert told[0][1] == f"rank 2: {LOG}"


def test_a_cancel_is_raised(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hand_out, "SMALL_BYTES", 0)
    with pytest.raises(Cancelled):
        looked(run, SHARED, is_cancelled=lambda: True)
