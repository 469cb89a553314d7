"""`npulse device`: files, this machine, again and again; its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from npulse.tui.cli import device as command
from npulse.tui.cli.main import run

from ...core.device.doubles import environment, said

Capture = pytest.CaptureFixture[str]


def play(scenario: str, monkeypatch: pytest.MonkeyPatch, **more: str) -> None:
    """npu-smi is the double from here on."""
    for name, value in environment(scenario, **more).items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize(
    ("scenario", "code"),
    [
        ("healthy", 0),
        ("throttled", 0),
        ("hot", 1),
        ("unknown", 4),
        ("silent", 4),
        *[(lacks, 3) for lacks in ("unreachable", "occupied", "none", "denied")],
    ],
)
def test_exit_codes_of_this_machine(
    scenario: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    play(scenario, monkeypatch)
    assert run(["device", "--now", "--format", "json"]) == code
    told = json.loads(capsys.readouterr().out)
    assert (told["summary"]["devices"] is None) == (code == 3 or scenario == "silent")


def test_without_npu_smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr("npulse.core.device.query.PLACES", ())
    monkeypatch.setenv("PATH", str(tmp_path))
    assert run(["device", "--now"]) == 3
    out = capsys.readouterr().out
    assert "npu-smi is not here" in out and "npulse device FILE" in out


def test_strict_counts_warnings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    play("throttled", monkeypatch)
    assert run(["device", "--now", "--strict"]) == 1
    page = tmp_path / "cards.html"
    assert run(["device", "--now", "--strict", "-o", str(page)]) == 1
    assert "<html" in page.read_text()
    assert "1,200 of 1,800 MHz" in capsys.readouterr().out


def test_again_and_again_with_what_is_new_told_once(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    play("throttled", monkeypatch)
    assert run(["device", "--now", "--interval", "0", "--count", "3"]) == 0
    polls, _, final = capsys.readouterr().out.partition("device: verdict")
    assert polls.count("NPU 0  OK") == polls.count("NPU 1  OK") == 3
    assert polls.count("above 85 C") == 1 and "3 samples of a chip" in final


def test_ctrl_c_ends_the_polling_with_a_report(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    play("healthy", monkeypatch)

    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "pause", interrupted)
    assert run(["device", "--now", "--interval", "5"]) == 130
    assert "device: verdict PASS" in capsys.readouterr().out


def test_files_and_formats(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "npu_smi.txt"
    path.write_text(said("hot", "info"))
    assert run(["device", str(path), "--tables", "--format", "json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert [row["health"] for row in told["tables"]["device"]] == ["OK", "Alarm"]
    for name in ("jsonl", "md", "csv", "text"):
        assert run(["device", str(path), "--format", name, "--lang", "zh"]) == 1
        assert "NPU 1" in capsys.readouterr().out
    other = tmp_path / "ecc.txt"
    other.write_text(said("ecc", "info", "-t", "ecc", "-i", "1"))
    assert run(["device", str(path), str(other)]) == 1
    assert "device.ecc" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said_"),
    [
        ([], "give a saved output"),
        (["--now", "x"], "give no file"),
        (["x", "--count", "2"], "--interval and --count"),
        (["no-such-file"], "no such file"),
        (["--now", "--criteria", "x=1"], "unknown criterion"),
    ],
)
def test_wrong_use(words: list[str], said_: str, capsys: Capture) -> None:
    assert run(["device", *words]) == 2
    assert said_ in capsys.readouterr().err


@pytest.mark.parametrize("words", [("device", "--now"), ("watch", ".")])
@pytest.mark.parametrize("seconds", ["nan", "inf"])
def test_an_interval_is_a_number_of_seconds(
    words: tuple[str, str], seconds: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    play("healthy", monkeypatch)
    assert run([*words, "--interval", seconds]) == 2
    assert f"--interval {seconds}" in capsys.readouterr().err
