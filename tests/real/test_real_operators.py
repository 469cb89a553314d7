"""Operator tables of real tools: what a plain csv reader finds in them, and the sums that are known."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter, defaultdict
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npulse.core.formats.profiling.columns import header_key, layout_of
from npulse.core.formats.profiling.operator_files import newest_complete
from npulse.core.formats.profiling.operators import NO_NS, OperatorTable, read_operators

NONE_WORDS = ("", "N/A", "4294967295")
PATTERNS = ("op_summary*.csv", "kernel_details*.csv", "qwen3*.csv")
N_FILES = 28


def files_of(shared: Path) -> list[Path]:
    folders = [shared / "samples" / "profiling", *(shared / "cases" / case for case in ("C45", "C47", "C53"))]
    return sorted(path for folder in folders for pattern in PATTERNS for path in folder.rglob(pattern))


def plain(path: Path) -> tuple[list[str], list[list[str]], int]:
    """Header, whole rows and the number of the others, by the standard library."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        text = file.read()
    whole = text[: text.rindex("\n") + 1]
    rows = list(csv.reader(whole.splitlines(keepends=True)))
    good = [row for row in rows[1:] if len(row) == len(rows[0])]
    return rows[0], good, len(rows) - 1 - len(good) + (whole != text)


def values_of(kind: str, cells: list[str]) -> list[Any]:
    if kind == "ns":
        return [
            None if cell in ("", "N/A") else int((Decimal(cell) * 1000).quantize(Decimal(1), ROUND_HALF_UP))
            for cell in cells
        ]
    if kind == "id":
        return [None if cell in NONE_WORDS else int(cell) for cell in cells]
    if kind == "number":
        return [None if cell in ("", "N/A") else float(cell) for cell in cells]
    return [None if cell in ("", "N/A") else cell.replace('"', "") for cell in cells]


def test_every_cell_of_every_sample(shared: Path) -> None:
    paths = files_of(shared)
    assert len(paths) == N_FILES
    for path in paths:
        table = read_operators(path, root=shared)
        header, rows, n_others = plain(path)
        layout = layout_of(header)
        assert layout is not None
        assert (table.n_rows, table.n_dropped, table.n_unread) == (len(rows), n_others, 0), path
        assert (len(table.columns), table.left_out) == (len(header), ()), path
        assert all(column.meaning[0] for column in table.columns.values()), path  # each is a declared one
        for place, column in layout.columns:
            found = table.column(column.name).to_list(0, table.n_rows)
            assert found == values_of(column.kind, [row[place].strip() for row in rows]), (path, column.name)


def test_cut_and_ragged_samples(shared: Path) -> None:
    profiling = shared / "samples" / "profiling"
    truncated = profiling / "synthetic" / "op_summary" / "truncated" / "op_summary_20260801120500.csv"
    assert [(p.kind, p.line) for p in read_operators(truncated, root=shared).problems] == [("cut-off", 11)]
    for name in ("kernel_details_memoryl0_ragged.csv", "op_summary_memoryl0_2023.csv"):
        table = read_operators(profiling / "real" / "old_headers" / name, root=shared)
        assert [(p.kind, p.line) for p in table.problems] == [("bad-record", 17)]
        assert table.n_dropped == 1


def test_slices(shared: Path) -> None:
    folder = shared / "samples" / "profiling" / "synthetic" / "op_summary" / "sliced"
    (found,) = newest_complete(folder.glob("*.csv"))
    assert [path.name for path in found.files] == [
        "op_summary_slice_0_20260801120500.csv",
        "op_summary_slice_1_20260801120501.csv",
    ]
    table = read_operators(found.files, root=shared)
    assert (
        table.values("task").tolist() == [100, 101, 102, -1, 104, 105, 106, 107, -1, 109]
        or table.n_rows == 10
    )
    assert (np.bincount(table.file).tolist(), table.problems) == ([4, 6], ())
    assert (np.diff(table.values("start_ns")) > 0).all()


@pytest.mark.parametrize("rank", [0, 1])
def test_sums_by_type_are_those_of_the_profiler(shared: Path, rank: int) -> None:
    """op_statistic is what the profiler itself added up over the same kernels."""
    folder = shared / "samples" / "profiling" / "real" / "pt_level1" / f"rank{rank}_ascend_pt"
    folder = folder / "ASCEND_PROFILER_OUTPUT"
    table = read_operators(folder / "kernel_details.csv", root=shared)
    with (folder / "op_statistic.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    sums = types_of(table)
    assert len(rows) > 20
    for row in rows:
        n, total_ns = sums[row["OP Type"], row["Core Type"]]
        assert n == int(row["Count"])
        # theirs is the sum of times that were not yet rounded to a nanosecond
        assert abs(total_ns / 1000 - float(row["Total Time(us)"])) <= 0.0005 * (n + 1)


def types_of(table: OperatorTable) -> dict[tuple[str, str], tuple[int, int]]:
    """(type, core) -> (rows, ns) of the rows that have a duration."""
    found: dict[tuple[str, str], tuple[int, int]] = defaultdict(lambda: (0, 0))
    for row, ns in enumerate(table.values("duration_ns").tolist()):
        if ns != NO_NS:
            key = (table.text("op_type", row), table.text("core_type", row))
            found[key] = (found[key][0] + 1, found[key][1] + ns)
    return found


def test_computing_of_a_step(shared: Path) -> None:
    """The union of the kernels that compute is what the profiler gives as Computing of that step."""
    folder = shared / "samples" / "profiling" / "real" / "pt_level1" / "rank0_ascend_pt"
    table = read_operators(folder / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv", root=shared)
    cores = [table.text("core_type", row) for row in range(table.n_rows)]
    is_computing = np.array([core not in ("COMMUNICATION", "HCCL") for core in cores])
    starts = table.values("start_ns")[is_computing]
    ends = starts + table.values("duration_ns")[is_computing]
    order = np.argsort(starts)
    busy_ns = 0
    reached = 0
    for start, end in zip(starts[order].tolist(), ends[order].tolist(), strict=True):
        busy_ns += max(0, end - max(start, reached))
        reached = max(reached, end)
    with (folder / "ASCEND_PROFILER_OUTPUT" / "step_trace_time.csv").open(newline="") as file:
        (step,) = csv.DictReader(file)
    assert step["Computing"].startswith("8873.756")
    # theirs was not yet rounded to a nanosecond; each kernel has two such times
    assert abs(busy_ns - 8_873_756) <= int(is_computing.sum())
    assert set(table.values("step").tolist()) == {50}


# ---- cases ----


def expected(case: Path) -> dict[str, Any]:
    """The checkable values of expect.md."""
    block = re.search(r"```json\n(.*?)```", (case / "expect.md").read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    values: dict[str, Any] = json.loads(block[1])
    return values


def test_c45_idle_decode(shared: Path) -> None:
    case = shared / "cases" / "C45"
    want = expected(case)
    table = read_operators(case / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv", root=shared)
    starts, durations = table.values("start_ns"), table.values("duration_ns")
    assert table.n_rows == want["kernels"]
    assert int(durations.sum()) == round(want["busy_us"] * 1000)
    assert int((starts + durations).max() - starts.min()) == round(
        want["span_us_first_start_to_last_end"] * 1000
    )
    assert int(table.values("wait_ns").sum()) == round(want["sum_of_wait_us"] * 1000)
    sums = Counter({op_type: ns for (op_type, _), (_, ns) in types_of(table).items()})
    assert sums.most_common(1) == [(want["top_type"], round(want["top_type_us"] * 1000))]


def test_c47_durations_that_are_not_there(shared: Path) -> None:
    case = shared / "cases" / "C47"
    want = expected(case)
    (path,) = (case / "mindstudio_profiler_output").glob("op_summary_*.csv")
    table = read_operators(path, root=shared)
    absent = np.flatnonzero(table.is_absent("duration_ns")).tolist()
    assert (table.n_rows, table.problems) == (want["data_rows"], ())
    assert [(int(table.line[row]), table.text("name", row)) for row in absent] == [
        (one["csv_line"], one["op"]) for one in want["not_usable"]
    ]
    durations = table.values("duration_ns")[~table.is_absent("duration_ns")]
    assert (len(durations), int(durations.sum())) == (want["used_rows"], round(want["total_us"] * 1000))
    sums: Counter[str] = Counter()
    for (op_type, _), (_, ns) in types_of(table).items():
        sums[op_type] += ns
    assert sums.most_common() == [(op_type, round(us * 1000)) for op_type, us, _ in want["types"]]
    ai_cpu = sum(ns for (_, core), (_, ns) in types_of(table).items() if core == "AI_CPU")
    assert ai_cpu == round(want["ai_cpu_us"] * 1000)
    assert int(table.is_absent("task").sum()) == want["communication_rows_without_task_id"]
    scalars = [row for row in range(table.n_rows) if table.text("input_shapes", row) == ";"]
    assert len(scalars) == path.read_text().count('""""";"""""') == 1
    (old,) = (case / "old_version").glob("op_summary_*.csv")
    assert "Block Dim" in old.read_text() and header_key("Block Dim") == "blockdim"
    assert read_operators(old, root=shared).values("block_dim").tolist() == [24, 24, 24]


@pytest.mark.parametrize("encoding", ["gbk", "bom", "utf16"])
def test_c53_the_bytes_of_a_spreadsheet(shared: Path, tmp_path: Path, encoding: str) -> None:
    """The case has statistics; as an operator table its bytes are read as they are, the headers changed."""
    raw = (shared / "cases" / "C53" / f"op_statistic_{encoding}.csv").read_bytes()
    codec = {"gbk": "gb18030", "bom": "utf-8-sig", "utf16": "utf-16"}[encoding]
    text = raw.decode(codec).replace("Total Time(us)", "Duration(us)")
    path = tmp_path / "op_summary_1.csv"
    path.write_bytes(text.encode(codec))
    table = read_operators(path, root=tmp_path)
    want = expected(shared / "cases" / "C53")
    assert table.texts("op_type")[1] == want["second_op_type"]
    assert table.n_rows == want["rows_each"]
    assert int(table.values("duration_ns").sum()) == want["total_us"] * 1000
    assert table.values("device").tolist() == [0, 0, 0]
    assert table.left_out == ((want["extra_column"],) if want["extra_column"] in text else ())
    assert table.problems == ()
