"""The memory pane as a person uses it: keys in, what stands on the screen out."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from npulse.core.analysis import AnalysisOptions
from npulse.core.memory import analyse
from npulse.core.memory.joins import Joined, JoinSource
from npulse.core.memory.run_report import report_of
from npulse.core.memory.view import memory_view
from npulse.core.progress import check
from npulse.core.run.kinds import kinds_of
from npulse.tui.app import NpulseApp
from npulse.tui.panes import make_pane
from npulse.tui.panes.base import Pane
from npulse.tui.panes.memory.pages import CodePage
from npulse.tui.panes.memory.pane import MemoryPane
from npulse.tui.panes.precision.pane import PrecisionPane
from npulse.tui.screens.entry import Entry
from npulse.tui.screens.line import LinePage
from npulse.tui.screens.main import MainPage
from npulse.tui.screens.rows import RowList
from npulse.tui.terminal import terminal_from
from npulse.tui.widgets.detail import DetailView

from .captures import NAMES, write_pair
from .memory_runs import (
    LEAK,
    LEAKS,
    RACE_CODE,
    RACE_LINE,
    SITES,
    WRITE,
    WRITE_CODE,
    WRITE_LINE,
    checked,
    illegal_write,
    race,
    write_clean,
    write_faults,
    write_log,
    write_sources,
)

OpenApp = Callable[..., NpulseApp]
Read = Callable[..., Awaitable[MemoryPane]]
Until = Callable[..., Awaitable[None]]
ScreenText = Callable[[NpulseApp], str]
SMALL, MIDDLE, WIDE = (80, 24), (110, 30), (140, 40)


@pytest.fixture
def open_memory(open_app: OpenApp) -> OpenApp:
    """The workbench on a folder, at the memory pane; roots: what --source-root names."""

    def make(run: Path, *, roots: tuple[Path, ...] = (), **options: Any) -> NpulseApp:
        def pane_of(area: str) -> Pane:
            if area == "memory":
                return MemoryPane(area, AnalysisOptions(source_roots=roots))
            return make_pane(area)

        return open_app(run, **{"first_pane": "memory", "make_pane": pane_of, **options})

    return make


def notices(app: NpulseApp) -> list[str]:
    return [str(notification.message) for notification in app._notifications]


def detail_lines(pane: MemoryPane) -> list[str]:
    return [text for text, _ in pane.query_one(DetailView)._lines()]


def marked_lines(app: NpulseApp) -> list[str]:
    """Lines of the detail that are drawn bold."""
    strips = app.screen._compositor.render_strips(app.size)
    region = app.main.query_one(DetailView).content_region
    found = []
    for strip in strips[region.y : region.bottom]:
        bold = [s.text for s in strip.crop(region.x, region.right) if s.style and s.style.bold]
        found += ["".join(bold)] if "".join(bold).strip() else []
    return found


def page_rows(app: NpulseApp) -> list[str]:
    return [row.text for row in app.screen.query_one(RowList).rows]


def current_line(app: NpulseApp) -> str:
    row = app.screen.query_one(RowList).current
    return "" if row is None else row.text


def footer(text: str) -> str:
    return text.split("\n")[-1]


def rows_of(text: str) -> list[str]:
    """The rows of the table as they stand on the screen, without what stands beside it."""
    lines = text.split("\n")
    first = next(n for n, line in enumerate(lines) if re.match(r"\s+(sev|级)\s", line)) + 1
    last = next(n for n, line in enumerate(lines) if re.match(r" [\d,]+-[\d,]+ ", line))
    return [line.split("│")[0].rstrip() for line in lines[first:last] if line.split("│")[0].strip()]


# ---- the first look ----


@pytest.mark.parametrize("size", [SMALL, MIDDLE, WIDE])
async def test_opens_on_what_stands_nearest_to_the_cause(
    open_memory: OpenApp, logs_read: Read, screen_text: ScreenText, tmp_path: Path, size: tuple[int, int]
) -> None:
    app = open_memory(write_faults(tmp_path / "run"))
    async with app.run_test(size=size) as pilot:
        pane = await logs_read(pilot)
        lines = screen_text(app).split("\n")
        first = "FAIL  3 sites (5 reports) · 1 leak 320 B · log complete · no source folder (z)"
        assert lines[2].strip() == first
        assert lines[3].startswith(" E ✗ vec_add.cpp:38  illegal write of 512 B in UB, x3  next: ")
        shown = rows_of("\n".join(lines))
        assert len(shown) == len(SITES)
        for row, (kind, place) in zip(shown, SITES, strict=True):
            assert "E ✗" in row and kind in row and place in row
        assert shown[0].startswith("▶") and "aiv(0-2)" in shown[0] and shown[0].endswith("x3")
        assert [re.search(r" (\d+) ", row.split("GM")[-1]) is not None for row in shown][2], (
            "bytes of the leak"
        )
        assert pane.subject() == WRITE
        text = "\n".join(detail_lines(pane))
        assert "196,608" not in text and "|" in text and "UB 192 KiB" in text, "the drawing"
        assert "next: Check the sizes given to InitBuffer" in text
        assert "t source" in footer(lines[-1]) and "z folders" in footer(lines[-1])
        assert all(cell_len(line) <= size[0] for line in lines)


@pytest.mark.parametrize("make", [write_faults, write_clean], ids=lambda make: make.__name__)
@pytest.mark.parametrize("lang", ["en", "zh"])
async def test_the_pane_says_what_the_report_says(
    open_memory: OpenApp, logs_read: Read, tmp_path: Path, make: Callable[[Path], Path], lang: Any
) -> None:
    run = make(tmp_path / "run")
    expected = report_of([run], AnalysisOptions(lang=lang)).report
    app = open_memory(run, lang=lang)
    async with app.run_test(size=WIDE) as pilot:
        report = (await logs_read(pilot)).report()
        assert report is not None
        assert (report.verdict, report.counts, report.summary) == (
            expected.verdict,
            expected.counts,
            expected.summary,
        )
        assert report.findings == expected.findings and report.told == expected.told
        assert app.store.recent()[0].verdict == report.verdict


async def test_the_detail_follows_the_cursor(
    open_memory: OpenApp, logs_read: Read, until: Until, tmp_path: Path
) -> None:
    app = open_memory(write_faults(tmp_path / "run"))
    async with app.run_test(size=SMALL) as pilot:
        pane = await logs_read(pilot)
        await pilot.press("j")
        await until(pilot, lambda: "nothing orders them" in "\n".join(detail_lines(pane)))
        assert "UB 192 KiB" not in "\n".join(detail_lines(pane)), "a race is no matter of bounds"
        await pilot.press("j")
        await until(pilot, lambda: "Never freed" in "\n".join(detail_lines(pane)))
        assert pane.subject() == LEAK
        await pilot.press("n")
        await until(pilot, lambda: pane.row == 1)  # behind the finding that it opened on
        await pilot.press("o")
        await until(pilot, lambda: pane.row == 2)  # each is an origin of its own


# ---- source ----


@pytest.mark.parametrize(("size", "n_around"), [(SMALL, 0), (MIDDLE, 3), (WIDE, 6)])
async def test_the_line_is_marked_and_the_memory_is_drawn(
    open_memory: OpenApp,
    logs_read: Read,
    screen_text: ScreenText,
    tmp_path: Path,
    size: tuple[int, int],
    n_around: int,
) -> None:
    roots = (write_sources(tmp_path / "here"),)
    app = open_memory(write_faults(tmp_path / "run"), roots=roots)
    async with app.run_test(size=size) as pilot:
        pane = await logs_read(pilot)
        await pilot.pause()
        marked = marked_lines(app)
        assert len(marked) == 1 and marked[0].startswith(f"{WRITE_LINE} ▶") and WRITE_CODE in marked[0]
        text = screen_text(app)
        for line in range(WRITE_LINE - 7, WRITE_LINE + 8):
            is_near = 0 < abs(line - WRITE_LINE) <= n_around
            assert (f"// line {line} of" in text) is is_near, line
        assert "UB 192 KiB" in text and "+2560 B" in text, "the drawing stands on the screen"
        assert re.search(r"\|=+ UB 192 KiB =+\|·*W", text)
        if size == SMALL:
            lines = detail_lines(pane)
            assert WRITE_CODE in "\n".join(lines[:4]) and "=" in lines[0], "before the words"
        assert "source " in text.split("\n")[2] and "here" in text.split("\n")[2]


async def test_enter_opens_all_that_is_known_with_both_sides_of_a_race(
    open_memory: OpenApp, logs_read: Read, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    app = open_memory(write_faults(tmp_path / "run"), roots=(write_sources(tmp_path / "here"),))
    async with app.run_test(size=WIDE) as pilot:
        pane = await logs_read(pilot)
        await pilot.press("j", "enter")
        await until(pilot, lambda: isinstance(app.screen, CodePage))
        rows = page_rows(app)
        text = "\n".join(rows)
        marked = [row for row in rows if "▶" in row]
        assert len(marked) == 2 and marked[0].startswith(f"{WRITE_LINE} ▶") and WRITE_CODE in marked[0]
        assert marked[1].startswith(f"{RACE_LINE} ▶") and RACE_CODE in marked[1]
        assert "next: Look for the SetFlag" in text and f"source: {WRITE}" in text
        assert "access 1 stack:" in text and "access 2 stack:" in text and "check.log:" in text
        assert "kind race" in text
        await pilot.press("b")
        assert isinstance(app.screen, MainPage)
        await pilot.press("g", "enter")
        await until(pilot, lambda: isinstance(app.screen, CodePage))
        text = "\n".join(page_rows(app))
        assert "UB 192 KiB" in text and "the first 3 of 3 reports" in text
        assert text.count("0x30a00 512 B") == 3, "every report of the site"
        assert f"#1 {WRITE.rpartition(':')[0]}:70" in text, "the whole stack"
        assert pane.row == 0


async def test_the_source_page_has_the_places_in_view_and_opens_the_editor_there(
    open_memory: OpenApp,
    logs_read: Read,
    until: Until,
    screen_text: ScreenText,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root = write_sources(tmp_path / "here")
    opened: list[tuple[Path, int | None]] = []
    app = open_memory(write_faults(tmp_path / "run"), roots=(root,))
    monkeypatch.setattr(app, "edit", lambda path, line: opened.append((path, line)))
    async with app.run_test(size=SMALL) as pilot:
        await logs_read(pilot)
        await pilot.press("e", "j", "t")
        await until(pilot, lambda: isinstance(app.screen, CodePage) and WRITE_CODE in current_line(app))
        text = screen_text(app)
        row = next(n for n, line in enumerate(text.split("\n")) if WRITE_CODE in line)
        assert (
            4 < row < 20 and f"// line {WRITE_LINE - 4} of" in text and f"// line {WRITE_LINE + 4} of" in text
        )
        rows = page_rows(app)
        assert sum("of the kernel" in row for row in rows) == 2 * 200 + WRITE_LINE + RACE_LINE - 2 - 2
        await pilot.press("n")
        assert RACE_CODE in current_line(app) and RACE_CODE in screen_text(app)
        await pilot.press("j", "j", "e")
        await pilot.press("n")
        assert WRITE_CODE in current_line(app), "round again"
        await pilot.press("N")
        assert RACE_CODE in current_line(app)
        await pilot.press("g", "e")
        file = root.resolve() / "op_kernel" / "vec_add.cpp"
        assert opened == [(file, WRITE_LINE), (file, RACE_LINE + 2), (file, WRITE_LINE)]


async def test_without_sources_the_reason_is_told_in_words(
    open_memory: OpenApp, logs_read: Read, until: Until, tmp_path: Path
) -> None:
    app = open_memory(write_faults(tmp_path / "run"))
    async with app.run_test(size=SMALL) as pilot:
        pane = await logs_read(pilot)
        assert "no source folder was given" in " ".join(detail_lines(pane))
        await pilot.press("t")
        await until(pilot, lambda: isinstance(app.screen, CodePage))
        assert "no source folder was given; name the folder" in " ".join(page_rows(app))


async def test_a_file_of_another_version_is_told(
    open_memory: OpenApp, logs_read: Read, until: Until, tmp_path: Path
) -> None:
    root = write_sources(tmp_path / "here")
    (root / "op_kernel" / "vec_add.cpp").write_text("only\nthree\nlines\n")
    app = open_memory(write_faults(tmp_path / "run"), roots=(root,))
    async with app.run_test(size=WIDE) as pilot:
        pane = await logs_read(pilot)
        assert "the file ends before this line" in " ".join(detail_lines(pane))
        assert marked_lines(app) == []


async def test_a_place_that_no_log_names(
    open_memory: OpenApp, logs_read: Read, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    leak = LEAKS.replace(LEAK, "<unknown>:0")
    app = open_memory(write_log(tmp_path / "run", checked("") + leak))
    async with app.run_test(size=SMALL) as pilot:
        await logs_read(pilot)
        assert "? place unknown" in rows_of(screen_text(app))[0]
        await pilot.press("t")
        await until(pilot, lambda: isinstance(app.screen, CodePage) or notices(app))
        told = " ".join([*notices(app), *(page_rows(app) if isinstance(app.screen, CodePage) else [])])
        assert "the log does not know the source file" in told


# ---- source folders while the app is open ----


async def test_source_folders_are_asked_for_and_remembered(
    open_memory: OpenApp, logs_read: Read, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    run, root, other = write_faults(tmp_path / "run"), write_sources(tmp_path / "here"), tmp_path / "other"
    other.mkdir()
    app = open_memory(run)
    async with app.run_test(size=SMALL) as pilot:
        pane = await logs_read(pilot)
        await pilot.press("j", "z")
        entry = app.screen.query_one(Entry)
        assert entry.value == str(run), "the run is what is offered, and nothing is guessed"
        assert WRITE.rpartition(":")[0] in screen_text(app), "what the logs name"
        entry.value = str(tmp_path / "nowhere")
        await pilot.press("enter")
        await until(pilot, lambda: notices(app) == [f"Not a folder: {tmp_path / 'nowhere'}"])
        assert pane.shown is not None and pane.row == 1, "a mistake costs nothing"
        await pilot.press("z")
        app.screen.query_one(Entry).value = f"{other}{os.pathsep} {root} "
        await pilot.press("enter")
        await until(pilot, lambda: pane.shown is not None and pane.shown.found.roots.roots)
        await logs_read(pilot)
        await until(pilot, lambda: WRITE_CODE in "\n".join(detail_lines(pane)))
        assert pane.row == 1, "the cursor is on the same site"
        await pilot.press("r")
        await until(pilot, lambda: app._busy.get("open") is None)
        await logs_read(pilot)
        assert pane.shown is not None and pane.shown.found.roots.roots == (other.resolve(), root.resolve())
        await pilot.press("z")
        assert app.screen.query_one(Entry).value == f"{other}{os.pathsep}{root}"
        app.screen.query_one(Entry).value = ""
        await pilot.press("enter")
        await until(pilot, lambda: pane.shown is not None and not pane.shown.found.roots.roots)
        await logs_read(pilot)
        assert "no source folder (z)" in screen_text(app)


async def test_leaving_the_question_changes_nothing(
    open_memory: OpenApp, logs_read: Read, tmp_path: Path
) -> None:
    app = open_memory(write_faults(tmp_path / "run"))
    async with app.run_test(size=SMALL) as pilot:
        pane = await logs_read(pilot)
        version = pane.version
        await pilot.press("z")
        assert isinstance(app.screen, LinePage)
        await pilot.press("escape")
        await logs_read(pilot)
        assert pane.version == version


# ---- no faults, no logs ----


@pytest.mark.parametrize("lang", ["en", "zh"])
async def test_an_empty_pane_says_what_it_looked_for_and_what_writes_it(
    open_memory: OpenApp, until: Until, screen_text: ScreenText, tmp_path: Path, lang: Any
) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "notes.txt").write_text("nothing of interest\n")
    app = open_memory(run, lang=lang)
    async with app.run_test(size=MIDDLE) as pilot:
        await until(pilot, lambda: app.pane is not None and getattr(app.pane, "instead", None) is not None)
        text = screen_text(app)
        assert "msSanitizer" in text and "plog" in text and "run" in text
        for kind in kinds_of("memory")[:2]:
            assert kind.captured_by in text
        for key in ("enter", "t", "p", "v", "j", "y"):
            await pilot.press(key)
        assert app.is_running and isinstance(app.screen, MainPage)


async def test_clean_and_complete_is_said_and_only_then(
    open_memory: OpenApp, logs_read: Read, screen_text: ScreenText, tmp_path: Path
) -> None:
    app = open_memory(write_clean(tmp_path / "run"))
    async with app.run_test(size=SMALL) as pilot:
        await logs_read(pilot)
        lines = [line.strip() for line in screen_text(app).split("\n")]
        assert lines[2] == "PASS  log complete"
        assert "nothing was detected, by memcheck, and the log is complete." in lines
    started = checked("").split("\n")[0] + "\n"  # and never finished
    app = open_memory(write_log(tmp_path / "other", started))
    async with app.run_test(size=SMALL) as pilot:
        await logs_read(pilot)
        lines = [line.strip() for line in screen_text(app).split("\n")]
        assert lines[2].startswith("INCOMPLETE  log incomplete: a kernel's check has no end"), lines[2]
        assert not any("PASS" in line for line in lines)


async def test_several_logs_are_counted(
    open_memory: OpenApp, logs_read: Read, screen_text: ScreenText, tmp_path: Path
) -> None:
    run = write_faults(tmp_path / "run")
    write_log(run, illegal_write(0, 41)[:-60], "cut.log")
    app = open_memory(run)
    async with app.run_test(size=WIDE) as pilot:
        await logs_read(pilot)
        assert "1 of 2 logs incomplete" in screen_text(app).split("\n")[2]


# ---- rounds ----


async def test_rounds_are_told_apart(
    open_memory: OpenApp, logs_read: Read, screen_text: ScreenText, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    write_log(run / "round1", checked(illegal_write(0) + illegal_write(0, 90)))
    write_log(run / "round2", checked(illegal_write(0) + illegal_write(0, 320)))
    app = open_memory(run)
    async with app.run_test(size=WIDE) as pilot:
        await logs_read(pilot)
        text = screen_text(app)
        assert "since round1: 1 fixed, 1 new" in text.split("\n")[2]
        rows = rows_of(text)
        states = {place: row for row in rows for place in (":38", ":320") if place in row}
        assert "still there" in states[":38"] and "new" in states[":320"].split()
        await pilot.press("[")
        await logs_read(pilot)
        assert "since" not in screen_text(app).split("\n")[2]


# ---- while logs are read ----


async def test_sites_are_shown_while_logs_are_read_and_the_cursor_stays_on_its_site(
    open_memory: OpenApp,
    logs_read: Read,
    until: Until,
    screen_text: ScreenText,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    go_on = threading.Event()
    completed = analyse._completed

    def wait(found: Any, user_frame: Any, problems: Any, progress: Any, is_cancelled: Any) -> Any:
        while not go_on.is_set():
            check(is_cancelled)
            go_on.wait(0.005)
        return completed(found, user_frame, problems, progress, is_cancelled)

    monkeypatch.setattr(analyse, "FIRST_UPDATE_S", 0.0)
    monkeypatch.setattr(analyse, "_completed", wait)
    run = write_log(tmp_path / "run", checked(race()), "a.log")
    write_log(run, checked(illegal_write(0) + illegal_write(0, 90)), "b.log")
    app = open_memory(run)
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: isinstance(app.pane, MemoryPane) and app.pane.shown is not None)
        pane = app.pane
        assert isinstance(pane, MemoryPane)
        await until(pilot, lambda: pane.table.view.n_rows > 0)
        lines = screen_text(app).split("\n")
        assert "so far, more is being read" in lines[2] and "log complete" not in lines[2]
        assert lines[2].split()[0] == "FAIL", "a fault that was read stays one"
        await pilot.press("G")
        await pilot.pause()
        assert pane.shown is not None and pane.row is not None
        key = pane.shown.key(pane.row)
        go_on.set()
        await logs_read(pilot)
        assert pane.shown.is_complete and pane.row is not None and pane.shown.key(pane.row) == key
        assert "log" in screen_text(app).split("\n")[2]


async def test_what_was_cancelled_is_not_called_complete(
    open_memory: OpenApp,
    until: Until,
    screen_text: ScreenText,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    never = threading.Event()

    def wait(found: Any, user_frame: Any, problems: Any, progress: Any, is_cancelled: Any) -> Any:
        while not never.is_set():
            check(is_cancelled)
            never.wait(0.005)

    monkeypatch.setattr(analyse, "FIRST_UPDATE_S", 0.0)
    monkeypatch.setattr(analyse, "_completed", wait)
    root = write_sources(tmp_path / "here")
    app = open_memory(write_faults(tmp_path / "run"), roots=(root,))
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: isinstance(app.pane, MemoryPane) and app.pane.table.view.n_rows > 0)
        await pilot.press("t")
        await until(pilot, lambda: isinstance(app.screen, CodePage))
        assert WRITE_CODE in " ".join(page_rows(app)), "a source can be looked at while logs are read"
        await pilot.press("b", "escape")
        await until(pilot, lambda: "not all was read" in screen_text(app))
        text = screen_text(app)
        assert "log complete" not in text and "more is being read" not in text
        assert "Cancelled: only what was read so far" in text
        await until(pilot, lambda: app.store.recent()[0].verdict == "fail")


async def test_what_was_read_so_far_is_never_a_pass(
    open_memory: OpenApp, logs_read: Read, screen_text: ScreenText, tmp_path: Path
) -> None:
    app = open_memory(write_clean(tmp_path / "run"))
    async with app.run_test(size=SMALL) as pilot:
        pane = await logs_read(pilot)
        assert pane.shown is not None and pane.verdict() == "pass"
        pane.take(memory_view(replace(pane.shown.found, stage="reading"), "en"))
        await pilot.pause()
        assert pane.verdict() == "" and "PASS" not in screen_text(app)
        assert "NO VERDICT YET" in screen_text(app)


async def test_a_moved_cursor_stays_on_its_site_when_rows_come_before_it(
    open_memory: OpenApp, logs_read: Read, tmp_path: Path
) -> None:
    app = open_memory(write_faults(tmp_path / "run"))
    async with app.run_test(size=SMALL) as pilot:
        pane = await logs_read(pilot)
        assert pane.shown is not None
        found = pane.shown.found
        few = memory_view(replace(found, sites=found.sites[1:], stage="reading"), "en")
        pane.take(few)
        await pilot.press("j")
        assert pane.subject() == LEAK and pane.row == 1
        pane.take(memory_view(found, "en"))
        await pilot.pause()
        assert pane.subject() == LEAK and pane.row == 2
        pane.take(few)
        await pilot.press("g")
        pane.take(memory_view(found, "en"))
        await pilot.pause()
        assert pane.row == 0 and pane.subject() == WRITE, "who has not moved sees the first"


# ---- filter, sort, columns ----


@pytest.mark.parametrize(("typed", "n_rows"), [("kind:leak", 1), ("space:UB", 2), ("count>1", 1)])
async def test_figures_and_words_filter(
    open_memory: OpenApp, logs_read: Read, until: Until, tmp_path: Path, typed: str, n_rows: int
) -> None:
    app = open_memory(write_faults(tmp_path / "run"))
    async with app.run_test(size=SMALL) as pilot:
        pane = await logs_read(pilot)
        await pilot.press("slash", *typed, "enter")
        await until(pilot, lambda: pane.table.view.n_rows == n_rows)
        await pilot.press("escape")
        await until(pilot, lambda: pane.table.view.n_rows == len(SITES))


async def test_other_columns_can_be_brought_in(
    open_memory: OpenApp, logs_read: Read, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    app = open_memory(write_faults(tmp_path / "run"))
    async with app.run_test(size=WIDE) as pilot:
        pane = await logs_read(pilot)
        assert "vec_add " not in rows_of(screen_text(app))[0] and "kernel" in pane.view.hidden
        await pilot.press("f", *"kernel", "enter")
        await until(pilot, lambda: "kernel" not in pane.view.hidden)
        assert pane.table.current_column == "kernel"


# ---- jumps ----


def joined_view(pane: MemoryPane, operator: str, *sources: JoinSource) -> Any:
    assert pane.shown is not None
    found = pane.shown.found
    joined = Joined(operator, "Add", "vec_add", sources)
    return memory_view(replace(found, joined={found.sites[0].key: joined}), "en")


async def test_a_joined_operator_leads_to_the_precision_pane(
    open_memory: OpenApp, logs_read: Read, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    write_pair(run, bad=NAMES[3])
    write_faults(run)
    app = open_memory(run)
    async with app.run_test(size=WIDE) as pilot:
        pane = await logs_read(pilot)
        assert "p precision" not in footer(screen_text(app))
        await pilot.press("p")
        assert notices(app)[-1].startswith("No operator is joined to this site")
        source = JoinSource("dump call", "dump.json", None, NAMES[2], "op type")
        pane.take(joined_view(pane, "MatMul_7", source))
        await pilot.press("p")
        await until(pilot, lambda: isinstance(app.pane, PrecisionPane) and app.pane.shown is not None)
        precision = app.pane
        assert isinstance(precision, PrecisionPane)
        await until(pilot, lambda: precision.subject() == NAMES[2])
        await pilot.press("4", "v")
        await until(pilot, lambda: app.pane is not None and app.pane.area == "overflow")


# ---- languages, terminals, hostile text ----


async def test_the_language_switches_everything(
    open_memory: OpenApp, logs_read: Read, until: Until, screen_text: ScreenText, tmp_path: Path
) -> None:
    app = open_memory(write_faults(tmp_path / "run"), roots=(write_sources(tmp_path / "here"),))
    async with app.run_test(size=WIDE) as pilot:
        pane = await logs_read(pilot)
        await pilot.press("L")
        await until(pilot, lambda: "next:" not in screen_text(app) and pane.row == 0)
        text = screen_text(app)
        assert "下一步" in text
        assert (
            "位置 3" in text and "泄漏 1 处 320 B" in text and "日志完整" in text and "t 源码" in footer(text)
        )
        for word in ("next:", "log complete", "place ", "Check the sizes"):
            assert word not in text, word
        await pilot.press("L")
        await until(pilot, lambda: "next: Check the sizes" in "\n".join(detail_lines(pane)))


@pytest.mark.parametrize("environ", [{"TERM": "xterm"}, {"TERM": "xterm", "NO_COLOR": "1"}])
@pytest.mark.parametrize("size", [SMALL, WIDE])
async def test_ascii_and_no_colour(
    open_memory: OpenApp,
    logs_read: Read,
    screen_text: ScreenText,
    tmp_path: Path,
    environ: dict[str, str],
    size: tuple[int, int],
) -> None:
    terminal = terminal_from(environ, is_tty=True, encoding="ascii")
    roots = (write_sources(tmp_path / "here", "put(注意力);"),)
    app = open_memory(write_faults(tmp_path / "run"), roots=roots, terminal=terminal)
    async with app.run_test(size=size) as pilot:
        await logs_read(pilot)
        text = screen_text(app)
        assert text.isascii() and "E x" in text and f"{WRITE_LINE} >" in text and r"put(\u6ce8" in text
        assert re.search(r"\|=+ UB 192 KiB =+\|\.*W", text)
        assert len(marked_lines(app)) == 1, "seen without colour"
        for key in ("enter", "t"):
            await pilot.press(key)
            await app.workers.wait_for_complete()
            await pilot.pause()
            assert isinstance(app.screen, CodePage) and screen_text(app).isascii()
            await pilot.press("b")


OSC = "\x1b]52;c;cHduZWQ=\x07"
CSI = "\x1b[2J\x1b[31m"
MARKUP = "[red]x[/red][@click=app.quit]y"


@pytest.mark.parametrize("size", [SMALL, WIDE])
async def test_no_escape_sequence_of_a_log_or_source_reaches_the_screen(
    open_memory: OpenApp, logs_read: Read, screen_text: ScreenText, tmp_path: Path, size: tuple[int, int]
) -> None:
    kernel = f"vec{CSI}add{OSC}{MARKUP}"
    file = f"/build/{OSC}ops\x9b31m/op_kernel/vec_add.cpp"
    records = (
        illegal_write(0, kernel=kernel)
        + illegal_write(0, 41, file, kernel)
        + illegal_write(1, 42, f"a{MARKUP}\u202e.cpp")
    )
    run = write_log(tmp_path / "run", checked(records))
    root = write_sources(tmp_path / "here", f"run({MARKUP}); // {CSI}{OSC}\x9b1m\u202e")
    app = open_memory(run, roots=(root,))
    async with app.run_test(size=size) as pilot:
        pane = await logs_read(pilot)
        n_rows = pane.table.view.n_rows
        assert n_rows >= 2
        for _ in range(n_rows):
            for key, back in (
                ("i", "b"),
                ("enter", "b"),
                ("t", "b"),
                ("z", "escape"),
                ("y", None),
                ("j", None),
            ):
                await pilot.press(key)
                await app.workers.wait_for_complete()
                await pilot.pause(0.12)
                text = screen_text(app)
                bad = [
                    c for c in text if (ord(c) < 32 and c != "\n") or 0x7F <= ord(c) < 0xA0 or c == "\u202e"
                ]
                assert not bad, (key, bad)
                if back and not isinstance(app.screen, MainPage):
                    await pilot.press(back)
        assert app.is_running and isinstance(app.screen, MainPage)
