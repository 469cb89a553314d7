"""Collectives of one capture: is the result the same on all ranks, and is it what the inputs give?"""

from __future__ import annotations

from collections.abc import Sequence

from npulse.core.calls.meetings import Meeting
from npulse.core.findings import Problem
from npulse.core.formats.msprobe.records import INPUT, OUTPUT
from npulse.core.progress import IsCancelled, check

from .content import OTHER, SAME, Difference, compared, dtype_name, shape_of
from .met import Met, all_met, leaves_of, seen_not_given
from .model import Captured, Seen
from .reductions import reduced
from .scattered import PARTED, scattered

SHARED = {
    "all_reduce": "output 0",
    "broadcast": "output 0",
    "all_gather": "output 0.",
    "all_gather_into_tensor": "output 0",
    "_all_gather_base": "output 0",
}
"""Where the result lies that all ranks get; with a dot: a list of tensors."""


def check_collectives(
    captured: Sequence[Captured], problems: list[Problem], is_cancelled: IsCancelled
) -> tuple[list[Seen], int]:
    """What is wrong with the collectives of a capture, and how many were looked at.

    A collective is left out where its ranks do not all have as many of its kind: then the same number may
    not be the same event. Cost: O(bytes of their inputs and outputs). Cancelled.
    """
    seen: list[Seen] = []
    n = 0
    proven: set[Meeting] = set()
    open_sums: list[tuple[Met, Seen]] = []
    for met in all_met(captured):
        check(is_cancelled)
        n += 1
        found = _unequal(met, problems, is_cancelled)
        if found is not None:
            seen.append(found)
            continue
        wrong, is_right = _not_given(met, problems, is_cancelled)
        if wrong is not None:
            open_sums.append((met, wrong))
        elif is_right:
            proven.add(met.key[:3])
    # of a group that the capture does not name ranks may be missing, unless another sum of it is right
    seen += [
        one for met, one in open_sums if met.is_whole or met.api in PARTED or met.key[:3] in proven
    ]  # of tensors that are made of one part a rank the shapes say how many take part
    return seen, n


# ---- equal on all ranks ------------------------------------------------------------------------------------


def _unequal(met: Met, problems: list[Problem], is_cancelled: IsCancelled) -> Seen | None:
    word = SHARED.get(met.api)
    if word is None or met.key[0] != "forward":
        return None
    results = [leaves_of(one, call, OUTPUT, word) for one, call in met.members]
    for io in results[0]:
        if not all(io in leaves for leaves in results):
            continue
        rows = [leaves[io] for leaves in results]
        shapes = {
            (shape_of(one, row), dtype_name(one, row))
            for (one, _), row in zip(met.members, rows, strict=True)
        }
        if len(shapes) > 1:
            return None  # not the same event after all
        classes, worst = _classes(met, rows, problems, is_cancelled)
        if len(classes) > 1 and worst is not None:
            return _seen_unequal(met, io, rows, classes, worst)
    return None


def _classes(
    met: Met, rows: Sequence[int], problems: list[Problem], is_cancelled: IsCancelled
) -> tuple[list[list[int]], Difference | None]:
    """Members by what they hold, the largest class first (of equals the one of the first rank); the worst
    difference of a class from the first."""
    classes: list[list[int]] = []
    worst: Difference | None = None
    for place, row in enumerate(rows):
        one = met.members[place][0]
        for members in classes:
            other = met.members[members[0]][0]
            said, how = compared(one, row, other, rows[members[0]], problems, is_cancelled)
            if said != OTHER:
                members.append(place)
                break
            if worst is None or worst.is_rounding and not how.is_rounding:
                worst = how
        else:
            classes.append([place])
    return sorted(classes, key=len, reverse=True), worst


def _seen_unequal(met: Met, io: str, rows: Sequence[int], classes: list[list[int]], how: Difference) -> Seen:
    ranks = [[met.members[i][0].rank for i in members] for members in classes]
    is_told = len(classes[0]) > len(classes[1])
    odd = (
        [rank for members in ranks[1:] for rank in members]
        if is_told
        else [r for part in ranks for r in part]
    )
    place = classes[1][0] if is_told else classes[0][0]
    one, call = met.members[place]
    listed = _listed(odd)
    return Seen(
        rule="collective",
        severity="warning" if how.is_rounding else "error",
        role="origin" if is_told and not how.is_rounding else "suspect",
        subject=one.dump.calls.names[call],
        text="collective-rounding"
        if how.is_rounding
        else "collective-one"
        if is_told
        else "collective-differs",
        next_step="next-collective-rounding" if how.is_rounding else "next-collective",
        where=one,
        call=call,
        values={"ranks": listed, "n": len(met.members), "output": io},
        figures={
            "ranks": [one.rank for one, _ in met.members],
            "different_ranks": odd,
            "api": met.api,
            **how.figures(),
        },
        calls=met.members,
    )


# ---- what the inputs give ----------------------------------------------------------------------------------


def _not_given(met: Met, problems: list[Problem], is_cancelled: IsCancelled) -> tuple[Seen | None, bool]:
    """What does not follow from the inputs; and whether it was found that the result does."""
    if met.key[0] != "forward":
        return None, False
    if met.api == "all_reduce":
        return reduced(met, problems, is_cancelled)
    if met.api in ("broadcast", "all_gather"):
        return _handed_on(met, problems, is_cancelled)
    if met.api in PARTED:
        return scattered(met, problems, is_cancelled)
    return None, False


def _handed_on(met: Met, problems: list[Problem], is_cancelled: IsCancelled) -> tuple[Seen | None, bool]:
    """A broadcast gives what its source has, part i of an all_gather what the i-th of its ranks has."""
    one, call = met.members[0]
    if met.api == "broadcast":
        given = {rank.rank: leaves_of(rank, c, INPUT, "input 0") for rank, c in met.members}
        owners = [(met.source, "output 0", given.get(met.source, {}).get("input 0", -1))]
    else:
        order = sorted((rank.rank or 0, rank, c) for rank, c in met.members) if met.is_whole else []
        owners = [
            (number, f"output 0.{i}", leaves_of(rank, c, INPUT, "input 1").get("input 1", -1))
            for i, (number, rank, c) in enumerate(order)
        ]
    by_rank = {rank.rank: rank for rank, _ in met.members}
    is_right = False
    for number, io, row in owners:
        made = leaves_of(one, call, OUTPUT, io).get(io, -1)
        if (
            row < 0
            or made < 0
            or number not in by_rank
            or shape_of(by_rank[number], row) != shape_of(one, made)
        ):
            continue
        said, how = compared(one, made, by_rank[number], row, problems, is_cancelled)
        if said == OTHER:
            return seen_not_given(
                met, "collective-handed", {"rank": number, "output": io}, how.figures()
            ), False
        is_right |= said == SAME
    return None, is_right


def _listed(ranks: Sequence[int | None]) -> str:
    return ", ".join(str(rank) for rank in ranks[:8]) + (", ..." if len(ranks) > 8 else "")
