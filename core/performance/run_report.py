"""What the performance area says of a run: one report a round, over all profiles that it holds."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from npulse.core.analysis import AnalysisOptions, AreaReport, Newest
from npulse.core.errors import InputError, UsageError
from npulse.core.findings import Problem, with_problems
from npulse.core.formats.manifest import RoundRecord, read_record
from npulse.core.progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from npulse.core.run.kinds import KINDS
from npulse.core.run.manifest import MANIFEST, manifest_of
from npulse.core.run.model import Artifact, Run
from npulse.core.run.selection import Reports, Selection, ranks_hint, selections_of
from npulse.core.text import say

from .analyse import analyse
from .cards import unwell_cards, with_cards, words_of
from .comparing import compared, same_rank
from .criteria import Criteria, Settings
from .found import OnUpdate, Performance
from .report import changes_report, report
from .sources import CLUSTERS, KERNELS, ONE_RANK
from .texts import TEXTS

READ = ONE_RANK | KERNELS | CLUSTERS
"""Kinds that make a round one with a profile."""
_NO_FIGURES = frozenset(("device.npu_smi", MANIFEST, "prof.profiler_info", "prof.session_info"))
BY = ("type", "call", "count", "average")


def changes_of(
    before: Newest, after: Newest, options: AnalysisOptions, names: tuple[str, str]
) -> AreaReport | None:
    """What changed from one run's round to another's; None where one of them has no rows.

    names: what the runs are called where their rounds have no name.

    The rank that is looked at first in the later run is compared with the same rank of the earlier one.
    """
    old: Performance = before.analysis
    new: Performance = after.analysis
    now = new.shown
    earlier = same_rank(old, now) if now is not None else None
    if now is None or earlier is None:
        return None
    changes = compared(earlier, now, new.settings, old.round or names[0], new.round or names[1])
    if changes is None:
        return None
    is_one = max(len(old.profiles), len(new.profiles)) < 2
    of = None if is_one else (earlier.profile, now.profile)
    told = changes_report(new, changes, of=of, lang=options.lang, tables=options.tables)
    hot = tuple(
        say(TEXTS, "changes-not-trusted", options.lang, round=name, cards=words_of(one.cards, options.lang))
        for one, name in ((old, changes.before), (new, changes.after))
        if one.cards
    )
    return AreaReport(new.round, changes.after, replace(told, told=(*hot, *told.told)))


def nothing_here(run: Run, options: AnalysisOptions) -> InputError:
    """What is said where there is no profile, or none of the rank that was asked for."""
    found = [a for a in run.artifacts if a.kind in READ - _NO_FIGURES]
    if options.rank is not None and found:
        known = ranks_hint(a.rank for a in found)
        return InputError(f"no profile of rank {options.rank} here", path=run.path, hint=known)
    hint = f"{KINDS['prof.session'].captured_by}; {KINDS['prof.framework'].captured_by}"
    return InputError("holds no profile", path=run.path, hint=hint)


def selections(run: Run, options: AnalysisOptions) -> list[Selection]:
    """What there is to look at, round by round."""
    return selections_of(
        run,
        options,
        lambda artifacts: _has_profile(artifacts, options),
        is_own=lambda artifact: options.rank is None or artifact.rank in (None, options.rank),
    )


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
    clock: Callable[[], float] = time.monotonic,
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
        tails=options.tails,
        progress=progress,
        is_cancelled=is_cancelled,
        on_update=on_update,
        clock=clock,
        room=options.cache.folder if options.cache is not None else None,
    )
    cards = unwell_cards(
        run, chosen.round, chosen.artifacts, found, tails=options.tails, is_cancelled=is_cancelled
    )
    found = with_cards(found, cards)
    return replace(found, problems=(*found.problems, *problems)) if problems else found


def round_record(run: Run, artifacts: Sequence[Artifact]) -> tuple[RoundRecord | None, tuple[Problem, ...]]:
    """What the round's own manifest says, None where there is none or it is broken; what cannot be used."""
    manifest = manifest_of(artifacts)
    if manifest is None:
        return None, ()
    try:
        record = read_record(manifest.path, root=run.path if run.path.is_dir() else None)
    except InputError as error:
        return None, (Problem.from_error(error, manifest.relative),)
    if not record.unusable:
        return record, ()
    message = f"{', '.join(record.unusable)}: no finite number above 0; not used"
    return record, (Problem(manifest.relative, "bad-record", message),)


def _area_report(run: Run, chosen: Selection, found: Performance, options: AnalysisOptions) -> AreaReport:
    told = report(found, lang=options.lang, tables=options.tables)
    names = [one.profile.name for one in found.profiles] or [kernel.folder for kernel in found.kernels]
    is_of_any = any(a.rank is None for a in chosen.artifacts if a.kind in KERNELS)
    asked = [("--rank", options.rank if is_of_any else None), ("--step", options.step)]
    words = ", ".join(word for word, n in asked if n is not None)
    notes = (say(TEXTS, "kernels-all", options.lang, words=words),) if found.kernels and words else ()
    return AreaReport(chosen.round, ", ".join(names[:4]), with_problems(told, run.problems), notes)


USAGE = "npulse performance RUN; two rounds: npulse diff RUN_A RUN_B"
REPORTS = Reports(USAGE, selections, nothing_here, look, _area_report, without=("pair",))
reports_of, report_of, newest_of = REPORTS.reports_of, REPORTS.report_of, REPORTS.newest_of
