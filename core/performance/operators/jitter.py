"""Kernels whose time varies from call to call though name and shapes are the same; first calls told apart."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass
from npulse.core.figures import time_text
from npulse.core.findings import Related
from npulse.core.text import columns_of

from ..advice import Advice, words
from ..criteria import Criteria
from .calls import Calls, Flags, Integers, groups_of, percent, shown_percent, us
from .texts_patterns import TEXTS

MIN_CALLS = 10
WORTH_PERCENT = 1
"""What all calls take above their median must be that much of the kernel time."""
_KEYS = ("name", "block_dim", "input_shapes", "input_dtypes", "input_formats", "output_shapes")
_MAX_TOLD = 6

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Spread:
    """Groups of calls of the same kernel: name, type, core, block dim, shapes, types and formats.

    Arrays have one element a group with at least MIN_CALLS calls: first int64 (call), n int64, p50 and p99 in
    ns without the first call, over_ns: what calls take above the median together (without the first one),
    first_over_ns: what the first one does.
    """

    first: Integers
    n: Integers
    p50_ns: Floats
    p99_ns: Floats
    over_ns: Integers
    first_over_ns: Integers

    @property
    def jitter(self) -> Floats:
        """(p99 - p50) / p50."""
        return (self.p99_ns - self.p50_ns) / np.maximum(self.p50_ns, 1)


def spread_of(calls: Calls) -> Spread:
    """Calls without recorded shapes are in no group: nobody knows whether they do the same."""
    there = calls.is_kernel & (calls.kind >= 0) & (calls.values("input_shapes") >= 0)
    at = np.flatnonzero(there)
    empty = np.zeros(0, np.int64)
    if len(at) < MIN_CALLS:
        return Spread(empty, empty, empty.astype(np.float64), empty.astype(np.float64), empty, empty)
    group_of, first = groups_of(calls.kind[at], calls.core[at], *(calls.values(name)[at] for name in _KEYS))
    counts = np.bincount(group_of, minlength=len(first))
    is_many = counts >= MIN_CALLS
    place = np.cumsum(is_many) - 1
    rest = is_many[group_of]
    rest[first] = False  # the first call is told apart
    groups = place[group_of[rest]]
    durations = calls.duration_ns[at[rest]]
    groups, durations = _sorted(groups, durations)
    n_rest = counts[is_many] - 1
    begins = np.concatenate(([0], np.cumsum(n_rest)))[:-1]
    p50 = _percentile(durations, begins, n_rest, 0.5)
    p99 = _percentile(durations, begins, n_rest, 0.99)
    over = np.maximum(0, durations - p50[groups])
    firsts = at[first[is_many]]
    return Spread(
        firsts,
        counts[is_many].astype(np.int64),
        p50,
        p99,
        np.bincount(groups, weights=over, minlength=len(firsts)).astype(np.int64),
        np.maximum(0, calls.duration_ns[firsts] - p50).astype(np.int64),
    )


def jitter_advice(calls: Calls, criteria: Criteria) -> Iterator[Advice]:
    """Kernels that vary, and apart from them kernels of which only the first call is slow."""
    if not calls.has("input_shapes"):
        return
    spread = spread_of(calls)
    if not len(spread.first):
        return
    limit = criteria.kernel_jitter_percent / 100
    is_shaky = spread.jitter > limit
    shaky = _worst(spread.over_ns, is_shaky)
    if len(shaky) and percent(int(spread.over_ns[shaky].sum()), calls.kernel_ns) >= WORTH_PERCENT:
        yield _advice(calls, spread, shaky, criteria, "jitter", spread.over_ns)
    is_warm = ~is_shaky & (spread.first_over_ns > limit * spread.p50_ns)
    warm = _worst(spread.first_over_ns, is_warm)
    if len(warm) and percent(int(spread.first_over_ns[warm].sum()), calls.kernel_ns) >= WORTH_PERCENT:
        yield _advice(calls, spread, warm, criteria, "warm-up", spread.first_over_ns)


def _worst(over_ns: Integers, mask: Flags) -> Integers:
    """Groups of a mask, what is most at stake first."""
    found = np.flatnonzero(mask & (over_ns > 0))
    return found[np.argsort(-over_ns[found], kind="stable")]


def _advice(
    calls: Calls, spread: Spread, groups: Integers, criteria: Criteria, key: str, over_ns: Integers
) -> Advice:
    cost_ns = int(over_ns[groups].sum())
    worst = int(groups[0])
    call = int(spread.first[worst])
    shown = groups[:_MAX_TOLD].tolist()
    first_ns = int(calls.duration_ns[call])
    return Advice(
        rule=f"performance.{'kernel-jitter' if key == 'jitter' else 'kernel-warm-up'}",
        severity="note",
        subject=calls.name(call),
        message=words(
            TEXTS,
            key,
            n=len(groups),
            type=calls.kind_name(int(calls.kind[call])),
            shapes=calls.text("input_shapes", call),
            calls=int(spread.n[worst]),
            p50=time_text(float(spread.p50_ns[worst])),
            p99=time_text(float(spread.p99_ns[worst])),
            percent=round(100 * float(spread.jitter[worst]), 1),
            limit=criteria.kernel_jitter_percent,
            first=time_text(first_ns),
            stake=time_text(cost_ns),
            share=shown_percent(percent(cost_ns, calls.kernel_ns)),
        ),
        next_step=words(TEXTS, f"{key}-next"),
        figures={
            "n_kernels": len(groups),
            "n_calls": int(spread.n[worst]),
            "p50_us": us(float(spread.p50_ns[worst])),
            "p99_us": us(float(spread.p99_ns[worst])),
            "jitter_percent": 100 * float(spread.jitter[worst]),
            "first_call_us": us(first_ns),
            "over_median_us": us(cost_ns),
            "share_percent": percent(cost_ns, calls.kernel_ns),
        },
        cost_ns=cost_ns,
        profile=calls.profile.name,
        related=tuple(
            Related(
                "suspect",
                calls.name(int(spread.first[i])),
                {
                    "n_calls": int(spread.n[i]),
                    "p50_us": us(float(spread.p50_ns[i])),
                    "p99_us": us(float(spread.p99_ns[i])),
                    "over_median_us": us(int(over_ns[i])),
                    "input_shapes": calls.text("input_shapes", int(spread.first[i])),
                },
            )
            for i in shown
        ),
        location=calls.location(call),
        told=tuple(
            columns_of(
                [
                    (
                        calls.kind_name(int(calls.kind[spread.first[i]])),
                        calls.text("input_shapes", int(spread.first[i]))[:40],
                        f"{int(spread.n[i]):,}",
                        f"p50 {time_text(float(spread.p50_ns[i]))}",
                        f"p99 {time_text(float(spread.p99_ns[i]))}",
                        time_text(int(over_ns[i])),
                    )
                    for i in shown
                ],
                left=(0, 1),
            )
        ),
    )


def _sorted(groups: Integers, durations: Integers) -> tuple[Integers, Integers]:
    """Durations by group and length; both in one number where that has room, which sorts much faster."""
    room = int(durations.max(initial=0)).bit_length()
    if int(groups.max(initial=0)).bit_length() + room < 63:
        packed = np.sort((groups << room) | durations)
        return packed >> room, packed & ((1 << room) - 1)
    order = np.lexsort((durations, groups))
    return groups[order], durations[order]


def _percentile(durations: Integers, begins: Integers, n: Integers, q: float) -> Floats:
    """Of each group of sorted durations, linear between the two next to it (as numpy does)."""
    place = q * (n - 1)
    low = np.floor(place).astype(np.int64)
    high = np.minimum(low + 1, n - 1)
    below, above = durations[begins + low], durations[begins + high]
    found: Floats = below + (above - below) * (place - low)
    return found
