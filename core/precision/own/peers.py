"""Ranks that add up activations (tensor parallel ones) have to be given the same data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from npulse.core.calls.meetings import meetings_of
from npulse.core.findings import Problem
from npulse.core.formats.msprobe.records import INPUT
from npulse.core.progress import IsCancelled, check

from .content import OTHER, compared, is_tensor, shape_of
from .data import data_leaves
from .model import Captured, Seen

LEAST_ELEMENTS = 64
"""A sum of fewer numbers may be a loss or a count, which ranks with other data add up too."""


def check_peers(
    captured: Sequence[Captured], problems: list[Problem], is_cancelled: IsCancelled
) -> list[Seen]:
    """Data that differs on ranks which meet in an all_reduce of activations, one finding for each group.

    Only sums in front of the first backward call count, over a group that the capture names: what ranks of
    data parallel training add up are gradients, behind it. Cancelled.
    """
    seen: list[Seen] = []
    for step in dict.fromkeys(one.step for one in captured):
        ranks = {one.rank: one for one in captured if one.step == step and one.rank is not None}
        if len(ranks) < 2:
            continue  # nobody to compare with
        groups = sorted({group for one in ranks.values() for group in _adding_up(one)})
        for group in groups:
            check(is_cancelled)
            members = [ranks[rank] for rank in group if rank in ranks]
            found = _unequal(members, problems, is_cancelled)
            if found is not None:
                seen.append(found)
    return seen


def _adding_up(one: Captured) -> Iterator[tuple[int, ...]]:
    """Groups of ranks in which a forward adds up activations."""
    names = one.dump.calls.names
    end = next((call for call, name in enumerate(names) if ".backward" in name), len(names))
    table = meetings_of(one.dump, one.rank)
    for (direction, api, *_), call in table.calls.items():
        group = table.group.get(call, ())
        if direction != "forward" or api != "all_reduce" or call >= end or len(group) < 2:
            continue
        for row in one.dump.leaf_range(call):
            if one.dump.leaves.side[row] == INPUT and is_tensor(one, row):
                n = 1
                for length in shape_of(one, row) or ():
                    n *= length
                if n >= LEAST_ELEMENTS:
                    yield group
                break


def _unequal(members: Sequence[Captured], problems: list[Problem], is_cancelled: IsCancelled) -> Seen | None:
    """The first datum that a member was given otherwise than the first of them."""
    if len(members) < 2:
        return None
    one, rows = members[0], data_leaves(members[0].dump)
    odd: list[int | None] = []
    first: Seen | None = None
    for other in members[1:]:
        theirs = data_leaves(other.dump)
        if len(theirs) != len(rows):
            continue
        for a, b in zip(rows, theirs, strict=True):
            if shape_of(one, a) != shape_of(other, b):
                continue
            said, how = compared(one, a, other, b, problems, is_cancelled)
            if said != OTHER:
                continue
            odd.append(other.rank)
            if first is None:
                first = Seen(
                    rule="replica",
                    severity="warning",
                    role="suspect",
                    subject=other.dump.leaf_name(b),
                    text="peers",
                    next_step="next-inputs-data",
                    where=other,
                    call=other.call_of(b),
                    values={"ranks": ", ".join(str(m.rank) for m in members[:8]), "other": one.rank},
                    figures={"different_ranks": odd, "other_rank": one.rank, **how.figures()},
                    calls=((other, other.call_of(b)),),
                )
            break
    return first
