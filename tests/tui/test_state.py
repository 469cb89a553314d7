"""What is remembered: on disk before the call returns, tolerant of damage, never in the run."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.tui import state as st_module
from npulse.tui.state import RecentRun, StateStore, state_folder


def test_marks_and_notes_are_read_back_by_another_store(tmp_path: Path) -> None:
    store = StateStore(tmp_path)
    store.set_mark("/run", "Functional.linear.8.backward", True)
    store.set_note("/run", "layers.25", "why?\x1b[2J")
    other = StateStore(tmp_path)
    assert other.marks("/run") == {"Functional.linear.8.backward": "", "layers.25": "why?\x1b[2J"}
    assert other.marks("/run2") == {}
    other.set_mark("/run", "layers.25", False)
    assert store.marks("/run") == {"Functional.linear.8.backward": ""}


def test_marking_twice_keeps_the_note(tmp_path: Path) -> None:
    store = StateStore(tmp_path)
    store.set_note("/run", "a", "note")
    store.set_mark("/run", "a", True)
    assert store.marks("/run") == {"a": "note"}


def test_a_baseline_stands_beside_marks_and_is_forgotten(tmp_path: Path) -> None:
    store = StateStore(tmp_path)
    store.set_mark("/run", "a", True)
    store.set_baseline("/run", "round2")
    store.set_mark("/run", "b", True)
    assert StateStore(tmp_path).baseline("/run") == "round2" and list(store.marks("/run")) == ["a", "b"]
    assert store.baseline("/run2") == ""
    (file,) = (tmp_path / "baselines").iterdir()
    file.write_text('{"round": 7}')
    assert store.baseline("/run") == ""
    store.set_baseline("/run", "round1")
    store.set_baseline("/run", "")
    assert store.baseline("/run") == ""


def test_state_is_private_and_nothing_is_left_beside(tmp_path: Path) -> None:
    store = StateStore(tmp_path / "s")
    store.set_mark("/run", "a", True)
    (file,) = (tmp_path / "s" / "runs").iterdir()
    assert file.stat().st_mode & 0o077 == 0
    assert json.loads(file.read_text())["path"] == "/run"


def test_recent_runs_newest_first_each_once_bounded(tmp_path: Path) -> None:
    clock = iter(range(1000, 2000))
    store = StateStore(tmp_path, now_s=lambda: next(clock))
    for number in range(st_module.MAX_RECENT + 5):
        store.add_recent(f"/run{number}")
    store.add_recent("/run10", "fail")
    store.add_recent("/run10")
    found = store.recent()
    assert found[0] == RecentRun("/run10", 1000 + st_module.MAX_RECENT + 6, "fail")
    assert len(found) == st_module.MAX_RECENT == len({run.path for run in found})


def test_choices(tmp_path: Path) -> None:
    store = StateStore(tmp_path)
    assert store.choice("theme") is None
    store.set_choice("theme", "light")
    store.set_choice("lang", "zh")
    assert (StateStore(tmp_path).choice("theme"), StateStore(tmp_path).choice("lang")) == ("light", "zh")


@pytest.mark.parametrize("damage", [b"", b"{", b"[1]", b"\xff\x00", b"[" * 100_000, b'"x"'])
def test_a_damaged_file_is_set_aside_and_told(tmp_path: Path, damage: bytes) -> None:
    told: list[tuple[str, str]] = []
    (tmp_path / "recent.json").write_bytes(damage)
    store = StateStore(tmp_path, on_trouble=lambda text, path: told.append((text, path)))
    assert store.recent() == []
    assert told == [("state.damaged", str(tmp_path / "recent.json.bad"))]
    assert (tmp_path / "recent.json.bad").read_bytes() == damage
    store.add_recent("/run")
    assert [run.path for run in StateStore(tmp_path).recent()] == ["/run"]


def test_too_large_a_file_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(st_module, "MAX_STATE_BYTES", 100)
    (tmp_path / "choices.json").write_text(json.dumps({"theme": "x" * 200}))
    assert StateStore(tmp_path).choice("theme") is None


def test_values_of_the_wrong_type_are_left_out(tmp_path: Path) -> None:
    runs = [
        {"path": 1},
        7,
        {"path": "/a", "opened_s": "x", "verdict": []},
        {"path": "/b", "opened_s": -1e400},
    ]
    (tmp_path / "recent.json").write_text(json.dumps({"runs": runs}))
    assert StateStore(tmp_path).recent() == [RecentRun("/a", 0, ""), RecentRun("/b", 0, "")]


def test_where_nothing_can_be_written_it_works_in_memory_and_says_so_once(tmp_path: Path) -> None:
    told: list[str] = []
    (tmp_path / "file").write_text("")
    store = StateStore(tmp_path / "file" / "state")
    store.set_mark("/run", "a", True)
    store.set_mark("/run", "b", True)
    store.tell_troubles(lambda text, path: told.append(text))
    store.add_recent("/run")
    assert store.is_memory_only and told == ["state.memory"]
    assert list(store.marks("/run")) == ["a", "b"] and store.recent()[0].path == "/run"


def test_marks_are_bounded_and_the_oldest_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(st_module, "MAX_MARKS", 3)
    store = StateStore(tmp_path)
    for subject in "abcd":
        store.set_mark("/run", subject, True)
    store.set_note("/run", "d", "x" * 10_000)
    assert list(store.marks("/run")) == ["b", "c", "d"]
    assert len(store.marks("/run")["d"]) == st_module.MAX_NOTE_CHARACTERS


def test_folder_comes_from_the_environment(tmp_path: Path) -> None:
    assert state_folder({"NPULSE_STATE_DIR": str(tmp_path)}) == tmp_path


def test_relative_and_absolute_paths_are_one_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = StateStore(tmp_path / "s")
    store.set_mark("run", "a", True)
    assert store.marks(str(tmp_path / "run")) == {"a": ""}


@given(st.text(), st.text())
def test_any_text_is_kept_as_it_is(tmp_path_factory: pytest.TempPathFactory, subject: str, note: str) -> None:
    folder = tmp_path_factory.mktemp("s")
    run = os.fsdecode(b"/run/\xff\xfe")
    StateStore(folder).set_note(run, subject, note)
    assert StateStore(folder).marks(run) == {subject: note}


def test_a_recent_run_can_be_opened_from_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "run").mkdir()
    monkeypatch.chdir(tmp_path)
    store = StateStore(tmp_path / "state")
    store.add_recent("run", "fail")
    store.add_recent(str(tmp_path / "run"))
    assert [(one.path, one.verdict) for one in store.recent()] == [(str(tmp_path / "run"), "fail")]
