"""Pictures of runs at the sizes that panes are designed for. A changed one is looked at, then updated."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from npulse.core.analysis import AnalysisOptions
from npulse.core.run.discover import discover
from npulse.sample_runs import sample_path
from npulse.tui.app import NpulseApp
from npulse.tui.panes import make_pane
from npulse.tui.panes.memory.pane import MemoryPane
from npulse.tui.state import StateStore
from npulse.tui.widgets.detail import DetailView
from npulse.tui.widgets.virtual_table import VirtualTable

from .panes.memory_runs import write_faults, write_sources
from .panes.overflow_runs import write_ranks, write_sum
from .panes.performance_runs import write_round as write_profile
from .panes.rounds_runs import write_archive

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


@pytest.fixture
def overflowing(tmp_path: Path) -> Callable[..., NpulseApp]:
    """A made-up run under a name that is the same on every machine, at the overflow pane."""

    def make(write: Callable[[Path], Path], **options: Any) -> NpulseApp:
        run = write(tmp_path / "run")
        return NpulseApp(
            "runs/fp16",
            store=StateStore(tmp_path / "state", now_s=lambda: 1_700_000_000),
            open_run=lambda path, progress, is_cancelled: discover(run),
            make_pane=make_pane,
            first_pane="overflow",
            **options,
        )

    return make


def stands_at(app: NpulseApp, words: str) -> bool:
    """All is looked through, with the detail of the origin and nothing left to do."""
    details = app.main.query(DetailView)
    detail = details.first().detail if details else None
    busy = any(app._busy.values()) or any(not worker.is_finished for worker in app.workers)
    return detail is not None and words in detail.headline and not busy


@pytest.mark.parametrize("size", SIZES)
def test_overflow(snap_compare: Any, overflowing: Callable[..., NpulseApp], size: str) -> None:
    app = overflowing(write_sum)

    async def settle(pilot: Any) -> None:
        await wait_for(pilot, lambda: stands_at(app, "it begins here"))

    assert snap_compare(app, terminal_size=SIZES[size], run_before=settle)


def test_overflow_of_ranks_in_chinese(snap_compare: Any, overflowing: Callable[..., NpulseApp]) -> None:
    app = overflowing(write_ranks, lang="zh")

    async def settle(pilot: Any) -> None:
        await wait_for(pilot, lambda: stands_at(app, "从这里开始"))

    assert snap_compare(app, terminal_size=SIZES["80x24"], run_before=settle)


def test_ranks(snap_compare: Any, overflowing: Callable[..., NpulseApp]) -> None:
    app = overflowing(lambda run: write_ranks(run, n_before=12))

    async def open_matrix(pilot: Any) -> None:
        await wait_for(pilot, lambda: stands_at(app, "it begins here"))
        await pilot.press("v")

    assert snap_compare(app, terminal_size=SIZES["80x24"], run_before=open_matrix)


@pytest.fixture
def faulty(tmp_path: Path) -> NpulseApp:
    """A made-up log with its sources, under names that are the same on every machine."""
    run = write_faults(tmp_path / "run")
    root = write_sources(tmp_path / "workspace" / "ops" / "vec_add" / "sources")
    options = AnalysisOptions(source_roots=(root,))
    return NpulseApp(
        "runs/vec_add",
        store=StateStore(tmp_path / "state", now_s=lambda: 1_700_000_000),
        open_run=lambda path, progress, is_cancelled: discover(run),
        make_pane=lambda area: MemoryPane(area, options),
        first_pane="memory",
    )


@pytest.mark.parametrize("size", SIZES)
def test_memory(snap_compare: Any, faulty: NpulseApp, size: str) -> None:
    async def settle(pilot: Any) -> None:
        await wait_for(pilot, lambda: stands_at(faulty, "lies outside the buffer"))

    assert snap_compare(faulty, terminal_size=SIZES[size], run_before=settle)


def test_memory_of_one_site(snap_compare: Any, faulty: NpulseApp) -> None:
    async def open_race(pilot: Any) -> None:
        await wait_for(pilot, lambda: stands_at(faulty, "lies outside the buffer"))
        await pilot.press("j", "enter")

    assert snap_compare(faulty, terminal_size=SIZES["120x40"], run_before=open_race)


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


def test_performance(snap_compare: Any, tmp_path: Path) -> None:
    run = write_profile(tmp_path / "run")
    app = NpulseApp(
        "runs/decode",
        store=StateStore(tmp_path / "state", now_s=lambda: 1_700_000_000),
        open_run=lambda path, progress, is_cancelled: discover(run),
        make_pane=make_pane,
        first_pane="performance",
    )

    async def settle(pilot: Any) -> None:
        await wait_for(pilot, lambda: stands_at(app, "MatMulV2"))

    assert snap_compare(app, terminal_size=(120, 36), run_before=settle)


@pytest.fixture
def utc() -> Iterator[None]:
    """The clock on the wall is the same everywhere."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.parametrize("size", SIZES)
def test_rounds(snap_compare: Any, tmp_path: Path, size: str, utc: None) -> None:
    archive = write_archive(tmp_path / "diag")
    app = NpulseApp(
        "runs/diag",
        store=StateStore(tmp_path / "state", now_s=lambda: 1_700_000_000),
        open_run=lambda path, progress, is_cancelled: discover(archive),
        make_pane=make_pane,
        first_pane="rounds",
    )

    async def settle(pilot: Any) -> None:
        await wait_for(pilot, lambda: stands_at(app, "Better"))

    assert snap_compare(app, terminal_size=SIZES[size], run_before=settle)


NPU_SMI = """\
+------------------------------------------------------------------------------------------------+
| npu-smi 25.2.3                   Version: 25.2.3                                               |
+---------------------------+---------------+----------------------------------------------------+
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip  Phy-ID              | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+===========================+===============+====================================================+
| 0     Ascend910           | OK            | 168.1       50                0    / 0             |
| 0     0                   | 0000:9D:00.0  | 0           0    / 0          3134 / 65536         |
+------------------------------------------------------------------------------------------------+
| 0     Ascend910           | Alarm         | -           88                0    / 0             |
| 1     1                   | 0000:9F:00.0  | 0           0    / 0          61444/ 65536         |
+===========================+===============+====================================================+
+---------------------------+---------------+----------------------------------------------------+
| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |
+===========================+===============+====================================================+
| No running processes found in NPU 0                                                            |
+===========================+===============+====================================================+
"""


def test_device(snap_compare: Any, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "npu_smi.txt").write_text(NPU_SMI)
    app = NpulseApp(
        "runs/cards",
        store=StateStore(tmp_path / "state", now_s=lambda: 1_700_000_000),
        open_run=lambda path, progress, is_cancelled: discover(tmp_path / "run"),
        make_pane=make_pane,
        first_pane="device",
    )

    async def settle(pilot: Any) -> None:
        await wait_for(pilot, lambda: stands_at(app, "Alarm"))

    assert snap_compare(app, terminal_size=SIZES["80x24"], run_before=settle)
