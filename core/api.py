"""The library's front door: what `import npulse` re-exports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import InputError
from .findings import Finding, Problem, Report, Verdict
from .precision.compare import Comparison, Settings, compare_captures
from .precision.report import report as precision_report
from .progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from .run.discover import discover
from .run.model import Run
from .run.sides import CapturePair, capture_pairs, captures_of, pair_of
from .text import Lang

if TYPE_CHECKING:
    import pandas

StrPath = str | PathLike[str]


@dataclass(frozen=True, slots=True)
class PrecisionReport:
    """A comparison and its report, with what a script asks for first."""

    comparison: Comparison
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

    @property
    def max_error(self) -> float:
        """Largest relative L2 error of a compared tensor (a lower bound where only statistics exist)."""
        import numpy as np

        errors = [
            np.fmax(rank.rows.figures["rel_l2"], rank.rows.figures["rel_l2_at_least"])
            for rank in self.comparison.ranks
        ]
        found = [float(np.nanmax(e)) for e in errors if len(e) and not np.isnan(e).all()]
        return max(found, default=0.0)

    def to_frame(self) -> pandas.DataFrame:
        """All rows with the contract's columns as a pandas frame; absent values are NA."""
        import pandas

        from .precision.table import precision_table

        table = precision_table(self.comparison)
        return pandas.DataFrame({c.name: [c.value(i) for i in range(table.n_rows)] for c in table.columns})


def open_run(path: StrPath) -> Run:
    """What is in a folder or file; nothing is read in full. InputError where there is no such path."""
    return discover(Path(path))


def pairs_in(run: Run) -> tuple[CapturePair, ...]:
    """The capture pairs that a run holds, one a round; empty where it holds no two sides."""
    return capture_pairs(run)


def compare(
    target: StrPath,
    golden: StrPath | None = None,
    *,
    settings: Settings | None = None,
    lang: Lang = "en",
    tables: bool = False,
    round_name: str | None = None,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
    on_update: Callable[[Comparison], None] | None = None,
) -> PrecisionReport:
    """Compare two captures, or the two that one folder holds.

    Raises InputError where there is nothing to compare; a folder with several rounds gives the newest
    unless `round_name` names one.
    """
    pair = choose_pair(target, golden, round_name)
    comparison = compare_captures(
        pair, settings or Settings(), progress=progress, is_cancelled=is_cancelled, on_update=on_update
    )
    return PrecisionReport(comparison, precision_report(comparison, lang=lang, tables=tables))


def capture_names(run: Run) -> list[str]:
    """The captures of a run, paired or not, as their folders are named."""
    return [capture.name for capture in captures_of(run)]


def is_single_capture(run: Run) -> bool:
    """True where a run holds just one capture: there is nothing to compare it with."""
    return len(captures_of(run)) == 1


def choose_pair(target: StrPath, golden: StrPath | None, round_name: str | None = None) -> CapturePair:
    """The pair that the arguments mean. InputError with what was found instead."""
    if golden is not None:
        return pair_of(Path(target), Path(golden))
    run = open_run(target)
    pairs = pairs_in(run)
    if round_name is not None:
        pairs = tuple(p for p in pairs if p.round == round_name)
    if pairs:
        return pairs[-1]
    names = capture_names(run)
    if len(names) > 1 and round_name is None:
        raise InputError(
            f"{len(names)} captures, and their names do not say which is target and which is golden",
            path=target,
            hint="name the two as TARGET and GOLDEN: " + ", ".join(names[:8]),
        )
    raise InputError(
        "no capture pair here" + (f" in round '{round_name}'" if round_name else ""),
        path=target,
        hint="give the golden capture as second argument, or open a folder that holds both "
        "(named npu/gpu/cpu/golden/bench/target ...)",
    )


def with_problems(report: Report, problems: tuple[Problem, ...]) -> Report:
    """The report with further problems (those of discovery) in front; a pass becomes incomplete."""
    if not problems:
        return report
    problems = tuple(problem for problem in problems if problem not in report.problems)
    verdict: Verdict = "incomplete" if report.verdict in ("pass", "warn", "unknown") else report.verdict
    return replace(report, problems=(*problems, *report.problems), verdict=verdict)
