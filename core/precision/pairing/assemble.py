"""The pairing out of partners, groups and copies: one sequence, its rows, how sure each pair is and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from .ends import leaf_pairs
from .gradients import Gradients, GroupCalls, gradient_pairs
from .groups import Found
from .keys import Keys
from .links import Feeding
from .model import CERTAIN, LIKELY, Group, Ints, Pairing
from .partners import BIT, Partners, evidence_of
from .sequence import LeafRows, Steps, in_order, placeholders_last


def assemble(
    feeding: tuple[Feeding, Feeding], keys: tuple[Keys, Keys], partners: Partners, groups: Sequence[Found]
) -> Pairing:
    """The sequence and its rows."""
    target, golden = feeding[0].dump, feeding[1].dump
    together = {(g.target[-1], g.golden[-1]): g for g in groups}
    copied = _copied_groups(partners, groups)
    also = _pair_copies(partners)
    steps = in_order(partners.of_target.tolist(), len(golden.calls.names), also)
    present = set(zip(*steps, strict=True))
    together |= {ends: group for ends, group in copied.items() if ends in present}
    steps = placeholders_last(_without_members(steps, together.values()), target, golden)
    rows = LeafRows(target, golden)
    gradients = (
        Gradients(feeding[0], keys[0], partners.copies[0]),
        Gradients(feeding[1], keys[1], partners.copies[1]),
    )
    told: list[Group] = []
    sure: dict[int, float] = {}
    for call, (t, g) in enumerate(zip(*steps, strict=True)):
        group = together.get((t, g))
        if group is None:
            rows.add_pair(call, t, g)
            continue
        for leaves in _ends_of(feeding, gradients, group):
            rows.add(call, *leaves)
        told.append(Group(call, group.target, group.golden, group.fusion))
        sure[call] = group.confidence
    pairing = replace(rows.pairing(steps), groups=tuple(told))
    return _told(pairing, keys, partners, sure)


def _ends_of(
    feeding: tuple[Feeding, Feeding], gradients: tuple[Gradients, Gradients], group: Found
) -> Sequence[tuple[int, int]]:
    """Where a group is compared: its own ends, or of a backward those of its forward."""
    if group.forward is None:
        return leaf_pairs(feeding, group.target, group.golden)
    forward = group.forward
    pairs = leaf_pairs(feeding, forward.target, forward.golden)
    target, golden = GroupCalls(forward.target, group.target), GroupCalls(forward.golden, group.golden)
    return gradient_pairs(feeding, gradients, pairs, target, golden)


def _without_members(steps: Steps, groups: Iterable[Found]) -> Steps:
    """Members of groups have no steps of their own: the last call of each side stands for all."""
    members: tuple[set[int], set[int]] = (set(), set())
    for group in groups:
        members[0].update(group.target[:-1])
        members[1].update(group.golden[:-1])
    kept = [(t, g) for t, g in zip(*steps, strict=True) if t not in members[0] and g not in members[1]]
    return [t for t, _ in kept], [g for _, g in kept]


def _copied_groups(partners: Partners, groups: Sequence[Found]) -> dict[tuple[int, int], Found]:
    """Groups whose forwards were computed again: the copies as a group, by their last calls.

    A copy stands against the copy of the other side, else against the first forward.
    """
    again: list[dict[int, list[int]]] = []
    for copies in partners.copies:
        of: dict[int, list[int]] = {}
        for call in np.flatnonzero(copies >= 0).tolist():
            of.setdefault(int(copies[call]), []).append(call)
        again.append(of)
    found: dict[tuple[int, int], Found] = {}
    for group in groups:
        sides = (group.target, group.golden)
        copied = [_copies_in_turn(calls, of) for calls, of in zip(sides, again, strict=True)]
        for place in range(max(len(copies) for copies in copied)):
            one, other = (
                copied[side][place] if place < len(copied[side]) else sides[side] for side in (0, 1)
            )
            found[one[-1], other[-1]] = Found(one, other, group.fusion, group.confidence)
    return found


def _copies_in_turn(calls: tuple[int, ...], again: dict[int, list[int]]) -> list[tuple[int, ...]]:
    n = min((len(again.get(call, ())) for call in calls), default=0)
    return [tuple(again[call][place] for call in calls) for place in range(n)]


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


def _told(pairing: Pairing, keys: tuple[Keys, Keys], partners: Partners, groups: dict[int, float]) -> Pairing:
    """With how sure each pair is and why; without both where names alone decided."""
    t, g = pairing.target_call, pairing.golden_call
    confidence = np.full(pairing.n_calls, np.nan)
    evidence = np.zeros(pairing.n_calls, np.int64)
    both = np.flatnonzero((t >= 0) & (g >= 0))
    bits, sure = evidence_of(keys, t[both], g[both], partners.weak[t[both]])
    evidence[both], confidence[both] = bits, sure
    for group in pairing.groups:
        is_known = BIT["fusion"] if group.fusion else 0
        evidence[group.call] = is_known | BIT["shape"] | BIT["order"]
        confidence[group.call] = groups[group.call]
    first = copied_steps(pairing, partners.copies)
    copied = first >= 0
    if copied.any():
        paired = copied & (t >= 0) & (g >= 0)
        evidence[paired] |= BIT["recompute"]
        confidence[paired] = np.fmax(confidence[paired], LIKELY)
    pairing = replace(pairing, recompute_of=first if copied.any() else None)
    if not groups and not copied.any() and bool(((bits & BIT["name"] > 0) & (sure == CERTAIN)).all()):
        return pairing
    return replace(pairing, confidence=confidence, evidence=evidence)


def copied_steps(pairing: Pairing, copies: tuple[Ints, Ints]) -> Ints:
    """For each step the step of the first forward that it repeats, on either side; -1 for all others."""
    result = np.full(pairing.n_calls, -1, np.int64)
    for side, of in enumerate(copies):
        calls = (pairing.target_call, pairing.golden_call)[side]
        place = np.append(pairing.steps_of(len(of), is_target=side == 0), -1)
        first = np.where(calls >= 0, np.append(of, -1)[calls], -1)
        result = np.where((result < 0) & (first >= 0), place[first], result)
    return result


def with_copies(pairing: Pairing, copies: Ints) -> Pairing:
    """A pairing by name of two sides that both compute forwards again; copies: of the target."""
    none = np.full(int(pairing.golden_call.max(initial=-1)) + 1, -1, np.int64)
    first = copied_steps(pairing, (copies, none))
    return replace(pairing, recompute_of=first if (first >= 0).any() else None)
