"""Results of another tool in the precision pane: words in their cells, and sorted behind the numbers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from npulse.tui.app import NpulseApp
from npulse.tui.panes.precision.pane import PrecisionPane

from ...core.precision.theirs.tables import row, write
from .captures import NAMES, write_pair

OpenApp = Callable[..., NpulseApp]
Compared = Callable[..., Awaitable[PrecisionPane]]
ScreenText = Callable[[NpulseApp], str]


async def test_a_result_table_alone_is_shown_and_sorted(
    open_app: OpenApp, compared: Compared, screen_text: ScreenText, tmp_path: Path
) -> None:
    other = {"Bench_Tensor_Shape": "[4]", "Result": "error", "Cosine": "shape unmatched"}
    rows = [
        row("Torch.abs.0.forward.output.0", **other),
        row("Torch.abs.1.forward.output.0", Cosine="0.9999"),
        row("Torch.abs.2.forward.output.0", Cosine="0.5", MaxAbsErr="1.0", EucDist="2.0"),
    ]
    write(tmp_path / "compare_result_20260801120000.csv", rows)
    app = open_app(tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        pane = await compared(pilot)
        text = screen_text(app)
        assert "FAIL" in text and "by the verdict of msprobe compare" in text
        assert "shape unmatched" in text and "shape differs: [2, 2] / [4]" in text
        assert pane.table.current_row == 0
        assert pane.compared is None and not pane.in_footer("precision.stack")
        for key in ("w", "v", "enter"):  # what needs two captures says so and does nothing
            await pilot.press(key)
        assert app.pane is pane
        assert "another tool computed" in str(next(iter(app._notifications)).message)
        pane.change_view(sort="Cosine")
        await pilot.pause()
        order = pane.table.view.order
        assert order is not None and [int(place) for place in order] == [2, 1, 0]


async def test_beside_a_pair_it_can_be_chosen(
    open_app: OpenApp, compared: Compared, screen_text: ScreenText, tmp_path: Path
) -> None:
    run = write_pair(tmp_path / "run")
    write(run / "compare_result_20260801120000.csv", [row(f"{NAMES[0]}.output.0")])
    app = open_app(run)
    async with app.run_test(size=(120, 40)) as pilot:
        pane = await compared(pilot)
        assert pane.compared is not None
        pane.action_choose_pair()
        await pilot.pause()
        assert "what another tool computed: compare_result_20260801120000.csv" in screen_text(app)
        await pilot.press("down", "enter")
        pane = await compared(pilot)
        assert pane.compared is None and "PASS" in screen_text(app)
