"""Runs of tiny operators: many calls, little work, and the gaps in which the device waits for more."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from npulse.core.dataclass import dataclass
from npulse.core.figures import time_text
from npulse.core.findings import Related
from npulse.core.text import columns_of

from ..advice import Advice, words
from ..criteria import Criteria
from ..intervals import union
from .calls import Calls, Flags, Integers, idle_before, percent, shown_percent, sums_of, us
from .texts_patterns import TEXTS

MIN_RUN = 3
"""So many tiny operators one after another are a run; one or two between large ones are not."""
MIN_WALL_PERCENT = 5
"""Runs that take less of the wall time, with their gaps, are not told however many calls they have."""
_MAX_TOLD = 6


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs of tiny kernels in the order in which the device ran them.

    at int64: the kernels in that order (places in the calls). first, last int64: of each run, places in `at`.
    gap_ns int64, as long as `at`: how long the device did nothing between a kernel and the next one.
    """

    at: Integers
    first: Integers
    last: Integers
    gap_ns: Integers

    @property
    def lengths(self) -> Integers:
        return self.last - self.first + 1


def runs_of(calls: Calls, limit_ns: float) -> Runs:
    """All runs of at least MIN_RUN kernels shorter than limit_ns. Communication is no kernel and ends no run;
    while it goes on, the device is not idle."""
    at = np.flatnonzero(calls.is_placed & calls.is_kernel)
    gap_ns = np.zeros(len(at), np.int64)
    gap_ns[:-1] = np.diff(idle_before(calls)[at])
    is_tiny = calls.duration_ns[at] < limit_ns
    edges = np.diff(np.concatenate(([0], is_tiny.astype(np.int8), [0])))
    first, last = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1) - 1
    is_run = last - first + 1 >= MIN_RUN
    return Runs(at, first[is_run], last[is_run], gap_ns)


def tiny_advice(calls: Calls, criteria: Criteria) -> Iterator[Advice]:
    """One advice if the calls in such runs are more than tiny_percent of all kernels."""
    n_kernels = int(calls.is_kernel.sum())
    if not n_kernels:
        return
    runs = runs_of(calls, criteria.tiny_us * 1000)
    if not len(runs.first):
        return
    inside = np.zeros(len(runs.at) + 1, np.int64)
    np.add.at(inside, runs.first, 1)
    np.add.at(inside, runs.last + 1, -1)
    in_run = np.cumsum(inside)[:-1] > 0
    in_gap = in_run.copy()
    in_gap[runs.last] = False  # what comes behind a run may have other reasons
    calls_in = runs.at[in_run]
    n = len(calls_in)
    share = percent(n, n_kernels)
    if share <= criteria.tiny_percent:
        return
    total_ns = int(calls.duration_ns[calls_in].sum())
    gaps_ns = int(runs.gap_ns[in_gap].sum())
    covered_ns = union(calls.start_ns[calls_in], calls.duration_ns[calls_in]).total_ns
    wall_share = percent(covered_ns + gaps_ns, calls.wall_ns)  # on several streams they may overlap
    if wall_share < MIN_WALL_PERCENT:
        return
    lengths = runs.lengths
    n_gaps = int(in_gap.sum())
    kinds = calls.kind[calls_in]
    totals = sums_of(kinds, calls.duration_ns[calls_in], len(calls.kinds))
    n_of = np.bincount(kinds[kinds >= 0], minlength=len(calls.kinds))
    order = [i for i in np.lexsort((-totals, -n_of)).tolist() if n_of[i]][:_MAX_TOLD]
    costs = _costs(calls, runs, in_gap)
    worst = int(np.argmax(costs))
    worst_at = runs.at[runs.first[worst] : runs.last[worst] + 1]
    dispatch = _dispatch(calls)
    seen = (
        words(TEXTS, "tiny-dispatch", name=dispatch[0], us=round(dispatch[1] / 1e3, 2))
        if dispatch
        else ("", "")
    )
    yield Advice(
        rule="performance.tiny",
        severity="warning" if wall_share > criteria.tiny_percent else "note",
        subject=calls.name(int(worst_at[0])),
        message=words(
            TEXTS,
            "tiny",
            n=n,
            share=shown_percent(share),
            limit=criteria.tiny_us,
            runs=len(lengths),
            longest=int(lengths.max()),
            total=time_text(total_ns),
            time_share=shown_percent(percent(total_ns, calls.kernel_ns)),
            gaps=time_text(gaps_ns),
            wall=shown_percent(wall_share),
            gap=time_text(gaps_ns / n_gaps if n_gaps else 0),
            dispatch=seen[0],
            dispatch_zh=seen[1],
        ),
        next_step=words(TEXTS, "tiny-next"),
        figures={
            "n_calls": n,
            "calls_percent": share,
            "n_runs": len(lengths),
            "n_longest_run": int(lengths.max()),
            "total_us": us(total_ns),
            "share_percent": percent(total_ns, calls.kernel_ns),
            "gaps_us": us(gaps_ns),
            "mean_gap_us": us(gaps_ns / n_gaps) if n_gaps else 0.0,
            "share_of_wall_percent": wall_share,
            "dispatch_us": us(dispatch[1]) if dispatch else None,
        },
        cost_ns=gaps_ns,
        profile=calls.profile.name,
        related=tuple(
            Related("suspect", calls.kind_name(i), {"n_calls": int(n_of[i]), "total_us": us(int(totals[i]))})
            for i in order
        ),
        location=calls.location(int(worst_at[0])),
        told=tuple(
            columns_of([(calls.kind_name(i), f"{int(n_of[i]):,}", time_text(int(totals[i]))) for i in order])
        )
        if order
        else (),
    )


def _costs(calls: Calls, runs: Runs, in_gap: Flags) -> Integers:
    """Time and gaps of each run."""
    spent = calls.duration_ns[runs.at] + np.where(in_gap, runs.gap_ns, 0)
    sums = np.concatenate(([0], np.cumsum(spent)))
    costs: Integers = sums[runs.last + 1] - sums[runs.first]
    return costs


def _dispatch(calls: Calls) -> tuple[str, float] | None:
    """The host call that launches operators, and how long it takes on average, in ns."""
    launches = [
        api
        for api in calls.profile.apis
        if api.name.lower() in ("launch", "node@launch") and api.count and api.total_ns is not None
    ]
    if not launches:
        return None
    most = max(launches, key=lambda api: api.count or 0)
    return f"{most.level}/{most.name}", (most.total_ns or 0) / (most.count or 1)
