"""The first lines of the memory pane: how many sites, how far the logs can be trusted, the first finding."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from rich.cells import cell_len

from npulse.core.findings import Finding
from npulse.core.memory.places import short_paths
from npulse.core.memory.short_texts import gap_word
from npulse.core.memory.table import short_name
from npulse.core.text import safe_text

from ...chrome import cut_middle
from .columns import cut_start

if TYPE_CHECKING:
    from npulse.core.memory.view import MemoryView

    from ...glyphs import Glyphs

Tr = Callable[..., str]

_LEAST_NAME = 24  # cells of the subject
_ROOT_CELLS = 24  # cells of the source folders


def shown_lines(
    view: MemoryView, tr: Tr, glyphs: Glyphs, width: int, key: str, is_ended: bool = False
) -> list[str]:
    """Two lines: verdict, counts, how far the logs can be trusted; the first finding and what to do.

    key: the key with which the user names source folders. is_ended: what is not read yet will not be.
    """
    separator = ", " if glyphs.is_ascii else " · "
    line = f"{_verdict(view, tr)}  {separator.join(_parts(view, tr, glyphs, key, is_ended))}"
    return [line, _first_finding(view, tr, glyphs, width)]


def lines_without_rows(view: MemoryView, tr: Tr, glyphs: Glyphs, is_ended: bool = False) -> list[str]:
    """Without any site: what the logs say, what they lack, what would give more."""
    separator = ", " if glyphs.is_ascii else " · "
    lines = [f"{_verdict(view, tr)}  {separator.join(_log_parts(view, tr, is_ended))}", ""]
    if not view.is_complete:
        return lines[:1]
    lines += [safe_text(line) for line in view.report.told]
    for finding in view.report.findings:
        lines += ["", f"{glyphs.severity(finding.severity)} {safe_text(finding.message)}"]
        if finding.next_step:
            lines.append(f"    {tr('detail.next')}: {safe_text(finding.next_step)}")
    return lines


def nothing_lines(path: str, commands: list[str], tr: Tr) -> list[str]:
    """What was looked for, where, and the commands that write it."""
    lines = [tr("memory.none", path=safe_text(path)), "", tr("memory.how-capture")]
    return [*lines, *(f"  {command}" for command in commands)]


def _verdict(view: MemoryView, tr: Tr) -> str:
    """While logs are read only what is certain: a fault stays one, nothing else stands yet."""
    verdict = view.report.verdict
    return verdict.upper() if view.is_complete or verdict == "fail" else tr("memory.no-verdict")


def _parts(view: MemoryView, tr: Tr, glyphs: Glyphs, key: str, is_ended: bool) -> Iterator[str]:
    counts = view.report.counts
    n_sites, n_reports = counts.get("sites", 0), counts.get("reports", 0)
    sites = tr("memory.n-sites-one" if n_sites == 1 else "memory.n-sites", n=n_sites)
    reports = tr("memory.n-reports-one" if n_reports == 1 else "memory.n-reports", n=n_reports)
    yield f"{sites} ({reports})"
    if n := counts.get("leaks"):
        size = counts.get("leaked_bytes", 0)
        yield tr("memory.n-leaks-one" if n == 1 else "memory.n-leaks", n=n, size=size)
    yield from _log_parts(view, tr, is_ended)
    if n := counts.get("unused"):
        size = counts.get("unused_bytes", 0)
        yield tr("memory.n-unused-one" if n == 1 else "memory.n-unused", n=n, size=size)
    if n := counts.get("inherited"):
        yield tr("memory.n-follow-one" if n == 1 else "memory.n-follow", n=n)
    yield from _clean_up(view, tr)
    yield from _sources(view, tr, glyphs, key)


def _log_parts(view: MemoryView, tr: Tr, is_ended: bool) -> Iterator[str]:
    """Whether the logs show all there was; of one log in words why not."""
    if not view.is_complete:
        yield tr("memory.not-read" if is_ended else "memory.still-reading")
        return
    trusts = view.found.trusts
    bad = [trust for trust in trusts if trust.gaps]
    if len(trusts) > 1 and bad:
        yield tr("memory.logs-incomplete", n=len(bad), logs=len(trusts))
    elif bad:
        yield tr("memory.log-incomplete", why=", ".join(gap_word(gap, view.lang) for gap in bad[0].gaps))
    elif view.found.is_complete:
        yield tr("memory.log-complete")
    else:
        yield tr("memory.log-problems")


def _clean_up(view: MemoryView, tr: Tr) -> Iterator[str]:
    cleanup = view.found.cleanup
    if cleanup is not None:
        fixed = sum(gone.is_fixed for gone in cleanup.gone)
        new, back = cleanup.count("new"), cleanup.count("back")
        text = tr("memory.since", since=safe_text(cleanup.since, 30), fixed=fixed, new=new)
        yield text + (tr("memory.back", n=back) if back else "")


def _sources(view: MemoryView, tr: Tr, glyphs: Glyphs, key: str) -> Iterator[str]:
    if roots := view.found.roots.roots:
        shown = ":".join(safe_text(str(root)) for root in roots)
        yield tr("memory.source-in", roots=cut_start(shown, _ROOT_CELLS, glyphs))
    elif any(site.is_place_known for site in view.found.sites):
        yield tr("memory.no-source", key=key)


def _first_finding(view: MemoryView, tr: Tr, glyphs: Glyphs, width: int) -> str:
    """Where, what in few words, what to do as far as there is room."""
    if not view.report.findings:
        return safe_text(next(iter(view.report.told), ""))
    finding = view.report.findings[0]
    start = f"{glyphs.severity(finding.severity)} "
    words = few_words(finding, tr)
    if not words:
        return start + safe_text(finding.message)
    place = _place(finding, max(_LEAST_NAME, width // 3), glyphs)
    if not view.has_name(finding):
        place = tr("memory.place-unknown")
    line = f"{start}{place}  {words}"
    return f"{line}  {tr('detail.next')}: {safe_text(finding.next_step)}" if finding.next_step else line


def _place(finding: Finding, room: int, glyphs: Glyphs) -> str:
    """File and line as short as they can be told; else the name, its middle left out where it is long."""
    file, line = finding.figures.get("file"), finding.figures.get("line")
    if not file or not line:
        name = safe_text(finding.subject)
        if cell_len(name) > room:
            name = safe_text(short_name(finding.subject, finding.figures)) or name
        return cut_middle(name, room, glyphs)
    return cut_start(f"{safe_text(short_paths([str(file)])[str(file)])}:{line}", room, glyphs)


def few_words(finding: Finding, tr: Tr) -> str:
    """What happened, short enough for one line; "" where only the whole message says it."""
    figures = finding.figures
    kind = figures.get("kind")
    if kind is None or "count" not in figures:
        return ""
    text = safe_text(" ".join(filter(None, (str(figures.get("hazard") or ""), str(kind)))))
    kept = figures.get("leaked_bytes", figures.get("held_bytes"))
    if kept is not None:
        n, size = figures.get("n_allocations", 1), kept
        text += tr("memory.few-size", n=size) if n == 1 else tr("memory.few-blocks", n=n, size=size)
    elif figures.get("size_bytes") is not None:
        text += tr("memory.few-size", n=figures["size_bytes"])
    if figures.get("space"):
        text += tr("memory.few-space", space=safe_text(str(figures["space"])))
    text += _distance(finding, tr)
    if figures["count"] > 1:
        text += f", x{figures['count']:,}"
    return text


def _distance(finding: Finding, tr: Tr) -> str:
    figures = finding.figures
    side, n = figures.get("side"), figures.get("distance_bytes")
    if n is None or side not in ("before", "after"):
        return ""
    if not n and side == "after":
        return tr("memory.few-at-end")
    return tr("memory.few-before" if side == "before" else "memory.few-after", n=n)
