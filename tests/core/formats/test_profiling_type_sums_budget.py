"""What sums by type cost: linear in the bytes, memory for the types alone, appended rows for themselves."""

from __future__ import annotations

import subprocess
import sys
import time
import tracemalloc

import pytest

from npulse.core.formats.profiling.type_sums import TypeSummer

pytestmark = pytest.mark.budget

HEADER = b"Op Name,OP Type,Task Duration(us),Input Shapes,End\n"
ROWS = b"".join(b'aclnn_%d,T%d,%d.125,"4096,4096",1\n' % (i % 7, i % 20, i) for i in range(10_000))


def summer_of(n_blocks: int) -> TypeSummer:
    summer = TypeSummer()
    summer.begin("op_summary.csv")
    summer.feed(HEADER)
    for _ in range(n_blocks):
        summer.feed(ROWS)
    return summer


def cpu_s(n_blocks: int) -> float:
    began_s = time.process_time()
    assert summer_of(n_blocks).sums().n_rows == n_blocks * 10_000
    return time.process_time() - began_s


def test_ten_times_the_rows_take_at_most_twelve_times_the_time() -> None:
    ratios = []
    for _ in range(5):  # both sides as long, one right behind the other: what else runs slows them alike
        few = sum(cpu_s(2) for _ in range(10)) / 10
        ratios.append(cpu_s(20) / few)
    assert min(ratios) <= 12


def test_memory_does_not_grow_with_the_rows() -> None:
    peaks = []
    for n_blocks in (2, 20):
        tracemalloc.start()
        summer_of(n_blocks)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] <= 1.1 * peaks[0]


def test_appended_rows_cost_the_same_behind_many_rows() -> None:
    few, many = summer_of(1), summer_of(30)
    costs: list[list[float]] = [[], []]
    for _ in range(20):
        for cost, summer in zip(costs, (few, many), strict=True):
            began_s = time.process_time()
            summer.feed(ROWS)
            summer.sums()
            cost.append(time.process_time() - began_s)
    assert min(costs[1]) <= 1.5 * min(costs[0])
    assert min(costs[1]) <= 0.03


def test_plain_rows_are_summed_before_numpy_is_loaded() -> None:
    code = f"""
import sys
from npulse.core.formats.profiling.type_sums import TypeSummer
summer = TypeSummer()
summer.begin("op_summary.csv")
summer.feed({HEADER!r} + {ROWS[: ROWS.index(b"aclnn_5,")]!r})
assert summer.sums().n_rows == 5 and "numpy" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
