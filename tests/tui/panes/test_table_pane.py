"""The table pane over a view that has nothing to do with precision: what every area gets without asking."""

from __future__ import annotations

import csv
import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npulse.core.errors import InputError
from npulse.core.findings import Finding, Location, Report
from npulse.core.progress import check
from npulse.core.run.model import Round, Run
from npulse.core.table import Column, Table, text_column
from npulse.core.text import Lang
from npulse.core.views import Detail, Strip
from npulse.tui.app import NpulseApp
from npulse.tui.panes.job_pane import Job, JobTools
from npulse.tui.panes.table_pane import TablePane
from npulse.tui.screens.main import MainPage
from npulse.tui.widgets.detail import DetailView
from npulse.tui.widgets.strip import LayerStrip
from npulse.tui.widgets.virtual_table import ColumnSpec

MakeApp = Callable[..., NpulseApp]
Until = Callable[..., Awaitable[None]]
ScreenText = Callable[[NpulseApp], str]
SITES = ("gemm.cpp:10", "gemm.cpp:22", "rope.cpp:7", "rope.cpp:9", "rope.cpp:31")


def finding_at(row: int, role: Any = "origin", severity: Any = "error") -> Finding:
    place = Location("run.log", row=row, line=row + 1)
    figures = {"n_reports": 100 + row, "first_byte": 64}
    return Finding(
        "memory",
        severity,
        "memory.race",
        role,
        SITES[row],
        "a race",
        "add a barrier",
        figures=figures,
        location=place,
    )


@dataclass(frozen=True)
class Sites:
    """Code sites with a number of reports each."""

    report: Report
    table: Table
    lang: Lang = "en"
    is_complete: bool = True
    strips: tuple[Strip, ...] = (Strip(("kernel a", "kernel b"), np.array([0.5, 1.0]), np.ones(2, np.bool_)),)

    def detail(self, row: int, lang: Lang) -> Detail:
        return Detail(SITES[row], f"{lang} headline of {SITES[row]}", (("n_reports", str(100 + row)),))

    def finding(self, row: int, lang: Lang) -> Finding:
        return finding_at(row)

    def main_figures(self, finding: Finding) -> Sequence[tuple[str, str]]:
        return [("n_reports", str(finding.figures["n_reports"]))]

    def where(self, row: int, lang: Lang) -> list[str]:
        return [f"run.log line {row + 1}"]

    def meaning(self, column: str, lang: Lang) -> str:
        return "how often it was reported" if column == "n_reports" else ""

    def place(self, row: int) -> tuple[Path, int | None] | None:
        return None

    def row_of(self, finding: Finding) -> int | None:
        return finding.location.row

    def strip(self, row: int) -> tuple[Strip, int] | None:
        return self.strips[0], int(row > 1)

    def translated(self, lang: Lang) -> Sites:
        return replace(self, lang=lang)


def sites(*findings: Finding) -> Sites:
    table = Table(
        "sites",
        (
            text_column("site", list(SITES)),
            Column("n_reports", "int", np.array([5, 3, 9, 1, 7])),
            text_column("state", ["error origin", "pass ok", "error inherited", "error origin", "pass ok"]),
        ),
    )
    return Sites(Report("memory", "run", "fail", findings=findings), table)


class SitesPane(TablePane[Sites]):
    subject_column = "site"
    job: Job = staticmethod(lambda tools: tools.show(sites(finding_at(0), finding_at(3))))

    def make_job(self, run: Run, round_: Round) -> Job:
        return type(self).job

    def specs(self, table: Table) -> tuple[ColumnSpec, ...]:
        return tuple(ColumnSpec(c.name) for c in table.columns if c.name not in self.view.hidden)

    def heading(self, name: str, lang: Lang) -> str:
        return name

    def shown_lines(self, view: Sites) -> list[str]:
        return [f"{view.report.verdict.upper()} {len(view.report.findings)} sites", "look at the first"]

    def instead_lines(self, instead: Any) -> list[str]:
        return ["nothing of this area"]


def pane_that(job: Callable[[JobTools], None]) -> type[SitesPane]:
    return type("OtherPane", (SitesPane,), {"job": staticmethod(job), "BINDINGS": []})


@pytest.fixture
def open_pane(make_app: MakeApp) -> Callable[..., NpulseApp]:
    def make(pane: type[SitesPane] = SitesPane, **options: Any) -> NpulseApp:
        return make_app(make_pane=pane, first_pane="memory", **options)

    return make


def notices(app: NpulseApp) -> list[str]:
    return [str(notification.message) for notification in app._notifications]


async def stands(until: Until, pilot: Any) -> SitesPane:
    app = pilot.app
    await until(
        pilot, lambda: app.main.query(DetailView) and app.main.query_one(DetailView).detail is not None
    )
    pane = app.pane
    assert isinstance(pane, SitesPane)
    return pane


async def test_answer_table_detail_and_strip_follow(
    open_pane: MakeApp, until: Until, screen_text: ScreenText
) -> None:
    app = open_pane()
    async with app.run_test(size=(80, 24)) as pilot:
        pane = await stands(until, pilot)
        text = screen_text(app)
        assert "FAIL 2 sites" in text and "en headline of gemm.cpp:10" in text and "1-5 of 5" in text
        await pilot.press("j", "j")
        await until(pilot, lambda: "headline of rope.cpp:7" in screen_text(app))
        assert (
            pane.query_one(LayerStrip).label.startswith("kernel b") and pane.query_one(LayerStrip).cursor == 1
        )
        await pilot.press("L")
        await until(pilot, lambda: "zh headline of rope.cpp:7" in screen_text(app))


async def test_origins_in_turn_and_findings_in_turn(open_pane: MakeApp, until: Until) -> None:
    app = open_pane()
    async with app.run_test(size=(80, 24)) as pilot:
        pane = await stands(until, pilot)
        for row, said in ((3, "origin 2 of 2"), (0, "origin 1 of 2"), (3, "origin 2 of 2")):
            await pilot.press("o")
            assert (pane.row, notices(app)[-1]) == (row, said)
        await pilot.press("j", "o")
        assert pane.row == 0, "from anywhere else, the first"
        await pilot.press("n")
        assert pane.row == 3


async def test_the_only_finding_says_so(open_pane: MakeApp, until: Until) -> None:
    app = open_pane(pane_that(lambda tools: tools.show(sites(finding_at(2, "suspect", "warning")))))
    async with app.run_test(size=(80, 24)) as pilot:
        pane = await stands(until, pilot)
        assert pane.row == 2, "a warning is a place to start too"
        await pilot.press("n")
        assert notices(app) == ["This is the only finding."] and pane.row == 2
        await pilot.press("g", "n")
        assert pane.row == 2
        assert "origin" not in [word for _, word in app.main.query_one("FooterLine").items]  # type: ignore[attr-defined]


async def test_tab_goes_to_the_detail_and_back(open_pane: MakeApp, until: Until) -> None:
    app = open_pane()
    async with app.run_test(size=(80, 24)) as pilot:
        pane = await stands(until, pilot)
        await pilot.press("tab")
        assert app.focused is pane.query_one(DetailView)
        await pilot.press("j", "m")
        assert pane.row == 0 and dict(pane.view.marks) == {SITES[0]: ""}, "the pane's keys work from there"
        await pilot.press("tab", "j")
        assert app.focused is pane.table and pane.row == 1


async def test_a_note_stands_in_the_detail(open_pane: MakeApp, until: Until, screen_text: ScreenText) -> None:
    app = open_pane()
    async with app.run_test(size=(80, 24)) as pilot:
        await stands(until, pilot)
        await pilot.press("a", *"asked the vendor", "enter")
        await until(pilot, lambda: "your note: asked the vendor" in screen_text(app))
        await pilot.press("j")
        await until(pilot, lambda: "headline of gemm.cpp:22" in screen_text(app))
        assert "asked the vendor" not in screen_text(app)
        await pilot.press("k")
        await until(pilot, lambda: "asked the vendor" in screen_text(app))


async def test_sort_filter_columns_where_and_export(
    open_pane: MakeApp, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    app = open_pane()
    async with app.run_test(size=(80, 24)) as pilot:
        pane = await stands(until, pilot)
        await pilot.press("f", *"n_rep", "enter", "S")
        await until(pilot, lambda: pane.table.view.order is not None)
        assert pane.table.view.order is not None and pane.table.view.order.tolist() == [2, 4, 0, 1, 3]
        await pilot.press("slash", *"rope", "enter")
        await until(pilot, lambda: pane.table.view.n_rows == 3)
        await pilot.press("c")
        assert "how often it was reported" in screen_text(app)
        await pilot.press("escape", "i")
        assert "run.log line" in screen_text(app)
        await pilot.press("b", "x")
        await pilot.press("ctrl+u", *str(tmp_path.parent / "sites.csv"), "enter")
        await until(pilot, lambda: notices(app) and "Written:" in notices(app)[-1])
    rows = list(csv.DictReader((tmp_path.parent / "sites.csv").read_text("utf-8").splitlines()))
    assert [row["site"] for row in rows] == list(SITES)


async def test_a_job_that_fails_or_is_cancelled_says_so(
    open_pane: MakeApp, make_run: Callable[..., Run], until: Until, screen_text: ScreenText
) -> None:
    fails, started = [True], threading.Event()

    def job(tools: JobTools) -> None:
        if fails.pop():
            raise InputError("not a log", path="run.log", line=7, hint="write it again")
        started.set()
        while True:
            check(tools.is_cancelled)
            threading.Event().wait(0.005)

    app = open_pane(pane_that(job), open_run=lambda *_: make_run())
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "not a log" in screen_text(app) and "write it again" in screen_text(app))
        assert " ! 1 " in screen_text(app).split("\n")[0]
        fails[:] = [False]
        await pilot.press("r")
        await until(pilot, started.is_set)
        await pilot.press("escape")
        await until(pilot, lambda: "Cancelled. r reads again." in screen_text(app))
        assert isinstance(app.screen, MainPage) and not any(app._busy.values())


async def test_footer_offers_what_works(open_pane: MakeApp, until: Until, screen_text: ScreenText) -> None:
    app = open_pane()
    async with app.run_test(size=(120, 24)) as pilot:
        await stands(until, pilot)
        footer = screen_text(app).split("\n")[-1]
        assert "o origin" in footer and "/ filter" in footer and "Enter open" not in footer
        await pilot.press("slash")
        await until(pilot, lambda: "Esc back" in screen_text(app).split("\n")[-1])
        assert "/ filter" not in screen_text(app).split("\n")[-1], "it would be typed"


@pytest.mark.parametrize("height", [12, 15, 18])
async def test_a_short_screen_keeps_the_finding(
    open_pane: MakeApp, until: Until, screen_text: ScreenText, height: int
) -> None:
    app = open_pane()
    async with app.run_test(size=(60, height)) as pilot:
        await stands(until, pilot)
        await pilot.pause()
        lines = screen_text(app).split("\n")
        assert any(line.startswith("▶") for line in lines)
        assert height < 15 or any("en headline of gemm.cpp:10" in line for line in lines)
