"""The checks of one capture beside a comparison: what the comparison has not explained already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from npulse.core.calls.content import inverse
from npulse.core.findings import Problem
from npulse.core.progress import IsCancelled, ProgressCallback
from npulse.core.run.sides import CapturePair

from ..mixed.other_dtype import check_other_dtypes
from ..role_records import INHERITED, ORIGIN
from .checks import check_own
from .model import Captured, OwnChecks, Seen
from .runs import check_runs, is_same_program

if TYPE_CHECKING:
    from ..comparison import RankComparison


def check_beside(
    pair: CapturePair,
    ranks: Sequence[RankComparison],
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
) -> OwnChecks:
    """What the target says of itself, without calls that the comparison blames or knows to have inherited."""
    captured = [
        Captured(one.rank, one.step, one.target, pair.target_root, pair.relative(one.target.path))
        for one in ranks
    ]
    checks = check_own(captured, progress=progress, is_cancelled=is_cancelled)
    explained = [_explained(rank) for rank in ranks]
    place = {id(one): number for number, one in enumerate(captured)}

    def is_new(seen: Seen) -> bool:
        return not any(call in explained[place[id(one)]] for one, call in seen.calls)

    told = [one for one in checks.seen if is_new(one)]
    problems: list[Problem] = []
    harmless: list[Seen] = []
    for rank, one in zip(ranks, captured, strict=True):
        other = Captured(rank.rank, rank.step, rank.golden, pair.golden_root, pair.relative(rank.golden.path))
        for seen in check_other_dtypes(rank, one, other, problems, is_cancelled):
            is_within = seen.figures["n_within_rounding"] == seen.figures["n_tensors"]
            (harmless if is_within and seen.severity == "note" else told).append(seen)
    same = is_same_program(pair)
    for rank, one in zip(ranks, captured, strict=True):
        found = check_runs(rank, one, is_same_program=same)
        if found is not None:
            told.append(found)
            break  # what follows on other ranks and steps follows from the first
    return replace(
        checks,
        seen=tuple(told),
        harmless=tuple(harmless),
        problems=tuple(dict.fromkeys((*checks.problems, *problems))),
    )


def _explained(rank: RankComparison) -> set[int]:
    """Calls of the target's dump that have a role in the comparison."""
    calls = rank.rows.pairing.target_call
    place = inverse(calls, len(rank.target.calls.names))
    has_role = np.append(np.isin(rank.roles.call, (ORIGIN, INHERITED)), False)  # the last for a call unpaired
    return set(np.flatnonzero(has_role[place]).tolist())
