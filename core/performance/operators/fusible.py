"""Sequences of operators that come again and again and whose time goes into gaps, or into moving data.

Windows of every length are counted by rolling hashes, so a table costs a few passes, whatever repeats in it.
What is told is counted again exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np
import numpy.typing as npt

from npulse.core.figures import time_text
from npulse.core.findings import Related
from npulse.core.formats.profiling.operators import OperatorTable
from npulse.core.text import columns_of

from ..advice import Advice, words
from ..criteria import Criteria
from ..intervals import union
from .calls import AI_CPU, NONE, Calls, Flags, Integers, idle_before, percent, shown_percent, stream_order, us
from .fused import Sequences
from .texts_patterns import TEXTS

MIN_LENGTH, MAX_LENGTH = 2, 10
MIN_REPEATS = 6
MIN_PERCENT = 1
HOST_BOUND = 0.4
MTE_BOUND = 0.8
TOP = 5
"""All of them the vendor's: 2 to 10 operators, more than 5 times, more than 1 % of the step."""

_HEAVY = ("matmul", "gemm", "conv2d", "conv3d", "attention", "grouped")
"""Words in types that move weights and large inputs: fusing their neighbours does not spare that (ours)."""
_CANDIDATES = 40
"""Windows of each length that are looked at again; rotations and parts of one loop are many."""
_BITS = (14, 18, 22)
_MAX_EXACT = 40  # windows that are counted again
_AT_ONCE = 1 << 19  # windows that are counted at once

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Sequence:
    """A repeated sequence. kinds: codes of its types.

    first int64: places in the order of the stream, none overlaps another. busy_ns: durations; wall_ns: from
    the first start to the last end, summed; covered_ns: the part of the whole time that they cover. idle_ns:
    how long the device did nothing in them. mte_ratio: moving against core time, NaN where not recorded or
    where matmuls and the like are in it.
    """

    kinds: tuple[int, ...]
    first: Integers
    busy_ns: int
    wall_ns: int
    covered_ns: int
    idle_ns: int
    mte_ratio: float

    @property
    def is_host_bound(self) -> bool:
        return self.wall_ns > 0 and self.busy_ns / self.wall_ns < HOST_BOUND

    @property
    def is_mte_bound(self) -> bool:
        return self.mte_ratio > MTE_BOUND

    @property
    def stake_ns(self) -> int:
        """Idle time in it; where it is bound by moving, all of its operators but one."""
        if self.is_host_bound:
            return self.idle_ns
        return self.busy_ns * (len(self.kinds) - 1) // len(self.kinds)


def repeated_sequences(calls: Calls, taken: Flags | None = None) -> list[Sequence]:
    """The TOP sequences, the longest time first. taken: for each kernel of the stream order whether a known
    fusion covers it already; sequences that mostly consist of those, or of a longer one, are left out."""
    order = stream_order(calls, calls.is_kernel)
    if taken is None:
        taken = np.zeros(len(order), np.bool_)
    n = len(order)
    if n < MIN_LENGTH * MIN_REPEATS:
        return []
    # nearly always all calls in their order: then nothing is copied
    is_all = n == len(calls) and bool((order[1:] > order[:-1]).all())
    chosen = slice(None) if is_all else order
    part = calls.core[chosen] != AI_CPU  # what is there waits for another processor: a sequence ends
    streams = _narrow(calls.values("stream")[chosen])
    kinds = calls.kind[chosen]
    starts, durations = calls.start_ns[chosen], calls.duration_ns[chosen]
    busy = _summed(durations)
    moves, works = _moves(calls, order)
    unusable = _counted(~part | (kinds < 0))
    covered = taken.copy()
    fused = _counted(covered)
    ends = starts + durations
    limit_ns = calls.wall_ns * MIN_PERCENT / 100
    is_heavy = calls.marked("kind", [any(word in kind.lower() for word in _HEAVY) for kind in calls.kinds])[
        chosen
    ]
    heavy = _counted(is_heavy)
    del durations, part, is_heavy  # a million kernels: times are 8 MB each
    spans = _Spans(streams, unusable, heavy, starts, ends, busy, moves, works)
    hashes = _scattered(np.arange(NONE, len(calls.kinds)))
    rolling = hashes[kinds - NONE]
    candidates: list[tuple[float, int, int]] = []
    for length in range(2, MAX_LENGTH + 1):
        if n - length + 1 < MIN_REPEATS:
            break
        rolling = rolling[: n - length + 1]
        rolling *= np.uint64(0x9E3779B97F4A7C15)
        rolling += hashes[kinds[length - 1 :] - NONE]
        candidates += _candidates(spans, rolling, length, limit_ns)
    del rolling
    idle = idle_before(calls)
    # windows that overlap themselves were counted too often: their time is known once they are looked at
    heap = [(-wall, -length, place) for wall, length, place in candidates]
    heapify(heap)
    exact: dict[tuple[int, ...], Sequence] = {}
    found: list[Sequence] = []
    while heap and len(found) < TOP and len(exact) < _MAX_EXACT:
        _, negative, place = heappop(heap)
        length = -negative
        codes = tuple(kinds[place : place + length].tolist())
        if _is_repeat(codes) or any(_is_part(codes, other.kinds) for other in found):
            continue
        if codes not in exact:
            at = _places(kinds, streams, unusable, codes)
            if len(at) < MIN_REPEATS:
                continue
            exact[codes] = _measured(spans, codes, at, order, idle)
            heappush(heap, (-float(exact[codes].wall_ns), negative, place))
            continue
        sequence = exact[codes]
        at = sequence.first
        if 2 * int((fused[at + length] - fused[at]).sum()) > length * len(at):
            continue
        if sequence.wall_ns <= limit_ns or not (sequence.is_host_bound or sequence.is_mte_bound):
            continue
        lasting = np.maximum(ends[at + length - 1] - starts[at], 0)
        found.append(replace(sequence, covered_ns=union(starts[at], lasting).total_ns))
        covered[(at[:, None] + np.arange(length)).reshape(-1)] = True
        fused = _counted(covered)
    return found


def _measured(
    spans: _Spans, codes: tuple[int, ...], at: Integers, order: Integers, idle: Integers
) -> Sequence:
    """A sequence with its exact sums. idle: `idle_before` of all calls."""
    stop, last = at + len(codes), at + len(codes) - 1
    is_light = spans.heavy[stop[0]] == spans.heavy[at[0]]
    work = float((spans.works[stop] - spans.works[at]).sum()) if is_light else 0.0
    moved = float((spans.moves[stop] - spans.moves[at]).sum())
    lasting = spans.ends[last] - spans.starts[at]
    idle_ns = int((idle[order[last]] - idle[order[at]]).sum())
    return Sequence(
        codes,
        at,
        int((spans.busy[stop] - spans.busy[at]).sum()),
        int(lasting.sum()),
        0,  # what is told only has it
        min(idle_ns, int(idle[-1])),  # sequences side by side share it
        moved / work if work > 0 else float("nan"),
    )


@dataclass(frozen=True, slots=True)
class _Spans:
    """Per kernel of the stream order, or summed up to it (one element more): what a window is judged by."""

    streams: npt.NDArray[Any]
    unusable: npt.NDArray[np.int32]
    heavy: npt.NDArray[np.int32]
    starts: Integers
    ends: Integers
    busy: Integers
    moves: Floats
    works: Floats


def _candidates(
    spans: _Spans, rolling: npt.NDArray[np.uint64], length: int, limit_ns: float
) -> list[tuple[float, int, int]]:
    """Windows of a length that seem to repeat and to be bound: (time, length, place of one of them).

    Windows are counted in buckets of their hashes; with few buckets first, as few windows differ.
    """
    m = len(rolling)
    fine = (spans.streams[:m] == spans.streams[length - 1 :]) & (
        spans.unusable[length:] == spans.unusable[:m]
    )
    for bits in _BITS:
        size = (1 << bits) + 1  # the last one is for windows that do not count
        buckets = np.empty(m, np.int32)
        np.right_shift(rolling, np.uint64(64 - bits), out=buckets, casting="unsafe")
        np.putmask(buckets, ~fine, size - 1)
        counts = _binned(buckets, size)
        counts[-1] = 0
        if 8 * np.count_nonzero(counts) < size:
            break
    # sums are made of what comes again alone: four arrays of millions of buckets would hold little else
    kept = np.flatnonzero(counts >= MIN_REPEATS)
    del counts
    if not len(kept):
        return []
    renumbered = np.full(size, len(kept), np.int32)
    renumbered[kept] = np.arange(len(kept), dtype=np.int32)
    buckets, size = renumbered[buckets], len(kept) + 1
    del renumbered
    walls = _binned(buckets, size, lambda part: spans.ends[length - 1 :][part] - spans.starts[:m][part])
    many = walls > limit_ns
    many[-1] = False
    if not many.any():
        return []
    busy = _binned(buckets, size, lambda part: spans.busy[length:][part] - spans.busy[:m][part])
    is_bound = many & (busy < HOST_BOUND * walls)
    if len(spans.works) and spans.works[-1] > 0:
        is_light = spans.heavy[length:] == spans.heavy[:m]

        def light(sums: Floats) -> Callable[[slice], Floats]:
            return lambda part: (sums[length:][part] - sums[:m][part]) * is_light[part]

        moves = _binned(buckets, size, light(spans.moves))
        works = _binned(buckets, size, light(spans.works))
        is_bound |= many & (works > 0) & (moves > MTE_BOUND * works)
    best = np.flatnonzero(is_bound)
    best = best[np.argsort(-walls[best], kind="stable")[:_CANDIDATES]]
    if not len(best):
        return []
    last = np.full(size, NONE, np.int32)
    last[buckets] = np.arange(m, dtype=np.int32)
    return [(float(walls[bucket]), length, int(last[bucket])) for bucket in best.tolist()]


def fusible_advice(calls: Calls, sequences: Sequences, criteria: Criteria) -> Iterator[Advice]:
    """One advice for all repeated sequences that are bound by the host, one for those bound by moving."""
    found = repeated_sequences(calls, sequences.taken)
    for key, chosen in (
        ("host", [one for one in found if one.is_host_bound]),
        ("mte", [one for one in found if one.is_mte_bound and not one.is_host_bound]),
    ):
        if chosen:
            yield _advice(calls, sequences.order, key, chosen)


def _advice(calls: Calls, order: Integers, key: str, chosen: list[Sequence]) -> Advice:
    worst = chosen[0]
    call = int(order[worst.first[0]])
    # sequences may share calls: the largest is what is at stake for certain
    cost_ns = max(one.stake_ns for one in chosen)

    def kinds(one: Sequence) -> str:
        return " - ".join(calls.kind_name(code) for code in one.kinds)

    more = words(TEXTS, "fusible-more", n=len(chosen) - 1) if len(chosen) > 1 else ("", "")
    return Advice(
        rule="performance.fusible-sequence",
        severity="note",
        subject=calls.name(call),
        message=words(
            TEXTS,
            f"fusible-{key}",
            n=len(worst.first),
            kinds=kinds(worst),
            length=len(worst.kinds),
            busy=time_text(worst.busy_ns),
            wall=time_text(worst.wall_ns),
            share=shown_percent(percent(worst.covered_ns, calls.wall_ns)),
            part=shown_percent(percent(worst.busy_ns, worst.wall_ns)),
            mte=round(worst.mte_ratio, 2),
            more=more[0],
            more_zh=more[1],
        ),
        next_step=words(TEXTS, f"fusible-{key}-next"),
        figures={
            "n_sequences": len(chosen),
            "n_repeats": len(worst.first),
            "operators": kinds(worst),
            "busy_us": us(worst.busy_ns),
            "wall_us": us(worst.wall_ns),
            "busy_ratio": worst.busy_ns / worst.wall_ns if worst.wall_ns else None,
            "mte_ratio": None if np.isnan(worst.mte_ratio) else worst.mte_ratio,
            "idle_us": us(worst.idle_ns),
            "share_of_wall_percent": percent(worst.covered_ns, calls.wall_ns),
        },
        cost_ns=cost_ns,
        profile=calls.profile.name,
        related=tuple(
            Related(
                "suspect",
                kinds(one),
                {
                    "n_repeats": len(one.first),
                    "busy_us": us(one.busy_ns),
                    "wall_us": us(one.wall_ns),
                    "mte_ratio": None if np.isnan(one.mte_ratio) else one.mte_ratio,
                },
            )
            for one in chosen
        ),
        location=calls.location(call),
        told=tuple(
            columns_of(
                [
                    (kinds(one)[:100], f"{len(one.first):,}", time_text(one.busy_ns), time_text(one.wall_ns))
                    for one in chosen
                ]
            )
        ),
    )


def _moves(calls: Calls, order: Integers) -> tuple[Floats, Floats]:
    """Time of moving in and out, and of the cores, in ns, before each kernel and of all: one element more.
    Both are 0 where one of them is not recorded.

    As the vendor sums it: the larger of both sides' mte2, and the larger of fixpipe and mte3. Part by part:
    a million kernels have 8 MB of each counter.
    """
    sums = np.zeros(len(order) + 1), np.zeros(len(order) + 1)
    for start in range(0, len(order), _AT_ONCE):
        part = _moves_of(calls.table, calls.rows[order[start : start + _AT_ONCE]])
        for whole, one in zip(sums, part, strict=True):
            whole[start + 1 : start + 1 + len(one)] = one
    for whole in sums:
        np.cumsum(whole, out=whole)
    return sums


def _moves_of(table: OperatorTable, rows: Integers) -> tuple[Floats, Floats]:
    """The same of some rows, not summed up."""

    def largest(*names: str) -> Floats:
        taken = np.zeros(len(rows))
        known = np.zeros(len(rows), np.bool_)
        for name in names:
            if name in table.arrays:
                values = table.values_at(name, rows)
                known |= ~np.isnan(values)
                taken = np.fmax(taken, values)
        return np.where(known, np.fmax(taken, 0), np.nan)

    moved = largest("aic_mte2_time_us", "aiv_mte2_time_us", "mte2_time_us") + largest(
        "aic_fixpipe_time_us", "aiv_mte3_time_us", "mte3_time_us"
    )
    worked = largest("aic_time_us", "aiv_time_us")
    is_known = np.isfinite(moved) & np.isfinite(worked)
    return np.where(is_known, moved * 1e3, 0.0), np.where(is_known, worked * 1e3, 0.0)


def _counted(flags: Flags) -> npt.NDArray[np.int32]:
    """How many are set before each element, and in all: one element more."""
    found = np.zeros(len(flags) + 1, np.int32)
    np.cumsum(flags, out=found[1:])
    return found


def _summed(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The sum before each element, and of all: one element more, of the same kind."""
    found = np.zeros(len(values) + 1, values.dtype)
    np.cumsum(values, out=found[1:])
    return found


def _narrow(streams: Integers) -> npt.NDArray[Any]:
    """The same numbers in 32 bits where they fit: they are only held against each other."""
    limits = np.iinfo(np.int32)
    fits = not len(streams) or (limits.min <= int(streams.min()) and int(streams.max()) <= limits.max)
    return streams.astype(np.int32) if fits else streams


def _binned(
    buckets: npt.NDArray[np.int32], size: int, weights: Callable[[slice], npt.NDArray[Any]] | None = None
) -> npt.NDArray[Any]:
    """How many windows each bucket has, or the sum of their weights. weights: of a part of the windows: those
    of all of them would be three more arrays as long as the table."""
    first = slice(0, _AT_ONCE)
    found = np.bincount(buckets[first], None if weights is None else weights(first), size)
    for start in range(_AT_ONCE, len(buckets), _AT_ONCE):
        part = slice(start, min(start + _AT_ONCE, len(buckets)))
        # in the order of the windows, as bincount adds: floats of many parts come out as those of one
        np.add.at(found, buckets[part], 1 if weights is None else weights(part).astype(np.float64))
    return found


def _scattered(kinds: Integers) -> npt.NDArray[np.uint64]:
    """A number of 64 bits a type."""
    mixed = (kinds + 2).astype(np.uint64) * np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(31)
    return mixed * np.uint64(0x94D049BB133111EB)


def _is_repeat(codes: tuple[int, ...]) -> bool:
    """Whether it is a shorter sequence several times over: that one says it."""
    n = len(codes)
    return any(n % part == 0 and codes == codes[:part] * (n // part) for part in range(1, n // 2 + 1))


def _is_part(codes: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether one stands in the other one, repeated: parts and rotations of one loop are one sequence."""
    short, long = sorted((codes, other), key=len)
    doubled = long + long
    return any(doubled[i : i + len(short)] == short for i in range(len(long)))


def _places(
    kinds: npt.NDArray[np.int32],
    streams: npt.NDArray[Any],
    unusable: npt.NDArray[np.int32],
    codes: tuple[int, ...],
) -> Integers:
    """Where a sequence begins, exactly; of places that overlap the first ones."""
    length = len(codes)
    m = len(kinds) - length + 1
    at: Integers = np.flatnonzero(kinds[:m] == codes[0])
    for i, code in enumerate(codes[1:], start=1):
        at = at[kinds[at + i] == code]
    at = at[(streams[at] == streams[at + length - 1]) & (unusable[at + length] == unusable[at])]
    if len(at) < 2 or int(np.diff(at).min()) >= length:
        return at
    kept, reached = [], -1
    for place in at.tolist():
        if place >= reached:
            kept.append(place)
            reached = place + length
    return np.asarray(kept, dtype=np.int64)
