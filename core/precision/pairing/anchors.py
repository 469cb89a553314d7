"""Pairs of calls that one sequence and another share for sure: unique keys between earlier pairs, in order.

No step looks at more than its own calls, so each level costs O(n log n) for n calls of both sides, whatever
the keys are: what is already paired cuts both sequences into gaps, and the number of the gap is a part of
every key.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass

from .keys import Hashes, Keys, joined
from .model import Ints

_TIMES = 3
"""A level is asked again while it finds something: what was paired makes other keys unique."""

_SHINGLE = 8
"""Calls in a row whose types and shapes together are a key."""


@dataclass(frozen=True, slots=True)
class Side:
    """A sequence of calls that is to be aligned: rows of `keys`, in execution order."""

    keys: Keys
    rows: Ints

    def pick(self, column: npt.NDArray[Any]) -> Hashes:
        found: Hashes = column[self.rows].astype(np.uint64)
        return found

    def joined(self, *columns: npt.NDArray[Any]) -> Hashes:
        """One hash a call of several columns of the keys."""
        return joined(*(column[self.rows] for column in columns))


@dataclass(slots=True)
class Pairs:
    """Pairs so far, as places in both sequences; `left` and `right` are partners or -1, and never cross."""

    left: Ints
    right: Ints

    @classmethod
    def none(cls, n_left: int, n_right: int) -> Pairs:
        return cls(np.full(n_left, -1, np.int64), np.full(n_right, -1, np.int64))

    def add(self, left: Ints, right: Ints) -> None:
        self.left[left], self.right[right] = right, left

    def gaps(self) -> tuple[Ints, Ints]:
        """The number of the gap that each place of both sequences lies in."""
        return np.cumsum(self.left >= 0), np.cumsum(self.right >= 0)


_Key = Callable[[Side], tuple[Hashes, npt.NDArray[np.bool_]]]


def _exact(side: Side) -> tuple[Hashes, npt.NDArray[np.bool_]]:
    k = side.keys
    key = side.joined(k.type, k.name, k.given_shapes, k.made_shapes, k.given, k.made, k.values)
    return key, (side.pick(k.given) != 0) & (side.pick(k.made) != 0)


def _content(side: Side) -> tuple[Hashes, npt.NDArray[np.bool_]]:
    k = side.keys
    key = side.joined(k.type, k.given_shapes, k.made_shapes, k.given, k.made, k.values)
    return key, (side.pick(k.given) != 0) & (side.pick(k.made) != 0)


def _given(side: Side) -> tuple[Hashes, npt.NDArray[np.bool_]]:
    k = side.keys
    return side.joined(k.type, k.given_shapes, k.given, k.values), side.pick(k.given) != 0


def _made(side: Side) -> tuple[Hashes, npt.NDArray[np.bool_]]:
    k = side.keys
    return side.joined(k.type, k.made_shapes, k.made), side.pick(k.made) != 0


def _beside(side: Side) -> tuple[Hashes, npt.NDArray[np.bool_]]:
    k = side.keys
    return side.joined(k.type, k.given_shapes, k.beside), side.pick(k.beside) != 0


def _module(side: Side) -> tuple[Hashes, npt.NDArray[np.bool_]]:
    k = side.keys
    return side.joined(k.type, k.name), k.is_module[side.rows]


def kind_key(side: Side) -> Hashes:
    """Type and shapes."""
    k = side.keys
    return side.joined(k.type, k.given_shapes, k.made_shapes)


def _kind(side: Side) -> tuple[Hashes, npt.NDArray[np.bool_]]:
    return kind_key(side), np.ones(len(side.rows), np.bool_)


def _shingle(side: Side) -> tuple[Hashes, npt.NDArray[np.bool_]]:
    one = kind_key(side)
    n = len(one)
    usable = np.arange(n) + _SHINGLE <= n
    parts = [np.roll(one, -step) for step in range(_SHINGLE)]
    return joined(*parts), usable


def anchor(a: Side, b: Side, pairs: Pairs) -> None:
    """Add to `pairs` all that unique keys say, the strongest first."""
    by_content(a, b, pairs)
    if a.keys.stack is not None and b.keys.stack is not None:
        _level(a, b, pairs, _of_line)
        _counted(a, b, pairs, _of_line, with_name=False)
    _counted(a, b, pairs, _of_parent, with_name=False)
    _counted(a, b, pairs, _kind, with_name=True)
    for key in (_kind, _shingle, _kind):
        _level(a, b, pairs, key)


def by_content(a: Side, b: Side, pairs: Pairs) -> None:
    """Add what equal values, and the names of modules, say."""
    for key in (_exact, _content, _given, _made, _beside, _module):
        _level(a, b, pairs, key)


def are_of_other_lines(a: Keys, b: Keys, t: Ints, g: Ints) -> npt.NDArray[np.bool_]:
    """Which pairs of calls come from two source lines that both sides have, and have no content in common."""
    if a.stack is None or b.stack is None:
        return np.zeros(len(t), np.bool_)
    other: npt.NDArray[np.bool_] = (a.stack[t] != b.stack[g]) & (a.stack[t] >= 0) & (b.stack[g] >= 0)
    for x, y in ((a.given, b.given), (a.made, b.made), (a.beside, b.beside)):
        other &= (x[t] != y[g]) | (x[t] == 0)
    return other


def _of_line(side: Side) -> tuple[Hashes, npt.NDArray[np.bool_]]:
    k = side.keys
    assert k.stack is not None
    return side.joined(k.stack, k.type, k.given_shapes, k.made_shapes), k.stack[side.rows] >= 0


def _of_parent(side: Side) -> tuple[Hashes, npt.NDArray[np.bool_]]:
    k = side.keys
    key = side.joined(k.parent, k.type, k.given_shapes, k.made_shapes)
    return key, k.parent[side.rows] >= 0


def _level(a: Side, b: Side, pairs: Pairs, key: _Key) -> None:
    (of_a, usable_a), (of_b, usable_b) = key(a), key(b)
    for _ in range(_TIMES):
        gap_a, gap_b = pairs.gaps()
        at_a = np.flatnonzero(usable_a & (pairs.left < 0))
        at_b = np.flatnonzero(usable_b & (pairs.right < 0))
        left, right = shared_once(joined(of_a[at_a], gap_a[at_a]), joined(of_b[at_b], gap_b[at_b]))
        fits = ~are_of_other_lines(a.keys, b.keys, a.rows[at_a[left]], b.rows[at_b[right]])
        left, right = left[fits], right[fits]
        if not len(left):
            return
        keep = longest_increasing(right)
        pairs.add(at_a[left[keep]], at_b[right[keep]])


def _counted(a: Side, b: Side, pairs: Pairs, key: _Key, *, with_name: bool) -> None:
    """Of a key that both sides have equally often in a gap the k-th stands against the k-th.

    with_name: only those that have equal names too, so that a number that is shifted pairs nothing.
    """
    (of_a, usable_a), (of_b, usable_b) = key(a), key(b)
    gap_a, gap_b = pairs.gaps()
    at_a = np.flatnonzero(usable_a & (pairs.left < 0))
    at_b = np.flatnonzero(usable_b & (pairs.right < 0))
    found = []
    for side, of, gap, at in ((a, of_a, gap_a, at_a), (b, of_b, gap_b, at_b)):
        one = joined(of[at], gap[at])
        ordinal, count = _counts(one)
        names = side.pick(side.keys.name)[at] if with_name else ordinal
        found.append(joined(one, count, ordinal, names))
    left, right = shared_once(*found)
    fits = ~are_of_other_lines(a.keys, b.keys, a.rows[at_a[left]], b.rows[at_b[right]])
    left, right = left[fits], right[fits]
    keep = longest_increasing(right)
    pairs.add(at_a[left[keep]], at_b[right[keep]])


def _counts(keys: Hashes) -> tuple[Ints, Ints]:
    """For each entry: the how-manieth of its key it is, and how many there are."""
    order = np.argsort(keys, kind="stable")
    ranked = keys[order]
    starts = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]]) if len(keys) else np.zeros(0, np.int64)
    sizes = np.diff(np.r_[starts, len(keys)])
    ordinal, count = np.empty(len(keys), np.int64), np.empty(len(keys), np.int64)
    ordinal[order] = np.arange(len(keys)) - np.repeat(starts, sizes)
    count[order] = np.repeat(sizes, sizes)
    return ordinal, count


def shared_once(one: Hashes, other: Hashes) -> tuple[Ints, Ints]:
    """Places of the keys that stand exactly once in each of both, by their place in `one`."""
    found = []
    for keys in (one, other):
        values, first, counts = np.unique(keys, return_index=True, return_counts=True)
        once = counts == 1
        found.append((values[once], first[once]))
    _, left, right = np.intersect1d(found[0][0], found[1][0], assume_unique=True, return_indices=True)
    left, right = found[0][1][left].astype(np.int64), found[1][1][right].astype(np.int64)
    order = np.argsort(left)
    return left[order], right[order]


def longest_increasing(values: Ints) -> Ints:
    """Places of a longest increasing part of a sequence without repeats. Cost: O(n log n)."""
    if len(values) < 2 or bool((values[1:] > values[:-1]).all()):
        return np.arange(len(values))
    ends: list[int] = []
    at: list[int] = []
    before = [-1] * len(values)
    for place, value in enumerate(values.tolist()):
        length = bisect_left(ends, value)
        if length == len(ends):
            ends.append(value)
            at.append(place)
        else:
            ends[length], at[length] = value, place
        before[place] = at[length - 1] if length else -1
    chain = []
    place = at[-1]
    while place >= 0:
        chain.append(place)
        place = before[place]
    return np.array(chain[::-1], np.int64)
