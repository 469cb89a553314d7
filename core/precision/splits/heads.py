"""The same content with attention heads in another order: found in the elements, compared in that order.

What is tried, along every axis: units as large as a head in any order (heads permuted, query heads within
their groups, [heads, 3, size] against [3, heads, size], fused q, k and v by group), and pairs against halves
(rotary embeddings of neighbouring elements or of half-rows, gate and up side by side or one after the other).
A candidate counts only where the tensors agree when they are compared as a whole in that order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from math import prod

import numpy as np
import numpy.typing as npt

from npulse.core.formats.tensors import TensorError

from ..blocks.totals import PairMetrics
from .content import AGREES, Samples, distances
from .model import Cut, Part, Segment, Side, Split, merged

HEAD_SIZES = (256, 192, 160, 128, 112, 96, 80, 72, 64, 56, 48, 40, 32, 24, 16, 8, 4)
"""Elements of a head: those of published models, and the powers of two below (small and quantised ones)."""

MAX_HEADS = 1024
"""More units than this (fused q, k and v of the largest models have fewer) are not looked at."""

SAME_VALUES = 0.01
"""Norms and extremes may differ by this share where two tensors hold the same values in another order."""

N_OFFSETS = 4
"""Elements of each unit that are compared to find its like."""

Order = tuple[str, int, npt.NDArray[np.int64], int]
"""Name, axis, for each unit of the golden side that of the target, elements of a unit."""


def may_be_reordered(metrics: PairMetrics) -> bool:
    """Whether two tensors that do not agree can hold the same values in another order."""
    largest = max(abs(metrics.max_golden), abs(metrics.min_golden))
    if not largest or metrics.cosine > 0.99 or metrics.nonfinite_differing:
        return False
    slack = SAME_VALUES * largest
    return (
        abs(metrics.norm_ratio - 1) <= SAME_VALUES
        and abs(metrics.max_target - metrics.max_golden) <= slack
        and abs(metrics.min_target - metrics.min_golden) <= slack
    )


def reordered(target: Part, golden: Part) -> Split | None:
    """Both leaves in the order of heads in which a sample of its elements agrees; None for no such order."""
    with ExitStack() as stack, np.errstate(all="ignore"):
        try:
            samples = Samples([target], golden, stack)
            shape = samples.shape
            found = next(_orders(samples, shape), None)
        except (TensorError, ValueError):
            return None
    if found is None:
        return None
    name, axis, order, size = found
    outer, inner = prod(shape[:axis]), prod(shape[axis + 1 :])
    segments: list[Segment] = [(0, int(unit) * size, size) for unit in order]
    of_target = Cut(shape, outer, inner, merged(segments))
    of_golden = Cut(shape, outer, inner, ((0, 0, shape[axis]),))
    sides = [
        Side((part,), cut, part.dump.leaves.statistics[part.leaf], _told(part), prod(shape))
        for part, cut in ((target, of_target), (golden, of_golden))
    ]
    return Split(name, sides[0], sides[1], 1.0, is_reordered=True)


def _told(part: Part) -> npt.NDArray[np.bool_]:
    return (int(part.dump.leaves.present[part.leaf]) >> np.arange(4) & 1).astype(np.bool_)


def _orders(samples: Samples, shape: Sequence[int]) -> Iterator[Order]:
    for axis in reversed(range(len(shape))):
        length = shape[axis]
        sizes = [size for size in HEAD_SIZES if length % size == 0 and 1 < length // size <= MAX_HEADS]
        if axis < len(shape) - 1 and len(shape) > 2 and shape[-1] in HEAD_SIZES and 1 < length <= MAX_HEADS:
            sizes.append(1)  # an axis of heads
        for size in sizes:
            order = _matched(samples, axis, length // size, size)
            if order is not None:
                yield _name_of(order), axis, order, size
        for size in dict.fromkeys((length, *HEAD_SIZES)):
            if length % size == 0 and size % 2 == 0 and size > 2:
                for name, order in _pairs(length, size):
                    if _agrees(samples, axis, order):
                        yield name, axis, order, 1


def _matched(samples: Samples, axis: int, n: int, size: int) -> npt.NDArray[np.int64] | None:
    """For each golden unit the one of the target that is like it; None where that is no other order."""
    offsets = np.unique(np.linspace(0, size - 1, min(size, N_OFFSETS)).astype(np.int64))
    positions = (np.arange(n)[:, None] * size + offsets).reshape(-1)
    t, g = (samples.at(which, axis, positions).reshape(n, -1) for which in (0, 1))
    t, g = np.nan_to_num(t), np.nan_to_num(g)
    # |t - g|^2 of all pairs of units at once
    squares = (t * t).sum(axis=1), (g * g).sum(axis=1)
    apart = squares[0][None, :] + squares[1][:, None] - 2 * (g @ t.T)
    order = apart.argmin(axis=1).astype(np.int64)
    if len(np.unique(order)) < n or np.array_equal(order, np.arange(n)):
        return None
    distance = distances(t[order], g)
    return order if float(distance.mean()) < AGREES else None


def _pairs(length: int, size: int) -> Iterator[tuple[str, npt.NDArray[np.int64]]]:
    places = np.arange(length, dtype=np.int64).reshape(-1, size)
    halves = places.reshape(-1, size // 2, 2).swapaxes(1, 2).reshape(-1)
    pairs = places.reshape(-1, 2, size // 2).swapaxes(1, 2).reshape(-1)
    yield f"pairs where golden has halves of {size}", halves
    yield f"halves of {size} where golden has pairs", pairs


def _agrees(samples: Samples, axis: int, order: npt.NDArray[np.int64]) -> bool:
    places = np.unique(np.linspace(0, len(order) - 1, min(len(order), 64)).astype(np.int64))
    found = distances(samples.at(0, axis, order[places]), samples.at(1, axis, places))
    return bool(np.nanmean(found) < AGREES)


def _name_of(order: npt.NDArray[np.int64]) -> str:
    n = len(order)
    places = np.arange(n)
    if n % 3 == 0:
        if np.array_equal(order, places.reshape(-1, 3).T.reshape(-1)):
            return f"q k v by head where golden has q, k, v ({n // 3} heads)"
        if np.array_equal(order, places.reshape(3, -1).T.reshape(-1)):
            return f"q, k, v where golden has them by head ({n // 3} heads)"
    return f"other order of {n} heads"
