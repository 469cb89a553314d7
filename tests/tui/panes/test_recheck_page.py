"""A call computed again from the pane: the page says which side is wrong."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import numpy as np

from npulse.tui.app import NpulseApp
from npulse.tui.panes.precision.pane import PrecisionPane
from npulse.tui.panes.precision.recheck_page import RecheckPage
from npulse.tui.screens.main import MainPage

from .captures import write_capture

OpenApp = Callable[..., NpulseApp]
Compared = Callable[..., Awaitable[PrecisionPane]]
Until = Callable[..., Awaitable[None]]
ScreenText = Callable[[NpulseApp], str]


async def test_the_call_under_the_cursor_is_computed_again(
    open_app: OpenApp, compared: Compared, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    a = np.linspace(-3, 3, 32, dtype=np.float32).reshape(4, 8)
    for side in ("npu", "cpu"):
        made = -a + (np.float32(0.5) if side == "npu" else np.float32(0))
        write_capture(tmp_path / "run" / side, [("Torch.neg.0.forward", [a], [made])])
    app = open_app(tmp_path / "run")
    async with app.run_test(size=(100, 30)) as pilot:
        await compared(pilot)
        await pilot.press("D")
        await until(pilot, lambda: isinstance(app.screen, RecheckPage) and app.screen.found)
        page = app.screen
        assert isinstance(page, RecheckPage) and page.found is not None
        assert page.found.check.outcome == "implementation"
        text = screen_text(app)
        assert "Computed again on the CPU: Torch.neg.0" in text and "golden" in text
        await pilot.press("L")
        assert "在 CPU 上重算" in screen_text(app)
        await pilot.press("b")
        await until(pilot, lambda: isinstance(app.screen, MainPage))
