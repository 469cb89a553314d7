"""What opens from the overflow pane: the matrix of ranks, the choice of one of some named things."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from textual.app import App

from npulse.core.overflow.view import CLEAN, HAS_INHERITED, HAS_ORIGIN, NOT_CAPTURED, RankMatrix
from npulse.tui.app import NpulseApp
from npulse.tui.glyphs import ASCII, UNICODE
from npulse.tui.panes.overflow.pages import RanksPage, cell_of, changes, rank_list, ruler, shown_columns
from npulse.tui.panes.overflow.pane import OverflowPane
from npulse.tui.screens.choice import ChoicePage
from npulse.tui.screens.entry import Entry
from npulse.tui.screens.main import MainPage

from .overflow_runs import BAD_RANK, LOG, REDUCE, write_ranks, write_sum

OpenApp = Callable[..., NpulseApp]
Looked = Callable[..., Awaitable[OverflowPane]]
Until = Callable[..., Awaitable[None]]
ScreenText = Callable[[NpulseApp], str]


def matrix_of(*rows: str) -> RankMatrix:
    """A row of letters a rank: clean, inherited, origin, unknown."""
    states = np.array([["ciou".index(letter) for letter in row] for row in rows], np.int8)
    n_meetings = states.shape[1] - 1
    labels = tuple(f"rank {i}" for i in range(len(rows)))
    return RankMatrix(states, labels, tuple(f"Distributed.all_reduce.{i}.forward" for i in range(n_meetings)))


# ---- the matrix ----


async def test_who_was_bad_when(
    open_app: OpenApp, looked: Looked, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    app = open_app(write_ranks(tmp_path / "run", n_before=3), first_pane="overflow")
    async with app.run_test(size=(80, 24)) as pilot:
        pane = await looked(pilot)
        await pilot.press("v")
        assert isinstance(app.screen, RanksPage)
        lines = [line.rstrip() for line in screen_text(app).split("\n")]
        assert lines[0].startswith(" Ranks against their exchanges; Enter goes to the first bad call")
        assert lines[1].startswith(" · clean   ↳ inherited   ✗ origin") and "exchange k of 4" in lines[1]
        assert lines[2].split() == ["rank", "0"]
        assert [line.split()[-1] for line in lines[3:7]] == ["····↳", "····↳", "···✗↳", "····↳"]
        assert "   3  Distributed.all_reduce.2: rank 2 origin" in [line[1:] for line in lines]
        assert "   4  Distributed.all_reduce.3: rank 0-1, 3 inherited" in [line[1:] for line in lines]
        assert "Enter open" in lines[-1]
        await pilot.press("down", "down", "enter")
        await until(pilot, lambda: isinstance(app.screen, MainPage))
        assert pane.subject() == LOG and pane.shown is not None and pane.row is not None
        assert pane.shown.table.column("rank").value(pane.row) == BAD_RANK
        await pilot.press("v", "enter")
        await until(pilot, lambda: isinstance(app.screen, MainPage))
        assert pane.subject() == REDUCE.replace("0", "3") and pane.view.filter == ""
        assert pane.shown.table.column("rank").value(pane.row) == 0
        await pilot.press("v", "b")
        assert isinstance(app.screen, MainPage) and app.focused is pane.table


async def test_the_matrix_in_chinese_and_with_more_exchanges_than_columns(
    open_app: OpenApp, looked: Looked, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    app = open_app(write_ranks(tmp_path / "run", n_before=100), first_pane="overflow", lang="zh")
    async with app.run_test(size=(80, 24)) as pilot:
        await looked(pilot)
        await pilot.press("v")
        text = screen_text(app)
        assert "共 101 次" in text and "共 102 列，只显示最先有变化的列" in text and "rank 2 源头" in text
        rows = [line.split()[-1] for line in text.split("\n") if line[3:8] == "rank " and line[8].isdigit()]
        assert rows == ["··↳", "··↳", "·✗↳", "··↳"]
        await pilot.press("L")
        text = screen_text(app)
        assert "of 102 columns the first at which something changes" in text
        assert " 100  Distributed.all_reduce.99: rank 2 origin" in text
        await pilot.resize_terminal(140, 30)
        await until(pilot, lambda: "·" * 100 + "✗↳" in screen_text(app))
        assert "of 102 columns" not in screen_text(app)
        header = next(line for line in screen_text(app).split("\n") if line[3:7] == "rank" and "50" in line)
        row = next(line for line in screen_text(app).split("\n") if line[3:].startswith("rank 2"))
        assert header.index("100") == row.index("✗"), "the number stands above its column"


async def test_one_rank_has_no_matrix(open_app: OpenApp, looked: Looked, tmp_path: Path) -> None:
    app = open_app(write_sum(tmp_path / "run"), first_pane="overflow")
    async with app.run_test(size=(80, 24)) as pilot:
        await looked(pilot)
        await pilot.press("v")
        assert isinstance(app.screen, MainPage)
        assert [str(n.message) for n in app._notifications] == ["Of this step one rank alone was captured."]


def test_columns_that_are_shown() -> None:
    matrix = matrix_of("ccccccci", "ccocccci")
    assert shown_columns(matrix, 8) == list(range(8))
    assert shown_columns(matrix, 7) == [0, 2, 3, 7]
    assert shown_columns(matrix, 2) == [0, 2]
    assert shown_columns(matrix_of("c", "o"), 1) == [0]


def test_changes_are_for_the_worse() -> None:
    assert changes(matrix_of("ccioic", "cccccc")) == [2, 3]
    assert changes(matrix_of("oo", "ci")) == [0, 1]
    assert changes(matrix_of("ccuu", "cccc")) == [], "what was not read is no change"


@pytest.mark.parametrize(
    ("columns", "line"),
    [
        (range(13), "0    5    10"),
        ([0, 7, 8, 9, 11], "0 8 11"),
        ([0], "0"),
        ([], ""),
        ([98, 99, 100], "98"),
    ],
)
def test_ruler(columns: Any, line: str) -> None:
    assert ruler(list(columns)) == line
    for place, column in enumerate(columns):
        written = line[place:].split(" ")[0]
        if written and (place == 0 or line[place - 1 : place] == " "):
            assert written == str(column)


@pytest.mark.parametrize(
    ("numbers", "text"),
    [([0], "rank 0"), ([0, 1, 2, 5], "rank 0-2, 5"), ([3, 2], "rank 2-3"), (range(64), "rank 0-63")],
)
def test_ranks_are_listed_as_ranges(numbers: Any, text: str) -> None:
    assert rank_list([f"rank {n}" for n in numbers]) == text


def test_names_that_are_no_ranks_are_listed() -> None:
    assert rank_list(["dump.json", "rank 3"]) == "dump.json, rank 3"
    assert rank_list([f"file{n}" for n in range(9)]).endswith("file7 ...")


def test_every_state_has_a_cell_of_its_own() -> None:
    for glyphs in (UNICODE, ASCII):
        cells = [cell_of(state, glyphs) for state in (CLEAN, HAS_INHERITED, HAS_ORIGIN, NOT_CAPTURED)]
        assert len(set(cells)) == 4 and all(len(cell) == 1 for cell in cells)
        assert not glyphs.is_ascii or "".join(cells).isascii()


@pytest.mark.parametrize(
    "matrix",
    [
        RankMatrix(np.zeros((2, 1), np.int8), ("rank 0", "rank 1"), ()),
        RankMatrix(np.zeros((2, 3), np.int8), ("a\x1b[2J", "注意力" * 9), ("x" * 300, "[red]y[/red]")),
    ],
)
async def test_odd_matrices_are_drawn(
    make_app: Callable[..., NpulseApp], screen_text: ScreenText, matrix: RankMatrix
) -> None:
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await app.push_screen(RanksPage(matrix))
        await pilot.pause()
        text = screen_text(app)
        assert "rank 0" in text or "␛" in text
        assert "\x1b" not in text and all(len(line) <= 80 for line in text.split("\n"))


async def test_many_changes_are_counted(make_app: Callable[..., NpulseApp], screen_text: ScreenText) -> None:
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await app.push_screen(RanksPage(matrix_of("ci" * 10, "cc" * 10)))
        await pilot.pause()
        assert "... and 2 more" in screen_text(app) and "  15  Distributed.all_reduce.14" in screen_text(app)
        await pilot.press("L")
        assert "……另有 2 处" in screen_text(app)


# ---- choosing ----


async def choose(app: App[Any], answers: list[Any]) -> None:
    choices = [("first one", 1), ("second one", 2), ("[red]third[/red]\x1b", "c")]
    await app.push_screen(ChoicePage("overflow.saturation-title", choices), answers.append)


@pytest.mark.parametrize(
    ("keys", "answer"),
    [(["enter"], 1), (["down", "enter"], 2), ([*"third", "enter"], "c"), (["up", "enter"], 1)],
)
async def test_a_choice_is_taken(make_app: Callable[..., NpulseApp], keys: list[str], answer: Any) -> None:
    app, answers = make_app(), []
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await choose(app, answers)
        await pilot.pause()
        await pilot.press(*keys)
        await pilot.pause()
        assert answers == [answer] and isinstance(app.screen, MainPage)


async def test_a_choice_that_is_left_or_matches_nothing(
    make_app: Callable[..., NpulseApp], screen_text: ScreenText
) -> None:
    app, answers = make_app(), []
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await choose(app, answers)
        await pilot.pause()
        assert isinstance(app.focused, Entry) and "[red]third[/red]" in screen_text(app)
        await pilot.press(*"nothing like it")
        assert "There is nothing here to choose from." in screen_text(app)
        await pilot.press("enter")
        assert answers == [] and isinstance(app.screen, ChoicePage)
        await pilot.press("escape")
        await pilot.pause()
        assert answers == [None] and isinstance(app.screen, MainPage)
