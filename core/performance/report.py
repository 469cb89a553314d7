"""The headless twin of the performance pane: a `Performance` as findings, counts and tables."""

from __future__ import annotations

from typing import Any

from npulse.core.findings import Report, Verdict, verdict_from
from npulse.core.text import Lang, columns_of, safe_text, say

from .advice import AREA
from .changes.advice import advice_of_changes
from .changes.compare import Changes
from .found import Performance
from .kernel.advice import is_judged
from .profile import Profile
from .report_facts import TOP, counts, summary
from .report_lines import told
from .table import changes_table, kinds_of, performance_table
from .texts import TEXTS


def report(found: Performance, *, lang: Lang = "en", tables: bool = False) -> Report:
    """Findings in the order in which they should be looked at; the list of operators in `told`."""
    findings = tuple(advice.finding(lang) for advice in found.advice)
    return Report(
        command=AREA,
        run=str(found.root),
        verdict=verdict_of(found),
        beneath=verdict_of(found, is_beneath=True),
        artifacts=found.artifacts,
        findings=findings,
        counts=dict(counts(found)),
        summary=summary(found, lang),
        problems=found.problems,
        told=tuple(told(found, lang)),
        tables={table.name: table for table in map(lambda kind: performance_table(found, kind), _kept(found))}
        if tables
        else {},
    )


def changes_report(
    found: Performance,
    changes: Changes,
    *,
    of: tuple[Profile, Profile] | None = None,
    lang: Lang = "en",
    tables: bool = False,
) -> Report:
    """Two rounds side by side as a report of their own. found: the later one. of: the profiles that are
    compared, where there are several.
    """
    findings = tuple(advice.finding(lang) for advice in advice_of_changes(changes))
    table = changes_table(changes)
    rows = [[say(TEXTS, f"head-{name}", lang) for name in ("type", "before", "after", "change", "noise")]]
    for one in changes.types[: found.settings.top if found.settings.top > 0 else TOP]:
        percent = "" if one.time.percent is None else f" ({one.time.percent:+.2f} %)"
        noise = "?" if one.time.noise_ns is None else f"{one.time.noise_ns / 1000:,.2f}"
        rows.append(
            [
                safe_text(one.name, 60),
                f"{one.time.before_ns / 1000:,.2f}",
                f"{one.time.after_ns / 1000:,.2f}",
                f"{one.time.delta_ns / 1000:+,.2f}{percent}",
                f"{noise} {say(TEXTS, f'change-{one.time.verdict}', lang)}",
            ]
        )
    lines = list(columns_of(rows))
    if of is not None:
        before, after = (safe_text(one.label, 80) for one in of)
        lines.insert(0, say(TEXTS, "told-changes-of", lang, before=before, after=after))
    return Report(
        command=AREA,
        run=str(found.root),
        verdict=verdict_from(findings, found.problems),
        findings=findings,
        summary={
            f"{name}_{key}": value
            for name, part in changes.totals.items()
            for key, value in (
                ("before_us", part.before_ns / 1000),
                ("after_us", part.after_ns / 1000),
                ("verdict", part.verdict),
            )
        }
        | ({} if of is None else {"profile": of[1].name, "rank": of[1].rank}),
        problems=found.problems,
        told=tuple(lines),
        tables={table.name: table} if tables else {},
    )


def _kept(found: Performance) -> tuple[Any, ...]:
    """Of the four ways to group operators only the one that was asked for."""
    return tuple(
        kind
        for kind in kinds_of(found)
        if kind not in ("type", "call", "count", "average") or kind == found.settings.by
    )


def verdict_of(found: Performance, *, is_beneath: bool = False) -> Verdict:
    """Raw data alone is unknown, and so is a run of which one part, or a criterion of the user, could not be
    judged; a source that has no end, or a problem, is incomplete. is_beneath: the findings left aside."""
    if found.so_far is not None:
        return "incomplete"
    findings = [advice.finding("en") for advice in found.advice]
    has_unknown = (
        not (found.profiles or found.kernels)
        or any(one.wall.bottleneck.answer == "unknown" for one in found.profiles)
        or not all(map(is_judged, found.kernels))
        or any(finding.rule == "performance.criterion-unknown" for finding in findings)
    )
    verdict = verdict_from(() if is_beneath else findings, found.problems, has_unknown=has_unknown)
    is_cut = any(one.wall.wall is not None and one.wall.wall.is_cut for one in found.profiles)
    return "incomplete" if is_cut and verdict != "fail" else verdict
