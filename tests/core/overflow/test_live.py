"""What is looked at while it is written: each look is right so far, the last one is the cold one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from npulse.core.errors import InputError
from npulse.core.findings import Report
from npulse.core.overflow import tensors
from npulse.core.overflow.analyse import Overflow
from npulse.core.overflow.report import report
from npulse.core.overflow.work import ScanJob, Scanned, scan_tensor
from npulse.core.report.as_json import to_dict
from npulse.core.tails import Tails

from ..precision import faulty_net as fn
from ..precision.faulty_net import Fault
from ..precision.replay import Replay, age
from .small_dumps import OPTIONS, analysed, begun
from .test_gradients import write_v1
from .test_graph import dump, magic, record

PLACE = "Functional.relu.0.forward"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished capture of a net in which a call makes a NaN."""
    folder = tmp_path_factory.mktemp("source") / "step0" / "rank0"
    net = fn.run_alone(Fault("output", PLACE, "nan"), golden=False, seed=1, backward=False, rank=0)
    net.write(folder, "mix", "tensor")
    age(folder.parents[1])
    return folder


def look(folder: Path, tails: Tails | None) -> Overflow:
    return analysed(folder, replace(OPTIONS, tails=tails))


def told(found: Overflow) -> object:
    body = to_dict(report(found, tables=True), "0")
    return {key: value for key, value in body.items() if key != "npulse"}


def pending(found: Report) -> list[dict[str, object]]:
    return [dict(finding.figures) for finding in found.findings if finding.rule == "overflow.pending"]


def first_call(found: Overflow) -> str | None:
    origins = begun(found)
    return origins[0][2] if origins else None


@pytest.fixture
def scanned(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    counted: Counter[str] = Counter()

    def count(job: ScanJob, near_ratio: float) -> Scanned:
        counted[job.name] += 1
        return scan_tensor(job, near_ratio)

    monkeypatch.setattr(tensors, "scan_tensor", count)
    yield counted


def test_call_by_call(source: Path, tmp_path: Path, scanned: Counter[str]) -> None:
    replay, tails = Replay(source, tmp_path / "run" / "step0" / "rank0"), Tails()
    place = replay.names.index(PLACE)
    for n in range(1, len(replay.names) + 1):
        replay.run(1)
        if n % 4 == 0:
            replay.flush()
        found = look(tmp_path / "run", tails)
        told_now = report(found)
        assert [one["n_pending"] for one in pending(told_now)] == [replay.n_unnamed]
        assert [len(rank.dump.calls.names) for rank in found.ranks] == [replay.flushed]
        assert found.problems == ()
        assert first_call(found) == (PLACE if replay.flushed > place else None)
        assert told_now.verdict == ("fail" if replay.flushed > place else "unknown")
    replay.flush()
    replay.age()
    assert told(look(tmp_path / "run", tails)) == told(look(tmp_path / "run", None))
    assert set(scanned.values()) == {2}  # once by all looks together, once by the cold one


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("run"), st.integers(1, 12), st.just(1.0)),
        st.tuples(st.just("flush"), st.just(0), st.one_of(st.just(1.0), st.floats(0, 1))),
        st.tuples(st.just("look"), st.just(0), st.just(1.0)),
    ),
    max_size=25,
)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_any_order_of_writes_and_looks(
    source: Path, tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, float]]
) -> None:
    folder = tmp_path_factory.mktemp("run")
    replay, tails = Replay(source, folder / "step0" / "rank0"), Tails()
    place = replay.names.index(PLACE)
    n_known = 0
    for what, n_calls, share in steps:
        if what == "run":
            replay.run(n_calls)
        elif what == "flush":
            replay.flush(share)
        else:
            found = look(folder, tails)
            (names,) = [list(rank.dump.calls.names) for rank in found.ranks]
            assert names == replay.names[: len(names)] and len(names) >= n_known
            n_known = len(names)
            assert first_call(found) == (PLACE if n_known > place else None)
            assert found.problems == () and report(found).verdict in ("fail", "unknown")
    replay.run(len(replay.names))
    replay.flush()
    replay.age()
    assert told(look(folder, tails)) == told(look(folder, None))


def test_a_tensor_that_is_half_written_is_pending_and_then_a_problem(source: Path, tmp_path: Path) -> None:
    replay, tails = Replay(source, tmp_path / "run" / "step0" / "rank0"), Tails()
    replay.run(10)
    replay.flush()
    path = max((replay.folder / "dump_tensor_data").iterdir(), key=lambda one: one.stat().st_size)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    found = look(tmp_path / "run", tails)
    assert found.problems == () and [one["n_pending"] for one in pending(report(found))] == [1]
    replay.age()
    ended = look(tmp_path / "run", tails)
    assert [problem.kind for problem in ended.problems] == ["cut-off"] and not pending(report(ended))


def test_overflow_records_that_come_one_by_one(tmp_path: Path) -> None:
    tails = Tails()
    folder = tmp_path / "dump"
    folder.mkdir()
    names = []
    for task in (1, 2, 3):
        bad = np.array([1.0, np.inf if task == 2 else 2.0], np.float16)
        dump(folder, f"add_{task}", task, 1000 * task, [np.ones(2, np.float16)], [bad])
        if task >= 2:
            record(folder, magic(task), 1000 * task + 1)
        found = look(tmp_path, tails)
        assert found.is_growing and found.problems == ()
        names.append((first_call(found), sum(len(part.joined) for part in found.graph)))
        assert report(found).verdict == ("fail" if task >= 2 else "unknown")
    assert names == [(None, 0), ("add_2_op", 1), ("add_2_op", 2)]
    half = record(folder, magic(3)[:100], 9000)
    assert look(tmp_path, tails).problems == ()
    age(tmp_path)
    assert {problem.artifact for problem in look(tmp_path, tails).problems} == {f"dump/{half.name}"}
    assert told(look(tmp_path, tails)) == told(look(tmp_path, None))


def test_monitor_tables_that_are_appended(tmp_path: Path) -> None:
    write_v1(tmp_path / "whole", 0, [(step, "grad_unreduced", "w", 1.0, int(step == 3)) for step in range(5)])
    (source,) = (tmp_path / "whole").rglob("*.csv")
    content = source.read_bytes()
    path = tmp_path / "run" / source.relative_to(tmp_path / "whole")
    path.parent.mkdir(parents=True)
    tails = Tails()
    bad_at = content.index(b"\n", content.index(b"w,3,"))
    seen = None
    for at in range(0, len(content), 7):
        with path.open("ab") as file:
            file.write(content[at : at + 7])
        try:
            found = look(tmp_path / "run", tails)
        except (InputError, IndexError):  # not recognised as yet
            assert at < content.index(b"\n")
            continue
        assert found.problems == ()
        if seen is None and found.gradients is not None and found.gradients.bad:
            seen = at + 7
    assert seen is not None and bad_at < seen <= bad_at + 8
    age(tmp_path)
    assert told(look(tmp_path / "run", tails)) == told(look(tmp_path / "run", None))
