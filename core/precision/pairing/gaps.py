"""What lies between pairs that are sure: the pairs of most evidence there, by bounded dynamic programming.

A large gap is walked in windows, each a table of fixed size, so the cost stays linear in its calls.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .anchors import Pairs, Side
from .keys import Hashes
from .model import Ints

WINDOW = 256
"""Calls of each side in one table."""

_NO = -1.0
"""Score of two calls that cannot be partners."""

TYPE, SHAPE, NAME, GIVEN, MADE, PARENT, NEAR, STACK, VALUES = 1.0, 1.0, 0.75, 2.0, 1.0, 1.0, 0.5, 0.75, 0.5
"""What each piece of evidence counts. NEAR: norms of what is read or written that are close to each other."""

_NEARNESS = 20.0
"""Norms that are 5 % apart count half as much as equal ones."""


def fill(a: Side, b: Side, pairs: Pairs) -> None:
    """Pair what is left in all gaps. Cost: O((n + m) * WINDOW)."""
    gap_a, gap_b = pairs.gaps()
    free_a, free_b = np.flatnonzero(pairs.left < 0), np.flatnonzero(pairs.right < 0)
    both = np.intersect1d(gap_a[free_a], gap_b[free_b])
    if not len(both):
        return
    spans = [
        (free, np.searchsorted(gap[free], both), np.searchsorted(gap[free], both, side="right"))
        for free, gap in ((free_a, gap_a), (free_b, gap_b))
    ]
    (free_a, from_a, to_a), (free_b, from_b, to_b) = spans
    for place in range(len(both)):
        left, right = free_a[from_a[place] : to_a[place]], free_b[from_b[place] : to_b[place]]
        if len(left) <= WINDOW and len(right) <= WINDOW:
            i, j = _best(_scores(a, b, left, right))
            pairs.add(left[i], right[j])
        else:
            _walk(a, b, left, right, pairs)


def _walk(a: Side, b: Side, left: Ints, right: Ints, pairs: Pairs) -> None:
    """A long gap window by window: of each the first half is kept, the rest is looked at again."""
    at_left = at_right = 0
    half = WINDOW // 2
    alike = [_all_evidence(side)[at] for side, at in ((a, left), (b, right))]
    while at_left < len(left) and at_right < len(right):
        n_alike = _n_equal(alike[0][at_left:], alike[1][at_right:])
        if n_alike > WINDOW:  # nothing tells these apart, so no table would
            pairs.add(left[at_left : at_left + n_alike], right[at_right : at_right + n_alike])
            at_left, at_right = at_left + n_alike, at_right + n_alike
            continue
        here_left, here_right = left[at_left : at_left + WINDOW], right[at_right : at_right + WINDOW]
        is_last = at_left + WINDOW >= len(left) and at_right + WINDOW >= len(right)
        i, j = _best(_scores(a, b, here_left, here_right))
        if is_last:
            pairs.add(here_left[i], here_right[j])
            return
        keep = (i < half) & (j < half)
        if keep.any():
            pairs.add(here_left[i[keep]], here_right[j[keep]])
            at_left += int(i[keep][-1]) + 1
            at_right += int(j[keep][-1]) + 1
        elif len(left) - at_left >= len(right) - at_right:
            at_left += half  # what has no partner is more likely on the side that has more left
        else:
            at_right += half


def _all_evidence(side: Side) -> Hashes:
    k = side.keys
    stack = np.full(k.n, -1) if k.stack is None else k.stack
    return side.joined(k.type, k.given_shapes, k.made_shapes, k.given, k.made, k.parent, k.values, stack)


def _n_equal(one: Hashes, other: Hashes) -> int:
    """How many entries at the beginning of both are equal; looked at in growing steps."""
    n, done, step = min(len(one), len(other)), 0, WINDOW
    while done < n:
        unequal = np.flatnonzero(one[done : min(n, done + step)] != other[done : min(n, done + step)])
        if len(unequal):
            return done + int(unequal[0])
        done, step = done + step, step * 2
    return n


def _scores(a: Side, b: Side, left: Ints, right: Ints) -> npt.NDArray[np.float64]:
    """How much speaks for each call of one side being each of the other; _NO where it cannot be."""
    ka, kb, i, j = a.keys, b.keys, a.rows[left], b.rows[right]

    def same(x: npt.NDArray[np.generic], y: npt.NDArray[np.generic]) -> npt.NDArray[np.bool_]:
        equal: npt.NDArray[np.bool_] = x[i][:, None] == y[j][None, :]
        return equal

    kind = same(ka.type, kb.type)
    if not kind.any():
        return np.full(kind.shape, _NO)
    shape = np.ones_like(kind)
    for x, y in ((ka.given_shapes, kb.given_shapes), (ka.made_shapes, kb.made_shapes)):
        # a side without any tensor says nothing: forwards that were stopped early have no outputs
        shape &= same(x, y) | (x[i] == 0)[:, None] | (y[j] == 0)[None, :]
    name = same(ka.name, kb.name)
    given = same(ka.given, kb.given) & (ka.given[i] != 0)[:, None]
    made = same(ka.made, kb.made) & (ka.made[i] != 0)[:, None]
    parent = same(ka.parent, kb.parent) & (ka.parent[i] >= 0)[:, None]
    values = same(ka.values, kb.values)
    score = (
        VALUES * values + TYPE + SHAPE * shape + NAME * name + GIVEN * given + MADE * made + PARENT * parent
    )
    fits = kind & (shape | name)
    if ka.stack is not None and kb.stack is not None:
        line = same(ka.stack, kb.stack) & (ka.stack[i] >= 0)[:, None]
        score = score + STACK * line
        # lines that both sides have are not exchanged, unless the values say so
        known = (ka.stack[i] >= 0)[:, None] & (kb.stack[j] >= 0)[None, :]
        fits &= line | ~known | given | made
    for side in range(2):
        apart = np.abs(ka.norms[i, side][:, None] - kb.norms[j, side][None, :])
        score = score + NEAR * np.nan_to_num(1.0 / (1.0 + _NEARNESS * apart), nan=0.0)
    return np.where(fits, score, _NO)


def _best(scores: npt.NDArray[np.float64]) -> tuple[Ints, Ints]:
    """Places of the pairs of largest sum, in order, that do not cross; the earlier one of equals."""
    n, m = scores.shape
    best = np.zeros((n + 1, m + 1))
    for row in range(n):
        above = best[row]
        np.maximum(above[1:], above[:-1] + scores[row], out=best[row + 1, 1:])
        np.maximum.accumulate(best[row + 1], out=best[row + 1])
    left: list[int] = []
    right: list[int] = []
    row, column = n, m
    while row and column:
        value = best[row, column]
        if value == best[row - 1, column]:
            row -= 1
        elif value == best[row, column - 1]:
            column -= 1
        else:
            row, column = row - 1, column - 1
            left.append(row)
            right.append(column)
    return np.array(left[::-1], np.int64), np.array(right[::-1], np.int64)
