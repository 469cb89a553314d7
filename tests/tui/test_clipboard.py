"""Copying: which route, exactly which bytes, and never a claim that nobody can check."""

from __future__ import annotations

import base64
import os
import re
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.tui.clipboard import MAX_OSC52_BYTES, Copied, clean_text, copy_text, osc52
from npulse.tui.terminal import Terminal, terminal_from

FINDING = "Tensor.__add__.20.forward\tInf\tsuspect Functional.linear.43.forward 60608.0 92.53%"
# base64 of FINDING, made with another tool
FINDING_BASE64 = (
    "VGVuc29yLl9fYWRkX18uMjAuZm9yd2FyZAlJbmYJc3VzcGVjdCBGdW5jdGlvbmFsLmxpbmVhci40My5mb3J3YXJkIDYwNjA4LjAg"
    "OTIuNTMl"
)


def terminal(**environ: str) -> Terminal:
    return terminal_from({"TERM": "xterm-256color", **environ}, is_tty=True, encoding="utf-8")


PLAIN = terminal()
TMUX = terminal(TMUX="/tmp/tmux-0/default,1,0")
SCREEN = terminal(TERM="screen", STY="1.pts-0.host")


class FakeRun:
    """A `subprocess.run` that notes what it was asked and answers as told."""

    def __init__(self, answer: int | Exception) -> None:
        self.answer = answer
        self.asked: list[tuple[tuple[str, ...], bytes]] = []

    def __call__(self, argv: tuple[str, ...], **options: Any) -> subprocess.CompletedProcess[bytes]:
        self.asked.append((argv, options["input"]))
        if isinstance(self.answer, Exception):
            raise self.answer
        return subprocess.CompletedProcess(argv, self.answer)


# ---- routes ----


def test_osc52_is_exact_and_leaves_a_file_to_check(tmp_path: Path) -> None:
    written: list[str] = []
    copied = copy_text(FINDING, PLAIN, written.append, run=FakeRun(OSError()), folder=tmp_path / "state")
    assert written == [f"\x1b]52;c;{FINDING_BASE64}\x07"]
    assert copied == Copied("osc52", len(FINDING), tmp_path / "state" / "copied.txt")
    assert copied.path is not None and copied.path.read_text(encoding="utf-8") == FINDING
    assert stat.S_IMODE(copied.path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path / "state") == ["copied.txt"]


def test_tmux_gets_the_text_itself(tmp_path: Path) -> None:
    run, written = FakeRun(0), []
    copied = copy_text("注意 x", TMUX, written.append, run=run, folder=tmp_path)
    assert copied == Copied("tmux", 8, None)
    assert run.asked == [(("tmux", "load-buffer", "-w", "-"), "注意 x".encode())]
    assert written == [] and os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "answer",
    [1, FileNotFoundError("tmux"), subprocess.TimeoutExpired("tmux", 2)],
    ids=["old", "none", "hangs"],
)
def test_tmux_that_fails_is_passed_through(answer: int | Exception, tmp_path: Path) -> None:
    written: list[str] = []
    copied = copy_text(FINDING, TMUX, written.append, run=FakeRun(answer), folder=tmp_path)
    assert written == [f"\x1bPtmux;\x1b\x1b]52;c;{FINDING_BASE64}\x07\x1b\\"]
    assert copied == Copied("osc52-tmux", len(FINDING), tmp_path / "copied.txt")


@pytest.mark.parametrize("size", [1, 200, 5000])
def test_screen_gets_short_pieces(size: int, tmp_path: Path) -> None:
    written: list[str] = []
    copied = copy_text("x" * size, SCREEN, written.append, run=FakeRun(0), folder=tmp_path)
    assert copied is not None and copied.route == "osc52-screen"
    pieces = re.findall(r"\x1bP(.*?)\x1b\\", written[0], re.DOTALL)
    assert "".join(f"\x1bP{piece}\x1b\\" for piece in pieces) == written[0]
    assert all(len(piece) < 256 for piece in pieces)
    assert "".join(pieces) == f"\x1b]52;c;{base64.b64encode(b'x' * size).decode()}\x07"


def test_too_long_for_a_terminal_goes_into_a_file(tmp_path: Path) -> None:
    written: list[str] = []
    longest = "x" * MAX_OSC52_BYTES
    copied = copy_text(longest, PLAIN, written.append, folder=tmp_path)
    assert copied is not None and copied.route == "osc52" and len(written[0]) == 100_000
    copied = copy_text(longest + "y", PLAIN, written.append, folder=tmp_path)
    assert copied == Copied("file", MAX_OSC52_BYTES + 1, tmp_path / "copied.txt")
    assert (tmp_path / "copied.txt").read_text() == longest + "y"
    assert len(written) == 1


def test_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    written: list[str] = []
    assert copy_text("x", PLAIN, written.append, folder=blocked) == Copied("osc52", 1, None)
    assert copy_text("x" * 80_000, PLAIN, written.append, folder=blocked) is None
    assert len(written) == 1


def test_default_folder_is_the_state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NPULSE_STATE_DIR", str(tmp_path / "own"))
    copied = copy_text("x", PLAIN, lambda sequence: None)
    assert copied is not None and copied.path == tmp_path / "own" / "copied.txt"


# ---- contents ----


def test_control_characters_are_removed() -> None:
    assert clean_text("a\x1b]52;c;x\x07\tb\r\n\x9b2J\x00\x7f\u202ec\ud800") == "a]52;c;x\tb\n2Jc?"


@given(st.text(), st.sampled_from((PLAIN, TMUX, SCREEN)))
def test_sequence_carries_the_clean_text_and_nothing_else(text: str, kind: Terminal) -> None:
    clean = clean_text(text)
    sequence, _ = osc52(clean, kind)
    sequence = sequence.removeprefix("\x1bPtmux;").replace("\x1b\x1b", "\x1b")
    sequence = re.sub(r"\x1bP|\x1b\\", "", sequence)
    found = re.fullmatch(r"\x1b\]52;c;([A-Za-z0-9+/=]*)\x07", sequence)
    assert found is not None
    assert base64.b64decode(found[1]).decode("utf-8") == clean


# ---- the real tmux ----


@pytest.fixture
def tmux(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The command line of a tmux server of this test alone, with TMUX set as inside it."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    folder = Path(os.path.realpath("/tmp")) / f"npulse-{os.getpid()}"
    folder.mkdir(mode=0o700)
    socket = folder / "s"  # short: a socket's path is limited to 107 bytes
    command = ["tmux", "-S", str(socket), "-f", "/dev/null"]
    subprocess.run([*command, "new-session", "-d", "-x", "80", "-y", "24", "cat"], check=True)
    monkeypatch.setenv("TMUX", f"{socket},0,0")
    yield command
    subprocess.run([*command, "kill-server"], check=False)
    shutil.rmtree(folder)


@pytest.mark.parametrize(
    "text", [FINDING, "注意力\n\ttwo lines\n", "x" * 200_000], ids=["finding", "wide", "long"]
)
def test_real_tmux_buffer_holds_exactly_the_text(text: str, tmux: list[str], tmp_path: Path) -> None:
    written: list[str] = []
    copied = copy_text(text, TMUX, written.append, folder=tmp_path)
    assert copied == Copied("tmux", len(text.encode()), None)
    assert written == []
    shown = subprocess.run([*tmux, "show-buffer"], check=True, capture_output=True)
    assert shown.stdout == text.encode()
