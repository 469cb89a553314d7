"""Small tables of real profilers: what a plain csv reader finds in them, and the sums that are known."""

from __future__ import annotations

import csv
from collections import defaultdict
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npulse.core.formats.profiling.cluster_tables import (
    read_cluster_steps,
    read_cluster_times,
    read_communication_bottlenecks,
    read_free_times,
)
from npulse.core.formats.profiling.operators import read_operators
from npulse.core.formats.profiling.steps import read_iterations, read_step_times
from npulse.core.formats.profiling.table_headers import name_and_unit
from npulse.core.formats.profiling.tables import TableColumn, read_table
from npulse.core.formats.profiling.task_times import read_task_times
from npulse.core.formats.profiling.totals import read_api_totals, read_type_totals

pytestmark = pytest.mark.real

N_FILES = 72
NONE_WORDS = ("", "N/A", "NA")
LEVEL_1 = "real/pt_level1/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT"
LEVEL_2 = "real/pt_level2_cann83"
EXPORT = "synthetic/PROF_000001_20260801120000123_00012345ABCDEFGH/mindstudio_profiler_output"


@pytest.fixture(scope="module")
def samples(shared: Path) -> Path:
    return shared / "samples" / "profiling"


def ns(us: str) -> int:
    return int((Decimal(us.strip()) * 1000).quantize(Decimal(1), ROUND_HALF_UP))


def plain(path: Path) -> tuple[list[str], list[list[str]], int]:
    """Header, whole rows and the number of the others, by the standard library."""
    with path.open(newline="", encoding="utf-8") as file:
        text = file.read()
    whole = text[: text.rindex("\n") + 1]
    rows = list(csv.reader(whole.splitlines(keepends=True)))
    good = [row for row in rows[1:] if len(row) == len(rows[0])]
    return rows[0], good, len(rows) - 1 - len(good) + (whole != text)


def values_of(column: TableColumn, cells: list[str]) -> list[Any]:
    """What a column should hold, of the cells as they stand in the file."""
    if column.is_time:
        scale = {"ns": Decimal("0.001"), "us": Decimal(1)}[name_and_unit(column.header)[1]]
        return [None if cell in NONE_WORDS else ns(str(Decimal(cell) * scale)) for cell in cells]
    if column.kind == "int":
        return [None if cell in NONE_WORDS else int(cell) for cell in cells]
    if column.kind == "float":
        return [None if cell in NONE_WORDS else float(cell) for cell in cells]
    return [None if cell in NONE_WORDS else " ".join(cell.split()) for cell in cells]


def test_every_cell_of_every_sample(samples: Path) -> None:
    paths = sorted(samples.rglob("*.csv"))
    assert len(paths) == N_FILES
    for path in paths:
        table = read_table(path, root=samples)
        header, rows, n_others = plain(path)
        named = [place for place, cell in enumerate(header) if cell]
        assert table.headers == tuple(header[place] for place in named), path
        assert (table.n_rows, table.n_dropped) == (len(rows), n_others), path
        assert table.n_unread == 0 and bool(table.problems) == bool(n_others), path
        for place, column in zip(named, table.columns, strict=True):
            found = column.column().to_list(0, table.n_rows)
            if column.kind == "text":
                found = [None if text is None else " ".join(text.split()) for text in found]
            cells = [row[place].strip().strip('"').strip() for row in rows]
            if "hapes" in column.header:
                found = [None if text is None else text.strip('"') or None for text in found]
            assert found == values_of(column, cells), (path, column.header)


def test_memory_tables_know_their_unit(samples: Path) -> None:
    torch = read_table(samples / LEVEL_1 / "npu_module_mem.csv").find("Total Reserved")
    msprof = read_table(samples / EXPORT / "npu_module_mem_20260801120500.csv").find("Total Reserved")
    assert torch is not None and msprof is not None and (torch.unit, msprof.unit) == ("mb", "kb")
    sizes = msprof.in_bytes()
    assert sizes is not None and sizes.tolist() == [0, 409600 * 1024, 20971520 * 1024]
    static = read_table(samples / "real" / "old_headers" / "static_op_mem.csv")
    size, graph = static.find("Size"), static.find("Graph ID")
    assert size is not None and graph is not None and size.unit == "kb"
    assert static.n_rows == 56 and size.values[0] == 2343.78125 and set(graph.values.tolist()) == {0, 1}


def test_call_stacks_over_many_lines(samples: Path) -> None:
    table = read_table(samples / LEVEL_1 / "operator_details.csv")
    stack = table.find("Call Stack")
    assert stack is not None and table.n_rows == 60 and table.problems == ()
    assert "/home/user/imagenet_script/main.py(345): train;" in stack.text(0)


def test_sums_of_types_are_those_of_the_kernels(samples: Path) -> None:
    """op_statistic added up times that were not yet rounded to a nanosecond."""
    for rank in (0, 1):
        folder = samples / f"real/pt_level1/rank{rank}_ascend_pt/ASCEND_PROFILER_OUTPUT"
        kernels = read_operators(folder / "kernel_details.csv")
        sums: dict[tuple[str, str], list[int]] = defaultdict(list)
        durations = kernels.values("duration_ns")
        for row in range(kernels.n_rows):
            sums[kernels.text("op_type", row), kernels.text("core_type", row)].append(int(durations[row]))
        read = read_type_totals(folder / "op_statistic.csv", root=samples)
        assert read.problems == () and len(read.records) == 33
        for record in read.records:
            of_type = sums[record.op_type, record.core_type]
            assert record.count == len(of_type) and record.total_ns is not None
            assert abs(record.total_ns - sum(of_type)) <= (len(of_type) + 1) / 2
            assert (record.min_ns, record.max_ns) == (min(of_type), max(of_type))
            assert record.average_ns is not None
            assert abs(record.average_ns - sum(of_type) / len(of_type)) <= 1.5
        assert abs(sum(record.share_percent or 0 for record in read.records) - 100) < 0.05


def test_steps_of_real_profiles(samples: Path) -> None:
    (step,) = read_step_times(samples / LEVEL_1 / "step_trace_time.csv").records
    assert (step.step, step.device) == ("50", None)
    assert step.computing_ns == ns("8873.756")
    assert step.communication_not_overlapped_ns == ns("101963.203")
    assert step.overlapped_ns == ns("4028.675") and step.free_ns == ns("25744.05")
    assert step.communication_not_overlapped_ns is not None and step.free_ns is not None
    total_ns = step.computing_ns + step.communication_not_overlapped_ns + step.free_ns
    assert step.stage_ns == ns("136581") and abs(total_ns - ns("136581.009")) == 0
    for rank in range(4):
        output = samples / LEVEL_2 / f"rank_{rank}_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
        read = read_step_times(output / "step_trace_time.csv", root=samples)
        header, rows, _ = plain(output / "step_trace_time.csv")
        assert read.problems == () and [record.device for record in read.records] == [int(rows[0][0])]
        assert read.records[0].step == rows[0][1] and read.records[0].computing_ns == ns(rows[0][2])
        assert read.headers == tuple(header)


def test_tables_of_cann_83_name_their_device(samples: Path) -> None:
    output = samples / LEVEL_2 / "rank_0_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    types = read_type_totals(output / "op_statistic.csv").records
    assert len(types) == 35 and {record.device for record in types} == {0}
    assert (types[0].op_type, types[0].core_type, types[0].total_ns) == (
        "FlashAttentionScoreGrad",
        "MIX_AIC",
        63_128_660,
    )
    apis = read_api_totals(output / "api_statistic.csv")
    assert apis.problems == () and len(apis.records) == 91
    old = read_api_totals(samples / LEVEL_1 / "api_statistic.csv").records
    assert {api.level for api in old} <= {"acl", "model", "node", "communication", "runtime"}
    assert (old[0].name, old[0].level, old[0].total_ns) == ("Launch_Ffts", "communication", 474_410)


def test_an_export_of_msprof(samples: Path) -> None:
    folder = samples / EXPORT
    types = read_type_totals(folder / "op_statistic_20260801120500.csv").records
    assert [(t.op_type, t.total_ns) for t in types[:2]] == [
        ("Index", 1_311_020),
        ("FlashAttentionScore", 402_118),
    ]
    assert sum(t.total_ns or 0 for t in types) == 2_206_897
    (reduce,) = read_type_totals(folder / "communication_statistic_20260801120500.csv").records
    assert (reduce.op_type, reduce.core_type, reduce.total_ns) == ("hcom_allReduce_", "", 1_893_420)
    apis = read_api_totals(folder / "api_statistic_20260801120500.csv").records
    assert [api.level for api in apis] == ["acl", "node", "communication", "runtime"]
    first, second = read_iterations(folder / "step_trace_20260801120500.csv").records
    assert (first.duration_ns, first.data_aug_bound_ns, second.duration_ns) == (None, None, 53_000_000)
    assert first.reduces[1] == (1785556800035000125, 4_100_000) and len(second.reduces) == 1
    times = read_task_times(folder / "task_time_20260801120500.csv")
    tasks = times.tasks[0]
    assert times.problems == () and tasks.start_ns.tolist() == [1785556800000000125, 1785556800000186000]
    assert tasks.duration_ns.tolist() == [185_504, 20] and tasks.stream.tolist() == [2, 2]
    assert [tasks.kinds[code] for code in tasks.kind] == ["KERNEL_AICORE", "EVENT_RECORD"]
    assert tasks.name.tolist() == [0, -1]


def test_steps_of_clusters(samples: Path) -> None:
    derived = read_cluster_steps(samples / "derived" / "cluster_step_trace_time.csv").records
    (alone,) = read_step_times(samples / LEVEL_1 / "step_trace_time.csv").records
    assert derived[0].rank == 0 and derived[0].time.computing_ns == alone.computing_ns
    assert derived[0].time.free_ns == alone.free_ns and derived[0].time.preparing_ns == alone.preparing_ns
    for folder, stages in (("cluster_analysis_output", 2), ("cluster_analysis_output_rank_stage", 1)):
        path = samples / "real" / folder / "cluster_step_trace_time.csv"
        read = read_cluster_steps(path, root=samples)
        assert read.problems == ()
        ranks = {r.rank: r for r in read.records if r.kind == "rank"}
        of_stages = [r for r in read.records if r.kind == "stage"]
        assert len(of_stages) == stages and len(ranks) == 8 * stages
        for stage in of_stages:  # a stage has the largest times of its ranks
            peers = [ranks[rank].time for rank in stage.ranks]
            assert len(peers) == 8
            assert stage.time.computing_ns == max(peer.computing_ns or 0 for peer in peers)
            assert stage.time.free_ns == max(peer.free_ns or 0 for peer in peers)


def test_recipes(samples: Path) -> None:
    folder = samples / "derived"
    free = read_free_times(folder / "free_analysis.csv")
    assert free.problems == () and len(free.records) == 20
    for gap in free.records:
        assert gap.start_ns is not None and gap.end_ns is not None
        assert gap.end_ns - gap.start_ns == gap.duration_ns
    bottlenecks = read_communication_bottlenecks(folder / "communication_bottleneck.csv")
    assert bottlenecks.problems == ()
    assert [(b.slow_rank, b.fast_rank) for b in bottlenecks.records] == [(0, 1), *[(None, None)] * 3]
    for op in bottlenecks.records:
        assert op.start_ns is not None and op.end_ns is not None
        assert op.end_ns - op.start_ns == op.duration_ns
    (path,) = folder.glob("cluster_time_summary_*.csv")
    times = read_cluster_times(path).records
    assert [(t.rank, t.step, t.step_ns) for t in times] == [(0, "50", 143_741_870), (1, "50", 148_128_820)]
    for t in times:
        parts = (t.communication_not_overlapped_ns, t.overlapped_ns)
        assert t.communication_ns == sum(part or 0 for part in parts)


def test_every_row_of_memory_is_as_a_plain_reader_has_it(samples: Path) -> None:
    table = read_table(samples / LEVEL_1 / "memory_record.csv")
    component, reserved = table.find("Component"), table.find("Total Reserved(MB)")
    assert component is not None and reserved is not None and table.n_rows == 399
    _, rows, _ = plain(samples / LEVEL_1 / "memory_record.csv")
    peak = max(float(row[3]) for row in rows if row[0] == "APP")
    is_app = component.values == list(component.labels).index("APP")
    assert float(np.nanmax(reserved.values[is_app])) == peak
