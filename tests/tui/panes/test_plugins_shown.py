"""What a plug-in says that belongs to no area: a row of the check-up, and its own page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from npulse.core.plugins import registry
from npulse.tui.app import NpulseApp
from npulse.tui.screens.page import LinesPage

from .test_checkup_pane import SMALL, told, write_run

FAN = """
class Fan:
    name = "fan"

    def analyze(self, data):
        return [{"message": "worn \\x1b[31m[b]out[/b]", "severity": "error", "subject": "fan0"}]
"""


@pytest.fixture
def fan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("NPULSE_CONFIG_DIR", str(tmp_path / "config"))
    file = tmp_path / "fan.py"
    file.write_text(FAN)
    registry.use([file])
    yield
    registry.use()


async def test_the_check_up_opens_what_a_plugin_says(
    open_app: Callable[..., NpulseApp],
    until: Callable[..., Awaitable[None]],
    screen_text: Callable[[NpulseApp], str],
    tmp_path: Path,
    fan: None,
) -> None:
    app = open_app(write_run(tmp_path / "diag"), first_pane="checkup")
    async with app.run_test(size=SMALL) as pilot:
        await told(pilot, until)
        assert "look first at Plug-ins" in screen_text(app)
        await pilot.press("G", "enter")
        await until(pilot, lambda: isinstance(app.screen, LinesPage))
        await pilot.pause()
        text = screen_text(app)
        assert "fan0  [plugin.fan.finding]" in text and "[b]out[/b]" in text and "\x1b" not in text
