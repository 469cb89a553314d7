"""What the tests have workers of a real cluster do; importable there under this module's name."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

LIVES_S = 60


def square(x: int) -> int:
    return x * x


def wait_for(path: str) -> str:
    """Ends when a file is there; at once for no path."""
    ends_s = time.monotonic() + LIVES_S
    while path and not os.path.exists(path) and time.monotonic() < ends_s:
        time.sleep(0.02)
    return path


def die(job: str) -> str:
    """The worker that is told to ends."""
    if job == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    return job


def note_and_wait(note: str) -> int:
    """Writes who works at it and waits to be killed; who tries it again gives its own process."""
    if note and not os.path.exists(note):
        Path(note + ".new").write_text(str(os.getpid()))
        os.rename(note + ".new", note)
        wait_for(note + ".never")
    return os.getpid()
