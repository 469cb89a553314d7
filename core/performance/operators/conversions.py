"""Conversions of format and data type: what they take, from what to what, and who asks for them.

Neighbours are told by their order on the stream: what fed whom is not in the table.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass
from npulse.core.figures import time_text
from npulse.core.findings import Related
from npulse.core.text import columns_of, safe_text

from ..advice import Advice, words
from ..criteria import Criteria
from .calls import (
    AI_CPU,
    MIX_VECTOR,
    NONE,
    VECTOR,
    Calls,
    Flags,
    groups_of,
    percent,
    shown_percent,
    stream_order,
    sums_of,
    us,
)
from .tensors import dtype_of, first_of, format_of, parts_of
from .texts_patterns import TEXTS

CAST, FORMAT, TRANSPOSE = "Cast", "TransData", "Transpose"
_FAMILY = {
    "cast": CAST,
    "transdata": FORMAT,
    "transdatarnn": FORMAT,
    "transdataspecial": FORMAT,
    "transpose": TRANSPOSE,
    "transposed": TRANSPOSE,
    "confusiontranspose": TRANSPOSE,
    "confusiontransposed": TRANSPOSE,
}
"""Whole types: a name that only contains one of the words (BroadcastTo) is none."""
FAMILIES = (CAST, FORMAT, TRANSPOSE)
_MAX_TOLD = 6
_MAX_GROUPS = 1000
"""So many kinds of conversions are named, those that take the most; all of them are in the sums."""


@dataclass(frozen=True, slots=True)
class _Pair:
    """Conversions of one kind from one format (or type) to another. before, after: what stands next to them
    most often, with the number of times."""

    family: str
    source: str
    target: str
    first: int
    n: int
    total_ns: int
    before: str
    after: str


def conversion_advice(calls: Calls, criteria: Criteria) -> Iterator[Advice]:
    """One advice for all conversions together."""
    family = families_of(calls)
    there = family >= 0
    if not there.any() or not calls.kernel_ns:
        return
    total_ns = calls.ns_of(there)
    share = percent(total_ns, calls.kernel_ns)
    if share > criteria.conversion_percent:
        yield _costly(calls, family, there, total_ns, share, criteria)


def families_of(calls: Calls) -> npt.NDArray[np.int8]:
    """The place in (Cast, TransData, Transpose) of each call, -1 for what is no conversion."""
    codes = [
        FAMILIES.index(_FAMILY[kind.lower()]) if kind.lower() in _FAMILY else NONE for kind in calls.kinds
    ]
    family = np.array([*codes, NONE], np.int8)[calls.kind]
    named = calls.marked("name", [name.startswith("trans_") for name in calls.table.texts("name")])
    family[named & (family < 0)] = FAMILIES.index(FORMAT)
    family[~calls.is_kernel | (calls.core == AI_CPU)] = NONE  # those are told as operators of the AI CPU
    return family


def _costly(
    calls: Calls, family: npt.NDArray[np.int8], there: Flags, total_ns: int, share: float, criteria: Criteria
) -> Advice:
    on_vector = np.isin(calls.core, (VECTOR, MIX_VECTOR))
    vector_ns = calls.ns_of(on_vector)
    vector_share = percent(calls.ns_of(there & on_vector), vector_ns)
    pairs = _pairs(calls, family, there)
    worst = pairs[0]
    of_family = {name: calls.ns_of(family == i) for i, name in enumerate(FAMILIES) if (family == i).any()}
    steps = [
        words(TEXTS, f"conversion-next-{name.lower()}")
        for name, ns in sorted(of_family.items(), key=lambda item: -item[1])
        if ns >= total_ns / 10
    ]
    return Advice(
        rule="performance.conversion",
        severity="warning",
        subject=calls.name(worst.first),
        message=words(
            TEXTS,
            "conversion",
            n=int(there.sum()),
            total=time_text(total_ns),
            share=shown_percent(share),
            limit=criteria.conversion_percent,
            families=", ".join(f"{name} {time_text(ns)}" for name, ns in of_family.items()),
            vector=words(TEXTS, "conversion-vector", share=shown_percent(vector_share))[0]
            if vector_ns
            else "",
            vector_zh=words(TEXTS, "conversion-vector", share=shown_percent(vector_share))[1]
            if vector_ns
            else "",
            pair=f"{worst.family} {worst.source} -> {worst.target}",
            pair_n=worst.n,
            pair_total=time_text(worst.total_ns),
            before=worst.before or "-",
            after=worst.after or "-",
        ),
        next_step=(" ".join(step[0] for step in steps), "".join(step[1] for step in steps)),
        figures={
            "n_calls": int(there.sum()),
            "total_us": us(total_ns),
            "share_percent": share,
            "vector_share_percent": vector_share if vector_ns else None,
            **{f"{name.lower()}_us": us(ns) for name, ns in of_family.items()},
        },
        cost_ns=total_ns,
        profile=calls.profile.name,
        related=tuple(
            Related(
                "suspect",
                f"{pair.family} {pair.source} -> {pair.target}",
                {
                    "n_calls": pair.n,
                    "total_us": us(pair.total_ns),
                    "before": pair.before,
                    "after": pair.after,
                },
            )
            for pair in pairs[:_MAX_TOLD]
        ),
        location=calls.location(worst.first),
        told=tuple(
            columns_of(
                [
                    (
                        pair.family,
                        f"{pair.source} -> {pair.target}",
                        f"{pair.n:,}",
                        time_text(pair.total_ns),
                        f"{pair.before or '-'} | {pair.after or '-'}",
                    )
                    for pair in pairs[:_MAX_TOLD]
                ],
                left=(0, 1, 4),
            )
        ),
    )


def ends_of(calls: Calls, call: int, family: str) -> tuple[str, str]:
    """From what to what a call converts: types of a cast, formats of the others; "?" where not recorded."""
    if family == CAST:
        columns, read = ("input_dtypes", "output_dtypes"), dtype_of
    else:
        columns, read = ("input_formats", "output_formats"), format_of
    source, target = (safe_text(read(first_of(parts_of(calls.raw(name, call)))), 24) for name in columns)
    if family == TRANSPOSE and source == target:
        return calls.text("input_shapes", call).partition(";")[0] or "?", (
            calls.text("output_shapes", call).partition(";")[0] or "?"
        )
    return source or "?", target or "?"


def _pairs(calls: Calls, family: npt.NDArray[np.int8], there: Flags) -> list[_Pair]:
    """Conversions by what they convert, the most expensive first, with their neighbours on the stream."""
    at = np.flatnonzero(there)
    shapes = (
        np.where(family[at] == FAMILIES.index(TRANSPOSE), calls.values(name)[at], NONE)
        for name in ("input_shapes", "output_shapes")
    )
    group_of, first = groups_of(family[at], *shapes, *(calls.values(name)[at] for name in _KEYS))
    sums = np.bincount(group_of, weights=calls.duration_ns[at], minlength=len(first))
    named = np.argsort(-sums, kind="stable")[:_MAX_GROUPS]
    before, after = _neighbours(calls, there)
    merged: dict[tuple[str, str, str], int] = {}
    pair_of_group = np.full(len(first), NONE, np.int64)
    firsts: list[int] = []
    for i in np.sort(named).tolist():
        call = int(at[first[i]])
        name = FAMILIES[int(family[call])]
        key = (name, *ends_of(calls, call, name))
        if key not in merged:
            merged[key] = len(firsts)
            firsts.append(call)
        pair_of_group[i] = merged[key]
    pair_of = pair_of_group[group_of]
    n = np.bincount(pair_of[pair_of >= 0], minlength=len(firsts))
    totals = sums_of(pair_of, calls.duration_ns[at], len(firsts))
    order = np.lexsort((np.arange(len(firsts)), -totals))[:_MAX_TOLD].tolist()
    keys = list(merged)
    return [
        _Pair(
            keys[i][0],
            keys[i][1],
            keys[i][2],
            firsts[i],
            int(n[i]),
            int(totals[i]),
            _most(calls, before[at][pair_of == i]),
            _most(calls, after[at][pair_of == i]),
        )
        for i in order
    ]


_KEYS = ("input_dtypes", "output_dtypes", "input_formats", "output_formats")


def _most(calls: Calls, kinds: npt.NDArray[np.int32]) -> str:
    """The type that stands there most often, with the number of times."""
    known = kinds[kinds >= 0]
    if not len(known):
        return ""
    counts = np.bincount(known)
    code = int(np.argmax(counts))
    return f"{calls.kind_name(code)} x{int(counts[code])}"


def _neighbours(calls: Calls, there: Flags) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Of each call the type of the last operator before and of the next one behind it on its stream that is
    no conversion; NONE at the ends, and where starts are not known."""
    order = stream_order(calls, calls.is_kernel)
    streams = calls.values("stream")[order]
    n = len(order)
    is_other = ~there[order]
    place = np.arange(n)
    last = np.maximum.accumulate(np.where(is_other, place, -1))
    following = n - 1 - np.maximum.accumulate(np.where(is_other[::-1], place, -1))[::-1]
    following = np.where(following > n - 1, -1, following)
    before = np.full(len(calls), NONE, np.int32)
    after = np.full(len(calls), NONE, np.int32)
    for found, side in ((last, before), (following, after)):
        fine = (found >= 0) & (found < n)
        fine[fine] = streams[found[fine]] == streams[fine]
        side[order[fine]] = calls.kind[order[found[fine]]]
    return before, after
