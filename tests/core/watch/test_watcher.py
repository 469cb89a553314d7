from __future__ import annotations

import ctypes
import errno
import gc
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import InputError
from npulse.core.run.discover import discover
from npulse.core.run.stamp import FRESH_NS
from npulse.core.tails import Tails
from npulse.core.watch.changes import key_of
from npulse.core.watch.events import (
    ArtifactAppeared,
    ArtifactCompleted,
    ArtifactGrew,
    ArtifactVanished,
    Batch,
    WatchSettings,
)
from npulse.core.watch.filesystems import Mount
from npulse.core.watch.notices import Inotify, Polling
from npulse.core.watch.watcher import Watch

from ..run.test_discover import make_dump
from .doubles import FAULT, Action, Followed, words_of

MODES = pytest.mark.parametrize("polling", [False, True], ids=["inotify", "polling"])


def append(path: Path, text: str = FAULT) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(text)


def older(path: Path, by_s: float = 100.0) -> None:
    status = path.stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns - int(by_s * 1e9)))


def is_same_as_discovered(followed: Followed) -> bool:
    return followed.last.run == discover(followed.watch.path, now_ns=followed.clock.now_ns())


# ---- what happens to one file ----


def test_first_of_all_everything_has_appeared(tmp_path: Path) -> None:
    append(tmp_path / "x.log")
    make_dump(tmp_path / "step0" / "rank0")
    followed = Followed(tmp_path, until_s=1.0)
    first = followed.batches[0]
    assert [words_of(event) for event in first.events] == ["Appeared step0/rank0", "Appeared x.log"]
    assert first.run == discover(tmp_path, now_ns=followed.clock.now_ns())
    assert (first.state.mode, first.state.why, first.state.is_reachable) == ("inotify", "", True)


SIZE = len(FAULT)


def rotate(folder: Path) -> None:
    (folder / "x.log").rename(folder / "x.log.1")
    append(folder / "x.log.1", "end\n")
    append(folder / "x.log")


def replace(folder: Path) -> None:
    (folder / "beside").write_text(FAULT + "other")
    os.replace(folder / "beside", folder / "x.log")


HAPPENINGS: list[tuple[Callable[[Path], object], list[str]]] = [
    (lambda folder: append(folder / "x.log", "more\n"), [f"Grew x.log {SIZE}-{SIZE + 5} grown"]),
    (lambda folder: os.truncate(folder / "x.log", SIZE - 1), [f"Grew x.log 0-{SIZE - 1} truncated"]),
    (lambda folder: (folder / "x.log").write_text(FAULT), [f"Grew x.log 0-{SIZE} rewritten"]),
    (replace, [f"Grew x.log 0-{SIZE + 5} replaced"]),
    (lambda folder: (folder / "x.log").unlink(), ["Vanished x.log"]),
    (lambda folder: append(folder / "y.log"), ["Appeared y.log"]),
    (lambda folder: append(folder / "deep" / "er" / "y.log"), ["Appeared deep/er/y.log"]),
    (
        rotate,
        [
            "Appeared x.log.1",
            f"Grew x.log.1 {SIZE}-{SIZE + 4} renamed",
            f"Grew x.log 0-{SIZE} replaced",
        ],
    ),
    (
        lambda folder: (folder / "x.log").rename(folder / "y.log"),
        ["Appeared y.log", f"Grew y.log {SIZE}-{SIZE} renamed", "Vanished x.log"],
    ),
    (lambda folder: append(folder / "x.log", ""), []),
    (lambda folder: (folder / "notes.md").write_text("nothing known"), []),
    (lambda folder: (folder / "empty").mkdir(), []),
]


@MODES
@pytest.mark.parametrize(("happening", "expected"), HAPPENINGS)
def test_what_happens_is_told_once(
    tmp_path: Path, polling: bool, happening: Callable[[Path], object], expected: list[str]
) -> None:
    append(tmp_path / "x.log")
    older(tmp_path / "x.log")
    followed = Followed(tmp_path, [(8.0, lambda: happening(tmp_path))], polling=polling)
    assert [words for words in followed.told() if not words.startswith("Completed")] == expected
    assert is_same_as_discovered(followed)
    seen_s = [at for at, batch in zip(followed.times, followed.batches, strict=True) if batch.events][1:2]
    assert all(8.0 <= at <= 9.0 for at in seen_s)


@MODES
def test_nothing_is_told_while_nothing_changes(tmp_path: Path, polling: bool) -> None:
    append(tmp_path / "x.log")
    older(tmp_path / "x.log")
    discovered: list[Path] = []

    def counted(path: Path, **options: Any) -> Any:
        discovered.append(path)
        return discover(path, **options)

    followed = Followed(tmp_path, until_s=3600.0, polling=polling, discover=counted)
    assert followed.times == [0.0] and len(discovered) == 1
    assert followed.last.state.quiet_since_ns == (tmp_path / "x.log").stat().st_mtime_ns
    assert followed.n_waits < 3 * 3600


def test_growth_is_told_as_often_as_a_quarter_second_allows_and_needs_no_discovery(tmp_path: Path) -> None:
    append(tmp_path / "x.log")
    discovered: list[int] = []

    def counted(path: Path, **options: Any) -> Any:
        discovered.append(1)
        return discover(path, **options)

    actions = [(1.0 + number * 0.01, lambda: append(tmp_path / "x.log", "more\n")) for number in range(500)]
    followed = Followed(tmp_path, actions, 30.0, discover=counted)
    times = [at for at, batch in zip(followed.times, followed.batches, strict=True) if batch.events]
    assert all(after - before > 0.249 for before, after in zip(times, times[1:], strict=False))
    grown = [event for batch in followed.batches for event in batch.events if isinstance(event, ArtifactGrew)]
    assert len(grown) <= 21
    assert [event.from_byte for event in grown[1:]] == [event.size_bytes for event in grown[:-1]]
    assert (grown[0].from_byte, grown[-1].size_bytes) == (SIZE, SIZE + 2500)
    assert all(event.artifact.size_bytes == event.size_bytes for event in grown)
    assert len(discovered) <= 2 + 5 / 2 + 1
    assert is_same_as_discovered(followed)


@MODES
def test_thousands_of_new_files_make_few_batches_and_one_right_run(tmp_path: Path, polling: bool) -> None:
    rank = make_dump(tmp_path / "step0" / "rank0", task="tensor", tensors=1)
    tensors = rank / "dump_tensor_data"

    def burst(number: int) -> None:
        for at in range(1000):
            (tensors / f"Torch.mul.{number * 1000 + at}.forward.input.0.pt").write_bytes(b"12345")

    actions: list[Action] = [(1.0 + number * 0.2, lambda n=number: burst(n)) for number in range(10)]  # type: ignore[misc]
    followed = Followed(tmp_path, actions, 60.0, polling=polling)
    with_events = [batch for batch in followed.batches[1:] if batch.events]
    assert 1 <= len(with_events) <= 20
    assert is_same_as_discovered(followed)
    (artifact,) = followed.last.run.artifacts
    assert artifact.size_bytes == 100 + 50_000 + (rank / "dump.json").stat().st_size
    grown = [event for batch in with_events for event in batch.events if isinstance(event, ArtifactGrew)]
    assert len({event.path for event in grown}) == len(grown) == 10_000


# ---- artifacts of many files ----


def test_files_of_a_folder_artifact_are_told_as_its_growth(tmp_path: Path) -> None:
    rank = make_dump(tmp_path / "step0" / "rank0", task="tensor", tensors=2)
    session = tmp_path / "PROF_000001_20260101000000000_ABCDEF"
    (session / "device_0" / "data").mkdir(parents=True)
    (session / "device_0" / "data" / "ffts_profile.data.0.slice_0").write_bytes(b"1234")
    tensor = rank / "dump_tensor_data" / "Torch.abs.7.forward.input.0.pt"

    def happen() -> None:
        tensor.write_bytes(b"12345")
        (session / "device_0" / "data" / "ffts_profile.data.0.slice_1").write_bytes(b"12")
        (rank / "dump_tensor_data" / "Torch.abs.0.forward.input.0.pt").unlink()

    followed = Followed(tmp_path, [(1.0, happen)], 20.0)
    assert followed.told()[:3] == [
        "Grew ffts_profile.data.0.slice_1 0-2 grown",
        "Grew Torch.abs.0.forward.input.0.pt 0-0 truncated",
        "Grew Torch.abs.7.forward.input.0.pt 0-5 grown",
    ]
    grown = [e for batch in followed.batches for e in batch.events if isinstance(e, ArtifactGrew)]
    assert [event.artifact.kind for event in grown] == ["prof.session", "msprobe.dump", "msprobe.dump"]
    assert grown[1].artifact.path == rank / "dump.json"
    assert is_same_as_discovered(followed)


def test_a_dump_is_complete_when_its_index_is_closed(tmp_path: Path) -> None:
    rank = make_dump(tmp_path / "rank0")
    text = (rank / "dump.json").read_text()
    (rank / "dump.json").write_text(text[:-9])
    followed = Followed(tmp_path, [(3.0, lambda: append(rank / "dump.json", text[-9:]))])
    assert followed.batches[0].run.artifacts[0].completeness == "in progress"
    assert followed.told() == [f"Grew dump.json {len(text) - 9}-{len(text)} grown", "Completed rank0"]
    assert followed.last.run.artifacts[0].completeness == "complete"


def test_a_dump_whose_writer_stopped_is_cut_off_after_a_minute(tmp_path: Path) -> None:
    rank = make_dump(tmp_path / "rank0")
    text = (rank / "dump.json").read_text()
    (rank / "dump.json").write_text(text[:-9])
    followed = Followed(tmp_path, until_s=300.0)
    states = [batch.run.artifacts[0].completeness for batch in followed.batches]
    assert states[0] == "in progress" and states[-1] == "cut off"
    assert FRESH_NS / 1e9 - 1 < followed.times[-1] < FRESH_NS / 1e9 + 1
    assert is_same_as_discovered(followed)


def test_a_log_that_its_writer_closed_is_complete_until_it_grows(tmp_path: Path) -> None:
    append(tmp_path / "x.log")

    def later() -> None:
        append(tmp_path / "x.log", "more\n")

    followed = Followed(tmp_path, [(2.0, later), (10.0, later), (10.5, later)], 30.0)
    completed = [
        at
        for at, batch in zip(followed.times, followed.batches, strict=True)
        if any(isinstance(event, ArtifactCompleted) for event in batch.events)
    ]
    assert len(completed) == 2
    assert 3.0 <= completed[0] < 3.5 and 11.5 <= completed[1] < 12.0


def test_a_text_becomes_a_log_when_it_says_so(tmp_path: Path) -> None:
    append(tmp_path / "x.log", "starting\n")
    followed = Followed(tmp_path, [(1.0, lambda: append(tmp_path / "x.log"))])
    assert followed.batches[0].events == ()
    assert followed.told()[0] == "Appeared x.log"
    assert is_same_as_discovered(followed)


# ---- what vanished ----


def test_what_vanished_is_remembered_until_it_is_back(tmp_path: Path) -> None:
    for name in ("x.log", "y.log", "z.log"):
        append(tmp_path / name)

    def vanish() -> None:
        (tmp_path / "x.log").unlink()
        (tmp_path / "y.log").unlink()
        (tmp_path / "z.log").rename(tmp_path / "moved.log")

    followed = Followed(tmp_path, [(1.0, vanish), (5.0, lambda: append(tmp_path / "y.log"))])
    gone = [[artifact.relative for artifact in batch.gone] for batch in followed.batches]
    assert gone[0] == [] and ["x.log", "y.log"] in gone and gone[-1] == ["x.log"]


def test_a_file_that_may_only_have_the_inode_of_a_vanished_one_does_not_hide_it(tmp_path: Path) -> None:
    append(tmp_path / "x.log")

    def rotate_and_write() -> None:
        (tmp_path / "x.log").rename(tmp_path / "y.log")
        append(tmp_path / "y.log")

    followed = Followed(tmp_path, [(1.0, rotate_and_write)])
    assert [artifact.relative for artifact in followed.last.gone] == ["x.log"]


def test_only_so_many_vanished_ones_are_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("npulse.core.watch.ledger.MAX_GONE", 3)
    for number in range(5):
        append(tmp_path / f"{number}.log")
    followed = Followed(
        tmp_path,
        [(1.0 + n, lambda n=n: (tmp_path / f"{n}.log").unlink()) for n in range(5)],  # type: ignore[misc]
    )
    assert [artifact.relative for artifact in followed.last.gone] == ["2.log", "3.log", "4.log"]


# ---- a root that goes and comes ----


@MODES
def test_a_root_that_is_away_for_a_while_has_nothing_new_when_it_is_back(
    tmp_path: Path, polling: bool
) -> None:
    root, away = tmp_path / "run", tmp_path / "away"
    append(root / "x.log")
    append(root / "sub" / "y.log")
    older(root / "x.log")
    older(root / "sub" / "y.log")
    followed = Followed(
        root,
        [
            (32.0, lambda: root.rename(away)),
            (34.0, lambda: append(away / "z.log")),
            (40.0, lambda: away.rename(root)),
            (45.0, lambda: append(root / "sub" / "y.log", "more\n")),
        ],
        59.0,
        polling=polling,
    )
    reachable = [
        (at, batch.state.is_reachable) for at, batch in zip(followed.times, followed.batches, strict=True)
    ]
    changes = [now for before, now in zip(reachable, reachable[1:], strict=False) if before[1] != now[1]]
    assert [is_reachable for _, is_reachable in changes] == [False, True]
    assert 32.0 <= changes[0][0] <= 34.1 and 40.0 <= changes[1][0] <= 42.1
    assert all(batch.run.artifacts for batch in followed.batches)
    assert followed.told()[:2] == ["Appeared z.log", f"Grew y.log {SIZE}-{SIZE + 5} grown"]
    appeared, grown = [
        at for at, batch in zip(followed.times, followed.batches, strict=True) if batch.events
    ][1:3]
    assert 40.0 <= appeared <= 42.1 and 45.0 <= grown <= 46.1
    assert followed.last.state.mode == ("polling" if polling else "inotify")  # its watches are made again
    assert is_same_as_discovered(followed)


def test_an_unmounted_root_shows_the_empty_folder_below_it_and_is_not_taken_for_the_run(
    tmp_path: Path,
) -> None:
    root, mounted = tmp_path / "mnt", tmp_path / "mounted"
    append(root / "x.log")
    below, here = Mount("/", "ext4", "/dev/a"), Mount(str(root), "ext4", "/dev/b")
    mounts: list[tuple[Mount, ...]] = [(below, here)]

    def unmount() -> None:
        root.rename(mounted)
        root.mkdir()
        mounts[0] = (below,)

    def mount() -> None:
        root.rmdir()
        mounted.rename(root)
        mounts[0] = (below, here)

    followed = Followed(root, [(10.0, unmount), (20.0, mount)], 40.0, mounts=lambda: mounts[0])
    assert followed.told() == []
    states = [batch.state.is_reachable for batch in followed.batches]
    assert False in states and states[-1]
    assert all(len(batch.run.artifacts) == 1 for batch in followed.batches)


def test_a_root_is_back_when_what_was_mounted_over_it_is_gone(tmp_path: Path) -> None:
    root, aside, over = tmp_path / "run", tmp_path / "aside", tmp_path / "over"
    append(root / "x.log")
    below, here = Mount("/", "ext4", "/dev/a"), Mount(str(root), "tmpfs", "tmpfs")
    mounts: list[tuple[Mount, ...]] = [(below,)]

    def mount() -> None:
        root.rename(aside)
        append(root / "y.log")
        mounts[0] = (below, here)

    def unmount() -> None:
        root.rename(over)
        aside.rename(root)
        mounts[0] = (below,)

    def write() -> None:
        append(root / "x.log")

    steps = [(10.0, mount), (20.0, unmount), (40.0, write)]
    followed = Followed(root, steps, 60.0, mounts=lambda: mounts[0])
    last = followed.batches[-1]
    assert last.state.is_reachable
    assert [(one.path.name, one.size_bytes) for one in last.run.artifacts] == [("x.log", 2 * SIZE)]


def test_a_root_made_again_is_looked_at_anew(tmp_path: Path) -> None:
    root = tmp_path / "run"
    append(root / "x.log", FAULT * 2)  # longer than what may get its inode

    def again() -> None:
        shutil.rmtree(root)
        append(root / "y.log")

    followed = Followed(root, [(10.0, again), (20.0, lambda: append(root / "z.log"))], 40.0)
    told = [words for words in followed.told() if not words.startswith("Completed")]
    assert sorted(told) == ["Appeared y.log", "Appeared z.log", "Vanished x.log"]


def test_a_run_that_cannot_be_discovered_for_a_while_stays_what_it_was(tmp_path: Path) -> None:
    append(tmp_path / "x.log")
    n_asked = 0

    def refusing(path: Path, **options: Any) -> Any:
        nonlocal n_asked
        n_asked += 1
        if 1 < n_asked <= 6:
            raise InputError("not now", path=path)
        return discover(path, **options)

    followed = Followed(tmp_path, [(10.0, lambda: append(tmp_path / "y.log"))], 60.0, discover=refusing)
    assert followed.told() == ["Appeared y.log", "Completed y.log"]
    (appeared,) = [at for at, b in zip(followed.times, followed.batches, strict=True) if b.events][1:]
    assert 18.0 <= appeared <= 21.0 and n_asked == 7  # five refusals, two seconds apart
    assert all(batch.run.artifacts for batch in followed.batches)


def test_a_root_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with Watch(tmp_path / "missing") as watch, pytest.raises(InputError, match="no such file"):
        watch.poll()


# ---- single files, links ----


@MODES
def test_a_single_file_is_followed_over_its_rotation(tmp_path: Path, polling: bool) -> None:
    path = tmp_path / "x.log"
    append(path)
    append(tmp_path / "other.log")
    older(path)
    followed = Followed(
        path,
        [
            (1.0, lambda: append(tmp_path / "other.log", "more\n")),
            (10.0, lambda: append(path, "more\n")),
            (20.0, lambda: path.rename(tmp_path / "x.log.1")),
            (30.0, lambda: append(path)),
        ],
        50.0,
        polling=polling,
    )
    told = [words for words in followed.told() if not words.startswith("Completed")]
    assert told == [f"Grew x.log {SIZE}-{SIZE + 5} grown", f"Grew x.log 0-{SIZE} replaced"]
    assert [batch.state.is_reachable for batch in followed.batches].count(False) >= 1
    assert is_same_as_discovered(followed)


@MODES
def test_linked_folders_inside_the_run_are_watched_and_others_are_not(tmp_path: Path, polling: bool) -> None:
    root = tmp_path / "run"
    append(root / ".git" / "x.log")
    (root / "shown").symlink_to(".git")
    append(tmp_path / "outside" / "y.log")
    (root / "elsewhere").symlink_to(tmp_path / "outside")
    followed = Followed(
        root,
        [
            (1.0, lambda: append(root / ".git" / "x.log", "more\n")),
            (2.0, lambda: append(tmp_path / "outside" / "y.log", "more\n")),
        ],
        polling=polling,
    )
    told = [words for words in followed.told() if not words.startswith("Completed")]
    assert told == [f"Grew x.log {SIZE}-{SIZE + 5} grown"]
    assert is_same_as_discovered(followed)


@MODES
def test_a_root_that_is_a_link_is_followed_to_where_it_leads_now(tmp_path: Path, polling: bool) -> None:
    for name in ("run1", "run2"):
        append(tmp_path / name / f"{name}.log")
    latest = tmp_path / "latest"
    latest.symlink_to("run1")

    def next_run() -> None:
        (tmp_path / "beside").symlink_to("run2")
        os.replace(tmp_path / "beside", latest)

    followed = Followed(
        latest,
        [(5.0, next_run), (10.0, lambda: append(tmp_path / "run2" / "run2.log", "more\n"))],
        polling=polling,
    )
    told = [words for words in followed.told() if not words.startswith("Completed")]
    assert told == ["Appeared run2.log", "Vanished run1.log", f"Grew run2.log {SIZE}-{SIZE + 5} grown"]
    assert is_same_as_discovered(followed)


# ---- where inotify cannot be used ----


def test_where_the_limit_of_watches_is_met_it_polls_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from watchdog.observers import inotify_c

    real = inotify_c.inotify_add_watch

    def limited(fd: int, path: bytes, mask: int) -> int:
        if path.endswith(b"/sub"):
            ctypes.set_errno(errno.ENOSPC)
            return -1
        return int(real(fd, path, mask))

    monkeypatch.setattr(inotify_c, "inotify_add_watch", limited)
    append(tmp_path / "x.log")
    append(tmp_path / "other" / "sub" / "z.log")
    assert Followed(tmp_path / "other", until_s=1.0).batches[0].state.mode == "polling"
    shutil.rmtree(tmp_path / "other")
    followed = Followed(
        tmp_path,
        [
            (1.0, lambda: append(tmp_path / "x.log", "more\n")),
            (10.0, lambda: append(tmp_path / "sub" / "y.log")),
            (20.0, lambda: append(tmp_path / "sub" / "y.log", "more\n")),
        ],
        40.0,
    )
    assert followed.batches[0].state.mode == "inotify"
    assert followed.last.state.mode == "polling"
    word, limit = followed.last.state.why.split()
    assert word == "watch-limit" and int(limit) > 0
    assert [words for words in followed.told() if not words.startswith("Completed")] == [
        f"Grew x.log {SIZE}-{SIZE + 5} grown",
        "Appeared sub/y.log",
        f"Grew y.log {SIZE}-{SIZE + 5} grown",
    ]
    assert is_same_as_discovered(followed)


def test_where_it_polls_a_write_of_this_host_is_still_told_at_once(tmp_path: Path) -> None:
    append(tmp_path / "x.log")
    older(tmp_path / "x.log")
    followed = Followed(
        tmp_path,
        [(10.7, lambda: append(tmp_path / "x.log", "more\n"))],
        make=lambda folder, why: Inotify(folder, "network nfs4"),
    )
    (grown,) = [at for at, b in zip(followed.times, followed.batches, strict=True) if b.events][1:2]
    assert 10.7 <= grown < 10.96
    assert (followed.last.state.mode, followed.last.state.why) == ("polling", "network nfs4")


def test_polling_looks_at_what_changed_lately_more_often_than_at_everything(tmp_path: Path) -> None:
    append(tmp_path / "x.log")
    actions = [(10.0 + n * 0.5, lambda: append(tmp_path / "x.log", "more\n")) for n in range(10)]
    followed = Followed(tmp_path, actions, 30.0, polling=True)
    assert followed.last.state.why == "asked"
    assert sum(words.endswith("grown") for words in followed.told()) >= 9
    assert followed.told()[-1].endswith(f"-{SIZE + 50} grown")


def test_lost_notices_cost_a_later_look_and_nothing_else(tmp_path: Path) -> None:
    """Writes through a mapping, or of another mount, wake nobody."""

    class Deaf(Inotify):
        def enter(self, folder: str) -> None:
            pass

    append(tmp_path / "x.log")
    followed = Followed(
        tmp_path,
        [(1.0, lambda: append(tmp_path / "x.log", "more\n"))],
        60.0,
        make=lambda folder, why: Deaf(folder),
    )
    assert followed.told() == [f"Grew x.log {SIZE}-{SIZE + 5} grown"]
    assert followed.times[-1] <= 30.5 + 5
    assert is_same_as_discovered(followed)


# ---- state ----


def test_rate_lag_and_quiet(tmp_path: Path) -> None:
    append(tmp_path / "x.log")
    older(tmp_path / "x.log")
    actions = [(10.0 + n * 0.1, lambda: append(tmp_path / "x.log", "x" * 100)) for n in range(100)]
    followed = Followed(tmp_path, actions, 60.0)
    states = [batch.state for batch in followed.batches]
    assert states[0].quiet_since_ns is not None and states[0].bytes_per_s == 0.0
    (index,) = [i for i, at in enumerate(followed.times) if 19.5 < at < 19.8]
    assert states[index].bytes_per_s == pytest.approx(1000, rel=0.1)
    assert states[index].quiet_since_ns is None and states[index].lag_s is not None
    quiet = [at for at, state in zip(followed.times, states, strict=True) if state.quiet_since_ns is not None]
    assert len(quiet) == 2 and quiet[1] == pytest.approx(25.0, abs=0.5)
    assert states[-1].bytes_per_s == 0.0
    assert states[-1].last_write_ns == states[-1].quiet_since_ns == (tmp_path / "x.log").stat().st_mtime_ns


@MODES
def test_a_killed_writer_is_gone_within_seconds(tmp_path: Path, polling: bool) -> None:
    path = tmp_path / "x.log"
    code = f"import sys,time\nf=open({str(path)!r},'a')\nf.write({FAULT!r})\nf.flush()\nprint(flush=True)\n"
    code += "sys.stdin.readline()\nf.write('more\\n')\nf.flush()\nprint(flush=True)\ntime.sleep(600)"
    writer = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert writer.stdin is not None and writer.stdout is not None
    try:
        writer.stdout.readline()

        def write() -> None:
            assert writer.stdin is not None and writer.stdout is not None
            writer.stdin.write(b"\n")
            writer.stdin.flush()
            writer.stdout.readline()

        def kill() -> None:
            writer.send_signal(signal.SIGKILL)
            writer.wait()

        from npulse.core.watch.writers import has_writer

        followed = Followed(
            tmp_path, [(10.0, write), (30.0, kill)], 60.0, polling=polling, find_writer=has_writer
        )
    finally:
        writer.kill()
        writer.wait()
        writer.stdin.close()
        writer.stdout.close()
    told = [(at, b.state.has_writer) for at, b in zip(followed.times, followed.batches, strict=True)]
    assert told[0][1] is True
    gone = [at for at, is_there in told if is_there is False]
    assert gone and 30.0 <= gone[0] <= (41.0 if polling else 31.0)
    assert all(is_there is not False for at, is_there in told if at < 30.0)
    assert followed.last.state.last_write_ns == path.stat().st_mtime_ns


def test_on_a_network_file_system_nobody_is_asked_who_writes(tmp_path: Path) -> None:
    append(tmp_path / "x.log")
    asked: list[object] = []

    def find_writer(paths: object) -> bool:
        asked.append(paths)
        return True

    followed = Followed(
        tmp_path,
        [(1.0, lambda: append(tmp_path / "x.log", "more\n"))],
        make=lambda folder, why: Polling("network nfs4"),
        find_writer=find_writer,
    )
    assert asked == [] and followed.last.state.has_writer is None
    assert (followed.last.state.mode, followed.last.state.why) == ("polling", "network nfs4")


def test_hours_of_writing_and_rotating_take_no_more_memory_than_minutes(tmp_path: Path) -> None:
    class Count:
        def __init__(self) -> None:
            self.n_bytes = 0

        def feed(self, raw: bytes) -> None:
            self.n_bytes += len(raw)

    tails = Tails()
    log = tmp_path / "x.log"
    traced: list[int] = []

    def read(batch: Batch) -> bool:
        paths = [artifact.path for artifact in (*batch.run.artifacts, *batch.gone)]
        tails.begin(paths, tmp_path)
        for path in paths:
            tails.read(path, tmp_path, Count)
        return False

    def rotate() -> None:
        for at in (3, 2, 1):
            if (tmp_path / f"x.log.{at}").exists():
                (tmp_path / f"x.log.{at}").rename(tmp_path / f"x.log.{at + 1}")
        log.rename(tmp_path / "x.log.1")
        append(log)

    def weigh() -> None:
        gc.collect()  # what is held, not what the collector has not come round to yet
        traced.append(tracemalloc.get_traced_memory()[0])

    append(log)
    actions: list[Action] = [(5.0 * n, lambda: append(log, "more\n")) for n in range(1, 720)]
    actions += [(100.0 * n + 2, rotate) for n in range(1, 36)]
    actions += [(600.0 * n + 1, weigh) for n in range(1, 6)]
    tracemalloc.start()
    try:
        followed = Followed(tmp_path, actions, 3600.0, keep=read)
    finally:
        tracemalloc.stop()
    tails.close()
    assert followed.batches == [] and len(traced) == 5
    assert max(traced[1:]) - min(traced[1:]) < 200_000  # 5 KB for each removed log, which stays told


# ---- asked once, ended from outside ----


def test_one_look_is_complete_without_waiting(tmp_path: Path) -> None:
    append(tmp_path / "x.log")
    with Watch(tmp_path) as watch:
        first = watch.poll()
        assert first is not None and [words_of(event) for event in first.events] == ["Appeared x.log"]
        append(tmp_path / "y.log")
        append(tmp_path / "x.log", "more\n")
        second = watch.poll()
        assert second is not None
        assert [words_of(event) for event in second.events] == [
            "Appeared y.log",
            f"Grew x.log {SIZE}-{SIZE + 5} grown",
        ]
        assert second.run.artifacts == discover(tmp_path).artifacts
    assert watch.poll() is None


@pytest.mark.parametrize("polling", [False, True])
@pytest.mark.parametrize("is_cancelled", [False, True])
def test_a_waiting_watch_ends_when_it_is_told_to(tmp_path: Path, polling: bool, is_cancelled: bool) -> None:
    append(tmp_path / "x.log")
    older(tmp_path / "x.log")
    watch = Watch(tmp_path, settings=WatchSettings(polling=polling))
    word = threading.Event()
    is_begun, is_over = threading.Event(), threading.Event()
    found: list[Batch] = []

    def follow() -> None:
        for batch in watch.batches(word.is_set) if is_cancelled else watch.batches():
            found.append(batch)
            is_begun.set()
        is_over.set()

    before = len(os.listdir("/proc/self/fd"))
    thread = threading.Thread(target=follow)
    thread.start()
    assert is_begun.wait(10)
    word.set() if is_cancelled else watch.close()
    assert is_over.wait(10)
    thread.join()
    watch.close()
    assert len(found) == 1
    assert len(os.listdir("/proc/self/fd")) <= before


def test_real_notices_wake_a_waiting_watch(tmp_path: Path) -> None:
    append(tmp_path / "x.log")
    watch = Watch(tmp_path)
    is_begun, is_seen = threading.Event(), threading.Event()

    def follow() -> None:
        for batch in watch.batches():
            is_begun.set()
            if any(isinstance(event, ArtifactGrew) for event in batch.events):
                is_seen.set()

    thread = threading.Thread(target=follow)
    thread.start()
    try:
        assert is_begun.wait(10)
        append(tmp_path / "x.log", "more\n")
        assert is_seen.wait(10)
    finally:
        watch.close()
        thread.join(10)
    assert not thread.is_alive()


# ---- any order of anything ----

LOGS = ("a.log", "b.log", "sub/c.log", "rank0/d.log")
STEP = st.tuples(
    st.sampled_from(["append", "append", "truncate", "replace", "rename", "remove", "dump", "look", "look"]),
    st.sampled_from(LOGS),
    st.sampled_from(LOGS),
    st.integers(1, 200),
)


def do(root: Path, step: tuple[str, str, str, int]) -> None:
    kind, first, second, n_bytes = step
    one, two = root / first, root / second
    if kind == "append":
        append(one, FAULT + "x" * n_bytes)
    elif kind == "dump":
        make_dump(root / "step0" / "rank0", entries=n_bytes, task="tensor", tensors=n_bytes % 5)
    elif kind == "replace":
        append(root / "beside", FAULT + "y" * n_bytes)
        one.parent.mkdir(exist_ok=True)
        os.replace(root / "beside", one)
    elif one.exists():
        if kind == "truncate":
            os.truncate(one, min(n_bytes, one.stat().st_size))
        elif kind == "rename":
            two.parent.mkdir(exist_ok=True)
            one.rename(two)
        elif kind == "remove":
            one.unlink()


def check_events(batches: list[Batch]) -> None:
    """Nothing grows before it appeared, and growth leaves no byte out."""
    there: dict[Any, int] = {}
    for batch in batches:
        for event in batch.events:
            key = key_of(event.artifact)
            if isinstance(event, ArtifactAppeared):
                assert key not in there
                there[key] = event.artifact.size_bytes
                continue
            assert key in there
            if isinstance(event, ArtifactVanished):
                del there[key]
            elif isinstance(event, ArtifactGrew) and event.path == event.artifact.path:
                if event.artifact.kind != "msprobe.dump":
                    assert event.from_byte <= there[key]
                    there[key] = event.size_bytes
        assert set(there) == {key_of(artifact) for artifact in batch.run.artifacts}
        assert not {key_of(artifact) for artifact in batch.gone} & set(there)
    sizes = {key_of(artifact): artifact.size_bytes for artifact in batches[-1].run.artifacts}
    for key, size_bytes in there.items():
        assert key[0] == "msprobe.dump" or size_bytes == sizes[key]


@given(
    steps=st.lists(STEP, max_size=25),
    gaps=st.lists(st.sampled_from([0.0, 0.01, 0.1, 0.3, 1.0, 3.0]), min_size=25, max_size=25),
    polling=st.booleans(),
)
def test_the_last_run_is_what_discovery_finds(
    steps: list[tuple[str, str, str, int]], gaps: list[float], polling: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        at_s, actions = 0.0, []
        for step, gap_s in zip(steps, gaps, strict=False):
            at_s += gap_s
            actions.append((at_s, lambda step=step: do(root, step)))
        followed = Followed(root, actions, at_s + 200.0, polling=polling)
        assert is_same_as_discovered(followed)
        check_events(followed.batches)


@given(steps=st.lists(STEP, max_size=25))
def test_each_single_look_finds_what_discovery_finds(steps: list[tuple[str, str, str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder, Watch(Path(folder)) as watch:
        first = watch.poll()
        assert first is not None
        batches = [first]
        for step in [*steps, ("look", "", "", 1)]:
            do(Path(folder), step) if step[0] != "look" else None
            if step[0] == "look":
                batch = watch.poll()
                batches += [batch] if batch is not None else []
                assert batches[-1].run.artifacts == discover(folder).artifacts
        check_events(batches)
