"""A capture that still runs when the workbench ends: its tool is ended and its round closed first."""

from __future__ import annotations

import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from npulse.core.text import Lang

from .messages import tr

if TYPE_CHECKING:
    from .capture_job import CaptureJob

LOOK_S = 0.2


def wait_for_end(job: CaptureJob, lang: Lang) -> None:
    """Ask for the end and wait for it. Ctrl-C and further signals go one rung of the ladder further."""

    def further(number: int, frame: Any) -> None:
        job.ask_stop("hang-up" if number == signal.SIGHUP else "user")

    before = {}
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        with suppress(ValueError):  # not the main thread: then its caller has the signals
            before[number] = signal.signal(number, further)
    if not job.state.n_asked:
        job.ask_stop()
    _say(tr("capture.ending", lang))
    while not job.wait(LOOK_S):
        pass
    result = job.state.result
    if result is not None:
        _say(tr("capture.ended-in", lang, path=str(result.folder)))
    for number, handler in before.items():
        signal.signal(number, handler)


def _say(text: str) -> None:
    """To the terminal, where there still is one."""
    with suppress(OSError, ValueError, AttributeError):
        print(text, file=sys.__stderr__, flush=True)
