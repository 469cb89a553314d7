"""The first lines of the performance pane: the answer, then the first finding."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from npulse.core.figures import time_text
from npulse.core.performance.table import SUBJECT
from npulse.core.text import safe_text

if TYPE_CHECKING:
    from npulse.core.performance.view import PerformanceView
    from npulse.core.performance.wall.record import Wall

    from ...glyphs import Glyphs

Tr = Callable[..., str]


def shown_lines(
    view: PerformanceView, tr: Tr, glyphs: Glyphs, is_ended: bool = False, is_short: bool = False
) -> list[str]:
    """What comes first, wall, busy and idle; the finding to look at first; what to do about it.

    is_short: finding and next step share a line.
    """
    separator = ", " if glyphs.is_ascii else " · "
    first = separator.join(_parts(view, tr, is_ended))
    found, step = _first_finding(view, tr, glyphs)
    return [first, "  ".join(filter(None, (found, step)))] if is_short else [first, found, step]


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
    """The most important first: what does not fit is cut off at the right."""
    found, shown = view.found, view.found.shown
    is_told = False
    if shown is not None:
        answer = shown.wall.bottleneck.answer
        is_told = answer == view.report.verdict == "unknown"
        yield tr(f"performance.first-{answer}")
    elif found.kernels:
        yield from _kernel_parts(view, tr)
    if not view.is_complete:
        yield tr("performance.not-read" if is_ended else "performance.still-reading")
    elif view.report.verdict in ("incomplete", "unknown") and not is_told:
        yield view.report.verdict.upper()
    if shown is not None:
        wall = shown.wall.wall
        if wall is not None:
            yield from _wall_parts(wall, tr)
            yield tr(f"performance.host-{shown.wall.host.verdict}")
        if len(found.profiles) > 1:
            label = safe_text(shown.profile.label, 24)
            yield tr("performance.of-profiles", label=label, n=len(found.profiles))
        operators = shown.operators
        if operators is not None and len(operators.types.top):
            yield tr("performance.n-calls", n=operators.types.top.n_calls)
        if wall is not None and wall.sum_ratio is not None and wall.sum_ratio > 1:
            yield tr("performance.sum", sum=f"{100 * wall.sum_ratio:.0f}")
    if found.kernels:
        yield tr("performance.n-kernels", n=len(found.kernels))


def _kernel_parts(view: PerformanceView, tr: Tr) -> Iterator[str]:
    """The kernel that takes longest, and what bounds it."""
    if view.kind != "kernels":
        return
    table = view.table
    times = [table.column("total_us").value(row) or 0.0 for row in range(table.n_rows)]
    row = max(range(table.n_rows), key=times.__getitem__)
    cells = table.row(row)
    time = time_text(1000 * times[row]) if times[row] else "?"
    yield tr("performance.slowest", name=safe_text(str(cells.get(SUBJECT)), 40), time=time)
    if cells.get("bound"):
        yield tr("performance.bound", bound=cells["bound"])
    if cells.get("roof"):
        yield safe_text(str(cells["roof"]), 60)


def _wall_parts(wall: Wall, tr: Tr) -> Iterator[str]:
    yield tr("performance.wall", wall=time_text(wall.wall_ns))
    yield tr("performance.busy", busy=f"{100 * wall.share(wall.busy_ns):.1f}")
    yield tr("performance.idle", idle=f"{100 * wall.share(wall.idle_ns):.1f}")


def _first_finding(view: PerformanceView, tr: Tr, glyphs: Glyphs) -> tuple[str, str]:
    if not view.report.findings:
        return tr("performance.nothing" if view.is_complete else "performance.not-judged"), ""
    finding = view.report.findings[0]
    line = f"{glyphs.severity(finding.severity)} {safe_text(finding.message)}"
    step = f"{tr('detail.next')}: {safe_text(finding.next_step)}" if finding.next_step else ""
    return line, step
