"""Calls of equal names stand against each other."""

from __future__ import annotations

import numpy as np

from npulse.core.formats.msprobe.columns import are_same
from npulse.core.formats.msprobe.records import Dump

from .keys import entry_names
from .model import Beside, Pairing
from .sequence import LeafRows, has_placeholders, in_order, placeholders_last, without_valueless_rows


def pair_by_name(target: Dump, golden: Dump, beside: Beside | None = None) -> Pairing:
    """Pair equal entry names; calls of one side alone keep their place in the sequence.

    Cost: O(calls + leaves). A call of the golden side alone is placed behind the last paired call before it.
    Parameter gradients of versions before 26 come last: they were written where the forward was, as empty
    places to be filled in later. Of equal names in one dump the first pairs with the first. What lies
    beside the dumps is not asked.
    """
    alike = pair_alike(target, golden)
    if alike is not None:
        return alike
    partner = partners_by_name(entry_names(target), entry_names(golden))
    steps = placeholders_last(in_order(partner, len(golden.calls.names)), target, golden)
    rows = LeafRows(target, golden)
    for call, (t, g) in enumerate(zip(*steps, strict=True)):
        rows.add_pair(call, t, g)
    return rows.pairing(steps)


def pair_alike(target: Dump, golden: Dump) -> Pairing | None:
    """The pairing of two dumps with the same calls and leaves, one by one; None where they are not alike.

    It is the one that names give, made of the columns alone: nearly all pairs are such.
    """
    t, g = target.leaves, golden.leaves
    n_ios = len(t.io_names)
    if (
        not are_same(target.calls.names, golden.calls.names)
        or not np.array_equal(target.calls.first_leaf, golden.calls.first_leaf)
        or list(t.io_names) != list(g.io_names)
        or not np.array_equal(t.io, g.io)
        or has_placeholders(target)
    ):
        return None
    places = t.call * np.int64(n_ios) + t.io
    places.sort()
    if (places[1:] == places[:-1]).any():  # a call with two leaves of one name
        return None
    calls, leaves = np.arange(len(target.calls.names)), np.arange(len(t.call))
    return without_valueless_rows(
        Pairing(calls, calls, t.call.astype(np.int64), leaves, leaves), target, golden
    )


def partners_by_name(target: list[str], golden: list[str]) -> list[int]:
    """For each name of the target the place of the same name on the golden side, -1 where it has none."""
    at_target: dict[str, list[int]] = {}
    for t in reversed(range(len(target))):
        at_target.setdefault(target[t], []).append(t)
    partner = [-1] * len(target)
    for g, name in enumerate(golden):
        places = at_target.get(name)
        if places:
            partner[places.pop()] = g
    return partner
