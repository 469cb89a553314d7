"""Wall, busy and idle time against counting nanosecond by nanosecond."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.formats.profiling.records import StepTime
from npulse.core.formats.profiling.timeline import NONE, Span
from npulse.core.performance.profile import Profile
from npulse.core.performance.wall.device_work import (
    COMMUNICATION,
    COMMUNICATION_PART,
    COPY,
    KERNEL,
    WAIT,
    role_of_kind,
    work_of_operators,
    work_of_timeline,
)
from npulse.core.performance.wall.lanes import busy_before, exact_sum
from npulse.core.performance.wall.recorded import differences_of
from npulse.core.performance.wall.wall import Wall, ruler, wall_of

from .wall_builders import BASE_NS, of, table, tasks, timeline

SPANS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 12), st.integers(0, 2)), max_size=14)


def covered(spans: list[tuple[int, int, int]]) -> set[int]:
    return {t for start, length, _ in spans for t in range(start, start + length)}


def walled(profile: Profile) -> Wall:
    wall = wall_of(profile)
    assert wall is not None
    return wall


@given(SPANS, SPANS, SPANS)
def test_times_against_counting(
    kernels: list[tuple[int, int, int]],
    collectives: list[tuple[int, int, int]],
    others: list[tuple[int, int, int]],
) -> None:
    device = [(*span, "Mul", "AI_CORE") for span in kernels]
    device += [(*span, "MEMCPY_ASYNC", "MEMCPY_ASYNC") for span in others]
    wall = wall_of(of(timeline(device, collectives)))
    if not kernels and not collectives:
        assert wall is None
        return
    assert wall is not None
    compute, communication, copies = covered(kernels), covered(collectives), covered(others)
    starts = [start for start, _, _ in kernels + collectives]
    ends = [start + length for start, length, _ in kernels + collectives]
    whole = set(range(min(starts), max(ends)))
    assert (wall.start_ns, wall.end_ns) == (BASE_NS + min(starts), BASE_NS + max(ends))
    assert wall.wall_ns == len(whole)
    assert wall.busy_ns == len(compute | communication)
    assert wall.idle_ns == len(whole - compute - communication) == wall.idle.total_ns
    assert wall.compute_ns == len(compute) and wall.communication_ns == len(communication)
    assert wall.overlapped_ns == len(compute & communication)
    assert wall.communication_not_overlapped_ns == len(communication - compute)
    assert wall.sum_of_kernels_ns == sum(length for _, length, _ in kernels + collectives)
    assert wall.copies_ns == len(copies)
    assert wall.copies_in_idle_ns == len(copies & (whole - compute - communication))
    assert sum(gap.duration_ns for gap in wall.gaps) == wall.idle_ns  # so few that all are listed
    lengths = [gap.duration_ns for gap in wall.gaps]
    assert lengths == sorted(lengths, reverse=True) and len(lengths) == wall.n_gaps


@given(SPANS, SPANS, st.integers(1, 30))
def test_ruler_against_counting(
    kernels: list[tuple[int, int, int]], collectives: list[tuple[int, int, int]], n_cells: int
) -> None:
    wall = wall_of(of(timeline([(*span, "Mul", "AI_CORE") for span in kernels], collectives)))
    if wall is None:
        return
    shares = ruler(wall, n_cells)
    assert shares.shape == (len(wall.lanes), n_cells) and shares.min(initial=0) >= 0 <= 1
    assert wall.start_ns is not None
    edges = [wall.start_ns - BASE_NS + wall.wall_ns * i // n_cells for i in range(n_cells + 1)]
    for lane, row in zip(wall.lanes, shares, strict=True):
        own = [span for span in kernels if span[2] == lane.stream] if lane.role == "compute" else collectives
        points = covered(own)
        for i in range(n_cells):
            cell = set(range(edges[i], edges[i + 1]))
            assert row[i] == pytest.approx(len(cell & points) / len(cell) if cell else 0)


def test_a_gap_names_what_stood_around_it() -> None:
    device = [
        (0, 10, 1, "MatMul", "AI_CORE"),
        (2, 4, 2, "Cast", "AI_VECTOR_CORE"),
        (30, 5, 1, "Add", "MIX_AIC"),
    ]
    wall = walled(of(timeline([*device, (36, 4, 1, "Relu", "AI_CORE")])))
    assert [(g.duration_ns, g.before, g.after) for g in wall.gaps] == [
        (20, "MatMul", "Add"),
        (1, "Add", "Relu"),
    ]
    assert wall.work is not None
    assert [wall.work.label(at) for at in (wall.gaps[0].before_at, wall.gaps[0].after_at)] == [
        "MatMul",
        "Add",
    ]


def test_gaps_of_graph_capture_are_not_idle() -> None:
    device = [
        (0, 10, 1, "A", "AI_CORE"),
        (12, 3, 1, "MEM_WAIT_VALUE", "MEM_WAIT_VALUE"),
        (40, 10, 1, "B", "AI_CORE"),
    ]
    device += [
        (60, 5, 1, "C", "AI_CORE"),
        (64, 1, 1, "CAPTURE_WAIT", "CAPTURE_WAIT"),
        (70, 5, 1, "D", "AI_CORE"),
    ]
    wall = walled(of(timeline(device)))
    assert [(g.duration_ns, g.is_artefact) for g in wall.gaps] == [(30, True), (10, False), (5, True)]
    assert (wall.idle_ns, wall.artefact_ns, wall.true_idle_ns) == (45, 35, 10)
    assert wall.idle_share == 10 / 75


@pytest.mark.parametrize(
    ("kind", "role", "is_known"),
    [
        ("AI_CORE", KERNEL, True),
        ("KERNEL_AIVEC", KERNEL, True),
        ("DSA_SQE", KERNEL, True),
        ("AI_CPU", KERNEL, True),
        ("N/A", KERNEL, True),
        ("QUANTUM_CORE", KERNEL, False),
        ("EVENT_WAIT_SQE", WAIT, True),
        ("Notify Wait", WAIT, True),
        ("Write Value", WAIT, True),
        ("PLACE_HOLDER_SQE", WAIT, True),
        ("PROFILING_ENABLE", WAIT, True),
        ("MEMCPY_ASYNC", COPY, True),
        ("SDMA", COPY, True),
        ("PCIE_DMA_SQE", COPY, True),
        ("COMMUNICATION", COMMUNICATION, True),
        ("HCCL", COMMUNICATION, True),
        ("HCCL_AI_CPU", COMMUNICATION_PART, True),
    ],
)
def test_role_of_task_types(kind: str, role: int, is_known: bool) -> None:
    assert role_of_kind(kind) == (role, is_known)


def test_unknown_task_types_count_as_kernels_and_are_told() -> None:
    wall = walled(of(timeline([(0, 5, 1, "X", "QUANTUM_CORE"), (9, 1, 1, "Y", "AI_CORE")])))
    assert wall.busy_ns == 6 and wall.assumed_kinds == ("QUANTUM_CORE",)


def test_kernels_of_collectives_are_no_computing() -> None:
    device = [
        (0, 10, 1, "MatMul", "AI_CORE"),
        (20, 10, 2, "AllReduceAivKernel", "AI_VECTOR_CORE"),
        (40, 10, 3, "hcomAicpuKernel", "AI_CPU"),
        (60, 10, 4, "MatmulAllReduceMc2", "AI_CPU"),
        (80, 10, 4, "RunAicpuKfcSrvLaunch", "AI_CPU"),
        (100, 10, 5, "MatmulAllReduce", "MIX_AIC"),
        (120, 10, 6, "Cast", "AI_CPU"),
    ]
    communication = [(15, 30, NONE, "hcom_allReduce__1_0_1", "group")]
    work = work_of_timeline(timeline(device, communication))
    roles = [work.role[[work.label(i) for i in range(len(work))].index(row[3])] for row in device]
    assert roles == [KERNEL, *[COMMUNICATION_PART] * 4, KERNEL, KERNEL]
    wall = walled(of(timeline(device, communication)))
    assert (wall.compute_ns, wall.communication_ns, wall.busy_ns) == (30, 30, 60)
    # where no whole collective is recorded its kernels stand for it
    alone = walled(of(timeline(device)))
    assert (alone.compute_ns, alone.communication_ns) == (30, 40)


def test_moves_of_collectives_are_no_copies() -> None:
    device = [
        (0, 10, 1, "MatMul", "AI_CORE"),
        (2, 4, 4, "SDMA", "SDMA"),
        (6, 1, 4, "Notify Wait", "Notify Wait"),
        (12, 3, 1, "MEMCPY_ASYNC", "MEMCPY_ASYNC"),
    ]
    wall = walled(of(timeline(device, [(1, 8, NONE, "hcom_send_1", "g")])))
    assert wall.copies_ns == 3


def test_tasks_without_a_name_carry_something_else() -> None:
    device = [
        (0, 10, 1, "MatMul", "KERNEL_AICORE"),
        (20, 500, 4, "", "AI_CORE"),
        (20, 5, 3, "DSAGenBitMask", "STARS_COMMON"),
        (30, 5, 3, "STARS_COMMON", "STARS_COMMON"),
        (40, 5, 4, "KERNEL_AICORE", "KERNEL_AICORE"),
    ]
    wall = walled(of(timeline(device)))
    assert wall.compute_ns == 15 and wall.n_kernels == 2
    # no kernel has a name: then they are kernels
    assert walled(of(timeline([(0, 10, 1, "", "AI_CORE"), (20, 5, 1, "", "AI_CORE")]))).compute_ns == 15


def test_events_without_any_type_are_kernels_unless_their_name_says_otherwise() -> None:
    device = [
        (0, 5, 1, "Add", ""),
        (10, 5, 1, "EVENT_WAIT", ""),
        (20, 5, 1, "MEMCPY_ASYNC", ""),
        (30, 5, 1, "hcom_x", ""),
    ]
    wall = walled(of(timeline(device)))
    assert (wall.compute_ns, wall.communication_ns, wall.copies_ns, wall.wall_ns) == (5, 5, 5, 35)


@pytest.mark.parametrize("n", [1, 2, 30])
@pytest.mark.parametrize("start", [-BASE_NS, -BASE_NS + 1, 40 * 10**16, -(10**15), -BASE_NS - 2**62])
def test_impossible_times_are_set_aside_and_named(n: int, start: int) -> None:
    device = [(i * 20_000, 12_500, 3, "RmsNorm", "") for i in range(n)]
    if n < 3 and start > -BASE_NS + 1:
        return  # of so few nobody can say which is wrong
    wall = walled(of(timeline([*device, (start, 5, 3, "Cast_zero", "")])))
    assert [one.name for one in wall.set_aside] == ["Cast_zero"] and wall.n_set_aside == 1
    assert wall.set_aside[0].start_ns == BASE_NS + start
    assert wall.wall_ns == (n - 1) * 20_000 + 12_500 and wall.busy_ns == n * 12_500


def test_a_length_that_cannot_be_is_set_aside() -> None:
    device = [(i * 20, 10, 3, "Add", "AI_CORE") for i in range(9)]
    for length in (-1, 10**18, 2**63 - 1):
        wall = walled(of(timeline([*device, (50, length, 3, "Odd", "AI_CORE")])))
        assert [one.name for one in wall.set_aside] == ["Odd"] and wall.wall_ns == 170


def test_times_from_zero_are_times() -> None:
    found = timeline([])
    rows = tasks([(i * 100, 40, 1, "Add", "AI_CORE") for i in range(5)], base_ns=0)
    wall = walled(of(type(found)("t", 0, rows, found.communication, found.launches)))
    assert (wall.start_ns, wall.wall_ns, wall.n_set_aside) == (0, 440, 0)


COLUMNS = ("step", "stream", "name", "op_type", "core_type", "start_ns", "duration_ns", "wait_ns")


def operators() -> list[tuple[object, ...]]:
    return [
        (1, 2, "a", "Add", "AI_CORE", 0, 10, 0),
        (1, 2, "b", "Mul", "AI_VECTOR_CORE", 15, 10, 5),
        (1, None, "hcom_allReduce__1_0", "hcom_allReduce_", "COMMUNICATION", 20, 20, 0),
        (2, 2, "c", "Add", "AI_CORE", 100, 10, 60),
        (2, 2, "d", "Add", "AI_CORE", None, 10, None),
        (2, 2, "e", "Add", "AI_CORE", 120, None, 3),
        (None, 3, "f", "Add", "AI_CORE", 105, 10, 0),
    ]


def test_operator_table() -> None:
    found = table(operators(), COLUMNS)
    wall = walled(Profile("x", operators=found))
    assert (wall.source, wall.wall_ns, wall.busy_ns, wall.compute_ns) == ("operators", 115, 50, 35)
    assert (wall.overlapped_ns, wall.wait_ns, wall.n_unplaced) == (5, 68, 2)
    assert [(s.step, s.wall_ns, s.busy_ns, s.idle_ns) for s in wall.steps] == [
        ("1", 40, 35, 5),
        ("2", 10, 10, 0),
    ]
    assert [(lane.role, lane.stream, lane.n_tasks) for lane in wall.lanes] == [
        ("compute", 2, 3),
        ("compute", 3, 1),
        ("communication", NONE, 1),
    ]
    assert wall.streams[3].total_ns == 10
    first = wall_of(Profile("x", operators=found), np.arange(7) < 2)
    assert first is not None and (first.wall_ns, first.n_unplaced, first.wait_ns) == (25, 0, 5)
    work, n = work_of_operators(found)
    assert n == 2 and [work.label(i) for i in range(len(work))] == ["a", "b", "hcom_allReduce__1_0", "c", "f"]
    assert work.row.tolist() == [0, 1, 2, 3, 6]


def test_no_times_no_wall() -> None:
    assert wall_of(Profile("x")) is None
    assert wall_of(Profile("x", operators=table([("a", 5)], ("name", "duration_ns")))) is None
    assert wall_of(of(timeline([(0, 5, 1, "EVENT_WAIT", "EVENT_WAIT")]))) is None


STEP = StepTime("50", None, 8_873_756, 101_963_203, 4_028_675, 105_991_878, 25_744_050)


def test_sums_of_steps() -> None:
    partial = StepTime("51", None, 5, None, None, None, None)
    wall = walled(Profile("x", steps=(STEP, partial, StepTime("52", None, 10, 3, 1, None, 7))))
    assert (wall.source, wall.start_ns, wall.gaps) == ("steps", None, ())
    assert wall.wall_ns == 136_581_009 + 20 and wall.idle_ns == 25_744_057
    assert wall.communication_ns == 105_991_878 + 3
    assert ruler(wall, 5).shape == (0, 5)
    assert differences_of(wall) == ()


def test_recorded_sums_stand_beside_ours() -> None:
    recorded = {
        "Computing": (np.array([0, 15]) + BASE_NS, np.array([10, 10])),
        "Free": (np.array([10]) + BASE_NS, np.array([4])),
    }
    found = timeline([(0, 10, 1), (15, 10, 1)], recorded=recorded)
    wall = walled(of(found))
    assert dict(wall.recorded) == {"Computing": 20, "Free": 4}
    assert [(d.lane, d.ours_ns, d.recorded_ns, d.difference_ns) for d in differences_of(wall)] == [
        ("Free", 5, 4, 1)
    ]
    # sums of the step table, where the timeline has no lanes
    rows = Profile("x", operators=table(operators(), COLUMNS))
    step = replace(STEP, computing_ns=walled(rows).compute_ns)
    wall = walled(replace(rows, steps=(step,)))
    assert wall.recorded["Free"] == 25_744_050 and wall.recorded_source == "step_trace_time"
    assert differences_of(wall)[0].why[0] == "rows without a usable time: 2"


def test_rows_of_a_part_give_way_to_the_sums_of_steps() -> None:
    rows = Profile("x", operators=table(operators(), COLUMNS))
    computing = walled(rows).compute_ns
    for times, source in ((1, "operators"), (1.2, "operators"), (1.3, "steps"), (100, "steps")):
        step = replace(STEP, computing_ns=round(computing * times))
        wall = walled(replace(rows, steps=(step,)))
        assert wall.source == source
        assert (wall.held_share is None) == (source == "operators")
        if wall.held_share is not None:
            assert wall.held_share == computing / step.computing_ns
            assert wall.compute_ns == step.computing_ns


def test_lanes_alone_are_enough() -> None:
    recorded = {
        "Computing": (np.array([0, 20]) + BASE_NS, np.array([10, 10])),
        "Communication": (np.array([5, 60]) + BASE_NS, np.array([10, 5])),
    }
    wall = walled(of(timeline([], recorded=recorded)))
    assert (wall.source, wall.wall_ns, wall.busy_ns, wall.overlapped_ns) == ("lanes", 65, 30, 5)
    assert [gap.duration_ns for gap in wall.gaps] == [30, 5] and ruler(wall, 4).shape == (2, 4)


def test_a_cut_timeline_gives_way_to_a_table_that_reaches_further() -> None:
    cut = timeline([(0, 10, 1)], is_cut=True)
    assert walled(of(cut)).is_cut
    assert walled(of(cut, operators=table(operators(), COLUMNS))).source == "operators"
    whole = timeline([(0, 10, 1), (300, 10, 1)])  # collectives are in the table only: they would seem idle
    assert walled(of(whole, operators=table(operators(), COLUMNS))).communication_ns == 20
    short = table([("a", 0, 5)], ("name", "start_ns", "duration_ns"))
    assert walled(of(cut, operators=short)).source == "timeline"


def test_a_task_is_of_the_step_that_launched_it() -> None:
    device = [
        (10, 10, 1, "a", "AI_CORE", 1),
        (105, 10, 1, "b", "AI_CORE", 2),
        (130, 10, 1, "c", "AI_CORE", 3),
    ]
    device += [(150, 10, 1, "d", "AI_CORE", NONE)]
    launches = [(5, 2, 0, "Node@launch", "node", 1), (90, 2, 0, "Node@launch", "node", 2)]
    launches += [(120, 2, 0, "Node@launch", "node", 3)]
    steps = (
        Span("ProfilerStep#0", BASE_NS, BASE_NS + 100),
        Span("ProfilerStep#1", BASE_NS + 100, BASE_NS + 145),
    )
    wall = walled(of(timeline(device, (), launches, steps=steps)))
    assert [(s.step, s.wall_ns, s.busy_ns) for s in wall.steps] == [
        ("ProfilerStep#0", 105, 20),
        ("ProfilerStep#1", 10, 10),
    ]


def test_lanes_are_limited_and_counted() -> None:
    wall = walled(of(timeline([(i, 1, i) for i in range(300)])))
    assert len(wall.lanes) == 256 and wall.n_lanes == 300


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(1, 9)), max_size=8),
    st.lists(st.integers(-5, 70), min_size=1),
)
def test_busy_before(spans: list[tuple[int, int]], times: list[int]) -> None:
    wall = wall_of(of(timeline([(start, length, 1) for start, length in spans])))
    if wall is None:
        return
    points = {t for start, length in spans for t in range(start, start + length)}
    found = busy_before(wall.busy, np.array(times, np.int64) + BASE_NS)
    assert found.tolist() == [sum(point < time for point in points) for time in times]


@given(st.lists(st.integers(0, 2**63 - 1)))
def test_exact_sum(values: list[int]) -> None:
    assert exact_sum(np.array(values, np.int64)) == sum(values)


@given(
    st.lists(
        st.tuples(
            st.integers(-(2**63), 2**63 - 1),
            st.integers(-(2**63), 2**63 - 1),
            st.integers(-(2**63), 2**63 - 1),
            st.sampled_from(["", "a", "EVENT_WAIT", "xAivKernel", "\x1b[31m"]),
            st.sampled_from(["", "AI_CORE", "MEM_WAIT_VALUE", "?", "SDMA"]),
        ),
        max_size=12,
    )
)
def test_hostile_times_break_nothing(rows: list[tuple[int, int, int, str, str]]) -> None:
    found = timeline([])
    wall = wall_of(of(type(found)("t", 0, tasks(rows, base_ns=0), tasks(rows, base_ns=0), found.launches)))
    if wall is not None:
        assert 0 <= wall.busy_ns <= wall.wall_ns and wall.idle_ns >= 0
        shares = ruler(wall, 7)
        assert shares.min(initial=0) >= 0 and shares.max(initial=0) <= 1
