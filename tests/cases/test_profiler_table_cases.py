"""Situations of real reports about the profilers' small tables, as far as reading them decides."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest
from rich.cells import cell_len

from npulse.core.formats.profiling.steps import read_step_times
from npulse.core.formats.profiling.tables import read_table
from npulse.core.formats.profiling.totals import read_type_totals
from npulse.core.text import columns_of

from .values import expected

pytestmark = pytest.mark.real


def test_the_same_table_in_three_encodings(shared: Path) -> None:
    folder = shared / "cases" / "C53"
    values = expected(folder)
    assert len(values["encodings"]) == values["files"] == 3
    for name, encoding in values["encodings"].items():
        read = read_type_totals(folder / name, root=folder)
        assert read.encoding == encoding and read.problems == () and read.n_dropped == 0
        assert len(read.records) == values["rows_each"] and read.headers[0] == "Device_id"
        second = read.records[1]
        assert second.op_type == values["second_op_type"]
        assert cell_len(second.op_type) == values["display_width_of_second_op_type"]
        shown = columns_of([[second.op_type, "1"], ["x" * 15, "1"]], left=(0,))
        assert cell_len(shown[0]) == cell_len(shown[1])
        assert sum(record.share_percent or 0 for record in read.records) == values["ratio_sum"]
        assert sum(record.total_ns or 0 for record in read.records) == values["total_us"] * 1000
        text = "".join((*read.headers, *(record.op_type + str(record.others) for record in read.records)))
        assert "\ufffd" not in text and "\ufeff" not in text
    gbk = read_type_totals(folder / "op_statistic_gbk.csv", root=folder)
    assert gbk.headers[-1] == values["extra_column"]
    remarks = [record.others[values["extra_column"]] for record in gbk.records]
    assert remarks == ["", "占比偏高，需优化", ""]
    table = read_table(folder / "op_statistic_gbk.csv", root=folder)
    extra = table.find(values["extra_column"])
    assert extra is not None and [extra.text(row) for row in range(3)] == remarks


def test_steps_of_eight_ranks(shared: Path) -> None:
    folder = shared / "cases" / "C52"
    values = expected(folder)
    computing: dict[int, int] = {}
    exposed: dict[int, int] = {}
    for path in folder.glob("rank*_ascend_pt/ASCEND_PROFILER_OUTPUT/step_trace_time.csv"):
        read = read_step_times(path, root=folder)
        assert read.problems == () and [int(record.step) for record in read.records] == values["steps"]
        for record in read.records:
            assert record.device is not None and record.computing_ns is not None
            assert record.communication_not_overlapped_ns is not None
            computing[record.device] = record.computing_ns
            exposed[record.device] = record.communication_not_overlapped_ns
    assert len(computing) == values["ranks"]
    assert max(computing, key=lambda rank: computing[rank]) == values["slow_rank"]
    assert computing[values["slow_rank"]] / 1000 == values["computing_us"]
    assert round(statistics.median(computing.values()) / 1000, 1) == values["median_computing_us"]
    assert min(exposed, key=lambda rank: exposed[rank]) == values["lowest_not_overlapped_communication_rank"]
    assert max(exposed, key=lambda rank: exposed[rank]) == values["highest_not_overlapped_communication_rank"]
