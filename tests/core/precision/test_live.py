"""A capture compared while it is written: every look is right so far, the last one is the cold one."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from npulse.core.findings import Report
from npulse.core.precision.compare import Comparison, Settings, compare_captures
from npulse.core.precision.reading import reads
from npulse.core.precision.reading.work import Measured, TensorJob, measure
from npulse.core.precision.report import report
from npulse.core.report.as_json import to_dict
from npulse.core.run.sides import pair_of
from npulse.core.tails import Tails

from . import faulty_net as fn
from .faulty_net import Fault
from .replay import Replay, age

PLACE = "Functional.relu.0.forward"
FAULT = Fault("output", PLACE, "outlier")


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished capture of both sides; that of the target has a fault."""
    folder = tmp_path_factory.mktemp("captures")
    for side, golden in (("source", False), ("golden", True)):
        net = fn.run_alone(FAULT, golden=golden, seed=1, backward=False, ulp_noise=True, rank=0)
        net.write(folder / side / "step0" / "rank0", "mix", "tensor")
    age(folder)
    return folder


_counter = itertools.count()


def replay_of(captures: Path) -> Replay:
    target = captures / f"target{next(_counter)}" / "step0" / "rank0"
    return Replay(captures / "source" / "step0" / "rank0", target)


def look(replay: Replay, captures: Path, tails: Tails | None) -> Comparison:
    pair = pair_of(replay.folder.parents[1], captures / "golden")
    return compare_captures(pair, Settings(tails=tails, jobs=1))


def told(comparison: Comparison) -> object:
    body = to_dict(report(comparison, tables=True), "0")
    return {key: value for key, value in body.items() if key != "npulse"}


def target_calls(comparison: Comparison) -> list[str]:
    (rank,) = comparison.ranks
    return [rank.target.calls.names[call] for call in rank.rows.pairing.target_call if call >= 0]


def origins(found: Report) -> list[str]:
    return [finding.subject for finding in found.findings if finding.role == "origin"]


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    counted: Counter[str] = Counter()

    def count(job: TensorJob) -> Measured:
        counted[job.target.name] += 1
        return measure(job)

    monkeypatch.setattr(reads, "measure", count)
    yield counted


def test_call_by_call(captures: Path, measured: Counter[str]) -> None:
    replay, tails = replay_of(captures), Tails()
    place = replay.names.index(PLACE)
    announced = None
    for n in range(1, len(replay.names) + 1):
        replay.run(1)
        if n % 5 == 0:
            replay.flush()
        comparison = look(replay, captures, tails)
        found = report(comparison)
        (growth,) = [rank.growth for rank in comparison.ranks]
        assert growth is not None and growth.n_pending == replay.n_unnamed
        assert target_calls(comparison) == replay.names[: replay.flushed]
        assert not comparison.problems
        assert not any(finding.rule == "precision.unmatched" for finding in found.findings)
        assert [
            finding.figures["n_pending"] for finding in found.findings if finding.rule == "precision.pending"
        ] == [replay.n_unnamed]
        if announced is None and PLACE in origins(found):
            announced = replay.flushed
        assert found.verdict == ("fail" if replay.flushed > place else "unknown")
    assert announced == place - place % 5 + 5
    replay.flush()
    replay.age()
    assert told(look(replay, captures, tails)) == told(look(replay, captures, None))
    assert set(measured.values()) == {2}  # once by all looks together, once by the cold one


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("run"), st.integers(1, 12), st.just(1.0)),
        st.tuples(st.just("flush"), st.just(0), st.one_of(st.just(1.0), st.floats(0, 1))),
        st.tuples(st.sampled_from(("look", "ended")), st.just(0), st.just(1.0)),
    ),
    max_size=30,
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(steps=[("run", 1, 1.0), ("ended", 0, 1.0), ("flush", 0, 0.0), ("look", 0, 1.0)])
@given(steps=STEPS)
def test_any_order_of_writes_and_looks(captures: Path, steps: list[tuple[str, int, float]]) -> None:
    replay, tails = replay_of(captures), Tails()
    place = replay.names.index(PLACE)
    n_known = 0
    is_whole = True
    for what, n_calls, share in steps:
        if what == "run":
            replay.run(n_calls)
        elif what == "flush":
            replay.flush(share)
            is_whole = share == 1.0
        elif what == "ended" and is_whole:
            replay.age()
            assert told(look(replay, captures, tails)) == told(look(replay, captures, None))
            replay.touch()
        else:
            comparison = look(replay, captures, tails)
            calls = target_calls(comparison)
            assert len(calls) == len(set(calls)) and calls == replay.names[: len(calls)]
            assert len(calls) >= (replay.flushed if is_whole else n_known)
            n_known = len(calls)
            found = report(comparison)
            assert not comparison.problems and found.verdict in ("fail", "unknown")
            assert (PLACE in origins(found)) == (len(calls) > place)
    replay.run(len(replay.names))
    replay.flush()
    replay.age()
    assert told(look(replay, captures, tails)) == told(look(replay, captures, None))


def test_a_tensor_that_is_half_written_is_pending_and_then_compared(captures: Path) -> None:
    replay, tails = replay_of(captures), Tails()
    replay.run(10)
    replay.flush()
    path = max((replay.folder / "dump_tensor_data").iterdir(), key=lambda one: one.stat().st_size)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    cut = look(replay, captures, tails)
    assert not cut.problems and cut.ranks[0].growth is not None and cut.ranks[0].growth.n_pending == 1
    replay.age()
    ended = look(replay, captures, tails)
    assert [(problem.kind, problem.artifact.endswith(path.name)) for problem in ended.problems] == [
        ("cut-off", True)
    ]
    assert ended.ranks[0].growth is None
    path.write_bytes(whole)
    replay.age()
    assert told(look(replay, captures, tails)) == told(look(replay, captures, None))


def test_a_capture_that_is_taken_away_stays_as_it_was_last(captures: Path) -> None:
    replay, tails = replay_of(captures), Tails()
    replay.run(20)
    replay.flush()
    pair = pair_of(replay.folder.parents[1], captures / "golden")
    first = compare_captures(pair, Settings(tails=tails, jobs=1))
    replay.folder.rename(replay.folder.with_name("elsewhere"))
    after = compare_captures(pair, Settings(tails=tails, jobs=1))
    assert target_calls(after) == target_calls(first) and len(target_calls(after)) == 20


def test_an_index_that_nobody_finished_is_cold_in_the_end(captures: Path) -> None:
    replay, tails = replay_of(captures), Tails()
    replay.run(20)
    replay.flush(0.7)
    assert not look(replay, captures, tails).problems
    replay.age()
    ended = look(replay, captures, tails)
    assert told(ended) == told(look(replay, captures, None))
    assert {problem.kind for problem in ended.problems} == {"cut-off"}


def test_steps_and_ranks_come_one_by_one(captures: Path, tmp_path: Path) -> None:
    for step in (0, 1):
        net = fn.run_alone(Fault(), golden=True, seed=step, rank=0)
        net.write(tmp_path / "golden" / f"step{step}" / "rank0", "L1", "statistics")
        net.write(tmp_path / "source" / f"step{step}" / "rank0", "L1", "statistics")
    age(tmp_path)
    tails = Tails()
    seen = []
    for step in (0, 1):
        replay = Replay(
            tmp_path / "source" / f"step{step}" / "rank0", tmp_path / "target" / f"step{step}" / "rank0"
        )
        replay.run(10**6)
        replay.flush()
        found = compare_captures(pair_of(tmp_path / "target", tmp_path / "golden"), Settings(tails=tails))
        seen.append(([rank.step for rank in found.ranks], found.problems, report(found).verdict))
    assert seen == [([0], (), "unknown"), ([0, 1], (), "unknown")]
    age(tmp_path)
    found = compare_captures(pair_of(tmp_path / "target", tmp_path / "golden"), Settings(tails=tails))
    assert told(found) == told(
        compare_captures(pair_of(tmp_path / "target", tmp_path / "golden"), Settings())
    )
