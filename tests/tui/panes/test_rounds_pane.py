"""The rounds pane as a person uses it: keys in, what stands on the screen out."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from npulse.core.rounds import story as story_module
from npulse.core.run.discover import discover
from npulse.tui.app import NpulseApp
from npulse.tui.panes.memory.pane import MemoryPane
from npulse.tui.panes.rounds.pane import RoundsPane
from npulse.tui.screens.page import LinesPage
from npulse.tui.screens.rows import RowList
from npulse.tui.terminal import terminal_from
from npulse.tui.widgets.detail import DetailView

from ...core.rounds.archives import NAMES, golden_archive
from .rounds_runs import FIRST, SECOND, write_archive

OpenApp = Callable[..., NpulseApp]
Until = Callable[..., Awaitable[None]]
ScreenText = Callable[[NpulseApp], str]
SMALL, WIDE = (80, 24), (140, 40)


@pytest.fixture
def open_rounds(open_app: OpenApp, tmp_path: Path) -> OpenApp:
    def make(run: Path | None = None, **options: Any) -> NpulseApp:
        return open_app(run or write_archive(tmp_path / "diag"), **{"first_pane": "rounds", **options})

    return make


def pane_of(app: NpulseApp) -> RoundsPane:
    pane = app.pane
    assert isinstance(pane, RoundsPane)
    return pane


async def told(pilot: Any, until: Until) -> RoundsPane:
    """The pane once all figures are there, with the detail of the row under the cursor."""
    app = pilot.app

    def is_done() -> bool:
        pane = app.pane
        return (
            isinstance(pane, RoundsPane)
            and pane.shown is not None
            and pane.shown.is_complete
            and not app._busy.get("rounds")
            and pane.query_one(DetailView).detail is not None
        )

    await until(pilot, is_done)
    await pilot.pause(0.15)
    return pane_of(app)


@pytest.mark.parametrize("size", [SMALL, WIDE])
async def test_says_which_change_fixed_it(
    open_rounds: OpenApp, until: Until, screen_text: ScreenText, size: tuple[int, int]
) -> None:
    app = open_rounds()
    async with app.run_test(size=size) as pilot:
        pane = await told(pilot, until)
        text = screen_text(app)
        assert "2 rounds" in text and "better now: mem. sites" in text
        assert f"{SECOND} better after --dtype fp16 → bf16; " in text
        assert "1 better" in text and pane.row == 1
        assert "INF_NAN_MODE_ENABLE 0 -> 1" in " ".join(text.split())


async def test_ascii_and_chinese(open_rounds: OpenApp, until: Until, screen_text: ScreenText) -> None:
    plain = terminal_from({"TERM": "screen", "LANG": "C"}, is_tty=True, encoding="ascii")
    app = open_rounds(terminal=plain)
    async with app.run_test(size=SMALL) as pilot:
        await told(pilot, until)
        text = screen_text(app)
        assert text.isascii() and "fp16 -> bf16" in text
    app = open_rounds(app.opened and app.opened.path, lang="zh")
    async with app.run_test(size=SMALL) as pilot:
        await told(pilot, until)
        text = screen_text(app).replace(" ", "")
        assert "共2轮" in text and "1更好" in text and "此前改动" in text
        await pilot.press("4")  # a pane that is made only now is in Chinese throughout
        await until(pilot, lambda: "1-1 / 1" in screen_text(app))
        await pilot.press("7")
        await pilot.press("L")
        await pilot.pause(0.15)
        assert "changed before it" in screen_text(app)


async def test_enter_opens_the_round_in_its_pane(open_rounds: OpenApp, until: Until) -> None:
    app = open_rounds()
    async with app.run_test(size=SMALL) as pilot:
        await told(pilot, until)
        await pilot.press("k", "enter")
        await until(pilot, lambda: isinstance(app.pane, MemoryPane) and app.pane.shown is not None)
        assert app.round_index == 0 and app.pane is not None
        assert app.pane.round is not None and app.pane.round.name == FIRST


async def test_brackets_move_the_cursor_and_ask_nothing_again(open_rounds: OpenApp, until: Until) -> None:
    app = open_rounds()
    async with app.run_test(size=SMALL) as pilot:
        pane = await told(pilot, until)
        version = pane.version
        await pilot.press("[")
        await until(pilot, lambda: pane.row == 0)
        assert pane.version == version and app.round_index == 0


async def test_d_compares_with_the_round_before(
    open_rounds: OpenApp, until: Until, screen_text: ScreenText
) -> None:
    app = open_rounds()
    async with app.run_test(size=SMALL) as pilot:
        pane = await told(pilot, until)
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, LinesPage))
        lines = [row.text for row in app.screen.query_one(RowList).rows]
        assert lines[0].startswith("diff: verdict") and any("Memory: 0 new, 1 gone" in line for line in lines)
        await pilot.press("escape", "k")
        await until(pilot, lambda: pane.row == 0)
        await pilot.press("d")
        await pilot.pause()
        assert "first round" in str([*app._notifications][-1].message)


async def test_rows_come_before_figures(
    open_rounds: OpenApp, until: Until, screen_text: ScreenText, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()
    real = story_module._ask

    def slow(*arguments: Any) -> Any:
        assert go_on.wait(30)
        return real(*arguments)

    monkeypatch.setattr(story_module, "_ask", slow)
    app = open_rounds()
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: isinstance(app.pane, RoundsPane) and app.pane.shown is not None)
        await pilot.pause(0.15)
        text = screen_text(app)
        assert "SO FAR" in text and "0 of 2 rounds" in text and FIRST in text and "fp16 → bf16" in text
        go_on.set()
        await told(pilot, until)
        assert "SO FAR" not in screen_text(app)


async def test_a_round_that_recorded_nothing_says_so(
    open_rounds: OpenApp, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    app = open_rounds(write_archive(tmp_path / "other", outcome="nothing"))
    async with app.run_test(size=SMALL) as pilot:
        await told(pilot, until)
        text = screen_text(app)
        assert "recorded nothing: 1" in text and f"{SECOND}: nothing was recorded" in text


async def test_an_empty_folder_says_what_writes_rounds(
    open_rounds: OpenApp, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    app = open_rounds(tmp_path / "empty")
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: "npulse capture memory" in screen_text(app))
        assert "No round was found" in screen_text(app)


async def test_every_figure_has_its_column_before_the_words(
    open_rounds: OpenApp, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    """What was changed stands whole in the detail: in the table the figures come first."""
    archive = write_archive(tmp_path / "two")
    manifest = archive / "sanitizer" / SECOND / "round.toml"
    card = '[[device.after.chips]]\nnpu = 0\nchip = 0\nname = "910B3"\nhealth = "OK"\n'
    manifest.write_text(f'{manifest.read_text()}\n[device.after]\nstate = "ok"\n{card}')
    app = open_rounds(archive)
    async with app.run_test(size=SMALL) as pilot:
        await told(pilot, until)
        heads = next(line for line in screen_text(app).splitlines() if "changed before it" in line)
        assert "mem. sites" in heads and "unwell cards" in heads


async def test_a_round_without_figures_is_marked_without_colour(
    open_rounds: OpenApp, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    archive = write_archive(tmp_path / "open", outcome="incomplete")
    manifest = archive / "sanitizer" / FIRST / "round.toml"
    text = manifest.read_text().replace('"closed"', '"running"').split("[recorded]")[0]
    manifest.write_text(text)
    app = open_rounds(archive)
    async with app.run_test(size=SMALL) as pilot:
        await told(pilot, until)
        lines = screen_text(app).splitlines()
        assert any(f"! {FIRST}" in line for line in lines) and any(f"? {SECOND}" in line for line in lines)


async def test_the_cursor_goes_to_a_new_round_that_is_opened(
    open_rounds: OpenApp, until: Until, tmp_path: Path
) -> None:
    """As after a capture: the folder is read again, and the workbench stands on the round that it made."""
    archive = write_archive(tmp_path / "diag")
    third = "third_20260301-100200"
    app = open_rounds(archive)
    async with app.run_test(size=SMALL) as pilot:
        pane = await told(pilot, until)
        await pilot.press("k")
        (archive / "sanitizer" / third / "raw").mkdir(parents=True)
        manifest = (archive / "sanitizer" / SECOND / "round.toml").read_text()
        (archive / "sanitizer" / third / "round.toml").write_text(manifest.replace("10:01", "10:02"))
        app.open_new_round(archive / "sanitizer" / third, "rounds")
        await until(pilot, lambda: pane.shown is not None and len(pane.shown.found.rows) == 3)
        await until(pilot, lambda: pane.row == 2)
        await told(pilot, until)
        assert app.opened is not None and app.opened.rounds[app.round_index].name == third
        await pilot.press("k")
        assert pane.row == 1
        await pilot.press("L")
        await told(pilot, until)
        assert pane.row == 1, "the same round draws no cursor"


@pytest.mark.parametrize("is_following", [True, False])
async def test_a_round_that_another_terminal_makes_appears(
    open_rounds: OpenApp, until: Until, screen_text: ScreenText, tmp_path: Path, is_following: bool
) -> None:
    """Whether this pane follows or another one: what comes of the watch is the run with one round more."""
    archive = write_archive(tmp_path / "diag")
    app = open_rounds(archive)
    async with app.run_test(size=SMALL) as pilot:
        pane = await told(pilot, until)
        if is_following:
            await pilot.press("F")
            await until(pilot, lambda: pane.is_following)
        third = archive / "sanitizer" / "third_20260301-100200"
        third.mkdir()
        manifest = (archive / "sanitizer" / SECOND / "round.toml").read_text()
        (third / "round.toml").write_text(manifest.replace("10:01", "10:02").replace('"closed"', '"running"'))
        assert pane.row == 1
        if not is_following:
            pane.take_batch(discover(archive), app.round_index, ("memory",))
        await until(pilot, lambda: pane.shown is not None and len(pane.shown.found.rows) == 3)
        await told(pilot, until)
        assert pane.row == 1, "the cursor stays with its round"
        assert "third_2026" in screen_text(app)


async def test_a_figure_is_drawn_and_a_round_becomes_the_baseline(
    open_rounds: OpenApp, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    """The chart follows the column cursor; `p` keeps a baseline in the state folder, `u` takes it back."""
    archive = golden_archive(tmp_path / "golden").path
    app = open_rounds(archive)
    async with app.run_test(size=SMALL) as pilot:
        pane = await told(pilot, until)
        text = screen_text(app)
        assert f"mem. sites met first in {NAMES[2]} (worse since: st" in text
        assert "step ms 12  needs" not in text and "step ms 12  + better  ! worse  ? unknown" in text
        bars = text.splitlines()
        at = next(i for i, line in enumerate(bars) if "step ms 12  +" in line)
        assert [line.strip() for line in bars[at + 1 : at + 4]] == [
            "15 ▃▃▃▃▃ ▃▃▃▃▃ █████       ▅▅▅▅▅",
            "0 █████ █████ █████       █████",
            "!           +^",
        ]
        pane.table.move_to_column("n_memory_sites")
        await pilot.press("k", "k")
        await until(pilot, lambda: "mem. sites 0  needs <= 0" in screen_text(app))
        await pilot.press("p")
        await until(pilot, lambda: pane.shown is not None and pane.shown.found.baseline == NAMES[2])
        await until(pilot, lambda: f"B {NAMES[2][:14]}" in screen_text(app))
        assert app.store.baseline(str(archive)) == NAMES[2] and pane.row == 2
        assert pane.table.move_to_column("against")
        await until(pilot, lambda: "worse: mem. sites; better: step ms" in screen_text(app))
        await pilot.press("G", "d")
        await until(pilot, lambda: isinstance(app.screen, LinesPage))
        lines = [row.text for row in app.screen.query_one(RowList).rows]
        assert "  step ms 15 → 12  better" in lines
        await pilot.press("escape", "u")
        await until(pilot, lambda: pane.shown is not None and pane.shown.found.baseline == "")
        assert app.store.baseline(str(archive)) == "" and pane.row == 4
