"""Timelines out of databases: tasks, operations, host calls, marks, by device."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import InputError
from npulse.core.formats.profiling.database.host import read_database_apis
from npulse.core.formats.profiling.database.timeline import read_database_timeline, read_database_timelines
from npulse.core.formats.profiling.timeline import Span, Tasks

from .database_files import CANN_API, ID, T0, TASK, make_database, profile, strings, task


def told(tasks: Tasks) -> list[tuple[Any, ...]]:
    """Rows with times from T0 and texts for codes."""
    return [
        (
            int(tasks.start_ns[i]) - T0,
            int(tasks.duration_ns[i]),
            int(tasks.stream[i]),
            tasks.names[tasks.name[i]] if tasks.name[i] >= 0 else None,
            tasks.kinds[tasks.kind[i]] if tasks.kind[i] >= 0 else None,
            int(tasks.connection[i]),
        )
        for i in range(len(tasks))
    ]


def test_everything_of_a_profile(tmp_path: Path) -> None:
    timeline = read_database_timeline(make_database(tmp_path / "a.db", profile()), root=tmp_path)
    assert (timeline.source, timeline.device, timeline.problems) == ("a.db", 0, ())
    assert told(timeline.tasks) == [
        (50, 10, 5, None, "EVENT_WAIT", -1),
        (100, 300, 2, "mm", "KERNEL_AICORE", 11),
        (450, 500, 2, None, "KERNEL_AICORE", 12),  # the parent of a fused task has no information
        (500, 400, 2, "add", "KERNEL_AIVEC", 12),
    ]
    assert told(timeline.communication) == [(950, 550, -1, "hcom_allReduce__1_0_1", "group_a", 13)]
    assert told(timeline.launches) == [
        (10, 20, 5, "launch", "node", 11),
        (200, 60, 5, "launch", "node", 12),
        (300, 10, 6, "hcom_allReduce_", "communication", 13),
    ]
    assert told(timeline.framework) == [(4, 5, 9, "add", None, 11), (4, 5, 9, "add", None, 12)]
    assert timeline.n_framework_events == 2
    calls = [
        (c.level, c.name, c.n, c.total_ns, c.max_ns, c.first_ns - T0, c.last_ns - T0) for c in timeline.calls
    ]
    assert calls == [
        ("node", "launch", 3, 85, 60, 10, 405),
        ("communication", "hcom_allReduce_", 1, 10, 10, 300, 310),
    ]
    assert timeline.steps == (Span("7", T0, T0 + 100), Span("8", T0 + 100, T0 + 305))
    assert timeline.ranges == (Span("mark", T0 + 1, T0 + 9), Span("mark", T0 + 3, T0 + 3))
    assert timeline.pauses == (Span("GC", T0 + 6, T0 + 8),)
    assert (timeline.frequency_at_ns - T0).tolist() == [0, 5]
    assert timeline.frequency_mhz.tolist() == [1800, 800]
    recorded = {lane: ((s - T0).tolist(), d.tolist()) for lane, (s, d) in timeline.recorded.items()}
    assert recorded == {
        "Computing": ([100, 500], [300, 400]),
        "Communication(Not Overlapped)": ([950], [550]),
    }
    assert not timeline.is_cut


def test_one_timeline_a_device(tmp_path: Path) -> None:
    content = profile()
    content["TASK"] = (TASK, [*content["TASK"][1], task(10, 20, 8, device=3, connection=99)])
    path = make_database(tmp_path / "a.db", content)
    unknown, first, second = read_database_timelines(path)
    assert (unknown.device, first.device, second.device) == (None, 0, 3)
    assert (len(unknown.tasks), len(unknown.communication)) == (0, 1)  # nothing says where it ran
    assert told(second.launches) == [(400, 5, 5, "launch", "node", 99)]
    assert (len(second.communication), second.recorded, len(second.frequency_mhz)) == (0, {}, 0)
    assert second.calls == first.calls
    assert read_database_timeline(path, 3).tasks.start_ns.tolist() == [T0 + 10]
    with pytest.raises(InputError, match="several devices: there are None, 0, 3"):
        read_database_timeline(path)
    with pytest.raises(InputError, match="device 1 is not in it"):
        read_database_timeline(path, 1)


def test_what_has_no_time_is_counted(tmp_path: Path) -> None:
    content = profile()
    rows = [list(row) for row in content["TASK"][1]]
    rows[0][0], rows[1][1] = None, -4
    content["TASK"] = (TASK, rows)
    content["MSTX_EVENTS"] = (content["MSTX_EVENTS"][0], [(None, 5, 0, 1), (T0, None, 0, ID["mark"])])
    content["CANN_API"] = (CANN_API, [(T0, None, 1, 2, 3, 4)])
    timeline = read_database_timeline(make_database(tmp_path / "a.db", content))
    assert len(timeline.tasks) == 2
    assert timeline.ranges == (Span("mark", T0, T0),)
    assert timeline.calls == ()
    assert sorted(problem.message.partition(":")[0] for problem in timeline.problems) == [
        "CANN_API",
        "MSTX_EVENTS",
        "TASK",
    ]


def test_session_without_an_end(tmp_path: Path) -> None:
    content = profile()
    content["SESSION_TIME_INFO"] = (content["SESSION_TIME_INFO"][0], [(T0, T0 + 1800 * 10**9)])
    assert read_database_timeline(make_database(tmp_path / "a.db", content)).is_cut


def test_levels_are_those_of_the_database(tmp_path: Path) -> None:
    content = profile()
    content["ENUM_API_TYPE"] = ("id INTEGER, name TEXT", [(10000, "node2"), (5500, "hccl")])
    timeline = read_database_timeline(make_database(tmp_path / "a.db", content))
    assert [call.level for call in timeline.calls] == ["node2", "communication"]


def test_growing_subset(tmp_path: Path) -> None:
    """What msMonitor has before its first task."""
    empty: dict[str, tuple[str, list[Any]]] = {"TASK": (TASK, []), "STRING_IDS": (strings()[0], [])}
    (timeline,) = read_database_timelines(make_database(tmp_path / "msmonitor_1_2_0.db", empty))
    assert (timeline.device, len(timeline.tasks), timeline.problems) == (None, 0, ())


CALLS = st.lists(
    st.tuples(
        st.integers(0, 2**62), st.integers(0, 1000), st.sampled_from([5000, 20000, 3]), st.integers(0, 3)
    ),
    max_size=20,
)


@given(CALLS)
def test_sums_of_calls(tmp_path_factory: pytest.TempPathFactory, calls: list[tuple[int, ...]]) -> None:
    """Against sums by hand."""
    rows = [(s, s + n, level, 0, i, name) for i, (s, n, level, name) in enumerate(calls)]
    path = tmp_path_factory.mktemp("calls") / "a.db"
    make_database(path, {"CANN_API": (CANN_API, rows), "STRING_IDS": strings()})
    levels = {5000: "runtime", 20000: "acl", 3: "3"}
    names = {i: word for word, i in ID.items()}
    groups = defaultdict(list)
    for _, spent, level, name in calls:
        groups[levels[level], names[name]].append(spent)
    found = read_database_apis(path).records
    totals = [total.total_ns for total in found]
    assert all(total is not None for total in totals)
    assert totals == sorted(map(sum, groups.values()), reverse=True)
    assert {(t.level, t.name): (t.count, t.total_ns, t.min_ns, t.max_ns) for t in found} == {
        key: (len(values), sum(values), min(values), max(values)) for key, values in groups.items()
    }
    for total in found:
        assert total.average_ns is not None and total.count and total.total_ns is not None
        assert abs(total.average_ns - total.total_ns / total.count) <= 0.5


def test_without_host_calls(tmp_path: Path) -> None:
    path = make_database(tmp_path / "a.db", {"TASK": (TASK, [])})
    with pytest.raises(InputError, match="CANN_API"):
        read_database_apis(path)
