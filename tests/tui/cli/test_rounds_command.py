"""`npulse rounds` as it is typed: text, JSON, a table, exit codes."""

from __future__ import annotations

import json
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
