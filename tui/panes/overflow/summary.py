"""The first lines of the overflow pane: how it stands, which is the origin; what to do where nothing is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len

from npulse.core.figures import amount, number
from npulse.core.findings import Finding
from npulse.core.formats.msprobe.names import short_name
from npulse.core.overflow.view import in_few_words, short_dtype
from npulse.core.text import safe_text

from ...chrome import cut_middle

if TYPE_CHECKING:
    from npulse.core.overflow.view import OverflowView

    from ...glyphs import Glyphs

Tr = Callable[..., str]

_COUNTS = ("origin", "inherited", "benign")
_LEAST_NAME = 24  # cells of the subject
_ARGUMENTS = ("log-negative", "root-negative", "arc-outside")
_FEW_RANKS = 3


def shown_lines(view: OverflowView, tr: Tr, glyphs: Glyphs, width: int, key: str) -> list[str]:
    """Two lines: verdict, counts and the mode of the device where it matters; the first finding.

    key: the key with which the user tells the mode.
    """
    report = view.report
    counted = {name: report.counts.get(name) for name in _COUNTS}
    parts = [so_far_text(view, tr)] if view.found.n_awaited else []
    parts += [_counted(tr, name, n) for name, n in counted.items() if n]
    if not any(counted.values()) and not report.counts.get("monitor_rows"):
        parts.append(_counted(tr, "calls", report.counts.get("calls", 0)))
    mode = report.summary.get("saturation_mode", "unknown")
    if mode != "unknown":
        parts.append(tr(f"overflow.mode-{mode}"))
    elif report.counts.get("saturated_calls"):
        parts.append(tr("overflow.mode-unknown", key=key))
    others = {"unknown": report.counts.get("unknown"), "monitor": report.counts.get("monitor_rows")}
    parts += [_counted(tr, name, n) for name, n in others.items() if n]
    separator = ", " if glyphs.is_ascii else " · "
    return [f"{report.verdict.upper()}  {separator.join(parts)}", _first_finding(view, tr, glyphs, width)]


def so_far_text(view: OverflowView, tr: Tr) -> str:
    """How many of the ranks this is, while workers have the others."""
    n = len(view.found.ranks)
    return tr("job.ranks-so-far", n=n, total=n + view.found.n_awaited)


def _counted(tr: Tr, name: str, n: int) -> str:
    return tr(f"overflow.n-{name}-one" if n == 1 else f"overflow.n-{name}", n=n)


def _first_finding(view: OverflowView, tr: Tr, glyphs: Glyphs, width: int) -> str:
    """Where it began, its name cut in the middle where it is long, then why, then how far it went."""
    if not view.report.findings:
        return tr("overflow.nothing")
    finding = view.report.findings[0]
    word = finding.role if finding.role in ("origin", "suspect") else finding.severity
    start = f"{glyphs.severity(word)} " + (f"{tr('role.origin')}: " if finding.role == "origin" else "")
    said = _place(finding, view) + safe_text(few_words(finding, view, tr) or finding.message)
    name = safe_text(short_name(finding.subject)).replace(".forward.", " ")  # of a leaf
    room = max(_LEAST_NAME, width - cell_len(start) - cell_len(said) - 2)
    line, spread = f"{start}{cut_middle(name, room, glyphs)}  {said}", _spread(finding, tr)
    return line + spread if cell_len(line) + cell_len(spread) <= width else line


def few_words(finding: Finding, view: OverflowView, tr: Tr) -> str:
    """Why an origin is one, short enough for one line; "" where only its whole message says it."""
    figures = finding.figures
    kind, why, cause = figures.get("kind"), figures.get("why"), figures.get("cause")
    if finding.rule == "overflow.record" and finding.role == "origin":
        task = {"task": figures.get("task_id"), "stream": figures.get("stream_id")}
        return tr("overflow.few-record" if kind else "overflow.few-record-alone", kind=kind, **task)
    if finding.role != "origin" or not kind:
        return ""
    if kind == "saturated":
        return _saturated(figures, tr)
    if words := in_few_words(finding, view.lang):
        return words
    if why in _ARGUMENTS and isinstance(figures.get("argument"), float):
        return tr(f"overflow.few-{why}", kind=kind, value=number(figures["argument"]))
    if why == "zero-division":
        return tr("overflow.few-zero-division", kind=kind)
    if cause == "operator" and isinstance(figures.get("at_most"), float):
        dtype = short_dtype(figures.get("dtype"))
        return tr("overflow.few-reach", kind=kind, at_most=amount(figures["at_most"]), dtype=dtype)
    if cause in ("operator", "gap", "gradient", "legal-inf"):
        return tr(f"overflow.few-{cause}", kind=kind)
    return ""


def _saturated(figures: Any, tr: Tr) -> str:
    """How many elements sit at the largest value of the dtype."""
    n, largest = figures.get("saturated_count"), figures.get("absmax")
    limit = amount(largest) if isinstance(largest, float) else "?"
    values = {"largest": limit, "dtype": short_dtype(figures.get("dtype"))}
    if not n:
        return tr("overflow.few-saturated", **values)
    return tr("overflow.few-saturated-n", n=n, **values)


def _spread(finding: Finding, tr: Tr) -> str:
    """To which other ranks it went; "" where it stayed on its own."""
    own = {finding.location.rank, *finding.figures.get("ranks", ())}
    others = [rank for rank in finding.figures.get("affected_ranks", ()) if rank not in own]
    if finding.role != "origin" or not others:
        return ""
    if len(others) > _FEW_RANKS:
        return tr("overflow.spread-n", n=len(others))
    return tr("overflow.spread-to", ranks=", ".join(map(str, others)))


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
