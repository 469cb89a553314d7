"""What it costs to open a large table at any of its rows: CPU against counting lines, memory, one screen."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pytest

from npulse.core.formats.profiling.row_index import RowIndex, index_rows

pytestmark = [pytest.mark.budget, pytest.mark.alone]

N_ROWS = 300_000
MAX_RATIO = 1.8
"""Of CPU to counting the same lines, the best of some turns each; 1.0 to 1.5 are seen."""
MAX_BYTES_A_ROW = 32
SCREEN_ROWS, SCREEN_CPU_S = 60, 0.005
HEADER = "Device_id,Op Name,OP Type,Task Start Time(us),Task Duration(us),Input Shapes," + ",".join(
    f"aic_{i}_ratio" for i in range(40)
)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some 290 bytes a row; few rows differ, which no cost here rests on."""
    path = tmp_path_factory.mktemp("budget") / "op_summary_20260801120500.csv"
    ratios = ",".join(f"0.{i:03}" for i in range(40))
    rows = [f'0,mm{i},MatMul,{1000 + i}.250\t,{i}.125,"""4,{i};8""",{ratios}\n' for i in range(1000)]
    with path.open("w") as file:
        file.write(HEADER + "\n")
        for _ in range(N_ROWS // len(rows)):
            file.writelines(rows)
    return path


def cpu_s(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def count_lines(path: Path) -> int:
    with path.open("rb", buffering=0) as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))


def test_the_index_costs_about_what_counting_lines_does(table: Path) -> None:
    turns = [(cpu_s(lambda: index_rows(table)), cpu_s(lambda: count_lines(table))) for _ in range(3)]
    ratio = min(index for index, _ in turns) / min(count for _, count in turns)
    assert ratio <= MAX_RATIO


def test_few_bytes_a_row_are_held_and_a_screen_takes_a_moment(table: Path) -> None:
    tracemalloc.start()
    try:
        index = index_rows(table)
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert index.n_rows == N_ROWS == count_lines(table) - 1
    assert peak_bytes <= MAX_BYTES_A_ROW * N_ROWS
    costs = [cpu_s(lambda: screen(index, place)) for place in range(1, 8)]  # noqa: B023
    assert median(costs) <= SCREEN_CPU_S


def screen(index: RowIndex, place: int) -> None:
    first = index.n_rows * place // 8
    found = index.rows(first, SCREEN_ROWS)
    assert found.line.tolist() == list(range(first + 2, first + 2 + SCREEN_ROWS))
