"""The rank matrix: where on which rank it begins, the call there on all ranks, the way back to its rows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from npulse.tui.app import NpulseApp
from npulse.tui.panes.precision.pane import PrecisionPane
from npulse.tui.panes.precision.ranks_page import RankHeat, RankPage
from npulse.tui.screens.main import MainPage
from npulse.tui.widgets.virtual_table import VirtualTable

from .captures import NAMES, ORIGIN, chain, write_capture

OpenApp = Callable[..., NpulseApp]
Compared = Callable[..., Awaitable[PrecisionPane]]
Until = Callable[..., Awaitable[None]]
ScreenText = Callable[[NpulseApp], str]


async def test_the_matrix_leads_to_the_rank_that_is_wrong(
    open_app: OpenApp, compared: Compared, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    for rank in range(3):
        bad = ORIGIN if rank == 2 else None
        write_capture(tmp_path / "run" / "npu", chain(bad=bad), rank=rank)
        write_capture(tmp_path / "run" / "cpu", chain(), rank=rank)
    app = open_app(tmp_path / "run")
    async with app.run_test(size=(80, 24)) as pilot:
        pane = await compared(pilot)
        await pilot.press("z")
        await until(
            pilot, lambda: isinstance(app.screen, RankPage) and app.screen.query_one(VirtualTable).view.n_rows
        )
        heat = app.screen.query_one(RankHeat)
        assert (heat.rank_at, heat.layer_at) == (2, 1), "it opens at the origin"
        lines = screen_text(app).split("\n")
        assert "3 ranks by 3 layers" in lines[0]
        assert [line.split()[-1] for line in lines[2:5]] == ["···", "···", "·✗█"]
        assert "an origin" in lines[5] and "origin: layers.1.mlp  output 0" in lines[6]
        table = app.screen.query_one(VirtualTable).view.table
        assert table.column("rank").to_list(0, 6) == [0, 1, 2, 0, 1, 2]
        assert table.column("verdict").to_list(3, 6) == ["pass", "pass", "error"]
        await pilot.press("k", "l")
        await until(pilot, lambda: "layer 2" in screen_text(app) and "rank 1 " in screen_text(app))
        await pilot.press("n", "enter")
        await until(pilot, lambda: isinstance(app.screen, MainPage))
        await until(pilot, lambda: pane.table.view.n_rows == 2 * len(NAMES))
        assert pane.view.filter == "rank=2" and pane.subject() == ORIGIN
        assert pane.table.view.table.column("rank").value(pane.table.current_row or 0) == 2
