"""Where a group is compared: the tensors that its calls are given from outside, and what they hand on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from npulse.core.formats.msprobe.names import parse_name

from .links import Feeding
from .operators import operator_of

NEAR = 0.02
"""Statistics of one tensor on two sides differ by less than this share of its largest element or its norm."""
_MOST_PARTS = 256
"""A tensor that stands whole on one side is looked for in up to this many parts on the other (experts)."""


def outside_reads(feeding: Feeding, calls: Sequence[int]) -> list[int]:
    """Tensors that the calls are given and that none of them made, each content once.

    Where no record tells who made a tensor, one of the shape that an earlier call of them made is its own.
    """
    members = set(calls)
    made_shapes: set[tuple[int, ...] | None] = set()
    seen: set[int] = set()
    found: list[int] = []
    for call in calls:
        for leaf in feeding.reads(call):
            makers = feeding.makers(leaf)
            code = int(feeding.content[leaf])
            if any(m in members for m in makers) or code and code in seen:
                continue
            if not makers and not code and feeding.shape(leaf) in made_shapes:
                continue
            seen.add(code)
            found.append(leaf)
        made_shapes.update(feeding.shape(leaf) for leaf in feeding.writes(call))
    return found


def outside_writes(feeding: Feeding, calls: Sequence[int]) -> list[int]:
    """What the calls hand on: all that the last one makes, and of the others what a further call reads."""
    members = set(calls)
    found = feeding.writes(calls[-1])
    for call in calls[:-1]:
        for leaf in feeding.writes(call):
            readers = feeding.readers(leaf)
            if any(reader not in members for reader in readers):
                found.append(leaf)
    return found


def leaf_pairs(
    feeding: tuple[Feeding, Feeding], target: Sequence[int], golden: Sequence[int]
) -> list[tuple[int, int]]:
    """Leaf rows of a group: its inputs from outside, then what it hands on; -1 where the other side has none.

    Inputs pair by content, then by shape. A tensor that a view has turned agrees, and is no row.
    """
    one, other = feeding
    pairs = list(_inputs(one, other, outside_reads(one, target), outside_reads(other, golden)))
    pairs += _outputs(
        one, other, outside_writes(one, target), outside_writes(other, golden), len(target), len(golden)
    )
    return pairs


def _inputs(one: Feeding, other: Feeding, left: list[int], right: list[int]) -> Iterator[tuple[int, int]]:
    """By content; by statistics, the nearest first; parts against the whole; what is left by shape, in order.

    By shape alone only where both sides have equally many of it: K beside a transposed K, and V, are three.
    """
    waiting, lone = list(right), list(left)
    partner: dict[int, int] = {}
    for t in left:
        code = int(one.content[t])
        hit = next((g for g in waiting if code and int(other.content[g]) == code), None)
        if hit is not None:
            waiting.remove(hit)
            lone.remove(t)
            if one.shape(t) == other.shape(hit) and not _is_transposed(one, t, other, hit):
                partner[t] = hit
    near = sorted(
        (far, one.shape(t) != other.shape(g) or _is_transposed(one, t, other, g), t, g)
        for t in lone
        for g in waiting
        if size_of(one.shape(t)) == size_of(other.shape(g)) and (far := apart(one, [t], other, [g])) <= NEAR
    )
    for _, is_turned, t, g in near:
        if t in lone and g in waiting:
            lone.remove(t)
            waiting.remove(g)
            if not is_turned:
                partner[t] = g
    _drop_parts(one, other, lone, waiting)
    _drop_parts(other, one, waiting, lone)
    for shape in dict.fromkeys(one.shape(t) for t in lone):
        same = [t for t in lone if one.shape(t) == shape]
        there = [g for g in waiting if other.shape(g) == shape]
        if len(same) == len(there):
            partner.update(zip(same, there, strict=True))
            lone = [t for t in lone if t not in same]
            waiting = [g for g in waiting if g not in there]
    for t in left:
        if t in partner or t in lone:
            yield t, partner.get(t, -1)
    for g in waiting:
        yield -1, g


def _is_transposed(one: Feeding, t: int, other: Feeding, g: int) -> bool:
    """Whether a square weight is that of a linear here and of a product there: it is turned, by no call."""
    shape = one.shape(t)
    if shape is None or len(shape) != 2 or shape[0] != shape[1]:
        return False
    return (_reader(one, t) == "linear") != (_reader(other, g) == "linear")


def _reader(feeding: Feeding, leaf: int) -> str:
    name = parse_name(feeding.dump.calls.names[int(feeding.dump.leaves.call[leaf])])
    return operator_of(name.prefix, name.api) if name.kind == "api" else ""


def _drop_parts(one: Feeding, other: Feeding, whole: list[int], parts: list[int]) -> None:
    """Takes out what a view that is no call has cut: one tensor here, and in a row the same there."""
    for t in list(whole):
        wanted = size_of(one.shape(t))
        for first in range(len(parts)):
            sizes = np.cumsum([size_of(other.shape(g)) for g in parts[first : first + _MOST_PARTS]])
            n = int(np.searchsorted(sizes, wanted)) + 1
            if 1 < n <= len(sizes) and sizes[n - 1] == wanted:
                if apart(one, [t], other, parts[first : first + n]) <= NEAR:
                    whole.remove(t)
                    del parts[first : first + n]
                    break


def apart(one: Feeding, left: Sequence[int], other: Feeding, right: Sequence[int]) -> float:
    """How far the statistics of some tensors are from those of others, each side seen as one; inf unknown."""
    t_side, g_side = _together(one, left), _together(other, right)
    if t_side is None or g_side is None:
        return math.inf
    (*t, t_norm), (*g, g_norm) = t_side, g_side
    largest = max(map(abs, (*t, *g)))
    if not largest or not t_norm or not g_norm:
        return math.inf
    apart = max(abs(x - y) for x, y in zip(t, g, strict=True)) / largest
    return max(apart, abs(t_norm - g_norm) / max(t_norm, g_norm))


def _together(feeding: Feeding, leaves: Sequence[int]) -> tuple[float, ...] | None:
    """Largest, smallest and mean element of parts, and their norm; None where not all is known."""
    rows = feeding.dump.leaves.statistics[list(leaves)].tolist()
    sizes = [size_of(feeding.shape(leaf)) for leaf in leaves]
    if not all(sizes) or not all(math.isfinite(number) for row in rows for number in row):
        return None
    high, low, means, norms = zip(*rows, strict=True)
    mean = sum(n * x for n, x in zip(sizes, means, strict=True)) / sum(sizes)
    return max(high), min(low), mean, math.hypot(*norms)


def _outputs(
    one: Feeding, other: Feeding, left: list[int], right: list[int], n_left: int, n_right: int
) -> Iterator[tuple[int, int]]:
    waiting = list(right)
    partner: dict[int, int] = {}
    for place, t in enumerate(left):
        hit = next(
            (
                g
                for g in waiting
                if one.shape(t) == other.shape(g)
                and (place == 0 or int(one.content[t]) and int(one.content[t]) == int(other.content[g]))
            ),
            None,
        )
        if hit is None and place:
            hit = next((g for g in waiting if one.shape(t) == other.shape(g)), None)
        if hit is not None:
            waiting.remove(hit)
            partner[t] = hit
    for t in left:
        if t in partner or n_left == 1:
            yield t, partner.get(t, -1)
    for g in waiting:
        if n_right == 1:
            yield -1, g


def size_of(shape: tuple[int, ...] | None) -> int:
    """Elements of a shape, 0 where it is not known."""
    return math.prod(shape) if shape is not None else 0
