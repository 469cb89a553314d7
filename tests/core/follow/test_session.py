"""A followed run: what is told, once; what does not hold any more; when looks begin."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.growing import NAMES, head, record

from npulse.core.analysis import AnalysisOptions
from npulse.core.findings import Finding
from npulse.core.follow.session import HEARTBEAT_S, Follow, Look
from npulse.core.progress import IsCancelled, never_cancelled
from npulse.core.run.discover import discover
from npulse.core.watch.events import ArtifactAppeared, ArtifactGrew, Batch, LiveState
from npulse.core.watch.watcher import Watch

LIVE = LiveState("inotify", "", True, 0.0, None, None, None, None)


class Clock:
    """Time that goes on only when somebody waits or works."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


class Steps:
    """A watch that finds a folder grown when it is told so."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.is_first = True

    def poll(self) -> Batch:
        run = discover(self.path)
        made = ArtifactAppeared if self.is_first else None
        self.is_first = False
        events = [
            made(a, 0) if made else ArtifactGrew(a, a.path, 0, a.size_bytes, "grown", 0)
            for a in run.artifacts
        ]
        return Batch(run, tuple(events), LIVE, ())

    def batches(self, is_cancelled: IsCancelled = never_cancelled) -> Iterator[Batch]:
        yield self.poll()

    def close(self) -> None:
        pass


def add(folder: Path, kind: str, begin: int, end: int) -> Path:
    path = folder / NAMES[kind]
    if not path.exists():
        path.write_text(head(kind))
    with path.open("a") as file:
        file.writelines(record(kind, k) for k in range(begin, end))
    return path


def follow(path: Path, **options: object) -> tuple[Follow, Steps]:
    watch = Steps(path)
    return Follow(path, AnalysisOptions(), watch=watch, **options), watch  # type: ignore[arg-type]


def places(findings: tuple[Finding, ...]) -> set[str]:
    return {finding.subject for finding in findings if finding.rule == "memory.access"}


def test_a_finding_is_told_once_however_often_it_is_there(tmp_path: Path) -> None:
    add(tmp_path, "sanitizer", 0, 2)
    following, watch = follow(tmp_path)
    first = following.look(watch.poll())
    assert {subject.rpartition(":")[2] for subject in places(first.new)} == {"20", "21"}
    add(tmp_path, "sanitizer", 2, 8)
    second = following.look(watch.poll())
    assert {subject.rpartition(":")[2] for subject in places(second.new)} == {"22", "23", "24"}
    add(tmp_path, "sanitizer", 8, 30)
    third = following.look(watch.poll())
    assert (places(third.new), third.withdrawn) == (set(), ())
    assert third.exit_code() == 1 and third.verdict == "fail"


def test_findings_of_a_rotated_log_are_not_told_again(tmp_path: Path) -> None:
    log = add(tmp_path, "sanitizer", 0, 3)
    following, watch = follow(tmp_path)
    assert len(places(following.look(watch.poll()).new)) == 3
    log.rename(f"{log}.1")
    add(tmp_path, "sanitizer", 3, 4)
    look = following.look(watch.poll())
    assert places(look.new) == {"/home/user/ops/add_custom.cpp:23"}
    assert not places(look.withdrawn)


def test_an_area_is_asked_only_where_something_of_its_kinds_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(tmp_path, "sanitizer", 0, 2)
    add(tmp_path, "op_summary", 0, 50)
    following, watch = follow(tmp_path)
    following.look(watch.poll())
    asked: list[str] = []
    ask = Follow._ask
    monkeypatch.setattr(
        Follow, "_ask", lambda self, one, *rest: (asked.append(one.area.id), ask(self, one, *rest))[1]
    )
    add(tmp_path, "sanitizer", 2, 3)
    batch = watch.poll()
    logs = tuple(event for event in batch.events if event.artifact.kind.startswith("sanitizer"))
    following.look(Batch(batch.run, logs, LIVE, ()))
    assert asked == ["memory"]


def test_nothing_recognised_is_no_pass(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing of ours")
    following, _ = follow(tmp_path)
    look = following.once()
    assert (look.verdict, look.exit_code(), look.new) == ("unknown", 4, ())


def test_what_cannot_be_read_is_told_once_and_the_rest_goes_on(tmp_path: Path) -> None:
    add(tmp_path, "sanitizer", 0, 1)
    (tmp_path / "op_summary_20260801120500.csv").write_bytes(b"\x00\xff" * 40)
    following, watch = follow(tmp_path)
    first = following.look(watch.poll())
    assert places(first.new) and first.problems
    second = following.look(watch.poll())
    assert second.problems == () and second.new == ()


def test_looks_come_at_most_each_interval_and_a_beat_between(tmp_path: Path) -> None:
    clock = Clock()
    first_is_over, ready = threading.Event(), threading.Event()

    class Growing(Steps):
        def batches(self, is_cancelled: IsCancelled = never_cancelled) -> Iterator[Batch]:
            yield self.poll()
            first_is_over.wait(10)
            for k in range(5):
                add(tmp_path, "sanitizer", k, k + 1)
                yield self.poll()
            ready.set()

    add(tmp_path, "sanitizer", 0, 1)
    following = Follow(
        tmp_path,
        AnalysisOptions(),
        watch=Growing(tmp_path),
        interval_s=300.0,
        clock=clock,  # type: ignore[arg-type]
    )
    looks = following.looks()
    first = next(looks)
    first_is_over.set()
    assert first.is_changed and ready.wait(10)
    clock.now_s += HEARTBEAT_S
    beat = next(looks)
    assert not beat.is_changed and beat.new == ()
    clock.now_s += 300.0
    second = next(look for look in looks if look.is_changed)
    assert len(places(second.new)) >= 3
    looks.close()  # type: ignore[attr-defined]


def test_when_nobody_writes_any_more_what_was_unfinished_is_judged(tmp_path: Path) -> None:
    clock = Clock()
    path = add(tmp_path, "plog", 0, 1)
    following = Follow(tmp_path, AnalysisOptions(), watch=Steps(tmp_path), clock=clock)  # type: ignore[arg-type]
    looks = following.looks()
    first = next(looks)
    assert "memory.incomplete" in {finding.rule for finding in first.new}
    old_s = path.stat().st_mtime - 3600
    os.utime(path, (old_s, old_s))
    clock.now_s += HEARTBEAT_S - 1
    last = next(looks)
    assert [finding.rule for finding in last.withdrawn] == ["memory.incomplete"]
    assert (last.new, last.verdict) == ((), "fail")
    clock.now_s += 10 * HEARTBEAT_S
    assert not next(looks).is_changed, "once is enough"
    looks.close()  # type: ignore[attr-defined]


def test_the_real_watch_and_a_writer(tmp_path: Path) -> None:
    add(tmp_path, "sanitizer", 0, 1)
    following = Follow(tmp_path, AnalysisOptions(), watch=Watch(tmp_path))
    seen: list[Look] = []
    for look in following.looks():
        seen.append(look)
        if len(seen) == 1:
            add(tmp_path, "sanitizer", 1, 4)
        if sum(len(places(one.new)) for one in seen) == 4:
            break
    assert [subject for one in seen for subject in sorted(places(one.new))] == sorted(
        subject for one in seen for subject in places(one.new)
    )
