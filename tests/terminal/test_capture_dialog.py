"""Capture dialog, Rounds and Device pane in real terminals: a real fault, a lost line, idle bytes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from npulse.core.formats.manifest import read_manifest
from npulse.sample_runs import sample_path

from .pty_screen import PtyProgram, plain_environ
from .test_workbench import NPULSE, Tmux, has, tmux  # noqa: F401  (a fixture)

pytestmark = [
    pytest.mark.terminal,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="pseudo terminals as Linux has them"),
]

OVERRUN = """\
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    puts("step 1"); fflush(stdout);
    char *block = malloc(8);
    block[9] = 1;
    return 0;
}
"""
SLEEPER = """\
#include <stdio.h>
#include <unistd.h>
int main(void) { printf("pid %d waits\\n", getpid()); fflush(stdout); sleep(600); return 0; }
"""
TABS_TO_TOOL, TABS_TO_ARCHIVE = 2, 8
"""From the command to the tool, and from there to the archive."""


@pytest.fixture
def build(tmp_path: Path) -> Callable[[str], Path]:
    """A program with AddressSanitizer in it."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")

    def make(source: str) -> Path:
        (tmp_path / "fault.c").write_text(source)
        words = ["gcc", "-g", "-fsanitize=address", "-o", str(tmp_path / "fault"), str(tmp_path / "fault.c")]
        if subprocess.run(words, capture_output=True, check=False).returncode:
            pytest.skip("gcc has no AddressSanitizer")
        return tmp_path / "fault"

    return make


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    return tmp_path / "run"


def test_a_fault_from_the_command_to_its_line(
    tmux: Callable[..., Tmux],  # noqa: F811
    build: Callable[[str], Path],
    run: Path,
    tmp_path: Path,
) -> None:
    program, archive = build(OVERRUN), tmp_path / "diag"
    window = tmux("open", str(run), "--pane", "memory")
    window.still(has("Nothing to read"))
    window.keys("C")
    window.still(has("Enter checks", "type the command to run"))
    window.keys("-l", str(program))
    window.until(lambda lines: has(str(program)[-20:])(lines))
    window.keys(*["Tab"] * TABS_TO_TOOL, "a", "s", "a", "n", *["Tab"] * TABS_TO_ARCHIVE, "C-u")
    window.until(has("archive: name a folder"))
    window.keys("-l", str(archive))
    window.still(has("export ASAN_OPTIONS", "writes into"))
    assert not archive.exists(), "nothing is touched before the start"
    window.keys("Enter")
    window.until(has("Enter starts it"))
    window.keys("Enter")
    lines = window.until(has("ENDED", "recorded", "Enter opens the round"))
    assert has("step 1")(lines)
    window.keys("Enter")
    window.until(has("fault.c:6", "heap-buffer-overflow"))
    window.keys("7")
    window.until(has("1 round", "mem. sites"))
    window.keys("q")
    window.until(has("ended with 0"))


def test_a_lost_line_ends_the_tool_and_closes_the_round(
    build: Callable[[str], Path], run: Path, tmp_path: Path
) -> None:
    program, archive = build(SLEEPER), tmp_path / "diag"
    environ = plain_environ(LANG="C.UTF-8")
    with PtyProgram((*NPULSE, "open", str(run), "--pane", "memory"), environ) as workbench:
        workbench.read_until(rb"Nothing to read")
        workbench.read_quiet()
        workbench.send(b"C")
        workbench.read_until(rb"type the command to run")
        workbench.send(str(program).encode() + b"\t" * TABS_TO_TOOL + b"asan" + b"\t" * TABS_TO_ARCHIVE)
        workbench.read_quiet()
        workbench.send(b"\x15")
        workbench.read_until(b"archive: name a folder")
        workbench.send(str(archive).encode())
        workbench.read_quiet(0.6)
        workbench.send(b"\r")
        workbench.read_until(rb"Enter starts it")
        workbench.read_quiet()
        workbench.send(b"\r")
        workbench.read_until(rb"waits")
        (folder,) = (archive / "sanitizer").iterdir()
        console = (folder / "console.log").read_text()
        pid = int(console.split()[1])
        assert Path(f"/proc/{pid}").exists()
        workbench.hang_up()
        workbench.process.wait(60)
        assert not Path(f"/proc/{pid}").exists(), "no process is left behind"
        told = read_manifest(folder / "round.toml")
        assert (told["state"], told["stopped_by"]) == ("closed", "hang-up")
    assert os.listdir(run) == []


@pytest.fixture(params=["rounds", "device", "capture"])
def settled(request: pytest.FixtureRequest, run: Path) -> Iterator[PtyProgram]:
    path = sample_path("w8a8") if request.param == "rounds" else run
    pane = "memory" if request.param == "capture" else str(request.param)
    marks = {"rounds": rb"better now", "device": rb"asks npu-smi", "capture": rb"Nothing to read"}
    environ = plain_environ(LANG="C.UTF-8")
    with PtyProgram((*NPULSE, "open", str(path), "--pane", pane), environ) as program:
        program.read_until(marks[str(request.param)])
        program.read_quiet(0.6)
        if request.param == "capture":
            program.send(b"C")
            program.read_until(rb"type the command to run")
            program.read_quiet(0.6)
        yield program


def test_who_only_stands_there_sends_nothing(settled: PtyProgram) -> None:
    cpu_before = settled.cpu_s()
    began_s = time.monotonic()
    assert settled.read_for(3.0) == b"" and time.monotonic() - began_s >= 3.0
    assert settled.cpu_s() - cpu_before <= 0.1
