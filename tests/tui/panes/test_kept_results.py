"""A run opened for the second time: every pane shows what was kept, no file of the run is opened; `r` reads
anew, and a file that has changed is noticed."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from npulse.core.cache import Cache
from npulse.tui.app import NpulseApp
from npulse.tui.panes.table_pane import TablePane
from npulse.tui.widgets.detail import DetailView

from ...opened import opened_in, settle_at_once
from . import memory_runs, performance_runs
from .captures import chain, write_capture, write_pair

OpenApp = Callable[..., NpulseApp]
Until = Callable[..., Awaitable[None]]
ScreenText = Callable[[NpulseApp], str]
PANES = {"2": "precision", "3": "overflow", "4": "memory", "5": "performance"}
WIDE = (120, 40)

pytestmark = pytest.mark.xdist_group("kept in panes")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    settle_at_once(monkeypatch)
    folder = tmp_path / "run"
    write_pair(folder)
    memory_runs.write_faults(folder)
    performance_runs.write_round(folder / "prof")
    return folder


def ready(app: NpulseApp, area: str) -> bool:
    """Everything that a pane shows of its own stands, and what was made is kept."""
    pane = app.pane
    return (
        isinstance(pane, TablePane)
        and pane.area == area
        and pane.shown is not None
        and not any(app._busy.values())
        and all(worker.is_finished for worker in app.workers)
        and pane.query_one(DetailView).detail is not None
    )


async def visited(app: NpulseApp, pilot: Any, until: Until, screen_text: ScreenText) -> dict[str, str]:
    """The screen of each pane."""
    screens = {}
    for key, area in PANES.items():
        await pilot.press(key)
        await until(pilot, lambda area=area: ready(app, area))
        await pilot.pause()
        screens[area] = screen_text(app)
    return screens


def without_kept(screen: str) -> list[str]:
    plain = re.sub(r"  kept [-0-9: ]+, files unchanged", "", screen)
    return [line.split("│")[0].rstrip() for line in plain.splitlines()]


async def test_the_second_opening_shows_what_was_kept_and_opens_no_file(
    run: Path, tmp_path: Path, open_app: OpenApp, until: Until, screen_text: ScreenText
) -> None:
    cache = Cache(tmp_path / "cache")
    app = open_app(run, cache=cache)
    async with app.run_test(size=WIDE) as pilot:
        with opened_in(run) as files:
            first = await visited(app, pilot, until, screen_text)
    assert len({Path(path).suffix for path in files}) >= 3, "the watch sees files of every area"
    assert not any("files unchanged" in screen for screen in first.values())
    app = open_app(run, cache=cache)
    async with app.run_test(size=WIDE) as pilot:
        with opened_in(run) as files:
            second = await visited(app, pilot, until, screen_text)
        assert files == []
        assert {area for area, screen in second.items() if "files unchanged" in screen} == set(first)
        for area, screen in second.items():
            assert without_kept(screen) == without_kept(first[area])
        await pilot.press("2")
        with opened_in(run) as files:
            await pilot.press("r")
            await until(pilot, lambda: ready(app, "precision") and app.pane.kept_s is None)  # type: ignore[union-attr]
        assert any(path.endswith("dump.json") for path in files)
        assert "files unchanged" not in screen_text(app)
    app = open_app(run, cache=cache)
    async with app.run_test(size=WIDE) as pilot:
        with opened_in(run) as files:
            await until(pilot, lambda: ready(app, "precision"))
        assert files == [] and "files unchanged" in screen_text(app), "what r has read is kept again"


async def test_a_pane_asked_for_twice_while_it_is_made_is_made_once(
    run: Path, open_app: OpenApp, until: Until
) -> None:
    app = open_app(run)
    async with app.run_test(size=WIDE) as pilot:
        await until(pilot, lambda: ready(app, "precision"))
        await asyncio.gather(*(app.main.show_pane(area) for area in ("memory", "memory", "performance")))
        assert [pane.area for pane in app.main.panes].count("memory") == 1
        assert app.pane is not None and app.pane.area == "performance"


async def test_a_file_that_has_changed_is_read_anew(
    run: Path, tmp_path: Path, open_app: OpenApp, until: Until, screen_text: ScreenText
) -> None:
    cache = Cache(tmp_path / "cache")
    for verdict in ("fail", "pass"):
        if verdict == "pass":  # the same names and sizes of files, other bytes
            shutil.rmtree(run / "npu")
            write_capture(run / "npu", chain())
        app = open_app(run, cache=cache)
        async with app.run_test(size=WIDE) as pilot:
            await until(pilot, lambda app=app: ready(app, "precision"))
            report = app.pane.report()  # type: ignore[union-attr]
            assert report is not None
            assert report.verdict == verdict
            assert "files unchanged" not in screen_text(app)
