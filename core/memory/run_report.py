"""What the memory area says of a run: one report a round, over all logs that it holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from npulse.core.analysis import AnalysisOptions, AreaReport
from npulse.core.errors import InputError, UsageError
from npulse.core.findings import with_problems
from npulse.core.formats.manifest import read_record
from npulse.core.progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from npulse.core.run.kinds import KINDS
from npulse.core.run.manifest import manifest_of
from npulse.core.run.model import Artifact, Run
from npulse.core.run.selection import Reports, Selection, ranks_hint, selections_of

from .analyse import Memory, OnUpdate, analyse
from .criteria import Criteria, Settings
from .kinds import LOGS
from .report import report

SOURCE_FOLDERS = ("op_kernel", "op_host")
"""As msOpGen names them."""


def nothing_here(run: Run, options: AnalysisOptions) -> InputError:
    """What is said where there is no log, or none of the rank that was asked for."""
    logs = [a for a in run.artifacts if a.kind in LOGS]
    if options.rank is not None and logs:
        known = ranks_hint(a.rank for a in logs)
        return InputError(f"no log of rank {options.rank} here", path=run.path, hint=known)
    hint = f"{KINDS['sanitizer.mssanitizer'].captured_by}; or name the folder or file that holds the log"
    return InputError("holds no sanitizer log, runtime log or memory event", path=run.path, hint=hint)


def selections(run: Run, options: AnalysisOptions) -> list[Selection]:
    """What there is to look at, round by round."""
    return selections_of(
        run,
        options,
        lambda artifacts: any(a.kind in LOGS for a in artifacts),
        is_own=lambda artifact: options.rank in (None, artifact.rank),
    )


def own_sources(run: Run, round_name: str) -> tuple[Path, ...]:
    """The operator project's source folders that lie in the round itself, or else in the run.

    Other folders are not walked unasked: a run can hold millions of files.
    """
    if not run.path.is_dir():
        return ()
    for folder in dict.fromkeys((run.path / round_name, run.path)):
        found = [folder / name for name in SOURCE_FOLDERS]
        found = [path for path in found if path.is_dir() and not path.is_symlink()]
        if found:
            return tuple(found)
    return ()


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
        if not path.exists():
            raise UsageError(f"no such path: '{path}'", hint="see npulse memory --help")
    settings = Settings(
        criteria=Criteria.parse(options.criteria) if options.criteria else Criteria(),
        source_roots=options.source_roots or own_sources(run, chosen.round),
        kernel_objects=options.kernel_objects,
        rank=options.rank,
    )
    return analyse(
        run,
        chosen.round,
        chosen.artifacts,
        settings,
        earlier=chosen.earlier,
        tails=options.tails,
        progress=progress,
        is_cancelled=is_cancelled,
        on_update=on_update,
    )


_LEAK_CHECKS = ("leak-check", "check-device-heap", "check-cann-heap")
"""Options of msSanitizer with which it looks for leaks; where there are none it says nothing of them."""


def looked_for_leaks(run: Run, artifacts: Sequence[Artifact]) -> bool:
    """Whether the round's own manifest says that msSanitizer looked for leaks."""
    manifest = manifest_of(artifacts)
    if manifest is None:
        return False
    try:
        record = read_record(manifest.path, root=run.path if run.path.is_dir() else None)
    except InputError:
        return False
    asked = record.request.get("settings")
    settings = asked if isinstance(asked, Mapping) else {}
    return record.tool == "mssanitizer" and any(settings.get(one) == "yes" for one in _LEAK_CHECKS)


def _area_report(run: Run, chosen: Selection, found: Memory, options: AnalysisOptions) -> AreaReport:
    told = report(found, lang=options.lang, tables=options.tables)
    if looked_for_leaks(run, chosen.artifacts):
        told = replace(told, summary={**told.summary, "looked_for_leaks": True})
    logs = [a.relative for a in chosen.artifacts if a.kind in LOGS]
    return AreaReport(chosen.round, ", ".join(logs[:4]), with_problems(told, run.problems))


USAGE = "npulse memory RUN"
REPORTS = Reports(USAGE, selections, nothing_here, look, _area_report, without=("pair", "step"))
reports_of, report_of, newest_of = REPORTS.reports_of, REPORTS.report_of, REPORTS.newest_of
