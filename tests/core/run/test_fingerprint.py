"""What a folder holds, in one number: any change of a name, a size or what is read is seen."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from npulse.core.errors import InputError
from npulse.core.run.fingerprint import PART_BYTES, WHOLE_BYTES, fingerprint_of


def filled(folder: Path) -> Path:
    (folder / "a").mkdir(parents=True)
    (folder / "a" / "x.npy").write_bytes(b"1" * 100)
    (folder / "b.json").write_bytes(b"{}")
    return folder


def test_the_same_content_is_the_same_wherever_it_lies(tmp_path: Path) -> None:
    one, two = filled(tmp_path / "one"), filled(tmp_path / "two")
    found = fingerprint_of(one)
    assert found == fingerprint_of(two)
    assert (found.n_files, found.n_bytes, found.is_whole) == (2, 102, True)


def test_each_change_is_seen(tmp_path: Path) -> None:
    folder = filled(tmp_path / "x")
    seen = {fingerprint_of(folder).digest}
    (folder / "b.json").write_bytes(b"[]")
    seen.add(fingerprint_of(folder).digest)
    (folder / "b.json").rename(folder / "c.json")
    seen.add(fingerprint_of(folder).digest)
    (folder / "a" / "x.npy").write_bytes(b"1" * 101)
    seen.add(fingerprint_of(folder).digest)
    (folder / "link").symlink_to("/etc/passwd")
    seen.add(fingerprint_of(folder).digest)
    assert len(seen) == 5


def test_a_large_file_is_read_in_parts(tmp_path: Path) -> None:
    path = tmp_path / "big"
    size = 8 * WHOLE_BYTES
    with open(path, "wb") as file:
        file.truncate(size)
    before = fingerprint_of(path)
    assert not before.is_whole and before.n_bytes == size
    for offset in (0, size // 2, size - 1):
        with open(path, "r+b") as file:
            file.seek(offset)
            file.write(b"\x01")
        now = fingerprint_of(path)
        assert now.digest != before.digest
        before = now
    with open(path, "r+b") as file:
        file.seek(
            2 * PART_BYTES
        )  # between the parts: not seen, and the fingerprint says that it is not whole
        file.write(b"\x01")
    assert fingerprint_of(path).digest == before.digest


def test_what_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        fingerprint_of(tmp_path / "gone")
    os.mkfifo(tmp_path / "pipe")
    assert fingerprint_of(tmp_path).n_files == 1  # never opened
