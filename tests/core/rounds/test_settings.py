"""How rounds were set up, and what of that is not as it was: groups, keys, secrets, what is no change."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from npulse.core.analysis import AnalysisOptions
from npulse.core.capture.recorded import recorded_command
from npulse.core.findings import Problem
from npulse.core.formats.manifest import record_of
from npulse.core.rounds.report import report as story_report
from npulse.core.rounds.settings import Change, changes_between, command_keys, groups_of
from npulse.core.rounds.story import story
from npulse.core.run.discover import discover
from npulse.core.secret_names import HIDDEN

from .archives import closed, write_round


def test_flags_take_what_stands_behind_them() -> None:
    words = ["python", "-m", "train", "--dtype=bf16", "--lr", "-0.5", "--amp", "data", "--api-key", "abc"]
    assert command_keys(words) == {
        "command": "python",
        "-m": "train",
        "--dtype": "bf16",
        "--lr": "-0.5",
        "--amp": "data",
        "--api-key": HIDDEN,
    }
    assert command_keys(["run", "--x", "--y", "b", "--y", "c"]) == {"command": "run", "--x": "", "--y": "b c"}
    tokens = {"command": "run", "--max-new-tokens": "128", "--tokenizer": "a"}
    assert command_keys(["run", "--max-new-tokens", "128", "--tokenizer=a"]) == tokens, "no secrets"
    assert command_keys(["run", "a", "b"]) == {"command": "run", "word 2": "a", "word 3": "b"}


@given(st.lists(st.text(max_size=12), max_size=12))
def test_no_word_of_a_command_is_lost(words: list[str]) -> None:
    keys = command_keys(words)
    told = " ".join(f"{key} {value}" for key, value in keys.items())
    assert all(word in told or HIDDEN in told or "=" in word for word in words)


def test_what_changed_is_told_key_by_key() -> None:
    before = {"environment": ("r1", {"A": "0", "B": "1"}), "git": ("r0", {"commit": "aa"})}
    after = {"environment": {"A": "1", "C": "2"}, "versions": {"torch": "2"}}
    assert changes_between(before, after) == (
        Change("environment", "A", "0", "1", "r1"),
        Change("environment", "B", "1", None, "r1"),
        Change("environment", "C", None, "2", "r1"),
    )
    kinds = [change.kind for change in changes_between(before, after)]
    assert kinds == ["changed", "removed", "added"]


keys = st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=5)


@given(keys, keys)
def test_changes_turn_one_state_into_the_other(old: Mapping[str, str], new: Mapping[str, str]) -> None:
    made = dict(old)
    for change in changes_between({"environment": ("r", old)}, {"environment": new}):
        assert made.get(change.key) == change.before
        if change.after is None:
            del made[change.key]
        else:
            made[change.key] = change.after
    assert made == dict(new)


def groups(archive: Path, record: Mapping[str, Any] | None) -> Mapping[str, Mapping[str, str]]:
    run = discover(archive)
    problems: list[Problem] = []
    found = groups_of(run, run.rounds[0], None if record is None else record_of(record), problems)
    assert problems == []
    return found


def test_secrets_and_the_session_are_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "dump" / "x_20260301-100000"
    write_round(folder, closed("precision", 0))
    record = {"environment": {"HF_TOKEN": "hf_abc", "PWD": "/a", "SSH_TTY": "/dev/pts/1", "HCCL_A": "1"}}
    assert groups(tmp_path, record) == {"environment": {"HF_TOKEN": HIDDEN, "HCCL_A": "1"}}


def test_no_group_of_a_manifest_tells_a_secret(tmp_path: Path) -> None:
    """Rounds that others wrote were not looked through when they were made."""
    write_round(tmp_path / "dump" / "x_20260301-100000", closed("precision", 0))
    config = {"api_key": "sk-abc", "hub": {"auth_token": "hf_x1"}, "pad_token": 61, "dtype": "int8"}
    assert groups(tmp_path, {"config": config})["config"] == {
        "api_key": HIDDEN,
        "hub.auth_token": HIDDEN,
        "pad_token": "61",
        "dtype": "int8",
    }
    command = ["python", "a.py", "--password", "zq9", "--api-key=zq9"]
    write_round(tmp_path / "dump" / "y_20260301-100100", closed("precision", 1, command=command))
    told = story_report(story(discover(tmp_path), AnalysisOptions(jobs=1)), "en")
    assert told.summary["rounds"][1]["command"] == ["python", "a.py", "--password", "***", "--api-key=***"]
    assert "zq9" not in str(told)
    known = recorded_command(discover(tmp_path))
    assert known is not None and "zq9" not in str(known.command) and "a.py" in known.command


def test_the_folder_of_the_round_itself_is_no_difference(tmp_path: Path) -> None:
    folder = tmp_path / "dump" / "x_20260301-100000"
    write_round(folder, closed("precision", 0))
    record = {"environment": {"ASAN_OPTIONS": "log_path=/a/dump/x_20260301-100000/raw/log:halt=1"}}
    assert (
        groups(tmp_path, record)["environment"]["ASAN_OPTIONS"] == "log_path=/a/dump/<round>/raw/log:halt=1"
    )


def test_configuration_files_are_compared_without_their_output_folder(tmp_path: Path) -> None:
    folder = tmp_path / "dump" / "x_20260301-100000"
    write_round(folder, closed("precision", 0))
    (folder / "config.json").write_text('{"task": "tensor", "dump_path": "/a/b", "level": "L1", "step": []}')
    assert groups(tmp_path, None) == {"config.json": {"task": "tensor", "level": "L1", "step": "[]"}}


def test_a_broken_configuration_is_a_problem(tmp_path: Path) -> None:
    folder = tmp_path / "dump" / "x_20260301-100000"
    write_round(folder, closed("precision", 0))
    (folder / "config.json").write_text('{"task": "tensor", "dump_path": "/a/b", "level": "L1"}')
    run = discover(tmp_path)
    (folder / "config.json").write_text("{")
    problems: list[Problem] = []
    assert groups_of(run, run.rounds[0], None, problems) == {}
    assert [problem.artifact for problem in problems] == ["dump/x_20260301-100000/config.json"]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.dates(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
        max_leaves=12,
    )
)
def test_any_table_of_a_manifest_is_read_or_left_out(value: Any) -> None:
    from npulse.core.run.model import Round, Run

    run = Run(Path("/nowhere"), (Round("r_1", ()),))
    names = ("command", "request", "config", "environment", "versions", "git", "inputs")
    found = groups_of(run, run.rounds[0], record_of(dict.fromkeys(names, value)), [])
    assert all(isinstance(text, str) for keys in found.values() for text in keys.values())
