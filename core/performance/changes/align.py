"""Two rounds call by call: what stayed, what was replaced by what, and how the neighbours fared.

One typical step of each is aligned by the longest common sequence of operator types. What lies between two
common calls is one replacement: several calls by one are fused, one by another is renamed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass

from .side import Side

Integers = npt.NDArray[np.int64]
Kind = Literal["renamed", "fused", "split", "new", "gone", "replaced"]

MAX_CALLS = 30_000
"""Of a step: the table of the alignment grows with the product of both."""
MAX_SEGMENT = 12
"""A longer replacement is another program, not a change of an operator."""
NEIGHBOURS = 2


@dataclass(frozen=True, slots=True)
class Replacement:
    """What stands in place of what, in the typical step. before, after: operator types in order.

    n: how often. before_ns, after_ns: all of them together. around_ns: what the calls next to them became
    slower (faster: negative) in all, by type in `around`. first_before, first_after: calls of the first one,
    -1 for none.
    """

    kind: Kind
    before: tuple[str, ...]
    after: tuple[str, ...]
    n: int
    before_ns: int
    after_ns: int
    around: tuple[tuple[str, int, int], ...]
    first_before: int
    first_after: int

    @property
    def around_ns(self) -> int:
        return sum(delta for _, delta, _ in self.around)

    @property
    def delta_ns(self) -> int:
        return self.after_ns - self.before_ns


@dataclass(frozen=True, slots=True)
class Aligned:
    """pairs: (call before, call after) of the same type, int64, shape (n, 2). replacements: the largest
    difference first. n_before, n_after: calls of the two steps."""

    pairs: Integers
    replacements: tuple[Replacement, ...]
    n_before: int
    n_after: int


def aligned(before: Side, after: Side) -> Aligned | None:
    """The alignment; None where a step has too many calls for it. Cost: about n*m/64 steps."""
    from rapidfuzz.distance import LCSseq

    left = before.rows_of_step(before.typical_step)
    right = after.rows_of_step(after.typical_step)
    if max(len(left), len(right)) > MAX_CALLS:
        return None
    codes: dict[str, int] = {}
    tokens = [
        [codes.setdefault(_name(side, call), len(codes)) for call in rows.tolist()]
        for side, rows in ((before, left), (after, right))
    ]
    pairs: list[npt.NDArray[np.int64]] = []
    segments: list[tuple[Integers, Integers, int]] = []
    open_left: list[int] = []
    open_right: list[int] = []
    n_pairs = 0
    for step in LCSseq.opcodes(*tokens):
        if step.tag == "equal":
            if open_left or open_right:
                segments.append((left[open_left], right[open_right], n_pairs))
                open_left, open_right = [], []
            pairs.append(
                np.stack([left[step.src_start : step.src_end], right[step.dest_start : step.dest_end]], 1)
            )
            n_pairs += step.src_end - step.src_start
        else:
            open_left += range(step.src_start, step.src_end)
            open_right += range(step.dest_start, step.dest_end)
    if open_left or open_right:
        segments.append((left[open_left], right[open_right], n_pairs))
    joined = np.concatenate(pairs) if pairs else np.zeros((0, 2), np.int64)
    found = _collected(before, after, joined, segments)
    return Aligned(joined, found, len(left), len(right))


def next_door(before: Side, after: Side, pairs: Integers, kind: str) -> tuple[tuple[str, int, int], ...]:
    """How the calls beside those of a type fared: (type, ns slower in all, calls), the largest first."""
    at = np.array(
        [place for place in range(len(pairs)) if _name(before, int(pairs[place, 0])) == kind], np.int64
    )
    return _around(before, after, pairs, at, {kind})


def _collected(
    before: Side, after: Side, pairs: Integers, segments: Sequence[tuple[Integers, Integers, int]]
) -> tuple[Replacement, ...]:
    groups: dict[tuple[tuple[str, ...], tuple[str, ...]], list[int]] = {}
    for place, (left, right, _) in enumerate(segments):
        key = (_names(before, left), _names(after, right))
        groups.setdefault(key, []).append(place)
    found = []
    for (old, new), places in groups.items():
        borders = np.array([segments[place][2] for place in places], np.int64)
        beside = np.unique(np.concatenate([borders + offset for offset in range(-NEIGHBOURS, NEIGHBOURS)]))
        beside = beside[(beside >= 0) & (beside < len(pairs))]
        lefts = np.concatenate([segments[place][0] for place in places])
        rights = np.concatenate([segments[place][1] for place in places])
        found.append(
            Replacement(
                _kind(old, new),
                old,
                new,
                len(places),
                int(before.calls.duration_ns[lefts].sum()),
                int(after.calls.duration_ns[rights].sum()),
                _deltas(before, after, pairs[beside]),
                int(lefts[0]) if len(lefts) else -1,
                int(rights[0]) if len(rights) else -1,
            )
        )
    return tuple(sorted(found, key=lambda one: (-abs(one.delta_ns), one.before, one.after)))


def _kind(old: tuple[str, ...], new: tuple[str, ...]) -> Kind:
    if not old:
        return "new"
    if not new:
        return "gone"
    if len(old) == len(new) == 1:
        return "renamed"
    if max(len(old), len(new)) <= MAX_SEGMENT:
        if len(new) == 1:
            return "fused"
        if len(old) == 1:
            return "split"
    return "replaced"


def _around(
    before: Side, after: Side, pairs: Integers, at: Integers, but: set[str]
) -> tuple[tuple[str, int, int], ...]:
    offsets = [offset for offset in range(-NEIGHBOURS, NEIGHBOURS + 1) if offset]
    beside = np.unique(np.concatenate([at + offset for offset in offsets])) if len(at) else at
    beside = beside[(beside >= 0) & (beside < len(pairs))]
    return tuple(one for one in _deltas(before, after, pairs[beside]) if one[0] not in but)


def _deltas(before: Side, after: Side, pairs: Integers) -> tuple[tuple[str, int, int], ...]:
    sums: dict[str, list[int]] = {}
    deltas = after.calls.duration_ns[pairs[:, 1]] - before.calls.duration_ns[pairs[:, 0]]
    for call, delta in zip(pairs[:, 0].tolist(), deltas.tolist(), strict=True):
        total = sums.setdefault(_name(before, call), [0, 0])
        total[0] += delta
        total[1] += 1
    return tuple(
        (name, delta, n)
        for name, (delta, n) in sorted(sums.items(), key=lambda item: (-abs(item[1][0]), item[0]))
        if delta
    )


def _names(side: Side, calls: Integers) -> tuple[str, ...]:
    return tuple(_iter_names(side, calls))


def _iter_names(side: Side, calls: Integers) -> Iterator[str]:
    for call in calls.tolist():
        yield _name(side, call)


def _name(side: Side, call: int) -> str:
    """The operator type, else the name without what differs from call to call."""
    code = int(side.calls.kind[call])
    if code >= 0:
        return side.calls.kinds[code]
    from npulse.core.formats.profiling.type_names import stem_of

    return stem_of(side.calls.table.text("name", int(side.calls.rows[call])))
