"""Calls of equal names stand against each other."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from npulse.core.formats.msprobe.records import NONE, OBJECT, Dump

from .model import Ints, Pairing

_GRAD_PLACEHOLDER = ".parameters_grad"


def pair_by_name(target: Dump, golden: Dump) -> Pairing:
    """Pair equal entry names; calls of one side alone keep their place in the sequence.

    Cost: O(calls + leaves). A call of the golden side alone is placed behind the last paired call before it.
    Parameter gradients of versions before 26 come last: they were written where the forward was, as empty
    places to be filled in later. Of equal names in one dump the first pairs with the first.
    """
    merged = _merge(_keys(target), _keys(golden))
    steps = sorted(zip(*merged, strict=True), key=lambda step: _is_placeholder(target, golden, *step))
    target_call, golden_call = [t for t, _ in steps], [g for _, g in steps]
    row_call: list[int] = []
    target_leaf: list[int] = []
    golden_leaf: list[int] = []
    io_target, io_golden = target.leaves.io.tolist(), golden.leaves.io.tolist()
    names_target, names_golden = target.leaves.io_names, golden.leaves.io_names
    for call, (t, g) in enumerate(zip(target_call, golden_call, strict=True)):
        of_golden = {names_golden[io_golden[row]]: row for row in golden.leaf_range(g)} if g >= 0 else {}
        for row in target.leaf_range(t) if t >= 0 else ():
            row_call.append(call)
            target_leaf.append(row)
            golden_leaf.append(of_golden.pop(names_target[io_target[row]], -1))
        for row in of_golden.values():
            row_call.append(call)
            target_leaf.append(-1)
            golden_leaf.append(row)
    calls = np.array(row_call, np.int64)
    pairing = Pairing(
        np.array(target_call, np.int64),
        np.array(golden_call, np.int64),
        calls,
        np.array(target_leaf, np.int64),
        np.array(golden_leaf, np.int64),
    )
    return _without_valueless_rows(pairing, target, golden)


def _keys(dump: Dump) -> list[str]:
    # 8.x and older write `parameters_grad` where 26.x writes `parameters_grad.0`
    return [name + ".0" if name.endswith(_GRAD_PLACEHOLDER) else name for name in dump.calls.names]


def _is_placeholder(target: Dump, golden: Dump, t: int, g: int) -> bool:
    name = target.calls.names[t] if t >= 0 else golden.calls.names[g]
    return name.endswith(_GRAD_PLACEHOLDER)


def _merge(target: list[str], golden: list[str]) -> tuple[list[int], list[int]]:
    at_target: dict[str, list[int]] = {}
    for t in reversed(range(len(target))):
        at_target.setdefault(target[t], []).append(t)
    behind: dict[int, list[int]] = {}
    partner = [-1] * len(target)
    anchor = -1
    for g, name in enumerate(golden):
        places = at_target.get(name)
        if places:
            anchor = places.pop()
            partner[anchor] = g
        else:
            behind.setdefault(anchor, []).append(g)
    left: list[int] = [-1] * len(behind.get(-1, ()))
    right: list[int] = list(behind.get(-1, ()))
    for t, g in enumerate(partner):
        alone = behind.get(t, ())
        left += [t, *(-1 for _ in alone)]
        right += [g, *alone]
    return left, right


def _without_valueless_rows(pairing: Pairing, target: Dump, golden: Dump) -> Pairing:
    """Drop rows where neither side holds a value that can be compared (None, device, process group ...)."""

    def valueless(dump: Dump, leaf: Ints) -> npt.NDArray[np.bool_]:
        if not len(dump.leaves.kind):
            return np.ones(len(leaf), np.bool_)
        kind = dump.leaves.kind[np.maximum(leaf, 0)]
        without: npt.NDArray[np.bool_] = (leaf < 0) | (kind == NONE) | (kind == OBJECT)
        return without

    keep = ~(valueless(target, pairing.target_leaf) & valueless(golden, pairing.golden_leaf))
    return Pairing(
        pairing.target_call,
        pairing.golden_call,
        pairing.row_call[keep],
        pairing.target_leaf[keep],
        pairing.golden_leaf[keep],
    )
