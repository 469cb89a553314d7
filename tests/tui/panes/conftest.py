"""The panes in the workbench, over folders that the tests write."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from npulse.tui.app import NpulseApp
from npulse.tui.panes import make_pane
from npulse.tui.panes.memory.pane import MemoryPane
from npulse.tui.panes.overflow.pane import OverflowPane
from npulse.tui.panes.precision.pane import PrecisionPane
from npulse.tui.widgets.detail import DetailView

N_TRIES = 1500


@pytest.fixture
def open_app(make_app: Callable[..., NpulseApp]) -> Callable[..., NpulseApp]:
    """The workbench on a folder, as `npulse FOLDER` opens it."""

    def make(run: Path, **options: Any) -> NpulseApp:
        options.setdefault("open_run", None)
        options.setdefault("make_pane", make_pane)
        options.setdefault("first_pane", "precision")
        return make_app(str(run), **options)

    return make


@pytest.fixture
def until() -> Callable[..., Awaitable[None]]:
    """Let the app run until something holds; fails where it never does."""

    async def wait(pilot: Any, holds: Callable[[], object]) -> None:
        for _ in range(N_TRIES):
            await pilot.pause()
            if holds():
                return
            await pilot.pause(0.01)
        assert holds()

    return wait


def pane_of(app: NpulseApp) -> PrecisionPane:
    pane = app.pane
    assert isinstance(pane, PrecisionPane)
    return pane


@pytest.fixture
def compared(until: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[PrecisionPane]]:
    """The pane once the comparison is complete and the detail of the first finding stands."""

    async def wait(pilot: Any) -> PrecisionPane:
        app = pilot.app

        def is_done() -> bool:
            pane = app.pane
            return (
                isinstance(pane, PrecisionPane)
                and pane.shown is not None
                and pane.shown.is_complete
                and not app._busy.get("precision")
                and pane.query_one(DetailView).detail is not None
            )

        await until(pilot, is_done)
        return pane_of(app)

    return wait


@pytest.fixture
def looked(until: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[OverflowPane]]:
    """The overflow pane once all is looked through, in order, with the detail of the row under the cursor."""

    async def wait(pilot: Any) -> OverflowPane:
        app = pilot.app

        def is_done() -> bool:
            pane = app.pane
            return (
                isinstance(pane, OverflowPane)
                and pane.shown is not None
                and pane.shown.is_complete
                and not app._busy.get("overflow")
                and all(worker.is_finished for worker in app.workers)
                and pane.query_one(DetailView).detail is not None
            )

        await until(pilot, is_done)
        await pilot.pause()
        pane = app.pane
        assert isinstance(pane, OverflowPane)
        return pane

    return wait


@pytest.fixture
def logs_read(until: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[MemoryPane]]:
    """The memory pane once all logs are read, with the detail of the row under the cursor if there is one."""

    async def wait(pilot: Any) -> MemoryPane:
        app = pilot.app

        def is_done() -> bool:
            pane = app.pane
            return (
                isinstance(pane, MemoryPane)
                and pane.shown is not None
                and pane.shown.is_complete
                and not app._busy.get("memory")
                and all(worker.is_finished for worker in app.workers)
                and (not pane.table.view.n_rows or pane.query_one(DetailView).detail is not None)
            )

        await until(pilot, is_done)
        await pilot.pause()
        pane = app.pane
        assert isinstance(pane, MemoryPane)
        return pane

    return wait
