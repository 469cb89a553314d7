"""Tables that nobody wrote for us: whatever stands in a cell, every row is counted once and shown safely."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.analysis import AnalysisOptions
from npulse.core.precision.run_report import report_of
from npulse.core.text import safe_text

from .tables import HEADER, write

WORDS = (
    "N/A", "Nan", "nan\t", " inf", "-inf", "None", "", "unsupported", "shape unmatched", "pass", "error",
    "Yes", "warning", "torch.float16", "<class 'int'>", "[4, 4]", "[", "1e999", "1.0", "0", "-0.0", "20.0%",
    "1" * 500, "\x1b[31mred", "[bold]x[/bold]", "A\u202eB", "=1+1", "T.a.0.forward.output.0", "*",
    '["error: x"]', "[[[[",
)  # fmt: skip
CELLS = st.one_of(st.sampled_from(WORDS), st.text(max_size=6))
MORE = ("verdict", "target", "rank", "StandardDeviation", "OverFlow", "my algorithm")


@given(st.lists(st.lists(CELLS, min_size=len(HEADER) + 3, max_size=len(HEADER) + 3), max_size=6), st.data())
def test_every_row_is_counted_once(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]], data: st.DataObject
) -> None:
    header = (*HEADER, *data.draw(st.permutations(MORE))[:3])
    folder: Path = tmp_path_factory.mktemp("t")
    path = write(
        folder / "compare_result_1.csv", [dict(zip(header, cells, strict=True)) for cells in rows], header
    )
    report = report_of([path], AnalysisOptions(tables=True)).report
    counts, table = report.counts, report.tables["theirs"]
    n = counts["rows"]
    assert sum(counts[name] for name in ("pass", "warning", "error", "unknown", "unmatched")) == n
    assert (
        sum(counts[f"ours_{name}"] for name in ("pass", "warning", "error", "unknown")) == n == table.n_rows
    )
    names = [column.name for column in table.columns]
    assert len(names) == len(set(names))
    shown = [finding.message + finding.subject for finding in report.findings]
    for column in table.exported:
        shown += [value for value in column.to_list(0, n) if isinstance(value, str)]
    assert all(safe_text(text) == text for text in shown)
    if n and report.verdict == "pass":
        assert counts["ours_pass"] == n
