"""A command of the user's that is told of a new finding: its JSON on stdin, no shell, one at a time."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shlex
import shutil
import signal
import subprocess
import threading
from collections.abc import Mapping
from typing import Any

from npulse.core.errors import UsageError

TIMEOUT_S = 30.0
"""A command that takes longer is ended, with all that it has started."""
_END_S = 1.0
MAX_WAITING = 100
"""Findings that may wait for the command; further ones are not told, and counted."""


def command_words(command: str) -> tuple[str, ...]:
    """A command line as its words, quotes as in a shell. UsageError where it is none or not to be found."""
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise UsageError(f"the command cannot be read: {error}", hint="quote it as for a shell") from None
    if not words:
        raise UsageError("the command is empty", hint="give a program and its arguments")
    if shutil.which(words[0]) is None:
        raise UsageError(f"no program '{words[0]}'", hint="give its path, or put it on PATH")
    return words


class Hook:
    """Runs the command for one finding after the other, in a thread of its own; nobody waits for it.

    n_told, n_failed, n_dropped: findings that the command took, that it failed on (it could not be started,
    ended with another code than 0, or took longer than `timeout_s`), and that were too many to wait.
    """

    def __init__(self, words: tuple[str, ...], *, timeout_s: float = TIMEOUT_S) -> None:
        self.n_told = self.n_failed = self.n_dropped = 0
        self._words = words
        self._timeout_s = timeout_s
        self._waiting: queue.Queue[bytes | None] = queue.Queue()
        self._thread: threading.Thread | None = None
        self._running: subprocess.Popen[bytes] | None = None
        self._is_over = False

    def tell(self, finding: Mapping[str, Any]) -> None:
        """Give the command a finding (as plain values) once it has taken those before. Returns at once."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="hook", daemon=True)
            self._thread.start()
        if self._waiting.qsize() >= MAX_WAITING:
            self.n_dropped += 1
        else:
            self._waiting.put(json.dumps(finding).encode() + b"\n")

    def close(self, wait_s: float = 0.0) -> None:
        """Take no more findings; wait so long for those that still wait, then end the command that runs.

        Without a wait a command that runs is left to itself.
        """
        if self._thread is not None:
            self._waiting.put(None)
            self._thread.join(wait_s)
            self._is_over = True
            if wait_s and self._thread.is_alive() and (process := self._running) is not None:
                _end(process)
                self._thread.join(_END_S)

    def _run(self) -> None:
        while (told := self._waiting.get()) is not None and not self._is_over:
            if self._is_taken(told):
                self.n_told += 1
            else:
                self.n_failed += 1

    def _is_taken(self, told: bytes) -> bool:
        """Run the command once. It has no terminal, and a session of its own: it can be ended whole."""
        try:
            process = subprocess.Popen(
                self._words,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError:
            return False
        self._running = process
        with process:
            try:
                process.communicate(told, timeout=self._timeout_s)
            except subprocess.TimeoutExpired:
                _end(process)
                process.wait()
                return False
            finally:
                self._running = None
        return process.returncode == 0


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a command with all that it has started."""
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
