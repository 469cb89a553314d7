"""A database of a real training step: plain SQL, and the sums and gaps that the vendor's tool found."""

from __future__ import annotations

import csv
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npulse.core.analysis import AnalysisOptions
from npulse.core.formats.profiling.database.communication import (
    read_database_communication,
    read_database_links,
)
from npulse.core.formats.profiling.database.host import read_database_apis
from npulse.core.formats.profiling.database.memory import read_database_memory
from npulse.core.formats.profiling.database.operators import read_database_operators
from npulse.core.formats.profiling.database.parts import parts_of
from npulse.core.formats.profiling.database.settings import read_database_settings
from npulse.core.formats.profiling.database.steps import read_database_steps
from npulse.core.formats.profiling.database.timeline import read_database_timeline
from npulse.core.formats.profiling.timeline import Tasks
from npulse.core.performance.run_report import report_of

NONE = 4_294_967_295
Spans = list[tuple[int, int]]


@pytest.fixture
def folder(shared: Path) -> Path:
    return shared / "samples/profiling/real/pt_db_level2/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT"


@pytest.fixture
def main(folder: Path) -> Path:
    return folder / "ascend_pytorch_profiler_0.db"


@pytest.fixture(autouse=True)
def untouched(folder: Path) -> Iterator[None]:
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    yield
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == before


def asked(path: Path, statement: str) -> list[Any]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as connection:
        return connection.execute(statement).fetchall()


def ns(text: str) -> int:
    return int(Decimal(text) * 1000)


def merged(tasks: Tasks, rows: Any = slice(None)) -> Spans:
    """Busy times, one after another."""
    starts, lengths = tasks.start_ns[rows], tasks.duration_ns[rows]
    return union(list(zip(starts.tolist(), (starts + lengths).tolist(), strict=True)))


def union(parts: Spans) -> Spans:
    """Spans that do not touch, with the same times in them."""
    spans: Spans = []
    for start, end in sorted(parts):
        if spans and start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(spans[-1][1], end))
        else:
            spans.append((start, end))
    return spans


def total(spans: Spans) -> int:
    return sum(end - start for start, end in spans)


def common(first: Spans, second: Spans) -> int:
    return sum(max(0, min(b, d) - max(a, c)) for a, b in first for c, d in second)


def summary(shared: Path) -> dict[str, str]:
    (path,) = (shared / "samples/profiling/derived").glob("cluster_time_summary_*.csv")
    with path.open(newline="") as file:
        return next(row for row in csv.DictReader(file) if row["Rank"] == "0")


def test_parts(folder: Path, main: Path) -> None:
    assert parts_of(main) == {"operators", "timeline", "apis", "memory"}
    assert parts_of(folder / "analysis.db") == {"steps", "communications", "links"}


# ---- operators ----


def test_every_kernel(main: Path) -> None:
    table = read_database_operators(main, root=main.parent)
    assert (table.files, table.problems) == ((main.name,), ())
    assert (table.n_dropped, table.n_unread) == (0, 0)
    names = {
        "name": "name",
        "op_type": "opType",
        "input_formats": "inputFormats",
        "input_dtypes": "inputDataTypes",
        "input_shapes": "inputShapes",
        "output_formats": "outputFormats",
        "output_dtypes": "outputDataTypes",
        "output_shapes": "outputShapes",
    }
    words = ", ".join(f"(SELECT value FROM STRING_IDS WHERE id = c.{name})" for name in names.values())
    rows = asked(
        main,
        f"""SELECT t.rowid, startNs, endNs - startNs, streamId, taskId, contextId, blockDim, mixBlockDim,
            (SELECT value FROM STRING_IDS WHERE id = c.taskType), {words}
            FROM TASK t JOIN COMPUTE_TASK_INFO c USING (globalTaskId)
            UNION ALL SELECT rowid, startNs, endNs - startNs, {NONE}, {NONE}, {NONE}, 0, {NONE},
            'COMMUNICATION', (SELECT value FROM STRING_IDS WHERE id = opName),
            (SELECT value FROM STRING_IDS WHERE id = opType),
            'N/A', 'N/A', 'N/A', 'N/A', 'N/A', 'N/A' FROM COMMUNICATION_OP ORDER BY 2""",
    )
    assert table.n_rows == len(rows) == 187 + 4
    numbers = ("start_ns", "duration_ns", "stream", "task", "context", "block_dim", "mix_block_dim")
    for i, (row, *cells) in enumerate(rows):
        assert table.line[i] == row
        expected = [-1 if cell == NONE else cell for cell in cells[:7]]
        assert [int(table.values(name)[i]) for name in numbers] == expected
        found = [table.text(name, i) for name in ("core_type", *names)]
        assert found == ["" if cell == "N/A" else cell.replace('"', "") for cell in cells[7:]]
    assert set(table.values("step").tolist()) == {50}
    assert set(table.values("device").tolist()) == {0}


def test_every_counter(main: Path) -> None:
    table = read_database_operators(main)
    row_of = {
        int(line): i for i, line in enumerate(table.line) if table.text("core_type", i) != "COMMUNICATION"
    }
    rows = asked(
        main,
        """SELECT t.rowid, s.value, p.value FROM TASK_PMU_INFO p JOIN TASK t USING (globalTaskId)
           JOIN STRING_IDS s ON s.id = p.name""",
    )
    assert len(rows) == 5180
    n_given = 0
    for number, name, value in rows:
        ours = name.replace("_total_time", "_time")
        if ours.endswith("_time"):
            ours, value = f"{ours}_us", value / 1000
        assert table.values(ours)[row_of[number]] == pytest.approx(value, rel=1e-12)
        n_given += 1
    counted = [name for name, column in table.columns.items() if column.kind == "number"]
    assert sum(int((~np.isnan(table.values(name))).sum()) for name in counted) == n_given


def test_theoretical_time_is_below_the_real_one(main: Path) -> None:
    """Wrong units would be off by a factor of a thousand."""
    table = read_database_operators(main)
    most_us = np.fmax(table.values("aic_time_us"), table.values("aiv_time_us"))
    known = ~np.isnan(most_us) & (most_us > 0)
    ratio = most_us[known] * 1000 / table.values("duration_ns")[known]
    assert known.sum() > 180
    assert 0.2 < ratio.min() and ratio.max() < 1.6


# ---- timeline ----


def test_every_task(main: Path) -> None:
    timeline = read_database_timeline(main)
    assert (timeline.device, timeline.problems, timeline.is_cut) == (0, (), False)
    rows = asked(
        main,
        """SELECT startNs, endNs - startNs, streamId, connectionId,
           (SELECT value FROM STRING_IDS WHERE id = t.taskType),
           (SELECT value FROM STRING_IDS WHERE id =
               (SELECT name FROM COMPUTE_TASK_INFO c WHERE c.globalTaskId = t.globalTaskId))
           FROM TASK t ORDER BY startNs, rowid""",
    )
    tasks = timeline.tasks
    assert len(tasks) == len(rows) == 552
    for i, (start, length, stream, connection, kind, name) in enumerate(rows):
        assert (int(tasks.start_ns[i]), int(tasks.duration_ns[i])) == (start, length)
        assert (int(tasks.stream[i]), int(tasks.connection[i])) == (stream, connection)
        assert tasks.kinds[tasks.kind[i]] == kind
        assert (tasks.names[tasks.name[i]] if tasks.name[i] >= 0 else None) == name


def test_host_side(main: Path) -> None:
    timeline = read_database_timeline(main)
    started = asked(
        main,
        """SELECT startNs, endNs - startNs, connectionId FROM CANN_API WHERE connectionId IN
           (SELECT connectionId FROM TASK UNION SELECT connectionId FROM COMMUNICATION_OP)
           ORDER BY startNs, rowid""",
    )
    launches = timeline.launches
    columns = (launches.start_ns, launches.duration_ns, launches.connection)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == started
    operators = asked(
        main,
        """SELECT CAST(startNs AS INTEGER), c.connectionId FROM PYTORCH_API p
           JOIN CONNECTION_IDS c ON c.id = p.connectionId WHERE p.type = 50001 AND c.connectionId IN
           (SELECT connectionId FROM TASK UNION SELECT connectionId FROM COMMUNICATION_OP)""",
    )
    found = zip(timeline.framework.start_ns.tolist(), timeline.framework.connection.tolist(), strict=True)
    assert sorted(found) == sorted(operators)
    assert timeline.n_framework_events == 2460
    sums = asked(
        main,
        """SELECT replace(e.name, 'hccl', 'communication'), s.value, count(*), sum(endNs - startNs),
           min(endNs - startNs), max(endNs - startNs) FROM CANN_API a JOIN ENUM_API_TYPE e ON e.id = a.type
           JOIN STRING_IDS s ON s.id = a.name GROUP BY a.type, a.name""",
    )
    apis = read_database_apis(main).records
    assert sorted((a.level, a.name, a.count, a.total_ns, a.min_ns, a.max_ns) for a in apis) == sorted(sums)
    calls = {(call.level, call.name): (call.n, call.total_ns, call.max_ns) for call in timeline.calls}
    assert calls == {(level, name): (n, spent, most) for level, name, n, spent, _, most in sums}


def test_sums_of_the_cluster_tool(shared: Path, main: Path) -> None:
    """Kernels are the tasks with a name; a parent of fused tasks counted too would add milliseconds."""
    timeline = read_database_timeline(main)
    computing = merged(timeline.tasks, timeline.tasks.name >= 0)
    communication = merged(timeline.communication)
    both = common(computing, communication)
    row = summary(shared)
    (step,) = timeline.steps
    assert step.name == row["Step"] == "50"
    assert step.end_ns - step.start_ns == ns(row["Step Time(us)"])
    assert total(computing) == ns(row["Computation(us)"]) == 8_900_456
    assert total(communication) == ns(row["Communication(us)"]) == 94_107_521
    assert both == ns(row["Communication Overlap Computation(us)"]) == 4_026_822
    assert total(communication) - both == ns(row["Communication Not Overlap Computation(us)"]) == 90_080_699
    tasks = timeline.tasks
    is_copy = np.array([kind == "MEMCPY_ASYNC" for kind in tasks.kinds])[tasks.kind]
    copies = merged(tasks, is_copy)
    assert total(copies) == ns(row["Memory(us)"])
    busy = union([*computing, *communication])
    gaps = [(end, start) for (_, end), (start, _) in pairwise(busy)]
    assert total(gaps) == 25_238_587  # what the profiler itself calls free
    alone = total(copies) - common(copies, busy)
    assert alone == ns(row["Memory Not Overlap Computation Communication(us)"])
    assert total(gaps) - alone == ns(row["Free(us)"]) == 24_349_248  # the tool takes all copies out


def test_free_gaps_of_the_cluster_tool(shared: Path, main: Path) -> None:
    timeline = read_database_timeline(main)
    spans = [*merged(timeline.tasks, timeline.tasks.name >= 0), *merged(timeline.communication)]
    gaps = [(end, start) for (_, end), (start, _) in pairwise(union(spans))]
    gaps.sort(key=lambda gap: gap[0] - gap[1])
    with (shared / "samples/profiling/derived/free_analysis.csv").open(newline="") as file:
        expected = [row for row in csv.DictReader(file) if row["Rank ID"] == "0"]
    assert len(expected) == 10
    for row, (start, end) in zip(expected, gaps, strict=False):
        found = [ns(row[name]) for name in ("Start Time(us)", "End Time(us)")]
        # the tool's floats keep three decimals, and lose some of the last ones
        assert [start, end] == pytest.approx(found, abs=1)
        assert end - start == pytest.approx(ns(row["Duration(us)"]), abs=1)


# ---- records ----


def test_step(folder: Path, shared: Path) -> None:
    (step,) = read_database_steps(folder / "analysis.db").records
    row = summary(shared)
    assert step.step == "50"
    assert step.computing_ns == ns(row["Computation(us)"])
    assert step.communication_not_overlapped_ns == ns(row["Communication Not Overlap Computation(us)"])
    assert step.overlapped_ns == ns(row["Communication Overlap Computation(us)"])
    assert step.communication_ns == ns(row["Communication(us)"])
    assert (step.free_ns, step.bubble_ns, step.preparing_ns) == (25_238_587, 0, 17_894_588)


def test_communication(folder: Path) -> None:
    path = folder / "analysis.db"
    found = read_database_communication(path)
    assert (found.problems, found.n_dropped) == ((), 0)
    rows = asked(
        path, "SELECT hccl_op_name, elapse_time, transit_time, wait_time, idle_time FROM CommAnalyzerTime"
    )
    assert [(r.name, r.elapse_ms, r.transit_ms, r.wait_ms, r.idle_ms) for r in found.records] == rows
    for record in found.records:
        assert record.step == "50" and record.is_p2p is False
        assert record.elapse_ms is not None and record.transit_ms is not None and record.wait_ms is not None
        assert record.idle_ms == pytest.approx(record.elapse_ms - record.transit_ms - record.wait_ms)
        for link in record.links:
            moved = sum(mb * count for mb, count, _ in link.packets)
            assert not link.packets or moved == pytest.approx(link.size_mb)
    n_packets = sum(len(link.packets) for record in found.records for link in record.links)
    assert n_packets == asked(path, "SELECT count(*) FROM CommAnalyzerBandwidth WHERE count > 0")[0][0]
    links = read_database_links(path)
    sizes = asked(
        path, "SELECT CAST(src_rank AS INTEGER), transport_type, transit_size FROM CommAnalyzerMatrix"
    )
    assert [(link.source, link.transport, link.size_mb) for link in links.records] == sizes
    assert links.problems == ()


def test_memory(main: Path) -> None:
    table = read_database_memory(main, "OP_MEMORY")
    size, released = table.find("Size"), table.find("Release Time")
    assert size is not None and released is not None
    rows = asked(main, "SELECT size, releaseTime FROM OP_MEMORY")
    assert [(size.integer(i), released.integer(i)) for i in range(table.n_rows)] == rows
    record = read_database_memory(main, "MEMORY_RECORD")
    reserved, component = record.find("Total Reserved"), record.find("Component")
    assert reserved is not None and component is not None
    assert int(reserved.values.max()) == asked(main, "SELECT max(totalReserved) FROM MEMORY_RECORD")[0][0]
    assert set(component.labels) == {"GE", "PTA", "PTA+GE"}


def test_settings(main: Path) -> None:
    (settings,) = read_database_settings(main).records
    assert (settings.chip, settings.rank, settings.devices) == ("Ascend910B", 0, (0,))
    assert (settings.framework, settings.versions, settings.is_finalised) == (
        "pytorch",
        {"schema": "1.0.0"},
        True,
    )


def without(main: Path, folder: Path, *tables: str) -> None:
    """A copy without some tables."""
    path = folder / "rank0_ascend_pt" / "ASCEND_PROFILER_OUTPUT" / main.name
    path.parent.mkdir(parents=True)
    path.write_bytes(main.read_bytes())
    with closing(sqlite3.connect(path)) as connection:
        for table in tables:
            connection.execute(f"DROP TABLE {table}")
        connection.commit()


def test_at_level_0_collectives_are_no_computing(main: Path, tmp_path: Path) -> None:
    """Without COMPUTE_TASK_INFO only the host call tells a kernel from the task that carries a collective."""
    without(main, tmp_path, "COMPUTE_TASK_INFO", "COMMUNICATION_TASK_INFO", "TASK_PMU_INFO")
    full = report_of([main], AnalysisOptions()).report.summary
    report = report_of([tmp_path], AnalysisOptions()).report
    kernels = asked(
        main,
        "SELECT t.startNs, t.endNs FROM TASK t JOIN STRING_IDS s ON s.id = t.taskType WHERE (s.value IN"
        " ('AI_CORE', 'MIX_AIV') OR s.value LIKE 'KERNEL_%') AND t.connectionId NOT IN"
        " (SELECT connectionId FROM COMMUNICATION_OP)",
    )
    assert len(kernels) == 198
    assert report.summary["computing_us"] == total(union(kernels)) / 1000
    assert report.summary["first"] == full["first"] == "communication"
    assert report.summary["communication_us"] == full["communication_us"]
    assert report.summary["computing_us"] == pytest.approx(full["computing_us"], rel=0.01)
    names = {row["type"]: row for row in report.summary["types"]}
    assert names["hcom_allReduce_"]["calls"] == 4 and report.counts["rows"] == len(kernels) + 4
    named = asked(
        main,
        "SELECT count(DISTINCT t.globalTaskId) FROM TASK t JOIN CONNECTION_IDS c ON c.connectionId ="
        " t.connectionId JOIN PYTORCH_API p ON p.connectionId = c.id JOIN STRING_IDS s ON s.id = p.name"
        " JOIN STRING_IDS k ON k.id = t.taskType WHERE s.value = 'aclnnForeachAddListV2'"
        " AND k.value LIKE 'KERNEL_%'",
    )
    assert names["aclnnForeachAddListV2"]["calls"] == named[0][0] == 3


def test_collectives_without_times_are_told(main: Path, tmp_path: Path) -> None:
    without(main, tmp_path, "COMMUNICATION_OP")
    report = report_of([tmp_path], AnalysisOptions()).report
    assert report.verdict == "incomplete"
    assert any("COMMUNICATION_OP is missing" in problem.message for problem in report.problems)
