"""What is shown of a large table before it is read: first rows, sums so far, sums of all; then the whole."""

from __future__ import annotations

from pathlib import Path

import pytest

import npulse.core.performance.early as early
from npulse.core.analysis import AnalysisOptions
from npulse.core.performance.found import Performance
from npulse.core.performance.run_report import look, selections
from npulse.core.performance.view import performance_view
from npulse.core.run.discover import discover

HEADER = "Device_id,Task ID,Stream ID,Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us),End\n"
N = 3000


@pytest.fixture
def updates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Performance]:
    monkeypatch.setattr(early, "LEAST_BYTES", 0)
    monkeypatch.setattr(early, "UPDATE_S", 0.0)
    types = ("Add", "Mul", "Cast")
    lines = (
        f"0,{i},2,aclnn_{i % 3},{types[i % 3]},AI_CORE,{1764246877000000 + 10 * i}.000\t,{i % 3 + 1}.500,0\n"
        for i in range(N)
    )
    (tmp_path / "op_summary_20260801120500.csv").write_text(HEADER + "".join(lines))
    run, options = discover(tmp_path), AnalysisOptions()
    found: list[Performance] = []
    found.append(look(run, selections(run, options)[-1], options, on_update=found.append))
    return found


def test_first_rows_then_sums_then_the_whole(updates: list[Performance]) -> None:
    stages = [one.stage for one in updates]
    assert (stages[0], stages[-2:]) == ("reading", ["tables", "complete"])
    so_far = [one.so_far for one in updates if one.so_far is not None]
    assert so_far[0].is_first and so_far[0].n_rows == early.FIRST_ROWS
    assert [one.is_whole for one in so_far].count(True) == 1
    assert so_far[-1].is_whole and so_far[-1].n_rows == N
    assert all(one.so_far is None for one in updates if one.stage != "reading")


def test_sums_of_all_rows_are_those_of_the_analysis(updates: list[Performance]) -> None:
    """1,000 calls of 3.5, 2.5 and 1.5 us each."""
    whole = next(one for one in updates if one.so_far is not None and one.so_far.is_whole)
    for one in (whole, updates[-1]):
        assert one.shown is not None and one.shown.operators is not None
        top = one.shown.operators.types.top
        told = [(top.label(i), int(top.calls[i]), int(top.total_ns[i])) for i in range(len(top))]
        assert told == [("Cast", 1000, 3_500_000), ("Mul", 1000, 2_500_000), ("Add", 1000, 1_500_000)]


def test_unfinished_figures_say_so_and_bear_no_advice(updates: list[Performance]) -> None:
    for one in updates:
        if one.so_far is None:
            continue
        for lang, word in (("en", "still reading"), ("zh", "仍在读取")):
            view = performance_view(one, lang)  # type: ignore[arg-type]
            assert word in view.report.told[0]
            assert f"{one.so_far.n_rows:,}" in view.report.told[0]
            assert (view.is_complete, view.report.verdict, view.report.findings) == (False, "incomplete", ())
            assert view.wall is None


def test_a_small_table_has_no_early_updates(tmp_path: Path) -> None:
    (tmp_path / "op_summary_20260801120500.csv").write_text(
        HEADER + "0,1,2,a,Add,AI_CORE,1764246877000000.000\t,1.000,0\n"
    )
    run, options = discover(tmp_path), AnalysisOptions()
    seen: list[str] = []
    look(run, selections(run, options)[-1], options, on_update=lambda one: seen.append(one.stage))
    assert seen == ["tables"]


def test_sums_offer_no_single_calls(updates: list[Performance]) -> None:
    """Under "single calls" stand single calls: sums by type have none, the first rows and the whole do."""
    for one in updates:
        view = performance_view(one, "en", "call")
        assert one.shown is not None and one.shown.operators is not None
        has_calls = one.shown.operators.table is not None
        assert has_calls == ("call" in view.kinds) == (view.kind == "call")
        assert not has_calls or {view.table.column("calls").value(row) for row in range(9)} == {1}
