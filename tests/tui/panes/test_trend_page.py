"""The trend over rounds: what became better or worse, and the way to the row it is about."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from npulse.tui.app import NpulseApp
from npulse.tui.panes.precision.pane import PrecisionPane
from npulse.tui.panes.precision.trend_page import TrendPage
from npulse.tui.screens.main import MainPage

from ...core.precision.pages.test_trend import write_rounds
from .captures import NAMES, ORIGIN, write_pair

OpenApp = Callable[..., NpulseApp]
Compared = Callable[..., Awaitable[PrecisionPane]]
Until = Callable[..., Awaitable[None]]
ScreenText = Callable[[NpulseApp], str]


async def test_courses_stand_there_and_lead_to_the_row(
    open_app: OpenApp, compared: Compared, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    app = open_app(write_rounds(tmp_path / "archive", ORIGIN, None, NAMES[5]))
    async with app.run_test(size=(80, 24)) as pilot:
        pane = await compared(pilot)
        await pilot.press("H")
        await until(pilot, lambda: isinstance(app.screen, TrendPage) and app.screen.is_whole)
        await until(pilot, lambda: "over its threshold" in screen_text(app))
        lines = screen_text(app).split("\n")
        assert "3 rounds: 0 better, 2 worse" in lines[0]
        assert "layers.2.mlp" in lines[3] and "worse" in lines[3] and " █▁█ " in lines[3]
        assert "layers.1.mlp" in lines[4] and "worse" not in lines[4] and " █▁▁ " in lines[4]
        await pilot.press("G", "enter")
        await until(pilot, lambda: isinstance(app.screen, MainPage))
        assert pane.subject() == NAMES[4], "the first call of the last layer"
        await pilot.press("H")
        await until(pilot, lambda: isinstance(app.screen, TrendPage) and app.screen.is_whole)
        await pilot.press("j", "enter")
        await until(pilot, lambda: pane.subject() == ORIGIN)


async def test_one_round_has_no_trend(open_app: OpenApp, compared: Compared, tmp_path: Path) -> None:
    app = open_app(write_pair(tmp_path / "run"))
    async with app.run_test(size=(80, 24)) as pilot:
        await compared(pilot)
        await pilot.press("H")
        assert isinstance(app.screen, MainPage)
        assert "One round alone has no trend" in str(list(app._notifications)[-1].message)
