"""Pictures of the sample run at the sizes it is designed for. A changed one is looked at, then updated."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from npulse.core.run.discover import discover
from npulse.sample_runs import sample_path
from npulse.tui.app import NpulseApp
from npulse.tui.panes import make_pane
from npulse.tui.state import StateStore
from npulse.tui.widgets.detail import DetailView
from npulse.tui.widgets.virtual_table import VirtualTable

N_TRIES = 2000
SIZES = {"80x24": (80, 24), "120x40": (120, 40)}


def stands(app: NpulseApp) -> bool:
    """Compared, with the detail of the origin and nothing left to do."""
    details = app.main.query(DetailView)
    detail = details.first().detail if details else None
    busy = any(app._busy.values()) or any(not worker.is_finished for worker in app.workers)
    return detail is not None and "Pattern" in detail.headline and not busy


async def wait_for(pilot: Any, holds: Callable[[], bool]) -> None:
    for _ in range(N_TRIES):
        await pilot.pause(0.01)
        if holds():
            break
    assert holds()
    await pilot.pause(0.15)  # the strip and the footer follow the detail


@pytest.fixture
def workbench(tmp_path: Path) -> NpulseApp:
    """The sample run under a name that is the same on every machine, opened at a fixed time."""
    return NpulseApp(
        "sample_runs/w8a8",
        store=StateStore(tmp_path / "state", now_s=lambda: 1_700_000_000),
        open_run=lambda path, progress, is_cancelled: discover(sample_path("w8a8")),
        make_pane=make_pane,
        first_pane="precision",
        first_round=0,
    )


@pytest.mark.parametrize("size", SIZES)
def test_precision(snap_compare: Any, workbench: NpulseApp, size: str) -> None:
    async def settle(pilot: Any) -> None:
        await wait_for(pilot, lambda: stands(workbench))

    assert snap_compare(workbench, terminal_size=SIZES[size], run_before=settle)


def test_help(snap_compare: Any, workbench: NpulseApp) -> None:
    async def open_help(pilot: Any) -> None:
        await wait_for(pilot, lambda: stands(workbench))
        await pilot.press("question_mark")

    assert snap_compare(workbench, terminal_size=SIZES["80x24"], run_before=open_help)


def test_elements(snap_compare: Any, workbench: NpulseApp) -> None:
    async def open_elements(pilot: Any) -> None:
        await wait_for(pilot, lambda: stands(workbench))
        await pilot.press("enter")
        await wait_for(
            pilot, lambda: any(table.view.n_rows for table in workbench.screen.query(VirtualTable))
        )

    assert snap_compare(workbench, terminal_size=SIZES["120x40"], run_before=open_elements)
