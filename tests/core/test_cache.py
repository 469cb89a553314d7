from __future__ import annotations

import errno
import io
import os
import pickle
import stat
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npulse.core.cache import Cache, default_cache, key_of


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache" / "npulse")


def _file(cache: Cache) -> Path:
    (path,) = cache.folder.iterdir()
    return path


def test_what_was_put_comes_back(cache: Cache) -> None:
    arrays = {
        "a": np.arange(6, dtype=np.float32).reshape(2, 3),
        "names/with.dots": np.array(["x", "名"]),
        "empty": np.empty((0, 4), np.int8),
        "scalar": np.array(np.nan),
    }
    facts = {"verdict": "pass", "n": [1, None, 2.5], "nan": float("nan")}
    assert cache.put("k", arrays, facts)
    entry = cache.get("k")
    assert entry is not None and list(entry.arrays) == list(arrays)
    for name, array in arrays.items():
        assert entry.arrays[name].dtype == np.asarray(array).dtype
        np.testing.assert_array_equal(entry.arrays[name], array)
    assert entry.facts["n"] == [1, None, 2.5] and np.isnan(entry.facts["nan"])
    assert cache.get("other") is None


def test_the_last_value_counts(cache: Cache) -> None:
    cache.put("k", facts=1)
    cache.put("k", facts=2)
    entry = cache.get("k")
    assert entry is not None and entry.facts == 2
    assert cache.usage().n_entries == 1


def test_another_cache_object_sees_it(cache: Cache) -> None:
    cache.put("k", {"a": np.ones(3)})
    assert Cache(cache.folder).get("k") is not None


def test_objects_are_never_kept(cache: Cache) -> None:
    with pytest.raises(ValueError):
        cache.put("k", {"a": np.array([{}], dtype=object)})
    with pytest.raises(TypeError):
        cache.put("k", facts={"a": object()})


class _Trap:
    ran = False

    def __reduce__(self) -> Any:
        return (_set_trap, ())


def _set_trap() -> None:
    _Trap.ran = True


def _entry_with(member: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("facts.json", '{"schema": 1, "facts": null, "arrays": ["a"]}')
        archive.writestr("0.npy", member)
    return buffer.getvalue()


def _pickled() -> bytes:
    member = io.BytesIO()
    np.save(member, np.array([_Trap()], dtype=object), allow_pickle=True)
    return _entry_with(member.getvalue())


@pytest.mark.parametrize(
    "raw",
    [b"", b"not ours", b"PK\x05\x06" + bytes(18), _entry_with(b"junk"), _pickled()],
    ids=["empty", "text", "no members", "junk", "pickle"],  # archives hold the time: no name for a test
)
def test_a_foreign_or_broken_entry_is_a_miss_and_goes(cache: Cache, raw: bytes) -> None:
    cache.put("k", facts=1)
    _file(cache).write_bytes(raw)
    assert cache.get("k") is None
    assert list(cache.folder.iterdir()) == []
    assert not _Trap.ran
    assert cache.put("k", facts=3) and cache.get("k") is not None


def test_any_cut_or_flipped_byte_is_a_miss_or_the_truth(cache: Cache) -> None:
    array = np.arange(50, dtype=np.int64)
    cache.put("k", {"a": array}, {"b": "c"})
    path = _file(cache)
    whole = path.read_bytes()
    for i in range(0, len(whole), 7):
        for raw in (whole[:i], whole[:i] + bytes([whole[i] ^ 0x55]) + whole[i + 1 :]):
            path.write_bytes(raw)
            entry = cache.get("k")
            if entry is not None and "a" in entry.arrays:
                np.testing.assert_array_equal(entry.arrays["a"], array)


def test_only_the_user_can_look(cache: Cache) -> None:
    old = os.umask(0)
    try:
        cache.put("k", facts=1)
    finally:
        os.umask(old)
    assert stat.S_IMODE(cache.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(_file(cache).stat().st_mode) == 0o600
    cache.folder.chmod(0o755)
    cache.put("k", facts=1)
    assert stat.S_IMODE(cache.folder.stat().st_mode) == 0o700


def test_a_folder_that_cannot_be_one_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("somebody's")
    for folder, number in ((tmp_path / "file", errno.ENOTDIR), (tmp_path / "file" / "below", errno.EEXIST)):
        told: list[str] = []
        cache = Cache(folder, on_trouble=told.append)
        assert not cache.put("one", facts=1) and not cache.put("two", facts=2)
        assert told == [cache.trouble] == [os.strerror(number)]
    assert (tmp_path / "file").read_text() == "somebody's"


def test_a_linked_cache_folder_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "cache").symlink_to(tmp_path / "elsewhere")
    cache = Cache(tmp_path / "cache")
    assert not cache.put("k", facts=1)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_linked_entry_is_not_read_and_its_target_stays(cache: Cache, tmp_path: Path) -> None:
    cache.put("k", facts=1)
    path = _file(cache)
    (tmp_path / "precious").write_bytes(path.read_bytes())
    path.unlink()
    path.symlink_to(tmp_path / "precious")
    assert cache.get("k") is None
    assert cache.put("k", facts=2)
    assert not path.is_symlink() and (tmp_path / "precious").exists()


def test_where_nothing_can_be_written_everything_misses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("x")
    for folder in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/npulse")):
        cache = Cache(folder)
        assert not cache.put("k", facts=1)
        assert cache.get("k") is None
        assert (cache.usage().n_entries, cache.clear()) == (0, 0)
    full = Cache(tmp_path / "full")

    def no_space(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    assert not full.put("k", facts=1)
    assert list(full.folder.iterdir()) == []


def test_an_interrupted_write_leaves_the_old_entry(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.put("k", facts="old")

    def interrupt(fd: int) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", interrupt)
        with pytest.raises(KeyboardInterrupt):
            cache.put("k", facts="new")
    entry = cache.get("k")
    assert entry is not None and entry.facts == "old"
    assert cache.usage().n_entries == 1


def test_beyond_the_bound_the_least_recently_used_go(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "c", max_bytes=10_000)
    stranger = tmp_path / "c" / "not-ours.npz"
    array = np.zeros(250)  # 2,000 bytes
    for i in range(4):
        assert cache.put(f"k{i}", {"a": array})
        stranger.write_bytes(b"x" * 50_000)
        for path in cache.folder.glob("npulse-*"):  # one second older with each round
            os.utime(path, ns=(0, path.stat().st_mtime_ns - 10**9))
    assert cache.get("k0") is not None  # used now
    assert cache.put("k4", {"a": array})
    assert [f"k{i}" for i in range(5) if cache.get(f"k{i}") is not None] == ["k0", "k2", "k3", "k4"]
    assert cache.usage().size_bytes <= 10_000
    assert stranger.exists()
    assert not cache.put("huge", {"a": np.zeros(5000)})
    assert cache.get("k4") is not None


def test_clear_removes_ours_alone(cache: Cache) -> None:
    cache.put("a", facts=1)
    cache.put("b", facts=1)
    (cache.folder / "note").write_text("mine")
    assert cache.clear() == 2
    assert [p.name for p in cache.folder.iterdir()] == ["note"]


def test_the_key_changes_with_every_input(tmp_path: Path) -> None:
    file = tmp_path / "dump.json"
    file.write_text("one")
    key = key_of("compare/1", [file], 0.99)
    assert key is not None and key == key_of("compare/1", [str(file)], 0.99)
    assert len({key, key_of("compare/2", [file], 0.99), key_of("compare/1", [file], 0.98)}) == 3
    file.write_text("two!")
    assert key_of("compare/1", [file], 0.99) != key
    before = key_of("compare/1", [file])
    os.utime(file, ns=(0, 12345))
    touched = key_of("compare/1", [file])
    assert touched != before
    other = tmp_path / "other"
    other.write_text("six!")
    os.utime(other, ns=(0, 12345))
    os.replace(other, file)  # same size and time, another file
    assert key_of("compare/1", [file]) != touched
    assert key_of("compare/1", [tmp_path / "missing"]) is None


def test_a_file_that_has_its_old_time_again_is_another_one(tmp_path: Path) -> None:
    file = tmp_path / "a.npy"
    file.write_text("one")
    before, key = file.stat(), key_of("f", [file])
    while file.stat().st_ctime_ns == before.st_ctime_ns:  # clocks of file systems tick
        file.write_text("two")
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    now = file.stat()
    assert (now.st_size, now.st_mtime_ns, now.st_ino) == (before.st_size, before.st_mtime_ns, before.st_ino)
    assert key_of("f", [file]) != key


def test_names_that_are_no_text_can_be_keys(cache: Cache, tmp_path: Path) -> None:
    file = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\n"))
    file.write_text("x")
    key = key_of("f", [file])
    assert key is not None and cache.put(key, facts=1) and cache.get(key) is not None


def test_a_worker_process_gets_the_folder_and_nobody_to_tell(cache: Cache) -> None:
    cache.on_trouble = lambda why: None
    cache.trouble = "full"
    again = pickle.loads(pickle.dumps(cache))
    assert again == cache and again.on_trouble is None and not again.trouble


def test_the_default_folder_is_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert default_cache(tmp_path).folder == tmp_path
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert default_cache().folder == tmp_path / "xdg" / "npulse"


def test_what_cannot_be_kept_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    cache = Cache(tmp_path / "cache", on_trouble=told.append)
    assert cache.put("before", facts=1) and cache.trouble == ""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("npulse.core.cache.os.fsync", full)
    assert not cache.put("one", facts=1) and not cache.put("two", facts=1)
    assert told == [cache.trouble] == [os.strerror(errno.ENOSPC)]
    assert cache.usage().n_entries == 1
