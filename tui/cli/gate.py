"""The gate of a command line: silences of the criteria file and of others, and the baseline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from npulse.core.errors import InputError, UsageError

from .analyse import asked_of
from .options import AnalyseOptions, chosen_lang, opened, version
from .progress import end_progress, stderr_progress

if TYPE_CHECKING:
    from npulse.core.checkup.criteria_file import CriteriaFile
    from npulse.core.gate import Baseline, Gate

ROUND = "round:"


def gate_of(
    options: AnalyseOptions,
    run: Path,
    criteria: CriteriaFile,
    baseline: str | None,
    silences: Sequence[Path],
) -> Gate:
    """What is set aside in the reports of a run. InputError, UsageError for files that cannot be used."""
    from npulse.core.areas import all_rules
    from npulse.core.checkup.run_report import silences_of
    from npulse.core.gate import Gate, read_silences

    rules = [rule.id for rule in all_rules()] if silences else []
    found = (*silences_of(criteria), *(one for path in silences for one in read_silences(path, rules=rules)))
    known = _baseline(options, run, criteria, baseline) if baseline is not None else None
    return Gate(date.today(), found, known, chosen_lang(options.lang))


def _baseline(options: AnalyseOptions, run: Path, criteria: CriteriaFile, told: str) -> Baseline:
    from npulse.core.gate import read_baseline
    from npulse.core.packs.opening import is_archive

    if told.startswith(ROUND):
        name = told.removeprefix(ROUND) or _marked(run)
        if name == options.round_name:
            raise UsageError(f"round {name} is the baseline of itself", hint="name another round")
        return _looked_at(options, run, criteria, name, told)
    path = Path(told)
    if path.is_file() and not is_archive(path):
        return read_baseline(path)
    if not path.exists():
        hint = "a JSON file of npulse check, a run, or round:NAME"
        raise InputError("no such baseline", path=path, hint=hint)
    return _looked_at(options, opened(path), criteria, None, told)


def _marked(run: Path) -> str:
    from ..state import StateStore
    from .rounds import known_baseline

    name = known_baseline(StateStore(), run)
    if not name:
        raise UsageError("no round is marked as baseline", hint="npulse rounds ARCHIVE --mark-baseline NAME")
    return name


def _looked_at(
    options: AnalyseOptions, run: Path, criteria: CriteriaFile, round_name: str | None, told: str
) -> Baseline:
    """The check-up of another run or round as a baseline."""
    from npulse.core.checkup.check import check_up
    from npulse.core.checkup.report import report
    from npulse.core.gate import baseline_from
    from npulse.core.report.as_json import to_dict
    from npulse.core.run.discover import discover

    lang = chosen_lang(options.lang)
    asked = replace(asked_of(options), criteria=None, round_name=round_name, tables=False)
    try:
        progress = stderr_progress(lang)
        found = check_up(discover(run, progress=progress), asked, criteria, progress=progress)
    finally:
        end_progress()
    return baseline_from(to_dict(report(found, lang), version()), told)
