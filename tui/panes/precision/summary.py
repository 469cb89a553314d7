"""The first lines of the precision pane: how it stands, which is the origin, what to do where nothing is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from npulse.core.findings import Finding, Report
from npulse.core.formats.msprobe.names import short_name
from npulse.core.text import safe_text

from .jobs import Alone, Shown

if TYPE_CHECKING:
    from ...glyphs import Glyphs

Tr = Callable[..., str]

_COUNTS = ("origin", "inherited", "unmatched", "unknown", "warning")
_ALONE_FINDINGS = 12


def shown_lines(shown: Shown, tr: Tr, glyphs: Glyphs) -> list[str]:
    """Two lines: verdict, counts and sides; then the finding to look at first and the end result."""
    report, pair = shown.report, shown.comparison.pair
    counts = [tr(f"precision.n-{name}", n=report.counts[name]) for name in _COUNTS if report.counts.get(name)]
    compared = tr("precision.n-compared", n=report.counts.get("compared", 0))
    sides = tr("precision.sides", target=safe_text(pair.target_name), golden=safe_text(pair.golden_name))
    separator = ", " if glyphs.is_ascii else " · "
    first = f"{report.verdict.upper()}  {separator.join((compared, *counts))}   {sides}"
    return [first, _first_finding(report, tr, glyphs) + _end_result(report, tr)]


def _first_finding(report: Report, tr: Tr, glyphs: Glyphs) -> str:
    if not report.findings:
        return tr("precision.nothing")
    finding = report.findings[0]
    word = finding.role if finding.role == "origin" else finding.severity
    name = short_name(finding.subject) if finding.role == "origin" else finding.subject
    return f"{glyphs.severity(word)} {tr('precision.' + word)}: {safe_text(name)}  {_figures(finding)}"


def _figures(finding: Finding) -> str:
    figures = finding.figures
    if "argument" in figures:
        return safe_text(f"{figures['argument']}: {figures.get('target')} / {figures.get('golden')}")
    for name, label in (("cosine", "cosine"), ("norm_ratio", "norm ratio")):
        value = figures.get(name)
        if isinstance(value, float):
            return f"{label} {value:.4f}"
    return str(figures.get("reason", ""))


def _end_result(report: Report, tr: Tr) -> str:
    cosine = report.summary.get("last_output_cosine")
    return f"   {tr('precision.last', cosine=f'{cosine:.4f}')}" if isinstance(cosine, float) else ""


def alone_lines(alone: Alone, path: str, tr: Tr) -> list[str]:
    """One capture or none: what was seen, what was looked for, and the way to a comparison."""
    hints = [tr("precision.how-pair"), tr("precision.how-capture")]
    if len(alone.captures) > 1:
        names = safe_text(", ".join(alone.captures[:8]))
        return [tr("precision.which", n=len(alone.captures), names=names), hints[0]]
    if alone.report is None:
        return [tr("precision.no-pair", path=safe_text(path)), *hints]
    report = alone.report
    lines = [tr("precision.alone", n=report.counts.get("origin", 0), calls=report.counts.get("calls", 0))]
    lines += [safe_text(f"{f.subject}: {f.message}") for f in report.findings[:_ALONE_FINDINGS]]
    return [*lines, *hints]
