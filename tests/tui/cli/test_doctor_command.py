"""`npulse doctor` as people and scripts use it: texts, this machine, formats, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from npulse.core.doctor.rules import RULES
from npulse.tui.cli.doctor import wrapped
from npulse.tui.cli.main import run

Capture = pytest.CaptureFixture[str]
TORCH = "PyTorch version: 2.6.0\n[pip3] torch-npu==2.5.1\n"


def call(*words: str | Path) -> int:
    return run([str(word) for word in words])


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "issue.md"
    path.write_text(TORCH)
    return path


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine on whose PATH nothing is, whatever there is on the one that runs the tests."""
    from npulse.core.doctor import inventory

    machine = inventory.Machine(root=tmp_path, variables={"PATH": "/bin"})
    monkeypatch.setattr(inventory, "Machine", lambda python=None: machine)


def test_the_answer_comes_first(text: Path, capsys: Capture) -> None:
    assert call("doctor", text) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("doctor: verdict FAIL")
    assert lines[1].startswith("conflict: torch 2.6.0 with torch_npu 2.5.1")
    assert any(line.strip() == "next: pip install torch==2.5.1" for line in lines)
    assert any(f"{text}:1" in line for line in lines)


def test_chinese(text: Path, capsys: Capture) -> None:
    assert call("doctor", text, "--lang", "zh") == 1
    assert "冲突：torch 2.6.0" in capsys.readouterr().out


def test_json_and_tables(text: Path, capsys: Capture) -> None:
    assert call("doctor", text, "--format", "json", "--tables") == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["command"], told["verdict"], told["findings"][0]["rule"]) == ("doctor", "fail", "env.torch")
    assert told["findings"][0]["area"] == "env" and told["findings"][0]["location"]["line"] == 1
    assert told["summary"]["versions"] == {"torch": "2.6.0", "torch_npu": "2.5.1"}
    rows = {row["name"]: row for row in told["tables"]["installed"]}
    assert rows["torch"]["version"] == "2.6.0" and rows["torch"]["goes_with"] == "CONFLICT with torch_npu"
    assert {row["is_possible"] for row in told["tables"]["captures"]} == {"unknown"}


@pytest.mark.parametrize(
    ("suffix", "word"), [(".md", "# npulse doctor"), (".csv", "severity,role"), (".jsonl", '"kind"')]
)
def test_other_formats(text: Path, tmp_path: Path, suffix: str, word: str) -> None:
    output = tmp_path / f"report{suffix}"
    assert call("doctor", text, "-o", output) == 1
    assert word in output.read_text()


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("PyTorch version: 2.5.1\n[pip3] torch-npu==2.5.1\n", 0),
        ("nothing of interest\n", 4),
        ("package_name=Ascend-cann-toolkit\nversion=9.0.0\n\n| npu-smi 25.5.0 Version: 25.5.0 |\n", 4),
        ("package_name=Ascend-cann-toolkit\nversion=8.1.RC1\n\ntorch_npu 2.6.0\n", 0),
    ],
)
def test_exit_codes_of_texts(tmp_path: Path, content: str, code: int) -> None:
    path = tmp_path / "x.txt"
    path.write_text(content)
    assert call("doctor", path) == code


def test_strict_counts_warnings(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("package_name=Ascend-cann-toolkit\nversion=8.1.RC1\n\ntorch_npu 2.6.0\n")
    assert call("doctor", path, "--strict") == 1


def test_several_files_are_one_environment(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "a.txt").write_text("torch 2.6.0\n")
    (tmp_path / "b.txt").write_text("torch_npu 2.5.1\n")
    assert call("doctor", tmp_path / "a.txt") == 0
    assert call("doctor", tmp_path / "a.txt", tmp_path / "b.txt") == 1


def test_no_such_file(capsys: Capture) -> None:
    assert call("doctor", "/nowhere/at/all.txt") == 2
    told = capsys.readouterr()
    assert told.out == "" and "does not exist" in told.err


@pytest.mark.usefixtures("bare")
def test_a_machine_on_which_nothing_can_be_captured(capsys: Capture) -> None:
    assert call("doctor") == 3
    out = capsys.readouterr().out
    assert "what can be captured here:" in out and "no CANN toolkit was found" in out


@pytest.mark.usefixtures("bare")
def test_a_compiler_is_enough_to_capture_something(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "gcc").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "gcc").chmod(0o755)
    assert call("doctor") == 0
    assert "-fsanitize=address" in capsys.readouterr().out


def test_names_are_masked(text: Path, capsys: Capture) -> None:
    assert call("doctor", text, "--mask") == 1
    assert str(text.parent) not in capsys.readouterr().out


def test_nothing_moves_the_cursor(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "x.txt"
    path.write_text(
        "ImportError: lib\x1b[2Jx.so: cannot open shared object file\n"
        "ASCEND_HOME_PATH=/cann-8.5.0/\x07\u202e\nLD_LIBRARY_PATH=/cann-9.0.0/\x9b\n"
    )
    assert call("doctor", path) == 1
    assert not set("\x1b\x07\u202e\x9b") & set(capsys.readouterr().out)


def test_lines_are_broken_at_80_columns_but_commands_are_not() -> None:
    prose, command = "    " + "word " * 30, "    next: " + "word " * 30
    assert all(len(line) <= 80 for line in "".join(wrapped([prose + "\n"])).splitlines())
    assert list(wrapped([command + "\n"])) == [command + "\n"]
    assert "".join(wrapped([prose])).split() == prose.split()


def test_rules_are_listed(capsys: Capture) -> None:
    assert call("rules", "env.mixed") == 0
    assert "LD_LIBRARY_PATH" in capsys.readouterr().out
    assert call("rules") == 0
    assert {rule.id for rule in RULES} <= {line.split()[0] for line in capsys.readouterr().out.splitlines()}
