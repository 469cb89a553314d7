"""Situations of real reports in which idle time, or an event at an impossible time, decides."""

from __future__ import annotations

from pathlib import Path

import pytest

from npulse.core.formats.profiling.operators import read_operators
from npulse.core.formats.profiling.timeline import Timeline
from npulse.core.formats.profiling.trace_timeline import read_timelines
from npulse.core.performance.profile import Profile
from npulse.core.performance.wall.advice import advice_of_wall
from npulse.core.performance.wall.blocks import blocks_of
from npulse.core.performance.wall.bottleneck import bottleneck_of
from npulse.core.performance.wall.host import host_of
from npulse.core.performance.wall.wall import Wall, wall_of

from .values import expected


def walled(profile: Profile) -> Wall:
    wall = wall_of(profile)
    assert wall is not None
    return wall


def timeline_of(folder: Path) -> Timeline:
    (timeline,) = read_timelines(folder / "ASCEND_PROFILER_OUTPUT" / "trace_view.json", root=folder)
    return timeline


@pytest.mark.real
def test_decode_is_idle_for_the_most_part(shared: Path) -> None:
    folder = shared / "cases" / "C45"
    values = expected(folder)
    table = read_operators(folder / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv", root=folder)
    profile = Profile("C45", operators=table)
    wall = walled(profile)
    assert wall.n_kernels == values["kernels"]
    assert wall.busy_ns == round(values["busy_us"] * 1000) == wall.compute_ns
    assert wall.idle_ns == round(values["free_us_between_kernels"] * 1000)
    assert wall.wall_ns == round(values["span_us_first_start_to_last_end"] * 1000)
    assert wall.wait_ns == round(values["sum_of_wait_us"] * 1000)
    blocks = blocks_of(wall)
    assert blocks is not None and (blocks.n, blocks.n_kernels) == (4, 9)
    assert blocks.block_ns == round(values["per_block_us"] * 1000)
    assert blocks.idle_ns == round(values["per_block_free_us"] * 1000)
    assert round(100 * blocks.idle_share, 2) == values["free_share_per_block_percent"]
    assert host_of(profile, wall).verdict == "yes" and values["shape"] == "host bound"
    assert bottleneck_of(profile, wall).answer == "idle"
    first = next(advice_of_wall(profile, wall))
    assert (first.rule, first.severity, first.cost_ns) == ("performance.idle", "warning", wall.idle_ns)
    assert values["top_type"] not in first.next_step[0] and "Launch faster before" in first.next_step[0]
    share = values["top_type_share_of_busy_percent"]
    said = f"{values['top_type']} has {share} % of the busy time but only 17.90 % of the wall time"
    assert said in first.message[0] and "71.03 %" in first.message[0] and "71.03 %" in first.message[1]


@pytest.mark.real
def test_nanoseconds_of_times_as_text(shared: Path) -> None:
    folder = shared / "cases" / "C48"
    values = expected(folder)
    wall = walled(Profile("C48", timeline=timeline_of(folder)))
    assert (wall.busy_ns, wall.idle_ns, wall.wall_ns) == (
        values["busy_ns"],
        values["gap_ns"],
        values["span_ns"],
    )
    assert wall.sum_of_kernels_ns == wall.busy_ns  # nothing overlaps
    assert wall.n_kernels == values["events"] and wall.n_set_aside == 0
    assert all(gap.duration_ns > 0 for gap in wall.gaps)


@pytest.mark.real
def test_an_event_at_zero_is_set_aside_and_named(shared: Path) -> None:
    folder = shared / "cases" / "C50"
    values = expected(folder)
    profile = Profile("C50", timeline=timeline_of(folder))
    wall = walled(profile)
    assert [one.name for one in wall.set_aside] == values["outliers"] and wall.n_set_aside == 1
    assert wall.wall_ns == round(values["span_us"] * 1000) and wall.busy_ns == round(values["busy_us"] * 1000)
    assert round(100 * wall.idle_share, 2) == values["idle_share_percent"]
    found = {advice.rule: advice for advice in advice_of_wall(profile, wall)}
    assert values["outliers"][0] in found["performance.impossible-times"].message[0]
