"""Panes that are not built: they say what will stand there, what of it lies in the run, and how to get it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from npulse.core.run.kinds import KINDS, kinds_of
from npulse.core.run.model import Run
from npulse.tui.actions import PANES
from npulse.tui.app import NpulseApp
from npulse.tui.messages import tr
from npulse.tui.panes import BUILT, make_pane
from npulse.tui.panes.pending import PendingPane

NOT_BUILT = [area for area, _, _ in PANES if area not in BUILT]
MakeApp = Callable[..., NpulseApp]
MakeRun = Callable[..., Run]


async def shown_lines(app: NpulseApp) -> list[str]:
    async with app.run_test(size=(100, 30)) as pilot:
        await app.workers.wait_for_complete()
        for _ in range(200):  # a machine that does other things too
            if app.pane is not None:
                break
            await pilot.pause(0.02)
        await pilot.pause()
        pane = app.pane
        assert isinstance(pane, PendingPane)
        return pane.lines()


@pytest.mark.parametrize("area", NOT_BUILT)
@pytest.mark.parametrize("lang", ["en", "zh"])
async def test_says_what_will_stand_there(make_app: MakeApp, area: str, lang: str) -> None:
    lines = await shown_lines(make_app(first_pane=area, make_pane=make_pane, lang=lang))
    name = next(zh if lang == "zh" else en for key, en, zh in PANES if key == area)
    assert name in lines[0] and lines[2] == tr(f"pending.{area}", lang)  # type: ignore[arg-type]


@pytest.mark.parametrize("area", ["overflow", "memory", "performance"])
async def test_names_the_command_that_captures(make_app: MakeApp, make_run: MakeRun, area: str) -> None:
    text = "\n".join(await shown_lines(make_app(first_pane=area, run=make_run({"": []}))))
    assert "Looked at 7 entries" in text and kinds_of(area)[0].captured_by in text


@pytest.mark.parametrize("area", ["overflow", "memory", "performance", "device"])
async def test_counts_what_it_would_read(make_app: MakeApp, make_run: MakeRun, area: str) -> None:
    kind, other = kinds_of(area)[0], next(k for k in KINDS.values() if area not in k.areas)
    run = make_run({"": [kind.id] * 3 + [other.id] * 2})
    text = "\n".join(await shown_lines(make_app(first_pane=area, run=run)))
    assert "Recognised in this round: 3" in text and f"3  {kind.id}  {kind.title}" in text
    assert other.id not in text


async def test_the_rounds_pane_counts_everything(make_app: MakeApp, make_run: MakeRun) -> None:
    text = "\n".join(await shown_lines(make_app(first_pane="rounds", run=make_run({"": list(KINDS)}))))
    assert f"Recognised in this round: {len(KINDS)}" in text
