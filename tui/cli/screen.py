"""stderr for what goes on while a program runs: nobody waits for a terminal that stands still.

A program under a capture would stop where its output is not taken, and the round could not be closed: after
Ctrl-S, over a connection that is lost but not yet hung up, behind a pager.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from contextlib import suppress

from npulse.core.text import safe_text

from .options import carried

MAX_WAITING = 10_000
"""Lines that wait to be shown; of more the oldest are left out, and how many is said."""
_AT_ONCE = 200
_CLEAR = "\r\x1b[K"


class Screen:
    """Lines, and on a terminal one line below them that is written over and over. Any thread may call.

    is_gone: whether nobody takes anything any more (the connection was lost).
    """

    def __init__(self, left_out: str) -> None:
        """left_out: what is said where lines were left out, with {n}."""
        self.is_gone = sys.stderr is None
        self._stream = sys.stderr
        self._left_out = left_out
        self._is_terminal = sys.stderr is not None and sys.stderr.isatty()
        self._changed = threading.Condition()
        self._lines: deque[str] = deque()
        self._n_left_out = 0
        self._status: str | None = None
        self._is_closing = self._is_writing = False
        self._is_status_shown = False
        self._thread: threading.Thread | None = None

    def say(self, *lines: str) -> None:
        """Lines to be shown as they are, control characters taken out; returns at once."""
        with self._changed:
            self._lines.extend(lines)
            while len(self._lines) > MAX_WAITING:
                self._lines.popleft()
                self._n_left_out += 1
            self._wake()

    def show(self, line: str) -> None:
        """The line that is written over; nothing where stderr is no terminal."""
        if self._is_terminal:
            with self._changed:
                self._status = line
                self._wake()

    def close(self, wait_s: float = 2.0) -> None:
        """Show what waits, as far as that can be done in time, and take the last line away."""
        with self._changed:
            self._is_closing = True
            self._status = None
            self._wake()
            self._changed.wait_for(lambda: not (self._lines or self._is_writing), wait_s)
        if self._thread is not None and not self._is_writing:
            self._thread.join(wait_s)

    # ---- the thread that may have to wait ----

    def _wake(self) -> None:
        if self.is_gone:
            self._lines.clear()
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._write_all, name="screen", daemon=True)
            self._thread.start()
        self._changed.notify_all()

    def _write_all(self) -> None:
        while True:
            with self._changed:
                self._is_writing = False
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._lines or self._status is not None or self._is_closing)
                text = self._next_text()
                if not text and self._is_closing:
                    return
                self._is_writing = True
            try:
                self._write(text)
            except (OSError, ValueError):
                with self._changed:
                    self.is_gone = True
                    self._is_writing = False
                    self._lines.clear()
                    self._changed.notify_all()
                return

    def _next_text(self) -> str:
        lines = [self._lines.popleft() for _ in range(min(_AT_ONCE, len(self._lines)))]
        if lines and self._n_left_out:
            lines.insert(0, self._left_out.format(n=f"{self._n_left_out:,}"))
            self._n_left_out = 0
        text = "".join(safe_text(line) + "\n" for line in lines)
        if self._is_status_shown:
            text = _CLEAR + text
        self._is_status_shown = False
        if self._status is not None:
            text += _CLEAR + safe_text(self._status[: _columns() - 1])
            self._is_status_shown, self._status = True, None
        return text

    def _write(self, text: str) -> None:
        raw = carried(text, self._stream).encode(self._stream.encoding or "ascii", "backslashreplace")
        number = None
        with suppress(OSError, ValueError, AttributeError):  # a stream of a test has none
            number = self._stream.fileno()
        if number is None:
            self._stream.write(raw.decode(self._stream.encoding or "ascii"))
            return
        self._stream.flush()
        while raw:  # past the stream: one that waits would hold its lock when the interpreter ends
            raw = raw[os.write(number, raw) :]


def _columns() -> int:
    """Of the terminal behind stderr: a line that wraps could not be taken away again."""
    try:
        return os.get_terminal_size(2).columns or 80
    except OSError:
        return 80
