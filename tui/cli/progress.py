"""Progress of a command on stderr: one line that is rewritten, only where stderr is a terminal."""

from __future__ import annotations

import sys
import time

from npulse.core.progress import Progress, ProgressCallback, ignore_progress, paced, progress_text
from npulse.core.text import Lang, safe_text

from .options import carried


def stderr_progress(lang: Lang = "en") -> ProgressCallback:
    """A callback that shows count, rate and time left four times a second; silent without a terminal."""
    if not sys.stderr.isatty():
        return ignore_progress
    began: dict[str, float] = {}

    def show(progress: Progress) -> None:
        now_s = time.monotonic()
        line = progress_text(progress, now_s - began.setdefault(progress.stage, now_s), lang)
        sys.stderr.write("\r\x1b[K" + carried(safe_text(line), sys.stderr))
        sys.stderr.flush()

    return paced(show)


def end_progress() -> None:
    """Clear the progress line before anything else is said."""
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
