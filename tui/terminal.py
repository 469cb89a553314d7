"""What the terminal can show and send, found out once; and how it is left in order when the app is killed."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, Literal

from npulse.core.dataclass import dataclass

from .glyphs import ASCII, UNICODE, Glyphs

if TYPE_CHECKING:
    from textual.app import App

Colours = Literal["none", "16", "256", "truecolor"]
Multiplexer = Literal["", "tmux", "screen"]

MIN_COLUMNS, MIN_ROWS = 40, 10
_EXIT_GRACE_S = 3.0

_DUMB = frozenset(("", "dumb", "unknown"))
_COLOURLESS = ("vt52", "vt100", "vt102", "vt220", "vt320")
# Terminals that know no other encoding than UTF-8, by TERM.
_UTF8_TERMS = ("xterm-kitty", "xterm-ghostty", "alacritty", "foot", "wezterm", "contour", "rio")
_RICH_COLOURS: Mapping[Colours, str] = {
    "none": "standard",
    "16": "standard",
    "256": "256",
    "truecolor": "truecolor",
}


@dataclass(frozen=True, slots=True)
class Terminal:
    """The terminal's abilities. `is_tty`: input and output are all terminals. Sizes in cells."""

    term: str
    colours: Colours
    is_utf8: bool
    is_tty: bool
    multiplexer: Multiplexer
    is_ssh: bool
    columns: int
    rows: int

    @property
    def is_dumb(self) -> bool:
        """It cannot be drawn on."""
        return self.term in _DUMB

    @property
    def needs_plain_report(self) -> bool:
        """A plain report belongs here instead of a screen."""
        return self.is_dumb or not self.is_tty

    @property
    def glyphs(self) -> Glyphs:
        """The glyph set it can show."""
        return UNICODE if self.is_utf8 else ASCII

    @property
    def has_mouse(self) -> bool:
        """Whether the mouse starts switched on: not over SSH, where every move is a message."""
        return not self.is_ssh

    @property
    def is_too_small(self) -> bool:
        return self.columns < MIN_COLUMNS or self.rows < MIN_ROWS


# ---- probing ----


def terminal_from(
    environ: Mapping[str, str],
    *,
    is_tty: bool,
    encoding: str,
    size: tuple[int, int] = (80, 24),
) -> Terminal:
    """The terminal that an environment describes; `encoding` of the output stream, `size` columns x rows."""
    term = environ.get("TERM", "").strip().lower()
    multiplexer = _multiplexer(environ, term)
    return Terminal(
        term=term,
        colours=_colours(environ, term, multiplexer),
        is_utf8=_is_utf8(environ, term, multiplexer, encoding),
        is_tty=is_tty,
        multiplexer=multiplexer,
        is_ssh=any(environ.get(name) for name in ("SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY")),
        columns=size[0],
        rows=size[1],
    )


def probe() -> Terminal:
    """The terminal this process runs in. Reads the environment, the streams and /proc; writes nothing."""
    streams = (sys.__stdin__, sys.__stdout__, sys.__stderr__)
    is_tty = all(stream is not None and stream.isatty() for stream in streams)
    encoding = getattr(sys.__stdout__, "encoding", None) or "ascii"
    return terminal_from(_caller_environ(), is_tty=is_tty, encoding=encoding, size=_size())


def served() -> Terminal:
    """The terminal in a page of a browser, whatever this process was started from."""
    words = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "NPULSE_ASCII": "0"}
    return terminal_from(words, is_tty=True, encoding="utf-8")


def _caller_environ() -> dict[str, str]:
    """The environment as the caller gave it.

    In a C locale the interpreter sets LC_CTYPE=C.UTF-8 for itself before any code runs, which says
    nothing about the terminal; the kernel still has the original.
    """
    environ = dict(os.environ)
    if environ.get("LC_CTYPE") not in ("C.UTF-8", "C.utf8", "UTF-8"):
        return environ
    try:
        with open("/proc/self/environ", "rb") as file:
            original = file.read().split(b"\0")
    except OSError:
        return environ
    if not any(entry.startswith(b"LC_CTYPE=") for entry in original):
        del environ["LC_CTYPE"]
    return environ


def _size() -> tuple[int, int]:
    for stream in (sys.__stdout__, sys.__stderr__, sys.__stdin__):
        try:
            columns, rows = os.get_terminal_size(stream.fileno() if stream else -1)
        except (OSError, ValueError):
            continue
        if columns and rows:
            return columns, rows
    return 80, 24


def _multiplexer(environ: Mapping[str, str], term: str) -> Multiplexer:
    if environ.get("TMUX") or term.startswith("tmux"):
        return "tmux"
    if environ.get("STY") or term.startswith("screen"):
        return "screen"
    return ""


def _colours(environ: Mapping[str, str], term: str, multiplexer: Multiplexer) -> Colours:
    if (
        environ.get("NO_COLOR")
        or term in _DUMB
        or term.startswith(_COLOURLESS)
        or term.endswith(("-m", "-mono"))
    ):
        return "none"
    # GNU screen passes on the COLORTERM of the terminal outside, but not its colours.
    if multiplexer != "screen" and environ.get("COLORTERM", "").lower() in ("truecolor", "24bit"):
        return "truecolor"
    if term.endswith("-direct"):
        return "truecolor"
    return "256" if "256color" in term or term.startswith(_UTF8_TERMS) else "16"


def _is_utf8(environ: Mapping[str, str], term: str, multiplexer: Multiplexer, encoding: str) -> bool:
    """Whether characters beyond ASCII arrive as they are.

    The stream's encoding alone proves nothing: the interpreter takes UTF-8 in a C locale. Inside a
    multiplexer the names of outer terminals are hearsay, there the locale decides.
    """
    forced = environ.get("NPULSE_ASCII", "")
    if forced:
        return forced == "0"
    if not multiplexer and term.startswith(_UTF8_TERMS):
        return True
    locale = next((value for name in ("LC_ALL", "LC_CTYPE", "LANG") if (value := environ.get(name))), "")
    names = (locale.partition("@")[0].rpartition(".")[2], encoding)
    return all(name.replace("-", "").replace("_", "").lower() == "utf8" for name in names)


# ---- what the UI framework reads ----


def prepare_environment(terminal: Terminal, environ: MutableMapping[str, str] = os.environ) -> None:
    """Set what the UI framework reads when it is imported; to be called before that. Set words stay."""
    environ.setdefault("TEXTUAL_ANIMATIONS", "none")
    environ.setdefault("TEXTUAL_SMOOTH_SCROLL", "0")
    environ.setdefault("TEXTUAL_COLOR_SYSTEM", _RICH_COLOURS[terminal.colours])
    if terminal.colours == "none":
        environ["NO_COLOR"] = "1"
    else:
        environ.pop("NO_COLOR", None)  # set but empty means nothing, which the framework does not know


def prepare_streams(terminal: Terminal) -> None:
    """Make the stream that the screen is written to carry the terminal's glyphs."""
    reconfigure = getattr(sys.__stderr__, "reconfigure", None)
    if reconfigure is not None and terminal.is_utf8:
        reconfigure(encoding="utf-8", errors="replace")


def set_mouse(app: App[Any], is_on: bool) -> None:
    """Switch the terminal's mouse reports on or off while the app runs; nothing without a real terminal."""
    # The framework offers the mouse only as a start option.
    driver = getattr(app, "_driver", None)
    if driver is None or not hasattr(driver, "_enable_mouse_support"):
        return
    if is_on:
        driver._mouse = True
        driver._enable_mouse_support()
    else:
        driver._disable_mouse_support()
        driver._mouse = False


# ---- being killed ----


def install_signal_handlers(
    app: App[Any],
    save: Callable[[], None] | None = None,
    *,
    must_wait: Callable[[], bool] | None = None,
) -> None:
    """On SIGTERM and SIGHUP: save, leave the alternate screen, exit with 128 + the signal's number.

    To be called from the running app (`on_mount`). Where the terminal is gone or the app hangs, the
    process ends all the same after three seconds, or once `must_wait` is over; `save` has been called before.
    """
    import asyncio

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, _leave, app, save, number, must_wait)


def _end(code: int, must_wait: Callable[[], bool]) -> None:
    """End the process; what must not be cut off comes first."""
    import time

    while must_wait():
        time.sleep(0.2)
    os._exit(code)


def _leave(
    app: App[Any],
    save: Callable[[], None] | None,
    number: signal.Signals,
    must_wait: Callable[[], bool] | None = None,
) -> None:
    import threading

    code = 128 + number
    if must_wait is None:
        watchdog = threading.Timer(_EXIT_GRACE_S, os._exit, (code,))
    else:
        watchdog = threading.Timer(_EXIT_GRACE_S, _end, (code, must_wait))
    watchdog.daemon = True
    watchdog.start()
    try:
        if save is not None:
            save()
    finally:
        app.exit(return_code=code)
