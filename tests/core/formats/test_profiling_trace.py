"""Timelines in Chrome's format: every way in which they are written, cut, broken or still growing."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import Cancelled, InputError
from npulse.core.formats.profiling import trace
from npulse.core.formats.profiling.trace import TraceFile, TraceReader, read_event, read_trace
from npulse.core.formats.profiling.trace_blocks import NO_CODE, TraceBlock, TraceState, no_time_mask
from npulse.core.formats.profiling.trace_elements import MAX_EVENT_BYTES
from npulse.core.formats.profiling.trace_numbers import NO_TIME
from npulse.core.progress import Progress

from .trace_reference import expected_rows, rows_of

HOST = {
    "ph": "X",
    "name": "aten::add",
    "pid": 31,
    "tid": 31,
    "ts": "1736408883688177.930",
    "dur": 145.57,
    "cat": "cpu_op",
    "args": {"Sequence number": -1, "Input Dims": "8,4;\r\n8,4", "Call stack": "a.py(1): f"},
}
DEVICE = {
    "name": "MatMulV3",
    "pid": 3170820512,
    "tid": 2,
    "ts": "1736408883704643.212",
    "dur": 53.742,
    "args": {"Task Type": "AI_CORE", "Task Id": 8, "connection_id": 1644},
    "ph": "X",
}
FLOW_FROM = {
    "name": "HostToDevice936",
    "ph": "s",
    "cat": "HostToDevice",
    "id": "936",
    "pid": 31,
    "tid": 31,
    "ts": "1736408883694795.840",
}
FLOW_TO = {
    "name": "HostToDevice936",
    "ph": "f",
    "id": "936",
    "ts": "1736408883700059.821",
    "cat": "HostToDevice",
    "pid": 3170820512,
    "tid": 2,
    "bp": "e",
}
COUNTER = {
    "name": "AI Core Freq",
    "ts": "1736408883573887.920",
    "pid": 77,
    "tid": 0,
    "args": {"MHz": 1800},
    "ph": "C",
}
PROCESS = {"ph": "M", "name": "process_name", "pid": 31, "tid": 0, "args": {"name": "Python"}}
THREAD = {"ph": "M", "name": "thread_name", "pid": 3170820512, "tid": 2, "args": {"name": "Stream 2"}}
ALL = [HOST, DEVICE, FLOW_FROM, FLOW_TO, PROCESS, COUNTER, THREAD, DEVICE]
ARGS = ("Task Type", "Task Id", "connection_id", "Sequence number", "Input Dims", "missing")


def read(
    data: bytes | str, args: tuple[str, ...] = (), step: int = 0
) -> tuple[TraceReader, list[TraceBlock], TraceState]:
    """A whole file, at once or in pieces of `step` bytes."""
    raw = data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass")
    reader = TraceReader(args)
    pieces = [raw[i : i + step] for i in range(0, len(raw), step)] if step else [raw]
    blocks = [block for piece in pieces for block in reader.feed(piece)]
    blocks += reader.feed(b"")
    return reader, blocks, reader.finish()


def rows(data: bytes | str, args: tuple[str, ...] = (), step: int = 0) -> Any:
    reader, blocks, _ = read(data, args, step)
    return rows_of(reader, blocks, args)


def events(data: bytes | str) -> list[Any]:
    return rows(data)[0]


def one(**fields: Any) -> str:
    return json.dumps([{"ph": "X", "name": "a", "pid": 1, "tid": 2, **fields}])


def kinds(state: TraceState) -> list[tuple[str, int | None]]:
    return [(problem.kind, problem.byte) for problem in state.problems]


# ---- what is in a trace ----


@pytest.mark.parametrize(
    "written",
    [
        json.dumps(ALL),
        json.dumps(ALL, indent=4),
        json.dumps(ALL, separators=(",", ":")),
        json.dumps(ALL, separators=(" , ", " :  ")),
        "\ufeff \r\n" + json.dumps(ALL, indent="\t") + "\n ",
        json.dumps({"schemaVersion": 1, "traceEvents": ALL}),
        json.dumps(
            {"devices": [{"id": 0, "x": ["]", "}"]}], "traceEvents": ALL, "displayTimeUnit": "ns"}, indent=1
        ),
        ",\n".join(map(json.dumps, ALL)).join(["[\n", "\n]"]),
        json.dumps(ALL).replace("}, {", "},{", 3),
    ],
)
def test_every_way_to_write_the_same_trace(written: str) -> None:
    expected = expected_rows(json.dumps(ALL), ARGS)
    assert [len(part) for part in expected] == [3, 2, 1, 1, 1]
    for step in (0, 1, 7, 300):
        reader, blocks, state = read(written, ARGS, step)
        assert rows_of(reader, blocks, ARGS) == expected
        assert not state.is_cut and state.problems == () and state.n_dropped == 0
        assert state.n_by_phase == {"X": 3, "s": 1, "f": 1, "C": 1, "M": 2} and state.n_events == 8
        assert state.n_bytes == state.n_whole_bytes == len(written.encode())


def test_members_around_the_events_are_told() -> None:
    around = {"displayTimeUnit": "ns", "n": {"a": 1}, "traceEvents": [HOST], "schemaVersion": 2, "x": None}
    assert read(json.dumps(around))[2].settings == {"displayTimeUnit": "ns", "schemaVersion": 2, "x": None}


@pytest.mark.parametrize(
    ("written", "ns"),
    [
        ('"1736408883688177.930"', 1736408883688177930),
        ("1736408883688177.930", 1736408883688177930),
        ('"1736408883688177.93"', 1736408883688177930),
        ('"1736408883688177"', 1736408883688177000),
        ("1736408883688177.9301", 1736408883688177930),
        ("1736408883688177.9305", 1736408883688177930),
        ("1736408883688177.9315", 1736408883688177932),
        ("1736408883688177.93051", 1736408883688177931),
        ("0", 0),
        ("0.5", 500),
        ("-3.25", -3250),
        ('"-0.001"', -1),
        ("1e3", 1_000_000),
        ("1.5E-3", 2),
        ('" 7.5 "', 7500),
        ("9223372036854775.807", 2**63 - 1),
        ("1e-400", 0),
        ("0.0005", 0),
        ("0.0015", 2),
        ('"0012.5"', 12500),
    ],
)
def test_times_are_exact_nanoseconds(written: str, ns: int) -> None:
    text = one(ts="T", dur="T").replace('"T"', written)
    reader, blocks, state = read(text)
    assert blocks[0].events.start_ns.tolist() == [ns] and blocks[0].events.duration_ns.tolist() == [ns]
    assert blocks[0].events.start_ns.dtype == np.int64 and state.problems == ()
    assert state.is_time_text == (written[0] == '"')


@pytest.mark.parametrize(
    "written",
    [
        '"soon"',
        "[1]",
        "{}",
        "true",
        "NaN",
        "Infinity",
        "9223372036854775.808",
        "1e400",
        "1" * 30,
        "1" * 5000,
        '"1_0"',
        '""',
        '"1.2.3"',
        '"٣"',
        "-9223372036854775.809",
    ],
)
def test_what_is_no_time_is_told_and_the_event_kept(written: str) -> None:
    text = one(ts="T", dur=2).replace('"T"', written)
    _, blocks, state = read(text)
    assert blocks[0].events.start_ns.tolist() == [NO_TIME] and no_time_mask(blocks[0].events.start_ns).all()
    assert blocks[0].events.duration_ns.tolist() == [2000]
    assert kinds(state) == [("bad-record", 1)] and state.n_dropped == 0 and state.n_without_time == 1


def test_an_event_at_zero_is_kept_and_marked() -> None:
    found = [{**DEVICE, "ts": f"17364088837{i:02}643.212"} for i in range(5)]
    _, blocks, state = read(
        json.dumps([*found[:2], {**DEVICE, "name": "zero", "ts": 0, "dur": 0}, *found[2:]])
    )
    assert blocks[0].events.is_at_zero.tolist() == [False, False, True, False, False, False]
    assert (state.n_at_zero, state.is_zero_stray) == (1, True)
    assert state.first_ns == 1736408883700643212 and state.last_ns == 1736408883704643212 + 53742


def test_a_trace_that_begins_at_zero_has_no_stray() -> None:
    text = json.dumps([{**DEVICE, "ts": t, "dur": 1} for t in (0, 0.5, 3)])
    assert not read(text)[2].is_zero_stray and read(text)[2].first_ns == 500


def test_numbers_below_a_nanosecond_are_counted() -> None:
    assert read(json.dumps([{**HOST, "dur": 0.12345}, {**HOST, "dur": 0.1230}]))[2].n_rounded == 1


def test_names_come_late_and_more_than_once() -> None:
    text = json.dumps(
        [
            DEVICE,
            THREAD,
            THREAD,
            {**THREAD, "args": {"name": "Stream 3"}},
            {**PROCESS, "name": "process_sort_index", "args": {"sort_index": 14}},
            {**PROCESS, "name": "process_labels", "args": {"labels": "NPU"}},
            {**THREAD, "name": "thread_sort_index", "args": {"sort_index": "2"}},
            {**PROCESS, "pid": "31"},
        ]
    )
    names = read(text)[0].names
    assert (names.n_repeated, names.n_changed) == (1, 1)
    pid, tid, host = names.ids.index(3170820512), names.ids.index(2), names.ids.index(31)
    assert names.thread_names == {(pid, tid): "Stream 3"} and names.thread_sort == {(pid, tid): 2}
    assert names.process_names == {host: "Python"} and names.pids_of("Python") == (host,)
    assert names.process_sort == {host: 14} and names.process_labels == {host: "NPU"}
    assert names.label(NO_CODE) is None and names.id(NO_CODE) is None


def test_ids_are_numbers_or_texts() -> None:
    made = ["core0.veccore0", 5, "5", "MTE 2", -7, 2**70, "007", None, 1.5]
    text = json.dumps([{**DEVICE, "pid": value, "tid": value} for value in made])
    reader, blocks, state = read(text)
    pids = [reader.names.id(code) for code in blocks[0].events.pid]
    assert pids == ["core0.veccore0", 5, 5, "MTE 2", -7, 2**70, 7, None, "1.5"] and state.problems == ()
    assert blocks[0].events.tid.tolist() == blocks[0].events.pid.tolist()


def test_flow_ids_keep_all_digits() -> None:
    made = ["936", 936, 2**63 - 1, 2**64 + 1, "18446744073709551617", "0x1f", "a-b", -3, None]
    text = json.dumps([{**FLOW_FROM, "id": value} for value in made])
    flows = read(text)[1][0].flows
    assert flows.id.tolist() == [936, 936, 2**63 - 1, -1, -1, -1, -1, -1, -1]
    big = "18446744073709551617"
    assert flows.id_texts == {3: big, 4: big, 5: "0x1f", 6: "a-b", 7: "-3"}


def test_counters_have_a_row_a_series() -> None:
    made = {
        **COUNTER,
        "args": {"a": 1, "b": -2.5, "c": "3", "d": None, "e": 0.30000000000000004, "f": True, "g": 1e-7},
    }
    reader, blocks, state = read(json.dumps([made, COUNTER, {**COUNTER, "args": {}}]))
    found = [
        (reader.names.label(s), float(v))
        for s, v in zip(blocks[0].counters.series, blocks[0].counters.value, strict=True)
    ]
    assert found == [("a", 1.0), ("b", -2.5), ("e", 0.30000000000000004), ("g", 1e-7), ("MHz", 1800.0)]
    assert state.n_bad_values == 3 and state.n_by_phase == {"C": 3}


def test_arguments_are_kept_by_kind() -> None:
    made: list[Any] = [1, -5, 2.5, "AI_CORE", "", True, None, [1], {"x": 1}, 2**63, 0.1 + 0.2, 1e300, 'a"b\\']
    text = json.dumps(
        [{**DEVICE, "args": {"Task Id": value, "é": value}} for value in made]
        + [{**DEVICE, "args": {}}, {**DEVICE, "args": None}]
    )
    for written in (text, text.replace("\\u00e9", "é")):
        found = rows(written, ("Task Id", "é"))[0]
        values = [
            1,
            -5,
            2.5,
            "AI_CORE",
            "",
            "other",
            "other",
            "other",
            "other",
            "other",
            0.1 + 0.2,
            1e300,
            'a"b\\',
        ]
        assert [row[-2:] for row in found] == [(value, value) for value in [*values, None, None]]


@pytest.mark.parametrize(
    "name", ['}, {"ph": "X"', "a\\", '\\\\"', "\ud800x", "名字", "a\nb\x00", "]", "", "x" * 4096]
)
def test_names_come_back_exactly(name: str) -> None:
    made = [{**DEVICE, "name": name, "cat": name, "args": {"Task Type": name, name: 1}}, HOST]
    for is_ascii in (True, False):
        written = json.dumps(made, ensure_ascii=is_ascii).encode(
            "utf-8", "replace" if "\ud800" in name else "strict"
        )
        if "\ud800" in name and not is_ascii:
            continue
        reader, blocks, state = read(written, ("Task Type",))
        assert rows_of(reader, blocks, ("Task Type",))[0][0][:2] == (name, name) and state.n_by_phase == {
            "X": 2
        }
        assert rows_of(reader, blocks, ("Task Type",))[0][0][-1] == name and state.problems == ()


def test_keys_twice_the_last_one_counts() -> None:
    text = '[{"ph": "i", "ts": 1, "ts": 2, "name": "a", "name": "b", "args": {"k": 1, "k": "x", "k": 3},'
    text += '"ph": "X"}, {"ph": "C", "name": "c", "ts": 1, "args": {"v": 1, "v": 2}},'
    text += '{"ph": "X", "args": {"k": 1}, "args": {"k": 2}}]'
    assert rows(text, ("k",))[:3] == expected_rows(text, ("k",))[:3]
    assert [row[-1] for row in rows(text, ("k",))[0]] == [3, 2]


def test_escaped_keys_are_keys() -> None:
    assert events('[{"\\u0070h": "X", "n\\u0061me": "a", "ts": 1}]') == [
        ("a", None, None, None, "X", 1000, None)
    ]


def test_arguments_that_look_like_fields_are_none() -> None:
    inner = {
        "name": "no",
        "ph": "M",
        "ts": 5,
        "x": {"name": "no", "dur": 1},
        "l": [{"pid": 1}, {"ph": "X", "name": "no"}],
    }
    text = json.dumps([{"args": inner, "ph": "X", "name": "yes", "ts": 7}, {**DEVICE, "args": inner}])
    assert rows(text, ("ph", "ts", "x")) == expected_rows(text, ("ph", "ts", "x"))


def test_an_event_is_read_again_with_all_arguments(tmp_path: Path) -> None:
    path = tmp_path / "trace_view.json"
    path.write_text(
        json.dumps([DEVICE, {**HOST, "args": {"Call stack": "é" * 40_000}}, COUNTER], ensure_ascii=False)
    )
    blocks = list(read_trace(path, root=tmp_path))
    first, second = blocks[0].events.byte.tolist()
    assert read_event(path, second, root=tmp_path)["args"]["Call stack"] == "é" * 40_000
    assert read_event(path, first)["dur"] == "53.742"
    for byte in (0, first + 1, 10**9, -1, 2**70):
        with pytest.raises(InputError):
            read_event(path, byte)


# ---- cut, growing, broken ----


def test_every_cut_gives_the_events_before_it() -> None:
    written = json.dumps(ALL)
    for at in range(len(written)):
        _, blocks, state = read(written[:at])
        whole = sum(
            1 for block in blocks for part in (block.events, block.flows, block.counters) for _ in part.name
        )
        whole += state.n_by_phase.get("M", 0)
        text = written[:at].rstrip(", ")
        try:
            expected = len(json.loads(text + "]")) if text else 0
        except ValueError:
            expected = (
                len(json.loads(written[: written.rfind("}, {", 0, at) + 1] + "]"))
                if "}, {" in written[:at]
                else 0
            )
        assert whole == expected and state.is_cut and kinds(state) == [("cut-off", at)]


def test_a_growing_trace_is_read_on_where_it_was() -> None:
    written = json.dumps(ALL).encode()
    reader = TraceReader(ARGS)
    blocks: list[TraceBlock] = []
    for at in range(0, len(written), 50):
        blocks += reader.feed(written[at : at + 50])
        if at + 50 < len(written):
            assert reader.finish().is_cut and reader.finish().problems[-1].kind == "cut-off"
            assert reader.state.problems == ()
    assert rows_of(reader, blocks, ARGS) == expected_rows(json.dumps(ALL), ARGS)
    assert not reader.finish().is_cut and reader.finish().problems == ()


def test_an_event_is_given_before_the_comma_behind_it_is_there() -> None:
    reader = TraceReader()
    assert [len(b.events.name) for b in reader.feed(json.dumps([DEVICE])[:-1].encode())] == [1]


@pytest.mark.parametrize(
    ("bad", "n_dropped"),
    [
        ('{"ph": "X", "name": "b" "ts": 1}', 1),
        ('{"ph": "X", "name: "b", "ts": 1}', 1),
        ('{"ph": "X", "ts": 1', 1),
        ('{"ph": "X", "args": {"a": 1], "ts": 1}', 1),
        ('"ph": "X"}', 1),
        ("12", 1),
        ('"text"', 1),
        ("[1, 2]", 1),
        ("null", 1),
        ("{}", 1),
        ('{"name": "b"}', 1),
        ('{"ph": "XX"}', 1),
        ('{"ph": 5}', 1),
        ('{"ph": "M", "name": "process_name"}', 1),
        ('{"ph": "\\n"}', 1),
        ('{"ph": "M", "name": 5, "pid": 1, "args": {}}', 1),
        ("[" * 10_000 + "]" * 10_000, 1),
        ('{"ph": "M", "a": ' + '{"a":' * 10_000 + "1" + "}" * 10_001, 1),
        ("", 0),
        ('{"ph": "X", "name": "b"}}', 1),
    ],
)
def test_a_broken_element_costs_itself_alone(bad: str, n_dropped: int) -> None:
    good = json.dumps(DEVICE)
    written = f"[{good}, {bad}, {good}, {good}]"
    for step in (0, 64, 5000):
        _, blocks, state = read(written, step=step)
        assert sum(len(b.events.name) for b in blocks) in (3, 4)
        assert sum(int((b.events.duration_ns == 53742).sum()) for b in blocks) == 3
        assert len(state.problems) >= 1 and not state.is_cut and state.n_dropped == n_dropped
        assert len(good) <= (state.problems[0].byte or 0) < len(written) - 2 * len(good)


def test_a_missing_comma_loses_nothing() -> None:
    _, blocks, state = read(json.dumps(ALL).replace("}, {", "} {", 1))
    assert state.n_events == 8 and [p.message for p in state.problems] == ["a comma is expected"]


def test_text_behind_the_end_is_told() -> None:
    _, _, state = read(json.dumps(ALL) + json.dumps(ALL))
    assert state.n_events == 8 and not state.is_cut
    assert kinds(state) == [("bad-record", len(json.dumps(ALL)))]


def test_bytes_that_are_no_text_are_told_once() -> None:
    written = json.dumps([DEVICE, {**DEVICE, "name": "zzz"}] * 2).encode().replace(b"zzz", b"z\xff\xfez")
    reader, blocks, state = read(written)
    assert [kind for kind, _ in kinds(state)] == ["encoding"] and state.n_events == 4
    assert reader.names.label(blocks[0].events.name[1]) == "z\ufffd\ufffdz"


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xfe[\0",
        "[]".encode("utf-16-le"),
        b"Op Name,Type\n",
        b"5",
        b"{}",
        b'{"a": 1}',
        b"\0\0\0\0",
    ],
)
def test_what_is_no_trace_is_refused(data: bytes) -> None:
    with pytest.raises(InputError):
        read(data)


@pytest.mark.parametrize(
    "data",
    [b"", b" \n", b"\xef\xbb", b"[", b'{"a": [1, 2', b'{"traceEvents": ', b'{"traceEvents": []', b'{"a'],
)
def test_what_has_not_come_yet_is_cut_off(data: bytes) -> None:
    _, blocks, state = read(data)
    assert blocks == [] and state.is_cut and kinds(state) == [("cut-off", len(data))]


def test_an_empty_trace_is_whole() -> None:
    for data in ("[]", " [ \n ] ", '{"traceEvents": []}'):
        assert (
            read(data)[1:] == ([], read(data)[2])
            and not read(data)[2].is_cut
            and read(data)[2].problems == ()
        )


def test_a_broken_object_around_the_events_is_passed_over() -> None:
    _, blocks, state = read('{"a": 1 2, "traceEvents": ' + json.dumps(ALL) + "}")
    assert state.n_events == 8 and [kind for kind, _ in kinds(state)] == ["bad-record"]


def test_an_event_longer_than_allowed_is_left_out() -> None:
    written = json.dumps(
        [DEVICE, {**DEVICE, "args": {"x": "y" * (MAX_EVENT_BYTES + trace.BLOCK_BYTES)}}, DEVICE, HOST]
    )
    _, blocks, state = read(written)
    assert sum(len(b.events.name) for b in blocks) == 3 and state.n_dropped == 1
    assert [kind for kind, _ in kinds(state)] == ["too-large"]


def test_a_long_event_is_read_however_it_comes() -> None:
    made = [DEVICE, {**HOST, "args": {"x": 'y"' * 400_000, "Task Id": 5}}, DEVICE]
    for step in (0, 100_000):
        assert rows(json.dumps(made), ARGS, step) == expected_rows(json.dumps(made), ARGS)


def test_a_file_of_broken_events_ends_soon() -> None:
    written = "[" + '{"ph": "X", "name: "a", "t": 1}, ' * 40_000 + json.dumps(HOST) + "]"
    _, _, state = read(written)
    assert (
        state.is_cut and "limit" in [problem.kind for problem in state.problems] and len(state.problems) < 30
    )


def test_a_file_of_what_is_no_event_ends_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "_PATIENCE_BYTES", 100_000)
    _, _, state = read("[" + ", ".join(["{}"] * 10_000) + "]", step=1000)
    assert state.is_cut and 700 < state.n_dropped < 2000
    assert [p.kind for p in state.problems if "nothing from here on" in p.message] == ["limit"]


def test_problems_that_are_not_shown_are_counted() -> None:
    _, _, state = read("[" + ", ".join(["{}"] * 100) + "]")
    assert state.n_dropped == 100 and len(state.problems) == 21
    assert state.problems[-1].message == "80 more problems in this file"


def test_names_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = TraceReader()
    monkeypatch.setattr(reader._columns.labels, "_n_left", 2000)
    written = json.dumps([{**DEVICE, "name": f"name {i}"} for i in range(100)]).encode()
    blocks = list(reader.feed(written))
    codes = np.concatenate([b.events.name for b in blocks])
    assert 0 < (codes != NO_CODE).sum() < 100 and len(codes) == 100
    assert [problem.kind for problem in reader.finish().problems] == ["limit"]


# ---- files ----


def write(folder: Path, data: str) -> Path:
    path = folder / "trace_view.json"
    path.write_text(data)
    return path


def test_a_file_is_read_with_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "BLOCK_BYTES", 500)
    seen: list[Progress] = []
    path = write(tmp_path, json.dumps(ALL * 20))
    found = read_trace(path, root=tmp_path, args=ARGS, progress=seen.append)
    assert isinstance(found, TraceFile)
    blocks = list(found)
    assert len(blocks) > 10 and sum(len(b.events.name) for b in blocks) == 60
    assert not found.state.is_cut and found.state.n_events == 160 and found.names.n_repeated == 38
    assert seen[-1] == Progress("read", path.stat().st_size, path.stat().st_size, "bytes") and len(seen) > 10
    assert [b.first_byte for b in blocks[1:]] >= [b.end_byte for b in blocks[:-1]]
    raw = path.read_bytes()
    assert {raw[byte : byte + 1] for b in blocks for byte in b.events.byte.tolist()} == {b"{"}


def test_reading_is_cancelled(tmp_path: Path) -> None:
    with pytest.raises(Cancelled):
        list(read_trace(write(tmp_path, json.dumps(ALL)), is_cancelled=lambda: True))


def test_files_that_may_not_be_read(tmp_path: Path) -> None:
    path = write(tmp_path, json.dumps(ALL))
    inside = tmp_path / "run"
    inside.mkdir()
    (inside / "trace_view.json").symlink_to(path)
    for found in (
        read_trace(inside / "trace_view.json", root=inside),
        read_trace(inside / "no.json"),
        read_trace(inside),
        read_trace(path, max_bytes=10),
    ):
        with pytest.raises(InputError):
            list(found)


# ---- any input ----

_TEXTS = st.text(max_size=8) | st.sampled_from(
    ["ph", "name", "ts", "}, {", '"', "\\", "args", "traceEvents", "]"]
)
_NUMBERS = (
    st.integers(-(10**20), 10**20) | st.floats(-1e12, 1e12).map(lambda x: round(x, 4)) | st.integers(0, 99)
)
_VALUES = st.recursive(
    st.none() | st.booleans() | _NUMBERS | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=6,
)
_TIMES = (
    st.integers(0, 2**63 - 1).map(lambda ns: f"{ns // 1000}.{ns % 1000:03}")
    | st.integers(-99, 10**15)
    | st.floats(0, 1e9)
)
_EVENTS = st.fixed_dictionaries(
    {"ph": st.sampled_from("XXXBEistfCC"), "name": _TEXTS},
    optional={
        "pid": st.integers(-9, 10**12) | st.text("abc .", max_size=5),
        "tid": st.integers(0, 99),
        "ts": _TIMES,
        "dur": _TIMES,
        "cat": _TEXTS,
        "id": st.integers(0, 10**25),
        "args": st.dictionaries(_TEXTS, _VALUES, max_size=4),
        "cname": _VALUES,
    },
)


@given(st.lists(_EVENTS, max_size=12), st.booleans(), st.sampled_from([None, 1]), st.integers(0, 50))
def test_events_written_by_json_come_back(
    made: list[Any], is_ascii: bool, indent: int | None, step: int
) -> None:
    text = json.dumps(made, ensure_ascii=is_ascii, indent=indent)
    if any("\ud800" <= c <= "\udfff" for c in text):
        return
    args = ("ph", "name", "args", "a")
    reader, blocks, state = read(text, args, step)
    assert rows_of(reader, blocks, args) == expected_rows(text, args)
    assert not state.is_cut and state.problems == () and state.n_events == len(made)


@given(st.lists(_EVENTS, min_size=1, max_size=8), st.data())
def test_a_cut_anywhere_gives_the_same_events(made: list[Any], data: st.DataObject) -> None:
    raw = json.dumps(made).encode()
    at = data.draw(st.integers(0, len(raw)))
    whole = rows(raw)
    reader, blocks, state = read(raw[:at])
    before = rows_of(reader, blocks)
    for part, all_of_them in zip(before[:3], whole[:3], strict=True):
        assert part == all_of_them[: len(part)]
    blocks += reader.feed(raw[at:])
    assert rows_of(reader, blocks) == whole and not reader.finish().is_cut
    assert state.is_cut == (at < len(raw))


@pytest.mark.parametrize("seed", range(6))
def test_flipped_bytes_harm_little(seed: int) -> None:
    rng = random.Random(seed)
    raw = json.dumps(ALL * 12).encode()
    whole = set(rows(raw)[0])
    for _ in range(40):
        broken = bytearray(raw)
        for _ in range(rng.choice([1, 1, 3, 20])):
            at = rng.randrange(4, len(broken))
            broken[at] = rng.choice([broken[at] ^ (1 << rng.randrange(8)), rng.choice(b'"\\{}[],: \0')])
        if broken[:1] != b"[":
            continue
        found, blocks, state = read(bytes(broken), ARGS, rng.choice([0, 0, 333]))
        rows_found = rows_of(found, blocks)[0]
        assert len(rows_found) <= 60 and len(state.problems) < 60
        assert sum(row in whole for row in rows_found) >= 36 - 3 * 20 or state.problems


@given(
    st.lists(
        st.sampled_from(list('[]{},:"\\ 1.-eX') + ['"ph"', '"X"', '"ts"', '"args"', '{"ph":"X"}', "null"]),
        max_size=40,
    )
)
def test_any_text_ends_in_a_state(parts: list[str]) -> None:
    text = "[" + "".join(parts)
    reader, blocks, state = read(text, ("ts",))
    try:
        loaded = json.loads(text)
    except ValueError:
        loaded = None
    if loaded is not None:
        assert not state.is_cut
        usable = [
            e for e in loaded if isinstance(e, dict) and isinstance(e.get("ph"), str) and len(e["ph"]) == 1
        ]
        assert state.n_events <= len(usable)
    assert rows_of(reader, blocks)[0] == rows(text, ("ts",), 1)[0] or state.problems
