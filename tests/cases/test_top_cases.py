"""Situations of real reports about what takes the time on the device."""

from __future__ import annotations

from pathlib import Path

import pytest

from npulse.core.formats.profiling.operators import read_operators
from npulse.core.performance.criteria import Criteria
from npulse.core.performance.operators.shares import sums_by_core
from npulse.core.performance.operators.top import Top, top
from npulse.core.performance.operators.top_advice import advice_of_top, tops_of
from npulse.core.performance.operators.usable import usable
from npulse.core.performance.profile import Profile

from .values import expected

pytestmark = pytest.mark.real


def types_of(found: Top) -> list[list[object]]:
    """[type, us, percent] as cases write them."""
    return [
        [found.label(i), int(found.total_ns[i]) / 1000, round(float(found.share_percent[i]), 2)]
        for i in range(len(found))
    ]


def test_rows_without_a_duration_are_named_and_counted_nowhere(shared: Path) -> None:
    folder = shared / "cases" / "C47"
    values = expected(folder)
    (path,) = (folder / "mindstudio_profiler_output").glob("*.csv")
    table = read_operators(path, root=folder)
    used = usable(table)
    assert (table.n_rows, used.n) == (values["data_rows"], values["used_rows"])
    assert [(one.line, one.name) for one in used.set_aside(table)] == [
        (one["csv_line"], one["op"]) for one in values["not_usable"]
    ]
    assert used.n_set_aside == {"absent": 2} and used.total_ns / 1000 == values["total_us"]
    assert types_of(top(table, used)) == values["types"]
    aicpu = sums_by_core(table, used)["AI_CPU"]
    assert (
        aicpu.total_ns / 1000 == values["ai_cpu_us"] and round(aicpu.percent, 2) == values["ai_cpu_percent"]
    )
    profile = Profile("p", operators=table)
    found = {one.rule: one for one in advice_of_top(profile, used, tops_of(profile, used), Criteria())}
    absent = found["performance.no-duration"]
    assert (
        absent.figures["lines"] == [7, 13] and "MatMulV35 (line 7), RmsNorm11 (line 13)" in absent.message[0]
    )
    first = found["performance.top-operators"]
    assert "MatMulV3 310.42 us (26.98 %)" in first.message[0]
    assert first.figures["core_types_percent"]["AI_CPU"] == pytest.approx(
        100 * values["ai_cpu_us"] / values["total_us"], rel=1e-9
    )


def test_the_older_header_gives_the_same(shared: Path) -> None:
    folder = shared / "cases" / "C47"
    (path,) = (folder / "old_version").glob("*.csv")
    table = read_operators(path, root=folder)
    found = top(table, usable(table))
    assert [cells[:2] for cells in types_of(found)] == [["MatMulV3", 310.42], ["GatherV2", 153.5]]
    assert found.block_dim.tolist() == [24, 24]


def test_decode_blocks_that_wait_for_their_launch(shared: Path) -> None:
    folder = shared / "cases" / "C45"
    values = expected(folder)
    table = read_operators(folder / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv", root=folder)
    used = usable(table)
    wall_ns = round(values["span_us_first_start_to_last_end"] * 1000)
    found = top(table, used, wall_ns=wall_ns)
    assert used.n == values["kernels"] and used.total_ns / 1000 == values["busy_us"]
    assert types_of(found)[0] == [
        values["top_type"],
        values["top_type_us"],
        values["top_type_share_of_busy_percent"],
    ]
    assert found.wall_percent is not None and found.wall_percent[0] == pytest.approx(100 * 584.8 / 3267)
    profile = Profile("p", operators=table)
    # what could be gained here is less than the idle time, so that is looked at first
    costs = [one.cost_ns for one in advice_of_top(profile, used, tops_of(profile, used, wall_ns), Criteria())]
    assert max(costs) < values["free_us_between_kernels"] * 1000
