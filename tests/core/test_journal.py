"""Journals: what was added comes back, what is torn does not, a full disk is told once."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from npulse.core import journal
from npulse.core.cache import JOURNAL_SUFFIX, Cache
from npulse.core.journal import Journal, open_journal


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def opened(cache: Cache, key: str = "key") -> Journal:
    found = open_journal(cache, key)
    assert found is not None
    return found


def written(cache: Cache, *payloads: bytes) -> Path:
    with opened(cache) as one:
        assert list(one.records()) == []
        for payload in payloads:
            one.add(payload)
    return cache.path_of("key", JOURNAL_SUFFIX)


def read(cache: Cache) -> list[bytes]:
    with opened(cache) as one:
        return list(one.records())


def test_records_come_back_in_their_order(cache: Cache) -> None:
    written(cache, b"one", b"", b"three" * 10_000)
    with opened(cache) as one:
        assert list(one.records()) == [b"one", b"", b"three" * 10_000]
        one.add(b"four")
    assert read(cache)[-1] == b"four" and len(read(cache)) == 4
    assert cache.trouble == ""


@pytest.mark.parametrize("lost", range(1, 13))
def test_a_torn_record_is_dropped_and_written_over(cache: Cache, lost: int) -> None:
    path = written(cache, b"one", b"two2")
    os.truncate(path, path.stat().st_size - lost)
    with opened(cache) as one:
        assert list(one.records()) == [b"one"]
        one.add(b"again")
    assert read(cache) == [b"one", b"again"]


def test_a_record_with_another_bit_ends_what_is_believed(cache: Cache) -> None:
    path = written(cache, b"one", b"two", b"three")
    raw = bytearray(path.read_bytes())
    raw[raw.index(b"two")] ^= 1
    path.write_bytes(raw)
    assert read(cache) == [b"one"]


@pytest.mark.parametrize("raw", [b"", b"npulse", bytes(range(256)) * 2, b"npulse journal 1\n" + bytes(400)])
def test_a_file_of_somebody_else_is_begun_anew(cache: Cache, raw: bytes) -> None:
    path = written(cache, b"one")
    path.write_bytes(raw)
    assert read(cache) == []
    written(cache, b"two")
    assert read(cache) == [b"two"]


def test_other_keys_have_other_journals(cache: Cache) -> None:
    written(cache, b"one")
    with opened(cache, "other") as other:
        assert list(other.records()) == []


def test_one_process_at_a_time(cache: Cache) -> None:
    with opened(cache) as one:
        assert open_journal(cache, "key") is None and cache.trouble == ""
        one.add(b"one")
    assert read(cache) == [b"one"]


def test_a_link_is_not_followed(cache: Cache, tmp_path: Path) -> None:
    path = written(cache)
    (tmp_path / "elsewhere").write_bytes(b"mine")
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    assert open_journal(cache, "key") is None
    assert (tmp_path / "elsewhere").read_bytes() == b"mine"


def test_removed_when_the_work_is_done(cache: Cache) -> None:
    path = written(cache, b"one")
    with opened(cache) as one:
        one.add(b"two")
        one.remove()
    assert not path.exists()


def test_a_full_disk_is_told_once_and_stops_nothing(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(cache, b"one")
    write = os.pwrite

    def full(fd: int, data: Any, offset: int) -> int:
        if offset + len(data) > 100:
            if offset < 100:
                return write(fd, data[: 100 - offset], offset)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(fd, data, offset)

    monkeypatch.setattr(journal.os, "pwrite", full)
    monkeypatch.setattr(journal, "_FLUSH_S", 0.0)
    with opened(cache) as one:
        assert list(one.records()) == [b"one"]
        for number in range(20):
            one.add(b"%010d" % number)
    assert cache.trouble == os.strerror(errno.ENOSPC)
    assert path.stat().st_size == 100
    monkeypatch.undo()
    assert read(cache) == [
        b"one",
        b"0000000000",
        b"0000000001",
    ]  # 49, 11, 18 and 18 bytes; the rest is torn


def test_no_more_than_the_cache_may_hold(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache", max_bytes=1000)
    path = written(cache, *[b"x" * 100] * 20)
    assert path.stat().st_size <= 1000 and cache.trouble == ""


def test_old_journals_go_with_the_entries(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache", max_bytes=4000)
    path = written(cache, b"x" * 2000)
    os.utime(path, (1, 1))
    cache.put("entry", facts="y" * 3000)
    assert not path.exists() and cache.get("entry") is not None


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert open_journal(Cache(tmp_path / "file" / "cache"), "key") is None
