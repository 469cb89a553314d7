"""Graphs that are not alike: the calls of two dumps aligned by all that is known of them.

    copies          forwards that were computed again stand aside (`recompute`)
    forwards        anchors by unique keys, groups of fused operators between them, then what is left in the
                    gaps by bounded dynamic programming (`anchors`, `groups`, `gaps`)
    moved           what is left on both sides and is the same call in another place
    backwards       by the forwards they belong to; the others as forwards are
    copies          each against its like, or against the first forward of the other side

Where the names of both sides are equal, in one order, and nothing speaks against them, they decide.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from npulse.core.formats.msprobe.columns import are_same
from npulse.core.formats.msprobe.records import INPUT, KWARGS, OUTPUT, TENSOR, Dump

from .anchors import (
    Pairs,
    Side,
    anchor,
    are_of_other_lines,
    kind_key,
    longest_increasing,
    shared_once,
)
from .assemble import assemble, with_copies
from .by_name import pair_by_name
from .gaps import fill
from .groups import Found, Groups
from .keys import (
    BACKWARD,
    Keys,
    content_hashes,
    entry_names,
    folded,
    is_first,
    joined,
    keys_of_both,
    shape_hashes,
)
from .lines import with_lines
from .links import Feeding
from .model import NOTHING_BESIDE, Beside, Ints, Pairing
from .partners import Partners
from .recompute import MARKED, copies_of
from .reordered import MOST_REORDERED, are_reordered
from .unlike import part_unlike


def pair_auto(target: Dump, golden: Dump, beside: Beside = NOTHING_BESIDE) -> Pairing:
    """The pairing of two dumps, however unlike they are; that of `pair_by_name` where names suffice.

    Cost: O(n log n) in the calls and leaves of both.
    """
    if names_suffice(target, golden):
        pairing = pair_by_name(target, golden)
        if not all((dump.calls.recompute == MARKED).any() for dump in (target, golden)):
            return pairing
        keys = keys_of_both((target, golden), (None, None))
        return with_copies(pairing, copies_of(target, keys[0]))
    keys = keys_of_both((target, golden), beside.constructs())
    feeding = (Feeding(target), Feeding(golden))
    partners = Partners.none(keys[0].n, keys[1].n)
    partners.copies = (copies_of(target, keys[0]), copies_of(golden, keys[1]))
    keys = with_lines((target, golden), keys, _forwards(keys, partners), beside)
    groups = partners_of(feeding, keys, partners)
    return assemble(feeding, keys, partners, groups)


def names_suffice(target: Dump, golden: Dump) -> bool:
    """Whether both sides have the same names in one order, and shapes and contents do not speak against them.

    Further calls of one side behind all others do not matter: the other one may still be written.
    Cost: a pass over the columns.
    """
    n = min(len(target.calls.names), len(golden.calls.names))
    if (
        not are_same(target.calls.names, golden.calls.names)
        and entry_names(target)[:n] != entry_names(golden)[:n]
    ):
        return False
    sides = []
    for dump in (target, golden):
        leaves, calls = dump.leaves, len(dump.calls.names)
        tensors = leaves.kind == TENSOR
        read, written = tensors & np.isin(leaves.side, (INPUT, KWARGS)), tensors & (leaves.side == OUTPUT)
        is_other_tool = target.located is not None or golden.located is not None
        shapes = shape_hashes(dump, without_ones=is_other_tool)
        content, telling = content_hashes(dump)
        sides.append(
            [folded(leaves.call, shapes, pick, calls)[:n] for pick in (read, written)]
            + [folded(leaves.call, content, read & telling, calls)[:n]]
            + [folded(leaves.call, content, read & telling & ~is_first(leaves.call, read), calls)[:n]]
        )
    unlike = [(x != y) & (x != 0) & (y != 0) for x, y in zip(*sides, strict=True)]
    if unlike[0].any() or unlike[1].any():
        return False
    # inputs that differ, while another call of the other side was given just these
    if np.isin(sides[0][2][unlike[2]], sides[1][2][unlike[2]]).any():
        return False
    # the same of all inputs but the first, which may have been rounded: q, k and v by their weights
    exchanged = np.flatnonzero(unlike[3])[np.isin(sides[0][3][unlike[3]], sides[1][3][unlike[3]])]
    return not len(exchanged) or not are_reordered(target, golden, exchanged[:MOST_REORDERED].tolist())


def partners_of(
    feeding: tuple[Feeding, Feeding], keys: tuple[Keys, Keys], found: Partners
) -> Sequence[Found]:
    """Partners of all calls, put into `found`, which has the copies and may hold sure pairs; groups."""
    groups = Groups(feeding, keys, found)
    forward = _forwards(keys, found)
    backward = [k.direction == BACKWARD for k in keys]
    _align(keys, forward, found, is_sure_only=True)
    groups.by_table()
    _without(forward, groups)
    _pair_moved_by_content(keys, forward, found)
    _align(keys, forward, found)
    _pair_moved(keys, forward, found)
    part_unlike(feeding, keys, forward, found)
    _by_forward(keys, backward, found)
    groups.backwards()
    _without(backward, groups)
    _align(keys, backward, found)
    _pair_moved(keys, backward, found)
    part_unlike(feeding, keys, backward, found)
    groups.leftovers()
    return groups.found


def _forwards(keys: tuple[Keys, Keys], found: Partners) -> list[npt.NDArray[np.bool_]]:
    return [(copies < 0) & (k.direction != BACKWARD) for copies, k in zip(found.copies, keys, strict=True)]


def _without(picks: list[npt.NDArray[np.bool_]], groups: Groups) -> None:
    for side, pick in enumerate(picks):
        pick[groups.members(side)] = False


def _align(
    keys: tuple[Keys, Keys],
    picks: list[npt.NDArray[np.bool_]],
    found: Partners,
    *,
    is_sure_only: bool = False,
) -> None:
    a, b = (Side(k, rows) for k, rows in zip(keys, _uncrossed(picks, found), strict=True))
    if not len(a.rows) or not len(b.rows):
        return
    pairs = Pairs.none(len(a.rows), len(b.rows))
    _take_known(a, b, pairs, found)
    anchor(a, b, pairs)
    sure = pairs.left >= 0
    if not is_sure_only:
        fill(a, b, pairs)
    made = np.flatnonzero((pairs.left >= 0) & (found.of_target[a.rows] < 0))
    found.weak[a.rows[made]] = _is_ambiguous(a, b, pairs, sure)[made]
    found.add_all(a.rows[made], b.rows[pairs.left[made]])


def _uncrossed(picks: list[npt.NDArray[np.bool_]], found: Partners) -> tuple[Ints, Ints]:
    """The calls of both sides without those whose known partner lies across other known pairs."""
    left, right = picks[0].copy(), picks[1].copy()
    known = np.flatnonzero(left & (found.of_target >= 0))
    partner = found.of_target[known]
    out = np.ones(len(known), np.bool_)
    inside = np.flatnonzero(right[partner])
    out[inside[longest_increasing(partner[inside])]] = False
    left[known[out]], right[partner[out]] = False, False
    return np.flatnonzero(left), np.flatnonzero(right)


def _take_known(a: Side, b: Side, pairs: Pairs, found: Partners) -> None:
    """Pairs that are known already, as far as they do not cross; the others take no part."""
    place = np.full(b.keys.n, -1, np.int64)
    place[b.rows] = np.arange(len(b.rows))
    partner = found.of_target[a.rows]
    known = np.flatnonzero(partner >= 0)
    known = known[place[partner[known]] >= 0]
    right = place[partner[known]]
    keep = longest_increasing(right)
    pairs.add(known[keep], right[keep])


def _is_ambiguous(a: Side, b: Side, pairs: Pairs, sure: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Pairs made in a gap in which another call of the same kind was left over: it might be that one."""
    gap_a = np.cumsum(sure)
    gap_b = np.cumsum(np.isin(np.arange(len(b.rows)), pairs.left[sure]))
    kind_a, kind_b = joined(kind_key(a), gap_a), joined(kind_key(b), gap_b)
    left_over = np.concatenate([kind_a[pairs.left < 0], kind_b[pairs.right < 0]])
    found: npt.NDArray[np.bool_] = (pairs.left >= 0) & ~sure & np.isin(kind_a, left_over)
    return found


def _pair_moved(keys: tuple[Keys, Keys], picks: list[npt.NDArray[np.bool_]], found: Partners) -> None:
    """What is left on both sides and is the same call elsewhere: independent calls in another order.

    By equal inputs; by a source line that made one call of that kind on each side; by an equal name where
    no other name of that operator is left over.
    """
    _pair_moved_by_content(keys, picks, found)
    a, b = keys
    free_a = np.flatnonzero(picks[0] & (found.of_target < 0))
    free_b = np.flatnonzero(picks[1] & (found.of_golden < 0))
    if not len(free_a) or not len(free_b):
        return
    _pair_by_line(keys, picks, found)
    free_a, free_b = free_a[found.of_target[free_a] < 0], free_b[found.of_golden[free_b] < 0]
    shape_a = joined(a.type, a.given_shapes, a.made_shapes)
    shape_b = joined(b.type, b.given_shapes, b.made_shapes)
    kinds_a, counts_a = np.unique(shape_a[picks[0]], return_counts=True)
    kinds_b, counts_b = np.unique(shape_b[picks[1]], return_counts=True)
    _, at_a, at_b = np.intersect1d(kinds_a, kinds_b, return_indices=True)
    even = kinds_a[at_a][counts_a[at_a] == counts_b[at_b]]
    free_a, free_b = free_a[np.isin(shape_a[free_a], even)], free_b[np.isin(shape_b[free_b], even)]
    i, j = shared_once(joined(a.name[free_a], shape_a[free_a]), joined(b.name[free_b], shape_b[free_b]))
    fits = ~are_of_other_lines(a, b, free_a[i], free_b[j])
    found.add_all(free_a[i[fits]], free_b[j[fits]])


def _pair_moved_by_content(
    keys: tuple[Keys, Keys], picks: list[npt.NDArray[np.bool_]], found: Partners
) -> None:
    a, b = keys
    free_a = np.flatnonzero(picks[0] & (found.of_target < 0))
    free_b = np.flatnonzero(picks[1] & (found.of_golden < 0))
    left = free_a[a.given[free_a] != 0]
    right = free_b[b.given[free_b] != 0]
    i, j = shared_once(
        joined(a.type[left], a.given_shapes[left], a.given[left]),
        joined(b.type[right], b.given_shapes[right], b.given[right]),
    )
    found.add_all(left[i], right[j])
    left = free_a[(a.beside[free_a] != 0) & (found.of_target[free_a] < 0)]
    right = free_b[(b.beside[free_b] != 0) & (found.of_golden[free_b] < 0)]
    i, j = shared_once(
        joined(a.type[left], a.given_shapes[left], a.beside[left]),
        joined(b.type[right], b.given_shapes[right], b.beside[right]),
    )
    found.add_all(left[i], right[j])


def _pair_by_line(keys: tuple[Keys, Keys], picks: list[npt.NDArray[np.bool_]], found: Partners) -> None:
    a, b = keys
    if a.stack is None or b.stack is None:
        return
    left, right = np.flatnonzero(picks[0] & (a.stack >= 0)), np.flatnonzero(picks[1] & (b.stack >= 0))
    i, j = shared_once(
        joined(a.stack[left], a.type[left], a.given_shapes[left], a.made_shapes[left]),
        joined(b.stack[right], b.type[right], b.given_shapes[right], b.made_shapes[right]),
    )
    t, g = left[i], right[j]
    free = (found.of_target[t] < 0) & (found.of_golden[g] < 0)
    found.add_all(t[free], g[free])


def _by_forward(keys: tuple[Keys, Keys], picks: list[npt.NDArray[np.bool_]], found: Partners) -> None:
    """A backward stands against the backward of its forward's partner, whatever the number."""
    a, b = keys
    forward_of = [_first_forward(k, copies) for k, copies in zip(keys, found.copies, strict=True)]
    of_golden: dict[tuple[int, int], list[int]] = {}
    kind_b = b.type.tolist()
    for g in np.flatnonzero(picks[1] & (forward_of[1] >= 0) & (found.of_golden < 0)).tolist():
        of_golden.setdefault((int(forward_of[1][g]), kind_b[g]), []).append(g)
    kind_a = a.type.tolist()
    for t in np.flatnonzero(picks[0] & (forward_of[0] >= 0) & (found.of_target < 0)).tolist():
        forward = int(forward_of[0][t])
        partner = int(found.of_target[forward])
        waiting = of_golden.get((partner, kind_a[t])) if partner >= 0 else None
        if waiting:
            found.add(t, waiting.pop(0))
            found.weak[t] = found.weak[forward]


def _first_forward(keys: Keys, copies: Ints) -> Ints:
    """For each call the forward with its number, or what that one repeats; -1 where it is not in the dump."""
    of_base: dict[int, int] = {}
    for call in np.flatnonzero(keys.direction != BACKWARD).tolist():
        of_base.setdefault(int(keys.base[call]), call)
    found = np.array([of_base.get(base, -1) for base in keys.base.tolist()], np.int64)
    if not len(found):
        return found
    first = np.where(found >= 0, copies[found], -1)
    return np.where(first >= 0, first, found)
