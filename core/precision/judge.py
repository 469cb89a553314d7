"""Rank-steps whose rows are judged, to a `Comparison`: roles of each, what peers gave each other, origins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from npulse.core.findings import Problem
from npulse.core.formats.msprobe.records import Construct
from npulse.core.run.model import Artifact
from npulse.core.run.sides import CapturePair

from .captured import Loaded, stacks_beside
from .collectives import Walk, carry_through_collectives
from .comparison import Comparison, RankComparison, Settings
from .links import link, share_measurements
from .origins.narrow import narrow_non_finite
from .role_records import UNKNOWN_ROLE, Roles
from .roles import all_well, assign_roles, is_all_well
from .rows import BY_STATISTICS, Rows
from .splits.blame import innocent
from .splits.reorder import is_order_wrong, take_back
from .verdict import PASS, REASON, UNKNOWN, Criteria

if TYPE_CHECKING:
    from .many.hand_out import Ranks


def first_walk(one: Loaded, criteria: Criteria, *, is_later: bool, is_trained: bool) -> tuple[Roles, Walk]:
    """The roles of a rank-step by itself, and how to walk it again."""
    rows = one.rows
    if is_all_well(rows):
        walk: Walk = partial(all_well, rows)
    else:
        links = link(rows)
        share_measurements(rows, links)
        walk = partial(
            assign_roles, rows, links, one.construct, is_later_step=is_later, is_trained=is_trained
        )
    roles = walk(frozenset())
    if rows.unordered and is_order_wrong(rows, roles):
        take_back(rows, one.tensors, criteria)
        roles = walk(frozenset())
    return roles, walk


def _walked_again(
    rows: Rows, construct: Construct | None, carried: frozenset[int] = frozenset(), *, is_trained: bool
) -> Roles:
    """Roles of a rank-step whose measurements are shared already; links are cheaper made again than kept."""
    return assign_roles(rows, link(rows), construct, carried, is_trained=is_trained)


def judge(
    pair: CapturePair,
    couples: Sequence[tuple[Artifact, Artifact]],
    loaded: Sequence[Loaded],
    settings: Settings,
    done: Ranks,
    problems: list[Problem],
    stage: str,
    *,
    with_stacks: bool = True,
) -> Comparison:
    """The comparison of rank-steps that are read: where differences begin, across ranks too.

    done: what workers have done of them. problems: gets what is wrong with call stacks, where those are read.
    """
    ranks: list[RankComparison] = []
    walks: list[Walk] = []
    differing_steps: set[int] = set()
    for (target, _), one in zip(couples, loaded, strict=True):
        rows, construct = one.rows, one.construct
        step = target.step or 0
        is_later = any(other < step for other in differing_steps)
        is_trained = any((other.step or 0) < step for other, _ in couples)
        walk: Walk
        there = done.of(one)
        if there is not None and there.roles is not None and not is_later:
            roles, walk = there.roles, partial(_walked_again, rows, construct, is_trained=is_trained)
        else:
            roles, walk = first_walk(one, settings.criteria, is_later=is_later, is_trained=is_trained)
        walks.append(walk)
        if roles.origins or (roles.call == UNKNOWN_ROLE).any():
            differing_steps.add(step)
        ranks.append(
            RankComparison(
                target.rank,
                target.step,
                rows.target,
                rows.golden,
                rows,
                roles,
                construct,
                growth=one.growth,
            )
        )
    walked = carry_through_collectives(ranks, walks)
    others = innocent(walked)
    if any(others):
        walked = carry_through_collectives(ranks, walks, others)
    told = tuple(
        replace(rank, stacks=stacks_beside(pair, one.sides[0], settings.tails, problems))
        if with_stacks and rank.roles.origins
        else rank
        for rank, one in zip(narrow_non_finite(walked), loaded, strict=True)
    )
    n_not_read = sum(
        int((one.rows.basis[one.tensors.index[one.tensors.has_files]] == BY_STATISTICS).sum())
        for one in loaded
    )
    return Comparison(pair, told, settings.criteria, tuple(problems), stage, n_not_read=n_not_read)


def unsure_of_samples(comparison: Comparison) -> None:
    """What agrees as far as it was read is unknown; after the roles, which are told by what was read."""
    for rank in comparison.ranks:
        sampled = rank.rows.sampled() & (rank.rows.verdict == PASS)
        rank.rows.verdict[sampled], rank.rows.reason[sampled] = UNKNOWN, REASON["sampled"]
