"""What a report says of metric plug-ins: the worst of each, and what misses a limit that the caller set."""

from __future__ import annotations

from npulse.core.figures import number
from npulse.core.findings import Finding
from npulse.core.text import Lang, say

from .comparison import Comparison
from .explain import location, row_figures
from .texts import TEXTS


def plugged_findings(comparison: Comparison, lang: Lang) -> list[Finding]:
    """Metrics of plug-ins that miss the limit which the caller set, the worst row of each."""
    findings = []
    limits = dict(comparison.criteria.plugged)
    for figure in comparison.plugged:
        worst = figure.worst()
        limit = limits.get(figure.metric.name)
        if limit is None or worst is None or not figure.metric.misses(worst[2], limit):
            continue
        rank, row = comparison.ranks[worst[0]], worst[1]
        values = [one[known] for one, known in zip(figure.values, figure.computed, strict=True)]
        n = sum(figure.metric.misses(float(value), limit) for part in values for value in part)
        words = {"name": figure.metric.name, "value": number(worst[2]), "limit": number(limit), "n": n}
        own = {figure.metric.name: worst[2], "limit": limit, "n_tensors": n}
        findings.append(
            Finding(
                area="precision",
                severity="error",
                rule=figure.metric.rule,
                role="unknown",
                subject=rank.target.leaf_name(rank.rows.target_row(row)),
                message=say(TEXTS, "plugged-missed", lang, **words),
                next_step=say(TEXTS, "next-plugged", lang, name=figure.metric.name),
                figures={**own, **row_figures(rank, row)},
                location=location(comparison, rank, int(rank.rows.pairing.row_call[row]), row),
            )
        )
    return findings


def plugged_summary(comparison: Comparison) -> dict[str, object]:
    """The worst figure of each metric of a plug-in."""
    worst = {figure.metric.name: figure.worst() for figure in comparison.plugged}
    found = {name: one[2] for name, one in worst.items() if one is not None}
    return {"plugged": found} if found else {}


def plugged_lines(comparison: Comparison, lang: Lang) -> list[str]:
    """The worst figure of each for people, and what it cost."""
    lines = []
    for figure in comparison.plugged:
        worst = figure.worst()
        shown = "-" if worst is None else number(worst[2])
        words = {"name": figure.metric.name, "value": shown, "n": figure.n_computed}
        lines.append(say(TEXTS, "told-plugged", lang, **words))
    return lines


def is_unmeasured(comparison: Comparison) -> bool:
    """Whether a limit is set for a metric that has no figure of any tensor: nothing can be said of it."""
    measured = {figure.metric.name for figure in comparison.plugged if figure.n_computed}
    return any(name not in measured for name, _ in comparison.criteria.plugged)
