"""A pairing with what the user said: their word goes before every evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from npulse.core.dataclass import dataclass
from npulse.core.findings import Problem
from npulse.core.formats.msprobe.records import TENSOR, Dump
from npulse.core.text import safe_text

from ..pairing import CERTAIN, EVIDENCE, NOTHING_BESIDE, Beside, Group, Ints, Pairing
from ..pairing.ends import leaf_pairs
from ..pairing.links import Feeding
from ..pairing.sequence import LeafRows
from .record import HandPair

HAND = 1 << EVIDENCE.index("hand")
NAME = 1 << EVIDENCE.index("name")
SHOWN_NAMES = 8


@dataclass(frozen=True, slots=True)
class PairedByHand:
    """What `Settings.pair_calls` takes: another way to pair, and then the pairs."""

    first: Callable[[Dump, Dump, Beside], Pairing]
    pairs: tuple[HandPair, ...]

    def __call__(self, target: Dump, golden: Dump, beside: Beside = NOTHING_BESIDE) -> Pairing:
        return with_hand_pairs(self.first(target, golden, beside), target, golden, self.pairs)


@dataclass(slots=True)
class _Step:
    """One step of the sequence while it changes. place: in the sequence before; -1 for a new one."""

    target: tuple[int, ...]
    golden: tuple[int, ...]
    place: int
    confidence: float = np.nan
    evidence: int = 0
    fusion: str = ""


def with_hand_pairs(
    pairing: Pairing, target: Dump, golden: Dump, pairs: Sequence[HandPair], evidence: int = HAND
) -> Pairing:
    """The pairing with these pairs in force, in their order: a later one goes before an earlier one.

    Calls that lose their counterpart stand alone, as do all others of a group that is broken up. A pair that
    names a call which a dump does not have is left out: not every rank has every call (`hand_problems` says
    what none has). A group
    is compared at its ends, as one that was found. evidence: bits of EVIDENCE, who says so.
    Cost: O(calls + rows).
    """
    places = [_places(dump) for dump in (target, golden)]
    meant = [
        (tuple(places[0][n] for n in pair.target), tuple(places[1][n] for n in pair.golden))
        for pair in pairs
        if all(n in places[0] for n in pair.target) and all(n in places[1] for n in pair.golden)
    ]
    if not meant:
        return pairing
    steps = _steps(pairing)
    for t, g in meant:
        _put(steps, evidence, t, g)
    ordered = [step for at in sorted(steps.at) for step in steps.at[at]]
    return _pairing(pairing, target, golden, ordered)


def unknown_names(pairs: Sequence[HandPair], dumps: Sequence[tuple[Dump, Dump]]) -> list[str]:
    """Names that no rank and step of their side has, each once. dumps: target and golden of each."""
    has = [{name for both in dumps for name in both[side].calls.names} for side in (0, 1)]
    named = [(name, side) for pair in pairs for side in (0, 1) for name in (pair.target, pair.golden)[side]]
    return list(dict.fromkeys(name for name, side in named if name not in has[side]))


def hand_problems(
    way: Callable[..., Pairing], artifact: str, dumps: Sequence[tuple[Dump, Dump]]
) -> list[Problem]:
    """What was paired by hand and cannot be in force, as a newer capture has no calls of those names.

    way: how calls are paired. artifact: what the problem is told of.
    """
    unknown = unknown_names(way.pairs, dumps) if isinstance(way, PairedByHand) and dumps else []
    if not unknown:
        return []
    names = ", ".join(unknown[:SHOWN_NAMES]) + (", ..." if len(unknown) > SHOWN_NAMES else "")
    message = (
        f"{len(unknown):,} calls that were paired by hand are not in this capture: {safe_text(names, 400)}"
    )
    hint = "pair them anew in the pairing view, or take back what was said of them there"
    return [Problem(artifact, "missing", message, hint=hint)]


def _places(dump: Dump) -> dict[str, int]:
    """The first call of each name."""
    return {name: call for call, name in reversed(list(enumerate(dump.calls.names)))}


@dataclass(slots=True)
class _Steps:
    """at: the steps at each place of the sequence before. of: for each side the place where a call stands."""

    at: dict[int, list[_Step]]
    of: tuple[dict[int, int], dict[int, int]]


def _steps(pairing: Pairing) -> _Steps:
    groups = {group.call: group for group in pairing.groups}
    at: dict[int, list[_Step]] = {}
    of: tuple[dict[int, int], dict[int, int]] = ({}, {})
    sides = zip(pairing.target_call.tolist(), pairing.golden_call.tolist(), strict=True)
    for place, (t, g) in enumerate(sides):
        group = groups.get(place)
        step = _Step((t,) if t >= 0 else (), (g,) if g >= 0 else (), place)
        if group is not None:
            step.target, step.golden, step.fusion = group.target_calls, group.golden_calls, group.fusion
        is_pair = bool(step.target and step.golden)
        step.confidence = CERTAIN if pairing.confidence is None else float(pairing.confidence[place])
        step.confidence = step.confidence if is_pair else np.nan
        step.evidence = (NAME if is_pair else 0) if pairing.evidence is None else int(pairing.evidence[place])
        at[place] = [step]
        for known, calls in zip(of, (step.target, step.golden), strict=True):
            for call in calls:
                known.setdefault(call, place)
    return _Steps(at, of)


def _put(steps: _Steps, evidence: int, target: tuple[int, ...], golden: tuple[int, ...]) -> None:
    """One pair in force: its calls leave their steps; the new step stands where the target's was."""
    where = [steps.of[0].get(call) for call in target] + [steps.of[1].get(call) for call in golden]
    known = [place for place in where if place is not None]
    for side, calls in enumerate((target, golden)):
        for call in calls:
            place = steps.of[side].get(call)
            if place is not None:
                _take_out(steps, place, side, call)
    if not known:
        return
    if target and golden:
        last = steps.of[0].get(target[-1])
        new = [_Step(target, golden, -1, CERTAIN, evidence)]
        place = known[0] if last is None else last
    else:
        new = [_Step((call,), (), -1) for call in target] + [_Step((), (call,), -1) for call in golden]
        place = known[-1]
    steps.at[place] += new
    for step in new:
        for side, calls in enumerate((step.target, step.golden)):
            for call in calls:
                steps.of[side][call] = place


def _take_out(steps: _Steps, place: int, side: int, call: int) -> None:
    """A call leaves its step; what is left of that stands alone, call by call."""
    left: list[_Step] = []
    for step in steps.at[place]:
        if call not in (step.target, step.golden)[side]:
            left.append(step)
            continue
        sides = (step.target, step.golden)
        rest = [tuple(c for c in sides[s] if (c, s) != (call, side)) for s in (0, 1)]
        left += [_Step((c,), (), -1) for c in rest[0]] + [_Step((), (c,), -1) for c in rest[1]]
    steps.at[place] = left


def _pairing(pairing: Pairing, target: Dump, golden: Dump, steps: Sequence[_Step]) -> Pairing:
    """The steps as a pairing; rows of steps that stayed are taken over."""
    first = np.searchsorted(pairing.row_call, np.arange(pairing.n_calls + 1))
    rows, feeding = LeafRows(target, golden), (Feeding(target), Feeding(golden))
    kept: dict[int, int] = {}
    for call, step in enumerate(steps):
        if step.place >= 0:
            kept[step.place] = call
            for row in range(int(first[step.place]), int(first[step.place + 1])):
                rows.add(call, int(pairing.target_leaf[row]), int(pairing.golden_leaf[row]))
        elif len(step.target) > 1 or len(step.golden) > 1:
            for leaves in leaf_pairs(feeding, step.target, step.golden):
                rows.add(call, *leaves)
        elif step.target and step.golden:
            for leaves in _pair_leaves(target, golden, step.target[0], step.golden[0]):
                rows.add(call, *leaves)
        else:
            rows.add_pair(call, *(calls[0] if calls else -1 for calls in (step.target, step.golden)))
    ends = [[calls[-1] if calls else -1 for calls in (step.target, step.golden)] for step in steps]
    made = rows.pairing(([t for t, _ in ends], [g for _, g in ends]))
    copies = pairing.recompute_of
    return replace(
        made,
        confidence=np.array([step.confidence for step in steps]),
        evidence=np.array([step.evidence for step in steps], np.int64),
        groups=tuple(
            Group(call, step.target, step.golden, step.fusion)
            for call, step in enumerate(steps)
            if step.target and step.golden and len(step.target) + len(step.golden) > 2
        ),
        recompute_of=None if copies is None else _moved(copies, kept, steps),
    )


def _moved(copies: Ints, kept: dict[int, int], steps: Sequence[_Step]) -> Ints:
    """Which step each one repeats, by the new places; nothing where the first or the copy was taken apart."""
    return np.array(
        [kept.get(int(copies[step.place]), -1) if step.place >= 0 else -1 for step in steps], np.int64
    )


# ---- leaves of calls that differ in kind ----


def _pair_leaves(target: Dump, golden: Dump, t: int, g: int) -> Iterator[tuple[int, int]]:
    """Leaves of two calls: of equal place (input 0, output 0) first; tensors left over by shape, in order."""
    left, right = list(target.leaf_range(t)), list(golden.leaf_range(g))
    yield from _matched(target, golden, left, right)


def _matched(target: Dump, golden: Dump, left: list[int], right: list[int]) -> Iterator[tuple[int, int]]:
    """By name where they are alike; by shape in order; then by name alone, which tells of another shape."""
    partner: dict[int, int] = {}
    free = list(right)

    def io(dump: Dump, leaf: int) -> str:
        return dump.leaves.io_names[int(dump.leaves.io[leaf])]

    def take(fits: Callable[[int, int], bool]) -> None:
        for leaf in left:
            other = None if leaf in partner else next((one for one in free if fits(leaf, one)), None)
            if other is not None:
                partner[leaf] = other
                free.remove(other)

    def is_named_alike(leaf: int, other: int) -> bool:
        return io(target, leaf) == io(golden, other)

    def is_alike(leaf: int, other: int) -> bool:
        return _is_alike(target, golden, leaf, other)

    take(lambda leaf, other: is_named_alike(leaf, other) and is_alike(leaf, other))
    take(lambda leaf, other: int(target.leaves.kind[leaf]) == TENSOR and is_alike(leaf, other))
    take(is_named_alike)
    for leaf in left:
        yield leaf, partner.get(leaf, -1)
    for leaf in free:
        yield -1, leaf


def _is_alike(target: Dump, golden: Dump, leaf: int, other: int) -> bool:
    """Whether two leaves are of one kind, one side and one shape."""
    a, b = target.leaves, golden.leaves
    if int(a.kind[leaf]) != int(b.kind[other]) or int(a.side[leaf]) != int(b.side[other]):
        return False
    codes = int(a.shape[leaf]), int(b.shape[other])
    return (codes[0] < 0) == (codes[1] < 0) and (codes[0] < 0 or a.shapes[codes[0]] == b.shapes[codes[1]])
