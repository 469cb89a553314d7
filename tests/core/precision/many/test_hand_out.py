"""Ranks as the unit of work: what workers find is what one process finds, whoever ends first."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core import cache as caching
from npulse.core.cache import Cache
from npulse.core.errors import Cancelled
from npulse.core.precision.compare import Comparison, Settings, compare_captures
from npulse.core.precision.many import hand_out
from npulse.core.precision.many.work import RankDone, compare_rank
from npulse.core.precision.reading import reads
from npulse.core.precision.report import report
from npulse.core.precision.rows import BY_TENSOR
from npulse.core.precision.verdict import VERDICTS
from npulse.core.report import render
from npulse.core.run.discover import discover
from npulse.core.run.sides import CapturePair, capture_pairs, pair_of
from npulse.core.scale import ClusterGone, WorkerDied, so_far

from ...scale.in_order import in_order_of
from .. import faulty_net as fn
from ..faulty_net import Fault
from ..split_net import Job
from ..test_splits import written as split_written

FAULT = Fault("output", "Functional.relu.0.forward")
ALONE, SHARED = Settings(jobs=1), Settings(jobs=2)


def answer(done: Comparison) -> str:
    """All that is told of a comparison, table and all."""
    return "".join(render(report(done, tables=True), "json", version="0"))


def handed_out(
    patch: pytest.MonkeyPatch,
    pair: CapturePair,
    settings: Settings = SHARED,
    ends: Sequence[int] = (),
    lost: dict[int, Exception] | None = None,
    kept: dict[Path, bytes] | None = None,
    **asked: Any,
) -> Comparison:
    patch.setattr(hand_out, "SMALL_BYTES", 0)
    patch.setattr(hand_out, "results_as_known", in_order_of(ends, lost, kept))
    return compare_captures(pair, settings, **asked)


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> CapturePair:
    """Four ranks, of which one errs; the others get it through a collective."""
    folder = tmp_path_factory.mktemp("ranks")
    for side, golden in (("target", False), ("golden", True)):
        for net in fn.run_ranks(FAULT, 2, golden=golden, n_ranks=4):
            net.write(folder / side / "step0" / f"rank{net.rank}", "L1", "tensor")
    return pair_of(folder / "target", folder / "golden")


@pytest.fixture(scope="module")
def expected(job: CapturePair) -> str:
    return answer(compare_captures(job, ALONE))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[CapturePair, str, dict[Path, bytes]]:
    """Three ranks of statistics, what is told of them, and where what was computed is kept."""
    folder = tmp_path_factory.mktemp("small")
    for side, golden in (("target", False), ("golden", True)):
        for net in fn.run_ranks(FAULT, 1, golden=golden, n_ranks=3):
            net.write(folder / side / "step0" / f"rank{net.rank}", "L1", "statistics")
    pair = pair_of(folder / "target", folder / "golden")
    return pair, answer(compare_captures(pair, ALONE)), {}


@given(ends=st.permutations(range(3)), listed=st.permutations(range(3)))
def test_neither_the_order_of_the_ends_nor_of_the_list_counts(
    small: tuple[CapturePair, str, dict[Path, bytes]], ends: list[int], listed: list[int]
) -> None:
    pair, expected, kept = small
    target, golden = ([side[place] for place in listed] for side in (pair.target, pair.golden))
    shuffled = replace(pair, target=tuple(target), golden=tuple(golden))
    with pytest.MonkeyPatch.context() as patch:
        assert answer(handed_out(patch, shuffled, ends=ends, kept=kept)) == expected


def test_workers_read_the_tensors_of_their_rank(
    job: CapturePair, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from npulse.core.precision import compare

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a tensor was read by the caller")

    seen: list[RankDone] = []

    def note(asked: Any) -> RankDone:
        seen.append(compare_rank(asked))
        return seen[-1]

    monkeypatch.setattr(hand_out, "compare_rank", note)
    done = handed_out(monkeypatch, job)
    assert [one.is_read for one in seen] == [True] * 4
    assert [one.first for one in seen][2] == FAULT.place  # the rank that errs names it before all are known
    monkeypatch.setattr(compare, "first_read", refuse)
    with pytest.raises(AssertionError):
        compare_captures(job, ALONE)  # the trap is one
    assert answer(done) == expected


@pytest.mark.parametrize("name", ["distributed", "tiny_two_steps"])
def test_real_captures(name: str, shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (pair,) = capture_pairs(discover(shared / "samples" / "msprobe" / name))
    assert answer(handed_out(monkeypatch, pair, ends=(1, 0))) == answer(compare_captures(pair, ALONE))


@pytest.mark.parametrize("job_pair", [(Job(2), Job(1)), (Job(2, by_sequence=True), Job(2))])
def test_ranks_that_hold_parts(
    job_pair: tuple[Job, Job], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    split_written(tmp_path, *job_pair)
    pair = pair_of(tmp_path / "npu", tmp_path / "cpu")
    once = compare_captures(pair, ALONE)
    assert once.groups
    assert answer(handed_out(monkeypatch, pair, ends=(1, 0))) == answer(once)


def test_a_rank_that_cannot_be_read_is_a_problem(
    job: CapturePair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "dump.json"
    broken.write_text("{")
    pair = replace(job, target=(*job.target[:3], replace(job.target[3], path=broken)))
    once = compare_captures(pair, ALONE)
    assert [rank.rank for rank in once.ranks] == [0, 1, 2] and once.problems
    assert answer(handed_out(monkeypatch, pair, ends=(3, 1, 2, 0))) == answer(once)


def test_a_rank_whose_worker_died_is_a_problem(job: CapturePair, monkeypatch: pytest.MonkeyPatch) -> None:
    done = handed_out(monkeypatch, job, lost={1: WorkerDied("its worker died 4 times")})
    assert [rank.rank for rank in done.ranks] == [0, 2, 3]
    (problem,) = done.problems
    assert (problem.kind, problem.artifact) == ("worker-died", job.target[1].relative)
    told = report(done)
    assert told.verdict == "fail" and told.exit_code() == 1


def test_what_was_known_when_the_scheduler_went_is_told(
    job: CapturePair, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = ClusterGone("the scheduler is gone: tcp://127.0.0.1:1")
    done = handed_out(monkeypatch, job, ends=(2, 0, 1, 3), lost={1: gone})
    assert [rank.rank for rank in done.ranks] == [0, 2]
    (problem,) = done.problems
    assert problem.kind == "cluster-gone"
    assert "2 of 4 ranks were not compared" in problem.message
    assert all(job.target[place].relative in problem.message for place in (1, 3))
    assert report(done).exit_code() == 3


def test_nothing_known_when_the_scheduler_went(job: CapturePair, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ClusterGone):
        handed_out(monkeypatch, job, lost={0: ClusterGone("the scheduler is gone")})


def stopping_after(n: int, gone: ClusterGone) -> Callable[..., Iterator[Any]]:
    """`ordered_results` of which the cluster goes away after so many results."""

    def results(executor: object, function: Any, jobs: Sequence[Any], **_: Any) -> Iterator[Any]:
        for number, job in enumerate(jobs):
            if number == n:
                raise gone
            yield function(job)

    return results


def test_tensors_of_one_rank_that_were_read_when_the_scheduler_went_are_told(
    job: CapturePair, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = replace(job, target=job.target[2:3], golden=job.golden[2:3])
    whole = compare_captures(alone, ALONE).ranks[0].rows
    gone = ClusterGone("the scheduler is gone: tcp://127.0.0.1:1")
    n_all = int((whole.basis == BY_TENSOR).sum())
    monkeypatch.setattr(reads, "ordered_results", stopping_after(n_all - 5, gone))
    done = compare_captures(alone, ALONE)
    rows, told = done.ranks[0].rows, report(done)
    read = rows.basis == BY_TENSOR
    assert read.sum() == n_all - 5 and (rows.verdict[read] == whole.verdict[read]).all()
    assert told.exit_code() == 3 and told.counts["unknown"] >= 5
    assert [p.message for p in done.problems if p.kind == "cluster-gone"] == [
        f"{gone.message}; 5 of {n_all} tensor pairs were not compared"
    ]
    monkeypatch.setattr(reads, "ordered_results", stopping_after(0, gone))
    with pytest.raises(ClusterGone):
        compare_captures(alone, ALONE)


def test_what_was_compared_when_the_scheduler_went_before_the_closer_look_is_told(
    job: CapturePair, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = replace(job, target=job.target[2:3], golden=job.golden[2:3])
    whole = compare_captures(alone, ALONE).ranks[0].rows
    gone, n_closer = ClusterGone("the scheduler is gone"), len(whole.examinations)
    look = reads.ordered_results

    def results(executor: Any, function: Any, jobs: Any, **asked: Any) -> Iterator[Any]:
        if function is reads.look_closer:
            return stopping_after(2, gone)(executor, function, jobs)
        return look(executor, function, jobs, **asked)

    monkeypatch.setattr(reads, "ordered_results", results)
    done = compare_captures(alone, ALONE)
    assert (done.ranks[0].rows.verdict == whole.verdict).all() and report(done).exit_code() == 3
    (problem,) = [p for p in done.problems if p.kind == "cluster-gone"]
    assert (
        problem.message
        == f"{gone.message}; {n_closer - 2} of {n_closer} tensor pairs were not looked at closer"
    )


def test_progress_counts_ranks_and_names_the_first_difference(
    job: CapturePair, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[int, str]] = []

    def note(progress: Any) -> None:
        if progress.stage == "compare" and progress.unit == "ranks":
            assert progress.total == 4
            told.append((progress.done, progress.note))

    handed_out(monkeypatch, job, ends=(2, 1, 0, 3), progress=note)
    assert [n for n, _ in told] == [1, 2, 3, 4]
    assert told[0][1] == f"rank 2: {FAULT.place}"


def test_what_is_known_is_told_while_ranks_come_in(
    job: CapturePair, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(so_far, "PAUSE_S", 0)
    monkeypatch.setattr(so_far, "COSTS", 0)
    told: list[Comparison] = []
    ends = (3, 2, 0, 1)
    done = handed_out(monkeypatch, job, ends=ends, on_update=told.append)
    early = [one for one in told if one.stage == "ranks"]
    assert [(len(one.ranks), one.n_awaited) for one in early] == [(1, 3), (2, 2), (3, 1)]
    for n, one in enumerate(early, 1):
        places = sorted(ends[:n])
        some = replace(
            job, target=tuple(job.target[p] for p in places), golden=tuple(job.golden[p] for p in places)
        )
        alone, seen = report(compare_captures(some, ALONE)), report(one)
        assert all(seen.counts[name] == alone.counts[name] for name in VERDICTS)
        # what a rank was given by one that is still to come does not begin there
        origins = [finding.subject for finding in seen.findings if finding.role == "origin"]
        assert origins == ([FAULT.place] if 2 in places else [])
        assert seen.verdict != "pass" and report(one, lang="zh").told[0] != seen.told[0]
        assert seen.told[0].startswith(f"so far: {n} of 4 ranks")
    assert answer(done) == expected


def test_agreeing_ranks_are_no_pass_before_all_are_there(
    job: CapturePair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(so_far, "PAUSE_S", 0)
    same = replace(job, target=job.golden, target_root=job.golden_root)
    told: list[Comparison] = []
    assert report(handed_out(monkeypatch, same, on_update=told.append)).verdict == "pass"
    assert told[0].n_awaited == 3
    assert report(told[0]).verdict == "unknown" and report(told[0]).beneath == "unknown"


def test_workers_keep_what_they_measure_and_what_cannot_be_kept_is_told_once(
    job: CapturePair, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    cache = Cache(tmp_path / "cache", on_trouble=lambda why: told.append(why))
    assert answer(handed_out(monkeypatch, job, replace(SHARED, cache=cache))) == expected
    assert cache.usage().n_entries == 4 and not told
    assert answer(compare_captures(job, replace(ALONE, cache=cache))) == expected

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    cache.clear()
    monkeypatch.setattr(caching, "_write", full)
    assert answer(handed_out(monkeypatch, job, replace(SHARED, cache=cache))) == expected
    assert told == ["No space left on device"]


def test_a_cancel_is_raised(job: CapturePair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hand_out, "SMALL_BYTES", 0)
    with pytest.raises(Cancelled):
        compare_captures(job, SHARED, is_cancelled=lambda: True)


def test_little_to_read_is_read_here(job: CapturePair) -> None:
    artifacts = [*job.target, *job.golden]
    assert not hand_out.worth_handing_out(artifacts, SHARED)
    large = [replace(one, size_bytes=hand_out.SMALL_BYTES // 8) for one in artifacts]
    assert hand_out.worth_handing_out(large, SHARED)
    assert not hand_out.worth_handing_out(large, ALONE)
    assert not hand_out.worth_handing_out(large[:2], SHARED)
