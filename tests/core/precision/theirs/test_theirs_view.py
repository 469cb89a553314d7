"""What a pane shows of a result table: details, places and words, without a screen."""

from __future__ import annotations

from pathlib import Path

from npulse.core.analysis import AnalysisOptions
from npulse.core.precision.theirs.run import open_results
from npulse.core.precision.theirs.view import TheirsView, theirs_view
from npulse.core.run.discover import discover

from .tables import row, write


def view_of(folder: Path) -> TheirsView:
    rows = [
        row("Torch.abs.0.forward.input.0"),
        row("Torch.abs.0.forward.output.0", Result="error", Err_message='["error: a limit of its own"]'),
        row("Torch.abs.1.forward.output.0", Cosine="0.5", EucDist="3", MaxAbsErr="1"),
    ]
    write(folder / "compare_result_rank2_20260801120000.csv", rows)
    run = discover(folder)
    return theirs_view(open_results(run, run.artifacts, AnalysisOptions()), "en")


def test_every_finding_has_its_row_and_every_row_its_words(tmp_path: Path) -> None:
    view = view_of(tmp_path)
    rows = [view.row_of(finding) for finding in view.report.findings]
    assert rows[0] == view.first_error == 1 and None not in rows
    assert view.detail(1, "en").headline == "msprobe compare says error: error: a limit of its own"
    assert view.detail(2, "en").headline == "cosine below criterion: cosine 0.5"
    facts = dict(view.detail(2, "en").facts)
    assert facts["the tool's verdict"] == "pass" and facts["place"] == "line 4"
    assert facts["our reading"] == "error: cosine below criterion: cosine 0.5"
    assert view.finding(2, "en").severity == "error" and view.finding(0, "en").severity == "note"
    assert view.place(1) == (tmp_path / "compare_result_rank2_20260801120000.csv", 3)
    assert "line 3" in view.where(1, "en")[0] and "第 3 行" in view.where(1, "zh")[0]
    assert view.meaning("theirs", "en") and view.meaning("Cosine", "en") == ""
    assert view.is_complete and view.strip(0) is None


def test_states_of_rows_and_other_languages(tmp_path: Path) -> None:
    view = view_of(tmp_path)
    state = view.table.column("state")
    assert [state.value(place) for place in range(3)] == ["pass ok", "error ok", "error ok"]
    other = view.translated("zh")
    assert other.lang == "zh" and other.report.counts == view.report.counts
    assert other.report.findings[0].message != view.report.findings[0].message
