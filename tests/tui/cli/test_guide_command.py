"""`npulse guide`: the guide and the quick tables without the workbench."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from npulse.tui.cli.main import run


def test_the_guide_of_an_archive_has_its_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "prof" / "infer_20260101-000000"
    folder.mkdir(parents=True)
    (folder / "round.toml").write_text(
        'schema = 1\nkind = "performance"\ncommand = ["python", "infer.py", "a b"]\n', encoding="utf-8"
    )
    assert run(["guide", "slow", "--run", str(tmp_path), "--lang", "en"]) == 0
    text = capsys.readouterr().out
    assert f"--archive {tmp_path} -- python infer.py 'a b'\n" in text
    assert "infer_20260101-000000" in text.splitlines()[0]
    assert "crash:" not in text and "slow:" in text
    assert run(["guide", "--run", str(tmp_path), "--format", "json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["facts"]["command"] == ["python", "infer.py", "a b"]
    assert [one["id"] for one in values["symptoms"]] == ["wrong", "nan", "crash", "slow"]


def test_json_holds_nothing_that_a_terminal_obeys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "prof" / "infer_20260101-000000"
    folder.mkdir(parents=True)
    words = 'command = ["python", "\\u009b2J", "\\u202Ex"]\n'
    (folder / "round.toml").write_text(f'schema = 1\nkind = "performance"\n{words}', encoding="utf-8")
    assert run(["guide", "slow", "--run", str(tmp_path), "--format", "json"]) == 0
    text = capsys.readouterr().out
    assert "\u009b" not in text and "\u202e" not in text
    assert json.loads(text)["facts"]["command"] == ["python", "\u009b2J", "\u202ex"]


@pytest.mark.parametrize(("lang", "word"), [("en", "vector core exception"), ("zh", "执行异常")])
def test_a_code_is_looked_up_in_either_language(
    lang: str, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["guide", "--search", "507035", "--lang", lang]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("507035  ") and word in first
    assert run(["guide", "--search", "507035", "--lang", lang, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["code"] == "507035"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["guide", "fever"], "wrong, nan, crash, slow"),
        (["guide", "--search", "zzqqzz"], "fewer words"),
        (["guide", "slow", "--search", "507035"], "no symptom"),
        (["guide", "--format", "csv"], "text or json"),
        (["guide", "--run", "no/such/run"], "no/such/run"),
    ],
)
def test_what_cannot_be_answered_ends_with_2(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words) == 2
    assert told in capsys.readouterr().err


def test_a_command_line_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    line = "msprobe compare -tp A -gp B"
    assert run(["guide", line, "--lang", "en"]) == 0
    assert capsys.readouterr().out.splitlines()[-2] == "  npulse precision A B"
    assert run(["guide", line, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["npulse"][0] == "npulse precision A B"
    assert run(["guide", "msprobe frob"]) == 2
