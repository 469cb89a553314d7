"""A capture in a real terminal: Ctrl-C once and twice, a lost connection, npulse killed, its signals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ..core.capture.doubles import (
    WRITES,
    all_left,
    is_read_only,
    living_of,
    manifest_of,
    nothing_else_written,
    python,
    rounds_of,
    until,
)
from .pty_screen import APPS, PtyProgram, plain_environ

pytestmark = [
    pytest.mark.terminal,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="pseudo terminals as Linux has them"),
]

SLEEPS = WRITES + "import time; print('rea' + 'dy', flush=True); time.sleep(600)"
DEAF = "import signal; [signal.signal(n, signal.SIG_IGN) for n in (1, 2, 15)]\n" + SLEEPS


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "work").mkdir()
    folder = tmp_path / "work" / "diag"
    with nothing_else_written(tmp_path, folder):
        yield folder
    assert all_left(tmp_path) == []


def words(archive: Path, code: str, *options: str) -> tuple[str, ...]:
    lead = (sys.executable, str(APPS / "capture_app.py"), "capture", "precision", "--tool", "plain")
    return (*lead, "--archive", str(archive), *options, "--", *python(code))


def only_round(archive: Path) -> dict[str, Any]:
    """The manifest of the only round, which has to be closed, its data read-only and its processes ended."""
    (folder,) = rounds_of(archive)
    table = manifest_of(folder)
    assert table["state"] == "closed" and is_read_only(folder / "raw") and living_of(table["id"]) == []
    return table


def test_ctrl_c_starts_the_ladder_and_says_so(archive: Path) -> None:
    with PtyProgram(words(archive, SLEEPS), plain_environ(), 120) as program:
        program.read_until(b"ready")
        program.send(b"\x03")
        program.read_until(b"SIGINT")
        assert program.wait() == 130
    table = only_round(archive)
    assert table["stopped_by"] == "user" and [one["sent"] for one in table["stop"]] == ["SIGINT"]


def test_ctrl_c_again_goes_one_rung_further(archive: Path) -> None:
    """The usual ladder waits 15 and 5 seconds: none of it is waited for."""
    with PtyProgram(words(archive, DEAF), plain_environ(), 120) as program:
        program.read_until(b"ready")
        for sent in (b"SIGINT", b"SIGTERM", b"SIGKILL"):
            program.send(b"\x03")
            program.read_until(sent)
        assert program.wait() == 130
        assert b"INCOMPLETE" in program.output
    table = only_round(archive)
    assert [one["sent"] for one in table["stop"]] == ["SIGINT", "SIGTERM", "SIGKILL"]
    assert table["is_killed"] and table["duration_s"] < 15


def test_a_lost_connection(archive: Path) -> None:
    with PtyProgram(words(archive, SLEEPS), plain_environ(), 120) as program:
        program.read_until(b"ready")
        program.hang_up()
        assert program.process.wait(30) in (0, 4)
    table = only_round(archive)
    assert table["stopped_by"] == "hang-up" and table["recorded"]["n_files"] == 1


def test_sigterm_closes_the_round_and_ends_with_what_was_recorded(archive: Path) -> None:
    argv = words(archive, SLEEPS, "--format", "json")
    with subprocess.Popen(
        argv, env=plain_environ(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as npulse:
        assert npulse.stderr is not None
        until(lambda: b"ready" in npulse.stderr.readline())
        npulse.send_signal(signal.SIGTERM)
        out, _ = npulse.communicate(timeout=30)
    told = json.loads(out)
    assert npulse.returncode == told["exit_code"] == 4, "this driver calls one that was ended incomplete"
    assert told["rounds"][0]["stopped_by"] == "terminated"
    assert only_round(archive)["stopped_by"] == "terminated"


def test_nobody_reads_what_is_told(archive: Path) -> None:
    """stdout and stderr are closed pipes from the start."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    try:
        argv = words(archive, WRITES + "print('x' * 100)")
        done = subprocess.run(argv, env=plain_environ(), stdout=write_end, stderr=write_end, timeout=30)
    finally:
        os.close(write_end)
    assert done.returncode == 0
    assert only_round(archive)["recorded"]["outcome"] == "recorded"


def test_killed_and_resumed(archive: Path) -> None:
    with PtyProgram(words(archive, DEAF), plain_environ(), 120) as program:
        program.read_until(b"ready")
        until(lambda: "tool_pid" in manifest_of(rounds_of(archive)[0])["process"], "the tool is recorded")
        program.process.kill()
        program.process.wait()
    lead = (sys.executable, str(APPS / "capture_app.py"), "capture", "--resume-bookkeeping")

    def resumed(*options: str) -> tuple[int, str]:
        argv = (*lead, *options, str(archive))
        done = subprocess.run(argv, env=plain_environ(), capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout

    (folder,) = rounds_of(archive)
    tool = manifest_of(folder)["process"]["tool_pid"]
    code, told = resumed()
    assert code == 4 and str(tool) in told and "--stop" in told
    os.kill(tool, signal.SIGKILL)
    until(lambda: living_of(manifest_of(folder)["id"]) == [])
    code, told = resumed()
    assert code == 0 and "closed" in told and manifest_of(folder)["state"] == "killed"
    assert resumed() == (0, "no round waits to be closed\n")


def test_a_progress_line_only_on_a_terminal(archive: Path) -> None:
    with PtyProgram(words(archive, WRITES + "import time; time.sleep(0.3)"), plain_environ(), 120) as program:
        assert program.wait() == 0
        assert b"\r\x1b[K" in program.output
    done = subprocess.run(words(archive, WRITES), env=plain_environ(), capture_output=True, timeout=30)
    assert done.returncode == 0 and b"\x1b" not in done.stdout + done.stderr
