"""How much of a report is told: from the first finding alone to every figure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .figures import number
from .findings import Finding, Report

FIRST, NO_NOTES, ALL, FIGURES = range(4)
"""The first finding alone; errors and warnings; all findings; all with their figures."""


def told_at(report: Report, verbosity: int) -> Report:
    """The report with as much as is asked for; verdict, problems and exit code stay what they are."""
    if verbosity == ALL:
        return report
    if verbosity == FIRST:
        return replace(report, told=report.told[:1], findings=report.findings[:1])
    if verbosity == NO_NOTES:
        kept = tuple(finding for finding in report.findings if finding.severity != "note")
        return replace(report, findings=kept or report.findings[:1])
    return replace(report, findings=tuple(map(_with_figures, report.findings)))


def _with_figures(finding: Finding) -> Finding:
    width = max(map(len, finding.figures), default=0)
    lines = [f"{name:<{width}}  {_shown(value)}" for name, value in finding.figures.items()]
    return replace(finding, told=(*finding.told, *lines))


def _shown(value: Any) -> str:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number(value) if is_number else str(value)
