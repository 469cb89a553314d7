"""The capture dialog as a person uses it: fields, plan, preflight, log, stop, result. Real processes."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from npulse.core.capture.driver import StopStep
from npulse.core.capture.events import Output
from npulse.core.findings import Finding
from npulse.core.formats.manifest import read_manifest
from npulse.core.run.discover import discover
from npulse.tui.app import NpulseApp
from npulse.tui.capture_end import wait_for_end
from npulse.tui.capture_job import MAX_LINES, CaptureJob
from npulse.tui.screens.ask import AskPage
from npulse.tui.screens.capture import CapturePage
from npulse.tui.screens.capture_run import CaptureRunPage
from npulse.tui.screens.entry import Entry
from npulse.tui.screens.main import MainPage
from npulse.tui.screens.rows import RowList
from npulse.tui.state import StateStore
from npulse.tui.terminal import terminal_from

from .capture_doubles import RECORDS, WAITS, DoubleDriver, double, script

__all__ = ["double", "script"]  # fixtures

MakeApp = Callable[..., NpulseApp]
ScreenText = Callable[[NpulseApp], str]
Script = Callable[[str], str]
SMALL, WIDE = (80, 24), (140, 40)
LADDER = (StopStep(signal.SIGINT, 30.0), StopStep(signal.SIGTERM, 30.0))


async def until(pilot: Any, holds: Callable[[], object]) -> None:
    for _ in range(1500):
        await pilot.pause(0.01)
        if holds():
            return
    assert holds()


@pytest.fixture
def open_dialog(make_app: MakeApp, tmp_path: Path) -> Callable[..., NpulseApp]:
    """The workbench on a folder of its own, beside which the archive lies."""

    def make(**options: Any) -> NpulseApp:
        run = tmp_path / "run"
        run.mkdir(exist_ok=True)
        options.setdefault("open_run", lambda path, progress, is_cancelled: discover(path))
        return make_app(str(run), **{"first_pane": "memory", **options})

    return make


async def dialog(pilot: Any, app: NpulseApp, command: str = "", archive: Path | None = None) -> CapturePage:
    await until(pilot, lambda: app.opened is not None)
    await pilot.press("C")
    await until(pilot, lambda: isinstance(app.screen, CapturePage) and app.screen.focused is not None)
    page = app.screen
    assert isinstance(page, CapturePage)
    if command:
        field(page, "command").value = command
    if archive is not None:
        field(page, "archive").value = str(archive)
    return page


def field(page: CapturePage, name: str) -> Entry:
    return page.query_one(f"#capture-{name}", Entry)


def lines(app: NpulseApp) -> list[str]:
    return [row.text for row in app.screen.query_one(RowList).rows]


async def started(pilot: Any, app: NpulseApp) -> CaptureRunPage:
    """Enter checks, Enter again starts."""
    await pilot.press("enter")
    await until(pilot, lambda: any("Enter starts it" in line for line in lines(app)))
    await until(pilot, lambda: isinstance(app.screen.focused, RowList))
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(app.screen, CaptureRunPage))
    page = app.screen
    assert isinstance(page, CaptureRunPage)
    return page


@pytest.mark.parametrize("size", [SMALL, WIDE])
async def test_from_the_fields_to_the_new_round(
    open_dialog: MakeApp,
    double: type[DoubleDriver],
    script: Script,
    screen_text: ScreenText,
    tmp_path: Path,
    size: tuple[int, int],
) -> None:
    app, archive = open_dialog(), tmp_path / "diag"
    async with app.run_test(size=size) as pilot:
        page = await dialog(pilot, app, script(RECORDS), archive)
        assert field(page, "kind").value == "memory", "the pane that was left says what to capture"
        await until(pilot, lambda: any("a script.py" in line for line in lines(app)))
        assert not archive.exists(), "a plan touches nothing"
        run_page = await started(pilot, app)
        await until(pilot, lambda: not run_page.job.is_running)
        await until(pilot, lambda: "recorded: 1 file," in screen_text(app))
        text = screen_text(app)
        assert "exit status 0" in text and "step 1" in text and "Enter opens the round" in text
        assert "\x1b" not in text and "[31mdone" in text
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, MainPage) and app.opened is not None)
        await until(pilot, lambda: app.run_path == str(archive))
        assert app.pane is not None and app.pane.area == "memory" and app.capture_job is None
    (folder,) = (archive / "sanitizer").iterdir()
    told = read_manifest(folder / "round.toml")
    assert told["state"] == "closed" and told["recorded"]["outcome"] == "recorded"
    assert os.listdir(tmp_path / "run") == []


async def test_the_field_that_is_wrong_is_named(
    open_dialog: MakeApp, double: type[DoubleDriver], screen_text: ScreenText
) -> None:
    app = open_dialog()
    async with app.run_test(size=SMALL) as pilot:
        page = await dialog(pilot, app)
        await until(pilot, lambda: any("command: type the command" in line for line in lines(app)))
        field(page, "command").value = "python x.py"
        field(page, "repeat").value = "many"
        await until(pilot, lambda: any("repeat: 'many' is no number" in line for line in lines(app)))
        await pilot.press("enter")
        await pilot.pause(0.2)
        assert app.capture_job is None and isinstance(app.screen, CapturePage)


async def test_keys_walk_fields_and_choices(
    open_dialog: MakeApp, double: type[DoubleDriver], screen_text: ScreenText
) -> None:
    app = open_dialog()
    async with app.run_test(size=SMALL) as pilot:
        page = await dialog(pilot, app)
        await pilot.press("tab")
        assert page._field == "kind"
        await pilot.press("down")
        assert field(page, "kind").value == "performance"
        await pilot.press("up", "up")
        assert field(page, "kind").value == "overflow"
        await pilot.press("tab", "down")
        assert (page._field, field(page, "tool").value) == ("tool", "double")
        await pilot.pause()
        assert "double, other" in screen_text(app)
        await pilot.press("shift+tab")
        assert page._field == "kind"
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, MainPage))


async def test_errors_of_the_preflight_hold_it_back_unless_forced(
    open_dialog: MakeApp,
    double: type[DoubleDriver],
    script: Script,
    screen_text: ScreenText,
    tmp_path: Path,
) -> None:
    double.findings = (
        Finding("capture", "error", "capture.device", "suspect", "device", "card 3 is hot", "let it cool"),
    )
    app, archive = open_dialog(), tmp_path / "diag"
    async with app.run_test(size=SMALL) as pilot:
        page = await dialog(pilot, app, script(RECORDS), archive)
        await pilot.press("enter")
        await until(pilot, lambda: any("Held back, errors: 1" in line for line in lines(app)))
        text = "\n".join(lines(app))
        assert "E ✗ cards: card 3 is hot" in text and "next: let it cool" in text
        await pilot.press("down", "enter")
        await pilot.pause(0.2)
        assert app.capture_job is None and not archive.exists()
        field(page, "force").value = "yes"
        field(page, "command").focus()
        run_page = await started(pilot, app)
        await until(pilot, lambda: not run_page.job.is_running)
        assert run_page.job.state.result is not None


async def test_stop_goes_a_rung_further_each_time(
    open_dialog: MakeApp,
    double: type[DoubleDriver],
    script: Script,
    screen_text: ScreenText,
    tmp_path: Path,
) -> None:
    double.stop = LADDER
    app = open_dialog()
    async with app.run_test(size=SMALL) as pilot:
        await dialog(pilot, app, script(WAITS), tmp_path / "diag")
        page = await started(pilot, app)
        await until(pilot, lambda: "waits" in page.job.lines())
        await pilot.press("s")
        await until(pilot, lambda: "asked 1x to stop, sent: SIGINT" in screen_text(app))
        assert page.job.is_running
        await pilot.press("ctrl+c")
        await until(pilot, lambda: not page.job.is_running)
        assert page.job.state.rungs == ("SIGINT", "SIGTERM")
        await until(pilot, lambda: "the double wrote nothing" in screen_text(app))
        assert "let it write" in screen_text(app) and "ended by signal 15" in screen_text(app).lower()


async def test_it_goes_on_while_other_panes_are_looked_at(
    open_dialog: MakeApp,
    double: type[DoubleDriver],
    script: Script,
    screen_text: ScreenText,
    tmp_path: Path,
) -> None:
    double.stop = LADDER
    app = open_dialog()
    async with app.run_test(size=SMALL) as pilot:
        await dialog(pilot, app, script(WAITS), tmp_path / "diag")
        page = await started(pilot, app)
        await until(pilot, lambda: "waits" in page.job.lines())
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, MainPage))
        assert page.job.is_running and "capturing" in screen_text(app)
        await pilot.press("ctrl+c", "escape")  # what cancels jobs of the workbench ends no capture
        await pilot.pause(0.1)
        assert page.job.state.n_asked == 0
        await pilot.press("q")
        await until(pilot, lambda: isinstance(app.screen, AskPage))
        assert "A capture is running" in screen_text(app)
        await pilot.press("n", "C")
        await until(pilot, lambda: isinstance(app.screen, CaptureRunPage))
        await pilot.press("s", "s")
        await until(pilot, lambda: not page.job.is_running)
        await pilot.press("escape", "q")
    assert app.capture_job is None


async def test_quitting_ends_it_and_closes_the_round(
    open_dialog: MakeApp, double: type[DoubleDriver], script: Script, tmp_path: Path
) -> None:
    double.stop = (StopStep(signal.SIGINT, 0.2), StopStep(signal.SIGTERM, 30.0))
    app, archive = open_dialog(), tmp_path / "diag"
    async with app.run_test(size=SMALL) as pilot:
        await dialog(pilot, app, script(WAITS), archive)
        page = await started(pilot, app)
        await until(pilot, lambda: "waits" in page.job.lines())
        await pilot.press("escape", "q")
        await until(pilot, lambda: isinstance(app.screen, AskPage))
        await pilot.press("y")
    app.end_capture()
    assert not page.job.is_running
    (folder,) = (archive / "sanitizer").iterdir()
    told = read_manifest(folder / "round.toml")
    assert told["state"] == "closed" and told["recorded"]["outcome"] == "nothing"
    assert told["stopped_by"] == "user" and told["signal"] == signal.SIGTERM


async def test_values_are_remembered_for_the_run(
    open_dialog: MakeApp, double: type[DoubleDriver], script: Script, state: Path, tmp_path: Path
) -> None:
    command = script(RECORDS)
    app = open_dialog()
    async with app.run_test(size=SMALL) as pilot:
        page = await dialog(pilot, app, command, tmp_path / "diag")
        field(page, "level").value = "L1"
        field(page, "force").value = "yes"
        run_page = await started(pilot, app)
        await until(pilot, lambda: not run_page.job.is_running)
    app = open_dialog(store=StateStore(state))
    async with app.run_test(size=SMALL) as pilot:
        page = await dialog(pilot, app)
        assert (field(page, "command").value, field(page, "level").value) == (command, "L1")
        assert field(page, "force").value == "no", "that is said anew each time"


async def test_plain_terminal_and_chinese(
    open_dialog: MakeApp, double: type[DoubleDriver], script: Script, screen_text: ScreenText, tmp_path: Path
) -> None:
    plain = terminal_from({"TERM": "screen", "LANG": "C"}, is_tty=True, encoding="ascii")
    app = open_dialog(terminal=plain)
    async with app.run_test(size=SMALL) as pilot:
        await dialog(pilot, app, script(RECORDS), tmp_path / "diag")
        page = await started(pilot, app)
        assert screen_text(app).isascii()
        await until(pilot, lambda: not page.job.is_running)
        await until(pilot, lambda: "recorded" in screen_text(app))
        assert screen_text(app).isascii()
    app = open_dialog(lang="zh")
    async with app.run_test(size=SMALL) as pilot:
        await dialog(pilot, app, script(RECORDS), tmp_path / "diag")
        await until(pilot, lambda: any("将要运行的内容" in line for line in lines(app)))
        assert "归档目录" in screen_text(app).replace(" ", "")


async def test_a_flood_of_output_is_bounded_and_drawn_four_times_a_second(
    open_dialog: MakeApp, double: type[DoubleDriver], script: Script, tmp_path: Path
) -> None:
    go_on = threading.Event()

    def flood(request: Any, forced: bool, on_event: Any, stop: Any) -> None:
        for n in range(200):
            on_event(Output(tuple(f"line {n} {k}" for k in range(100))))
        assert go_on.wait(30)

    app = open_dialog(run_capture=flood)
    async with app.run_test(size=SMALL) as pilot:
        await dialog(pilot, app, script(RECORDS), tmp_path / "diag")
        page = await started(pilot, app)
        await until(pilot, lambda: page.job.state.n_lines == 20_000)
        assert len(page.job.lines()) == MAX_LINES and page.job.lines()[-1] == "line 199 99"
        await until(pilot, lambda: lines(app)[-1] == "line 199 99")
        shown = page._shown
        page._look()
        assert page._shown is shown or page._shown[1] != shown[1]  # type: ignore[index]
        go_on.set()
        await until(pilot, lambda: not page.job.is_running)


async def test_a_capture_that_cannot_start_says_why(
    open_dialog: MakeApp,
    double: type[DoubleDriver],
    script: Script,
    screen_text: ScreenText,
    tmp_path: Path,
) -> None:
    def broken(request: Any, forced: bool, on_event: Any, stop: Any) -> None:
        raise RuntimeError("out of\x1b[2J luck")

    app = open_dialog(run_capture=broken)
    async with app.run_test(size=SMALL) as pilot:
        await dialog(pilot, app, script(RECORDS), tmp_path / "diag")
        await started(pilot, app)
        await until(pilot, lambda: "luck" in screen_text(app))
        assert "\x1b" not in screen_text(app)
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.screen, CaptureRunPage)


def test_a_hang_up_is_a_reason_and_waiting_ends_with_the_round(
    double: type[DoubleDriver], script: Script, tmp_path: Path
) -> None:
    from npulse.tui.capture_form import request_from

    double.stop = (StopStep(signal.SIGINT, 0.2), StopStep(signal.SIGTERM, 30.0))
    typed = {"command": script(WAITS), "kind": "memory", "archive": str(tmp_path / "diag")}
    ended = threading.Event()
    job = CaptureJob(request_from(typed, cwd=tmp_path, environment=os.environ, lang="en"), on_end=ended.set)
    job.start()
    while not job.lines() and job.is_running:
        job.wait(0.02)
    job.ask_stop("hang-up")
    wait_for_end(job, "en")
    assert ended.is_set() and job.state.error is None and job.state.result is not None
    told = read_manifest(job.state.result.folder / "round.toml")
    assert (told["state"], told["stopped_by"]) == ("closed", "hang-up")


async def test_the_keys_are_back_after_a_terminal_that_was_too_small(
    open_dialog: MakeApp, double: type[DoubleDriver], script: Script, tmp_path: Path
) -> None:
    """While only the message is shown nothing can hold the keys; who had them gets them back."""
    app = open_dialog()
    async with app.run_test(size=SMALL) as pilot:
        await dialog(pilot, app, script(RECORDS), tmp_path / "diag")
        page = await started(pilot, app)
        await until(pilot, lambda: not page.job.is_running and page.can_open)
        await pilot.resize_terminal(30, 8)
        await until(pilot, lambda: page.focused is None)
        await pilot.resize_terminal(*SMALL)
        await until(pilot, lambda: isinstance(page.focused, RowList))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, MainPage))
