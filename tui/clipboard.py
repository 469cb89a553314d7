"""Text copied out of a terminal: through the multiplexer, through the terminal, or into a file."""

from __future__ import annotations

import base64
import os
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Literal

from npulse.core.dataclass import dataclass

from .state import state_folder
from .terminal import Terminal

Route = Literal["tmux", "osc52", "osc52-tmux", "osc52-screen", "file"]
Run = Callable[..., "subprocess.CompletedProcess[bytes]"]

MAX_OSC52_BYTES = 74_994  # of text: with base64 and the frame the 100,000 bytes that terminals take
FILE_NAME = "copied.txt"
_TMUX_TIMEOUT_S = 2.0
_SCREEN_CHUNK = 240  # screen drops a string sequence of more than 256 characters in old releases

# C0 but newline and tab, DEL, C1, and the marks that make text read in another order than it is.
_REMOVED = {
    code: None
    for code in (
        *(c for c in range(0x20) if c not in (0x09, 0x0A)),
        *range(0x7F, 0xA0),
        *range(0x202A, 0x202F),
        *range(0x2066, 0x206A),
    )
}


@dataclass(frozen=True, slots=True)
class Copied:
    """Where the text went. `path` holds it too, unless the route itself can be read back.

    A terminal does not say whether it took an OSC 52 sequence, so those routes always leave a file.
    """

    route: Route
    size_bytes: int
    path: Path | None


def copy_text(
    text: str,
    terminal: Terminal,
    write: Callable[[str], object],
    *,
    run: Run = subprocess.run,
    folder: Path | None = None,
) -> Copied | None:
    """Copy text by the first route that works; None where there is none, not even a file.

    write: puts a control sequence on the terminal. folder: for the file, the state folder by default.
    May wait two seconds for tmux: call it from a worker.
    """
    clean = clean_text(text)
    content = clean.encode("utf-8")
    size_bytes = len(content)
    if terminal.multiplexer == "tmux" and _load_tmux_buffer(content, run):
        return Copied("tmux", size_bytes, None)
    path = _write_file(content, state_folder() if folder is None else folder)
    if size_bytes > MAX_OSC52_BYTES:
        return None if path is None else Copied("file", size_bytes, path)
    sequence, route = osc52(clean, terminal)
    write(sequence)
    return Copied(route, size_bytes, path)


def clean_text(text: str) -> str:
    """Text without control characters other than newline and tab; lone surrogates become "?"."""
    return text.translate(_REMOVED).encode("utf-8", "replace").decode("utf-8")


def osc52(text: str, terminal: Terminal) -> tuple[str, Route]:
    """The sequence that sets the clipboard, wrapped where a multiplexer stands between, and its route."""
    sequence = f"\x1b]52;c;{base64.b64encode(text.encode('utf-8')).decode('ascii')}\x07"
    routes: dict[str, Route] = {"tmux": "osc52-tmux", "screen": "osc52-screen"}
    return passed_through(sequence, terminal), routes.get(terminal.multiplexer, "osc52")


def passed_through(sequence: str, terminal: Terminal) -> str:
    """A sequence that is for the terminal itself, wrapped where a multiplexer stands between."""
    if terminal.multiplexer == "tmux":
        doubled = sequence.replace("\x1b", "\x1b\x1b")
        return f"\x1bPtmux;{doubled}\x1b\\"
    if terminal.multiplexer == "screen":
        chunks = (sequence[i : i + _SCREEN_CHUNK] for i in range(0, len(sequence), _SCREEN_CHUNK))
        return "".join(f"\x1bP{chunk}\x1b\\" for chunk in chunks)
    return sequence


def _load_tmux_buffer(content: bytes, run: Run) -> bool:
    """Whether tmux took the text into its buffer (and, with -w, passed it to the terminal)."""
    try:
        done = run(
            ("tmux", "load-buffer", "-w", "-"),
            input=content,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_TMUX_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0


def _write_file(content: bytes, folder: Path) -> Path | None:
    """The file with the text, readable by its owner only; None where it cannot be written."""
    path = folder / FILE_NAME
    beside: str | None = None
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, beside = tempfile.mkstemp(prefix=f".{FILE_NAME}.", dir=folder)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(beside, path)
    except OSError:
        if beside is not None:
            with suppress(OSError):
                os.unlink(beside)
        return None
    return path
