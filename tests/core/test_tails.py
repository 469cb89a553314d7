"""Files that grow are read on: every byte once, over truncation, rotation by name or copy, and removal."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import Cancelled, InputError
from npulse.core.tails import BLOCK_BYTES, Tails


class Kept:
    """A reader that keeps what it gets."""

    def __init__(self) -> None:
        self.raw = b""

    def feed(self, raw: bytes) -> None:
        self.raw += raw


def told(tails: Tails, path: Path) -> list[tuple[str, bytes]]:
    generations = tails.read(path, path.parent, Kept)
    assert [one.number for one in generations] == list(range(len(generations)))
    assert all(one.n_bytes == len(one.reader.raw) and one.path == path for one in generations)
    return [(one.why, one.reader.raw) for one in generations]


def append(path: Path, raw: bytes) -> None:
    with path.open("ab") as file:
        file.write(raw)


@pytest.fixture
def tails() -> Iterator[Tails]:
    one = Tails()
    yield one
    one.close()


# ---- one file ----


def test_each_look_reads_only_what_is_new(tmp_path: Path, tails: Tails) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(b"one\ntw")
    assert told(tails, path) == [("", b"one\ntw")]
    append(path, b"o\n")
    assert told(tails, path) == [("", b"one\ntwo\n")]
    assert told(tails, path) == [("", b"one\ntwo\n")]


def test_a_file_larger_than_a_block_is_read_to_its_end(tmp_path: Path, tails: Tails) -> None:
    path = tmp_path / "x.log"
    raw = os.urandom(BLOCK_BYTES * 2 + 17)
    path.write_bytes(raw)
    assert told(tails, path) == [("", raw)]


@pytest.mark.parametrize("after", [b"", b"new", b"new and longer than it was before"])
def test_a_truncated_file_begins_anew_and_keeps_what_it_told(
    tmp_path: Path, tails: Tails, after: bytes
) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(b"old content\n")
    told(tails, path)
    path.write_bytes(after)  # the same inode
    why = "truncated" if len(after) < 12 else "rewritten"
    assert told(tails, path) == [("", b"old content\n"), (why, after)]


def test_a_file_rewritten_with_the_same_size_begins_anew(tmp_path: Path, tails: Tails) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b'{"a": 1}')
    told(tails, path)
    path.write_bytes(b'{"b": 2}')
    assert told(tails, path) == [("", b'{"a": 1}'), ("rewritten", b'{"b": 2}')]


def test_a_replaced_file_begins_anew_and_the_old_one_is_read_to_its_end(tmp_path: Path, tails: Tails) -> None:
    path, beside = tmp_path / "x.log", tmp_path / "y"
    path.write_bytes(b"old ")
    told(tails, path)
    with path.open("ab") as writer:
        beside.write_bytes(b"new")
        os.replace(beside, path)
        writer.write(b"and its end")
    assert told(tails, path) == [("", b"old and its end"), ("replaced", b"new")]


def test_a_file_written_beside_and_renamed_goes_on(tmp_path: Path, tails: Tails) -> None:
    path, beside = tmp_path / "x.log", tmp_path / "y"
    path.write_bytes(b"one\n")
    told(tails, path)
    append(path, b"two\n")
    beside.write_bytes(b"one\ntwo\nthree\n")
    os.replace(beside, path)
    assert told(tails, path) == [("", b"one\ntwo\nthree\n")]


def test_what_was_written_into_a_replaced_file_is_not_lost_to_the_copy_that_replaced_it(
    tmp_path: Path, tails: Tails
) -> None:
    path, beside = tmp_path / "x.log", tmp_path / "y"
    path.write_bytes(b"one\n")
    told(tails, path)
    with path.open("ab", buffering=0) as writer:
        beside.write_bytes(b"one\nthree\n")
        os.replace(beside, path)
        writer.write(b"two\n")
    assert told(tails, path) == [("", b"one\ntwo\n"), ("replaced", b"one\nthree\n")]


def test_a_removed_file_that_is_emptied_begins_anew(tmp_path: Path, tails: Tails) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(b"one\n")
    told(tails, path)
    with path.open("ab", buffering=0) as writer:
        path.unlink()
        writer.truncate(0)
        writer.write(b"two\n")
        assert told(tails, path) == [("", b"one\n"), ("rewritten", b"two\n")]
        writer.write(b"three\n")
        assert told(tails, path) == [("", b"one\n"), ("rewritten", b"two\nthree\n")]


def test_a_removed_file_keeps_what_it_told_and_is_read_while_somebody_writes(
    tmp_path: Path, tails: Tails
) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(b"one\n")
    told(tails, path)
    with path.open("ab", buffering=0) as writer:
        path.unlink()
        writer.write(b"two\n")
        assert told(tails, path) == [("", b"one\ntwo\n")]
        writer.write(b"three\n")
    path.write_bytes(b"four\n")
    assert told(tails, path) == [("", b"one\ntwo\nthree\n"), ("replaced", b"four\n")]


def test_a_file_that_was_never_there_is_an_error(tmp_path: Path, tails: Tails) -> None:
    with pytest.raises(InputError, match="does not exist"):
        told(tails, tmp_path / "x.log")
    (tmp_path / "x.log").write_bytes(b"one")
    assert told(tails, tmp_path / "x.log") == [("", b"one")]


def test_a_link_out_of_the_run_is_not_followed(tmp_path: Path, tails: Tails) -> None:
    outside, run = tmp_path / "secret", tmp_path / "run"
    outside.write_bytes(b"secret")
    run.mkdir()
    (run / "x.log").symlink_to(outside)
    with pytest.raises(InputError, match="outside"):
        told(tails, run / "x.log")


def test_readers_of_two_kinds_do_not_share_what_was_read(tmp_path: Path, tails: Tails) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(b"one")
    (first,) = tails.read(path, None, Kept, kind="a")
    (second,) = tails.read(path, None, Kept, kind="b")
    assert (first.reader.raw, second.reader.raw) == (b"one", b"one") and first is not second
    tails.let_go(path, "a")
    append(path, b" two")
    (again,) = tails.read(path, None, Kept, kind="a")
    assert again.reader.raw == b"one two" and again is not first
    assert tails.read(path, None, Kept, kind="b") == (second,) and second.reader.raw == b"one two"


def test_a_look_that_is_cancelled_goes_on_where_it_stopped(tmp_path: Path, tails: Tails) -> None:
    path = tmp_path / "x.log"
    raw = os.urandom(BLOCK_BYTES * 3)
    path.write_bytes(raw)
    answers = iter([False, False, True])
    with pytest.raises(Cancelled):
        tails.read(path, None, Kept, is_cancelled=lambda: next(answers))
    (one,) = tails.read(path, None, Kept)
    assert one.reader.raw == raw


def test_a_file_that_is_as_it_was_is_not_opened_again(
    tmp_path: Path, tails: Tails, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(b"one")
    later_ns = path.stat().st_ctime_ns + 10**10
    monkeypatch.setattr("npulse.core.tails.time.time_ns", lambda: later_ns)
    told(tails, path)
    opened: list[Path] = []

    def refuse(path: Path, root: Path | None = None) -> None:
        opened.append(path)
        raise AssertionError

    with monkeypatch.context() as patch:
        patch.setattr("npulse.core.tails.open_input", refuse)
        assert told(tails, path) == [("", b"one")]
    assert opened == []
    append(path, b"!")
    assert told(tails, path) == [("", b"one!")]


def test_a_file_that_was_just_written_is_opened_though_its_times_are_the_same(
    tmp_path: Path, tails: Tails, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two writes within one tick of the clock look like one."""
    path = tmp_path / "x.log"
    path.write_bytes(b"one")
    told(tails, path)
    real = os.stat(path)
    path.write_bytes(b"two")
    monkeypatch.setattr("npulse.core.tails.os.stat", lambda *_, **__: real)
    assert told(tails, path) == [("", b"one"), ("rewritten", b"two")]


def test_a_file_that_is_rewritten_while_it_is_read_is_not_told_mixed(
    tmp_path: Path, tails: Tails, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b"old old ")
    told(tails, path)
    append(path, b"more")
    pread = os.pread

    def late(fd: int, n_bytes: int, at: int) -> bytes:
        if at == 8:
            path.write_bytes(b"new new new new")
        return pread(fd, n_bytes, at)

    with monkeypatch.context() as patch:
        patch.setattr("npulse.core.tails.os.pread", late)
        assert told(tails, path) == [("", b"old old ")]
    assert told(tails, path) == [("", b"old old "), ("rewritten", b"new new new new")]


# ---- rotation ----


def test_a_renamed_file_goes_on_under_its_new_name(tmp_path: Path, tails: Tails) -> None:
    path, rotated = tmp_path / "x.log", tmp_path / "x.log.1"
    path.write_bytes(b"one\n")
    told(tails, path)
    append(path, b"two\n")  # between the last look and the renaming
    path.rename(rotated)
    append(rotated, b"three\n")
    path.write_bytes(b"four\n")
    tails.begin([path, rotated])
    assert told(tails, path) == [("", b"four\n")]
    assert told(tails, rotated) == [("", b"one\ntwo\nthree\n")]


@pytest.mark.parametrize("is_new_name_first", [False, True])
def test_a_renamed_file_is_told_once_from_the_next_look_on_without_names(
    tmp_path: Path, tails: Tails, is_new_name_first: bool
) -> None:
    path, rotated = tmp_path / "x.log", tmp_path / "x.log.1"
    path.write_bytes(b"one\n")
    told(tails, path)
    path.rename(rotated)
    path.write_bytes(b"two\n")
    for _ in range(2):
        for one in (rotated, path) if is_new_name_first else (path, rotated):
            told(tails, one)
    assert [raw for _, raw in told(tails, path) + told(tails, rotated)] == [b"two\n", b"one\n"]


@pytest.mark.parametrize("is_read_between", [False, True])
@pytest.mark.parametrize("is_new_name_first", [False, True])
@pytest.mark.parametrize("name", ["x.log.1", "x.1.log", "x_old.log"])
def test_a_copied_and_emptied_file_is_told_once(
    tmp_path: Path, tails: Tails, is_read_between: bool, is_new_name_first: bool, name: str
) -> None:
    path, rotated = tmp_path / "x.log", tmp_path / name
    path.write_bytes(b"one\n" * 1000)
    told(tails, path)
    append(path, b"two\n")
    shutil.copyfile(path, rotated)
    names = [rotated, path] if is_new_name_first else [path, rotated]
    if is_read_between:
        tails.begin(names)
        assert [told(tails, one) for one in names] == [[("", b"one\n" * 1000 + b"two\n")]] * 2  # as they are
    os.truncate(path, 0)
    append(path, b"three\n")
    tails.begin(names)
    found = {one: told(tails, one) for one in names}
    assert found == {path: [("", b"three\n")], rotated: [("", b"one\n" * 1000 + b"two\n")]} or found == {
        path: [("truncated", b"three\n")],
        rotated: [("", b"one\n" * 1000 + b"two\n")],
    }


def test_a_copy_that_becomes_known_after_the_truncation_is_told_once(tmp_path: Path, tails: Tails) -> None:
    path, rotated = tmp_path / "x.log", tmp_path / "x.log.1"
    path.write_bytes(b"one\n")
    told(tails, path)
    shutil.copyfile(path, rotated)
    os.truncate(path, 0)
    tails.begin([path])
    assert told(tails, path) == [("", b"one\n"), ("truncated", b"")]
    tails.begin([path, rotated])
    assert [raw for _, raw in told(tails, path) + told(tails, rotated)] == [b"", b"one\n"]


def test_equal_logs_of_two_ranks_are_no_rotation(tmp_path: Path, tails: Tails) -> None:
    first, second = tmp_path / "rank1.log", tmp_path / "rank10.log"
    first.write_bytes(b"fault\n")
    told(tails, first)
    os.truncate(first, 0)
    second.write_bytes(b"fault\n")
    tails.begin([first, second])
    assert told(tails, first) == [("", b"fault\n"), ("truncated", b"")]
    assert told(tails, second) == [("", b"fault\n")]


def test_a_file_renamed_over_another_keeps_what_both_told(tmp_path: Path, tails: Tails) -> None:
    first, second = tmp_path / "a.log", tmp_path / "b.log"
    first.write_bytes(b"a")
    second.write_bytes(b"b")
    told(tails, first), told(tails, second)
    second.rename(first)
    append(first, b"!")
    tails.begin([first])
    assert told(tails, second) == []
    assert told(tails, first) == [("", b"a"), ("", b"b!")]


@pytest.mark.parametrize("is_new_name_first", [False, True])
def test_an_empty_file_that_was_renamed_is_not_read_under_both_names(
    tmp_path: Path, tails: Tails, is_new_name_first: bool
) -> None:
    path, rotated = tmp_path / "x.log", tmp_path / "x.log.1"
    path.write_bytes(b"")
    told(tails, path)
    path.rename(rotated)
    append(rotated, b"one\n")
    for one in (rotated, path) if is_new_name_first else (path, rotated):
        told(tails, one)
    assert [raw for _, raw in told(tails, path) + told(tails, rotated)] == [b"one\n"]


# ---- many files ----


def n_open() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_only_so_many_files_are_held_open_and_all_are_read_on(tmp_path: Path) -> None:
    tails = Tails(max_open=3)
    paths = [tmp_path / f"{n}.log" for n in range(20)]
    before = n_open()
    for look in range(3):
        for path in paths:
            append(path, b"%d " % look)
            told(tails, path)
    assert n_open() - before == 3
    assert all(told(tails, path) == [("", b"0 1 2 ")] for path in paths)
    tails.close()
    assert n_open() == before


def test_a_file_that_is_not_held_open_is_followed_over_renaming(tmp_path: Path) -> None:
    tails = Tails(max_open=1)
    path, rotated, other = tmp_path / "x.log", tmp_path / "x.log.1", tmp_path / "y.log"
    path.write_bytes(b"one ")
    other.write_bytes(b"y")
    told(tails, path), told(tails, other)
    path.rename(rotated)
    append(rotated, b"two")
    tails.begin([rotated, other])
    assert (told(tails, rotated), told(tails, path)) == ([("", b"one two")], [])
    tails.close()


def test_a_reused_inode_is_another_file(tmp_path: Path) -> None:
    """A removed file that nobody holds open gives its inode to the next one."""
    tails = Tails(max_open=1)
    path, other = tmp_path / "x.log", tmp_path / "y.log"
    path.write_bytes(b"one\n" * 10)
    told(tails, path)
    other.write_bytes(b"y")
    told(tails, other)
    path.unlink()
    path.write_bytes(b"two\n" * 20)
    assert [raw for _, raw in told(tails, path)] == [b"one\n" * 10, b"two\n" * 20]
    tails.close()


# ---- any order of anything ----

FAMILIES = ("a.log", "b.log")
NAMES = tuple(f"{name}{end}" for name in FAMILIES for end in ("", ".1", ".2"))


@dataclass
class Stream:
    """A file from one of its starts on: all its bytes, and how many of them were there to be seen."""

    raw: bytes = b""
    n_seen: int = 0


@dataclass
class Inode:
    fd: int
    stream: Stream
    is_known: bool = False
    is_dead: bool = False


@dataclass
class World:
    """A folder that is written to, and by itself what a reader of it must have got after each look."""

    folder: Path
    tails: Tails
    holds: bool
    inodes: dict[str, Inode] = field(default_factory=dict)
    orphans: list[Inode] = field(default_factory=list)
    streams: list[Stream] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    numbers: Iterator[int] = field(default_factory=count)

    def close(self) -> None:
        self.tails.close()
        for inode in (*self.inodes.values(), *self.orphans):
            os.close(inode.fd)

    def content(self, n_bytes: int) -> bytes:
        """Bytes that were never written before, different from the first one on."""
        seed = hashlib.sha256(str(next(self.numbers)).encode()).digest()
        return (seed * (n_bytes // len(seed) + 1))[:n_bytes]

    def stream(self, raw: bytes = b"") -> Stream:
        self.streams.append(Stream(raw))
        return self.streams[-1]

    def made(self, name: str) -> Inode:
        if name not in self.inodes:
            flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND
            self.inodes[name] = Inode(os.open(self.folder / name, flags), self.stream())
        return self.inodes[name]

    def orphaned(self, name: str) -> None:
        inode = self.inodes.pop(name, None)
        if inode is not None:
            self.orphans.append(inode)

    def before_removal(self) -> None:
        if not self.holds:  # else nobody can know what was written before it
            self.poll(False)

    # what can happen

    def append(self, name: str, n_bytes: int) -> None:
        inode, raw = self.made(name), self.content(n_bytes)
        os.write(inode.fd, raw)
        inode.stream.raw += raw

    def append_to_orphan(self, name: str, n_bytes: int) -> None:
        alive = [inode for inode in self.orphans if not inode.is_dead]
        if alive and self.holds:
            raw = self.content(n_bytes)
            os.write(alive[-1].fd, raw)
            alive[-1].stream.raw += raw

    def truncate(self, name: str, n_bytes: int) -> None:
        inode = self.inodes.get(name)
        if inode is None:
            return
        left = inode.stream.raw[: 0 if n_bytes % 2 else inode.stream.n_seen // 2]
        if left and len(left) < 64:
            left = b""
        os.ftruncate(inode.fd, len(left))
        if inode.stream.n_seen:
            inode.stream = self.stream(left)
        else:
            inode.stream.raw = left

    def replace(self, name: str, n_bytes: int) -> None:
        self.before_removal()
        (self.folder / name).unlink(missing_ok=True)
        self.orphaned(name)
        self.append(name, n_bytes)

    def replace_by_longer(self, name: str, n_bytes: int) -> None:
        inode = self.inodes.get(name)
        if inode is None:
            return
        raw = inode.stream.raw + self.content(n_bytes)
        self.before_removal()
        fd = os.open(self.folder / "beside", os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND)
        os.write(fd, raw)
        os.rename(self.folder / "beside", self.folder / name)
        inode.is_dead = True
        self.orphaned(name)
        self.inodes[name] = Inode(fd, self.stream(raw))

    def rename(self, name: str, n_bytes: int) -> None:
        family = NAMES.index(name) // 3 * 3
        other = NAMES[family + (NAMES.index(name) + 1 + n_bytes % 2) % 3]
        if name in self.inodes:
            self.before_removal()
            os.rename(self.folder / name, self.folder / other)
            self.orphaned(other)
            self.inodes[other] = self.inodes.pop(name)

    def rotate(self, name: str, n_bytes: int) -> None:
        family = NAMES.index(name) // 3 * 3
        self.before_removal()
        for at in (1, 0):
            old, new = NAMES[family + at], NAMES[family + at + 1]
            if old in self.inodes:
                os.rename(self.folder / old, self.folder / new)
                self.orphaned(new)
                self.inodes[new] = self.inodes.pop(old)
        self.append(NAMES[family], n_bytes)

    def rotate_by_copy(self, name: str, n_bytes: int) -> None:
        """With an odd number there is a look between the copy and the truncation."""
        family = NAMES.index(name) // 3 * 3
        other = NAMES[family + (NAMES.index(name) + 1) % 3]
        if name not in self.inodes:
            return
        source, copy = self.inodes[name], self.made(other)
        os.ftruncate(copy.fd, 0)
        os.write(copy.fd, source.stream.raw)
        copy.stream = self.stream(source.stream.raw)
        if n_bytes % 2:
            self.poll(bool(n_bytes % 4 // 2), is_copied=True)
        os.ftruncate(source.fd, 0)
        source.stream = self.stream()

    def remove(self, name: str, n_bytes: int) -> None:
        self.before_removal()
        if name in self.inodes:
            os.unlink(self.folder / name)
            self.orphaned(name)

    def poll_once(self, name: str, n_bytes: int) -> None:
        self.poll(bool(n_bytes % 2))

    # what was seen

    def poll(self, is_backwards: bool, is_copied: bool = False) -> None:
        present = sorted(self.inodes, reverse=is_backwards)
        self.names |= set(present)
        self.tails.begin([self.folder / name for name in present])
        found: Counter[bytes] = Counter()
        for name in sorted(self.names, reverse=is_backwards):
            with suppress(InputError):
                found.update(raw for _, raw in told(self.tails, self.folder / name) if raw)
        for inode in self.inodes.values():
            inode.is_known = True
            inode.stream.n_seen = len(inode.stream.raw)
        for inode in self.orphans:
            if inode.is_known and self.holds:
                inode.stream.n_seen = len(inode.stream.raw)
        self.drop_copied()
        expected = Counter(one.raw[: one.n_seen] for one in self.streams if one.n_seen)
        assert found == expected

    def drop_copied(self) -> None:
        """What ended is told by a copy of it that is there, and not a second time."""
        present = [inode.stream for inode in self.inodes.values()]
        for ended in [one for one in self.streams if one.n_seen and not any(one is p for p in present)]:
            if any(copy.raw.startswith(ended.raw[: ended.n_seen]) for copy in present):
                self.streams = [one for one in self.streams if one is not ended]
                for inode in self.orphans:
                    inode.is_dead = inode.is_dead or inode.stream is ended


STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                *(World.append, World.append, World.append, World.poll_once, World.poll_once),
                *(World.append_to_orphan, World.truncate, World.replace, World.replace_by_longer),
                *(World.rename, World.rotate, World.rotate_by_copy, World.remove),
            ]
        ),
        st.sampled_from(NAMES),
        st.sampled_from([8, 9, 30, 100, 101, 700, 1500, 3001]),
    ),
    max_size=40,
)


@given(steps=STEPS, max_open=st.sampled_from([128, 128, 1, 2]))
def test_every_byte_is_told_once_whatever_happens(
    steps: list[tuple[object, str, int]], max_open: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder), Tails(max_open), holds=max_open == 128)
        try:
            for step, name, n_bytes in steps:
                step(world, name, n_bytes)  # type: ignore[operator]
            world.poll(False)
            world.poll(True)
        finally:
            world.close()
