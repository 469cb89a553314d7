"""Operators that ran on the AI CPU instead of an AI core: how much they take, and what sent them there."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from npulse.core.dataclass import dataclass
from npulse.core.figures import time_text
from npulse.core.findings import Related
from npulse.core.text import columns_of, safe_text

from ..advice import Advice, words
from ..criteria import Criteria
from ..intervals import union
from .calls import AI_CPU, Calls, Flags, groups_of, percent, shown_percent, us
from .tensors import dtypes_of
from .texts_patterns import TEXTS

WORTH_PERCENT = 3
"""Share of the operator time from which the vendor's advisor gives medium priority."""

_GENERIC = frozenset(
    {"FLOAT", "FLOAT16", "BF16", "BOOL", "INT8", "INT16", "INT32", "INT64"}
    | {"UINT8", "UINT16", "UINT32", "UINT64"}
)
_ALLOWED = {
    "cast": _GENERIC - {"INT8", "INT16", "UINT16"},
    "tensorequal": frozenset({"FLOAT", "FLOAT16", "BOOL", "INT32", "INT8", "UINT8"}),
    "equal": frozenset({"FLOAT", "FLOAT16", "BOOL", "INT32", "INT64", "INT8", "UINT8"}),
    "nonzero": frozenset({"FLOAT16", "BOOL", "BF16"}),
    "mul": _GENERIC - {"INT16", "UINT16"},
}
"""Input types that AI cores take, as the vendor's advisor lists them (CANN 7.0)."""
_ALLOWED_OUT = {
    **_ALLOWED,
    "tensorequal": frozenset({"BOOL"}),
    "equal": frozenset({"BOOL"}),
    "nonzero": frozenset({"INT64"}),
}
REPLACED = frozenset(
    {"index", "indexput", "indexputv2", "nonzero", "argmin"}
    | {"maskedselect", "unique", "unique2", "uniqueconsecutive"}
)
"""Types that are to be written in another way; the second line is ours, its shapes depend on data."""

_MAX_TOLD = 8
_MAX_DTYPES = 6
_MAX_GROUPS = 1000


@dataclass(frozen=True, slots=True)
class _Group:
    """Calls of one type on the AI CPU. reason: "dtype", "type" or ""; dtypes: those that are not allowed."""

    kind: str
    first: int
    n: int
    n_long: int
    total_ns: int
    longest_ns: int
    reason: str
    dtypes: tuple[str, ...]


def aicpu_advice(calls: Calls, criteria: Criteria) -> Iterator[Advice]:
    """One advice if any call ran on the AI CPU. Silent where no column says what a call ran on."""
    there = calls.core == AI_CPU
    if not there.any():
        return
    limit_ns = criteria.aicpu_us * 1000
    groups = _groups(calls, there, limit_ns)
    total_ns = calls.ns_of(there)
    n_long = int((there & (calls.duration_ns > limit_ns)).sum())
    exposed_ns = _exposed_ns(calls, there)
    share = percent(total_ns, calls.total_ns)
    worst = groups[0]
    named = ", ".join(dict.fromkeys(group.kind for group in groups[:4]))
    dtypes = tuple(dict.fromkeys(dtype for group in groups for dtype in group.dtypes))
    replaced = tuple(dict.fromkeys(group.kind for group in groups if group.kind.lower() in REPLACED))
    steps = []
    if dtypes:
        steps.append(words(TEXTS, "aicpu-next-dtype", dtypes=", ".join(dtypes)))
    if replaced:
        steps.append(words(TEXTS, "aicpu-next-type", types=", ".join(replaced)))
    if any(not group.reason for group in groups):
        steps.append(words(TEXTS, "aicpu-next-other"))
    yield Advice(
        rule="performance.aicpu",
        severity="warning" if n_long and share >= WORTH_PERCENT else "note",
        subject=calls.name(worst.first),
        message=words(
            TEXTS,
            "aicpu",
            n=int(there.sum()),
            types=named,
            total=time_text(total_ns),
            share=shown_percent(share),
            n_long=n_long,
            limit=criteria.aicpu_us,
            exposed=time_text(exposed_ns),
        ),
        next_step=(" ".join(step[0] for step in steps), "".join(step[1] for step in steps)),
        figures={
            "n_calls": int(there.sum()),
            "n_long_calls": n_long,
            "total_us": us(total_ns),
            "share_percent": share,
            "alone_us": us(exposed_ns),
            "not_allowed_dtypes": list(dtypes),
        },
        cost_ns=exposed_ns,
        profile=calls.profile.name,
        related=tuple(
            Related(
                "suspect",
                group.kind,
                {
                    "n_calls": group.n,
                    "n_long_calls": group.n_long,
                    "total_us": us(group.total_ns),
                    "longest_us": us(group.longest_ns),
                    "share_percent": percent(group.total_ns, calls.total_ns),
                    "reason": ", ".join(group.dtypes) or group.reason or "unknown",
                },
            )
            for group in groups[:_MAX_TOLD]
        ),
        location=calls.location(worst.first),
        told=tuple(
            columns_of(
                [
                    (
                        group.kind,
                        f"{group.n:,}",
                        f"{group.n_long:,} > {criteria.aicpu_us:g} us",
                        time_text(group.total_ns),
                        f"{shown_percent(percent(group.total_ns, calls.total_ns))} %",
                        ", ".join(group.dtypes),
                    )
                    for group in groups[:_MAX_TOLD]
                ],
                left=(0, 5),
            )
        ),
    )


def _groups(calls: Calls, there: Flags, limit_ns: float) -> list[_Group]:
    """By type and data types, the most expensive first."""
    at = np.flatnonzero(there)
    group_of, first = groups_of(
        calls.kind[at], calls.values("input_dtypes")[at], calls.values("output_dtypes")[at]
    )
    durations = calls.duration_ns[at]
    n_groups = len(first)
    n = np.bincount(group_of, minlength=n_groups)
    n_long = np.bincount(group_of[durations > limit_ns], minlength=n_groups)
    totals = np.zeros(n_groups, np.int64)
    np.add.at(totals, group_of, durations)
    longest = np.zeros(n_groups, np.int64)
    np.maximum.at(longest, group_of, durations)
    order = np.lexsort((np.arange(n_groups), -totals))
    found = []
    for i in order[:_MAX_GROUPS].tolist():
        call = int(at[first[i]])
        kind = calls.kind_name(int(calls.kind[call]))
        reason, dtypes = _reason(calls, call, kind.lower())
        found.append(
            _Group(kind, call, int(n[i]), int(n_long[i]), int(totals[i]), int(longest[i]), reason, dtypes)
        )
    return found


def _reason(calls: Calls, call: int, kind: str) -> tuple[str, tuple[str, ...]]:
    """Why it is not on an AI core, as far as the vendor's lists tell, and the types that are not allowed."""
    allowed = (_ALLOWED.get(kind, _GENERIC), _ALLOWED_OUT.get(kind, _GENERIC))
    cells = (calls.raw("input_dtypes", call), calls.raw("output_dtypes", call))
    bad = [
        dtype
        for cell, fine in zip(cells, allowed, strict=True)
        for dtype in dtypes_of(cell)
        if dtype and dtype not in fine
    ]
    if kind in REPLACED and not any(dtype == "DOUBLE" or dtype.startswith("COMPLEX") for dtype in bad):
        return "type", ()  # the lists differ from release to release; that it is such a type is certain
    named = tuple(dict.fromkeys(safe_text(dtype, 40) for dtype in bad))[:_MAX_DTYPES]
    return ("dtype", named) if named else ("", ())


def _exposed_ns(calls: Calls, there: Flags) -> int:
    """How long nothing but the AI CPU was busy: what goes at most if its operators go.

    Where the starts are not known, all of its time.
    """
    placed = calls.is_placed
    alone = calls.ns_of(there & ~placed)
    everything = union(calls.start_ns[placed], calls.duration_ns[placed]).total_ns
    others = placed & ~there
    return alone + everything - union(calls.start_ns[others], calls.duration_ns[others]).total_ns
