"""Calls of equal names stand against each other."""

from __future__ import annotations

from npulse.core.formats.msprobe.records import Dump

from .keys import entry_names
from .model import Beside, Pairing
from .sequence import LeafRows, in_order, placeholders_last


def pair_by_name(target: Dump, golden: Dump, beside: Beside | None = None) -> Pairing:
    """Pair equal entry names; calls of one side alone keep their place in the sequence.

    Cost: O(calls + leaves). A call of the golden side alone is placed behind the last paired call before it.
    Parameter gradients of versions before 26 come last: they were written where the forward was, as empty
    places to be filled in later. Of equal names in one dump the first pairs with the first. What lies
    beside the dumps is not asked.
    """
    partner = partners_by_name(entry_names(target), entry_names(golden))
    steps = placeholders_last(in_order(partner, len(golden.calls.names)), target, golden)
    rows = LeafRows(target, golden)
    for call, (t, g) in enumerate(zip(*steps, strict=True)):
        rows.add_pair(call, t, g)
    return rows.pairing(steps)


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
