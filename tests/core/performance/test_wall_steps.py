"""Overlap, serial stretches, repeated blocks, steps, clock and serving."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.formats.manifest import record_of
from npulse.core.formats.profiling.records import Iteration, ProfilerSettings, StepTime
from npulse.core.formats.profiling.timeline import NONE, Span
from npulse.core.formats.profiling.type_names import collective_type
from npulse.core.performance.criteria import Criteria
from npulse.core.performance.profile import Profile
from npulse.core.performance.wall.blocks import blocks_of
from npulse.core.performance.wall.frequency import frequency_of
from npulse.core.performance.wall.overlap import overlap_of
from npulse.core.performance.wall.serving import serving_of
from npulse.core.performance.wall.steps import steps_of
from npulse.core.performance.wall.tail import parallel_of, tail_of
from npulse.core.performance.wall.wall import Wall, wall_of

from .wall_builders import BASE_NS, Row, of, table, timeline


def walled(profile: Profile) -> Wall:
    wall = wall_of(profile)
    assert wall is not None
    return wall


# ---- overlap ----


def test_overlap_and_the_most_exposed_collective() -> None:
    device: list[Row] = [(0, 50, 1), (60, 40, 1)]
    communication: list[Row] = [
        (40, 30, NONE, "hcom_allReduce__586_0_1", "g"),
        (100, 25, NONE, "hcom_allReduce__586_1_1", "g"),
        (130, 5, NONE, "hcom_allGather__586_2_1", "g"),
    ]
    found = overlap_of(walled(of(timeline(device, communication))))
    assert found is not None
    assert (found.communication_ns, found.overlapped_ns, found.exposed_ns) == (60, 20, 40)
    assert found.overlap_share == 20 / 60 and found.exposed_share == 40 / 135
    assert [(one.name, one.exposed_ns) for one in found.collectives] == [
        ("hcom_allReduce__586_1_1", 25),
        ("hcom_allReduce__586_0_1", 10),
        ("hcom_allGather__586_2_1", 5),
    ]
    assert [(one.name, one.n, one.total_ns, one.exposed_ns) for one in found.kinds] == [
        ("hcom_allReduce_", 2, 55, 35),
        ("hcom_allGather_", 1, 5, 5),
    ]
    assert overlap_of(walled(of(timeline(device)))) is None and overlap_of(None) is None
    sums = overlap_of(wall_of(Profile("x", steps=(StepTime("1", None, 6, 3, 1, 4, 1),))))
    assert sums is not None and (sums.overlap_share, sums.exposed_share, sums.collectives) == (0.25, 0.3, ())


def test_type_of_collectives() -> None:
    assert collective_type("hcom_allReduce__586_0_1@group") == "hcom_allReduce_"
    assert collective_type("_1_2") == "_1_2" and collective_type("x") == "x"


# ---- tail ----


SPANS = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 12), st.integers(0, 2)), max_size=14)


@given(SPANS, SPANS)
def test_tail_against_counting(
    kernels: list[tuple[int, int, int]], collectives: list[tuple[int, int, int]]
) -> None:
    wall = wall_of(of(timeline(kernels, collectives)))
    tail = tail_of(wall)
    if wall is None:
        assert tail is None
        return
    assert tail is not None and wall.start_ns is not None and wall.end_ns is not None

    def points(spans: list[tuple[int, int, int]]) -> set[int]:
        return {t for start, length, _ in spans for t in range(start, start + length)}

    lanes = [points([k for k in kernels if k[2] == stream]) for stream in range(3)] + [points(collectives)]
    start, end = wall.start_ns - BASE_NS, wall.end_ns - BASE_NS
    depth = [sum(t in lane for lane in lanes) for t in range(start, end)]
    serial = "".join("p" if n >= 2 else "s" for n in depth)
    assert tail.parallel_ns == serial.count("p")
    assert tail.tails_ns == tail.tail.duration_ns == len(serial) - len(serial.rstrip("s"))
    assert tail.longest.duration_ns == max(map(len, serial.split("p")))
    behind = depth[len(serial.rstrip("s")) :]
    assert tail.tail.busy_ns == tail.tails_busy_ns == sum(n > 0 for n in behind)
    assert tail.is_single == (sum(map(bool, lanes)) < 2)


def test_tail_names_its_calls() -> None:
    device: list[Row] = [(0, 30, 1, "MatMul"), (50, 5, 1, "Adam"), (56, 2, 1, "Adam"), (60, 1, 1, "Cast")]
    wall = walled(of(timeline(device, [(10, 30, NONE, "hcom_allReduce__1", "g")])))
    tail = tail_of(wall)
    assert tail is not None and not tail.is_single
    assert (tail.tail.start_ns, tail.tail.duration_ns, tail.tail.n_calls) == (BASE_NS + 30, 31, 3)
    assert tail.tail.names == (("hcom_allReduce__1", 10), ("Adam", 7), ("Cast", 1))
    assert (tail.tails_busy_ns, tail.tails_communication_ns) == (18, 10)
    assert tail.longest == tail.tail and tail.communication_ns == 0
    later = walled(of(timeline(device, [(10, 30, NONE, "a", "g"), (61, 9, NONE, "b", "g")])))
    found = tail_of(later)
    assert found is not None and found.communication_ns == 9


def test_tails_of_steps_are_added() -> None:
    device: list[Row] = [(0, 10, 1), (5, 3, 2), (20, 10, 1), (22, 4, 2)]
    steps = (Span("0", BASE_NS, BASE_NS + 15), Span("1", BASE_NS + 18, BASE_NS + 40))
    tail = tail_of(walled(of(timeline(device, steps=steps))))
    assert tail is not None and (tail.n_steps, tail.steps_ns, tail.tails_ns) == (2, 20, 2 + 4)
    assert tail.tail.duration_ns == 4
    assert tail_of(wall_of(Profile("x", steps=(StepTime("1", None, 5, 1, 1, 2, 1),)))) is None


def test_parallel_of_lanes_that_touch() -> None:
    wall = walled(of(timeline([(0, 30, 1), (5, 5, 2), (10, 5, 3), (30, 5, 2)])))
    found = parallel_of([lane.busy for lane in wall.lanes])
    assert (found.starts_ns - BASE_NS).tolist() == [5] and (found.ends_ns - BASE_NS).tolist() == [15]


# ---- blocks ----


def test_repeated_blocks() -> None:
    rows: list[Row] = [(0, 7, 1, "Embedding")]
    for i in range(5):
        for j, name in enumerate(("MatMul", "Add", "MatMul", "Softmax")):
            rows.append((100 + 40 * i + 10 * j, 4 + j, 1, f"{name}_{4 * i + j}"))
    rows.append((400, 5, 1, "Head"))
    found = blocks_of(walled(of(timeline(rows))))
    assert found is not None
    assert (found.n, found.n_kernels, found.block_ns, found.idle_ns) == (5, 4, 40, 40 - 22)
    assert found.first == "MatMul_0" and found.idle_share == 18 / 40 and found.covered == 20 / 22


def test_what_does_not_repeat_has_no_blocks() -> None:
    assert blocks_of(walled(of(timeline([(i * 10, 3, 1, "abcdefghijkl"[i]) for i in range(12)])))) is None
    assert blocks_of(walled(of(timeline([(0, 3, 1), (10, 3, 1)])))) is None
    assert blocks_of(None) is None
    hostile = [(i * 10, 3, 1, "a" + "1" * 4000 + "x") for i in range(12)]  # digits that end nowhere
    blocks_of(walled(of(timeline(hostile))))


# ---- steps ----


def spans(*lengths: int) -> tuple[Span, ...]:
    starts = np.concatenate(([0], np.cumsum(lengths)))[:-1]
    return tuple(
        Span(f"ProfilerStep#{i}", BASE_NS + int(start), BASE_NS + int(start) + length)
        for i, (start, length) in enumerate(zip(starts, lengths, strict=True))
    )


def test_steps_of_a_timeline() -> None:
    lengths = (500, 100, 100, 104, 200)
    steps = spans(*lengths)
    device: list[Row] = [(step.start_ns - BASE_NS, 50, 1, "Add") for step in steps]
    device += [(steps[4].start_ns - BASE_NS + 60, 90, 1, "Mul")]
    profile = of(timeline(device, steps=steps))
    found = steps_of(profile, walled(profile))
    assert found is not None and found.source == "timeline"
    assert found.warm_up is not None and found.warm_up.step == "ProfilerStep#0"
    assert (found.mean_ns, found.median_ns) == (126, 102)
    assert found.jitter_ratio == pytest.approx(np.std([100, 100, 104, 200]) / 126)
    assert (found.slowest.step, found.grown, found.grown_ns) == ("ProfilerStep#4", "compute", 90)


def test_few_steps_say_nothing_of_jitter() -> None:
    profile = of(timeline([(0, 10, 1)], steps=spans(500, 100)))
    found = steps_of(profile, walled(profile))
    assert found is not None and (found.warm_up, found.jitter_ratio, found.grown) == (None, None, None)


def test_steps_of_tables() -> None:
    rows = tuple(
        StepTime(str(i), None, 50, 10, 0, 10, free, preparing_ns=9) for i, free in enumerate((5, 5, 40))
    )
    profile = Profile("x", steps=(*rows, StepTime("9", None, None)))
    found = steps_of(profile, wall_of(profile))
    assert found is not None and found.source == "step_trace_time" and len(found.steps) == 3
    assert (found.slowest.step, found.slowest.duration_ns, found.grown, found.grown_ns) == (
        "2",
        100,
        "free",
        35,
    )
    assert found.preparing_ns == 9 and found.preparing_share == 9 / (230 / 3)
    columns = ("step", "stream", "name", "start_ns", "duration_ns")
    operators = table([(1, 1, "a", 0, 5), (1, 1, "a", 10, 5), (2, 1, "a", 30, 4)], columns)
    profile = Profile("x", operators=operators)
    found = steps_of(profile, wall_of(profile))
    assert found is not None and found.source == "operators"
    assert [(step.step, step.duration_ns, step.free_ns) for step in found.steps] == [
        ("1", 15, 5),
        ("2", 4, 0),
    ]
    assert steps_of(Profile("x"), None) is None


def test_iterations() -> None:
    rows = (
        Iteration("1", 1, duration_ns=100, data_aug_bound_ns=None, refresh_ns=20),
        Iteration("2", 1, duration_ns=100, data_aug_bound_ns=30, refresh_ns=30),
        Iteration("3", 1, duration_ns=100, data_aug_bound_ns=18 * 10**18, refresh_ns=None),
    )
    found = steps_of(Profile("x", iterations=rows), None)
    assert found is not None and found.source == "iterations"
    assert (found.data_aug_share, found.refresh_share, found.jitter_ratio) == (0.3, 0.25, 0)


# ---- clock ----


def clocked(at: list[int], mhz: list[float], rated: float | None = None, *rows: Row) -> Profile:
    device: list[Row] = list(rows) or [(i * 10, 10, 1, "Add", "AI_CORE") for i in range(10)]
    found = timeline(
        device, frequency_at_ns=np.array(at, np.int64) + BASE_NS, frequency_mhz=np.array(mhz, np.float64)
    )
    return of(found, settings=ProfilerSettings(frequency_mhz=rated))


def test_a_lower_clock() -> None:
    profile = clocked([0, 50], [1800, 1500])
    found = frequency_of(profile, wall_of(profile))
    assert found is not None
    assert (found.rated_mhz, found.rated_source) == (1800, "highest")
    assert found.low_mhz == pytest.approx(1500)
    assert (found.n_kernels, found.n_low, found.low_ns, found.kernels_ns) == (10, 5, 50, 100)
    assert found.kernels == (("Add", 5, 50),) and found.low_share == 0.5
    assert found.lost_ns == int(50 * (1 - 1500 / 1800))


def test_a_clock_that_changes_within_a_kernel_counts_by_its_time() -> None:
    # 1800 for 3 of 4 ns, 1600 for the last: a mean drop of 2.8 %
    profile = clocked([0, 3], [1800, 1600], None, (0, 4, 1, "A", "AI_CORE"), (4, 0, 1, "B", "AI_CORE"))
    found = frequency_of(profile, wall_of(profile))
    assert found is not None and (found.n_low, found.n_kernels) == (0, 1)
    assert found.low_mhz == pytest.approx((3 * 1800 + 1600) / 4)
    found = frequency_of(profile, wall_of(profile), Criteria(frequency_drop_percent=2.7))
    assert found is not None and found.n_low == 1


def test_the_rated_clock_of_the_settings() -> None:
    profile = clocked([0], [1500], 1800)
    found = frequency_of(profile, wall_of(profile))
    assert found is not None and (found.rated_source, found.n_low) == ("settings", 10)
    alone = clocked([0], [1500])
    found = frequency_of(alone, wall_of(alone))
    assert found is not None and found.n_low == 0


def test_the_idle_clock_is_no_alarm() -> None:
    profile = clocked([0, 20, 40], [1800, 800, 1800])
    found = frequency_of(profile, wall_of(profile))
    assert found is not None and found.n_low == 0
    other = clocked([0, 20, 40], [1850, 800, 1850])
    found = frequency_of(other, wall_of(other))
    assert found is not None and found.n_low == 2


def test_kernels_before_the_first_sample_and_on_other_engines() -> None:
    rows: list[Row] = [(0, 10, 1, "A", "AI_CORE"), (20, 10, 1, "B", "AI_CORE"), (40, 10, 1, "C", "AI_CPU")]
    profile = clocked([90, 15, 5], [0, 1200, float("nan")], 1800, *rows)
    found = frequency_of(profile, wall_of(profile))
    assert found is not None and (found.n_kernels, found.n_low, found.n_uncovered) == (1, 1, 1)
    assert frequency_of(of(timeline(rows)), wall_of(of(timeline(rows)))) is None
    assert frequency_of(Profile("x"), None) is None


@given(
    st.lists(st.tuples(st.integers(0, 80), st.integers(1, 9)), min_size=1, max_size=6),
    st.lists(
        st.tuples(st.integers(0, 90), st.integers(1, 2000)), min_size=1, max_size=6, unique_by=lambda s: s[0]
    ),
)
def test_clock_against_counting(kernels: list[tuple[int, int]], samples: list[tuple[int, int]]) -> None:
    profile = clocked(
        [at for at, _ in samples], [float(mhz) for _, mhz in samples], 1700, *[(*k, 1) for k in kernels]
    )
    found = frequency_of(profile, wall_of(profile))
    assert found is not None
    first = min(at for at, _ in samples)
    n_low = low = 0
    for start, length in kernels:
        if start < first:
            continue
        values = [max(s for s in samples if s[0] <= t)[1] for t in range(start, start + length)]
        if sum(1700 - value for value in values) * 100 >= 5 * 1700 * length:
            n_low, low = n_low + 1, low + length
    assert (found.n_low, found.low_ns, found.n_uncovered) == (n_low, low, sum(k[0] < first for k in kernels))


# ---- serving ----


def test_the_record_of_the_round_comes_first() -> None:
    marked = of(timeline([(0, 5, 1)], ranges=(Span("prefill", 0, 5_000_000),)))
    record: dict[str, Any] = {"serving": {"first_token_ms": 120, "tokens_per_s": 25.0}, "step_ms": "9"}
    found = serving_of(marked, None, record_of(record))
    assert (found.basis, found.first_token_ms, found.tokens_per_s, found.token_ms) == ("round", 120, 25, 40)
    bad: Any
    for bad in (True, "120", -1, 0, float("nan"), float("inf"), 10**400, None, [1], {}):
        assert serving_of(marked, None, record_of({"first_token_ms": bad})).basis == "ranges"
    assert serving_of(marked, None, record_of({"serving": 5})).basis == "ranges"


def test_marked_ranges() -> None:
    marks = (
        Span("Prefill", 0, 80_000_000),
        Span("decode_1", 80_000_000, 90_000_000),
        Span("decode_2", 95_000_000, 105_000_000),
        Span("decode_3", 105_000_000, 125_000_000),
        Span("other", 0, 10**12),
    )
    found = serving_of(of(timeline([(0, 5, 1)], ranges=marks)), None)
    assert (found.basis, found.first_token_ms, found.token_ms, found.n_tokens) == ("ranges", 80, 10, 3)
    assert found.tokens_per_s == pytest.approx(3 / 0.04) and found.names == ("Prefill", "decode_1")


def test_steps_are_tokens_only_where_somebody_says_so() -> None:
    profile = of(timeline([(0, 5, 1)], steps=spans(300_000_000, 20_000_000, 30_000_000)))
    steps = steps_of(profile, wall_of(profile))
    assert serving_of(profile, steps).basis == "nothing"
    found = serving_of(profile, steps, steps_are_tokens=True)
    assert (found.basis, found.first_token_ms, found.n_tokens, found.token_ms) == ("steps", 300, 2, 25)
    assert found.tokens_per_s == pytest.approx(2 / 0.05)
    even = of(timeline([(0, 5, 1)], steps=spans(20_000_000, 20_000_000, 20_000_000)))
    found = serving_of(even, steps_of(even, wall_of(even)), steps_are_tokens=True)
    assert (found.first_token_ms, found.n_tokens) == (None, 3)
    assert found.tokens_per_s == pytest.approx(50)
    short = of(timeline([(0, 5, 1)], steps=spans(20_000_000, 20_000_000)))
    assert serving_of(short, steps_of(short, wall_of(short)), steps_are_tokens=True).basis == "nothing"
