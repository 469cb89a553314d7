"""The triage guide and the quick tables in the workbench, by the keys that a person presses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from npulse.core.run.discover import discover
from npulse.tui.app import NpulseApp
from npulse.tui.screens.capture import CapturePage
from npulse.tui.screens.codes import CodesPage
from npulse.tui.screens.entry import Entry
from npulse.tui.screens.guide import GuidePage
from npulse.tui.screens.main import MainPage
from npulse.tui.screens.rows import RowList

MakeApp = Callable[..., NpulseApp]


async def until(pilot: Any, holds: Callable[[], object]) -> None:
    for _ in range(1500):
        await pilot.pause(0.01)
        if holds():
            return
    assert holds()


def archive(folder: Path) -> Path:
    round_ = folder / "overflow" / "infer_20260101-000000"
    round_.mkdir(parents=True)
    (round_ / "round.toml").write_text(
        'schema = 1\nkind = "overflow"\ncommand = ["python", "infer.py", "a b"]\n', encoding="utf-8"
    )
    return folder


async def test_enter_on_a_step_opens_the_capture_filled_in_and_on_a_look_the_pane(
    make_app: MakeApp, tmp_path: Path, screen_text: Callable[[NpulseApp], str]
) -> None:
    run = archive(tmp_path / "diag")
    app = make_app(
        str(run), open_run=lambda path, progress, is_cancelled: discover(path), first_pane="overflow"
    )
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.opened is not None)
        await pilot.press("question_mark", "t")
        await until(pilot, lambda: "infer_20260101-000000" in screen_text(app))
        assert isinstance(app.screen, GuidePage)
        rows = app.screen.query_one(RowList)
        assert rows.current is not None and rows.current.text == "NaN, Inf or an FP exception"
        await pilot.press("j")
        await until(pilot, lambda: "npulse capture overflow --tool statistics" in screen_text(app))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, CapturePage))
        page = app.screen
        assert isinstance(page, CapturePage)
        held = page.values()
        assert held["command"] == "python infer.py 'a b'" and held["archive"] == str(run)
        assert (held["kind"], held["tool"], held["stop-at-first"]) == ("overflow", "statistics", "yes")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, GuidePage))
        rows.cursor = next(i for i, row in enumerate(rows.rows) if "Read the logs" in row.text)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, MainPage) and app.pane is not None)
        await until(pilot, lambda: app.pane is not None and app.pane.area == "memory")


async def test_the_quick_tables_narrow_while_one_types(
    make_app: MakeApp, screen_text: Callable[[NpulseApp], str]
) -> None:
    app = make_app(lang="zh")
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.opened is not None)
        await pilot.press("question_mark", "slash")
        await until(pilot, lambda: isinstance(app.screen, CodesPage))
        await pilot.press(*"507035")
        await until(pilot, lambda: "vector 核 kernel 执行异常" in screen_text(app))
        rows = app.screen.query_one(RowList)
        assert [row.value.code for row in rows.rows] == ["507035", "0x31"]
        app.screen.query_one(Entry).value = "zzqqzz"
        await until(pilot, lambda: "没有同时包含这些词的条目" in screen_text(app))
        app.screen.query_one(Entry).value = "饱和 65504"
        await until(pilot, lambda: "INF_NAN_MODE_ENABLE" in screen_text(app))
        await pilot.press("enter")
        await until(pilot, lambda: "条目全文" in screen_text(app))
