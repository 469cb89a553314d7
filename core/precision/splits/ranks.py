"""Jobs of unlike numbers of ranks: which ranks are compared with which, decided when the dumps are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from npulse.core.calls.apis import COMMUNICATION
from npulse.core.dataclass import dataclass
from npulse.core.findings import Problem
from npulse.core.formats.msprobe.records import INPUT, KWARGS, TENSOR, Dump
from npulse.core.run.model import Artifact
from npulse.core.run.sides import CapturePair

from ..captured import Loaded, PairCalls
from ..pairing import Beside, Pairing, pair_by_name
from ..rows import Rows, tensor_rows
from .carried import with_collectives
from .even import regroup_even
from .group import Members, RankGroup
from .recognise import Recogniser, factor_of

Couple = tuple[Artifact, Artifact]
Load = Callable[[Artifact, Artifact, PairCalls], Loaded]
"""A rank-step of both sides, read and paired by a function. InputError."""

SAME_DATA = 0.02
"""Norms of inputs that differ by more (as a share) are of other data."""


@dataclass(frozen=True, slots=True)
class Regrouped:
    """What is compared instead: couples, and what was read of them; groups that hold parts."""

    pair: CapturePair
    couples: list[Couple]
    loaded: list[Loaded]
    groups: tuple[RankGroup, ...]
    problems: list[Problem]


def regroup(
    pair: CapturePair,
    couples: Sequence[Couple],
    loaded: Sequence[Loaded],
    candidates: Sequence[RankGroup],
    load: Load,
    pair_calls: PairCalls,
) -> Regrouped:
    """Groups whose shapes say that one side holds parts, with all of their ranks; the rest as it was.

    candidates: groups by numbers or by a map. Raises what `load` raises where a member cannot be read.
    """
    found: list[tuple[Couple, Loaded]] = list(zip(couples, loaded, strict=True))
    groups: list[RankGroup] = []
    copies: list[Artifact] = []

    def by_parts(target: Dump, golden: Dump, beside: Beside) -> Pairing:
        # shapes speak against every pair here, so where the names are alike they decide
        way = pair_by_name if _names_alike(target, golden) else pair_calls
        return with_collectives(way(target, golden, beside), target, golden)

    for candidate in candidates:
        if candidate.is_even:
            even = regroup_even(pair, candidate, lambda target, golden: load(target, golden, by_parts))
            members_of = {artifact.path for artifact in candidate.target}
            found = [(couple, one) for couple, one in found if couple[0].path not in members_of]
            found += zip(zip(candidate.target, candidate.golden, strict=True), even, strict=True)
            groups.append(candidate)
            continue
        for group in _parts_of(candidate, load(candidate.target[0], candidate.golden[0], by_parts).rows):
            target_ranks = {artifact.path for artifact in group.target}
            members = [load(target, group.golden[0], by_parts) for target in group.target]
            others = [load(group.target[0], golden, by_parts) for golden in group.golden[1:]]
            members = _marked(pair, group, members, [one.rows.golden for one in others])
            found = [(couple, one) for couple, one in found if couple[0].path not in target_ranks]
            is_further = bool(groups) and group.why == "numbers" and group.golden == groups[-1].golden
            if is_further and not _has_same_data(members[0].rows):
                copies += group.target
                continue
            found += [((t, group.golden[0]), one) for t, one in zip(group.target, members, strict=True)]
            groups.append(group)
    if not groups:
        return Regrouped(pair, list(couples), list(loaded), (), [])
    found.sort(key=lambda one: (one[0][0].step or 0, one[0][0].rank or 0))
    told = {a.path for group in groups for a in (*group.target, *group.golden)}
    told |= {artifact.path for artifact in copies}
    return Regrouped(
        replace(
            pair,
            target=tuple(couple[0] for couple, _ in found),
            golden=tuple(couple[1] for couple, _ in found),
            unmatched=tuple(artifact for artifact in pair.unmatched if artifact.path not in told),
        ),
        [couple for couple, _ in found],
        [one for _, one in found],
        tuple(groups),
        [_other_data(artifact) for artifact in copies],
    )


def _names_alike(target: Dump, golden: Dump) -> bool:
    """Whether one side has all calls of the other in their order, collectives apart.

    Layers that are split have calls of their own beside (masks of a vocabulary).
    """
    names = [
        [name for name in dump.calls.names if not name.startswith(COMMUNICATION)] for dump in (target, golden)
    ]
    fewer, more = sorted(names, key=len)
    rest = iter(more)
    return all(name in rest for name in fewer)


def _parts_of(candidate: RankGroup, rows: Rows) -> list[RankGroup]:
    """The group, or the smaller ones that the shapes ask for; [] where no shape speaks of parts."""
    factor = factor_of(rows.target, rows.golden, rows)
    is_target_many = len(candidate.target) > 1
    n = factor if is_target_many else -factor
    many = candidate.target if is_target_many else candidate.golden
    if n < 2 or len(many) % n:
        return []
    if candidate.why == "map" or n == len(many):
        return [candidate]
    if not is_target_many:
        # further golden ranks are copies with other data, which one target rank cannot be compared with
        return [replace(candidate, golden=candidate.golden[:n])]
    return [replace(candidate, target=many[i : i + n]) for i in range(0, len(many), n)]


def _has_same_data(rows: Rows) -> bool:
    """Whether the first inputs that every rank has whole are alike, as far as their records tell."""
    t, g = rows.pairing.target_leaf, rows.pairing.golden_leaf
    lt, lg = rows.target.leaves, rows.golden.leaves
    first = -1
    for row in np.flatnonzero((t >= 0) & (g >= 0)).tolist():
        one, other = int(t[row]), int(g[row])
        call = int(rows.pairing.row_call[row])
        if first >= 0 and call != first:
            break
        if lt.kind[one] != TENSOR or lt.side[one] not in (INPUT, KWARGS):
            continue
        shapes = [
            leaves.shapes[int(leaves.shape[at])] if leaves.shape[at] >= 0 else None
            for leaves, at in ((lt, one), (lg, other))
        ]
        if shapes[0] != shapes[1] or row in rows.splits:
            continue
        first = call
        both = lt.present[one] & lg.present[other]
        for column in range(4):
            if both >> column & 1:
                a, b = float(lt.statistics[one, column]), float(lg.statistics[other, column])
                scale = max(abs(float(v)) for v in (*lg.statistics[other], b) if not np.isnan(v))
                if abs(a - b) > SAME_DATA * scale:
                    return False
        if lt.checksum[one] >= 0 and lg.checksum[other] >= 0 and lt.present[one] & 0b1100 == 0:
            if lt.checksums[int(lt.checksum[one])] != lg.checksums[int(lg.checksum[other])]:
                return False
    return True


def _other_data(artifact: Artifact) -> Problem:
    return Problem(
        artifact.relative,
        "missing",
        "this rank was given other data than the golden side (a data-parallel copy): it is not compared",
        hint="capture the golden side with the same data, or name the ranks with --ranks",
    )


def _marked(
    pair: CapturePair, group: RankGroup, loaded: Sequence[Loaded], goldens: Sequence[Dump]
) -> list[Loaded]:
    """The members with the splits of their rows."""
    rows = tuple(one.rows for one in loaded)
    roots = pair.root_of("target"), pair.root_of("golden")
    is_target_many = len(group.target) > 1
    targets, golden = [one.target for one in rows], rows[0].golden
    many = targets if is_target_many else [golden, *goldens]
    members = Members(
        group,
        rows,
        is_target_many,
        tuple(many),
        (roots[0] if is_target_many else roots[1],) * len(many),
        golden if is_target_many else targets[0],
        roots[1] if is_target_many else roots[0],
    )
    recogniser = Recogniser(members)
    for place in range(len(loaded)):
        recogniser.mark(place)
    return [replace(one, tensors=tensor_rows(one.rows)) for one in loaded]
