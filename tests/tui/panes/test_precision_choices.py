"""What is compared where the folder does not say, or says several things; what stands there without."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import numpy as np

from npulse.core.precision.view import PrecisionView
from npulse.tui.app import NpulseApp
from npulse.tui.panes.precision.pane import PrecisionPane
from npulse.tui.screens.main import MainPage

from .captures import NAMES, ORIGIN, chain, write_capture, write_pair

OpenApp = Callable[..., NpulseApp]
Compared = Callable[..., Awaitable[PrecisionPane]]
Until = Callable[..., Awaitable[None]]
ScreenText = Callable[[NpulseApp], str]


async def test_pairs_of_one_round_are_counted_and_chosen(
    open_app: OpenApp, compared: Compared, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    for name, bad in (("bf16", None), ("fp16", ORIGIN)):
        write_capture(run / name / "npu", chain(bad=bad))
        write_capture(run / name / "cpu", chain())
    app = open_app(run)
    async with app.run_test(size=(80, 24)) as pilot:
        pane = await compared(pilot)
        assert " pair 1 of 2 (p)  PASS" in screen_text(app)
        await pilot.press("p", "down", "enter")
        await until(pilot, lambda: pane.shown is not None and pane.shown.report.verdict == "fail")
        await compared(pilot)
        assert " pair 2 of 2 (p)  FAIL" in screen_text(app) and pane.subject() == ORIGIN
        await pilot.press("p", *"another", "enter", *"bf16/cpu", "enter", *"bf16/npu", "enter")
        await until(pilot, lambda: pane.shown is not None and pane.shown.n_pairs == 1)
        shown = pane.shown
        assert isinstance(shown, PrecisionView) and shown.comparison.pair.target_root.name == "cpu"


async def test_one_of_several_captures_alone(
    open_app: OpenApp, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    calls = chain()
    calls[4][2][0][2, 3] = np.inf
    write_capture(tmp_path / "run" / "one", chain())
    write_capture(tmp_path / "run" / "two", calls[:5])
    app = open_app(tmp_path / "run")
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "do not say which is target" in screen_text(app))
        assert "p pair" in screen_text(app).split("\n")[-1]
        await pilot.press("p", *"two", "enter", *"no golden", "enter")
        await until(pilot, lambda: "One capture alone, 5 calls: 1 turn" in screen_text(app))
        assert NAMES[4] in screen_text(app)


async def test_a_file_of_no_tool(
    open_app: OpenApp, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("nothing that a tool wrote\n")
    app = open_app(path)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(
            pilot, lambda: "the output of a tool that is read here" in " ".join(screen_text(app).split())
        )
        text = screen_text(app)
        assert "press p" not in text and "p pair" not in text.split("\n")[-1]
        await pilot.press("p")
        assert isinstance(app.screen, MainPage)
        assert "nothing here to choose from" in str(next(iter(app._notifications)).message)


async def test_nan_is_seen_in_the_row_and_in_the_first_lines(
    open_app: OpenApp, compared: Compared, screen_text: ScreenText, tmp_path: Path
) -> None:
    calls = chain()
    calls[4][2][0][2, 3] = np.nan
    for step in (0, 1):
        write_capture(tmp_path / "run" / "npu", calls if step else chain(), step=step)
        write_capture(tmp_path / "run" / "cpu", chain(), step=step)
    app = open_app(tmp_path / "run")
    async with app.run_test(size=(100, 24)) as pilot:
        pane = await compared(pilot)
        lines = screen_text(app).split("\n")
        assert "step 1  NaN/Inf at other positions" in lines[3] and "cosine 1" not in lines[3]
        (cursor,) = [line for line in lines if line.startswith("▶")]
        assert "NaN" in cursor.split() and "1.000000" not in cursor
        assert pane.row is not None and pane.shown is not None
        assert pane.shown.table.column("cosine").value(pane.row) == 1.0, "the table itself keeps its figures"


async def test_a_long_name_does_not_hide_what_failed(
    open_app: OpenApp, compared: Compared, screen_text: ScreenText, tmp_path: Path
) -> None:
    names = ("Module." + "very_long_name." * 12 + "Linear.forward.0", *NAMES[1:])
    app = open_app(write_pair(tmp_path / "run", bad=names[0], names=names))
    async with app.run_test(size=(80, 24)) as pilot:
        await compared(pilot)
        line = screen_text(app).split("\n")[3]
        assert "origin: very_long" in line and "…" in line and "cosine 0.8" in line


async def test_chinese_words_of_io_and_modules(
    open_app: OpenApp, compared: Compared, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    app = open_app(write_pair(tmp_path / "run"), lang="zh")
    async with app.run_test(size=(120, 30)) as pilot:
        await compared(pilot)
        text = screen_text(app)
        assert "输入 0" in text and "输出 0" in text and "input 0" not in text and "output 0" not in text
        await pilot.press("i")
        assert "目标: npu/step0" in screen_text(app) and "target:" not in screen_text(app)
        await pilot.press("b", "v")
        await until(pilot, lambda: "错误" in screen_text(app))
        assert "error" not in screen_text(app)
