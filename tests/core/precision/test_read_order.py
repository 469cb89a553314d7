"""A whole comparison reads each tensor file from beginning to end: what disks and their caches like."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from npulse.core.precision.blocks.kernel import BLOCK
from npulse.core.precision.compare import Settings, compare_captures

from . import small_pairs

N, DIFFERING = 3, (1,)
SHAPE = (3, BLOCK)
N_BYTES = 3 * BLOCK * 4


def test_each_file_is_read_in_order_once_and_again_where_it_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(small_pairs, "SHAPE", SHAPE)
    pair = small_pairs.write_pair(tmp_path, N, DIFFERING)
    reads: dict[str, list[tuple[int, int]]] = defaultdict(list)
    files: list[str] = []
    preadv = os.preadv

    def recorded(fd: int, buffers: Sequence[Any], offset: int, *flags: int) -> int:
        n = preadv(fd, buffers, offset, *flags)
        path = os.readlink(f"/proc/self/fd/{fd}")
        reads[path].append((offset, n))
        if path not in files:
            files.append(path)
        return n

    monkeypatch.setattr(os, "preadv", recorded)
    compare_captures(pair, Settings(jobs=1))

    for number in range(N):
        for side in ("target", "golden"):
            path = tmp_path / side / "step0" / "rank0" / "dump_tensor_data" / small_pairs.name_of(number)
            begin, size = path.stat().st_size - N_BYTES, path.stat().st_size
            spans = reads[str(path)]
            at, n_times = begin, 0
            for offset, n in spans:
                assert offset == at, (path.name, spans)
                at += n
                if at == size:
                    at, n_times = begin, n_times + 1
            assert at == begin
            assert n_times == (2 if number in DIFFERING else 1)
    targets = [Path(path).name for path in files if "/target/" in path]
    assert targets == [small_pairs.name_of(number) for number in range(N)]
