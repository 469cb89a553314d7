"""The first lines of the overflow pane: how it stands, which is the origin; what to do where nothing is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rich.cells import cell_len

from npulse.core.findings import Finding
from npulse.core.formats.msprobe.names import short_name
from npulse.core.overflow.view import in_few_words
from npulse.core.text import safe_text

from ...chrome import cut_middle

if TYPE_CHECKING:
    from npulse.core.overflow.view import OverflowView

    from ...glyphs import Glyphs

Tr = Callable[..., str]

_COUNTS = ("origin", "inherited", "benign", "unknown")
_LEAST_NAME = 24  # cells of the subject


def shown_lines(view: OverflowView, tr: Tr, glyphs: Glyphs, width: int) -> list[str]:
    """Two lines: verdict, counts and the mode of the device; the first finding."""
    report = view.report
    separator = ", " if glyphs.is_ascii else " · "
    parts = []
    for name in _COUNTS:
        n = report.counts.get(name, 0)
        if n:
            parts.append(
                tr("overflow.n-origins" if name == "origin" and n > 1 else f"overflow.n-{name}", n=n)
            )
    if report.counts.get("monitor_rows"):
        parts.append(tr("overflow.n-monitor", n=report.counts["monitor_rows"]))
    if not parts:
        parts.append(tr("overflow.n-calls", n=report.counts.get("calls", 0)))
    parts.append(tr(f"overflow.mode-{report.summary.get('saturation_mode', 'unknown')}"))
    return [f"{report.verdict.upper()}  {separator.join(parts)}", _first_finding(view, tr, glyphs, width)]


def _first_finding(view: OverflowView, tr: Tr, glyphs: Glyphs, width: int) -> str:
    """Where it began, its name cut in the middle where it is long, then why, in the words of the report."""
    if not view.report.findings:
        return tr("overflow.nothing")
    finding = view.report.findings[0]
    word = finding.role if finding.role in ("origin", "suspect") else finding.severity
    start = f"{glyphs.severity(word)} " + (f"{tr('role.origin')}: " if finding.role == "origin" else "")
    said = _place(finding, view) + safe_text(in_few_words(finding, view.lang))
    name = safe_text(short_name(finding.subject))
    room = max(_LEAST_NAME, width - cell_len(start) - cell_len(said) - 2)
    return f"{start}{cut_middle(name, room, glyphs)}  {said}"


def _place(finding: Finding, view: OverflowView) -> str:
    """Rank and step of a finding, where there are several."""
    text = ""
    for name, value in (("rank", finding.location.rank), ("step", finding.location.step)):
        if value is not None and len({getattr(rank, name) for rank in view.found.looked_through}) > 1:
            text += f"{name} {value}  "
    return text


def nothing_lines(path: str, tr: Tr) -> list[str]:
    """What was looked for, where, and how to capture it."""
    return [tr("overflow.none", path=safe_text(path)), tr("overflow.how-capture")]
