"""The recipes of docs/ci.md: the shell steps are run as they stand; every command line is a real one."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from npulse.tui.cli.main import _with_command
from npulse.tui.cli.main import run as run_npulse
from npulse.tui.cli.root import app

PAGE = Path(__file__).resolve().parents[1] / "docs" / "ci.md"
COMMAND = re.compile(r"npulse (?:check|report|pack|capture) [^|\n']*")
FAULT = (
    "====== ERROR: illegal write of size 4\n======    at 0x30a00 on GM in add_custom\n"
    "======    in block aiv(0) on device 0\n======    code in pc current 0x694 (serialNo:10)\n"
    "======    #0 /build/add.cpp:{0}:9\n\n"
)


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """A checkout with a run, the page's silences and a criteria file; a folder for PATH."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "diag").mkdir()
    (tmp_path / "diag" / "mssanitizer.log").write_text(FAULT.format(38))
    (silences,) = blocks("toml")
    (tmp_path / "silences.toml").write_text(silences)
    (tmp_path / "criteria.toml").write_text("[memory]\ncomplete = false\n")
    return tmp_path


def run(job: Path, script: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": f"{job / 'bin'}:{os.environ['PATH']}", "RUN": "diag"}
    words = ["sh", "-e", "-c", script]
    return subprocess.run(words, cwd=job, env=environment, capture_output=True, text=True)


def test_the_steps_make_a_baseline_and_fail_on_what_is_new(
    job: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The npulse lines of the page, one after the other, in this process."""
    steps, baseline = ([shlex.split(line)[1:] for line in COMMAND.findall(block)] for block in blocks("sh"))
    monkeypatch.chdir(job)

    def done(lines: list[list[str]]) -> list[int]:
        return [run_npulse([word.replace("$RUN", "diag") for word in words]) for words in lines]

    assert done(baseline) == [1]
    assert done(steps[:1]) == [4]
    (job / "diag" / "mssanitizer.log").write_text(FAULT.format(38) + FAULT.format(51))
    assert done(steps) == [1, 1, 1, 0]
    assert "new, or worse than in baseline.json: " in capsys.readouterr().err
    for name in ("check.json", "npulse.xml", "npulse.html", "npulse.tar.gz"):
        assert (job / name).stat().st_size > 100, name


@pytest.mark.parametrize(("code", "ends_with"), [(0, 0), (1, 1), (2, 1), (3, 3), (4, 0)])
def test_what_each_exit_code_comes_to(job: Path, code: int, ends_with: int) -> None:
    """A stub in npulse's place; usage errors of a report end the step as well."""
    steps, baseline = blocks("sh")
    program = job / "bin" / "npulse"
    program.write_text(f'#!/bin/sh\ntest "$1" = pack || exit {code}\n')
    program.chmod(0o755)
    done = run(job, steps)
    assert done.returncode == ends_with
    assert ("not all could be judged" in done.stdout) is (code == 4)
    assert run(job, baseline).returncode == (1 if code == 2 else 0)


def lines_of_commands() -> list[str]:
    text = "\n".join(block for language in ("sh", "yaml", "groovy") for block in blocks(language))
    return [found.strip() for found in COMMAND.findall(text)]


def test_every_command_line_has_options_that_exist() -> None:
    import typer.main

    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    lines = lines_of_commands()
    assert len(lines) > 12
    for line in lines:
        words = shlex.split(line.split(" -- ")[0])[1:]
        command = commands[_with_command(words)[0]]
        known = {name for parameter in command.params for name in parameter.opts}
        assert {word for word in words if word.startswith("-")} <= known, line


def test_the_yaml_is_yaml() -> None:
    yaml = pytest.importorskip("yaml")
    github, gitlab = map(yaml.safe_load, blocks("yaml"))
    assert github["jobs"]["npulse"]["steps"][2]["env"] == {"RUN": "diag"}
    assert gitlab["npulse"]["allow_failure"] == {"exit_codes": [4]}
