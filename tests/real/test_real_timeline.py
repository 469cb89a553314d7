"""Timelines of traces that real tools wrote: the vendor's own sums and its kernel table."""

from __future__ import annotations

import csv
import json
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from npulse.core.formats.profiling.timeline import NONE
from npulse.core.formats.profiling.trace_operators import operators_of
from npulse.core.formats.profiling.trace_simulator import read_simulator_trace
from npulse.core.formats.profiling.trace_timeline import read_timelines
from npulse.core.performance.intervals import union

RANK_0 = "real/pt_level1/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT"
SIMULATOR = "synthetic/OPPROF_20260801122000_SIMABCDEFGHIJKLM/simulator"

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def samples(shared: Path) -> Path:
    return shared / "samples" / "profiling"


def ns(us: str) -> int:
    return int((Decimal(us.strip()) * 1000).to_integral_value())


def test_recorded_lanes_are_the_step_table(samples: Path) -> None:
    (timeline,) = read_timelines(samples / RANK_0 / "trace_view.json", root=samples)
    assert (timeline.device, timeline.problems, timeline.is_cut) == (0, (), False)
    with (samples / RANK_0 / "step_trace_time.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    total = {lane: int(durations.sum()) for lane, (_, durations) in timeline.recorded.items()}
    assert total["Computing"] == ns(row["Computing"]) == 8_873_756
    assert total["Communication"] == ns(row["Communication"]) == 105_991_878
    not_overlapped = "Communication(Not Overlapped)"
    assert total[not_overlapped] == ns(row[not_overlapped]) == 101_963_203
    assert total["Communication"] - total[not_overlapped] == ns(row["Overlapped"]) == 4_028_675
    assert total["Free"] == ns(row["Free"]) == 25_744_050
    lanes = timeline.recorded.values()
    first, last = min(int(s.min()) for s, _ in lanes), max(int((s + d).max()) for s, d in lanes)
    # the three add up to the whole, but for what rounding single lengths lost
    assert abs(last - first - sum(total[lane] for lane in ("Computing", not_overlapped, "Free"))) <= 100
    assert [step.name for step in timeline.steps] == ["ProfilerStep#50"]
    assert timeline.frequency_mhz.tolist() == [1800, 1800]


def test_kernels_are_those_of_the_kernel_table(samples: Path) -> None:
    (timeline,) = read_timelines(samples / RANK_0 / "trace_view.json")
    table = operators_of(timeline)
    with (samples / RANK_0 / "kernel_details.csv").open(newline="") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: ns(row["Start Time(us)"]))
    assert table.n_rows == len(rows) == 191
    for i, row in enumerate(rows):
        assert table.text("name", i) == row["Name"]
        is_collective = row["Accelerator Core"] == "HCCL"
        assert abs(int(table.values("start_ns")[i]) - ns(row["Start Time(us)"])) <= is_collective
        assert (
            abs(int(table.values("duration_ns")[i]) - ns(row["Duration(us)"])) <= 1
        )  # halves are rounded apart
        is_vector = row["Accelerator Core"] == "AI_VECTOR_CORE"  # AI_CORE in traces
        expected = "AI_CORE" if is_vector else "COMMUNICATION" if is_collective else row["Accelerator Core"]
        assert table.text("core_type", i) == expected
    computing = union(*timeline.recorded["Computing"]).total_ns
    kernels = ~np.isin(table.values("core_type"), [table.texts("core_type").index("COMMUNICATION")])
    assert abs(int(table.values("duration_ns")[kernels].sum()) - computing) <= len(rows)


def test_launches_and_calls_against_plain_python(samples: Path) -> None:
    path = samples / RANK_0 / "trace_view.json"
    (timeline,) = read_timelines(path)
    events = json.loads(path.read_text(), parse_float=Decimal)
    pids = {e["args"]["name"]: e["pid"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
    of = {name: [e for e in events if e["ph"] == "X" and e["pid"] == pid] for name, pid in pids.items()}
    assert len(timeline.tasks) == len(of["Ascend Hardware"])
    assert sorted(timeline.tasks.start_ns.tolist()) == sorted(ns(e["ts"]) for e in of["Ascend Hardware"])
    assert timeline.tasks.connection.tolist().count(NONE) == 0
    collectives = [e for e in of["HCCL"] if "alg_type" in e["args"]]
    assert timeline.communication.start_ns.tolist() == sorted(ns(e["ts"]) for e in collectives)
    assert set(timeline.communication.kinds) == {"Group 0 Communication"}
    started = {e["args"]["connection_id"] for e in [*of["Ascend Hardware"], *collectives]}
    launches = [e for e in of["CANN"] if e["args"]["connection_id"] in started]
    assert sorted(timeline.launches.start_ns.tolist()) == sorted(ns(e["ts"]) for e in launches)
    total: dict[str, list[int]] = {}
    for e in of["CANN"]:
        total.setdefault(e["name"].partition("@")[2], []).append(ns(str(e["dur"])))
    assert {c.name: (c.n, c.total_ns) for c in timeline.calls} == {
        k: (len(v), sum(v)) for k, v in total.items()
    }
    assert timeline.n_framework_events == len(of["Python"])
    arrows = [e for e in events if e["ph"] == "s" and e.get("cat") == "async_npu"]
    starts = [ns(e["ts"]) for e in arrows]
    found = timeline.framework.start_ns.tolist()
    # a collective and its first piece begin at once: both are found
    assert set(found) == set(starts) and len(found) == len(starts) + len(collectives)


def test_names_that_come_last(samples: Path) -> None:
    (timeline,) = read_timelines(samples / "real/trace/trace_view_heatmap.json")
    assert [timeline.tasks.names[code] for code in timeline.tasks.name] == [
        "aclnnGroupedMatmulV4_GroupedMatmul_GroupedMatmul"
    ]
    assert sorted(c.name for c in timeline.calls) == [
        "LmHead::Execute",
        "Prefill_layer::Execute",
        "aclnnGroupedMatmulV4",
    ]
    assert timeline.n_framework_events == 0 and timeline.problems == ()


def test_a_trace_that_is_still_written(samples: Path) -> None:
    (timeline,) = read_timelines(samples / "synthetic/trace_in_progress/trace_view.json")
    assert timeline.is_cut and [problem.kind for problem in timeline.problems] == ["cut-off"]
    assert (len(timeline.tasks), timeline.n_framework_events) == (0, 37)


@pytest.mark.parametrize("name", ["trace.json", "core0.veccore0/trace.json"])
def test_pipes_of_the_simulator(samples: Path, name: str) -> None:
    path = samples / SIMULATOR / name
    found = read_simulator_trace(path, root=samples)
    events = [e for e in json.loads(path.read_text(), parse_float=Decimal)["traceEvents"] if e["ph"] == "X"]
    expected = sorted(
        (e["pid"], e["tid"], ns(str(e["ts"])), ns(str(e["dur"])), e["args"]["code"]) for e in events
    )
    rows = zip(
        found.core, found.pipe, found.start_ns.tolist(), found.duration_ns.tolist(), found.code, strict=True
    )
    assert [
        (found.cores[c], found.pipes[p], s, d, found.texts[code]) for c, p, s, d, code in rows
    ] == expected
    assert len(found) == 18 and found.moved_bytes.tolist() == [2048] * 18 and found.problems == ()


def test_the_cases(shared: Path) -> None:
    """Times of 16 digits as text; an event at 0."""
    (timeline,) = read_timelines(shared / "cases" / "C48" / "ASCEND_PROFILER_OUTPUT" / "trace_view.json")
    starts, durations = timeline.tasks.start_ns, timeline.tasks.duration_ns
    ends = starts + durations
    assert (len(starts), int(durations.sum()), int(ends[-1] - starts[0])) == (40, 23975, 26198)
    gaps = starts[1:] - ends[:-1]
    assert (int(gaps.sum()), int(gaps.min()) >= 0) == (2223, True)
    (timeline,) = read_timelines(shared / "cases" / "C50" / "ASCEND_PROFILER_OUTPUT" / "trace_view.json")
    tasks = timeline.tasks
    assert (len(tasks), tasks.names[tasks.name[0]], int(tasks.start_ns[0])) == (31, "Cast_zero", 0)
    span_ns = int((tasks.start_ns + tasks.duration_ns)[-1] - tasks.start_ns[1])
    assert (span_ns, int(tasks.duration_ns.sum())) == (592_500, 375_000)
