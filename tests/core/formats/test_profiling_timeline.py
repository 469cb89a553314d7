"""Timelines out of traces: lanes of every release, whatever the order of events and names, cut or broken."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npulse.core.errors import Cancelled, InputError
from npulse.core.formats.profiling import trace_devices, trace_timeline
from npulse.core.formats.profiling.operators import NO_START
from npulse.core.formats.profiling.timeline import NONE, Tasks, Timeline
from npulse.core.formats.profiling.trace import TraceReader
from npulse.core.formats.profiling.trace_operators import operators_of
from npulse.core.formats.profiling.trace_timeline import ARGS, TimelineBuilder, read_timelines

US = 1_736_408_883_000_000
HOST_PID = 3096504
PYTHON, CANN, DEVICE, HCCL, OVERLAP, CLOCK = (
    HOST_PID,
    *((HOST_PID << 10) | (layer << 5) for layer in (7, 13, 15, 23, 14)),
)


def at(us: float) -> str:
    ns = round(us * 1000)
    return f"{US + ns // 1000}.{ns % 1000:03}"


def ns_at(us: float) -> int:
    return US * 1000 + round(us * 1000)


def event(name: str, pid: Any, tid: Any, us: float, dur: float, **more: Any) -> dict[str, Any]:
    return {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": at(us), "dur": dur, **more}


def process(pid: Any, name: str, kind: str = "process_name", key: str = "name") -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": pid, "tid": 0, "args": {key: name}}


def label(pid: Any, text: str) -> dict[str, Any]:
    return process(pid, text, "process_labels", "labels")


def thread(pid: Any, tid: Any, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": name}}


def flow(name: str, ph: str, pid: Any, tid: Any, us: float, flow_id: Any, cat: str) -> dict[str, Any]:
    return {"ph": ph, "name": name, "id": flow_id, "pid": pid, "tid": tid, "ts": at(us), "cat": cat}


def call(name: str, us: float, dur: float, connection: int | None = None) -> dict[str, Any]:
    args = {} if connection is None else {"args": {"Thread Id": 7, "connection_id": connection}}
    return event(name, CANN, 7, us, dur, **args)


def kernel(name: str, us: float, dur: float, connection: int | None = None, **more: Any) -> dict[str, Any]:
    args = {"Model Id": 4294967295, "Task Type": more.pop("kind", "AI_CORE"), "Task Id": 8}
    if connection is not None:
        args["connection_id"] = connection
    return event(name, more.pop("pid", DEVICE), more.pop("tid", 2), us, dur, args=args)


NAMES = [
    process(PYTHON, "Python"),
    label(PYTHON, "CPU"),
    thread(PYTHON, 7, "Thread 7"),
    process(CANN, "CANN"),
    thread(CANN, 7, "Thread 7"),
    process(DEVICE, "Ascend Hardware"),
    thread(DEVICE, 2, "Stream 2"),
    thread(DEVICE, 4, "Stream 40"),
    label(DEVICE, "NPU"),
    process(HCCL, "Communication"),
    thread(HCCL, 0, "Group 0 Communication"),
    thread(HCCL, 1, "Plane 0"),
    process(OVERLAP, "Overlap Analysis"),
    *(thread(OVERLAP, i, name) for i, name in enumerate(("Computing", "Communication", "Free"))),
    process(CLOCK, "AI Core Freq"),
]
EVENTS = [
    event("ProfilerStep#12", PYTHON, 7, 0, 900, cat="cpu_op"),
    event("aten::mm", PYTHON, 7, 1, 20, cat="cpu_op", args={"Sequence number": 1, "Input Dims": "4;4"}),
    event("Optimizer.step#AdamW.step", PYTHON, 7, 500, 200, cat="cpu_op"),
    event("train.py(3): f", PYTHON, 7, 2, 600, cat="python_function"),
    event("Enqueue@mm", PYTHON, 7, 3, 4, cat="enqueue"),
    event("GC", PYTHON + 1, 7, 300, 55.5, cat="GC"),
    call("AscendCL@aclnnMatmul", 4, 40, 71),
    call("Node@launch", 5, 9.5, 71),
    call("Node@launch", 60, 10.5, 72),
    call("AscendCL@aclrtMalloc", 62, 100),
    call("Hccl@hcom_allReduce_", 63, 8, 75),
    call("Node@launch", 80, 1, 99),  # started nothing that is here
    kernel("MatMulV3", 10, 100.25, 71),
    kernel("Add", 120.001, 5, 72, kind="AI_VECTOR_CORE"),
    kernel("EVENT_WAIT", 130, 50, 4294967295, kind="EVENT_WAIT_SQE", tid=4),
    event("hcom_allReduce__586_0_1", HCCL, 0, 128, 60, args={"connection_id": 75, "alg_type": "MESH"}),
    event("Reduce_Inline", HCCL, 1, 129, 2, args={"task type": "Reduce_Inline", "size(Byte)": 4}),
    event("Computing", OVERLAP, 0, 10, 100.25),
    event("Computing", OVERLAP, 0, 120.001, 5),
    event("Communication", OVERLAP, 1, 128, 60),
    event("Free", OVERLAP, 2, 110.25, 9.751),
    {"ph": "C", "name": "AI Core Freq", "ts": at(3), "pid": CLOCK, "tid": 0, "args": {"MHz": 1800}},
    {"ph": "C", "name": "AI Core Freq", "ts": at(70), "pid": CLOCK, "tid": 0, "args": {"MHz": 800.5}},
    {"ph": "C", "name": "APP/HBM", "ts": at(4), "pid": CLOCK + 32, "tid": 0, "args": {"KB": 1}},
    flow("torch_to_npu", "s", PYTHON, 7, 1, ns_at(10), "async_npu"),
    flow("torch_to_npu", "f", DEVICE, 2, 10, ns_at(10), "async_npu"),
    flow("HostToDevice936", "s", CANN, 7, 5, "936", "HostToDevice"),
    flow("HostToDevice936", "f", DEVICE, 2, 10, "936", "HostToDevice"),
]


def built(text: str | bytes, step: int = 0) -> tuple[Timeline, ...]:
    """What a builder gives of a text that comes in pieces."""
    raw = text if isinstance(text, bytes) else text.encode()
    reader, builder = TraceReader(ARGS), TimelineBuilder("trace")
    for start in range(0, max(len(raw), 1), step or max(len(raw), 1)):
        for block in reader.feed(raw[start : start + step] if step else raw):
            builder.feed(block, reader.names)
    return builder.finish(reader.names, reader.finish())


def one(events: list[dict[str, Any]], step: int = 0) -> Timeline:
    (timeline,) = built(json.dumps(events), step)
    return timeline


def told(tasks: Tasks) -> list[tuple[Any, ...]]:
    """Tasks as rows with texts."""
    return [
        (
            int(tasks.start_ns[i]),
            int(tasks.duration_ns[i]),
            int(tasks.stream[i]),
            tasks.names[tasks.name[i]] if tasks.name[i] >= 0 else None,
            tasks.kinds[tasks.kind[i]] if tasks.kind[i] >= 0 else None,
            int(tasks.connection[i]),
        )
        for i in range(len(tasks))
    ]


def all_of(timeline: Timeline) -> dict[str, Any]:
    """A timeline in plain values, to be compared."""
    return {
        "device": timeline.device,
        **{
            part: told(getattr(timeline, part))
            for part in ("tasks", "communication", "launches", "framework")
        },
        "recorded": {lane: (s.tolist(), d.tolist()) for lane, (s, d) in timeline.recorded.items()},
        "calls": timeline.calls,
        "spans": (timeline.steps, timeline.ranges, timeline.pauses),
        "clock": (timeline.frequency_at_ns.tolist(), timeline.frequency_mhz.tolist()),
        "framework events": (
            timeline.n_framework_events,
            timeline.first_framework_ns,
            timeline.last_framework_ns,
        ),
        "is_cut": timeline.is_cut,
    }


def test_everything_of_a_step() -> None:
    timeline = one([*NAMES, *EVENTS])
    assert (timeline.device, timeline.is_cut, timeline.problems) == (0, False, ())
    assert told(timeline.tasks) == [
        (ns_at(10), 100_250, 2, "MatMulV3", "AI_CORE", 71),
        (ns_at(120.001), 5_000, 2, "Add", "AI_VECTOR_CORE", 72),
        (ns_at(130), 50_000, 40, "EVENT_WAIT", "EVENT_WAIT_SQE", NONE),
    ]
    assert told(timeline.communication) == [
        (ns_at(128), 60_000, NONE, "hcom_allReduce__586_0_1", "Group 0 Communication", 75)
    ]
    assert told(timeline.launches) == [
        (ns_at(4), 40_000, 7, "aclnnMatmul", "acl", 71),
        (ns_at(5), 9_500, 7, "launch", "node", 71),
        (ns_at(60), 10_500, 7, "launch", "node", 72),
        (ns_at(63), 8_000, 7, "hcom_allReduce_", "communication", 75),
    ]
    assert told(timeline.framework) == [(ns_at(1), 20_000, 7, "aten::mm", None, 71)]
    assert {lane: (s.tolist(), d.tolist()) for lane, (s, d) in timeline.recorded.items()} == {
        "Computing": ([ns_at(10), ns_at(120.001)], [100_250, 5_000]),
        "Communication": ([ns_at(128)], [60_000]),
        "Free": ([ns_at(110.25)], [9_751]),
    }
    calls = [(c.level, c.name, c.n, c.total_ns, c.max_ns, c.first_ns, c.last_ns) for c in timeline.calls]
    assert calls == [
        ("acl", "aclrtMalloc", 1, 100_000, 100_000, ns_at(62), ns_at(162)),
        ("acl", "aclnnMatmul", 1, 40_000, 40_000, ns_at(4), ns_at(44)),
        ("node", "launch", 3, 21_000, 10_500, ns_at(5), ns_at(81)),
        ("communication", "hcom_allReduce_", 1, 8_000, 8_000, ns_at(63), ns_at(71)),
    ]
    spans = [
        (s.name, s.start_ns, s.end_ns)
        for part in ("steps", "ranges", "pauses")
        for s in getattr(timeline, part)
    ]
    assert spans == [
        ("ProfilerStep#12", ns_at(0), ns_at(900)),
        ("Optimizer.step#AdamW.step", ns_at(500), ns_at(700)),
        ("GC", ns_at(300), ns_at(355.5)),
    ]
    assert timeline.frequency_at_ns.tolist() == [ns_at(3), ns_at(70)]
    assert timeline.frequency_mhz.tolist() == [1800, 800.5]
    assert timeline.n_framework_events == 5
    assert (timeline.first_framework_ns, timeline.last_framework_ns) == (ns_at(0), ns_at(900))


@settings(max_examples=20, deadline=None)
@given(st.permutations([*NAMES, *EVENTS]), st.integers(200, 9000))
def test_the_order_of_events_and_names_does_not_matter(events: list[dict[str, Any]], step: int) -> None:
    expected = all_of(one([*NAMES, *EVENTS]))
    assert all_of(one(events, step)) == expected


def test_a_trace_that_grows_can_be_told_at_any_time() -> None:
    raw = json.dumps([*EVENTS, *NAMES]).encode()
    reader, builder = TraceReader(ARGS), TimelineBuilder("trace")
    n_tasks = []
    for start in range(0, len(raw), 211):
        for block in reader.feed(raw[start : start + 211]):
            builder.feed(block, reader.names)
        (timeline,) = builder.finish(reader.names, reader.finish())
        n_tasks.append(len(timeline.tasks))
        assert timeline.is_cut is (start + 211 < len(raw))
    assert n_tasks == sorted(n_tasks) and n_tasks[-1] == 3
    (whole,) = builder.finish(reader.names, reader.finish())
    assert all_of(whole) == all_of(one([*EVENTS, *NAMES]))


def test_names_of_older_releases() -> None:
    """HCCL for Communication; the analysis of MindSpore before 2.4, which names by labels alone."""
    older = [
        replaced if (replaced := dict(e)) and e not in NAMES[9:10] else process(HCCL, "HCCL") for e in NAMES
    ]
    assert all_of(one([*older, *EVENTS])) == all_of(one([*NAMES, *EVENTS]))
    legacy = [
        label(3, "AICORE OP"),
        label(9000, "AICPU OP"),
        label(10000, "Communication Op"),
        label(11000, "Host CPU Op"),
        label(12000, "Op Overlap Analyse"),
        thread(3, 5, "Stream #5"),
        thread(3, 100000, "Steps"),
        thread(3, 100001, "Scope Name"),
        thread(12000, 7999, "Merged Computation Op"),
        thread(12000, 8000, "Pure Communication Op"),
        thread(12000, 8001, "Merged Communication Op"),
        thread(12000, 8002, "Free Time"),
        *({"ph": "X", "name": n, "pid": p, "tid": t, "ts": ts, "dur": d} for n, p, t, ts, d in (
            ("MatMul-op1", 3, 5, 10.5, 20),
            ("Default", 3, 100001, 10.5, 90),
            ("1", 3, 100000, 10, 100),
            ("InitData", 9000, 0, 40, 3),
            ("AllReduce-op2", 10000, 1, 50, 7),
            ("computation_op", 12000, 7999, 10.5, 20),
            ("communication", 12000, 8000, 50, 7),
            ("communication", 12000, 8001, 50, 7.5),
            ("free_time", 12000, 8002, 57, 1),
            ("SamplingOp", 11000, 0, 0, 1),
        )),
    ]  # fmt: skip
    timeline = one(legacy)
    assert timeline.device == 3 and timeline.problems == ()
    rows = [(s, d, stream, name) for s, d, stream, name, _, _ in told(timeline.tasks)]
    assert rows == [(10_500, 20_000, 5, "MatMul-op1"), (40_000, 3_000, 0, "InitData")]
    assert [row[3] for row in told(timeline.communication)] == ["AllReduce-op2"]
    assert {lane: int(d.sum()) for lane, (_, d) in timeline.recorded.items()} == {
        "Computing": 20_000,
        "Communication": 7_500,
        "Communication(Not Overlapped)": 7_000,
        "Free": 1_000,
    }
    assert [(s.name, s.start_ns, s.end_ns) for s in timeline.steps] == [("1", 10_000, 110_000)]
    assert timeline.n_framework_events == 1


def test_several_devices() -> None:
    def of(device: int) -> list[dict[str, Any]]:
        pid, clock, lanes = DEVICE + 1000 + device, CLOCK + 1000 + device, OVERLAP + 1000 + device
        return [
            process(pid, "Ascend Hardware"),
            label(pid, f"NPU {device}"),
            label(clock, f"NPU {device}"),
            process(lanes, "Overlap Analysis"),
            label(lanes, f"NPU {device}"),
            kernel(f"Add{device}", 10 * device, 1, 70 + device, pid=pid, tid=1),
            call("Node@launch", 5 * device, 1, 70 + device),
            event("Computing", lanes, 0, 10 * device, 1),
            {"ph": "C", "name": "AI Core Freq", "ts": at(3), "pid": clock, "tid": 0, "args": {"MHz": device}},
        ]

    timelines = built(json.dumps([process(CANN, "CANN"), *of(9), *of(2), *of(12)]))
    assert [t.device for t in timelines] == [2, 9, 12]
    for timeline in timelines:
        assert timeline.device is not None
        assert [row[3] for row in told(timeline.tasks)] == [f"Add{timeline.device}"]
        assert [row[5] for row in told(timeline.launches)] == [70 + timeline.device]
        assert timeline.frequency_mhz.tolist() == [timeline.device]
        assert timeline.recorded["Computing"][1].tolist() == [1000]
        assert timeline.calls[0].n == 3  # calls are the process's


@pytest.mark.parametrize(
    ("pid", "text", "device"),
    [
        (DEVICE + 5, "NPU", 5),
        (DEVICE + 5, "NPU 3", 3),
        (DEVICE + 31, "NPU", None),  # the host's bits
        (77, "NPU", None),
        ("npu", "NPU", None),
        ("npu", "NPU 11", 11),
        (DEVICE, "NPU 99999999999", 0),
    ],
)
def test_where_the_device_stands(pid: Any, text: str, device: int | None) -> None:
    timeline = one([process(pid, "Ascend Hardware"), label(pid, text), kernel("Add", 1, 2, pid=pid, tid="x")])
    assert (timeline.device, len(timeline.tasks), timeline.tasks.stream.tolist()) == (device, 1, [NONE])


def test_a_gpu_trace() -> None:
    def x(cat: str, name: str, pid: Any, tid: Any, ts: float, dur: float, **args: Any) -> dict[str, Any]:
        return {
            "ph": "X",
            "cat": cat,
            "name": name,
            "pid": pid,
            "tid": tid,
            "ts": ts,
            "dur": dur,
            "args": args,
        }

    events = [
        *(process(pid, "python") for pid in (900, 0, 1)),
        label(900, "CPU"),
        label(0, "GPU 0"),
        label(1, "GPU 1"),
        x("cpu_op", "aten::mm", 900, 900, 1.0, 9.5),
        x("user_annotation", "ProfilerStep#3", 900, 900, 0.5, 50),
        x("user_annotation", "forward", 900, 900, 1.5, 8),
        x("gpu_user_annotation", "ProfilerStep#3", 0, 7, 0.5, 50),
        x("cuda_runtime", "cudaLaunchKernel", 900, 900, 2.0, 1.25, correlation=11),
        x("cuda_runtime", "cudaDeviceSynchronize", 900, 900, 4.0, 30, correlation=12),
        x("kernel", "sgemm", 0, 7, 5.123, 20.5, correlation=11, grid=[1, 2, 3], device=0, stream=7),
        x("kernel", "ncclDevKernel_AllReduce", 0, 13, 26.0, 3, correlation=14, device=0, stream=13),
        x("gpu_memcpy", "Memcpy HtoD", 1, 7, 6, 1, correlation=15),
        x("Trace", "PyTorch Profiler (0)", "Spans", "PyTorch Profiler", 0, 99),
    ]
    timelines = built(
        json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0}], "traceEvents": events})
    )
    first, second = timelines
    assert (first.device, second.device, first.problems) == (0, 1, ())
    assert told(first.tasks) == [
        (5_123, 20_500, 7, "sgemm", "kernel", 11),
        (26_000, 3_000, 13, "ncclDevKernel_AllReduce", "COMMUNICATION", 14),
    ]
    assert [row[3] for row in told(first.communication)] == ["ncclDevKernel_AllReduce"]
    assert told(first.launches) == [(2_000, 1_250, 900, "cudaLaunchKernel", "cuda_runtime", 11)]
    assert [(c.name, c.n) for c in first.calls] == [("cudaDeviceSynchronize", 1), ("cudaLaunchKernel", 1)]
    assert [s.name for s in first.steps] == ["ProfilerStep#3"] and [s.name for s in first.ranges] == [
        "forward"
    ]
    assert [row[3:5] for row in told(second.tasks)] == [("Memcpy HtoD", "gpu_memcpy")]
    assert [operators_of(first).text("name", i) for i in range(2)] == ["sgemm", "ncclDevKernel_AllReduce"]


BIG = 40004068119343529983  # as releases of 2024 write it: beyond 64 bits


@pytest.mark.parametrize("ids", [(936, 938), (BIG, BIG + 2**48), ("a", "b")])
@pytest.mark.parametrize("is_first", [True, False])
def test_arrows_connect_where_events_carry_no_ids(ids: tuple[Any, Any], is_first: bool) -> None:
    flows = [
        flow(f"HostToDevice{i}", ph, pid, tid, us, str(i), "HostToDevice")
        for i, call_us, task_us in zip(ids, (5, 60), (10, 120.001), strict=True)
        for ph, pid, tid, us in (("s", CANN, 7, call_us), ("f", DEVICE, 2, task_us))
    ]
    events = [
        call("Node@launch", 5, 9.5),
        call("Node@launch", 60, 10.5),
        call("AscendCL@aclrtMalloc", 62, 100),
        kernel("MatMulV3", 10, 100.25),
        kernel("Add", 120.001, 5),
        kernel("Late", 500, 5),
    ]
    timeline = one([*flows, *NAMES, *events] if is_first else [*events, *flows, *NAMES])
    tasks, launches = timeline.tasks, timeline.launches
    assert tasks.connection[:2].tolist() == launches.connection.tolist()
    assert (
        tasks.connection[0] != tasks.connection[1] and tasks.connection.min() == NONE == tasks.connection[2]
    )
    assert [row[3] for row in told(launches)] == ["launch", "launch"] and launches.start_ns.tolist() == [
        ns_at(5),
        ns_at(60),
    ]


def test_one_operator_may_start_several_tasks_and_a_collective() -> None:
    events = [
        event("aten::mm", PYTHON, 7, 1, 20, cat="cpu_op"),
        event("c10d::allreduce", PYTHON, 7, 30, 20, cat="cpu_op"),
        kernel("A", 10, 1, 71),
        kernel("B", 12, 1, 72),
        kernel("Notify_Wait", 50, 1, 73, kind="Notify Wait"),
        event("hcom_allReduce_", HCCL, 0, 50, 9, args={"connection_id": 74}),
        *(
            flow("torch_to_npu", "s", PYTHON, 7, op, ns_at(us), "async_npu")
            for op, us in ((1, 10), (1, 12), (30, 50))
        ),
        flow("torch_to_npu", "s", PYTHON, 7, 2, ns_at(10), "async_npu"),  # no operator is there
        flow("torch_to_npu", "s", PYTHON, 7, 30, ns_at(51), "async_npu"),  # no task is there
    ]  # fmt: skip
    rows = told(one([*events, *NAMES]).framework)
    assert [(row[3], row[5]) for row in rows] == [
        ("aten::mm", 71),
        ("aten::mm", 72),
        ("c10d::allreduce", 73),
        ("c10d::allreduce", 74),
    ]


def test_times_that_make_no_sense_are_kept_and_those_without_are_counted() -> None:
    events = [
        {**kernel("zero", 0, 0), "ts": 0},
        {**kernel("negative", 0, -5)},
        {**kernel("before", 0, 1), "ts": "-7.5"},
        {**kernel("end of time", 0, 1), "ts": "9223372036854775.000", "dur": 9e15},
        {**kernel("no start", 0, 1), "ts": None},
        {k: v for k, v in kernel("no length", 0, 1).items() if k != "dur"},
        {**kernel("begin", 3, 0), "ph": "B"},
        {**kernel("begin", 4, 0), "ph": "E"},
        {**call("AscendCL@far", 0, 1), "ts": "9223372036854775.000", "dur": 9e15},
        {**call("AscendCL@far", 0, 1), "ts": "9223372036854775.000", "dur": 9e15},
    ]
    timeline = one([*NAMES, *events])
    rows = [(s, d, name) for s, d, _, name, _, _ in told(timeline.tasks)]
    assert rows == [
        (-7_500, 1_000, "before"),
        (0, 0, "zero"),
        (ns_at(0), -5_000, "negative"),
        (9_223_372_036_854_775_000, 9 * 10**18, "end of time"),
    ]
    assert [(p.kind, p.message.split()[0]) for p in timeline.problems] == [("bad-record", "2")] * 2
    assert (timeline.calls[0].total_ns, timeline.calls[0].last_ns) == (18 * 10**18, 2**63 - 1)
    assert operators_of(timeline).values("start_ns")[0] == NO_START


def test_digits_of_times_are_exact() -> None:
    """Neighbours 1 ns apart at 16 digits, which floats cannot tell apart."""
    events = [kernel(f"k{i}", 0, 0.999) for i in range(50)]
    for i, e in enumerate(events):
        e["ts"] = at(i)
    timeline = one([*NAMES, *events])
    assert np.diff(timeline.tasks.start_ns).tolist() == [1000] * 49
    assert (
        timeline.tasks.start_ns[1:] - (timeline.tasks.start_ns + timeline.tasks.duration_ns)[:-1] == 1
    ).all()


def test_lanes_without_a_name() -> None:
    plain = [{"ph": "X", "name": f"k{i}", "pid": 10, "tid": 3, "ts": i, "dur": 1} for i in range(3)]
    timeline = one(plain)
    assert (timeline.device, len(timeline.tasks), timeline.tasks.stream.tolist()) == (None, 3, [3] * 3)
    assert [(p.kind, p.message[:2]) for p in timeline.problems] == [("missing", "3 ")]
    # the type of a task and the prefix of a call tell what they are without a name
    timeline = one([*plain, kernel("Add", 5, 1, 3), call("Node@launch", 4, 1, 3)])
    assert [row[3] for row in told(timeline.tasks)] == ["Add"] and len(timeline.launches) == 1
    assert [(p.kind, p.message[:2]) for p in timeline.problems] == [("missing", "3 ")]
    # a trace with names: what has none is no task
    timeline = one([*plain, process(11, "Python")])
    assert (len(timeline.tasks), [p.message[:2] for p in timeline.problems]) == (0, ["3 "])
    assert one([event("aten::mm", 5, 5, 1, 2, cat="cpu_op")]).n_framework_events == 1


def test_a_lane_that_is_renamed_behind_its_events_is_told() -> None:
    events = [
        process(5, "Python"),
        event("a", 5, 1, 1, 1),
        process(5, "Ascend Hardware"),
        event("b", 5, 1, 2, 1),
    ]
    raw = json.dumps(events).encode()
    reader, builder = TraceReader(ARGS), TimelineBuilder("trace")
    cut = raw.index(b"Ascend") - 60
    for piece in (raw[:cut], raw[cut:]):
        for block in reader.feed(piece):
            builder.feed(block, reader.names)
    (timeline,) = builder.finish(reader.names, reader.finish())
    assert [(p.kind, "another name" in p.message) for p in timeline.problems] == [("bad-record", True)]


def test_marks_and_pauses_in_lanes_of_their_own() -> None:
    events = [
        process(50, "msproftx"),
        process(60, "Python GC"),
        thread(PYTHON, 99, "Python GC"),
        event("load", 50, 1, 1, 2.5),
        {"ph": "i", "name": "here", "pid": 50, "tid": 1, "ts": at(9)},
        event("gen 2", 60, 1, 3, 4),
        event("gen 1", PYTHON, 99, 8, 1),
        event("mine", 77, 1, 5, 1, cat="mstx"),
    ]
    timeline = one([*NAMES, *events])
    assert [(s.name, s.start_ns - ns_at(0), s.end_ns - ns_at(0)) for s in timeline.ranges] == [
        ("load", 1000, 3500),
        ("mine", 5000, 6000),
        ("here", 9000, 9000),
    ]
    assert [s.name for s in timeline.pauses] == ["gen 2", "gen 1"]


def test_limits_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_devices, "MAX_SPANS", 2)
    monkeypatch.setattr(trace_timeline, "MAX_LANES", 3)
    events = [event(f"ProfilerStep#{i}", PYTHON, 7, i, 1, cat="cpu_op") for i in range(5)]
    lanes = [kernel("k", i, 1, tid=i) for i in range(10)]
    timeline = one([*NAMES, *events, *lanes])
    assert [s.name for s in timeline.steps] == ["ProfilerStep#0", "ProfilerStep#1"]
    assert len(timeline.tasks) == 2
    assert [(p.kind, p.message[:2]) for p in timeline.problems] == [("limit", "3 "), ("limit", "8 ")]


def test_connections_as_text() -> None:
    events = [kernel("Add", 5, 1), call("Node@launch", 4, 1, 3)]
    events[0]["args"]["connection_id"] = "3"
    assert one([*NAMES, *events]).launches.connection.tolist() == [3]
    events[0]["args"]["connection_id"] = "3x"
    assert len(one([*NAMES, *events]).launches) == 0


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 50), st.integers(0, 2**40)), max_size=60))
def test_sums_of_calls_against_plain_python(rows: list[tuple[str, int, int]]) -> None:
    events = [{**call(f"Runtime@{name}", start, 0), "dur": dur} for name, start, dur in rows]
    expected: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for name, start, dur in rows:
        expected[name].append((ns_at(start), dur * 1000))
    found = {c.name: c for c in one([*NAMES, *events], 500).calls}
    assert set(found) == set(expected)
    for name, listed in expected.items():
        c = found[name]
        assert (c.level, c.n, c.total_ns) == ("runtime", len(listed), sum(d for _, d in listed))
        assert c.max_ns == max(d for _, d in listed)
        assert (c.first_ns, c.last_ns) == (min(s for s, _ in listed), max(s + d for s, d in listed))


def test_operators() -> None:
    timeline = one(
        [
            *NAMES,
            *EVENTS,
            kernel("Old", 700, 1, kind="KERNEL_AIVEC"),
            kernel("MEMCPY_ASYNC", 3, 1, kind="x SDMA"),
        ]
    )
    table = operators_of(timeline)
    assert [table.text("name", i) for i in range(table.n_rows)] == [
        "MatMulV3",
        "Add",
        "hcom_allReduce__586_0_1",
        "Old",
    ]
    assert [table.text("core_type", i) for i in range(4)] == [
        "AI_CORE",
        "AI_VECTOR_CORE",
        "COMMUNICATION",
        "AI_VECTOR_CORE",
    ]
    assert table.values("start_ns").tolist() == [ns_at(us) for us in (10, 120.001, 128, 700)]
    assert table.values("duration_ns").tolist() == [100_250, 5_000, 60_000, 1_000]
    assert table.values("stream").tolist() == [2, 2, -1, 2] and table.values("device").tolist() == [0] * 4
    assert [table.text("op_type", i) for i in range(4)] == ["MatMulV3", "Add", "hcom_allReduce_", "Old"]
    assert table.is_absent("wait_ns").all()
    assert (table.files, table.line.tolist()) == (("trace",), [0] * 4)
    assert table.has_inferred_types and table.taken(np.array([0])).has_inferred_types
    empty = operators_of(one([]))
    assert (empty.n_rows, "device" in empty.arrays) == (0, False)
    nameless = operators_of(
        replace(timeline, tasks=one([kernel("EVENT_WAIT", 1, 1), kernel("Add", 2, 1)]).tasks)
    )
    assert nameless.n_rows == 3


# ---- files, cut and broken ----


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "trace_view.json"
    path.write_text(json.dumps([*NAMES, *EVENTS]))
    (timeline,) = read_timelines(path, root=tmp_path)
    assert timeline.source == "trace_view.json"
    assert all_of(timeline) == all_of(one([*NAMES, *EVENTS]))
    with pytest.raises(Cancelled):
        read_timelines(path, is_cancelled=lambda: True)
    with pytest.raises(InputError):
        read_timelines(path, max_bytes=10)
    with pytest.raises(InputError):
        read_timelines(tmp_path / "none.json")
    path.write_text("[")
    (empty,) = read_timelines(path)
    assert (empty.is_cut, len(empty.tasks), [p.kind for p in empty.problems]) == (True, 0, ["cut-off"])


def test_cut_at_every_byte() -> None:
    """Whole events before the cut are there, no others, and the cut is told."""
    small = [EVENTS[12], NAMES[5], EVENTS[13], call("Node@launch", 5, 9, 71)]
    raw = json.dumps(small).encode()
    ends = [raw.index(json.dumps(e).encode()) + len(json.dumps(e)) for e in small]
    tasks = {ends[small.index(e)] for e in EVENTS[12:14]}
    for n in range(1, len(raw)):
        (timeline,) = built(raw[:n])
        assert timeline.is_cut and timeline.problems[0].kind == "cut-off"
        assert len(timeline.tasks) == sum(end <= n for end in tasks)
    assert not built(raw)[0].is_cut


def test_random_edits() -> None:
    """Anything may be given: only InputError, and always columns of one length."""
    rng = random.Random(7)
    raw = json.dumps([*EVENTS, *NAMES]).encode()
    n_read = 0
    for _ in range(120):
        edited = bytearray(raw)
        for _ in range(rng.choice((1, 2, 8))):
            place = rng.randrange(len(edited))
            if rng.random() < 0.4:
                edited[place] = rng.randrange(256)
            elif rng.random() < 0.5:
                del edited[place : place + rng.randrange(1, 40)]
            else:
                other = rng.randrange(len(raw))
                edited[place:place] = raw[other : other + rng.randrange(1, 60)]
        try:
            timelines = built(bytes(edited), rng.choice((0, 0, 1000)))
        except InputError:
            continue
        n_read += 1
        for timeline in timelines:
            for part in (timeline.tasks, timeline.communication, timeline.launches, timeline.framework):
                told(part)
                assert (np.diff(part.start_ns) >= 0).all()
            operators_of(timeline)
    assert n_read > 80


@pytest.mark.parametrize(
    "value", [True, [], {}, "x" * 5000, 10**400, -1, 2**63, 1.5, None, "NaN", "\ud800", [[[[]]]]]
)
@pytest.mark.parametrize("field", ["name", "pid", "tid", "ts", "dur", "cat", "ph", "args", "id"])
def test_fields_of_any_kind(field: str, value: Any) -> None:
    events = [{**e, field: value} for e in [*NAMES, *EVENTS]]
    for timeline in built(json.dumps([*events, *NAMES, *EVENTS])):
        told(timeline.tasks)
        operators_of(timeline)


@pytest.mark.parametrize("arg", ["Task Type", "connection_id", "correlation", "MHz"])
@pytest.mark.parametrize("value", [True, [1], {"a": 1}, "x", 10**30, -1, 1.5, None])
def test_arguments_of_any_kind(arg: str, value: Any) -> None:
    events = [{**e, "args": {**e.get("args", {}), arg: value}} for e in EVENTS]
    (timeline,) = built(json.dumps([*NAMES, *events]))
    assert len(timeline.tasks) == 3 and len(told(timeline.launches)) <= 6
