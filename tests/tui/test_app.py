"""The shell, driven by keys: panes, pages, header, footer, languages, sizes, endings."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from npulse.core.errors import InputError
from npulse.core.findings import Finding, Problem
from npulse.core.progress import Progress, check
from npulse.core.run.model import Run
from npulse.tui import app as app_module
from npulse.tui.actions import PANES
from npulse.tui.app import NpulseApp, run_app
from npulse.tui.keymap import Keymap, KeymapProblem, default_keys, named_keymap
from npulse.tui.panes.base import Pane, PaneStatus, ViewState, finding_text
from npulse.tui.screens.ask import AskPage
from npulse.tui.screens.entry import Entry
from npulse.tui.screens.help import HelpPage
from npulse.tui.screens.main import MainPage
from npulse.tui.screens.marks import MarksPage
from npulse.tui.screens.note import NotePage
from npulse.tui.screens.page import LinesPage
from npulse.tui.screens.palette import PalettePage
from npulse.tui.screens.picker import PickerPage
from npulse.tui.screens.problems import ProblemsPage
from npulse.tui.screens.rows import RowList
from npulse.tui.state import StateStore
from npulse.tui.terminal import terminal_from

from .plain_pane import PlainPane

MakeApp = Callable[..., NpulseApp]
ScreenText = Callable[[NpulseApp], str]
HOSTILE = "/data/[red]run[/]/\x1b[2J\x1b]0;title\x07/[@click=app.quit]x"
ASCII = terminal_from({"TERM": "xterm", "LANG": "C"}, is_tty=True, encoding="ascii")


def notices(app: NpulseApp) -> list[str]:
    return [str(notification.message) for notification in app._notifications]


async def ready(app: NpulseApp, pilot: object) -> None:
    await app.workers.wait_for_complete()
    await pilot.pause()  # type: ignore[attr-defined]


# ---- panes, header, footer ----


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_first_screen(make_app: MakeApp, screen_text: ScreenText, size: tuple[int, int]) -> None:
    app = make_app()
    async with app.run_test(size=size) as pilot:
        await ready(app, pilot)
        lines = screen_text(app).split("\n")
        assert lines[0].startswith(" npulse  /data/run") and lines[0].rstrip().endswith("en  ?")
        assert lines[1].startswith("1 Check-up  2 Precision") and "7 Rounds" in lines[1]
        assert lines[-1].rstrip().endswith("? help  q quit")
        assert all(len(line) == size[0] for line in lines)


async def test_every_number_shows_its_pane_made_at_the_first_visit(make_app: MakeApp) -> None:
    made: list[str] = []

    def make_pane(area: str) -> Pane:
        made.append(area)
        return PlainPane(area)

    app = make_app(make_pane=make_pane)
    async with app.run_test() as pilot:
        await ready(app, pilot)
        assert made == ["checkup"]
        for number, (area, _, _) in enumerate(PANES, 1):
            await pilot.press(str(number))
            assert app.pane is not None and app.pane.area == area
            assert app.pane.run is app.opened is not None
            assert app.focused is app.pane.focus_target()
        await pilot.press("1")
        assert made == [area for area, _, _ in PANES]


async def test_first_pane_can_be_chosen(make_app: MakeApp) -> None:
    app = make_app(first_pane="memory")
    async with app.run_test() as pilot:
        await ready(app, pilot)
        assert app.pane is not None and app.pane.area == "memory"


async def test_hostile_path_is_shown_without_control_or_markup(
    make_app: MakeApp, screen_text: ScreenText
) -> None:
    app = make_app(HOSTILE)
    async with app.run_test(size=(120, 24)) as pilot:
        await ready(app, pilot)
        header = screen_text(app).split("\n")[0]
        assert "[red]run[/]" in header and "[@click=app.quit]x" in header
        assert not [c for c in screen_text(app) if ord(c) < 32 and c != "\n" or 0x7F <= ord(c) < 0xA0]
        await pilot.press("q")
    assert StateStore(app.store.folder).recent()[0].path == HOSTILE


async def test_long_path_is_cut_in_the_middle(make_app: MakeApp, screen_text: ScreenText) -> None:
    app = make_app("/start/" + "x" * 200 + "/end")
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        header = screen_text(app).split("\n")[0]
        assert "/start/" in header and "…" in header and "/end" in header and len(header) == 80


async def test_chinese_screen_has_no_english_left(make_app: MakeApp, screen_text: ScreenText) -> None:
    app = make_app(lang="zh")
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        text = screen_text(app)
        assert "1 体检" in text and "7 轮次" in text and "帮助" in text and "退出" in text
        assert "Check-up" not in text and "help" not in text


async def test_l_changes_every_visible_text_and_is_remembered(
    make_app: MakeApp, screen_text: ScreenText
) -> None:
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        await pilot.press("2", "question_mark")
        assert "Everywhere" in screen_text(app)
        await pilot.press("L")
        assert "任何地方" in screen_text(app) and "Everywhere" not in screen_text(app)
        await pilot.press("q")
        assert "2 精度" in screen_text(app) and "<精度>: 1" in screen_text(app)
        await pilot.press("L")
        assert "2 Precision" in screen_text(app) and "<Precision>: 1" in screen_text(app)
    assert StateStore(app.store.folder).choice("lang") == "en"


async def test_ascii_terminal_gets_ascii_only(make_app: MakeApp, screen_text: ScreenText) -> None:
    app = make_app("/数据/运行", terminal=ASCII, lang="zh")
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        assert app.lang == "en"
        assert "\\u6570" in screen_text(app).split("\n")[0]
        for key in ("2", "question_mark", "q", "colon", "escape", "exclamation_mark", "q", "L"):
            await pilot.press(key)
            assert screen_text(app).isascii(), key
        assert "can't show Chinese" in notices(app)[-1]


@pytest.mark.parametrize("size", [(39, 24), (80, 9)])
async def test_too_small_says_so(make_app: MakeApp, screen_text: ScreenText, size: tuple[int, int]) -> None:
    app = make_app()
    async with app.run_test(size=size) as pilot:
        await ready(app, pilot)
        text = screen_text(app)
        assert "Too small: 40 x 10" in text and "Check-up" not in text
        await pilot.press("question_mark")
        assert "Too small: 40 x 10" in screen_text(app)
        await pilot.press("q")
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert "Too small" not in screen_text(app) and "1 Check-up" in screen_text(app)


async def test_below_twenty_rows_the_frame_goes(make_app: MakeApp, screen_text: ScreenText) -> None:
    app = make_app()
    async with app.run_test(size=(80, 19)) as pilot:
        await ready(app, pilot)
        lines = screen_text(app).split("\n")
        assert lines[0].startswith("1 Check-up") and "help" not in lines[-1]


async def test_narrow_terminal_keeps_the_active_name(make_app: MakeApp, screen_text: ScreenText) -> None:
    app = make_app()
    async with app.run_test(size=(40, 24)) as pilot:
        await ready(app, pilot)
        await pilot.press("5")
        assert screen_text(app).split("\n")[1].startswith("1 2 3 4 5 Performance 6 7")


async def test_focus_lost_comes_back_to_the_pane(make_app: MakeApp) -> None:
    app = make_app()
    async with app.run_test() as pilot:
        await ready(app, pilot)
        app.screen.set_focus(None)
        await pilot.pause()
        assert app.focused is app.pane.focus_target()


# ---- problems, help, palette, marks, notes ----


async def test_problems_are_counted_and_listed_with_place_and_hint(
    make_app: MakeApp, make_run: Callable[..., Run], screen_text: ScreenText
) -> None:
    problems = (
        Problem("rank2/[b]dump.json", "cut-off", "ends in a string\x1b[1m", byte=65536, hint="dump it again"),
        Problem("a.csv", "bad-record", "7 fields", line=12),
    )
    app = make_app(run=make_run(problems=problems))
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(app, pilot)
        app.pane.post_message(PaneStatus("precision", (Problem("b", "shape", "x"), problems[1])))  # type: ignore[union-attr]
        await pilot.pause()
        assert " ! 3 " in screen_text(app).split("\n")[0]
        await pilot.press("exclamation_mark")
        text = screen_text(app)
        assert isinstance(app.screen, ProblemsPage) and "Problems: 3" in text
        assert "rank2/[b]dump.json:byte 65536" in text and "dump it again" in text
        await pilot.press("j")
        assert "a.csv:line 12" in screen_text(app).split("─")[-1]
        await pilot.press("b")
        assert isinstance(app.screen, MainPage)


async def test_no_problems_is_said(make_app: MakeApp, screen_text: ScreenText) -> None:
    app = make_app()
    async with app.run_test() as pilot:
        await ready(app, pilot)
        assert "!" not in screen_text(app).split("\n")[0]
        await pilot.press("exclamation_mark")
        assert "could be read" in screen_text(app)


async def test_a_hundred_thousand_problems_stay_usable(
    make_app: MakeApp, make_run: Callable[..., Run], screen_text: ScreenText
) -> None:
    app = make_app(run=make_run(problems=tuple(Problem(f"f{i}", "missing", "x") for i in range(100_000))))
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        await pilot.press("exclamation_mark", "G")
        assert "The first 10,000 of 100,000" in screen_text(app)
        await pilot.press("g")
        assert app.screen.query_one(RowList).cursor == 0


async def test_help_lists_keys_in_force_and_toggles(make_app: MakeApp, screen_text: ScreenText) -> None:
    app = make_app(keymap=named_keymap("vim"))
    async with app.run_test(size=(120, 180)) as pilot:
        await ready(app, pilot)
        await pilot.press("question_mark")
        text = screen_text(app)
        assert isinstance(app.screen, HelpPage) and "map: vim" in text
        assert "ctrl+d ctrl+f PgDn" in text and "Typing a line" in text
        await pilot.press("question_mark")
        assert isinstance(app.screen, MainPage)


@pytest.mark.parametrize("typed", ["memory", "内存", "pane.mem"])
async def test_palette_runs_what_is_chosen(make_app: MakeApp, typed: str) -> None:
    app = make_app()
    async with app.run_test() as pilot:
        await ready(app, pilot)
        await pilot.press("colon")
        assert isinstance(app.screen, PalettePage)
        app.screen.query_one(Entry).value = typed
        await pilot.pause()
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.screen, MainPage)
        assert app.pane is not None and app.pane.area == "memory"


async def test_palette_moves_with_arrows_and_closes_with_escape(make_app: MakeApp) -> None:
    app = make_app()
    async with app.run_test() as pilot:
        await ready(app, pilot)
        await pilot.press("colon", "down", "down", "up")
        assert app.screen.query_one(RowList).cursor == 1
        await pilot.press("q", "escape")  # q is typed, escape leaves
        assert isinstance(app.screen, MainPage)
        await pilot.press("colon", *"zzz", "enter")
        assert isinstance(app.screen, PalettePage)


async def test_number_keys_leave_open_pages(make_app: MakeApp) -> None:
    app = make_app()
    async with app.run_test() as pilot:
        await ready(app, pilot)
        await pilot.press("question_mark", "exclamation_mark", "4")
        assert isinstance(app.screen, MainPage) and app.pane is not None and app.pane.area == "memory"


async def test_mark_note_undo_and_marks_list(
    make_app: MakeApp, make_finding_pane: Callable[[str], Pane]
) -> None:
    app = make_app(make_pane=make_finding_pane)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        await pilot.press("m")
        assert app.marks() == {} and "no row is under the cursor" in notices(app)[-1]
        await pilot.press("n", "m", "o", "a", *"why [b]", "enter")
        await pilot.pause()
        assert app.marks() == {"a": "", "b[bold]x": "why [b]"}
        await pilot.press("2", "u")
        assert app.marks() == {"a": "", "b[bold]x": "why [b]"}  # another pane has nothing to undo
        await pilot.press("1", "u")
        assert app.marks() == {"a": ""}
        await pilot.press("apostrophe", "enter")
        assert "a is not shown in this pane." in notices(app)[-1]
        await pilot.press("u", "apostrophe")
        assert app.marks() == {} and isinstance(app.screen, MarksPage)


async def test_undo_leaves_what_another_pane_marked(
    make_app: MakeApp, make_finding_pane: Callable[[str], Pane]
) -> None:
    app = make_app(make_pane=make_finding_pane)
    async with app.run_test() as pilot:
        await ready(app, pilot)
        await pilot.press("n", "m", "2", "o", "m", "1", "u")
        assert app.marks() == {"b[bold]x": ""}


async def test_changed_note_asks_before_it_is_thrown_away(
    make_app: MakeApp, make_finding_pane: Callable[[str], Pane]
) -> None:
    app = make_app(make_pane=make_finding_pane)
    async with app.run_test() as pilot:
        await ready(app, pilot)
        await pilot.press("n", "a", "escape")
        assert isinstance(app.screen, MainPage)  # nothing typed, nothing lost
        await pilot.press("a", "x", "escape")
        assert isinstance(app.screen, AskPage)
        await pilot.press("n")
        assert isinstance(app.screen, NotePage)
        await pilot.press("escape", "y")
        await pilot.pause()
        assert isinstance(app.screen, MainPage) and app.marks() == {}


async def test_pasted_control_characters_do_not_get_in(make_app: MakeApp) -> None:
    from textual.events import Paste

    app = make_app(None)
    async with app.run_test() as pilot:
        await pilot.pause()
        entry = app.screen.query_one(Entry)
        entry.post_message(Paste("/a\x1b]52;c;AAAA\x07b\n/second"))
        await pilot.pause()
        assert entry.value == "/a␛]52;c;AAAA\ufffdb"


async def test_view_undo_covers_sort_filter_columns(
    make_app: MakeApp, make_finding_pane: Callable[[str], Pane]
) -> None:
    app = make_app(make_pane=make_finding_pane)
    async with app.run_test() as pilot:
        await ready(app, pilot)
        pane = app.pane
        assert pane is not None
        pane.change_view(sort="cosine", descending=True)
        pane.change_view(filter="linear")
        pane.change_view(filter="linear")  # no change, no step
        pane.change_view(hidden=frozenset(("shape",)))
        await pilot.press("u", "u")
        assert pane.view == ViewState(sort="cosine", descending=True)
        await pilot.press("u", "u")
        assert pane.view == ViewState() and "Nothing to undo" in notices(app)[-1]


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("F", "nothing to follow in this pane"),
        ("d", "switch rounds"),
        ("x", "npulse report"),
        ("space", "follows nothing"),
        ("s", "Sort by this column"),
        ("f", "Find a column"),
        ("c", "Show or hide columns"),
        ("slash", "Filter the rows"),
        ("o", "No origin"),
        ("n", "no findings"),
        ("i", "Show where the figures come from"),
        ("y", "Copy the finding"),
        ("e", "Open in the editor"),
        ("right_square_bracket", "No further round"),
        ("T", "Theme: light"),
    ],
)
async def test_a_key_without_effect_says_why(make_app: MakeApp, key: str, words: str) -> None:
    app = make_app()
    async with app.run_test() as pilot:
        await ready(app, pilot)
        await pilot.press(key)
        await pilot.pause()
        assert words in notices(app)[-1]


async def test_where_shows_file_line_and_rank(
    make_app: MakeApp, make_finding_pane: Callable[[str], Pane], screen_text: ScreenText
) -> None:
    app = make_app(make_pane=make_finding_pane)
    async with app.run_test() as pilot:
        await ready(app, pilot)
        await pilot.press("o", "i")
        assert isinstance(app.screen, LinesPage)
        assert "file  dump.json" in screen_text(app) and "line  12" in screen_text(app)


# ---- runs, rounds, jobs ----


async def test_without_a_path_the_picker_opens_recent_runs(
    make_app: MakeApp, screen_text: ScreenText
) -> None:
    store = StateStore(now_s=lambda: 1_700_000_000)
    store.add_recent("/old/[i]run", "fail")
    store.add_recent("/new/run", "pass")
    app = make_app(None, store=store)
    async with app.run_test() as pilot:
        await pilot.pause()
        assert isinstance(app.screen, PickerPage)
        text = screen_text(app)
        assert text.index("/new/run") < text.index("/old/[i]run") and "2023-11-1" in text and "fail" in text
        await pilot.press(*"old", "enter")
        await ready(app, pilot)
        assert isinstance(app.screen, MainPage) and app.run_path == "/old/[i]run"
        assert app.opened is not None


async def test_picker_opens_a_typed_path(make_app: MakeApp) -> None:
    app = make_app(None)
    async with app.run_test() as pilot:
        await pilot.pause()
        app.screen.query_one(Entry).value = "/data/[b]new"
        await pilot.pause()
        await pilot.press("enter")
        await ready(app, pilot)
        assert app.run_path == "/data/[b]new" and app.store.recent()[0].path == "/data/[b]new"


async def test_empty_picker_says_what_to_do(make_app: MakeApp, screen_text: ScreenText) -> None:
    app = make_app(None)
    async with app.run_test() as pilot:
        await pilot.pause()
        assert "npulse demo" in screen_text(app)
        await pilot.press("escape")
        assert "No run is open" in screen_text(app)


async def test_an_unusable_run_is_told_and_nothing_else_breaks(
    make_app: MakeApp, screen_text: ScreenText
) -> None:
    def refuse(path: Path, progress: object, is_cancelled: object) -> Run:
        raise InputError("not a [bold]run\x1b", hint="name a folder", path=path, line=3)

    app = make_app(open_run=refuse)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(app, pilot)
        assert notices(app) == ["/data/run, line 3: not a [bold]run␛\nname a folder"]
        assert "Nothing could be read. /data/run, line 3: not a [bold]run␛" in screen_text(app)
        assert " ! 1 " in screen_text(app).split("\n")[0]
        assert not (app.store.folder / "errors.log").exists()


async def test_an_unexpected_error_of_a_worker_goes_to_the_log(make_app: MakeApp) -> None:
    def break_down(path: Path, progress: object, is_cancelled: object) -> Run:
        secret_value = "password"  # noqa: F841  (must not be found in the log)
        raise RuntimeError("boom")

    app = make_app(open_run=break_down)
    async with app.run_test() as pilot:
        await ready(app, pilot)
        assert app.is_running and "RuntimeError: boom" in notices(app)[0] and "errors.log" in notices(app)[0]
    log = (app.store.folder / "errors.log").read_text()
    assert "RuntimeError: boom" in log and "break_down" in log and "password" not in log


async def test_a_pane_worker_error_becomes_a_notice(make_app: MakeApp) -> None:
    class Broken(PlainPane):
        def on_mount(self) -> None:
            self.run_worker(self.fail, thread=True, exit_on_error=False)

        def fail(self) -> None:
            raise InputError("cut off", path="/x/dump.json", byte=99)

    app = make_app(make_pane=Broken)
    async with app.run_test() as pilot:
        await ready(app, pilot)
        assert notices(app) == ["/x/dump.json, byte 99: cut off"]


@pytest.mark.parametrize("key", ["ctrl+c", "escape", "b"])
async def test_a_running_scan_shows_progress_and_is_cancelled_never_quit(
    make_app: MakeApp,
    make_run: Callable[..., Run],
    screen_text: ScreenText,
    key: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("npulse.tui.shell._PROGRESS_INTERVAL_S", 0.0)
    told, ended = threading.Event(), threading.Event()

    def slow(path: Path, progress: Callable[[Progress], None], is_cancelled: Callable[[], bool]) -> Run:
        progress(Progress("walking", 1234, None, "entries"))
        told.set()
        try:
            while not ended.wait(0.01):
                check(is_cancelled)
        finally:
            ended.set()
        return make_run()

    app = make_app(open_run=slow)
    async with app.run_test() as pilot:
        assert await asyncio.to_thread(told.wait, 10)
        await pilot.pause()
        await pilot.pause()
        assert "walking 1,234" in screen_text(app).split("\n")[0]
        await pilot.press(key)
        assert ended.wait(10)
        await pilot.pause()
        await pilot.pause()
        assert app.is_running and notices(app) == ["Cancelled, jobs: 1."]
        assert "Scanning was cancelled" in screen_text(app)


async def test_rounds_are_walked_with_brackets(
    make_app: MakeApp, make_run: Callable[..., Run], screen_text: ScreenText
) -> None:
    run = make_run({"r1": ["msprobe.dump"], "r2": ["msprobe.dump", "msprobe.dump"], "[b]r3": []})
    app = make_app(run=run, first_pane="precision")
    async with app.run_test(size=(100, 24)) as pilot:
        await ready(app, pilot)
        assert "round 3 of 3 [b]r3" in screen_text(app) and "<Precision>: 0" in screen_text(app)
        await pilot.press("left_square_bracket")
        assert "round 2 of 3 r2" in screen_text(app) and "<Precision>: 2" in screen_text(app)
        await pilot.press("left_square_bracket", "left_square_bracket")
        assert app.round_index == 0 and "No further round" in notices(app)[-1]


async def test_a_rescan_keeps_the_round_and_another_run_shows_its_newest(
    make_app: MakeApp, make_run: Callable[..., Run]
) -> None:
    app = make_app(run=make_run({"r1": [], "r2": [], "r3": []}))
    async with app.run_test() as pilot:
        await ready(app, pilot)
        await pilot.press("left_square_bracket", "r")
        await ready(app, pilot)
        assert app.round_index == 1
        app.open_path("/other")
        await ready(app, pilot)
        assert app.round_index == 2


async def test_rescan_reads_the_folder_again(make_app: MakeApp, make_run: Callable[..., Run]) -> None:
    seen: list[str] = []

    def count(path: Path, progress: object, is_cancelled: object) -> Run:
        seen.append(str(path))
        return make_run()

    app = make_app(open_run=count)
    async with app.run_test() as pilot:
        await ready(app, pilot)
        await pilot.press("r")
        await ready(app, pilot)
    assert seen == ["/data/run", "/data/run"]


# ---- keys, log, themes, mouse ----


async def test_a_user_map_is_in_force_and_its_mistakes_are_shown(
    make_app: MakeApp, screen_text: ScreenText
) -> None:
    keys = {**default_keys(), "pane.memory": ("W",), "pane.device": (), "app.quit": ("Q",)}
    keymap = Keymap("mine", keys, (KeymapProblem("/home/u/keymap.toml", 3, "unknown key 'esc'"),))
    app = make_app(keymap=keymap)
    async with app.run_test() as pilot:
        await ready(app, pilot)
        assert "Mistakes in the key map: 1" in notices(app)[0] and " ! 1 " in screen_text(app).split("\n")[0]
        assert "W Memory" in screen_text(app) and "Q quit" in screen_text(app)
        await pilot.press("4", "6", "q")
        assert app.is_running and app.pane is not None and app.pane.area == "checkup"
        await pilot.press("W")
        assert app.pane.area == "memory"
        await pilot.press("exclamation_mark")
        assert "keymap.toml:line 3" in screen_text(app)


async def test_keys_that_change_places_do(make_app: MakeApp) -> None:
    app = make_app(keymap=Keymap("", {**default_keys(), "pane.memory": ("2",), "pane.precision": ("4",)}))
    async with app.run_test() as pilot:
        await ready(app, pilot)
        for key, area in (("4", "precision"), ("2", "memory"), ("3", "overflow")):
            await pilot.press(key)
            assert app.pane is not None and app.pane.area == area


async def test_command_log_replays_to_the_same_screen(
    make_app: MakeApp, make_finding_pane: Callable[[str], Pane], screen_text: ScreenText, tmp_path: Path
) -> None:
    app = make_app(make_pane=make_finding_pane)
    async with app.run_test() as pilot:
        await ready(app, pilot)
        await pilot.press("2", "n", "n", "m", "3", "question_mark", "j", "j", "q", "2", "exclamation_mark")
        log, shown = list(app.command_log), screen_text(app)
    assert log == [
        "pane.precision", "pane.next", "pane.next", "pane.mark", "pane.overflow", "app.help", "move.down",
        "move.down", "app.quit", "pane.precision", "app.problems",
    ]  # fmt: skip
    again = make_app(make_pane=make_finding_pane, store=StateStore(tmp_path / "fresh"))
    async with again.run_test() as pilot:
        await ready(again, pilot)
        worker = again.replay([*log, "no.such-action"])
        assert await worker.wait() == ["no.such-action"]
        assert screen_text(again) == shown
        assert list(again.marks()) == ["b[bold]x"] and list(again.command_log) == log


async def test_typing_is_not_logged(make_app: MakeApp) -> None:
    app = make_app()
    async with app.run_test() as pilot:
        await ready(app, pilot)
        await pilot.press("colon", "x", "down", "backspace", "escape")
        assert list(app.command_log) == []


async def test_theme_is_changed_and_remembered(make_app: MakeApp) -> None:
    app = make_app()
    async with app.run_test() as pilot:
        await ready(app, pilot)
        await pilot.press("T")
        assert app.theme == "light"
    assert make_app().theme_name == "light"
    colourless = terminal_from(
        {"TERM": "xterm", "LANG": "C.UTF-8", "NO_COLOR": "1"}, is_tty=True, encoding="utf-8"
    )
    assert make_app(terminal=colourless).theme_name == "mono"


async def test_mouse_starts_off_over_ssh_and_m_switches_it(make_app: MakeApp) -> None:
    ssh = terminal_from({"TERM": "xterm", "SSH_TTY": "/dev/pts/1"}, is_tty=True, encoding="utf-8")
    app = make_app(terminal=ssh)
    async with app.run_test() as pilot:
        await ready(app, pilot)
        assert app.has_mouse is False
        await pilot.press("M")
        assert app.has_mouse is True and notices(app)[-1].startswith("Mouse on: Shift (iTerm2: Option")


async def test_damaged_state_is_told_at_the_start(make_app: MakeApp, state: Path) -> None:
    state.mkdir()
    (state / "choices.json").write_text("{")
    app = make_app()
    async with app.run_test() as pilot:
        await ready(app, pilot)
        assert "choices.json.bad" in notices(app)[0]


# ---- copying and editing ----


async def test_copy_is_the_finding_as_text_and_names_the_route(
    make_app: MakeApp, make_finding_pane: Callable[[str], Pane], monkeypatch: pytest.MonkeyPatch
) -> None:
    from npulse.tui import clipboard

    copied: list[str] = []

    def take(text: str, *args: object, **options: object) -> clipboard.Copied:
        copied.append(text)
        return clipboard.Copied("tmux", len(text), None)

    monkeypatch.setattr(clipboard, "copy_text", take)
    app = make_app(make_pane=make_finding_pane)
    async with app.run_test() as pilot:
        await ready(app, pilot)
        await pilot.press("o", "y")
        await ready(app, pilot)
        await pilot.press("ctrl+c")
        await ready(app, pilot)
        assert app.is_running and "(tmux)" in notices(app)[-1]
    assert copied[0] == copied[1]
    assert copied[0].split("\n")[0] == "error precision.origin (origin): b[bold]x"
    assert "cosine: 0.5" in copied[0] and "next: look there" in copied[0] and "file  dump.json" in copied[0]


def test_finding_text_is_safe(finding: Callable[..., Finding]) -> None:
    assert "\x1b" not in finding_text(finding("a\x1b[2J"), [("b\x1b[2J", "\x1b]52;c;x\x07")])


async def test_edit_opens_the_file_at_the_line(
    make_app: MakeApp,
    make_finding_pane: Callable[[str], Pane],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    from npulse.tui import editor

    opened: list[tuple[Path, int | None]] = []
    monkeypatch.setattr(editor, "open_editor", lambda app, path, line, **_: opened.append((path, line)))
    app = make_app(make_pane=make_finding_pane)
    async with app.run_test() as pilot:
        await ready(app, pilot)
        await pilot.press("o", "e")
        assert opened == [(tmp_path / "dump.json", 12)]
        assert str(tmp_path / "dump.json") in notices(app)[-1].replace(
            "\n", ""
        )  # it returned nothing: not opened


async def test_edit_never_leaves_the_run(
    make_app: MakeApp, finding: Callable[..., Finding], tmp_path: Path, make_run: Callable[..., Run]
) -> None:
    class Escaping(Pane, can_focus=True):
        def finding(self) -> Finding:
            return finding("a", "origin", "../../etc/passwd")

    app = make_app(make_pane=Escaping)
    async with app.run_test() as pilot:
        await ready(app, pilot)
        assert app.pane is not None and app.pane.place() is None


# ---- endings ----


async def test_q_quits_on_the_base_screen(make_app: MakeApp) -> None:
    app = make_app()
    async with app.run_test() as pilot:
        await ready(app, pilot)
        await pilot.press("question_mark", "q")
        assert app.is_running
        await pilot.press("q")
    assert app.return_value == 0


async def test_q_asks_while_something_would_be_lost(make_app: MakeApp, screen_text: ScreenText) -> None:
    app = make_app()
    app.guards.append(lambda: "A capture is running [b].")
    async with app.run_test() as pilot:
        await ready(app, pilot)
        await pilot.press("q")
        assert isinstance(app.screen, AskPage)
        assert "A capture is running [b]." in screen_text(app) and "Quit all the same?" in screen_text(app)
        await pilot.press("2")  # the question is modal
        assert isinstance(app.screen, AskPage)
        await pilot.press("escape")
        assert isinstance(app.screen, MainPage)
        await pilot.press("q", "y")
    assert app.return_value == 0


async def test_q_asks_when_marks_could_not_be_written(
    make_app: MakeApp, make_finding_pane: Callable[[str], Pane], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    app = make_app(make_pane=make_finding_pane, store=StateStore(tmp_path / "file" / "state"))
    async with app.run_test() as pilot:
        await ready(app, pilot)
        assert len([n for n in notices(app) if "last only until you quit" in n]) == 1
        await pilot.press("n", "m", "q")
        assert isinstance(app.screen, AskPage)


def test_a_crash_leaves_five_lines_and_a_log_without_local_variables(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    class Crashing(PlainPane):
        def on_mount(self) -> None:
            secret_value = "password"  # noqa: F841  (must not be printed)
            raise ValueError("boom\x1b[2J")

    app = make_app(make_pane=Crashing)
    monkeypatch.setattr(sys, "__stderr__", sys.stderr)
    monkeypatch.setattr(app_module.NpulseApp, "run", lambda self, mouse: _run_headless(self))
    assert run_app(app) == app_module.CRASH_EXIT_CODE
    lines = capfd.readouterr().err.strip().split("\n")
    assert len(lines) == 5
    assert lines[0] == "npulse stopped: ValueError: boom␛[2J"
    assert "test_app.py:" in lines[1] and str(app.store.folder / "errors.log") in lines[3]
    log = (app.store.folder / "errors.log").read_text()
    assert "ValueError" in log and "password" not in log and "on_mount" in log


def _run_headless(app: NpulseApp) -> None:
    import asyncio

    asyncio.run(app.run_async(headless=True, size=(80, 24)))


def test_run_app_returns_the_exit_code(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    app = make_app()
    monkeypatch.setattr(app_module.NpulseApp, "run", lambda self, mouse: None)
    assert run_app(app) == 0
    monkeypatch.setattr(
        app_module.NpulseApp, "run", lambda self, mouse: (_ for _ in ()).throw(KeyboardInterrupt)
    )
    assert run_app(app) == 130


def test_the_shell_needs_no_data_frames() -> None:
    code = "import sys, npulse.tui.app; print(sorted({'pandas', 'pyarrow', 'polars'} & set(sys.modules)))"
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    found = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"


async def test_what_workers_tell_when_no_screen_stands_ends_nothing(make_app: MakeApp) -> None:
    """Before the first screen, and behind the last one: what is heard then has no place to be shown."""
    app = make_app()
    app.refresh_header()
    assert app.pane is None and list(app.panes) == []
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        assert app.pane in app.panes
    assert not app.screen_stack
    app.refresh_header()
    app.refresh_footer()
    app.feed_all()
    app.live.pane_changed()
    assert app.pane is None and list(app.panes) == []
