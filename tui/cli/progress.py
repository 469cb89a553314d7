"""Progress of a command on stderr: one line that is rewritten, only where stderr is a terminal."""

from __future__ import annotations

import sys
import time

from npulse.core.progress import Progress, ProgressCallback, ignore_progress

EVERY_S = 0.25


def stderr_progress() -> ProgressCallback:
    """A callback that shows count, share and rate at most four times a second; silent without a terminal."""
    if not sys.stderr.isatty():
        return ignore_progress
    started: dict[str, float] = {}
    shown = 0.0

    def show(progress: Progress) -> None:
        nonlocal shown
        now = time.monotonic()
        began = started.setdefault(progress.stage, now)
        if now - shown < EVERY_S:
            return
        shown = now
        share = f" of {progress.total:,}" if progress.total else ""
        rate = progress.done / (now - began) if now > began else 0.0
        left = f", {(progress.total - progress.done) / rate:.0f} s left" if progress.total and rate else ""
        line = f"{progress.stage}: {progress.done:,}{share} {progress.unit} ({rate:,.0f}/s{left})"
        sys.stderr.write("\r\x1b[K" + line)
        sys.stderr.flush()

    return show


def end_progress() -> None:
    """Clear the progress line before anything else is said."""
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
