from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from npulse.core.watch.activity import MAX_RECENT, Activity
from npulse.core.watch.changes import Change, FileState
from npulse.core.watch.writers import has_writer

# ---- who writes ----


@pytest.mark.parametrize(("mode", "expected"), [("a", True), ("w", True), ("r+", True), ("r", False)])
def test_a_process_that_has_a_file_open_for_writing_is_found(
    tmp_path: Path, mode: str, expected: bool
) -> None:
    path = tmp_path / "x.log"
    path.write_text("one")
    code = f"f=open({str(path)!r},{mode!r}); print(flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert has_writer([str(path)]) is expected
        assert has_writer([str(tmp_path / "missing"), str(path)]) is expected
        path.rename(tmp_path / "y.log")  # it is the file that counts, not the name it was opened by
        assert has_writer([str(tmp_path / "y.log")]) is expected
        process.kill()
    assert has_writer([str(tmp_path / "y.log")]) is False


def test_another_file_of_the_same_name_is_not_the_one(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.log").touch()
    with (tmp_path / "one" / "x.log").open("a"):
        assert has_writer([str(tmp_path / "one" / "x.log")]) is True
        assert has_writer([str(tmp_path / "two" / "x.log")]) is False


def test_where_nobody_may_be_asked_nobody_is_found(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.touch()
    (tmp_path / "proc" / "17").mkdir(parents=True)  # a process that ended: without fd
    (tmp_path / "proc" / "18" / "fd").mkdir(parents=True)
    (tmp_path / "proc" / "18" / "fd" / "3").symlink_to(path)  # without fdinfo
    assert has_writer([str(path)], tmp_path / "proc") is False
    (tmp_path / "proc" / "18" / "fdinfo").mkdir()
    (tmp_path / "proc" / "18" / "fdinfo" / "3").write_text("pos:\t0\nflags:\t0100001\n")
    assert has_writer([str(path)], tmp_path / "proc") is True
    assert has_writer([str(path)], tmp_path / "missing") is False
    assert has_writer([]) is False


# ---- quiet, rate, and what follows from a closing ----


class Asked:
    """Who answers whether somebody writes, and how often it was asked."""

    def __init__(self, answer: bool) -> None:
        self.answer = answer
        self.paths: list[tuple[str, ...]] = []

    def __call__(self, paths: Iterable[str]) -> bool:
        self.paths.append(tuple(paths))
        return self.answer


def activity(asked: Asked, *, newest_s: float | None = None, recent: tuple[str, ...] = ()) -> Activity:
    one = Activity(5.0, asked, lambda: 0.0)
    one.begin(recent, None if newest_s is None else int(newest_s * 1e9), 0.0, int(1000e9))
    return one


def grown(path: str, n_bytes: int, at_s: float) -> Change:
    before = FileState(1, 1, 100, 0, 0)
    at_ns = int((1000 + at_s) * 1e9)
    return Change(path, "grown", before, FileState(1, 1, 100 + n_bytes, at_ns, at_ns))


def write(one: Activity, at_s: float, n_bytes: int = 10, closed: tuple[str, ...] = ()) -> None:
    one.note([grown("x", n_bytes, at_s)], closed, at_s, int((1000 + at_s) * 1e9) + 20_000_000)


def test_a_run_that_was_written_long_ago_is_quiet_from_the_first_look() -> None:
    one = activity(Asked(False), newest_s=990.0)
    assert one.is_quiet and one.last_write_ns == int(990e9) and one.has_writer is None
    assert activity(Asked(False)).is_quiet
    fresh = activity(Asked(False), newest_s=998.0)
    assert not fresh.is_quiet and fresh.due_s == pytest.approx(3.0)


def test_it_turns_quiet_some_seconds_after_the_last_write() -> None:
    one = activity(Asked(False), newest_s=990.0)
    write(one, 10.0)
    assert not one.is_quiet and one.due_s == 15.0
    assert one.last_write_ns == int(1010e9) and one.lag_s == pytest.approx(0.02)
    one.settle(14.9)
    assert not one.is_quiet
    one.settle(15.0)
    assert one.is_quiet and one.bytes_per_s(15.0) == 0.0


def test_the_rate_is_that_of_the_last_seconds() -> None:
    one = activity(Asked(False), newest_s=990.0)
    for number in range(40):
        write(one, 10.0 + number * 0.25, n_bytes=100)
    assert one.bytes_per_s(19.75) == pytest.approx(400, rel=0.1)
    assert one.bytes_per_s(22.0) == pytest.approx(200, rel=0.2)


def test_nobody_writing_counts_only_where_a_writer_could_be_seen() -> None:
    asked = Asked(False)
    one = activity(asked, newest_s=990.0)
    write(one, 10.0)
    one.settle(15.0)
    assert one.has_writer is None  # perhaps of another user, or in another container
    asked.answer = True
    write(one, 30.0)
    assert one.has_writer is True
    one.settle(35.0)
    assert one.has_writer is True and one.due_s == 45.0
    asked.answer = False
    one.settle(45.0)
    assert one.has_writer is False and one.due_s == float("inf")
    n_asked = len(asked.paths)
    one.settle(500.0)
    assert len(asked.paths) == n_asked


def test_files_that_were_all_closed_have_no_writer() -> None:
    one = activity(Asked(False), newest_s=990.0)
    one.note([grown("x", 1, 10.0), grown("y", 1, 10.0)], ["x"], 10.0, int(1010e9))
    one.settle(15.0)
    assert one.has_writer is None  # y is still open
    write(one, 20.0, closed=("x",))
    one.settle(25.0)
    assert one.has_writer is False
    write(one, 30.0)
    assert one.has_writer is None  # somebody writes after all


def test_a_closing_while_it_is_quiet_asks_at_once() -> None:
    asked = Asked(True)
    one = activity(asked, newest_s=990.0)
    write(one, 10.0)
    one.settle(15.0)
    asked.answer = False
    one.note([], ["x"], 16.0, int(1016e9))
    assert one.has_writer is False


def test_on_other_hosts_nobody_can_be_asked() -> None:
    asked = Asked(True)
    one = Activity(5.0, asked, lambda: 0.0)
    one.can_ask = False
    one.begin(["x"], int(990e9), 0.0, int(1000e9))
    write(one, 10.0)
    one.settle(15.0)
    assert one.has_writer is None and asked.paths == []


def test_only_files_that_were_written_lately_are_asked_for() -> None:
    asked = Asked(True)
    one = activity(asked, newest_s=990.0, recent=("old",))
    assert asked.paths == [("old",)]
    one.note([grown(str(n), 1, 20.0) for n in range(1000)], (), 20.0, int(1020e9))
    one.settle(25.0)
    assert asked.paths[-1] == tuple(str(n) for n in range(1000 - MAX_RECENT, 1000))
    one.note([Change("999", "deleted", FileState(1, 1, 1, 1, 1), None)], (), 26.0, int(1026e9))
    one.settle(35.0)
    assert "999" not in asked.paths[-1]


def test_a_clock_of_another_host_that_is_ahead_makes_no_future_write() -> None:
    one = activity(Asked(False), newest_s=990.0)
    one.note([grown("x", 1, 500.0)], (), 10.0, int(1010e9))
    assert one.last_write_ns == int(1010e9) and one.lag_s == 0.0
