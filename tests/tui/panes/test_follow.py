"""A run that is written while it is looked at: rows come, the cursor stays, nothing moves by itself."""

from __future__ import annotations

import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from npulse.core.errors import InputError
from npulse.core.findings import Finding
from npulse.core.run.discover import discover
from npulse.tui.app import NpulseApp
from npulse.tui.chrome import HeaderLine
from npulse.tui.panes import job_pane, live_rows
from npulse.tui.panes.memory import pane as memory_pane_module
from npulse.tui.panes.memory.pane import MemoryPane
from npulse.tui.panes.table_pane import TablePane
from npulse.tui.screens.rows import RowList
from npulse.tui.widgets.virtual_table import ADDED

from .captures import write_pair
from .live_runs import BUSY, NOW_NS, FakeWatch
from .memory_runs import illegal_write, write_log
from .performance_runs import HEADER, write_kinds, write_round, write_rounds

OpenApp = Callable[..., NpulseApp]
Until = Callable[..., Awaitable[None]]
ScreenText = Callable[[NpulseApp], str]
BEGIN = "[mssanitizer] Start memcheck sanitizer on kernel vec_add\n"


def write_sites(run: Path, *lines: int) -> Path:
    """An open log with a fault at each of these lines of the source."""
    return write_log(run, BEGIN + "".join(illegal_write(core=0, line=line) for line in lines))


def add_sites(run: Path, *lines: int) -> None:
    with open(run / "check.log", "a", encoding="utf-8") as log:
        log.write("".join(illegal_write(core=1, line=line) for line in lines))


@pytest.fixture
def watch() -> FakeWatch:
    return FakeWatch()


@pytest.fixture
def open_memory(open_app: OpenApp, watch: FakeWatch) -> OpenApp:
    return partial(open_app, open_watch=watch, first_pane="memory", has_bell=False)


async def shown(app: NpulseApp, pilot: Any, until: Until, n_rows: int) -> TablePane[Any]:
    """The pane once so many rows stand there and no look is going on."""

    def stands() -> bool:
        pane = app.pane
        return isinstance(pane, TablePane) and pane.table.view.n_rows == n_rows and is_still(app)

    await until(pilot, stands)
    await pilot.pause()
    assert isinstance(app.pane, TablePane)
    return app.pane


def is_still(app: NpulseApp) -> bool:
    return all(worker.is_finished or worker.group == "watch" for worker in app.workers)


async def follow(app: NpulseApp, pilot: Any, until: Until, watch: FakeWatch, n_rows: int) -> TablePane[Any]:
    """The pane with all rows, following, after its first look."""
    pane = await shown(app, pilot, until, n_rows)
    version = pane.version
    await pilot.press("F")
    await until(pilot, lambda: watch.n_opened == 1 and pane.version > version and is_still(app))
    return pane


def subjects(pane: TablePane[Any]) -> list[str]:
    view = pane.table.view
    names = view.table.column(pane.subject_column)
    return [names.value(int(row)).rpartition("/")[2] for row in view.rows(0, view.n_rows)]


def state_line(pane: TablePane[Any]) -> str:
    return str(pane.query_one("#state").render())


def header(app: NpulseApp) -> str:
    return " ".join(app.main.query_one(HeaderLine).state.facts)


def notices(app: NpulseApp) -> list[str]:
    return [one.message for one in app._notifications]


# ---- rows come ----


async def test_rows_come_and_the_first_line_says_how_fast(
    tmp_path: Path, open_memory: OpenApp, watch: FakeWatch, until: Until
) -> None:
    run = write_sites(tmp_path / "run", 11, 12)
    app = open_memory(run)
    async with app.run_test(size=(80, 24)) as pilot:
        pane = await follow(app, pilot, until, watch, 2)
        assert "following" in state_line(pane) and watch.path == run
        add_sites(run, 13, 14)
        watch.tell()
        await shown(app, pilot, until, 4)
        assert subjects(pane) == [f"vec_add.cpp:{line}" for line in (11, 12, 13, 14)]
        assert "LIVE ● 1.2 MB/s" in header(app)
        await pilot.press("F")
        await pilot.pause()
        assert not pane.is_following and "following" not in state_line(pane) and "LIVE" not in header(app)
        await until(pilot, lambda: watch.n_closed == 1)
        assert pane.table.view.n_rows == 4, "what is shown stays"


async def test_the_kind_of_state_is_told_with_times_that_stand(
    tmp_path: Path, open_memory: OpenApp, watch: FakeWatch, until: Until
) -> None:
    from npulse.core.text import since_text

    app = open_memory(write_sites(tmp_path / "run", 11))
    async with app.run_test(size=(120, 24)) as pilot:
        await follow(app, pilot, until, watch, 1)
        at = since_text(NOW_NS, time.time_ns())
        for changes, told in (
            ({"lag_s": 2.34}, "LIVE ● 1.2 MB/s lag 2.3 s"),
            ({"has_writer": False, "quiet_since_ns": NOW_NS}, f"writer gone since {at}"),
            ({"has_writer": True, "quiet_since_ns": NOW_NS}, f"LIVE ● quiet since {at}"),
            ({"has_writer": None, "quiet_since_ns": NOW_NS, "lag_s": 9.0}, f"LIVE ● quiet since {at}"),
            ({"is_reachable": False}, "folder gone since "),
            ({"bytes_per_s": 900.0}, "LIVE ● 900 B/s"),
        ):
            watch.tell(is_new=False, **changes)
            await until(pilot, lambda told=told: header(app).startswith(told))  # type: ignore[misc]
        watch.tell(is_new=False, mode="polling", why="network nfs4")
        await until(pilot, lambda: any("nfs4 is a network file system" in text for text in notices(app)))


@pytest.mark.parametrize("keys", [(), ("s",), ("s", "S")])
async def test_the_cursor_stays_on_its_row(
    tmp_path: Path, open_memory: OpenApp, watch: FakeWatch, until: Until, keys: tuple[str, ...]
) -> None:
    """Whatever comes before and behind it, however rows are sorted, on the same line of the screen."""
    run = write_sites(tmp_path / "run", *range(20, 60, 2))
    app = open_memory(run)
    async with app.run_test(size=(80, 24)) as pilot:
        pane = await follow(app, pilot, until, watch, 20)
        pane.table.move_to_column("count")
        await pilot.press(*keys)
        await until(pilot, lambda: is_still(app))
        await pilot.press(*["j"] * 9)
        await pilot.pause()
        name, line = pane.subject(), pane.table.cursor - pane.table.top
        assert line > 0
        for n_rows, lines in ((26, (1, 3, 5, 7, 9, 70)), (27, (71, 20, 20, 22, 24, 1))):
            add_sites(run, *lines)
            watch.tell()
            await shown(app, pilot, until, n_rows)
            assert pane.subject() == name
            assert pane.table.cursor - pane.table.top == line
        shown_lines = [str(one) for one in pane.shown.where(pane.row, "en")]
        assert any(name.rpartition(":")[2] in one for one in shown_lines)


async def test_a_filter_stays_and_rows_that_it_hides_stay_hidden(
    tmp_path: Path, open_memory: OpenApp, watch: FakeWatch, until: Until
) -> None:
    run = write_sites(tmp_path / "run", 11, 21, 12, 22)
    app = open_memory(run)
    async with app.run_test(size=(80, 24)) as pilot:
        pane = await follow(app, pilot, until, watch, 4)
        await pilot.press("slash", *"line>20", "enter")
        await shown(app, pilot, until, 2)
        await pilot.press("j")
        frames: list[int] = []
        pane.watch(pane.table, "position", lambda: frames.append(pane.table.view.n_rows), init=False)
        add_sites(run, 13, 23)
        watch.tell()
        await shown(app, pilot, until, 3)
        assert subjects(pane) == ["vec_add.cpp:21", "vec_add.cpp:22", "vec_add.cpp:23"]
        assert (pane.subject() or "").endswith(":22")
        assert set(frames) <= {2, 3}, "never all rows in between"


async def test_rows_before_the_first_one_are_seen(
    tmp_path: Path, open_memory: OpenApp, watch: FakeWatch, until: Until
) -> None:
    run = write_sites(tmp_path / "run", 30, 31)
    app = open_memory(run)
    async with app.run_test(size=(80, 24)) as pilot:
        pane = await follow(app, pilot, until, watch, 2)
        pane.table.move_to_column("count")
        await pilot.press("s", "S")
        await until(pilot, lambda: is_still(app))
        first = pane.subject()
        other = 31 if (first or "").endswith(":30") else 30
        add_sites(run, other, other)
        watch.tell()
        await until(pilot, lambda: pane.table.cursor == 1)
        assert pane.subject() == first and pane.table.top == 0


# ---- pause ----


@pytest.mark.parametrize("lang", ["en", "zh"])
async def test_space_holds_new_rows_back_and_counts_them(
    tmp_path: Path,
    open_memory: OpenApp,
    watch: FakeWatch,
    until: Until,
    lang: str,
    screen_text: ScreenText,
) -> None:
    run = write_sites(tmp_path / "run", 11, 12)
    app = open_memory(run, lang=lang)
    words = ("paused", "new rows", "Space resumes") if lang == "en" else ("已暂停", "行新数据", "继续")
    async with app.run_test(size=(80, 24)) as pilot:
        pane = await follow(app, pilot, until, watch, 2)
        await pilot.press("space")
        for n_new, line in ((1, 13), (2, 14)):
            add_sites(run, line)
            watch.tell()
            await until(pilot, lambda n=n_new: f"{n} " in state_line(pane) and is_still(app))  # type: ignore[misc]
            assert all(word in state_line(pane) for word in words)
            assert subjects(pane) == ["vec_add.cpp:11", "vec_add.cpp:12"]
        assert words[0] in header(app) and words[0] in screen_text(app)
        await pilot.press("space")
        await shown(app, pilot, until, 4)
        assert words[0] not in state_line(pane) and words[0] not in header(app)


async def test_going_up_pauses_while_rows_come_and_only_then(
    tmp_path: Path,
    open_memory: OpenApp,
    watch: FakeWatch,
    until: Until,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = write_sites(tmp_path / "run", *range(10, 50))
    app = open_memory(run)
    async with app.run_test(size=(80, 24)) as pilot:
        pane = await follow(app, pilot, until, watch, 40)
        await pilot.press("j", "j", "k")
        await pilot.pause()
        assert not pane.is_paused, "nothing comes"
        n_rows = 40
        for key in ("k", "up", "pageup", "g"):
            n_rows += 1
            add_sites(run, n_rows + 60)
            watch.tell()
            await shown(app, pilot, until, n_rows)
            await pilot.press("pagedown", "j")
            await pilot.pause()
            assert not pane.is_paused
            await pilot.press(key)
            await until(pilot, lambda: pane.is_paused)
            await pilot.press("space")
            await pilot.pause()
        monkeypatch.setattr(live_rows, "MARK_S", 0.05)
        add_sites(run, 300)
        watch.tell()
        await shown(app, pilot, until, n_rows + 1)
        await until(pilot, lambda: pane.table.fresh is None)
        await pilot.press("k")
        await pilot.pause()
        assert not pane.is_paused, "nothing comes any more"


async def test_space_without_following_says_so(tmp_path: Path, open_memory: OpenApp, until: Until) -> None:
    app = open_memory(write_sites(tmp_path / "run", 11))
    async with app.run_test(size=(80, 24)) as pilot:
        await shown(app, pilot, until, 1)
        await pilot.press("space")
        await pilot.pause()
        assert "F follows" in notices(app)[-1]


# ---- marks ----


async def test_new_and_changed_rows_are_marked_for_a_while_by_a_character_too(
    tmp_path: Path,
    open_memory: OpenApp,
    watch: FakeWatch,
    until: Until,
    monkeypatch: pytest.MonkeyPatch,
    screen_text: ScreenText,
) -> None:
    monkeypatch.setattr(live_rows, "MARK_S", 0.8)
    run = write_sites(tmp_path / "run", 11, 12)
    app = open_memory(run)
    async with app.run_test(size=(80, 24)) as pilot:
        pane = await follow(app, pilot, until, watch, 2)
        await pilot.press("m")
        add_sites(run, 11, 13)
        watch.tell()
        await until(pilot, lambda: pane.table.fresh is not None)
        await pilot.pause()
        lines = [line for line in screen_text(app).split("\n") if "illegal write UB" in line]
        assert [line[:4] for line in lines[:3]] == ["▶◆~E", "   E", " + E"]
        styles = [pane.table.render_line(y) for y in (1, 2, 3)]
        assert [any(s.style and s.style.bold for s in strip) for strip in styles] == [True, False, True]
        await until(pilot, lambda: pane.table.fresh is None)
        lines = [line for line in screen_text(app).split("\n") if "illegal write UB" in line]
        assert [line[:4] for line in lines[:3]] == ["▶◆ E", "   E", "   E"]


async def test_nothing_is_drawn_while_nothing_changes(
    tmp_path: Path,
    open_memory: OpenApp,
    watch: FakeWatch,
    until: Until,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither by time, nor by a batch that says what is known, nor by a look that finds what is shown."""
    monkeypatch.setattr(live_rows, "MARK_S", 0.1)
    run = write_sites(tmp_path / "run", 11, 12)
    app = open_memory(run)
    drawn: list[object] = []
    changed = app._frames.changed

    def note(renderable: Any, **how: Any) -> Any:
        found = changed(renderable, **how)
        if found is not None:
            drawn.append([(y, x, strip.text) for y, x, strip in getattr(found, "pieces", ())] or found)
        return found

    monkeypatch.setattr(app._frames, "changed", note)
    async with app.run_test(size=(80, 24)) as pilot:
        pane = await follow(app, pilot, until, watch, 2)
        app.clear_notifications()
        add_sites(run, 13)
        watch.tell()
        await shown(app, pilot, until, 3)
        await until(pilot, lambda: pane.table.fresh is None)
        await pilot.pause(0.2)
        del drawn[:]
        await pilot.pause(1.0)
        assert drawn == []
        version = pane.version
        watch.tell(is_new=False)
        watch.tell()
        await until(pilot, lambda: pane.version > version and is_still(app))
        await pilot.pause(0.2)
        assert drawn == []


# ---- looks ----


class Gate:
    """A look that lasts until it is let go; counts how many go on at once."""

    def __init__(self, look: Callable[..., None]) -> None:
        self._look = look
        self._lock = threading.Lock()
        self.is_shut = False
        self.open = threading.Event()
        self.n_begun = self.n_now = self.most = self.n_cancelled = 0

    def __call__(self, run: Any, round_name: str, tools: Any, **options: Any) -> None:
        with self._lock:
            self.n_begun += 1
            self.n_now += 1
            self.most = max(self.most, self.n_now)
        try:
            while self.is_shut and not self.open.wait(0.01):
                if tools.is_cancelled():
                    self.n_cancelled += 1
                    return
            self._look(run, round_name, tools, **options)
        finally:
            with self._lock:
                self.n_now -= 1


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Gate:
    made = Gate(memory_pane_module.read_round)
    monkeypatch.setattr(memory_pane_module, "read_round", made)
    return made


async def test_a_look_is_never_cancelled_for_the_next_one_and_many_batches_are_one(
    tmp_path: Path, open_memory: OpenApp, watch: FakeWatch, until: Until, gate: Gate
) -> None:
    run = write_sites(tmp_path / "run", 11)
    app = open_memory(run)
    async with app.run_test(size=(80, 24)) as pilot:
        pane = await follow(app, pilot, until, watch, 1)
        begun, gate.is_shut = gate.n_begun, True
        watch.tell()
        await until(pilot, lambda: gate.n_begun == begun + 1)
        for line in (12, 13, 14):
            add_sites(run, line)
            watch.tell(bytes_per_s=float(line))
        await until(pilot, lambda: "14 B/s" in header(app) or pane._is_due)
        await pilot.press("r")  # scans anew; the look goes on
        await until(pilot, lambda: not app._busy.get("open"))
        assert gate.n_begun == begun + 1
        gate.open.set()
        await until(pilot, lambda: gate.n_begun == begun + 2)
        await shown(app, pilot, until, 4)
        await pilot.pause(2 * job_pane.LOOK_PAUSE_S)
        assert (gate.n_begun, gate.most, gate.n_cancelled) == (begun + 2, 1, 0)
        assert pane.is_following


async def test_looks_leave_half_of_the_time(
    tmp_path: Path,
    open_memory: OpenApp,
    watch: FakeWatch,
    until: Until,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now_s = [1000.0]
    monkeypatch.setattr(job_pane, "monotonic", lambda: now_s[0])
    app = open_memory(write_sites(tmp_path / "run", 11))
    async with app.run_test(size=(80, 24)) as pilot:
        pane = await follow(app, pilot, until, watch, 1)
        for took_s, pause_s in ((7.0, 7.0), (0.01, 0.25)):
            pane._cost_s, pane._ended_s = took_s, now_s[0]
            watch.tell()
            await until(pilot, lambda: pane._look_timer is not None)
            assert pane._look_timer is not None
            assert pane._look_timer._interval == pytest.approx(pause_s)
            pane._look_timer.stop()
            pane._look_timer = None


async def test_cancelling_ends_the_look_and_not_the_following(
    tmp_path: Path, open_memory: OpenApp, watch: FakeWatch, until: Until, gate: Gate
) -> None:
    run = write_sites(tmp_path / "run", 11)
    app = open_memory(run)
    async with app.run_test(size=(80, 24)) as pilot:
        pane = await follow(app, pilot, until, watch, 1)
        gate.is_shut = True
        begun = gate.n_begun
        watch.tell()
        await until(pilot, lambda: gate.n_begun == begun + 1)
        await pilot.press("escape")
        await until(pilot, lambda: gate.n_cancelled == 1)
        assert "Following goes on" in notices(app)[-1] and pane.is_following
        assert pane.table.view.n_rows == 1
        gate.open.set()
        add_sites(run, 12)
        watch.tell()
        await shown(app, pilot, until, 2)
        assert watch.n_closed == 0


async def test_a_look_that_fails_leaves_the_rows_and_the_next_one_is_shown(
    tmp_path: Path,
    open_memory: OpenApp,
    watch: FakeWatch,
    until: Until,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = write_sites(tmp_path / "run", 11)
    app = open_memory(run)
    async with app.run_test(size=(120, 30)) as pilot:
        pane = await follow(app, pilot, until, watch, 1)
        look = memory_pane_module.read_round

        def fail(*_: Any, **__: Any) -> None:
            raise InputError("half a line", path=run / "check.log")

        monkeypatch.setattr(memory_pane_module, "read_round", fail)
        watch.tell()
        await until(pilot, lambda: "half a line" in state_line(pane))
        assert pane.table.view.n_rows == 1 and pane.is_following
        monkeypatch.setattr(memory_pane_module, "read_round", look)
        add_sites(run, 12)
        watch.tell()
        await shown(app, pilot, until, 2)
        assert "half a line" not in state_line(pane)


async def test_tails_go_along_with_a_pane_and_end_with_it(
    tmp_path: Path, open_memory: OpenApp, watch: FakeWatch, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    look = memory_pane_module.read_round

    def note(*words: Any, options: Any, **more: Any) -> None:
        seen.append(options.tails)
        look(*words, options=options, **more)

    monkeypatch.setattr(memory_pane_module, "read_round", note)
    run = write_sites(tmp_path / "run", 11)
    app = open_memory(run)
    async with app.run_test(size=(80, 24)) as pilot:
        pane = await follow(app, pilot, until, watch, 1)
        add_sites(run, 12)
        watch.tell()
        await shown(app, pilot, until, 2)
        assert seen[0] is None and seen[1] is not None and seen[2] is seen[1] is pane.tails
        await pilot.press("r")
        await until(pilot, lambda: len(seen) == 4 and is_still(app))
        assert seen[3] is seen[1] and pane.is_following
        await pilot.press("F", "r")
        await until(pilot, lambda: len(seen) == 5 and is_still(app))
        assert seen[4] is None and pane.tails is None


# ---- runs and panes ----


async def test_a_pane_that_is_not_shown_follows_as_well_and_its_cursor_stays(
    tmp_path: Path, open_memory: OpenApp, watch: FakeWatch, until: Until, screen_text: ScreenText
) -> None:
    run = write_sites(tmp_path / "run", *range(20, 60))
    app = open_memory(run)
    async with app.run_test(size=(80, 24)) as pilot:
        pane = await follow(app, pilot, until, watch, 40)
        await pilot.press(*["pagedown"] * 3, "j")
        await pilot.pause()
        name, line = pane.subject() or "", pane.table.cursor - pane.table.top
        await pilot.press("3")
        add_sites(run, *range(1, 9))
        watch.tell()
        await until(pilot, lambda: pane.table.view.n_rows == 48 and is_still(app))
        await pilot.press("4")
        await pilot.pause()
        assert pane.subject() == name and pane.table.cursor - pane.table.top == line
        row = next(text for text in screen_text(app).split("\n") if text.startswith("\u25b6"))
        assert name.rpartition("/")[2] in row


async def test_a_new_round_is_told_and_the_one_that_is_shown_stays(
    tmp_path: Path, open_app: OpenApp, watch: FakeWatch, until: Until
) -> None:
    run = write_rounds(tmp_path / "run")
    app = open_app(run, open_watch=watch, first_pane="performance", has_bell=False)
    async with app.run_test(size=(80, 24)) as pilot:
        pane = await follow(app, pilot, until, watch, 3)
        version, shown_before = pane.version, pane.table.view
        assert pane.round is not None and pane.round.name == "round_002"
        write_round(run / "round_000")
        watch.tell(is_new=False)
        await until(pilot, lambda: any("round_000. [ shows it" in text for text in notices(app)))
        assert app.round_index == pane.round_index == 2 and pane.round.name == "round_002"
        assert pane.version == version and pane.table.view is shown_before, "nothing of it is read again"
        await pilot.press("left_square_bracket")
        await until(pilot, lambda: pane.version > version and is_still(app) and pane.table.view.n_rows)
        assert pane.round.name == "round_001" and pane.is_following and pane.tails is not None


async def test_looks_that_find_the_same_write_nothing_to_the_state_folder(
    tmp_path: Path, open_memory: OpenApp, watch: FakeWatch, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = write_sites(tmp_path / "run", 11)
    app = open_memory(run)
    kept: list[str] = []
    async with app.run_test(size=(80, 24)) as pilot:
        pane = await follow(app, pilot, until, watch, 1)
        monkeypatch.setattr(app.store, "add_recent", lambda path, verdict="": kept.append(verdict))
        for n_rows in (2, 3):
            version = pane.version
            add_sites(run, 10 + n_rows)
            watch.tell()
            await until(pilot, lambda v=version: pane.version > v)  # type: ignore[misc]
            await shown(app, pilot, until, n_rows)
        assert kept == []


async def test_another_run_ends_the_following(
    tmp_path: Path, open_memory: OpenApp, watch: FakeWatch, until: Until
) -> None:
    other = write_sites(tmp_path / "other", 7, 8, 9)
    app = open_memory(write_sites(tmp_path / "run", 11))
    async with app.run_test(size=(80, 24)) as pilot:
        pane = await follow(app, pilot, until, watch, 1)
        app.open_path(str(other))
        await shown(app, pilot, until, 3)
        await until(pilot, lambda: watch.n_closed == 1)
        assert not pane.is_following and app.live.state is None and watch.n_opened == 1


async def test_asked_for_at_the_start_each_pane_follows_from_its_first_visit(
    tmp_path: Path, open_memory: OpenApp, watch: FakeWatch, until: Until
) -> None:
    run = write_sites(tmp_path / "run", 11)
    app = open_memory(run, follow=True)
    async with app.run_test(size=(80, 24)) as pilot:
        pane = await shown(app, pilot, until, 1)
        assert pane.is_following and watch.n_opened == 1
        await pilot.press("3")
        await pilot.pause()
        assert app.pane is not None and app.pane.is_following and watch.n_opened == 1
        await pilot.press("F", "4", "F")
        await until(pilot, lambda: watch.n_closed == 1)


async def test_what_is_written_into_an_empty_folder_appears(
    tmp_path: Path, open_memory: OpenApp, watch: FakeWatch, until: Until, screen_text: ScreenText
) -> None:
    run = tmp_path / "run"
    run.mkdir()
    told: list[Finding] = []
    app = open_memory(run, follow=True, tell_finding=told.append)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "as it comes" in screen_text(app))
        write_sites(run, 11)
        watch.tell()
        await shown(app, pilot, until, 1)
        assert [finding.subject.rpartition("/")[2] for finding in told] == ["vec_add.cpp:11"]


async def test_a_run_that_is_still_written_offers_to_be_followed(
    tmp_path: Path, open_memory: OpenApp, watch: FakeWatch, until: Until, screen_text: ScreenText
) -> None:
    found = discover(write_sites(tmp_path / "run", 11))
    artifacts = tuple(replace(one, completeness="in progress") for one in found.artifacts)
    found = replace(found, rounds=(replace(found.rounds[0], artifacts=artifacts),))
    app = open_memory(tmp_path / "run", open_run=lambda *_: found)
    async with app.run_test(size=(80, 24)) as pilot:
        await shown(app, pilot, until, 1)
        assert "still being written: F follows" in notices(app)[-1]
        footer = screen_text(app).split("\n")[-1]
        assert " F follow " in footer and "pause" not in footer
        await pilot.press("F")
        await pilot.pause()
        footer = screen_text(app).split("\n")[-1]
        assert " Space pause " in footer and "F follow" not in footer


async def test_precision_overflow_and_performance_follow_too(
    tmp_path: Path, open_app: OpenApp, watch: FakeWatch, until: Until
) -> None:
    run = write_kinds(tmp_path / "profile", n_kinds=4)
    app = open_app(run, open_watch=watch, first_pane="performance", has_bell=False)
    async with app.run_test(size=(80, 24)) as pilot:
        pane = await follow(app, pilot, until, watch, 4)
        await pilot.press("j", "j")
        name = pane.subject()
        with open(run / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv", "a", encoding="utf-8") as file:
            row = (
                "1,0,4294967295,9,7,Call_9,Longest,static,AI_CORE,1754020900000000.000,900.000,3.000,24,0,NO"
            )
            file.write(row + "," * (HEADER.count(",") - row.count(",")) + "\n")
        watch.tell()
        await shown(app, pilot, until, 5)
        assert subjects(pane)[0] == "Longest" and pane.subject() == name
        assert pane.table.fresh is not None
        assert pane.table.fresh.tolist() == [ADDED, 0, 0, 0, 0], (
            "shares of the others are no change of theirs"
        )
        await pilot.press("space")
        assert "0 new rows" in state_line(pane)
        with open(run / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv", "a", encoding="utf-8") as file:
            file.write(row + "," * (HEADER.count(",") - row.count(",")) + "\n")
        watch.tell()
        await until(pilot, lambda: "new figures" in state_line(pane))
        assert pane.table.view.table.column("calls").value(0) == 1
        await pilot.press("space")
        await until(pilot, lambda: pane.table.view.table.column("calls").value(0) == 2)


@pytest.mark.parametrize("area", ["precision", "overflow"])
async def test_dumps_are_followed(
    tmp_path: Path, open_app: OpenApp, watch: FakeWatch, until: Until, area: str
) -> None:
    run = tmp_path / "run"
    write_pair(run)
    app = open_app(run, open_watch=watch, first_pane=area, has_bell=False)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: isinstance(app.pane, TablePane) and app.pane.shown is not None)
        await until(pilot, lambda: is_still(app))
        pane = app.pane
        assert isinstance(pane, TablePane)
        pane.table.move_to_row(min(2, pane.table.view.n_rows - 1))
        name, n_rows = pane.subject(), pane.table.view.n_rows
        await pilot.press("F")
        await until(pilot, lambda: watch.n_opened == 1)
        version = pane.version
        watch.tell()
        await until(pilot, lambda: pane.version > version and is_still(app))
        assert pane.subject() == name and pane.table.view.n_rows == n_rows and not pane.ended


# ---- announcements ----


async def test_a_new_error_is_announced_once_by_all_ways(
    tmp_path: Path, open_memory: OpenApp, watch: FakeWatch, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Finding] = []
    sent: list[str] = []
    rung: list[int] = []
    run = write_sites(tmp_path / "run", 11)
    app = open_memory(run, has_bell=True, tell_finding=told.append)
    monkeypatch.setattr(app, "write_sequence", sent.append)
    monkeypatch.setattr(app, "bell", lambda: rung.append(1))
    async with app.run_test(size=(80, 24)) as pilot:
        await follow(app, pilot, until, watch, 1)
        assert (told, sent, rung) == ([], [], []), "what was there before is no news"
        with open(run / "check.log", "ab") as log:
            name = "evil\x1b]0;x\x07.cpp"
            log.write(illegal_write(core=0, line=13, file=f"/b/{name}").encode())
        watch.tell()
        await shown(app, pilot, until, 2)
        assert len(told) == len(sent) == len(rung) == 1
        assert sent[0].startswith("\x1b]9;npulse: ") and sent[0].endswith("\x07")
        assert not any(c < " " for c in sent[0][1:-1]) and len(sent[0]) < 200
        assert "illegal write" in notices(app)[-1] or "write of" in notices(app)[-1]
        add_sites(run, 11)
        watch.tell()
        await until(pilot, lambda: is_still(app) and app.pane is not None)
        await pilot.pause(0.3)
        assert len(told) == 1, "it is known"
        add_sites(run, 14, 15)
        watch.tell()
        await shown(app, pilot, until, 4)
        assert len(told) == 3, "the command hears of every one"
        assert len(sent) == len(rung) == 1, "people of those that come at once only after a while"
        app.live._say_news()
        await pilot.pause()
        assert len(sent) == 2 and "1 more" in notices(app)[-1]


async def test_without_a_bell_there_is_only_the_notice(
    tmp_path: Path, open_memory: OpenApp, watch: FakeWatch, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    run = write_sites(tmp_path / "run", 11)
    app = open_memory(run)
    monkeypatch.setattr(app, "write_sequence", sent.append)
    monkeypatch.setattr(app, "bell", lambda: sent.append("bell"))
    async with app.run_test(size=(80, 24)) as pilot:
        await follow(app, pilot, until, watch, 1)
        add_sites(run, 12)
        watch.tell()
        await shown(app, pilot, until, 2)
        assert "vec_add.cpp:12" in notices(app)[-1] and sent == []


async def test_what_was_recorded_is_a_page(
    tmp_path: Path, open_memory: OpenApp, until: Until, screen_text: ScreenText
) -> None:
    run = write_sites(tmp_path / "run", 11)
    app = open_memory(run)
    async with app.run_test(size=(120, 24)) as pilot:
        await shown(app, pilot, until, 1)
        await pilot.press("I")
        await until(pilot, lambda: app.screen.query(RowList) and "recorded of each rank" in screen_text(app))
        line = next(line for line in screen_text(app).split("\n") if "no rank" in line)
        assert "1 file" in line and "last write" in line and "mssanitizer" in line
        await pilot.press("b")
        await pilot.pause()
        assert isinstance(app.pane, MemoryPane)


def test_the_state_of_the_tests_is_one_of_a_writer_at_work() -> None:
    assert BUSY.has_writer and BUSY.quiet_since_ns is None


async def test_what_comes_while_rows_are_put_in_order_is_shown_and_nothing_of_another_run(
    tmp_path: Path, open_memory: OpenApp, watch: FakeWatch, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However slow the order is: no look is lost, no old rows come back, and the looks wait for it."""
    gate, begun = threading.Event(), threading.Event()
    order_rows = live_rows.order_rows

    def slow(*words: Any) -> Any:
        begun.set()
        gate.wait(20)
        return order_rows(*words)

    run, other = write_sites(tmp_path / "run", 11), write_sites(tmp_path / "other", 7, 8, 9)
    app = open_memory(run)
    async with app.run_test(size=(80, 24)) as pilot:
        pane = await follow(app, pilot, until, watch, 1)
        monkeypatch.setattr(live_rows, "order_rows", slow)
        add_sites(run, 12)
        watch.tell()
        await until(pilot, begun.is_set)
        version = pane.version
        add_sites(run, 13)
        watch.tell()
        await until(pilot, lambda: pane._is_due)
        await pilot.pause(2 * job_pane.LOOK_PAUSE_S)
        assert pane.version == version
        gate.set()
        await shown(app, pilot, until, 3)

        gate.clear()
        begun.clear()
        add_sites(run, 14)
        watch.tell()
        await until(pilot, begun.is_set)
        app.open_path(str(other))
        await until(pilot, lambda: pane.table.view.n_rows == 3 and "vec_add.cpp:7" in subjects(pane))
        gate.set()
        await shown(app, pilot, until, 3)
        assert subjects(pane) == ["vec_add.cpp:7", "vec_add.cpp:8", "vec_add.cpp:9"]


async def test_a_watch_that_cannot_be_is_said_and_nothing_is_followed(
    tmp_path: Path, open_app: OpenApp, until: Until
) -> None:
    class NoWatch(FakeWatch):
        def batches(self, is_cancelled: Callable[[], bool]) -> Any:
            raise InputError("no such folder", path=tmp_path)

    watch = NoWatch()
    app = open_app(write_sites(tmp_path / "run", 11), open_watch=watch, first_pane="memory")
    async with app.run_test(size=(80, 24)) as pilot:
        pane = await shown(app, pilot, until, 1)
        await pilot.press("F")
        await until(pilot, lambda: watch.n_closed == 1 and not pane.is_following)
        assert any("no such folder" in text for text in notices(app)) and app.live.state is None
        assert pane.table.view.n_rows == 1
