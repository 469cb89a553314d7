"""The check-up of a run: every area asked once, in order, its newest round, then judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from npulse.core.analysis import AnalysisOptions, AreaReport
from npulse.core.areas import area_of
from npulse.core.cache import Cache
from npulse.core.criteria import CheckUp
from npulse.core.errors import InputError
from npulse.core.findings import Problem, Report, with_problems
from npulse.core.kept.keeper import keeper_of, kept_or_made, settings_of_run
from npulse.core.plugins.analyses import has_analyses, joined_with, plugin_reports, without_tables
from npulse.core.progress import (
    IsCancelled,
    Progress,
    ProgressCallback,
    check,
    ignore_progress,
    never_cancelled,
)
from npulse.core.run.model import Run
from npulse.core.run.selection import check_round
from npulse.core.tails import Tails
from npulse.core.text import Lang

from .commands import RunFacts, facts_of_run
from .criteria_file import CriteriaFile
from .criterion import ORDER
from .here import device_here, environment_here
from .judge import ALL_ROUNDS, Prepare, as_it_is, judged

_CHOOSE_BY: Mapping[str, frozenset[str]] = {
    "precision": frozenset(("pair", "rank", "step")),
    "overflow": frozenset(("pair", "rank", "step")),
    "performance": frozenset(("rank", "step")),
    "memory": frozenset(("rank",)),
}
"""What an area can be narrowed to; the others show all they have."""
OnUpdate = Callable[[CheckUp, str], None]
"""What is known so far, and the area that is asked next."""


def check_up(
    run: Run,
    options: AnalysisOptions,
    criteria: CriteriaFile,
    *,
    is_here: bool = False,
    facts: RunFacts | None = None,
    tails: Mapping[str, Tails] | None = None,
    prepare: Prepare = as_it_is,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
    on_update: OnUpdate | None = None,
) -> CheckUp:
    """All areas of a run, the newest round of each (or `options.round_name`), against the criteria.

    is_here: environment and cards are this machine's. facts: what commands are filled in with, in place of
    the run's own. tails: of a run that is followed, by area. prepare: what is done to every area's report and
    to missed criteria (silenced findings, those of a baseline). on_update: gets what is there after each
    area. Plug-ins are asked last, about all that was found. An area that cannot be read is incomplete.
    InputError: no such round, or what `options` choose is in no area; Cancelled.
    """
    check_round(run, options)
    facts = kept_facts_of(run, options.cache) if facts is None else facts
    reports: dict[str, tuple[AreaReport, ...]] = {}
    refused: list[InputError] = []
    has_tables, has_plugins = options.tables, has_analyses(is_cancelled=is_cancelled)
    options = replace(options, tables=has_tables or has_plugins)
    for place, area in enumerate(ORDER):
        check(is_cancelled)
        progress(Progress("check-up", place, len(ORDER), "areas"))
        if on_update is not None and place:
            on_update(_judged(facts, reports, criteria, options, prepare), area)
        asked = replace(options, tails=tails.get(area) if tails is not None else None)
        found = _ask(run, area, asked, criteria, is_here, refused, progress, is_cancelled)
        reports[area] = tuple(replace(one, report=prepare(one.report)) for one in found)
    if has_plugins:
        for told in plugin_reports(run, reports, options, is_cancelled=is_cancelled):
            told = replace(told, report=prepare(told.report))
            reports[told.report.command] = joined_with(reports.get(told.report.command, ()), told)
        if not has_tables:
            reports = {area: tuple(map(without_tables, several)) for area, several in reports.items()}
    progress(Progress("check-up", len(ORDER), len(ORDER), "areas"))
    _refuse_nothing(run, options, reports, refused)
    return _judged(facts, reports, criteria, options, prepare)


def kept_facts_of(run: Run, cache: Cache | None) -> RunFacts:
    """`facts_of_run`, as they were kept where nothing has changed."""
    settings = ("facts", settings_of_run(run))
    return kept_or_made(keeper_of(run, cache), settings, RunFacts, lambda: facts_of_run(run))


def kept_environment_of(
    run: Run, cache: Cache | None, round_name: str | None = None, lang: Lang = "en"
) -> AreaReport | None:
    """`environment_of`, as it was kept where nothing has changed."""
    settings = ("environment", settings_of_run(run), round_name, lang)
    expected = (AreaReport, type(None))

    def made() -> AreaReport | None:
        from .environment import environment_of  # slow to load, and not needed where all is known

        return environment_of(run, round_name, lang)

    return kept_or_made(keeper_of(run, cache), settings, expected, made)


def _refuse_nothing(
    run: Run, options: AnalysisOptions, reports: Mapping[str, Sequence[AreaReport]], refused: list[InputError]
) -> None:
    """InputError where a pair, rank or step was asked for and no area has it."""
    chosen = {"pair": options.pair_name, "rank": options.rank, "step": options.step}
    words = {word: value for word, value in chosen.items() if value is not None}
    told = [
        one.report for area in _CHOOSE_BY for one in reports.get(area, ()) if words.keys() <= _CHOOSE_BY[area]
    ]
    if words and run.artifacts and not any(report.findings or report.counts for report in told):
        named = " of ".join(f"{word} {value}" for word, value in words.items())
        raise refused[0] if refused else InputError(f"no {named} here", path=run.path)


def _judged(
    facts: RunFacts,
    reports: Mapping[str, Sequence[AreaReport]],
    criteria: CriteriaFile,
    options: AnalysisOptions,
    prepare: Prepare,
) -> CheckUp:
    return judged(facts, reports, criteria, lang=options.lang, round_name=options.round_name, prepare=prepare)


def _ask(
    run: Run,
    area: str,
    options: AnalysisOptions,
    criteria: CriteriaFile,
    is_here: bool,
    refused: list[InputError],
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
) -> tuple[AreaReport, ...]:
    """The reports of one area, its rounds in order; () where it finds nothing of its own."""
    asked = replace(options, criteria=criteria.area_options(area), earlier=False)
    if area == "environment":
        if is_here:
            return (environment_here(asked),)
        found = kept_environment_of(run, options.cache, options.round_name, options.lang)
        return () if found is None else (found,)
    if area == "device" and is_here:
        return (device_here(asked, is_cancelled=is_cancelled),)

    def ask(name: str | None) -> tuple[AreaReport, ...]:
        return area_of(area).reports_of(
            run, replace(asked, round_name=name), progress=progress, is_cancelled=is_cancelled
        )

    problems: list[Problem] = []
    names: Sequence[str | None] = [round_.name for round_ in reversed(run.rounds)]
    if options.round_name is not None:
        names = [options.round_name]
    elif area == "overflow" and criteria.is_on(ALL_ROUNDS):
        names = [None]
    else:
        names = [*names, None]  # the last: what lies beside the rounds, where none of them holds anything
    for name in names:
        try:
            reports = ask(name)
        except InputError as error:
            refused.append(error)
            problems.append(Problem.from_error(error, str(error.path or name or run.path)))
            continue
        if reports:
            # a newer round that lacks the pair, rank or step was not asked for; one that cannot be read was
            kept = [] if _is_narrowed(options) else problems
            return tuple(replace(one, report=with_problems(one.report, kept)) for one in reports)
    problems = problems[:1] if _is_narrowed(options) else problems
    return (_unreadable(run, area, problems),) if problems else ()


def _is_narrowed(options: AnalysisOptions) -> bool:
    return any(value is not None for value in (options.pair_name, options.rank, options.step))


def _unreadable(run: Run, area: str, problems: list[Problem]) -> AreaReport:
    command = area_of(area).command
    return AreaReport("", "", Report(command, str(run.path), "incomplete", problems=tuple(problems)))
