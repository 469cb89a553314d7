"""What opens from the precision pane: elements, call stack, module tree, export."""

from __future__ import annotations

import csv
import json
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npulse.core.progress import check
from npulse.tui.app import NpulseApp
from npulse.tui.panes.precision.elements import ElementsPage
from npulse.tui.panes.precision.pages import ModulesPage
from npulse.tui.panes.precision.pane import PrecisionPane
from npulse.tui.screens.entry import Entry
from npulse.tui.screens.export import ExportPage
from npulse.tui.screens.main import MainPage
from npulse.tui.screens.page import LinesPage
from npulse.tui.widgets.bars import Bars
from npulse.tui.widgets.heatmap import Heatmap
from npulse.tui.widgets.virtual_table import VirtualTable

from .captures import MODULES, NAMES, ORIGIN, chain, write_pair

OpenApp = Callable[..., NpulseApp]
Compared = Callable[..., Awaitable[PrecisionPane]]
Until = Callable[..., Awaitable[None]]
ScreenText = Callable[[NpulseApp], str]
WIDE = (120, 40)


def notices(app: NpulseApp) -> list[str]:
    return [str(notification.message) for notification in app._notifications]


# ---- elements ----


async def test_elements_are_the_worst_with_index_and_both_values(
    open_app: OpenApp, compared: Compared, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    target, golden = (dict((n, o[0]) for n, _, o in chain(bad=bad))[ORIGIN] for bad in (ORIGIN, None))
    error = np.abs(target.astype(np.float64) - golden)
    worst = np.sort(error, axis=None)[::-1][:100]
    app = open_app(write_pair(tmp_path / "run"))
    async with app.run_test(size=WIDE) as pilot:
        pane = await compared(pilot)
        await pilot.press("enter")
        await until(
            pilot, lambda: app.screen.query(VirtualTable) and app.screen.query_one(VirtualTable).view.n_rows
        )
        page = app.screen
        assert isinstance(page, ElementsPage) and app.focused is page.query_one(VirtualTable)
        table = page.query_one(VirtualTable).view.table
        assert table.n_rows == 100
        np.testing.assert_allclose(table.column("abs_error").values, worst, rtol=1e-12)
        for row in (0, 1, 99):
            flat = int(table.column("flat_index").values[row])
            place = np.unravel_index(flat, error.shape)
            assert table.column("index").value(row) == str([int(i) for i in place])
            assert table.column("target").values[row] == target[place]
            assert table.column("golden").values[row] == golden[place]
        cells = page.query_one(Heatmap).values
        assert np.nansum(cells[0]) == 0 and (cells[1:] > 0).any(), "the first row is the one that agrees"
        figures = page.query_one(Bars).figures
        assert figures[0] == (error == 0).sum() and sum(figures) == error.size
        text = screen_text(app)
        assert f"{ORIGIN}.output.0" in text and "8x16" in text and "worst 100" in text
        assert "error map 8 rows x 16 columns" in text and "Enter open" not in text
        await pilot.press("j", "G", "pagedown", "right", "b")
        assert isinstance(app.screen, MainPage) and app.focused is pane.table
        assert pane.subject() == ORIGIN


async def test_elements_in_chinese_and_on_a_short_screen(
    open_app: OpenApp, compared: Compared, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    app = open_app(write_pair(tmp_path / "run"))
    async with app.run_test(size=WIDE) as pilot:
        await compared(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: "error map" in screen_text(app))
        await pilot.resize_terminal(60, 30)
        await until(pilot, lambda: len(screen_text(app).split("\n")) == 30)
        await pilot.pause()
        title = screen_text(app).split("\n")[0].strip()
        assert title.startswith("Module.") and "…" in title and title.endswith("worst 100"), title
        await pilot.resize_terminal(*WIDE)
        await pilot.press("L")
        assert "误差图 8 行 x 16 列" in screen_text(app) and "error map" not in screen_text(app)
        await pilot.resize_terminal(60, 15)
        await until(pilot, lambda: "误差图" not in screen_text(app))
        assert "[" in screen_text(app)
        await pilot.press("q")
        await until(pilot, lambda: isinstance(app.screen, MainPage))
        assert app.screen.has_class("-narrow", "-short") and not app.screen.has_class("-wide")


async def test_leaving_the_elements_page_cancels_the_reading(
    open_app: OpenApp,
    compared: Compared,
    until: Until,
    screen_text: ScreenText,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from npulse.core.precision import detail

    reading, ended = threading.Event(), threading.Event()

    def endless(*args: Any, is_cancelled: Callable[[], bool], **options: Any) -> Any:
        reading.set()
        try:
            while True:
                check(is_cancelled)
                ended.wait(0.005)
        finally:
            ended.set()

    monkeypatch.setattr(detail, "element_view", endless)
    app = open_app(write_pair(tmp_path / "run"))
    async with app.run_test(size=WIDE) as pilot:
        await compared(pilot)
        for key in ("escape", "ctrl+c"):
            reading.clear()
            ended.clear()
            await pilot.press("enter")
            await until(pilot, reading.is_set)
            assert "Reading the elements" in screen_text(app)
            await pilot.press(key)
            await until(pilot, ended.is_set)
            await until(pilot, lambda: isinstance(app.screen, MainPage))


async def test_an_unreadable_tensor_closes_the_page_with_the_reason(
    open_app: OpenApp, compared: Compared, until: Until, tmp_path: Path
) -> None:
    run = write_pair(tmp_path / "run")
    app = open_app(run)
    async with app.run_test(size=WIDE) as pilot:
        await compared(pilot)
        (run / f"npu/step0/rank0/dump_tensor_data/{ORIGIN}.output.0.npy").write_bytes(b"\x93NUMPY")
        await pilot.press("enter")
        await until(pilot, lambda: notices(app))
        assert isinstance(app.screen, MainPage) and f"{ORIGIN}.output.0.npy" in notices(app)[-1]


async def test_statistics_alone_have_no_elements(
    open_app: OpenApp, compared: Compared, tmp_path: Path
) -> None:
    app = open_app(write_pair(tmp_path / "run", with_files=False))
    async with app.run_test(size=WIDE) as pilot:
        pane = await compared(pilot)
        assert pane.subject() == ORIGIN, "statistics alone name the origin too"
        await pilot.press("enter")
        assert isinstance(app.screen, MainPage) and "only statistics" in notices(app)[-1]


# ---- stack and modules ----

FRAMES = (
    "File /opt/lib/torch/nn/modules/linear.py, line 117, in forward, \n return F.linear(input)",
    "File model/net.py, line 42, in forward, \n y = self.mlp(x)  # [red]",
)
PARENTS: dict[str, str | None] = {
    **{name: MODULES[0] if ".layers.1." in name else MODULES[1] for name in NAMES},
    MODULES[0]: MODULES[1],
    MODULES[1]: None,
}


async def test_stack_of_the_call(
    open_app: OpenApp, compared: Compared, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    app = open_app(write_pair(tmp_path / "run", stack={ORIGIN: FRAMES}))
    async with app.run_test(size=WIDE) as pilot:
        pane = await compared(pilot)
        detail = pane.query_one("DetailView").detail  # type: ignore[attr-defined]
        assert detail.source[:2] == ("model/net.py", 42)
        await pilot.press("t")
        await until(pilot, lambda: isinstance(app.screen, LinesPage))
        lines = screen_text(app).split("\n")
        inner = next(n for n, line in enumerate(lines) if "linear.py:117 in forward" in line)
        assert "* model/net.py:42 in forward  y = self.mlp(x)  # [red]" in lines[inner + 1]
        await pilot.press("q", "g", "t")
        await until(pilot, lambda: notices(app))
        assert isinstance(app.screen, MainPage) and "No call stack was recorded" in notices(app)[-1]


async def test_module_tree_leads_to_the_row(
    open_app: OpenApp, compared: Compared, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    app = open_app(write_pair(tmp_path / "run", parents=PARENTS))
    async with app.run_test(size=WIDE) as pilot:
        pane = await compared(pilot)
        await pilot.press("g", "v")
        await until(
            pilot, lambda: app.screen.query(VirtualTable) and app.screen.query_one(VirtualTable).view.n_rows
        )
        assert isinstance(app.screen, ModulesPage)
        lines = screen_text(app).split("\n")
        block = next(n for n, line in enumerate(lines) if "layers.1" in line and "Block" in line)
        decoder = next(n for n, line in enumerate(lines) if "Decoder" in line)
        assert decoder < block and "origin" in lines[block] and "error" in lines[block]
        for _ in range(block - decoder):
            await pilot.press("down")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, MainPage))
        assert pane.subject() == ORIGIN


async def test_a_page_whose_work_fails_says_why_and_closes(
    open_app: OpenApp, compared: Compared, until: Until, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from npulse.core.precision import layers

    def break_down(*_: Any) -> Any:
        raise RecursionError("too deep a tree")

    monkeypatch.setattr(layers, "module_tree", break_down)
    app = open_app(write_pair(tmp_path / "run"))
    async with app.run_test(size=WIDE) as pilot:
        pane = await compared(pilot)
        await pilot.press("v")
        await until(pilot, lambda: notices(app))
        assert "too deep a tree" in notices(app)[-1]
        assert isinstance(app.screen, MainPage) and app.focused is pane.table


async def test_module_tree_beats_a_filter(
    open_app: OpenApp, compared: Compared, until: Until, tmp_path: Path
) -> None:
    app = open_app(write_pair(tmp_path / "run"))
    async with app.run_test(size=WIDE) as pilot:
        pane = await compared(pilot)
        await pilot.press("slash", *"lm_head", "enter")
        await until(pilot, lambda: pane.table.view.n_rows == 2)
        await pilot.press("v")
        await until(
            pilot, lambda: app.screen.query(VirtualTable) and app.screen.query_one(VirtualTable).view.n_rows
        )
        await pilot.press("g", "enter")
        await until(pilot, lambda: isinstance(app.screen, MainPage))
        assert pane.subject() == NAMES[0] and pane.view.filter == ""


# ---- export ----


async def export(app: NpulseApp, pilot: Any, path: str) -> None:
    await pilot.press("x")
    assert isinstance(app.screen, ExportPage)
    app.screen.query_one(Entry).value = path
    await pilot.press("enter")


@pytest.mark.parametrize("suffix", ["csv", "json", "md"])
async def test_export(
    open_app: OpenApp, compared: Compared, until: Until, tmp_path: Path, suffix: str
) -> None:
    app = open_app(write_pair(tmp_path / "run"))
    path = tmp_path / f"out.{suffix}"
    async with app.run_test(size=WIDE) as pilot:
        pane = await compared(pilot)
        await export(app, pilot, str(path))
        await until(pilot, lambda: notices(app))
        assert "Written:" in notices(app)[-1] and path.name in notices(app)[-1].replace("\n", "")
        shown = pane.shown
        assert shown is not None
    text = path.read_text(encoding="utf-8")
    if suffix == "json":
        report = json.loads(text)
        assert report["verdict"] == "fail" and report["findings"][0]["subject"] == ORIGIN
        assert len(report["tables"]["precision"]) == shown.table.n_rows
    elif suffix == "csv":
        rows = list(csv.DictReader(text.splitlines()))
        assert len(rows) == shown.table.n_rows and rows[7]["role"] == "origin"
        assert float(rows[7]["cosine"]) == shown.table.column("cosine").values[7]
    else:
        assert ORIGIN in text and "|" in text


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("run/out.csv", "not written into the run"),
        ("run/npu/out.json", "not written into the run"),
        ("out.docx", "no report format for '.docx'"),
        ("no/such/folder/out.csv", "cannot write"),
    ],
)
async def test_export_that_is_refused_says_why(
    open_app: OpenApp, compared: Compared, until: Until, tmp_path: Path, name: str, said: str
) -> None:
    run = write_pair(tmp_path / "run")
    before = sorted(tmp_path.rglob("*"))
    app = open_app(run)
    async with app.run_test(size=WIDE) as pilot:
        await compared(pilot)
        await export(app, pilot, str(tmp_path / name))
        await until(pilot, lambda: notices(app))
        assert said in notices(app)[-1] and isinstance(app.screen, MainPage)
        await pilot.press("x", "escape")
        assert isinstance(app.screen, MainPage)
    after = [p for p in sorted(tmp_path.rglob("*")) if "state-of-test" not in p.parts]
    assert after == before
