"""The overflow pane as a person uses it: keys in, what stands on the screen out."""

from __future__ import annotations

import asyncio
import csv
import json
import re
import shutil
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.cells import cell_len
from textual.pilot import Pilot

from npulse.core.analysis import AnalysisOptions
from npulse.core.overflow import analyse, run_report
from npulse.core.overflow.analyse import Overflow
from npulse.core.overflow.run_report import report_of
from npulse.core.progress import check
from npulse.tui import clipboard
from npulse.tui.app import NpulseApp
from npulse.tui.keymap import MAP_NAMES, clashes, named_keymap
from npulse.tui.panes.base import finding_text
from npulse.tui.panes.overflow.pages import RanksPage
from npulse.tui.panes.overflow.pane import UPSTREAM as ONLY_UPSTREAM
from npulse.tui.panes.overflow.pane import OverflowPane
from npulse.tui.panes.precision.pane import PrecisionPane
from npulse.tui.screens.choice import ChoicePage
from npulse.tui.screens.entry import Entry
from npulse.tui.screens.main import MainPage
from npulse.tui.screens.page import LinesPage
from npulse.tui.terminal import terminal_from
from npulse.tui.widgets.detail import DetailView
from npulse.tui.widgets.strip import LayerStrip

from .captures import write_capture
from .overflow_runs import (
    BAD_RANK,
    LOG,
    MEAN,
    N_ROWS,
    ORIGIN,
    REDUCE,
    RESIDUAL,
    SUSPECT,
    UPSTREAM,
    sum_calls,
    write_clean,
    write_monitor,
    write_ranks,
    write_saturated,
    write_sum,
)

OpenApp = Callable[..., NpulseApp]
Looked = Callable[..., Awaitable[OverflowPane]]
Until = Callable[..., Awaitable[None]]
ScreenText = Callable[[NpulseApp], str]
SMALL, WIDE = (80, 24), (120, 40)


@pytest.fixture
def open_overflow(open_app: OpenApp) -> OpenApp:
    """The workbench on a folder, at the overflow pane."""
    return lambda run, **options: open_app(run, **{"first_pane": "overflow", **options})


def notices(app: NpulseApp) -> list[str]:
    return [str(notification.message) for notification in app._notifications]


def operator(pane: OverflowPane) -> str | None:
    return pane.subject()


def filtered(pane: OverflowPane, n_rows: int) -> Callable[[], bool]:
    return lambda: pane.table.view.n_rows == n_rows


def n_upstream(pane: OverflowPane) -> int:
    return 0 if pane.shown is None else len(pane.shown.upstream_rows)


def headline(pane: OverflowPane) -> str:
    detail = pane.query_one(DetailView).detail
    return "" if detail is None else detail.headline


def footer(text: str) -> str:
    return text.split("\n")[-1]


def shown_rows(text: str) -> list[str]:
    """The rows of the table as they stand on the screen, without what stands beside it."""
    lines = text.split("\n")
    first = next(n for n, line in enumerate(lines) if "operator call" in line or "算子调用" in line) + 1
    last = next(n for n, line in enumerate(lines) if re.match(r" [\d,]+-[\d,]+ ", line))
    return [line.split("│")[0].rstrip() for line in lines[first:last] if line.split("│")[0].strip()]


# ---- the first look ----


@pytest.mark.parametrize("size", [SMALL, WIDE, (60, 15)])
async def test_opens_on_the_origin_with_what_fed_it(
    open_overflow: OpenApp, looked: Looked, screen_text: ScreenText, tmp_path: Path, size: tuple[int, int]
) -> None:
    app = open_overflow(write_sum(tmp_path / "run"))
    async with app.run_test(size=size) as pilot:
        pane = await looked(pilot)
        text = screen_text(app)
        lines = text.split("\n")
        header = next(n for n, line in enumerate(lines) if "operator call" in line)
        assert lines[header - 2].strip() == "FAIL  1 origin · 2 calls inherited"
        assert lines[header - 1].startswith(" E ✗ origin: Tensor.__add__.20  Inf, fed by linear.43 at ")
        rows = shown_rows(text)
        names = [name.removesuffix(".forward") for name in UPSTREAM]
        assert [row[3:].split()[0][-9:] for row in rows] == [name[-9:] for name in names]
        assert rows[-1].startswith("▶  Tensor.__add__.20") and "E ✗ origin" in rows[-1]
        assert rows[4].startswith("   Functional.linear.43") and "W ! suspect" in rows[4]
        assert operator(pane) == ORIGIN and pane.table.view.n_rows == len(UPSTREAM)
        assert "the origin and what fed it, nearest last; w: all 20 rows"[: size[0] - 11] in text
        if size != (60, 15):  # ten seconds must do: without a key also what to do next
            assert "at 92.5 % of fp16" in lines[header - 1]
            assert "next: Look at" in text and "Functional.linear.43.forward first" in text


@pytest.mark.parametrize(
    "make",
    [write_sum, write_ranks, write_saturated, write_clean, write_monitor],
    ids=lambda make: make.__name__,
)
@pytest.mark.parametrize("lang", ["en", "zh"])
async def test_the_pane_says_what_the_report_says(
    open_overflow: OpenApp,
    looked: Looked,
    screen_text: ScreenText,
    tmp_path: Path,
    make: Callable[[Path], Path],
    lang: Any,
) -> None:
    run = make(tmp_path / "run")
    expected = report_of([run], AnalysisOptions(lang=lang)).report
    app = open_overflow(run, lang=lang)
    async with app.run_test(size=WIDE) as pilot:
        pane = await looked(pilot)
        report = pane.report()
        assert report is not None
        assert (report.verdict, report.counts, report.summary) == (
            expected.verdict,
            expected.counts,
            expected.summary,
        )
        assert repr(report.findings) == repr(expected.findings), "repr: nan is nan"
        assert report.problems == expected.problems
        first = screen_text(app).split("\n")[2]
        assert first.split()[0] == report.verdict.upper()
        for name in ("origin", "inherited", "benign", "monitor_rows"):
            n = report.counts.get(name, 0)
            assert (re.search(rf"(?<!\d){n}(?!\d)", first) is not None) or not n, (name, first)
        assert app.store.recent()[0].verdict == report.verdict


async def test_nothing_wrong(
    open_overflow: OpenApp, looked: Looked, screen_text: ScreenText, tmp_path: Path
) -> None:
    app = open_overflow(write_clean(tmp_path / "run"))
    async with app.run_test(size=SMALL) as pilot:
        pane = await looked(pilot)
        lines = screen_text(app).split("\n")
        assert (
            lines[2].strip() == "PASS  9 calls" and lines[3].strip() == "No NaN, no Inf, no saturated value."
        )
        assert pane.table.view.n_rows == N_ROWS and pane.table.current_row == 0 and not pane.view.filter
        assert "w upstream" not in footer(screen_text(app)) and "o origin" not in footer(screen_text(app))
        await pilot.press("w")
        assert notices(app) == ["No origin here, so nothing lies upstream of it."]
        await pilot.press("o", "v")
        assert notices(app)[-1] == "Of this step one rank alone was captured."


# ---- columns ----


@pytest.mark.parametrize("lang", ["en", "zh"])
async def test_what_must_be_seen_on_80_columns(
    open_overflow: OpenApp, looked: Looked, screen_text: ScreenText, tmp_path: Path, lang: Any
) -> None:
    app = open_overflow(write_ranks(tmp_path / "run"), lang=lang)
    async with app.run_test(size=SMALL) as pilot:
        pane = await looked(pilot)
        await pilot.press("w")
        await until_settled(pilot, filtered(pane, 24))
        lines = screen_text(app).split("\n")
        header = next(line for line in lines if "算子调用" in line or "operator call" in line)
        words = {
            "en": ("operator call", "io", "seen", "absmax", "of max", "rank"),
            "zh": ("算子调用", "io", "判断", "最大绝对值", "占最大", "rank"),
        }
        assert all(word in header for word in words[lang]), header
        row = next(line for line in lines if line.startswith("▶"))
        shown = {"en": ["Torch.log.0", "out", "0", "E", "✗", "origin", "nan", "-", "2"]}
        shown["zh"] = ["Torch.log.0", "输出", "0", "E", "✗", "源头", "nan", "-", "2"]
        assert row[1:].split()[: len(shown[lang])] == shown[lang]


async def until_settled(pilot: Pilot[Any], holds: Callable[[], bool]) -> None:
    for _ in range(500):
        await pilot.pause()
        if holds():
            return
        await pilot.pause(0.01)
    assert holds()


@pytest.mark.parametrize("width", [40, 50, 60, 71, 72, 80, 95, 109, 110, 120, 140, 160])
@pytest.mark.parametrize("lang", ["en", "zh"])
async def test_no_bar_and_no_number_breaks_at_any_width(
    open_overflow: OpenApp, looked: Looked, screen_text: ScreenText, tmp_path: Path, width: int, lang: Any
) -> None:
    app = open_overflow(write_sum(tmp_path / "run"), lang=lang)
    async with app.run_test(size=(width, 24)) as pilot:
        pane = await looked(pilot)
        text = screen_text(app)
        assert all(cell_len(line) == width for line in text.split("\n"))
        rows = shown_rows(text)
        names = [name.removesuffix(".forward") for name in UPSTREAM]
        assert len(rows) >= 3 and rows[-1][3:].split()[0][-4:] == names[-1][-4:], "its number is not cut off"
        suspect = next(row for row in rows if "suspect" in row or "嫌疑" in row)
        assert "…" not in suspect[20:], suspect
        if width >= 60:
            bar = "" if width < 72 or 110 <= width < 111 else r" █{5,7}[▏▎▍▌▋▊▉]?"
            assert re.search(rf"6\.061e\+4 +92\.5%{bar}( |$)", suspect), suspect
        await pilot.resize_terminal(80, 24)
        await until_settled(pilot, lambda: "92.5% █████▌" in screen_text(app))
        assert pane.table.current_row is not None and operator(pane) == ORIGIN


async def test_counts_that_are_not_known_say_so(
    open_overflow: OpenApp, looked: Looked, screen_text: ScreenText, tmp_path: Path
) -> None:
    app = open_overflow(write_sum(tmp_path / "run"))
    async with app.run_test(size=(220, 40)) as pilot:
        pane = await looked(pilot)
        text = screen_text(app)
        header = next(line for line in text.split("\n") if "operator call" in line)
        origin = shown_rows(text)[-1]

        def cell(heading: str) -> str:
            end = header.index(heading) + len(heading)
            return origin[:end].split()[-1]

        assert (cell("nan"), cell("+inf"), cell("-inf"), cell("at max")) == ("0", ">=1", ">=1", "?")
        assert cell("grown") == "inf" and "fp16" in origin and "sub" not in header
        assert "rank" not in header and "step" not in header, "there is one of each"
        assert [spec.name for spec in pane.table.view.columns].count("operator") == 1


async def test_elements_are_counted_where_they_were_captured(
    open_overflow: OpenApp, looked: Looked, screen_text: ScreenText, tmp_path: Path
) -> None:
    app = open_overflow(write_sum(tmp_path / "run", with_files=True))
    total = dict((name, out[0]) for name, _, out in sum_calls())[ORIGIN]
    async with app.run_test(size=SMALL) as pilot:
        pane = await looked(pilot)
        assert pane.shown is not None and pane.row is not None
        assert pane.shown.table.column("plus_inf").value(pane.row) == int(np.isposinf(total).sum()) > 0
        assert shown_rows(screen_text(app))[-1].split()[-1] == str(int(np.isposinf(total).sum()))


async def test_columns_sort_and_undo(
    open_overflow: OpenApp, looked: Looked, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    app = open_overflow(write_sum(tmp_path / "run"))
    async with app.run_test(size=WIDE) as pilot:
        pane = await looked(pilot)
        before = [spec.name for spec in pane.table.view.columns]
        while pane.table.current_column != "absmax":
            await pilot.press("right")
        await pilot.press("S")
        await until(pilot, lambda: pane.table.view.is_descending)
        await until(pilot, lambda: pane.table.view.row_at(0) == pane.row)
        assert operator(pane) == ORIGIN and pane.table.view.n_rows == len(UPSTREAM), "infinity is the largest"
        assert "▼ absmax" in screen_text(app)
        await pilot.press("f", *"first at", "enter")
        assert "Column first_index holds no values here." in notices(app)[-1]
        await pilot.press("f", *"shape", "enter")
        await until(pilot, lambda: pane.table.current_column == "shape")
        await pilot.press("c")
        assert "[x] shape" in screen_text(app) and "[ ] upstream" in screen_text(app)
        await pilot.press("escape")
        for _ in range(3):
            await pilot.press("u")
        await until(pilot, lambda: not pane.table.view.sorted_by)
        assert [spec.name for spec in pane.table.view.columns] == before and pane.view.filter == ONLY_UPSTREAM


# ---- the way up ----


async def test_w_shows_all_rows_and_keeps_the_row(
    open_overflow: OpenApp, looked: Looked, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    app = open_overflow(write_sum(tmp_path / "run"))
    async with app.run_test(size=SMALL) as pilot:
        pane = await looked(pilot)
        assert "w upstream" in footer(screen_text(app))
        await pilot.press("up", "up")
        assert operator(pane) == SUSPECT
        row = pane.row
        await pilot.press("w")
        await until(pilot, filtered(pane, N_ROWS))
        assert pane.row == row and "nearest last" not in screen_text(app)
        await pilot.press("w")
        await until(pilot, filtered(pane, len(UPSTREAM)))
        assert pane.row == row
        await pilot.press("u", "u")
        assert notices(app) == [] and pane.view.filter == ONLY_UPSTREAM
        await pilot.press("u")
        assert notices(app) == ["Nothing to undo."], "what the pane itself began with is no step"


async def test_w_from_a_row_that_is_not_upstream(
    open_overflow: OpenApp, looked: Looked, until: Until, tmp_path: Path
) -> None:
    app = open_overflow(write_sum(tmp_path / "run"))
    async with app.run_test(size=SMALL) as pilot:
        pane = await looked(pilot)
        await pilot.press("w")
        await until(pilot, filtered(pane, N_ROWS))
        await pilot.press("G")
        assert operator(pane) == MEAN
        await pilot.press("w")
        await until(pilot, filtered(pane, len(UPSTREAM)))
        assert pane.row is not None and operator(pane) in UPSTREAM


async def test_next_previous_and_origin(
    open_overflow: OpenApp, looked: Looked, until: Until, tmp_path: Path
) -> None:
    app = open_overflow(write_saturated(tmp_path / "run"))
    async with app.run_test(size=WIDE) as pilot:
        pane = await looked(pilot)
        report = pane.report()
        assert report is not None and [f.role for f in report.findings] == ["origin", "unknown", "unknown"]
        await pilot.press("n")
        assert "the device may run in saturation mode" in notices(app)[-1].replace("\n", " ")
        await pilot.press("N", "w", "G")
        assert operator(pane) == "Torch.div.0.forward"
        await pilot.press("o")
        assert operator(pane) == "Torch.square.0.forward"
        await pilot.press("slash", *"div", "enter")
        await until(pilot, filtered(pane, 2))
        await pilot.press("o")
        await until(pilot, filtered(pane, 4))
        assert operator(pane) == "Torch.square.0.forward" and pane.view.filter == ""


async def test_an_origin_that_only_the_elements_tell_is_led_to(
    open_overflow: OpenApp,
    looked: Looked,
    until: Until,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = write_sum(tmp_path / "run", with_files=True)
    dump = run / "step0/rank0/dump.json"
    document = json.loads(dump.read_text())
    for entry in document["data"].values():
        for leaf in (*entry["input_args"], *entry["output"]):
            for name in ("Max", "Min", "Mean", "Norm"):
                leaf[name] = None
    dump.write_text(json.dumps(document, indent=1))
    go_on = _halt_before_the_elements(monkeypatch)
    app = open_overflow(run)
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: isinstance(app.pane, OverflowPane) and app.pane.shown is not None)
        pane = app.pane
        assert isinstance(pane, OverflowPane) and pane.view.filter == "" and pane.table.view.n_rows == N_ROWS
        go_on.set()
        await looked(pilot)
        await until(pilot, filtered(pane, len(UPSTREAM)))
        assert operator(pane) == ORIGIN


async def test_who_has_begun_to_look_elsewhere_is_left_there(
    open_overflow: OpenApp,
    looked: Looked,
    until: Until,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    go_on = _halt_before_the_elements(monkeypatch)
    app = open_overflow(write_sum(tmp_path / "run", with_files=True))
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: isinstance(app.pane, OverflowPane) and app.pane.shown is not None)
        pane = app.pane
        assert isinstance(pane, OverflowPane)
        await until(pilot, filtered(pane, len(UPSTREAM)))
        await pilot.press("w", "g", "down")
        await until(pilot, filtered(pane, N_ROWS))
        go_on.set()
        await looked(pilot)
        assert pane.table.view.n_rows == N_ROWS and pane.table.current_row == 1 and pane.view.filter == ""


def _halt_before_the_elements(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """The second part of an analysis waits for the event that is returned, or for a cancel."""
    go_on = threading.Event()
    scan = analyse.scan_all

    def wait(*given: Any) -> Any:
        is_cancelled = given[6]
        while not go_on.is_set():
            check(is_cancelled)
            go_on.wait(0.005)
        return scan(*given)

    monkeypatch.setattr(analyse, "scan_all", wait)
    return go_on


# ---- filter ----


async def test_a_filter_looks_in_all_rows_and_escape_leads_back(
    open_overflow: OpenApp, looked: Looked, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    app = open_overflow(write_sum(tmp_path / "run"))
    async with app.run_test(size=WIDE) as pilot:
        pane = await looked(pilot)
        await pilot.press("slash")
        assert isinstance(app.focused, Entry) and app.focused.value == ""
        await pilot.pause(0.2)
        assert pane.table.view.n_rows == len(UPSTREAM), "nothing was typed yet"
        await pilot.press(*"role:inherited")
        await until(pilot, filtered(pane, 4))
        await pilot.press("escape")
        await until(pilot, filtered(pane, len(UPSTREAM)))
        assert pane.view.filter == ONLY_UPSTREAM and app.focused is pane.table
        await pilot.press("slash", "enter")
        assert pane.view.filter == ONLY_UPSTREAM and app.focused is pane.table
        await pilot.press("slash", *"io:output", "enter")
        await until(pilot, filtered(pane, 9))
        assert "filter: io:output" in screen_text(app) and "1-9 of 9" in screen_text(app)
        await pilot.press("slash")
        assert isinstance(app.focused, Entry) and app.focused.value == "io:output"
        await pilot.press("enter", "escape")
        await until(pilot, filtered(pane, N_ROWS))
        await pilot.press("w")
        await until(pilot, filtered(pane, len(UPSTREAM)))
        await pilot.press("escape")
        await until(pilot, filtered(pane, N_ROWS))
        assert app.is_running


@pytest.mark.parametrize(
    ("typed", "n_rows"),
    [("headroom_ratio>0.5", 4), ("role:origin", 1), ("-io:input", 9), ("dtype:float16", 20)],
)
async def test_figures_and_words_filter(
    open_overflow: OpenApp, looked: Looked, until: Until, tmp_path: Path, typed: str, n_rows: int
) -> None:
    app = open_overflow(write_sum(tmp_path / "run"))
    async with app.run_test(size=WIDE) as pilot:
        pane = await looked(pilot)
        await pilot.press("slash")
        pane.query_one("#filter", Entry).value = typed
        await until(pilot, filtered(pane, n_rows))
        await pilot.press("enter", "j", "i", "b", "y", "o")
        assert app.is_running and isinstance(app.screen, MainPage)


# ---- what opens from a row ----


async def test_enter_shows_all_that_is_known(
    open_overflow: OpenApp, looked: Looked, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    app = open_overflow(write_sum(tmp_path / "run"))
    async with app.run_test(size=(100, 50)) as pilot:
        pane = await looked(pilot)
        report = pane.report()
        assert report is not None
        assert "Enter open" in footer(screen_text(app))
        await pilot.press("enter")
        assert isinstance(app.screen, LinesPage)
        text = screen_text(app)
        said = " ".join(text.split())
        finding = report.findings[0]
        for sentence in (finding.message, f"next: {finding.next_step}"):
            assert " ".join(sentence.split()) in said
        assert "upstream, nearest last" in text and all(line.rstrip() in text for line in finding.told)
        assert "file: step0/rank0/dump.json byte" in text and "basis: recorded Max and Min" in text
        assert "inf >=1" in text and "[4,8]" in text.replace(", ", ",")
        await pilot.press("q", "g", "enter")
        text = screen_text(app)
        assert f"{RESIDUAL}.output.0" in text and "finite." in text and "next:" not in text
        await pilot.press("b")
        assert isinstance(app.screen, MainPage)


async def test_where_the_figures_come_from(
    open_overflow: OpenApp, looked: Looked, screen_text: ScreenText, tmp_path: Path
) -> None:
    run = write_sum(tmp_path / "run", with_files=True)
    byte = (run / "step0/rank0/dump.json").read_bytes().index(f'"{ORIGIN}"'.encode())
    app = open_overflow(run)
    async with app.run_test(size=WIDE) as pilot:
        await looked(pilot)
        await pilot.press("i")
        text = screen_text(app)
        assert f"file: step0/rank0/dump.json byte {byte}" in text.replace(",", "")
        assert f"dump_tensor_data/{ORIGIN}.output.0.npy" in text and "model/layer.py:146" in text


async def test_stack(
    open_overflow: OpenApp, looked: Looked, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    app = open_overflow(write_sum(tmp_path / "run"))
    async with app.run_test(size=WIDE) as pilot:
        pane = await looked(pilot)
        detail = pane.query_one(DetailView).detail
        assert (
            detail is not None and detail.source is not None and detail.source[:2] == ("model/layer.py", 146)
        )
        await pilot.press("t")
        await until(pilot, lambda: isinstance(app.screen, LinesPage))
        assert "* model/layer.py:146 in forward  hidden = residual + hidden  # [red]" in screen_text(app)
        await pilot.press("q", "up", "t")
        await until(pilot, lambda: notices(app))
        assert isinstance(app.screen, MainPage) and "No call stack was recorded" in notices(app)[-1]


async def test_a_headline_says_nothing_twice(
    open_overflow: OpenApp, looked: Looked, until: Until, tmp_path: Path
) -> None:
    app = open_overflow(write_sum(tmp_path / "run"))
    async with app.run_test(size=WIDE) as pilot:
        pane = await looked(pilot)
        report = pane.report()
        detail = pane.query_one(DetailView).detail
        assert report is not None and detail is not None and detail.source is not None
        assert headline(pane).startswith("finite inputs (sum of the largest 68,612 > 65,504), Inf and -Inf")
        assert "Suspect" not in headline(pane) and SUSPECT in detail.next_step
        assert "Source" not in headline(pane) and "Source:" in report.findings[0].message
        await pilot.press("L")
        await until(pilot, lambda: headline(pane).startswith("输入有限"))
        assert "嫌疑" not in headline(pane) and "源码" not in headline(pane)


async def test_copy_has_the_way_up_too(
    open_overflow: OpenApp, looked: Looked, until: Until, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied: list[str] = []

    def take(text: str, *args: object, **options: object) -> clipboard.Copied:
        copied.append(text)
        return clipboard.Copied("tmux", len(text), None)

    monkeypatch.setattr(clipboard, "copy_text", take)
    app = open_overflow(write_sum(tmp_path / "run"))
    async with app.run_test(size=WIDE) as pilot:
        pane = await looked(pilot)
        report = pane.report()
        assert report is not None
        await pilot.press("y")
        await until(pilot, lambda: copied)
        first = report.findings[0]
        assert copied[0] == finding_text(first, pane.main_figures(first))
        lines = copied[0].split("\n")
        assert lines[0] == f"error overflow.origin (origin): {ORIGIN}" and lines[1] == first.message
        assert [line for line in lines if line in first.told] == list(first.told) and len(first.told) == 8
        assert "kind: Inf" in lines and lines[-1].startswith("next: ")
        await pilot.press("up", "y")
        await until(pilot, lambda: len(copied) == 2)
        assert f"(ok): {UPSTREAM[5]}.output.0" in copied[1] and "headroom_ratio: 92.5 %" in copied[1]


async def test_export_holds_every_row(
    open_overflow: OpenApp, looked: Looked, until: Until, tmp_path: Path
) -> None:
    app = open_overflow(write_sum(tmp_path / "run"))
    path = tmp_path / "out.csv"
    async with app.run_test(size=WIDE) as pilot:
        pane = await looked(pilot)
        await pilot.press("x")
        entry = app.screen.query_one(Entry)
        assert entry.value == "npulse-overflow.csv"
        entry.value = str(path)
        await pilot.press("enter")
        await until(pilot, lambda: notices(app))
        assert "Written:" in notices(app)[-1] and pane.shown is not None
        roles = pane.shown.table.column("role")
        rows = list(csv.DictReader(path.read_text().splitlines()))
        assert [row["role"] for row in rows] == [roles.value(i) for i in range(N_ROWS)]
        assert [row["operator"] for row in rows if row["role"] == "origin"] == [ORIGIN]


async def test_marks_and_notes(
    open_overflow: OpenApp, looked: Looked, screen_text: ScreenText, tmp_path: Path
) -> None:
    run = write_sum(tmp_path / "run")
    before = sorted(run.rglob("*"))
    app = open_overflow(run)
    async with app.run_test(size=WIDE) as pilot:
        pane = await looked(pilot)
        await pilot.press("m", "up", "a", *"only hands on", "enter")
        assert pane.view.marks == ((ORIGIN, ""), (UPSTREAM[5], "only hands on"))
        await pilot.press("apostrophe")
        assert "only hands on" in screen_text(app)
    assert sorted(run.rglob("*")) == before


# ---- the same operator in Precision ----


def write_pair_of_ranks(run: Path) -> Path:
    write_ranks(run / "npu")
    write_ranks(run / "cpu")
    for rank in range(4):  # the golden side is healthy
        dump = run / "cpu" / "step0" / f"rank{rank}" / "dump.json"
        dump.write_text(dump.read_text().replace("NaN", "0.25"))
    return run


async def test_p_goes_to_the_same_row_of_the_same_rank(
    open_overflow: OpenApp, looked: Looked, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    app = open_overflow(write_pair_of_ranks(tmp_path / "run"))
    async with app.run_test(size=(160, 40)) as pilot:
        pane = await looked(pilot)
        assert operator(pane) == LOG and "p precision" in footer(screen_text(app))
        await pilot.press("p")
        await until(
            pilot,
            lambda: (
                isinstance(app.pane, PrecisionPane)
                and app.pane.shown is not None
                and app.pane.subject() == LOG
            ),
        )
        other = app.pane
        assert isinstance(other, PrecisionPane) and other.shown is not None and other.row is not None
        table = other.shown.table
        assert (table.column("rank").value(other.row), table.column("io").value(other.row)) == (
            BAD_RANK,
            "output 0",
        )
        await pilot.press("3", "w")
        await until(pilot, filtered(pane, 24))
        pane.table.move_to_row(pane._rows_named({REDUCE}) and min(pane._rows_named({REDUCE})))
        await pilot.press("p")
        await until(pilot, lambda: app.pane is other and other.subject() == REDUCE)
        assert table.column("rank").value(other.row) == 0 and table.column("io").value(other.row) == "input 0"


async def test_p_without_a_pair_says_why_nothing_stands_there(
    open_overflow: OpenApp, looked: Looked, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    app = open_overflow(write_sum(tmp_path / "run"))
    async with app.run_test(size=(160, 40)) as pilot:
        await looked(pilot)
        assert "p precision" not in footer(screen_text(app)) and "t stack" in footer(screen_text(app))
        await pilot.press("p")
        await until(pilot, lambda: "One capture alone" in screen_text(app))
        assert isinstance(app.pane, PrecisionPane) and app.is_running
        await pilot.press("3")
        assert isinstance(app.pane, OverflowPane) and operator(app.pane) == ORIGIN


async def test_p_is_remembered_until_a_pair_is_chosen(
    open_overflow: OpenApp, looked: Looked, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    for name in ("one", "two", "three"):
        write_sum(run / name)
    app = open_overflow(run)
    async with app.run_test(size=WIDE) as pilot:
        await looked(pilot)
        await pilot.press("g", "p")
        await until(pilot, lambda: "do not say which is target" in screen_text(app))
        await pilot.press("p", *"two", "enter", *"one", "enter")
        await until(pilot, lambda: isinstance(app.pane, PrecisionPane) and app.pane.shown is not None)
        pane = app.pane
        assert isinstance(pane, PrecisionPane)
        await until(pilot, lambda: pane.subject() == RESIDUAL)


async def test_p_on_something_that_precision_does_not_have(
    open_overflow: OpenApp, looked: Looked, until: Until, tmp_path: Path
) -> None:
    run = write_pair_of_ranks(tmp_path / "run")
    write_monitor(run / "monitor")
    app = open_overflow(run)
    async with app.run_test(size=WIDE) as pilot:
        pane = await looked(pilot)
        await pilot.press("w")
        await until(pilot, filtered(pane, 30))
        await pilot.press("G", "p")
        await until(pilot, lambda: notices(app))
        assert notices(app)[-1] == "fc2.weight is not shown in this pane."


# ---- the device's mode ----


async def test_z_tells_the_mode_of_the_device(
    open_overflow: OpenApp, looked: Looked, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    app = open_overflow(write_saturated(tmp_path / "run"))
    async with app.run_test(size=SMALL) as pilot:
        pane = await looked(pilot)
        lines = screen_text(app).split("\n")
        assert lines[2].strip() == "FAIL  1 origin · 1 call inherited · saturation not told (z)"
        assert lines[3].strip() == "E ✗ origin: Torch.square.0  24 values at +-65,504, the largest fp16"
        first = pane.shown
        await pilot.press("z")
        assert isinstance(app.screen, ChoicePage)
        text = screen_text(app)
        assert "Does the device saturate" in text and "as the files tell  (now)" in text
        await pilot.press("escape")
        assert pane.shown is first and isinstance(app.screen, MainPage)
        await pilot.press("z", *"writes", "enter")
        await until(pilot, lambda: pane.shown is not None and pane.shown is not first)
        await looked(pilot)
        assert "saturation mode off" in screen_text(app).split("\n")[2]
        second = pane.shown
        await pilot.press("z")
        assert "it writes Inf and NaN (INF_NAN_MODE_ENABLE=1)  (now)" in screen_text(app)
        await pilot.press("up", "up", "down", "enter")
        await until(pilot, lambda: pane.shown is not None and pane.shown is not second)
        await looked(pilot)
        assert "saturation mode on" in screen_text(app).split("\n")[2]
        await pilot.press("L", "z")
        assert "饱和（INF_NAN_MODE_ENABLE=0，910A）（当前）" in screen_text(app)


# ---- language, re-scan, rounds ----


async def test_language_rebuilds_every_text(
    open_overflow: OpenApp, looked: Looked, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    app = open_overflow(write_ranks(tmp_path / "run"))
    async with app.run_test(size=WIDE) as pilot:
        pane = await looked(pilot)
        english = screen_text(app)
        await pilot.press("L")
        await until(pilot, lambda: headline(pane).startswith("输入有限"))
        await until(pilot, lambda: "每层数值量级" in screen_text(app))
        chinese = screen_text(app)
        for word in ("算子调用", "判断", "源头", "继承的调用", "下一步", "源头及其上游", "上游"):
            assert word in chinese, word
        for word in (
            "operator call",
            "seen",
            "origin",
            "inherited",
            "next:",
            "finite",
            "upstream",
            "magnitude",
        ):
            assert word in english.replace("E ✗", "") or word == "inherited", word
            assert word not in chinese, word
        assert operator(pane) == LOG and all(cell_len(line) == WIDE[0] for line in chinese.split("\n"))
        await pilot.press("L")
        await until(pilot, lambda: headline(pane).startswith("finite"))
        await until(pilot, lambda: screen_text(app) == english)


async def test_rescan_keeps_the_row_and_sees_what_changed(
    open_overflow: OpenApp, looked: Looked, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    run = write_sum(tmp_path / "run")
    app = open_overflow(run)
    async with app.run_test(size=WIDE) as pilot:
        pane = await looked(pilot)
        first = pane.shown
        await pilot.press("up", "up", "r")
        await until(pilot, lambda: pane.shown is not first)
        await looked(pilot)
        assert operator(pane) == SUSPECT and pane.view.filter == ONLY_UPSTREAM
        assert pane.table.view.n_rows == len(UPSTREAM)
        second = pane.shown
        shutil.rmtree(run)
        write_clean(run)
        await pilot.press("r")
        await until(pilot, lambda: pane.shown is not second)
        await looked(pilot)
        assert "PASS" in screen_text(app) and pane.view.filter == "" and pane.table.view.n_rows == N_ROWS


async def test_another_round_begins_anew(
    open_overflow: OpenApp, looked: Looked, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    write_sum(run / "round1")
    write_clean(run / "round2")
    app = open_overflow(run)
    async with app.run_test(size=WIDE) as pilot:
        pane = await looked(pilot)
        assert "PASS" in screen_text(app) and "round 2 of 2" in screen_text(app)
        await pilot.press("left_square_bracket")
        await until(pilot, lambda: pane.shown and pane.shown.report.verdict == "fail")
        await looked(pilot)
        assert operator(pane) == ORIGIN and pane.table.view.n_rows == len(UPSTREAM)
        await pilot.press("right_square_bracket")
        await until(pilot, lambda: pane.shown and pane.shown.report.verdict == "pass")
        await looked(pilot)
        assert pane.table.view.n_rows == N_ROWS, "a filter for the way up hides no row of a round without one"


# ---- nothing, or not readable ----


@pytest.mark.parametrize(("lang", "hint"), [("en", "To capture"), ("zh", "采集方法")])
async def test_an_empty_folder_says_what_was_looked_for(
    open_overflow: OpenApp, until: Until, screen_text: ScreenText, tmp_path: Path, lang: Any, hint: str
) -> None:
    (tmp_path / "run").mkdir()
    app = open_overflow(tmp_path / "run", lang=lang)
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: hint in screen_text(app))
        text = screen_text(app).replace("\n", "")
        assert str(tmp_path / "run")[-12:] in text
        for word in (
            "dump.json",
            "Opdebug.*",
            "grad_*.csv",
            "PrecisionDebugger",
            '"task"',
            '"dump_debug": "on"',
        ):
            assert word in text, word
        keys = footer(screen_text(app))
        assert not any(f" {key} " in keys for key in ("w", "v", "t", "p", "n", "o", "y", "s")), keys
        for key in (
            "w",
            "v",
            "t",
            "p",
            "3",
            "z",
            "slash",
            "s",
            "c",
            "f",
            "n",
            "o",
            "m",
            "y",
            "i",
            "x",
            "enter",
            "u",
        ):
            await pilot.press(key)
        assert app.is_running and isinstance(app.screen, MainPage)


async def test_a_rank_that_cannot_be_read(
    open_overflow: OpenApp, looked: Looked, screen_text: ScreenText, tmp_path: Path
) -> None:
    run = write_ranks(tmp_path / "run")
    (run / "step0/rank1/dump.json").write_bytes(b'{"task": "statistics", "data": ')
    app = open_overflow(run)
    async with app.run_test(size=WIDE) as pilot:
        pane = await looked(pilot)
        assert operator(pane) == LOG
        n = len(app.problems())
        assert n and f" ! {n} " in screen_text(app).split("\n")[0]
        await pilot.press("v")
        rows = [line.split() for line in screen_text(app).split("\n") if "rank" in line[:9]]
        assert [row[-1] for row in rows if row[-3:-2] != ["▶"]][1:] == ["·↳", "??", "✗↳", "·↳"]
        await pilot.press("b", "exclamation_mark")
        assert "step0/rank1/dump.json" in screen_text(app)


async def test_a_dump_that_cannot_be_used_at_all(
    open_overflow: OpenApp, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    run = write_sum(tmp_path / "run")
    (run / "step0/rank0/dump.json").write_bytes(b"")
    app = open_overflow(run)
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: app.opened is not None and not any(app._busy.values()))
        await pilot.pause()
        assert " ! " in screen_text(app).split("\n")[0] and "Looking for NaN" not in screen_text(app)
        await pilot.press("exclamation_mark")
        assert "step0/rank0" in screen_text(app)
        await pilot.press("b", "w", "v", "z", "n", "slash", "enter")
        assert app.is_running


# ---- cancelling, failing ----


@pytest.mark.parametrize("key", ["escape", "b", "ctrl+c"])
async def test_cancelling_the_second_part_keeps_what_the_statistics_tell(
    open_overflow: OpenApp,
    looked: Looked,
    until: Until,
    screen_text: ScreenText,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    key: str,
) -> None:
    go_on = _halt_before_the_elements(monkeypatch)
    app = open_overflow(write_sum(tmp_path / "run", with_files=True))
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: isinstance(app.pane, OverflowPane) and app.pane.shown is not None)
        pane = app.pane
        assert isinstance(pane, OverflowPane)
        await until(pilot, lambda: "reading tensors element by element" in screen_text(app))
        await until(pilot, filtered(pane, len(UPSTREAM)))
        await pilot.press(key)
        await until(
            pilot, lambda: "Cancelled: only what the statistics tell. r starts again." in screen_text(app)
        )
        assert not any(app._busy.values()) and operator(pane) == ORIGIN
        assert pane.view.filter == ONLY_UPSTREAM, "the key was meant for the job"
        go_on.set()
        await pilot.press("r")
        await looked(pilot)
        assert "Cancelled" not in screen_text(app) and pane.shown is not None and pane.shown.is_complete


@pytest.mark.parametrize("key", ["escape", "ctrl+c"])
async def test_cancelling_before_anything_is_known(
    open_overflow: OpenApp,
    looked: Looked,
    until: Until,
    screen_text: ScreenText,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    key: str,
) -> None:
    started, is_slow, look = threading.Event(), [True], run_report.look

    def slow(*args: Any, is_cancelled: Callable[[], bool], **options: Any) -> Overflow:
        started.set()
        while is_slow[0]:
            check(is_cancelled)
            threading.Event().wait(0.005)
        return look(*args, is_cancelled=is_cancelled, **options)

    monkeypatch.setattr(run_report, "look", slow)
    app = open_overflow(write_sum(tmp_path / "run"))
    async with app.run_test(size=SMALL) as pilot:
        assert await asyncio.to_thread(started.wait, 20)
        await until(pilot, lambda: "Looking for NaN, Inf and saturated values" in screen_text(app))
        await pilot.press(key)
        await until(pilot, lambda: "Cancelled. r reads again." in screen_text(app))
        for other in ("w", "v", "z", "t", "p", "3", "n", "slash", "j", "enter"):
            await pilot.press(other)
        is_slow[0] = False
        await pilot.press("r")
        pane = await looked(pilot)
        assert operator(pane) == ORIGIN


async def test_worker_processes_can_be_started_from_the_workbench(
    open_overflow: OpenApp, looked: Looked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The framework's stand-in for stderr has no descriptor to hand on."""
    from multiprocessing import resource_tracker

    monkeypatch.setattr(analyse, "SMALL_BYTES", 0)
    monkeypatch.setattr(resource_tracker._resource_tracker, "_fd", None)  # type: ignore[attr-defined]
    monkeypatch.setattr(resource_tracker._resource_tracker, "_pid", None)  # type: ignore[attr-defined]
    options = AnalysisOptions(jobs=2)

    def make(area: str) -> Any:
        return OverflowPane(area, options)

    app = open_overflow(write_saturated(tmp_path / "run"), make_pane=make)
    async with app.run_test(size=SMALL) as pilot:
        pane = await looked(pilot)
        assert operator(pane) == "Torch.square.0.forward" and not app.problems()
    resource_tracker._resource_tracker._stop()  # type: ignore[attr-defined]


# ---- the training monitor ----


async def test_the_monitor_alone(
    open_overflow: OpenApp, looked: Looked, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    app = open_overflow(write_monitor(tmp_path / "run"))
    async with app.run_test(size=SMALL) as pilot:
        pane = await looked(pilot)
        text = screen_text(app)
        lines = text.split("\n")
        assert lines[2].strip() == "WARN  6 monitor rows" and lines[3].startswith(" W ! fc1.weight  the norm")
        header = next(line for line in lines if "operator call" in line)
        assert "step" in header and "of max" not in header and "+inf" not in header
        row = next(line for line in lines if line.startswith("▶"))
        assert row[1:].split()[:3] == ["fc1.weight", "grad_reduced", "ok"] and "6.1e+4" in row
        assert pane.table.current_row == 4, "the row of the step at which it jumps"
        assert headline(pane).startswith("the norm of grad_reduced") and "next: Clip the gradient" in text
        assert "v ranks" not in footer(text) and "w upstream" not in footer(text)
        await pilot.press("i")
        assert "file: grad_reduced_0-2.csv:6" in screen_text(app)
        await pilot.press("b")
        assert pane.place() == (tmp_path / "run" / "grad_reduced_0-2.csv", 6)
        await pilot.press("up")
        await until(pilot, lambda: headline(pane) == "")
        await pilot.press("enter")
        assert "grad_reduced_0-2.csv:5" in screen_text(app) and "fc2.weight" in screen_text(app)
        await pilot.press("b", "v", "t", "w", "m", "y")
        assert app.is_running


# ---- detail and strip ----


async def test_detail_and_strip_follow_the_cursor(
    open_overflow: OpenApp, looked: Looked, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    app = open_overflow(write_sum(tmp_path / "run"))
    async with app.run_test(size=SMALL) as pilot:
        pane = await looked(pilot)
        strip = pane.query_one(LayerStrip)
        await until(pilot, lambda: strip.label.startswith("Tensor.__add__.20"))
        assert "magnitude per layer, full: not finite" in screen_text(app)
        await pilot.press("up", "up")
        await until(
            pilot, lambda: headline(pane).startswith("finite, and 92.5 %") or "92.5" in headline(pane)
        )
        await until(pilot, lambda: strip.label.startswith("Functional.linear.43"))
        await pilot.press("w")
        await until(pilot, filtered(pane, N_ROWS))
        await pilot.press("G")
        await until(pilot, lambda: headline(pane).startswith(f"inherited: it began in {ORIGIN}"))


# ---- keys, footer, terminals, hostile names ----


async def test_the_footer_offers_what_works(
    open_overflow: OpenApp, looked: Looked, screen_text: ScreenText, tmp_path: Path
) -> None:
    app = open_overflow(write_ranks(tmp_path / "run"))
    async with app.run_test(size=SMALL) as pilot:
        await looked(pilot)
        keys = footer(screen_text(app))
        assert keys.split("  ")[:3] == [" Enter open", "w upstream", "v ranks"]
        assert "n next" in keys and "o origin" in keys and "? help" in keys and "t stack" not in keys


@pytest.mark.parametrize("name", MAP_NAMES)
async def test_the_keys_of_the_pane_in_every_map(
    open_overflow: OpenApp, looked: Looked, until: Until, tmp_path: Path, name: str
) -> None:
    keymap = named_keymap(name)
    assert clashes(keymap.keys) == []
    app = open_overflow(write_ranks(tmp_path / "run"), keymap=keymap)
    async with app.run_test(size=WIDE) as pilot:
        pane = await looked(pilot)
        await pilot.press("w")
        await until(pilot, filtered(pane, 24))
        await pilot.press("v")
        assert isinstance(app.screen, RanksPage)
        await pilot.press("b", "z")
        assert isinstance(app.screen, ChoicePage)
        await pilot.press("escape", "t")
        await until(pilot, lambda: notices(app))
        assert "No call stack" in notices(app)[-1]
        await pilot.press("p")
        await until(pilot, lambda: isinstance(app.pane, PrecisionPane))


@pytest.mark.parametrize(("lang", "word"), [("en", "In the Overflow pane"), ("zh", "溢出面板")])
async def test_help_lists_the_keys_of_the_pane(
    open_overflow: OpenApp, looked: Looked, screen_text: ScreenText, tmp_path: Path, lang: Any, word: str
) -> None:
    app = open_overflow(write_sum(tmp_path / "run"), lang=lang)
    async with app.run_test(size=(100, 110)) as pilot:
        await looked(pilot)
        await pilot.press("question_mark")
        lines = [line.strip() for line in screen_text(app).split("\n")]
        start = lines.index(word)
        assert [line.split()[0] for line in lines[start + 1 : start + 6]] == ["t", "w", "v", "p", "z"]


@pytest.mark.parametrize("size", [SMALL, WIDE, (40, 10)])
async def test_an_ascii_terminal(
    open_overflow: OpenApp, looked: Looked, screen_text: ScreenText, tmp_path: Path, size: tuple[int, int]
) -> None:
    terminal = terminal_from({"TERM": "vt100"}, is_tty=True, encoding="ascii")
    app = open_overflow(write_ranks(tmp_path / "run"), terminal=terminal)
    async with app.run_test(size=size) as pilot:
        await looked(pilot)
        text = screen_text(app)
        assert text.isascii() and "E x origin" in text
        for key, back in (("v", "b"), ("enter", "b"), ("z", "escape"), ("i", "b"), ("question_mark", "b")):
            await pilot.press(key)
            assert screen_text(app).isascii(), key
            await pilot.press(back)


HOSTILE = (
    "Functional.[red]x[/red].0.forward",
    "Functional.a\x1b]52;c;cHduZWQ=\x07b\x1b[2J.1.forward",
    "Functional.注意力层.2.forward",
    "Functional." + "n" * 5000 + ".3.forward",
)


@pytest.mark.parametrize(("size", "charset"), [(SMALL, "utf-8"), (WIDE, "ascii")])
async def test_hostile_names(
    open_overflow: OpenApp,
    looked: Looked,
    until: Until,
    screen_text: ScreenText,
    tmp_path: Path,
    size: tuple[int, int],
    charset: str,
) -> None:
    names = [*HOSTILE, *UPSTREAM[4:]]
    calls = [(name, i, o) for name, (_, i, o) in zip(names, sum_calls()[: len(names)], strict=True)]
    run = tmp_path / "run"
    with np.errstate(all="ignore"):
        write_capture(run, calls, with_files=False)
    words = {"TERM": "xterm-256color", "LANG": "C.UTF-8"} if charset == "utf-8" else {"TERM": "xterm"}
    app = open_overflow(run, terminal=terminal_from(words, is_tty=True, encoding=charset))
    async with app.run_test(size=size) as pilot:
        pane = await looked(pilot)
        for name in HOSTILE:
            pane.show_row(min(pane._rows_named({name})))
            await pilot.pause(0.15)
            for key, back in ((None, None), ("i", "b"), ("enter", "b"), ("a", "escape"), ("v", None)):
                if key:
                    await pilot.press(key)
                text = screen_text(app)
                controls = [c for c in text if ord(c) < 32 and c != "\n" or 0x7F <= ord(c) < 0xA0]
                assert not controls and (charset == "utf-8" or text.isascii())
                if back:
                    await pilot.press(back)
        assert app.is_running and n_upstream(pane) > 0
