"""Collectives that one side alone needs, since it has the model in parts: paired with what they carry.

An all_reduce of the target stands against the golden output that its ranks add up to: its input (the partial
sum) and its output (the whole) are both compared with that tensor, so that a wrong collective is found as any
other wrong operator.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from npulse.core.calls.apis import COMMUNICATION
from npulse.core.calls.content import content_of, producers
from npulse.core.dataclass import dataclass
from npulse.core.formats.msprobe.names import parse_name
from npulse.core.formats.msprobe.records import OUTPUT, SCALAR, TENSOR, Dump

from ..pairing import CERTAIN, EVIDENCE, Ints, Pairing
from .layouts import is_part_of

if TYPE_CHECKING:
    from ..rows import Rows


@dataclass(frozen=True, slots=True)
class _Way:
    """One side's collectives: its dump, which call and leaf of the other side stand against its own."""

    dump: Dump
    other: Dump
    is_target: bool


def with_collectives(pairing: Pairing, target: Dump, golden: Dump) -> Pairing:
    """The pairing with communication calls of one side alone paired with what the other side has there.

    Calls whose tensors come from no paired call stay alone. Cost: O(leaves log leaves) where there are any.
    """
    ways = _Way(target, golden, True), _Way(golden, target, False)
    if not pairing.groups and pairing.recompute_of is None:
        pairing = _one_reduction(pairing, ways)
    for way in ways:
        if alone := _alone(pairing, way):
            pairing = _paired(pairing, way, alone)
    return pairing


def _alone(pairing: Pairing, way: _Way) -> list[int]:
    own, other = _sides(pairing, way.is_target)
    return [
        call
        for call in np.flatnonzero((own[0] >= 0) & (other[0] < 0)).tolist()
        if parse_name(way.dump.calls.names[int(own[0][call])]).prefix in COMMUNICATION
    ]


def _one_reduction(pairing: Pairing, ways: tuple[_Way, _Way]) -> Pairing:
    """Reductions that carry the same under unlike names (reduce_scatter, all_reduce) as one call each."""
    carried = [_reductions(pairing, way) for way in ways]
    if not all(carried):
        return pairing
    both = (pairing.target_leaf >= 0) & (pairing.golden_leaf >= 0)
    against = dict(zip(pairing.target_leaf[both].tolist(), pairing.golden_leaf[both].tolist(), strict=True))
    of_golden = {against.get(leaf, -1): call for call, leaf in carried[1].items()}
    golden_call, golden_leaf = pairing.golden_call.copy(), pairing.golden_leaf.copy()
    keep_rows, keep_calls = np.ones(pairing.n_rows, np.bool_), np.ones(pairing.n_calls, np.bool_)
    evidence = _evidence(pairing)
    for call, leaf in carried[0].items():
        other = of_golden.pop(leaf, -1) if leaf >= 0 else -1
        if other < 0:
            continue
        rows = _tensors_by_side(pairing.target_leaf, pairing.row_call == call, ways[0].dump)
        leaves = _tensors_by_side(pairing.golden_leaf, pairing.row_call == other, ways[1].dump)
        keep_rows[np.isin(pairing.row_call, (call, other))] = False
        for is_output in (False, True):
            for row, there in zip(rows[is_output], leaves[is_output], strict=False):
                golden_leaf[row] = pairing.golden_leaf[there]
                keep_rows[row] = True
        golden_call[call], keep_calls[other] = pairing.golden_call[other], False
        evidence[call] |= 1 << EVIDENCE.index("split")
    places = np.cumsum(keep_calls) - 1
    return replace(
        pairing,
        target_call=pairing.target_call[keep_calls],
        golden_call=golden_call[keep_calls],
        row_call=places[pairing.row_call[keep_rows]],
        target_leaf=pairing.target_leaf[keep_rows],
        golden_leaf=golden_leaf[keep_rows],
        confidence=_confidence(pairing, evidence)[keep_calls],
        evidence=evidence[keep_calls],
    )


def _reductions(pairing: Pairing, way: _Way) -> dict[int, int]:
    """Of each reduction that one side alone has: the leaf of the other side that it carries."""
    (own_call, own_leaf), (_, other_leaf) = _sides(pairing, way.is_target)
    names = way.dump.calls.names
    alone = [c for c in _alone(pairing, way) if "reduce" in parse_name(names[int(own_call[c])]).api]
    if not alone:
        return {}
    makers = producers(way.dump, content_of(way.dump))
    both = (own_leaf >= 0) & (other_leaf >= 0)
    against = dict(zip(own_leaf[both].tolist(), other_leaf[both].tolist(), strict=True))
    found = {}
    for call in alone:
        by_side = _tensors_by_side(own_leaf, pairing.row_call == call, way.dump)
        tensors = [int(own_leaf[row]) for rows in by_side for row in rows]
        leaf = _carried(way, pairing, own_call, call, tensors, makers, against)
        if leaf >= 0:
            found[call] = leaf
    return found


def _tensors_by_side(leaf: Ints, of_call: npt.NDArray[np.bool_], dump: Dump) -> tuple[list[int], list[int]]:
    """Tensor rows of a call: what it was given, what it made."""
    rows = [
        row for row in np.flatnonzero(of_call & (leaf >= 0)).tolist() if dump.leaves.kind[leaf[row]] == TENSOR
    ]
    made = [row for row in rows if dump.leaves.side[leaf[row]] == OUTPUT]
    return [row for row in rows if row not in made], made


def carried_rows(rows: Rows) -> dict[int, int]:
    """Rows of such collectives, each with the side code that its leaf has in the collective."""
    found: dict[int, int] = {}
    pairing = rows.pairing
    both = (pairing.target_leaf >= 0) & (pairing.golden_leaf >= 0)
    calls = []
    for dump, leaf in ((rows.target, pairing.target_leaf), (rows.golden, pairing.golden_leaf)):
        is_meeting = np.array([name.startswith(COMMUNICATION) for name in dump.calls.names], np.bool_)
        calls.append(is_meeting[dump.leaves.call[leaf]] if len(is_meeting) else np.zeros(len(leaf), np.bool_))
    for row in np.flatnonzero(both & (calls[0] != calls[1])).tolist():
        dump, leaf = (
            (rows.target, pairing.target_leaf) if calls[0][row] else (rows.golden, pairing.golden_leaf)
        )
        found[row] = int(dump.leaves.side[leaf[row]])
    return found


def given_on(rows: Rows) -> Iterator[int]:
    """The outputs among them."""
    return (row for row, side in rows.carried.items() if side == OUTPUT)


def _sides(pairing: Pairing, is_target: bool) -> tuple[tuple[Ints, Ints], ...]:
    target = pairing.target_call, pairing.target_leaf
    golden = pairing.golden_call, pairing.golden_leaf
    return (target, golden) if is_target else (golden, target)


def _paired(pairing: Pairing, way: _Way, alone: list[int]) -> Pairing:
    (own_call, own_leaf), (other_call, other_leaf) = _sides(pairing, way.is_target)
    other_call, other_leaf = other_call.copy(), other_leaf.copy()
    leaves = way.dump.leaves
    makers = producers(way.dump, content_of(way.dump))
    both = (own_leaf >= 0) & (other_leaf >= 0)
    against = dict(zip(own_leaf[both].tolist(), other_leaf[both].tolist(), strict=True))
    first = np.searchsorted(pairing.row_call, np.arange(pairing.n_calls + 1))
    keep = np.ones(pairing.n_rows, np.bool_)
    evidence = _evidence(pairing)
    for call in alone:
        rows = range(int(first[call]), int(first[call + 1]))
        tensors = [row for row in rows if own_leaf[row] >= 0 and leaves.kind[own_leaf[row]] == TENSOR]
        carried = _carried(way, pairing, own_call, call, [int(own_leaf[r]) for r in tensors], makers, against)
        if carried < 0:
            continue
        paired = 0
        for row in rows:
            leaf = int(own_leaf[row])
            if row in tensors and _can_be(way, leaf, carried):
                other_leaf[row] = carried
                against[leaf] = carried
                paired += 1
            elif row in tensors or leaves.kind[leaf] == SCALAR:
                keep[row] = False
        if paired:
            other_call[call] = int(way.other.leaves.call[carried])
            evidence[call] |= 1 << EVIDENCE.index("split")
        else:
            keep[rows.start : rows.stop] = True
    sides = (pairing.target_call, pairing.target_leaf), (other_call, other_leaf)
    (target_call, target_leaf), (golden_call, golden_leaf) = (
        sides if way.is_target else ((other_call, other_leaf), (pairing.golden_call, pairing.golden_leaf))
    )
    return replace(
        pairing,
        target_call=target_call,
        golden_call=golden_call,
        row_call=pairing.row_call[keep],
        target_leaf=target_leaf[keep],
        golden_leaf=golden_leaf[keep],
        confidence=_confidence(pairing, evidence),
        evidence=evidence,
    )


def _evidence(pairing: Pairing) -> Ints:
    if pairing.evidence is not None:
        return pairing.evidence.copy()
    both = (pairing.target_call >= 0) & (pairing.golden_call >= 0)
    return np.where(both, 1 << EVIDENCE.index("name"), 0).astype(np.int64)


def _confidence(pairing: Pairing, evidence: Ints) -> npt.NDArray[np.float64]:
    """As it was; calls that have been paired since are certain."""
    found = np.where(evidence > 0, CERTAIN, np.nan)
    if pairing.confidence is None:
        return found
    return np.where(np.isnan(pairing.confidence), found, pairing.confidence)


def _carried(
    way: _Way,
    pairing: Pairing,
    own_call: Ints,
    call: int,
    tensors: list[int],
    makers: Ints,
    against: dict[int, int],
) -> int:
    """The leaf of the other side that a collective carries: what its input was made as; -1 for none."""
    leaves = way.dump.leaves
    given = [leaf for leaf in tensors if leaves.side[leaf] != OUTPUT]
    for leaf in given:
        maker = int(makers[leaf])
        if maker >= 0 and maker in against:
            return against[maker]
    # where the records cannot tell: the last output before it, if it has this shape
    shapes = {int(leaves.shape[leaf]) for leaf in given or tensors}
    for before in range(call - 1, max(call - 4, -1), -1):
        at = int(own_call[before])
        for leaf in way.dump.leaf_range(at) if at >= 0 else ():
            if leaves.side[leaf] == OUTPUT and int(leaves.shape[leaf]) in shapes and leaf in against:
                return against[leaf]
    return -1


def _can_be(way: _Way, leaf: int, carried: int) -> bool:
    """Whether the shapes are equal, or one is a part of the other."""
    own, other = int(way.dump.leaves.shape[leaf]), int(way.other.leaves.shape[carried])
    if own < 0 or other < 0:
        return False
    one, two = way.dump.leaves.shapes[own], way.other.leaves.shapes[other]
    return one == two or is_part_of(one, two) or is_part_of(two, one)
