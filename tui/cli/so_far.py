"""What a command says of its first finding while workers still read: a line on stderr when it changes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from npulse.core.text import Lang

from .options import talk
from .progress import end_progress

if TYPE_CHECKING:
    from npulse.core.findings import Report

SOON_S = 2.0
"""What takes less than this is waited for."""


def told_so_far(lang: Lang, clock: Callable[[], float] = time.monotonic) -> Callable[[Report], None]:
    """A callback for `AnalysisOptions.on_report`: how many ranks are known and the first finding of those,
    each finding once. It is no answer: that comes with all ranks."""
    began_s = clock()
    last: tuple[object, ...] = ()

    def show(report: Report) -> None:
        nonlocal last
        if clock() - began_s < SOON_S or not report.findings:
            return
        first = report.findings[0]
        key = first.rule, first.subject, first.location.rank, first.location.step
        if key != last:
            last = key
            rank = "" if first.location.rank is None else f"rank {first.location.rank}: "
            said = f"{rank}{first.subject}: {first.message}"
            end_progress()
            talk(f"npulse: {report.told[0]}{('; first: ', '；首先：')[lang == 'zh']}{said}")

    return show
