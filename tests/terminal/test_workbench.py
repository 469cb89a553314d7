"""The whole program in real terminals: kinds of terminal, sizes, signals, copying, interrupting."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path

import pytest

from npulse.sample_runs import sample_path
from npulse.tui.panes.base import finding_text

from .pty_screen import PtyProgram, colour_codes, plain_environ

pytestmark = [
    pytest.mark.terminal,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="pseudo terminals as Linux has them"),
]

NPULSE = (sys.executable, "-m", "npulse")
ORIGIN = "layers.25.self_attn.qkv_proj"
DETAIL = rb"difference begins here"
TERMS = ["xterm-256color", "screen-256color", "tmux-256color", "linux", "vt100"]
RESTORED = (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?2004l")


def npulse(*words: str, columns: int = 80, rows: int = 24, **environ: str) -> PtyProgram:
    environ.setdefault("LANG", "C.UTF-8")
    return PtyProgram((*NPULSE, *words), plain_environ(**environ), columns, rows)


def text_of(output: bytes) -> str:
    """What was drawn, without the sequences between."""
    return re.sub(rb"\x1b\[[0-9;?<>]*[a-zA-Z]|\x1b[()][A-Z0-9]", b"", output).decode(errors="replace")


# ---- kinds of terminal ----


@pytest.mark.parametrize("term", TERMS)
def test_opens_and_quits_in_every_terminal(term: str) -> None:
    with npulse("demo", TERM=term) as program:
        program.read_until(DETAIL)
        program.send(b"q")
        assert program.wait() == 0
        assert f"origin: {ORIGIN}" in text_of(program.output)
        for restored in RESTORED:
            assert program.output.rfind(restored) > program.output.find(DETAIL)
        if term == "vt100":
            assert colour_codes(program.output) == set()


def test_a_dumb_terminal_gets_the_report() -> None:
    with npulse("demo", TERM="dumb") as program:
        assert program.wait() == 0
        assert b"\x1b[?1049h" not in program.output and b"ORIGIN  Module.model." in program.output
        last = re.sub(rb"\r\x1b\[K", b"", program.output)
        assert b"\x1b[" not in last, "nothing but the progress line uses a sequence"


def test_c_locale_gets_bytes_below_0x80_only() -> None:
    with npulse("demo", TERM="screen", LANG="C", LC_ALL="C", columns=120, rows=40) as program:
        program.read_until(DETAIL)
        program.send(b"?")
        program.read_until(b"Everywhere")
        program.send(b"q\r")
        program.read_until(rb"error map")
        program.send(b"q\x1b[B!")
        program.read_until(b"No problems")
        program.send(b"qq")
        assert program.wait() == 0
        assert program.output.isascii()
        assert "E x origin" in text_of(program.output)


def test_no_color_and_chinese() -> None:
    with npulse("demo", "--lang", "zh", NO_COLOR="1", COLORTERM="truecolor") as program:
        program.read_until("差异从这里开始".encode())
        program.send(b"q")
        assert program.wait() == 0
        assert colour_codes(program.output) == set()
        text = text_of(program.output)
        assert "源头" in text and "last output" not in text


# ---- keys, signals ----


def test_escape_and_its_twin_leave_a_page() -> None:
    with npulse("demo") as program:
        program.read_until(DETAIL)
        for way_back in (b"\x1b", b"b"):
            program.send(b"?")
            program.read_until(b"Everywhere")
            program.send(way_back)
            program.read_until(ORIGIN.encode())
        program.send(b"\x03")  # copies or cancels; never quits
        if b"Cancelled" in program.read_until(b"Copied|copied|Cancelled"):
            program.send(b"\x03")
            program.read_until(b"Copied|copied")  # with the job gone, it copies
        program.send(b"q")
        assert program.wait() == 0


def test_sigterm_restores_the_terminal() -> None:
    with npulse("demo") as program:
        program.read_until(DETAIL)
        drawn = len(program.output)
        program.signal(signal.SIGTERM)
        assert program.wait() == 128 + signal.SIGTERM
        for restored in RESTORED:
            assert restored in program.output[drawn:]
        assert b"Traceback" not in program.output


def test_the_editor_gets_the_terminal_and_the_screen_comes_back(tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    keep = f'echo "$@" > {tmp_path}/asked\ncp "$1" {tmp_path}/opened'
    editor.write_text(f"#!/bin/sh\n{keep}\nclear\nprintf EDITING\n")
    editor.chmod(0o755)
    with npulse("demo", EDITOR=str(editor)) as program:
        program.read_until(DETAIL)
        program.send(b"e")
        program.read_until(rb"(?s)EDITING.*?\x1b\[\?1049h")  # both can come at once
        drawn = program.read_until(DETAIL)
        assert f"origin: {ORIGIN}" in text_of(drawn), "all of it is drawn again"
        program.send(b"q")
        assert program.wait() == 0
    words = (tmp_path / "asked").read_text().split()
    source = sample_path() / "model" / "model.py"
    assert words[-1].endswith("/model.py") and Path(words[-1]) != source, "a copy: nothing is left in the run"
    assert (tmp_path / "opened").read_bytes() == source.read_bytes()


@pytest.fixture(scope="module")
def long_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two captures of statistics that take seconds to compare."""
    leaf = {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [4, 4], "requires_grad": False}
    leaf |= {"Max": 1.0, "Min": -1.0, "Mean": 0.0, "Norm": 2.0}
    call = json.dumps({"input_args": [leaf] * 8, "input_kwargs": {}, "output": [leaf] * 2})
    run = tmp_path_factory.mktemp("long")
    for side in ("npu", "cpu"):
        folder = run / side / "step0" / "rank0"
        folder.mkdir(parents=True)
        body = ",\n".join(f'"Torch.add.{i}.forward": {call}' for i in range(30_000))
        header = (
            '{"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": null, "data": {'
        )
        (folder / "dump.json").write_text(header + body + "}}")
    return run


def test_ctrl_c_ends_a_command_with_130(long_run: Path) -> None:
    with npulse("precision", str(long_run), "--no-cache") as program:
        program.read_until(rb"/s")  # the first line of progress
        program.send(b"\x03")
        assert program.wait() == 130
        assert b"Traceback" not in program.output and b"verdict" not in program.output


def test_ctrl_c_cancels_a_comparison_on_the_screen(long_run: Path) -> None:
    with npulse(str(long_run), "--no-cache", columns=100, rows=30) as program:
        program.read_until(rb"Reading and comparing")
        program.send(b"\x03")
        program.read_until(rb"Comparing was cancelled. r reads and compares again")
        program.send(b"q")
        assert program.wait() == 0


# ---- inside tmux ----


_numbers = count()


class Tmux:
    """A tmux server of its own with one window; its socket is its own too."""

    def __init__(self, name: str, columns: int, rows: int, command: str) -> None:
        self._argv = ["tmux", "-L", name, "-f", "/dev/null"]
        self._do("new-session", "-d", "-x", str(columns), "-y", str(rows), command)

    def _do(self, *words: str) -> str:
        environ = {k: v for k, v in os.environ.items() if k not in ("TMUX", "TMUX_PANE")} | {
            "LANG": "C.UTF-8"
        }
        done = subprocess.run([*self._argv, *words], env=environ, capture_output=True, timeout=20, check=True)
        return done.stdout.decode()

    def screen(self) -> list[str]:
        return self._do("capture-pane", "-p").split("\n")[:-1]

    def until(self, holds: Callable[[list[str]], bool], timeout_s: float = 30.0) -> list[str]:
        deadline = time.monotonic() + timeout_s
        while not holds(lines := self.screen()):
            assert time.monotonic() < deadline, "\n".join(lines)
            time.sleep(0.05)
        return lines

    def still(self, holds: Callable[[list[str]], bool]) -> list[str]:
        """The screen once something holds and nothing moves any more."""
        before: list[str] = []
        while (lines := self.until(holds)) != before:
            before = lines
            time.sleep(0.3)
        return lines

    def keys(self, *keys: str) -> None:
        self._do("send-keys", *keys)

    def resize(self, columns: int, rows: int) -> None:
        self._do("resize-window", "-x", str(columns), "-y", str(rows))

    def buffer(self) -> str:
        return self._do("show-buffer")

    def end(self) -> None:
        subprocess.run([*self._argv, "kill-server"], capture_output=True, check=False)


@pytest.fixture
def tmux(tmp_path: Path) -> Iterator[Callable[..., Tmux]]:
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    servers: list[Tmux] = []

    def start(
        *words: str, columns: int = 80, rows: int = 24, environ: Mapping[str, str] | None = None
    ) -> Tmux:
        names = {**plain_environ(LANG="C.UTF-8"), "TERM": "tmux-256color", **(environ or {})}
        assigned = " ".join(f"{name}={shlex.quote(value)}" for name, value in names.items())
        command = f"env {assigned} {shlex.join([*NPULSE, *words])}; echo ended with $?; cat"
        servers.append(Tmux(f"npulse-test-{os.getpid()}-{next(_numbers)}", columns, rows, command))
        return servers[-1]

    yield start
    for server in servers:
        server.end()


def has(*texts: str) -> Callable[[list[str]], bool]:
    return lambda lines: all(any(text in line for line in lines) for text in texts)


def test_sizes_in_tmux(tmux: Callable[..., Tmux]) -> None:
    window = tmux("demo")
    stands = has("operator call", "▶  layers.25.self_attn.qkv", "difference begins here")
    window.until(stands)
    window.keys("Down")
    window.until(has("▶  layers.25.self_attn.rotary", "rotary_emb.RotaryEmbedding.forward.0.input.0"))
    window.keys("o")
    first = window.still(stands)
    assert first[-1].rstrip().endswith("q quit") and len(first) == 24
    detail_line = next(n for n, line in enumerate(first) if "Module.model.layers.25" in line)
    assert detail_line > 10, "the detail stands below the table"

    window.resize(140, 40)
    wide = window.still(lambda lines: len(lines) == 40 and is_beside(lines) and has("q quit")(lines))
    window.keys("?")
    window.until(has("Everywhere"))
    window.keys("q")
    assert window.still(is_beside) == wide, "what was sent piece by piece is what a whole frame shows"

    window.resize(60, 15)
    short = window.until(lambda lines: lines[0].startswith("1 2 Precision") and has("▶  layers.25")(lines))
    assert len(short) == 15 and not has("difference begins here")(short)
    window.until(has("inputs agree"))  # the finding keeps a line of its own

    window.resize(39, 9)
    window.until(has("Too small: 40 x 10"))
    window.resize(80, 24)
    assert window.until(lambda lines: stands(lines) and lines == first) == first
    window.keys("q")
    window.until(has("ended with 0"))


def is_beside(lines: list[str]) -> bool:
    """Whether the detail stands right of the table, from the heading on."""
    header = next((line for line in lines if "operator call" in line), "")
    return "│ Module.model.layers.25" in header and has("▶  layers.25.self_attn.qkv_proj")(lines)


def test_a_page_opened_before_a_resize_leaves_the_pane_in_order(tmux: Callable[..., Tmux]) -> None:
    window = tmux("demo", columns=120, rows=40)
    window.until(has("difference begins", "│"))
    window.keys("Enter")
    window.until(has("error map", "worst 100"))
    window.resize(80, 24)
    window.until(lambda lines: len(lines) == 24 and has("error map")(lines))
    window.keys("b")
    lines = window.until(has("operator call", "difference begins here"))
    assert "│" not in next(line for line in lines if "operator call" in line)


def test_copy_reaches_the_buffer_of_tmux(tmux: Callable[..., Tmux]) -> None:
    from npulse.core import api
    from npulse.core.precision.view import main_figures
    from npulse.sample_runs import SAMPLES

    expected = api.compare(sample_path(next(iter(SAMPLES))), round_name="round1").findings[0]
    window = tmux("demo", columns=120, rows=40)
    window.until(has("difference begins here", "Pattern:"))  # the second read is done
    window.keys("y")
    window.until(has("(tmux)"))
    assert window.buffer() == finding_text(expected, main_figures(expected))


def test_sigterm_in_tmux_leaves_the_shell_as_it_was(tmux: Callable[..., Tmux]) -> None:
    window = tmux("demo")
    window.until(has("difference begins here"))
    pid = window._do("list-panes", "-F", "#{pane_pid}").strip()
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    for child in children:
        os.kill(int(child), signal.SIGTERM)
    lines = window.until(has("ended with 143"))
    assert not has("operator call")(lines), "the alternate screen is left"
    assert window._do("display-message", "-p", "#{cursor_flag} #{alternate_on}").strip() == "1 0"
