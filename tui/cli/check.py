"""`npulse check`: all areas against the criteria; which to open first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from npulse.core.errors import UsageError

from ..state import user_config_file
from .analyse import asked_of, written
from .gate import gate_of
from .options import (
    AnalyseOptions,
    chosen_format,
    chosen_lang,
    emit,
    now_text,
    opened,
    talk,
    user_cache,
    version,
)
from .progress import end_progress, stderr_progress

CRITERIA_FILE = "criteria.toml"


def print_criteria() -> int:
    """A criteria file to start from: the bundled one, with nothing asked for yet."""
    from npulse.core.checkup.criteria_file import starter_text

    emit([starter_text()])
    return 0


def run_check(
    options: AnalyseOptions,
    path: Path | None,
    *,
    is_here: bool = False,
    baseline: str | None = None,
    silences: Sequence[Path] = (),
) -> int:
    """The check-up of a run; returns the exit code."""
    if path is None:
        raise UsageError("give one run", hint="npulse check RUN; npulse check --print-criteria")
    from npulse.core.checkup.check import check_up
    from npulse.core.checkup.commands import RunFacts
    from npulse.core.checkup.report import report
    from npulse.core.checkup.run_report import criteria_in_force
    from npulse.core.kept import discover_kept
    from npulse.core.report import (
        dossier_of,
        is_whole_alone,
        masked_dossier,
        refuse_early,
        write_whole_report,
    )
    from npulse.core.scale import limit_blas_threads

    limit_blas_threads()
    lang = chosen_lang(options.lang)
    is_whole = options.format_name is None and is_whole_alone(options.output)
    format_name = "" if is_whole else chosen_format(options.format_name, options.output)
    if is_whole and options.output is not None:
        refuse_early(options.output, runs=(path,))
    criteria = criteria_in_force(options.criteria, user_config_file(CRITERIA_FILE))
    path = opened(path)
    gate = gate_of(options, path, criteria, baseline, silences)

    try:
        progress = stderr_progress(lang)
        run = discover_kept(path, user_cache(options.no_cache), progress=progress)
        found = check_up(
            run,
            replace(asked_of(options), criteria=None, tables=options.tables or is_whole),
            criteria,
            is_here=is_here,
            facts=RunFacts(str(run.path)) if options.mask else None,  # the command line of a job is private
            prepare=gate.prepare,
            progress=progress,
        )
    finally:
        end_progress()
    if gate:
        for note in gate.notes(report(found, lang).findings):
            talk(f"npulse: {note}")
    dossier = dossier_of(found, made=now_text())
    if options.mask:
        dossier = masked_dossier(dossier, (one.relative for one in run.artifacts))
    told = report(dossier.check_up, lang, tables=options.tables)
    if is_whole and options.output is not None:
        write_whole_report(
            dossier,
            options.output,
            version=version(),
            lang=lang,
            strict=options.strict,
            runs=(path,),
        )
        return told.exit_code(strict=options.strict)
    if options.mask:  # so that the rounds' folders are known by their names, which stand in commands
        told = replace(told, artifacts=run.artifacts)
    return written(told, format_name, options, [path])
