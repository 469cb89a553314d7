"""Recordings: kept, packed, opened elsewhere, done again to the same screen; what reaches out is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.analysis import AnalysisOptions
from npulse.core.errors import InputError, NpulseError, UsageError
from npulse.core.packing import make_pack
from npulse.core.packs.notes import Notes
from npulse.core.packs.opening import open_pack
from npulse.tui.actions import ACTIONS
from npulse.tui.app import NpulseApp
from npulse.tui.cli.workbench import _taken_over
from npulse.tui.panes import make_pane
from npulse.tui.recording import is_replayable, read_recording, recording_of
from npulse.tui.state import StateStore
from npulse.tui.widgets.detail import DetailView

HEAD = "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Input Shapes\n"
MakeApp = Callable[..., NpulseApp]
ScreenText = Callable[[NpulseApp], str]


def profile(folder: Path) -> Path:
    folder.mkdir()
    lines, at = [HEAD], 1_700_000_000_000_000.0
    for i in range(60):
        kind, took = (("MatMulV2", 100.0), ("Add", 10.0), ("Gather", 30.0))[i % 3]
        lines.append(f'0,{kind},{kind},AI_CORE,{at:.3f}\t,{took},0,"""8,8"""\n')
        at += took + 1
    (folder / "kernel_details.csv").write_text("".join(lines))
    return folder


def app_on(path: Path, store: StateStore, **more: Any) -> NpulseApp:
    return NpulseApp(str(path), store=store, make_pane=make_pane, first_pane="performance", **more)


async def stands(app: NpulseApp, pilot: Any) -> None:
    """The run is open, its rows and a detail are shown, and no work goes on."""
    for _ in range(2_000):
        await pilot.pause()
        details = app.pane.query(DetailView) if app.pane is not None else ()
        is_shown = any(one.detail is not None for one in details) and not any(app._busy.values())
        if is_shown and all(worker.is_finished for worker in app.workers):
            return
        await pilot.pause(0.01)
    raise AssertionError("the workbench never came to rest")


async def test_a_recording_goes_through_a_pack_to_the_same_screen(
    tmp_path: Path, screen_text: ScreenText, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, store = profile(tmp_path / "job"), StateStore(tmp_path / "here")
    app = app_on(run, store)
    async with app.run_test(size=(100, 30)) as pilot:
        await stands(app, pilot)
        await pilot.press("slash", *"Mat", "enter", "m", "a", *"look", "enter", "ctrl+k")
        await stands(app, pilot)
        (steps,) = store.recordings(str(run)).values()
        shown, marks = screen_text(app), app.marks()
    assert steps == ("pane.performance", "pane.filter", "type:Mat", "pane.mark", "pane.note", "type:look")
    assert list(marks.values()) == ["look"]
    notes = Notes({}, store.recordings(str(run)))
    options = AnalysisOptions(jobs=1)
    made = "2026-01-01T00:00:00Z"
    make_pack(run, tmp_path / "x.tar.gz", options, version="1", made=made, notes=notes)

    elsewhere = open_pack(tmp_path / "x.tar.gz", tmp_path / "cache").run
    monkeypatch.setenv("NPULSE_STATE_DIR", str(tmp_path / "there"))
    greeting = _taken_over(elsewhere, "en", tmp_path / "x.tar.gz")
    assert str(run) in greeting[0] and any(
        f"npulse {tmp_path}/x.tar.gz --replay" in line for line in greeting
    )
    there = StateStore(tmp_path / "there")
    (name,) = there.recordings(str(elsewhere))
    recording = recording_of(name, there.recordings(str(elsewhere)))
    again = app_on(elsewhere, there, recording=recording)
    async with again.run_test(size=(100, 30)) as pilot:
        await stands(again, pilot)
        told = [note.message for note in again._notifications]
        again.clear_notifications()
        await pilot.pause()
        assert screen_text(again).split("\n")[1:] == shown.split("\n")[1:]  # the first line is the path
        assert again.marks() == marks and told == ["Done again: 6 of 6 steps."]


async def test_a_recording_begins_on_the_round_on_which_it_was_made(tmp_path: Path) -> None:
    """The demo opens on its first round, a folder on its newest."""
    for name in ("round1", "round2"):
        profile(tmp_path / name)
    store = StateStore(tmp_path / "here")
    app = app_on(tmp_path, store, first_round=0)
    async with app.run_test(size=(100, 30)) as pilot:
        await stands(app, pilot)
        await pilot.press("j", "ctrl+k")
        await stands(app, pilot)
    (steps,) = store.recordings(str(tmp_path)).values()
    assert steps == ("pane.performance", "round:round1", "move.down")
    again = app_on(tmp_path, store, recording=steps)
    async with again.run_test(size=(100, 30)) as pilot:
        await stands(again, pilot)
        assert again.round_index == 0
        assert await again.replay(["round:gone"]).wait() == ["round:gone"] and again.round_index == 0


async def test_a_pack_that_holds_less_says_so_above_every_pane(
    tmp_path: Path, screen_text: ScreenText
) -> None:
    run = profile(tmp_path / "job")
    (run / "npu-smi.log").write_text("====== ERROR: illegal write of size 4\n")
    options, made = AnalysisOptions(jobs=1), "2026-01-01T00:00:00Z"
    manifest = make_pack(run, tmp_path / "x.tar.gz", options, version="1", made=made, max_bytes=100)
    assert "performance" in manifest.recorded
    app = app_on(open_pack(tmp_path / "x.tar.gz", tmp_path / "cache").run, StateStore(tmp_path / "state"))
    async with app.run_test(size=(100, 30)) as pilot:
        while app.opened is None:
            await pilot.pause()
        await pilot.pause()
        assert "part of the run" in screen_text(app).split("\n")[0]
        assert [problem.kind for problem in app.problems()] == ["missing"]


async def test_any_key_stops_a_replay_and_what_reaches_out_is_refused(
    tmp_path: Path,
) -> None:
    run, store = profile(tmp_path / "job"), StateStore(tmp_path / "state")
    app = app_on(run, store)
    async with app.run_test(size=(100, 30)) as pilot:
        await stands(app, pilot)
        hostile = ["app.capture", "pane.export", "pane.edit", "app.runs", "type:/etc", "no.such", "app.quit"]
        assert await app.replay(hostile).wait() == hostile[:-1]
        assert app.is_running and len(app.screen_stack) == 1
        n_before = len(app.command_log)
        worker = app.replay(["move.down"] * 3, pause_s=3_600)
        await pilot.pause()
        await pilot.press("j")
        assert await worker.wait() == []
        assert list(app.command_log)[n_before:] == ["move.down"]


def test_steps_that_reach_out_are_known_by_name() -> None:
    refused = {action.id for action in ACTIONS if not is_replayable(action.id)}
    assert {"app.capture", "app.runs", "app.palette", "pane.export", "pane.edit", "pane.copy"} <= refused
    assert {"memory.roots", "app.recording"} <= refused and "pane.filter" not in refused
    assert {"device.now", "device.poll", "rounds.baseline"} <= refused, "start npu-smi, change later verdicts"


def test_a_file_of_steps(tmp_path: Path) -> None:
    path = tmp_path / "steps.txt"
    path.write_text("# the way to it\npane.memory\n\ntype: a b \n")
    assert recording_of(str(path), {}) == ("pane.memory", "type: a b ")
    path.write_text("pane.memory\npane.memry\n")
    with pytest.raises(InputError, match="no action") as caught:
        read_recording(path)
    assert caught.value.line == 2
    with pytest.raises(UsageError, match="no recording") as none:
        recording_of("first", {"second": ()})
    assert "second" in str(none.value.hint)


@given(st.binary(max_size=100))
def test_any_file_is_read_or_told(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "steps"
    path.write_bytes(raw)
    try:
        steps = read_recording(path)
    except NpulseError:
        return
    assert all(steps)
