"""The first lines of the performance pane: the answer, then the first finding."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from npulse.core.performance.operators.calls import time_text
from npulse.core.text import safe_text

if TYPE_CHECKING:
    from npulse.core.performance.view import PerformanceView
    from npulse.core.performance.wall.record import Wall

    from ...glyphs import Glyphs

Tr = Callable[..., str]


def shown_lines(view: PerformanceView, tr: Tr, glyphs: Glyphs, is_ended: bool = False) -> list[str]:
    """Two lines: what comes first, wall, busy and idle; the finding to look at first and what to do."""
    separator = ", " if glyphs.is_ascii else " · "
    return [separator.join(_parts(view, tr, is_ended)), _first_finding(view, tr, glyphs)]


def lines_without_rows(view: PerformanceView, tr: Tr, glyphs: Glyphs) -> list[str]:
    """Raw sessions alone: what they are, what exports them."""
    lines = [f"{view.report.verdict.upper()}  {tr('performance.no-figures')}"]
    for finding in view.report.findings:
        lines += ["", f"{glyphs.severity(finding.severity)} {safe_text(finding.message)}"]
        if finding.next_step:
            lines.append(f"    {tr('detail.next')}: {safe_text(finding.next_step)}")
    return lines


def nothing_lines(path: str, commands: list[str], tr: Tr) -> list[str]:
    """What was looked for, where, and the commands that write it."""
    lines = [tr("performance.none", path=safe_text(path)), "", tr("performance.how-capture")]
    return [*lines, *(f"  {command}" for command in commands)]


def _parts(view: PerformanceView, tr: Tr, is_ended: bool) -> Iterator[str]:
    found, shown = view.found, view.found.shown
    if shown is not None:
        yield tr(f"performance.first-{shown.wall.bottleneck.answer}")
        operators = shown.operators
        if operators is not None and len(operators.types.top):
            yield tr("performance.n-calls", n=operators.types.top.n_calls)
        if shown.wall.wall is not None:
            yield from _wall_parts(shown.wall.wall, tr)
            yield tr(f"performance.host-{shown.wall.host.verdict}")
        if len(found.profiles) > 1:
            yield tr(
                "performance.of-profiles", label=safe_text(shown.profile.label, 24), n=len(found.profiles)
            )
    if found.kernels:
        yield tr("performance.n-kernels", n=len(found.kernels))
    if not view.is_complete:
        yield tr("performance.not-read" if is_ended else "performance.still-reading")
    elif view.report.verdict in ("incomplete", "unknown"):
        yield view.report.verdict.upper()


def _wall_parts(wall: Wall, tr: Tr) -> Iterator[str]:
    yield tr("performance.wall", wall=time_text(wall.wall_ns))
    busy = f"{100 * wall.share(wall.busy_ns):.1f}"
    if wall.sum_ratio is not None and wall.sum_ratio > 1:
        yield tr("performance.busy-sum", busy=busy, sum=f"{100 * wall.sum_ratio:.0f}")
    else:
        yield tr("performance.busy", busy=busy)
    yield tr("performance.idle", idle=f"{100 * wall.share(wall.idle_ns):.1f}")


def _first_finding(view: PerformanceView, tr: Tr, glyphs: Glyphs) -> str:
    if not view.report.findings:
        return tr("performance.nothing")
    finding = view.report.findings[0]
    line = f"{glyphs.severity(finding.severity)} {safe_text(finding.message)}"
    return f"{line}  {tr('detail.next')}: {safe_text(finding.next_step)}" if finding.next_step else line
