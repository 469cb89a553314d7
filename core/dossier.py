"""What a report file holds, gathered: the check-up, every area's word on every round, the story."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from .analysis import AnalysisOptions, AreaReport
from .areas import AREAS
from .checkup.check import check_up
from .checkup.criteria_file import CriteriaFile
from .checkup.judge import Prepare, as_it_is
from .criteria import AreaState
from .errors import InputError
from .findings import Problem, Report
from .progress import IsCancelled, ProgressCallback, check, ignore_progress, never_cancelled
from .report.dossier import Dossier
from .run.model import Run


def gather(
    run: Run,
    options: AnalysisOptions,
    criteria: CriteriaFile,
    *,
    title: str = "",
    made: str = "",
    prepare: Prepare = as_it_is,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> Dossier:
    """The dossier of a run: of all rounds, or of `options.round_name` alone, which has no story.

    prepare: what is done to every report before it is judged (core/gate). title, made: as `Dossier` has them.
    Cost: every area of every round is analysed, from the cache where it was before. InputError: no such
    round; Cancelled.
    """
    asked = replace(options, tables=True)
    found = check_up(run, asked, criteria, prepare=prepare, progress=progress, is_cancelled=is_cancelled)
    reports: list[AreaReport] = []
    for state in found.areas:
        if options.round_name is None:
            for told in _earlier(run, state, asked, criteria, progress, is_cancelled):
                reports.append(replace(told, report=prepare(told.report)))
        reports += state.reports
    story = None
    if options.round_name is None and len(run.rounds) > 1:
        story = _story(run, options, criteria, prepare, progress, is_cancelled)
    return Dossier(found, tuple(map(_without_tables_note, reports)), story, title, made)


def _without_tables_note(told: AreaReport) -> AreaReport:
    """Nobody asked for --tables but this: charts are made of them where there are some."""
    return replace(told, notes=tuple(note for note in told.notes if "--tables" not in note))


def _earlier(
    run: Run,
    state: AreaState,
    options: AnalysisOptions,
    criteria: CriteriaFile,
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
) -> Iterator[AreaReport]:
    """An area's reports of the rounds that the check-up has not looked at, oldest first. One that cannot be
    read is told as a report that is incomplete."""
    area = {one.id: one for one in AREAS}.get(state.area)
    if area is None:  # the environment is the newest round's
        return
    asked = replace(options, criteria=criteria.area_options(area.id), earlier=False)
    known = {told.round for told in state.reports}
    for round_ in run.rounds:
        check(is_cancelled)
        if round_.name in known:
            continue
        try:
            yield from area.reports_of(
                run, replace(asked, round_name=round_.name), progress=progress, is_cancelled=is_cancelled
            )
        except InputError as error:
            problem = Problem.from_error(error, str(error.path or run.path))
            refused = Report(area.command, str(run.path), "incomplete", problems=(problem,))
            yield AreaReport(round_.name, "", refused)


def _story(
    run: Run,
    options: AnalysisOptions,
    criteria: CriteriaFile,
    prepare: Prepare,
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
) -> Report:
    from .rounds.report import report
    from .rounds.story import story

    asked = replace(options, tables=False, criteria=None)
    found = story(
        run, asked, criteria=criteria, prepare=prepare, progress=progress, is_cancelled=is_cancelled
    )
    return report(found, options.lang)
