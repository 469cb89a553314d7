"""What is told of ranks that hold parts: which belong together, what was regrouped, and why so."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from npulse.core.findings import Finding
from npulse.core.text import Lang, say

from ..pairing import DOUBTFUL
from ..texts import TEXTS
from .group import RankGroup

if TYPE_CHECKING:
    from ..comparison import Comparison

SHOWN = 6
"""Groups and layouts that are named."""


def split_findings(comparison: Comparison, lang: Lang) -> list[Finding]:
    """One note for all groups, one warning for all heads in another order; nothing where there are none."""
    return [*_reordered(comparison, lang), *_regrouped(comparison, lang)]


def _reordered(comparison: Comparison, lang: Lang) -> list[Finding]:
    found = [
        (rank, row, split)
        for rank in comparison.ranks
        for row, split in sorted(rank.rows.splits.items())
        if split.is_reordered
    ]
    if not found:
        return []
    rank, row, first = found[0]
    orders = Counter(split.layout for _, _, split in found)
    name = rank.target.leaf_name(rank.rows.target_row(row))
    return [
        Finding(
            area="precision",
            severity="warning",
            rule="precision.heads",
            role="suspect",
            subject=name,
            message=say(
                TEXTS,
                "heads-note",
                lang,
                n=len(found),
                first=name,
                orders=_listed([f"{n} x {order}" for order, n in orders.most_common()]),
            ),
            next_step=say(TEXTS, "next-heads-note", lang),
            figures={"n_tensors": len(found), "layout": first.layout},
        )
    ]


def _regrouped(comparison: Comparison, lang: Lang) -> list[Finding]:
    if not comparison.groups:
        return []
    splits = [s for rank in comparison.ranks for s in rank.rows.splits.values() if not s.is_reordered]
    if not splits:  # layouts that cannot be put together: the rows that are unknown tell of it
        return []
    layouts = Counter(split.layout.split(",")[0] for split in splits)
    n_doubtful = sum(split.confidence <= DOUBTFUL for split in splits)
    why = "split-by-map" if comparison.groups[0].why == "map" else "split-by-numbers"
    return [
        Finding(
            area="precision",
            severity="note",
            rule="precision.split",
            role="ok",
            subject=_listed([_group(group, lang) for group in comparison.groups]),
            message=say(
                TEXTS,
                "split-note",
                lang,
                groups=_listed([_group(group, lang) for group in comparison.groups]),
                why=say(TEXTS, why, lang),
                n=len(splits),
                layouts=_listed([f"{n} x {layout}" for layout, n in layouts.most_common()]),
            ),
            next_step=say(TEXTS, "next-split-note", lang),
            figures={"n_groups": len(comparison.groups), "n_tensors": len(splits), "n_doubtful": n_doubtful},
        )
    ]


def _group(group: RankGroup, lang: Lang) -> str:
    target, golden = (" + ".join(map(str, ranks)) for ranks in group.ranks)
    return say(TEXTS, "split-group", lang, target=target, golden=golden)


def _listed(words: list[str]) -> str:
    return ", ".join(words[:SHOWN]) + (", ..." if len(words) > SHOWN else "")
