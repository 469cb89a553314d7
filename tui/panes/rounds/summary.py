"""The first lines of the rounds pane: how many rounds, what is better or worse now; what made the change."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from npulse.core.rounds.words import (
    changes_since,
    changes_text,
    from_to,
    heading_of,
    listed_changes,
    started_text,
    story_parts,
)
from npulse.core.text import safe_text

if TYPE_CHECKING:
    from npulse.core.rounds.view import RoundsView

    from ...glyphs import Glyphs

Tr = Callable[..., str]


def shown_lines(view: RoundsView, tr: Tr, glyphs: Glyphs, is_ended: bool, key: str) -> list[str]:
    """Two lines: verdict, which round met what first and at what cost, how the newest figures stand; the
    first finding and what to do.

    key: the one that lists what could not be read.
    """
    separator = ", " if glyphs.is_ascii else " · "
    n_rounds = len(view.found.rows)
    parts = [tr("rounds.n-rounds-one" if n_rounds == 1 else "rounds.n-rounds", n=n_rounds)]
    if not view.is_complete:
        n_done = sum(row.is_complete for row in view.found.rows)
        parts.append(tr("rounds.not-asked" if is_ended else "rounds.asking", i=n_done, n=n_rounds))
    if view.is_complete:
        parts += story_parts(view.found, view.lang, is_brief=True)
    n_nothing = view.report.counts.get("nothing_recorded", 0)
    if n_nothing:
        parts.append(tr("rounds.n-nothing", n=n_nothing))
    parts += _newest(view, tr)
    verdict = view.report.verdict.upper() if view.is_complete else tr("rounds.no-verdict")
    if view.found.baseline:
        parts.append(tr("rounds.baseline", round=safe_text(view.found.baseline, 48)))
    parts.append(_span(view, tr))
    return [f"{verdict}  {separator.join(filter(None, parts))}", _first(view, tr, glyphs, key)]


def _span(view: RoundsView, tr: Tr) -> str:
    """From when to when, to the minute; the day once where it is the same."""
    times = [text[:16] for text in map(started_text, view.found.rows) if text]
    if not times:
        return ""
    first, last = times[0], times[-1]
    return tr("rounds.span", first=first, last=last[11:] if last[:10] == first[:10] else last)


def _newest(view: RoundsView, tr: Tr) -> list[str]:
    """Of each figure the newest state, those that are worse first."""
    newest = {name: row.states.get(name, "") for row in view.found.rows for name in row.cells}
    parts = []
    for state, key in (("worse", "rounds.worse-now"), ("better", "rounds.better-now")):
        names = [heading_of(name, view.lang) for name, told in newest.items() if told == state]
        if names:
            parts.append(tr(key, names=", ".join(names)))
    return parts


def _first(view: RoundsView, tr: Tr, glyphs: Glyphs, key: str) -> str:
    """What the first finding says, the change in front of the figures; without one the newest change."""
    arrow = "->" if glyphs.is_ascii else glyphs.arrow
    rows = view.found.rows
    if not view.report.findings and view.report.problems:
        return tr("rounds.unread", n=len(view.report.problems), key=key)
    if not view.report.findings and rows and not rows[-1].has_settings:
        return tr("rounds.unsettled")
    if not view.report.findings:
        return tr("rounds.changed", changes=changes_text(rows[-1], view.lang, arrow)) if rows else ""
    first = view.report.findings[0]
    mark = glyphs.severity("ok" if first.role == "ok" else first.severity)
    at, since = view.row_of(first), first.figures.get("since")
    if at is None or since is None:
        return (
            f"{mark} {safe_text(first.subject, 60)}: {safe_text(first.message)}  {safe_text(first.next_step)}"
        )
    row, state = rows[at], first.rule.rpartition(".")[2]
    names = [name for name, told in row.states.items() if told == state and row.since[name] == since]
    text = tr(
        "rounds.line-worse" if state == "worse" else "rounds.line-better",
        round=safe_text(first.subject, 48),
        since=safe_text(str(since), 48),
        changes=listed_changes(changes_since(view.found, row, str(since)), view.lang, arrow),
        figures=", ".join(from_to(view.found, row, name, view.lang, arrow) for name in names),
    )
    return f"{mark} {text}"


def nothing_lines(path: str, tr: Tr) -> list[str]:
    """What was looked for, where, and the commands that write it."""
    lines = [tr("rounds.none", path=safe_text(path)), "", tr("rounds.how-capture")]
    kinds = ("precision", "overflow", "memory", "performance")
    return [*lines, *(f"  npulse capture {kind} -- python train.py" for kind in kinds)]
