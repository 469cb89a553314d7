"""Result tables that real tools wrote: every row is there, counted again by the csv module or by hand."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from npulse.core.analysis import AnalysisOptions
from npulse.core.findings import Report
from npulse.core.formats.results.table import read_result
from npulse.core.precision.run_report import report_of
from npulse.core.text import safe_text

pytestmark = pytest.mark.real


def only(folder: Path, pattern: str) -> Path:
    (path,) = folder.glob(pattern)
    return path


def told(path: Path) -> Report:
    return report_of([path], AnalysisOptions(tables=True)).report


TABLES = [
    *("msprobe/edge_tensor/compare_result_*.csv", "msprobe/edge_statistics/compare_result_*.csv"),
    *("msprobe/edge_md5/compare_result_*.csv", "msprobe/tiny_two_steps/compare_result_*.csv"),
    *("msprobe/misc/debug_compare_result_*.csv", "msprobe/misc/accuracy_checking_details_*.csv"),
    *("msprobe/misc/accuracy_checking_result_*.csv", "msprobe/misc/api_precision_compare_details_*.csv"),
    *("msprobe/misc/api_precision_compare_result_*.csv", "msprobe/misc/free_benchmark.csv"),
    *("cann/compare/result_20250611180000.csv", "cann/compare/result_20250611180100.csv"),
    *("cann/compare/result_range_*.csv", "cann/compare/0_tiny_net_0_result_*.csv"),
    *("cann/compare/result_npu_vs_npu_*.csv", "cann/compare/result_msit_debug_*.csv"),
    *("cann/compare/legacy_left_right.csv", "cann/compare/legacy_npu_dump_no_optype.csv"),
    *("cann/compare/mapping_*.csv", "cann/compare/msit_cmp_report_*.csv"),
]


@pytest.mark.parametrize("pattern", TABLES)
def test_every_cell_of_every_table(shared: Path, pattern: str) -> None:
    path = only(shared / "samples", pattern)
    with path.open(encoding="utf-8-sig", newline="") as file:
        header, *rows = [row for row in csv.reader(file) if row]
    found = read_result(path, root=path.parent)
    assert [column.header for column in found.columns] == header
    assert (found.n_rows, found.n_dropped, found.problems) == (len(rows), 0, ())
    for place, column in enumerate(found.columns):
        for row, cells in enumerate(rows):
            cell = cells[place] if place < len(cells) else ""
            value = column.value(row)
            if isinstance(value, float):
                assert value == float(cell.strip().removesuffix("%"))
            else:
                assert value.strip() == cell.replace("\r\n", "\n").strip()
    # a row a tensor in the area's table too, with the tool's verdict as it stands there
    table = told(path).tables["theirs"]
    assert table.n_rows == len(rows)
    if "Result" in header:
        want = Counter(cells[header.index("Result")] for cells in rows)
        assert Counter(table.column("theirs").to_list(0, table.n_rows)) == want


def test_the_workbook_says_what_the_csv_of_the_other_step_does(shared: Path) -> None:
    """The same network in both steps: names, shapes and dtypes agree, and so do the tool's verdicts."""
    folder = shared / "samples" / "msprobe" / "tiny_two_steps"
    sheet, text = (read_result(only(folder, f"compare_result_*.{word}")) for word in ("xlsx", "csv"))
    assert sheet.n_rows == text.n_rows == 49
    for role in ("target", "golden", "target_dtype", "target_shape"):
        assert [sheet.text(role, row) for row in range(49)] == [text.text(role, row) for row in range(49)]


# what each case of the edge script is (docs beside the samples) -> our reading by the figures of each mode
EDGE = {
    "Torch.abs.0": ("error", "norm-ratio"),  # times 1.2
    "Torch.abs.1": ("error", "shape"),
    "Torch.abs.4": ("error", "nonfinite"),  # Inf on one side
    "Torch.abs.5": ("error", "norm-ratio"),  # 0-d, 3.0 against 2.0
    "Torch.abs.6": ("pass", "empty"),
    "Torch.exp.0": ("unknown", "one-side"),
}
STATISTICS = EDGE | {
    "Torch.abs.3": ("unknown", "positions-unknown"),
    "Torch.abs.7": ("pass", "statistics-agree"),
}
TENSOR = EDGE | {"Torch.abs.3": ("error", "nonfinite"), "Torch.abs.7": ("pass", "equal")}


@pytest.mark.parametrize(
    ("pattern", "want", "n_missed"),
    [("edge_tensor", TENSOR, 6), ("edge_statistics", STATISTICS, 5)],
)
def test_the_known_faults_that_the_verdict_misses(
    shared: Path, pattern: str, want: dict[str, Any], n_missed: int
) -> None:
    path = only(shared / "samples" / "msprobe" / pattern, "compare_result_*.csv")
    report = told(path)
    table = report.tables["theirs"]
    rows = [table.row(row) for row in range(table.n_rows)]
    for name, reading in want.items():
        here = [row for row in rows if row["target"].startswith(name + ".")]
        assert here and {(row["verdict"], row["reason"]) for row in here} == {reading}
    passed = [row for row in rows if row["theirs"] == "pass" and row["verdict"] == "error"]
    assert len(passed) == n_missed
    found = [f for f in report.findings if f.rule == "precision.theirs-missed"]
    assert sum(f.figures["n_rows"] for f in found) == n_missed
    assert report.counts["unmatched"] == 2


def test_one_rank_of_a_job_whose_other_side_holds_nan(shared: Path) -> None:
    path = only(shared / "samples" / "msprobe" / "distributed", "compare_result_rank1_*.xlsx")
    first = told(path).findings[0]
    # the call that makes the NaN stands on one side alone: the tool says error, no row is there to compare
    assert first.subject == "Torch.log.0.forward.output.0"
    assert (first.role, first.location.rank, first.figures["reason"]) == ("unknown", 1, "one-side")


def test_the_older_workbook_with_fills(shared: Path) -> None:
    for folder, column in (("edge_tensor", "Accuracy Reached or Not"), ("edge_statistics", "Result")):
        path = only(shared / "samples" / "msprobe" / folder / "compare_8.3.3", "*.xlsx")
        found = read_result(path)
        assert found.n_rows == 31 and found.first_of("verdict") is found.named(column)
    report = report_of([path.parent], AnalysisOptions()).report
    assert [f.rule for f in report.findings if f.rule == "precision.theirs-advice"] == [
        "precision.theirs-advice"
    ]


def test_msaccucmp_gives_figures_and_no_verdict(shared: Path) -> None:
    folder = shared / "samples" / "cann" / "compare"
    report = told(folder / "result_20250611180000.csv")
    assert report.summary["counted_by"] == "ours"
    assert (report.counts["rows"], report.counts["error"]) == (19, 2)
    errors = [f.subject for f in report.findings if f.severity == "error"]
    assert errors == ["layer1/ln/LayerNorm:output:0"]
    table = report.tables["theirs"]
    last = next(row for i in range(19) if (row := table.row(i))["target"] == "layer1/scale/div:output:0")
    assert (last["verdict"], last["reason"], last["CosineSimilarity"], last["cell"]) == (
        "error", "nonfinite", None, "nan",
    )  # fmt: skip
    both = told(only(folder, "result_npu_vs_npu_*.csv")).tables["theirs"]
    assert (both.row(1)["dtype_target"], both.row(1)["dtype_golden"]) == ("float16", "float16")


def test_names_are_safe_to_show(shared: Path) -> None:
    path = only(shared / "samples" / "msprobe" / "misc", "accuracy_checking_details_*.csv")
    table = told(path).tables["theirs"]
    for column in table.exported:
        shown = [value for value in column.to_list(0, table.n_rows) if isinstance(value, str)]
        assert all(safe_text(value) == value for value in shown)


def test_documents_and_texts(shared: Path) -> None:
    msprobe, cann = shared / "samples" / "msprobe", shared / "samples" / "cann" / "compare"
    report = told(only(msprobe / "distributed", "diff_analyze_*.json"))
    assert (report.verdict, report.counts["error"]) == ("fail", 2)
    assert report.findings[0].subject == "Distributed.all_reduce.1.forward.input.0"
    assert "NaN never count" in report.findings[0].message
    report = told(only(cann, "file_result_*.txt"))
    assert (report.verdict, report.summary["lowest_cosine"]) == ("pass", 0.999999)
    merged = told(only(msprobe / "misc", "multi_ranks_compare_merge_*.xlsx")).tables["theirs"]
    assert (merged.n_rows, merged.row(0)["sheet"], merged.row(11)["sheet"]) == (
        22, "Max diff", "NormRelativeErr",
    )  # fmt: skip
