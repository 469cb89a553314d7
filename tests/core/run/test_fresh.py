"""What tells that a file is still written to, that it has changed, and what is kept between two looks."""

from __future__ import annotations

import os
from pathlib import Path

from npulse.core.files import stamp_of
from npulse.core.run.folders import is_fresh
from npulse.core.run.stamp import FRESH_NS
from npulse.core.tails import Tails


def test_a_file_is_fresh_for_a_minute(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text("x")
    os.utime(path, ns=(10**18, 10**18))
    assert is_fresh(path, 10**18) and is_fresh(path, 10**18 + FRESH_NS - 1)
    assert not is_fresh(path, 10**18 + FRESH_NS) and not is_fresh(path)
    assert not is_fresh(tmp_path / "none.log") and not is_fresh(Path("a\0b"))


def test_a_stamp_changes_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text("x")
    os.utime(path, ns=(10**18, 10**18))
    first = stamp_of(path)
    assert first is not None and stamp_of(path) == first
    path.write_text("y")
    os.utime(path, ns=(10**18 + 1, 10**18 + 1))
    second = stamp_of(path)
    path.write_text("yz")
    os.utime(path, ns=(10**18 + 1, 10**18 + 1))
    assert len({first, second, stamp_of(path)}) == 3
    path.unlink()
    assert stamp_of(path) is None and stamp_of(Path("a\0b")) is None


def test_what_is_made_once_is_made_again_where_its_key_changes() -> None:
    tails, made = Tails(), []

    def make() -> int:
        made.append(len(made))
        return made[-1]

    assert [tails.once("a", key, make) for key in (1, 1, 2, 2, 1)] == [0, 0, 1, 1, 2]
    assert tails.once("b", 1, make) == 3 and len(tails.kept) == 2
