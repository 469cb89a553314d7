"""The first lines of the precision pane: how it stands, which is the origin, what to do where nothing is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rich.cells import cell_len

from npulse.core.findings import Finding
from npulse.core.formats.msprobe.names import short_name
from npulse.core.precision.view import PrecisionView, what_failed
from npulse.core.text import Lang, safe_text

from ...chrome import cut_middle
from .jobs import Alone

if TYPE_CHECKING:
    from ...glyphs import Glyphs

Tr = Callable[..., str]

_CALLS = ("origin", "inherited", "unmatched")
_TENSORS = ("unknown", "warning", "compared")
_ALONE_FINDINGS = 12
_LEAST_NAME = 24  # cells of the subject


def shown_lines(
    view: PrecisionView, tr: Tr, glyphs: Glyphs, lang: Lang, width: int, key: str, calls_key: str
) -> list[str]:
    """Two lines, what matters most in front: verdict, end result, counts, sides; the first finding."""
    report, pair = view.report, view.comparison.pair
    which = ""
    if view.n_pairs > 1:
        which = tr("precision.pair-of", i=view.pair_index + 1, n=view.n_pairs, key=key) + "  "
    cosine = report.summary.get("last_output_cosine")
    parts = [so_far_text(view, tr)] if view.comparison.n_awaited else []
    parts += [tr("precision.last", cosine=f"{cosine:.4f}")] if isinstance(cosine, float) else []
    sides = tr("precision.sides", target=safe_text(pair.target_name), golden=safe_text(pair.golden_name))
    separator = ", " if glyphs.is_ascii else " · "

    def counted(names: tuple[str, ...]) -> list[str]:
        found = [(name, report.counts[name]) for name in names if report.counts.get(name)]
        words = {"unmatched": "precision.n-unmatched-key"}
        if report.counts.get("origin", 0) > 1:
            words["origin"] = "precision.n-origins"
        return [tr(words.get(name, f"precision.n-{name}"), n=n, key=calls_key) for name, n in found]

    if view.by_hand:
        parts.append(tr("precision.n-by-hand", n=len(view.by_hand)))
    first, last = separator.join(parts + counted(_CALLS)), separator.join(counted(_TENSORS))
    return [
        "   ".join(filter(None, (f"{which}{report.verdict.upper()}  {first}", sides, last))),
        _first_finding(view, tr, glyphs, lang, width),
    ]


def so_far_text(view: PrecisionView, tr: Tr) -> str:
    """How many of the ranks this is, while workers have the others."""
    n = len(view.comparison.ranks)
    return tr("job.ranks-so-far", n=n, total=n + view.comparison.n_awaited)


def _first_finding(view: PrecisionView, tr: Tr, glyphs: Glyphs, lang: Lang, width: int) -> str:
    """Its name, cut in the middle where it is long, and what failed, which is never cut for the name."""
    if not view.report.findings:
        return tr("precision.nothing")
    finding = view.report.findings[0]
    word = finding.role if finding.role == "origin" else finding.severity
    name = short_name(finding.subject) if finding.role == "origin" else finding.subject
    said = _place(finding, view) + safe_text(what_failed(finding, lang) or finding.message)
    start = f"{glyphs.severity(word)} {tr('precision.' + word)}: "
    room = max(_LEAST_NAME, width - cell_len(start) - cell_len(said) - 2)
    return f"{start}{cut_middle(safe_text(name), room, glyphs)}  {said}"


def _place(finding: Finding, view: PrecisionView) -> str:
    """Rank and step of a finding, where there are several."""
    text = ""
    for name, value in (("rank", finding.location.rank), ("step", finding.location.step)):
        if value is not None and len({getattr(rank, name) for rank in view.comparison.ranks}) > 1:
            text += f"{name} {value}  "
    return text


def alone_lines(alone: Alone, path: str, tr: Tr, key: str) -> list[str]:
    """One capture or none: what was seen, what was looked for, and the way to a comparison."""
    can_choose = len(alone.captures) > 1
    hints = [
        tr("precision.how-pair", key=key) if can_choose else tr("precision.how-second"),
        tr("precision.how-capture"),
    ]
    if alone.report is not None and not can_choose:
        report = alone.report
        lines = [
            tr("precision.alone", n=report.counts.get("non_finite", 0), calls=report.counts.get("calls", 0))
        ]
        lines += [safe_text(f"{f.subject}: {f.message}") for f in report.findings[:_ALONE_FINDINGS]]
        return [*lines, *hints]
    if can_choose:
        names = safe_text(", ".join(alone.captures[:8]))
        return [tr("precision.which", n=len(alone.captures), names=names), hints[0]]
    lines = [] if alone.has_artifacts else [tr("precision.not-read", path=safe_text(path))]
    return [*lines, tr("precision.no-pair", path=safe_text(path)), *hints]
