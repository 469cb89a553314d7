"""Who keeps the device waiting: launches, latency, causes of gaps, host calls."""

from __future__ import annotations

from typing import Any

import pytest

from npulse.core.formats.profiling.records import ApiTotal
from npulse.core.formats.profiling.timeline import NONE, HostCalls, Span
from npulse.core.performance.criteria import Criteria
from npulse.core.performance.profile import Profile
from npulse.core.performance.wall.gap_causes import CAUSES, causes_of, longest_gaps, sums_of
from npulse.core.performance.wall.host import host_of
from npulse.core.performance.wall.host_calls import HostCallFacts, host_calls_of
from npulse.core.performance.wall.latency import Latency, latency_of
from npulse.core.performance.wall.launches import launches_of
from npulse.core.performance.wall.wall import Wall, wall_of

from .wall_builders import BASE_NS, Row, of, table, tasks, timeline

US = 1000


def parts(profile: Profile) -> tuple[Wall, Any]:
    wall = wall_of(profile)
    assert wall is not None and wall.work is not None
    return wall, launches_of(wall.work, profile.timeline)


def test_the_launch_itself_comes_before_other_calls_of_its_connection() -> None:
    launches: list[Row] = [
        (0, 50, 0, "AscendCL@aclnnAdd", "acl", 7),
        (10, 5, 0, "Node@launch", "node", 7),
        (20, 5, 0, "AscendCL@hcom_allReduce_", "acl", 8),
        (22, 5, 0, "Hccl@Launch_Ffts", "hccl", 8),
        (30, 5, 0, "AscendCL@aclrtMemcpyAsync", "acl", 9),
    ]
    device: list[Row] = [
        (60, 5, 1, "Add", "AI_CORE", 7),
        (70, 5, 1, "Copy", "AI_CORE", 9),
        (80, 5, 1, "None", "AI_CORE"),
    ]
    profile = of(timeline(device, [(90, 5, NONE, "hcom_allReduce_", "g", 8)], launches))
    wall, found = parts(profile)
    assert wall.work is not None
    names = [found.calls.names[found.calls.name[at]] if at != NONE else "" for at in found.at]
    assert names == ["Node@launch", "AscendCL@aclrtMemcpyAsync", "", "Hccl@Launch_Ffts"]
    assert found.is_known and not launches_of(wall.work, timeline(device)).is_known  # type: ignore[union-attr]
    assert launches_of(wall.work, None) is None


def latency(waits: list[int]) -> Latency | None:
    """Of tasks that begin so long after their launch, a millisecond apart."""
    device = [(i * 10**6, 1000, 1, "Add", "AI_CORE", i) for i in range(len(waits))]
    launches = [(i * 10**6 - wait, 500, 0, "Node@launch", "node", i) for i, wait in enumerate(waits)]
    profile = of(timeline(device, (), launches))
    wall, found = parts(profile)
    assert wall.work is not None
    return latency_of(wall.work, found)


def test_latency() -> None:
    found = latency([90_000_000, 30, -50, 10, 20, 40])  # the first one pays for loading
    assert found is not None
    assert (found.n, found.median_ns, found.p90_ns, found.max_ns, found.n_negative) == (5, 20, 40, 40, 1)
    assert (found.trend, found.queue) == ("unknown", "empty")
    growing = latency([i * 100_000 for i in range(20)])
    assert growing is not None and (growing.trend, growing.queue) == ("growing", "full")
    # of 100, 200 ... 600 us and 1400 ... 1900 us: the lower one of the two in the middle
    assert (growing.first_ns, growing.last_ns) == (300_000, 1_600_000)
    flat = latency([200_000] * 20)
    assert flat is not None and (flat.trend, flat.queue) == ("flat", "between")
    falling = latency([(20 - i) * 100_000 for i in range(20)])
    assert falling is not None and (falling.trend, falling.queue) == ("falling", "full")


def gap_profile(after: Row, before: Row, *others: Row, framework: list[Row] | None = None) -> Profile:
    """A gap of 100 us between two kernels; others: further device tasks; launches as given."""
    device: list[Row] = [
        (0, 10 * US, 1, "A", "AI_CORE", 1),
        (110 * US, 10 * US, 1, "B", "AI_CORE", 2),
        *others,
    ]
    return of(timeline(device, (), [before, after], framework=tasks(framework or [])))


def cause_of(profile: Profile) -> str:
    wall, found = parts(profile)
    causes = causes_of(wall, found)
    assert len(causes) == 1
    (listed,) = longest_gaps(wall, found, causes)
    assert listed.cause == CAUSES[causes[0]] and sums_of(wall, causes)[0].total_ns == 100 * US
    return listed.cause


LAUNCH = (-30 * US, 5 * US, 0, "Node@launch", "node", 1)


def late(start_us: int, duration_us: int) -> Row:
    return (start_us * US, duration_us * US, 0, "Node@launch", "node", 2)


def test_causes_of_gaps() -> None:
    copy: Row = (20 * US, 60 * US, 1, "MEMCPY_ASYNC", "MEMCPY_ASYNC")
    assert cause_of(gap_profile(late(5, 3), LAUNCH)) == "queued"
    assert cause_of(gap_profile(late(5, 3), LAUNCH, copy)) == "device"
    assert cause_of(gap_profile(late(100, 3), LAUNCH)) == "between launches"
    assert cause_of(gap_profile(late(100, 3), LAUNCH, copy)) == "between launches"
    assert cause_of(gap_profile(late(20, 85), LAUNCH)) == "long launch"
    assert (
        cause_of(gap_profile(late(100, 3), (-30 * US, 5 * US, 0, "Node@launch", "node", 99)))
        == "between launches"
    )
    assert cause_of(gap_profile((0, 1, 0, "Node@launch", "node", 98), LAUNCH)) == "unknown"
    capture: Row = (12 * US, 2 * US, 1, "CAPTURE_WAIT", "CAPTURE_WAIT")
    assert cause_of(gap_profile(late(100, 3), LAUNCH, capture)) == "artefact"


def test_the_framework_is_told_apart_from_cann() -> None:
    """The launch follows 10 us after the framework as before: that was late. 60 us later: CANN was."""
    quick = [(-60 * US, 20 * US, 0, "aten::a", "op", 1), (60 * US, 30 * US, 0, "aten::b", "op", 2)]
    assert cause_of(gap_profile(late(100, 3), LAUNCH, framework=quick)) == "framework"
    slow = [(-60 * US, 20 * US, 0, "aten::a", "op", 1), (0, 30 * US, 0, "aten::b", "op", 2)]
    assert cause_of(gap_profile(late(100, 3), LAUNCH, framework=slow)) == "between launches"
    wall, found = parts(gap_profile(late(100, 3), LAUNCH, framework=slow))
    (gap,) = longest_gaps(wall, found, causes_of(wall, found))
    assert (gap.framework_ns, gap.host_ns, gap.launch_ns, gap.between_ns) == (
        70 * US,
        128 * US,
        5 * US,
        125 * US,
    )


def test_time_that_remains_beside_other_tasks() -> None:
    copy: Row = (20 * US, 30 * US, 1, "MEMCPY_ASYNC", "MEMCPY_ASYNC")
    wall, found = parts(gap_profile(late(100, 3), LAUNCH, copy))
    (gap,) = longest_gaps(wall, found, causes_of(wall, found))
    assert (gap.n_others, gap.remaining_ns) == (1, 60 * US)


def regular(gap_us: int, launch_before_us: int, n: int = 30) -> Profile:
    """Kernels of 10 us with gaps; each is launched so long before it begins."""
    step = (10 + gap_us) * US
    device = [(i * step, 10 * US, 1, "Add", "AI_CORE", i) for i in range(n)]
    launches = [(i * step - launch_before_us * US, 2 * US, 0, "Node@launch", "node", i) for i in range(n)]
    calls = (HostCalls("node", "Node@launch", n, n * 2 * US, 2 * US, BASE_NS, BASE_NS + 10**9),)
    return of(timeline(device, (), launches, calls=calls))


def test_host_bound_or_not() -> None:
    late_host = regular(30, 5)
    found = host_of(late_host, wall_of(late_host))
    assert found.verdict == "yes" and found.by_host_ns == 29 * 30 * US
    assert found.launches_per_s == pytest.approx(30) and found.average_kernel_ns == 10 * US
    assert found.small_share == 0 and "100.00 %" in found.reason[0]
    early = regular(30, 500)
    assert host_of(early, wall_of(early)).verdict == "no"
    busy = regular(1, 5)
    assert host_of(busy, wall_of(busy)).verdict == "no"
    assert "less than 10 %" in host_of(busy, wall_of(busy)).reason[0]
    assert host_of(Profile("x"), None).verdict == "unknown"


def test_without_host_calls_small_idle_is_unknown() -> None:
    rows = [(i * 11_500, 10_000) for i in range(20)]
    profile = Profile("x", operators=table(rows, ("start_ns", "duration_ns", "name")[:2]))
    wall = wall_of(profile)
    assert wall is not None
    found = host_of(profile, wall)
    assert (found.verdict, found.by_host_ns) == ("unknown", None) and wall.idle_share < 0.2
    assert host_of(profile, wall, Criteria(free_high_percent=12)).verdict == "yes"


def calls(*rows: tuple[str, int, int]) -> tuple[HostCalls, ...]:
    return tuple(HostCalls("acl", name, n, total, total, 0, 10**9) for name, n, total in rows)


def test_host_calls() -> None:
    found = host_calls_of(
        of(
            timeline(
                [(0, 5, 1)],
                calls=calls(
                    ("Node@launch", 40, 400),
                    ("AscendCL@aclopCompileAndExecute", 19, 100),
                    ("AscendCL@aclopCompileAndExecute", 2, 10),
                    ("AscendCL@aclrtSynchronizeStreamWithTimeout", 25, 70),
                    ("AscendCL@aclrtSynchronizeDevice", 90, 70),
                    ("AscendCL@aclrtFree", 3, 6_000_000),
                    ("AscendCL@aclMallocMemInner", 3, 5_000_000),
                    ("AscendCL@aclnnAdd", 20, 60),
                    ("AscendCL@aclnnAddGetWorkspaceSize", 90, 60),
                    ("AscendCL@aclnnMul", 19, 60),
                ),
                pauses=(Span("gc", 0, 999_999), Span("gc", 5, 1_000_005), Span("gc", 0, 3_000_000)),
                ranges=(Span("enumerate(DataLoader)#1", 0, 12_000_000), Span("dataloader", 0, 9_999_999)),
            )
        ),
        None,
    )
    assert (found.n_launches, found.n_calls) == (40, 311)
    assert found.compiles is not None and (found.compiles.n, found.compiles.total_ns) == (21, 110)
    assert found.synchronize_share == 25 / 40
    assert found.memory is not None and (found.memory.n, found.memory.total_ns) == (6, 11_000_000)
    assert [(one.name, one.n) for one in found.repeats] == [("aclnnAdd", 20)]
    assert [span.end_ns for span in found.pauses] == [3_000_000, 1_000_005] and found.pauses_ns == 4_000_000
    assert len(found.loadings) == 1 and found.loadings_ns == 12_000_000


def test_host_calls_of_a_table_and_of_nothing() -> None:
    rows = (ApiTotal("acl", "aclopCompileAndExecute", 30, None), ApiTotal("node", "launch", None, 5))
    found = host_calls_of(Profile("x", apis=rows, sources={"apis": "api_statistic.csv"}), None)
    assert found.source == "api_statistic.csv" and found.n_launches is None
    assert found.compiles is not None and (found.compiles.n, found.compiles.total_ns) == (30, None)
    assert host_calls_of(Profile("x"), None) == HostCallFacts()


def test_a_silent_host() -> None:
    device: list[Row] = [(0, 1000, 1), (300_000_000, 1000, 1), (550_000_000, 1000, 1), (551_000_000, 1000, 1)]
    launches = [(310_000_000 + i * 1000, 10, 0, "Node@launch", "node") for i in range(30_000)]
    profile = of(timeline(device, (), launches))
    found = host_calls_of(of(timeline(device, (), launches, calls=calls(("launch", 1, 1)))), wall_of(profile))
    assert found.silent_gaps == ((BASE_NS + 1000, 299_999_000),)
    recorded = timeline(device, (), launches, calls=calls(("launch", 1, 1)), pauses=(Span("gc", 0, 5),))
    assert host_calls_of(of(recorded), wall_of(profile)).silent_gaps == ()
