"""One fused call against several: found by the table, by order and shapes, and in the backward."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from npulse.core.precision.pairing import DOUBTFUL, LIKELY, Pairing, pair_auto
from npulse.core.precision.pairing.fusions import fusions, table

from .graphs import Call, backward_of, dumps, network

DRIFTS = (0.0, 1e-3)


def fuse(calls: Sequence[Call], first: str, second: str, api: str) -> tuple[list[Call], dict[str, list[str]]]:
    """Each `first` with the next `second` that reads it as one call; which calls each one stands for."""
    made: dict[int, Call] = {}
    fused: list[Call] = []
    members: dict[str, list[str]] = {}
    for call in calls:
        before = next((made[number] for number, _ in call.given if number in made), None)
        if call.api == first:
            made[call.made[0][0]] = call
        if call.api != second or before is None:
            fused.append(call)
            continue
        fused.remove(before)
        given = (*before.given, *(value for value in call.given if value not in before.made))
        members[call.who] = [before.who, call.who]
        # what the first one made is handed on as well where others read it
        fused.append(replace(call, api=api, given=given, made=(*call.made, *before.made)))
    return fused, members


def groups(pairing: Pairing, one: Sequence[Call], other: Sequence[Call]) -> dict[str, list[str]]:
    return {one[g.target_calls[-1]].who: [other[c].who for c in g.golden_calls] for g in pairing.groups}


@pytest.mark.parametrize("drift", DRIFTS)
@pytest.mark.parametrize(
    ("first", "second", "api", "row"),
    [
        ("Tensor.__add__", "Functional.layer_norm", "NPU.npu_add_layer_norm", "add-layer-norm"),
        ("Functional.silu", "Tensor.__mul__", "NPU.npu_swiglu", "swiglu"),
        ("Functional.silu", "Tensor.__mul__", "NPU.npu_of_nobody_knows", ""),
    ],
)
def test_a_fused_call_against_two(
    tmp_path: Path, first: str, second: str, api: str, row: str, drift: float
) -> None:
    golden = network(4)
    target, members = fuse(golden, first, second, api)
    golden, target = golden + backward_of(golden), target + backward_of(target)
    one, other = dumps(tmp_path, target, golden, drift)
    pairing = pair_auto(one, other)
    forward = {who: calls for who, calls in groups(pairing, target, golden).items() if "backward" not in who}
    assert forward == members
    assert {group.fusion for group in pairing.groups} == {row}
    backward = {
        f"{who} backward": [f"{c} backward" for c in reversed(calls)] for who, calls in members.items()
    }
    found = groups(pairing, target, golden)
    assert {who: calls for who, calls in found.items() if "backward" in who} == backward
    assert (pairing.target_call >= 0).all() and (pairing.golden_call >= 0).all()
    assert pairing.confidence is not None
    sure = [float(pairing.confidence[group.call]) for group in pairing.groups]
    assert min(sure) >= LIKELY if row else set(sure) == {DOUBTFUL}
    # inputs from outside and the result are compared, what only passes inside is not
    for group in pairing.groups:
        rows = np.flatnonzero(pairing.row_call == group.call)
        leaves = zip(pairing.target_leaf[rows].tolist(), pairing.golden_leaf[rows].tolist(), strict=True)
        pairs = {(one.leaf_name(t), other.leaf_name(g)) for t, g in leaves if t >= 0 and g >= 0}
        last = other.calls.names[group.golden_calls[-1]]
        fused = one.calls.names[group.target_calls[-1]]
        if "forward" in fused:
            assert (f"{fused}.output.0", f"{last}.output.0") in pairs
            assert (f"{fused}.input.0", f"{other.calls.names[group.golden_calls[0]]}.input.0") in pairs


def test_the_golden_side_may_be_the_fused_one(tmp_path: Path) -> None:
    target = network(3)
    golden, members = fuse(target, "Functional.silu", "Tensor.__mul__", "NPU.npu_swiglu")
    pairing = pair_auto(*dumps(tmp_path, target, golden, 1e-3))
    found = {golden[g.golden_calls[-1]].who: [target[c].who for c in g.target_calls] for g in pairing.groups}
    assert found == members


@pytest.mark.parametrize("is_marked", [True, False])
def test_a_fused_call_that_is_computed_again(tmp_path: Path, is_marked: bool) -> None:
    golden = network(1)
    target, members = fuse(golden, "Functional.silu", "Tensor.__mul__", "NPU.npu_swiglu")
    golden = golden + backward_of(golden)
    again = [replace(c, who=f"{c.who} again", is_copy=True if is_marked else None) for c in target]
    first = [replace(c, is_copy=False if is_marked else None) for c in target]
    backward = backward_of(target)
    target = [*first, *backward[:1], *again, *backward[1:]]
    pairing = pair_auto(*dumps(tmp_path, target, golden))
    assert (pairing.target_call >= 0).all() and (pairing.golden_call >= 0).all()
    found = groups(pairing, target, golden)
    (who, parts), *_ = members.items()
    assert found[who] == found[f"{who} again"] == parts


def test_what_is_left_over_and_does_not_fit_stays_alone(tmp_path: Path) -> None:
    golden = network(2)
    target, _ = fuse(golden, "Functional.silu", "Tensor.__mul__", "NPU.npu_of_nobody_knows")
    target = [
        replace(c, made=((c.made[0][0], (2, 2)),)) if "nobody" in c.api else c for c in target
    ]  # another shape
    pairing = pair_auto(*dumps(tmp_path, target, golden))
    assert pairing.groups == ()
    assert int((pairing.golden_call < 0).sum()) == 2 and int((pairing.target_call < 0).sum()) == 4


def test_the_table_is_well_formed() -> None:
    names = [name for name, _, _ in table()]
    assert len(names) == len(set(names))
    fused = [word for _, words, _ in table() for word in words]
    assert len(fused) == len(set(fused)) == len(fusions())
    for row in fusions().values():
        for form in row.forms:
            assert sum(not step.is_optional for step in form) >= 2 and not form[-1].words & set(row.fused)
