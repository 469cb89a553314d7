"""The device pane as a person uses it; npu-smi is played by the double that stands in front of PATH."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from npulse.tui.app import NpulseApp
from npulse.tui.panes.device import pane as pane_module
from npulse.tui.panes.device.pane import DevicePane
from npulse.tui.panes.device.sparks import spark
from npulse.tui.terminal import terminal_from
from npulse.tui.widgets.detail import DetailView

OpenApp = Callable[..., NpulseApp]
Until = Callable[..., Awaitable[None]]
ScreenText = Callable[[NpulseApp], str]
SMALL, WIDE = (80, 24), (140, 40)
DOUBLES = Path(__file__).resolve().parents[2] / "doubles"


@pytest.fixture
def npu_smi(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Path]:
    """Put the double in front of PATH; returns the log of its calls."""

    def play(scenario: str, layout: str = "A3", **more: str) -> Path:
        log = tmp_path / "calls.log"
        monkeypatch.setenv(
            "PATH", f"{DOUBLES}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}/usr/bin:/bin"
        )
        own = {"SCENARIO": scenario, "LAYOUT": layout, "LOG": str(log), **more}
        for name, value in own.items():
            monkeypatch.setenv(f"NPU_SMI_{name}", value)
        return log

    return play


@pytest.fixture
def saved(npu_smi: Callable[..., Path], tmp_path: Path) -> Path:
    """A run that holds what npu-smi said of a hot card."""
    npu_smi("hot")
    run = tmp_path / "run"
    run.mkdir()
    done = subprocess.run([str(DOUBLES / "npu-smi"), "info"], capture_output=True, check=True)
    (run / "npu_smi.txt").write_bytes(done.stdout)
    return run


def pane_of(app: NpulseApp) -> DevicePane:
    pane = app.pane
    assert isinstance(pane, DevicePane)
    return pane


async def stands(pilot: Any, until: Until) -> DevicePane:
    app = pilot.app

    def is_done() -> bool:
        pane = app.pane
        return isinstance(pane, DevicePane) and pane.query_one(DetailView).detail is not None

    await until(pilot, is_done)
    await pilot.pause(0.15)
    return pane_of(app)


@pytest.mark.parametrize("size", [SMALL, WIDE])
async def test_the_first_lines_name_the_card(
    open_app: OpenApp, until: Until, screen_text: ScreenText, saved: Path, size: tuple[int, int]
) -> None:
    app = open_app(saved, first_pane="device")
    async with app.run_test(size=size) as pilot:
        pane = await stands(pilot, until)
        text = screen_text(app)
        assert "4 chips" in text and "not well: 1" in text and "npu_smi.txt" in text
        assert "E ✗ NPU 1 chip 1: health Alarm" in text and "next:" in text
        assert pane.subject() == "NPU 1 chip 1" and "91" in text


async def test_plain_terminal_and_chinese(
    open_app: OpenApp, until: Until, screen_text: ScreenText, saved: Path
) -> None:
    plain = terminal_from({"TERM": "screen", "LANG": "C"}, is_tty=True, encoding="ascii")
    app = open_app(saved, first_pane="device", terminal=plain)
    async with app.run_test(size=SMALL) as pilot:
        await stands(pilot, until)
        assert screen_text(app).isascii() and "E x NPU 1 chip 1" in screen_text(app)
    app = open_app(saved, first_pane="device", lang="zh")
    async with app.run_test(size=SMALL) as pilot:
        await stands(pilot, until)
        assert "异常：1" in screen_text(app).replace(" ", "")


async def test_polling_shows_this_machine_and_stops(
    open_app: OpenApp,
    until: Until,
    screen_text: ScreenText,
    saved: Path,
    npu_smi: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(pane_module, "POLL_PAUSE_S", 0.01)
    state = tmp_path / "state.json"
    state.write_text(json.dumps({"chips": [{"npu": 0, "chip": 0, "temp": 50}]}))
    npu_smi("healthy", layout="L1", STATE=str(state))
    app = open_app(saved, first_pane="device")
    async with app.run_test(size=SMALL) as pilot:
        pane = await stands(pilot, until)
        await pilot.press("p")
        await until(pilot, lambda: pane._now is not None and pane.table.view.n_rows == 1)
        state.write_text(json.dumps({"chips": [{"npu": 0, "chip": 0, "temp": 89}]}))
        await until(pilot, lambda: "50..89" in screen_text(app))
        text = screen_text(app)
        assert "polling" in text and "this machine, now" in text and "NPU 0: 89 C, above 85 C" in text
        await pilot.press("p")
        await pilot.pause(0.1)
        assert "polled, stopped" in screen_text(app) and pane._poll_timer is None
        await pilot.press("t")  # back to what the round says
        await until(pilot, lambda: pane.table.view.n_rows == 4)
        assert "npu_smi.txt" in screen_text(app)
        await pilot.press("t")
        await until(pilot, lambda: pane.table.view.n_rows == 1)


@pytest.mark.parametrize(
    ("scenario", "words"),
    [
        ("unreachable", "driver not reachable (-8005)"),
        ("none", "no card on this machine"),
        ("occupied", "used by somebody else (-8020)"),
    ],
)
async def test_a_machine_that_cannot_tell_is_not_well(
    open_app: OpenApp,
    until: Until,
    screen_text: ScreenText,
    npu_smi: Callable[..., Path],
    tmp_path: Path,
    scenario: str,
    words: str,
) -> None:
    npu_smi(scenario)
    (tmp_path / "empty").mkdir()
    app = open_app(tmp_path / "empty", first_pane="device")
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: "p asks npu-smi of this machine" in screen_text(app))
        await pilot.press("p")
        await until(pilot, lambda: words in screen_text(app))
        text = screen_text(app)
        assert "UNKNOWN" in text and "next:" in text and "PASS" not in text


async def test_a_machine_without_npu_smi(
    open_app: OpenApp,
    until: Until,
    screen_text: ScreenText,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "empty").mkdir()
    app = open_app(tmp_path / "empty", first_pane="device")
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: "p asks npu-smi" in screen_text(app))
        await pilot.press("p")
        await until(pilot, lambda: "npu-smi missing" in screen_text(app))


async def test_the_age_of_the_last_good_values_is_told(
    open_app: OpenApp,
    until: Until,
    screen_text: ScreenText,
    saved: Path,
    npu_smi: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pane_module, "POLL_PAUSE_S", 0.01)
    npu_smi("healthy")
    app = open_app(saved, first_pane="device")
    async with app.run_test(size=WIDE) as pilot:
        pane = await stands(pilot, until)
        await pilot.press("p")
        await until(pilot, lambda: pane._good_s is not None)
        npu_smi("unreachable")
        pane._live = None  # the environment is read when npu-smi is first looked for
        await until(pilot, lambda: "last good values" in screen_text(app))
        assert "driver not reachable (-8005)" in screen_text(app)


async def test_nothing_is_asked_while_nobody_looks(
    open_app: OpenApp,
    until: Until,
    saved: Path,
    npu_smi: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pane_module, "POLL_PAUSE_S", 0.01)
    log = npu_smi("healthy")
    app = open_app(saved, first_pane="device")
    async with app.run_test(size=SMALL) as pilot:
        pane = await stands(pilot, until)
        await pilot.press("p")
        await until(pilot, lambda: pane._now is not None)
        await pilot.press("4")
        await until(pilot, lambda: pane._poll_timer is None and not asking(app))
        n_calls = log.read_text().count("begin")
        await pilot.pause(0.3)
        assert log.read_text().count("begin") == n_calls
        await pilot.press("6")
        await until(pilot, lambda: log.read_text().count("begin") > n_calls)


def asking(app: NpulseApp) -> bool:
    return any(worker.group == pane_module.POLL_GROUP and not worker.is_finished for worker in app.workers)


async def test_escape_ends_polling_that_hangs(
    open_app: OpenApp, until: Until, screen_text: ScreenText, saved: Path, npu_smi: Callable[..., Path]
) -> None:
    npu_smi("hang")
    app = open_app(saved, first_pane="device")
    async with app.run_test(size=SMALL) as pilot:
        pane = await stands(pilot, until)
        await pilot.press("p")
        await until(pilot, lambda: asking(app))
        assert "Asking npu-smi" in screen_text(app)
        await pilot.press("escape")
        await until(pilot, lambda: not asking(app))
        await pilot.pause()
        assert not pane._is_polling
        assert "Asking npu-smi" not in screen_text(app) and "npu_smi.txt" in screen_text(app)


async def test_of_several_files_each_row_names_its_own(
    open_app: OpenApp, until: Until, screen_text: ScreenText, saved: Path, npu_smi: Callable[..., Path]
) -> None:
    npu_smi("busy", CHIPS="3")
    done = subprocess.run([str(DOUBLES / "npu-smi"), "info"], capture_output=True, check=True)
    (saved / "later.txt").write_bytes(done.stdout)
    app = open_app(saved, first_pane="device")
    async with app.run_test(size=WIDE) as pilot:
        await stands(pilot, until)
        text = screen_text(app)
        assert "6 chips" in text and "told by 2 files" in text, "each chip once, however many files tell it"
        assert "later.txt" in text and "npu_smi.txt" in text


@pytest.mark.parametrize("lang", ["en", "zh"])
async def test_no_rule_id_stands_where_words_belong(
    open_app: OpenApp,
    until: Until,
    screen_text: ScreenText,
    saved: Path,
    npu_smi: Callable[..., Path],
    tmp_path: Path,
    lang: str,
) -> None:
    """A chip that is loaded and idle has no few words of its own: the rule's title stands there."""
    state = tmp_path / "state.json"
    chips = [{"npu": 0, "chip": 0, "hbm": 57784}]
    state.write_text(json.dumps({"chips": chips, "processes": [[0, 0, 4711, "python3.11", 54366]]}))
    npu_smi("healthy", STATE=str(state))
    done = subprocess.run([str(DOUBLES / "npu-smi"), "info"], capture_output=True, check=True)
    (saved / "npu_smi.txt").write_bytes(done.stdout)
    app = open_app(saved, first_pane="device", lang=lang)
    async with app.run_test(size=WIDE) as pilot:
        await stands(pilot, until)
        text = screen_text(app).replace(" ", "")
        assert "loaded-idle" not in text
        assert ("已加载但" if lang == "zh" else "achipisloaded") in text
        pane = pane_of(app)
        specs = {spec.name: spec for spec in pane.specs(pane.table.view.table)}
        assert specs["state"].instead is not None
        assert specs["state"].instead(0) == ("已加载" if lang == "zh" else "loaded")


async def test_enter_shows_all_of_a_chip(
    open_app: OpenApp, until: Until, screen_text: ScreenText, saved: Path
) -> None:
    app = open_app(saved, first_pane="device")
    async with app.run_test(size=WIDE) as pilot:
        await stands(pilot, until)
        await pilot.press("enter")
        await until(pilot, lambda: "All that is known of this chip" in screen_text(app))
        assert "processes" in screen_text(app) and "temperature_c" in screen_text(app)


def test_sparks_span_their_lowest_and_highest() -> None:
    assert spark([1, 2, 3, 4, 5, 6, 7, 8], 8, False) == "▁▂▃▄▅▆▇█"
    assert spark([5, 5, 5], 10, False) == "▁▁▁" and spark([], 5, False) == ""
    assert spark([0, 9, 0, 0], 2, True) == "#_" and len(spark(list(range(100)), 7, True)) == 7
