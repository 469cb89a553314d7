"""A layout that was recognised, as what is compared: the cuts of both sides, statistics of the whole."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
import numpy.typing as npt

from npulse.core.formats.msprobe.records import Shape

from .group import Members
from .layouts import PADDING, Layout
from .model import SUM, Cut, Part, Segment, Side, Split, merged

MAX, MIN, MEAN, NORM = range(4)


def split_of(
    members: Members,
    place: int,
    layout: Layout,
    parts: Sequence[Part],
    whole: Part,
    words: str,
    confidence: float,
) -> Split:
    """The split of one target rank (`place` in the group).

    Where the target has the parts, its own one is compared with the piece of the golden tensor that it
    should be; where the golden side has them, they are put together. Sums are always put together.
    """
    shape = shape_of(whole)
    if layout.kind == "sum":
        many, one = _summed(shape), _entire(shape)
        many_parts: Sequence[Part] = parts
    elif members.is_target_many:
        many, one = _own(layout, place, shape)
        many_parts = [parts[place]]
    else:
        many, one = _put_together(layout, shape)
        many_parts = parts
    of_many = Side(tuple(many_parts), many, *_statistics(layout, parts), prod(shape))
    of_one = Side((whole,), one, *_recorded(whole, layout), prod(shape))
    target, golden = (of_many, of_one) if members.is_target_many else (of_one, of_many)
    return Split(words, target, golden, confidence, layout.n_padding, members.group.ranks, tuple(parts))


def shape_of(part: Part) -> Shape:
    code = int(part.dump.leaves.shape[part.leaf])
    return part.dump.leaves.shapes[code] if code >= 0 else ()


def _entire(shape: Shape) -> Cut:
    return Cut(shape, 1, 1, ((0, 0, prod(shape)),))


def _summed(shape: Shape) -> Cut:
    return Cut(shape, 1, 1, ((SUM, 0, prod(shape)),))


def _own(layout: Layout, place: int, whole: Shape) -> tuple[Cut, Cut]:
    """The cuts of one part and of the whole, without what one side alone has."""
    axis = layout.axis
    outer, inner = prod(whole[:axis]), prod(whole[axis + 1 :])
    own: list[Segment] = []
    there: list[Segment] = []
    at = 0
    for first, n in layout.runs[place]:
        if first != PADDING:
            own.append((0, at, n))
            there.append((0, first, n))
        at += n
    shape = (*whole[:axis], sum(n for _, _, n in own), *whole[axis + 1 :])
    return Cut(shape, outer, inner, merged(own)), Cut(shape, outer, inner, merged(there))


def _put_together(layout: Layout, whole: Shape) -> tuple[Cut, Cut]:
    """The cuts of all parts and of the whole, in the order of the whole; copies are taken once."""
    axis = layout.axis
    outer, inner = prod(whole[:axis]), prod(whole[axis + 1 :])
    pieces: list[tuple[int, int, int, int]] = []
    for part, runs in enumerate(layout.runs):
        at = 0
        for first, n in runs:
            if first != PADDING:
                pieces.append((first, n, part, at))
            at += n
    many: list[Segment] = []
    one: list[Segment] = []
    end = -1
    for first, n, part, at in sorted(pieces):
        if first > end:
            many.append((part, at, n))
            one.append((0, first, n))
            end = first + n - 1
    shape = (*whole[:axis], sum(n for _, _, n in one), *whole[axis + 1 :])
    return Cut(shape, outer, inner, merged(many)), Cut(shape, outer, inner, merged(one))


Told = tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]


def _recorded(part: Part, layout: Layout) -> Told:
    """The statistics of the whole; none where padding is in them."""
    leaves = part.dump.leaves
    has = (int(leaves.present[part.leaf]) >> np.arange(4) & 1).astype(np.bool_)
    if layout.n_padding:
        has = np.zeros(4, np.bool_)
    return leaves.statistics[part.leaf].copy(), has


def _statistics(layout: Layout, parts: Sequence[Part]) -> Told:
    """Max, Min, Mean and Norm of the whole from those of its parts, as far as they follow.

    Of a partial sum only the mean does; of copies that some ranks hold twice, the extremes.
    """
    table = np.stack([part.dump.leaves.statistics[part.leaf] for part in parts])
    present = np.stack([part.dump.leaves.present[part.leaf] >> np.arange(4) & 1 for part in parts]) > 0
    has: npt.NDArray[np.bool_] = np.asarray(present.all(axis=0), np.bool_)
    sizes = np.array([prod(shape_of(part)) for part in parts], np.float64)
    values = np.full(4, np.nan)
    if layout.n_padding or layout.kind == "fixed":
        return values, np.zeros(4, np.bool_)
    with np.errstate(all="ignore"):
        if layout.kind == "sum":
            values[MEAN] = table[:, MEAN].sum()
            return values, has & (np.arange(4) == MEAN)
        if layout.kind in ("repeated", "strided"):
            picked = np.unique([runs[0][0] for runs in layout.runs], return_index=True)[1]
            table, sizes = table[picked], sizes[picked]
        values[MAX] = _extreme(np.max, table[:, MAX])
        values[MIN] = _extreme(np.min, table[:, MIN])
        values[MEAN] = (table[:, MEAN] * sizes).sum() / max(sizes.sum(), 1)
        values[NORM] = np.sqrt((table[:, NORM] ** 2).sum())
    if layout.kind == "qkv-repeated":
        has = has & np.isin(np.arange(4), (MAX, MIN))
    return values, has


def _extreme(reduce: object, values: npt.NDArray[np.float64]) -> float:
    return float(reduce(values))  # type: ignore[operator]
