"""The report of a comparison, narrowed to what was asked for and led by the figures that were named."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from npulse.core.analysis import AnalysisOptions
from npulse.core.errors import UsageError
from npulse.core.figures import number
from npulse.core.findings import Finding, Report, verdict_from
from npulse.core.table import Table
from npulse.core.text import Lang, say

from ..comparison import Comparison, RankComparison
from ..explain import row_finding
from ..ranks import ranks_of_call
from ..rows import BY_STATISTICS, BY_TENSOR
from ..verdict import ERROR, REASON, REASONS, UNKNOWN, WARNING, Criteria
from .names import DEFAULT_ERROR_THRESHOLD, Measures, measures, with_limit
from .picked import Mask, call_of_operator, rows_of_layers, rows_of_operator, rows_of_outputs
from .tables import aligned, layer_table, row_table, worst_of
from .texts import TEXTS

MODES = ("layerwise", "network", "single")
SHOWN_LAYERS, SHOWN_ROWS, MOST_FINDINGS = 24, 40, 20
_PLAIN = ("cosine", "rel_l2", "max_abs_error", "norm_ratio")
"""Figures of a table where none was named."""


def check_question(options: AnalysisOptions) -> Measures:
    """What the options ask for, told before the work. UsageError for what cannot be meant."""
    found = measures(options.metrics)
    if options.compare_mode not in (None, *MODES):
        raise UsageError(f"unknown mode '{options.compare_mode}'", hint="--compare-mode " + ", ".join(MODES))
    if options.compare_mode == "single" and options.operator is None:
        raise UsageError("--compare-mode single compares one operator", hint="name it: --operator NAME")
    if options.by_rank and options.operator is None:
        raise UsageError("--by-rank shows one operator on all ranks", hint="name it: --operator NAME")
    if options.operator is not None and options.compare_mode in ("layerwise", "network"):
        raise UsageError(f"--operator is of no use with --compare-mode {options.compare_mode}")
    return found


def criteria_asked(criteria: Criteria, options: AnalysisOptions) -> Criteria:
    """The criteria with the limit of the error that was asked for, if any."""
    if options.error_threshold is None:
        return criteria
    return with_limit(criteria, measures(options.metrics).figures, options.error_threshold)


def answered(comparison: Comparison, report: Report, options: AnalysisOptions) -> Report:
    """The report with what was asked for: lines behind its first ones, tables, and of a mode its findings.

    Where nothing was asked for it is the same report. InputError where an operator or layer is not there.
    """
    asked = measures(options.metrics)
    lang, mode = options.lang, "single" if options.operator is not None else options.compare_mode
    if asked.is_by_layer and mode is None:
        mode = "layerwise"
    is_plain = not options.metrics and options.error_threshold is None and not options.layers
    if is_plain and mode is None:
        return report
    if options.by_rank:
        options = replace(options, operator=call_of_operator(comparison, str(options.operator)))
    masks = rows_of_layers(comparison, options.layers)
    if mode == "single":
        masks = rows_of_operator(comparison, str(options.operator))
    elif mode == "network":
        masks = [a & b for a, b in zip(masks, rows_of_outputs(comparison), strict=True)]
    lines = [*_read_as(asked, options, lang), *_narrowed(comparison, masks, options, lang)]
    lines += _sample_lines(comparison, asked, lang)
    lines += _limit_lines(comparison, masks, lang)
    figures = _with_bound(comparison, masks, asked.figures or _PLAIN)
    summary, told = _worst_lines(comparison, masks, asked.figures, lang)
    lines += told
    tables: dict[str, Table] = {}
    if mode == "layerwise":
        table = layer_table(comparison, masks, figures)
        lines += _layer_lines(table, asked, options, lang)
        tables["layers"] = table
    elif mode is not None:
        report = _of_rows_alone(comparison, report, masks, options)
        tables["asked"] = row_table(comparison, masks, figures)
        lines += _mode_lines(comparison, tables["asked"], masks, mode, options)
        if options.by_rank:
            tables["ranks"] = ranks_of_call(comparison, str(options.operator), options.step).table
    if not options.tables:
        tables = {}
    return replace(
        report,
        told=(*report.told, *lines),
        tables={**tables, **report.tables},
        summary={**report.summary, **({"metrics": summary} if summary else {})},
    )


def _read_as(asked: Measures, options: AnalysisOptions, lang: Lang) -> Iterator[str]:
    for name, figure in asked.renamed:
        if name.lower() in ("verl", "fastrl"):
            limit = options.error_threshold
            text = "" if limit is not None else say(TEXTS, "verl-limit", lang, limit=DEFAULT_ERROR_THRESHOLD)
            yield say(TEXTS, "verl", lang, name=name, limit=text)
        else:
            yield say(TEXTS, "renamed", lang, name=name, figure=figure)


def _narrowed(
    comparison: Comparison, masks: Sequence[Mask], options: AnalysisOptions, lang: Lang
) -> Iterator[str]:
    if not options.layers:
        return
    n = sum(
        len(np.unique(rank.rows.pairing.row_call[mask]))
        for rank, mask in zip(comparison.ranks, masks, strict=True)
    )
    of = sum(rank.rows.pairing.n_calls for rank in comparison.ranks)
    yield say(TEXTS, "narrowed", lang, n=n, of=of, patterns=", ".join(options.layers)[:200])


def _sample_lines(comparison: Comparison, asked: Measures, lang: Lang) -> Iterator[str]:
    """How much was read of what was compared."""
    if not asked.is_sampled:
        return
    n_tensors, n_sampled, n_read, n_all = 0, 0, 0.0, 0.0
    for rank in comparison.ranks:
        rows = rank.rows
        by_elements = rows.basis == BY_TENSOR
        n_tensors += int(by_elements.sum())
        n_sampled += int((by_elements & rows.sampled()).sum())
        n_all += float(np.nansum(rows.figures["n_elements"][by_elements]))
        for name in ("n_compared", "nonfinite_agreeing", "nonfinite_differing"):
            n_read += float(np.nansum(rows.figures[name][by_elements]))
    if not n_tensors:
        yield say(TEXTS, "sample-none", lang)
        return
    if not n_sampled:
        yield say(TEXTS, "sample-whole", lang, of=n_tensors)
        return
    share = f"{100 * n_read / n_all:.3g}" if n_all else "100"
    yield say(TEXTS, "sample", lang, n=n_sampled, of=n_tensors, read=f"{n_read:,.0f}", share=share)


def _limit_lines(comparison: Comparison, masks: Sequence[Mask], lang: Lang) -> Iterator[str]:
    limits = comparison.criteria.limits
    if not limits:
        return
    n, n_statistics = 0, 0
    for rank, mask in zip(comparison.ranks, masks, strict=True):
        n += int((mask & (rank.rows.reason == REASON["error-threshold"])).sum())
        n_statistics += int((mask & (rank.rows.basis == BY_STATISTICS)).sum())
    told = ", ".join(f"{name} <= {limit:g}" for name, limit in limits)
    yield say(TEXTS, "limit", lang, limits=told, n=n)
    if n_statistics:
        yield say(TEXTS, "limit-statistics", lang, n=n_statistics)


def _with_bound(comparison: Comparison, masks: Sequence[Mask], figures: Sequence[str]) -> tuple[str, ...]:
    """The figures, and the least error that statistics prove where rows are known by these alone."""
    by_statistics = any(
        (mask & (rank.rows.basis == BY_STATISTICS)).any()
        for rank, mask in zip(comparison.ranks, masks, strict=True)
    )
    has_bound = by_statistics and "rel_l2" in figures
    return (*figures, "rel_l2_at_least") if has_bound else tuple(figures)


def _where(comparison: Comparison, rank: RankComparison, lang: Lang) -> str:
    has_ranks = len({one.rank for one in comparison.ranks}) > 1 and rank.rank is not None
    return say(TEXTS, "on-rank", lang, rank=rank.rank) if has_ranks else ""


def _worst_lines(
    comparison: Comparison, masks: Sequence[Mask], figures: Sequence[str], lang: Lang
) -> tuple[dict[str, Any], list[str]]:
    """The worst of each figure that was named, for programs and as lines."""
    parts = [(rank, np.flatnonzero(mask)) for rank, mask in zip(comparison.ranks, masks, strict=True)]
    summary: dict[str, Any] = {}
    lines: list[str] = []
    for figure in figures:
        worst = worst_of(parts, figure)
        if worst is None:
            summary[figure] = None
            lines.append(say(TEXTS, "no-figure", lang, figure=figure))
            continue
        rank, row = worst.rank, worst.row
        subject = rank.target.leaf_name(rank.rows.target_row(row))  # a row with a figure has both leaves
        summary[figure] = {
            "worst": worst.value,
            "subject": subject,
            "rank": rank.rank,
            "step": rank.step,
            "n_tensors": worst.n,
            "is_lower_bound": worst.is_bound,
        }
        key = "worst-bound" if worst.is_bound else "worst"
        where = _where(comparison, rank, lang)
        values = {"figure": figure, "value": number(worst.value), "subject": subject, "where": where}
        lines.append(say(TEXTS, key, lang, n=worst.n, **values))
    return summary, lines


def _layer_lines(table: Table, asked: Measures, options: AnalysisOptions, lang: Lang) -> Iterator[str]:
    verdicts = table.column("verdict").to_list(0, table.n_rows)
    differ = [place for place, verdict in enumerate(verdicts) if verdict in ("error", "warning")]
    if asked.is_by_layer and options.error_threshold is None and "rel_l2" in asked.figures:
        yield from _above(table, lang)
    if not differ:
        yield say(TEXTS, "layers-agree", lang, n=table.n_rows)
        return
    n_beyond = sum(verdict == "error" for verdict in verdicts)
    yield say(TEXTS, "layers", lang, n=table.n_rows, n_beyond=n_beyond)
    yield from aligned(table, most=SHOWN_LAYERS, first=differ[0])
    more = table.n_rows - differ[0] - SHOWN_LAYERS
    if more > 0:
        yield say(TEXTS, "layers-more", lang, n=more)


def _above(table: Table, lang: Lang) -> Iterator[str]:
    """Layers beyond the documents' limit, which nobody asked to judge by."""
    errors = table.column("rel_l2").to_list(0, table.n_rows)
    above = [i for i, e in enumerate(errors) if e is not None and not e <= DEFAULT_ERROR_THRESHOLD]
    if above:
        first = table.row(above[0])
        where = "" if first["rank"] is None else say(TEXTS, "on-rank", lang, rank=first["rank"])
        values = {"limit": f"rel_l2 {DEFAULT_ERROR_THRESHOLD:g}", "layer": first["layer"], "where": where}
        yield say(TEXTS, "above", lang, n=len(above), **values)


def _mode_lines(
    comparison: Comparison, table: Table, masks: Sequence[Mask], mode: str, options: AnalysisOptions
) -> Iterator[str]:
    lang = options.lang
    if mode == "network":
        yield say(TEXTS, "network", lang, n=table.n_rows)
    elif not options.by_rank:
        n_ranks = len({rank.rank for rank, mask in zip(comparison.ranks, masks, strict=True) if mask.any()})
        yield say(TEXTS, "single", lang, operator=options.operator, n=table.n_rows, ranks=n_ranks)
    if options.by_rank:
        found = ranks_of_call(comparison, str(options.operator), options.step)
        step = "?" if found.step is None else found.step
        yield say(TEXTS, "by-rank", lang, operator=found.operator, step=step)
        yield from aligned(found.table, most=4 * SHOWN_ROWS)
        if found.absent:
            yield say(TEXTS, "by-rank-absent", lang, ranks=", ".join(map(str, found.absent[:16])))
        return
    yield from aligned(table, most=SHOWN_ROWS)


def _of_rows_alone(
    comparison: Comparison, report: Report, masks: Sequence[Mask], options: AnalysisOptions
) -> Report:
    """The report of the rows that were asked for: their findings and the verdict that these give."""
    findings: list[Finding] = []
    has_unknown = False
    for rank, mask in zip(comparison.ranks, masks, strict=True):
        verdicts = rank.rows.verdict
        has_unknown = has_unknown or bool((mask & (verdicts == UNKNOWN)).any())
        for row in np.flatnonzero(mask & np.isin(verdicts, (ERROR, WARNING))).tolist():
            findings.append(_beyond(comparison, rank, row, options))
    findings.sort(key=lambda finding: finding.severity != "error")
    has_unknown = has_unknown or not any(mask.any() for mask in masks) or comparison.is_growing
    problems = report.problems
    return replace(
        report,
        findings=tuple(findings),
        verdict=verdict_from(findings, problems, has_unknown=has_unknown),
        beneath=verdict_from((), problems, has_unknown=has_unknown),
    )


def _beyond(comparison: Comparison, rank: RankComparison, row: int, options: AnalysisOptions) -> Finding:
    lang = options.lang
    found = row_finding(comparison, rank, row, lang)
    if found.rule:
        return found
    reason = REASONS[int(rank.rows.reason[row])]
    message = say(TEXTS, "beyond", lang, reason=found.message or reason)
    option = "--compare-mode" if options.operator is None else "--operator"
    next_step = say(TEXTS, "next-beyond", lang, option=option)
    return replace(found, rule="precision.asked", message=message, next_step=next_step)
