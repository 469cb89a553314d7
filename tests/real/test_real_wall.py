"""Wall time of real profiles: the vendor's own lanes, its step table and its analysis of idle time."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npulse.core.formats.profiling.database.timeline import read_database_timeline
from npulse.core.formats.profiling.operators import read_operators
from npulse.core.formats.profiling.records import StepTime
from npulse.core.formats.profiling.timeline import NONE, Span, Tasks, Timeline
from npulse.core.formats.profiling.trace_timeline import read_timelines
from npulse.core.performance.profile import Profile
from npulse.core.performance.wall.bottleneck import bottleneck_of
from npulse.core.performance.wall.gap_causes import causes_of, longest_gaps
from npulse.core.performance.wall.host import host_of
from npulse.core.performance.wall.launches import launches_of
from npulse.core.performance.wall.overlap import overlap_of
from npulse.core.performance.wall.recorded import differences_of
from npulse.core.performance.wall.wall import Wall, wall_of

LEVEL1 = Path("samples/profiling/real/pt_level1/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT")
DB = Path(
    "samples/profiling/real/pt_db_level2/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_0.db"
)
NO_ID = 4294967295
ROUNDING_NS = 25
"""The step table has sums of floats of microseconds."""

Row = tuple[Any, ...]


def tasks(rows: Iterable[Row]) -> Tasks:
    """(start, duration, stream, name, kind, connection) a row."""
    listed = sorted(rows, key=lambda row: row[0])
    names = {name: i for i, name in enumerate(dict.fromkeys(row[3] for row in listed))}
    kinds = {kind: i for i, kind in enumerate(dict.fromkeys(row[4] for row in listed))}
    numbers = [np.array([row[i] for row in listed], np.int64) for i in (0, 1, 2, 5)]
    return Tasks(
        numbers[0],
        numbers[1],
        numbers[2],
        np.array([names[row[3]] for row in listed], np.int32),
        np.array([kinds[row[4]] for row in listed], np.int32),
        numbers[3],
        tuple(names),
        tuple(kinds),
    )


def ns(text: str | float) -> int:
    return round(Decimal(str(text)) * 1000)


def of_trace(path: Path) -> Timeline:
    """The device part of a trace by the standard library."""
    events = json.loads(path.read_text("utf-8"))
    named = [event for event in events if event["ph"] == "M"]
    process = {e["pid"]: e["args"]["name"] for e in named if e["name"] == "process_name"}
    thread = {(e["pid"], e["tid"]): e["args"]["name"] for e in named if e["name"] == "thread_name"}
    device, collectives, launches = [], [], []
    recorded: dict[str, list[tuple[int, int]]] = {}
    for event in events:
        if event["ph"] != "X":
            continue
        start, length = ns(event["ts"]), ns(event["dur"])
        args, lane = event.get("args", {}), thread.get((event["pid"], event["tid"]), "")
        connection = int(args.get("connection_id", NONE))
        name = event["name"]
        match process.get(event["pid"]):
            case "Ascend Hardware":
                stream = int(lane.removeprefix("Stream "))
                device.append((start, length, stream, name, args["Task Type"], connection))
            case "HCCL" if lane.startswith("Group"):
                collectives.append((start, length, NONE, name, lane, connection))
            case "Overlap Analysis":
                recorded.setdefault(lane, []).append((start, length))
            case "CANN" if connection != NONE:
                launches.append((start, length, NONE, name, args.get("level", ""), connection))
    lanes = {lane: (np.array(spans).T[0], np.array(spans).T[1]) for lane, spans in recorded.items()}
    return Timeline("trace_view.json", 0, tasks(device), tasks(collectives), tasks(launches), lanes)


def of_database(path: Path) -> Timeline:
    """The device part of a database by plain SQL."""
    base = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    text = dict(base.execute("select id, value from STRING_IDS"))
    levels = {20000: "acl", 15000: "model", 10000: "node", 5500: "communication", 5000: "runtime"}

    def rows(query: str) -> list[Row]:
        return list(base.execute(query))

    def known(connection: int | None) -> int:
        return NONE if connection in (None, NO_ID) else int(connection)

    named = {task: text[name] for task, name in rows("select globalTaskId, name from COMPUTE_TASK_INFO")}
    device = [
        (start, end - start, stream, named.get(task, ""), text[kind], known(connection))
        for start, end, stream, task, kind, connection in rows(
            "select startNs, endNs, streamId, globalTaskId, taskType, connectionId from TASK"
        )
    ]
    collectives = [
        (start, end - start, NONE, text[name], text[group], known(connection))
        for start, end, name, group, connection in rows(
            "select startNs, endNs, opName, groupName, connectionId from COMMUNICATION_OP"
        )
    ]
    launches = [
        (start, end - start, NONE, text[name], levels.get(kind, ""), known(connection))
        for start, end, name, kind, connection in rows(
            "select startNs, endNs, name, type, connectionId from CANN_API"
        )
    ]
    framework = [
        (int(start), int(end) - int(start), NONE, text[name], "op", known(connection))
        for start, end, name, connection in rows(
            "select p.startNs, p.endNs, p.name, c.connectionId from PYTORCH_API p"
            " join CONNECTION_IDS c on c.id = p.connectionId where p.type = 50001"
        )
    ]
    steps = tuple(
        Span(f"ProfilerStep#{n}", start, end)
        for n, start, end in rows("select id, startNs, endNs from STEP_TIME")
    )
    return Timeline(
        path.name,
        0,
        tasks(device),
        tasks(collectives),
        tasks(launches),
        steps=steps,
        framework=tasks(framework),
    )


def step_row(shared: Path) -> StepTime:
    with (shared / LEVEL1 / "step_trace_time.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    us = {key: round(Decimal(value) * 1000) for key, value in row.items() if key != "Step"}
    return StepTime(
        row["Step"],
        None,
        us["Computing"],
        us["Communication(Not Overlapped)"],
        us["Overlapped"],
        us["Communication"],
        us["Free"],
        preparing_ns=us["Preparing"],
    )


def walled(profile: Profile) -> Wall:
    wall = wall_of(profile)
    assert wall is not None
    return wall


def assert_is_step(wall: Wall) -> None:
    """8873.756, 101963.203, 4028.675 and 25744.05 us, but for the rounding of the step table."""
    ours = (wall.compute_ns, wall.communication_not_overlapped_ns, wall.overlapped_ns, wall.idle_ns)
    theirs = (8_873_756, 101_963_203, 4_028_675, 25_744_050)
    assert all(abs(a - b) <= ROUNDING_NS for a, b in zip(ours, theirs, strict=True)), ours
    assert abs(wall.wall_ns - 136_581_000) <= ROUNDING_NS


@pytest.mark.real
def test_the_vendors_lanes_and_step_table(shared: Path) -> None:
    table = read_operators(shared / LEVEL1 / "kernel_details.csv", root=shared)
    step = step_row(shared)
    sums = walled(Profile("steps", steps=(step,)))
    assert (sums.compute_ns, sums.communication_not_overlapped_ns) == (8_873_756, 101_963_203)
    assert (sums.overlapped_ns, sums.idle_ns, sums.wall_ns) == (4_028_675, 25_744_050, 136_581_009)
    of_table = walled(Profile("csv", operators=table, steps=(step,)))
    assert of_table.source == "operators"
    assert_is_step(of_table)
    differences = differences_of(of_table)
    assert {one.lane: one.difference_ns for one in differences} == {
        "Computing": -19,
        "Communication": -2,
        "Free": 19,
    }
    assert {one.why[0] for one in differences} == {"rounding of times"}

    timeline = of_trace(shared / LEVEL1 / "trace_view.json")
    wall = walled(Profile("trace", timeline=timeline))
    assert_is_step(wall)
    assert dict(wall.recorded) == {
        "Computing": 8_873_756,
        "Communication": 105_991_878,
        "Communication(Not Overlapped)": 101_963_203,
        "Free": 25_744_050,
    }
    assert wall.n_kernels == len(timeline.recorded["Computing"][0])
    overlap = overlap_of(wall)
    assert overlap is not None and overlap.collectives[0].name == "hcom_allReduce__586_0_1"
    for profile in (
        Profile("x", timeline=timeline),
        Profile("x", operators=table),
        Profile("x", steps=(step,)),
    ):
        assert bottleneck_of(profile, wall_of(profile)).answer == "communication"
    assert host_of(Profile("x", timeline=timeline), wall).verdict == "yes"


@pytest.mark.real
def test_every_gap_of_the_vendors_free_analysis(shared: Path) -> None:
    timeline = of_database(shared / DB)
    profile = Profile("db", timeline=timeline)
    wall = walled(profile)
    assert wall.n_kernels == 187 and wall.work is not None
    launches = launches_of(wall.work, timeline)
    found = {one.gap.start_ns: one for one in longest_gaps(wall, launches, causes_of(wall, launches))}
    with (shared / "samples/profiling/derived/free_analysis.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["Rank ID"] == "0"]
    assert len(rows) == len(found) == 10
    for row in rows:
        gap = found[ns(row["Start Time(us)"])]
        assert (gap.gap.duration_ns, gap.gap.end_ns) == (ns(row["Duration(us)"]), ns(row["End Time(us)"]))
        if row["Reason"].startswith("Device task"):
            assert gap.n_others >= 1
            if row["Reason"].startswith("Device task running: 1 MEMCPY_ASYNC tasks"):
                assert gap.remaining_ns == ns(row["Reason"].split()[-2])
            continue
        assert gap.n_others == 0 and gap.framework_ns is not None and gap.host_ns is not None
        # the vendor computes these in float64, whose spacing is 256 ns here
        assert abs(gap.framework_ns - ns(row["Pytorch Idle Time(us)"])) <= 512
        assert abs(gap.host_ns - ns(row["Cann Idle Time(us)"])) <= 512
        is_framework = row["Reason"].startswith("Idle Pytorch layer")
        assert gap.cause == ("framework" if is_framework else "between launches"), row["Reason"]
        if not is_framework and gap.between_ns is not None:
            assert abs(gap.between_ns - ns(row["Reason"].split()[-2])) <= 512
    assert host_of(profile, wall).verdict == "yes"


@pytest.mark.real
def test_our_readers_lead_to_the_same_figures(shared: Path) -> None:
    trace, database = shared / LEVEL1 / "trace_view.json", shared / DB
    (from_trace,) = read_timelines(trace, root=shared)
    pairs = (
        (of_trace(trace), from_trace),
        (of_database(database), read_database_timeline(database, root=shared)),
    )
    for plain, ours in pairs:
        first, second = walled(Profile("x", timeline=plain)), walled(Profile("x", timeline=ours))
        assert (first.start_ns, first.end_ns, first.busy_ns) == (
            second.start_ns,
            second.end_ns,
            second.busy_ns,
        )
        assert (first.compute_ns, first.communication_ns) == (second.compute_ns, second.communication_ns)
        assert (first.overlapped_ns, first.copies_ns) == (second.overlapped_ns, second.copies_ns)
        assert dict(first.recorded) == dict(second.recorded)
        hosts = [host_of(Profile("x", timeline=one), wall) for one, wall in ((plain, first), (ours, second))]
        assert hosts[0].by_host_ns == hosts[1].by_host_ns and hosts[0].latency == hosts[1].latency
