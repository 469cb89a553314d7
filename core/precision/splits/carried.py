"""Collectives that one side alone needs, since it has the model in parts: paired with what they carry.

An all_reduce of the target stands against the golden output that its ranks add up to: its input (the partial
sum) and its output (the whole) are both compared with that tensor, so that a wrong collective is found as any
other wrong operator.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from npulse.core.calls.apis import COMMUNICATION
from npulse.core.calls.content import content_of, producers
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
    for way in (_Way(target, golden, True), _Way(golden, target, False)):
        own, other = _sides(pairing, way.is_target)
        alone = [
            call
            for call in np.flatnonzero((own[0] >= 0) & (other[0] < 0)).tolist()
            if parse_name(way.dump.calls.names[int(own[0][call])]).prefix in COMMUNICATION
        ]
        if alone:
            pairing = _paired(pairing, way, alone)
    return pairing


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
        confidence=np.where(evidence > 0, CERTAIN, np.nan)
        if pairing.confidence is None
        else pairing.confidence,
        evidence=evidence,
    )


def _evidence(pairing: Pairing) -> Ints:
    if pairing.evidence is not None:
        return pairing.evidence.copy()
    both = (pairing.target_call >= 0) & (pairing.golden_call >= 0)
    return np.where(both, 1 << EVIDENCE.index("name"), 0).astype(np.int64)


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
