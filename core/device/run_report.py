"""What the device area says of a run: one report a round, over all that npu-smi said in it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from npulse.core.analysis import AnalysisOptions, AreaReport, Newest
from npulse.core.errors import InputError
from npulse.core.findings import Report, verdict_from, with_problems
from npulse.core.progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from npulse.core.run.discover import discover
from npulse.core.run.manifest import MANIFEST
from npulse.core.run.model import Artifact, Round, Run
from npulse.core.run.selection import Reports, Selection, ranks_hint, selections_of

from .analyse import TEXT, Devices, analyse, broken_manifests, has_snapshots
from .changes import changes
from .criteria import Criteria, Settings
from .reading import tells_of_cards
from .report import report

MAX_ASKED_BYTES = 8 << 20
"""A file that does not look like npu-smi's is read to the end only up to this size."""
WORDS = (b"npu-smi", b"| NPU", b"NpuID(Idx)", b"dcmi", b"DCMI", b"NPU card")
"""One of them stands in every text that is looked for so."""


def nothing_here(run: Run, options: AnalysisOptions) -> InputError:
    """What is said where nothing tells of cards, or nothing of the rank that was asked for."""
    texts = [one for one in run.artifacts if one.kind == TEXT]
    if options.rank is not None and texts:
        known = ranks_hint(one.rank for one in texts)
        return InputError(f"no output of npu-smi of rank {options.rank} here", path=run.path, hint=known)
    manifests = [one for one in run.artifacts if one.kind == MANIFEST]
    broken = next(broken_manifests(manifests, run.path if run.path.is_dir() else run.path.parent), None)
    if broken is not None:
        hint = f"{broken.artifact}: {broken.message}"
        return InputError("holds no snapshot of cards that can be read", path=run.path, hint=hint)
    hint = "npu-smi info > npu_smi.txt; of this machine now: npulse device --now"
    return InputError("holds no output of npu-smi and no snapshot of cards", path=run.path, hint=hint)


def selections(run: Run, options: AnalysisOptions) -> list[Selection]:
    """What there is to look at, round by round."""
    root = run.path if run.path.is_dir() else run.path.parent

    def tells(artifact: Artifact) -> bool:
        return artifact.kind == TEXT or has_snapshots(artifact, root)

    return selections_of(
        _with_text(run),
        options,
        lambda artifacts: any(map(tells, artifacts)),
        is_own=lambda artifact: options.rank is None or artifact.rank in (None, options.rank),
    )


def _with_text(run: Run) -> Run:
    """A file that somebody named is text of npu-smi if it tells of cards, whatever stands around it."""
    is_asked = not run.artifacts and not run.path.is_dir()
    if not is_asked:
        return run
    try:
        state = os.stat(run.path)
        if state.st_size > MAX_ASKED_BYTES or not tells_of_cards(run.path, WORDS):
            return run
    except (OSError, InputError):
        return run
    found = Artifact(TEXT, run.path, run.path.name, state.st_size, state.st_mtime_ns)
    return replace(run, rounds=(Round("", (found,)),))


def look(
    run: Run,
    chosen: Selection,
    options: AnalysisOptions,
    *,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> Devices:
    """The analysis of one selection. InputError where nothing of it can be read."""
    return analyse(
        run,
        chosen.round,
        chosen.artifacts,
        settings_of(options),
        tails=options.tails,
        progress=progress,
        is_cancelled=is_cancelled,
    )


def settings_of(options: AnalysisOptions) -> Settings:
    """How to look, by the options of a command."""
    return Settings(Criteria.parse(options.criteria) if options.criteria else Criteria())


def _area_report(run: Run, chosen: Selection, found: Devices, options: AnalysisOptions) -> AreaReport:
    told = report(found, lang=options.lang, tables=options.tables)
    names = [Path(one.name).name for one in found.sources]
    return AreaReport(chosen.round, ", ".join(dict.fromkeys(names[:4])), with_problems(told, run.problems))


USAGE = "npulse device RUN; of this machine now: npulse device --now"
REPORTS = Reports(USAGE, selections, nothing_here, look, _area_report, without=("pair", "step"))
reports_of, newest_of = REPORTS.reports_of, REPORTS.newest_of


def changes_of(
    before: Newest, after: Newest, options: AnalysisOptions, names: tuple[str, str]
) -> AreaReport | None:
    """What happened to the cards from one run's last state to another's; None where that is nothing."""
    old, new = before.analysis.main, after.analysis.main
    notes = changes(old.snapshot, new.snapshot, settings_of(options)) if old and new else ()
    if not notes:
        return None
    found: Devices = after.analysis
    findings = tuple(note.finding(options.lang) for note in notes)
    told = Report("device", str(found.root), verdict_from(findings), findings=findings)
    return AreaReport(found.round, names[1], told)


def report_of(
    paths: Sequence[Path],
    options: AnalysisOptions,
    *,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> AreaReport:
    """The report of a run, or of several files together: the calls that somebody saved one by one.

    InputError where one of them tells nothing of cards.
    """
    if len(paths) < 2:
        return REPORTS.report_of(paths, options, progress=progress, is_cancelled=is_cancelled)
    root = Path(os.path.commonpath([os.path.abspath(path) for path in paths]))
    runs = [_with_text(discover(path, progress=progress, is_cancelled=is_cancelled)) for path in paths]
    for run in runs:
        REPORTS.newest(run, options)
    artifacts = tuple(
        replace(one, relative=os.path.relpath(one.path, root)) for run in runs for one in run.artifacts
    )
    whole = Run(
        root,
        (Round("", artifacts),),
        tuple(problem for run in runs for problem in run.problems),
        sum(run.n_entries for run in runs),
    )
    chosen = REPORTS.newest(whole, options)
    found = look(whole, chosen, options, progress=progress, is_cancelled=is_cancelled)
    return _area_report(whole, chosen, found, options)
