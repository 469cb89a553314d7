"""A comparison that was stopped goes on where it was, with the result that it would have had."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from npulse.core import journal
from npulse.core.cache import Cache
from npulse.core.errors import Cancelled
from npulse.core.precision.compare import Comparison, Settings, compare_captures
from npulse.core.precision.reading import reads
from npulse.core.precision.report import report
from npulse.core.progress import Progress
from npulse.core.report.as_json import to_dict
from npulse.core.run.sides import CapturePair

from .small_pairs import name_of, write_pair

N, DIFFERING = 12, (2, 3, 7, 11)

Opened = dict[str, list[str]]

KILLED = """
import os, signal, sys
from pathlib import Path
from npulse.core import journal
from npulse.core.cache import Cache
from npulse.core.precision.compare import Settings, compare_captures
from npulse.core.run.sides import pair_of

folder, stage, after = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
journal._FLUSH_S = 0.0

def kill(progress):
    if progress.stage == stage and progress.done == after:
        os.kill(os.getpid(), signal.SIGKILL)

pair = pair_of(folder / "target", folder / "golden")
compare_captures(pair, Settings(jobs=1, cache=Cache(folder / "cache")), progress=kill)
"""


@pytest.fixture
def pair(tmp_path: Path) -> CapturePair:
    return write_pair(tmp_path, N, DIFFERING)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """The files of the target that each of the two reads takes."""
    seen: dict[str, list[str]] = {"measure": [], "look_closer": []}

    def noted(name: str, how: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def work(job: Any) -> Any:
            one = job if name == "measure" else job[0]
            seen[name].append(one.target.name)
            return how(job)

        return work

    for name in seen:
        monkeypatch.setattr(reads, name, noted(name, getattr(reads, name)))
    monkeypatch.setattr(journal, "_FLUSH_S", 0.0)
    return seen


def everything(comparison: Comparison) -> Any:
    rows = comparison.ranks[0].rows
    figures = {name: column.tobytes() for name, column in rows.figures.items()}
    body = to_dict(report(comparison, tables=True), "0")
    body.pop("npulse")
    return body, figures, rows.examinations, rows.patterns


def kept(folder: Path) -> list[str]:
    return sorted(path.suffix for path in (folder / "cache").iterdir())


def settings(tmp_path: Path) -> Settings:
    return Settings(jobs=1, cache=Cache(tmp_path / "cache"))


@pytest.mark.parametrize(
    ("stage", "after", "measured", "examined"), [("compare", 8, 4, 4), ("look closer", 2, 0, 2)]
)
def test_killed_and_begun_again(
    pair: CapturePair,
    tmp_path: Path,
    opened: Opened,
    stage: str,
    after: int,
    measured: int,
    examined: int,
) -> None:
    words = [sys.executable, "-c", KILLED, str(tmp_path), stage, str(after)]
    assert subprocess.run(words, timeout=120).returncode == -signal.SIGKILL
    assert kept(tmp_path) == [".journal"]
    again = compare_captures(pair, settings(tmp_path))
    assert opened["measure"] == [name_of(n) for n in range(N - measured, N)]
    assert opened["look_closer"] == [name_of(n) for n in DIFFERING[len(DIFFERING) - examined :]]
    assert kept(tmp_path) == [".npz"]
    assert everything(again) == everything(compare_captures(pair, Settings(jobs=1)))


def stop_at(stage: str, done: int) -> tuple[Callable[[Progress], None], Callable[[], bool]]:
    stopped = False

    def look(progress: Progress) -> None:
        nonlocal stopped
        stopped = stopped or progress.stage == stage and progress.done >= done

    return look, lambda: stopped


def test_stopped_twice(pair: CapturePair, tmp_path: Path, opened: Opened) -> None:
    for stage, done in (("compare", 5), ("look closer", 1)):
        progress, is_cancelled = stop_at(stage, done)
        with pytest.raises(Cancelled):
            compare_captures(pair, settings(tmp_path), progress=progress, is_cancelled=is_cancelled)
    again = compare_captures(pair, settings(tmp_path))
    assert opened["measure"] == [name_of(n) for n in range(N)]
    assert opened["look_closer"] == [name_of(n) for n in DIFFERING]
    assert everything(again) == everything(compare_captures(pair, Settings(jobs=1)))


def stopped(pair: CapturePair, tmp_path: Path) -> Path:
    progress, is_cancelled = stop_at("compare", 5)
    with pytest.raises(Cancelled):
        compare_captures(pair, settings(tmp_path), progress=progress, is_cancelled=is_cancelled)
    return next((tmp_path / "cache").glob("*.journal"))


def test_what_changed_since_is_not_believed(pair: CapturePair, tmp_path: Path, opened: Opened) -> None:
    stopped(pair, tmp_path)
    changed = pair.root_of("target") / "step0" / "rank0" / "dump_tensor_data" / name_of(1)
    os.utime(changed, (1, 1))
    opened["measure"].clear()
    compare_captures(pair, settings(tmp_path))
    assert len(opened["measure"]) == N


def test_a_torn_end_is_read_again(pair: CapturePair, tmp_path: Path, opened: Opened) -> None:
    path = stopped(pair, tmp_path)
    os.truncate(path, path.stat().st_size - 3)
    opened["measure"].clear()
    again = compare_captures(pair, settings(tmp_path))
    assert opened["measure"] == [name_of(n) for n in range(4, N)]
    assert everything(again) == everything(compare_captures(pair, Settings(jobs=1)))


def test_records_that_say_something_else_are_left_out(
    pair: CapturePair, tmp_path: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole by their checksum and nothing that we write: of a version to come, or somebody's own."""
    add, raw = (
        journal.Journal.add,
        [b"", b"\0", b"\0\0\0\0\0" + b"\xff" * 4, b"\0\xff\xff\xff\xff" + bytes(4)],
    )
    odd = [b"\1\2\0\0\0[1,2]", b"\1\2\0\0\0[{},null]", b"\1\2\0\0\0null", b"\7\0\0\0\0" + bytes(260)]
    add = journal.Journal.add

    def add_odd(self: journal.Journal, payload: bytes) -> None:
        for one in odd:
            add(self, one)

    with monkeypatch.context() as patch:
        patch.setattr(
            journal.Journal, "add", lambda self, payload: [add(self, one) for one in (*raw, *odd)] and None
        )
        stopped(pair, tmp_path)
    opened["measure"].clear()
    again = compare_captures(pair, settings(tmp_path))
    assert len(opened["measure"]) == N
    assert everything(again) == everything(compare_captures(pair, Settings(jobs=1)))


def test_nothing_is_kept_without_a_cache(pair: CapturePair, tmp_path: Path) -> None:
    progress, is_cancelled = stop_at("compare", 5)
    with pytest.raises(Cancelled):
        compare_captures(pair, Settings(jobs=1), progress=progress, is_cancelled=is_cancelled)
    assert not (tmp_path / "cache").exists()


def test_a_full_disk_stops_nothing(
    pair: CapturePair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(journal.os, "pwrite", full)
    monkeypatch.setattr("npulse.core.cache.os.fsync", full)
    asked = settings(tmp_path)
    assert everything(compare_captures(pair, asked)) == everything(compare_captures(pair, Settings(jobs=1)))
    assert asked.cache is not None and asked.cache.trouble == os.strerror(errno.ENOSPC)


def test_a_comparison_beside_another_one(pair: CapturePair, tmp_path: Path) -> None:
    path = stopped(pair, tmp_path)
    with path.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        again = compare_captures(pair, settings(tmp_path))
    assert everything(again) == everything(compare_captures(pair, Settings(jobs=1)))
