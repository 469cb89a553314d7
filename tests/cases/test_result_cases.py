"""A result table from the field: what the tool said of it, and what must not be read into its words."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from npulse.core.analysis import AnalysisOptions
from npulse.core.precision.run_report import report_of
from npulse.core.table import sort_order

from .values import expected


def test_c15_a_table_full_of_words_where_numbers_should_be(shared: Path) -> None:
    case = shared / "cases" / "C15"
    want = expected(case)
    (path,) = case.glob("*.csv")
    report = report_of([path], AnalysisOptions(tables=True)).report
    counts, table = report.counts, report.tables["theirs"]
    found = {
        "rows": counts["rows"],
        "pass": counts["pass"],
        "warning": counts["warning"],
        "error": counts["error"],
        "not_matched": counts["unmatched"],
        "numeric_cosine_rows": int((~np.isnan(table.column("Cosine").values)).sum()),
        "lowest_numeric_cosine": [report.summary["lowest_cosine_row"], report.summary["lowest_cosine"]],
        "first_error_row": report.findings[0].subject,
        "first_error_csv_line": report.findings[0].location.line,
        "both_sides_nan_rows": counts["both_nan"],
        "shape_unmatched_rows": counts["shape_unmatched"],
    }
    assert found == want
    assert report.verdict == "fail" and not report.problems
    # sorted, the numbers come first in either direction and words keep their place behind them
    for descending in (False, True):
        order = sort_order(table, "Cosine", descending=descending)
        cosine = [table.column("Cosine").value(int(row)) for row in order]
        numbers = [value for value in cosine if value is not None]
        assert cosine[: len(numbers)] == sorted(numbers, reverse=descending)
    rows = [table.row(row) for row in range(table.n_rows)]
    states = [row["cell"] for row in rows]
    assert states.count("shape unmatched") == 1 and states.count("N/A") == 2 and states.count("Nan") == 2
    alone = [row for row in rows if row["target"].startswith("NPU.npu_rotary_mul")]
    assert {(row["theirs"], row["verdict"], row["message"]) for row in alone} == {
        ("N/A", "unknown", "No bench data matched.")
    }
    both_nan = next(row for row in rows if row["target"] == "Functional.softmax.1.forward.output.0")
    assert (both_nan["theirs"], both_nan["verdict"]) == ("pass", "unknown")  # no error, and no pass of ours
    # the tool only warns of a cosine of 0.871
    missed = [f for f in report.findings if f.rule == "precision.theirs-missed"]
    assert [f.subject for f in missed] == ["Functional.linear.2.forward.output.0"]
