"""Jobs of equal numbers of ranks whose layouts are unlike: sequence parallel against plain tensor parallel.

Weights and partial sums are rank by rank the same. What one side holds whole on every rank (activations
between the layers) the other side has in parts: each target rank's part is compared with the piece of its own
golden rank, or the golden parts are put together. Where the weights are cut differently too, nothing is put
together: those rows are unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from npulse.core.calls.apis import COMMUNICATION
from npulse.core.formats.msprobe.names import parse_name
from npulse.core.formats.msprobe.records import GRAD, OUTPUT, SCALAR, TENSOR, Shape
from npulse.core.run.model import Artifact
from npulse.core.run.sides import CapturePair

from ..captured import Loaded, PairCalls
from ..pairing import Ints
from ..rows import BY_VALUE, Rows, tensor_rows
from ..verdict import PASS, REASON, UNKNOWN
from .carried import carried_rows
from .group import Members, RankGroup
from .layouts import is_part_of
from .recognise import Recogniser, is_share, is_weight

Couple = tuple[Artifact, Artifact]
Load = Callable[[Artifact, Artifact, PairCalls], Loaded]


def unlike_groups(pair: CapturePair, couples: Sequence[Couple], loaded: Sequence[Loaded]) -> list[RankGroup]:
    """Neighbouring ranks, as many as the shapes of their couples speak of; [] where the layouts are alike.

    Shapes alone are no proof: a collective that one side alone has, or weights in parts, must speak for it.
    """
    found: list[RankGroup] = []
    for step in dict.fromkeys(target.step for target, _ in couples):
        here = [(t, g) for t, g in zip(pair.target, pair.golden, strict=True) if t.step == step]
        here.sort(key=lambda couple: couple[0].rank if couple[0].rank is not None else -1)
        first = next(one for (t, _), one in zip(couples, loaded, strict=True) if t.step == step)
        if len(here) < 2:
            continue
        ratios = _ratios(first.rows)
        if not ratios or len(here) % max(ratios) or not _speaks_of_parts(first.rows):
            continue
        n = max(ratios)
        for i in range(0, len(here), n):
            targets, goldens = zip(*here[i : i + n], strict=True)
            found.append(RankGroup(targets, goldens))
    return found


def regroup_even(pair: CapturePair, group: RankGroup, load: Callable[..., Loaded]) -> list[Loaded]:
    """The couples of a group, with the splits of their rows. load: (target, golden) read and paired."""
    loaded = [load(t, g) for t, g in zip(group.target, group.golden, strict=True)]
    rows = tuple(one.rows for one in loaded)
    targets, goldens = tuple(one.target for one in rows), tuple(one.golden for one in rows)
    roots = [(pair.root_of(side),) * len(rows) for side in ("target", "golden")]
    for place, own in enumerate(rows):
        of_target, of_golden = _unlike(own)
        if _is_cut_otherwise(own, np.concatenate([of_target, of_golden]), len(rows)):
            own.carried.update(carried_rows(own))
            _set_unknown(own, [*of_target.tolist(), *of_golden.tolist()])
            _settle_sizes(own, of_target, of_golden)
            continue
        if len(of_target):
            members = Members(group, rows, True, targets, roots[0], own.golden, roots[1][0])
            Recogniser(members).mark(place, of_target)
        if len(of_golden):
            alone = replace(group, target=group.target[place : place + 1])
            members = Members(alone, (own,), False, goldens, roots[1], own.target, roots[0][0])
            Recogniser(members).mark(0, of_golden)
        own.carried.update(carried_rows(own))
        rest = [row for row in (*of_target.tolist(), *of_golden.tolist()) if row not in own.splits]
        _set_unknown(own, [*rest, *_sums_over_parts(own)])
    return [replace(one, tensors=tensor_rows(one.rows)) for one in loaded]


def may_hold_parts(rows: Rows) -> bool:
    """Whether a couple of ranks by itself says that `unlike_groups` may put ranks together."""
    return bool(_ratios(rows)) and _speaks_of_parts(rows)


def _unlike(rows: Rows) -> tuple[Ints, Ints]:
    """Tensor rows in which the target has a part of the golden shape, and the reverse."""
    t, g = rows.pairing.target_leaf, rows.pairing.golden_leaf
    lt, lg = rows.target.leaves, rows.golden.leaves
    both = np.flatnonzero((t >= 0) & (g >= 0))
    both = both[(lt.kind[t[both]] == TENSOR) & (lg.kind[g[both]] == TENSOR)]
    both = both[(lt.shape[t[both]] >= 0) & (lg.shape[g[both]] >= 0)].astype(np.int64)
    codes = np.stack([lt.shape[t[both]], lg.shape[g[both]]], axis=1)
    kinds, at = np.unique(codes, axis=0, return_inverse=True)
    shapes = [(lt.shapes[int(one)], lg.shapes[int(other)]) for one, other in kinds]
    of_target = np.array([is_part_of(one, other) for one, other in shapes], np.bool_)
    of_golden = np.array([is_part_of(other, one) for one, other in shapes], np.bool_)
    at = at.reshape(-1)
    return both[of_target[at]], both[of_golden[at]]


def _shapes(rows: Rows, row: int) -> tuple[Shape, Shape]:
    lt, lg = rows.target.leaves, rows.golden.leaves
    one = lt.shapes[int(lt.shape[rows.target_row(row)])]
    return one, lg.shapes[int(lg.shape[rows.golden_row(row)])]


def _ratio(rows: Rows, row: int) -> int:
    one, other = (int(np.prod(shape, dtype=np.int64)) for shape in _shapes(rows, row))
    return max(one, other) // max(min(one, other), 1)


def _ratios(rows: Rows) -> set[int]:
    return {_ratio(rows, row) for of_side in _unlike(rows) for row in of_side.tolist()}


def _speaks_of_parts(rows: Rows) -> bool:
    pairing = rows.pairing
    alone = (pairing.target_call < 0) | (pairing.golden_call < 0)
    for call in np.flatnonzero(alone).tolist():
        if pairing.name(rows.target, rows.golden, call).startswith(COMMUNICATION):
            return True
    return any(is_weight(rows, row) for of_side in _unlike(rows) for row in of_side.tolist())


def _is_cut_otherwise(rows: Rows, unlike: Ints, n: int) -> bool:
    """Whether more than activations of that many parts is unlike: ranks do not stand for each other."""
    return any(_ratio(rows, row) != n or is_weight(rows, row) for row in unlike.tolist())


def _sums_over_parts(rows: Rows) -> list[int]:
    """Gradients of gains and biases that a rank has of its own part alone: they are added up later."""
    calls = {int(rows.pairing.row_call[row]) for row in rows.splits}
    name_of = {call: parse_name(rows.pairing.name(rows.target, rows.golden, call)) for call in calls}
    paths = {name.path for name in name_of.values() if name.kind == "module"}
    found = []
    for row in range(rows.n_rows):
        side, call = rows.side(row), int(rows.pairing.row_call[row])
        if side not in (OUTPUT, GRAD) or min(rows.target_row(row), rows.golden_row(row)) < 0:
            continue
        if rows.target.leaves.kind[rows.target_row(row)] != TENSOR or row in rows.splits:
            continue
        name = name_of.get(call) or parse_name(rows.pairing.name(rows.target, rows.golden, call))
        is_of_part = name.path in paths if side == GRAD else call in calls and name.direction == "backward"
        if is_of_part and rows.target.leaves.shape[rows.target_row(row)] >= 0:
            code = int(rows.target.leaves.shape[rows.target_row(row)])
            if len(rows.target.leaves.shapes[code]) == 1:
                found.append(row)
    return found


def _settle_sizes(rows: Rows, *unlike: Ints) -> None:
    """Sizes of such calls that are shares of each other: no arguments that differ."""
    calls = {int(rows.pairing.row_call[row]) for of_side in unlike for row in of_side.tolist()}
    ratios = {_ratio(rows, row) for of_side in unlike for row in of_side.tolist()}
    lt, lg = rows.target.leaves, rows.golden.leaves
    for row in np.flatnonzero((rows.basis == BY_VALUE) & (rows.verdict != PASS)).tolist():
        t, g = rows.target_row(row), rows.golden_row(row)
        if lt.kind[t] != SCALAR or int(rows.pairing.row_call[row]) not in calls:
            continue
        one, other = lt.values[int(lt.value[t])], lg.values[int(lg.value[g])]
        if any(is_share(one, other, n) or is_share(other, one, n) for n in ratios):
            rows.verdict[row], rows.reason[row] = PASS, REASON["split"]


def _set_unknown(rows: Rows, which: Sequence[int]) -> None:
    rows.verdict[list(which)] = UNKNOWN
    rows.reason[list(which)] = REASON["other-split"]
