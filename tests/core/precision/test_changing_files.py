"""A tensor file that is written to while it is compared: said with its name, never a pass, never kept."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npulse.core.cache import Cache
from npulse.core.precision.compare import Settings, compare_captures
from npulse.core.precision.reading import work
from npulse.core.precision.report import report
from npulse.core.precision.verdict import REASONS, VERDICTS
from npulse.core.run.sides import CapturePair

from .small_pairs import SHAPE, name_of, write_pair

CHANGING = 2


def rewritten(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(-4, os.SEEK_END)
        file.write(b"\0\0\0\0")
    later(path)


def later(path: Path) -> None:
    """Clocks of file systems tick some hundred times a second; two writes in one tick have one time."""
    status = path.stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 8)


def grown(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"more")


def replaced(path: Path) -> None:
    np.save(path.with_suffix(".new.npy"), np.zeros(SHAPE, np.float32))
    path.with_suffix(".new.npy").replace(path)


def removed(path: Path) -> None:
    path.unlink()


@pytest.fixture
def pair(tmp_path: Path) -> CapturePair:
    return write_pair(tmp_path, 4)


@pytest.mark.parametrize("is_read", [False, True])
@pytest.mark.parametrize("side", ["target", "golden"])
@pytest.mark.parametrize("change", [rewritten, cut, grown, replaced, removed])
def test_a_file_that_changes(
    pair: CapturePair,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Path], None],
    side: str,
    is_read: bool,
) -> None:
    path = tmp_path / side / "step0" / "rank0" / "dump_tensor_data" / name_of(CHANGING)
    compare = work.compare_files

    def meanwhile(target: Any, golden: Any) -> Any:
        if os.path.basename(target.path) != name_of(CHANGING):
            return compare(target, golden)
        if is_read:
            metrics = compare(target, golden)
            change(path)
            return metrics
        change(path)
        return compare(target, golden)

    monkeypatch.setattr(work, "compare_files", meanwhile)
    cache = Cache(tmp_path / "cache")
    comparison = compare_captures(pair, Settings(jobs=1, cache=cache))
    rows = comparison.ranks[0].rows
    assert [VERDICTS[code] for code in rows.verdict] == ["pass", "pass", "unknown", "pass"]
    assert REASONS[rows.reason[CHANGING]] == "changed"
    assert rows.figure("cosine", CHANGING) is None
    problem = comparison.problems[0]
    assert (problem.kind, Path(problem.artifact).name) == ("changed", name_of(CHANGING))
    assert problem.hint and "compare again" in problem.hint
    assert report(comparison).verdict not in ("pass", "clean")
    assert not list((tmp_path / "cache").glob("*.npz"))


def test_a_file_that_changes_before_the_second_read_is_not_examined(
    pair: CapturePair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    examine = work.examine
    path = tmp_path / "two" / "target" / "step0" / "rank0" / "dump_tensor_data" / name_of(1)
    different = write_pair(tmp_path / "two", 3, differing=(1, 2))

    def meanwhile(target: Any, golden: Any) -> Any:
        found = examine(target, golden)
        if os.path.basename(target.path) == name_of(1):
            rewritten(path)
        return found

    monkeypatch.setattr(work, "examine", meanwhile)
    rows = compare_captures(different, Settings(jobs=1)).ranks[0].rows
    assert list(rows.examinations) == [2] == list(rows.patterns)
