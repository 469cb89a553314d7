"""What is concluded from an environment; the interpreter reports UTF-8 even in a C locale."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from npulse.tui import terminal as terminal_module
from npulse.tui.glyphs import ASCII, UNICODE
from npulse.tui.terminal import Terminal, install_signal_handlers, prepare_environment, probe, terminal_from
from npulse.tui.themes import theme_names_for


def terminal(encoding: str = "utf-8", is_tty: bool = True, **environ: str) -> Terminal:
    return terminal_from(environ, is_tty=is_tty, encoding=encoding)


# ---- encoding ----


@pytest.mark.parametrize(
    ("environ", "is_utf8"),
    [
        ({"TERM": "xterm-256color", "LANG": "en_US.UTF-8"}, True),
        ({"TERM": "xterm-256color", "LANG": "zh_CN.utf8"}, True),
        ({"TERM": "xterm-256color", "LC_CTYPE": "UTF-8"}, True),
        ({"TERM": "xterm-256color", "LANG": "de_DE.UTF-8@euro"}, True),
        ({"TERM": "xterm-256color", "LANG": "en_US.UTF-8", "LC_ALL": "C"}, False),
        ({"TERM": "xterm-256color", "LANG": "C", "LC_ALL": "C.UTF-8"}, True),
        ({"TERM": "xterm-256color", "LANG": "C", "LC_CTYPE": "en_US.UTF-8"}, True),
        ({"TERM": "xterm-256color", "LANG": "en_US.UTF-8", "LC_ALL": ""}, True),
        ({"TERM": "xterm-256color", "LANG": "zh_CN.GB18030"}, False),
        ({"TERM": "xterm-256color", "LANG": "en_US"}, False),
        ({"TERM": "xterm-256color"}, False),
        # the case of a locale that was not passed on, inside tmux or screen
        ({"TERM": "screen", "LANG": "C", "LC_ALL": "C", "COLORTERM": ""}, False),
        ({"TERM": "tmux-256color", "LANG": "C", "TMUX": "/tmp/tmux-0/default,1,0"}, False),
        ({"TERM": "screen-256color", "LANG": "C", "STY": "1.pts-0.host", "KITTY_WINDOW_ID": "1"}, False),
        ({"TERM": "tmux-256color", "LANG": "C.UTF-8", "TMUX": "/tmp/tmux-0/default,1,0"}, True),
        # terminals that know nothing else
        ({"TERM": "xterm-kitty", "LANG": "C"}, True),
        ({"TERM": "foot-extra"}, True),
        ({"TERM": "xterm-kitty", "TMUX": "/tmp/tmux-0/default,1,0"}, False),
        # said by the user
        ({"TERM": "xterm-kitty", "LANG": "C.UTF-8", "NPULSE_ASCII": "1"}, False),
        ({"TERM": "screen", "LC_ALL": "C", "NPULSE_ASCII": "0"}, True),
    ],
)
def test_who_gets_utf8(environ: dict[str, str], is_utf8: bool) -> None:
    found = terminal(**environ)
    assert found.is_utf8 == is_utf8
    assert found.glyphs is (UNICODE if is_utf8 else ASCII)


def test_output_stream_of_another_encoding_gets_ascii() -> None:
    assert not terminal("iso8859-1", TERM="xterm", LANG="en_US.UTF-8").is_utf8
    assert not terminal("ascii", TERM="xterm", LANG="en_US.UTF-8").is_utf8
    assert terminal("UTF8", TERM="xterm", LANG="en_US.UTF-8").is_utf8


def _probed(**words: str) -> str:
    code = "from npulse.tui.terminal import probe; t = probe(); print(t.is_utf8, t.is_tty)"
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path), "TERM": "xterm", **words}
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="no /proc")
def test_interpreter_that_improves_a_c_locale_is_not_believed() -> None:
    assert _probed(LANG="C") == "False False"
    assert _probed() == "False False"
    assert _probed(LC_CTYPE="C.UTF-8") == "True False"


# ---- colours, multiplexer, mouse ----


@pytest.mark.parametrize(
    ("environ", "colours", "themes"),
    [
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, "truecolor", "dark light ansi16 mono"),
        ({"TERM": "xterm-direct"}, "truecolor", "dark light ansi16 mono"),
        ({"TERM": "xterm-256color"}, "256", "dark light ansi16 mono"),
        ({"TERM": "xterm-kitty"}, "256", "dark light ansi16 mono"),
        ({"TERM": "xterm"}, "16", "ansi16 mono"),
        ({"TERM": "linux"}, "16", "ansi16 mono"),
        ({"TERM": "screen", "COLORTERM": "truecolor", "STY": "1.x"}, "16", "ansi16 mono"),
        ({"TERM": "xterm-256color", "NO_COLOR": "1", "COLORTERM": "truecolor"}, "none", "mono"),
        ({"TERM": "xterm-256color", "NO_COLOR": ""}, "256", "dark light ansi16 mono"),
        ({"TERM": "vt100"}, "none", "mono"),
        ({"TERM": "dumb"}, "none", "mono"),
    ],
)
def test_colours(environ: dict[str, str], colours: str, themes: str) -> None:
    found = terminal(**environ)
    assert found.colours == colours
    assert " ".join(theme_names_for(found)) == themes


@pytest.mark.parametrize(
    ("environ", "multiplexer"),
    [
        ({"TERM": "xterm"}, ""),
        ({"TERM": "screen-256color", "TMUX": "/tmp/tmux-0/default,1,0"}, "tmux"),
        ({"TERM": "tmux-256color"}, "tmux"),
        ({"TERM": "screen"}, "screen"),
        ({"TERM": "xterm", "STY": "12.pts-0.host"}, "screen"),
    ],
)
def test_multiplexer(environ: dict[str, str], multiplexer: str) -> None:
    assert terminal(**environ).multiplexer == multiplexer


def test_mouse_is_off_over_ssh_only() -> None:
    assert terminal(TERM="xterm").has_mouse
    assert not terminal(TERM="xterm", SSH_CONNECTION="10.0.0.1 5 10.0.0.2 22").has_mouse


def test_where_a_plain_report_belongs() -> None:
    assert not terminal(TERM="xterm").needs_plain_report
    assert terminal(TERM="dumb").needs_plain_report
    assert terminal().needs_plain_report
    assert terminal(TERM="xterm", is_tty=False).needs_plain_report


def test_small_terminals() -> None:
    def is_too_small(columns: int, rows: int) -> bool:
        return terminal_from({}, is_tty=True, encoding="utf-8", size=(columns, rows)).is_too_small

    assert [is_too_small(40, 10), is_too_small(39, 10), is_too_small(40, 9)] == [False, True, True]


def test_probe_describes_this_process() -> None:
    found = probe()
    assert found.term == "xterm-256color"
    assert found.columns > 0 and found.rows > 0


# ---- what the framework reads ----


def test_environment_for_the_framework() -> None:
    environ: dict[str, str] = {"NO_COLOR": ""}
    prepare_environment(terminal(TERM="xterm-256color"), environ)
    assert environ == {
        "TEXTUAL_ANIMATIONS": "none",
        "TEXTUAL_SMOOTH_SCROLL": "0",
        "TEXTUAL_COLOR_SYSTEM": "256",
    }
    environ = {"TEXTUAL_ANIMATIONS": "full"}
    prepare_environment(terminal(TERM="vt100"), environ)
    assert (environ["TEXTUAL_ANIMATIONS"], environ["NO_COLOR"]) == ("full", "1")


def test_terminal_is_probed_without_the_framework() -> None:
    code = "import sys, npulse.tui.terminal; print(not {'textual', 'rich', 'numpy'} & set(sys.modules))"
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True)
    assert done.stdout.strip() == "True", done.stderr


# ---- signals ----


class FakeApp:
    def __init__(self) -> None:
        self.codes: list[int] = []
        self.has_exited = asyncio.Event()

    def exit(self, return_code: int) -> None:
        self.codes.append(return_code)
        self.has_exited.set()


class NoTimer:
    """Stands in for the watchdog, which would end the test run."""

    daemon = False
    started: list[tuple[object, ...]] = []

    def __init__(self, *args: object) -> None:
        self.args = args

    def start(self) -> None:
        self.started.append(self.args)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_app_exits_even_if_saving_fails(number: signal.Signals, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("threading.Timer", NoTimer)
    NoTimer.started.clear()
    app, saved, errors = FakeApp(), [], []

    def save() -> None:
        saved.append(True)
        raise OSError("disk full")

    async def run() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda loop, context: errors.append(context["exception"]))
        install_signal_handlers(app, save)  # type: ignore[arg-type]
        os.kill(os.getpid(), number)
        await asyncio.wait_for(app.has_exited.wait(), 10)
        for other in (signal.SIGTERM, signal.SIGHUP):
            loop.remove_signal_handler(other)

    asyncio.run(run())
    assert (saved, app.codes) == ([True], [128 + number])
    assert NoTimer.started == [(terminal_module._EXIT_GRACE_S, os._exit, (128 + number,))]
