"""A call unfolded: every call that stands in it on either side, with all that each is given and gives."""

from __future__ import annotations

import numpy as np

from npulse.core.formats.msprobe.records import NONE, OBJECT, Dump, Leaf
from npulse.core.table import Column, Table, text_column
from npulse.core.text import Lang, say

from ..comparison import RankComparison
from ..verdict import VERDICTS
from .texts import TEXTS

SIDES = ("target", "golden")
_STATISTICS = ("max", "min", "mean", "norm")


def members_of(rank: RankComparison, call: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Call rows of both dumps that stand at a place of the sequence."""
    pairing = rank.rows.pairing
    return pairing.members(call, is_target=True), pairing.members(call, is_target=False)


def members_table(rank: RankComparison, call: int) -> Table:
    """A row a leaf: `side`, `operator`, `io`, `dtype`, `shape` (of a scalar its value), the recorded
    statistics, `verdict` of the row in which it is compared (absent inside a group) and `row`, that row in
    the rank (-1 for none).
    """
    rows, pairing = rank.rows, rank.rows.pairing
    first, last = np.searchsorted(pairing.row_call, [call, call + 1]).tolist()
    sides: list[tuple[int, Dump, int]] = []
    compared: tuple[dict[int, int], dict[int, int]] = (
        {int(pairing.target_leaf[row]): row for row in range(first, last)},
        {int(pairing.golden_leaf[row]): row for row in range(first, last)},
    )
    members = members_of(rank, call)
    for side, (dump, calls) in enumerate(zip((rank.target, rank.golden), members, strict=True)):
        for one in calls:
            kinds = dump.leaves.kind
            sides += [
                (side, dump, leaf) for leaf in dump.leaf_range(one) if kinds[leaf] not in (NONE, OBJECT)
            ]
    records = [dump.leaf(leaf) for _, dump, leaf in sides]
    places = [compared[side].get(leaf, -1) for side, _, leaf in sides]
    has_both = [
        place >= 0 and pairing.target_leaf[place] >= 0 and pairing.golden_leaf[place] >= 0 for place in places
    ]
    verdicts = [
        VERDICTS[int(rows.verdict[place])] if both else None
        for place, both in zip(places, has_both, strict=True)
    ]
    figures = [[getattr(record, name) for record in records] for name in _STATISTICS]
    return Table(
        "members",
        (
            text_column("side", [SIDES[side] for side, _, _ in sides]),
            text_column("operator", [d.calls.names[int(d.leaves.call[leaf])] for _, d, leaf in sides]),
            text_column("io", [record.io for record in records]),
            text_column("verdict", verdicts),
            text_column("dtype", [record.dtype or record.type for record in records]),
            text_column("shape", [_shape_or_value(record) for record in records]),
            *(_numbers(name, values) for name, values in zip(_STATISTICS, figures, strict=True)),
            Column("row", "int", np.array(places, np.int64), is_internal=True),
        ),
    )


def _shape_or_value(record: Leaf) -> str | None:
    """The shape of a tensor; of a scalar its value."""
    if record.shape is not None:
        return str(list(record.shape))
    return None if record.value is None else str(record.value)


def _numbers(name: str, values: list[float | None]) -> Column:
    absent = np.array([value is None for value in values], np.bool_)
    known = np.array([np.nan if value is None else value for value in values], np.float64)
    return Column(name, "float", known, absent=absent)


def members_title(rank: RankComparison, call: int, lang: Lang) -> str:
    """What stands against what."""
    group = rank.rows.pairing.group_of(call)
    if group is not None:
        n = {"n_target": len(group.target_calls), "n_golden": len(group.golden_calls)}
        return say(TEXTS, "group-of", lang, fusion=group.fusion or "-", **n)
    target, golden = members_of(rank, call)
    key = "both-calls" if target and golden else "target-alone" if target else "golden-alone"
    return say(TEXTS, key, lang)
