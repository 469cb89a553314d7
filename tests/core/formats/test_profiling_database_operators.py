"""Operator tables out of databases, against values worked out by hand and plain SQL."""

from __future__ import annotations

import math
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import InputError
from npulse.core.formats.profiling.database.joins import Calls, Lookup
from npulse.core.formats.profiling.database.operators import read_database_operators
from npulse.core.formats.profiling.database.pmu import metric_of
from npulse.core.formats.profiling.operators import NO_NS, OperatorTable

from .database_files import (
    CANN_API,
    ID,
    NEW_INFO,
    NO,
    OLD_INFO,
    PMU,
    T0,
    TASK,
    Content,
    make_database,
    new_info,
    old_info,
    profile,
    strings,
    task,
)


def table_of(folder: Path, content: Content, **options: Any) -> OperatorTable:
    path = folder / "a.db"
    path.unlink(missing_ok=True)
    return read_database_operators(make_database(path, content), **options)


def cells(table: OperatorTable, name: str) -> list[Any]:
    return table.column(name).to_list(0, table.n_rows)


def kinds(table: OperatorTable) -> list[str]:
    return [problem.kind for problem in table.problems]


def test_rows_of_a_profile(tmp_path: Path) -> None:
    table = table_of(tmp_path, profile())
    assert kinds(table) == []
    assert (table.n_rows, table.n_dropped, table.n_unread) == (3, 0, 0)
    assert table.files == (str(tmp_path / "a.db"),)
    assert table.file.tolist() == [0, 0, 0]
    assert table.line.tolist() == [2, 1, 1]  # rows of TASK, then of COMMUNICATION_OP
    expected: dict[str, list[Any]] = {
        "step": [7, 8, 8],
        "device": [0, 0, 0],
        "model": [3, None, None],
        "task": [1, 2, None],
        "stream": [2, 2, None],
        "context": [None, 0, None],
        "name": ["mm", "add", "hcom_allReduce__1_0_1"],
        "op_type": ["MatMul", "MatMul", "hcom_allReduce_"],
        "core_type": ["AI_CORE", "AI_VECTOR_CORE", "COMMUNICATION"],
        "start_ns": [T0 + 100, T0 + 500, T0 + 950],
        "duration_ns": [300, 400, 550],
        "block_dim": [20, 40, 0],
        "mix_block_dim": [0, 0, None],
        "input_shapes": ["2,3;3,4", "2,3;3,4", None],
        "output_shapes": ["", "", None],  # a scalar, not an absent shape
        "input_dtypes": ["FLOAT", "FLOAT", None],
        "output_formats": ["ND", "ND", None],
        "aic_mac_time_us": [1.5, None, None],
        "aic_time_us": [2.5005, None, None],
        "aic_total_cycles": [99, None, None],
        "aiv_ub_read_bw_gb_per_s": [None, 3.0, None],
        "0x49": [7, None, None],
    }
    for name, values in expected.items():
        found = cells(table, name)
        assert [v if v is None or isinstance(v, str) else pytest.approx(v) for v in values] == [
            None if isinstance(v, float) and math.isnan(v) else v for v in found
        ], name
    assert "wait_ns" not in table.columns
    assert "op_state" not in table.columns


def test_threads_of_a_new_release_are_no_cores(tmp_path: Path) -> None:
    content: Content = {
        "STRING_IDS": strings(),
        "TASK": (TASK, [task(0, 5, 1)]),
        "COMPUTE_TASK_INFO": (NEW_INFO, [new_info(1, cores=24)]),
    }
    table = table_of(tmp_path, content)
    assert [cells(table, name) for name in ("block_dim", "mix_block_dim")] == [[24], [48]]
    assert [cells(table, name) for name in ("op_state", "hf32")] == [["dynamic"], ["YES"]]


def test_only_wanted_columns(tmp_path: Path) -> None:
    table = table_of(tmp_path, profile(), columns=["name", "duration_ns", "0x49"])
    assert list(table.columns) == ["name", "duration_ns", "0x49"]
    table = table_of(tmp_path, profile(), columns=["duration_ns"])
    assert list(table.columns) == ["duration_ns"]


def test_first_rows(tmp_path: Path) -> None:
    table = table_of(tmp_path, profile(), max_rows=2)
    assert (table.n_rows, kinds(table)) == (2, ["limit"])
    assert cells(table, "name") == ["mm", "add"]


def test_without_kernels(tmp_path: Path) -> None:
    content = profile()
    only = {name: content[name] for name in ("STRING_IDS", "COMMUNICATION_OP")}
    table = table_of(tmp_path, only)
    assert cells(table, "core_type") == ["COMMUNICATION"]
    assert cells(table, "device") == [None]
    with pytest.raises(InputError, match="neither kernels nor communication"):
        table_of(tmp_path, {"STRING_IDS": strings()})


def test_device_of_communication(tmp_path: Path) -> None:
    """As written where the table has it, else of the tasks with the same connection."""
    content = profile()
    content["TASK"] = (TASK, [*content["TASK"][1], task(960, 970, 8, device=1, connection=13)])
    assert cells(table_of(tmp_path, content), "device") == [0, 0, 1]
    columns, rows = content["COMMUNICATION_OP"]
    content["COMMUNICATION_OP"] = (f"{columns}, deviceId INTEGER", [(*row, 5) for row in rows])
    assert cells(table_of(tmp_path, content), "device") == [0, 0, 5]


def test_order_is_by_device_then_by_start(tmp_path: Path) -> None:
    content: Content = {
        "STRING_IDS": strings(),
        "TASK": (
            TASK,
            [task(30, 40, 1, device=1), task(20, 40, 2), task(10, 40, 3, device=1), task(40, 50, 4)],
        ),
        "COMPUTE_TASK_INFO": (OLD_INFO, [old_info(i) for i in (1, 2, 3, 4)]),
    }
    table = table_of(tmp_path, content)
    assert cells(table, "device") == [0, 0, 1, 1]
    assert [start - T0 for start in cells(table, "start_ns")] == [20, 40, 10, 30]


def test_steps_end_where_the_next_one_begins(tmp_path: Path) -> None:
    """By the start of the host call: 10 is in the first step, 20 in the second, 30 and 5 in none."""
    content: Content = {
        "STRING_IDS": strings(),
        "TASK": (TASK, [task(i, i + 1, i, connection=i) for i in range(4)]),
        "COMPUTE_TASK_INFO": (OLD_INFO, [old_info(i) for i in range(4)]),
        "CANN_API": (CANN_API, [(T0 + at, T0 + 99, 5000, 0, i, 0) for i, at in enumerate((10, 20, 30, 5))]),
        "STEP_TIME": (
            "id INTEGER, startNs INTEGER, endNs INTEGER",
            [(2, T0 + 20, T0 + 30), (1, T0 + 10, T0 + 20)],
        ),
    }
    assert cells(table_of(tmp_path, content), "step") == [1, 2, None, None]


def test_information_without_a_task(tmp_path: Path) -> None:
    content = profile()
    content["COMPUTE_TASK_INFO"] = (OLD_INFO, [*content["COMPUTE_TASK_INFO"][1], old_info(55)])
    table = table_of(tmp_path, content)
    assert (table.n_rows, table.n_dropped, kinds(table)) == (3, 1, ["bad-record"])


def test_words_that_are_not_there(tmp_path: Path) -> None:
    content = profile()
    content["STRING_IDS"] = (content["STRING_IDS"][0], [(ID["mm"], "mm")])
    table = table_of(tmp_path, content, columns=["name", "duration_ns"])
    assert cells(table, "name") == ["mm", None, None]
    assert kinds(table) == ["missing"]
    del content["STRING_IDS"]
    assert kinds(table_of(tmp_path, content, columns=["name"])) == ["missing"]


def test_words_are_found_without_a_key(tmp_path: Path) -> None:
    content = profile()
    content["STRING_IDS"] = ("value TEXT, id INTEGER, more TEXT", [(w, i, "") for w, i in ID.items()])
    assert cells(table_of(tmp_path, content), "name") == ["mm", "add", "hcom_allReduce__1_0_1"]


def test_cells_of_other_types(tmp_path: Path) -> None:
    """Text that is a number is one; the rest is absent and told with its row."""
    content = profile()
    columns = TASK.replace("INTEGER", "BLOB")  # nothing is converted
    rows = [list(row) for row in content["TASK"][1]]
    rows[1][0] = str(T0 + 100)
    rows[0][8] = "two"
    rows[0][1] = None
    content["TASK"] = (columns, rows)
    table = table_of(tmp_path, content)
    assert cells(table, "start_ns") == [T0 + 100, T0 + 500, T0 + 950]
    assert table.values("duration_ns").tolist() == [300, NO_NS, 550]
    assert cells(table, "stream") == [2, None, None]
    assert (table.n_unread, kinds(table)) == (1, ["bad-record"])
    assert table.problems[0].line == 1
    assert "TASK.streamId" in table.problems[0].message and "'two'" in table.problems[0].message


def test_impossible_times_stay(tmp_path: Path) -> None:
    content = profile()
    content["TASK"] = (TASK, [task(100, 40, 1), (2**63 - 1, 0, *task(0, 0, 2)[2:])])
    table = table_of(tmp_path, content)
    assert sorted(table.values("duration_ns").tolist()) == [-(2**63) + 1, -60, 550]


def test_extra_tables_and_columns_are_no_matter(tmp_path: Path) -> None:
    content = profile()
    columns, rows = content["TASK"]
    content["TASK"] = (f"{columns}, depth INTEGER, opConnectionId TEXT", [(*row, 1, "x") for row in rows])
    content["_TASK_old_1"] = (TASK, [task(0, 1, 1)] * 3)
    content["status_info"] = ("name TEXT, status TEXT", [("a", "b")])
    assert table_of(tmp_path, content).n_rows == 3


# ---- counters ----


@pytest.mark.parametrize(
    ("text", "name", "divisor"),
    [
        ("aic_mac_time", "aic_mac_time_us", 1000),
        ("aic_mac_time(us)", "aic_mac_time_us", 1),
        ("aic_mac_ratio", "aic_mac_ratio", 1),
        ("aic_total_time", "aic_time_us", 1000),
        ("aiv_total_cycles", "aiv_total_cycles", 1),
        ("aiv_main_mem_read_bw", "aiv_main_mem_read_bw_gb_per_s", 2**30),
        ("aiv_main_mem_read_bw(GB/s)", "aiv_main_mem_read_bw_gb_per_s", 1),
        ("aic_read_main_memory_datas(KB)", "aic_read_main_memory_datas_kb", 1),
        ("aiv_new_time", "aiv_new_time_ns", 1),
        ("Stream Id", "stream_id", 1),
        ("stream", "pmu_stream", 1),
    ],
)
def test_names_and_units(text: str, name: str, divisor: float) -> None:
    metric = metric_of(text)
    assert (metric.column.name, metric.divisor) == (name, divisor)


def repeated(timed: bool) -> Content:
    """Task 1 ran three times; the counters of two calls are known."""
    columns = f"{PMU}, timestampNs INTEGER" if timed else PMU
    rows = [
        (1, ID["aic_mac_time"], 1000, T0 + 120),
        (1, ID["aic_mac_time"], 3000, T0 + 300),
        (1, ID["aic_mac_time"], 9000, T0 + 150),
        (2, ID["aic_mac_time"], 5000, 0),
    ]
    return {
        "STRING_IDS": strings(),
        "TASK": (TASK, [task(300, 320, 1), task(0, 50, 2), task(200, 220, 1), task(100, 120, 1)]),
        "COMPUTE_TASK_INFO": (OLD_INFO, [old_info(1), old_info(2)]),
        "TASK_PMU_INFO": (columns, rows if timed else [row[:3] for row in rows]),
    }


def test_task_that_ran_several_times(tmp_path: Path) -> None:
    table = table_of(tmp_path, repeated(True))
    assert cells(table, "start_ns") == [T0, T0 + 100, T0 + 200, T0 + 300]
    assert np.nan_to_num(table.values("aic_mac_time_us"), nan=-1).tolist() == [5, 1, -1, 3]
    assert (table.n_unread, kinds(table)) == (1, ["bad-record"])
    table = table_of(tmp_path, repeated(False))
    assert np.nan_to_num(table.values("aic_mac_time_us"), nan=-1).tolist() == [5, -1, -1, -1]
    assert (table.n_unread, kinds(table)) == (3, ["bad-record"])


def test_value_that_is_told_twice(tmp_path: Path) -> None:
    content = profile()
    content["TASK_PMU_INFO"] = (PMU, [(1, ID["0x49"], 1), (1, ID["0x49"], 2)])
    table = table_of(tmp_path, content)
    assert (cells(table, "0x49")[0], kinds(table)) == (2, ["bad-record"])


def test_call_of_another_task_is_none() -> None:
    """Task 2 has not begun at 5; the row before it in their order, which runs till 100, is task 1's."""
    keys, starts, ends = (np.array(column, np.int64) for column in ([1, 2, 2], [0, 10, 30], [100, 20, 40]))
    rows, n_unsure = Calls(keys, starts, ends).rows(np.array([2, 2, 2]), np.array([5, 10, 40]))
    assert (rows.tolist(), n_unsure) == ([-1, 1, 2], 1)


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 60), st.integers(0, 9)), max_size=12),
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 70)), max_size=12),
)
def test_calls_by_time(runs: list[tuple[int, int, int]], asked: list[tuple[int, int]]) -> None:
    """Against a search through all rows; runs of one task that overlap are left out first."""
    kept: list[tuple[int, int, int]] = []
    for key, start, length in runs:
        if all(key != k or start > s + n or start + length < s for k, s, n in kept):
            kept.append((key, start, length))
    keys, starts, lengths = (np.array([run[i] for run in kept], np.int64) for i in range(3))
    calls = Calls(keys, starts, starts + lengths)
    rows, _ = calls.rows(*(np.array([pair[i] for pair in asked], np.int64) for i in range(2)))
    for (key, time), row in zip(asked, rows.tolist(), strict=True):
        same = [i for i, run in enumerate(kept) if run[0] == key]
        if len(same) > 1:
            same = [i for i in same if kept[i][1] <= time <= kept[i][1] + kept[i][2]]
        assert row == (same[0] if same else -1)


@given(st.lists(st.integers(-3, 9), max_size=20), st.lists(st.integers(-3, 12), max_size=20))
def test_lookup(keys: list[int], wanted: list[int]) -> None:
    found = Lookup(np.array(keys, np.int64)).rows(np.array(wanted, np.int64))
    assert found.tolist() == [keys.index(w) if w >= 0 and w in keys else -1 for w in wanted]


TIMES = st.one_of(st.none(), st.integers(0, 1000), st.integers(-5, 2**63 - 1))
IDS = st.one_of(st.none(), st.integers(0, 6), st.just(NO), st.just(-1))


@given(st.lists(st.tuples(TIMES, TIMES, IDS, IDS, IDS), max_size=15), st.sets(st.integers(0, 6)))
def test_against_sql(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[Any, ...]], known: set[int]
) -> None:
    """The same join as a statement."""
    path = tmp_path_factory.mktemp("sql") / "a.db"
    content: Content = {
        "TASK": (
            "startNs INTEGER, endNs INTEGER, deviceId INTEGER, globalTaskId INTEGER, streamId INTEGER",
            rows,
        ),
        "COMPUTE_TASK_INFO": (
            "globalTaskId INTEGER PRIMARY KEY, blockDim INTEGER",
            [(k, k + 1) for k in known],
        ),
    }
    make_database(path, content)
    table = read_database_operators(path)
    statement = f"""
        SELECT t.rowid, startNs, endNs - startNs, streamId, blockDim FROM TASK t
        JOIN COMPUTE_TASK_INFO c ON c.globalTaskId = t.globalTaskId
        ORDER BY CASE WHEN deviceId < 0 OR deviceId = {NO} THEN -1 ELSE coalesce(deviceId, -1) END,
                 max(coalesce(startNs, -1), -1), t.rowid"""
    connection = sqlite3.connect(path)
    expected = connection.execute(statement).fetchall()
    connection.close()
    found = zip(
        table.line.tolist(),
        table.values("start_ns").tolist(),
        table.values("duration_ns").tolist(),
        table.values("stream").tolist(),
        table.values("block_dim").tolist(),
        strict=True,
    )
    for (row, start, duration, stream, cores), got in zip(expected, found, strict=True):
        is_time = start is not None and start >= 0
        has_end = is_time and duration is not None and start + duration >= 0
        assert got == (
            row,
            start if is_time else -1,
            duration if has_end else NO_NS,
            -1 if stream in (None, NO, -1) else stream,
            cores,
        )
