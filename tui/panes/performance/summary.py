"""The first lines of the performance pane: the answer, then the first finding."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from npulse.core.device.warning import words_for
from npulse.core.figures import time_text
from npulse.core.performance.raw import growth_lines
from npulse.core.performance.table import SUBJECT
from npulse.core.text import safe_text

if TYPE_CHECKING:
    from npulse.core.performance.view import PerformanceView
    from npulse.core.performance.wall.bottleneck import Bottleneck
    from npulse.core.performance.wall.record import Wall

    from ...glyphs import Glyphs

Tr = Callable[..., str]

_MOST_PROBLEMS = 3


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


def lines_without_rows(view: PerformanceView, tr: Tr, glyphs: Glyphs, key: str = "!") -> list[str]:
    """Raw sessions alone: what they are, what exports them. Else what could not be read, and what to do.

    key: what lists all that could not be read.
    """
    problems = view.report.problems
    words = tr("performance.not-readable", key=key) if problems else tr("performance.no-figures")
    lines = [f"{view.report.verdict.upper()}  {words}"]
    for session in view.found.raw:
        if session.folder in view.found.growth:
            growth = view.found.growth[session.folder]
            lines += ["", *growth_lines(session, growth, glyphs.levels, view.lang)]
    for finding in view.report.findings:
        lines += ["", f"{glyphs.severity(finding.severity)} {safe_text(finding.message)}"]
        if finding.next_step:
            lines.append(f"    {tr('detail.next')}: {safe_text(finding.next_step)}")
    for problem in problems[:_MOST_PROBLEMS]:
        lines += ["", f"{glyphs.error} {safe_text(problem.artifact)}: {safe_text(problem.message)}"]
        if problem.hint:
            lines.append(f"    {tr('detail.next')}: {safe_text(problem.hint)}")
    if len(problems) > _MOST_PROBLEMS:
        lines += ["", tr("performance.more-problems", n=len(problems) - _MOST_PROBLEMS, key=key)]
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
        yield tr(f"performance.first-{answer}") + _share_text(shown.wall.bottleneck)
    if found.cards:
        yield tr("performance.not-trusted", cards=words_for(found.cards, view.lang))
    if shown is None and found.kernels:
        yield from _kernel_parts(view, tr)
    if not view.is_complete:
        yield tr("performance.not-read" if is_ended else "performance.still-reading")
    elif view.report.verdict in ("incomplete", "unknown") and not is_told:
        yield view.report.verdict.upper()
    if shown is not None:
        wall = shown.wall.wall
        yield from _followed_parts(view, tr)
        if wall is not None:
            yield from _wall_parts(wall, shown.wall.bottleneck, tr)
        label = safe_text(shown.profile.label, 24)
        if len(found.profiles) > 1:
            yield tr("performance.of-profiles", label=label, n=len(found.profiles))
        elif shown.profile.rank is not None:
            yield label
        if wall is not None:
            yield tr(f"performance.host-{shown.wall.host.verdict}")
        operators = shown.operators
        if operators is not None and len(operators.types.top):
            yield tr("performance.n-calls", n=operators.types.top.n_calls)
        if wall is not None and wall.sum_ratio is not None and wall.sum_ratio > 1:
            yield tr("performance.sum", sum=f"{100 * wall.sum_ratio:.0f}")
    if found.kernels:
        yield tr("performance.n-kernels", n=len(found.kernels))


def _followed_parts(view: PerformanceView, tr: Tr) -> Iterator[str]:
    """Of a followed run what came last, and how quick it is so far."""
    found, shown = view.found, view.found.shown
    if found.followed is None or shown is None:
        return
    if found.since is not None:
        total = time_text(found.since.total_ns)
        yield tr("performance.new-calls", n=found.since.n_calls, total=total)
    serving = shown.wall.serving
    if serving.tokens_per_s is not None:
        yield tr("performance.tokens", rate=f"{serving.tokens_per_s:,.1f}")
    if serving.step_ms is not None:
        yield tr("performance.step-time", time=time_text(1e6 * serving.step_ms))


def _kernel_parts(view: PerformanceView, tr: Tr) -> Iterator[str]:
    """The kernel that takes longest, and what bounds it."""
    if view.kind != "kernels":
        return
    table = view.table
    times = [table.column("total_us").value(row) or 0.0 for row in range(table.n_rows)]
    row = max(range(table.n_rows), key=times.__getitem__)
    cells = table.row(row)
    if times[row]:
        name = safe_text(str(cells.get(SUBJECT)), 40)
        yield tr("performance.slowest", name=name, time=time_text(1000 * times[row]))
    if cells.get("bound"):
        yield tr("performance.bound", bound=cells["bound"])
    if cells.get("roof"):
        yield safe_text(str(cells["roof"]), 60)


def _share_text(bottleneck: Bottleneck) -> str:
    """ " 74.7 %": the part of the wall time that the answer is about; "" for idle time, told beside busy."""
    share = {
        "communication": bottleneck.communication_share,
        "compute": bottleneck.compute_share,
    }.get(bottleneck.answer)
    return "" if share is None else f" {100 * share:.1f} %"


def _wall_parts(wall: Wall, bottleneck: Bottleneck, tr: Tr) -> Iterator[str]:
    """Where the answer has its share already, what is busy is not told: it is the rest of what idles."""
    yield tr("performance.wall", wall=time_text(wall.wall_ns))
    if not _share_text(bottleneck):
        yield tr("performance.busy", busy=f"{100 * wall.share(wall.busy_ns):.1f}")
    yield tr("performance.idle", idle=f"{100 * wall.share(wall.idle_ns):.1f}")


def _first_finding(view: PerformanceView, tr: Tr, glyphs: Glyphs) -> tuple[str, str]:
    # that figures are not to be trusted stands in the line above
    findings = [one for one in view.report.findings if one.rule != "performance.device"]
    if not findings:
        return tr("performance.nothing" if view.is_complete else "performance.not-judged"), ""
    finding = findings[0]
    line = f"{glyphs.severity(finding.severity)} {safe_text(finding.message)}"
    step = f"{tr('detail.next')}: {safe_text(finding.next_step)}" if finding.next_step else ""
    return line, step
