"""Cases C64 and C66: bytes, columns and marks of every screen in a C locale; copying one finding."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from npulse.sample_runs import sample_path
from npulse.tui.actions import BY_ID
from npulse.tui.clipboard import copy_text, osc52
from npulse.tui.terminal import terminal_from

from ..terminal.pty_screen import PtyProgram, plain_environ
from ..terminal.test_workbench import NPULSE, Tmux, has, tmux  # noqa: F401  (a fixture)

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("timed")]


def expected(shared: Path, case: str) -> dict[str, object]:
    text = (shared / "cases" / case / "expect.md").read_text(encoding="utf-8")
    found = json.loads(re.findall(r"```json\n(.*?)```", text, re.DOTALL)[-1])
    assert isinstance(found, dict)
    return found


# ---- C64: C locale inside screen ----

MARKS = ("E x", "W !", "FAIL", "ok", "?")
"""States as words and shapes; at least these are met on the way."""


@pytest.fixture
def many_things(shared: Path, tmp_path: Path) -> Path:
    """A run with the sample's rounds and the tables of C47 and C53 beside them."""
    run = tmp_path / "run"
    shutil.copytree(sample_path("w8a8"), run)
    for case in ("C47", "C53"):
        shutil.copytree(shared / "cases" / case, run / "round3" / case, ignore=shutil.ignore_patterns("*.md"))
    return run


class Walk:
    """A window that is looked at screen by screen; each look is held to what every screen has to keep."""

    def __init__(self, window: Tmux) -> None:
        self.window = window
        self.seen: list[str] = []

    def look(self, *texts: str) -> list[str]:
        lines = self.window.until(has(*texts), timeout_s=20)
        assert len(lines) == 24, "80 by 24"
        assert [line for line in lines if not line.isascii() or len(line) > 80] == []
        self.seen += lines
        return lines

    def press(self, key: str, *texts: str) -> list[str]:
        self.window.keys(key)
        return self.look(*texts)


def test_c64_every_screen_is_drawn_with_bytes_below_0x80(
    shared: Path,
    many_things: Path,
    tmp_path: Path,
    tmux: Callable[..., Tmux],  # noqa: F811
) -> None:
    wanted = expected(shared, "C64")
    raw = tmp_path / "raw"
    environ = wanted["env"]
    assert isinstance(environ, dict)
    window = tmux("open", str(many_things), "--pane", "precision", environ=environ)
    window._do("pipe-pane", f"cat > {raw}")
    walk = Walk(window)
    walk.look("origin", "E x", "difference begins")
    walk.press("!", "problem")
    walk.press("q", "origin")
    walk.press("?", "Everywhere", "Shift")
    walk.press("t", "First, whatever it is", "npulse doctor", "make it small")
    walk.press("j", "Enter opens the capture")
    walk.press("/", "Codes, exit statuses")
    window.keys("-l", "507035")
    walk.look("vector core exception")
    walk.press("Escape", "First, whatever it is")
    walk.press("q", "Everywhere")
    walk.press("q", "operator call")
    walk.press(":", "Commands")
    walk.press("Escape", "operator call")
    walk.press("'", "mark")
    walk.press("q", "operator call")
    walk.press("C", "type the command to run")
    walk.press("Escape", "operator call")
    walk.press("1", "look first at", "what there is")
    walk.press("3", "No NaN, no Inf")
    walk.press("4", "log complete")
    walk.press("6", "910B3")
    walk.press("7", "changed before it")
    walk.press("5", "op type", "MatMulV3")
    walk.press("R", "which run?")
    walk.press("Escape", "op type")
    window.keys("q")
    walk.window.until(has("ended with 0"))
    content = raw.read_bytes()
    assert sum(byte >= 0x80 for byte in content) == wanted["bytes_at_or_above_0x80"]
    shown = "\n".join(walk.seen)
    assert "\\ufffd" not in shown
    assert [mark for mark in MARKS if mark not in shown] == []


def test_c64_names_with_wide_characters_are_escaped_and_columns_stay_aligned(
    shared: Path,
    tmux: Callable[..., Tmux],  # noqa: F811
) -> None:
    wanted, environ = expected(shared, "C53"), expected(shared, "C64")["env"]
    table = shared / "cases" / "C53" / "op_statistic_gbk.csv"
    window = tmux("open", str(table), "--pane", "performance", environ=environ)
    lines = Walk(window).look("MatMulV3", "RmsNorm", "by type")
    name = str(wanted["second_op_type"])
    rows = [line for line in lines if re.search(r"\d\.\d\d +(cube|vector) ", line)]
    assert len(rows) == wanted["rows_each"]
    ends = {match.end() for row in rows if (match := re.search(r"\d\.\d\d(?= +(cube|vector) )", row))}
    assert len(ends) == 1, "the figures end in one column"
    assert any(ascii(name[0])[1:5] in row for row in rows)


@pytest.mark.parametrize("words", ["guide --lang zh", "performance {C53}/op_statistic_gbk.csv --top 0"])
def test_c64_text_reports_in_such_a_terminal_have_bytes_below_0x80_only(words: str, shared: Path) -> None:
    environ = expected(shared, "C64")["env"]
    assert isinstance(environ, dict)
    argv = [*NPULSE, *words.format(C53=shared / "cases" / "C53").split()]
    with PtyProgram(argv, plain_environ(**environ)) as program:
        assert program.wait() in (0, 1, 4)
        text = program.output
    assert sum(byte >= 0x80 for byte in text) == 0 and len(text) > 500
    assert b"ufffd" not in text


# ---- C66: copy one finding ----


def test_c66_the_sequence_its_wrapping_and_the_file_are_as_told(shared: Path, tmp_path: Path) -> None:
    wanted = expected(shared, "C66")
    text = str(wanted["text"])
    sequence = str(wanted["osc52"]).encode().decode("unicode_escape")
    words = {"TERM": "xterm-256color"}
    plain = terminal_from(words, is_tty=True, encoding="utf-8")
    inside = terminal_from({**words, "TMUX": "/x,1,0"}, is_tty=True, encoding="utf-8")
    assert osc52(text, plain)[0] == sequence
    prefix = str(wanted["tmux_wrap_prefix"]).encode().decode("unicode_escape")
    wrapped = osc52(text, inside)[0]
    assert wrapped == prefix + sequence.replace("\x1b", "\x1b\x1b") + "\x1b\\"

    written: list[str] = []
    copied = copy_text(text, plain, written.append, folder=tmp_path)
    assert copied is not None and written == [sequence]
    assert copied.path is not None and copied.path.read_text(encoding="utf-8") == text


def test_c66_the_help_says_which_modifier_bypasses_the_mouse() -> None:
    told = BY_ID["app.mouse"]
    assert "Shift" in told.help("en") and "Option" in told.help("en")
    assert "Shift" in told.help("zh") and "Option" in told.help("zh")


def test_c66_nothing_of_a_display_server_is_asked_for() -> None:
    found = [name for name in sys.modules if name in ("pyperclip", "tkinter")]
    sources = Path(copy_text.__code__.co_filename).read_text(encoding="utf-8")
    assert found == [] and not re.search(r"xclip|xsel|pbcopy|wl-copy", sources)
