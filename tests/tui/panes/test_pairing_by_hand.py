"""Calls paired by hand in the pairing view: judged again, remembered, and taken back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest

from npulse.core.precision.by_hand import HandPair
from npulse.core.precision.compare import Settings
from npulse.core.precision.reading import work
from npulse.core.precision.view import PrecisionView
from npulse.tui.app import NpulseApp
from npulse.tui.panes.precision.pairing_lines import Left
from npulse.tui.panes.precision.pane import PrecisionPane
from npulse.tui.screens.entry import Entry

from ...core.precision.pages.unlike import by_hand, write_unlike
from .captures import write_pair
from .pairing import open_pairing

OpenApp = Callable[..., NpulseApp]
Compared = Callable[..., Awaitable[PrecisionPane]]
Until = Callable[..., Awaitable[None]]
ScreenText = Callable[[NpulseApp], str]


def was_said(app: NpulseApp, words: str) -> bool:
    return any(words in str(notification.message) for notification in app._notifications)


async def test_calls_are_paired_judged_remembered_and_forgotten(
    open_app: OpenApp,
    compared: Compared,
    until: Until,
    screen_text: ScreenText,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make = partial(PrecisionPane, settings=Settings(pair_calls=by_hand))
    run = write_unlike(tmp_path / "run")
    app = open_app(run, make_pane=make)
    async with app.run_test(size=(100, 30)) as pilot:
        pane = await compared(pilot)
        assert "2 calls unmatched (w)" in screen_text(app)
        before = pane.shown
        page = await open_pairing(app, pilot, until)
        await pilot.press("p")
        assert "Mark a call of one side first: < the target's" in str(list(app._notifications)[-1].message)
        await pilot.press("G", "greater_than_sign", "k", "k", "less_than_sign")
        await until(pilot, lambda: "marked: 1 target, 1 golden" in screen_text(app))
        await pilot.press("p")
        await until(pilot, lambda: page.rows is not None and page.rows.n_none == 0)
        text = screen_text(app)
        assert "by hand: 1  judged again when you leave" in text and "every call has a counterpart" in text
        line = next(line for line in text.split("\n") if "Torch.clamp.0" in line and "Torch.clamp.7" in line)
        assert " = " in line and "unknown" in line
        at_left = [line[:80] for line in text.split("\n") if "by hand: 1" in line or "u undo" in line]
        assert len(at_left) == 2 and "judged again when you leave" in at_left[0] and "x keep" in at_left[1]
        await pilot.press("g", "minus")
        await until(pilot, lambda: page.rows is not None and page.rows.n_none == 2)
        await pilot.press("u")
        await until(pilot, lambda: page.rows is not None and page.rows.n_none == 0)
        monkeypatch.chdir(run)
        for path, said in ((run / "m.yaml", "not written into the run"), (tmp_path / "m.yaml", "Written:")):
            await pilot.press("x")
            entry = app.screen.query_one(Entry)
            assert not Path(entry.value).is_relative_to(run), "never suggested in the run"
            entry.value = str(path)
            await pilot.press("enter")
            await until(pilot, partial(was_said, app, said))
        kept = (tmp_path / "m.yaml").read_text()
        assert '"Torch.clamp.0.forward.output.0": "Torch.clamp.7.forward.output.0"' in kept
        assert not (run / "m.yaml").exists()
        await pilot.press("q")
        await until(pilot, lambda: pane.shown is not before)
        pane = await compared(pilot)
        assert pane.shown is not None
        assert pane.shown.by_hand == (HandPair(("Torch.clamp.0.forward",), ("Torch.clamp.7.forward",)),)
        text = screen_text(app)
        assert "1 paired by hand" in text and "unmatched" not in text.split("\n")[2]
        verdicts = dict(
            zip(*(pane.shown.table.column(c).to_list(0, 99) for c in ("operator", "verdict")), strict=True)
        )
        assert verdicts["Torch.clamp.0.forward"] == "pass"
    again = open_app(run, make_pane=make)
    async with again.run_test(size=(100, 30)) as pilot:
        pane = await compared(pilot)
        assert "1 paired by hand" in screen_text(again), "it is remembered"
        before = pane.shown
        await open_pairing(again, pilot, until)
        await pilot.press("0", "escape")
        await until(pilot, lambda: pane.shown is not before)
        pane = await compared(pilot)
        assert "by hand" not in screen_text(again) and "2 calls unmatched (w)" in screen_text(again)


async def test_further_captures_of_the_run_take_over_what_was_paired(
    open_app: OpenApp, compared: Compared, until: Until, tmp_path: Path
) -> None:
    run = tmp_path / "archive"
    for name in ("000-a", "001-b"):
        write_unlike(run / name)
    pair = HandPair(("Torch.clamp.0.forward",), ("Torch.clamp.7.forward",))
    app = open_app(run, make_pane=partial(PrecisionPane, settings=Settings(pair_calls=by_hand)))
    async with app.run_test(size=(100, 30)) as pilot:
        pane = await compared(pilot)
        assert pane.shown is not None and pane.shown.by_hand == () and isinstance(pane.shown, PrecisionView)
        before = pane.shown
        pane._leave_pairing(before, before.comparison.ranks[0], Left(pairs=(pair,)))
        await until(pilot, lambda: pane.shown is not None and pane.shown is not before)
        await pilot.press("p", "down", "enter")
        await until(pilot, lambda: pane.shown is not None and getattr(pane.shown, "pair_index", 0) == 1)
        pane = await compared(pilot)
        assert isinstance(pane.shown, PrecisionView) and pane.shown.by_hand == (pair,)
        assert pane.shown.comparison.pair.target_name != before.comparison.pair.target_name


async def test_other_pairs_cost_no_second_reading(
    open_app: OpenApp, compared: Compared, until: Until, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = open_app(write_pair(tmp_path / "run"))
    async with app.run_test(size=(100, 30)) as pilot:
        pane = await compared(pilot)
        assert pane.shown is not None
        before = pane.shown
        rows = pane.shown.comparison.ranks[0].rows
        read: list[int] = []
        measured = work.measure

        def counting(job: work.TensorJob) -> work.Measured:
            read.append(job.row)
            return measured(job)

        monkeypatch.setattr("npulse.core.precision.reading.reads.measure", counting)
        await open_pairing(app, pilot, until)
        await pilot.press("g", "minus", "escape")
        await until(pilot, lambda: pane.shown is not before)
        pane = await compared(pilot)
        assert pane.shown is not None and pane.shown.report.counts["unmatched"] == 2 and read == []
        now = pane.shown.comparison.ranks[0].rows
        assert now.figure("cosine", now.n_rows - 1) == rows.figure("cosine", rows.n_rows - 1)
