"""One sequence out of two dumps and the partners of their calls, and the leaf rows of each pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from npulse.core.formats.msprobe.records import NONE, OBJECT, Dump

from .model import Ints, Pairing

_GRAD_PLACEHOLDER = ".parameters_grad"

Steps = tuple[list[int], list[int]]
"""Calls of target and golden side of each step of the sequence, -1 for none."""


def in_order(partner: Sequence[int], n_golden: int, also: Sequence[tuple[int, int]] = ()) -> Steps:
    """The steps in the order of the target; what the golden side has alone behind the last pair before it.

    partner: of each target call, -1 for none. also: further (target, golden) steps of golden calls whose
    target call stands in the sequence already.
    """
    behind: dict[int, list[tuple[int, int]]] = {}
    of_golden = [-1] * n_golden
    for t, g in enumerate(partner):
        if g >= 0 and of_golden[g] < 0:
            of_golden[g] = t
    again = {g: t for t, g in also}
    anchor = -1
    for g in range(n_golden):
        if of_golden[g] >= 0:
            anchor = of_golden[g]
        else:
            behind.setdefault(anchor, []).append((again.get(g, -1), g))
    left: list[int] = []
    right: list[int] = []
    for t in range(-1, len(partner)):
        if t >= 0:
            left.append(t)
            right.append(int(partner[t]))
        for step in behind.get(t, ()):
            left.append(step[0])
            right.append(step[1])
    return left, right


def placeholders_last(steps: Steps, target: Dump, golden: Dump) -> Steps:
    """Gradients of versions before 26 come last: they were written where the forward was, empty."""

    def is_placeholder(step: tuple[int, int]) -> bool:
        t, g = step
        name = target.calls.names[t] if t >= 0 else golden.calls.names[g]
        return name.endswith(_GRAD_PLACEHOLDER)

    ordered = sorted(zip(*steps, strict=True), key=is_placeholder)
    return [t for t, _ in ordered], [g for _, g in ordered]


def has_placeholders(dump: Dump) -> bool:
    """Whether there are gradients of versions before 26 in a dump."""
    return any(name.endswith(_GRAD_PLACEHOLDER) for name in dump.calls.names)


class LeafRows:
    """The leaf rows of a pairing while it is made."""

    def __init__(self, target: Dump, golden: Dump) -> None:
        self._target, self._golden = target, golden
        self._io = (target.leaves.io.tolist(), golden.leaves.io.tolist())
        self.call: list[int] = []
        self.target: list[int] = []
        self.golden: list[int] = []

    def add(self, call: int, t: int, g: int) -> None:
        """One row."""
        self.call.append(call)
        self.target.append(t)
        self.golden.append(g)

    def add_pair(self, call: int, t: int, g: int) -> None:
        """All leaves of two calls, paired by what they are (input 0, kwargs mask, ...); -1: no such call."""
        names_target, names_golden = self._target.leaves.io_names, self._golden.leaves.io_names
        io_target, io_golden = self._io
        of_golden = (
            {names_golden[io_golden[row]]: row for row in self._golden.leaf_range(g)} if g >= 0 else {}
        )
        for row in self._target.leaf_range(t) if t >= 0 else ():
            self.add(call, row, of_golden.pop(names_target[io_target[row]], -1))
        for row in of_golden.values():
            self.add(call, -1, row)

    def pairing(self, steps: Steps) -> Pairing:
        """All rows in which a side holds a value that can be compared."""
        pairing = Pairing(
            np.array(steps[0], np.int64),
            np.array(steps[1], np.int64),
            np.array(self.call, np.int64),
            np.array(self.target, np.int64),
            np.array(self.golden, np.int64),
        )
        return without_valueless_rows(pairing, self._target, self._golden)


def without_valueless_rows(pairing: Pairing, target: Dump, golden: Dump) -> Pairing:
    """Drop rows where neither side holds a value that can be compared (None, device, process group ...)."""

    def valueless(dump: Dump, leaf: Ints) -> npt.NDArray[np.bool_]:
        if not len(dump.leaves.kind):
            return np.ones(len(leaf), np.bool_)
        kind = dump.leaves.kind[np.maximum(leaf, 0)]
        without: npt.NDArray[np.bool_] = (leaf < 0) | (kind == NONE) | (kind == OBJECT)
        return without

    keep = ~(valueless(target, pairing.target_leaf) & valueless(golden, pairing.golden_leaf))
    if keep.all():
        return pairing
    target_leaf = pairing.target_leaf[keep]
    is_alike = pairing.golden_leaf is pairing.target_leaf
    golden_leaf = target_leaf if is_alike else pairing.golden_leaf[keep]
    return replace(pairing, row_call=pairing.row_call[keep], target_leaf=target_leaf, golden_leaf=golden_leaf)
