"""Tables of msprof's releases and chips: the ids and names that a plain csv reader finds in them."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from npulse.core.formats.profiling.tasks import read_tasks


def files_of(shared: Path) -> list[Path]:
    return [
        path
        for folder in (shared / "samples" / "profiling", shared / "cases" / "C47")
        for pattern in ("op_summary_*.csv", "task_time_*.csv")
        for path in sorted(folder.rglob(pattern))
        if path.is_file() and path.stat().st_size
    ]


def plain(path: Path) -> list[tuple[int, int, str, int]]:
    """(task, stream, name, line) by the standard library, of rows as long as the header."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = list(csv.reader(file))
    header = [name.strip().lower().replace(" ", "_") for name in rows[0]]
    task, stream = header.index("task_id"), header.index("stream_id")
    name = header.index("op_name" if "op_name" in header else "kernel_name")
    found = []
    for line, row in enumerate(rows[1:], 2):
        if len(row) == len(header) and row[task].isdigit() and row[stream].isdigit():
            found.append((int(row[task]), int(row[stream]), "" if row[name] == "N/A" else row[name], line))
    return found


def test_every_sample(shared: Path) -> None:
    paths = files_of(shared)
    assert len(paths) >= 15
    for path in paths:
        table = read_tasks(path, root=shared)
        names = [table.names[code] if code >= 0 else "" for code in table.name]
        kernels = [table.kernels[code] if code >= 0 else "" for code in table.kernel]
        told = [name or kernel for name, kernel in zip(names, kernels, strict=True)]
        found = list(zip(table.task.tolist(), table.stream.tolist(), told, table.line.tolist(), strict=True))
        want = plain(path)
        if "truncated" in path.parts:
            assert [problem.kind for problem in table.problems] == ["cut-off"]
        assert found == want, path


def test_2023(shared: Path) -> None:
    path = shared / "samples" / "profiling" / "real" / "old_headers" / "op_summary_memoryl0_2023.csv"
    table = read_tasks(path, root=shared)
    assert table.n_without_ids == sum(",N/A,N/A,hcom" in line for line in path.read_text().splitlines())
    assert set(table.device.tolist()) == {-1}
    assert (int(table.task[0]), int(table.stream[0]), int(table.start_ns[0])) == (
        2451,
        16,
        1695115378713661000,
    )
    (problem,) = table.problems  # one row of the file is a cell short
    assert (problem.kind, problem.line) == ("bad-record", 17)


@pytest.mark.parametrize("name", ["kernel_details.csv", "l2_cache.csv"])
def test_tables_of_the_framework_profiler(shared: Path, name: str) -> None:
    folder = shared / "samples" / "profiling" / "real" / "pt_level1" / "rank0_ascend_pt"
    path = folder / "ASCEND_PROFILER_OUTPUT" / name
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    column = "Name" if name.startswith("kernel") else "Op Name"
    want = {row[column].strip() for row in rows if row.get("Task Id", row.get("Task ID", "1")) != "N/A"}
    assert len(want) > 20
    assert set(read_tasks(path, root=shared).names) == want
