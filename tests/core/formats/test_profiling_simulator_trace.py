"""Pipes of the operator simulator: intervals, and pairs of begins and ends."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npulse.core.errors import InputError
from npulse.core.formats.profiling.timeline import NONE
from npulse.core.formats.profiling.trace_simulator import PipeIntervals, read_simulator_trace


def x(core: str, pipe: str, name: str, ts: Any, dur: Any, **args: Any) -> dict[str, Any]:
    return {"ph": "X", "pid": core, "tid": pipe, "name": name, "ts": ts, "dur": dur, "args": args}


def mark(ph: str, core: str, pipe: str, name: str, ts: Any) -> dict[str, Any]:
    return {"ph": ph, "pid": core, "tid": pipe, "name": name, "ts": ts, "id": "0"}


def read(path: Path, events: list[dict[str, Any]]) -> PipeIntervals:
    path.write_text(json.dumps({"schemaVersion": 2, "profilingType": "op", "traceEvents": events}))
    return read_simulator_trace(path)


def rows(found: PipeIntervals) -> list[tuple[Any, ...]]:
    return [
        (
            found.cores[found.core[i]],
            found.pipes[found.pipe[i]],
            int(found.start_ns[i]),
            int(found.duration_ns[i]),
            found.texts[found.name[i]] if found.name[i] >= 0 else None,
            bool(found.is_pair[i]),
        )
        for i in range(len(found))
    ]


CUBE = "core2.cubecore0"


def test_intervals_of_two_cores(tmp_path: Path) -> None:
    moved = {"process_bytes": "2048"}
    events = [
        {"ph": "M", "name": "thread_sort_index", "pid": CUBE, "tid": "CUBE", "args": {"sort_index": 3}},
        x("core10.veccore0", "VECTOR", "VADD", 0.74, 0.08, code="a.cpp:57\nb.h:3", detail="id:0", **moved),
        x(CUBE, "MTE2", "MOV", 0.5, 0.24, pc_addr="0x11fe3d0", process_bytes=512),
        x(CUBE, "CUBE", "MMAD", 0.0004, 1.0006),
        mark("B", CUBE, "MTE2", "SET_FLAG", 0.8),
        {"ph": "s", "cat": "MTE2ToCUBE", "id": "0", "name": "flow", "pid": CUBE, "tid": "MTE2", "ts": 0.8},
        mark("E", CUBE, "MTE2", "SET_FLAG", 0.81),
        {"ph": "C", "name": "GM_TO_UB", "pid": "MTE Throughput", "ts": 0, "args": {"throughput(MB/s)": 3}},
    ]  # fmt: skip
    found = read(tmp_path / "trace.json", events)
    assert (found.problems, found.is_cut, found.source) == ((), False, str(tmp_path / "trace.json"))
    assert rows(found) == [
        (CUBE, "CUBE", 0, 1001, "MMAD", False),
        (CUBE, "MTE2", 500, 240, "MOV", False),
        (CUBE, "MTE2", 800, 10, "SET_FLAG", True),
        ("core10.veccore0", "VECTOR", 740, 80, "VADD", False),
    ]
    assert found.moved_bytes.tolist() == [NONE, 512, NONE, 2048]
    assert found.texts[found.code[3]] == "a.cpp:57\nb.h:3" and found.texts[found.detail[3]] == "id:0"
    assert found.texts[found.address[1]] == "0x11fe3d0" and found.code[0] == NONE


def test_begins_and_ends_that_do_not_meet(tmp_path: Path) -> None:
    events = [
        mark("E", "c", "P", "late", 1),
        mark("B", "c", "P", "outer", 2),
        mark("B", "c", "P", "inner", 3),
        mark("E", "c", "P", "inner", 4),
        mark("E", "c", "P", "outer", 6),
        mark("B", "c", "P", "open", 7),
        mark("E", "c", "Q", "other pipe", 8),
        mark("B", "c", "P", "no time", None),
        x("c", "P", "no length", 1, None),
    ]
    found = read(tmp_path / "trace.json", events)
    assert rows(found) == [("c", "P", 2000, 4000, "outer", True), ("c", "P", 3000, 1000, "inner", True)]
    assert [(p.kind, p.message.split()[0]) for p in found.problems] == [
        ("bad-record", "2"),
        ("bad-record", "3"),
    ]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("BE"), st.sampled_from("PQ")), max_size=40))
def test_pairs_against_a_stack(
    tmp_path_factory: pytest.TempPathFactory, marks: list[tuple[str, str]]
) -> None:
    events = [mark(ph, "c", pipe, f"n{i}", i) for i, (ph, pipe) in enumerate(marks)]
    expected: list[tuple[str, int, int]] = []
    open_: dict[str, list[int]] = {"P": [], "Q": []}
    for i, (ph, pipe) in enumerate(marks):
        if ph == "B":
            open_[pipe].append(i)
        elif open_[pipe]:
            start = open_[pipe].pop()
            expected.append((pipe, start * 1000, (i - start) * 1000))
    found = read(tmp_path_factory.mktemp("pairs") / "trace.json", events)
    assert [row[1:4] for row in rows(found)] == sorted(expected)


def test_far_times_and_cut_files(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    far = [mark("B", "c", "P", "b", "-9223372036854775"), mark("E", "c", "P", "e", "9223372036854775")]
    assert read(path, far).duration_ns.tolist() == [2**63 - 1]
    assert len(read(path, [])) == 0
    events = [x("c", "P", "VADD", 1, 2, code="a"), mark("B", "c", "P", "f", 2), mark("E", "c", "P", "f", 3)]
    raw = json.dumps({"traceEvents": events}).encode()
    for n in range(1, len(raw)):
        path.write_bytes(raw[:n])
        found = read_simulator_trace(path)
        assert found.is_cut and len(found) <= 2 and found.problems
    rng = random.Random(3)
    for _ in range(60):
        edited = bytearray(raw)
        for _ in range(3):
            edited[rng.randrange(len(edited))] = rng.randrange(256)
        path.write_bytes(bytes(edited))
        try:
            rows(read_simulator_trace(path))
        except InputError:
            continue
