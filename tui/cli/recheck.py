"""`npulse recheck`: calls of a run computed again on the CPU."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from npulse.core.errors import UsageError

from .analyse import asked_of, is_whole_file, written, written_whole
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
    from npulse.core.scale import limit_blas_threads

    limit_blas_threads()
    from npulse.core.analysis import AreaReport
    from npulse.core.recheck.run_recheck import recheck

    lang = chosen_lang(options.lang)
    is_whole = is_whole_file(options, [run])
    format_name = "" if is_whole else chosen_format(options.format_name, options.output)
    if options.criteria is not None:
        raise UsageError(
            "recheck has no criteria: its bounds follow from the dtype", hint="leave --criteria out"
        )
    path = opened(run)
    try:
        found = recheck(
            path,
            operator,
            options=replace(asked_of(options), tables=options.tables or is_whole),
            side=side,
            activation=activation,
            scale=scale,
            reference=reference,
            progress=stderr_progress(lang),
        )
    finally:
        end_progress()
    if is_whole:
        return written_whole("recheck", AreaReport("", "", found.report), options, [path])
    return written(found.report, format_name, options, [path])
