"""Graphs that are not alike: the calls of two dumps aligned by all that is known of them.

    copies          forwards that were computed again stand aside (`recompute`)
    forwards        anchors by unique keys, gaps by bounded dynamic programming (`anchors`, `gaps`)
    moved           what is left on both sides and is the same call in another place
    backwards       by the forwards they belong to; the others as forwards are
    copies          each against its like, or against the first forward of the other side

Where the names of both sides are equal, in one order, and nothing speaks against them, they decide.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from npulse.core.formats.msprobe.records import INPUT, KWARGS, OUTPUT, TENSOR, Dump

from .anchors import Pairs, Side, anchor, kind_key, longest_increasing, shared_once
from .by_name import pair_by_name
from .gaps import fill
from .keys import (
    BACKWARD,
    Keys,
    content_hashes,
    entry_names,
    folded,
    joined,
    keys_of_both,
    shape_hashes,
)
from .model import CERTAIN, LIKELY, NOTHING_BESIDE, Beside, Ints, Pairing
from .partners import BIT, Partners, evidence_of
from .recompute import MARKED, copies_of
from .sequence import LeafRows, in_order, placeholders_last


def pair_auto(target: Dump, golden: Dump, beside: Beside = NOTHING_BESIDE) -> Pairing:
    """The pairing of two dumps, however unlike they are; that of `pair_by_name` where names suffice.

    Cost: O(n log n) in the calls and leaves of both.
    """
    if names_suffice(target, golden):
        pairing = pair_by_name(target, golden)
        if not all((dump.calls.recompute == MARKED).any() for dump in (target, golden)):
            return pairing
        keys = keys_of_both((target, golden), (None, None))
        return _with_copies(pairing, copies_of(target, keys[0]))
    keys = keys_of_both((target, golden), beside.constructs())
    partners = partners_of((target, golden), keys)
    return assemble((target, golden), keys, partners)


def names_suffice(target: Dump, golden: Dump) -> bool:
    """Whether both sides have the same names in one order, and shapes and contents do not speak against them.

    Further calls of one side behind all others do not matter: the other one may still be written.
    Cost: a pass over the columns.
    """
    n = min(len(target.calls.names), len(golden.calls.names))
    if entry_names(target)[:n] != entry_names(golden)[:n]:
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
        )
    unlike = [(x != y) & (x != 0) & (y != 0) for x, y in zip(*sides, strict=True)]
    if unlike[0].any() or unlike[1].any():
        return False
    # inputs that differ, while another call of the other side was given just these
    return not np.isin(sides[0][2][unlike[2]], sides[1][2][unlike[2]]).any()


def partners_of(dumps: tuple[Dump, Dump], keys: tuple[Keys, Keys], fixed: Partners | None = None) -> Partners:
    """Partners of all calls; fixed: pairs that somebody else is sure of."""
    a, b = keys
    found = fixed or Partners.none(a.n, b.n)
    found.copies = (copies_of(dumps[0], a), copies_of(dumps[1], b))
    firsts = [copies < 0 for copies in found.copies]
    forward = [first & (k.direction != BACKWARD) for first, k in zip(firsts, keys, strict=True)]
    _align(keys, forward, found)
    _pair_moved(keys, forward, found)
    backward = [k.direction == BACKWARD for k in keys]
    _by_forward(keys, backward, found)
    _align(keys, backward, found)
    _pair_moved(keys, backward, found)
    return found


def _align(keys: tuple[Keys, Keys], picks: list[npt.NDArray[np.bool_]], found: Partners) -> None:
    a, b = (Side(k, np.flatnonzero(pick)) for k, pick in zip(keys, picks, strict=True))
    if not len(a.rows) or not len(b.rows):
        return
    pairs = Pairs.none(len(a.rows), len(b.rows))
    _take_known(a, b, pairs, found)
    anchor(a, b, pairs)
    sure = pairs.left >= 0
    fill(a, b, pairs)
    made = np.flatnonzero((pairs.left >= 0) & (found.of_target[a.rows] < 0))
    found.weak[a.rows[made]] = _is_ambiguous(a, b, pairs, sure)[made]
    found.add_all(a.rows[made], b.rows[pairs.left[made]])


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

    By equal inputs; by an equal name where no other name of that operator is left over.
    """
    a, b = keys
    free_a = np.flatnonzero(picks[0] & (found.of_target < 0))
    free_b = np.flatnonzero(picks[1] & (found.of_golden < 0))
    if not len(free_a) or not len(free_b):
        return
    left = free_a[a.given[free_a] != 0]
    right = free_b[b.given[free_b] != 0]
    i, j = shared_once(
        joined(a.type[left], a.given_shapes[left], a.given[left]),
        joined(b.type[right], b.given_shapes[right], b.given[right]),
    )
    found.add_all(left[i], right[j])
    free_a, free_b = free_a[found.of_target[free_a] < 0], free_b[found.of_golden[free_b] < 0]
    shape_a = joined(a.type, a.given_shapes, a.made_shapes)
    shape_b = joined(b.type, b.given_shapes, b.made_shapes)
    kinds_a, counts_a = np.unique(shape_a[picks[0]], return_counts=True)
    kinds_b, counts_b = np.unique(shape_b[picks[1]], return_counts=True)
    _, at_a, at_b = np.intersect1d(kinds_a, kinds_b, return_indices=True)
    even = kinds_a[at_a][counts_a[at_a] == counts_b[at_b]]
    free_a, free_b = free_a[np.isin(shape_a[free_a], even)], free_b[np.isin(shape_b[free_b], even)]
    i, j = shared_once(joined(a.name[free_a], shape_a[free_a]), joined(b.name[free_b], shape_b[free_b]))
    found.add_all(free_a[i], free_b[j])


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


# -- the pairing ----------------------------------------------------------------------------------


def assemble(dumps: tuple[Dump, Dump], keys: tuple[Keys, Keys], partners: Partners) -> Pairing:
    """The sequence and its rows."""
    target, golden = dumps
    also = _pair_copies(partners)
    steps = placeholders_last(
        in_order(partners.of_target.tolist(), len(golden.calls.names), also), target, golden
    )
    rows = LeafRows(target, golden)
    for call, (t, g) in enumerate(zip(*steps, strict=True)):
        rows.add_pair(call, t, g)
    pairing = rows.pairing(steps)
    return _told(pairing, keys, partners)


def _pair_copies(partners: Partners) -> list[tuple[int, int]]:
    """Copies against copies of the same forward in turn; else against the other side's first forward.

    Returns (target, golden) for copies of the golden side whose target has none.
    """
    copies_t, copies_g = partners.copies
    waiting: dict[int, list[int]] = {}
    for g in np.flatnonzero((copies_g >= 0) & (partners.of_golden < 0)).tolist():
        waiting.setdefault(int(copies_g[g]), []).append(g)
    for t in np.flatnonzero((copies_t >= 0) & (partners.of_target < 0)).tolist():
        first = int(partners.of_target[copies_t[t]])
        if first < 0:
            continue
        like = waiting.get(first)
        if like:
            partners.add(t, like.pop(0))
        else:
            partners.of_target[t] = first
    return [
        (int(partners.of_golden[first]), g)
        for first, rest in waiting.items()
        for g in rest
        if partners.of_golden[first] >= 0
    ]


def _told(pairing: Pairing, keys: tuple[Keys, Keys], partners: Partners) -> Pairing:
    t, g = pairing.target_call, pairing.golden_call
    confidence = np.full(pairing.n_calls, np.nan)
    evidence = np.zeros(pairing.n_calls, np.int64)
    both = np.flatnonzero((t >= 0) & (g >= 0))
    bits, sure = evidence_of(keys, t[both], g[both], partners.weak[t[both]])
    evidence[both], confidence[both] = bits, sure
    first = _copied_steps(pairing, partners.copies)
    copied = first >= 0
    if copied.any():
        paired = copied & (t >= 0) & (g >= 0)
        evidence[paired] |= BIT["recompute"]
        confidence[paired] = np.fmax(confidence[paired], LIKELY)
    pairing = replace(pairing, recompute_of=first if copied.any() else None)
    by_name = (bits & BIT["name"] > 0) & (sure == CERTAIN)
    if by_name.all() and not copied.any():
        return pairing
    return replace(pairing, confidence=confidence, evidence=evidence)


def _copied_steps(pairing: Pairing, copies: tuple[Ints, Ints]) -> Ints:
    """For each step the step of the first forward that it repeats, on either side; -1 for all others."""
    result = np.full(pairing.n_calls, -1, np.int64)
    for calls, of in zip((pairing.target_call, pairing.golden_call), copies, strict=True):
        place = np.full(len(of) + 1, -1, np.int64)
        places = np.flatnonzero(calls >= 0)[::-1]
        place[calls[places]] = places  # the first step of a call is written last
        first = np.where(calls >= 0, np.append(of, -1)[calls], -1)
        result = np.where((result < 0) & (first >= 0), place[first], result)
    return result


def _with_copies(pairing: Pairing, copies: Ints) -> Pairing:
    none = np.full(int(pairing.golden_call.max(initial=-1)) + 1, -1, np.int64)
    first = _copied_steps(pairing, (copies, none))
    return replace(pairing, recompute_of=first if (first >= 0).any() else None)
