"""visualize_data.bin: blocks, their JSON, and what is broken in them."""

from __future__ import annotations

import json
import math
import random
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import InputError
from npulse.core.formats.opprof.visualize import read_source_file, read_visualize
from npulse.core.formats.opprof.visualize_parts import number, whole

from .opprof_files import ROOFLINE, block, write

BASIC = {
    "advice": ["look here"],
    "name": "加法_kernel",
    "soc": "Ascend910B4",
    "op_type": "vector",
    "duration": 12.5,
    "block_dim": "8",
    "mix_block_dim": "NA",
    "device_id": "1",
    "pid": "77",
    "cur_freq": "1650",
    "block_detail": {
        "head_name": ["Block ID", "Core Type", "Duration (μs)"],
        "row": [{"value": ["0", "vector", "5.5"]}, {"value": ["1", "vector", "6.5"]}],
        "size": [2, 3],
    },
}
TABLES = {
    "table_per_block": [
        {
            "block_id": "0",
            "advice": ["MTE2 bandwidth utilization lower than 80% when active"],
            "table_detail": [
                {
                    "table_name": "Cache",
                    "header_name": ["", "hit", "miss", "total", "hit rate(%)"],
                    "row": [{"name": "L2 Cache Total", "value": ["3", "1", "4", "75.0"]}],
                },
                {
                    "table_name": "Pipe",
                    "header_name": ["", "instructions", "cycle", "wait cycles", "active rate(%)"],
                    "row": [
                        {"name": "MTE2", "value": ["7", "70", "NA", "35.0"]},
                        {"name": "FIXP", "value": ["0", "0", "0", "0.0"]},
                        {"name": "New", "value": ["0", "0", "0", "0.0"]},
                    ],
                },
            ],
        }
    ]
}
MAP = {
    "core_memory_map": [
        {
            "core_no": "0",
            "op_type": "vector",
            "advice": [],
            "Vector": {"cycle": 20, "total_cycles": 200, "ratio": 10.0},
            "memory_unit": [
                {"memory_path": 12, "request": "5", "bandwidth": "3.5", "peak_ratio": "NA"},
                {"memory_path": 99, "request": 1, "bandwidth": 1, "peak_ratio": 2},
                {"memory_path": "x"},
            ],
        }
    ]
}
SOURCE = {
    "Cores": ["core0.veccore0", "core0.veccore1"],
    "Files": [
        {
            "Source": "/home/user/add.cpp",
            "Lines": [
                {
                    "Line": 57,
                    "Cycles": [10, 0],
                    "Instructions Executed": [3, 0],
                    "Address Range": [["0x0", "0x8"]],
                },
                {"Line": 58, "Cycles": [1, 2], "Instructions Executed": [1, 2]},
            ],
        }
    ],
}
INSTRUCTIONS = {
    "Cores": ["core0.veccore0"],
    "Instructions": [
        {
            "Address": "0x1269f000",
            "AscendC Inner Code": "/home/user/add.cpp:57",
            "Source": "MOV_XD_IMM XD:X29,IMM",
            "Pipe": "SCALAR",
            "Cycles": [4],
            "Instructions Executed": [2],
        }
    ],
}
OCCUPANCY = {
    "advice": "\t1) core1 vector1 took more time than other core.\n\t2) second.\n",
    "op_detail": [
        {
            "core_id": 4,
            "core_detail": [
                {
                    "L2cache_hit_rate": "85.5",
                    "cycles": "219790",
                    "subcore_id": "1",
                    "subcore_type": "vector",
                    "throughput": "2641408",
                    "simt_vf_instructions": {"instructions": 9, "instruction_per_cycle": 0.5},
                }
            ],
        }
    ],
}
WHOLE = (
    block(1, b"#include <x>\n", path="/home/user/add.cpp")
    + block(5, BASIC)
    + block(8, MAP)
    + block(9, TABLES)
    + block(200, b"unknown")
    + block(2, b"{not json: nobody reads it here")
    + block(3, SOURCE)
    + block(4, INSTRUCTIONS, version=0)
    + block(12, OCCUPANCY)
    + block(13, ROOFLINE)
)


def test_every_kind_of_block(tmp_path: Path) -> None:
    found, problems = read_visualize(write(tmp_path / "v.bin", WHOLE))
    assert [problem.message for problem in problems] == ["1 records of kind 8 are not as expected"]
    assert found.counts == {1: 1, 5: 1, 8: 1, 9: 1, 200: 1, 2: 1, 3: 1, 4: 1, 12: 1, 13: 1}
    (source,) = found.source_files
    assert source.path == "/home/user/add.cpp"
    assert read_source_file(tmp_path / "v.bin", source) == ["#include <x>"]
    basic = found.basic
    assert (basic.name, basic.soc, basic.op_type, basic.duration_us) == (
        "加法_kernel",
        "Ascend910B4",
        "vector",
        12.5,
    )
    assert (basic.block_dim, basic.mix_block_dim, basic.device, basic.pid) == (8, None, 1, 77)
    assert basic.frequency_mhz == 1650
    assert [(t.block_id, t.core, t.duration_us) for t in found.block_times] == [
        (0, "vector", 5.5),
        (1, "vector", 6.5),
    ]
    (unit,) = found.units
    assert (unit.core, unit.busy_cycles, unit.total_cycles, unit.busy_percent) == ("vector0", 20, 200, 10.0)
    assert [(p.number, p.name, p.requests, p.gb_per_s, p.peak_percent) for p in found.paths] == [
        (12, "L2 to UB", 5, 3.5, None),
        (99, "99", 1, 1.0, 2.0),
    ]
    assert [
        (p.core, p.pipe, p.instructions, p.cycles, p.wait_cycles, p.active_percent) for p in found.pipes
    ] == [
        ("vector0", "mte2", 7, 70, None, 35.0),
        ("vector0", "fixpipe", 0, 0, 0, 0.0),
    ]
    assert [(c.name, c.hit, c.miss, c.hit_percent) for c in found.caches] == [("L2 Cache Total", 3, 1, 75.0)]
    assert len(found.figures) == 4, "rows of pipes that are not known are kept as they are"
    (load,) = found.loads
    assert (load.core, load.kind, load.subcore, load.cycles, load.moved_bytes) == (
        4,
        "vector",
        1,
        219790,
        2641408,
    )
    assert (load.l2_hit_percent, load.simt_instructions) == (85.5, 9)
    assert [(p.name, p.x, p.y, p.tb_per_s, p.peak_tops, p.told_ratio) for p in found.roofline] == [
        ("GM Read + Write", 100, 90, 1.8, 360, 0.5),
        ("L2 Read + Write", 90, 90, 8, 360, 0.25),
        ("broken", 1, 5, 1, 1, None),
    ]
    assert [(a.part, a.block, a.text) for a in found.advice] == [
        ("basic", "", "look here"),
        ("memory", "0", "MTE2 bandwidth utilization lower than 80% when active"),
        ("occupancy", "", "core1 vector1 took more time than other core."),
        ("occupancy", "", "second."),
        ("roofline", "", "latency bound:pipeline caused"),
    ]


def test_lines_and_instructions_by_core(tmp_path: Path) -> None:
    found, _ = read_visualize(write(tmp_path / "v.bin", WHOLE))
    lines, instructions = found.lines, found.instructions
    assert lines is not None and instructions is not None
    rows = zip(
        (lines.cores[i] for i in lines.core_codes),
        (lines.sources[i] for i in lines.source_codes),
        lines.calls.tolist(),
        lines.cycles.tolist(),
        strict=True,
    )
    assert list(rows) == [
        ("core0.veccore0", "/home/user/add.cpp:57", 3, 10.0),
        ("core0.veccore0", "/home/user/add.cpp:58", 1, 1.0),
        ("core0.veccore1", "/home/user/add.cpp:58", 2, 2.0),
    ]
    assert (instructions.names, instructions.details) == (("MOV_XD_IMM",), ("XD:X29,IMM",))
    assert instructions.addresses.tolist() == [0x1269F000]


def test_a_source_of_a_file_that_has_changed(tmp_path: Path) -> None:
    path = write(tmp_path / "v.bin", WHOLE)
    (source,) = read_visualize(path)[0].source_files
    path.write_bytes(WHOLE[:4000])
    with pytest.raises(InputError):
        read_source_file(path, source)


def test_the_last_block_of_a_kind_counts(tmp_path: Path) -> None:
    path = write(tmp_path / "v.bin", block(5, {"name": "a"}) + block(5, {"name": "b"}))
    found, problems = read_visualize(path)
    assert found.basic.name == "b" and found.counts == {5: 2}
    assert [problem.byte for problem in problems] == [0]


def test_a_file_that_is_being_written(tmp_path: Path) -> None:
    """Cut at every byte: blocks before the cut are read, the cut is told."""
    parts = [block(5, {"name": "a"}), block(12, OCCUPANCY), block(13, ROOFLINE)]
    raw = b"".join(parts)
    ends = [0]
    for part in parts:
        ends.append(ends[-1] + len(part))
    path = tmp_path / "v.bin"
    for n_bytes in range(1, len(raw)):
        path.write_bytes(raw[:n_bytes])
        found, problems = read_visualize(path)
        assert sum(found.counts.values()) == sum(end <= n_bytes for end in ends[1:])
        assert [problem.kind for problem in problems if problem.kind == "cut-off"] == (
            [] if n_bytes in ends else ["cut-off"]
        )


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (block(5, b"[1, 2]"), "bad-record"),
        (block(5, b"{"), "bad-record"),
        (block(5, b'{"name": ' + b"9" * 5000 + b"}"), ""),
        (block(9, b'{"a": ' + b"[" * 100_000 + b"}"), "too-deep"),
        (block(5, '{"name": "加"}'.encode("gb18030")), "encoding"),
        (struct.pack("<QBBBB", 2**63, 5, 0, 0x5A, 0x5A) + b"{}", "cut-off"),
        (block(5, {"name": "a"}) + b"\0" * 40, "bad-record"),
        (block(5, {"duration": 1e308 * 10}), ""),
        (block(13, {"multiple_rooflines": [{"rooflines": [{"point": [1]}, 5]}, "x"]}), "bad-record"),
        (block(9, {"table_per_block": {"a": 1}}), "bad-record"),
    ],
)
def test_hostile_blocks(tmp_path: Path, raw: bytes, kind: str) -> None:
    found, problems = read_visualize(write(tmp_path / "v.bin", raw))
    assert [problem.kind for problem in problems] == ([kind] if kind else [])
    assert found.basic.duration_us is None


def test_what_is_no_such_file_is_refused(tmp_path: Path) -> None:
    for raw in (
        struct.pack("<QBBBB", 8, 5, 4, 0x5A, 0x5A) + b"{}  \0\0\0\0",
        b"",
        b"hello world, this is text",
        b"\0" * 100,
        struct.pack("<QBBBB", 1, 5, 3, 0x5A, 0x5A) + b"{",
    ):
        with pytest.raises(InputError):
            read_visualize(write(tmp_path / "v.bin", raw))


def test_sizes_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A size is not believed: nothing of it is reserved. A block too large is skipped, the rest is read."""
    monkeypatch.setattr("npulse.core.formats.opprof.visualize.MAX_JSON_BYTES", 1000)
    path = write(tmp_path / "v.bin", block(9, b" " * 2000 + b"{}") + block(5, {"name": "a"}))
    found, problems = read_visualize(path)
    assert found.basic.name == "a" and [problem.kind for problem in problems] == ["too-large"]
    monkeypatch.setattr("npulse.core.formats.opprof.visualize.MAX_TOTAL_JSON_BYTES", 1100)
    two = block(9, b" " * 900 + b"{}") + block(7, b" " * 900 + b"{}") + block(5, {"name": "a"})
    found, problems = read_visualize(write(path, two))
    assert found.basic.name == "a" and [problem.byte for problem in problems] == [916]
    monkeypatch.setattr("npulse.core.formats.opprof.visualize.MAX_CONTAINERS", 100)
    found, problems = read_visualize(write(path, block(9, [[]] * 101) + block(5, {"name": "a"})))
    assert found.basic.name == "a" and [problem.kind for problem in problems] == ["too-large"]
    with path.open("wb") as file:
        file.write(struct.pack("<QBBBB", 2**31, 7, 0, 0x5A, 0x5A))
        file.truncate(2**31 + 12)
    tracemalloc.start()
    found, problems = read_visualize(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [problem.kind for problem in problems] == ["too-large"] and peak < 1 << 20


def test_records_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("npulse.core.formats.opprof.visualize_parts.MAX_RECORDS", 2)
    found, problems = read_visualize(write(tmp_path / "v.bin", block(5, {"advice": ["a", "b", "c", "d"]})))
    assert len(found.advice) == 2
    assert [problem.message for problem in problems] == ["2 records behind the limit were left out"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(st.sampled_from([5, 6, 7, 8, 9, 12, 13, 3, 4]), JSON, st.integers(0, 2**32))
def test_any_json_in_any_place_is_taken(
    tmp_path_factory: pytest.TempPathFactory, kind: int, value: Any, seed: int
) -> None:
    """Values of real blocks replaced by anything."""
    models: dict[int, Any] = {
        5: BASIC,
        8: MAP,
        9: TABLES,
        12: OCCUPANCY,
        13: ROOFLINE,
        3: SOURCE,
        4: INSTRUCTIONS,
    }
    model = json.loads(
        json.dumps(models.get(kind, {"subblock_detail": [{"block_id": 1, "name": "a", "unit": 1}]}))
    )
    rng = random.Random(seed)
    at = model
    while True:
        key = rng.choice(list(at)) if isinstance(at, dict) else rng.randrange(len(at))
        if not isinstance(at[key], (dict, list)) or not at[key] or rng.random() < 0.3:
            at[key] = value
            break
        at = at[key]
    path = tmp_path_factory.mktemp("v") / "v.bin"
    path.write_bytes(block(kind, model))
    found, problems = read_visualize(path)
    assert found.counts == {kind: 1}
    assert all(problem.kind in ("bad-record", "encoding", "limit") for problem in problems)


def test_random_bytes(tmp_path: Path) -> None:
    rng = random.Random(11)
    path = tmp_path / "v.bin"
    for _ in range(150):
        broken = bytearray(WHOLE)
        for _ in range(rng.randrange(1, 10)):
            broken[rng.randrange(len(broken))] = rng.randrange(256)
        path.write_bytes(broken)
        try:
            read_visualize(path)
        except InputError:
            pass


@given(st.integers() | st.floats() | st.text(max_size=30) | st.none() | st.booleans())
def test_numbers_of_json(value: Any) -> None:
    found, count = number(value), whole(value)
    assert found is None or math.isfinite(found)
    assert count is None or 0 <= count < 2**63
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63:
        assert count == value
