"""Nobody waits for a terminal that stands still, and what a slow one misses is said."""

from __future__ import annotations

import io
import os
import sys
import threading
from pathlib import Path
from typing import TextIO

import pytest

from npulse.tui.cli import screen as module
from npulse.tui.cli.main import run
from npulse.tui.cli.screen import Screen

from ...core.capture.doubles import WRITES, manifest_of, python, register, rounds_of

LEFT_OUT = "({n} left out)"


class Pipe:
    """A stderr that is a pipe with 64 KB of room."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.read_end, write_end = os.pipe()
        self.stream: TextIO = open(write_end, "w", encoding="ascii")
        monkeypatch.setattr(sys, "stderr", self.stream)

    def text(self) -> str:
        """All that was written; the writing end is closed by then."""
        self.stream.close()
        with open(self.read_end, encoding="ascii", newline="") as file:
            return file.read()


def test_lines_come_in_their_order_and_are_safe(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = Pipe(monkeypatch)
    screen = Screen(LEFT_OUT)
    for n in range(500):
        screen.say(f"line {n}", "\x1b[31mred\u00e9")
    screen.show("no terminal: not shown")
    screen.close()
    lines = pipe.text().splitlines()
    assert lines[::2] == [f"line {n}" for n in range(500)]
    assert "\x1b" not in "".join(lines) and lines[1].endswith("red\\xe9")


def test_a_reader_that_stands_still_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = Pipe(monkeypatch)
    monkeypatch.setattr(module, "MAX_WAITING", 100)
    screen = Screen(LEFT_OUT)
    for n in range(5000):
        screen.say(f"{n} " + "x" * 100)
    screen.close(0.01)
    texts: list[str] = []
    reader = threading.Thread(target=lambda: texts.append(open(pipe.read_end, encoding="ascii").read()))
    reader.start()
    screen.close(30)
    pipe.stream.close()
    reader.join()
    lines = texts[0].splitlines()
    assert lines[-1].startswith("4999 ")
    left_out = [line for line in lines if line.endswith("left out)")]
    n_left_out = sum(int(line.strip("(").split()[0].replace(",", "")) for line in left_out)
    assert n_left_out > 3000 and len(lines) - len(left_out) + n_left_out == 5000


def test_a_reader_that_is_gone_is_no_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = Pipe(monkeypatch)
    os.close(pipe.read_end)
    screen = Screen(LEFT_OUT)
    screen.say("one")
    screen.close()
    screen.say("two")
    screen.close()
    assert screen.is_gone


class Terminal(io.StringIO):
    encoding = "utf-8"  # type: ignore[assignment]

    def isatty(self) -> bool:
        return True


def test_the_last_line_is_written_over_and_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    screen = Screen(LEFT_OUT)
    screen.say("above")
    screen.show("1 s")
    screen.close()
    text = terminal.getvalue()
    assert text.startswith("above\n") and (text == "above\n" or text.endswith("1 s\r\x1b[K"))


def test_without_stderr_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    screen = Screen(LEFT_OUT)
    screen.say("one")
    screen.show("two")
    screen.close()
    assert screen.is_gone


def test_a_capture_ends_although_nobody_reads_what_its_program_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = Pipe(monkeypatch)
    register(monkeypatch.setitem)
    monkeypatch.chdir(tmp_path)
    prints = WRITES + "for n in range(20_000): print(n, 'x' * 60)"
    assert run(["capture", "precision", "--tool", "plain", "--", *python(prints)]) == 0
    (folder,) = rounds_of(tmp_path / "diag")
    assert manifest_of(folder)["state"] == "closed"
    assert (folder / "console.log").read_text().splitlines()[-1] == "19999 " + "x" * 60
    os.close(pipe.read_end)
