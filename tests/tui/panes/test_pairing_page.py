"""The pairing view: which call stands against which, to be walked over, filtered and opened."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import process_time

import numpy as np

from npulse.core.precision.compare import Settings
from npulse.core.precision.pages import pairing_rows as pages
from npulse.tui.app import NpulseApp
from npulse.tui.panes.precision.members_page import MembersPage
from npulse.tui.panes.precision.pane import PrecisionPane
from npulse.tui.screens.main import MainPage
from npulse.tui.widgets.virtual_table import VirtualTable

from ...core.precision.pages.unlike import by_hand, write_unlike
from .pairing import open_pairing

OpenApp = Callable[..., NpulseApp]
Compared = Callable[..., Awaitable[PrecisionPane]]
Until = Callable[..., Awaitable[None]]
ScreenText = Callable[[NpulseApp], str]


async def test_sequences_are_walked_filtered_and_opened(
    open_app: OpenApp, compared: Compared, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    make = partial(PrecisionPane, settings=Settings(pair_calls=by_hand))
    app = open_app(write_unlike(tmp_path / "run"), make_pane=make)
    async with app.run_test(size=(80, 24)) as pilot:
        pane = await compared(pilot)
        page = await open_pairing(app, pilot, until)
        lines = screen_text(app).split("\n")
        assert "2 unpaired · 1 doubtful · 4 pairs · 1 group · 1 recomputed · calls: 5" in lines[1]
        assert page.line == 6, "it opens at the call under the pane's cursor"
        assert ["┌" in line for line in lines[4:7]] == [True, False, False] and " ~└ " in lines[6]
        assert "? " in lines[7] and "Functional.linear.1" in lines[7]
        await pilot.press("g", "n")
        await until(pilot, lambda: page.line == 4)
        assert "place between sure pairs" in screen_text(app)
        await pilot.press("n", "n", "n")
        assert page.line == 7 and page.query_one(VirtualTable).has_focus
        await pilot.press("w")
        await until(pilot, lambda: page.table.view.n_rows == 3)
        await pilot.press("slash", *"clamp", "enter")
        await until(pilot, lambda: page.table.view.n_rows == 2)
        await pilot.press("N", "N")
        await until(pilot, lambda: page.line == 4)
        assert page.table.view.n_rows == page.rows.n_lines, "what a filter hides is shown again"  # type: ignore[union-attr]
        await pilot.press("G", "k", "enter")
        await until(pilot, lambda: isinstance(app.screen, MainPage))
        assert pane.subject() == "Torch.add.0.forward"


async def test_a_filter_is_left_first_and_chinese_fits(
    open_app: OpenApp, compared: Compared, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    make = partial(PrecisionPane, settings=Settings(pair_calls=by_hand))
    app = open_app(write_unlike(tmp_path / "run"), make_pane=make, lang="zh")
    async with app.run_test(size=(120, 40)) as pilot:
        await compared(pilot)
        page = await open_pairing(app, pilot, until)
        await pilot.press("g", "down", "down", "down")
        await until(pilot, lambda: "融合表" in screen_text(app))
        await pilot.press("slash", *"zz", "enter")
        await until(pilot, lambda: page.table.view.n_rows == 0)
        await pilot.press("n")
        await pilot.press("slash", "escape", "b")
        await until(pilot, lambda: page.table.view.n_rows == 8)
        assert app.screen is page
        await pilot.press("b")
        await until(pilot, lambda: isinstance(app.screen, MainPage))


async def test_a_hundred_thousand_calls_are_turned_page_by_page(
    open_app: OpenApp, compared: Compared, until: Until, tmp_path: Path
) -> None:
    make = partial(PrecisionPane, settings=Settings(pair_calls=by_hand))
    app = open_app(write_unlike(tmp_path / "run"), make_pane=make)
    async with app.run_test(size=(80, 24)) as pilot:
        await compared(pilot)
        page = await open_pairing(app, pilot, until)
        rank = page.rank
        n, names = 100_000, [f"Functional.linear.{i}.forward" for i in range(100_000)]
        no_leaves = np.zeros(n + 1, np.int64)
        dump = replace(rank.target, calls=replace(rank.target.calls, names=names, first_leaf=no_leaves))
        page.rank = replace(rank, target=dump, golden=dump)
        empty, every = np.zeros(0, np.int64), np.arange(n)
        golden = np.where(every % 10 == 0, -1, every)
        began = process_time()
        page.rows = pages.pairing_rows(page.rank, type(rank.rows.pairing)(every, golden, empty, empty, empty))
        page._show()
        made_s, began = process_time() - began, process_time()
        await pilot.press("G", *["pageup"] * 6, "n", "N")
        turned_s = process_time() - began
        assert page.rows.n_lines == n and page.line is not None
        assert made_s < 1.5 and turned_s / 9 < 0.05, (made_s, turned_s / 9)


async def test_a_group_unfolds_and_its_compared_value_leads_back(
    open_app: OpenApp, compared: Compared, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    make = partial(PrecisionPane, settings=Settings(pair_calls=by_hand))
    app = open_app(write_unlike(tmp_path / "run"), make_pane=make)
    async with app.run_test(size=(80, 24)) as pilot:
        pane = await compared(pilot)
        await pilot.press("g", "j")
        assert pane.subject() == "NPU.npu_swiglu.0.forward"
        await pilot.press("plus")
        await until(pilot, lambda: isinstance(app.screen, MembersPage))
        text = screen_text(app)
        assert "Unfolded: NPU.npu_swiglu.0" in text and "1 call of the target against 3" in text
        here = next(line for line in text.split("\n") if "▶" in line)
        assert "target" in here and "output 0" in here, "the cursor is on the compared value"
        await pilot.press("G", "enter")
        await until(pilot, lambda: isinstance(app.screen, MainPage))
        assert pane.subject() == "NPU.npu_swiglu.0.forward"
