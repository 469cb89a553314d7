"""`npulse rounds` as it is typed: text, JSON, a table, exit codes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from npulse.tui.cli.main import run

from ..panes.rounds_runs import FIRST, SECOND, write_archive


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NPULSE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("LC_ALL", "C")


def test_text_has_a_line_a_round(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rounds", str(write_archive(tmp_path / "diag"))]) == 1, "one site is left"
    text = capsys.readouterr().out
    rows = [line.split() for line in text.splitlines() if line.startswith("  ") and "2026-" in line]
    assert [row[0] for row in rows] == [FIRST, SECOND]
    assert "--dtype fp16 -> bf16; INF_NAN_MODE_ENABLE 0 -> 1; git commit aaaa -> bbbb" in text
    assert "1 better" in text and "[rounds.better]" in text


def test_json_has_every_change_and_figure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["rounds", str(write_archive(tmp_path / "diag")), "--format", "json", "--tables"]
    assert run(words) == 1
    told = json.loads(capsys.readouterr().out)
    second = told["summary"]["rounds"][1]
    figure = {"value": 1.0, "state": "better", "since": FIRST}
    assert told["command"] == "rounds" and second["figures"]["n_memory_sites"] == figure
    assert [change["key"] for change in second["changes"]] == ["--dtype", "INF_NAN_MODE_ENABLE", "commit"]
    assert [row["n_memory_sites"] for row in told["tables"]["rounds"]] == [2, 1]


def test_a_round_that_recorded_nothing_is_not_clean(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["rounds", str(write_archive(tmp_path / "diag", outcome="nothing"))]) == 1
    out = capsys.readouterr().out
    assert "[rounds.nothing-recorded]" in out and "[rounds.fails]" in out


def test_what_is_no_archive_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    assert run(["rounds", str(tmp_path / "empty")]) == 2
    assert run(["rounds", str(tmp_path / "nowhere")]) == 2
    assert "npulse capture" in capsys.readouterr().err


def test_a_baseline_is_kept_in_the_state_folder_and_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """For one call; kept; taken by later calls and by diff; forgotten. Nothing goes into the archive."""
    archive = write_archive(tmp_path / "diag")
    before = sorted(path for path in archive.rglob("*"))
    rounds = ["rounds", str(archive), "--format", "json"]

    def against(*words: str) -> list[object]:
        assert run([*rounds, *words]) == 1
        told = json.loads(capsys.readouterr().out)["summary"]
        return [told["baseline"], *(one.get("against") for one in told["rounds"])]

    second = {"n_memory_sites": "better"}
    assert against("--baseline", FIRST) == [FIRST, None, second]
    assert against() == [None, None, None]
    assert against("--mark-baseline", FIRST) == [FIRST, None, second] == against()
    assert run(["diff", str(archive)]) == 0, "against the baseline nothing is new"
    told = capsys.readouterr()
    assert f"baseline: {FIRST}" in told.err and "1 gone" in told.out
    assert against("--mark-baseline", "none") == [None, None, None] == against()
    assert run(["diff", str(archive)]) == 2
    assert run([*rounds, "--mark-baseline", "x"]) == 2 and "no round 'x'" in capsys.readouterr().err
    assert against() == [None, None, None], "what is no round is not kept"
    assert run([*rounds, "--baseline", FIRST, "--mark-baseline", SECOND]) == 2
    assert sorted(path for path in archive.rglob("*")) == before


def test_a_baseline_that_is_gone_is_told_and_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = write_archive(tmp_path / "diag")
    assert run(["rounds", str(archive), "--mark-baseline", FIRST]) == 1
    shutil.rmtree(archive / "sanitizer" / FIRST)
    capsys.readouterr()
    assert run(["rounds", str(archive)]) == 1
    assert "is not here any more" in capsys.readouterr().err


def test_criteria_come_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = tmp_path / "mine.toml"
    asked.write_text("[memory]\nfaults = 1\n")
    words = ["rounds", str(write_archive(tmp_path / "diag")), "--criteria"]
    run([*words, str(asked)])
    out = capsys.readouterr().out
    assert f"mem. sites 2 -> 1 (needs <= 1) met first in {SECOND}" in out and "criteria: " in out
    asked.write_text("[memory]\nfault = 1\n")
    assert run([*words, str(asked)]) == 2 and "fault" in capsys.readouterr().err
