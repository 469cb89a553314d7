"""msMonitor lines: against the json module, wherever the bytes are cut, with lines that are none."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npulse.core.errors import Cancelled, InputError
from npulse.core.formats.profiling import msmonitor
from npulse.core.formats.profiling.msmonitor import MonitorReader, read_msmonitor
from npulse.core.formats.profiling.msmonitor_log import MonitorLog, monitor_files
from npulse.core.formats.profiling.msmonitor_views import (
    operators_of,
    timelines_of,
)
from npulse.core.formats.profiling.timeline import HostCalls, Span
from npulse.core.formats.profiling.type_names import collective_type, type_in

T0 = 1785557700456789000
NAME = "msmonitor_12346_20260801121500456_3.jsonl"


def kernel(start: int, end: int, connection: int = 1, **more: Any) -> dict[str, Any]:
    return {
        "correlationId": connection,
        "deviceId": 0,
        "endNs": T0 + end,
        "kind": "Kernel",
        "name": "aclnnAdd_AddAiCore_Add",
        "startNs": T0 + start,
        "streamId": 2,
        "type": "KERNEL_AIVEC",
        **more,
    }


def collective(start: int, end: int, **more: Any) -> dict[str, Any]:
    return {
        "algType": "MESH-RING",
        "commName": "11978",
        "correlationId": 9,
        "count": 262144,
        "dataType": "FP16",
        "deviceId": 0,
        "endNs": T0 + end,
        "kind": "Communication",
        "name": "hcom_allReduce__865_0_1",
        "startNs": T0 + start,
        "streamId": 11,
        **more,
    }


def call(start: int, end: int, kind: str = "API", **more: Any) -> dict[str, Any]:
    return {
        "correlationId": 1,
        "endNs": T0 + end,
        "kind": kind,
        "name": "KernelLaunch",
        "processId": 5,
        "startNs": T0 + start,
        "threadId": 6,
        **more,
    }


RECORDS = [
    kernel(100, 250, 1),
    call(10, 30),
    collective(300, 900),
    kernel(50, 80, 2, deviceId=1, name="MatMulV2_32", type="AI_CORE"),
    call(5, 9, "RuntimeAPI", name="rtMalloc", correlationId=7),
    call(40, 45, correlationId=2),
    {
        "kind": "Marker",
        "sourceKind": "Host",
        "name": "load",
        "startNs": T0,
        "endNs": T0 + 5,
        "id": 1,
        "domain": "default",
    },
    {"kind": "Marker", "sourceKind": "Device", "name": "load", "startNs": T0 + 2, "endNs": T0 + 6, "id": 1},
    {"kind": "rank_device_map", "rank": 3, "device": [0, 1]},
    {
        "kind": "parallel_group_info",
        "value": json.dumps({"11978": {"group_name": "tp", "global_ranks": [2, 3]}}),
    },
    {"kind": "Memory", "bytes": 5},
]


def lines_of(records: list[Any]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def log_of(raw: bytes, *cuts: int, **options: Any) -> MonitorLog:
    """A log fed in pieces."""
    reader = MonitorReader(**options)
    reader.begin(NAME)
    places = [0, *sorted(cuts), len(raw)]
    for start, stop in zip(places[:-1], places[1:], strict=True):
        reader.feed(raw[start:stop])
    reader.end()
    return reader.log()


def rows_of(tasks: Any) -> list[tuple[Any, ...]]:
    return [
        (
            int(tasks.start_ns[i]),
            int(tasks.duration_ns[i]),
            int(tasks.stream[i]),
            tasks.names[tasks.name[i]],
            tasks.kinds[tasks.kind[i]] if tasks.kind[i] >= 0 else None,
            int(tasks.connection[i]),
        )
        for i in range(len(tasks))
    ]


def test_every_kind() -> None:
    log = log_of(lines_of(RECORDS))
    assert rows_of(log.kernels) == [
        (T0 + 50, 30, 2, "MatMulV2_32", "AI_CORE", 2),
        (T0 + 100, 150, 2, "aclnnAdd_AddAiCore_Add", "KERNEL_AIVEC", 1),
    ]
    assert (log.kernel_device.tolist(), log.kernel_line.tolist()) == ([1, 0], [4, 1])
    assert rows_of(log.communication) == [(T0 + 300, 600, 11, "hcom_allReduce__865_0_1", "11978", 9)]
    assert (log.counts.tolist(), log.texts[log.data_types[0]]) == ([262144], "FP16")
    assert log.texts[log.algorithms[0]] == "MESH-RING"
    assert [row[0] - T0 for row in rows_of(log.calls)] == [5, 10, 40]
    assert rows_of(log.calls)[0] == (T0 + 5, 4, 6, "rtMalloc", "RuntimeAPI", 7)
    assert log.marks == (Span("load", T0, T0 + 5),)
    assert log.device_marks == (Span("load", T0 + 2, T0 + 6),)
    assert (log.rank, log.pid, log.devices) == (3, 12346, (0, 1))
    assert (log.rank_devices, log.groups) == ({3: (0, 1)}, {"11978": (2, 3)})
    assert (log.group_labels, log.others) == ({"11978": "tp"}, {"Memory": 1})
    assert (log.n_lines, log.n_dropped, log.is_cut, log.problems) == (11, 0, False, ())


@settings(max_examples=60)
@given(
    cuts=st.lists(st.integers(0, 2000), max_size=6),
    ends=st.sampled_from([b"\n", b"\r\n"]),
    last=st.booleans(),
)
def test_where_bytes_are_cut_makes_no_difference(cuts: list[int], ends: bytes, last: bool) -> None:
    raw = lines_of(RECORDS).replace(b"\n", ends)
    raw = raw if last else raw.removesuffix(ends)  # a whole object needs no line end
    whole, pieces = log_of(lines_of(RECORDS)), log_of(raw, *(cut for cut in cuts if cut < len(raw)))
    assert rows_of(pieces.kernels) == rows_of(whole.kernels)
    assert rows_of(pieces.calls) == rows_of(whole.calls)
    assert (pieces.marks, pieces.n_lines, pieces.problems) == (whole.marks, whole.n_lines, ())


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 2**62),
            st.integers(0, 2**62),
            st.integers(-1, 2**63 - 1),
            st.text(min_size=0, max_size=8),
        ),
        max_size=30,
    )
)
def test_figures_are_exact(rows: list[tuple[int, int, int, str]]) -> None:
    records = [
        kernel(0, 0, startNs=start, endNs=end, correlationId=connection, name=name)
        for start, end, connection, name in rows
    ]
    log = log_of(lines_of(records))
    want = sorted(rows, key=lambda row: row[0])
    assert [(row[0], row[0] + row[1], row[5], row[3]) for row in rows_of(log.kernels)] == want


def test_cut_at_every_byte() -> None:
    """No half line is parsed; a log that ends inside one says so."""
    raw = lines_of(RECORDS[:3])
    ends = [i for i, byte in enumerate(raw) if byte == 10]
    for n in range(len(raw) + 1):
        log = log_of(raw[:n])
        n_whole = sum(end <= n for end in ends)  # behind the last brace
        assert log.n_lines == n_whole == len(log.kernels) + len(log.calls) + len(log.communication)
        is_cut = n not in (0, *ends, *(end + 1 for end in ends))
        assert (log.is_cut, [p.kind for p in log.problems]) == (is_cut, ["cut-off"] * is_cut)


def test_a_log_is_looked_at_while_it_grows() -> None:
    reader = MonitorReader()
    reader.begin(NAME)
    raw = lines_of([kernel(i, i + 1) for i in range(10)])
    half = len(raw) // 2 + 7
    assert reader.feed(raw[:half]) == 5
    first = reader.log()
    assert (len(first.kernels), first.is_cut, first.problems) == (5, False, ())
    reader.feed(raw[half:])
    assert len(reader.log().kernels) == 10 and len(first.kernels) == 5


def test_bad_lines_are_counted_with_their_numbers() -> None:
    bad = [b"nonsense", b"[1]", b'"x"', b"{}{}", b'{"kind": "Kernel"', b"\xff\xfe", b"[" * 5000]
    raw = lines_of([kernel(0, 5)]) + b"\n".join([b"", *bad, b"  ", b""]) + lines_of([kernel(7, 9)])
    log = log_of(raw)
    assert len(log.kernels) == 2 and log.kernel_line.tolist() == [1, 11]
    assert (log.n_dropped, log.n_lines) == (7, 9)
    assert [p.line for p in log.problems if p.kind == "bad-record"] == [3, 4, 5, 6, 7, 8, 9]


def test_values_of_wrong_types() -> None:
    nan = float("nan")
    records = [
        kernel(0, 5, deviceId="7", streamId=None, correlationId=nan),
        kernel(1, 5, deviceId=[1], streamId=2**70, type=5),
        kernel(0, 5, name=5),
        kernel(0, 5, startNs=-5),
        kernel(0, 5, endNs=None),
        kernel(0, 5, endNs=1.5),
        {"kind": "Kernel"},
        {"kind": ["Kernel"]},
        {},
        {"kind": "Marker", "name": "a"},
        {"kind": "rank_device_map", "rank": "x", "device": 1},
        {"kind": "parallel_group_info", "value": "{"},
        kernel(9, 8),  # ends before it starts: kept as it is
    ]
    log = log_of(lines_of(records))
    assert [(row[0] - T0, row[1], row[2], row[4], row[5]) for row in rows_of(log.kernels)] == [
        (0, 5, -1, "KERNEL_AIVEC", -1),
        (1, 4, -1, None, 1),
        (9, -1, 2, "KERNEL_AIVEC", 1),
    ]
    assert log.kernel_device.tolist() == [7, -1, 0]
    assert (log.n_dropped, log.others) == (7, {"": 2})
    assert {p.kind for p in log.problems} == {"bad-record"}


def test_lines_that_only_together_are_json() -> None:
    halves = [
        b'{"kind": "Kernel"},{"kind": [1',
        b"2]}",
        b'{"kind": "a"},{"kind": "b"}',
        b'{"kind": "a"',
        b"}",
    ]
    log = log_of(b"\n".join([*halves[:2], b""]))
    assert (log.n_dropped, len(log.kernels), log.others) == (2, 0, {})
    log = log_of(halves[2] + b"\n")
    assert (log.n_dropped, log.others) == (1, {})


def test_equal_starts_keep_the_order_of_the_file() -> None:
    log = log_of(lines_of([kernel(i % 2, 9, i) for i in range(100)]))
    assert log.kernels.connection.tolist() == [*range(0, 100, 2), *range(1, 100, 2)]


def test_one_number_of_more_than_64_bits() -> None:
    log = log_of(lines_of([kernel(0, 5, 2**63), kernel(1, 5, 2**63 - 1), kernel(2, 5, 4, endNs=2**63)]))
    assert log.kernels.connection.tolist() == [-1, 2**63 - 1] and log.n_dropped == 1
    assert [p.line for p in log.problems] == [1, 3]


def test_a_mark_of_one_moment() -> None:
    log = log_of(lines_of([{"kind": "Marker", "name": "a", "startNs": 5, "sourceKind": "Host"}]))
    assert log.marks == (Span("a", 5, 5),)


# ---- files ----


def test_rotated_files_come_in_order(tmp_path: Path) -> None:
    paths = []
    for i, stamp in enumerate(("20260801121600000", "20260801121500456", "20260801121700000")):
        path = tmp_path / f"msmonitor_12346_{stamp}_3.jsonl"
        path.write_bytes(lines_of([kernel(i * 10, i * 10 + 5)] * (i + 1)))
        paths.append(path)
    log = read_msmonitor(paths, root=tmp_path)
    assert [name[16:34] for name in log.files] == [
        "20260801121500456_",
        "20260801121600000_",
        "20260801121700000_",
    ]
    assert len(log.kernels) == 6 and np.bincount(log.kernel_file).tolist() == [2, 1, 3]
    assert log.kernel_line.tolist() == [1, 1, 2, 1, 2, 3]
    others = [tmp_path / name for name in ("msmonitor_1_20260801121500456_-1.jsonl", "msmonitor.jsonl")]
    groups = monitor_files([*paths, *others])
    assert [(group.pid, group.rank, len(group.paths)) for group in groups] == [(1, None, 1), (12346, 3, 3)]
    assert groups[1].paths == (paths[1], paths[0], paths[2])


def test_a_cut_file_before_others_is_told(tmp_path: Path) -> None:
    first, second = (tmp_path / f"msmonitor_1_2026080112150045{i}_0.jsonl" for i in (1, 2))
    first.write_bytes(lines_of([kernel(0, 5)] * 2)[:-20])
    second.write_bytes(lines_of([kernel(0, 5)]))
    log = read_msmonitor([first, second], root=tmp_path)
    assert (len(log.kernels), log.n_dropped, log.is_cut) == (2, 1, True)
    assert [(p.artifact, p.line) for p in log.problems] == [(first.name, 2)]
    first.unlink()
    log = read_msmonitor([first, second])
    assert len(log.kernels) == 1 and [p.kind for p in log.problems] == ["unreadable"]
    with pytest.raises(InputError, match="not exist"):
        read_msmonitor(first)
    with pytest.raises(Cancelled):
        read_msmonitor(second, is_cancelled=lambda: True)


def test_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = lines_of([kernel(i, i + 1) for i in range(20)])
    log = log_of(raw, max_lines=7)
    assert (len(log.kernels), log.n_lines) == (7, 7)
    assert [(p.kind, p.line) for p in log.problems] == [("limit", 8)]
    monkeypatch.setattr(msmonitor, "MAX_MARKS", 3)
    log = log_of(lines_of([RECORDS[6]] * 5))
    assert len(log.marks) == 3 and "2 more" in log.problems[0].message
    monkeypatch.setattr(msmonitor, "MAX_LINE_BYTES", 1000)
    log = log_of(b'{"kind": "' + b"x" * (3 << 20) + b'"}\n' + lines_of([kernel(0, 5)]))
    assert (len(log.kernels), log.n_dropped, log.kernel_line.tolist()) == (1, 1, [2])
    assert [p.kind for p in log.problems] == ["too-large"]
    log = log_of(lines_of([{"kind": str(i)} for i in range(100)]))
    assert len(log.others) == 65 and sum(log.others.values()) == 100
    log = log_of(lines_of([{"kind": "parallel_group_info", "value": {str(i): {"a": 1}}} for i in range(20)]))
    assert len(log.groups) == 16 and log.n_dropped == 4
    log = log_of(lines_of([{"kind": "rank_device_map", "rank": 0, "device": [0] * 5000}]))
    assert log.rank_devices == {} and log.n_dropped == 1


def test_names_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(msmonitor, "MAX_LABEL_BYTES", 5000)
    log = log_of(lines_of([kernel(i, i + 1, name=f"op{i}") for i in range(100)]))
    assert len(log.kernels) == 100 and len(log.texts) < 40
    assert [p.kind for p in log.problems] == ["limit"]
    assert operators_of(log).n_rows == 100


def test_any_bytes() -> None:
    chance = random.Random(9)
    raw = lines_of(RECORDS)
    tokens = [b"\n", b"NaN", b"-", b"9" * 5000, b"[", b"{", b"}", b'"', b"\xff", b"\0", b"null", b"1e999"]
    for _ in range(400):
        changed = bytearray(raw)
        for _ in range(3):
            at = chance.randrange(len(changed))
            changed[at : at + chance.randrange(4)] = chance.choice(tokens)
        log = log_of(bytes(changed), chance.randrange(len(changed)))
        table = operators_of(log)
        assert table.n_rows == len(log.kernels) + len(log.communication)
        timelines_of(log)
        if log.n_lines != len(RECORDS):
            assert log.problems or b"\n" in changed


@pytest.mark.budget
def test_cost_a_line(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(lines_of([kernel(i, i + 1, name=f"op{i % 50}") for i in range(50_000)]))
    started = time.process_time()
    assert len(read_msmonitor(path).kernels) == 50_000
    assert time.process_time() - started < 1.5


# ---- other forms ----


def test_operator_table() -> None:
    log = log_of(lines_of(RECORDS))
    table = operators_of(log)
    assert [table.text("op_type", row) for row in range(3)] == ["MatMulV2", "Add", "hcom_allReduce_"]
    assert [table.text("core_type", row) for row in range(3)] == [
        "AI_CORE",
        "AI_VECTOR_CORE",
        "COMMUNICATION",
    ]
    assert [table.text("name", row) for row in range(3)] == [
        "MatMulV2_32",
        "aclnnAdd_AddAiCore_Add",
        "hcom_allReduce__865_0_1",
    ]
    assert table.values("start_ns").tolist() == [T0 + 50, T0 + 100, T0 + 300]
    assert table.values("duration_ns").tolist() == [30, 150, 600]
    assert table.values("device").tolist() == [1, 0, 0]
    assert table.values("stream").tolist() == [2, 2, 11]
    assert (table.line.tolist(), table.files) == ([4, 1, 3], (NAME,))
    assert table.is_absent("input_shapes").all() and table.is_absent("wait_ns").all()
    assert table.has_inferred_types
    one = operators_of(log, device=1)
    assert (one.n_rows, one.texts("op_type"), one.texts("core_type")) == (1, ("MatMulV2",), ("AI_CORE",))
    assert operators_of(log_of(b"")).n_rows == 0


def test_timelines() -> None:
    first, second = timelines_of(log_of(lines_of(RECORDS)))
    assert (first.device, len(first.tasks), len(first.communication)) == (0, 1, 1)
    assert (second.device, len(second.tasks), len(second.communication)) == (1, 1, 0)
    assert [row[0] - T0 for row in rows_of(first.launches)] == [10]
    assert [row[0] - T0 for row in rows_of(second.launches)] == [40]
    assert first.ranges == (Span("load", T0, T0 + 5),)
    assert first.calls == (
        HostCalls("API", "KernelLaunch", 2, 25, 20, T0 + 10, T0 + 45),
        HostCalls("RuntimeAPI", "rtMalloc", 1, 4, 4, T0 + 5, T0 + 9),
    )


def test_rows_stay_with_their_lines(tmp_path: Path) -> None:
    """Communication that starts before kernels, in another file."""
    first, second = (tmp_path / f"msmonitor_1_2026080112150045{i}_0.jsonl" for i in (1, 2))
    first.write_bytes(lines_of([kernel(500, 600), kernel(100, 200)]))
    second.write_bytes(lines_of([call(0, 1), collective(0, 50), collective(300, 400)]))
    table = operators_of(read_msmonitor([first, second], root=tmp_path))
    places = [(table.files[table.file[row]], int(table.line[row])) for row in range(4)]
    assert places == [(second.name, 2), (first.name, 2), (second.name, 3), (first.name, 1)]
    assert [table.text("core_type", row)[:4] for row in range(4)] == ["COMM", "AI_V", "COMM", "AI_V"]


def test_what_has_no_correlation_was_started_by_nobody() -> None:
    (timeline,) = timelines_of(log_of(lines_of([call(0, 1, correlationId=-1), kernel(5, 6, -1)])))
    assert len(timeline.launches) == 0


@pytest.mark.parametrize(
    ("made", "name", "want"),
    [
        (type_in, "aclnnMatmul_MatMulCommon_MatMulV2", "MatMulV2"),
        (type_in, "trans_TransData_23", "TransData"),
        (type_in, "MatMulV2_32", "MatMulV2"),
        (type_in, "Add_0a4e0a4e0a4e0a4e0a4e0a4e0a4e0a4e_2_mix_aic", "Add"),
        (type_in, "RmsNorm", "RmsNorm"),
        (type_in, "RmsNorm_3", "RmsNorm"),
        (type_in, "aclnnAdd_AddAiCore_Add_18", "Add"),
        (type_in, "Cast_zero", "Cast_zero"),
        (type_in, "my_own_kernel_3", "my_own_kernel_3"),
        (type_in, "aclnnAdd_", "aclnnAdd_"),
        (type_in, "_1", "_1"),
        (type_in, "", ""),
        (collective_type, "hcom_allReduce__865_0_1", "hcom_allReduce_"),
        (collective_type, "other", "other"),
        (collective_type, "__x", "__x"),
    ],
)
def test_types_in_names(made: Callable[[str], str], name: str, want: str) -> None:
    assert made(name) == want
