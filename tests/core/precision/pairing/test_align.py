"""Graphs that are not alike: shifted numbers, extra, missing and moved calls, recomputed forwards."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npulse.core.precision.pairing import EVIDENCE, pair_auto, pair_by_name
from npulse.core.precision.pairing.links import Feeding

from .graphs import Call, Network, backward_of, dumps, network, whom

DRIFTS = (0.0, 1e-3)


def told(pairing: object, step: int) -> set[str]:
    bits = int(pairing.evidence[step])  # type: ignore[attr-defined]
    return {word for place, word in enumerate(EVIDENCE) if bits >> place & 1}


def extra(calls: list[Call], at: int, who: str = "extra") -> list[Call]:
    """With one more call of an API that the graph has already, made of what the call before it made."""
    before = calls[at]
    made = tuple((number + 5000, shape) for number, shape in before.made)
    call = Call(who, "Functional.linear", (before.made[0], (4999, (8, 8))), made)
    return [*calls[: at + 1], call, *calls[at + 1 :]]


@pytest.mark.parametrize("drift", DRIFTS)
def test_equal_graphs_are_paired_as_by_name(tmp_path: Path, drift: float) -> None:
    calls = network(3)
    one, other = dumps(tmp_path, calls, calls, drift)
    found, by_name = pair_auto(one, other), pair_by_name(one, other)
    for column in ("target_call", "golden_call", "row_call", "target_leaf", "golden_leaf"):
        assert np.array_equal(getattr(found, column), getattr(by_name, column))
    assert found.confidence is None and found.evidence is None and found.groups == ()


@settings(max_examples=25, deadline=None)
@given(
    at=st.integers(0, 20), drift=st.sampled_from(DRIFTS), is_target=st.booleans(), with_backward=st.booleans()
)
def test_an_extra_call_shifts_the_numbers_behind_it(
    tmp_path_factory: pytest.TempPathFactory, at: int, drift: float, is_target: bool, with_backward: bool
) -> None:
    plain = network(3)
    more = extra(plain, at)
    sides = [more, plain] if is_target else [plain, more]
    if with_backward:
        sides = [side + backward_of(side) for side in sides]
    one, other = dumps(tmp_path_factory.mktemp("extra"), *sides, drift)
    found = whom(pair_auto(one, other), *sides)
    assert all(t == g for t, g in found if t and g)
    assert {t or g for t, g in found if not (t and g)} <= {"extra", "extra backward"}


@pytest.mark.parametrize("is_marked", [True, False])
@pytest.mark.parametrize("drift", DRIFTS)
def test_recomputed_forwards_stand_against_the_first_one(
    tmp_path: Path, is_marked: bool, drift: float
) -> None:
    forward = network(2)
    golden = forward + backward_of(forward)
    again = [replace(c, who=f"{c.who} again", is_copy=True if is_marked else None) for c in forward]
    backward = backward_of(forward)
    target = [*(replace(c, is_copy=False if is_marked else None) for c in forward)]
    # each layer is computed again before its backward, the last one first
    half = len(forward) // 2
    target += [*backward[:1], *again[half:], *backward[1:half], *again[:half], *backward[half:]]
    one, other = dumps(tmp_path, target, golden, drift)
    pairing = pair_auto(one, other)
    found = whom(pairing, target, golden)
    assert all(t and g and t.removesuffix(" again") == g for t, g in found)
    assert pairing.recompute_of is not None
    for step, (t, _) in enumerate(found):
        first = int(pairing.recompute_of[step])
        assert (found[first][0] + " again" == t) if t.endswith(" again") else first == -1
        assert ("recompute" in told(pairing, step)) == t.endswith(" again")
    swapped = pair_auto(other, one)  # the golden side computes again
    assert swapped.recompute_of is not None
    assert all(t and g and g.removesuffix(" again") == t for t, g in whom(swapped, golden, target))


@pytest.mark.parametrize("n_blocks", [1, 2])
@pytest.mark.parametrize("is_target", [True, False])
def test_the_last_block_is_computed_again_before_any_backward(
    tmp_path: Path, n_blocks: int, is_target: bool
) -> None:
    """No loss behind it, and nothing marks the copies: a run that ends at the first backward repeats one."""
    forward = network(2)
    plain = forward + backward_of(forward)
    again = [replace(c, who=f"{c.who} again") for c in forward]
    backward, size = backward_of(forward), len(forward) // n_blocks
    twice = list(forward)
    for start in reversed(range(0, len(forward), size)):
        done = len(forward) - start - size
        twice += [*again[start : start + size], *backward[done : done + size]]
    sides = [twice, plain] if is_target else [plain, twice]
    pairing = pair_auto(*dumps(tmp_path, *sides, 1e-3))
    found = whom(pairing, *sides)
    assert all(t.removesuffix(" again") == g.removesuffix(" again") for t, g in found)
    assert pairing.recompute_of is not None
    assert (pairing.recompute_of >= 0).sum() == len(forward)


def test_independent_calls_in_another_order(tmp_path: Path) -> None:
    target = network(2)
    golden = list(target)
    golden[1], golden[2] = golden[2], golden[1]  # two projections of the same input
    one, other = dumps(tmp_path, target, golden)
    found = whom(pair_auto(one, other), target, golden)
    assert all(t == g for t, g in found) and len(found) == len(target)


@pytest.mark.parametrize("drift", DRIFTS)
def test_another_name_of_the_same_operator(tmp_path: Path, drift: float) -> None:
    golden = network(2)
    other_names = {"Tensor.__add__": "Torch.add", "Functional.silu": "NPU.npu_silu"}
    target = [replace(c, api=other_names.get(c.api, c.api)) for c in golden]
    one, other = dumps(tmp_path, target, golden, drift)
    pairing = pair_auto(one, other)
    found = whom(pairing, target, golden)
    assert all(t == g for t, g in found)
    renamed = [step for step, call in enumerate(target) if call.api in other_names.values()]
    assert all("type" in told(pairing, step) and "name" not in told(pairing, step) for step in renamed)
    assert pairing.confidence is not None and (pairing.confidence[renamed] < 1).all()


def test_fused_calls_that_fit_nowhere_do_not_cost_calls_times_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    n = 250
    fused, parts = Network(), Network(seed=1)
    for _ in range(n):
        fused.call("Functional.silu", [fused.value((4, 8))], (4, 8))
        inner = parts.call("Torch.sigmoid", [parts.value((2, 3))], (2, 3))
        parts.call("Tensor.mul", [inner, parts.value((5,))], (4, 8))
    n_asked = 0
    shape = Feeding.shape

    def counted(feeding: Feeding, leaf: int) -> tuple[int, ...] | None:
        nonlocal n_asked
        n_asked += 1
        return shape(feeding, leaf)

    target, golden = dumps(tmp_path, fused.calls, parts.calls)
    monkeypatch.setattr(Feeding, "shape", counted)
    monkeypatch.setattr("npulse.core.precision.pairing.groups._TRIED", 4)
    assert pair_auto(target, golden).groups == ()
    assert n_asked < 100 * n  # each fused call tried at each place: 4 * n * n
