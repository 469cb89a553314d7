"""How the check-up is asked for (core/analysis.py).

It is about all areas at once: in a comparison or while a run is followed it says nothing of its own, since
each area tells its figures there itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from npulse.core.analysis import AnalysisOptions, AreaReport, Newest
from npulse.core.areas import all_rules
from npulse.core.errors import UsageError
from npulse.core.gate import Silence, parse_silences
from npulse.core.progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from npulse.core.run.discover import discover
from npulse.core.run.model import Run

from .check import check_up
from .criteria_file import CriteriaFile, default_criteria, read_criteria
from .report import report


def reports_of(
    run: Run,
    options: AnalysisOptions,
    *,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> tuple[AreaReport, ...]:
    """Nothing: what could be said here, the other areas say."""
    return ()


def newest_of(
    run: Run,
    options: AnalysisOptions,
    *,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> Newest | None:
    """Nothing: a check-up is no side of a comparison."""
    return None


def criteria_in_force(named: str | None, usual: Path | None = None) -> CriteriaFile:
    """The file that is named, else the usual one where it is there, else the bundled one.

    InputError with key and line; UsageError for thresholds in place of a file.
    """
    if named is not None:
        if "=" in named and not Path(named).exists():
            hint = "areas' own thresholds: [AREA.thresholds] in the file; npulse check --print-criteria"
            raise UsageError(f"npulse check takes a criteria file, not '{named}'", hint=hint)
        return read_criteria(Path(named))
    if usual is not None and usual.exists():
        return read_criteria(usual)
    return default_criteria()


def silences_of(criteria: CriteriaFile) -> tuple[Silence, ...]:
    """The silences of a criteria file. UsageError, with key and line, where one cannot be used."""
    rules = [rule.id for rule in all_rules()] if criteria.silences else []
    return parse_silences(list(criteria.silences), text=criteria.text, path=criteria.path, rules=rules)


def report_of(
    paths: Sequence[Path],
    options: AnalysisOptions,
    *,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> AreaReport:
    """The check-up of a run. `options.criteria` names a criteria file. InputError, UsageError."""
    if len(paths) != 1:
        raise UsageError("give one run", hint="npulse check RUN; two runs: npulse diff")
    criteria = criteria_in_force(options.criteria)
    run = discover(paths[0], progress=progress, is_cancelled=is_cancelled)
    found = check_up(run, options, criteria, progress=progress, is_cancelled=is_cancelled)
    told = report(found, options.lang, tables=options.tables)
    return AreaReport(options.round_name or "", run.path.name, told)
