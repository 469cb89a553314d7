"""What the precision pane shows while workers still have some of the ranks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

from npulse.core.precision.view import precision_view
from npulse.tui.app import NpulseApp
from npulse.tui.panes.precision.pane import PrecisionPane

from .captures import NAMES, ORIGIN, chain, write_capture


async def test_ranks_that_come_later_leave_the_cursor_on_its_row(
    open_app: Callable[..., NpulseApp],
    compared: Callable[..., Awaitable[PrecisionPane]],
    until: Callable[..., Awaitable[None]],
    screen_text: Callable[[NpulseApp], str],
    tmp_path: Path,
) -> None:
    for rank, bad in enumerate((None, None, ORIGIN)):
        write_capture(tmp_path / "run/npu", chain(bad=bad, seed=rank), rank=rank)
        write_capture(tmp_path / "run/cpu", chain(seed=rank), rank=rank)
    app = open_app(tmp_path / "run")
    async with app.run_test(size=(120, 40)) as pilot:
        pane = await compared(pilot)
        assert pane.compared is not None
        whole = pane.compared.comparison

        def so_far(*places: int) -> None:
            ranks = tuple(whole.ranks[place] for place in places)
            pane.take(
                precision_view(replace(whole, ranks=ranks, stage="ranks", n_awaited=3 - len(places)), "en")
            )

        def there(n: int) -> bool:
            return pane.compared is not None and len(pane.compared.comparison.ranks) == n

        pane.forget()
        so_far(1)
        await pilot.pause()
        assert "UNKNOWN" in screen_text(app) and "1 of 3 ranks so far" in screen_text(app)
        assert pane.row == 0 and pane.verdict() != "pass"
        so_far(1, 2)
        await until(pilot, lambda: there(2))
        assert pane.subject() == ORIGIN, "who has not moved is taken to the origin"
        assert "2 of 3 ranks so far" in screen_text(app)
        before = pane.row
        pane.take(precision_view(whole, "en"))
        await until(pilot, lambda: there(3))
        assert before is not None and pane.row == before + 2 * len(NAMES), "its row has moved, it has not"
        assert pane.subject() == ORIGIN and "so far" not in screen_text(app) and "FAIL" in screen_text(app)
