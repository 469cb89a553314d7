"""The check-up pane as a person uses it: keys in, what stands on the screen out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from npulse.tui.app import NpulseApp
from npulse.tui.panes.checkup.pane import CheckUpPane
from npulse.tui.panes.memory.pane import MemoryPane
from npulse.tui.screens.page import LinesPage
from npulse.tui.state import user_config_file
from npulse.tui.terminal import terminal_from
from npulse.tui.widgets.detail import DetailView

from .memory_runs import checked, illegal_write

OpenApp = Callable[..., NpulseApp]
Until = Callable[..., Awaitable[None]]
ScreenText = Callable[[NpulseApp], str]
SMALL, WIDE = (80, 24), (140, 40)


def write_run(folder: Path) -> Path:
    """Two rounds: the first with an illegal write, the second clean; npu-smi says nothing."""
    for name, log in (("round1", checked(illegal_write(0))), ("round2", checked(""))):
        (folder / name).mkdir(parents=True)
        (folder / name / "mssanitizer.log").write_text(log, encoding="utf-8")
    return folder


async def told(pilot: Any, until: Until) -> CheckUpPane:
    app = pilot.app

    def is_done() -> bool:
        pane = app.pane
        return (
            isinstance(pane, CheckUpPane)
            and pane.shown is not None
            and pane.shown.is_complete
            and not app._busy.get("checkup")
            and all(worker.is_finished for worker in app.workers)
            and pane.query_one(DetailView).detail is not None  # it takes its room from the table
        )

    await until(pilot, is_done)
    await pilot.pause()
    pane = app.pane
    assert isinstance(pane, CheckUpPane)
    return pane


async def test_says_what_to_open_first_and_opens_it(
    open_app: OpenApp, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    app = open_app(write_run(tmp_path / "diag"), first_pane="checkup")
    async with app.run_test(size=SMALL) as pilot:
        pane = await told(pilot, until)
        text = screen_text(app)
        assert "PASS  all that was recorded meets the criteria" in text
        assert "not recorded: Environment, Device, Precision, Overflow, Performance" in text
        assert "4 Memory      ✓ pass" in text and "5 Performance · not recorded" in text
        await pilot.press("[")  # as things stood at the first round
        await until(pilot, lambda: pane.shown is not None and pane.shown.found.state == "fail")
        pane = await told(pilot, until)
        text = screen_text(app)
        assert "FAIL  look first at Memory (4) · 1 of 1 areas fail" in text
        assert "E ✗ /build/host7/ops/op_kernel/vec_add.cpp:38: access outside" in text
        assert pane.row == 4 and "next: npulse memory" in text and "--round" in text
        await pilot.press("L")
        await until(pilot, lambda: "访问越界" in screen_text(app))  # the area itself was asked again
        pane = await told(pilot, until)
        assert "FAIL  首先查看 内存 (4) · 1 项中 1 项不通过" in screen_text(app)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.pane, MemoryPane) and app.pane.shown is not None)
        assert app.round_index == 0 and "illegal write" in screen_text(app)


async def test_ascii_and_the_users_criteria_file(
    open_app: OpenApp, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    criteria = user_config_file("criteria.toml")
    criteria.parent.mkdir(parents=True, exist_ok=True)
    criteria.write_text("[performance]\nstep_ms = 10\n", encoding="utf-8")
    plain = terminal_from({"TERM": "screen", "LANG": "C"}, is_tty=True, encoding="ascii")
    app = open_app(write_run(tmp_path / "diag"), first_pane="checkup", terminal=plain)
    async with app.run_test(size=WIDE) as pilot:
        pane = await told(pilot, until)
        text = screen_text(app)
        assert text.isascii() and "UNKNOWN  look first at Performance (5), 1 of 2 areas could not" in text
        assert "? unknown" in text and "npulse capture performance -- python train.py" in text
        assert pane.row == 5 and pane.place() == (criteria, None)  # e opens it
        await pilot.press("i")
        await until(pilot, lambda: isinstance(app.screen, LinesPage))
        assert f"criteria: {criteria}"[:60] in screen_text(app)


async def test_a_broken_criteria_file_is_told_with_key_and_line(
    open_app: OpenApp, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    criteria = user_config_file("criteria.toml")
    criteria.parent.mkdir(parents=True, exist_ok=True)
    criteria.write_text("[memory]\nfault = 0\n", encoding="utf-8")
    app = open_app(write_run(tmp_path / "diag"), first_pane="checkup")
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: "memory.fault: no such criterion" in screen_text(app))
        assert "did you mean 'faults'?" in screen_text(app) and app.pane is not None
        assert app.pane.report() is None


async def test_a_run_that_is_written_is_looked_at_again(
    open_app: OpenApp, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    run.mkdir()
    log = run / "mssanitizer.log"
    log.write_text(checked(""), encoding="utf-8")
    app = open_app(run, first_pane="checkup", follow=True)
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: app.pane is not None and app.pane.is_following)
        await until(pilot, lambda: "INCOMPLETE  look first at Memory (4)" in screen_text(app))
        assert "4 Memory      ? incomplete" in screen_text(app)  # a fresh log may not be at its end
        with log.open("a", encoding="utf-8") as file:
            file.write(checked(illegal_write(0)))
        await until(pilot, lambda: "FAIL  look first at Memory (4)" in screen_text(app))
        assert "4 Memory      ✗ fail" in screen_text(app)
