"""What recipes of the vendor's cluster analysis say: told as theirs beside our answer, never as an origin."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping

from npulse.core.figures import time_text
from npulse.core.findings import Location
from npulse.core.text import safe_text

from ..advice import Advice, Words, words
from ..cluster import ToolTables
from .texts import TEXTS

_OWN_TIME = re.compile(r"\s*[\d.]+\s*us\s*$")
"""Reasons end in the time of the gap that they are of."""


def advice_of_tool_tables(told: ToolTables) -> Iterator[Advice]:
    """A note for each table that says something."""
    yield from _slow_ranks(told)
    yield from _bottlenecks(told)
    yield from _free(told)


def _slow_ranks(told: ToolTables) -> Iterator[Advice]:
    counted = [one for one in told.slow_ranks if one.n_affected is not None]
    if not counted:
        return
    first = max(counted, key=lambda one: (one.n_affected or 0, -one.rank))
    n_all = sum(one.n_affected or 0 for one in counted)
    message = words(TEXTS, "tool-slow-rank", rank=first.rank, n=first.n_affected, all=n_all)
    figures = {"rank": first.rank, "n_affected": first.n_affected, "n_affected_by_all": n_all}
    yield _note(told, "slow_ranks", message, figures, first.rank, first.line)


def _bottlenecks(told: ToolTables) -> Iterator[Advice]:
    timed = [one for one in told.bottlenecks if one.duration_ns is not None]
    if not timed:
        return
    longest = max(timed, key=lambda one: one.duration_ns or 0)
    named = Counter(one.slow_rank for one in timed if one.slow_rank is not None)
    n_named = sum(named.values())
    rank = named.most_common(1)[0][0] if named else None
    message = words(
        TEXTS,
        "tool-bottlenecks" if rank is not None else "tool-bottlenecks-nobody",
        n=len(timed),
        op=safe_text(longest.op, 80),
        time=time_text(longest.duration_ns or 0),
        rank=rank,
        n_rank=named[rank] if rank is not None else 0,
        n_none=len(timed) - n_named,
    )
    figures = {"n_operations": len(timed), "rank": rank, "longest_us": (longest.duration_ns or 0) / 1000}
    yield _note(told, "bottlenecks", message, figures, rank, longest.line)


def _free(told: ToolTables) -> Iterator[Advice]:
    by_reason: Counter[str] = Counter()
    for gap in told.free:
        by_reason[_OWN_TIME.sub("", gap.reason)] += gap.duration_ns or 0
    if not by_reason:
        return
    (reason, most_ns), *_ = by_reason.most_common(1)
    total_ns = sum(by_reason.values())
    message = words(
        TEXTS,
        "tool-free",
        n=len(told.free),
        time=time_text(total_ns),
        reason=safe_text(reason, 160),
        most=time_text(most_ns),
    )
    figures = {
        "n_gaps": len(told.free),
        "listed_us": total_ns / 1000,
        "reason": reason,
        "reason_us": most_ns / 1000,
    }
    yield _note(told, "free", message, figures, None, told.free[0].line)


def _note(
    told: ToolTables, table: str, message: Words, figures: Mapping[str, object], rank: int | None, line: int
) -> Advice:
    return Advice(
        rule="performance.cluster-analysis",
        severity="note",
        role="unknown",
        subject=told.folder,
        message=message,
        figures=figures,
        location=Location(told.sources[table], line=line, rank=rank),
    )
