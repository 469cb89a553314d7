"""What stands beside a row: pipes that matter, the advice on it, the tool's own words apart from ours."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from npulse.core.analysis import AnalysisOptions
from npulse.core.performance.advice import Advice
from npulse.core.performance.detail import LEAST_RATIO, MAX_PIPES, advice_on, pipe_lines, pipes_of
from npulse.core.performance.operators import analysis
from npulse.core.performance.operators.bound import PIPES, pipe_ratio
from npulse.core.performance.run_report import look, selections
from npulse.core.performance.table import TableKind
from npulse.core.performance.view import PerformanceView, performance_view
from npulse.core.run.discover import discover

from ...tui.panes.performance_runs import write_round, write_rounds


def view_of(path: Path) -> PerformanceView:
    run = discover(path)
    options = AnalysisOptions()
    return performance_view(look(run, selections(run, options)[-1], options), "en")


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> PerformanceView:
    return view_of(write_round(tmp_path_factory.mktemp("run")))


def test_bars_are_of_the_busiest_pipes(view: PerformanceView) -> None:
    shown = view.found.shown
    assert shown is not None
    recorded = dict(pipes_of(shown, 0, "type"))
    assert recorded["mac"] == pytest.approx(0.91) and recorded["mte2"] == pytest.approx(0.55)
    expected = sorted((r for r in recorded.values() if r >= LEAST_RATIO), reverse=True)[:MAX_PIPES]
    lines = pipe_lines(shown, 0, "type", 40, True)
    assert [float(line.split()[-2]) for line in lines] == pytest.approx([100 * r for r in expected], abs=0.05)
    for line, ratio in zip(lines, expected, strict=True):
        bar = line.split()[1]
        assert bar.count("#") == round(ratio * len(bar)) and set(bar) <= {"#", "."}
        assert line.isascii() and len(line) <= 40


@pytest.mark.parametrize("width", [20, 40, 71, 72, 78, 200])
def test_bars_fit(view: PerformanceView, width: int) -> None:
    assert view.found.shown is not None
    lines = pipe_lines(view.found.shown, 0, "type", width, False)
    assert all(len(line) <= width for line in lines)
    assert len(lines) == (2 if width >= 72 else 5)


def test_without_counters_there_are_no_bars(tmp_path: Path) -> None:
    (tmp_path / "op_statistic_1.csv").write_text(
        "Device_id,OP Type,Core Type,Count,Total Time(us)\n0,MatMulV3,AI_CORE,2,15.5\n"
    )
    view = view_of(tmp_path)
    assert view.found.shown is not None
    assert pipe_lines(view.found.shown, 0, "type", 60, False) == []
    assert view.detail(0, "en").draw is None


def test_what_is_said_of_all_comes_last(view: PerformanceView) -> None:
    def said(rule: str, subject: str = "MatMulV2") -> Advice:
        return Advice(rule, "note", subject, (rule, rule))

    found = replace(
        view.found,
        advice=(
            said("performance.top-operators"),
            said("performance.kernel-tool"),
            said("performance.bound"),
            said("performance.other", "Add"),
        ),
    )
    assert [one.rule.split(".")[1] for one in advice_on(found, "MatMulV2")] == [
        "bound",
        "kernel-tool",
        "top-operators",
    ]
    assert [one.rule for one in advice_on(found, "call_1", "Add")] == ["performance.other"]


def test_the_first_words_are_of_the_row(view: PerformanceView) -> None:
    for row in range(view.table.n_rows):
        detail = view.detail(row, "en")
        name = str(view.table.column("subject").value(row))
        assert detail.name == name
        assert name in detail.headline or "calls: 8" in detail.headline
        assert dict(detail.facts)["calls"] == "8"


def test_evidence_lists_the_calls_with_their_lines(view: PerformanceView) -> None:
    lines = view.evidence(0, "en", 100, True)
    calls = [line for line in lines if "MatMul_1" in line and "200 us" in line]
    assert sorted(int(line.rsplit(":", 1)[1]) for line in calls) == list(range(2, 25, 3))


def test_a_finding_leads_to_its_row_and_back(tmp_path: Path) -> None:
    view = view_of(write_rounds(tmp_path)).with_kind("changes")
    subjects = [str(view.table.column("subject").value(row)) for row in range(view.table.n_rows)]
    for row, subject in enumerate(subjects):
        finding = view.finding(row, "en")
        assert finding.subject == subject and view.row_of(finding) == row
    assert "faster beyond the noise" in view.finding(0, "en").message


@pytest.mark.parametrize("kind", ["call", "count", "average"])
def test_a_row_after_another_groups_nothing_again(
    view: PerformanceView, kind: TableKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With millions of calls that would take seconds a key."""
    other = view.with_kind(kind)
    expected = [(view.with_kind(kind).strip(row), pipes_at(view, kind, row)) for row in range(3)]
    made: list[str] = []
    monkeypatch.setattr(analysis, "top", lambda *rest: made.append("top"))
    for row in range(3):
        other.detail(row, "en")
        other.evidence(row, "en", 80, False)
        assert (other.strip(row), pipes_at(other, kind, row)) == expected[row]
    assert made == []


def pipes_at(view: PerformanceView, kind: TableKind, row: int) -> list[tuple[str, float]]:
    assert view.found.shown is not None
    return pipes_of(view.found.shown, row, kind)


def test_pipes_of_a_single_call_are_those_of_its_line(view: PerformanceView) -> None:
    shown = view.found.shown
    assert shown is not None and shown.operators is not None and shown.operators.table is not None
    table = shown.operators.table
    lines = view.with_kind("call").table.column("line").values
    for row in range(len(lines)):
        (place,) = np.flatnonzero(table.line == lines[row])
        recorded = {pipe: pipe_ratio(table, pipe) for pipe in PIPES}
        expected = {
            pipe: float(values[place])
            for pipe, values in recorded.items()
            if values is not None and not np.isnan(values[place])
        }
        assert dict(pipes_of(shown, row, "call")) == expected


def test_the_role_of_a_call_is_that_of_its_name(view: PerformanceView) -> None:
    calls = view.with_kind("call").table
    roles = {one.subject: one.role for one in reversed(view.found.advice) if one.severity != "note"}
    names, told = (calls.column(name).to_list(0, calls.n_rows) for name in ("subject", "role"))
    assert told == [roles.get(name, "ok") for name in names]
