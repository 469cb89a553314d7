"""The rank matrix: where on which rank it begins, the call there on all ranks, the way back to its rows."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from npulse.tui.app import NpulseApp
from npulse.tui.panes.precision import rank_heat
from npulse.tui.panes.precision.pane import PrecisionPane
from npulse.tui.panes.precision.rank_heat import RankHeat
from npulse.tui.panes.precision.ranks_page import RankPage
from npulse.tui.screens.main import MainPage
from npulse.tui.widgets.virtual_table import VirtualTable

from ...core.precision.large_net import large_comparison
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


@pytest.mark.budget
async def test_a_key_costs_what_the_screen_shows_not_what_the_ranks_made(
    make_app: OpenApp, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Single calls as cells: 32 ranks of 20,000. Only what stands on the screen is put together again."""
    asked: list[int] = []
    squeeze = rank_heat.squeezed
    monkeypatch.setattr(rank_heat, "squeezed", lambda cells, n: (asked.append(n), squeeze(cells, n))[1])
    comparison = large_comparison(n_ranks=32, n_calls=20_000, n_layers=0, n_sets=2)
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        page = RankPage(comparison, 0, 0)
        app.push_screen(page)
        await until(pilot, lambda: page.matrix is not None and page.query_one(VirtualTable).view.n_rows)
        heat = page.heat
        assert heat.cells.shape == (32, 20_000)
        n_asked = len(asked)
        keys = ("l", "j", "l", "j", "pagedown", "l", "k", "G", "n", "n")
        began_s = time.process_time()
        await pilot.press(*keys)
        cpu_s = (time.process_time() - began_s) / len(keys)
        assert (heat.rank_at, heat.layer_at) == page.matrix.origins[1]
        assert len(asked) == n_asked, "the shown matrix is kept"
        assert cpu_s <= 0.030, "with the pilot's own"
        await until(pilot, lambda: page._call is not None and page._call.table.n_rows == 2 * 32)
