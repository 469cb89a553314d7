"""What the memory area says of a run: one report a round, over all logs that it holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from npulse.core.analysis import AnalysisOptions, AreaReport, reports_of_each
from npulse.core.errors import InputError, UsageError
from npulse.core.findings import with_problems
from npulse.core.progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from npulse.core.run.discover import discover
from npulse.core.run.kinds import KINDS
from npulse.core.run.model import Artifact, Run

from .analyse import Memory, OnUpdate, analyse
from .criteria import Criteria, Settings
from .kinds import LOGS
from .report import report


@dataclass(frozen=True, slots=True)
class Selection:
    """What is looked at: a round, its artifacts, and the rounds before it, oldest first."""

    round: str
    artifacts: tuple[Artifact, ...]
    earlier: tuple[tuple[str, tuple[Artifact, ...]], ...]


def reports_of(
    run: Run,
    options: AnalysisOptions,
    *,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> tuple[AreaReport, ...]:
    """A report for each round that has a log; () where none has. A round that cannot be read is left out
    where another one can."""

    def one(chosen: Selection) -> AreaReport:
        found = look(run, chosen, options, progress=progress, is_cancelled=is_cancelled)
        return _area_report(run, chosen, found, options)

    return reports_of_each(selections(run, options), one)


def report_of(
    paths: Sequence[Path],
    options: AnalysisOptions,
    *,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> AreaReport:
    """The report of the newest round that has a log, or of the round that is named.

    InputError where there is nothing; UsageError for more than one path.
    """
    if len(paths) != 1:
        raise UsageError("give one run", hint="npulse memory RUN")
    run = discover(paths[0], progress=progress, is_cancelled=is_cancelled)
    chosen = selections(run, options)
    if not chosen:
        raise nothing_here(run, options)
    found = look(run, chosen[-1], options, progress=progress, is_cancelled=is_cancelled)
    return _area_report(run, chosen[-1], found, options)


def nothing_here(run: Run, options: AnalysisOptions) -> InputError:
    """What is said where there is no log, or none of the rank that was asked for."""
    ranks = sorted({a.rank for a in run.artifacts if a.kind in LOGS and a.rank is not None})
    if options.rank is not None and any(a.kind in LOGS for a in run.artifacts):
        known = "ranks: " + ", ".join(map(str, ranks[:16])) if ranks else "no folder here names a rank"
        return InputError(f"no log of rank {options.rank} here", path=run.path, hint=known)
    hint = f"{KINDS['sanitizer.mssanitizer'].captured_by}; or name the folder or file that holds the log"
    return InputError("holds no sanitizer log, runtime log or memory event", path=run.path, hint=hint)


def selections(run: Run, options: AnalysisOptions) -> list[Selection]:
    """What there is to look at, round by round."""
    names = [round_.name for round_ in run.rounds]
    if options.round_name is not None and options.round_name not in names:
        known = f"rounds: {', '.join(names[:8])}" if any(names) else "it has one round without a name"
        raise InputError(f"no round '{options.round_name}'", path=run.path, hint=known)
    found: list[Selection] = []
    earlier: list[tuple[str, tuple[Artifact, ...]]] = []
    for round_ in run.rounds:
        own = tuple(a for a in round_.artifacts if options.rank in (None, a.rank))
        if any(artifact.kind in LOGS for artifact in own):
            found.append(Selection(round_.name, (*run.shared, *own), tuple(earlier)))
            earlier.append((round_.name, own))
    if not found and any(artifact.kind in LOGS for artifact in run.shared):
        found.append(Selection("", run.shared, ()))
    return [one for one in found if options.round_name in (None, one.round)]


def look(
    run: Run,
    chosen: Selection,
    options: AnalysisOptions,
    *,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
    on_update: OnUpdate | None = None,
) -> Memory:
    """The analysis of one selection. InputError where nothing of it can be read, UsageError for bad paths."""
    for path in (*options.source_roots, *options.kernel_objects):
        if path == Path() or not path.exists():
            raise UsageError(
                f"no such path: '{'' if path == Path() else path}'", hint="see npulse memory --help"
            )
    settings = Settings(
        criteria=Criteria.parse(options.criteria) if options.criteria else Criteria(),
        source_roots=options.source_roots,
        kernel_objects=options.kernel_objects,
        rank=options.rank,
    )
    return analyse(
        run,
        chosen.round,
        chosen.artifacts,
        settings,
        earlier=chosen.earlier,
        progress=progress,
        is_cancelled=is_cancelled,
        on_update=on_update,
    )


def _area_report(run: Run, chosen: Selection, found: Memory, options: AnalysisOptions) -> AreaReport:
    told = report(found, lang=options.lang, tables=options.tables)
    logs = [a.relative for a in chosen.artifacts if a.kind in LOGS]
    return AreaReport(chosen.round, ", ".join(logs[:4]), with_problems(told, run.problems))
