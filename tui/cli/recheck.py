"""`npulse recheck`: calls of a run computed again on the CPU."""

from __future__ import annotations

from pathlib import Path

from npulse.core.errors import UsageError

from .analyse import asked_of, written
from .options import AnalyseOptions, chosen_format, chosen_lang, opened
from .progress import end_progress, stderr_progress


def run_recheck(
    options: AnalyseOptions,
    operator: str,
    run: Path,
    *,
    side: str | None,
    activation: str | None,
    scale: str | None,
    reference: str | None,
) -> int:
    """The report over the calls that a word means; returns the exit code."""
    from npulse.core.recheck.run_recheck import recheck

    lang = chosen_lang(options.lang)
    format_name = chosen_format(options.format_name, options.output)
    if options.criteria is not None:
        raise UsageError(
            "recheck has no criteria: its bounds follow from the dtype", hint="leave --criteria out"
        )
    path = opened(run)
    try:
        found = recheck(
            path,
            operator,
            options=asked_of(options),
            side=side,
            activation=activation,
            scale=scale,
            reference=reference,
            progress=stderr_progress(lang),
        )
    finally:
        end_progress()
    return written(found.report, format_name, options, [path])
