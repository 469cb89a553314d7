"""Collectives of one capture: is the result the same on all ranks, and is it what the inputs give?"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from npulse.core.calls.meetings import TO_ONE, Meeting, Meetings, meetings_of
from npulse.core.calls.tensors import open_place, problem_of
from npulse.core.findings import Problem
from npulse.core.formats.msprobe.records import INPUT, OUTPUT
from npulse.core.formats.tensors import TensorError, TensorFile
from npulse.core.formats.tensors.dtypes import widen
from npulse.core.formats.tensors.open import TensorReader
from npulse.core.progress import IsCancelled, check

from ..statistics import ADDING_UP
from .content import (
    OTHER,
    SAME,
    Difference,
    compared,
    dtype_name,
    is_tensor,
    shape_of,
    unit_roundoff,
)
from .model import Captured, Seen

Values = npt.NDArray[np.float64]

SHARED = {
    "all_reduce": "output 0",
    "broadcast": "output 0",
    "all_gather": "output 0.",
    "all_gather_into_tensor": "output 0",
    "_all_gather_base": "output 0",
}
"""Where the result lies that all ranks get; with a dot: a list of tensors."""

REDUCTIONS: dict[str, Callable[[Values], Values]] = {
    "SUM": lambda x: x.sum(axis=0),
    "AVG": lambda x: x.mean(axis=0),
    "MAX": lambda x: x.max(axis=0),
    "MIN": lambda x: x.min(axis=0),
}
"""What an all_reduce may do; where the capture does not say which, any of them is right."""

BLOCK = 1 << 20
"""Elements of all ranks that are held at a time."""

MAX_READ = 256
"""Ranks whose tensors are read side by side; of more the statistics tell."""


@dataclass(frozen=True, slots=True)
class _Met:
    """One collective: ranks that took part, each with its call. is_whole: these are all of its ranks."""

    key: Meeting
    members: tuple[tuple[Captured, int], ...]
    is_whole: bool
    source: int | None

    @property
    def api(self) -> str:
        return str(self.key[1])


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
    open_sums: list[tuple[_Met, Seen]] = []
    for met in _all_met(captured):
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
    seen += [one for met, one in open_sums if met.is_whole or met.key[:3] in proven]
    return seen, n


def _all_met(captured: Sequence[Captured]) -> Iterator[_Met]:
    for step in dict.fromkeys(one.step for one in captured):
        ranks = [one for one in captured if one.step == step and one.rank is not None]
        if len(ranks) < 2:
            continue
        tables = [meetings_of(one.dump, one.rank) for one in ranks]
        counts = [_counted(table) for table in tables]
        for key in dict.fromkeys(key for table in tables for key in table.calls):
            if key[1] == "send" or key[1] in TO_ONE:
                continue
            places = [i for i, table in enumerate(tables) if key in table.calls]
            if len(places) < 2 or len({counts[i][key[:3]] for i in places}) > 1:
                continue
            members = tuple((ranks[i], tables[i].calls[key]) for i in places)
            if any(
                _names_unread_group(one, table, call)
                for (one, call), table in _beside(members, tables, places)
            ):
                continue
            named = tables[places[0]].group[members[0][1]]
            is_whole = bool(named) and {one.rank for one, _ in members} == set(named)
            source = tables[places[0]].source.get(members[0][1])
            yield _Met(key, members, is_whole, source)


def _beside(
    members: Sequence[tuple[Captured, int]], tables: Sequence[Meetings], places: Sequence[int]
) -> Iterator[tuple[tuple[Captured, int], Meetings]]:
    for member, place in zip(members, places, strict=True):
        yield member, tables[place]


def _counted(table: Meetings) -> dict[Meeting, int]:
    counts: dict[Meeting, int] = {}
    for key in table.calls:
        counts[key[:3]] = counts.get(key[:3], 0) + 1
    return counts


def _names_unread_group(one: Captured, table: Meetings, call: int) -> bool:
    """A group was given and its ranks are not in the record: who takes part is not known."""
    types = one.dump.leaves.types
    return not table.group.get(call) and any(
        types[int(one.dump.leaves.type[row])].endswith("ProcessGroup") for row in one.dump.leaf_range(call)
    )


def _leaves(one: Captured, call: int, side: int, word: str) -> dict[str, int]:
    """Tensor leaves of a side by io; word: "output 0", or "output 0." for a list."""
    leaves = one.dump.leaves
    found = {}
    for row in one.dump.leaf_range(call):
        io = leaves.io_names[int(leaves.io[row])]
        if (
            leaves.side[row] == side
            and is_tensor(one, row)
            and (io == word or word[-1] == "." and io.startswith(word))
        ):
            found[io] = row
    return found


# ---- equal on all ranks ------------------------------------------------------------------------------------


def _unequal(met: _Met, problems: list[Problem], is_cancelled: IsCancelled) -> Seen | None:
    word = SHARED.get(met.api)
    if word is None or met.key[0] != "forward":
        return None
    results = [_leaves(one, call, OUTPUT, word) for one, call in met.members]
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
    met: _Met, rows: Sequence[int], problems: list[Problem], is_cancelled: IsCancelled
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


def _seen_unequal(met: _Met, io: str, rows: Sequence[int], classes: list[list[int]], how: Difference) -> Seen:
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


def _not_given(met: _Met, problems: list[Problem], is_cancelled: IsCancelled) -> tuple[Seen | None, bool]:
    """What does not follow from the inputs; and whether it was found that the result does."""
    if met.key[0] != "forward":
        return None, False
    if met.api == "all_reduce":
        return _reduced(met, problems, is_cancelled)
    if met.api in ("broadcast", "all_gather"):
        return _handed_on(met, problems, is_cancelled)
    return None, False


def _handed_on(met: _Met, problems: list[Problem], is_cancelled: IsCancelled) -> tuple[Seen | None, bool]:
    """A broadcast gives what its source has, part i of an all_gather what the i-th of its ranks has."""
    one, call = met.members[0]
    if met.api == "broadcast":
        given = {rank.rank: _leaves(rank, c, INPUT, "input 0") for rank, c in met.members}
        owners = [(met.source, "output 0", given.get(met.source, {}).get("input 0", -1))]
    else:
        order = sorted((rank.rank or 0, rank, c) for rank, c in met.members) if met.is_whole else []
        owners = [
            (number, f"output 0.{i}", _leaves(rank, c, INPUT, "input 1").get("input 1", -1))
            for i, (number, rank, c) in enumerate(order)
        ]
    by_rank = {rank.rank: rank for rank, _ in met.members}
    is_right = False
    for number, io, row in owners:
        made = _leaves(one, call, OUTPUT, io).get(io, -1)
        if (
            row < 0
            or made < 0
            or number not in by_rank
            or shape_of(by_rank[number], row) != shape_of(one, made)
        ):
            continue
        said, how = compared(one, made, by_rank[number], row, problems, is_cancelled)
        if said == OTHER:
            return _seen_not_given(
                met, "collective-handed", {"rank": number, "output": io}, how.figures()
            ), False
        is_right |= said == SAME
    return None, is_right


def _reduced(met: _Met, problems: list[Problem], is_cancelled: IsCancelled) -> tuple[Seen | None, bool]:
    given = [_leaves(one, call, INPUT, "input 0").get("input 0", -1) for one, call in met.members]
    one, call = met.members[0]
    made = _leaves(one, call, OUTPUT, "output 0").get("output 0", -1)
    if made < 0 or min(given) < 0 or not unit_roundoff(one, made):
        return None, False
    if any(shape_of(o, r) != shape_of(one, made) for (o, _), r in zip(met.members, given, strict=True)):
        return None, False
    ways = _ways(one, call)
    places = [o.place(r) for (o, _), r in zip(met.members, given, strict=True)]
    target = one.place(made)
    if target is not None and None not in places and len(places) <= MAX_READ:
        try:
            files = [open_place(place) for place in (target, *places) if place is not None]
            far = _far_from_reductions(files, ways, is_cancelled)
        except TensorError as error:
            problems.append(problem_of(error, target, *(p for p in places if p is not None)))
            return None, False
        basis = "elements"
    else:
        far = _far_by_mean(met, given, made, ways)
        basis = "statistics"
    if not far:
        return None, False
    best = min(far, key=far.__getitem__)
    if far[best] <= 1:
        return None, True
    values: dict[str, object] = {"op": best if len(ways) == 1 else "/".join(ways)}
    figures: dict[str, object] = {"basis": basis, "op": best, "times_rounding": far[best]}
    return _seen_not_given(met, "collective-sum", values, figures), False


def _ways(one: Captured, call: int) -> list[str]:
    for row in one.dump.leaf_range(call):
        leaf = one.dump.leaf(row)
        if leaf.type.endswith("ReduceOp") or leaf.type.endswith("RedOpType"):
            return [name for name in REDUCTIONS if f".{name}" in str(leaf.value) or str(leaf.value) == name]
    return list(REDUCTIONS)


def _far_from_reductions(
    files: Sequence[TensorFile], ways: Sequence[str], is_cancelled: IsCancelled
) -> dict[str, float]:
    """For each way the largest error of the result in what rounding allows there, n * u * sum |x|.

    files: the result, then the inputs. {} where nothing can be told (NaN or Inf: for the overflow area).
    """
    made = files[0]
    if len({file.shape for file in files}) > 1:
        return {}
    n, roundoff = len(files) - 1, made.declared.unit_roundoff
    far = dict.fromkeys(ways, 0.0)
    with ExitStack() as stack:
        step = BLOCK // len(files)
        read = [_blocks(file, step, stack) for file in files]
        for first in range(0, made.n_elements, step):
            check(is_cancelled)
            size = min(step, made.n_elements - first)
            blocks = [one(first, size) for one in read]
            given = np.stack(blocks[1:])
            if not (np.isfinite(given).all() and np.isfinite(blocks[0]).all()):
                return {}
            allowed = n * roundoff * np.abs(given).sum(axis=0) + 4 * made.declared.smallest_subnormal
            for way in ways:
                error = np.abs(blocks[0] - REDUCTIONS[way](given))
                far[way] = max(far[way], float((error / allowed).max(initial=0.0)))
    return far


def _blocks(file: TensorFile, step: int, stack: ExitStack) -> Callable[[int, int], Values]:
    if not file.is_contiguous:
        flat = file.array().reshape(-1)
        return lambda first, size: widen(flat[first : first + size], file.dtype).astype(np.float64)
    reader = stack.enter_context(TensorReader(file))
    buffer = bytearray(min(step, file.n_elements) * file.dtype.itemsize)
    return lambda first, size: widen(reader.read_into(buffer, first, size), file.dtype).astype(np.float64)


def _far_by_mean(met: _Met, given: Sequence[int], made: int, ways: Sequence[str]) -> dict[str, float]:
    """The same by Mean and extremes. A mean was itself added up and rounded, in shares of absmax."""
    one = met.members[0][0]
    rows = [(one, made), *((o, r) for (o, _), r in zip(met.members, given, strict=True))]
    if any(o.dump.leaves.present[r] != 0b1111 for o, r in rows):
        return {}
    told = np.stack([o.dump.leaves.statistics[r] for o, r in rows])
    if not np.isfinite(told[:, :3]).all():
        return {}
    absmax = np.abs(told[:, :2]).max(axis=1)
    n, roundoff = len(given), unit_roundoff(one, made)
    slack = (n + 2) * (roundoff + ADDING_UP) * (absmax[1:].sum() + absmax[0]) or math.ulp(0.0)
    high, low, mean = told[1:, 0], told[1:, 1], told[1:, 2]
    spread = {
        "SUM": abs(told[0, 2] - mean.sum()),
        "AVG": abs(told[0, 2] - mean.mean()),
        "MAX": abs(told[0, 0] - high.max()) + max(0.0, low.max() - told[0, 1]),
        "MIN": abs(told[0, 1] - low.min()) + max(0.0, told[0, 0] - high.min()),
    }
    return {way: float(spread[way] / slack) for way in ways}


def _seen_not_given(met: _Met, text: str, values: dict[str, object], figures: dict[str, object]) -> Seen:
    one, call = met.members[0]
    return Seen(
        rule="collective",
        severity="error",
        role="origin",
        subject=one.dump.calls.names[call],
        text=text,
        next_step="next-collective",
        where=one,
        call=call,
        values={"n": len(met.members), **values},
        figures={"ranks": [o.rank for o, _ in met.members], "api": met.api, **values, **figures},
        calls=met.members,
    )


def _listed(ranks: Sequence[int | None]) -> str:
    return ", ".join(str(rank) for rank in ranks[:8]) + (", ..." if len(ranks) > 8 else "")
