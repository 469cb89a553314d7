# ruff: noqa: E501 - log lines as they are
"""Logs that are followed: whatever is written, rotated or removed between two looks, the sites are those of a
cold read of all bytes that were ever there; what is open at the end of a growing log is nothing yet."""

from __future__ import annotations

import copy
import gc
import itertools
import os
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npulse.core.analysis import AnalysisOptions
from npulse.core.api import memory
from npulse.core.memory import followed, sites, told
from npulse.core.memory.analyse import Memory, analyse
from npulse.core.memory.criteria import Settings
from npulse.core.memory.logs import TextLog
from npulse.core.memory.report import report
from npulse.core.run.model import Artifact, Run
from npulse.core.tails import Tails

from .logs_by_hand import CLEAN, DROPPED, SEEN, START, illegal, leaks

OLD_NS = 10**18
KIND = "sanitizer.mssanitizer"


def host(n: int) -> str:
    return (
        "=================================================================\n"
        f"=={n}==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x6020000000{n % 90 + 10} at pc 0x5 bp 0x7 sp 0x6\n"
        f"WRITE of size 4 at 0x6020000000{n % 90 + 10} thread T0\n"
        f"    #0 0x55d{n} in fill /op/tiling_{n % 3}.cpp:{n % 5 + 10}:7\n"
        f"    #1 0x55e{n} in main /op/main.cpp:8:3\n\n"
        f"SUMMARY: AddressSanitizer: heap-buffer-overflow /op/tiling_{n % 3}.cpp:{n % 5 + 10}:7 in fill\n"
        f"=={n}==ABORTING\n"
    )


def python(n: int) -> str:
    return (
        f'Traceback (most recent call last):\n  File "/app/train.py", line {n % 7 + 1}, in step\n'
        "    y = model(x)\n"
        f"RuntimeError: NPU out of memory. Tried to allocate {n + 1}.00 GiB (NPU 3; 60.00 GiB total capacity; "
        "58.00 GiB already allocated; 57.00 GiB current active; 512.00 MiB free; 59.00 GiB reserved in total by "
        "PyTorch)\n"
    )


def plog(n: int) -> str:
    begin = f"[ERROR] RUNTIME({n},python):2026-03-01-10:00:{n % 60:02}.000.001 [task.cc:1]7 "
    return (
        f"{begin}PrintErrorInfo:report error module_type=5, module_name=EZ9999\n"
        f"{begin}[FINAL] The error from device(0), serial number is {n}, there is an aicore error, core id is 3, "
        "error code = 0x800000, dump info: pc start: 0x12, current: 0x34\n"
        f"{begin}Task run failed, device_id=0, stream_id=2, task_id={n}, flip_num=0, task_type=0(KERNEL_AICORE).\n"
        f"{begin}Aicore kernel execute failed, device_id=0, stream_id=2, report_stream_id=2, task_id={n}, "
        f"flip_num=0, fault kernel_name=Add_{n}, program id=3, hash=1.\n"
        f"{begin}synchronize stream failed, runtime result = 507015\n"
    )


BLOCKS: tuple[Callable[[int], str], ...] = (
    lambda n: START + illegal(40 + n % 4, serial=n + 1, pc=n) + SEEN,
    lambda n: (
        START + illegal(40 + n % 4, word="write", serial=1000 - n, block=f"aiv({n % 9})") + DROPPED + SEEN
    ),
    lambda n: START + f"loss {n}\n" + CLEAN,
    lambda n: leaks((320 + n, f"run_{n % 3}.cpp:15"), (64, "run_1.cpp:16")),
    host,
    python,
    plog,
    lambda n: f"step {n}\n" * 20,
)

ACTIONS = st.one_of(
    st.tuples(st.just("write"), st.integers(0, 1), st.integers(1, 900)),
    st.tuples(st.just("write"), st.integers(0, 1), st.integers(1, 40)),
    st.tuples(st.sampled_from(("look", "rotate", "truncate", "remove")), st.integers(0, 1), st.just(0)),
)


class Folder:
    """A folder with logs that grow, and all that was ever written into it."""

    def __init__(self, path: Path, streams: list[bytes]) -> None:
        self.path = path
        path.mkdir()
        self.streams = streams
        self.generations: dict[str, list[bytes]] = {}
        self.n_rotated = self.n_begun = 0

    def write(self, name: str, stream: int, n_bytes: int) -> None:
        piece, self.streams[stream] = self.streams[stream][:n_bytes], self.streams[stream][n_bytes:]
        is_new = not (self.path / name).exists()
        if not piece:
            return
        if is_new or not self.generations[name][-1]:
            self.n_begun += 1
            piece = f"run {self.n_begun}\n".encode() + piece  # no log begins as another one
        with (self.path / name).open("ab") as file:
            file.write(piece)
        known = self.generations.setdefault(name, [])
        if is_new:
            known.append(b"")
        known[-1] += piece

    def rotate(self, name: str) -> None:
        if (self.path / name).exists() and self.generations[name][-1]:
            self.n_rotated += 1
            new = f"{name}.{self.n_rotated}"
            (self.path / name).rename(self.path / new)
            self.generations[new] = [self.generations[name].pop()]

    def truncate(self, name: str) -> None:
        if (self.path / name).exists() and self.generations[name][-1]:
            (self.path / name).write_bytes(b"")
            self.generations[name].append(b"")

    def remove(self, name: str) -> None:
        if (self.path / name).exists() and self.generations[name][-1]:
            (self.path / name).unlink()

    def age(self, modified_ns: int = OLD_NS) -> None:
        for path in self.path.iterdir():
            os.utime(path, ns=(modified_ns, modified_ns))

    def look(self, tails: Tails) -> Memory | None:
        names = sorted(name for name, told in self.generations.items() if told)
        if not names:
            return None
        artifacts = [Artifact(KIND, self.path / name, name, 0, 0) for name in names]
        return analyse(Run(self.path, ()), "", artifacts, Settings(), tails=tails)

    def cold(self, path: Path) -> Memory:
        path.mkdir()
        artifacts = []
        for name in sorted(self.generations):
            for place, content in enumerate(self.generations[name], start=1):
                label = name if place == len(self.generations[name]) else f"{name}~{place}"
                (path / label).write_bytes(content)
                artifacts.append(Artifact(KIND, path / label, label, 0, 0))
        return analyse(Run(path, ()), "", artifacts, Settings())


def same(found: Memory, cold: Memory) -> None:
    for one, other in itertools.zip_longest(found.sites, cold.sites):
        assert one == other
    assert found.trusts == cold.trusts
    assert found.incidents == cold.incidents
    assert found.checks == cold.checks
    assert found.problems == cold.problems
    assert (found.n_faults, found.n_left_out) == (cold.n_faults, cold.n_left_out)


@settings(max_examples=100, deadline=None)
@given(
    blocks=st.lists(st.tuples(st.integers(0, 1), st.sampled_from(BLOCKS)), min_size=1, max_size=14),
    actions=st.lists(ACTIONS, max_size=40),
)
def test_any_order_of_writes_and_looks(
    tmp_path_factory: pytest.TempPathFactory,
    blocks: list[tuple[int, Callable[[int], str]]],
    actions: list[tuple[str, int, int]],
) -> None:
    streams = [b"", b""]
    for n, (stream, block) in enumerate(blocks):
        streams[stream] += block(n).encode()
    base = tmp_path_factory.mktemp("followed")
    folder = Folder(base / "run", streams)
    tails = Tails()
    for n, (what, stream, n_bytes) in enumerate([*actions, ("write", 0, 10**6), ("write", 1, 10**6)]):
        name = ("a.log", "b.log")[stream]
        if what == "write":
            folder.write(name, stream, n_bytes)
            continue
        found = folder.look(tails)
        if found is not None:
            growing = [trust for trust in found.trusts if (folder.path / trust.artifact).exists()]
            names = {trust.artifact for trust in growing}
            assert not any(site.n_cut and set(site.artifacts) <= names for site in found.sites)
            assert all("in progress" in trust.gaps for trust in growing)
            assert not growing or report(found).verdict in ("fail", "incomplete")
            if what == "look":
                folder.age()
                ended = folder.look(tails)
                assert ended is not None
                same(ended, folder.cold(base / f"cold{n}"))
                folder.age(time.time_ns())
        if what != "look":
            getattr(folder, what)(name)
            folder.look(tails)  # what nobody looked at in between cannot be told apart
    folder.age()
    found = folder.look(tails)
    assert found is not None
    same(found, folder.cold(base / "cold"))
    tails.close()


def test_a_record_that_is_being_written_is_nothing_yet(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "run", [(START + illegal(43) + illegal(44)).encode()])
    tails = Tails()
    first = len((START + illegal(43)).encode())
    n_sites = []
    for n_bytes in (first, 60, 60, 60, 10**6):
        folder.write("a.log", 0, n_bytes)
        found = folder.look(tails)
        assert found is not None and found.n_faults == len(found.sites)
        assert not any(site.n_cut for site in found.sites) and found.problems == ()
        assert found.trusts[0].gaps == ("in progress",)
        n_sites.append(len(found.sites))
    assert n_sites == [1, 1, 1, 1, 2]


def test_a_log_that_nobody_writes_any_more_is_told_to_its_end(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "run", [(START + illegal(43))[:-60].encode()])
    tails = Tails()
    folder.write("a.log", 0, 10**6)
    growing = folder.look(tails)
    folder.age()
    ended = folder.look(tails)
    assert growing is not None and ended is not None
    assert (growing.sites, growing.trusts[0].gaps) == ((), ("in progress",))
    assert [site.n_cut for site in ended.sites] == [1]
    assert set(ended.trusts[0].gaps) == {"cut-off", "unfinished-kernel"}


def test_a_clean_log_is_no_pass_while_it_grows(tmp_path: Path) -> None:
    (tmp_path / "check.log").write_text(START + CLEAN)
    options = AnalysisOptions(tails=Tails())
    growing = memory(tmp_path, options=options)
    assert growing.verdict == "incomplete"
    assert [finding.figures["gap"] for finding in growing.findings] == ["in progress"]
    os.utime(tmp_path / "check.log", ns=(OLD_NS, OLD_NS))
    assert memory(tmp_path, options=options).verdict == "pass"


def test_each_byte_is_read_once_and_an_end_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fed, copies = [], []
    take = TextLog.take

    def counted(log: TextLog, chunk: bytes) -> object:
        fed.append(len(chunk))
        return take(log, chunk)

    def copied(log: TextLog) -> TextLog:
        copies.append(log)
        return copy.deepcopy(log)

    monkeypatch.setattr(TextLog, "take", counted)
    monkeypatch.setattr(followed, "copy", SimpleNamespace(deepcopy=copied))
    folder = Folder(tmp_path / "run", [(START + illegal(43) + SEEN).encode() * 50])
    size = len(folder.streams[0]) + len("run 1\n")
    tails = Tails()
    while folder.streams[0]:
        folder.write("a.log", 0, 700)
        folder.look(tails)
    assert sum(fed) == size and not copies
    folder.age()
    for _ in range(3):
        found = folder.look(tails)
    assert found is not None and found.n_faults == 50
    assert sum(fed) == size and len(copies) == 1


def test_months_of_the_same_fault_cost_no_more_memory_than_an_hour(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(told, "MAX_EVENTS", 100)
    monkeypatch.setattr(sites, "MAX_SITES", 100)
    reader = followed.Followed("a.log", KIND, lambda frames: frames[0] if frames else None)
    block = (START + illegal(43) + SEEN + host(3) + python(2)).encode()
    sizes = []
    for _ in range(4):
        for _ in range(600):
            reader.feed(block)
        sizes.append(n_held(reader))
    assert sizes[-1] == sizes[1]


def n_held(root: object) -> int:
    """Objects that hang on one, told apart by identity."""
    seen: dict[int, object] = {}
    todo = [root]
    while todo:
        one = todo.pop()
        if id(one) in seen or isinstance(one, type) or callable(one) or type(one).__name__ == "module":
            continue
        seen[id(one)] = one
        todo += gc.get_referents(one)
    return len(seen)


def test_a_look_at_a_long_log_costs_what_is_new(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "run", [(START + illegal(43) + SEEN).encode() * 40_000])
    tails = Tails()
    folder.write("a.log", 0, 10**9)
    begun = time.process_time()
    folder.look(tails)
    cold_s = time.process_time() - begun
    folder.streams[0] = (START + illegal(44) + SEEN).encode()
    folder.write("a.log", 0, 10**6)
    begun = time.process_time()
    found = folder.look(tails)
    assert found is not None and found.n_faults == 40_001
    assert time.process_time() - begun < cold_s / 20


def test_a_table_of_events_is_read_again_where_it_grew(tmp_path: Path) -> None:
    header = "ID,Event,Event Type,Name,Timestamp(ns),Process Id,Thread Id,Device Id,Ptr,Attr\n"
    rows = [
        f'{n},MALLOC,PTA,N/A,{1000 * n},7,7,0,{0x1000 * n},"{{addr:{0x1000 * n},size:{100 * n}}}"\n'
        for n in range(1, 4)
    ]
    path = tmp_path / "memscope_dump_1.csv"
    artifact = Artifact("memscope.dump", path, path.name, 0, 0)
    tails = Tails()

    def look() -> Memory:
        return analyse(Run(tmp_path, ()), "", [artifact], Settings(), tails=tails)

    path.write_text(header + rows[0] + rows[1][:-9])
    growing = look()
    assert growing.n_faults == 1 and growing.problems == ()
    assert growing.trusts[0].gaps == ("in progress",)
    path.write_text(header + "".join(rows))
    os.utime(path, ns=(OLD_NS, OLD_NS))
    ended = look()
    assert ended.n_faults == 3 and ended.trusts[0].gaps == ()
    path.unlink()
    gone = look()
    assert gone.sites == ended.sites and gone.problems == ()
