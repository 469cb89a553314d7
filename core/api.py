"""The library's front door: what `import npulse` re-exports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from .analysis import AnalysisOptions
from .checkup.check import check_up
from .checkup.criteria_file import CriteriaFile, default_criteria, read_criteria
from .checkup.report import report as check_up_report
from .checkup.run_report import silences_of
from .checkup.table import criteria_table
from .criteria import AreaState, CheckUp
from .device import run_report as device_run_report
from .device.analyse import Devices
from .findings import Finding, Problem, Report, Verdict
from .gate import Baseline, Gate, read_baseline
from .memory import run_report as memory_run_report
from .memory.analyse import Memory
from .overflow import run_report as overflow_run_report
from .overflow.analyse import Overflow
from .performance import run_report as performance_run_report
from .performance.found import Performance
from .performance.table import TableKind
from .precision import choose
from .precision.compare import Comparison, Settings, compare_captures
from .precision.report import report as precision_report
from .progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from .recheck.run_recheck import RecheckReport
from .run.discover import discover
from .run.model import Run
from .run.sides import CapturePair, capture_pairs, pair_of
from .table import Table
from .text import Lang

if TYPE_CHECKING:
    import pandas

StrPath = str | PathLike[str]


@dataclass(frozen=True, slots=True)
class AreaAnswer:
    """A report with what a script asks for first; every area adds what it rests on."""

    report: Report

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self.report.findings

    @property
    def problems(self) -> tuple[Problem, ...]:
        return self.report.problems

    @property
    def verdict(self) -> Verdict:
        return self.report.verdict


@dataclass(frozen=True, slots=True)
class PrecisionReport(AreaAnswer):
    """A comparison and its report."""

    comparison: Comparison

    @property
    def max_error(self) -> float:
        """Largest relative L2 error of a compared tensor (a lower bound where only statistics exist).

        inf where a tensor is an error that no figure measures (NaN on one side, another shape); NaN where
        nothing was measured, so that no limit holds.
        """
        import numpy as np

        from .precision.verdict import ERROR

        found = []
        for rank in self.comparison.ranks:
            rows = rank.rows
            errors = np.fmax(rows.figures["rel_l2"], rows.figures["rel_l2_at_least"])
            errors = np.where((rows.verdict == ERROR) & ~(errors > 0), np.inf, errors)
            found += [float(np.nanmax(errors))] if not np.isnan(errors).all() else []
        return max(found, default=float("nan"))

    def to_frame(self) -> pandas.DataFrame:
        """All rows with the contract's columns as a pandas frame; absent values are NA."""
        from .precision.table import precision_table

        return _frame(precision_table(self.comparison))


@dataclass(frozen=True, slots=True)
class OverflowReport(AreaAnswer):
    """What was found of NaN, Inf and saturation in a round, and its report."""

    found: Overflow

    @property
    def origin(self) -> Finding | None:
        """The first origin; None where nothing began."""
        return next((finding for finding in self.findings if finding.role == "origin"), None)

    @property
    def max_error(self) -> float:
        """Largest share of its dtype's range that a finite tensor reaches; inf where something overflowed.

        NaN where no tensor tells a share.
        """
        import numpy as np

        if self.origin is not None:
            return float("inf")
        shares = [rank.health.absmax / rank.health.largest for rank in self.found.looked_through]
        known = (float(np.nanmax(s)) for s in shares if len(s) and not np.isnan(s).all())
        return max(known, default=float("nan"))

    def to_frame(self) -> pandas.DataFrame:
        """All tensors with the contract's columns as a pandas frame; absent values are NA."""
        from .overflow.table import overflow_table

        return _frame(overflow_table(self.found))


@dataclass(frozen=True, slots=True)
class MemoryReport(AreaAnswer):
    """The memory faults of a round, grouped by code site, and their report."""

    found: Memory

    @property
    def origin(self) -> Finding | None:
        """The fault to look at first; None where there is no error."""
        return next((finding for finding in self.findings if finding.severity == "error"), None)

    @property
    def max_error(self) -> float:
        """How many sites are errors, as there is no size of a memory fault."""
        return float(self.report.counts["errors"])

    def to_frame(self) -> pandas.DataFrame:
        """All sites with the contract's columns as a pandas frame; absent values are NA."""
        from .memory.table import memory_table

        return _frame(memory_table(self.found))


@dataclass(frozen=True, slots=True)
class PerformanceReport(AreaAnswer):
    """What takes the time of a round, and its report."""

    found: Performance

    @property
    def origin(self) -> Finding | None:
        """What to attack first; None where nothing is over a threshold."""
        return next((finding for finding in self.findings if finding.role == "origin"), None)

    @property
    def max_error(self) -> float:
        """Idle share of the wall time, 0 to 1; NaN where no time of the device was recorded."""
        shown = self.found.shown
        wall = shown.wall.wall if shown is not None else None
        return wall.idle_share if wall is not None else float("nan")

    def to_frame(self, kind: TableKind = "type") -> pandas.DataFrame:
        """One of the round's tables as a pandas frame; absent values are NA.

        Raises KeyError for one that the round has not.
        """
        from .performance.table import kinds_of, performance_table

        if kind not in kinds_of(self.found):
            raise KeyError(kind)
        return _frame(performance_table(self.found, kind))


@dataclass(frozen=True, slots=True)
class DeviceReport(AreaAnswer):
    """What is known of the cards, and its report."""

    found: Devices

    @property
    def origin(self) -> Finding | None:
        """The first error; None where no card has one."""
        return next((finding for finding in self.findings if finding.severity == "error"), None)

    @property
    def max_error(self) -> float:
        """How many findings are errors, as there is no size of a fault; NaN where no device is known."""
        main = self.found.main
        is_known = main is not None and main.snapshot.is_known
        return float(self.report.counts["errors"]) if is_known else float("nan")

    def to_frame(self) -> pandas.DataFrame:
        """All chips with the contract's columns as a pandas frame; absent values are NA."""
        from .device.table import device_table

        return _frame(device_table(self.found))


@dataclass(frozen=True, slots=True)
class CheckUpReport(AreaAnswer):
    """All areas of a run against the criteria, and their report."""

    found: CheckUp

    @property
    def areas(self) -> tuple[AreaState, ...]:
        """Every area in check-up order, with its criteria and what is missing."""
        return self.found.areas

    @property
    def origin(self) -> Finding | None:
        """The finding to look at first; None where there is no error."""
        return next((finding for finding in self.findings if finding.severity == "error"), None)

    @property
    def max_error(self) -> float:
        """How many findings are errors; NaN where nothing was recorded that can be judged."""
        is_any = any(area.is_counted and area.reports for area in self.areas)
        return float(sum(f.severity == "error" for f in self.findings)) if is_any else float("nan")

    def to_frame(self) -> pandas.DataFrame:
        """A row a criterion with the contract's columns as a pandas frame; absent values are NA."""
        return _frame(criteria_table(self.found))


def _frame(table: Table) -> pandas.DataFrame:
    import pandas

    return pandas.DataFrame({c.name: c.to_list(0, table.n_rows) for c in table.exported})


def open_run(path: StrPath) -> Run:
    """What is in a folder or file; nothing is read in full. InputError where there is no such path."""
    return discover(Path(path))


def pairs_in(run: Run) -> tuple[CapturePair, ...]:
    """The capture pairs that a run holds, in the order of its rounds; empty where it holds no two sides."""
    return capture_pairs(run)


def compare(
    target: StrPath,
    golden: StrPath | None = None,
    *,
    settings: Settings | None = None,
    lang: Lang = "en",
    tables: bool = False,
    round_name: str | None = None,
    pair_name: str | None = None,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
    on_update: Callable[[Comparison], None] | None = None,
) -> PrecisionReport:
    """Compare two captures, or the two that one folder holds.

    Raises InputError where there is nothing to compare. A folder with several pairs gives the first of the
    newest round, unless `round_name` or `pair_name` (the target's name) say which.
    """
    pair = choose_pair(target, golden, round_name, pair_name)
    comparison = compare_captures(
        pair, settings or Settings(), progress=progress, is_cancelled=is_cancelled, on_update=on_update
    )
    return PrecisionReport(precision_report(comparison, lang=lang, tables=tables), comparison)


def first_overflow(
    run: Run | StrPath,
    *,
    options: AnalysisOptions | None = None,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
    on_update: Callable[[Overflow], None] | None = None,
) -> OverflowReport:
    """Where NaN, Inf or saturation begins in the newest round of a run that has something to look at.

    options: round, rank, step, criteria, language ... as a command takes them. InputError where there is
    nothing to look at.
    """
    opened = run if isinstance(run, Run) else open_run(run)
    asked = options or AnalysisOptions()
    chosen = overflow_run_report.REPORTS.newest(opened, asked)
    found = overflow_run_report.look(
        opened, chosen, asked, progress=progress, is_cancelled=is_cancelled, on_update=on_update
    )
    return OverflowReport(overflow_run_report.REPORTS.tell(opened, chosen, found, asked).report, found)


def memory(
    run: Run | StrPath,
    *,
    source_roots: Sequence[StrPath] = (),
    options: AnalysisOptions | None = None,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
    on_update: Callable[[Memory], None] | None = None,
) -> MemoryReport:
    """The memory faults in the newest round of a run that has a log, grouped by code site.

    source_roots: folders in which the user's sources lie. options: round, rank, criteria, language ... as a
    command takes them. InputError where there is nothing to look at.
    """
    opened = run if isinstance(run, Run) else open_run(run)
    asked = options or AnalysisOptions()
    if source_roots:
        asked = replace(asked, source_roots=tuple(Path(root) for root in source_roots))
    chosen = memory_run_report.REPORTS.newest(opened, asked)
    found = memory_run_report.look(
        opened, chosen, asked, progress=progress, is_cancelled=is_cancelled, on_update=on_update
    )
    return MemoryReport(memory_run_report.REPORTS.tell(opened, chosen, found, asked).report, found)


def performance(
    run: Run | StrPath,
    *,
    options: AnalysisOptions | None = None,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
    on_update: Callable[[Performance], None] | None = None,
) -> PerformanceReport:
    """What to attack first in the newest round of a run that has a profile: idle, communication or compute,
    then which operator, then why.

    options: round, rank, step, criteria, language ... as a command takes them. InputError where there is
    nothing to look at.
    """
    opened = run if isinstance(run, Run) else open_run(run)
    asked = options or AnalysisOptions()
    chosen = performance_run_report.REPORTS.newest(opened, asked)
    found = performance_run_report.look(
        opened, chosen, asked, progress=progress, is_cancelled=is_cancelled, on_update=on_update
    )
    return PerformanceReport(performance_run_report.REPORTS.tell(opened, chosen, found, asked).report, found)


def device(
    run: Run | StrPath | None = None,
    *,
    options: AnalysisOptions | None = None,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> DeviceReport:
    """What is not well with the cards in the newest round of a run that tells of them; without a run those of
    this machine, by npu-smi (`found.main.snapshot.state` says why there are none).

    options: round, rank, criteria, language ... as a command takes them. InputError where a run tells nothing
    of cards.
    """
    asked = options or AnalysisOptions()
    if run is None:
        from .device.live import LiveDevices
        from .device.report import report

        now = LiveDevices(device_run_report.settings_of(asked)).look(is_cancelled=is_cancelled)
        return DeviceReport(report(now, lang=asked.lang, tables=asked.tables), now)
    opened = run if isinstance(run, Run) else open_run(run)
    chosen = device_run_report.REPORTS.newest(opened, asked)
    found = device_run_report.look(opened, chosen, asked, progress=progress, is_cancelled=is_cancelled)
    return DeviceReport(device_run_report.REPORTS.tell(opened, chosen, found, asked).report, found)


def check(
    run: Run | StrPath,
    criteria: CriteriaFile | StrPath | None = None,
    *,
    baseline: Baseline | StrPath | None = None,
    options: AnalysisOptions | None = None,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> CheckUpReport:
    """All areas of a run, the newest round of each, against the criteria.

    criteria: a criteria file, or one that was read; None for the bundled one. Its silences count as of today.
    baseline: JSON of an earlier check-up: what is known there counts only where it got worse.
    options: round, rank, language ... as a command takes them. InputError, UsageError: a file that cannot be
    used.
    """
    opened = run if isinstance(run, Run) else open_run(run)
    asked = options or AnalysisOptions()
    if criteria is None:
        in_force = default_criteria()
    else:
        in_force = criteria if isinstance(criteria, CriteriaFile) else read_criteria(Path(criteria))
    known = read_baseline(Path(baseline)) if isinstance(baseline, str | PathLike) else baseline
    gate = Gate(date.today(), silences_of(in_force), known, asked.lang)
    found = check_up(
        opened, asked, in_force, prepare=gate.prepare, progress=progress, is_cancelled=is_cancelled
    )
    return CheckUpReport(check_up_report(found, asked.lang, tables=asked.tables), found)


def recheck(
    run: Run | StrPath,
    operator: str,
    *,
    side: str | None = None,
    reference: str | None = None,
    activation: str | None = None,
    scale: str | None = None,
    options: AnalysisOptions | None = None,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> RecheckReport:
    """Calls of an operator computed again on the CPU from their dumped inputs, each with its outcome.

    operator: a call's full name, a pattern of names, an API or a module class. side: "target" or "golden" of
    a run that holds both. reference: FILE.py:FUNCTION, the user's own. activation, scale: a leaf (and its
    scale, a leaf or a number) that is studied under int8. InputError where nothing was dumped, UsageError
    where no call fits.
    """
    from .recheck.run_recheck import recheck as computed_again

    return computed_again(
        run,
        operator,
        side=side,
        reference=reference,
        activation=activation,
        scale=scale,
        options=options,
        progress=progress,
        is_cancelled=is_cancelled,
    )


def choose_pair(
    target: StrPath, golden: StrPath | None, round_name: str | None = None, pair_name: str | None = None
) -> CapturePair:
    """The pair that the arguments mean. InputError with what was found instead."""
    if golden is not None:
        return pair_of(Path(target), Path(golden))
    return choose.choose_pair(open_run(target), round_name, pair_name)
