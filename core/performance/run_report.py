"""What the performance area says of a run: one report a round, over all profiles that it holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from npulse.core.analysis import AnalysisOptions, AreaReport, reports_of_each
from npulse.core.errors import InputError, UsageError
from npulse.core.findings import Problem, with_problems
from npulse.core.formats.manifest import read_manifest
from npulse.core.progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from npulse.core.run.discover import discover
from npulse.core.run.kinds import KINDS
from npulse.core.run.model import Artifact, Run

from .analyse import OnUpdate, Performance, analyse, changes_between
from .criteria import Criteria, Settings
from .report import changes_report, report
from .sources import CLUSTERS, KERNELS, ONE_RANK
from .wall.serving import unusable_in

READ = ONE_RANK | KERNELS | CLUSTERS
"""Kinds that make a round one with a profile."""
_NO_FIGURES = frozenset(("device.npu_smi", "npulse.round", "prof.profiler_info", "prof.session_info"))
BY = ("type", "call", "count", "average")


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
    """A report for each round that has a profile; () where none has. A round that cannot be read is left out
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
    """The report of the newest round that has a profile, or of the round that is named.

    InputError where there is nothing; UsageError for more than one path.
    """
    if len(paths) != 1:
        raise UsageError("give one run", hint="npulse performance RUN; two rounds: npulse diff RUN_A RUN_B")
    run = discover(paths[0], progress=progress, is_cancelled=is_cancelled)
    chosen = selections(run, options)
    if not chosen:
        raise nothing_here(run, options)
    found = look(run, chosen[-1], options, progress=progress, is_cancelled=is_cancelled)
    return _area_report(run, chosen[-1], found, options)


def changes_of(
    before: tuple[Run, AnalysisOptions],
    after: tuple[Run, AnalysisOptions],
    *,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> AreaReport | None:
    """What changed from the newest round of one run to that of another; None where one of them has no rows.

    The rank that is looked at first in the later run is compared with the same rank of the earlier one.
    """
    sides = []
    for run, options in (before, after):
        chosen = selections(run, options)
        if not chosen:
            return None
        alone = replace(chosen[-1], earlier=())
        sides.append(look(run, alone, options, progress=progress, is_cancelled=is_cancelled))
    options = after[1]
    changes = changes_between(sides[0], sides[1], before[0].path.name, after[0].path.name)
    if changes is None:
        return None
    told = changes_report(sides[1], changes, lang=options.lang, tables=options.tables)
    return AreaReport(sides[1].round, changes.after, told)


def nothing_here(run: Run, options: AnalysisOptions) -> InputError:
    """What is said where there is no profile, or none of the rank that was asked for."""
    found = [a for a in run.artifacts if a.kind in READ - _NO_FIGURES]
    if options.rank is not None and found:
        ranks = sorted({a.rank for a in found if a.rank is not None})
        known = "ranks: " + ", ".join(map(str, ranks[:16])) if ranks else "no folder here names a rank"
        return InputError(f"no profile of rank {options.rank} here", path=run.path, hint=known)
    hint = f"{KINDS['prof.session'].captured_by}; {KINDS['prof.framework'].captured_by}"
    return InputError("holds no profile", path=run.path, hint=hint)


def selections(run: Run, options: AnalysisOptions) -> list[Selection]:
    """What there is to look at, round by round."""
    names = [round_.name for round_ in run.rounds]
    if options.round_name is not None and options.round_name not in names:
        known = f"rounds: {', '.join(names[:8])}" if any(names) else "it has one round without a name"
        raise InputError(f"no round '{options.round_name}'", path=run.path, hint=known)
    found: list[Selection] = []
    earlier: list[tuple[str, tuple[Artifact, ...]]] = []
    for round_ in run.rounds:
        own = tuple(a for a in round_.artifacts if options.rank is None or a.rank in (None, options.rank))
        if _has_profile(own, options):
            found.append(Selection(round_.name, (*run.shared, *own), tuple(earlier)))
            earlier.append((round_.name, own))
    if not found and _has_profile(run.shared, options):
        found.append(Selection("", run.shared, ()))
    return [one for one in found if options.round_name in (None, one.round)]


def _has_profile(artifacts: Sequence[Artifact], options: AnalysisOptions) -> bool:
    """Whether there is something to look at: of the rank, where one is asked for. A cluster's own tables hold
    all ranks."""
    kept = [a for a in artifacts if a.kind in READ - _NO_FIGURES]
    if options.rank is None:
        return bool(kept)
    return any(a.rank == options.rank or a.kind in CLUSTERS for a in kept)


def settings_of(options: AnalysisOptions) -> Settings:
    """What a caller's options mean here. UsageError for criteria or ways to group that are not known."""
    if options.by not in BY:
        raise UsageError(f"unknown way to group '{options.by}'", hint="--by " + ", ".join(BY))
    return Settings(
        criteria=Criteria.parse(options.criteria) if options.criteria else Criteria(),
        rank=options.rank,
        step=options.step,
        top=-1 if options.top == 0 else (options.top or 0),
        by=options.by,
    )


def look(
    run: Run,
    chosen: Selection,
    options: AnalysisOptions,
    *,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
    on_update: OnUpdate | None = None,
) -> Performance:
    """The analysis of one selection. InputError where nothing of it can be read."""
    record, problems = round_record(run, chosen.artifacts)
    found = analyse(
        run,
        chosen.round,
        chosen.artifacts,
        settings_of(options),
        earlier=chosen.earlier,
        record=record,
        progress=progress,
        is_cancelled=is_cancelled,
        on_update=on_update,
    )
    return replace(found, problems=(*found.problems, *problems)) if problems else found


def round_record(
    run: Run, artifacts: Sequence[Artifact]
) -> tuple[Mapping[str, Any] | None, tuple[Problem, ...]]:
    """What the round's own manifest says, None where there is none or it is broken; what cannot be used."""
    manifest = next((a for a in artifacts if a.kind == "npulse.round"), None)
    if manifest is None:
        return None, ()
    try:
        record = read_manifest(manifest.path, root=run.path if run.path.is_dir() else None)
    except InputError as error:
        return None, (Problem.from_error(error, manifest.relative),)
    names = unusable_in(record)
    if not names:
        return record, ()
    message = f"{', '.join(names)}: no finite number above 0; not used"
    return record, (Problem(manifest.relative, "bad-record", message),)


def _area_report(run: Run, chosen: Selection, found: Performance, options: AnalysisOptions) -> AreaReport:
    told = report(found, lang=options.lang, tables=options.tables)
    names = [one.profile.name for one in found.profiles] or [kernel.folder for kernel in found.kernels]
    return AreaReport(chosen.round, ", ".join(names[:4]), with_problems(told, run.problems))
