"""How the story of an archive is asked for (core/analysis.py).

It is about all rounds at once: asked for one round, or in a comparison of two runs, it says nothing of its
own, since each area tells its figures there itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from npulse.core.analysis import AnalysisOptions, AreaReport, Newest
from npulse.core.errors import InputError, UsageError
from npulse.core.progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from npulse.core.run.discover import discover
from npulse.core.run.model import Run
from npulse.core.run.selection import check_round

from .report import report
from .story import story

if TYPE_CHECKING:
    from npulse.core.checkup.criteria_file import CriteriaFile
    from npulse.core.checkup.judge import Prepare


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
    """Nothing: a single round has no story."""
    return None


def report_of(
    paths: Sequence[Path],
    options: AnalysisOptions,
    *,
    criteria: CriteriaFile | None = None,
    prepare: Prepare | None = None,
    baseline: str = "",
    is_ascii: bool = True,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> AreaReport:
    """The story of the archive; criteria, prepare and baseline as `story` takes them, is_ascii as `report`.

    InputError where nothing was recognised, UsageError for options that choose within one round.
    """
    if len(paths) != 1:
        raise UsageError("give one archive", hint="npulse rounds ARCHIVE; two rounds: npulse diff")
    for word, value in (("--round", options.round_name), ("--pair", options.pair_name)):
        if value is not None:
            raise UsageError(f"{word} chooses nothing here: all rounds are told", hint=f"leave {word} out")
    if options.criteria:
        from .criteria import Criteria

        Criteria.parse(options.criteria)
    run = discover(paths[0], progress=progress, is_cancelled=is_cancelled)
    check_round(run, options)
    if not run.artifacts:
        raise InputError(
            "nothing was recognised here", path=paths[0], hint="npulse capture KIND -- COMMAND writes rounds"
        )
    found = story(
        run,
        options,
        criteria=criteria,
        prepare=prepare,
        baseline=baseline,
        progress=progress,
        is_cancelled=is_cancelled,
    )
    told = report(found, options.lang, tables=options.tables, is_ascii=is_ascii)
    return AreaReport("", run.path.name, told)
