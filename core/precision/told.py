"""Counts and end result of a comparison as lines for people; programs read `counts` and `summary`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from npulse.core.figures import number
from npulse.core.findings import Finding
from npulse.core.text import Lang, say

from .comparison import Comparison
from .rows import BASES, BY_STATISTICS, BY_TENSOR, BY_VALUE, LINKED
from .texts import TEXTS
from .verdict import REASON


def told(
    comparison: Comparison,
    counts: Mapping[str, int],
    summary: Mapping[str, Any],
    findings: Sequence[Finding],
    lang: Lang,
) -> tuple[str, ...]:
    """What was compared and on what basis; what became of it; what came out at the end."""
    lines = [
        _so_far(comparison, lang),
        _compared(comparison, lang),
        _outcome(comparison, counts, findings, lang),
    ]
    if "last_output" in summary:
        figures = [
            f"{label} {number(summary[name])}"
            for name, label in (
                ("last_output_cosine", "cosine"),
                ("last_output_rel_l2", "rel.L2"),
                ("last_output_norm_ratio", "norm ratio"),
            )
            if name in summary
        ]
        if not figures:
            figures = [say(TEXTS, f"reason-{summary['last_output_reason']}", lang)]
        name = str(summary["last_output"])
        if "last_output_rank" in summary:
            name += f" (rank {summary['last_output_rank']})"
        lines.append(say(TEXTS, "told-end", lang, name=name, figures=", ".join(figures)))
    lines += [_within_rounding(comparison, lang), _stored_otherwise(comparison, lang)]
    lines += [say(TEXTS, "told-not-read", lang, n=comparison.n_not_read)] if comparison.n_not_read else []
    return tuple(line for line in lines if line)


def _so_far(comparison: Comparison, lang: Lang) -> str:
    """What is not there yet: ranks that are being read, what a capture that still runs will write."""
    if comparison.n_awaited:
        known = len(comparison.ranks)
        return say(TEXTS, "told-ranks-so-far", lang, n=known, total=known + comparison.n_awaited)
    growth = [rank.growth for rank in comparison.ranks if rank.growth is not None]
    if not growth:
        return ""
    n, to_come = sum(one.n_pending for one in growth), sum(one.n_to_come for one in growth)
    return say(TEXTS, "told-so-far", lang, n=n, to_come=to_come)


def _within_rounding(comparison: Comparison, lang: Lang) -> str:
    """Why tensors that differ pass: how many, by how many units at most, what zero references there are."""
    n, ulps, n_zero, dtypes, is_known = 0, 0.0, 0, set[str](), True
    for rank in comparison.ranks:
        rows = rank.rows
        is_it = rows.reason == REASON["rounding"]
        n += int(np.count_nonzero(is_it))
        seen = is_it & rows.computed["ulp_max"]  # by the second read
        is_known = is_known and bool((seen == is_it).all())
        ulps = max(ulps, float(np.fmax.reduce(rows.figures["ulp_max"][seen], initial=0.0)))
        zeros = rows.figures["zero_reference"][is_it & rows.computed["zero_reference"]]
        n_zero += int(zeros.sum())
        for row, pattern in rows.patterns.items():
            if is_it[row] and "dtype" in pattern.figures:
                dtypes.add(str(pattern.figures["dtype"]))
    if not n:
        return ""
    of = say(TEXTS, "told-of", lang, dtypes=", ".join(sorted(dtypes))) if dtypes else ""
    # single elements may be many units off where the tensor as a whole is within rounding: no word of those
    at_most = say(TEXTS, "told-ulps", lang, ulps=number(ulps)) if is_known and ulps <= 1 else ""
    line = say(TEXTS, "told-rounding", lang, n=n, of=of) + at_most
    return line + (say(TEXTS, "told-zero", lang, n=n_zero) if n_zero else "")


def _stored_otherwise(comparison: Comparison, lang: Lang) -> str:
    """Files that hold another dtype than their record declares: noted, and judged as declared."""
    n = sum(len(rank.rows.stored_dtypes) for rank in comparison.ranks)
    return say(TEXTS, "told-stored", lang, n=n) if n else ""


def _compared(comparison: Comparison, lang: Lang) -> str:
    by = np.zeros(len(BASES), np.int64)
    for rank in comparison.ranks:
        by += np.bincount(rank.rows.basis, minlength=len(BASES))
    n_tensors = int(by[BY_TENSOR] + by[LINKED] + by[BY_STATISTICS])
    parts = [_amount("tensor", n_tensors, lang)] if n_tensors else []
    parts += [_amount("value", int(by[BY_VALUE]), lang)] if by[BY_VALUE] else []
    if not parts:
        return ""
    ways = [basis for basis in (BY_TENSOR, LINKED, BY_STATISTICS) if by[basis]]
    words = [say(TEXTS, f"told-by-{BASES[basis]}", lang) for basis in ways]
    if len(ways) > 1:
        words = [f"{int(by[basis]):,} {word}" for basis, word in zip(ways, words, strict=True)]
    how = f" ({', '.join(words)})" if words else ""
    return say(TEXTS, "told-compared", lang, what=_joined(parts, lang)) + how


def _outcome(
    comparison: Comparison, counts: Mapping[str, int], findings: Sequence[Finding], lang: Lang
) -> str:
    origins = [finding for finding in findings if finding.role == "origin"]
    ranks: set[int] = set()
    for finding in origins:
        ranks.update(finding.figures.get("ranks", ()))
        ranks.update(() if finding.location.rank is None else (finding.location.rank,))
    on = say(TEXTS, "told-on-ranks", lang, n=len(ranks)) if len(ranks) > 1 else ""
    parts = [_amount("origin", len(origins), lang) + on] if origins else []
    for name in ("inherited", "unmatched", "error", "warning", "unknown"):
        if counts.get(name):
            parts.append(_amount(name, counts[name], lang))
    for name in ("rank", "step"):
        n = len({getattr(rank, name) for rank in comparison.ranks})
        parts += [say(TEXTS, f"told-{name}s", lang, n=n)] if n > 1 else []
    return _joined(parts, lang)


def _amount(name: str, n: int, lang: Lang) -> str:
    return say(TEXTS, f"told-{name}" + ("" if n == 1 else "s"), lang, n=n)


def _joined(parts: Sequence[str], lang: Lang) -> str:
    return ("，" if lang == "zh" else ", ").join(parts)
