"""The ranks of a real job side by side: workbooks of msprobe compare, and how its merge_result looks."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from npulse.core.analysis import AnalysisOptions
from npulse.core.precision.ranks.job import job_table
from npulse.core.precision.ranks.merge import by_rank, selected

calamine = pytest.importorskip("python_calamine")


def cells(path: Path, sheet: str) -> list[list[object]]:
    found: list[list[object]] = calamine.CalamineWorkbook.from_path(path).get_sheet_by_name(sheet).to_python()
    return found


def test_workbooks_of_two_ranks(shared: Path, tmp_path: Path) -> None:
    """Every cell is the workbook's, read by another library; where a figure is none, what both sides have."""
    book = shared / "samples/msprobe/distributed/compare_result_rank1_20261129162901.xlsx"
    for rank in (0, 1):
        shutil.copyfile(book, tmp_path / f"compare_result_rank{rank}_20261129162901.xlsx")
    found = job_table([tmp_path], AnalysisOptions())
    assert not found.is_ours and found.source == "2 x msprobe.compare_result"
    merged = by_rank(selected(found.table, ["Distributed.all_reduce"]), "Max diff")
    head, *body = cells(book, "Sheet1")
    at, npu, bench = (head.index(name) for name in ("Max diff", "NPU max", "Bench max"))
    wanted = {
        str(row[0]): f"NPU:{row[npu]}  Bench:{row[bench]}" if row[at] == "Nan" else str(row[at])
        for row in body
        if str(row[0]).startswith("Distributed.all_reduce.")
    }
    assert sum(text.startswith("NPU:Nan") for text in wanted.values()) == 2
    told = {row["name"]: row for row in map(merged.row, range(merged.n_rows))}
    assert told.keys() == wanted.keys() and len(told) == 4
    for name, text in wanted.items():
        for rank in ("rank0", "rank1"):
            shown = told[name][rank]
            assert shown == text or float(shown) == float(text)
        assert told[name]["worst"] is None
    # the tool's own: a sheet a figure, the same heads, names of tensors in the order of execution
    own = cells(next((shared / "samples/msprobe/misc").glob("multi_ranks_compare_merge_*.xlsx")), "Max diff")
    assert [column.name for column in merged.columns][:3] == ["name", *own[0][1:]]
