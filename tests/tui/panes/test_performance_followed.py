"""What the performance pane shows of a run that is followed: plain functions, no terminal."""

from __future__ import annotations

from pathlib import Path

from npulse.core.analysis import AnalysisOptions
from npulse.core.performance.run_report import look, selections
from npulse.core.performance.view import PerformanceView, performance_view
from npulse.core.run.discover import discover
from npulse.core.tails import Tails
from npulse.core.text import Lang
from npulse.tui.glyphs import ASCII, UNICODE
from npulse.tui.messages import tr
from npulse.tui.panes.performance.columns import HIDDEN_AT_FIRST, specs
from npulse.tui.panes.performance.summary import lines_without_rows, shown_lines

from .performance_runs import BASE_US, write_round

ROW = '8,0,4294967295,99,7,{name},{kind},static,AI_CORE,{start}.000\t,12.345,0.000,24,0,NO,"""1""",FLOAT16,ND,"""1""",FLOAT16,ND,N/A,0.000,1000,0,0,0,0,0,0,0,0,0\n'  # noqa: E501


def look_at(run: Path, tails: Tails | None, lang: Lang = "en") -> PerformanceView:
    found, options = discover(run), AnalysisOptions(tails=tails, lang=lang)
    return performance_view(look(found, selections(found, options)[-1], options), lang)


def first_line(view: PerformanceView, lang: Lang = "en") -> str:
    return shown_lines(view, lambda key, **values: tr(key, lang, **values), UNICODE)[0]


def headings(view: PerformanceView, lang: Lang = "en") -> list[str]:
    return [spec.heading for spec in specs(view.table, view.kind, HIDDEN_AT_FIRST, UNICODE, lang, 200)]


def test_what_came_last_stands_in_the_first_line_and_in_columns(tmp_path: Path) -> None:
    run, tails = write_round(tmp_path / "run"), Tails()
    first = look_at(run, tails)
    assert "+calls" not in headings(first)
    assert "new calls" not in first_line(first) and "step 336 us so far" in first_line(first)
    with (run / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv").open("a") as file:
        file.write(ROW.format(name="MatMul_1", kind="MatMulV2", start=BASE_US + 10_000))
    second = look_at(run, tails)
    assert "new calls: 1, 12.35 us" in first_line(second)
    assert "新增 1 次调用，12.35 us" in first_line(second, "zh")
    shown = headings(second)
    assert shown.index("+calls") == shown.index("calls") + 1
    assert shown.index("+us") == shown.index("total us") + 1


def test_without_following_the_pane_is_as_it_was(tmp_path: Path) -> None:
    view = look_at(write_round(tmp_path / "run"), None)
    line = first_line(view)
    assert "so far" not in line and "new calls" not in line and "+us" not in headings(view)


def test_a_raw_session_that_grows_is_drawn(tmp_path: Path) -> None:
    data = tmp_path / "PROF_000002_20260801121500456_00012346HGFEDCBA" / "host" / "data"
    data.mkdir(parents=True)
    (data.parent / "start_info").write_text("{}")
    (data / "host_mem.data.slice_0").write_text("".join(f"{1000 + i} 9 {256 * i} 1\n" for i in range(1, 9)))
    view = look_at(tmp_path, Tails())
    for glyphs, line in ((UNICODE, "▁▂▃▄▅▆▇█"), (ASCII, ASCII.levels)):
        lines = lines_without_rows(view, lambda key, **v: tr(key, "en", **v), glyphs)
        assert f"host memory {line} 8 MiB" in lines
        assert any(one.startswith("slices: 1, closed: 0; ") for one in lines)
