"""What the training monitor's files say, as findings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from npulse.core.figures import number
from npulse.core.findings import Finding, Location
from npulse.core.text import Lang, say

from .analyse import Overflow
from .explain import AREA
from .gradients import BadGradient, Gradients
from .norms import Growth, LayerSlope
from .texts import TEXTS


def gradient_findings(found: Overflow, lang: Lang) -> Iterator[Finding]:
    """Bad gradients, then jumps of their norms, steady growth over the layers, the tool's own reports."""
    gradients = found.gradients
    if gradients is not None:
        for bad in gradients.bad:
            yield _bad(gradients, bad, lang)
    for growth in (*(gradients.growth if gradients is not None else ()), *found.growth):
        yield _growth(growth, lang)
    for slope in (*(gradients.slopes if gradients is not None else ()), *found.slopes):
        yield _slope(slope, lang)
    if gradients is not None and gradients.anomalies:
        first = gradients.anomalies[0]
        yield Finding(
            AREA,
            "note",
            "overflow.monitor",
            "unknown",
            first.tag_name,
            say(TEXTS, "grad-anomalies", lang, n=len(gradients.anomalies), message=first.message),
            figures={"n_anomalies": len(gradients.anomalies), "rule": first.rule},
            location=Location(rank=first.rank, step=first.step, byte=first.byte),
        )


def _bad(gradients: Gradients, bad: BadGradient, lang: Lang) -> Finding:
    ranks = ", ".join(str(rank) for rank in bad.ranks if rank >= 0) or "?"
    what = say(TEXTS, "what-nan" if bad.is_nan else "what-plus", lang)
    finite = ", ".join(str(rank) for rank in bad.finite_ranks if rank >= 0)
    values: dict[str, Any] = {"name": bad.name, "step": bad.step, "kind": bad.kind, "what": what}
    if bad.cause == "reduced":
        message = say(TEXTS, "grad-reduced", lang, ranks=finite or "?", **values)
        todo = say(TEXTS, "next-grad-reduced", lang)
    elif bad.cause == "rank":
        told = say(TEXTS, "grad-others", lang, ranks=finite) if finite else say(TEXTS, "grad-none", lang)
        message = say(TEXTS, "grad-rank", lang, ranks=ranks, finite=told, **values)
        todo = say(TEXTS, "next-grad-rank", lang, rank=ranks, step=bad.step)
    else:
        message = say(TEXTS, "grad-only", lang, ranks=ranks, **values)
        todo = say(TEXTS, "next-grad-rank", lang, rank=ranks, step=bad.step)
    known = [rank for rank in bad.ranks if rank >= 0]
    return Finding(
        AREA,
        "error",
        "overflow.monitor",
        "inherited" if bad.cause == "reduced" else "origin",
        bad.name,
        message,
        todo,
        figures={
            "kind": bad.kind,
            "cause": bad.cause,
            "step": bad.step,
            "ranks": known,
            "finite_ranks": [rank for rank in bad.finite_ranks if rank >= 0],
            "n_names": bad.n_names,
        },
        location=_location(gradients, bad.table, bad.row, known[0] if len(known) == 1 else None),
    )


def _growth(growth: Growth, lang: Lang) -> Finding:
    norm = growth.norm
    values = {"kind": norm.kind, "name": norm.name, "before": growth.before, "step": norm.step}
    amounts = {"ratio": number(growth.ratio), "was": number(growth.was), "now": number(growth.now)}
    return Finding(
        AREA,
        "warning",
        "overflow.gradient-growth",
        "suspect",
        norm.name,
        say(TEXTS, "grad-growth", lang, n=growth.n_names, **values, **amounts),
        say(TEXTS, "next-grad-growth", lang, step=norm.step),
        figures={
            "kind": norm.kind,
            "growth_ratio": growth.ratio,
            "norm_before": growth.was,
            "norm": growth.now,
            "step_before": growth.before,
            "step": norm.step,
            "n_names": growth.n_names,
        },
        location=Location(norm.artifact, norm.rank, norm.step, norm.row, norm.line),
    )


def _slope(slope: LayerSlope, lang: Lang) -> Finding:
    values = {"ratio": number(max(slope.ratio, 1 / slope.ratio)), "step": slope.step}
    ends = (slope.first, slope.last) if slope.ratio > 1 else (slope.last, slope.first)
    return Finding(
        AREA,
        "note",
        "overflow.gradient-growth",
        "suspect",
        slope.kind,
        say(TEXTS, "grad-slope", lang, kind=slope.kind, first=ends[0], last=ends[1], **values),
        figures={
            "layer_growth_ratio": slope.ratio,
            "step": slope.step,
            "first_layer": slope.first,
            "last_layer": slope.last,
            "layer_norms": list(slope.norms),
        },
        location=Location(rank=slope.rank, step=slope.step),
    )


def _location(gradients: Gradients, table: int, row: int, rank: int | None) -> Location:
    artifact, rows = gradients.artifacts[table], gradients.tables[table]
    return Location(artifact.relative, rank, int(rows.step[row]), None, int(rows.line[row]))
