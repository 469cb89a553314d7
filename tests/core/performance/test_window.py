"""The part of the wall time that a timeline shows, against counting nanosecond by nanosecond."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.performance.wall.record import Wall
from npulse.core.performance.wall.wall import wall_of
from npulse.core.performance.window import (
    LEAST_NS,
    Window,
    gap_at,
    lane_at,
    lane_tasks,
    next_gap,
    shares,
    whole_of,
)

from .wall_builders import BASE_NS, of, timeline

Rows = list[tuple[int, int, int, str, str]]


def walled(rows: Rows, communication: list[tuple[int, int, int, str, str]] | None = None) -> Wall:
    wall = wall_of(of(timeline(rows, communication or [])))
    assert wall is not None
    return wall


@st.composite
def tasks(draw: st.DrawFn) -> Rows:
    spans = draw(
        st.lists(
            st.tuples(st.integers(0, 900), st.integers(1, 120), st.integers(0, 2)), min_size=1, max_size=20
        )
    )
    return [(start, length, stream, f"op{i}", "AI_CORE") for i, (start, length, stream) in enumerate(spans)]


@given(tasks(), st.integers(-10, 1100))
def test_the_task_at_a_moment(rows: Rows, at: int) -> None:
    wall = walled(rows)
    for lane in wall.lanes:
        mine = [row for row in rows if row[2] == lane.stream]
        running = [row for row in mine if row[0] <= at < row[0] + row[1]]
        later = [row[0] for row in mine if row[0] > at]
        earlier = [row[0] for row in mine if row[0] < at]
        found = lane_tasks(wall, lane)
        here, behind, before = found.at(at + BASE_NS), found.after(at + BASE_NS), found.before(at + BASE_NS)
        assert len(found) == len(mine) == lane.n_tasks
        if running:
            assert here is not None and here.is_running and here.name in {row[3] for row in running}
        elif later:
            assert here is not None and not here.is_running and here.start_ns == min(later) + BASE_NS
        else:
            assert here is None
        assert (behind is None) == (not later)
        assert behind is None or behind.start_ns == min(later) + BASE_NS
        assert (before is None) == (not earlier)
        assert before is None or before.start_ns == max(earlier) + BASE_NS
        nearest = found.nearest(at + BASE_NS)
        assert nearest is not None
        assert abs(nearest.start_ns - BASE_NS - at) == min(abs(row[0] - at) for row in mine)


def test_a_long_task_is_still_there_behind_a_short_one() -> None:
    wall = walled([(0, 100, 0, "long", "AI_CORE"), (10, 5, 0, "short", "AI_CORE")])
    found = lane_tasks(wall, wall.lanes[0])
    names = {at: task.name for at in (5, 12, 50) if (task := found.at(BASE_NS + at)) is not None}
    assert names == {5: "long", 12: "short", 50: "long"}


@given(tasks(), st.integers(-10, 1100))
def test_gaps_around_a_moment(rows: Rows, at: int) -> None:
    wall = walled(rows)
    busy = {ns for start, length, *_ in rows for ns in range(start, start + length)}
    first, last = min(row[0] for row in rows), max(row[0] + row[1] for row in rows)
    gap = gap_at(wall, at + BASE_NS)
    assert (gap is not None) == (first <= at < last and at not in busy)
    if gap is not None:
        assert all(ns - BASE_NS not in busy for ns in range(gap.start_ns, gap.end_ns))
        assert gap.start_ns - 1 - BASE_NS in busy and gap.end_ns - BASE_NS in busy
        ends = {row[3] for row in rows if row[0] + row[1] + BASE_NS == gap.start_ns}
        starts = {row[3] for row in rows if row[0] + BASE_NS == gap.end_ns}
        assert gap.before in ends and gap.after in starts
    begins = [ns for ns in range(first + 1, last) if ns not in busy and ns - 1 in busy]
    following = next_gap(wall, at + BASE_NS)
    expected = next((ns for ns in begins if ns > at), None)
    assert (None if following is None else following.start_ns - BASE_NS) == expected


@given(tasks(), st.integers(1, 40), st.floats(0.01, 3), st.integers(0, 900), st.floats(-2, 2))
def test_a_window_never_leaves_the_wall_time(
    rows: Rows, n_cells: int, factor: float, at: int, share: float
) -> None:
    wall = walled(rows)
    whole = whole_of(wall)
    for window in (
        whole.zoomed(factor, BASE_NS + at, wall),
        whole.zoomed(0.3, BASE_NS + at, wall).panned(share, wall),
        whole.shown(whole.start_ns, max(at, 1), 0.2, wall),
    ):
        assert whole.start_ns <= window.start_ns < window.end_ns <= whole.end_ns
        assert window.span_ns >= min(LEAST_NS, whole.span_ns)
        edges = window.edges(n_cells)
        assert (edges[0], edges[-1]) == (window.start_ns, window.end_ns)
        moment = window.clipped(BASE_NS + at)
        cell = window.cell_of(moment, n_cells)
        assert edges[cell] <= moment < edges[cell + 1] or edges[cell] == edges[cell + 1]


def test_zoom_keeps_the_moment_under_the_cursor() -> None:
    wall = walled([(0, 1000, 0, "a", "AI_CORE"), (9000, 1000, 0, "b", "AI_CORE")])
    whole = whole_of(wall)
    zoomed = whole.zoomed(0.5, BASE_NS + 4000, wall)
    assert (zoomed.start_ns - BASE_NS, zoomed.span_ns) == (2000, 5000)
    assert zoomed.cell_of(BASE_NS + 4000, 10) == whole.cell_of(BASE_NS + 4000, 10) == 4


def test_cells_count_the_busy_time_of_their_lane() -> None:
    wall = walled(
        [(0, 50, 0, "a", "AI_CORE"), (150, 50, 0, "b", "AI_CORE"), (100, 100, 1, "c", "AI_CORE")],
        [(50, 100, -1, "hcom_allReduce__1", "")],
    )
    found = {lane.stream if lane.role == "compute" else lane.role: row for row, lane in enumerate(wall.lanes)}
    values = shares(wall, Window(BASE_NS, BASE_NS + 200), 4)
    assert values[found[0]].tolist() == [1, 0, 0, 1]
    assert values[found[1]].tolist() == [0, 0, 1, 1]
    assert values[found["communication"]].tolist() == [0, 1, 1, 0]


def test_the_lane_of_a_start_that_another_file_rounded() -> None:
    wall = walled([(0, 10, 4, "a", "AI_CORE"), (100, 10, 5, "b", "AI_CORE"), (100, 900, 6, "c", "AI_CORE")])
    streams = [
        wall.lanes[row].stream for at in (1, 99, 101) if (row := lane_at(wall, BASE_NS + at)) is not None
    ]
    assert streams == [4, 6, 6]


def test_nothing_placed_in_time() -> None:
    with pytest.raises(ValueError, match="placed"):
        whole_of(Wall("steps", "step_trace_time.csv", None, None, 5, 5, 5, 0, 0, 0))


def test_a_million_tasks_are_asked_quickly() -> None:
    n = 1_000_000
    wall = walled([(0, 1, 0, "a", "AI_CORE"), (5, 1, 0, "b", "AI_CORE")])
    assert wall.work is not None
    from dataclasses import replace

    starts = np.arange(n, dtype=np.int64) * 10 + BASE_NS
    some = np.zeros(n, np.int64)
    work = replace(
        wall.work,
        start_ns=starts,
        duration_ns=some + 5,
        role=some.astype(np.uint8),
        stream=some,
        name=some.astype(np.int32),
        kind=some.astype(np.int32),
        connection=some,
        step=some,
        row=some,
    )
    large = replace(wall, work=work)
    found = lane_tasks(large, large.lanes[0])
    before = time.process_time()
    for place in range(0, n, n // 200):
        task = found.at(BASE_NS + place * 10 + 7)
        assert task is None or task.start_ns == BASE_NS + place * 10 + 10
        assert found.after(BASE_NS + place * 10) is not None or place + 1 >= n
    assert time.process_time() - before < 0.2, "a key press is a bisection, not a pass"
