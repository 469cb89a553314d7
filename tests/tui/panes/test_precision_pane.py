"""The precision pane as a person uses it: keys in, what stands on the screen out."""

from __future__ import annotations

import ast
import asyncio
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npulse.core.precision.compare import Comparison
from npulse.core.precision.view import precision_view
from npulse.core.progress import check
from npulse.tui import clipboard
from npulse.tui import panes as panes_module
from npulse.tui.actions import BY_ID
from npulse.tui.app import NpulseApp
from npulse.tui.panes import order, table_keys, table_pane
from npulse.tui.panes.base import finding_text
from npulse.tui.panes.precision import jobs
from npulse.tui.panes.precision import pane as pane_module
from npulse.tui.panes.precision.pane import PrecisionPane
from npulse.tui.screens.entry import Entry
from npulse.tui.screens.main import MainPage
from npulse.tui.terminal import terminal_from
from npulse.tui.widgets.detail import DetailView
from npulse.tui.widgets.strip import LayerStrip

from .captures import NAMES, ORIGIN, chain, write_capture, write_pair

OpenApp = Callable[..., NpulseApp]
Compared = Callable[..., Awaitable[PrecisionPane]]
Until = Callable[..., Awaitable[None]]
ScreenText = Callable[[NpulseApp], str]
N_ROWS = 2 * len(NAMES)
ORIGIN_ROW = 2 * NAMES.index(ORIGIN) + 1
WIDE = (120, 40)
HOSTILE = (
    "Module.[red]x[/red].[@click=app.quit]y.Linear.forward.0",
    "Module.a\x1b]52;c;cHduZWQ=\x07b\x1b[2J.Linear.forward.0",
    "Module.layers.1.注意力层.线性.forward.0",
    "Module." + "n" * 5000 + ".Linear.forward.0",
    "Module.last.Linear.forward.0",
)


def notices(app: NpulseApp) -> list[str]:
    return [str(notification.message) for notification in app._notifications]


def shown_detail(pane: PrecisionPane) -> str:
    detail = pane.query_one(DetailView).detail
    return "" if detail is None else detail.name


def operator(pane: PrecisionPane) -> str | None:
    return pane.subject()


def filtered(pane: PrecisionPane, n_rows: int) -> Callable[[], bool]:
    return lambda: pane.table.view.n_rows == n_rows


# ---- the first look ----


@pytest.mark.parametrize("size", [(80, 24), WIDE, (60, 15)])
async def test_opens_on_the_origin(
    open_app: OpenApp, compared: Compared, screen_text: ScreenText, tmp_path: Path, size: tuple[int, int]
) -> None:
    app = open_app(write_pair(tmp_path / "run"))
    async with app.run_test(size=size) as pilot:
        pane = await compared(pilot)
        assert pane.table.current_row == ORIGIN_ROW
        lines = screen_text(app).split("\n")
        header = next(n for n, line in enumerate(lines) if "operator call" in line)
        assert [line.split()[1] for line in lines if line.startswith("▶")] == ["layers.1.mlp"]
        assert "FAIL" in lines[header - 2] and "1 origin" in lines[header - 2]
        assert "origin: layers.1.mlp" in lines[header - 1] and "cosine 0.80" in lines[header - 1]
        assert all(len(line) == size[0] for line in lines if line.isascii())


async def test_the_pane_says_what_the_report_says(
    open_app: OpenApp, compared: Compared, tmp_path: Path
) -> None:
    from npulse.core import api

    run = write_pair(tmp_path / "run")
    expected = api.compare(run)
    app = open_app(run)
    async with app.run_test(size=WIDE) as pilot:
        pane = await compared(pilot)
        report = pane.report()
        assert report is not None
        assert (report.verdict, report.counts) == (expected.verdict, expected.report.counts)
        assert report.findings == expected.findings
        assert app.store.recent()[0].verdict == "fail"


async def test_detail_and_strip_follow_the_cursor(
    open_app: OpenApp, compared: Compared, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    app = open_app(write_pair(tmp_path / "run"))
    async with app.run_test(size=WIDE) as pilot:
        pane = await compared(pilot)
        assert shown_detail(pane) == f"{ORIGIN}.output.0"
        strip = pane.query_one(LayerStrip)
        await until(pilot, lambda: strip.label.startswith("layer 1"))
        await pilot.press("down", "down")
        await until(pilot, lambda: shown_detail(pane) == f"{NAMES[4]}.output.0")
        assert strip.label.startswith("layer 2") and strip.cursor == 2
        assert f"inherited from {ORIGIN}" in screen_text(app).replace("\n", "") or pane.query_one(
            DetailView
        ).detail.headline.startswith(f"inherited from {ORIGIN}")  # type: ignore[union-attr]
        await pilot.press("g")
        await until(pilot, lambda: shown_detail(pane) == f"{NAMES[0]}.input.0")
        assert strip.cursor == 0


def branch(factor: float) -> list[Any]:
    """Two calls on an input of their own; the second multiplies."""
    first, second, *_ = chain(
        ("Module.branch.fc1.Linear.forward.0", "Module.branch.fc2.Linear.forward.0"), seed=9
    )
    return [first, (second[0], second[1], [second[2][0] * np.float32(factor)])]


async def test_next_previous_and_origin(open_app: OpenApp, compared: Compared, tmp_path: Path) -> None:
    run = tmp_path / "run"
    calls = chain(bad=ORIGIN)
    write_capture(run / "npu", calls + branch(3.0))
    write_capture(run / "cpu", chain() + branch(1.0))
    app = open_app(run)
    async with app.run_test(size=WIDE) as pilot:
        pane = await compared(pilot)
        report = pane.report()
        assert report is not None
        subjects = [f.subject for f in report.findings]
        assert subjects[:2] == [ORIGIN, "Module.branch.fc2.Linear.forward.0"]
        for key, index in (("n", 1), ("N", 0), ("N", -1), ("n", 0)):
            await pilot.press(key)
            assert str(operator(pane)) in subjects[index], key
        await pilot.press("g")
        assert operator(pane) == NAMES[0]
        await pilot.press("o")
        assert operator(pane) == ORIGIN


async def test_nothing_over_a_threshold_starts_at_the_top(
    open_app: OpenApp, compared: Compared, screen_text: ScreenText, tmp_path: Path
) -> None:
    app = open_app(write_pair(tmp_path / "run", bad=None))
    async with app.run_test(size=WIDE) as pilot:
        pane = await compared(pilot)
        assert pane.table.current_row == 0
        assert "PASS" in screen_text(app) and "Nothing over a threshold." in screen_text(app)
        await pilot.press("o")
        assert notices(app) == ["No origin was found here."]


# ---- filter ----


async def test_filter_while_typing_enter_and_escape(
    open_app: OpenApp, compared: Compared, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    app = open_app(write_pair(tmp_path / "run"))
    async with app.run_test(size=WIDE) as pilot:
        pane = await compared(pilot)
        await pilot.press("slash", *"io:output")
        assert isinstance(app.focused, Entry)
        await until(pilot, filtered(pane, len(NAMES)))
        assert pane.table.current_row == ORIGIN_ROW, "the cursor stays on its row"
        await pilot.press("enter")
        assert app.focused is pane.table and "filter: io:output" in screen_text(app)
        assert f"1-{len(NAMES)} of {len(NAMES)}" in screen_text(app)
        await pilot.press("escape")
        await until(pilot, filtered(pane, N_ROWS))
        assert "filter:" not in screen_text(app)
        await pilot.press("slash", *"norm", "escape")
        await until(pilot, filtered(pane, N_ROWS))
        assert app.focused is pane.table and not pane.has_class("-filtering") and pane.view.filter == ""
        await pilot.pause(table_pane.DETAIL_PAUSE_S * 2)
        assert pane.table.view.n_rows == N_ROWS, "what was typed last does not come after the escape"


async def test_where_a_filter_matches_nothing_no_detail_stands(
    open_app: OpenApp, compared: Compared, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    app = open_app(write_pair(tmp_path / "run"))
    async with app.run_test(size=WIDE) as pilot:
        pane = await compared(pilot)
        assert shown_detail(pane)
        await pilot.press("slash", *"no-such-name", "enter")
        await until(pilot, filtered(pane, 0))
        assert shown_detail(pane) == "" and not pane.query_one(LayerStrip).display
        assert "0-0 of 0" in screen_text(app)
        await pilot.press("escape")
        await until(pilot, lambda: shown_detail(pane))


async def test_the_mark_of_a_sort_stands_once_the_rows_do(
    open_app: OpenApp, compared: Compared, until: Until, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_order = threading.Event()
    order_rows = order.order_rows

    def wait(table: Any, view: Any, **steering: Any) -> Any:
        assert may_order.wait(30)
        return order_rows(table, view, **steering)

    monkeypatch.setattr(table_keys, "order_rows", wait)
    app = open_app(write_pair(tmp_path / "run"))
    async with app.run_test(size=WIDE) as pilot:
        pane = await compared(pilot)
        await pilot.press("s")
        pane.show_rows()  # as a mark or another column does meanwhile
        assert pane.view.sort and pane.table.view.sorted_by == "" and pane.table.view.order is None
        may_order.set()
        await until(pilot, lambda: pane.table.view.sorted_by == pane.view.sort)
        assert pane.table.view.order is not None


async def test_filter_is_applied_once_for_keys_in_a_row(
    open_app: OpenApp, compared: Compared, until: Until, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    order_rows = order.order_rows

    def count(table: Any, view: Any, **steering: Any) -> Any:
        asked.append(view.filter)
        return order_rows(table, view, **steering)

    monkeypatch.setattr(table_keys, "order_rows", count)
    app = open_app(write_pair(tmp_path / "run"))
    async with app.run_test(size=WIDE) as pilot:
        pane = await compared(pilot)
        await pilot.press("slash")
        pane.query_one("#filter", Entry).insert_text_at_cursor("ro")
        pane.query_one("#filter", Entry).insert_text_at_cursor("le:inherited")
        await until(pilot, filtered(pane, 6))
        assert asked == ["role:inherited"]
        await pilot.press("enter", "u")
        await until(pilot, filtered(pane, N_ROWS))
        assert pane.view.filter == "", "one step back for the whole filter"


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("nothere:1", "no column 'nothere'"),
        ("cosine<much", "column cosine holds numbers"),
        ('"open', "No closing quotation"),
    ],
)
async def test_a_bad_filter_is_explained_and_the_pane_lives(
    open_app: OpenApp,
    compared: Compared,
    until: Until,
    screen_text: ScreenText,
    tmp_path: Path,
    typed: str,
    said: str,
) -> None:
    app = open_app(write_pair(tmp_path / "run"))
    async with app.run_test(size=WIDE) as pilot:
        pane = await compared(pilot)
        await pilot.press("slash")
        pane.query_one("#filter", Entry).value = typed
        await until(pilot, lambda: said in screen_text(app))
        assert pane.table.view.n_rows == N_ROWS
        await pilot.press("enter", "down")
        assert operator(pane) == NAMES[4]
        await pilot.press("escape")
        await until(pilot, lambda: said not in screen_text(app))


async def test_a_filter_that_hides_the_origin_is_dropped_to_show_it(
    open_app: OpenApp, compared: Compared, until: Until, tmp_path: Path
) -> None:
    app = open_app(write_pair(tmp_path / "run"))
    async with app.run_test(size=WIDE) as pilot:
        pane = await compared(pilot)
        await pilot.press("slash", *"lm_head", "enter")
        await until(pilot, filtered(pane, 2))
        await pilot.press("o")
        await until(pilot, filtered(pane, N_ROWS))
        assert operator(pane) == ORIGIN and pane.view.filter == ""


# ---- sort, columns, undo ----


async def test_sort_reverse_and_undo_keep_the_row(
    open_app: OpenApp, compared: Compared, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    app = open_app(write_pair(tmp_path / "run"))
    async with app.run_test(size=WIDE) as pilot:
        pane = await compared(pilot)
        while pane.table.current_column != "cosine":
            await pilot.press("right")
        shown = pane.shown
        assert shown is not None
        cosine = shown.table.column("cosine").values
        await pilot.press("s")
        await until(pilot, lambda: pane.table.view.order is not None)
        assert np.all(np.diff(cosine[pane.table.view.order]) >= 0)
        assert operator(pane) == ORIGIN and "▲ cosine" in screen_text(app)
        await pilot.press("S")
        await until(pilot, lambda: pane.table.view.is_descending)
        assert np.all(np.diff(cosine[pane.table.view.order]) <= 0)
        assert operator(pane) == ORIGIN and "▼ cosine" in screen_text(app)
        await pilot.press("u")
        await until(pilot, lambda: not pane.table.view.is_descending)
        await pilot.press("u")
        await until(pilot, lambda: pane.table.view.order is None)
        assert pane.view.sort is None and operator(pane) == ORIGIN
        await pilot.press("u")
        assert notices(app)[-1] == "Nothing to undo."
        await pilot.press("left", "left", "left", "left", "left", "left", "left", "left", "S")
        await until(pilot, lambda: pane.table.view.is_descending)
        assert pane.view.sort == "operator"


async def test_sort_and_filter_together(
    open_app: OpenApp, compared: Compared, until: Until, tmp_path: Path
) -> None:
    app = open_app(write_pair(tmp_path / "run"))
    async with app.run_test(size=WIDE) as pilot:
        pane = await compared(pilot)
        while pane.table.current_column != "cosine":
            await pilot.press("right")
        await pilot.press("s", "slash", *"io:output", "enter")
        await until(pilot, filtered(pane, len(NAMES)))
        shown = pane.shown
        assert shown is not None
        order = pane.table.view.order
        assert order is not None and set(order.tolist()) == set(range(1, N_ROWS, 2))
        assert np.all(np.diff(shown.table.column("cosine").values[order]) >= 0)


async def test_columns_are_chosen_kept_found_and_undone(
    open_app: OpenApp, compared: Compared, screen_text: ScreenText, tmp_path: Path
) -> None:
    app = open_app(write_pair(tmp_path / "run"))

    def columns(pane: PrecisionPane) -> list[str]:
        return [spec.name for spec in pane.table.view.columns]

    async with app.run_test(size=WIDE) as pilot:
        pane = await compared(pilot)
        before = columns(pane)
        assert "io" in before and "euclidean" not in before
        await pilot.press("c")
        lines = screen_text(app).split("\n")
        assert any("[x] io" in line for line in lines) and any("[ ] target" in line for line in lines)
        names = [c.name for c in pane.shown.table.columns] if pane.shown else []
        for _ in range(names.index("io")):
            await pilot.press("down")
        await pilot.press("enter")
        assert "[ ] io" in screen_text(app)
        await pilot.press("escape")
        assert columns(pane) == [name for name in before if name != "io"]
        await pilot.press("f", *"euclid", "enter")
        assert "euclidean" in columns(pane) and pane.table.current_column == "euclidean"
        await pilot.press("u", "u")
        assert columns(pane) == before
        await pilot.press("f", *"no such", "enter", "escape")
        assert isinstance(app.screen, MainPage) and columns(pane) == before


# ---- marks, notes, copy, where, editor ----


async def test_marks_and_notes_are_kept_outside_the_run(
    open_app: OpenApp, compared: Compared, screen_text: ScreenText, tmp_path: Path, state: Path
) -> None:
    run = write_pair(tmp_path / "run")
    before = sorted(p.relative_to(run) for p in run.rglob("*"))
    app = open_app(run)
    async with app.run_test(size=WIDE) as pilot:
        pane = await compared(pilot)
        await pilot.press("m", "down", "a", *"look here", "enter")
        assert pane.table.marked == frozenset({ORIGIN_ROW - 1, ORIGIN_ROW, ORIGIN_ROW + 1, ORIGIN_ROW + 2})
    assert sorted(p.relative_to(run) for p in run.rglob("*")) == before
    assert any("look here" in p.read_text() for p in state.rglob("*") if p.is_file())
    again = open_app(run)
    async with again.run_test(size=WIDE) as pilot:
        pane = await compared(pilot)
        assert ORIGIN_ROW in pane.table.marked and pane.view.marks == ((ORIGIN, ""), (NAMES[4], "look here"))
        await pilot.press("apostrophe")
        assert "Marks of this run: 2" in screen_text(again) and "look here" in screen_text(again)
        await pilot.press("down", "enter")
        assert operator(pane) == NAMES[4]
        await pilot.press("o", "m")
        assert pane.view.marks == ((NAMES[4], "look here"),)
        await pilot.press("u")
        assert ORIGIN in dict(pane.view.marks)


async def test_copy_is_the_finding_under_the_cursor(
    open_app: OpenApp, compared: Compared, until: Until, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied: list[str] = []

    def take(text: str, *args: object, **options: object) -> clipboard.Copied:
        copied.append(text)
        return clipboard.Copied("tmux", len(text), None)

    monkeypatch.setattr(clipboard, "copy_text", take)
    app = open_app(write_pair(tmp_path / "run"))
    async with app.run_test(size=WIDE) as pilot:
        pane = await compared(pilot)
        report = pane.report()
        assert report is not None
        await pilot.press("y")
        await until(pilot, lambda: copied)
        first = report.findings[0]
        assert copied[0] == finding_text(first, pane.main_figures(first))
        figures = [line for line in copied[0].split("\n") if line.split(":")[0] in first.figures]
        assert 4 <= len(figures) <= 8 and f"rel_l2: {first.figures['rel_l2']:.4g}" in figures
        assert all(len(line) < 60 for line in figures), "rounded"
        assert (
            copied[0].startswith(f"error precision.operator (origin): {ORIGIN}\n")
            and "cosine: 0.80" in copied[0]
        )
        await pilot.press("down", "y")
        await until(pilot, lambda: len(copied) == 2)
        assert f"(inherited): {NAMES[4]}.input.0" in copied[1]


async def test_where_figures_come_from_names_both_files_and_the_byte(
    open_app: OpenApp, compared: Compared, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    run = write_pair(tmp_path / "run")
    byte = (run / "npu/step0/rank0/dump.json").read_bytes().index(f'"{ORIGIN}"'.encode())
    app = open_app(run)
    async with app.run_test(size=WIDE) as pilot:
        await compared(pilot)
        await pilot.press("i")
        text = screen_text(app)
        assert f"target: npu/step0/rank0/dump.json byte {byte}" in text
        assert f"dump_tensor_data/{ORIGIN}.output.0.npy" in text and "golden: cpu/step0/rank0/" in text
        assert f"row {ORIGIN_ROW}" in text
        await pilot.press("b")
        assert isinstance(app.screen, MainPage)


# ---- rounds, language, re-scan ----


@pytest.fixture
def rounds(tmp_path: Path) -> Path:
    """Two rounds that share one golden capture; the first goes wrong, the second does not."""
    run = tmp_path / "run"
    write_capture(run / "golden", chain())
    write_capture(run / "round1" / "target", chain(bad=ORIGIN))
    write_capture(run / "round2" / "target", chain())
    return run


async def test_brackets_switch_rounds(
    open_app: OpenApp, compared: Compared, until: Until, screen_text: ScreenText, rounds: Path
) -> None:
    app = open_app(rounds)
    async with app.run_test(size=WIDE) as pilot:
        pane = await compared(pilot)
        assert "round 2 of 2" in screen_text(app) and "PASS" in screen_text(app)
        await pilot.press("left_square_bracket")
        await until(pilot, lambda: pane.shown and pane.shown.report.verdict == "fail")
        await compared(pilot)
        assert "round 1 of 2" in screen_text(app) and operator(pane) == ORIGIN
        await pilot.press("right_square_bracket")
        await until(pilot, lambda: pane.shown and pane.shown.report.verdict == "pass")
        await compared(pilot)
        assert "round 2 of 2" in screen_text(app) and "origin:" not in screen_text(app)


async def test_results_of_a_round_that_was_left_are_dropped(
    open_app: OpenApp,
    compared: Compared,
    until: Until,
    screen_text: ScreenText,
    rounds: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started, go_on, ended = threading.Event(), threading.Event(), threading.Event()
    compare_round = jobs.compare_round

    def slow(run: Any, round_name: str, tools: Any, **options: Any) -> Any:
        if round_name == "round2":
            started.set()
            assert go_on.wait(20)
            tools = replace(tools, is_cancelled=lambda: False)  # as late as it can be: it never looks
        try:
            return compare_round(run, round_name, tools, **options)
        finally:
            if round_name == "round2":
                ended.set()

    monkeypatch.setattr(pane_module, "compare_round", slow)
    app = open_app(rounds)
    async with app.run_test(size=WIDE) as pilot:
        assert await asyncio.to_thread(started.wait, 20)
        await pilot.press("left_square_bracket")
        pane = await compared(pilot)
        go_on.set()
        assert await asyncio.to_thread(ended.wait, 20)
        await pilot.pause()
        assert pane.shown is not None and pane.shown.comparison.pair.round == "round1"
        assert "FAIL" in screen_text(app) and "cancelled" not in screen_text(app)


async def test_language_rebuilds_every_text(
    open_app: OpenApp, compared: Compared, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    app = open_app(write_pair(tmp_path / "run"))
    async with app.run_test(size=WIDE) as pilot:
        pane = await compared(pilot)
        english = screen_text(app)
        await pilot.press("L")
        await until(pilot, lambda: "输入" in pane.query_one(DetailView).detail.headline)  # type: ignore[union-attr]
        chinese = screen_text(app)
        assert (
            "算子调用" in chinese and "源头" in chinese and "最后输出余弦" in chinese and "下一步" in chinese
        )
        for word in (
            "operator call",
            "origin",
            "inherited",
            "compared",
            "next:",
            "inputs agree",
            "last output",
        ):
            assert word in english and word not in chinese, word
        assert pane.table.current_row == ORIGIN_ROW
        await pilot.press("L")
        await until(pilot, lambda: "inputs" in pane.query_one(DetailView).detail.headline)  # type: ignore[union-attr]
        assert screen_text(app) == english


async def test_language_of_one_capture_alone(
    open_app: OpenApp, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    write_capture(tmp_path / "run" / "npu", chain())
    app = open_app(tmp_path / "run")
    async with app.run_test(size=WIDE) as pilot:
        await until(pilot, lambda: "One capture alone" in screen_text(app))
        await pilot.press("L")
        await until(pilot, lambda: "仅有一份采集" in screen_text(app))
        assert "golden" not in screen_text(app).replace("golden、", "").replace("GOLDEN", "")


async def test_rescan_reads_again_and_keeps_the_cursor(
    open_app: OpenApp, compared: Compared, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    run = write_pair(tmp_path / "run")
    app = open_app(run)
    async with app.run_test(size=WIDE) as pilot:
        pane = await compared(pilot)
        first = pane.shown
        await pilot.press("g", "down")
        await pilot.press("r")
        await until(pilot, lambda: pane.shown is not first)
        await compared(pilot)
        assert pane.table.current_row == 1
        second = pane.shown
        for calls in (("npu", chain()), ("cpu", chain())):  # what was captured afterwards is good
            dump = run / calls[0] / "step0/rank0/dump.json"
            for name, inputs, outputs in calls[1]:
                np.save(dump.parent / "dump_tensor_data" / f"{name}.output.0.npy", outputs[0])
                np.save(dump.parent / "dump_tensor_data" / f"{name}.input.0.npy", inputs[0])
        await pilot.press("r")
        await until(pilot, lambda: pane.shown is not second)
        await compared(pilot)
        assert "PASS" in screen_text(app) and pane.table.current_row == 1


async def test_a_rescan_with_fewer_rows_under_a_sort(
    open_app: OpenApp, compared: Compared, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    import shutil

    run = write_pair(tmp_path / "run")
    app = open_app(run)
    async with app.run_test(size=WIDE) as pilot:
        pane = await compared(pilot)
        await pilot.press("S")
        await until(pilot, lambda: pane.table.view.order is not None)
        shutil.rmtree(run)
        write_pair(run, bad=NAMES[1], names=NAMES[:2])
        await pilot.press("r")
        await until(
            pilot, lambda: pane.shown and pane.shown.table.n_rows == 4 and pane.table.view.n_rows == 4
        )
        await until(pilot, lambda: pane.table.view.order is not None and len(pane.table.view.order) == 4)
        assert "layers.0.mlp" in screen_text(app)


# ---- nothing to compare ----


async def test_an_empty_folder_says_what_was_looked_for(
    open_app: OpenApp, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    (tmp_path / "run").mkdir()
    app = open_app(tmp_path / "run")
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "No two captures to compare" in screen_text(app))
        text = screen_text(app)
        assert (
            "dump.json" in text and "npulse precision TARGET GOLDEN" in text and "PrecisionDebugger" in text
        )
        for key in ("slash", "s", "c", "f", "n", "o", "m", "y", "i", "t", "v", "x", "enter", "u", "j", "G"):
            await pilot.press(key)
        assert app.is_running and isinstance(app.screen, MainPage)


async def test_one_capture_alone_is_checked_for_nan(
    open_app: OpenApp, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    calls = chain()
    calls[4][2][0][2, 3] = np.inf
    write_capture(tmp_path / "run" / "npu", calls[:5])
    app = open_app(tmp_path / "run")
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "One capture alone" in screen_text(app))
        text = screen_text(app)
        assert "5 calls" in text and calls[4][0] in text and "PrecisionDebugger" in text
        await pilot.press("n")
        assert notices(app) and calls[4][0] in notices(app)[-1]


async def test_captures_without_sides_are_named(
    open_app: OpenApp, compared: Compared, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    for name in ("one", "two", "three"):
        write_capture(run / name, chain(bad=ORIGIN if name == "two" else None))
    app = open_app(run)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "do not say which is target" in screen_text(app))
        lines = screen_text(app).split("\n")
        assert "one, three, two" in lines[2] and "press p" in lines[3]
        assert "p pair" in lines[-1] and "filter" not in lines[-1]
        await pilot.press("p", *"two", "enter")
        await pilot.press(*"one", "enter")
        pane = await compared(pilot)
        assert operator(pane) == ORIGIN and "target two" in screen_text(app)


# ---- what cannot be read ----


async def test_a_cut_off_dump_is_a_problem_that_the_header_counts(
    open_app: OpenApp, compared: Compared, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    run = write_pair(tmp_path / "run")
    dump = run / "npu/step0/rank0/dump.json"
    dump.write_bytes(dump.read_bytes()[:-900])
    app = open_app(run)
    async with app.run_test(size=WIDE) as pilot:
        pane = await compared(pilot)
        report = pane.report()
        assert report is not None and len(report.problems) >= 1
        assert f" ! {len(app.problems())} " in screen_text(app).split("\n")[0]
        assert operator(pane) == ORIGIN
        await pilot.press("exclamation_mark")
        text = screen_text(app)
        assert "cut-off" in text and "npu/step0/rank0/dump.json" in text and "byte" in text


async def test_a_missing_tensor_file_is_a_problem(
    open_app: OpenApp, compared: Compared, screen_text: ScreenText, tmp_path: Path
) -> None:
    run = write_pair(tmp_path / "run")
    (run / f"cpu/step0/rank0/dump_tensor_data/{NAMES[0]}.output.0.npy").unlink()
    app = open_app(run)
    async with app.run_test(size=WIDE) as pilot:
        pane = await compared(pilot)
        assert " ! 1 " in screen_text(app).split("\n")[0] and operator(pane) == ORIGIN
        await pilot.press("exclamation_mark")
        assert f"{NAMES[0]}.output.0.npy" in screen_text(app)


@pytest.mark.parametrize("content", [b"", b'{"task": "statistics", "data": ', b"\xff\xfe\x00garbage"])
async def test_a_dump_that_cannot_be_used_at_all(
    open_app: OpenApp, until: Until, screen_text: ScreenText, tmp_path: Path, content: bytes
) -> None:
    run = write_pair(tmp_path / "run")
    (run / "npu/step0/rank0/dump.json").write_bytes(content)
    app = open_app(run)
    async with app.run_test(size=WIDE) as pilot:
        await until(pilot, lambda: app.opened is not None and not any(app._busy.values()))
        await until(pilot, lambda: " ! " in screen_text(app).split("\n")[0])
        assert "Reading and comparing" not in screen_text(app)
        await pilot.press("exclamation_mark")
        assert "npu/step0/rank0" in screen_text(app)
        await pilot.press("b", "n", "o", "slash", "enter")
        assert app.is_running


async def test_an_error_of_the_comparison_is_told_and_r_tries_again(
    open_app: OpenApp,
    compared: Compared,
    until: Until,
    screen_text: ScreenText,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from npulse.core.errors import InputError

    compare_round, fails = jobs.compare_round, [True]

    def break_down(*args: Any, **options: Any) -> Any:
        if fails.pop():
            raise InputError("not a dump", path="npu/dump.json", byte=7, hint="write it again")
        return compare_round(*args, **options)

    monkeypatch.setattr(pane_module, "compare_round", break_down)
    app = open_app(write_pair(tmp_path / "run"))
    async with app.run_test(size=WIDE) as pilot:
        await until(pilot, lambda: "not a dump" in screen_text(app))
        text = screen_text(app)
        assert "npu/dump.json, byte 7: not a dump" in text and "write it again" in text
        assert " ! 1 " in text.split("\n")[0] and "reading" not in text.split("\n")[0].lower()
        fails[:] = [False]
        await pilot.press("r")
        pane = await compared(pilot)
        assert operator(pane) == ORIGIN and " ! " not in screen_text(app).split("\n")[0]


# ---- names from outside ----


@pytest.mark.parametrize(("size", "charset"), [((80, 24), "utf-8"), (WIDE, "ascii")])
async def test_hostile_names(
    open_app: OpenApp,
    compared: Compared,
    until: Until,
    screen_text: ScreenText,
    tmp_path: Path,
    size: tuple[int, int],
    charset: str,
) -> None:
    calls = [(name, (a,), (b,)) for name, (_, (a,), (b,)) in zip(HOSTILE, chain(), strict=False)]
    golden = [(n, i, (o[0] * np.float32(1.5),) if n == HOSTILE[0] else o) for n, i, o in calls]
    write_capture(tmp_path / "run" / "npu", calls, with_files=False)
    write_capture(tmp_path / "run" / "cpu", golden, with_files=False)
    words = {"TERM": "xterm-256color", "LANG": "C.UTF-8"} if charset == "utf-8" else {"TERM": "xterm"}
    app = open_app(tmp_path / "run", terminal=terminal_from(words, is_tty=True, encoding=charset))
    async with app.run_test(size=size) as pilot:
        pane = await compared(pilot)
        assert operator(pane) == HOSTILE[0] and "[red]x[/red]" in screen_text(app)
        for name in HOSTILE:
            row = min(pane._rows_named({name}))
            pane.table.move_to_row(row)
            await until(pilot, lambda row=row: shown_detail(pane) == f"{operator(pane)}.input.0")
            texts = [screen_text(app)]
            for key, back in (("i", "b"), ("a", "escape"), ("v", "b")):
                await pilot.press(key)
                texts.append(screen_text(app))
                await pilot.press(back)
            for text in texts:
                controls = [c for c in text if ord(c) < 32 and c != "\n" or 0x7F <= ord(c) < 0xA0]
                assert not controls and (charset == "utf-8" or text.isascii())
        assert app.is_running


# ---- cancelling ----


@pytest.mark.parametrize("key", ["ctrl+c", "escape", "b"])
async def test_a_cancelled_comparison_says_so_and_r_starts_again(
    open_app: OpenApp,
    compared: Compared,
    until: Until,
    screen_text: ScreenText,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    key: str,
) -> None:
    compare_round, started, is_slow = jobs.compare_round, threading.Event(), [True]

    def slow(run: Any, round_name: str, tools: Any, **options: Any) -> Any:
        if is_slow[0]:
            started.set()
            while True:
                check(tools.is_cancelled)
                threading.Event().wait(0.005)
        return compare_round(run, round_name, tools, **options)

    monkeypatch.setattr(pane_module, "compare_round", slow)
    app = open_app(write_pair(tmp_path / "run"))
    async with app.run_test(size=WIDE) as pilot:
        assert await asyncio.to_thread(started.wait, 20)
        await until(pilot, lambda: "Reading and comparing" in screen_text(app))
        await pilot.press(key)
        await until(pilot, lambda: "Comparing was cancelled. r reads and compares again." in screen_text(app))
        assert app.is_running and "Reading" not in screen_text(app)
        assert not any(app._busy.values()), "the header shows no work"
        for other in ("1", "2", "question_mark", "q", "n", "slash", "j"):
            await pilot.press(other)
        assert "was cancelled" in screen_text(app)
        is_slow[0] = False
        await pilot.press("r")
        pane = await compared(pilot)
        assert operator(pane) == ORIGIN and "cancelled" not in pane.summary_lines()[0]


async def test_cancelling_the_second_read_keeps_what_the_first_found(
    open_app: OpenApp,
    until: Until,
    screen_text: ScreenText,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from npulse.core.precision import compare

    looking = threading.Event()

    def never(executor: Any, part: Any, resumed: Any, steps: Any, is_cancelled: Any) -> None:
        looking.set()
        while True:
            check(is_cancelled)
            threading.Event().wait(0.005)

    monkeypatch.setattr(compare, "second_read", never)
    app = open_app(write_pair(tmp_path / "run"))
    async with app.run_test(size=WIDE) as pilot:
        assert await asyncio.to_thread(looking.wait, 20)
        await until(pilot, lambda: app.pane is not None and getattr(app.pane, "shown", None))
        await pilot.press("ctrl+c")
        await until(pilot, lambda: "Comparing was cancelled" in screen_text(app))
        pane = app.pane
        assert isinstance(pane, PrecisionPane) and operator(pane) == ORIGIN
        assert "FAIL" in screen_text(app) and not any(app._busy.values())


# ---- cost ----


def test_workers_describe_themselves() -> None:
    """Without a description the framework builds one from `repr` of all arguments: a whole comparison."""
    root = Path(panes_module.__file__).resolve().parents[1]
    missing = []
    for path in sorted(root.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or len(node.args.args) < 2:
                continue
            for call in node.decorator_list:
                name = getattr(getattr(call, "func", call), "id", "")
                if name == "work" and "description" not in {k.arg for k in getattr(call, "keywords", ())}:
                    missing.append(f"{path.name}:{node.name}")
    assert missing == [] or missing == ["app.py:replay", "shell.py:_discover_run"], "short arguments only"


def test_translated_is_of_the_same_comparison(tmp_path: Path) -> None:
    from npulse.core import api

    comparison: Comparison = api.compare(write_pair(tmp_path / "run")).comparison
    shown = precision_view(comparison, "en")
    assert shown.translated("zh").table is shown.table and shown.translated("zh").lang == "zh"


@pytest.mark.parametrize("lang", ["en", "zh"])
async def test_the_footer_of_a_narrow_terminal_offers_what_leads_on(
    open_app: OpenApp, compared: Compared, screen_text: ScreenText, tmp_path: Path, lang: str
) -> None:
    app = open_app(write_pair(tmp_path / "run"))
    app.lang = lang  # type: ignore[assignment]
    async with app.run_test(size=(80, 24)) as pilot:
        await compared(pilot)
        words = {BY_ID[name].label(app.lang) for name in ("precision.pairing", "precision.recheck")}
        footer = screen_text(app).split("\n")[23]
        assert all(word in footer for word in words) and " z " not in footer  # of one rank there is no matrix
