"""The performance pane as a person uses it: keys in, what stands on the screen out."""

from __future__ import annotations

import re
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from npulse.core.analysis import AnalysisOptions
from npulse.core.errors import InputError
from npulse.core.performance import view as view_module
from npulse.core.performance.files import FileView
from npulse.core.performance.found import Performance
from npulse.core.performance.run_report import report_of
from npulse.core.performance.table import TableKind
from npulse.core.performance.window import whole_of
from npulse.core.progress import check
from npulse.core.table import Table
from npulse.tui.app import NpulseApp
from npulse.tui.panes.memory.pages import CodePage
from npulse.tui.panes.performance import pane as pane_module
from npulse.tui.panes.performance.pane import PerformancePane
from npulse.tui.panes.performance.timeline import TimelinePage
from npulse.tui.screens.choice import ChoicePage
from npulse.tui.screens.main import MainPage
from npulse.tui.screens.rows import RowList
from npulse.tui.terminal import terminal_from
from npulse.tui.widgets.detail import DetailView
from npulse.tui.widgets.strip import LayerStrip

from .performance_runs import (
    BASE_US,
    GAP_US,
    LONG_GAP_US,
    N_CALLS,
    N_STEPS,
    REMARKS,
    WALL_US,
    write_ranks,
    write_round,
    write_rounds,
)

OpenApp = Callable[..., NpulseApp]
Until = Callable[..., Awaitable[None]]
Read = Callable[[Any], Awaitable[PerformancePane]]
ScreenText = Callable[[NpulseApp], str]
SMALL, MIDDLE, WIDE = (80, 24), (100, 30), (140, 40)
BUSY_US = N_STEPS * 330


@pytest.fixture
def open_profile(open_app: OpenApp) -> OpenApp:
    def make(run: Path, **options: Any) -> NpulseApp:
        return open_app(run, **{"first_pane": "performance", **options})

    return make


@pytest.fixture
def read(until: Until) -> Read:
    """The pane once all is read, with the detail of the row under the cursor if there is one."""

    async def wait(pilot: Any) -> PerformancePane:
        app = pilot.app

        def is_done() -> bool:
            pane = app.pane
            return (
                isinstance(pane, PerformancePane)
                and pane.shown is not None
                and pane.shown.is_complete
                and not app._busy.get("performance")
                and all(worker.is_finished for worker in app.workers)
                and (not pane.table.view.n_rows or pane.query_one(DetailView).detail is not None)
            )

        await until(pilot, is_done)
        await pilot.pause()
        assert isinstance(app.pane, PerformancePane)
        return app.pane

    return wait


def notices(app: NpulseApp) -> list[str]:
    return [str(notification.message) for notification in app._notifications]


def detail_lines(pane: PerformancePane) -> list[str]:
    return [text for text, _ in pane.query_one(DetailView)._lines()]


def subjects(pane: PerformancePane) -> list[str]:
    assert pane.shown is not None
    view = pane.table.view
    column = pane.shown.table.column("subject")
    return [str(column.value(int(row))) for row in view.rows(0, view.n_rows)]


def headings(app: NpulseApp, text: str) -> str:
    return next(line for line in text.split("\n") if re.match(r"\s+›?\s*(op type|operator|rank|算子)", line))


def line_of(text: str, words: str) -> str:
    return next((line for line in text.split("\n") if words in line), "")


# ---- the first look ----


@pytest.mark.parametrize("size", [SMALL, MIDDLE, WIDE])
async def test_three_lines_answer(
    open_profile: OpenApp, read: Read, screen_text: ScreenText, tmp_path: Path, size: tuple[int, int]
) -> None:
    app = open_profile(write_round(tmp_path / "run"))
    async with app.run_test(size=size) as pilot:
        pane = await read(pilot)
        lines = screen_text(app).split("\n")
        busy = 100 * BUSY_US / WALL_US
        answer = lines[2].strip()
        assert answer.startswith(
            f"first: IDLE · wall {WALL_US:,} us · busy {busy:.1f} % · idle {100 - busy:.1f} %"
        )
        assert "host-bound" in answer
        finding = pane.shown.report.findings[0] if pane.shown else None
        assert finding is not None
        assert lines[3].strip().startswith("W ! ") and finding.message[:40] in lines[3]
        assert lines[4].strip().startswith("next: ") and finding.next_step[:40] in lines[4]
        assert all(cell_len(line) <= size[0] for line in lines)
        assert subjects(pane) == ["MatMulV2", "GatherV2", "SoftmaxV2"], "by total time"
        first = line_of("\n".join(lines), "▶")
        assert "MatMulV2" in first and "1,600.0" in first and "cube" in first
        assert "by type" in "\n".join(lines) and "t table  v timeline  w files" in lines[-1]
        strip = pane.query_one(LayerStrip)
        assert strip.display and strip.values.max() == 1 and strip.values.min() == 0, "the ruler has the gap"


@pytest.mark.parametrize("lang", ["en", "zh"])
async def test_the_pane_says_what_the_report_says(
    open_profile: OpenApp, read: Read, tmp_path: Path, lang: Any
) -> None:
    run = write_rounds(tmp_path / "run")
    expected = report_of([run], AnalysisOptions(lang=lang)).report
    app = open_profile(run, lang=lang)
    async with app.run_test(size=WIDE) as pilot:
        report = (await read(pilot)).report()
        assert report is not None
        assert (report.verdict, report.counts, report.told) == (
            expected.verdict,
            expected.counts,
            expected.told,
        )
        assert report.findings == expected.findings


async def test_pipes_that_matter_stand_in_the_detail(
    open_profile: OpenApp, read: Read, until: Until, tmp_path: Path
) -> None:
    app = open_profile(write_round(tmp_path / "run"))
    async with app.run_test(size=WIDE) as pilot:
        pane = await read(pilot)
        bars = [line for line in detail_lines(pane) if "█" in line]
        found = [line.split()[0] for line in bars]
        assert found == ["mac", "mte2", "mte1", "fixpipe", "scalar"], "five at most, the busiest first"
        assert bars[0].rstrip().endswith("91.0 %") and max(map(cell_len, bars)) < 40
    app = open_profile(write_round(tmp_path / "run"))
    async with app.run_test(size=SMALL) as pilot:
        pane = await read(pilot)
        bars = [line for line in detail_lines(pane) if "█" in line]
        assert len(bars) == 2 and "91.0 %" in bars[0] and "55.0 %" in bars[0], "beside each other"


async def test_ascii_alone(
    open_profile: OpenApp, read: Read, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    terminal = terminal_from({"TERM": "linux", "LANG": "C"}, is_tty=True, encoding="ascii")
    app = open_profile(write_round(tmp_path / "run"), terminal=terminal)
    async with app.run_test(size=SMALL) as pilot:
        await read(pilot)
        for key in ("", "v", "i"):
            if key:
                await pilot.press(key)
                await until(pilot, lambda: isinstance(app.screen, TimelinePage))
                await pilot.pause(0.1)
            text = screen_text(app)
            assert text.isascii(), [c for c in text if not c.isascii()]


async def test_the_detail_follows_and_enter_has_all(
    open_profile: OpenApp, read: Read, until: Until, tmp_path: Path
) -> None:
    app = open_profile(write_round(tmp_path / "run"))
    async with app.run_test(size=MIDDLE) as pilot:
        pane = await read(pilot)
        await pilot.press("j")
        await until(pilot, lambda: "GatherV2" in "\n".join(detail_lines(pane)))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, CodePage))
        await pilot.pause()
        rows = [row.text for row in app.screen.query_one(RowList).rows]
        assert rows[0] == "GatherV2"
        assert sum("90 us" in row and "Gather_1" in row for row in rows) == N_STEPS, "its calls"
        assert "kernel_details.csv:" in "".join(pane.where_lines())
        await pilot.press("b")
        assert isinstance(app.screen, MainPage)


# ---- tables ----


async def test_a_large_table_is_put_in_order_beside_the_keys(
    open_profile: OpenApp, read: Read, until: Until, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view_module, "_MOMENT_ROWS", 0)
    app = open_profile(write_round(tmp_path / "run"))
    async with app.run_test(size=MIDDLE) as pilot:
        pane = await read(pilot)
        makes = threading.Event()
        make = view_module.performance_table

        def made(found: Performance, kind: TableKind) -> Table:
            assert makes.wait(30)
            return make(found, kind)

        monkeypatch.setattr(view_module, "performance_table", made)
        await pilot.press("t")
        await pilot.press("j")
        assert pane.shown is not None and pane.shown.kind == "type" and pane.table.current_row == 1
        assert app._busy.get("performance"), "it says that something is made"
        makes.set()
        await until(pilot, lambda: pane.shown is not None and pane.shown.kind == "call")
        assert pane.table.view.table is pane.shown.table and pane.table.current_row == 0
        assert not app._busy.get("performance")


async def test_t_walks_the_tables(open_profile: OpenApp, read: Read, tmp_path: Path) -> None:
    app = open_profile(write_rounds(tmp_path / "run"))
    async with app.run_test(size=MIDDLE) as pilot:
        pane = await read(pilot)
        seen = []
        for _ in range(6):
            assert pane.main is not None
            seen.append((pane.main.kind, pane.table.view.n_rows))
            await pilot.press("t")
            await pilot.pause()
        assert seen == [
            ("type", 3), ("call", N_CALLS), ("count", 3), ("average", 3), ("changes", 3), ("type", 3),
        ]  # fmt: skip
        strip = pane.query_one(LayerStrip)
        await read(pilot)
        await pilot.pause(0.2)
        assert strip.display, "the ruler comes back with the tables that have one"


async def test_the_last_table_and_the_cursor_survive_the_language(
    open_profile: OpenApp, read: Read, screen_text: ScreenText, until: Until, tmp_path: Path
) -> None:
    app = open_profile(write_round(tmp_path / "run"))
    async with app.run_test(size=MIDDLE) as pilot:
        pane = await read(pilot)
        await pilot.press("t", "j", "j")
        await pilot.press("L")
        await until(pilot, lambda: "首要：空闲" in screen_text(app))
        assert pane.main is not None and pane.main.kind == "call" and pane.row == 2
        assert "单次调用" in screen_text(app) and "下一步" in screen_text(app)


async def test_filter_sort_and_undo(open_profile: OpenApp, read: Read, until: Until, tmp_path: Path) -> None:
    app = open_profile(write_round(tmp_path / "run"))
    async with app.run_test(size=WIDE) as pilot:
        pane = await read(pilot)
        await pilot.press("slash", *"Soft", "enter")
        await until(pilot, lambda: subjects(pane) == ["SoftmaxV2"])
        await pilot.press("u")
        await until(pilot, lambda: len(subjects(pane)) == 3)
        pane.change_view(sort="total_us")
        await until(pilot, lambda: subjects(pane) == ["SoftmaxV2", "GatherV2", "MatMulV2"])


async def test_export_writes_the_shown_table(
    open_profile: OpenApp, read: Read, until: Until, tmp_path: Path
) -> None:
    app = open_profile(write_round(tmp_path / "run"))
    target = tmp_path / "out" / "table.csv"
    target.parent.mkdir()
    async with app.run_test(size=MIDDLE) as pilot:
        pane = await read(pilot)
        pane._export(str(target))
        await until(pilot, target.exists)
        await until(pilot, lambda: all(worker.is_finished for worker in app.workers))
    text = target.read_text("utf-8")
    assert "MatMulV2" in text and "1600" in text


async def test_copy_and_mark(open_profile: OpenApp, read: Read, tmp_path: Path) -> None:
    app = open_profile(write_round(tmp_path / "run"))
    copied: list[str] = []
    async with app.run_test(size=MIDDLE) as pilot:
        pane = await read(pilot)
        app.copy = copied.append  # type: ignore[method-assign, assignment]
        await pilot.press("y", "m")
        assert len(copied) == 1 and "MatMulV2" in copied[0] and "next: " in copied[0]
        assert dict(pane.view.marks) == {"MatMulV2": ""}


# ---- files ----


async def test_a_file_stands_in_the_place_of_the_tables(
    open_profile: OpenApp, read: Read, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    app = open_profile(write_round(tmp_path / "run"))
    async with app.run_test(size=MIDDLE) as pilot:
        pane = await read(pilot)
        answer = screen_text(app).split("\n")[2]
        await pilot.press("j", "w")
        await until(pilot, lambda: isinstance(app.screen, ChoicePage))
        await pilot.press(*"api_stat", "enter")
        await until(pilot, lambda: isinstance(pane.shown, FileView) and not app._busy.get("performance"))
        text = screen_text(app)
        assert "API Name" in text and "Time(us)" in text, "headings are the file's own"
        assert "api_statistic.csv (utf-8), t or Esc: back" in text and "of 30" in text
        assert text.split("\n")[2] == answer, "the answer stays"
        assert subjects(pane)[:2] == ["api_0", "api_1"], "in the order of the file"
        await until(pilot, lambda: "Time(us) 100.2" in "\n".join(detail_lines(pane)))
        pane.change_view(sort="Count", descending=True)
        await until(pilot, lambda: subjects(pane)[0] == "api_29")
        await pilot.press("escape")
        await until(pilot, lambda: pane.shown is pane.main)
        assert pane.row == 1 and pane.subject() == "GatherV2", "back where it was"
        assert pane.view.sort is None and subjects(pane)[0] == "MatMulV2"
        await pilot.press("w", *"api_stat", "enter")
        await until(pilot, lambda: isinstance(pane.shown, FileView))
        await pilot.press("t")
        await until(pilot, lambda: pane.shown is pane.main)


async def test_encoding_and_added_columns_are_shown(
    open_profile: OpenApp, read: Read, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "op_statistic_1.csv").write_bytes(REMARKS.encode("gb18030"))
    app = open_profile(run)
    async with app.run_test(size=MIDDLE) as pilot:
        pane = await read(pilot)
        await pilot.press("w", "enter")
        await until(pilot, lambda: isinstance(pane.shown, FileView))
        await pilot.pause(0.2)
        text = screen_text(app)
        assert "备注" in text and "待优化" in text and "自定义_旋转编码" in text and "(gb18030/gbk)" in text


async def test_a_file_that_cannot_be_read_leaves_the_table(
    open_profile: OpenApp, read: Read, until: Until, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: Any, **options: Any) -> None:
        raise InputError("no such columns", path=tmp_path / "x.csv")

    app = open_profile(write_round(tmp_path / "run"))
    async with app.run_test(size=MIDDLE) as pilot:
        pane = await read(pilot)
        monkeypatch.setattr(pane_module, "read_file", refuse)
        await pilot.press("w", "enter")
        await until(pilot, lambda: any("no such columns" in text for text in notices(app)))
        await until(pilot, lambda: not app._busy.get("performance"))
        assert pane.shown is pane.main and len(subjects(pane)) == 3 and app.is_running


# ---- rounds and ranks ----


async def test_changes_against_another_round(
    open_profile: OpenApp, read: Read, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    app = open_profile(write_rounds(tmp_path / "run"))
    async with app.run_test(size=WIDE) as pilot:
        pane = await read(pilot)
        assert pane.shown is not None
        assert pane.shown.table.column("change_percent").value(0) == pytest.approx(-25)
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, ChoicePage))
        await pilot.press("enter")
        await until(pilot, lambda: pane.main is not None and pane.main.kind == "changes")
        await read(pilot)
        text = screen_text(app)
        row = line_of(text, "▶")
        assert "better" in row and "-25.00" in row and "-50.00" in row
        assert "noise" in line_of(text, "SoftmaxV2 ")
        assert "against round_001" in text


async def test_a_single_round_names_the_command(open_profile: OpenApp, read: Read, tmp_path: Path) -> None:
    app = open_profile(write_round(tmp_path / "run"))
    async with app.run_test(size=MIDDLE) as pilot:
        await read(pilot)
        await pilot.press("d")
        assert any("npulse diff RUN_A RUN_B" in text for text in notices(app))


async def test_it_opens_at_the_rank_that_holds_the_others_up(
    open_profile: OpenApp, read: Read, screen_text: ScreenText, tmp_path: Path
) -> None:
    app = open_profile(write_ranks(tmp_path / "run"))
    async with app.run_test(size=MIDDLE) as pilot:
        pane = await read(pilot)
        await pilot.pause(0.3)
        row = line_of(screen_text(app), "▶")
        assert pane.subject() == "rank 2" and "rank 2" in row and "E ✗ origin" in row
        lines = screen_text(app).split("\n")
        assert "rank 2 (1 of 4)" in lines[2] and "p rank" in lines[-1]
        await pilot.press("v")
        assert any("No timeline here" in text for text in notices(app))
        await pilot.press("t")
        assert any("only this table" in text for text in notices(app))


async def test_the_table_of_one_rank(
    open_profile: OpenApp, read: Read, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    for rank in (0, 1):
        write_round(run / f"rank{rank}_1_20260112101010_ascend_pt", (200 + 100 * rank, 40, 90))
    app = open_profile(run)
    async with app.run_test(size=MIDDLE) as pilot:
        pane = await read(pilot)
        await pilot.press("p")
        await until(pilot, lambda: isinstance(app.screen, ChoicePage))
        await pilot.press(*"rank 1", "enter")
        await until(pilot, lambda: pane.main is not None and len(pane.main.found.profiles) == 1)
        await read(pilot)
        assert pane.shown is not None and pane.shown.table.column("total_us").value(0) == 300 * N_STEPS
        assert "rank 1" in screen_text(app).split("\n")[2], "whose table it is stands with the answer"


# ---- nothing, cancel ----


async def test_an_empty_pane_says_what_it_looked_for(
    open_profile: OpenApp, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "notes.txt").write_text("nothing")
    app = open_profile(run)
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: "These commands write them" in screen_text(app))
        text = re.sub(r"\s+", " ", screen_text(app))
        assert "op_summary" in text and "msprof" in text and "torch_npu" in text, text
        await pilot.press("t", "v", "w", "p", "d")
        assert app.is_running


@pytest.mark.parametrize(("lang", "words"), [("en", "could not be read"), ("zh", "无法读取或不完整")])
async def test_an_empty_table_says_what_is_wrong_with_it(
    open_profile: OpenApp, until: Until, screen_text: ScreenText, tmp_path: Path, lang: str, words: str
) -> None:
    output = tmp_path / "run" / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    (output / "kernel_details.csv").write_text("")
    app = open_profile(tmp_path / "run", lang=lang)
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: "INCOMPLETE" in screen_text(app))
        text = screen_text(app)
        assert words in text and "!" in line_of(text, "INCOMPLETE")
        assert "kernel_details.csv: the file is empty" in text
        assert ("next: " if lang == "en" else "下一步: ") in text
        await pilot.pause()
        keys = screen_text(app).split("\n")[-1]
        assert "/" not in keys and "y " not in keys, "what works on a row is not offered without one"


async def test_escape_cancels_the_reading(
    open_profile: OpenApp,
    until: Until,
    screen_text: ScreenText,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def endless(run: Any, name: str, tools: Any, **options: Any) -> None:
        from time import sleep

        while True:
            sleep(0.01)
            check(tools.is_cancelled)

    monkeypatch.setattr(pane_module, "read_round", endless)
    app = open_profile(write_round(tmp_path / "run"))
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: "Reading profiles" in screen_text(app))
        await pilot.press("escape")
        await until(pilot, lambda: not app._busy.get("performance"))
        assert app.is_running and "Reading profiles" not in screen_text(app)


# ---- the timeline ----


def page_of(app: NpulseApp) -> TimelinePage:
    page = app.screen
    assert isinstance(page, TimelinePage)
    return page


async def test_the_timeline_opens_at_the_longest_call_and_goes_back(
    open_profile: OpenApp, read: Read, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    app = open_profile(write_round(tmp_path / "run"))
    async with app.run_test(size=MIDDLE) as pilot:
        pane = await read(pilot)
        await pilot.press("j", "v")
        await until(pilot, lambda: isinstance(app.screen, TimelinePage))
        await until(pilot, lambda: "Gather_1" in screen_text(app))
        lanes, wall = page_of(app).lanes, page_of(app).wall
        assert lanes.at_ns == (BASE_US + 240 + 2 * GAP_US) * 1000, "the first of the equally long ones"
        assert wall.lanes[lanes.lane].stream == 8
        assert "takes 90 us" in line_of(screen_text(app), "Gather_1")
        window = lanes.window
        assert window is not None and 10 * 90_000 < window.span_ns < 30 * 90_000
        await pilot.press("n")
        await pilot.pause()
        assert lanes.at_ns == (BASE_US + 240 + 2 * GAP_US + 330 + 3 * GAP_US) * 1000
        await pilot.press("N")
        await pilot.pause()
        assert lanes.at_ns == (BASE_US + 240 + 2 * GAP_US) * 1000
        await pilot.press("b")
        assert isinstance(app.screen, MainPage) and pane.row == 1


async def test_gaps_are_named_and_reached(
    open_profile: OpenApp, read: Read, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    app = open_profile(write_round(tmp_path / "run"))
    async with app.run_test(size=MIDDLE) as pilot:
        await read(pilot)
        await pilot.press("v", "i")
        await until(pilot, lambda: isinstance(app.screen, TimelinePage))
        await until(pilot, lambda: f"device idle {LONG_GAP_US + GAP_US:,} us" in screen_text(app))
        text = screen_text(app)
        start = 4 * (330 + 3 * GAP_US) - GAP_US
        assert "after Gather_1, before MatMul_1" in line_of(text, "device idle")
        assert " until " in text and "; in " not in text
        first = line_of(text, "▶  1")
        assert f"{LONG_GAP_US + GAP_US:,} us" in first and f"{start:,} us" in first, (
            "in the list of the longest"
        )
        assert page_of(app).lanes.at_ns == (BASE_US + start) * 1000
        await pilot.press("0", "g", "I")
        await until(pilot, lambda: f"device idle {GAP_US} us" in screen_text(app))
        here = page_of(app).lanes.at_ns
        assert here > (BASE_US + start) * 1000, "the next one in time"
        await pilot.press("i")
        await until(pilot, lambda: page_of(app).lanes.at_ns == (BASE_US + start) * 1000)


async def test_zoom_pan_and_steps_stay_inside(
    open_profile: OpenApp, read: Read, until: Until, tmp_path: Path
) -> None:
    app = open_profile(write_round(tmp_path / "run"))
    async with app.run_test(size=SMALL) as pilot:
        await read(pilot)
        await pilot.press("v")
        await until(pilot, lambda: isinstance(app.screen, TimelinePage))
        page = page_of(app)
        lanes, whole = page.lanes, whole_of(page.wall)
        few = ["minus", "plus", "plus", "plus", "greater_than_sign", "l", "l", "h", "less_than_sign", "0"]
        many = [*["plus"] * 20, *["l"] * 9, *["h"] * 30, "j", "j", "j", "k", "G", "g", "enter"]
        for key in (*few, *many):
            await pilot.press(key)
            window = lanes.window
            assert window is not None
            assert whole.start_ns <= window.start_ns < window.end_ns <= whole.end_ns
            assert window.start_ns <= lanes.at_ns < window.end_ns
            assert 0 <= lanes.cell < lanes.n_cells and 0 <= lanes.lane < len(page.wall.lanes)
        await pilot.press("0", "L")
        await pilot.pause()
        assert lanes.window == whole


@pytest.mark.parametrize("lang", ["en", "zh"])
async def test_both_neighbours_of_a_gap_fit_the_line(
    open_profile: OpenApp, read: Read, until: Until, screen_text: ScreenText, tmp_path: Path, lang: str
) -> None:
    run = write_round(tmp_path / "run")
    table = run / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv"
    long = "aclnnMaxPool2dWithMaskBackward_TransDataSpecial_"
    text = table.read_text("utf-8")
    table.write_text(text.replace("Gather_", f"{long}Gather_").replace("MatMul_", f"{long}MatMul_"), "utf-8")
    app = open_profile(run, lang=lang)
    async with app.run_test(size=SMALL) as pilot:
        await read(pilot)
        await pilot.press("v", "i")
        words = "device idle" if lang == "en" else "设备空闲"
        await until(pilot, lambda: isinstance(app.screen, TimelinePage) and words in screen_text(app))
        line = line_of(screen_text(app), words)
        assert "Gather_1" in line and "MatMul_1" in line and cell_len(line.rstrip()) <= 80


async def test_a_share_too_small_to_show_is_not_shown_as_zero(
    open_profile: OpenApp, read: Read, screen_text: ScreenText, tmp_path: Path
) -> None:
    run = write_round(tmp_path / "run", (9_000_000, 40, 90))
    app = open_profile(run)
    async with app.run_test(size=WIDE) as pilot:
        await read(pilot)
        assert "<0.01" in line_of(screen_text(app), "SoftmaxV2 ")


async def test_the_footer_has_the_timeline_once_it_is_read(
    open_profile: OpenApp, read: Read, screen_text: ScreenText, tmp_path: Path
) -> None:
    app = open_profile(write_round(tmp_path / "run"))
    async with app.run_test(size=MIDDLE) as pilot:
        pane = await read(pilot)
        complete = pane.main
        assert complete is not None
        early = replace(complete, found=replace(complete.found, stage="reading"), ruler=None)
        pane.take(early)
        app.main.refresh_footer()
        await pilot.pause()
        assert "v timeline" not in screen_text(app).split("\n")[-1]
        pane.take(complete)
        await pilot.pause()
        assert "v timeline" in screen_text(app).split("\n")[-1]


async def test_the_timeline_opens_from_the_changes(
    open_profile: OpenApp, read: Read, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    app = open_profile(write_rounds(tmp_path / "run"))
    async with app.run_test(size=MIDDLE) as pilot:
        pane = await read(pilot)
        while pane.main is None or pane.main.kind != "changes":
            await pilot.press("t")
            await pilot.pause()
        place = subjects(pane).index("GatherV2")
        await pilot.press("g", *["j"] * place, "v")
        await until(pilot, lambda: isinstance(app.screen, TimelinePage))
        await until(pilot, lambda: "Gather_1" in screen_text(app))
        assert page_of(app).wall.lanes[page_of(app).lanes.lane].stream == 8
        await pilot.press("b")
        assert isinstance(app.screen, MainPage) and pane.subject() == "GatherV2"


async def test_a_profile_opens_on_its_own_pane(open_app: OpenApp, tmp_path: Path, until: Until) -> None:
    """Without a pane named, the one that the run was captured for is shown; one that was chosen stays."""
    run = write_round(tmp_path / "run")
    app = open_app(run, first_pane=None)
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: app.pane is not None and app.pane.area == "performance")
    app = open_app(run, first_pane="precision")
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: app.opened is not None)
        await pilot.pause(0.1)
        assert app.pane is not None and app.pane.area == "precision"
