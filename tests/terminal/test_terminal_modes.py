"""Colours, encodings and being killed, seen from the other end of the line."""

from __future__ import annotations

import re
import signal
import time
from pathlib import Path

import pytest

from .pty_screen import PtyProgram, colour_codes, plain_environ, styles

APPS = {"table_app.py": rb"1-22 of 1,000", "parts_app.py": rb"12,480"}


def first_screen(app: str, columns: int = 80, rows: int = 24, **words: str) -> bytes:
    with PtyProgram.app(app, columns=columns, rows=rows, **words) as program:
        program.read_until(APPS[app])
        program.read_quiet()
        drawn = program.output
        program.send(b"q")
        assert program.wait() == 0
        return drawn


def lines_of(output: bytes) -> dict[int, str]:
    """The text of every line as last drawn from its first cell."""
    drawn = re.sub(rb"\x1b\[[0-9;]*m|\x1b\[\?[0-9]+[hl]", b"", output).decode()
    return {int(y): text for y, text in re.findall(r"\x1b\[(\d+);1H([^\x1b\r\n]*)", drawn)}


# ---- colours ----


@pytest.mark.parametrize("app", APPS)
def test_no_color_sends_no_colour(app: str) -> None:
    drawn = first_screen(app, LANG="C.UTF-8", NO_COLOR="1", COLORTERM="truecolor")
    assert colour_codes(drawn) == set()
    assert b"7" in {code for style in styles(drawn) for code in style.split(b";")}, "the cursor is reversed"


@pytest.mark.parametrize("app", APPS)
def test_sixteen_colours(app: str) -> None:
    codes = colour_codes(first_screen(app, LANG="C.UTF-8", TERM="xterm"))
    assert codes and all(
        30 <= int(code) <= 37 or 39 <= int(code) <= 47 or int(code) in (49, *range(90, 108)) for code in codes
    )


@pytest.mark.parametrize(
    ("words", "code"), [({}, rb"38;5;\d+"), ({"COLORTERM": "truecolor"}, rb"38;2;\d+;\d+;\d+")]
)
@pytest.mark.parametrize("theme", ["dark", "light"])
def test_more_colours(words: dict[str, str], code: bytes, theme: str) -> None:
    drawn = first_screen("table_app.py", LANG="C.UTF-8", DEMO_THEME=theme, **words)
    assert re.search(code, drawn)


# ---- encodings ----


@pytest.mark.parametrize("app", APPS)
def test_c_locale_in_a_multiplexer_gets_bytes_below_0x80_only(app: str) -> None:
    drawn = first_screen(app, LANG="C", LC_ALL="C", TERM="screen", COLORTERM="")
    assert sum(byte >= 0x80 for byte in drawn) == 0
    assert b"?" in drawn or app == "table_app.py"


def test_escaped_names_keep_the_columns_aligned() -> None:
    lines = lines_of(first_screen("table_app.py", LANG="C", LC_ALL="C", TERM="screen"))
    rows = [lines[y] for y in range(3, 25)]
    assert all(len(row) == 80 for row in rows)
    assert r"layers.0.\u6ce8" in rows[0] and "^[]52;c;cHd" in rows[1]
    ends = {re.search(r" (\d+) +(nan|0\.\d+)", row).end(1) for row in rows}  # type: ignore[union-attr]
    assert len(ends) == 1, "row numbers end in one column"


def test_c_locale_in_a_terminal_that_is_always_utf8() -> None:
    assert "▶".encode() in first_screen("table_app.py", LANG="C", TERM="xterm-kitty")


# ---- being killed ----

# name: what switches it off (or back on, for what the app hides), and what the app had sent
RESTORED = {
    "alternate screen": (b"\x1b[?1049l", b"\x1b[?1049h"),
    "cursor": (b"\x1b[?25h", b"\x1b[?25l"),
    "mouse clicks": (b"\x1b[?1000l", b"\x1b[?1000h"),
    "mouse moves": (b"\x1b[?1003l", b"\x1b[?1003h"),
    "mouse coordinates": (b"\x1b[?1006l", b"\x1b[?1006h"),
    "bracketed paste": (b"\x1b[?2004l", b"\x1b[?2004h"),
    "focus reports": (b"\x1b[?1004l", b"\x1b[?1004h"),
    "line wrap": (b"\x1b[?7h", b"\x1b[?7l"),
    "kitty keys": (b"\x1b[<u", b"\x1b[>"),
}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_killed_app_saves_and_restores_the_terminal(number: signal.Signals, tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    with PtyProgram.app("table_app.py", LANG="C.UTF-8", DEMO_SAVED=str(saved)) as program:
        program.read_until(APPS["table_app.py"])
        program.read_quiet()
        program.signal(number)
        assert program.wait() == 128 + number
        output = program.output
    for name, (restore, change) in RESTORED.items():
        assert -1 < output.rfind(change) < output.rfind(restore), f"{name} stays as the app had it"
    assert saved.read_text() == "saved"


def test_lost_connection_ends_the_app(tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    with PtyProgram.app("table_app.py", LANG="C.UTF-8", DEMO_SAVED=str(saved)) as program:
        program.read_until(APPS["table_app.py"])
        program.read_quiet()
        start = time.monotonic()
        program.hang_up()
        program.wait(timeout_s=20)
        assert time.monotonic() - start < 20
    assert saved.read_text() == "saved"


def test_mouse_stays_off_over_ssh() -> None:
    drawn = first_screen("table_app.py", LANG="C.UTF-8", SSH_CONNECTION="10.0.0.1 5 10.0.0.2 22")
    assert b"\x1b[?1000h" not in drawn and b"\x1b[?1003h" not in drawn
    assert b"\x1b[?1000h" in first_screen("table_app.py", LANG="C.UTF-8")


def test_environment_of_the_tests_is_plain() -> None:
    assert not {"LANG", "LC_ALL", "NO_COLOR", "TMUX"} & set(plain_environ())
