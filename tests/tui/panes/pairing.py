"""The pairing view, opened from the precision pane."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from npulse.tui.app import NpulseApp
from npulse.tui.panes.precision.pairing_page import PairingPage


async def open_pairing(app: NpulseApp, pilot: Any, until: Callable[..., Awaitable[None]]) -> PairingPage:
    """The page once its rows are there."""
    await pilot.press("w")
    await until(pilot, lambda: isinstance(app.screen, PairingPage) and app.screen.rows is not None)
    page = app.screen
    assert isinstance(page, PairingPage)
    return page
