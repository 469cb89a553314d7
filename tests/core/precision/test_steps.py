"""How far a comparison is: in bytes of both sides, over all ranks, without what was known before."""

from __future__ import annotations

import shutil
from pathlib import Path

from npulse.core.cache import Cache
from npulse.core.precision.compare import Settings, compare_captures
from npulse.core.progress import Progress
from npulse.core.run.sides import CapturePair, pair_of

from .small_pairs import write_pair

TENSOR_BYTES = 8 * 8 * 4


def two_ranks(folder: Path) -> CapturePair:
    write_pair(folder, 5, differing=(1, 4))
    for side in ("target", "golden"):
        shutil.copytree(folder / side / "step0" / "rank0", folder / side / "step0" / "rank1")
    return pair_of(folder / "target", folder / "golden")


def told(pair: CapturePair, settings: Settings) -> dict[str, list[Progress]]:
    seen: dict[str, list[Progress]] = {"compare": [], "look closer": []}
    compare_captures(pair, settings, progress=lambda one: seen.setdefault(one.stage, []).append(one))
    return seen


def test_bytes_of_all_ranks(tmp_path: Path) -> None:
    seen = told(two_ranks(tmp_path), Settings(jobs=1))
    for stage, n in (("compare", 10), ("look closer", 4)):
        assert [one.done for one in seen[stage]] == list(range(n + 1))
        assert [one.done_bytes for one in seen[stage]] == [2 * TENSOR_BYTES * i for i in range(n + 1)]
        assert {one.total for one in seen[stage]} == {n}
        assert {one.total_bytes for one in seen[stage]} == {2 * TENSOR_BYTES * n}


def test_what_was_kept_is_not_counted(tmp_path: Path) -> None:
    pair, settings = two_ranks(tmp_path), Settings(jobs=1, cache=Cache(tmp_path / "cache"))
    told(pair, settings)
    (tmp_path / "target" / "step0" / "rank1" / "dump.json").touch()
    seen = told(pair, settings)
    assert [(one.done, one.total) for one in seen["compare"]] == [(i, 5) for i in range(6)]
    assert seen["compare"][-1].done_bytes == seen["compare"][-1].total_bytes == 5 * 2 * TENSOR_BYTES
