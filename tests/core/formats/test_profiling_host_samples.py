"""Samples of the host and records of the scheduler out of raw slices: by hand, cut anywhere, any bytes."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import InputError
from npulse.core.formats.profiling import host_samples, stars_records
from npulse.core.formats.profiling.host_samples import read_host_cpu, read_host_memory
from npulse.core.formats.profiling.stars_records import TaskRecords, count_task_records


def stat(thread: int, user: int, system: int, name: str = "python3") -> str:
    return f"{thread} ({name}) R 1 12 12 0 -1 4194304 100 0 0 0 {user} {system} 0 0 20 0 8 0 912 1000 20\n"


CPU = (
    "time 1000000000\n10.00 20.00\n"
    + stat(1, 100, 50)
    + stat(2, 10, 0, "a) R (b")
    # 20 ms later: thread 1 had 3 ticks, thread 2 one, thread 3 is new with 2: six ticks of 10 ms
    + "time 1020000000\n10.02 20.00\n"
    + stat(1, 102, 51)
    + stat(2, 11, 0, "a) R (b")
    + stat(3, 1, 1)
    # 40 ms later: thread 1 is gone, thread 3 had two ticks
    + "time 1060000000\n10.06 20.00\n"
    + stat(2, 11, 0)
    + stat(3, 3, 1)
    # the last sample is never told: more lines of it may come
    + "time 1080000000\n10.08 20.00\n"
    + stat(2, 500, 0)
)
CPU_NS = [1_020_000_000, 1_060_000_000]
CPU_CORES = [3.0, 0.5]


def sliced(folder: Path, raw: bytes, *cuts: int) -> list[Path]:
    """A text in slices that are cut at these places."""
    places = [0, *sorted(cuts), len(raw)]
    paths = [folder / f"host_cpu.data.slice_{i}" for i in range(len(places) - 1)]
    for path, start, stop in zip(paths, places[:-1], places[1:], strict=True):
        path.write_bytes(raw[start:stop])
    return paths


@given(cuts=st.lists(st.integers(0, len(CPU)), max_size=4))
def test_cpu_wherever_slices_are_cut(tmp_path_factory: pytest.TempPathFactory, cuts: list[int]) -> None:
    found = read_host_cpu(sliced(tmp_path_factory.mktemp("cpu"), CPU.encode(), *cuts))
    assert found.ns.tolist() == CPU_NS
    assert found.values.tolist() == pytest.approx(CPU_CORES)
    assert (found.n_dropped, found.is_cut, found.problems) == (0, False, ())


def test_cpu_cut_at_every_byte(tmp_path: Path) -> None:
    """Half a sample is none; what is told is right."""
    raw = CPU.encode()
    last_time = raw.rindex(b"time")
    for n in range(len(raw)):
        found = read_host_cpu(sliced(tmp_path, raw[:n]))
        assert found.is_cut == (n > 0 and raw[n - 1 : n] != b"\n")
        k = len(found.ns)
        assert found.ns.tolist() == CPU_NS[:k]
        assert found.values.tolist() == pytest.approx(CPU_CORES[:k])
        assert (k == 2) == (n >= last_time + len("time 1080000000\n"))


def test_samples_that_do_not_rise_are_counted(tmp_path: Path) -> None:
    raw = (
        CPU + "time 1080000000\n1 1\n" + stat(3, 9, 9) + "time x\n1 1\n" + stat(3, 9, 9) + "time 2\n"
    ).encode()
    found = read_host_cpu(sliced(tmp_path, raw))
    assert (found.ns.tolist(), found.n_dropped) == ([*CPU_NS, 1080000000], 2)


def test_memory(tmp_path: Path) -> None:
    raw = b"1000 9 300000 1 1 0 8 0\n2000 9 300064 1\n2000 9 5 1\nx 9 5\n3000 9\n\n4000 9 1 1"
    found = read_host_memory(sliced(tmp_path, raw, 30))
    assert found.ns.tolist() == [1000, 2000]
    assert found.values.tolist() == [300000 * 4096, 300064 * 4096]
    assert (found.n_dropped, found.is_cut) == (3, True)
    assert read_host_memory(sliced(tmp_path, raw), page_bytes=65536).values[0] == 300000 * 65536


def test_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = b"".join(b"%d 1 1\n" % i for i in range(1, 2000))
    monkeypatch.setattr(host_samples, "MAX_SAMPLES", 7)
    found = read_host_memory(sliced(tmp_path, lines))
    assert len(found.ns) == 7 and [p.kind for p in found.problems] == ["limit"]
    monkeypatch.setattr(host_samples, "MAX_BYTES", 20)
    found = read_host_memory(sliced(tmp_path, lines))
    assert found.ns.tolist() == [1, 2, 3] and [p.kind for p in found.problems] == ["limit"]
    monkeypatch.setattr(host_samples, "MAX_BYTES", 1 << 30)
    found = read_host_memory(sliced(tmp_path, b"x" * (3 << 20) + b"\n7 1 1\n"))
    assert found.ns.tolist() == [7] and "too-large" in {p.kind for p in found.problems}


def test_slices_that_are_missing(tmp_path: Path) -> None:
    paths = sliced(tmp_path, b"1 1 1\n22 1 1\n33 1 1\n", 8, 13)
    paths[1].unlink()
    found = read_host_memory(paths)  # the half line before the gap is not joined to what is behind it
    assert found.ns.tolist() == [1, 33] and [p.kind for p in found.problems] == ["unreadable"]
    with pytest.raises(InputError, match="does not exist"):
        read_host_memory([paths[1]])
    assert len(read_host_cpu([]).ns) == 0


def test_any_bytes(tmp_path: Path) -> None:
    chance = random.Random(8)
    raw = CPU.encode()
    for _ in range(80):
        changed = bytearray(raw)
        for _ in range(3):
            at = chance.randrange(len(changed))
            changed[at : at + chance.randrange(9)] = chance.choice(
                [b"\n", b")", b"9" * 40, b"\xff", b"\0", b"time ", b"-5", b""]
            )
        for read in (read_host_cpu, read_host_memory):
            found = read(sliced(tmp_path, bytes(changed), len(changed) // 2))
            assert len(found.ns) == len(found.values)
            assert (np.diff(found.ns) > 0).all() and np.isfinite(found.values).all()
            assert (found.values >= 0).all()


# ---- records of the scheduler ----


def record(function: int, magic: int = 0x6BD3) -> bytes:
    return struct.pack("<HHHHQ", function | 0x0800, magic, 2, 100, 5).ljust(64, b"\0")


def test_task_records(tmp_path: Path) -> None:
    first = record(0) + record(1) + record(0) + record(2) + record(0, 0x1234) + b"\xff" * 63
    second = record(1) * 40_000
    paths = sliced(tmp_path, first + second, len(first))
    assert count_task_records(paths) == TaskRecords(40_004, 2, 40_001, 1, 63, False)
    assert count_task_records([]) == TaskRecords()
    with pytest.raises(InputError):
        count_task_records([tmp_path / "none"])


def test_task_records_whatever_a_read_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stars_records, "BLOCK_BYTES", 100)
    paths = sliced(tmp_path, (record(0) + record(1)) * 20)
    assert count_task_records(paths) == TaskRecords(40, 20, 20, 0, 0, False)
    monkeypatch.setattr(stars_records, "MAX_BYTES", 640)
    assert count_task_records(paths).is_partial


def test_task_records_cut_at_every_byte(tmp_path: Path) -> None:
    raw = record(0) + record(1)
    for n in range(len(raw)):
        found = count_task_records(sliced(tmp_path, raw[:n]))
        assert (found.n_records, found.cut_bytes) == divmod(n, 64)
