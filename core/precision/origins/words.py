"""What an origin made by itself and where it went, in words and figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from npulse.core.figures import number
from npulse.core.findings import Related
from npulse.core.formats.msprobe.records import INPUT, KWARGS, OUTPUT, PARAMETERS, TENSOR
from npulse.core.text import Lang, say

from ..texts import TEXTS
from .path import Hop

if TYPE_CHECKING:
    from ..comparison import RankComparison

SHOWN_HOPS, SHOWN_RANKS = 3, 8


def made_non_finite(rank: RankComparison, call: int, lang: Lang) -> str:
    """'it makes NaN of finite inputs ...' of a call of the target, '' where it does not, or none can tell."""
    t, leaves = int(rank.rows.pairing.target_call[call]), rank.target.leaves
    span = rank.target.leaf_range(t) if t >= 0 else range(0)
    ends = leaves.statistics[span.start : span.stop, :2]  # Max, Min
    known = (leaves.present[span.start : span.stop] & 3) == 3
    made = leaves.side[span.start : span.stop] == OUTPUT
    given = np.isin(leaves.side[span.start : span.stop], (INPUT, KWARGS, PARAMETERS))
    tensors = leaves.kind[span.start : span.stop] == TENSOR
    is_finite = np.isfinite(ends).all(axis=1)
    fed = ends[given & tensors & known]
    bad = ends[made & tensors & known & ~is_finite]
    if not len(fed) or not len(bad) or not (is_finite & known)[given & tensors].all():
        return ""
    kind = "NaN" if np.isnan(bad).any() else "Inf"
    return say(TEXTS, "makes-non-finite", lang, largest=number(float(np.abs(fed).max())), kind=kind)


def spread_text(hops: Sequence[Hop], lang: Lang) -> str:
    """Which ranks got it, and through which meetings, in order; '' where it stays on its rank."""
    if not hops:
        return ""
    shown = [
        say(
            TEXTS,
            "hop",
            lang,
            call=hop.call,
            giver="?" if hop.giver is None else hop.giver,
            ranks=_ranks_text(hop.getters),
        )
        for hop in hops[:SHOWN_HOPS]
    ]
    more = len(hops) - SHOWN_HOPS
    rest = say(TEXTS, "hops-more", lang, n=more) if more > 0 else ""
    return say(TEXTS, "spread-over", lang, hops="; ".join(shown) + rest)


def _ranks_text(ranks: Sequence[int | None]) -> str:
    told = ", ".join("?" if rank is None else str(rank) for rank in ranks[:SHOWN_RANKS])
    return told + (f", ... ({len(ranks)})" if len(ranks) > SHOWN_RANKS else "")


def spread_figures(hops: Sequence[Hop]) -> dict[str, Any]:
    """The first meeting that spread it, and the ranks that got it; {} where it stays on its rank."""
    if not hops:
        return {}
    ranks = sorted({rank for hop in hops for rank in hop.getters if rank is not None})
    return {"spread_by": hops[0].call, "spread_to_ranks": ranks}


def carriers(hops: Sequence[Hop]) -> Iterator[Related]:
    """The calls in which ranks met and that only hand it on."""
    for hop in hops[:8]:
        yield Related("inherited", hop.call, {"from_rank": hop.giver, "to_ranks": list(hop.getters)})
