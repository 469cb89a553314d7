"""Wishes to end a capture, from a signal handler or another thread."""

from __future__ import annotations

import os
from contextlib import suppress
from select import select


class StopRequests:
    """How often and why the end was asked for. Every further wish goes one rung of the ladder on, at once.

    `ask` may be called by signal handlers and from any thread: it takes no lock.
    """

    def __init__(self) -> None:
        self.n_asked = 0
        self.reason = ""
        self._read_end, self._write_end = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    def ask(self, reason: str = "user") -> None:
        """End it: user, hang-up, terminated. The first reason is the one that is recorded."""
        self.reason = self.reason or reason
        self.n_asked += 1
        with suppress(OSError):
            os.write(self._write_end, b"!")

    def wait(self, timeout_s: float) -> None:
        """Sleep, but not longer than until somebody asks."""
        with suppress(OSError):
            if select([self._read_end], [], [], max(0.0, timeout_s))[0]:
                os.read(self._read_end, 4096)

    def __del__(self) -> None:
        for end in (self._read_end, self._write_end):
            with suppress(OSError):
                os.close(end)
